//! Arguments of the steps of `mldsa aggregate`.

use std::path::PathBuf;

use crate::paths::Files;

/// Run a whole committee in one process, with guards and files as in the steps
#[derive(clap::Args)]
pub(crate) struct RunArgs {
    /// Number of members
    #[arg(long, short = 'n', default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=8192))]
    pub(crate) members: u16,

    /// A new directory for all files
    #[arg(long)]
    pub(crate) dir: PathBuf,

    #[command(flatten)]
    pub(crate) subject: SubjectArgs,
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

    /// A content label that may be decided in this epoch; repeatable
    #[arg(long = "content", required = true)]
    pub(crate) contents: Vec<String>,

    /// Keys for each content [default: enough for a third of silent members]
    #[arg(long)]
    pub(crate) attempts: Option<u8>,

    /// The members of this epoch
    #[arg(
        long,
        value_delimiter = ',',
        required_unless_present = "all_registered"
    )]
    pub(crate) members: Vec<String>,

    /// Take all registered members: check the printed names and fingerprints
    #[arg(long, conflicts_with = "members")]
    pub(crate) all_registered: bool,

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

/// Make a member: its secrets, its guard and its registration
#[derive(clap::Args)]
pub(crate) struct InitArgs {
    /// The directory that the committee shares
    #[arg(long, value_name = "DIR")]
    pub(crate) committee: PathBuf,

    #[command(flatten)]
    pub(crate) store: StoreArgs,

    /// The member's name, 1 to 64 bytes
    #[arg(long)]
    pub(crate) id: String,

    /// Keep the high-water mark of the guard here, on another device than the store:
    /// FILE.0 at first, with the next number after each rotation
    #[arg(long, value_name = "FILE")]
    pub(crate) mark: Option<PathBuf>,
}

#[derive(clap::Args)]
pub(crate) struct EpochArgs {
    #[command(flatten)]
    pub(crate) committee: CommitteeArgs,

    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(clap::Args)]
pub(crate) struct CloseArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,

    /// The epoch
    #[arg(long)]
    pub(crate) epoch: u64,
}

#[derive(clap::Args)]
pub(crate) struct DecisionArgs {
    #[command(flatten)]
    pub(crate) committee: CommitteeArgs,

    #[command(flatten)]
    pub(crate) store: StoreArgs,

    #[command(flatten)]
    pub(crate) round: RoundArgs,
}

/// Check all responses and make the aggregate
#[derive(clap::Args)]
pub(crate) struct CombineArgs {
    #[command(flatten)]
    pub(crate) step: DecisionArgs,

    /// The aggregate: a new file, or - for standard output
    #[arg(long, short)]
    pub(crate) out: PathBuf,
}

/// Verify that a quorum of a committee that you trust signed what you expect
#[derive(clap::Args)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    pub(crate) committee: CommitteeArgs,

    #[command(flatten)]
    pub(crate) store: StoreArgs,

    /// The directory with the openings
    #[arg(long)]
    pub(crate) round: PathBuf,

    /// The aggregate
    #[arg(long)]
    pub(crate) aggregate: PathBuf,

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

#[derive(clap::Args)]
pub(crate) struct CommitteeArgs {
    /// The directory that the committee shares
    #[arg(long, value_name = "DIR")]
    pub(crate) committee: PathBuf,

    /// The epoch
    #[arg(long, default_value_t = 1)]
    pub(crate) epoch: u64,

    /// The identity of the committee, from another channel
    #[arg(long, value_name = "HEX")]
    pub(crate) identity: Option<String>,

    /// The digest of the list of roots, from another channel
    #[arg(long, value_name = "HEX")]
    pub(crate) expect_roots: Option<String>,
}

#[derive(clap::Args)]
pub(crate) struct StoreArgs {
    /// The directory of this member or verifier alone
    #[arg(long, value_name = "DIR")]
    pub(crate) store: PathBuf,
}

#[derive(clap::Args)]
pub(crate) struct RoundArgs {
    /// The directory of this attempt
    #[arg(long, value_name = "DIR")]
    pub(crate) round: PathBuf,

    /// The attempt, from 0
    #[arg(long, default_value_t = 0)]
    pub(crate) attempt: u8,

    /// The participants [default: all members that have acknowledged the roots]
    #[arg(long, value_delimiter = ',')]
    pub(crate) cohort: Vec<String>,

    #[command(flatten)]
    pub(crate) subject: SubjectArgs,
}

#[derive(clap::Args, Clone)]
pub(crate) struct SubjectArgs {
    /// The content label
    #[arg(long, default_value = "decision")]
    pub(crate) content: String,

    /// The bytes to sign, or that are expected to be signed; - is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) payload: PathBuf,

    /// The domain
    #[arg(long, default_value = "")]
    pub(crate) ctx: String,

    /// Sign the payload as it is, the participants in the context
    #[arg(long)]
    pub(crate) consensus: bool,
}

impl DecisionArgs {
    pub(crate) fn files(&self) -> Files<'_> {
        Files::default()
            .read([&*self.committee.committee, &self.store.store])
            .read([&*self.round.round, &self.round.subject.payload])
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
