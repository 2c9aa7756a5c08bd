//! Tables of figures as Markdown.

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Row};
use serde_json::Value;

/// A row of a table: texts, counts, measured figures, and `None` for no figure.
#[macro_export]
macro_rules! cells {
    ($($value:expr),+ $(,)?) => {
        vec![$(serde_json::Value::from($value)),+]
    };
}

/// Three significant digits, and groups of three digits.
fn text(cell: &Value) -> String {
    match cell {
        Value::String(text) => text.clone(),
        other => other.as_f64().map_or_else(String::new, charts::number),
    }
}

/// Rows under named columns.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<&'static str>,
    rows: Vec<Vec<Value>>,
}

impl Table {
    /// An empty table. Words of a column's name are joined by `_`, with the unit last.
    #[must_use]
    pub fn new(columns: &[&'static str]) -> Self {
        Self {
            columns: columns.to_vec(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If the row does not have one cell for each column.
    pub fn push(&mut self, row: Vec<Value>) {
        assert_eq!(row.len(), self.columns.len(), "{row:?}");
        self.rows.push(row);
    }

    /// Markdown with padded columns, for terminals too.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(ASCII_MARKDOWN);
        table.set_header(self.columns.iter().map(|name| name.replace('_', " ")));
        for row in &self.rows {
            table.add_row(Row::from(row.iter().map(text)));
        }
        let numeric = |n: usize| !self.rows.iter().any(|row| row[n].is_string());
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
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn markdown() {
        let mut table = Table::new(&["name", "time_us"]);
        table.push(cells!["a, b", 1234.6]);
        table.push(cells!["c", None::<f64>]);
        assert_eq!(
            table.markdown(),
            "| name | time us |\n|------|--------:|\n| a, b |    1235 |\n| c    |         |\n"
        );
    }
}
