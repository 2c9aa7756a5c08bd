//! `mldsa batch-sign`.

use std::io::{self, Write};

use base16ct::lower::encode_string;
use mldsa_core::{Context, Hedge, KeyError, ParameterSet, PreHashed, Signature, SigningKey};

use crate::Status;
use crate::batch::{BatchArgs, print_error};
use crate::jsonl::{Fields, LineError};
use crate::request::{Message, Request, Set, with_set};

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

const FIELDS: &[&str] = &[
    "set", "seed", "sk", "msg", "mu", "prehash", "digest", "ctx", "rnd",
];

pub(crate) fn run(args: &Args) -> io::Result<Status> {
    let mut batch = args.batch.open(MAX_LINES)?;
    let (mut signed, mut keys, mut unusable) = (0, 0, 0);
    batch.for_each_line(
        FIELDS,
        |fields| fields.and_then(|fields| Answer::to(&fields, args.batch.allow_weak_prehash)),
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

/// What a usable line gets, in hex.
struct Answer {
    pk: String,
    sig: Option<String>,
}

impl Answer {
    fn to(fields: &Fields<'_>, allow_weak: bool) -> Result<Self, LineError> {
        let set = Set::of(fields)?;
        let request = Request::of(fields, set, allow_weak)?;
        with_set!(set, P => Self::under::<P>(fields, request))
    }

    fn under<P: ParameterSet>(
        fields: &Fields<'_>,
        request: Option<Request>,
    ) -> Result<Self, LineError> {
        let key = signing_key::<P>(fields)?;
        let rnd = fields.hex_array::<32>("rnd")?;
        let sig = match (request, &rnd) {
            (Some(request), rnd) => {
                let hedge = rnd
                    .as_ref()
                    .map_or(Hedge::Deterministic, |rnd| Hedge::Bytes(rnd));
                Some(encode_string(sign(&key, &request, hedge)?.as_ref()))
            }
            (None, None) => None,
            (None, Some(_)) => return Err(LineError::new("\"rnd\" without a message")),
        };
        Ok(Self {
            pk: encode_string(key.verifying_key().as_ref()),
            sig,
        })
    }
}

fn signing_key<P: ParameterSet>(fields: &Fields<'_>) -> Result<SigningKey<P>, LineError> {
    match (fields.hex_array::<32>("seed")?, fields.hex("sk")?) {
        (Some(seed), None) => Ok(SigningKey::from_seed(&seed)),
        (None, Some(sk)) => SigningKey::from_expanded(&sk).map_err(|error| {
            LineError::new(match error {
                KeyError::Length => format!(
                    "field \"sk\" has {} bytes, not the {} of {}",
                    sk.len(),
                    P::SK_LEN,
                    P::NAME
                ),
                error => format!("field \"sk\" is refused: {error}"),
            })
        }),
        (Some(_), Some(_)) => Err(LineError::new("both \"seed\" and \"sk\"")),
        (None, None) => Err(LineError::new("neither \"seed\" nor \"sk\"")),
    }
}

fn sign<P: ParameterSet>(
    key: &SigningKey<P>,
    request: &Request,
    hedge: Hedge<'_>,
) -> Result<Signature<P>, LineError> {
    let context = Context::new(&request.context)
        .map_err(|_| LineError::new("field \"ctx\" has more than 255 bytes"))?;
    let signature = match &request.message {
        Message::Bytes(message) => key.sign(message, context, hedge),
        Message::Mu(mu) => key.sign_mu(mu, hedge),
        Message::PreHashed { hash, digest } => {
            // The pair was checked with the line.
            let digest = PreHashed::new_allow_weak(*hash, digest)
                .map_err(|error| LineError::new(error.to_string()))?;
            key.sign_prehashed(&digest, context, hedge)
        }
    };
    signature.map_err(|error| LineError::new(format!("signing failed: {error}")))
}

fn print(output: &mut dyn Write, answer: &Result<Answer, LineError>) -> io::Result<()> {
    match answer {
        Ok(Answer { pk, sig: Some(sig) }) => write!(output, "\"pk\":\"{pk}\",\"sig\":\"{sig}\""),
        Ok(Answer { pk, sig: None }) => write!(output, "\"pk\":\"{pk}\""),
        Err(error) => print_error(output, error),
    }
}
