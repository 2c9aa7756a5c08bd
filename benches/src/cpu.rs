//! What the figures were taken on.

use std::fs;
use std::sync::OnceLock;

/// What Linux says of the CPU: its model, or on AArch64, where it has no name, who made it
/// and the part number. Nothing elsewhere.
#[must_use]
pub fn cpu_name() -> Option<&'static str> {
    static NAME: OnceLock<Option<String>> = OnceLock::new();
    NAME.get_or_init(|| name(&fs::read_to_string("/proc/cpuinfo").ok()?))
        .as_deref()
}

fn name(info: &str) -> Option<String> {
    let field = |key: &str| {
        let mut fields = info.lines().filter_map(|line| line.split_once(':'));
        let (_, value) = fields.find(|(name, _)| name.trim() == key)?;
        Some(value.trim().to_owned())
    };
    field("model name").or_else(|| {
        let (maker, part) = (field("CPU implementer")?, field("CPU part")?);
        Some(format!("implementer {maker}, part {part}"))
    })
}

/// Pins this thread to the last core, and says so on standard error. Threads that it
/// starts afterwards inherit that.
pub fn pin() {
    let core = core_affinity::get_core_ids().and_then(|cores| cores.last().copied());
    match core.filter(|&core| core_affinity::set_for_current(core)) {
        Some(core) => eprintln!("pinned to core {}", core.id),
        None => eprintln!("warning: the thread could not be pinned"),
    }
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn models_and_parts() {
        let intel = "processor\t: 0\nmodel\t\t: 207\nmodel name\t: A CPU @ 2 GHz\nflags\t: a: b\n";
        assert_eq!(name(intel).as_deref(), Some("A CPU @ 2 GHz"));
        let arm =
            "processor\t: 0\nCPU implementer\t: 0x41\nCPU variant\t: 0x1\nCPU part\t: 0xd40\n";
        assert_eq!(name(arm).as_deref(), Some("implementer 0x41, part 0xd40"));
        assert_eq!(name("CPU implementer\t: 0x41\n"), None);
    }
}
