//! `mldsa completions` and `mldsa man`, generated from the definition of the commands.

use std::io;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};
use clap_complete::{Shell, generate};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::file::output::{Content, Existing, Output};
use crate::terminal::print;
use crate::{Cli, Status, Task};

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

impl Task for CompletionsArgs {
    fn run(&self) -> io::Result<Status> {
        let mut text = Vec::new();
        generate(self.shell, &mut Cli::command(), "mldsa", &mut text);
        print(&text)?;
        Ok(Status::Good)
    }
}

impl Task for ManArgs {
    fn run(&self) -> io::Result<Status> {
        let mut all = Cli::command().disable_help_subcommand(true);
        all.build();
        pages(&all, &self.dir)?;
        Ok(Status::Good)
    }
}

fn pages(command: &Command, dir: &Path) -> io::Result<()> {
    let man = Man::new(command.clone()).source(concat!("mldsa ", env!("CARGO_PKG_VERSION")));
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    synopsis(command).to_writer(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let help = command.get_after_long_help().map(ToString::to_string);
    sections(&help.unwrap_or_default()).to_writer(&mut page)?;
    let path = dir.join(man.get_filename());
    Output::new(&path, Existing::Reject, Content::Text)?.write(&page)?;
    command
        .get_subcommands()
        .try_for_each(|sub| pages(sub, dir))
}

/// Lists the options, with their values, and the arguments.
fn synopsis(command: &Command) -> Roff {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let mut line = vec![bold(name)];
    let (positional, options): (Vec<_>, Vec<_>) = (command.get_arguments())
        .filter(|arg| !arg.is_hide_set())
        .partition(|arg| arg.is_positional());
    for arg in options.into_iter().chain(positional) {
        // clap puts brackets around an optional argument, not around an option.
        let is_bare = arg.is_required_set() || arg.is_positional();
        line.push(roman(if is_bare {
            format!(" {arg}")
        } else {
            format!(" [{arg}]")
        }));
    }
    if command.has_subcommands() {
        line.push(roman(" <COMMAND>"));
    }
    let mut roff = Roff::new();
    roff.control("SH", ["SYNOPSIS"]).text(line);
    roff
}

/// Makes a section of each paragraph that begins with words in capitals, such as EXAMPLES, and of
/// the text before the first of them. Lines stay as they are.
fn sections(help: &str) -> Roff {
    let mut roff = Roff::new();
    for (n, paragraph) in help.split("\n\n").enumerate() {
        let is_capital =
            |word: &&str| word.len() > 3 && word.bytes().all(|c| c.is_ascii_uppercase());
        let title: Vec<&str> = paragraph
            .split_whitespace()
            .take_while(is_capital)
            .collect();
        let title = title.join(" ");
        let rest = paragraph.strip_prefix(&*title).unwrap_or(paragraph);
        if !title.is_empty() {
            roff.control("SH", [&*title]);
        } else if n == 0 && !paragraph.is_empty() {
            roff.control("SH", ["NOTES"]);
        }
        roff.control("nf", []);
        let text = rest.strip_prefix('\n').unwrap_or(rest.trim_start());
        for line in text.lines() {
            roff.text([roman(line)]);
        }
        roff.control("fi", []);
    }
    roff
}
