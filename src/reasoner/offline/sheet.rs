//! The rows of a sheet, which the knowledge base writes as "item: hose; price: 39.90", a row a line.

use super::sentences::Row;

/// Endings of files that are rows under one head.
const SHEETS: &[&str] = &["csv", "tsv", "tab", "xlsx", "xlsm", "xls", "ods"];

/// The rows below the head, each with its columns; `None` of anything but a sheet. A line that is
/// no row of named cells, such as a sheet's name, is left out.
pub(super) fn rows(source: &str, text: &str) -> Option<Vec<Row>> {
    let (_, ending) = source.rsplit_once('.')?;
    let ending = ending.to_ascii_lowercase();
    SHEETS.contains(&ending.as_str()).then_some(())?;
    let rows: Vec<Row> = text.lines().filter_map(row).collect();
    (!rows.is_empty()).then_some(rows)
}

fn row(line: &str) -> Option<Row> {
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
    Some(Row { columns, cells })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sheet_is_read_row_by_row() {
        let text = "item; shop; price\nitem: seeds; shop: Green; Mart; price: 12.50\n\
                    item: hose; price: 39.90\n";
        let rows = rows("a/Costs.CSV", text).unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].columns, ["item", "shop", "price"]);
        assert_eq!(rows[0].cells, ["seeds", "Green; Mart", "12.50"]);
        assert_eq!(rows[1].cells, ["hose", "39.90"]);
        assert!(super::rows("notes.md", text).is_none());
        assert!(super::rows("empty.csv", "item; shop\n").is_none());
    }
}
