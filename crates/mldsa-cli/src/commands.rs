//! The commands over files.

use clap::Subcommand;

use crate::key::{inspect, issue, keygen, pubkey};
use crate::message::{mu, sign, verify};
use crate::{Task, man, note};

#[derive(Subcommand)]
#[allow(clippy::large_enum_variant, reason = "there is one of them")]
pub(crate) enum FileCommand {
    Keygen(keygen::Args),
    Convert(keygen::ConvertArgs),
    Pubkey(pubkey::Args),
    Inspect(inspect::Args),
    Sign(sign::Args),
    Verify(verify::Args),
    Mu(mu::Args),
    Note(note::Args),
    Certificate(issue::Args),
    #[command(display_order = 100)]
    Completions(man::CompletionsArgs),
    #[command(display_order = 100)]
    Man(man::ManArgs),
}

impl FileCommand {
    pub(crate) fn task(&self) -> &dyn Task {
        match self {
            Self::Keygen(args) => args,
            Self::Convert(args) => args,
            Self::Pubkey(args) => args,
            Self::Inspect(args) => args,
            Self::Sign(args) => args,
            Self::Verify(args) => args,
            Self::Mu(args) => args,
            Self::Note(args) => args,
            Self::Certificate(args) => args,
            Self::Completions(args) => args,
            Self::Man(args) => args,
        }
    }
}
