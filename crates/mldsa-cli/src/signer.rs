//! Values of `--implementation`. Results do not depend on the choice.

use base16ct::lower::encode_string;
use clap::ValueEnum;
use mldsa_core::internals::ct::{difference, is_zero};
use mldsa_core::internals::{Secret, Zeroed};
use mldsa_core::{
    BatchSigner, Context, KeyError, ParameterSet, PreHash, PreHashed, PreparedSigningKey,
    Randomness, SignJob, SigningKey, no_alloc::PreparedSigningKeyRef,
};
use mldsa_lowmem::{
    Balanced, CacheMatrix, CacheW0, ExpandedSigningKey, Minimal, MlDsaSigner, Tier, Workspace,
    keygen_from_seed,
};
use zeroize::Zeroizing;

use crate::backends::chosen;
use crate::json_request::{Message, Request};
use crate::jsonl::LineError;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Implementation {
    /// mldsa-core, on the SIMD backend of this CPU
    Core,
    /// mldsa-lowmem in its smallest tier, as on a device
    LowmemMinimal,
    /// mldsa-lowmem, caching the low part of w
    LowmemCacheW0,
    /// mldsa-lowmem in at most 15.3 kB
    LowmemBalanced,
    /// mldsa-lowmem, caching the matrix
    LowmemCacheMatrix,
}

/// 32 secret bytes on the heap: moves leave no copy.
pub(crate) type Secret32 = Box<Zeroizing<[u8; 32]>>;

/// The private key of a line.
pub(crate) enum PrivateKey {
    Seed(Secret32),
    Expanded(Zeroizing<Vec<u8>>),
}

impl PrivateKey {
    /// Whether the bytes are equal. Constant time in the bytes.
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
pub(crate) struct Order {
    request: Request,
    rnd: Option<Secret32>,
}

impl Order {
    /// Deterministic without `rnd`. A context that is too long is an error.
    pub(crate) fn new(request: Request, rnd: Option<Secret32>) -> Result<Self, LineError> {
        let order = Self { request, rnd };
        order.context()?;
        Ok(order)
    }

    fn context(&self) -> Result<Context<'_>, LineError> {
        Context::new(&self.request.context)
            .map_err(|_| LineError::new("field \"ctx\" has more than 255 bytes"))
    }

    fn randomness(&self) -> Randomness<'_> {
        let rnd = self.rnd.as_ref();
        rnd.map_or(Randomness::Deterministic, |rnd| Randomness::Hedged(rnd))
    }
}

/// The request of a line: a key, and a signature if there is an order.
pub(crate) struct Job {
    pub(crate) key: PrivateKey,
    pub(crate) order: Option<Order>,
}

/// The public key, and the signature if one was requested, in hex.
pub(crate) struct Answer {
    pub(crate) pk: String,
    pub(crate) sig: Option<String>,
}

impl Implementation {
    /// Greatest number of jobs that are faster together.
    pub(crate) fn group(self) -> usize {
        match self {
            // Enough to fill the lanes to the end. The expanded key of a job takes up to 79 KiB.
            Self::Core => 32,
            _ => 1,
        }
    }

    /// Imports the keys, checked, and signs.
    pub(crate) fn sign<P: ParameterSet>(self, jobs: &[&Job]) -> Vec<Result<Answer, LineError>>
    where
        CacheW0: Tier<P>,
        Balanced: Tier<P>,
        CacheMatrix: Tier<P>,
    {
        let one_by_one = |sign: fn(&Job) -> Result<Answer, LineError>| {
            jobs.iter().map(|job| sign(job)).collect()
        };
        match self {
            Self::Core => sign_core::<P>(jobs),
            Self::LowmemMinimal => one_by_one(sign_lowmem::<P, Minimal>),
            Self::LowmemCacheW0 => one_by_one(sign_lowmem::<P, CacheW0>),
            Self::LowmemBalanced => one_by_one(sign_lowmem::<P, Balanced>),
            Self::LowmemCacheMatrix => one_by_one(sign_lowmem::<P, CacheMatrix>),
        }
    }
}

fn sign_core<P: ParameterSet>(jobs: &[&Job]) -> Vec<Result<Answer, LineError>> {
    // Lines that share a key share its import.
    let mut given: Vec<&PrivateKey> = Vec::new();
    let mut numbers = Vec::with_capacity(jobs.len());
    for job in jobs {
        let known = given.iter().position(|key| key.is_equal(&job.key));
        numbers.push(known.unwrap_or(given.len()));
        if known.is_none() {
            given.push(&job.key);
        }
    }
    let keys = Keys::<P>::import(&given);
    let mut prepared: Vec<Option<PreparedSigningKey<P>>> = given.iter().map(|_| None).collect();
    for (job, &number) in jobs.iter().zip(&numbers) {
        if let (Some(_), Ok(key)) = (&job.order, keys.get(number)) {
            prepared[number].get_or_insert_with(|| key.prepare());
        }
    }

    let mut answers: Vec<_> = numbers
        .iter()
        .map(|&number| {
            let key = keys.get(number).map_err(Clone::clone)?;
            Ok(Answer {
                pk: encode_string(key.verifying_key().as_ref()),
                sig: None,
            })
        })
        .collect();
    let mut indices = Vec::new();
    let mut orders = Vec::new();
    for (index, (job, &number)) in jobs.iter().zip(&numbers).enumerate() {
        if let (Some(order), Some(key)) = (&job.order, &prepared[number]) {
            match sign_job(key.as_prepared_ref(), order) {
                Ok(job) => {
                    indices.push(index);
                    orders.push(job);
                }
                Err(error) => answers[index] = Err(error),
            }
        }
    }
    let mut signer = BatchSigner::new().with_backend(chosen());
    signer.sign(orders, |n, signature| {
        let answer = &mut answers[indices[n]];
        match signature {
            Ok(signature) => {
                if let Ok(answer) = answer {
                    answer.sig = Some(encode_string(signature.as_ref()));
                }
            }
            Err(error) => *answer = Err(failed(&error)),
        }
    });
    answers
}

fn sign_job<'a, P: ParameterSet>(
    key: PreparedSigningKeyRef<'a, P>,
    order: &'a Order,
) -> Result<SignJob<'a, P>, LineError> {
    let (context, randomness) = (order.context()?, order.randomness());
    Ok(match &order.request.message {
        Message::Bytes(message) => SignJob::new(key, message, context, randomness),
        Message::Mu(mu) => SignJob::mu(key, *mu, randomness),
        Message::PreHashed { hash, digest } => {
            SignJob::prehashed(key, &pre_hashed(*hash, digest)?, context, randomness)
        }
    })
}

/// Imported keys. They are never moved on the heap, which leaves copies.
struct Keys<P: ParameterSet> {
    seeded: Vec<SigningKey<P>>,
    expanded: Vec<Result<SigningKey<P>, LineError>>,
    /// For every key whether it is from a seed, and its index among those.
    origins: Vec<(bool, usize)>,
}

impl<P: ParameterSet> Keys<P> {
    fn import(given: &[&PrivateKey]) -> Self {
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
        let mut keys = Self {
            seeded: SigningKey::from_seeds(&seeds),
            expanded,
            origins,
        };
        // A fault during signing can reveal the key.
        for key in keys
            .seeded
            .iter_mut()
            .chain(keys.expanded.iter_mut().flatten())
        {
            key.set_self_verification(true);
        }
        keys
    }

    fn get(&self, number: usize) -> Result<&SigningKey<P>, &LineError> {
        match self.origins[number] {
            (true, n) => Ok(&self.seeded[n]),
            (false, n) => self.expanded[n].as_ref(),
        }
    }
}

fn sign_lowmem<P: ParameterSet, T: Tier<P>>(job: &Job) -> Result<Answer, LineError> {
    let mut pk = P::PublicKeyBytes::zeroed();
    let mut expanded = Secret::<P::SecretKeyBytes>::zeroed();
    let key = match &job.key {
        PrivateKey::Seed(seed) => {
            keygen_from_seed::<P>(seed, &mut pk, expanded.expose_mut());
            ExpandedSigningKey::<P>::from_trusted_bytes(expanded.expose().as_ref())
        }
        PrivateKey::Expanded(sk) => {
            let key = ExpandedSigningKey::<P>::from_expanded_bytes(sk)
                .map_err(|e| key_error::<P>(sk, e))?;
            key.write_public_key(&mut pk);
            Ok(key)
        }
    };
    let key = key
        .and_then(|key| key.with_public_key(pk.as_ref()))
        .map_err(|error| failed(&error))?;
    let sign = |order: &Order| {
        let (context, randomness) = (order.context()?, order.randomness());
        let mut workspace = Workspace::<P, T>::new();
        let mut signer = MlDsaSigner::new(&key, &mut workspace);
        let mut signature = vec![0; P::SIG_LEN];
        let out = &mut signature;
        let signed = match &order.request.message {
            Message::Bytes(message) => signer.sign_into(message, context, randomness, out),
            Message::Mu(mu) => signer.sign_mu_into(mu, randomness, out),
            Message::PreHashed { hash, digest } => {
                signer.sign_prehashed_into(&pre_hashed(*hash, digest)?, context, randomness, out)
            }
        };
        signed.map_err(|error| failed(&error))?;
        Ok(encode_string(&signature))
    };
    Ok(Answer {
        sig: job.order.as_ref().map(sign).transpose()?,
        pk: encode_string(pk.as_ref()),
    })
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

fn failed(error: &dyn core::error::Error) -> LineError {
    LineError::new(format!("signing failed: {error}"))
}

/// A pair that `json_request` has checked.
fn pre_hashed<P: ParameterSet>(
    hash: PreHash,
    digest: &[u8],
) -> Result<PreHashed<'_, P>, LineError> {
    PreHashed::new_allow_weak(hash, digest).map_err(|error| LineError::new(error.to_string()))
}
