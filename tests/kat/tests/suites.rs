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

#[path = "suites/aggregates.rs"]
mod aggregates;
#[path = "suites/court.rs"]
mod court;
#[path = "suites/damage.rs"]
mod damage;
#[path = "suites/differential.rs"]
mod differential;
#[path = "suites/digests.rs"]
mod digests;
#[path = "suites/hostile.rs"]
mod hostile;
#[path = "suites/interface.rs"]
mod interface;
#[path = "suites/ours.rs"]
mod ours;
#[path = "suites/peers.rs"]
mod peers;
#[path = "suites/published.rs"]
mod published;
#[path = "suites/rejection.rs"]
mod rejection;
#[path = "suites/rounding.rs"]
mod rounding;
#[path = "suites/tricky.rs"]
mod tricky;
#[path = "suites/validity.rs"]
mod validity;
#[path = "suites/wycheproof.rs"]
mod wycheproof;
