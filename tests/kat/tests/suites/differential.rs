//! Random inputs against `fips204` and `libcrux-ml-dsa`: keys and signatures
//! byte for byte, verification in both directions, and the same verdict on
//! changed signatures, keys, contexts and messages. The model gives a
//! verdict too, with its reason.

use core::cell::Cell;

use mldsa_kat::hash::{HASHES, Hash};
use mldsa_kat::model;
use mldsa_kat::scheme::{Message, PrivateKey, Reason, Verifier};
use mldsa_kat::set::Set;
use mldsa_kat::tally::{Tally, same};
use proptest::collection::vec;
use proptest::prelude::{Strategy, any};
use proptest::sample::select;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use crate::all_verifiers::AllVerifiers;
use crate::{ours, peers};

for_each_set!(signing, changed, changed_private_key, sponge_boundaries);

/// The input of signing, with its buffers.
#[derive(Debug, Clone)]
struct Owned {
    mode: Mode,
    ctx: Vec<u8>,
    msg: Vec<u8>,
    digest: Vec<u8>,
    mu: [u8; 64],
}

#[derive(Debug, Clone, Copy)]
enum Mode {
    Pure,
    PreHashed(&'static Hash),
    Formatted,
    Mu,
}

impl Owned {
    fn new(mode: Mode, ctx: Vec<u8>, msg: Vec<u8>) -> Self {
        let digest = if let Mode::PreHashed(hash) = mode {
            hash.digest(&msg)
        } else {
            vec![]
        };
        let mu = mldsa_kat::hash::shake256(&[&msg], 64)
            .try_into()
            .expect("64 bytes");
        Self {
            mode,
            ctx,
            msg,
            digest,
            mu,
        }
    }

    fn message(&self) -> Message<'_> {
        let ctx = &self.ctx;
        match self.mode {
            Mode::Pure => Message::pure(ctx, &self.msg),
            Mode::PreHashed(hash) => Message::hashed(ctx, hash, &self.digest),
            Mode::Formatted => Message::Formatted(&self.msg),
            Mode::Mu => Message::Mu(&self.mu),
        }
    }

    /// The bytes that carry the message.
    fn body(&mut self) -> &mut [u8] {
        match self.mode {
            Mode::Pure | Mode::Formatted => &mut self.msg,
            Mode::PreHashed(_) => &mut self.digest,
            Mode::Mu => &mut self.mu,
        }
    }
}

fn messages() -> impl Strategy<Value = Owned> {
    let mode = (0usize..24).prop_map(|n| match n {
        0..12 => Mode::PreHashed(&HASHES[n]),
        12..18 => Mode::Pure,
        18..21 => Mode::Formatted,
        _ => Mode::Mu,
    });
    (mode, vec(any::<u8>(), 0..256), vec(any::<u8>(), 0..600))
        .prop_map(|(mode, ctx, msg)| Owned::new(mode, ctx, msg))
}

/// Runs `check` on random values, ten times as many in release.
pub(crate) fn random<S: Strategy>(
    suite: &str,
    set: &Set,
    cases: u32,
    strategy: S,
    check: impl Fn(S::Value) -> Result<(), String>,
) {
    let cases = if cfg!(debug_assertions) {
        cases
    } else {
        10 * cases
    };
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let (ran, seed) = (Cell::new(0), config.rng_seed);
    let outcome = TestRunner::new(config).run(&strategy, |value| {
        ran.set(ran.get() + 1);
        check(value).map_err(TestCaseError::fail)
    });
    let mut tally = Tally::new(format!("{suite}, {}", set.name));
    match outcome {
        Ok(()) => tally.add(ran.get()),
        Err(smallest) => {
            let name = format!("smallest input with PROPTEST_RNG_SEED={seed}");
            tally.case(&name, Err(smallest.to_string()));
        }
    }
    tally.finish(cases as usize);
}

/// The result of a peer, `None` if it has no such call.
fn supported<T>(answer: Result<T, Reason>) -> Option<Result<T, Reason>> {
    match answer {
        Err(Reason::Unsupported) => None,
        answer => Some(answer),
    }
}

fn signing(set: &'static Set) {
    let (schemes, peers) = (ours::schemes(set), peers::schemes(set));
    let strategy = (any::<[u8; 32]>(), any::<Option<[u8; 32]>>(), messages());
    random(
        "differential signing",
        set,
        60,
        strategy,
        |(xi, rnd, owned)| {
            let message = owned.message();
            for ours in &schemes {
                let pair = ours.load(PrivateKey::Seed(&xi))?;
                let imported = ours.load(PrivateKey::Expanded(&pair.sk));
                same("import", imported, Ok(pair.clone()))?;
                let (seed, sk) = (PrivateKey::Seed(&xi), PrivateKey::Expanded(&pair.sk));
                let sig = ours.sign(seed, message, rnd.as_ref())?;
                same(
                    "signature by expanded key",
                    &ours.sign(sk, message, rnd.as_ref()),
                    &Ok(sig.clone()),
                )?;
                for peer in &peers {
                    let name = peer.name();
                    same(
                        format!("keys of {name}"),
                        peer.load(PrivateKey::Seed(&xi)),
                        Ok(pair.clone()),
                    )?;
                    if let Some(theirs) = supported(peer.sign(sk, message, rnd.as_ref())) {
                        same(format!("signature of {name}"), theirs, Ok(sig.clone()))?;
                    }
                    if let Some(verdict) = supported(peer.verify(&pair.pk, message, &sig)) {
                        same(format!("verdict of {name}"), verdict, Ok(()))?;
                    }
                }
                same("own verdict", ours.verify(&pair.pk, message, &sig), Ok(()))?;
            }
            Ok(())
        },
    );
}

/// A change and its position.
#[derive(Debug, Clone, Copy)]
enum Change {
    Nothing,
    Challenge,
    Response,
    Hint,
    HintByte,
    Key,
    Context,
    Message,
}

fn changed(set: &'static Set) {
    let verifiers = AllVerifiers::new(set);
    let [signer, _] = peers::schemes(set);
    let key = signer.load(PrivateKey::Seed(&[1; 32])).expect("a seed");
    let change = select(vec![
        Change::Nothing,
        Change::Challenge,
        Change::Response,
        Change::Hint,
        Change::HintByte,
        Change::Key,
        Change::Context,
        Change::Message,
    ]);
    let strategy = (messages(), change, any::<usize>(), any::<u8>());
    random(
        "differential verdicts",
        set,
        160,
        strategy,
        |(mut owned, change, at, byte)| {
            let signed = signer.sign(PrivateKey::Expanded(&key.sk), owned.message(), None);
            let mut sig = signed?;
            let mut pk = key.pk.clone();
            let (c, h) = (set.c_tilde_len(), set.sig_len - set.omega - set.k);
            match change {
                Change::Nothing => {}
                Change::Challenge => flip(&mut sig[..c], at),
                Change::Response => flip(&mut sig[c..h], at),
                Change::Hint => flip(&mut sig[h..], at),
                Change::HintByte => sig[h..][at % (set.omega + set.k)] = byte,
                Change::Key => flip(&mut pk, at),
                Change::Context => flip(&mut owned.ctx, at),
                Change::Message => flip(owned.body(), at),
            }
            let want = verifiers.model.verify(&pk, owned.message(), &sig);
            verifiers.agree(&pk, owned.message(), &sig, want)
        },
    );
}

/// A changed private key must be rejected, unless the change is in `K`, which
/// may be any 32 bytes.
fn changed_private_key(set: &'static Set) {
    let schemes = ours::schemes(set);
    let [peer, _] = peers::schemes(set);
    let good = peer.load(PrivateKey::Seed(&[2; 32])).expect("a seed").sk;
    let s_len = 32 * (set.k + set.l) * if set.eta == 2 { 3 } else { 4 };
    let (k, t0) = (32..64, 128 + s_len);
    let part = select(vec![0..32, k.clone(), 64..128, 128..t0, t0..set.sk_len]);
    let strategy = (part, any::<usize>(), messages());
    random(
        "differential private keys",
        set,
        60,
        strategy,
        |(part, at, owned)| {
            let mut sk = good.clone();
            flip(&mut sk[part.clone()], at);
            let key = PrivateKey::Expanded(&sk);
            // The peer looks at the range only.
            let theirs = peer.sign(key, owned.message(), None);
            let want = match theirs {
                Err(range) => Err(range),
                Ok(_) if part != k => Err(Reason::Inconsistent),
                Ok(sig) => Ok(sig),
            };
            schemes.iter().try_for_each(|ours| {
                same(ours.name(), &ours.sign(key, owned.message(), None), &want)
            })
        },
    );
}

/// Message lengths that end just before, at and after a block of the hash.
fn sponge_boundaries(set: &'static Set) {
    let [peer, _] = peers::schemes(set);
    let pair = peer.load(PrivateKey::Seed(&[4; 32])).expect("a seed");
    let key = PrivateKey::Expanded(&pair.sk);
    let bytes: Vec<u8> = (0..=255).collect();
    for ours in ours::schemes(set) {
        let mut tally = Tally::new(format!("sponge boundaries, {}", ours.name()));
        for total in [135, 136, 137, 271, 272, 273] {
            for ctx in [0, 1, 69] {
                let (ctx, msg) = (&bytes[..ctx], &bytes[..total - 66 - ctx]);
                let message = Message::Pure { ctx, msg };
                let check = || {
                    same(
                        "mu",
                        ours.mu(&pair.pk, message),
                        model::mu(&pair.pk, message),
                    )?;
                    let sig = peer.sign(key, message, None);
                    same("signature", &ours.sign(key, message, None), &sig)?;
                    same(
                        "verdict",
                        ours.verify(&pair.pk, message, &sig.unwrap_or_default()),
                        Ok(()),
                    )
                };
                tally.case(format!("{total} bytes, context of {}", ctx.len()), check());
            }
        }
        tally.finish(18);
    }
}

pub(crate) fn flip(bytes: &mut [u8], at: usize) {
    if !bytes.is_empty() {
        bytes[at / 8 % bytes.len()] ^= 1 << (at % 8);
    }
}
