//! Key generation, signing and verification on a Cortex-M4 in QEMU: a line of
//! JSON per implementation, operation, parameter set and tier, with the peak stack
//! below the call (the largest of all inputs), the size of the workspace, and the
//! mean number of instructions. Every implementation gets the same keys, messages
//! and randomness, and must give the same bytes.
#![no_std]
#![no_main]

use core::convert::Infallible;
use core::hint::black_box;
use core::sync::atomic::{AtomicBool, Ordering};

use boards::{Meter, Use, exit, println};
use cortex_m_rt::entry;
use mldsa_core::Backend;
use mldsa_core::internals::{keygen_internal, sign_mu_encoded, tr};
use mldsa_lowmem::{
    AllChecks, Balanced, CacheMatrix, CacheW0, Checks, Context, ExpandedSigningKey, Minimal,
    MlDsaSigner, Mu, MuBuilder, NoChecks, Operation, ParameterSet, PrivateKey, Randomness, Reader,
    SigningKey, Tier, VerifyingKey, Workspace, ram,
};

mod fault;
mod slices;
#[cfg(feature = "peers")]
mod peers;

/// Measures `work` with the timer, which `main` has started.
pub fn measure(work: impl FnMut()) -> Use {
    Meter::mps2().measure(work)
}

/// Keys, messages and randomizers per row.
const INPUTS: u8 = 16;

/// One input; the last byte of each part differs.
pub struct Input {
    pub xi: [u8; 32],
    pub message: [u8; 32],
    pub rnd: [u8; 32],
}

impl Input {
    fn new(n: u8) -> Self {
        let part = |label| core::array::from_fn(|i| if i == 31 { label } else { n + 1 });
        Self {
            xi: part(1),
            message: part(2),
            rnd: part(3),
        }
    }
}

/// A row of the report: the largest stack and the mean of instructions.
pub struct Row<'a> {
    pub name: &'a str,
    pub op: &'a str,
    pub set: &'a str,
    pub tier: &'a str,
    pub workspace: usize,
}

impl Row<'_> {
    /// Measures `work` on every input, prints the row, and returns its largest
    /// stack and its mean of instructions.
    pub fn run(&self, mut work: impl FnMut(&Input) -> Use) -> Use {
        let mut total = Use::default();
        for n in 0..INPUTS {
            let one = work(&Input::new(n));
            total.stack = total.stack.max(one.stack);
            total.instructions += one.instructions;
        }
        total.instructions /= u64::from(INPUTS);
        println!(
            "{{\"impl\":\"{}\",\"op\":\"{}\",\"set\":\"{}\",\"tier\":\"{}\",\"opt\":\"{}\",\
             \"stack\":{},\"workspace\":{},\"instructions\":{},\"inputs\":{}}}",
            self.name,
            self.op,
            self.set,
            self.tier,
            env!("OPT_LEVEL"),
            total.stack,
            self.workspace,
            total.instructions,
            INPUTS
        );
        total
    }
}

/// A slice read as an external memory is read.
struct External<'a>(&'a [u8]);

impl Reader for External<'_> {
    type Error = Infallible;

    fn size(&self) -> usize {
        self.0.len()
    }

    fn read(&mut self, offset: usize, out: &mut [u8]) -> Result<(), Infallible> {
        out.copy_from_slice(&self.0[offset..][..out.len()]);
        Ok(())
    }
}

/// Buffers of a set and the public facts of one input.
pub struct Bench<P: ParameterSet> {
    pub pk: P::PublicKeyBytes,
    pub sk: P::SecretKeyBytes,
    pub signature: P::SignatureBytes,
    pub expected: P::SignatureBytes,
}

/// Signs the message of `input`. In the frame of the caller, whose stack is measured.
#[inline(always)]
fn sign<P: ParameterSet, K: PrivateKey<P>, T: Tier<P>, C: Checks>(
    mut signer: MlDsaSigner<'_, P, K, T, C>,
    input: &Input,
    out: &mut [u8],
) {
    let rnd = Randomness::Hedged(&input.rnd);
    signer
        .sign_into(&input.message, Context::EMPTY, rnd, out)
        .expect("a signature");
}

impl<P: ParameterSet> Bench<P> {
    fn keys(&mut self, input: &Input) {
        mldsa_lowmem::SigningKey::<P>::keygen_into(&input.xi, &mut self.pk, &mut self.sk);
    }

    /// Keys, and the signature to be expected.
    pub fn prepare(&mut self, input: &Input) {
        self.keys(input);
        self.sign_with_core(input);
    }

    /// The keys in the buffers must be those of the full-memory implementation.
    pub fn assert_keys(&mut self, input: &Input) {
        let (pk, sk) = (self.pk.clone(), self.sk.clone());
        keygen_internal::<P>(Backend::PORTABLE, &input.xi, &mut self.pk, &mut self.sk);
        assert!(pk == self.pk && sk == self.sk);
    }

    /// The signature of the full-memory implementation.
    fn sign_with_core(&mut self, input: &Input) {
        let mut mu = MuBuilder::from_tr(
            &tr(Backend::PORTABLE.permutation(), self.pk.as_ref()),
            Context::EMPTY,
        );
        mu.update(&input.message);
        let hedge = Randomness::Hedged(&input.rnd);
        sign_mu_encoded::<P>(
            &self.sk,
            &mu.finish(),
            hedge,
            &mut self.expected,
            &mut |_| {},
        )
        .expect("a signature");
    }

    /// The three operations of the full-memory implementation.
    fn core(&mut self) -> [Use; 3] {
        let row = |op| Row {
            name: "mldsa-core",
            op,
            set: P::NAME,
            tier: "",
            workspace: 0,
        };
        let keygen = row("keygen").run(|input| {
            measure(|| {
                keygen_internal::<P>(Backend::PORTABLE, &input.xi, &mut self.pk, &mut self.sk)
            })
        });
        let sign = row("sign").run(|input| {
            self.keys(input);
            measure(|| self.sign_with_core(input))
        });
        let verify = row("verify").run(|input| {
            self.prepare(input);
            measure(|| {
                let mut mu = MuBuilder::from_tr(
                    &tr(Backend::PORTABLE.permutation(), self.pk.as_ref()),
                    Context::EMPTY,
                );
                mu.update(&input.message);
                mldsa_core::internals::verify_mu_encoded::<P>(
                    &self.pk,
                    &mu.finish(),
                    self.expected.as_ref(),
                )
                .expect("a valid signature");
            })
        });
        [keygen, sign, verify]
    }

    fn small(&mut self) -> [Use; 3] {
        let row = |op| Row {
            name: "mldsa-lowmem",
            op,
            set: P::NAME,
            tier: "",
            workspace: 0,
        };
        let keygen = row("keygen").run(|input| {
            let used = measure(|| self.keys(input));
            self.assert_keys(input);
            used
        });
        let verify = row("verify").run(|input| {
            self.prepare(input);
            measure(|| {
                VerifyingKey::<P>::from_bytes(self.pk.as_ref())
                    .expect("a key")
                    .verify_with_context(&input.message, Context::EMPTY, &self.expected)
                    .expect("a valid signature");
            })
        });
        let external = row("verify from an external memory").run(|input| {
            self.prepare(input);
            measure(|| {
                let pk = &mut External(self.pk.as_ref());
                let tr = VerifyingKey::<P>::tr_from(pk).expect("a key");
                let mu = mu(&tr, &input.message);
                let signature = &mut External(self.expected.as_ref());
                VerifyingKey::<P>::verify_mu_from(pk, &tr, &mu, signature)
                    .expect("a valid signature");
            })
        });
        [keygen, verify, external]
    }

    fn sign_expanded<T: Tier<P>, C: Checks>(&mut self, input: &Input) -> Use {
        self.prepare(input);
        let mut workspace = Workspace::<P, T>::new();
        let used = measure(|| {
            let key = ExpandedSigningKey::<P>::from_trusted_bytes(self.sk.as_ref()).expect("a key");
            let key = key.with_public_key(self.pk.as_ref()).expect("a key");
            let signer = MlDsaSigner::new(&key, &mut workspace).with_checks::<C>();
            sign(signer, input, self.signature.as_mut());
        });
        assert!(self.signature == self.expected);
        used
    }

    /// Returns the use of the unchecked signature from the expanded key, and of the
    /// checked signature from the seed with the opened key on the stack. The
    /// workspace is counted as stack.
    fn sign<T: Tier<P>>(&mut self, tier: &str) -> [Use; 2] {
        let row = |op| Row {
            name: "mldsa-lowmem",
            op,
            set: P::NAME,
            tier,
            workspace: Workspace::<P, T>::LEN,
        };
        // As the other implementations sign: from the expanded key, unchecked.
        let plain = row("sign").run(|input| self.sign_expanded::<T, NoChecks>(input));
        let checked =
            row("sign, self-verified").run(|input| self.sign_expanded::<T, AllChecks>(input));
        let mut workspace = Workspace::<P, T>::new();
        let seed = row("sign from seed").run(|input| {
            self.prepare(input);
            let key = SigningKey::<P>::from_seed(&input.xi);
            let used = measure(|| {
                let signer = MlDsaSigner::new(&key, &mut workspace).with_checks::<NoChecks>();
                sign(signer, input, self.signature.as_mut());
            });
            assert!(self.signature == self.expected);
            used
        });
        let opened = row("sign from seed, key opened, self-verified").run(|input| {
            self.prepare(input);
            let tr = tr(Backend::PORTABLE.permutation(), self.pk.as_ref());
            let used = measure(|| {
                let key = SigningKey::<P>::from_seed_and_tr(&input.xi, &tr);
                sign(
                    MlDsaSigner::new(&key, &mut workspace),
                    input,
                    self.signature.as_mut(),
                );
            });
            assert!(self.signature == self.expected);
            used
        });
        let [plain, checked, seed, opened] = [plain, checked, seed, opened].map(|used| Use {
            stack: used.stack + Workspace::<P, T>::LEN,
            ..used
        });
        let ram = ram::<P, T>;
        if plain.stack.max(checked.stack) > ram(Operation::Sign)
            || seed.stack.max(opened.stack) > ram(Operation::SignFromSeed)
        {
            miss();
        }
        [plain, opened]
    }

    #[inline(never)]
    fn run(peers: fn(&mut Self))
    where
        CacheW0: Tier<P>,
        Balanced: Tier<P>,
        CacheMatrix: Tier<P>,
    {
        use mldsa_core::internals::Zeroed;
        let mut bench = Self {
            pk: P::PublicKeyBytes::zeroed(),
            sk: P::SecretKeyBytes::zeroed(),
            signature: P::SignatureBytes::zeroed(),
            expected: P::SignatureBytes::zeroed(),
        };
        let [core_keygen, core_sign, core_verify] = bench.core();
        let [keygen, verify, external] = bench.small();
        let [minimal, from_seed] = bench.sign::<Minimal>("minimal");
        let [cache_w0, _] = bench.sign::<CacheW0>("cache-w0");
        let [balanced, _] = bench.sign::<Balanced>("balanced");
        bench.sign::<CacheMatrix>("cache-matrix");
        let [sliced, slice] = bench.slices();
        peers(&mut bench);
        fault::run(&mut bench);

        // Bytes of RAM, and percent of the instructions of pqm4's assembly, counted by this meter on
        // these inputs, or of the full-memory implementation in this program.
        let by_set = |gates: [u64; 3]| match P::CATEGORY {
            2 => gates[0],
            3 => gates[1],
            _ => gates[2],
        };
        let pqm4 = |thousands| Use {
            stack: 0,
            instructions: 1000 * by_set(thousands),
        };
        let gate = |name, used, ram, time, base| gate(P::NAME, name, used, ram, time, base);
        let [m4f_keygen, m4f_sign, m4f_verify] =
            [[1280, 2260, 3850], [2480, 3770, 5810], [1260, 2160, 3760]].map(pqm4);
        gate("core keygen", core_keygen, 40_450, 100, m4f_keygen);
        gate("core sign", core_sign, 110_450, 108, m4f_sign);
        gate("core verify", core_verify, 28_450, 100, m4f_verify);
        let [m4fstack_keygen, m4fstack_sign, m4fstack_verify] =
            [[1620, 3060, 5220], [6510, 11360, 17610], [2510, 4430, 7680]].map(pqm4);
        let ram = ram::<P, Minimal>;
        gate(
            "keygen",
            keygen,
            ram(Operation::Keygen),
            95,
            m4fstack_keygen,
        );
        gate(
            "verify",
            verify,
            ram(Operation::Verify),
            70,
            m4fstack_verify,
        );
        gate(
            "verify external",
            external,
            ram(Operation::VerifyFrom),
            260,
            core_verify,
        );
        gate(
            "sign minimal from seed",
            from_seed,
            ram(Operation::SignFromSeed),
            730,
            core_sign,
        );
        gate(
            "sign minimal",
            minimal,
            ram(Operation::Sign),
            118,
            m4fstack_sign,
        );
        gate("sign in slices", sliced, 2_900, 165, m4fstack_sign);
        // 2.5 milliseconds at 100 MHz.
        let slot = Use {
            stack: 0,
            instructions: 250_000,
        };
        gate("longest slice", slice, 2_900, 100, slot);
        let ram = mldsa_lowmem::ram::<P, CacheW0>(Operation::Sign);
        gate("sign cache-w0", cache_w0, ram, 83, m4fstack_sign);
        let time = by_set([190, 210, 230]);
        let ram = mldsa_lowmem::ram::<P, Balanced>(Operation::Sign);
        gate("sign balanced", balanced, ram, time, core_sign);
    }
}

/// `mu` of a message. A frame of its own, as in a program that needs little stack.
#[inline(never)]
fn mu(tr: &[u8; 64], message: &[u8]) -> Mu {
    let mut mu = MuBuilder::from_tr(tr, Context::EMPTY);
    mu.update(message);
    mu.finish()
}

/// Without the peers.
#[cfg(not(feature = "peers"))]
mod peers {
    pub(crate) use self::{none as ml_dsa_44, none as ml_dsa_65, none as ml_dsa_87};
    pub(crate) fn none<P: mldsa_lowmem::ParameterSet>(_: &mut crate::Bench<P>) {}
}

/// Whether some gate was missed.
static MISSED: AtomicBool = AtomicBool::new(false);

/// Notes that a gate was missed.
pub fn miss() {
    MISSED.store(true, Ordering::Relaxed);
}

fn cortex_m4() -> bool {
    env!("BOARD_TARGET").starts_with("thumbv7em")
}

/// Compares with the limits that the project promises.
fn gate(set: &str, name: &str, used: Use, ram: usize, percent: u64, base: Use) {
    let time = 100 * used.instructions / base.instructions;
    let kept = used.stack <= ram && time <= percent;
    // The limits of RAM are for every target, those of time for the default profile on a Cortex-M4.
    if used.stack > ram || !kept && cortex_m4() && env!("OPT_LEVEL") == "3" {
        miss();
    }
    println!(
        "{{\"gate\":\"{}\",\"set\":\"{}\",\"ram\":{},\"ram_limit\":{},\
         \"percent\":{},\"percent_limit\":{},\"kept\":{}}}",
        name, set, used.stack, ram, time, percent, kept
    );
}

#[entry]
fn main() -> ! {
    Row {
        name: "harness",
        op: "empty",
        set: "",
        tier: "",
        workspace: 0,
    }
    .run(|_| measure(|| black_box(())));
    #[cfg(feature = "ml-dsa-44")]
    Bench::<mldsa_lowmem::MlDsa44>::run(peers::ml_dsa_44);
    #[cfg(feature = "ml-dsa-65")]
    Bench::<mldsa_lowmem::MlDsa65>::run(peers::ml_dsa_65);
    #[cfg(feature = "ml-dsa-87")]
    Bench::<mldsa_lowmem::MlDsa87>::run(peers::ml_dsa_87);
    exit(i32::from(MISSED.load(Ordering::Relaxed)))
}
