//! `mldsa batch-sign`.

use core::fmt::Write as _;
use std::collections::BTreeMap;
use std::io;

use batch_verify::ThreadPool;
use mldsa_core::{Set, with_set, zeroize_stack};

use crate::file::paths::Files;
use crate::lines::fields::{Fields, LineError};
use crate::lines::request::{LineRequest, set_from_fields};
use crate::lines::run::{BatchArgs, Style, map, print_error};
use crate::lines::signer::{Answer, MAX_GROUP, PrivateKey, SignLine, Signing, sign};
use crate::random::random;
use crate::terminal::result_output;
use crate::{Status, Task};

/// Sign messages from JSON lines
#[derive(clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) batch: BatchArgs,

    /// Sign lines without "rnd" without fresh randomness: the same signature every time
    #[arg(long)]
    deterministic: bool,

    /// Repeat set, message and context in the answers, as `batch-verify` reads them
    #[arg(long)]
    echo: bool,
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
  its public key. Hash names as in `batch-verify`. An "id" of any line, a string,
  is repeated in its answer.

OUTPUT  One JSON object for every line, in order:
  {"line":1,"pk":"..","sig":".."}
  {"line":2,"pk":".."}         a line with only a key
  {"line":3,"id":"tx-7","error":".."}   the line is unusable; the others go on
  With --echo the answers to lines with a message have "set", the message and "ctx".

EXAMPLES
  Sign the lines of a file:
    mldsa batch-sign requests.jsonl > signed.jsonl
  Sign and verify:
    mldsa batch-sign --echo requests.jsonl | mldsa batch-verify -

EXIT CODE  0 every line was answered, 2 some line is unusable or the run could
not finish."#;

/// Lines in a chunk; the answers are larger than the lines.
const MAX_LINES: usize = 256;

/// Upper bound on the stack of parsing a line, in bytes.
const LINE_STACK: usize = 64 << 10;

/// Upper bound on the stack of signing a group, in bytes, in unoptimised builds too.
const ANSWER_STACK: usize = 256 << 10;

pub(super) const FIELDS: &[&str] = &[
    "id", "set", "seed", "sk", "msg", "mu", "prehash", "digest", "ctx", "rnd",
];

/// The fields that `--echo` repeats.
const ECHOED: [&str; 6] = ["set", "msg", "mu", "prehash", "digest", "ctx"];

impl Task for Args {
    fn files(&self) -> Files<'_> {
        self.batch.files()
    }

    fn run(&self) -> io::Result<Status> {
        let mut batch = self.batch.open(MAX_LINES, result_output())?;
        let (mut signed, mut keys, mut unusable) = (0, 0, 0);
        let pool = batch.pool.clone();
        batch.for_each_line(
            Style::Json,
            FIELDS,
            // Moves of keys leave copies on the stack.
            |fields| {
                zeroize_stack::<LINE_STACK, _>(|| fields.and_then(|fields| request(&fields, self)))
            },
            |jobs| answers(&pool, jobs),
            |output, answer| match answer {
                Ok(Answer { echo, pk, sig }) => {
                    *if sig.is_some() {
                        &mut signed
                    } else {
                        &mut keys
                    } += 1;
                    write!(output, "{echo}\"pk\":\"{pk}\"")?;
                    sig.map_or(Ok(()), |sig| write!(output, ",\"sig\":\"{sig}\""))
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
        Ok(match unusable {
            0 => Status::Good,
            _ => Status::Unusable,
        })
    }
}

/// Parses the request of one line: the set of its key, and what is asked for.
fn request(fields: &Fields<'_>, args: &Args) -> Result<(Set, SignLine), LineError> {
    let set = set_from_fields(fields)?;
    let request = LineRequest::from_fields(fields, set, args.batch.allow_weak_prehash)?;
    let key = private_key(fields)?;
    let given = fields.hex_array("rnd")?;
    if request.is_none() && given.is_some() {
        return Err(LineError::new("\"rnd\" without a message"));
    }
    let signing = request.map(|request| {
        let rnd = match given {
            None if !args.deterministic => {
                Some(random().map_err(|error| LineError::new(error.to_string()))?)
            }
            given => given,
        };
        Signing::new(request, rnd.map(Box::new))
    });
    let signing = signing.transpose()?;
    let mut echo = String::new();
    for name in ECHOED.into_iter().filter(|_| args.echo) {
        if let Some(text) = fields.text(name) {
            let _ = write!(echo, "\"{name}\":\"{text}\",");
        }
    }
    Ok((set, SignLine { key, signing, echo }))
}

/// Makes one answer for each line. Workers get groups of lines of one set, large enough to fill
/// the lanes but small enough for every worker to have one.
fn answers(
    pool: &ThreadPool,
    lines: Vec<Result<(Set, SignLine), LineError>>,
) -> Vec<Result<Answer, LineError>> {
    let size = lines.len().div_ceil(pool.threads());
    let size = size.clamp(1, MAX_GROUP);
    let mut groups = Vec::new();
    for set in Set::ALL {
        let of_set = lines.iter().enumerate().filter_map(|(n, line)| match line {
            Ok((of, job)) if *of == set => Some((n, job)),
            _ => None,
        });
        let of_set: Vec<(usize, &SignLine)> = of_set.collect();
        groups.extend(of_set.chunks(size).map(|group| (set, group.to_vec())));
    }
    let signed = map(pool, groups.len(), |n| {
        let (set, group) = &groups[n];
        let (numbers, jobs): (Vec<_>, Vec<_>) = group.iter().copied().unzip();
        let answers = zeroize_stack::<ANSWER_STACK, _>(|| with_set!(*set, P => sign::<P>(&jobs)));
        numbers.into_iter().zip(answers)
    });
    let mut signed: BTreeMap<_, _> = signed.into_iter().flatten().collect();
    let lines = lines.into_iter().enumerate();
    lines
        .map(|(n, line)| {
            let (_, SignLine { echo, .. }) = line?;
            let missing = || Err(LineError::new("not answered"));
            let answer = signed.remove(&n).unwrap_or_else(missing)?;
            Ok(Answer { echo, ..answer })
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
