//! Arguments of `mldsa aggregate`.

use core::net::SocketAddr;
use std::io;
use std::path::PathBuf;

use crate::paths::Files;

/// Become a member of an epoch: make a store, agree on the plan, announce the root of the keys
#[derive(clap::Args)]
pub(crate) struct JoinArgs {
    #[command(flatten)]
    pub(crate) epoch: EpochArgs,

    #[command(flatten)]
    pub(crate) new: NewStoreArgs,

    #[command(flatten)]
    pub(crate) plan: PlanShape,

    /// The domain, which is stored for `sign`
    #[arg(long)]
    pub(crate) ctx: Option<String>,

    #[command(flatten)]
    pub(crate) wait: WaitArgs,
}

/// Make a member: its secrets, its journal and its registration
#[derive(clap::Args)]
pub(crate) struct InitArgs {
    /// The directory that the committee shares
    #[arg(long, value_name = "DIR")]
    pub(crate) committee: PathBuf,

    /// The directory of this member alone
    #[arg(long, value_name = "DIR")]
    pub(crate) store: PathBuf,

    #[command(flatten)]
    pub(crate) new: NewStoreArgs,
}

#[derive(clap::Args)]
pub(crate) struct NewStoreArgs {
    /// The member's name, 1 to 64 bytes
    #[arg(long)]
    pub(crate) id: Option<String>,

    /// Keep the high-water mark of the journal here, on another device than the store:
    /// FILE.0 at first, with the next number after each rotation
    #[arg(long, value_name = "FILE")]
    pub(crate) mark: Option<PathBuf>,
}

/// Fix matrix, members and contents of an epoch: once, by agreement
#[derive(clap::Args)]
pub(crate) struct PlanArgs {
    /// The directory that the committee shares
    #[arg(long, value_name = "DIR")]
    pub(crate) committee: PathBuf,

    /// The epoch
    #[arg(long, default_value_t = 1)]
    pub(crate) epoch: u64,

    #[command(flatten)]
    pub(crate) plan: PlanShape,

    /// Take all registered members: check the printed names and fingerprints
    #[arg(long, conflicts_with = "members", required_unless_present = "members")]
    pub(crate) all_registered: bool,
}

#[derive(clap::Args)]
pub(crate) struct PlanShape {
    /// A content label that may be decided in this epoch; repeatable
    #[arg(long = "content", default_value = "decision")]
    pub(crate) contents: Vec<String>,

    /// Keys for each content [default: enough for a third of silent members]
    #[arg(long)]
    pub(crate) attempts: Option<u8>,

    /// The members of this epoch
    #[arg(long, value_delimiter = ',')]
    pub(crate) members: Vec<String>,

    /// Least number of signers [default: more than two thirds of the members]
    #[arg(long, conflicts_with_all = ["weights", "threshold"])]
    pub(crate) quorum: Option<usize>,

    /// Weights of the members, one `name weight` a line; - is standard input
    #[arg(long, value_name = "FILE", requires = "threshold")]
    pub(crate) weights: Option<PathBuf>,

    /// Least weight of the signers
    #[arg(long, requires = "weights")]
    pub(crate) threshold: Option<u64>,

    /// The earlier epoch whose committee endorses this one
    #[arg(long, value_name = "EPOCH")]
    pub(crate) after: Option<u64>,
}

// Store and epoch. A store has the committee and the epoch of the last `join` or `trust`.
#[derive(clap::Args)]
pub(crate) struct EpochArgs {
    /// The directory of this member or verifier alone
    #[arg(long, value_name = "DIR")]
    pub(crate) store: PathBuf,

    /// The directory that the committee shares [default: as stored]
    #[arg(long, value_name = "DIR")]
    pub(crate) committee: Option<PathBuf>,

    /// The epoch [default: as stored, or 1]
    #[arg(long)]
    pub(crate) epoch: Option<u64>,

    /// The identity of the committee, from another channel
    #[arg(long, value_name = "HEX")]
    pub(crate) identity: Option<String>,

    /// The digest of the list of roots, from another channel
    #[arg(long, value_name = "HEX")]
    pub(crate) expect_roots: Option<String>,
}

#[derive(clap::Args)]
pub(crate) struct CloseArgs {
    /// The directory of this member alone
    #[arg(long, value_name = "DIR")]
    pub(crate) store: PathBuf,

    /// The epoch
    #[arg(long)]
    pub(crate) epoch: u64,
}

#[derive(clap::Args)]
pub(crate) struct WaitArgs {
    /// Seconds to wait for other members
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub(crate) timeout: u64,
}

/// Sign with the other members until the decision is made
#[derive(clap::Args)]
pub(crate) struct SignArgs {
    #[command(flatten)]
    pub(crate) epoch: EpochArgs,

    #[command(flatten)]
    pub(crate) subject: SubjectArgs,

    /// The certificate: a new file, or - for standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: PathBuf,

    #[command(flatten)]
    pub(crate) wait: WaitArgs,

    /// Seconds after which an attempt without a result is abandoned
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) attempt_timeout: u64,

    /// Accept messages of members on other hosts here
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,

    /// A member on another host, HOST:PORT; repeatable
    #[arg(long = "peer", value_name = "ADDRESS", requires = "listen")]
    pub(crate) peers: Vec<String>,
}

#[derive(clap::Args)]
pub(crate) struct DecisionArgs {
    #[command(flatten)]
    pub(crate) epoch: EpochArgs,

    /// The directory of this attempt
    #[arg(long, value_name = "DIR")]
    pub(crate) round: PathBuf,

    /// The attempt, from 0
    #[arg(long, default_value_t = 0)]
    pub(crate) attempt: u8,

    /// The participants, which the first `open` of the attempt fixes [default: all members that
    /// have acknowledged the roots]
    #[arg(long, alias = "cohort", value_delimiter = ',')]
    pub(crate) participants: Vec<String>,

    #[command(flatten)]
    pub(crate) subject: SubjectArgs,
}

#[derive(clap::Args)]
pub(crate) struct RetireArgs {
    #[command(flatten)]
    pub(crate) epoch: EpochArgs,

    /// The content label
    #[arg(long, default_value = "decision")]
    pub(crate) content: String,

    /// The attempt, from 0: it and all before it are abandoned
    #[arg(long, default_value_t = 0)]
    pub(crate) attempt: u8,
}

/// Check all responses and make the certificate
#[derive(clap::Args)]
pub(crate) struct CombineArgs {
    #[command(flatten)]
    pub(crate) step: DecisionArgs,

    /// The certificate: a new file, or - for standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

/// Verify that a quorum of a committee that you trust signed what you expect
#[derive(clap::Args)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    pub(crate) epoch: EpochArgs,

    /// The certificate
    #[arg(long, value_name = "FILE")]
    pub(crate) certificate: PathBuf,

    #[command(flatten)]
    pub(crate) subject: SubjectArgs,

    /// Write the ordinary ML-DSA-87 public key, for `mldsa verify`: a new file
    #[arg(long)]
    pub(crate) pk_out: Option<PathBuf>,

    /// Write the ordinary ML-DSA-87 signature
    #[arg(long)]
    pub(crate) sig_out: Option<PathBuf>,

    /// Write the bytes that it signs
    #[arg(long)]
    pub(crate) message_out: Option<PathBuf>,

    /// Write the FIPS 204 context that it is made under
    #[arg(long)]
    pub(crate) ctx_out: Option<PathBuf>,
}

/// Verify evidence that a member has signed contradicting messages
#[derive(clap::Args)]
pub(crate) struct EvidenceArgs {
    #[command(flatten)]
    pub(crate) epoch: EpochArgs,

    /// The evidence
    pub(crate) file: PathBuf,
}

#[derive(clap::Args)]
pub(crate) struct SubjectArgs {
    /// The content label
    #[arg(long, default_value = "decision")]
    pub(crate) content: String,

    /// The bytes to sign, or that are expected to be signed; - is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) payload: PathBuf,

    /// The domain [default: as stored, or empty]
    #[arg(long)]
    pub(crate) ctx: Option<String>,

    /// Sign the payload as it is, the participants in the context
    #[arg(long)]
    pub(crate) consensus: bool,
}

impl NewStoreArgs {
    pub(crate) fn id(&self) -> io::Result<&str> {
        let id = self.id.as_deref();
        id.ok_or_else(|| io::Error::other("--id is required for a new store"))
    }
}

impl EpochArgs {
    /// The directories that are given.
    pub(crate) fn files(&self) -> Files<'_> {
        let files = Files::default().read([&*self.store]);
        files.read(self.committee.as_deref())
    }
}

impl DecisionArgs {
    pub(crate) fn files(&self) -> Files<'_> {
        self.epoch
            .files()
            .read([&*self.round, &self.subject.payload])
    }
}

impl VerifyArgs {
    pub(crate) fn results(&self) -> [Option<&PathBuf>; 4] {
        [
            &self.pk_out,
            &self.sig_out,
            &self.message_out,
            &self.ctx_out,
        ]
        .map(Option::as_ref)
    }
}
