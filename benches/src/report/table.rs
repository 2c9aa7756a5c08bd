//! Tables of figures with their names, and the forms they are read in.

use core::fmt;
use std::collections::BTreeMap;

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Row};
use serde::Serialize;
use serde_json::{Map, Value};

/// What a table holds in one place.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Cell {
    /// A name.
    Text(String),
    /// Something counted.
    Count(u64),
    /// Something measured.
    Number(f64),
    /// Not known, or without meaning here.
    Absent(()),
}

/// Three significant digits, thousands apart.
impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Count(count) => f.write_str(&thousands(*count)),
            Self::Number(0.0) => f.write_str("0"),
            Self::Number(number) if number.abs() >= 99.95 => {
                f.write_str(&thousands(number.round() as u64))
            }
            Self::Number(number) => {
                // An exponent of -2 wants four digits behind the point.
                write!(
                    f,
                    "{number:.*}",
                    (2 - exponent(*number)).clamp(1, 5) as usize
                )
            }
            Self::Absent(()) => Ok(()),
        }
    }
}

/// Digits in groups of three.
pub(super) fn thousands(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
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

/// Six significant digits: more than any measurement has.
impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        let scale = 10_f64.powi(5 - exponent(number));
        Self::Number((number * scale).round() / scale)
    }
}

/// The power of ten of the first digit.
fn exponent(number: f64) -> i32 {
    number.abs().max(1e-6).log10().floor() as i32
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Absent(()), Into::into)
    }
}

/// A row from values of any kinds.
#[macro_export]
macro_rules! cells {
    ($($value:expr),+ $(,)?) => {
        vec![$($crate::report::table::Cell::from($value)),+]
    };
}

/// Lines of a drawing, by legend.
pub type Lines = BTreeMap<String, Vec<(f64, f64)>>;

/// Rows under named columns.
#[derive(Clone, Debug)]
pub struct Table {
    /// The name of its file.
    pub name: &'static str,
    /// Whether it is shown in the terminal too.
    pub main: bool,
    columns: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// An empty table. Columns are named as in the data: words joined by `_`, the unit last.
    #[must_use]
    pub fn new(name: &'static str, columns: &[&'static str]) -> Self {
        Self {
            name,
            main: true,
            columns: columns.to_vec(),
            rows: Vec::new(),
        }
    }

    /// The same, for files only.
    #[must_use]
    pub fn detail(self) -> Self {
        Self {
            main: false,
            ..self
        }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If it has not one cell for each column.
    pub fn push(&mut self, row: Vec<Cell>) {
        assert_eq!(row.len(), self.columns.len(), "{}: {row:?}", self.name);
        self.rows.push(row);
    }

    fn column(&self, name: &str) -> usize {
        let place = self.columns.iter().position(|column| *column == name);
        place.unwrap_or_else(|| panic!("no column {name} in {}", self.name))
    }

    /// Points of two columns, those with the same text in `by` on one line. Rows without
    /// a figure are left out.
    ///
    /// # Panics
    /// If a column has another name.
    #[must_use]
    pub fn lines(&self, by: &[&str], x: &str, y: &str) -> Lines {
        let by: Vec<_> = by.iter().map(|name| self.column(name)).collect();
        let (x, y) = (self.column(x), self.column(y));
        let mut lines = Lines::new();
        for row in &self.rows {
            let legend: Vec<_> = by.iter().map(|&n| row[n].to_string()).collect();
            if let (Some(x), Some(y)) = (row[x].figure(), row[y].figure()) {
                lines.entry(legend.join(", ")).or_default().push((x, y));
            }
        }
        lines
    }

    /// Points of several columns, a line for each under its name without the unit.
    ///
    /// # Panics
    /// If a column has another name.
    #[must_use]
    pub fn columns(&self, x: &str, columns: &[&str]) -> Lines {
        let line = |column: &&str| {
            let words: Vec<_> = column.split('_').collect();
            let legend = words[..words.len() - 1].join(" ");
            let points = self.lines(&[], x, column).into_values();
            (legend, points.flatten().collect())
        };
        columns.iter().map(line).collect()
    }

    /// A Markdown table, padded, so that it reads well in a terminal too.
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
        // The preset does not say in the ruler which columns are flush right.
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

    /// The columns' names and the rows.
    ///
    /// # Errors
    /// If a row cannot be written.
    pub fn csv(&self) -> Result<String, Box<dyn core::error::Error>> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(&self.columns)?;
        for row in &self.rows {
            writer.serialize(row)?;
        }
        Ok(String::from_utf8(writer.into_inner()?)?)
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

impl Cell {
    fn figure(&self) -> Option<f64> {
        match self {
            Self::Count(count) => Some(*count as f64),
            Self::Number(number) => Some(*number),
            Self::Text(_) | Self::Absent(()) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cell, Table};

    #[test]
    fn three_digits() {
        let shown = |number: f64| Cell::from(number).to_string();
        assert_eq!(shown(123_456.7), "123,457");
        assert_eq!(shown(99.96), "100");
        assert_eq!(shown(12.34), "12.3");
        assert_eq!(shown(1.0), "1.00");
        assert_eq!(shown(0.0421), "0.0421");
        assert_eq!(shown(0.0), "0");
        assert_eq!(Cell::from(1000_usize).to_string(), "1,000");
    }

    #[test]
    fn every_form() {
        let mut table = Table::new("t", &["name", "time_us"]);
        table.push(cells!["a, b", 1234.5]);
        table.push(cells!["c", None::<f64>]);
        assert_eq!(
            table.markdown(),
            "| name | time us |\n|------|--------:|\n| a, b |   1,235 |\n| c    |         |\n"
        );
        assert_eq!(table.csv().unwrap(), "name,time_us\n\"a, b\",1234.5\nc,\n");
        let json = table.json().unwrap();
        assert_eq!(json[0]["time_us"], 1234.5);
        assert!(json[1]["time_us"].is_null());
        assert_eq!(table.lines(&["name"], "time_us", "time_us").len(), 1);
    }
}
