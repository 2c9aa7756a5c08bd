//! A wallet whose owner is an ML-DSA-65 key, from its registration to its first payment,
//! on a chain in memory: `cargo run --release --manifest-path contrib/evm/Cargo.toml -p evm-bench
//! --example wallet`.

use std::error::Error;

use evm_bench::abi::{self, Operation};
use evm_bench::contracts::Deployed;
use mldsa_core::{Context, MlDsa65, Randomness, SigningKey};
use mldsa_evm_gen::key::ExpandedKey;
use mldsa_evm_gen::lanes::Layout;
use revm::primitives::{Address, U256};

/// The only caller that the account obeys.
const ENTRY_POINT: Address = Address::with_last_byte(0xee);
/// Recipient of the payment.
const PAYEE: Address = Address::with_last_byte(0x42);
/// The chain of revm.
const CHAIN_ID: usize = 1;

fn main() -> Result<(), Box<dyn Error>> {
    run()
}

/// Body of `main`.
pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let mut seed = [0; 32];
    let mut rnd = [0; 32];
    getrandom::fill(&mut seed)?;
    getrandom::fill(&mut rnd)?;
    let signing_key = SigningKey::<MlDsa65>::from_seed(&seed);
    let public_key = signing_key.verifying_key();

    // The verifiers, once for all wallets of a chain.
    let mut deployed = Deployed::new(Layout::of(65));

    // BEGIN
    let key = ExpandedKey::new(deployed.layout, public_key.as_ref())?; // off chain
    let on_chain = deployed.deploy_key(&key); // two transactions
    let (account, gas) = deployed.deploy_account(ENTRY_POINT, &on_chain);
    let call_data = abi::execute(PAYEE, 400, b"");
    let operation = Operation::new(account, 0, call_data);
    let hash = operation.hash(ENTRY_POINT, CHAIN_ID);
    let context = Context::new(b"ERC-4337")?; // the purpose
    let signature = signing_key.sign_with_context(&hash, context, Randomness::Hedged(&rnd))?;
    let call = operation.validate(&hash, signature.as_ref(), 0);
    let receipt = deployed.chain.call_from(ENTRY_POINT, account, call);
    assert!(receipt.rejects()); // zero in ERC-4337: valid
    // END
    println!(
        "key in code: {} gas in {} contracts",
        on_chain.gas,
        1 + on_chain.others.len()
    );
    println!("account: {gas} gas");
    println!("validation: {} gas", receipt.gas);

    // A flipped bit of the signature, another operation, another caller.
    let mut tampered = signature.as_ref().to_vec();
    tampered[1_000] ^= 1;
    let call = operation.validate(&hash, &tampered, 0);
    let receipt = deployed.chain.call_from(ENTRY_POINT, account, call);
    assert!(receipt.accepts(), "one in ERC-4337: invalid");
    println!(
        "a bit of the signature flipped: rejected, {} gas",
        receipt.gas
    );
    let second = Operation::new(account, 1, operation.call_data.clone());
    let hash_of_second = second.hash(ENTRY_POINT, CHAIN_ID);
    assert_ne!(hash, hash_of_second);
    let call = second.validate(&hash_of_second, signature.as_ref(), 0);
    let receipt = deployed.chain.call_from(ENTRY_POINT, account, call);
    assert!(receipt.accepts(), "one in ERC-4337: invalid");
    println!("the signature again for the next operation: rejected");
    let call = operation.validate(&hash, signature.as_ref(), 0);
    assert!(!deployed.chain.call_from(PAYEE, account, call).success);
    println!("another caller than the entry point: reverts");

    // Next step of the entry point: execution.
    deployed.chain.give(account, U256::from(1_000));
    let receipt = deployed
        .chain
        .call_from(ENTRY_POINT, account, &operation.call_data[..]);
    assert!(receipt.success);
    assert_eq!(deployed.chain.balance(PAYEE), U256::from(400));
    println!("payment: done");

    // Other parties do not have to trust the deployer of the words: they compute the hash
    // of the code from the public key, or check that the registry has proven the key.
    let receipt = deployed.register(public_key.as_ref());
    assert_eq!(receipt.output, key.commitment());
    println!("registration with proof: {} gas", receipt.gas);
    let others: Vec<[u8; 20]> = on_chain.others.iter().map(|address| address.0.0).collect();
    let first = &ExpandedKey::new(deployed.layout, public_key.as_ref())?.codes(&others)[0];
    assert_eq!(deployed.chain.code(on_chain.address), *first);
    println!("the code of the key is what the public key expands to");
    Ok(())
}
