//! The rows of a sheet, which the knowledge base writes as "item: hose; price: 39.90", a row a line.

use super::units::{Unit, UnitKind, told};

/// Endings of files that are rows under one head.
const SHEETS: &[&str] = &["csv", "tsv", "tab", "xlsx", "xlsm", "xls", "ods"];

/// The rows below the head; `None` of anything but a sheet. A line that is no row of named cells, such
/// as a sheet's name, is left out.
pub(super) fn units(ending: &str, text: &str) -> Option<Vec<Unit>> {
    SHEETS.contains(&ending).then_some(())?;
    let rows = text.lines().filter_map(row);
    let units: Vec<Unit> = rows
        .map(|(columns, cells)| {
            let mut unit = Unit::new(told(&columns, &cells), UnitKind::Row, "", 0);
            unit.row = Some((columns, cells));
            unit
        })
        .collect();
    (!units.is_empty()).then_some(units)
}

fn row(line: &str) -> Option<(Vec<String>, Vec<String>)> {
    let (mut columns, mut cells) = (Vec::new(), Vec::<String>::new());
    for part in line.trim().split("; ") {
        match (part.split_once(": "), cells.last_mut()) {
            (Some((column, cell)), _) => {
                columns.push(column.trim().to_owned());
                cells.push(cell.trim().to_owned());
            }
            // A cell may hold what parts cells.
            (None, Some(cell)) => {
                cell.push_str("; ");
                cell.push_str(part);
            }
            (None, None) => return None,
        }
    }
    Some((columns, cells))
}
