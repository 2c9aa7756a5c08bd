//! `mldsa completions` and `mldsa man`, generated from the definition of the commands.

use std::io;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};
use clap_complete::{Shell, generate};
use clap_mangen::Man;

use crate::output::{Content, Existing, Output};
use crate::terminal::print;
use crate::{Cli, Status};

/// Print completions for a shell
#[derive(clap::Args)]
pub(crate) struct CompletionsArgs {
    #[arg(value_enum)]
    shell: Shell,
}

/// Write the manual pages, one for each command
#[derive(clap::Args)]
pub(crate) struct ManArgs {
    /// An existing directory; existing pages are not replaced
    dir: PathBuf,
}

pub(crate) fn completions(args: &CompletionsArgs) -> io::Result<Status> {
    let mut text = Vec::new();
    generate(args.shell, &mut Cli::command(), "mldsa", &mut text);
    print(&text)?;
    Ok(Status::Good)
}

pub(crate) fn man(args: &ManArgs) -> io::Result<Status> {
    let mut all = Cli::command().disable_help_subcommand(true);
    all.build();
    pages(&all, &args.dir)?;
    Ok(Status::Good)
}

fn pages(command: &Command, dir: &Path) -> io::Result<()> {
    let man = Man::new(command.clone()).source(concat!("mldsa ", env!("CARGO_PKG_VERSION")));
    let mut page = Vec::new();
    man.render(&mut page)?;
    let path = dir.join(man.get_filename());
    Output::new(&path, Existing::Reject, Content::Text)?.write(&page)?;
    command
        .get_subcommands()
        .try_for_each(|sub| pages(sub, dir))
}
