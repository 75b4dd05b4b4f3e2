//! Files of the index that are missing, cut off or changed: named, never searched past, and mended.

use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use kb_agent::kb::{KbError, KnowledgeBase, SearchMode};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::kb::{Bench, files_below, update};
use crate::support::Said;
use crate::workplace::{Workplace, json_lines, text};

/// The files below a folder with this ending.
fn ending(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let files = files_below(folder).into_iter().map(|(path, _)| path);
    let wanted = |path: &PathBuf| path.extension().is_some_and(|end| end == ending);
    files.filter(wanted).collect()
}

/// A note that no compression makes short.
fn note(n: u64) -> String {
    let mut state = n + 1;
    let words: Vec<String> = (0..400)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            format!("{:x}", state >> 20)
        })
        .collect();
    format!("# Note {n}\n\ncommon number{n}\n\n{}\n", words.join(" "))
}

#[test]
fn trust_index_files_cut_to_nothing_under_a_search_are_an_error_and_no_signal() {
    let bench = Bench::new(&[]);
    for n in 0..120 {
        bench.write(&format!("{n}.md"), note(n));
    }
    let base = bench.indexed();
    let home = bench.home.path();
    for mode in [SearchMode::Lexical, SearchMode::Vector, SearchMode::Hybrid] {
        assert!(!base.search(mode, "common number7", 5).unwrap().is_empty());
    }
    let mut cut = 0;
    for ending_of in [
        "rows",
        "keys",
        "idx",
        "store",
        "term",
        "fast",
        "fieldnorm",
        "pos",
    ] {
        for path in ending(home, ending_of) {
            OpenOptions::new()
                .write(true)
                .truncate(true)
                .open(path)
                .unwrap();
            cut += 1;
        }
    }
    assert!(cut >= 8);
    // What was read before may still be known; nothing else is made up.
    let mut damaged = 0;
    for n in 0..120 {
        for mode in [SearchMode::Lexical, SearchMode::Vector, SearchMode::Hybrid] {
            match base.search(mode, &format!("number{n}"), 5) {
                Ok(hits) => assert!(!hits.is_empty()),
                Err(KbError::Damaged(why)) => {
                    assert!(why.contains(".idx") || why.contains(".store"), "{why}");
                    damaged += 1;
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
    assert!(damaged > 0, "the long files cannot be read any more");
    // The next update makes it anew.
    update(&base);
    let hits = base.search(SearchMode::Hybrid, "number119", 1).unwrap();
    assert_eq!(hits[0].source, "119.md");
    assert_eq!(base.status().pending, 0);
    let hits = base
        .search(SearchMode::Vector, "common number119", 1)
        .unwrap();
    assert_eq!(hits.len(), 1);
}

#[test]
fn trust_vectors_that_were_not_read_yet_and_are_cut_off_are_an_error_that_names_them() {
    let bench = Bench::new(&[("a.md", "# A\n\nalpha text\n")]);
    drop(bench.indexed());
    let base = bench.open();
    let rows = ending(bench.home.path(), "rows").remove(0);
    OpenOptions::new()
        .write(true)
        .truncate(true)
        .open(&rows)
        .unwrap();
    let error = base.search(SearchMode::Vector, "alpha", 1).unwrap_err();
    assert!(
        error.to_string().contains(rows.to_str().unwrap()),
        "{error}"
    );
    assert_eq!(update(&base).embedded, 1);
    assert_eq!(
        base.search(SearchMode::Vector, "alpha", 1).unwrap().len(),
        1
    );
}

#[test]
fn trust_a_file_of_the_words_that_is_missing_is_reported_and_made_anew() {
    for missing in ["pos", "idx", "term", "store", "fast", "fieldnorm"] {
        let bench = Bench::new(&[("a.md", "# A\n\nalpha text\n"), ("b.md", "# B\n\nbeta\n")]);
        let base = bench.indexed();
        let path = ending(bench.home.path(), missing).remove(0);
        fs::remove_file(&path).unwrap();
        // With the index open …
        update(&base);
        assert!(path.parent().unwrap().exists());
        let hits = base.search(SearchMode::Lexical, "alpha", 1).unwrap();
        assert_eq!(hits[0].source, "a.md", "{missing}");
        drop(base);
        // … and by who opens it.
        let path = ending(bench.home.path(), missing).remove(0);
        fs::remove_file(&path).unwrap();
        let base = bench.open();
        update(&base);
        let hits = base.search(SearchMode::Lexical, "beta", 1).unwrap();
        assert_eq!(hits[0].source, "b.md", "{missing}");
        assert_eq!(base.status().pending, 0, "its vectors were kept");
    }
}

/// The file in which tantivy keeps its commit.
fn meta(folder: &Path) -> PathBuf {
    let mut files = ending(folder, "json").into_iter();
    let is_meta = |path: &PathBuf| path.file_name().is_some_and(|name| name == "meta.json");
    files.find(is_meta).unwrap()
}

/// Makes the record of the last commit one that nobody can read, in a file that tantivy still reads.
fn spoil_commit(folder: &Path) {
    let meta = meta(folder);
    let text = fs::read_to_string(&meta).unwrap();
    let spoilt = text.replace("generation", "generatiom");
    assert_ne!(text, spoilt);
    fs::write(&meta, spoilt).unwrap();
}

fn two_notes() -> Bench {
    Bench::new(&[("a.md", "# A\n\nalpha text\n"), ("b.md", "# B\n\nbeta\n")])
}

/// Finds each of two notes by a word of its own.
fn assert_finds_both(base: &KnowledgeBase, when: &str) {
    for (word, source) in [("alpha", "a.md"), ("beta", "b.md")] {
        let hits = base.search(SearchMode::Lexical, word, 5).unwrap();
        assert_eq!(hits.len(), 1, "{when}");
        assert_eq!(hits[0].source, source, "{when}");
        assert!(hits[0].text.contains(word), "{when}");
    }
    assert_eq!(base.status().documents, 2, "{when}");
    assert_eq!(base.status().pending, 0, "{when}: vectors are kept");
}

#[test]
fn trust_a_commit_that_cannot_be_read_is_damage_and_not_an_index_yet_to_come() {
    let bench = two_notes();
    let base = bench.indexed();
    spoil_commit(bench.home.path());
    update(&base);
    assert_finds_both(&base, "with the index open");
    drop(base);
    spoil_commit(bench.home.path());
    let base = bench.open();
    bench.write("b.md", "# B\n\nbeta and more\n");
    update(&base);
    assert_finds_both(&base, "by who opens it");

    let place = indexed();
    spoil_commit(&index_of(&place));
    let check = doctor(&place, "contents");
    assert_eq!(check["status"], "broken", "{check}");
    let line = check["detail"].as_str().unwrap();
    assert!(line.contains("its commit is unreadable"), "{line}");
}

#[test]
fn trust_a_broken_list_of_files_is_mended_by_the_process_that_has_the_index_open() {
    let bench = two_notes();
    let base = bench.indexed();
    let break_it = |how: &str| match how {
        "missing" => fs::remove_file(meta(bench.home.path())).unwrap(),
        text => fs::write(meta(bench.home.path()), text).unwrap(),
    };
    for how in ["missing", "", "{", "[1, 2]"] {
        break_it(how);
        assert!(matches!(base.refresh(), Err(KbError::Damaged(_))), "{how}");
        update(&base);
        assert_finds_both(&base, how);
        assert_finds_both(&bench.open(), how);
        bench.write("b.md", format!("# B\n\nbeta {} more\n", how.len()));
        update(&base);
        assert_finds_both(&base, how);
    }
    break_it("{");
    base.rebuild(&|_| {}, &CancellationToken::new()).unwrap();
    assert_finds_both(&base, "a rebuild");
}

#[test]
fn trust_words_that_lack_a_passage_are_damaged_and_made_anew() {
    let bench = Bench::new(&[("a.md", "# A\n\nalpha text\n")]);
    let base = bench.indexed();
    bench.write("b.md", "# B\n\nbeta\n");
    update(&base);
    drop(base);
    let path = meta(bench.home.path());
    let mut meta: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let segments = meta["segments"].as_array_mut().unwrap();
    assert!(segments.len() > 1, "a commit leaves a segment");
    segments.pop();
    fs::write(&path, meta.to_string()).unwrap();
    let base = bench.open();
    assert_eq!(base.status().documents, 0, "it is made anew");
    update(&base);
    assert_finds_both(&base, "a segment is gone");
}

fn indexed() -> Workplace {
    let place = Workplace::holding([
        ("kb/gate.md", "# Gate\n\nThe gate opens at seven.\n"),
        ("kb/door.md", "# Door\n\nThe door has a rusty hinge.\n"),
    ]);
    place.index();
    place
}

fn index_of(place: &Workplace) -> PathBuf {
    place.data().join("index")
}

/// What doctor says of the index, by the name of the check.
fn doctor(place: &Workplace, name: &str) -> Value {
    let output = place.run(&["doctor", "--json", "--kb", "kb"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let checks = report["checks"].as_array().unwrap();
    let found = checks
        .iter()
        .find(|check| check["area"] == "index" && check["name"] == name);
    found.cloned().unwrap_or(Value::Null)
}

#[test]
fn trust_missing_vectors_are_reported_by_doctor_and_mended_by_what_it_advises() {
    for (command, ending_of) in [
        (vec!["index", "--kb", "kb"], "rows"),
        (vec!["index", "--rebuild", "--kb", "kb"], "rows"),
        (vec!["index", "--kb", "kb"], "keys"),
        (vec!["ask", "--kb", "kb", "what is rusty?"], "rows"),
    ] {
        let place = indexed();
        let path = ending(&index_of(&place), ending_of).remove(0);
        fs::remove_file(&path).unwrap();
        if ending_of == "rows" {
            let check = doctor(&place, "meaning");
            assert_eq!(check["status"], "broken", "{check}");
            assert!(
                check["detail"].as_str().unwrap().contains("is missing"),
                "{check}"
            );
        }
        let output = place.run(&command);
        assert!(
            output.status.success(),
            "{command:?}: {}",
            text(&output.stderr)
        );
        place.index();
        assert_eq!(doctor(&place, "meaning")["status"], "ok");
        let search = [
            "search",
            "--kb",
            "kb",
            "--tool",
            "vector",
            "--json",
            "rusty hinge",
        ];
        let hits = json_lines(&place.run(&search).stdout);
        assert_eq!(hits[0]["source"], "door.md");
    }
}

#[test]
fn trust_a_missing_or_changed_file_of_the_words_is_found_by_doctor_and_by_ask() {
    let place = indexed();
    let path = ending(&index_of(&place), "pos").remove(0);
    fs::remove_file(&path).unwrap();
    let check = doctor(&place, "contents");
    assert_eq!(check["status"], "broken", "{check}");
    let line = check["detail"].as_str().unwrap();
    assert!(line.contains(".pos is missing"), "{line}");
    let output = place.run(&["ask", "--kb", "kb", "what has a rusty hinge?"]);
    text(&output.stdout).must_hold("door");
    assert_eq!(doctor(&place, "contents")["status"], "ok");

    let path = ending(&index_of(&place), "store").remove(0);
    let mut file = OpenOptions::new().write(true).open(&path).unwrap();
    file.seek(SeekFrom::Start(8)).unwrap();
    file.write_all(b"####").unwrap();
    drop(file);
    let check = doctor(&place, "contents");
    let line = check["detail"].as_str().unwrap();
    assert!(line.contains(".store is not as it was written"), "{line}");
    place.run_well(&["index", "--rebuild", "--kb", "kb"]);
    assert_eq!(doctor(&place, "contents")["status"], "ok");
}

#[test]
fn trust_the_folders_of_other_versions_stay_and_doctor_lists_them() {
    let place = indexed();
    let homes = fs::read_dir(index_of(&place)).unwrap().flatten();
    let home = homes
        .map(|entry| entry.path())
        .find(|path| path.is_dir())
        .unwrap();
    for (name, size) in [("v1-1", 3 << 20), ("texts", 2048), ("mine", 1)] {
        fs::create_dir(home.join(name)).unwrap();
        fs::write(home.join(name).join("file"), vec![7; size]).unwrap();
    }
    place.file("kb/more.md", "# More\n\nOne more.\n");
    place.index();
    place.run_well(&["index", "--rebuild", "--kb", "kb"]);
    for name in ["v1-1", "texts", "mine"] {
        assert!(home.join(name).join("file").exists(), "{name}");
    }
    let check = doctor(&place, "other versions");
    let line = check["detail"].as_str().unwrap();
    assert!(line.contains("texts (2 kB), v1-1 (3 MB)"), "{line}");
    assert!(!line.contains("mine"), "{line}");
    assert!(
        check["next"].as_str().unwrap().contains("rm -r "),
        "{check}"
    );
}
