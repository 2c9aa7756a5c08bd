//! Process memory after a command has used a private key. `/proc` shows it: Linux only.

use std::fs::{self, File};
use std::io::{BufRead, Write, pipe};
use std::os::unix::fs::FileExt;
use std::process::{Child, Command, Stdio};

use mldsa_core::Set;

use crate::peer::{Peer as _, seed};
use crate::tool::{Folder, args, good};
use crate::waiting::PipedTool;

/// The number of occurrences of each needle in the writable memory of a process.
fn occurrences(process: u32, needles: &[Vec<u8>]) -> Vec<usize> {
    // By the first two bytes: one pass for all needles.
    let mut begins = vec![Vec::new(); 1 << 16];
    let begin = |bytes: &[u8]| usize::from(u16::from_le_bytes([bytes[0], bytes[1]]));
    for (number, needle) in needles.iter().enumerate() {
        begins[begin(needle)].push(number);
    }
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
    let memory = File::open(format!("/proc/{process}/mem")).unwrap();
    let mut found = vec![0; needles.len()];
    for line in maps.lines().filter(|line| line.contains(" rw")) {
        let (start, end) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
        let [start, end] = [start, end].map(|text| u64::from_str_radix(text, 16).unwrap());
        let mut bytes = vec![0; (end - start) as usize];
        if memory.read_exact_at(&mut bytes, start).is_err() {
            continue;
        }
        for at in 0..bytes.len() - 1 {
            for &number in &begins[begin(&bytes[at..])] {
                found[number] += usize::from(bytes[at..].starts_with(&needles[number]));
            }
        }
    }
    found
}

/// Runs a command whose results go to `/dev/full`, and looks at its memory when it reports that
/// error: it is then blocked in the write to its standard error, which is a full pipe. Nothing
/// runs after that but the return from `main`.
fn occurrences_at_exit(args: &[&str], needles: &[Vec<u8>]) -> Vec<usize> {
    let (reader, mut writer) = pipe().unwrap();
    let room = rustix::pipe::fcntl_getpipe_size(&writer).unwrap();
    writer.write_all(&vec![0; room]).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_mldsa"))
        .args(args)
        .stdin(Stdio::null())
        .stdout(File::options().write(true).open("/dev/full").unwrap())
        .stderr(writer)
        .spawn()
        .unwrap();
    while !is_blocked_on_standard_error(&child) {
        if let Some(status) = child.try_wait().unwrap() {
            panic!("{args:?} reported no error: {status}");
        }
        std::thread::sleep(core::time::Duration::from_millis(1));
    }
    let found = occurrences(child.id(), needles);
    child.kill().unwrap();
    child.wait().unwrap();
    drop(reader);
    found
}

/// The main thread is in a system call `write` to descriptor 2.
fn is_blocked_on_standard_error(child: &Child) -> bool {
    let write = match std::env::consts::ARCH {
        "x86_64" => "1",
        "aarch64" | "riscv64" => "64",
        _ => "4",
    };
    let call = fs::read_to_string(format!("/proc/{}/syscall", child.id())).unwrap_or_default();
    call.starts_with(&format!("{write} 0x2 "))
}

/// Pieces of 16 bytes, of which any copy of `secret` has most.
fn pieces(secret: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let step = if secret.len() > 128 { 96 } else { 16 };
    secret
        .chunks(step)
        .filter_map(|chunk| Some(chunk.get(..16)?.to_vec()))
}

#[test]
fn no_command_leaves_a_private_key_in_memory() {
    // Of this thread: another one may be running, which has no system call.
    if !fs::read_to_string("/proc/thread-self/syscall").is_ok_and(|call| call.contains("0x")) {
        println!("not run: this kernel has no /proc/thread-self/syscall");
        return;
    }
    let folder = Folder::new("memory");
    let seed = seed("memory");
    let seed_file = folder.put("seed", &seed);
    let message = folder.put("message", b"m");
    let checkpoint = format!("log\n1\n{}=\n", "A".repeat(43));
    let checkpoint = folder.put("checkpoint", checkpoint.as_bytes());
    let (_, sk) = Set::MlDsa44.keygen(&seed);
    let mut needles: Vec<Vec<u8>> = pieces(&seed).collect();
    // K, s1, s2 and t0; rho and tr are public.
    needles.extend(pieces(&sk[32..64]).chain(pieces(&sk[128..])));
    for secret in [&seed[..], &sk[128..]] {
        needles.extend(pieces(hex::encode(secret).as_bytes()));
    }
    let keys = [
        ("seed", "pem"),
        ("expanded", "pem"),
        ("both", "pem"),
        ("both", "der"),
        ("expanded", "raw"),
        ("seed", "hex"),
    ];
    let mut commands: Vec<Vec<String>> = Vec::new();
    let mut command = |args: &[&str]| commands.push(args.iter().map(|&arg| arg.into()).collect());
    let mut signature = String::new();
    for (form, format) in keys {
        let name = folder.at(&format!("{form}.{format}"));
        let make = args!["keygen --set 44 --seed-file", &seed_file];
        let make = args![..make, "--form", form, "--format", format];
        good(&args![..make, "--out", &name], b"");
        if signature.is_empty() {
            signature = folder.at("signature");
            good(&args!["sign -k", &name, "-o", &signature, &message], b"");
        }
        if format == "pem" {
            let text = fs::read(&name).unwrap();
            // The first line has the public header.
            let lines: Vec<_> = text.lines().map(Result::unwrap).collect();
            needles.extend(
                lines[2..lines.len() - 1]
                    .iter()
                    .flat_map(|line| line.as_bytes().get(..32).map(<[u8]>::to_vec)),
            );
        }
        command(&make);
        command(&args!["sign --set 44 -k", &name, &message]);
        command(&args![
            "sign --set 44 -k",
            &name,
            "--deterministic",
            &message
        ]);
        command(&args![
            "verify --set 44 -k",
            &name,
            "-s",
            &signature,
            &message
        ]);
        command(&args!["mu --set 44 -k", &name, &message]);
        command(&args!["pubkey --set 44", &name]);
        command(&args!["convert --set 44 --form expanded", &name]);
        command(&args!["inspect --set 44", &name]);
        command(&args!["note cosign name --set 44 -k", &name, &checkpoint]);
        command(&args![
            "certificate request --set 44 --name localhost",
            &name
        ]);
    }
    let line = |field: &str, key: &[u8]| {
        let key = hex::encode(key);
        format!("{{\"set\":\"ML-DSA-44\",\"{field}\":\"{key}\",\"msg\":\"00\"}}\n")
    };
    let lines = folder.put("lines", (line("seed", &seed) + &line("sk", &sk)).as_bytes());
    command(&["batch-sign", &lines]);
    command(&args!["batch-sign --deterministic", &lines]);

    for args in &commands {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        // The arguments are in memory: the search finds what is there.
        let control = args.last().unwrap().as_bytes().to_vec();
        let found = occurrences_at_exit(&args, &[&needles[..], &[control]].concat());
        let (control, found) = found.split_last().unwrap();
        assert!(*control > 0, "{args:?}: the control is not found");
        assert_eq!(found.iter().sum::<usize>(), 0, "{args:?}: {found:?}");
    }
}

/// A running `batch-sign` keeps no copy of a key of an earlier line: not in the lines read, not in
/// JSON escapes, not in the bytes.
#[test]
fn no_seed_outlives_its_line() {
    let seed = seed("memory of lines");
    let digits = hex::encode(seed);
    let escaped = format!("\\u{:04x}{}", digits.as_bytes()[0], &digits[1..]);
    let mut tool = PipedTool::new(&["batch-sign", "-", "--threads", "2"]);
    for (line, answer) in [
        (
            format!("{{\"set\":\"ML-DSA-44\",\"seed\":\"{digits}\",\"msg\":\"00\"}}"),
            "\"sig\":",
        ),
        (format!("{{\"seed\":\"{escaped}\"}}"), "an escape"),
        (format!("{{\"{digits}\":\"seed\"}}"), "unknown"),
        (format!("{{\"{escaped}\":\"seed\"}}"), "an escape"),
        (format!("{{\"seed\":\"{digits}\\n\"}}"), "an escape"),
    ] {
        tool.send(&format!("{line}\n"));
        let answer_line = tool.receive();
        assert!(answer_line.contains(answer), "{answer_line}");
    }
    // Writes over what is in the buffer of lines.
    let other = "0".repeat(3000);
    tool.send(&format!("{other}\n"));
    assert!(tool.receive().contains("not a JSON object"));

    let needles = [
        &digits.as_bytes()[1..33],
        &seed[..16],
        &other.as_bytes()[..64],
    ];
    let found = occurrences(tool.process(), &needles.map(<[u8]>::to_vec));
    assert_eq!(found[..2], [0, 0], "copies of the digits and of the bytes");
    assert!(found[2] > 0, "the control is not found");
}
