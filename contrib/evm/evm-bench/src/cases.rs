//! Signatures and what can be wrong with them, each with the verdict of the core.

use mldsa_core::internals::Params;
use mldsa_core::{
    Context, MlDsa44, MlDsa65, MlDsa87, ParameterSet, Randomness, SigningKey, VerifyingKey,
};
use sha3::digest::{ExtendableOutput, Update, XofReader};

/// A stream of reproducible bytes.
pub struct Random(Box<dyn XofReader>);

impl Random {
    /// The stream of a label.
    pub fn new(label: &str) -> Self {
        let mut hash = sha3::Shake256::default();
        hash.update(label.as_bytes());
        Self(Box::new(hash.finalize_xof()))
    }

    /// The next bytes.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut out = vec![0; len];
        self.0.read(&mut out);
        out
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        let bytes = self.bytes(8);
        let value = bytes
            .iter()
            .fold(0, |value, &byte| value << 8 | u64::from(byte));
        (value % bound as u64) as usize
    }
}

impl core::fmt::Debug for Random {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Random(..)")
    }
}

/// From context and message to signature.
type Signer = dyn Fn(&[u8], &[u8]) -> Vec<u8>;

/// A key pair of any set.
pub struct Key {
    /// 44, 65 or 87.
    pub set: u8,
    /// Encoded public key.
    pub pk: Vec<u8>,
    sign: Box<Signer>,
}

impl core::fmt::Debug for Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Key({})", self.set)
    }
}

impl Key {
    /// The key of a seed.
    pub fn new(set: u8, seed: &[u8; 32]) -> Self {
        fn of<P: ParameterSet>(set: u8, seed: &[u8; 32]) -> Key {
            let key = SigningKey::<P>::from_seed(seed);
            Key {
                set,
                pk: key.verifying_key().as_bytes().as_ref().to_vec(),
                sign: Box::new(move |ctx, message| {
                    let ctx = Context::new(ctx).expect("a context");
                    let signature = key.sign_with_context(message, ctx, Randomness::Deterministic);
                    signature.expect("a signature").as_ref().to_vec()
                }),
            }
        }
        match set {
            44 => of::<MlDsa44>(set, seed),
            65 => of::<MlDsa65>(set, seed),
            _ => of::<MlDsa87>(set, seed),
        }
    }

    /// Signs.
    pub fn sign(&self, ctx: &[u8], message: &[u8]) -> Vec<u8> {
        (self.sign)(ctx, message)
    }
}

/// The core's verdict.
pub fn verdict(set: u8, pk: &[u8], ctx: &[u8], message: &[u8], signature: &[u8]) -> bool {
    fn of<P: ParameterSet>(pk: &[u8], ctx: &[u8], message: &[u8], signature: &[u8]) -> bool {
        let (Ok(key), Ok(ctx)) = (VerifyingKey::<P>::from_bytes(pk), Context::new(ctx)) else {
            return false;
        };
        key.verify_with_context(message, ctx, signature).is_ok()
    }
    match set {
        44 => of::<MlDsa44>(pk, ctx, message, signature),
        65 => of::<MlDsa65>(pk, ctx, message, signature),
        _ => of::<MlDsa87>(pk, ctx, message, signature),
    }
}

/// A test case.
#[derive(Clone, Debug)]
pub struct Case {
    /// Name of the change.
    pub name: &'static str,
    /// Context.
    pub ctx: Vec<u8>,
    /// Message.
    pub message: Vec<u8>,
    /// Signature, always of the length of the set.
    pub signature: Vec<u8>,
}

/// Inputs of the precompile of EIP-8355 and their verdicts: valid, every rejection, and the most
/// expensive ones.
pub fn precompile(set: u8) -> Vec<(&'static str, Vec<u8>, bool)> {
    // The key of these whose matrix rejects most candidates.
    let seeds = (0..64u8).map(|n| [n; 32]);
    let worst = seeds.max_by_key(|seed| rejected(&Key::new(set, seed)));
    let (key, slow) = (
        Key::new(set, &[2; 32]),
        Key::new(set, &worst.unwrap_or([0; 32])),
    );
    let joined =
        |key: &Key, message: &[u8]| [&key.pk[..], &key.sign(b"", message), message].concat();
    let good = joined(&key, b"Hello world");
    let edit = |at: usize, byte: u8| {
        let mut input = good.clone();
        input[at] = byte;
        input
    };
    let (end, k) = (
        good.len() - 11,
        match set {
            44 => 4,
            65 => 6,
            _ => 8,
        },
    );
    let omega = match set {
        44 => 80,
        65 => 55,
        _ => 75,
    };
    let z = key.pk.len()
        + match set {
            44 => 32,
            65 => 48,
            _ => 64,
        };
    let mut norm = good.clone();
    norm[end - omega - k - 3..end - omega - k].fill(0xff);
    let mut first = good.clone();
    first[z..z + 3].fill(0);
    vec![
        ("valid", good.clone(), true),
        ("empty message", joined(&key, b""), true),
        ("message of a block", joined(&key, &[7; 135 - 66]), true),
        ("long message", joined(&key, &[7; 5000]), true),
        ("slowest matrix", joined(&slow, b"Hello world"), true),
        (
            "slowest matrix, invalid",
            [&joined(&slow, b"Hello world")[..], b"!"].concat(),
            false,
        ),
        ("no input", Vec::new(), false),
        ("one byte too short", good[..end - 1].to_vec(), false),
        ("another message", edit(good.len() - 1, b'!'), false),
        ("another key", edit(0, good[0] ^ 1), false),
        (
            "another t1",
            edit(key.pk.len() - 1, good[key.pk.len() - 1] ^ 1),
            false,
        ),
        (
            "another challenge",
            edit(key.pk.len(), good[key.pk.len()] ^ 1),
            false,
        ),
        ("norm of the last coefficients", norm, false),
        ("norm of the first coefficient", first, false),
        (
            "hint count above omega",
            edit(end - 1, omega as u8 + 1),
            false,
        ),
        ("hint counts that fall", edit(end - k, 255), false),
        (
            "context",
            [&key.pk[..], &key.sign(b"x", b"Hello world"), b"Hello world"].concat(),
            false,
        ),
    ]
}

/// Returns the rejected candidates of the matrix of a key.
fn rejected(key: &Key) -> usize {
    let (k, l) = match key.set {
        44 => (4u8, 4u8),
        65 => (6, 5),
        _ => (8, 7),
    };
    let entries = (0..k).flat_map(|r| (0..l).map(move |s| [s, r]));
    let streams = entries.map(|entry| {
        let mut hash = sha3::Shake128::default();
        hash.update(&key.pk[..32]);
        hash.update(&entry);
        let mut bytes = vec![0; 3 * 256];
        hash.finalize_xof().read(&mut bytes);
        let words = bytes.as_chunks::<3>().0.iter();
        words
            .filter(|[a, b, c]| u32::from_le_bytes([*a, *b, c & 0x7f, 0]) >= 8_380_417)
            .count()
    });
    streams.sum()
}

/// Writes a packed coefficient of z.
fn set_z(p: &Params, signature: &mut [u8], poly: usize, n: usize, value: usize) {
    let bits = p.gamma1_bits as usize + 1;
    let start = 8 * (p.c_tilde_len + poly * p.z_poly_len()) + bits * n;
    for bit in 0..bits {
        let (byte, mask) = ((start + bit) / 8, 1 << ((start + bit) % 8));
        if value >> bit & 1 == 1 {
            signature[byte] |= mask;
        } else {
            signature[byte] &= !mask;
        }
    }
}

/// A signature of `key` over a random message under a random context, and what chance
/// makes of it: about a quarter stays valid.
pub fn case(key: &Key, p: &Params, random: &mut Random) -> Case {
    let lens = [0, 1, 8, 32, 38, 39, 40, 100, 175, 300];
    let ctx_len = [0, 0, 1, 8, 32, 255][random.below(6)];
    let ctx = random.bytes(ctx_len);
    let message_len = lens[random.below(lens.len())];
    let message = random.bytes(message_len);
    let signature = key.sign(&ctx, &message);
    let mut case = Case {
        name: "valid",
        ctx,
        message,
        signature,
    };
    let s = &mut case.signature;
    let hint = p.c_tilde_len + p.l * p.z_poly_len();
    let total = usize::from(s[hint + p.omega + p.k - 1]);
    case.name = match random.below(16) {
        0 => {
            s[random.below(p.c_tilde_len)] ^= 1 << random.below(8);
            "bit of the challenge"
        }
        1 => {
            s[p.c_tilde_len + random.below(hint - p.c_tilde_len)] ^= 1 << random.below(8);
            "bit of z"
        }
        2 => {
            // The four values next to the bound, on either side.
            let (gamma1, beta) = (p.gamma1() as usize, p.beta() as usize);
            let edges = [beta, beta + 1, 2 * gamma1 - beta - 1, 2 * gamma1 - beta];
            let (poly, n) = (random.below(p.l), random.below(256));
            set_z(p, s, poly, n, edges[random.below(4)]);
            "norm at its bound"
        }
        3 => {
            let (poly, n) = (random.below(p.l), random.below(256));
            let value = [0, 2 * p.gamma1() as usize - 1][random.below(2)];
            set_z(p, s, poly, n, value);
            "largest norm"
        }
        4 => {
            s[hint + random.below(p.omega)] ^= 1 << random.below(8);
            "bit of the hint"
        }
        5 => {
            let count = &mut s[hint + p.omega + random.below(p.k)];
            *count = count.wrapping_add(1 + random.below(255) as u8);
            "any other hint count"
        }
        6 => {
            let count = &mut s[hint + p.omega + random.below(p.k)];
            *count = count.wrapping_add(1);
            "hint count one more"
        }
        7 if total > 1 => {
            let n = random.below(total - 1);
            s.swap(hint + n, hint + n + 1);
            "hints swapped"
        }
        8 if total > 1 => {
            let n = random.below(total - 1);
            s[hint + n + 1] = s[hint + n];
            "hint twice"
        }
        9 if total < p.omega => {
            s[hint + total + random.below(p.omega - total)] = 1 + random.below(255) as u8;
            "byte after the hints"
        }
        10 if total < p.omega => {
            // One more hint in the last row, well formed where it rises.
            s[hint + total] = 255;
            s[hint + p.omega + p.k - 1] += 1;
            "one more hint"
        }
        11 => {
            case.message.push(0);
            "longer message"
        }
        12 if case.ctx.len() < 255 => {
            case.ctx.push(0);
            "longer context"
        }
        _ => "valid",
    };
    case
}
