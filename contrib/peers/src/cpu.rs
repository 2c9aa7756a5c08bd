//! Name of the CPU, and pinning to a core.

use std::fs;
use std::sync::OnceLock;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// Name of the CPU on Linux: the model, or implementer and part number on AArch64, which has no model
/// name.
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
        let (implementer, part) = (field("CPU implementer")?, field("CPU part")?);
        Some(format!("implementer {implementer}, part {part}"))
    })
}

/// Pins this thread, and all threads that it starts later, to the last core. Reports that on standard
/// error.
pub fn pin() {
    match pin_to_last() {
        Ok(core) => eprintln!("pinned to core {core}"),
        Err(error) => eprintln!("warning: the thread could not be pinned: {error}"),
    }
}

fn pin_to_last() -> nix::Result<usize> {
    let this_thread = Pid::from_raw(0);
    let allowed = sched_getaffinity(this_thread)?;
    let mut cores = (0..CpuSet::count()).rev();
    let last = cores.find(|&core| allowed.is_set(core) == Ok(true));
    let last = last.ok_or(nix::Error::EINVAL)?;
    let mut wanted = CpuSet::new();
    wanted.set(last)?;
    sched_setaffinity(this_thread, &wanted)?;
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn names_of_models_and_parts() {
        let intel = "processor\t: 0\nmodel\t\t: 207\nmodel name\t: A CPU @ 2 GHz\nflags\t: a: b\n";
        assert_eq!(name(intel).as_deref(), Some("A CPU @ 2 GHz"));
        let arm =
            "processor\t: 0\nCPU implementer\t: 0x41\nCPU variant\t: 0x1\nCPU part\t: 0xd40\n";
        assert_eq!(name(arm).as_deref(), Some("implementer 0x41, part 0xd40"));
        assert_eq!(name("CPU implementer\t: 0x41\n"), None);
    }
}
