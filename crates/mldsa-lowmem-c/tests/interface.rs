//! The header against the code, and every function with good and bad arguments.

#![allow(
    unsafe_code,
    clippy::undocumented_unsafe_blocks,
    reason = "calls as C makes them, with the pointers of arrays above each"
)]

use core::ffi::CStr;
use core::mem::MaybeUninit;
use core::ptr::{null, null_mut};
use std::collections::BTreeMap;

use mldsa_core::{Context, MlDsa44, Randomness, SigningKey};
use mldsa_lowmem_c::*;

const HEADER: &str = include_str!("../include/mldsa_lowmem.h");

/// Text without what only lays it out.
fn compact(text: &str) -> String {
    let text = text.replace('\\', " ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the parameters of C functions: `name(...)`.
fn of_header(text: &str) -> BTreeMap<String, String> {
    let text = compact(text).replace("( ", "(");
    let parts = text.split("mldsa_lowmem_status mldsa_lowmem_").skip(1);
    let parts = parts.filter_map(|part| part.split_once(';')?.0.strip_suffix(')')?.split_once('('));
    parts
        .map(|(name, list)| (name.replace("##SET##", "SET"), list.to_owned()))
        .collect()
}

/// Returns the same of Rust functions, as C writes them.
fn of_code(text: &str, prefix: &str) -> BTreeMap<String, String> {
    let text = compact(text);
    let parts = text.split("pub unsafe extern \"C\" fn ").skip(1);
    let parts = parts.filter_map(|part| part.split_once(") -> Status")?.0.split_once('('));
    let in_c = |parameter: &str| {
        let (name, kind) = parameter.trim().split_once(": ").expect("a parameter");
        match kind {
            "*const u8" => format!("const uint8_t *{name}"),
            "*mut u8" => format!("uint8_t *{name}"),
            "usize" => format!("size_t {name}"),
            "*mut MuState" => format!("mldsa_lowmem_mu *{name}"),
            "*mut SignerMemory<P>" => format!("mldsa_lowmem_signer *{name}"),
            other => panic!("a parameter of type {other}"),
        }
    };
    parts
        .map(|(name, list)| {
            let list = list
                .split(',')
                .filter(|parameter| !parameter.trim().is_empty());
            let name = name.strip_prefix("mldsa_lowmem_").unwrap_or(name);
            (
                format!("{prefix}{name}"),
                list.map(in_c).collect::<Vec<_>>().join(", "),
            )
        })
        .collect()
}

#[test]
fn the_header_has_the_functions_of_the_code() {
    let mut code = of_code(include_str!("../src/set.rs"), "SET_");
    assert_eq!(code.len(), 12);
    code.extend(of_code(include_str!("../src/message.rs"), ""));
    assert_eq!(of_header(HEADER), code);
}

/// Statuses in a header: their names in small letters, and their numbers.
fn statuses(header: &str, prefix: &str) -> BTreeMap<String, i32> {
    let lines = header.lines().filter_map(|line| {
        let (name, number) = line.trim().strip_prefix(prefix)?.split_once(" = ")?;
        Some((
            name.to_lowercase(),
            number.trim_end_matches(',').parse().ok()?,
        ))
    });
    lines.collect()
}

#[test]
fn statuses_have_the_names_and_numbers_of_the_other_library() {
    let ours = statuses(HEADER, "MLDSA_LOWMEM_");
    let theirs = statuses(
        include_str!("../../mldsa-c/include/mldsa.h"),
        "MLDSA_STATUS_",
    );
    assert!(ours.len() == 16 && theirs.len() > 40);
    let name = |number| unsafe { CStr::from_ptr(mldsa_lowmem_status_name(number)) };
    for (text, number) in &ours {
        assert_eq!(name(*number).to_str(), Ok(text.as_str()));
        match theirs.get(text) {
            Some(other) => assert_eq!(number, other, "{text}"),
            None => assert!(!theirs.values().any(|other| other == number), "{text}"),
        }
    }
    for number in (-2..300).filter(|number| !ours.values().any(|known| known == number)) {
        assert_eq!(name(number), c"unknown");
    }
}

struct Keys {
    pk: [u8; 1312],
    sk: [u8; 2560],
}

fn keys() -> Keys {
    let (mut pk, mut sk) = ([0; 1312], [0; 2560]);
    let status = unsafe { set_44::keygen([7; 32].as_ptr(), pk.as_mut_ptr(), sk.as_mut_ptr()) };
    assert_eq!(status, Status::Ok);
    Keys { pk, sk }
}

#[test]
fn bytes_and_verdicts_are_those_of_the_core() {
    let Keys { pk, sk } = keys();
    let core = SigningKey::<MlDsa44>::from_seed(&[7; 32]);
    assert_eq!(&pk, core.verifying_key().as_bytes());
    let (message, context, rnd) = (b"a message", b"context", [9; 32]);
    let expected = core
        .sign_with_context(
            message,
            Context::new(context).unwrap(),
            Randomness::Hedged(&rnd),
        )
        .unwrap();
    let mut out = [0; 2420];
    let (m, c) = (
        (message.as_ptr(), message.len()),
        (context.as_ptr(), context.len()),
    );
    let status = unsafe {
        set_44::sign(
            sk.as_ptr(),
            pk.as_ptr(),
            m.0,
            m.1,
            c.0,
            c.1,
            rnd.as_ptr(),
            out.as_mut_ptr(),
        )
    };
    assert_eq!(status, Status::Ok);
    assert_eq!(&out[..], expected.as_ref());
    let verify = |m: (*const u8, usize), c: (*const u8, usize), out: &[u8; 2420]| unsafe {
        set_44::verify(pk.as_ptr(), m.0, m.1, c.0, c.1, out.as_ptr())
    };
    assert_eq!(verify(m, c, &out), Status::Ok);
    assert_eq!(verify(m, (null(), 0), &out), Status::ChallengeMismatch);
    assert_eq!(verify((null(), 3), c, &out), Status::NullPointer);
    assert_eq!(verify((m.0, usize::MAX), c, &out), Status::TooLarge);
    assert_eq!(
        verify(m, ([0; 256].as_ptr(), 256), &out),
        Status::ContextLength
    );
    for (at, reason) in [(0, Status::ChallengeMismatch), (2419, Status::HintEncoding)] {
        let mut bad = out;
        bad[at] ^= 0x80;
        assert_eq!(verify(m, c, &bad), reason);
    }
    let mut large = out;
    large[32..50].fill(0);
    assert_eq!(verify(m, c, &large), Status::ResponseNorm);

    // The other forms.
    let (mut tr, mut mu, mut state) = ([0; 64], [0; 64], MaybeUninit::<MuState>::uninit());
    let (mut work, mut again) = ([0x5a; 2432], [0; 2420]);
    unsafe {
        let state = state.as_mut_ptr();
        assert_eq!(set_44::tr(pk.as_ptr(), tr.as_mut_ptr()), Status::Ok);
        assert_eq!(tr, sk[64..128]);
        assert_eq!(
            mldsa_lowmem_mu_start(state, tr.as_ptr(), c.0, c.1),
            Status::Ok
        );
        assert_eq!(mldsa_lowmem_mu_update(state, m.0, 4), Status::Ok);
        assert_eq!(mldsa_lowmem_mu_update(state, null(), 0), Status::Ok);
        assert_eq!(
            mldsa_lowmem_mu_update(state, m.0.add(4), m.1 - 4),
            Status::Ok
        );
        assert_eq!(mldsa_lowmem_mu_finish(state, mu.as_mut_ptr()), Status::Ok);
        assert_eq!(
            mldsa_lowmem_mu_finish(state, mu.as_mut_ptr()),
            Status::Argument
        );
        assert_eq!(mldsa_lowmem_mu_update(state, m.0, 4), Status::Argument);
        let (sk, pk, mu, rnd) = (sk.as_ptr(), pk.as_ptr(), mu.as_ptr(), rnd.as_ptr());
        assert_eq!(set_44::verify_mu(pk, mu, out.as_ptr()), Status::Ok);
        let signed = set_44::sign_mu_cached(sk, pk, mu, rnd, work.as_mut_ptr(), again.as_mut_ptr());
        assert_eq!((signed, again), (Status::Ok, out));
        assert_eq!(work, [0; 2432], "the work area is wiped");
        again.fill(0);
        let signed = set_44::sign_mu(sk, pk, mu, rnd, again.as_mut_ptr());
        assert_eq!((signed, again), (Status::Ok, out));
    }
}

#[test]
fn null_and_damaged_arguments_are_rejected() {
    let Keys { pk, mut sk } = keys();
    let (b, mut o) = ([1; 64], [0; 5000]);
    let (b, o) = (b.as_ptr(), o.as_mut_ptr());
    let (s, p) = (sk.as_ptr(), pk.as_ptr());
    let mut signer = MaybeUninit::<SignerMemory<MlDsa44>>::zeroed();
    let signer = signer.as_mut_ptr();
    let mut mu = MaybeUninit::<MuState>::zeroed();
    let mu = mu.as_mut_ptr();
    let (n, z) = (null(), null_mut());
    let rejected = unsafe {
        [
            set_44::keygen(n, o, o),
            set_44::keygen(b, z, o),
            set_44::keygen(b, o, z),
            set_44::tr(n, o),
            set_44::tr(p, z),
            set_44::sign(n, p, b, 1, b, 1, b, o),
            set_44::sign(s, n, b, 1, b, 1, b, o),
            set_44::sign(s, p, n, 1, b, 1, b, o),
            set_44::sign(s, p, b, 1, n, 1, b, o),
            set_44::sign(s, p, b, 1, b, 1, n, o),
            set_44::sign(s, p, b, 1, b, 1, b, z),
            set_44::sign_mu(n, p, b, b, o),
            set_44::sign_mu(s, p, n, b, o),
            set_44::sign_mu_cached(s, p, b, b, z, o),
            set_44::verify(n, b, 1, b, 1, o),
            set_44::verify(p, b, 1, b, 1, n),
            set_44::verify_mu(p, n, o),
            set_44::signer_start(null_mut(), s, p, b, b, o),
            set_44::signer_start(signer, n, p, b, b, o),
            set_44::signer_start(signer, s, n, b, b, o),
            set_44::signer_start(signer, s, p, n, b, o),
            set_44::signer_start(signer, s, p, b, n, o),
            set_44::signer_start(signer, s, p, b, b, z),
            set_44::signer_start(signer.cast::<u8>().add(1).cast(), s, p, b, b, o),
            set_44::signer_resume(signer, s, p, b, n, o),
            set_44::signer_step(null_mut()),
            set_44::signer_state(null_mut(), o),
            set_44::signer_end(null_mut()),
            mldsa_lowmem_mu_start(null_mut(), b, b, 1),
            mldsa_lowmem_mu_start(mu, n, b, 1),
            mldsa_lowmem_mu_update(null_mut(), b, 1),
            mldsa_lowmem_mu_finish(null_mut(), o),
        ]
    };
    for (n, status) in rejected.into_iter().enumerate() {
        assert_eq!(status, Status::NullPointer, "call {n}");
    }
    unsafe {
        assert_eq!(mldsa_lowmem_mu_update(mu, b, 1), Status::Argument);
        assert_eq!(mldsa_lowmem_mu_start(mu, b, b, 256), Status::ContextLength);
        // Not started, ended, of another set.
        assert_eq!(set_44::signer_step(signer), Status::Argument);
        assert_eq!(set_44::signer_end(signer), Status::Argument);
        assert_eq!(set_44::signer_start(signer, s, p, b, b, o), Status::Ok);
        assert_eq!(set_44::signer_state(signer, z), Status::NullPointer);
        assert_eq!(set_65::signer_step(signer.cast()), Status::Argument);
        assert_eq!(set_44::signer_step(signer), Status::Working);
        assert_eq!(set_44::signer_end(signer), Status::Ok);
        assert_eq!(set_44::signer_step(signer), Status::Argument);
        sk[128] |= 7;
        assert_eq!(
            set_44::sign_mu(sk.as_ptr(), p, b, b, o),
            Status::SecretRange
        );
        sk[128] &= !7;
        // s1 of another key, in range: detected before anything is released.
        let zeros = core::slice::from_raw_parts(o, 2420);
        assert_eq!(set_44::sign_mu(sk.as_ptr(), p, b, b, o), Status::Signing);
        assert!(zeros.iter().all(|&byte| byte == 0));
    }
}

/// Slices with a power cut, and the buffer after an end in the middle.
#[test]
fn slices_give_the_same_bytes_and_an_early_end_wipes() {
    let Keys { pk, sk } = keys();
    let (mu, rnd) = ([3; 64], [4; 32]);
    let (s, p, mu, rnd) = (sk.as_ptr(), pk.as_ptr(), mu.as_ptr(), rnd.as_ptr());
    let mut signer = MaybeUninit::<SignerMemory<MlDsa44>>::uninit();
    let signer = signer.as_mut_ptr();
    let (mut expected, mut out, mut state) = ([0; 2420], [0; 2420], [0; 70]);
    unsafe {
        assert_eq!(
            set_44::sign_mu(s, p, mu, rnd, expected.as_mut_ptr()),
            Status::Ok
        );
        for cut in [1, 30, 60] {
            let o = out.as_mut_ptr();
            assert_eq!(set_44::signer_start(signer, s, p, mu, rnd, o), Status::Ok);
            for _ in 0..cut {
                let status = set_44::signer_step(signer);
                assert!(matches!(status, Status::Working | Status::WorkingState));
            }
            assert_eq!(set_44::signer_state(signer, state.as_mut_ptr()), Status::Ok);
            assert_eq!(set_44::signer_end(signer), Status::Ok);
            assert_eq!(out, [0; 2420], "after an end in the middle");
            let o = out.as_mut_ptr();
            let resume = set_44::signer_resume;
            assert_eq!(
                resume(signer, s, p, [5; 64].as_ptr(), state.as_ptr(), o),
                Status::SavedState
            );
            assert_eq!(resume(signer, s, p, mu, state.as_ptr(), o), Status::Ok);
            loop {
                match set_44::signer_step(signer) {
                    Status::Working | Status::WorkingState => {}
                    status => break assert_eq!(status, Status::Ok),
                }
            }
            assert_eq!(set_44::signer_end(signer), Status::Ok);
            assert_eq!(out, expected, "cut at {cut}");
        }
    }
}
