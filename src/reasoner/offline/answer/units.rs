//! The units of a passage as answers are made of them.

use super::super::evidence;

pub(super) use super::super::evidence::UnitKind as Kind;

/// A piece of a passage that can stand in an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unit {
    /// As it is quoted; of a row, the gist by which it is found.
    pub(super) text: String,
    pub(super) kind: Kind,
    /// The nearest heading above, without its mark; empty when there is none in the passage.
    pub(super) heading: String,
    /// All headings that it is the first unit below, from the outermost on.
    pub(super) opens: Vec<String>,
    /// Units of one list, table or paragraph share a block; blocks count upwards.
    pub(super) block: usize,
    /// Of a row, its cells.
    pub(super) row: Option<Row>,
    /// Of an item in a numbered list, its number.
    pub(super) number: Option<usize>,
}

impl Unit {
    /// All that it says, with the columns of a row.
    pub(super) fn words(&self) -> String {
        self.row.as_ref().map_or(self.text.clone(), Row::told)
    }

    /// The same below its heading, without which "Every second Monday" is about nothing.
    pub(super) fn in_context(&self) -> String {
        if self.heading.is_empty() {
            self.words()
        } else {
            format!("{}: {}", self.heading, self.words())
        }
    }
}

/// A table row as it is written in its document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Row {
    /// The table's head; empty when the passage begins below it.
    pub(super) columns: Vec<String>,
    pub(super) cells: Vec<String>,
}

impl Row {
    /// "z: zoom", the first column as what the others speak of; "Bo: 12; town: Oslo".
    fn briefly(&self) -> String {
        let mut text = self.cells.first().cloned().unwrap_or_default();
        let others = self.cells.iter().enumerate().skip(1);
        for (at, cell) in others.filter(|(_, cell)| !cell.is_empty()) {
            text.push_str(if at == 1 { ": " } else { "; " });
            let named = at > 1 || self.columns.first().is_some_and(String::is_empty);
            if let Some(column) = self.columns.get(at).filter(|_| named) {
                text.push_str(column);
                text.push_str(": ");
            }
            text.push_str(cell);
        }
        text
    }

    /// "key: z; does: zoom", so that a row is understood without its table.
    pub(super) fn told(&self) -> String {
        let cells = self.cells.iter().enumerate();
        let cells = cells.filter(|(_, cell)| !cell.is_empty());
        let told: Vec<String> = cells
            .map(|(at, cell)| match self.columns.get(at) {
                Some(column) if !column.is_empty() => format!("{column}: {cell}"),
                _ => cell.clone(),
            })
            .collect();
        told.join("; ")
    }
}

/// The units of a passage as it was read, in order.
pub(super) fn units(passage: &evidence::Passage) -> Vec<Unit> {
    let mut heading = "";
    let units = passage.units.iter().enumerate().map(|(at, unit)| {
        let opens = at == 0 || unit.heading != heading;
        heading = &unit.heading;
        let row = unit
            .row
            .clone()
            .map(|(columns, cells)| Row { columns, cells });
        Unit {
            text: row.as_ref().map_or_else(|| unit.text.clone(), Row::briefly),
            kind: unit.kind,
            heading: unit.heading.clone(),
            opens: opens.then(|| unit.heading.clone()).into_iter().collect(),
            block: unit.block,
            row,
            number: unit.number,
        }
    });
    units.collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::domain::{Evidence, EvidenceId, LineRange, Measured, Score, ToolName};

    /// The units of a file's text.
    pub(in super::super) fn units_of(source: &str, text: &str) -> Vec<Unit> {
        units(&evidence::Passage::read(&Evidence {
            id: EvidenceId("e1".to_owned()),
            source: source.to_owned(),
            lines: LineRange { start: 1, end: 9 },
            place: None,
            tool: ToolName::HybridSearch,
            score: Score::ZERO,
            measured: Measured::default(),
            text: text.to_owned(),
            low: false,
        }))
    }

    #[test]
    fn a_row_is_found_by_its_gist_and_told_with_its_columns() {
        let units = units_of(
            "a.md",
            "# Keys\n\n| key | does |\n| --- | --- |\n| z | zoom |\n",
        );
        assert_eq!(units[0].text, "z: zoom");
        assert_eq!(units[0].words(), "key: z; does: zoom");
        assert_eq!(units[0].opens, ["Keys"]);
    }
}
