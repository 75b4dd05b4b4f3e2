//! Tables, links and paragraphs as Markdown.

use crate::kb::extract::draft::MAX_TEXT_BYTES;

/// The tables that are open while a text is read, each within a cell of the one before it.
#[derive(Default)]
pub(crate) struct Tables(Vec<Vec<Vec<String>>>);

impl Tables {
    pub fn begin(&mut self) {
        self.0.push(Vec::new());
    }

    pub fn row(&mut self) {
        if let Some(table) = self.0.last_mut() {
            table.push(Vec::new());
        }
    }

    pub fn cell(&mut self) {
        if let Some(row) = self.0.last_mut().and_then(|table| table.last_mut()) {
            row.push(String::new());
        }
    }

    /// Says it in the open cell; whether there is one.
    pub fn push_text(&mut self, text: &str) -> bool {
        let row = self.0.last_mut().and_then(|table| table.last_mut());
        let Some(cell) = row.and_then(|row| row.last_mut()) else {
            return false;
        };
        cell.push_str(text);
        cell.push(' ');
        true
    }

    /// Ends the innermost table and gives it as Markdown. One within a cell is said there instead.
    pub fn end(&mut self) -> Option<String> {
        let rows = self.0.pop()?;
        let is_said = rows
            .iter()
            .fold(false, |_, row| self.push_text(&row.join(" ")));
        (!is_said).then(|| table(&rows))
    }
}

/// Rows as a Markdown table; the first row is its header. Every row is as wide as the widest, so
/// few bytes can ask for very many: what is over the limit of a document's text is not written.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let width = rows.iter().map(Vec::len).max().unwrap_or(0);
    let mut text = String::new();
    for (at, row) in rows.iter().enumerate() {
        text.push('|');
        for column in 0..width {
            let cell = row.get(column).map_or("", String::as_str);
            let words: Vec<&str> = cell.split_whitespace().collect();
            text.push(' ');
            text.push_str(&words.join(" ").replace('|', "\\|"));
            text.push_str(" |");
        }
        text.push('\n');
        if at == 0 {
            text.push('|');
            text.push_str(&" --- |".repeat(width));
            text.push('\n');
        }
        if text.len() > MAX_TEXT_BYTES {
            break;
        }
    }
    text
}

/// Text that leads somewhere.
pub(crate) fn link(text: &str, target: Option<&str>) -> String {
    match target {
        Some(target)
            if !text.trim().is_empty() && !target.is_empty() && !target.starts_with('#') =>
        {
            let target = target
                .replace(' ', "%20")
                .replace('(', "%28")
                .replace(')', "%29");
            format!("[{}]({target})", text.trim())
        }
        _ => text.to_owned(),
    }
}

/// A paragraph as one block of Markdown that is no heading by accident and holds no tags: `<name>` is text.
pub(crate) fn escaped(paragraph: &str) -> String {
    let mut escaped = String::with_capacity(paragraph.len());
    if paragraph.starts_with('#') {
        escaped.push('\\');
    }
    let mut characters = paragraph.chars().peekable();
    while let Some(c) = characters.next() {
        let next = characters.peek();
        if c == '<' && next.is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'))
        {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_within_a_cell_is_said_within_that_cell() {
        let mut tables = Tables::default();
        assert!(!tables.push_text("before any table"));
        for outer in ["Gate", "Door"] {
            if outer == "Gate" {
                tables.begin();
            }
            tables.row();
            tables.cell();
            assert!(tables.push_text(outer));
        }
        tables.begin();
        for inner in ["opens", "closes"] {
            tables.row();
            tables.cell();
            assert!(tables.push_text(inner));
        }
        assert_eq!(tables.end(), None);
        let table = tables.end().unwrap();
        assert_eq!(table, "| Gate |\n| --- |\n| Door opens closes |\n");
        assert_eq!(tables.end(), None);
    }

    #[test]
    fn a_table_as_wide_as_it_is_long_ends_at_the_limit() {
        let mut rows = vec![Vec::new(); 100_000];
        rows.push(vec![String::new(); 100_000]);
        let text = table(&rows);
        assert!(text.len() > MAX_TEXT_BYTES && text.len() < MAX_TEXT_BYTES * 2);
    }
}
