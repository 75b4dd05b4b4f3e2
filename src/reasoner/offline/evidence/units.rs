//! Pieces of a passage that can stand in an answer.

/// What a unit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum UnitKind {
    Sentence,
    Item,
    Row,
    Code,
}

/// A piece of a passage that can stand in an answer.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct Unit {
    /// As it is quoted: markup that means nothing outside its document reduced to its text; of a row
    /// "column: cell; column: cell"; code with its lines.
    pub(in super::super) text: String,
    pub(in super::super) kind: UnitKind,
    /// The nearest heading above, without its mark; empty where there is none.
    pub(in super::super) heading: String,
    /// Units of one paragraph, list or table share a block; blocks count upwards.
    pub(in super::super) block: usize,
    /// Of a row, the heads of the table's columns (empty below a cut) and its cells.
    pub(in super::super) row: Option<(Vec<String>, Vec<String>)>,
    /// Of an item in a numbered list, its number.
    pub(in super::super) number: Option<usize>,
}

impl Unit {
    pub(super) fn new(text: String, kind: UnitKind, heading: &str, block: usize) -> Self {
        Self {
            text,
            kind,
            heading: heading.to_owned(),
            block,
            row: None,
            number: None,
        }
    }
}

/// "column: cell; column: cell", so that a row is understood without its table.
pub(super) fn told(columns: &[String], cells: &[String]) -> String {
    let told = cells
        .iter()
        .enumerate()
        .filter(|(_, cell)| !cell.is_empty());
    let told = told.map(|(at, cell)| match columns.get(at) {
        Some(column) if !column.is_empty() => format!("{column}: {cell}"),
        _ => cell.clone(),
    });
    told.collect::<Vec<_>>().join("; ")
}
