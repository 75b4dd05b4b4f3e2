//! Documents that no program wrote, through the process that takes them apart.

#[path = "../../src/fuzz.rs"]
mod fuzz;

use std::path::Path;
use std::sync::Arc;

use kb_agent::domain::LineRange;
use kb_agent::kb::{FileText, KnowledgeBase};

use crate::kb::WordEmbedder;
use fuzz::DOCUMENT_TARGETS;

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
    for (name, input) in fuzz::kept_inputs(target) {
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

fn ending(name: &str) -> String {
    name.rsplit('.').next().unwrap_or_default().to_owned()
}

#[test]
fn kept_documents_are_read_or_refused() {
    for target in DOCUMENT_TARGETS.iter().filter(|target| !target.is_packed) {
        read(target.name, ending, <[u8]>::to_vec);
    }
}

#[test]
fn kept_parts_of_archives_are_read_or_refused() {
    for target in DOCUMENT_TARGETS.iter().filter(|target| target.is_packed) {
        for ending in target.endings {
            read(target.name, |_| (*ending).to_owned(), fuzz::packed);
        }
    }
}

#[test]
fn every_folder_of_kept_inputs_is_that_of_a_target() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus");
    let folders = std::fs::read_dir(corpus).unwrap();
    let folders = folders.map(|folder| folder.unwrap().file_name().into_string().unwrap());
    let mut folders: Vec<String> = folders.collect();
    folders.sort_unstable();
    let others = ["events", "reply", "stream", "think"];
    let documents = DOCUMENT_TARGETS.iter().map(|target| target.name);
    let mut targets: Vec<&str> = documents.chain(others).collect();
    targets.sort_unstable();
    assert_eq!(folders, targets);
}

/// Most inputs were kept because they are broken; one of each target is not, so that the fuzzer
/// begins behind the first check.
#[test]
fn of_each_target_one_kept_input_is_read() {
    for target in DOCUMENT_TARGETS {
        let mut kept = fuzz::kept_inputs(target.name).into_iter();
        let is_read = kept.any(|(name, input)| {
            let (ending, bytes) = if target.is_packed {
                (target.endings[0].to_owned(), fuzz::packed(&input))
            } else {
                (ending(&name), input)
            };
            let place = tempfile::tempdir().unwrap();
            let path = place.path().join(format!("a.{ending}"));
            std::fs::write(&path, bytes).unwrap();
            FileText::read(&path, None, None).is_ok()
        });
        assert!(is_read, "{}", target.name);
    }
}
