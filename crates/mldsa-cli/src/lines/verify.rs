//! `mldsa batch-verify`.

use std::io::{self, IsTerminal, Write};

use batch_verify::{AnyBatchVerifier, Item, Message, Mode, RejectReason, ThreadPool, Threads};
use clap::ValueEnum;
use mldsa_core::{Context, Set};
use zeroize::Zeroizing;

use crate::backends::chosen;
use crate::file::paths::Files;
use crate::lines::fields::{Fields, LINE, LineError};
#[cfg(feature = "gpu")]
use crate::lines::gpu;
use crate::lines::request::{LineRequest, Message as LineMessage, set_from_fields};
use crate::lines::run::{BatchArgs, Style, print_error};
use crate::terminal::standard_output;
use crate::{Status, Task};

/// Verify signatures from JSON lines
#[derive(clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) batch: BatchArgs,

    /// Extent of the verification
    #[arg(long, value_enum, default_value_t = ModeArg::Full)]
    mode: ModeArg,

    /// JSON on a terminal too
    #[arg(long)]
    json: bool,

    /// Verify on a GPU (any, cuda or opencl; opencl-cpu is a test of the kernels); results do not
    /// depend on it, and the CPU takes over where there is none
    #[cfg(feature = "gpu")]
    #[arg(long, value_name = "DEVICE", num_args = 0..=1, require_equals = true,
          default_missing_value = "any")]
    gpu: Option<mldsa_gpu::Choice>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ModeArg {
    /// Every line
    Full,
    /// Up to the first invalid line of the file; the output does not depend on
    /// the number of threads
    FirstInvalid,
    /// Stop as soon as any line is known to be invalid; which lines were
    /// verified by then depends on scheduling
    AnyInvalid,
}

const HELP: &str = r#"INPUT  One JSON object a line; all values are strings without escapes, bytes are hex:
  {"set":"ML-DSA-87","pk":"..","sig":"..","msg":".."}
  {"set":"ML-DSA-65","pk":"..","sig":"..","msg":"..","ctx":".."}
  {"set":"ML-DSA-44","pk":"..","sig":"..","mu":".."}
  {"set":"ML-DSA-87","pk":"..","sig":"..","prehash":"SHA2-512","digest":".."}
  "cert" instead of "pk" is an X.509 certificate in DER, of which only the
  public key is used. Sets may be mixed. "ctx" belongs to "msg" and "prehash".
  Names are written as here. An "id", a string, is repeated in the answer; "line"
  is ignored, so that answers of `batch-sign --echo` are read. Hashes: SHA2-224,
  SHA2-256, SHA2-384, SHA2-512, SHA2-512/224, SHA2-512/256, SHA3-224, SHA3-256,
  SHA3-384, SHA3-512, SHAKE-128, SHAKE-256.

OUTPUT  On a terminal without --json a text for every line that is not valid, and
  a summary. Otherwise one JSON object for every line, in order:
  {"line":1,"valid":true}
  {"line":2,"valid":false,"reason":".."}
  {"line":3,"error":".."}      the line is unusable; it does not stop the others
  {"line":4,"skipped":true}    only with --mode first-invalid or any-invalid
  Reasons, the first that applies:
    context_too_long    more than 255 bytes of ctx
    public_key_length   the length of pk is not that of the set
    signature_length    the length of sig is not that of the set
    hint_encoding       the hint is not canonically encoded
    response_norm       a coefficient of z is out of range
    challenge_mismatch  sig is for another message, context or key, or damaged
  Errors: bad JSON, bad hex, an unknown set, hash or field, a field missing,
  given twice or not a string, a wrong length of mu or digest, ctx with mu, a
  weak hash without --allow-weak-prehash, a line too long, an empty line.

MODES  An unusable line never stops a run.
  full           every usable line is verified
  first-invalid  every line after the first invalid one is skipped unread,
                 unusable ones too
  any-invalid    lines not verified by the time of the stop are skipped; an
                 unusable line is an error if it was read by then

EXAMPLES
  Verify the lines of a file and keep those that are not valid:
    mldsa batch-verify votes.jsonl | grep -v '"valid":true'
  Stop at the first invalid line:
    mldsa batch-verify --mode first-invalid votes.jsonl

EXIT CODE  0 every line is valid, 1 some line is invalid, 2 some line is
unusable, there was no line at all, or the run could not finish."#;

/// Lines in a chunk: enough for all workers, few enough for the memory.
const MAX_LINES: usize = 1024;

pub(super) const FIELDS: &[&str] = &[
    LINE, "id", "set", "pk", "cert", "sig", "msg", "mu", "prehash", "digest", "ctx",
];

impl Args {
    fn max_lines(&self) -> usize {
        match self {
            #[cfg(feature = "gpu")]
            Self { gpu: Some(_), .. } => 16 * MAX_LINES,
            _ => MAX_LINES,
        }
    }
}

impl Task for Args {
    fn files(&self) -> Files<'_> {
        self.batch.files()
    }

    fn run(&self) -> io::Result<Status> {
        let mut batch = self.batch.open(self.max_lines(), standard_output())?;
        let verifier = LineVerifier::new(self, &batch.pool)?;
        let style = if io::stdout().is_terminal() && !self.json {
            Style::Text
        } else {
            Style::Json
        };
        let (mut valid, mut invalid, mut unusable, mut skipped) = (0, 0, 0, 0);
        let mut stopped = false;
        batch.for_each_line(
            style,
            FIELDS,
            |fields| {
                fields.and_then(|fields| {
                    Candidate::from_fields(&fields, self.batch.allow_weak_prehash)
                })
            },
            |jobs| {
                if stopped {
                    return jobs.iter().map(|_| Verdict::Skipped).collect();
                }
                let verdicts = verifier.verify(jobs);
                stopped = self.mode != ModeArg::Full && lowest_invalid(&verdicts).is_some();
                verdicts
            },
            |output, verdict| {
                *match verdict {
                    Verdict::Valid => &mut valid,
                    Verdict::Invalid(_) => &mut invalid,
                    Verdict::Unusable(_) => &mut unusable,
                    Verdict::Skipped => &mut skipped,
                } += 1;
                verdict.print(style, output)
            },
        )?;
        let counts = [
            (valid, "valid"),
            (invalid, "invalid"),
            (unusable, "unusable"),
            (skipped, "skipped"),
        ];
        batch.finish(&counts, valid + invalid);
        Ok(match (valid, invalid, unusable) {
            (_, _, 1..) => Status::Unusable,
            (_, 1.., _) => Status::Invalid,
            (1.., ..) => Status::Good,
            // Nothing was verified: not "all valid".
            _ => Status::Unusable,
        })
    }
}

/// A usable line.
struct Candidate {
    set: Set,
    pk: Zeroizing<Vec<u8>>,
    sig: Zeroizing<Vec<u8>>,
    request: LineRequest,
}

impl Candidate {
    fn from_fields(fields: &Fields<'_>, allow_weak: bool) -> Result<Self, LineError> {
        let set = set_from_fields(fields)?;
        let pk = match fields.hex("cert")? {
            None => fields.required_hex("pk")?,
            Some(_) if fields.text("pk").is_some() => {
                return Err(LineError::new("\"cert\" and \"pk\""));
            }
            Some(der) => certified_key(&der, set).map_err(LineError::new)?,
        };
        let sig = fields.required_hex("sig")?;
        match LineRequest::from_fields(fields, set, allow_weak)? {
            Some(request) => Ok(Self {
                set,
                pk,
                sig,
                request,
            }),
            None => Err(LineError::new("none of \"msg\", \"mu\" and \"prehash\"")),
        }
    }

    fn item(&self) -> Result<(Set, Item<'_>), Verdict> {
        let context = Context::new(&self.request.context)
            .map_err(|_| Verdict::Invalid("context_too_long"))?;
        let item = |message| Item::new(self.pk.as_slice(), message, context, &self.sig);
        let item = match &self.request.message {
            LineMessage::Bytes(message) => item(Message::Bytes(message)),
            LineMessage::Mu(mu) => Item::from_mu(&*self.pk, mu, &self.sig),
            &LineMessage::PreHashed { hash, ref digest } => {
                item(Message::PreHashed { hash, digest })
            }
        };
        Ok((self.set, item))
    }
}

/// Decodes the public key of a certificate, which has to be of the set.
#[cfg(feature = "files")]
fn certified_key(der: &[u8], set: Set) -> Result<Zeroizing<Vec<u8>>, String> {
    let certificate = crate::key::certificate::Certificate::from_der(der)
        .map_err(|why| format!("field \"cert\": {why}"))?;
    if certificate.key.set() == set {
        Ok(certificate.key.as_ref().to_vec().into())
    } else {
        let found = certificate.key.set();
        Err(format!("a certificate of an {found} key"))
    }
}

#[cfg(not(feature = "files"))]
fn certified_key(_: &[u8], _: Set) -> Result<Zeroizing<Vec<u8>>, String> {
    Err("field \"cert\": this program was built without the feature files".into())
}

enum Verdict {
    Valid,
    Invalid(&'static str),
    Unusable(LineError),
    Skipped,
}

impl Verdict {
    fn print(&self, style: Style, output: &mut dyn Write) -> io::Result<()> {
        match (self, style) {
            (Self::Valid | Self::Skipped, Style::Text) => Ok(()),
            (Self::Invalid(reason), Style::Text) => write!(output, "invalid: {reason}"),
            (Self::Unusable(error), Style::Text) => write!(output, "unusable: {error}"),
            (Self::Valid, Style::Json) => output.write_all(b"\"valid\":true"),
            (Self::Invalid(reason), Style::Json) => {
                write!(output, "\"valid\":false,\"reason\":\"{reason}\"")
            }
            (Self::Unusable(error), Style::Json) => print_error(output, error),
            (Self::Skipped, Style::Json) => output.write_all(b"\"skipped\":true"),
        }
    }
}

impl From<Result<(), RejectReason>> for Verdict {
    fn from(verdict: Result<(), RejectReason>) -> Self {
        match verdict {
            Ok(()) => Self::Valid,
            Err(RejectReason::NotVerified) => Self::Skipped,
            Err(reason) => Self::Invalid(reason.name()),
        }
    }
}

/// The verifier of the lines.
struct LineVerifier {
    mode: ModeArg,
    verifier: AnyBatchVerifier,
}

impl LineVerifier {
    fn new(args: &Args, pool: &ThreadPool) -> io::Result<Self> {
        let builder = AnyBatchVerifier::builder();
        #[cfg(feature = "gpu")]
        let builder = match args.gpu {
            Some(device) => {
                let threads = pool.threads();
                let (a, b, c) = (
                    gpu::lazy(device, threads),
                    gpu::lazy(device, threads),
                    gpu::lazy(device, threads),
                );
                builder.accelerators(a, b, c)
            }
            None => builder,
        };
        let verifier = builder
            .backend(chosen())
            .mode(match args.mode {
                ModeArg::Full => Mode::Full,
                ModeArg::FirstInvalid => Mode::FirstInvalid,
                ModeArg::AnyInvalid => Mode::AnyInvalid,
            })
            .threads(Threads::Pool(pool.clone()))
            .allow_weak_prehash(args.batch.allow_weak_prehash)
            .build()
            .map_err(io::Error::other)?;
        let mode = args.mode;
        Ok(Self { mode, verifier })
    }

    /// Verifies a chunk; verdicts are in the order of the lines.
    fn verify(&self, jobs: Vec<Result<Candidate, LineError>>) -> Vec<Verdict> {
        let items = jobs
            .iter()
            .map(|job| match job.as_ref().map(Candidate::item) {
                Err(_) => (None, Verdict::Skipped),
                Ok(Ok(item)) => (Some(item), Verdict::Skipped),
                Ok(Err(verdict)) => (None, verdict),
            });
        let (items, mut verdicts): (Vec<_>, Vec<_>) = items.unzip();
        // A context that is too long is known before anything is verified.
        let end = match (self.mode, lowest_invalid(&verdicts)) {
            (ModeArg::Full, _) | (_, None) => items.len(),
            (ModeArg::FirstInvalid, Some(lowest)) => lowest,
            (ModeArg::AnyInvalid, Some(_)) => 0,
        };
        let usable = (0..end).filter_map(|index| Some((index, items[index]?)));
        let (indices, batch): (Vec<usize>, Vec<_>) = usable.unzip();
        let outcomes = self.verifier.verify_batch(batch).into_verdicts();
        for (index, outcome) in indices.into_iter().zip(outcomes) {
            verdicts[index] = outcome.into();
        }
        let lowest = lowest_invalid(&verdicts).unwrap_or(verdicts.len());
        for (index, (verdict, job)) in verdicts.iter_mut().zip(jobs).enumerate() {
            if self.mode == ModeArg::FirstInvalid && index > lowest {
                *verdict = Verdict::Skipped;
            } else if let Err(error) = job {
                *verdict = Verdict::Unusable(error);
            }
        }
        verdicts
    }
}

fn lowest_invalid(verdicts: &[Verdict]) -> Option<usize> {
    verdicts
        .iter()
        .position(|verdict| matches!(verdict, Verdict::Invalid(_)))
}
