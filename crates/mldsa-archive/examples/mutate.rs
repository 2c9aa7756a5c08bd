//! Reads Parquet files whose bytes are changed at random: `mutate SEED COUNT FILE...`. Prints how many were read and
//! refused, and the most memory and time that one took. Ends with an error if one takes more than it may.

use core::error::Error;
use core::time::Duration;
use std::fs;
use std::time::Instant;

use mldsa_archive::read;

/// Numbers that look random (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound.max(1) as u64) as usize
    }
}

/// Bytes that numbers begin or end with, and the types of the compact protocol.
const BYTES: [u8; 16] = [
    0, 1, 2, 4, 5, 8, 12, 0x15, 0x19, 0x1c, 0x7f, 0x80, 0xf9, 0xfc, 0xfe, 0xff,
];

/// Changes up to four places of a footer, of a header or of a page. The length of the footer follows.
fn mutate(random: &mut Random, file: &[u8]) -> Vec<u8> {
    let end = file.len() - 8;
    let len = u32::from_le_bytes([file[end], file[end + 1], file[end + 2], file[end + 3]]);
    let (mut pages, mut footer) = (
        file[..end - len as usize].to_vec(),
        file[end - len as usize..end].to_vec(),
    );
    for _ in 0..=random.below(4) {
        // Most headers are at the beginning of small pages.
        let part = if random.below(2) == 0 {
            &mut footer
        } else {
            &mut pages
        };
        let at = random.below(part.len());
        match random.below(6) {
            0 => part[at] ^= 1 << random.below(8),
            1 | 2 => part[at] = BYTES[random.below(BYTES.len())],
            3 => part.insert(at, BYTES[random.below(BYTES.len())]),
            4 => drop(part.remove(at)),
            _ => {
                let number = (0..1 + random.below(6))
                    .map(|_| 0xff)
                    .chain([random.below(128) as u8]);
                part.splice(at..(at + random.below(3)).min(part.len()), number)
                    .for_each(drop);
            }
        }
    }
    let len = (footer.len() as u32).to_le_bytes();
    [&pages[..], &footer, &len, b"PAR1"].concat()
}

/// The most memory that this process had, in KiB.
fn memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn main() -> Result<(), Box<dyn Error>> {
    std::panic::set_hook(Box::new(|_| {}));
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().ok_or("mutate SEED COUNT FILE...");
    let (seed, count): (u64, u64) = (next()?.parse()?, next()?.parse()?);
    let files = arguments.map(fs::read).collect::<Result<Vec<_>, _>>()?;
    let mut random = Random(seed);
    let (mut good, mut bad, mut most) = (0_u64, 0_u64, Duration::ZERO);
    for n in 0..count {
        let file = files.get(random.below(files.len())).ok_or("no file")?;
        let bytes = mutate(&mut random, file);
        let (len, before) = (bytes.len() as u64, memory());
        let started = Instant::now();
        match read(bytes, &["key", "message", "signature"], 64, &mut |_| {}) {
            Ok(()) => good += 1,
            Err(_) => bad += 1,
        }
        most = most.max(started.elapsed());
        let more = memory().saturating_sub(before);
        if more > (1 << 19) + len {
            return Err(format!("seed {seed}, number {n}: {more} KiB for {len} bytes").into());
        }
    }
    println!("{count} mutations of seed {seed}: {good} read, {bad} refused");
    println!("at most {most:?} and {} MiB", memory() >> 10);
    Ok(())
}
