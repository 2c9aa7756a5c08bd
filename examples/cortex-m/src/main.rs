//! Key generation, signing and verification on a Cortex-M4 in QEMU: a line of
//! JSON per implementation, operation, parameter set and tier, with the peak stack
//! below the call (the largest of all inputs), the workspace beside it, and the
//! mean number of instructions. Every implementation gets the same keys, messages
//! and randomness, and must give the same bytes.
#![no_std]
#![no_main]

use core::hint::black_box;
use core::panic::PanicInfo;

use cortex_m_rt::entry;
use cortex_m_semihosting::{debug, hprintln};
use mldsa_core::bytes as core_bytes;
use mldsa_lowmem::{
    Balanced, Cached, Context, ExpandedKey, Floor, Hedge, KeepW0, MuBuilder, OpenedKey, Output,
    ParameterSet, PublicKey, Signer, Tier, Workspace, keygen_from_seed,
};

mod meter;
#[cfg(feature = "peers")]
mod peers;

use meter::{Use, measure};

/// Keys, messages and randomizers per row.
const INPUTS: u8 = 16;

/// One input; its parts are told apart by their last byte.
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

/// What a row reports: the largest stack and the mean of instructions.
pub struct Row<'a> {
    pub name: &'a str,
    pub op: &'a str,
    pub set: &'a str,
    pub tier: &'a str,
    pub workspace: usize,
}

impl Row<'_> {
    /// Measures `work` on every input and prints the row.
    pub fn run(&self, mut work: impl FnMut(&Input) -> Use) {
        let mut total = Use::default();
        for n in 0..INPUTS {
            let one = work(&Input::new(n));
            total.stack = total.stack.max(one.stack);
            total.instructions += one.instructions;
        }
        hprintln!(
            "{{\"impl\":\"{}\",\"op\":\"{}\",\"set\":\"{}\",\"tier\":\"{}\",\"opt\":\"{}\",\
             \"stack\":{},\"workspace\":{},\"instructions\":{},\"inputs\":{}}}",
            self.name,
            self.op,
            self.set,
            self.tier,
            env!("OPT_LEVEL"),
            total.stack,
            self.workspace,
            total.instructions / u64::from(INPUTS),
            INPUTS
        );
    }
}

/// Buffers of a set and the public facts of one input.
struct Bench<P: ParameterSet> {
    pk: P::PublicKeyBytes,
    sk: P::SecretKeyBytes,
    signature: P::SignatureBytes,
    expected: P::SignatureBytes,
}

impl<P: ParameterSet> Bench<P> {
    fn keys(&mut self, input: &Input) {
        keygen_from_seed::<P>(&input.xi, &mut self.pk, &mut self.sk);
    }

    /// The signature of the full-memory implementation.
    fn sign_with_core(&mut self, input: &Input) {
        let mut mu = MuBuilder::from_tr(&core_bytes::tr::<P>(&self.pk), Context::EMPTY);
        mu.update(&input.message);
        let hedge = Hedge::Bytes(&input.rnd);
        core_bytes::sign_mu::<P>(&self.sk, &mu.finish(), hedge, &mut self.expected)
            .expect("a signature");
    }

    fn core(&mut self) {
        let row = |op| Row {
            name: "mldsa-core",
            op,
            set: P::NAME,
            tier: "",
            workspace: 0,
        };
        row("keygen").run(|input| {
            measure(|| core_bytes::keygen::<P>(&input.xi, &mut self.pk, &mut self.sk))
        });
        row("sign").run(|input| {
            self.keys(input);
            measure(|| self.sign_with_core(input))
        });
        row("verify").run(|input| {
            self.keys(input);
            self.sign_with_core(input);
            measure(|| {
                let mut mu = MuBuilder::from_tr(&core_bytes::tr::<P>(&self.pk), Context::EMPTY);
                mu.update(&input.message);
                core_bytes::verify_mu::<P>(&self.pk, &mu.finish(), self.expected.as_ref())
                    .expect("a valid signature");
            })
        });
    }

    fn small(&mut self) {
        let row = |op| Row {
            name: "mldsa-lowmem",
            op,
            set: P::NAME,
            tier: "",
            workspace: 0,
        };
        row("keygen").run(|input| {
            let used = measure(|| self.keys(input));
            let (pk, sk) = (self.pk.clone(), self.sk.clone());
            core_bytes::keygen::<P>(&input.xi, &mut self.pk, &mut self.sk);
            assert!(pk == self.pk && sk == self.sk);
            used
        });
        row("verify").run(|input| {
            self.keys(input);
            self.sign_with_core(input);
            measure(|| {
                PublicKey::<P>::from_bytes(self.pk.as_ref())
                    .expect("a key")
                    .verify(&input.message, Context::EMPTY, self.expected.as_ref())
                    .expect("a valid signature");
            })
        });
    }

    fn sign<T: Tier<P>>(&mut self, tier: &str) {
        let mut workspace = Workspace::<P, T>::new();
        let row = |op| Row {
            name: "mldsa-lowmem",
            op,
            set: P::NAME,
            tier,
            workspace: Workspace::<P, T>::LEN,
        };
        // As the other implementations sign: from the expanded key, unchecked.
        for (op, checked) in [("sign", false), ("sign, self-verified", true)] {
            row(op).run(|input| {
                self.keys(input);
                self.sign_with_core(input);
                let used = measure(|| {
                    let key = ExpandedKey::<P>::new(self.sk.as_ref()).expect("a key");
                    let key = key.with_public_key(self.pk.as_ref()).expect("a key");
                    let out = Output::in_place(self.signature.as_mut()).expect("a buffer");
                    let hedge = Hedge::Bytes(&input.rnd);
                    Signer::new(&key, &mut workspace)
                        .self_verification(checked)
                        .recheck(checked)
                        .sign(&input.message, Context::EMPTY, hedge, out)
                        .expect("a signature");
                });
                assert!(self.signature == self.expected);
                used
            });
        }
        row("sign from seed").run(|input| {
            self.keys(input);
            self.sign_with_core(input);
            let key = OpenedKey::<P>::from_seed(&input.xi);
            let used = measure(|| {
                let out = Output::in_place(self.signature.as_mut()).expect("a buffer");
                Signer::new(&key, &mut workspace)
                    .self_verification(false)
                    .recheck(false)
                    .sign(&input.message, Context::EMPTY, Hedge::Bytes(&input.rnd), out)
                    .expect("a signature");
            });
            assert!(self.signature == self.expected);
            used
        });
    }

    #[inline(never)]
    fn run()
    where
        KeepW0: Tier<P>,
        Balanced: Tier<P>,
        Cached: Tier<P>,
    {
        use mldsa_core::hazmat::Zeroed;
        let mut bench = Self {
            pk: P::PublicKeyBytes::zeroed(),
            sk: P::SecretKeyBytes::zeroed(),
            signature: P::SignatureBytes::zeroed(),
            expected: P::SignatureBytes::zeroed(),
        };
        bench.core();
        bench.small();
        bench.sign::<Floor>("floor");
        bench.sign::<KeepW0>("keep-w0");
        bench.sign::<Balanced>("balanced");
        bench.sign::<Cached>("cached");
    }
}

#[entry]
fn main() -> ! {
    meter::start();
    Row {
        name: "harness",
        op: "empty",
        set: "",
        tier: "",
        workspace: 0,
    }
    .run(|_| measure(|| black_box(())));
    #[cfg(feature = "ml-dsa-44")]
    Bench::<mldsa_lowmem::MlDsa44>::run();
    #[cfg(feature = "ml-dsa-65")]
    Bench::<mldsa_lowmem::MlDsa65>::run();
    #[cfg(feature = "ml-dsa-87")]
    Bench::<mldsa_lowmem::MlDsa87>::run();
    #[cfg(feature = "peers")]
    peers::run();
    debug::exit(debug::EXIT_SUCCESS);
    loop {}
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    hprintln!("{}", info);
    debug::exit(debug::EXIT_FAILURE);
    loop {}
}
