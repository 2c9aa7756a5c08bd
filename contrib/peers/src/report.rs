//! Sections of the report: text, tables and charts, written as Markdown, JSON lines and SVG.

pub mod libraries;
pub mod memory;
pub mod table;

use core::error::Error;
use core::fmt::Write as _;
use core::time::Duration;
use std::fs;
use std::path::Path;

use charts::Frame;
use serde_json::json;
use table::Table;

/// Circumstances of a run.
#[derive(Debug)]
pub struct Run {
    /// Name of the CPU.
    pub cpu: String,
    /// Date, UTC.
    pub date: String,
    /// Command line.
    pub command: String,
    /// Compiler.
    pub rustc: &'static str,
    /// Detected backend of `mldsa-core`.
    pub backend: &'static str,
    /// Number of hardware threads.
    pub threads: usize,
    /// Mean number of runnable processes during the minute before the run, where it is known.
    pub load: Option<f64>,
    /// Fewer samples.
    pub quick: bool,
    /// Seed of the inputs.
    pub seed: u64,
}

impl Run {
    /// Time for one figure.
    #[must_use]
    pub fn time(&self, full: Duration) -> Duration {
        if self.quick { full / 10 } else { full }
    }

    /// One of two amounts.
    #[must_use]
    pub fn choose<T>(&self, quick: T, full: T) -> T {
        if self.quick { quick } else { full }
    }

    /// Title and caption of a chart.
    #[must_use]
    pub fn frame<'a>(&'a self, title: &'a str, caption: &'a mut String) -> Frame<'a> {
        *caption = format!("{}, {}, {}", self.cpu, self.date, self.rustc);
        let caption = [caption.as_str(), &self.command];
        Frame { title, caption }
    }

    /// The circumstances as a paragraph.
    #[must_use]
    pub fn markdown(&self) -> String {
        let load = self.load.map_or_else(String::new, |load| {
            format!(" Load of the machine at the start: {load:.1}.")
        });
        format!(
            "{}, {} hardware threads, backend {}, {}, {}, release profile, inputs of seed {}: \
             `{}`.{load}",
            self.cpu, self.threads, self.backend, self.date, self.rustc, self.seed, self.command,
        )
    }

    /// Writes `report.md`, `report.jsonl` and one SVG file for each chart into `folder`.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&self, folder: &Path, sections: &[Section]) -> Result<(), Box<dyn Error>> {
        let mut text = format!("# Report\n\n{}\n", self.markdown());
        let run = json!({
            "table": "run",
            "cpu": self.cpu,
            "date": self.date,
            "command": self.command,
            "rustc": self.rustc,
            "backend": self.backend,
            "threads": self.threads,
            "load": self.load,
            "seed": self.seed,
        });
        let mut lines = format!("{run}\n");
        for section in sections {
            write!(text, "\n## {}\n", section.title)?;
            for part in &section.parts {
                match part {
                    Part::Text(paragraph) => write!(text, "\n{paragraph}\n")?,
                    Part::Table(table) => {
                        write!(text, "\n{}", table.markdown())?;
                        for line in table.json() {
                            writeln!(lines, "{line}")?;
                        }
                    }
                    Part::Chart { name, svg } => {
                        write!(text, "\n![{name}]({name}.svg)\n")?;
                        fs::write(folder.join(format!("{name}.svg")), svg)?;
                    }
                }
            }
        }
        fs::write(folder.join("report.jsonl"), lines)?;
        fs::write(folder.join("report.md"), text)?;
        Ok(())
    }
}

/// A section of the report.
#[derive(Debug)]
pub struct Section {
    /// Heading.
    pub title: &'static str,
    /// Contents in order.
    pub parts: Vec<Part>,
}

/// A part of a section.
#[derive(Debug)]
pub enum Part {
    /// A paragraph of Markdown.
    Text(String),
    /// A table.
    Table(Table),
    /// A chart.
    Chart {
        /// Name of the file, without `.svg`.
        name: &'static str,
        /// Contents of the file.
        svg: String,
    },
}

impl From<&str> for Part {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<Table> for Part {
    fn from(table: Table) -> Self {
        Self::Table(table)
    }
}

/// Function that measures a section.
pub type Measure = fn(&Run) -> Result<Section, Box<dyn Error>>;

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{Part, Run, Section, Table};
    use crate::cells;

    #[test]
    fn every_file_has_the_same_figures() {
        let mut table = Table::new("some_times", &["name", "size", "time_us"]);
        table.push(cells!["fast", 1_usize, 12345.25]);
        table.push(cells!["slow", 2_usize, None::<f64>]);
        let chart = Part::Chart {
            name: "drawing",
            svg: "<svg/>".into(),
        };
        let section = Section {
            title: "Times",
            parts: vec!["`text`".into(), table.into(), chart],
        };
        let run = Run {
            cpu: "a CPU".into(),
            date: "2026-11-24".into(),
            command: "cargo run".into(),
            rustc: "rustc 1",
            backend: "portable",
            threads: 1,
            load: Some(3.0),
            quick: true,
            seed: 7,
        };
        let folder = std::env::temp_dir().join(format!("benches-report-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        run.write(&folder, &[section]).unwrap();
        let read = |file| fs::read_to_string(folder.join(file)).unwrap();
        let text = read("report.md");
        for part in [
            "a CPU, 1 hardware",
            "start: 3.0",
            "|  12,345 |",
            "![drawing](drawing.svg)",
        ] {
            assert!(text.contains(part), "{part}");
        }
        let lines = read("report.jsonl");
        assert_eq!(lines.lines().count(), 3);
        assert!(lines.contains(r#""time_us":12345.3"#));
        assert_eq!(read("drawing.svg"), "<svg/>");
        fs::remove_dir_all(folder).unwrap();
    }
}
