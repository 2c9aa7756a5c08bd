//! Bounds in instructions, made of executed counts and of the tails, and the search that tries to
//! exceed them. Callgrind counts: every machine gives the same figures for the same program.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::{BufRead, Write};
use std::process::{Command, Stdio};

use mldsa_core::internals::sample::Challenge;
use mldsa_core::internals::{Permutation, PublicKeyParts, Shake256};
use mldsa_core::no_alloc::PreparedVerifyingKeyStorage;
use mldsa_core::{
    Backend, Context, DecodedSignature, MlDsa44, MlDsa65, MlDsa87, ParameterSet, VerifyError,
    VerifyingKey,
};

use crate::search::{rejected, seed};
use crate::tails::worst;
use crate::{CALLS, SETS};

/// What is executed: a step, a number for the key, the length of the message, a signature.
#[derive(Clone)]
struct Case {
    step: &'static str,
    key: u64,
    message: usize,
    signature: Vec<u8>,
}

/// A source of bytes that a number names.
struct Bytes(Shake256);

impl Bytes {
    fn new(number: u64) -> Self {
        let mut xof = Shake256::new(Backend::detect().permutation());
        xof.absorb(&number.to_le_bytes());
        xof.finish();
        Self(xof)
    }

    fn next(&mut self) -> u8 {
        let mut byte = [0];
        self.0.squeeze(&mut byte);
        byte[0]
    }

    fn below(&mut self, end: usize) -> usize {
        usize::from(u16::from_le_bytes([self.next(), self.next()])) % end
    }
}

/// Returns a signature with `weight` ones in its hint, spread over the rows as `spread` says. Every
/// coefficient of z is in range.
fn signature<P: ParameterSet>(number: u64, weight: usize, spread: u64) -> Vec<u8> {
    let (p, mut random) = (&P::PARAMS, Bytes::new(number));
    let mut out: Vec<u8> = (0..p.c_tilde_len).map(|_| random.next()).collect();
    let (mut bits, mut word) = (0, 0u64);
    for _ in 0..256 * p.l {
        // From a quarter to three quarters of the range.
        let width = p.gamma1_bits + 1;
        let quarter = 1u64 << (width - 2);
        let draw = u32::from_le_bytes([random.next(), random.next(), random.next(), 0]);
        word |= (quarter + u64::from(draw) % (2 * quarter)) << bits;
        bits += width;
        while bits >= 8 {
            out.push(word as u8);
            word >>= 8;
            bits -= 8;
        }
    }
    let (mut rows, mut random) = (vec![Vec::new(); p.k], Bytes::new(!spread));
    while rows.iter().map(Vec::len).sum::<usize>() < weight {
        // All in one row, or anywhere.
        let row = if spread % 3 == 0 {
            spread as usize % p.k
        } else {
            random.below(p.k)
        };
        let index = random.below(256) as u8;
        if !rows[row].contains(&index) {
            rows[row].push(index);
        }
    }
    let (mut indices, mut counts) = (Vec::new(), Vec::new());
    for row in &mut rows {
        row.sort_unstable();
        indices.append(row);
        counts.push(indices.len() as u8);
    }
    indices.resize(p.omega, 0);
    [out, indices, counts].concat()
}

fn public_key<P: ParameterSet>(number: u64) -> Vec<u8> {
    let mut random = Bytes::new(number ^ 0x5555);
    let mut pk = seed(number).to_vec();
    pk.resize_with(P::PK_LEN, || random.next());
    pk
}

/// Returns the rejected candidates of a key.
fn rejections<P: ParameterSet>(number: u64) -> u32 {
    let entries = (0..P::K as u8).flat_map(|r| (0..P::L as u8).map(move |s| (r, s)));
    entries.map(|(r, s)| rejected(&seed(number), r, s)).sum()
}

/// Bytes that SampleInBall takes after the signs.
fn ball_bytes<P: ParameterSet>(signature: &[u8]) -> u32 {
    let mut xof = Shake256::new(Backend::detect().permutation());
    xof.absorb(&signature[..P::PARAMS.c_tilde_len]);
    xof.finish();
    xof.squeeze(&mut [0; 8]);
    let mut place = 256 - P::PARAMS.tau;
    for bytes in 1.. {
        let mut byte = [0];
        xof.squeeze(&mut byte);
        if usize::from(byte[0]) <= place {
            place += 1;
            if place == 256 {
                return bytes;
            }
        }
    }
    0
}

/// The function that Callgrind counts.
#[inline(never)]
fn counted_operation(run: &mut dyn FnMut()) {
    run();
}

/// The function before which Callgrind writes what it has counted.
#[inline(never)]
fn write_counts() {
    black_box(());
}

/// Executes the cases of standard input.
pub(crate) fn work() -> Result<(), String> {
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|error| error.to_string())?;
        let words: Vec<&str> = line.split(' ').collect();
        match words[0] {
            "44" => execute::<MlDsa44>(&words),
            "65" => execute::<MlDsa65>(&words),
            _ => execute::<MlDsa87>(&words),
        }
        write_counts();
    }
    Ok(())
}

fn execute<P: ParameterSet>(words: &[&str]) {
    let number = words[2].parse().unwrap_or(0);
    let pk = public_key::<P>(number);
    assert!(PublicKeyParts::parse(&P::PARAMS, &pk).is_ok());
    let message = vec![7; words[3].parse().unwrap_or(0)];
    let digits = |at: usize| u8::from_str_radix(&words[4][at..at + 2], 16).unwrap_or(0);
    let signature: Vec<u8> = (0..words[4].len() / 2).map(|n| digits(2 * n)).collect();
    let mut memory = PreparedVerifyingKeyStorage::<P>::ZERO;
    if words[1] == "key" {
        let mut memory = Some(&mut memory);
        return counted_operation(&mut || {
            let key = VerifyingKey::<P>::from_bytes(black_box(&pk)).expect("a key");
            if let Some(memory) = memory.take() {
                black_box(key.prepare_in(memory));
            }
        });
    }
    if words[1] == "signature" {
        return counted_operation(&mut || {
            let _ = black_box(DecodedSignature::<P>::decode(black_box(&signature)));
        });
    }
    if words[1] == "ball" {
        let (tau, c_tilde) = (P::PARAMS.tau, &signature[..P::PARAMS.c_tilde_len]);
        return counted_operation(&mut || {
            let permutation = Permutation::PORTABLE;
            black_box(Challenge::sample_in_ball_vartime(permutation, tau, c_tilde));
        });
    }
    let key = VerifyingKey::<P>::from_bytes(&pk).expect("a key");
    let key = key.prepare_in(&mut memory);
    let decoded = DecodedSignature::<P>::decode(&signature).expect("a well-formed hint");
    counted_operation(&mut || {
        let verdict = key.verify_with_context(black_box(&message), Context::EMPTY, &decoded);
        assert!(matches!(
            verdict,
            Err(VerifyError::ResponseNorm | VerifyError::ChallengeMismatch)
        ));
    });
}

/// Returns the instructions of each case on a backend.
fn count(set: &str, backend: &str, cases: &[Case]) -> Result<Vec<u64>, String> {
    let text = |error: std::io::Error| format!("valgrind: {error}");
    let folder = std::env::temp_dir().join(format!("mldsa-cost-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).map_err(text)?;
    let mut child = Command::new("valgrind")
        .args("--quiet --tool=callgrind --log-file=/dev/null --collect-atstart=no".split(' '))
        .args("--toggle-collect=*counted_operation* --dump-before=*write_counts*".split(' '))
        .arg(format!(
            "--callgrind-out-file={}",
            folder.join("out").display()
        ))
        .arg(std::env::current_exe().map_err(text)?)
        .arg("worker")
        .env("MLDSA_BACKEND", backend)
        .stdin(Stdio::piped())
        .spawn()
        .map_err(text)?;
    let mut input = child.stdin.take().ok_or("no standard input")?;
    for case in cases {
        let bytes = case.signature.iter();
        let hex: String = bytes.map(|byte| format!("{byte:02x}")).collect();
        let (step, key, message) = (case.step, case.key, case.message);
        writeln!(input, "{set} {step} {key} {message} {hex}").map_err(text)?;
    }
    drop(input);
    if !child.wait().map_err(text)?.success() {
        return Err("the counted program failed".into());
    }
    let mut counted = BTreeMap::new();
    for entry in std::fs::read_dir(&folder).map_err(text)?.flatten() {
        let dump = std::fs::read_to_string(entry.path()).map_err(text)?;
        let number = entry
            .path()
            .extension()
            .and_then(|number| number.to_str()?.parse::<u32>().ok());
        let total = dump
            .lines()
            .find_map(|line| line.strip_prefix("summary: ")?.trim().parse().ok());
        if let (Some(number), Some(total @ 1u64..)) = (number, total) {
            counted.insert(number, total);
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    if counted.len() != cases.len() {
        return Err(format!("{} counts of {} cases", counted.len(), cases.len()));
    }
    Ok(counted.into_values().collect())
}

/// Prints bounds, means and the worst that was found, from `samples` keys and signatures.
pub(crate) fn bounds(samples: usize) -> Result<(), String> {
    if !Command::new("valgrind")
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
    {
        return Err("not run: there is no valgrind".into());
    }
    // Callgrind emulates no AVX-512.
    for backend in Backend::available()
        .map(Backend::name)
        .filter(|name| *name != "avx512")
    {
        println!("\n{backend}, instructions");
        println!(
            "| set | step | mean | bound: {} |worst found | bound / mean at 64 |",
            CALLS.map(|calls| format!("2^{calls} |")).join(" ")
        );
        println!("|---|---|--:|{}--:|--:|", "--:|".repeat(CALLS.len()));
        of::<MlDsa44>(backend, 0, samples)?;
        of::<MlDsa65>(backend, 1, samples)?;
        of::<MlDsa87>(backend, 2, samples)?;
    }
    Ok(())
}

/// Returns the numbers of the keys without rejections, as far as there are, with most rejections, and others.
fn keys<P: ParameterSet>(samples: usize) -> Vec<(u32, u64)> {
    let mut found: Vec<_> = (0..2000u64)
        .map(|number| (rejections::<P>(number), number))
        .collect();
    let random: Vec<_> = found[..samples].to_vec();
    let others = &mut found[samples..];
    others.sort_unstable();
    let extremes = [
        &others[..samples / 4],
        &others[others.len() - samples / 4..],
    ]
    .concat();
    [random, extremes].concat()
}

/// `count <= base + slope * size` for all pairs, with the least slope between sizes that differ, and
/// one more `slope` for what these pairs do not show, such as the places of the rejected candidates.
fn line(pairs: &[(u32, u64)]) -> (f64, f64) {
    let least = pairs.iter().map(|pair| pair.0).min().unwrap_or(0);
    let base = pairs
        .iter()
        .filter(|pair| pair.0 == least)
        .map(|pair| pair.1)
        .max()
        .unwrap_or(0);
    let slopes = pairs.iter().filter(|pair| pair.0 > least);
    let slope = slopes
        .map(|&(size, count)| (count as f64 - base as f64) / f64::from(size - least))
        .fold(0.0, f64::max);
    (base as f64 - slope * f64::from(least) + slope, slope)
}

fn of<P: ParameterSet>(backend: &str, set: usize, samples: usize) -> Result<(), String> {
    let (name, k, l, tau, omega) = SETS[set];
    let number = &name[7..];
    let run = |cases: &[Case]| count(number, backend, cases);
    // Fails if a case that did not make the line is above it at its own size.
    let check = |step: &str, fresh: &[(u32, u64)], (base, slope): (f64, f64)| {
        let above = |&&(size, count): &&(u32, u64)| count as f64 > base + slope * f64::from(size);
        match fresh.iter().find(above) {
            Some((size, count)) => Err(format!(
                "{name} {step}: {count} at size {size} exceeds {base:.0} + {slope:.1} * size"
            )),
            None => Ok(()),
        }
    };
    let print = |step: &str, counts: &[u64], found: u64, bound: &dyn Fn(u32) -> f64| {
        let mean = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
        let bounds = CALLS
            .map(|calls| format!("{:.0}", bound(calls)))
            .join(" | ");
        println!(
            "| {name} | {step} | {mean:.0} | {bounds} | {found} | {:.4} |",
            bound(64) / mean
        );
    };

    // The key: a line in the number of rejected candidates, given by half of the random keys and by
    // the extremes. The other half is below.
    let keys = keys::<P>(samples);
    let case = |step, key| Case {
        step,
        key,
        message: 0,
        signature: Vec::new(),
    };
    let counts = run(&keys
        .iter()
        .map(|&(_, key)| case("key", key))
        .collect::<Vec<_>>())?;
    let pairs: Vec<_> = keys
        .iter()
        .zip(&counts)
        .map(|(&(size, _), &count)| (size, count))
        .collect();
    let (base, slope) = line(&pairs[samples / 2..]);
    check("key", &pairs[..samples / 2], (base, slope))?;
    let bound = |calls| base + slope * f64::from(worst(k * l, tau, calls).rejected);
    let found = counts.iter().copied().max().unwrap_or(0);
    print("key", &counts[..samples], found, &bound);

    // The signature: a line in the ones of the hint, given by hints that are right to their last index.
    // Fresh ones are below.
    let weight = |n: u64| (n as usize * 7) % (omega as usize + 1);
    let hint = |n: u64| signature::<P>(n, weight(n), n);
    let mut signatures: Vec<_> = (0..samples as u64).map(hint).collect();
    signatures.extend((0..24).map(|n| signature::<P>(n, omega as usize, n)));
    let fresh_numbers = 500_000..500_000 + samples as u64;
    let fresh: Vec<_> = fresh_numbers.clone().map(hint).collect();
    let case = |step, message, signature: &Vec<u8>| Case {
        step,
        key: 0,
        message,
        signature: signature.clone(),
    };
    let all = |step, signatures: &[Vec<u8>]| {
        run(&signatures
            .iter()
            .map(|s| case(step, 0, s))
            .collect::<Vec<_>>())
    };
    let counts = all("signature", &signatures)?;
    let weights = (0..samples as u64).map(|n| weight(n) as u32);
    let pairs: Vec<_> = weights
        .chain([omega; 24])
        .zip(counts.iter().copied())
        .collect();
    let (base, slope) = line(&pairs);
    let weights = fresh_numbers.map(|n| weight(n) as u32);
    let pairs: Vec<_> = weights.zip(all("signature", &fresh)?).collect();
    check("signature", &pairs, (base, slope))?;
    let found = counts.iter().copied().max().unwrap_or(0);
    print("signature", &counts[..samples], found, &|_| {
        base + slope * f64::from(omega)
    });

    // The verification: a line in the bytes of SampleInBall, at the hint that a climb finds worst.
    let counts = all("verify", &signatures)?;
    let (mut worst_found, mut best) = (0, signatures[0].clone());
    let mut seen: Vec<(u32, u64)> = Vec::new();
    let mut generation = signatures.clone();
    for round in 0..6u64 {
        let counted = all("verify", &generation)?;
        seen.extend(
            generation
                .iter()
                .zip(&counted)
                .map(|(s, &count)| (ball_bytes::<P>(s), count)),
        );
        for (signature, count) in generation.iter().zip(counted) {
            if count > worst_found {
                (worst_found, best) = (count, signature.clone());
            }
        }
        // Children have the challenge, z or the hint of another signature.
        let (c, z) = (
            P::PARAMS.c_tilde_len,
            P::SIG_LEN - omega as usize - k as usize,
        );
        generation = (0..24u64)
            .map(|n| {
                let other =
                    signature::<P>(1000 * (round + 1) + n, omega as usize, 1000 * round + n);
                match n % 3 {
                    0 => [&other[..c], &best[c..]].concat(),
                    1 => [&best[..c], &other[c..z], &best[z..]].concat(),
                    _ => [&best[..z], &other[z..]].concat(),
                }
            })
            .collect();
    }
    // The challenges of one signature give the slope, and the worst of all the base.
    let varied: Vec<_> = (0..40)
        .map(|n| {
            [
                &signature::<P>(90_000 + n, 0, 0)[..P::PARAMS.c_tilde_len],
                &best[P::PARAMS.c_tilde_len..],
            ]
            .concat()
        })
        .collect();
    let counted = all("verify", &varied)?;
    let pairs: Vec<_> = varied
        .iter()
        .zip(&counted)
        .map(|(s, &count)| (ball_bytes::<P>(s), count))
        .collect();
    let (_, slope) = line(&pairs);
    seen.extend(pairs);
    let base = seen
        .iter()
        .map(|&(bytes, count)| count as f64 - slope * f64::from(bytes))
        .fold(0.0, f64::max)
        + slope;
    let sizes = fresh.iter().map(|s| ball_bytes::<P>(s));
    let pairs: Vec<_> = sizes.zip(all("verify", &fresh)?).collect();
    check("verify", &pairs, (base, slope))?;
    // A challenge of a second block starts again, byte by byte: at most twice what one block takes.
    let again = all("ball", &varied)?;
    let again = 2 * again.into_iter().max().unwrap_or(0);
    let bound = |calls| {
        let worst = worst(k * l, tau, calls);
        let second = u64::from(worst.ball_blocks > 1) * again;
        base + slope * f64::from(worst.bytes) + second as f64
    };
    print(
        "verify",
        &counts[..samples],
        seen.iter().map(|pair| pair.1).max().unwrap_or(0),
        &bound,
    );

    // Blocks of the message, and the stages at which a signature is rejected.
    let long = run(&[
        case("verify", 136 * 10, &best),
        case("verify", 136 * 30, &best),
    ])?;
    println!(
        "{name}: {} instructions for each 136 bytes of message",
        (long[1] - long[0]).div_ceil(20)
    );
    let mut last = best.clone();
    let place = P::SIG_LEN - k as usize - 2;
    last[place] = last[place].wrapping_sub(last[place - 1]) | last[place - 1];
    last[P::SIG_LEN - 1] = 255;
    let mut norm = best.clone();
    let z_end = P::SIG_LEN - (omega + k) as usize;
    norm[z_end - 3..z_end].fill(0xff);
    let cases = [
        case("signature", 0, &best[1..].to_vec()),
        case("signature", 0, &last),
        case("verify", 0, &norm),
        case("verify", 0, &best),
    ];
    let counts = run(&cases)?;
    println!(
        "{name}, rejected for: length {}, hint {}, norm {}, challenge {}",
        counts[0], counts[1], counts[2], counts[3]
    );
    Ok(())
}
