//! `mldsa batch-sign`.

use std::io::{self, Write};

use mldsa_core::{Context, Hedge, scrub_stack};

use crate::Status;
use crate::batch::{BatchArgs, print_error};
use crate::engine::{Answer, Order, PrivateKey};
use crate::jsonl::{Fields, LineError};
use crate::output::Files;
use crate::request::{Request, Set, with_set};

/// Sign messages from JSON lines
#[derive(clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    batch: BatchArgs,
}

const HELP: &str = r#"INPUT  One JSON object a line; all values are strings, bytes are hex:
  {"set":"ML-DSA-87","seed":"..","msg":".."}
  {"set":"ML-DSA-65","sk":"..","msg":"..","ctx":"..","rnd":".."}
  {"set":"ML-DSA-44","seed":"..","mu":".."}
  {"set":"ML-DSA-87","seed":"..","prehash":"SHA2-512","digest":".."}
  {"set":"ML-DSA-44","seed":".."}
  The key is "seed" (32 bytes) or "sk" (the expanded private key of FIPS 204,
  checked for consistency). "rnd" (32 bytes) is the randomness of hedged
  signing; without it signing is deterministic. A line with only a key asks for
  its public key. Hash names as in `batch-verify`.

OUTPUT  One JSON object for every line, in order:
  {"line":1,"pk":"..","sig":".."}
  {"line":2,"pk":".."}         a line with only a key
  {"line":3,"error":".."}      the line is unusable; it does not stop the others

EXIT CODE  0 every line was answered, 2 some line is unusable or the run could
not finish."#;

/// Lines a chunk; the answers are larger than the lines.
const MAX_LINES: usize = 256;

/// Bytes of stack that an answer takes at most, unoptimised builds included.
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
    batch.for_each_line(
        FIELDS,
        // Keys are values here, of which moves leave copies on the stack.
        |fields| scrub_stack::<ANSWER_STACK, _>(|| fields.and_then(|fields| answer(&fields, args))),
        |answers| answers,
        |output, answer| {
            match &answer {
                Ok(Answer { sig: Some(_), .. }) => signed += 1,
                Ok(Answer { sig: None, .. }) => keys += 1,
                Err(_) => unusable += 1,
            }
            print(output, &answer)
        },
    )?;
    batch.finish(
        &[
            (signed, "signed"),
            (keys, "public keys"),
            (unusable, "unusable"),
        ],
        signed,
    );
    Ok(if unusable == 0 {
        Status::Good
    } else {
        Status::Unusable
    })
}

fn answer(fields: &Fields<'_>, args: &Args) -> Result<Answer, LineError> {
    let set = Set::of(fields)?;
    let request = Request::of(fields, set, args.batch.allow_weak_prehash)?;
    let key = private_key(fields)?;
    let rnd = fields.hex_array::<32>("rnd")?;
    if request.is_none() && rnd.is_some() {
        return Err(LineError::new("\"rnd\" without a message"));
    }
    let order = request.as_ref().map(|request| {
        Ok(Order {
            message: &request.message,
            context: Context::new(&request.context)
                .map_err(|_| LineError::new("field \"ctx\" has more than 255 bytes"))?,
            hedge: rnd
                .as_ref()
                .map_or(Hedge::Deterministic, |rnd| Hedge::Bytes(rnd)),
        })
    });
    let order = order.transpose()?;
    with_set!(set, P => args.batch.engine.sign::<P>(&key, order.as_ref()))
}

fn private_key(fields: &Fields<'_>) -> Result<PrivateKey, LineError> {
    match (fields.hex_array::<32>("seed")?, fields.hex("sk")?) {
        (Some(seed), None) => Ok(PrivateKey::Seed(seed)),
        (None, Some(sk)) => Ok(PrivateKey::Expanded(sk)),
        (Some(_), Some(_)) => Err(LineError::new("both \"seed\" and \"sk\"")),
        (None, None) => Err(LineError::new("neither \"seed\" nor \"sk\"")),
    }
}

fn print(output: &mut dyn Write, answer: &Result<Answer, LineError>) -> io::Result<()> {
    match answer {
        Ok(Answer { pk, sig: Some(sig) }) => write!(output, "\"pk\":\"{pk}\",\"sig\":\"{sig}\""),
        Ok(Answer { pk, sig: None }) => write!(output, "\"pk\":\"{pk}\""),
        Err(error) => print_error(output, error),
    }
}
