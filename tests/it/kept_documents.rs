//! Documents that no program wrote, through the process that takes them apart.

#[path = "../../src/fuzz.rs"]
mod fuzz;

use std::path::Path;
use std::sync::Arc;

use kb_agent::domain::LineRange;
use kb_agent::kb::KnowledgeBase;

use crate::kb::WordEmbedder;

/// Whatever the bytes are, there is a text that can be cited or a reason; and what takes them
/// apart gives one or the other instead of breaking off.
fn read(target: &str, ending_of: impl Fn(&str) -> String, bytes_of: impl Fn(&[u8]) -> Vec<u8>) {
    let place = tempfile::tempdir().unwrap();
    let docs = place.path().join("docs");
    std::fs::create_dir(&docs).unwrap();
    let home = place.path().join("index");
    let words = Arc::new(WordEmbedder::default());
    let base = KnowledgeBase::open(std::slice::from_ref(&docs), &home, words).unwrap();
    let base = base.reading_by(Some(Path::new(env!("CARGO_BIN_EXE_kb-agent"))));
    for (name, input) in fuzz::kept(target) {
        let document = format!("a.{}", ending_of(&name));
        std::fs::write(docs.join(&document), bytes_of(&input)).unwrap();
        let resolved = base.resolve(&document).unwrap();
        match base.read(&resolved) {
            Ok(document) => {
                let lines = document.text.lines().count();
                assert!(document.places.iter().all(|mark| mark.line <= lines + 1));
                for line in 1..=lines.min(1000) {
                    let (start, end) = (line, line + 3);
                    let _ = document.place(LineRange { start, end });
                }
            }
            Err(error) => {
                let error = error.to_string();
                assert!(
                    !error.contains("broke off") && !error.contains("was ended"),
                    "{target}/{name}: {error}"
                );
            }
        }
    }
}

#[test]
fn kept_documents_are_read_or_refused() {
    for target in [
        "pdf", "xls", "html", "mail", "notebook", "json", "table", "text", "archive",
    ] {
        let ending = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
        read(target, ending, <[u8]>::to_vec);
    }
}

#[test]
fn kept_parts_of_archives_are_read_or_refused() {
    for (target, endings) in [
        ("docx", &["docx"][..]),
        ("pptx", &["pptx"]),
        ("xlsx", &["xlsx"]),
        ("odf", &["odt", "ods", "odp"]),
        ("epub", &["epub"]),
    ] {
        for ending in endings {
            read(target, |_| (*ending).to_owned(), fuzz::packed);
        }
    }
}
