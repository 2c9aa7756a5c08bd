//! Signing of a group of JSON lines with keys of one set.

use base16ct::lower::encode_string;
use mldsa_core::internals::ct::{difference, is_zero};
use mldsa_core::{
    BatchSigner, Context, KeyError, ParameterSet, PreHashed, PreparedSigningKey, Randomness,
    SignJob, SigningKey, no_alloc::PreparedSigningKeyRef,
};
use zeroize::Zeroizing;

use crate::backends::chosen;
use crate::lines::fields::LineError;
use crate::lines::request::{LineRequest, Message};

/// Greatest number of lines that are signed together: enough to fill the lanes to the end. The
/// expanded key of a line takes up to 79 KiB.
pub(crate) const MAX_GROUP: usize = 32;

/// 32 secret bytes on the heap: moves leave no copy.
pub(crate) type Secret32 = Box<Zeroizing<[u8; 32]>>;

pub(crate) enum PrivateKey {
    Seed(Secret32),
    Expanded(Zeroizing<Vec<u8>>),
}

impl PrivateKey {
    /// Returns whether the bytes are equal. Constant time in the bytes.
    fn is_equal(&self, other: &Self) -> bool {
        let (a, b): (&[u8], &[u8]) = match (self, other) {
            (Self::Seed(seed), Self::Seed(other)) => (&seed[..], &other[..]),
            (Self::Expanded(sk), Self::Expanded(other)) => (sk, other),
            _ => return false,
        };
        a.len() == b.len() && is_zero(difference(a, b))
    }
}

/// A message to sign and its randomness.
pub(crate) struct Signing {
    request: LineRequest,
    rnd: Option<Secret32>,
}

impl Signing {
    /// Signs deterministically without `rnd`. A context that is too long is an error.
    pub(crate) fn new(request: LineRequest, rnd: Option<Secret32>) -> Result<Self, LineError> {
        let signing = Self { request, rnd };
        signing.context()?;
        Ok(signing)
    }

    fn context(&self) -> Result<Context<'_>, LineError> {
        Context::new(&self.request.context)
            .map_err(|_| LineError::new("field \"ctx\" has more than 255 bytes"))
    }

    /// Makes the core's job under a key.
    fn job<'a, P: ParameterSet>(
        &'a self,
        key: PreparedSigningKeyRef<'a, P>,
    ) -> Result<SignJob<'a, P>, LineError> {
        let context = self.context()?;
        let rnd = self.rnd.as_ref();
        let randomness = rnd.map_or(Randomness::Deterministic, |rnd| Randomness::Hedged(rnd));
        Ok(match &self.request.message {
            Message::Bytes(message) => SignJob::new(key, message, context, randomness),
            Message::Mu(mu) => SignJob::mu(key, *mu, randomness),
            Message::PreHashed { hash, digest } => {
                let digest = PreHashed::new_allow_weak(*hash, digest)
                    .map_err(|error| LineError::new(error.to_string()))?;
                SignJob::prehashed(key, &digest, context, randomness)
            }
        })
    }
}

/// The request of a line: a public key, and a signature if there is a message.
pub(crate) struct SignLine {
    pub(crate) key: PrivateKey,
    pub(crate) signing: Option<Signing>,
    /// Fields that are repeated in the answer.
    pub(crate) echo: String,
}

/// The public key, and the signature if one was requested, in hex.
pub(crate) struct Answer {
    pub(crate) echo: String,
    pub(crate) pk: String,
    pub(crate) sig: Option<String>,
}

/// Imports the keys of a group of lines, checked, and signs.
pub(crate) fn sign<P: ParameterSet>(lines: &[&SignLine]) -> Vec<Result<Answer, LineError>> {
    let keys = Keys::<P>::import(lines);
    let prepared = keys.prepare(lines);
    let mut answers: Vec<_> = (0..lines.len()).map(|n| keys.answer(n)).collect();
    let (mut numbers, mut jobs) = (Vec::new(), Vec::new());
    for (n, line) in lines.iter().enumerate() {
        if let (Some(signing), Some(key)) = (&line.signing, &prepared[keys.of_line[n]]) {
            match signing.job(key.as_prepared_ref()) {
                Ok(job) => {
                    numbers.push(n);
                    jobs.push(job);
                }
                Err(error) => answers[n] = Err(error),
            }
        }
    }
    let mut signer = BatchSigner::new().with_backend(chosen());
    signer.sign(jobs, |job, signature| {
        let answer = &mut answers[numbers[job]];
        match (signature, answer) {
            (Ok(signature), Ok(answer)) => answer.sig = Some(encode_string(signature.as_ref())),
            (Err(error), answer) => {
                *answer = Err(LineError::new(format!("signing failed: {error}")));
            }
            (Ok(_), Err(_)) => {}
        }
    });
    answers
}

/// The keys of a group of lines, each imported once. They are never moved on the heap, which
/// leaves copies.
struct Keys<P: ParameterSet> {
    seeded: Vec<SigningKey<P>>,
    expanded: Vec<Result<SigningKey<P>, LineError>>,
    /// Whether each key is from a seed, and its index among those.
    origins: Vec<(bool, usize)>,
    /// Number of the key of each line.
    of_line: Vec<usize>,
}

impl<P: ParameterSet> Keys<P> {
    fn import(lines: &[&SignLine]) -> Self {
        let mut given: Vec<&PrivateKey> = Vec::new();
        let of_line = lines.iter().map(|line| {
            let known = given.iter().position(|key| key.is_equal(&line.key));
            known.unwrap_or_else(|| {
                given.push(&line.key);
                given.len() - 1
            })
        });
        let of_line = of_line.collect();
        let mut seeds = Zeroizing::new(Vec::with_capacity(given.len()));
        let mut expanded = Vec::with_capacity(given.len());
        let mut origins = Vec::with_capacity(given.len());
        for key in given {
            match key {
                PrivateKey::Seed(seed) => {
                    origins.push((true, seeds.len()));
                    seeds.push(***seed);
                }
                PrivateKey::Expanded(sk) => {
                    origins.push((false, expanded.len()));
                    let key = SigningKey::from_expanded_bytes(sk);
                    expanded.push(key.map_err(|error| key_error::<P>(sk, error)));
                }
            }
        }
        Self {
            seeded: SigningKey::from_seeds(&seeds),
            expanded,
            origins,
            of_line,
        }
    }

    fn get(&self, number: usize) -> Result<&SigningKey<P>, &LineError> {
        match self.origins[number] {
            (true, n) => Ok(&self.seeded[n]),
            (false, n) => self.expanded[n].as_ref(),
        }
    }

    /// Prepares the keys that sign.
    fn prepare(&self, lines: &[&SignLine]) -> Vec<Option<PreparedSigningKey<P>>> {
        let prepare = |number| {
            let mut of_key = lines.iter().zip(&self.of_line);
            let signs = of_key.any(|(line, of)| *of == number && line.signing.is_some());
            let key = self.get(number).ok().filter(|_| signs);
            key.map(SigningKey::prepare)
        };
        (0..self.origins.len()).map(prepare).collect()
    }

    /// Makes the answer to a line before it is signed.
    fn answer(&self, line: usize) -> Result<Answer, LineError> {
        let key = self.get(self.of_line[line]).map_err(Clone::clone)?;
        Ok(Answer {
            echo: String::new(),
            pk: encode_string(key.verifying_key().as_ref()),
            sig: None,
        })
    }
}

fn key_error<P: ParameterSet>(sk: &[u8], error: KeyError) -> LineError {
    LineError::new(match error {
        KeyError::Length => format!(
            "field \"sk\" has {} bytes, not the {} of {}",
            sk.len(),
            P::SK_LEN,
            P::NAME
        ),
        error => format!("field \"sk\" is rejected: {error}"),
    })
}
