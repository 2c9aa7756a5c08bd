//! Writes the starting corpora of the fuzz targets:
//! `cargo run -p mldsa-interop --example fuzz_seeds -- fuzz/corpus`

use std::path::Path;
use std::{env, fs, io};

use mldsa_core::pkcs8::{EncodePrivateKey, EncodePublicKey, LineEnding};
use mldsa_core::{
    Context, MlDsa44, MlDsa65, MlDsa87, ParameterSet, PrivateKeyForm, Randomness, SigningKey,
};
use mldsa_interop::aggregate::Committee;

fn main() -> io::Result<()> {
    let root = env::args().nth(1).unwrap_or_else(|| "fuzz/corpus".into());
    let root = Path::new(&root);
    let committee = Committee::new().map_err(io::Error::other)?;
    for (number, (parser, sample)) in committee.samples.iter().enumerate() {
        let data = [&[*parser], &sample[..]].concat();
        write(root, "aggregate", &format!("sample-{number}"), &data)?;
    }
    seeds::<MlDsa44>(root, 0)?;
    seeds::<MlDsa65>(root, 1)?;
    seeds::<MlDsa87>(root, 2)
}

fn write(root: &Path, target: &str, name: &str, data: &[u8]) -> io::Result<()> {
    let folder = root.join(target);
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(name), data)
}

fn seeds<P: ParameterSet>(root: &Path, set: u8) -> io::Result<()> {
    let key = SigningKey::<P>::from_seed(&core::array::from_fn(|n| n as u8));
    let vk = key.verifying_key();
    let signature = key
        .sign_with_context(b"", Context::EMPTY, Randomness::Deterministic)
        .map_err(io::Error::other)?;
    let with = |what: u8, bytes: &[u8]| [&[set, what][..], bytes].concat();
    let name = |what: &str| format!("{}-{what}", P::NAME);

    write(root, "decode", &name("pk"), &with(0, vk.as_ref()))?;
    write(root, "decode", &name("sig"), &with(1, signature.as_ref()))?;
    write(
        root,
        "decode",
        &name("sk"),
        &with(2, key.expanded().as_ref()),
    )?;
    for what in 4..8 {
        write(
            root,
            "decode",
            &name(&what.to_string()),
            &with(what, &[40, 0, 1]),
        )?;
    }

    for (form, label) in [
        (PrivateKeyForm::Seed, "seed"),
        (PrivateKeyForm::Expanded, "expanded"),
        (PrivateKeyForm::Both, "both"),
    ] {
        let der = key.to_pkcs8_der_as(form).map_err(io::Error::other)?;
        write(root, "pkcs8", &name(label), der.as_bytes())?;
        let pem = key
            .to_pkcs8_pem_as(form, LineEnding::LF)
            .map_err(io::Error::other)?;
        write(root, "pem", &name(label), pem.as_bytes())?;
    }
    let der = vk.to_public_key_der().map_err(io::Error::other)?;
    write(root, "pkcs8", &name("pub"), der.as_bytes())?;
    let pem = vk
        .to_public_key_pem(LineEnding::CRLF)
        .map_err(io::Error::other)?;
    write(root, "pem", &name("pub"), pem.as_bytes())?;
    let pem = key.to_pkcs8_pem(LineEnding::CR).map_err(io::Error::other)?;
    write(root, "pem", &name("cr"), pem.as_bytes())?;

    write(root, "verify", &name("good"), &[set, 6])?;
    write(root, "verify", &name("bad"), &[set, 6, 10, 1, 1, 0, 0, 0])?;
    let last = (P::SIG_LEN as u16 + 5).to_le_bytes();
    write(
        root,
        "verify",
        &name("hint"),
        &[set, 6, last[0], last[1], 1],
    )?;

    let line = |rest: &str| format!("{{\"set\":\"{}\",{rest}}}", P::NAME);
    for (n, text) in [
        line(r#""pk":"00ff","sig":"0A","msg":"","ctx":"00""#),
        line(r#""seed":"00","mu":"00""#),
        line(r#""prehash":"SHA2-512","digest":"00""#),
        line("\"msg\":\"\\u0030a\"}\r\n{\"set\":1}\n\n["),
    ]
    .iter()
    .enumerate()
    {
        let data = [&[(set + n as u8 * 4) | 3], text.as_bytes()].concat();
        write(root, "jsonl", &name(&n.to_string()), &data)?;
    }

    for operation in 0..4 {
        let mut data = vec![set, operation];
        data.extend([set; 64]);
        data.extend([3, b'c', b't', b'x', 200, 0, 1, 0, 1, 2]);
        write(root, "differential", &name(&operation.to_string()), &data)?;
    }
    Ok(())
}
