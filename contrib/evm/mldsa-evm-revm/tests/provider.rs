//! Properties for a node that makes a provider for every call.

use mldsa_evm_revm::{DRAFT_ADDRESSES, MldsaPrecompiles};
use revm::handler::PrecompileProvider;
use revm::primitives::hardfork::SpecId;
use revm::primitives::{Address, AddressSet};
use revm::{Context, MainContext};

fn warm(provider: &MldsaPrecompiles) -> &AddressSet {
    fn of<'a, C>(_: &C, provider: &'a MldsaPrecompiles) -> &'a AddressSet
    where
        MldsaPrecompiles: PrecompileProvider<C>,
        C: revm::context::ContextTr,
    {
        PrecompileProvider::<C>::warm_addresses(provider)
    }
    of(&Context::mainnet(), provider)
}

#[test]
fn addresses_of_the_chain_and_ours_are_warm() {
    let provider = MldsaPrecompiles::new(SpecId::OSAKA, DRAFT_ADDRESSES);
    assert!(!warm(&provider).contains(&Address::ZERO));
    for address in [1, 17]
        .map(Address::with_last_byte)
        .iter()
        .chain(&DRAFT_ADDRESSES)
    {
        assert!(warm(&provider).contains(address), "{address}");
    }
    // Another place than the draft's.
    let elsewhere = [0xd0, 0xd1, 0xd2].map(Address::with_last_byte);
    let provider = MldsaPrecompiles::new(SpecId::OSAKA, elsewhere);
    assert!(
        elsewhere
            .iter()
            .all(|address| warm(&provider).contains(address))
    );
    assert!(!warm(&provider).contains(&DRAFT_ADDRESSES[2]));
}

/// A dropped provider leaves no state, whatever forks it was used with.
#[test]
#[cfg(target_os = "linux")]
fn providers_leave_no_memory() {
    fn switch<C>(_: &C, provider: &mut MldsaPrecompiles, spec: SpecId)
    where
        MldsaPrecompiles: PrecompileProvider<C>,
        C: revm::context::ContextTr<Cfg: revm::context::Cfg<Spec = SpecId>>,
    {
        assert!(PrecompileProvider::<C>::set_spec(provider, spec));
    }
    let pages = || -> usize {
        let text = std::fs::read_to_string("/proc/self/statm").unwrap();
        text.split(' ').nth(1).unwrap().parse().unwrap()
    };
    let context = Context::mainnet();
    let rounds = |count| {
        for _ in 0..count {
            let mut provider = MldsaPrecompiles::new(SpecId::OSAKA, DRAFT_ADDRESSES);
            switch(&context, &mut provider, SpecId::CANCUN);
        }
    };
    rounds(100);
    let before = pages();
    rounds(20_000);
    // A kilobyte for each would be 5,000 pages.
    assert!(pages() < before + 500, "{before} pages, then {}", pages());
}
