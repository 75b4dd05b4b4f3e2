//! What lists the formats is made from the one table of them.

use std::path::Path;

use kb_agent::domain::{FILE_FORMATS, FileFormat};

/// The table of formats in the manual.
fn table() -> String {
    let mut table = "| what is read | endings | how it is cited |\n|---|---|---|\n".to_owned();
    for format in FILE_FORMATS.iter().filter(|format| is_listed(format)) {
        let endings = format.endings.iter().map(|end| format!("`{end}`"));
        let endings: Vec<String> = endings.collect();
        table.push_str(&format!(
            "| {} | {} | `{}` |\n",
            format.name,
            endings.join(" "),
            format.citation()
        ));
    }
    table
}

fn is_listed(format: &FileFormat) -> bool {
    format.is_read() && !format.endings.is_empty()
}

#[test]
fn the_manual_lists_every_format() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/own-files.md");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(
        page.contains(&table()),
        "docs/own-files.md needs this table:\n{}",
        table()
    );
}
