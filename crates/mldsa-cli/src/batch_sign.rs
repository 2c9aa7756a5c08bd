//! `mldsa batch-sign`.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use mldsa_core::zeroize_stack;
use rayon::ThreadPool;
use rayon::prelude::*;

use crate::Status;
use crate::batch::{BatchArgs, Style, print_error};
use crate::json_request::{Request, Set, with_set};
use crate::jsonl::{Fields, LineError};
use crate::paths::Files;
use crate::random::random;
use crate::signer::{Answer, Implementation, Job, Order, PrivateKey};

/// Sign messages from JSON lines
#[derive(clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    batch: BatchArgs,

    /// Sign lines without "rnd" without fresh randomness: the same signature every time
    #[arg(long)]
    deterministic: bool,
}

const HELP: &str = r#"INPUT  One JSON object a line; all values are strings without escapes, bytes are hex:
  {"set":"ML-DSA-87","seed":"..","msg":".."}
  {"set":"ML-DSA-65","sk":"..","msg":"..","ctx":"..","rnd":".."}
  {"set":"ML-DSA-44","seed":"..","mu":".."}
  {"set":"ML-DSA-87","seed":"..","prehash":"SHA2-512","digest":".."}
  {"set":"ML-DSA-44","seed":".."}
  The key is "seed" (32 bytes) or "sk" (the expanded private key of FIPS 204,
  checked for consistency). Signing is hedged with 32 fresh random bytes a line;
  "rnd" (32 bytes) replaces them, and --deterministic uses zeros. Every signature is
  verified before it is written, several at a time. A line with only a key returns
  its public key. Hash names as in `batch-verify`.

OUTPUT  One JSON object for every line, in order:
  {"line":1,"pk":"..","sig":".."}
  {"line":2,"pk":".."}         a line with only a key
  {"line":3,"error":".."}      the line is unusable; it does not stop the others

EXIT CODE  0 every line was answered, 2 some line is unusable or the run could
not finish."#;

/// Lines in a chunk; the answers are larger than the lines.
const MAX_LINES: usize = 256;

/// Upper bound on the stack of parsing a line, in bytes.
const LINE_STACK: usize = 64 << 10;

/// Upper bound on the stack of signing a group, in bytes, in unoptimised builds too.
const ANSWER_STACK: usize = 256 << 10;

const FIELDS: &[&str] = &[
    "set", "seed", "sk", "msg", "mu", "prehash", "digest", "ctx", "rnd",
];

impl Args {
    pub(crate) fn files(&self) -> Files<'_> {
        self.batch.files()
    }
}

pub(crate) fn run(args: &Args) -> io::Result<Status> {
    let mut batch = args.batch.open(MAX_LINES)?;
    let (mut signed, mut keys, mut unusable) = (0, 0, 0);
    let pool = Arc::clone(&batch.pool);
    batch.for_each_line(
        Style::Json,
        FIELDS,
        // Moves of keys leave copies on the stack.
        |fields| zeroize_stack::<LINE_STACK, _>(|| fields.and_then(|fields| job(&fields, args))),
        |jobs| answers(&pool, args.batch.implementation, jobs),
        |output, answer| match answer {
            Ok(Answer { pk, sig: Some(sig) }) => {
                signed += 1;
                write!(output, "\"pk\":\"{pk}\",\"sig\":\"{sig}\"")
            }
            Ok(Answer { pk, sig: None }) => {
                keys += 1;
                write!(output, "\"pk\":\"{pk}\"")
            }
            Err(error) => {
                unusable += 1;
                print_error(output, &error)
            }
        },
    )?;
    let counts = [
        (signed, "signed"),
        (keys, "public keys"),
        (unusable, "unusable"),
    ];
    batch.finish(&counts, signed);
    Ok(if unusable == 0 {
        Status::Good
    } else {
        Status::Unusable
    })
}

fn job(fields: &Fields<'_>, args: &Args) -> Result<(Set, Job), LineError> {
    let set = Set::from_fields(fields)?;
    let request = Request::from_fields(fields, set, args.batch.allow_weak_prehash)?;
    let key = private_key(fields)?;
    let given = fields.hex_array("rnd")?;
    if request.is_none() && given.is_some() {
        return Err(LineError::new("\"rnd\" without a message"));
    }
    let order = request.map(|request| {
        let rnd = match given {
            None if !args.deterministic => {
                Some(random().map_err(|error| LineError::new(error.to_string()))?)
            }
            given => given,
        };
        Order::new(request, rnd.map(Box::new))
    });
    let order = order.transpose()?;
    Ok((set, Job { key, order }))
}

/// One answer for each line. Workers get groups of lines of one set, as large as the
/// implementation takes but small enough for every worker to have one.
fn answers(
    pool: &ThreadPool,
    implementation: Implementation,
    lines: Vec<Result<(Set, Job), LineError>>,
) -> Vec<Result<Answer, LineError>> {
    let size = lines.len().div_ceil(pool.current_num_threads());
    let size = size.clamp(1, implementation.group());
    let mut groups = Vec::new();
    for set in Set::ALL {
        let of_set = lines.iter().enumerate().filter_map(|(n, line)| match line {
            Ok((of, job)) if *of == set => Some((n, job)),
            _ => None,
        });
        let of_set: Vec<(usize, &Job)> = of_set.collect();
        groups.extend(of_set.chunks(size).map(|group| (set, group.to_vec())));
    }
    let sign = |(set, group): (Set, Vec<(usize, &Job)>)| {
        let (numbers, jobs): (Vec<_>, Vec<_>) = group.into_iter().unzip();
        let answers = zeroize_stack::<ANSWER_STACK, _>(
            || with_set!(set, P => implementation.sign::<P>(&jobs)),
        );
        numbers.into_iter().zip(answers)
    };
    let groups = groups.into_par_iter();
    let mut signed: BTreeMap<_, _> = pool.install(|| groups.flat_map_iter(sign).collect());
    let lines = lines.into_iter().enumerate();
    lines
        .map(|(n, line)| {
            line?;
            let missing = || Err(LineError::new("not answered"));
            signed.remove(&n).unwrap_or_else(missing)
        })
        .collect()
}

fn private_key(fields: &Fields<'_>) -> Result<PrivateKey, LineError> {
    match (fields.hex_array::<32>("seed")?, fields.hex("sk")?) {
        (Some(seed), None) => Ok(PrivateKey::Seed(Box::new(seed))),
        (None, Some(sk)) => Ok(PrivateKey::Expanded(sk)),
        (Some(_), Some(_)) => Err(LineError::new("both \"seed\" and \"sk\"")),
        (None, None) => Err(LineError::new("neither \"seed\" nor \"sk\"")),
    }
}
