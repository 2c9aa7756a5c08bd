//! Passes the memory of each board to the linker, and the build settings to the programs. Computes on
//! the host what the boards have to answer.

use std::path::Path;

use mldsa_core::{Context, MlDsa44, MlDsa65, MlDsa87, ParameterSet, Randomness, SigningKey};
use mldsa_tlog::{Checkpoint, Cosigner, Hash, Proof, leaf_hash, node_hash};
use sha2::{Digest, Sha256};

mod inputs {
    include!("src/inputs.rs");
}

/// Origin and length of flash and RAM: of QEMU's MPS2 boards, of the nRF51822 of a BBC micro:bit, and of the
/// FE310-G000 of a HiFive1 (flash after the boot loader, DTIM).
const MPS2: [&str; 4] = ["0x00000000", "4M", "0x20000000", "4M"];
const MPS2_4K: [&str; 4] = ["0x00000000", "4M", "0x20000000", "4K"];
const BOOT: [&str; 4] = ["0x00000000", "2M", "0x20000000", "4M"];
const APP: [&str; 4] = ["0x00201000", "0x1ff000", "0x20000000", "4M"];
const MICROBIT: [&str; 4] = ["0x00000000", "256K", "0x20000000", "16K"];
const FE310: [&str; 4] = ["0x20400000", "12M", "0x80000000", "16K"];

/// The sections of riscv-rt.
const RISCV: &str = "
REGION_ALIAS(\"REGION_TEXT\", FLASH);
REGION_ALIAS(\"REGION_RODATA\", FLASH);
REGION_ALIAS(\"REGION_DATA\", RAM);
REGION_ALIAS(\"REGION_BSS\", RAM);
REGION_ALIAS(\"REGION_HEAP\", RAM);
REGION_ALIAS(\"REGION_STACK\", RAM);
";

fn main() {
    let out = std::env::var("OUT_DIR").expect("set by cargo");
    let level = std::env::var("OPT_LEVEL").expect("set by cargo");
    let target = std::env::var("TARGET").expect("set by cargo");
    let riscv = target.starts_with("riscv");
    let small = if riscv { FE310 } else { MICROBIT };
    for (program, memory) in [
        ("cortex-m", MPS2),
        ("differential", MPS2),
        ("demo", small),
        ("tlog", MPS2_4K),
        ("embassy", MPS2),
        ("keccak", MPS2),
        ("boot", BOOT),
        ("app", APP),
    ] {
        let [flash, flash_len, ram, ram_len] = memory;
        let script = format!(
            "MEMORY\n{{\nFLASH : ORIGIN = {flash}, LENGTH = {flash_len}\nRAM : ORIGIN = {ram}, LENGTH = {ram_len}\n}}\n\
             _flash = ORIGIN(FLASH);\n_ram = ORIGIN(RAM);\n{}",
            if riscv { RISCV } else { "" }
        );
        let folder = Path::new(&out).join(program);
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("memory.x"), script).expect("a file");
        println!("cargo:rustc-link-arg-bin={program}=-L{}", folder.display());
        println!("cargo:rustc-link-arg-bin={program}=-Tlink.x");
    }
    println!("cargo:rustc-env=OPT_LEVEL={level}");
    println!("cargo:rustc-env=BOARD_TARGET={target}");
    println!("cargo:rerun-if-changed=src/inputs.rs");

    let out = Path::new(&out);
    demo::<MlDsa44>(out);
    demo::<MlDsa65>(out);
    demo::<MlDsa87>(out);
    write(&out.join("tlog.rs"), tlog().as_bytes());
    for (n, content) in flashes().iter().enumerate() {
        write(&out.join(format!("flash.{n}")), content);
    }
}

fn write(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).expect("a file");
}

/// A public key and a signature for the program `demo`.
fn demo<P: ParameterSet>(out: &Path) {
    let key = SigningKey::<P>::from_seed(&inputs::SEED);
    let hedge = Randomness::Hedged(&inputs::RND);
    let signature = key
        .sign_with_context(inputs::MESSAGE, Context::EMPTY, hedge)
        .expect("a signature");
    let file = |kind| out.join(format!("{}.{kind}", P::NAME));
    write(&file("pk"), key.verifying_key().as_bytes().as_ref());
    write(&file("sig"), signature.as_bytes().as_ref());
}

/// Returns what the flash of the program `embassy` holds: seed, `tr` and message with their hashes. Then the same with another
/// key, with another message, and with the `tr` of another key.
fn flashes() -> [Vec<u8>; 4] {
    let other = [1; 32];
    let message = inputs::MESSAGE.to_ascii_uppercase();
    [
        (inputs::SEED, inputs::SEED, inputs::MESSAGE),
        (other, other, inputs::MESSAGE),
        (inputs::SEED, inputs::SEED, &message),
        (inputs::SEED, other, inputs::MESSAGE),
    ]
    .map(|(seed, of_tr, message)| {
        let key = SigningKey::<MlDsa44>::from_seed(&of_tr);
        let key = [&seed[..], key.verifying_key().tr()].concat();
        let hashes = [&key, message].map(Sha256::digest);
        let mut content = [&key, &hashes[0][..], &hashes[1], message].concat();
        content.resize(content.len().next_multiple_of(4), 0xff);
        content
    })
}

/// Returns the root of a Merkle tree of RFC 6962, and the path of the leaf with index `index` if it is in it.
fn tree(leaves: &[Hash], index: usize) -> (Hash, Vec<Hash>) {
    let [left, right] = match leaves {
        [leaf] => return (*leaf, Vec::new()),
        _ => leaves.split_at(leaves.len().next_power_of_two() / 2).into(),
    };
    let (left_root, mut path) = tree(left, index);
    let (right_root, right_path) = tree(right, index.wrapping_sub(left.len()));
    if index < left.len() {
        path.push(right_root);
    } else {
        path = right_path;
        path.push(left_root);
    }
    (node_hash(&left_root, &right_root), path)
}

/// Returns the key of a log and proofs for the program `tlog`, as Rust.
fn tlog() -> String {
    const NAME: &str = "firmware.example/log";
    const INDEX: usize = 6;
    let cosigner =
        |name, seed| Cosigner::new(name, SigningKey::from_seed(&[seed; 32])).expect("a name");
    let log = cosigner(NAME, 1);
    let image: Vec<u8> = (0..20_000u32).map(|n| ((n * n) >> 3) as u8).collect();
    let mut other = image.clone();
    other[10_000] ^= 1;
    let mut leaves: Vec<Hash> = (0..11u8).map(|n| leaf_hash(&[n])).collect();
    leaves[INDEX] = leaf_hash(&image);
    let (root, hashes) = tree(&leaves, INDEX);
    let size = leaves.len() as u64;

    let signed = |cosigner: &Cosigner, origin, size, root| {
        let checkpoint = Checkpoint { origin, size, root };
        let randomness = Randomness::Hedged(&inputs::RND);
        let line = cosigner
            .sign(1_790_000_000, origin, &checkpoint.tree(), randomness)
            .expect("a signature");
        format!("{checkpoint}\n{line}")
    };
    let proof = |index, hashes: &[Hash], note: &str| {
        let hashes = hashes.to_vec();
        Proof {
            extra: None,
            index,
            hashes,
            note,
        }
        .to_string()
    };
    let index = INDEX as u64;
    let note = signed(&log, NAME, size, root);
    let good = proof(index, &hashes, &note);
    let (mut altered, mut swapped) = (hashes.clone(), hashes.clone());
    altered[1][31] ^= 1;
    swapped.swap(0, 1);
    let path = |hashes: &[Hash]| proof(index, hashes, &note);
    let longer = [&hashes[..], &[root]].concat();
    let with_note = |note: &str| proof(index, &hashes, note);
    // The signature of a time is not that of another time, in its 12th byte.
    let at = good.find("\u{2014}").expect("a signature") + "\u{2014} ".len() + NAME.len() + 1;
    let replaced = |at: usize, by: u8| {
        let mut bytes = good.clone().into_bytes();
        assert_ne!(bytes[at], by);
        bytes[at] = by;
        String::from_utf8(bytes).expect("text")
    };
    let cut = |len: usize| format!("{}\n", &good[..good.len() - 1 - len]);
    let cases = [
        ("genuine", &image, good.clone(), "Ok(11)"),
        (
            "another image",
            &other,
            good.clone(),
            "Err(Refusal::Proof(Error::Proof))",
        ),
        (
            "an altered hash",
            &image,
            path(&altered),
            "Err(Refusal::Proof(Error::Proof))",
        ),
        (
            "hashes in another order",
            &image,
            path(&swapped),
            "Err(Refusal::Proof(Error::Proof))",
        ),
        (
            "a hash less",
            &image,
            path(&hashes[1..]),
            "Err(Refusal::Proof(Error::Proof))",
        ),
        (
            "a hash more",
            &image,
            path(&longer),
            "Err(Refusal::Proof(Error::Proof))",
        ),
        (
            "another index",
            &image,
            proof(index + 1, &hashes, &note),
            "Err(Refusal::Proof(Error::Proof))",
        ),
        (
            "an index past the end",
            &image,
            proof(size, &hashes, &note),
            "Err(Refusal::Proof(Error::Proof))",
        ),
        (
            "another size",
            &image,
            good.replace("\n11\n", "\n7\n"),
            "Err(Refusal::Proof(Error::Proof))",
        ),
        // The path is as long in a tree of ten leaves, so that only the signature tells.
        (
            "another size with this path",
            &image,
            good.replace("\n11\n", "\n12\n"),
            "Err(Refusal::Signature)",
        ),
        (
            "size 0",
            &image,
            good.replace("\n11\n", "\n0\n"),
            "Err(Refusal::Proof(Error::Proof))",
        ),
        (
            "an altered root",
            &other,
            {
                let mut leaves = leaves.clone();
                leaves[INDEX] = leaf_hash(&other);
                let (root, hashes) = tree(&leaves, INDEX);
                let checkpoint = Checkpoint {
                    origin: NAME,
                    size,
                    root,
                };
                let line = &note[note.find("\n\n").expect("lines")..];
                proof(
                    index,
                    &hashes,
                    &format!("{}{}", checkpoint.to_string().trim_end(), line),
                )
            },
            "Err(Refusal::Signature)",
        ),
        (
            "an unknown key of this name",
            &image,
            with_note(&signed(&cosigner(NAME, 2), NAME, size, root)),
            "Err(Refusal::Proof(Error::NotSigned))",
        ),
        (
            "a known key of another name",
            &image,
            with_note(&signed(&cosigner("other.example/log", 1), NAME, size, root)),
            "Err(Refusal::Proof(Error::NotSigned))",
        ),
        (
            "the origin of another log",
            &image,
            with_note(&signed(&log, "other.example/log", size, root)),
            "Err(Refusal::Origin)",
        ),
        (
            "an origin altered to ours",
            &image,
            with_note(&signed(&log, "other.example/log", size, root).replacen(
                "other.example/log",
                NAME,
                1,
            )),
            "Err(Refusal::Signature)",
        ),
        (
            "an extension line",
            &image,
            good.replace("=\n\n\u{2014}", "=\nextension\n\n\u{2014}"),
            "Err(Refusal::Proof(Error::ExtensionLines))",
        ),
        (
            "an altered time",
            &image,
            replaced(
                at + 15,
                if good.as_bytes()[at + 15] == b'A' {
                    b'B'
                } else {
                    b'A'
                },
            ),
            "Err(Refusal::Signature)",
        ),
        (
            "an altered signature",
            &image,
            replaced(
                at + 1000,
                if good.as_bytes()[at + 1000] == b'A' {
                    b'B'
                } else {
                    b'A'
                },
            ),
            "Err(Refusal::Signature)",
        ),
        (
            "no base64",
            &image,
            replaced(at + 1000, b'*'),
            "Err(Refusal::Proof(Error::Malformed(\"signature line\")))",
        ),
        (
            "a short signature",
            &image,
            cut(4),
            "Err(Refusal::Signature)",
        ),
        (
            "no signature",
            &image,
            cut(good.len() - at - 10),
            "Err(Refusal::Proof(Error::Malformed(\"signature line\")))",
        ),
        (
            "nothing",
            &image,
            String::new(),
            "Err(Refusal::Proof(Error::Malformed(\"proof\")))",
        ),
    ];
    let public = log.public();
    let mut rust = format!(
        "const LOG: Log = Log {{ name: {NAME:?}, id: {:?}, key: &{:?}, tr: {:?} }};\n\
         static IMAGE: [u8; 20_000] = {image:?};\nstatic OTHER: [u8; 20_000] = {other:?};\nstatic CASES: &[Case] = &[\n",
        public.id(),
        public.verifying_key().as_bytes(),
        public.verifying_key().tr(),
    );
    for (name, bytes, proof, expected) in cases {
        let image = if *bytes == image { "&IMAGE" } else { "&OTHER" };
        rust += &format!(
            "Case {{ name: {name:?}, image: {image}, proof: {proof:?}.as_bytes(), expected: {expected} }},\n"
        );
    }
    rust + "];\n"
}
