//! A table whose verification writes no result, for the tests that what is not
//! decided is rejected.

use super::kernels::{Kernels, counter};
use super::{Backend, portable};

static KERNELS: Kernels = Kernels {
    name: "silent",
    dispatched: counter!(),
    verify: Some(|_, _, _| {}),
    ..portable::KERNELS
};

/// A backend that writes no verdict.
const SILENT: Backend = Backend(&KERNELS);

mod tests {
    use super::SILENT;
    use crate::internals::{JobMessage, Verification, verify_lanes};
    use crate::{Backend, Context, MlDsa44, Randomness, SigningKey};

    #[test]
    fn what_is_not_decided_is_rejected() {
        let key = SigningKey::<MlDsa44>::from_seed(&[1; 32]);
        let signature = key
            .sign_with_context(b"m", Context::EMPTY, Randomness::Deterministic)
            .unwrap();
        let verifying = key.verifying_key();
        for (backend, valid) in [(Backend::PORTABLE, true), (SILENT, false)] {
            let verifying = verifying.clone().with_backend(backend);
            let result = verifying.verify_with_context(b"m", Context::EMPTY, &signature);
            assert_eq!(result.is_ok(), valid, "{backend:?}");
            let message = JobMessage::Pure(Context::EMPTY, b"m");
            let item = |_| Verification::unprepared(&verifying, message, signature.as_ref());
            let mut results = [Ok(()); 3];
            verify_lanes(item, &mut results);
            assert!(
                results.iter().all(|result| result.is_ok() == valid),
                "{backend:?}"
            );
        }
    }
}
