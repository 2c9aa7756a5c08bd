//! Tables of figures, as Markdown and as JSON.

use core::fmt;

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Row};
use serde::Serialize;
use serde_json::{Map, Value};

/// A cell of a table.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Cell {
    /// Text.
    Text(String),
    /// A count.
    Count(u64),
    /// A measured figure.
    Number(f64),
    /// No figure.
    Absent(()),
}

/// Three significant digits, and groups of three digits.
impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Count(count) => f.write_str(&charts::number(*count as f64)),
            Self::Number(number) => f.write_str(&charts::number(*number)),
            Self::Absent(()) => Ok(()),
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<usize> for Cell {
    fn from(count: usize) -> Self {
        Self::Count(count as u64)
    }
}

impl From<u64> for Cell {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

/// Six significant digits, more than a measurement has.
impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        let exponent = number.abs().max(1e-6).log10().floor() as i32;
        let scale = 10_f64.powi(5 - exponent);
        Self::Number((number * scale).round() / scale)
    }
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Absent(()), Into::into)
    }
}

/// A row of a table.
#[macro_export]
macro_rules! cells {
    ($($value:expr),+ $(,)?) => {
        vec![$($crate::report::table::Cell::from($value)),+]
    };
}

/// Rows under named columns.
#[derive(Clone, Debug)]
pub struct Table {
    name: &'static str,
    columns: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// An empty table. Words of a column's name are joined by `_`, with the unit last.
    #[must_use]
    pub fn new(name: &'static str, columns: &[&'static str]) -> Self {
        Self {
            name,
            columns: columns.to_vec(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If the row does not have one cell for each column.
    pub fn push(&mut self, row: Vec<Cell>) {
        assert_eq!(row.len(), self.columns.len(), "{}: {row:?}", self.name);
        self.rows.push(row);
    }

    /// Markdown with padded columns, for terminals too.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut table = comfy_table::Table::new();
        table.load_preset(ASCII_MARKDOWN);
        table.set_header(self.columns.iter().map(|name| name.replace('_', " ")));
        for row in &self.rows {
            table.add_row(Row::from(row));
        }
        let numeric = |n: usize| !self.rows.iter().any(|row| matches!(row[n], Cell::Text(_)));
        for (n, column) in table.column_iter_mut().enumerate() {
            if numeric(n) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        // The preset has no alignment in the ruler.
        let text = table.to_string();
        let (head, rest) = text.split_once('\n').unwrap_or((&text, ""));
        let (ruler, body) = rest.split_once('\n').unwrap_or((rest, ""));
        let ruler = ruler.split('|').skip(1).zip(0..self.columns.len());
        let ruler: Vec<_> = ruler
            .map(|(dashes, n)| match numeric(n) {
                true => format!("{}:", &dashes[1..]),
                false => dashes.to_owned(),
            })
            .collect();
        format!("{head}\n|{}|\n{body}\n", ruler.join("|"))
    }

    /// A JSON object for each row, which names the table.
    ///
    /// # Errors
    /// If a figure is not a number.
    pub fn json(&self) -> Result<Vec<Value>, serde_json::Error> {
        let object = |row: &Vec<Cell>| {
            let mut object = Map::from_iter([("table".to_owned(), self.name.into())]);
            for (name, cell) in self.columns.iter().zip(row) {
                object.insert((*name).to_owned(), serde_json::to_value(cell)?);
            }
            Ok(Value::Object(object))
        };
        self.rows.iter().map(object).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn markdown_and_json() {
        let mut table = Table::new("t", &["name", "time_us"]);
        table.push(cells!["a, b", 1234.6]);
        table.push(cells!["c", None::<f64>]);
        assert_eq!(
            table.markdown(),
            "| name | time us |\n|------|--------:|\n| a, b |    1235 |\n| c    |         |\n"
        );
        let json = table.json().unwrap();
        assert_eq!(json[0]["time_us"], 1234.6);
        assert!(json[1]["time_us"].is_null());
    }
}
