//! The program of the stack gate: prints how deep every operation goes on the
//! portable backend, one line each, and runs it once more on a thread of 128 KiB.
//! Arguments: the signatures of each tier of the low-memory signer, and `lowmem`
//! to run nothing else.

use core::hint::black_box;

use mldsa_core::hazmat::{self, Zeroed};
use mldsa_core::{
    Backend, Hedge, MlDsa44, MlDsa65, MlDsa87, ParameterSet, PreparedMemory, SigningKey,
};
use mldsa_gates::{cases, lowmem, painted};
use mldsa_lowmem::{Balanced, Cached, KeepW0, Tier};

const SMALL: usize = 128 * 1024;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let signatures = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(200);
    small::<MlDsa44>(signatures);
    small::<MlDsa65>(signatures);
    small::<MlDsa87>(signatures);
    // Planted: frames of 3,000 and 100,000 bytes have to be seen.
    let depth = painted::depth_of(SMALL, || {
        black_box([1u8; 3_000]);
    });
    println!("planted small\t{depth}");
    if arguments.next().is_some_and(|only| only == "lowmem") {
        return;
    }
    operations::<MlDsa44>();
    operations::<MlDsa65>();
    operations::<MlDsa87>();
    let (stack, _) = painted::run(8 * SMALL, || {
        black_box([1u8; 100_000]);
    });
    println!("planted\t{}", stack.depth() - painted::empty_depth());
}

fn operations<P: ParameterSet>()
where
    P::VerifyMatrix<hazmat::NttPoly>: Send,
{
    let backend = Backend::PORTABLE;
    let case = cases::rejected(P::NAME)[0];
    let key = SigningKey::<P>::from_seed(&case.seed).with_backend(backend);
    let vk = key.verifying_key();
    let (mut pk, mut sk) = (vk.as_bytes().clone(), key.expanded().clone());
    let mut out = P::SignatureBytes::zeroed();
    let mut memory = Box::new(PreparedMemory::<P>::ZERO);
    measure::<P>("keygen", || {
        hazmat::keygen_internal::<P>(backend, &case.seed, &mut pk, &mut sk);
    });
    measure::<P>("import", || {
        let checked = hazmat::check_expanded::<P>(backend, sk.as_ref(), &mut pk);
        assert_eq!(checked, Ok(()));
    });
    measure::<P>("sign", || {
        let signed = key.sign_mu_into(&case.mu, Hedge::Deterministic, out.as_mut());
        assert_eq!(signed, Ok(()));
    });
    measure::<P>("verify", || {
        assert_eq!(vk.verify_mu(&case.mu, out.as_ref()), Ok(()));
    });
    measure::<P>("prepare verifying key", || {
        black_box(vk.prepare_in(&mut memory));
    });
    let prepared_vk = vk.prepare();
    measure::<P>("verify prepared", || {
        assert_eq!(prepared_vk.verify_mu(&case.mu, out.as_ref()), Ok(()));
    });
    measure::<P>("prepare signing key", || {
        black_box(key.prepare());
    });
    let prepared = key.prepare();
    measure::<P>("sign prepared", || {
        let signed = prepared.sign_mu_into(&case.mu, Hedge::Deterministic, out.as_mut());
        assert_eq!(signed, Ok(()));
    });
}

/// The low-memory signer: the deepest of all inputs, workspaces not counted.
fn small<P: ParameterSet>(signatures: u32)
where
    KeepW0: Tier<P>,
    Balanced: Tier<P>,
    Cached: Tier<P>,
{
    for operation in lowmem::operations::<P>(signatures) {
        let depth = painted::depth_of(SMALL, operation.run);
        println!("{}\t{depth}", operation.name);
    }
}

fn measure<P: ParameterSet>(name: &str, mut operation: impl FnMut() + Send) {
    let (stack, panicked) = painted::run(8 * SMALL, &mut operation);
    assert!(!panicked);
    let depth = stack.depth() - painted::empty_depth();
    println!("{} {name}\t{depth}", P::NAME);
    let small = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(SMALL);
        thread
            .spawn_scoped(scope, operation)
            .map(|thread| thread.join().is_ok())
    });
    assert!(matches!(small, Ok(true)), "a thread of 128 KiB");
}
