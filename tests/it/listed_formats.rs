//! What lists the formats is made from the one table of them.

use std::path::Path;

use kb_agent::domain::{FILE_FORMATS, FileFormat};

/// The README's table of formats.
fn table() -> String {
    let mut table = "| what is read | endings | how it is cited |\n|---|---|---|\n".to_owned();
    for format in FILE_FORMATS.iter().filter(|format| is_listed(format)) {
        let endings: Vec<String> = format
            .endings
            .iter()
            .map(|end| format!("`{end}`"))
            .collect();
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
fn the_readme_lists_every_format() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    assert!(
        readme.contains(&table()),
        "the README needs this table:\n{}",
        table()
    );
}
