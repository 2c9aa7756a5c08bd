//! One list of cases, in every mode of the device, against the core.

use std::collections::HashMap;

use batch_verify::RejectReason;
use mldsa_core::internals::mu_from_m_prime;
use mldsa_core::{Context, Mu, ParameterSet, VerifyError, VerifyingKey};

use crate::Gpu;
use crate::batch::{Batch, Key, Signed};
use crate::registry::Table;

/// What is signed.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    Message { context: Vec<u8>, message: Vec<u8> },
    Mu([u8; 64]),
}

/// An input of verification.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) what: String,
    pub(crate) key: Vec<u8>,
    pub(crate) content: Content,
    pub(crate) signature: Vec<u8>,
}

/// Cases in one run of a device: fewer than places for keys.
const RUN: usize = 250;

/// The core's verdict, in the words of `batch-verify`.
pub(crate) fn expected<P: ParameterSet>(case: &Case) -> Result<(), RejectReason> {
    let key = VerifyingKey::<P>::from_bytes(&case.key);
    let key = key.map_err(|_| RejectReason::PublicKeyLength)?;
    let verdict = match &case.content {
        Content::Message { .. } => key.verify_mu(&mu(&key, &case.content), &case.signature),
        Content::Mu(mu) => key.verify_mu(&Mu::from_bytes(*mu), &case.signature),
    };
    verdict.map_err(|error| match error {
        VerifyError::SignatureLength => RejectReason::SignatureLength,
        VerifyError::HintEncoding => RejectReason::HintEncoding,
        VerifyError::ResponseNorm => RejectReason::ResponseNorm,
        VerifyError::ChallengeMismatch => RejectReason::ChallengeMismatch,
        other => panic!("{other}"),
    })
}

pub(crate) fn mu<P: ParameterSet>(key: &VerifyingKey<P>, content: &Content) -> Mu {
    match content {
        Content::Message { context, message } => {
            let head = [0, context.len() as u8];
            let parts: [&[u8]; 3] = [&head, context, message];
            mu_from_m_prime(key.backend().permutation(), key.tr(), &parts)
        }
        Content::Mu(mu) => Mu::from_bytes(*mu),
    }
}

/// Pushes a case, with its content or as `mu`.
pub(crate) fn push<'a, P: ParameterSet>(
    batch: &mut Batch<P>,
    key: impl Into<Key<'a>>,
    case: &Case,
    as_mu: bool,
) -> usize {
    let owner = VerifyingKey::<P>::from_bytes(&case.key);
    let mu = match (&case.content, owner) {
        (Content::Message { .. }, _) if !as_mu => None,
        (Content::Mu(mu), _) => Some(Mu::from_bytes(*mu)),
        (content, Ok(key)) => Some(mu(&key, content)),
        (_, Err(_)) => Some(Mu::from_bytes([0; 64])),
    };
    let signed = match (&mu, &case.content) {
        (None, Content::Message { context, message }) => {
            Signed::Message(Context::new(context).expect("a context"), message)
        }
        (Some(mu), _) => Signed::Mu(mu),
        (None, Content::Mu(_)) => unreachable!("mu is given"),
    };
    batch.push(key, signed, &case.signature).expect("room")
}

/// Verifies all cases: under prepared, registered and carried keys, with messages and with `mu`.
/// Each verdict and reason of the device has to be the core's. Returns the verdicts.
pub(crate) fn agree<P: ParameterSet>(
    gpu: &Gpu<P>,
    cases: &[Case],
) -> Vec<Result<(), RejectReason>> {
    let wanted: Vec<_> = cases.iter().map(expected::<P>).collect();
    for (cases, wanted) in cases.chunks(RUN).zip(wanted.chunks(RUN)) {
        for table in [Some(Table::Prepared), Some(Table::Encoded), None] {
            for as_mu in [false, true] {
                run(gpu, table, as_mu, cases, wanted);
            }
        }
    }
    wanted
}

fn run<P: ParameterSet>(
    gpu: &Gpu<P>,
    table: Option<Table>,
    as_mu: bool,
    cases: &[Case],
    wanted: &[Result<(), RejectReason>],
) {
    // Keys of a wrong length cannot be registered.
    let is_taken = |case: &&Case| table.is_none() || case.key.len() == P::PK_LEN;
    let taken: Vec<&Case> = cases.iter().filter(is_taken).collect();
    let wanted = cases.iter().zip(wanted).filter(|(case, _)| is_taken(case));
    let wanted: Vec<_> = wanted.map(|(_, verdict)| *verdict).collect();
    let mut ids = HashMap::new();
    let mut keys = Vec::new();
    if table.is_some() {
        for case in &taken {
            ids.entry(&case.key).or_insert_with(|| {
                keys.push(VerifyingKey::<P>::from_bytes(&case.key).expect("a key"));
                keys.len() - 1
            });
        }
    }
    let registered = match table {
        Some(table) => gpu.register(table, &keys).expect("room"),
        None => Vec::new(),
    };
    // Tests share the device, and another may use the last block.
    let mut batch = loop {
        let batch = match table {
            Some(table) => gpu.batch(table),
            None => gpu.batch_with_keys(),
        };
        match batch {
            Ok(batch) => break batch,
            Err(crate::GpuError::Busy) => std::thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    };
    for (n, case) in taken.iter().enumerate() {
        let index = match table {
            Some(_) => push(&mut batch, registered[ids[&case.key]], case, as_mu),
            None => push(&mut batch, &case.key[..], case, as_mu),
        };
        assert_eq!(index, n);
    }
    let verdicts = batch.submit().wait();
    assert_eq!(gpu.fault(), None, "{table:?}, mu {as_mu}");
    assert_eq!(gpu.evict(&registered), registered.len());
    assert_eq!(verdicts.len(), wanted.len());
    for ((case, got), want) in taken.iter().zip(&verdicts).zip(&wanted) {
        assert_eq!(got, want, "{}: {table:?}, mu {as_mu}", case.what);
    }
}
