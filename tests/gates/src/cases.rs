//! Inputs whose deterministic signing is rejected for every reason that the set
//! knows: from NIST's ACVP examples of the internal interfaces.

use mldsa_core::Mu;

/// A seed and `mu`.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// xi.
    pub seed: [u8; 32],
    /// The message representative.
    pub mu: Mu,
    /// Rejected attempts of deterministic signing: z, r0, ct0, hint weight.
    pub rejections: [usize; 4],
}

/// The cases of a set by name, e.g. `ML-DSA-44`.
///
/// # Panics
/// If there is no such set: a fault of the gate.
pub fn rejected(set: &str) -> [Case; 2] {
    match set {
        "ML-DSA-44" => [
            case(
                "5c624fcc1862452452d0c665840d8237f43108e5499edcdc108fbc49d596e4b7",
                "2ad1c72bb0fcbe28099ce8bd2ed836dfebe520aad38fbac66ef785a3cfb10fb4\
                 19327fa57818ee4e3718da4be48d24b59a208f8807271fdb7eda6e60141bd263",
                [1, 1, 1, 1],
            ),
            case(
                "836eabedb4d2cd9be6a4d957cf5ee6bf489304136864c55c2c5f01da5047d18b",
                "d561608ee244517350dc3d29bcf2088f5e2eb2539af0a93ea2b699726ffa586c\
                 d57a5f62062eabdec580cb86ac3fb1c0499eaf1471679ed6a614dd3397c87f34",
                [1, 1, 1, 1],
            ),
        ],
        "ML-DSA-65" => [
            case(
                "235a48db4ca7916b884f424a8586efd517e87c64aecec0fce9a3cc212ba1522e",
                "700b34d900286bc65908468bf8cb702888a215faea69875d4afd2f556432e080\
                 2d316c52308a85f4a56b157693d76b2454f0603ae1bc6887383eeb0f7938c7f9",
                [1, 1, 0, 1],
            ),
            case(
                "0a4793e040a4bc0d0f37643d12c1ea1f10648724609936c76e0ec83e37209e92",
                "63632e247bc96d473540b160540aae2b175110a32846e73538e9d21ef70cdb34\
                 2e64a9752a0c82934d0f7506f4b269670f0ab74209d9eb897bba76f49f3086b6",
                [2, 4, 0, 1],
            ),
        ],
        "ML-DSA-87" => [
            case(
                "049d9b0b646a2ac7f50b63ce5e4bfe44c9b87634f4ff6c14c513e388b8a1f808",
                "e1922baa591f3bc260a766c986b0e2538f6729f6995a16570f3be4f6aebb681f\
                 7c3949255da16d1d7df15824cf9713ae546d26e4b17beeccf3208c32353cd64c",
                [2, 3, 0, 1],
            ),
            case(
                "ae213fe8589b414f53780d8b9b6837179967e13cb474c5ad365c043778d2bc90",
                "24b08c8bf1985221035db639ae15c4a704c4891bc9c1b95524aecc415a52d318\
                 a8017f95945600fd02edb7111e67b35f61e2f131f42c972937659ecaf8684779",
                [4, 1, 0, 1],
            ),
        ],
        _ => panic!("no cases for {set}"),
    }
}

fn case(seed: &str, mu: &str, rejections: [usize; 4]) -> Case {
    let (mut seed_bytes, mut mu_bytes) = ([0; 32], [0; 64]);
    hex::decode_to_slice(seed, &mut seed_bytes).expect("32 bytes in hex");
    hex::decode_to_slice(mu, &mut mu_bytes).expect("64 bytes in hex");
    Case {
        seed: seed_bytes,
        mu: Mu::from_bytes(mu_bytes),
        rejections,
    }
}
