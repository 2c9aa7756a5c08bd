//! Expected results of the board, computed on the host by `mldsa-core`: for every
//! parameter set a public key and a signature.

#[cfg(feature = "demo")]
mod inputs {
    include!("src/inputs.rs");
}

#[cfg(feature = "demo")]
fn write<P: mldsa_core::ParameterSet>(folder: &std::path::Path) {
    use mldsa_core::{Context, Randomness, SigningKey};
    let key = SigningKey::<P>::from_seed(&inputs::SEED);
    let hedge = Randomness::Hedged(&inputs::RND);
    let signature = key
        .sign_with_context(inputs::MESSAGE, Context::EMPTY, hedge)
        .expect("a signature");
    let write = |name: &str, bytes: &[u8]| {
        std::fs::write(folder.join(format!("{}.{name}", P::NAME)), bytes).expect("a file");
    };
    write("pk", key.verifying_key().as_bytes().as_ref());
    write("sig", signature.as_bytes().as_ref());
}

fn main() {
    #[cfg(feature = "demo")]
    {
        let folder = std::env::var_os("OUT_DIR").expect("set by cargo");
        let folder = std::path::Path::new(&folder);
        #[cfg(feature = "ml-dsa-44")]
        write::<mldsa_core::MlDsa44>(folder);
        #[cfg(feature = "ml-dsa-65")]
        write::<mldsa_core::MlDsa65>(folder);
        #[cfg(feature = "ml-dsa-87")]
        write::<mldsa_core::MlDsa87>(folder);
    }
    println!("cargo:rerun-if-changed=src/inputs.rs");
}
