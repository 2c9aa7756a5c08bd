//! The report as files: Markdown with drawings beside it, JSON lines, CSV, and one HTML
//! page that needs no other file.

use core::error::Error;
use core::fmt::Write as _;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};
use serde_json::json;

use super::{Part, Section};

/// Under which circumstances the figures came about.
#[derive(Debug)]
pub struct Run {
    /// The CPU.
    pub cpu: String,
    /// The day, UTC.
    pub date: String,
    /// What was typed.
    pub command: String,
    /// The compiler.
    pub rustc: &'static str,
    /// The backend of ours.
    pub backend: &'static str,
    /// The threads there are.
    pub threads: usize,
    /// How many processes ran or waited on average in the minute before, where the system
    /// tells.
    pub load: Option<f64>,
    /// The seed of the inputs.
    pub seed: u64,
}

impl Run {
    /// As a paragraph.
    #[must_use]
    pub fn markdown(&self) -> String {
        let Self {
            cpu,
            date,
            command,
            rustc,
            backend,
            threads,
            seed,
            ..
        } = self;
        let load = match self.load {
            Some(load) if load >= 0.5 => {
                format!(
                    " The machine's load was {load:.1} when it began: if other work went on, tails, and \
                     figures of several threads, are of that too."
                )
            }
            Some(load) => format!(" The machine was idle: load {load:.1} when it began."),
            None => String::new(),
        };
        let s = if *threads == 1 { "" } else { "s" };
        format!(
            "{cpu}, {threads} thread{s}, backend {backend}, {date}, {rustc}, release profile, \
             inputs of seed {seed}: `{command}`.{load}"
        )
    }
}

/// Writes everything into `folder`.
///
/// # Errors
/// If a file cannot be written.
pub fn write(folder: &Path, run: &Run, sections: &[Section]) -> Result<(), Box<dyn Error>> {
    let mut text = format!("# Report\n\n{}\n", run.markdown());
    let mut lines = vec![json!({
        "table": "run",
        "cpu": run.cpu,
        "date": run.date,
        "command": run.command,
        "rustc": run.rustc,
        "backend": run.backend,
        "threads": run.threads,
        "load": run.load,
        "seed": run.seed,
    })];
    let mut drawings = HashMap::new();
    for section in sections {
        write!(text, "\n## {}\n", section.title)?;
        for part in &section.parts {
            match part {
                Part::Text(paragraph) => write!(text, "\n{paragraph}\n")?,
                Part::Table(table) => {
                    write!(text, "\n{}", table.markdown())?;
                    lines.extend(table.json()?);
                    let file = folder.join(table.name).with_extension("csv");
                    fs::write(file, table.csv()?)?;
                }
                Part::Plot(plot) => {
                    let file = format!("{}.svg", plot.name);
                    write!(text, "\n![{}]({file})\n", plot.title)?;
                    let svg = plot.svg()?;
                    fs::write(folder.join(&file), &svg)?;
                    drawings.insert(file, svg);
                }
            }
        }
    }
    let lines: Vec<_> = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(folder.join("report.jsonl"), lines.concat())?;
    fs::write(folder.join("report.html"), page(&text, &drawings))?;
    fs::write(folder.join("report.md"), text)?;
    Ok(())
}

const HEAD: &str = "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
    <meta name=\"viewport\" content=\"width=device-width\">\n<title>Report</title>\n<style>\n\
    body { font: 15px/1.5 sans-serif; max-width: 76em; margin: 2em auto; padding: 0 1em }\n\
    table { border-collapse: collapse; display: block; overflow-x: auto; font-size: 13px }\n\
    td, th { padding: 2px 10px; border-bottom: 1px solid #ddd }\n\
    svg { max-width: 100%; height: auto }\n</style>\n";

/// The Markdown as a page, with the drawings in place of the links to them.
fn page(markdown: &str, drawings: &HashMap<String, String>) -> String {
    let mut linked = None;
    let events = Parser::new_ext(markdown, Options::ENABLE_TABLES);
    let events = events.filter_map(|event| match event {
        Event::Start(Tag::Image { dest_url, .. }) => {
            linked = drawings.get(&*dest_url);
            None
        }
        Event::End(TagEnd::Image) => {
            let svg = linked.take()?;
            Some(Event::InlineHtml(CowStr::Borrowed(svg)))
        }
        // The title is in the drawing.
        Event::Text(_) if linked.is_some() => None,
        event => Some(event),
    });
    let mut page = HEAD.to_owned();
    html::push_html(&mut page, events);
    page
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{Run, write};
    use crate::cells;
    use crate::report::Section;
    use crate::report::plot::{Axis, Plot};
    use crate::report::table::Table;

    #[test]
    fn all_files_say_the_same() {
        let mut table = Table::new("some_times", &["name", "size", "time_us"]);
        table.push(cells!["fast", 1_usize, 1234.25]);
        table.push(cells!["slow", 2_usize, None::<f64>]);
        let plot = Plot {
            name: "drawing",
            title: "Seen",
            x: "size",
            y: "us",
            across: Axis::Linear,
            up: Axis::Linear,
            panels: vec![("", table.lines(&["name"], "size", "time_us"))],
        };
        let section = Section {
            title: "Times",
            parts: vec!["What `is` measured.".into(), table.into(), plot.into()],
        };
        let run = Run {
            cpu: "a CPU".into(),
            date: "2026-11-23".into(),
            command: "cargo run".into(),
            rustc: "rustc 1",
            backend: "portable",
            threads: 1,
            load: Some(3.0),
            seed: 7,
        };
        let folder = std::env::temp_dir().join(format!("benches-report-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        write(&folder, &run, &[section]).unwrap();
        let read = |file| fs::read_to_string(folder.join(file)).unwrap();

        let text = read("report.md");
        assert!(text.contains("a CPU, 1 thread, backend portable, 2026-11-23"));
        assert!(text.contains("load was 3.0"));
        assert!(text.contains("|   1,234 |"));
        assert!(text.contains("![Seen](drawing.svg)"));
        assert!(read("some_times.csv").contains("fast,1,1234.25"));
        let lines = read("report.jsonl");
        assert_eq!(lines.lines().count(), 3);
        assert!(lines.contains(r#""time_us":1234.25"#));
        let page = read("report.html");
        assert!(page.contains(&read("drawing.svg")));
        assert!(page.contains("<td>fast</td>"));
        assert!(!page.contains("drawing.svg"));
        fs::remove_dir_all(folder).unwrap();
    }
}
