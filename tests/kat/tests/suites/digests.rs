//! Many signatures pinned by one digest each: the accumulated digests of C2SP
//! CCTV (empty message and context, no `rnd`), and the mode digests, which add
//! context, `rnd`, the twelve hashes and `mu` (expected values computed with
//! `fips204` 0.5.0 and `ml-dsa` 0.1.2).

use mldsa_kat::hash::{HASHES, Sink, Source, shake256};
use mldsa_kat::scheme::{Message, PrivateKey, Scheme};
use mldsa_kat::set::Set;
use mldsa_kat::tally::{Tally, same};

use crate::ours;

for_each_set!(accumulated, modes);

/// Rounds and digests of 44, 65 and 87: the first line with debug assertions,
/// the second in release.
const ACCUMULATED: [(usize, [&str; 3]); 2] = [
    (
        100,
        [
            "d51148e1f9f4fa1a723a6cf42e25f2a99eb5c1b378b3d2dbbd561b1203beeae4",
            "8358a1843220194417cadbc2651295cd8fc65125b5a5c1a239a16dc8b57ca199",
            "8c3ad714777622b8f21ce31bb35f71394f23bc0fcf3c78ace5d608990f3b061b",
        ],
    ),
    (
        10_000,
        [
            "e7fd21f6a59bcba60d65adc44404bb29a7c00e5d8d3ec06a732c00a306a7d143",
            "5ff5e196f0b830c3b10a9eb5358e7c98a3a20136cb677f3ae3b90175c3ace329",
            "80a8cf39317f7d0be0e24972c51ac152bd2a3e09bc0c32ce29dd82c4e7385e60",
        ],
    ),
];

const MODES: [(usize, [&str; 3]); 2] = [
    (
        100,
        [
            "1b269ba3881eb9df5f28f876776008787eab8a1f850d8dc5edd65d2add5d7223",
            "c5965317ca5bb97229f0e291b45966e11f049ef067e016de20152da5ff9c3330",
            "67ba64913ba23f38eb7ae0e955ebed606a14340dbf1aae03ecde491276f7d32c",
        ],
    ),
    (
        1000,
        [
            "5c0a3d6fa73dc93903b3b7281563b200cf9a1417ff362d549730a9c2b1ad0946",
            "4b108a4dbe04ea87277517b38ccd9480c5f545385dd8d5f94f85956dd4c1595e",
            "e114732aca8501c44c07ecc61c2d946d665ec53711e114d8416f1dd6e137af2d",
        ],
    ),
];

fn accumulated(set: &'static Set) {
    for scheme in ours::backends(set) {
        run(
            "accumulated digest",
            set,
            &*scheme,
            &ACCUMULATED,
            b"",
            |source, sink| {
                let xi = source.array();
                let message = Message::pure(b"", b"");
                let pair = scheme.load(PrivateKey::Seed(&xi))?;
                sink.write(&pair.pk);
                signature(
                    &*scheme,
                    PrivateKey::Seed(&xi),
                    &pair.pk,
                    message,
                    None,
                    sink,
                )
            },
        );
    }
}

fn modes(set: &'static Set) {
    for scheme in ours::schemes(set) {
        let mut hashes = HASHES.iter().cycle();
        run(
            "mode digest",
            set,
            &*scheme,
            &MODES,
            b"mldsa-modes-1",
            |source, sink| {
                let (xi, rnd) = (source.array(), source.array());
                let (ctx, msg) = (&source.short_string()[..], &source.short_string()[..]);
                let pair = scheme.load(PrivateKey::Seed(&xi))?;
                sink.write(&pair.pk);
                sink.write(&pair.sk);
                let hash = hashes.next().expect("endless");
                let digest = hash.digest(msg);
                let mu = shake256(&[msg], 64).try_into().expect("64 bytes");
                let pure = Message::Pure { ctx, msg };
                let pre_hashed = Message::hashed(ctx, hash, &digest);
                let key = PrivateKey::Expanded(&pair.sk);
                signature(&*scheme, key, &pair.pk, pure, None, sink)?;
                signature(&*scheme, key, &pair.pk, pure, Some(&rnd), sink)?;
                signature(&*scheme, key, &pair.pk, pre_hashed, Some(&rnd), sink)?;
                signature(&*scheme, key, &pair.pk, Message::Mu(&mu), Some(&rnd), sink)
            },
        );
    }
}

fn run(
    what: &str,
    set: &Set,
    scheme: &dyn Scheme,
    expected: &[(usize, [&str; 3]); 2],
    input: &[u8],
    mut round: impl FnMut(&mut Source, &mut Sink) -> Result<(), String>,
) {
    let (rounds, digests) = expected[usize::from(!cfg!(debug_assertions))];
    let mut tally = Tally::new(format!("{what}, {}", scheme.name()));
    let (mut source, mut sink) = (Source::new(input), Sink::default());
    for i in 0..rounds {
        tally.case(i, round(&mut source, &mut sink));
    }
    tally.equal("digest", &sink.hex()[..], digests[set.lambda / 64 - 2]);
    tally.finish(rounds + 1);
}

fn signature(
    scheme: &dyn Scheme,
    key: PrivateKey<'_>,
    pk: &[u8],
    message: Message<'_>,
    rnd: Option<&[u8; 32]>,
    sink: &mut Sink,
) -> Result<(), String> {
    let sig = scheme
        .sign(key, message, rnd)
        .map_err(|e| format!("signing: {e:?}"))?;
    sink.write(&sig);
    same("verdict", scheme.verify(pk, message, &sig), Ok(()))
}
