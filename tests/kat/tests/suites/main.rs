//! Conformance suites. One binary: it links once, also with link-time
//! optimisation. Every suite counts its cases.

/// One test for each parameter set from a function that takes the set.
macro_rules! for_each_set {
    ($($suite:ident),+ $(,)?) => {$(mod $suite {
        #[test]
        fn ml_dsa_44() { super::$suite(&mldsa_kat::set::ML_DSA_44) }
        #[test]
        fn ml_dsa_65() { super::$suite(&mldsa_kat::set::ML_DSA_65) }
        #[test]
        fn ml_dsa_87() { super::$suite(&mldsa_kat::set::ML_DSA_87) }
    })+};
}

/// One test for each parameter set from a function that is generic over it.
macro_rules! for_each_type {
    ($($suite:ident),+ $(,)?) => {$(mod $suite {
        #[test]
        fn ml_dsa_44() { super::$suite::<mldsa_core::MlDsa44>() }
        #[test]
        fn ml_dsa_65() { super::$suite::<mldsa_core::MlDsa65>() }
        #[test]
        fn ml_dsa_87() { super::$suite::<mldsa_core::MlDsa87>() }
    })+};
}

mod aggregates;
mod all_verifiers;
mod damage;
mod differential;
mod digests;
mod hostile;
mod interface;
mod ours;
mod peers;
mod published;
mod rejection;
mod rounding;
mod tricky;
mod validity;
mod wycheproof;
