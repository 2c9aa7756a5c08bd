//! What `report` measures and writes: a section is text, tables and drawings; each
//! table is written as Markdown, CSV and JSON lines, and drawings show tables.

pub mod batches;
pub mod libraries;
pub mod memory;
pub mod plot;
pub mod render;
pub mod schemes;
pub mod table;

use core::error::Error;
use core::time::Duration;
use std::sync::Arc;

use plot::Plot;
use rayon::ThreadPool;
use table::Table;

/// What a section may take.
#[derive(Clone, Debug)]
pub struct Effort {
    /// A fraction of everything.
    pub quick: bool,
    /// The seed of the inputs.
    pub seed: u64,
    /// Pools of one thread, two, four and so on, up to all of this machine; made before
    /// the measuring thread was pinned.
    pub pools: Vec<Arc<ThreadPool>>,
}

impl Effort {
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
}

/// A part of the report.
#[derive(Debug)]
pub struct Section {
    /// Its heading.
    pub title: &'static str,
    /// What it consists of, in order.
    pub parts: Vec<Part>,
}

/// A part of a section.
#[derive(Debug)]
pub enum Part {
    /// A paragraph of Markdown.
    Text(String),
    /// A table.
    Table(Table),
    /// A drawing of the table before it.
    Plot(Plot),
}

impl From<&str> for Part {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Part {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Table> for Part {
    fn from(table: Table) -> Self {
        Self::Table(table)
    }
}

impl From<Plot> for Part {
    fn from(plot: Plot) -> Self {
        Self::Plot(plot)
    }
}

/// What measures a section.
pub type Measure = fn(&Effort) -> Result<Section, Box<dyn Error>>;
