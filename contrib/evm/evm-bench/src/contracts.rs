//! Compiled contracts, and everything of a set deployed.

use std::path::{Path, PathBuf};

use mldsa_evm_gen::keccak256;
use mldsa_evm_gen::key::{ExpandedKey, init_code, parts};
use mldsa_evm_gen::lanes::Layout;
use mldsa_evm_gen::tables;
use revm::primitives::Address;

use crate::chain::{Chain, Receipt};
use crate::gas::{Rules, TODAY};

/// `evm/contracts` of the checkout in which cargo runs this program.
///
/// # Panics
/// Without cargo: nothing is executed from a path that was compiled in.
pub fn folder() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo runs this program");
    Path::new(&package).join("../contracts")
}

/// Returns the init code of a contract, which `contracts/build.sh` has compiled.
///
/// # Panics
/// When there is none.
pub fn artifact(name: &str) -> Vec<u8> {
    let path = folder().join("artifacts").join(format!("{name}.hex"));
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|e| panic!("{}: {e}; run contracts/build.sh", path.display()));
    hex::decode(text.trim()).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Constructor arguments: 32 bytes each.
pub fn word(value: impl AsRef<[u8]>) -> [u8; 32] {
    let value = value.as_ref();
    let mut word = [0; 32];
    word[32 - value.len()..].copy_from_slice(value);
    word
}

fn with_arguments(name: &str, arguments: &[[u8; 32]]) -> Vec<u8> {
    [artifact(name), arguments.concat()].concat()
}

/// A number as a constructor argument.
pub fn number(value: usize) -> [u8; 32] {
    word((value as u64).to_be_bytes())
}

/// The contracts of a set, and what their deployment cost.
#[derive(Debug)]
pub struct Deployed {
    /// The chain they are on.
    pub chain: Chain,
    /// The set.
    pub layout: Layout,
    /// Constants.
    pub tables: Address,
    /// Variant a.
    pub key_verifier: Address,
    /// Core of the variants b and c.
    pub core: Address,
    /// Key expansion.
    pub expand: Address,
    /// Variants b and d.
    pub registry: Address,
    /// Variant c.
    pub stateless: Address,
    /// Name and gas of every deployment.
    pub costs: Vec<(&'static str, u64)>,
}

/// A key on chain: where its first part is.
#[derive(Clone, Debug)]
pub struct KeyOnChain {
    /// First part.
    pub address: Address,
    /// Its code hash.
    pub hash: [u8; 32],
    /// Other parts.
    pub others: Vec<Address>,
    /// Gas of all deployments.
    pub gas: u64,
}

impl KeyOnChain {
    /// First part of the input of [`Deployed::key_verifier`].
    pub fn reference(&self) -> Vec<u8> {
        [self.address.as_slice(), &self.hash].concat()
    }
}

/// Last part of an input, after the signature: length of the context, context, message.
pub fn tail(ctx: &[u8], message: &[u8]) -> Vec<u8> {
    [&[ctx.len() as u8], ctx, message].concat()
}

impl Deployed {
    /// Deploys the contracts of a set under the rules of today.
    pub fn new(layout: Layout) -> Self {
        Self::under(TODAY, layout)
    }

    /// Deploys the contracts of a set.
    pub fn under(rules: Rules, layout: Layout) -> Self {
        let mut chain = Chain::new(rules);
        let mut costs = Vec::new();
        let mut deploy = |name: &'static str, code: Vec<u8>| {
            let (address, gas) = chain.deploy(code);
            costs.push((name, gas));
            address
        };
        let set = layout.name;
        let contract = |name: &str, arguments: &[Address]| {
            let arguments: Vec<[u8; 32]> = arguments.iter().map(word).collect();
            with_arguments(&format!("{name}{set}"), &arguments)
        };
        let tables = deploy("tables", init_code(&tables::code()));
        let key_verifier = deploy("key verifier", contract("KeyVerifier", &[tables]));
        let core = deploy("core", contract("Core", &[tables]));
        let expand = deploy("expand", contract("Expand", &[tables]));
        let registry = deploy("registry", contract("Registry", &[expand, core]));
        let stateless = deploy("stateless", contract("Stateless", &[expand, core]));
        Self {
            chain,
            layout,
            tables,
            key_verifier,
            core,
            expand,
            registry,
            stateless,
            costs,
        }
    }

    /// Deploys another contract with these arguments.
    pub fn deploy(&mut self, name: &str, arguments: &[[u8; 32]]) -> (Address, u64) {
        self.chain.deploy(with_arguments(name, arguments))
    }

    /// Deploys a contract of this set that needs the tables only.
    pub fn deploy_with_tables(&mut self, name: &str) -> Address {
        let name = format!("{name}{}", self.layout.name);
        let tables = word(self.tables);
        self.deploy(&name, &[tables]).0
    }

    /// Puts a key into contract code.
    pub fn deploy_key(&mut self, key: &ExpandedKey) -> KeyOnChain {
        let mut gas = 0;
        let blank = vec![[0; 20]; parts(&self.layout) - 1];
        let mut others = Vec::new();
        for code in &key.codes(&blank)[1..] {
            let (address, cost) = self.chain.deploy(init_code(code));
            others.push(address);
            gas += cost;
        }
        let addresses: Vec<[u8; 20]> = others.iter().map(|address| address.0.0).collect();
        let first = &key.codes(&addresses)[0];
        let (address, cost) = self.chain.deploy(init_code(first));
        KeyOnChain {
            address,
            hash: keccak256(&[first]),
            others,
            gas: gas + cost,
        }
    }

    /// Deploys an account for a key; its address and the gas.
    pub fn deploy_account(&mut self, entry_point: Address, key: &KeyOnChain) -> (Address, u64) {
        let arguments = [
            word(entry_point),
            word(self.key_verifier),
            word(key.address),
            key.hash,
            number(self.layout.p.sig_len()),
        ];
        self.deploy("MldsaAccount", &arguments)
    }

    /// Deploys ERC-7913 around a verifier whose keys and signatures have these lengths.
    pub fn deploy_erc7913(&mut self, verifier: Address, key: usize, signature: usize) -> Address {
        let arguments = [word(verifier), number(key), number(signature)];
        self.deploy("Mldsa7913", &arguments).0
    }

    /// Variant a.
    pub fn verify_code(&mut self, key: &KeyOnChain, signature: &[u8], tail: &[u8]) -> Receipt {
        let input = [&key.reference()[..], signature, tail].concat();
        self.chain.call(self.key_verifier, input)
    }

    /// Variant b.
    pub fn verify_calldata(&mut self, key: &ExpandedKey, signature: &[u8], tail: &[u8]) -> Receipt {
        let input = bound_input(key, signature, tail);
        self.chain.call(self.registry, input)
    }

    /// Variant c.
    pub fn verify_stateless(&mut self, pk: &[u8], signature: &[u8], tail: &[u8]) -> Receipt {
        self.chain
            .call(self.stateless, [pk, signature, tail].concat())
    }

    /// Variant d.
    pub fn register(&mut self, pk: &[u8]) -> Receipt {
        self.chain.call(self.registry, pk)
    }
}

/// The input of variant b.
pub fn bound_input(key: &ExpandedKey, signature: &[u8], tail: &[u8]) -> Vec<u8> {
    [
        &key.commitment()[..],
        &key.rho,
        &key.tr,
        &key.words(),
        signature,
        tail,
    ]
    .concat()
}
