//! Notes as Obsidian, Logseq and Notion keep them, folders of clouds, scans: what is read of them,
//! and what is said of the rest.

use std::fs;

use serde_json::Value;

use crate::samples;
use crate::support::Said;
use crate::workplace::{Workplace, json_lines, text};

const PROGRAMME: &str =
    "---\naliases: [EAfE, \"Early Access\"]\n---\n# Programme 2031\n\nIt costs 200 a month.\n";
const OTHER: &str = "# Other\n\nSee [[EAfE]]. It costs 7 elsewhere.\n\n%% do not publish: price 400 %%\n\n\
                     id:: 65a1b2c3-1111-2222-3333-444455556666\n- Task \
                     ((65a1b2c3-1111-2222-3333-444455556666)) is due.\n";

fn index(place: &Workplace) -> Value {
    let output = place
        .command(&["index", "--json", "--kb", "kb"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    json_lines(&output.stdout)[0].clone()
}

fn ask(place: &Workplace, question: &str) -> String {
    let output = place
        .command(&["ask", "--kb", "kb", question])
        .output()
        .unwrap();
    text(&output.stdout)
}

#[test]
fn r12_a_name_after_an_at_may_be_an_alias_or_several_words() {
    let place = Workplace::holding([
        ("kb/programmes/2031.md", PROGRAMME),
        ("kb/other.md", OTHER),
        (
            "kb/Backup plan 0f3c1a2b3c4d5e6f708192a3b4c5d6e7.md",
            "# Restoring\n\nIt costs nothing.\n",
        ),
    ]);
    index(&place);
    for (question, answer) in [
        ("@EAfE what does it cost?", "200 a month"),
        ("@early access what does it cost?", "200 a month"),
        ("@Backup plan what does it cost?", "nothing"),
    ] {
        let said = ask(&place, question);
        assert!(
            said.contains(answer) && !said.contains("other.md"),
            "{question}: {said}"
        );
    }
}

#[test]
fn r10_comments_and_ids_of_notes_are_no_words() {
    let place = Workplace::holding([("kb/other.md", OTHER)]);
    let output = place.command(&["read", "kb/other.md"]).output().unwrap();
    let said = text(&output.stdout);
    said.must_lack("400");
    said.must_lack("65a1b2c3");
    assert!(said.contains("- Task  is due."), "{said}");
}

#[test]
fn r11_what_only_the_cloud_has_is_kept_and_said() {
    let place = Workplace::holding([
        ("kb/report.txt", "Quarterly numbers: 42 units.\n"),
        ("kb/other.txt", "Nothing of interest.\n"),
    ]);
    assert_eq!(index(&place)["documents"], 2);
    fs::remove_file(place.path().join("kb/report.txt")).unwrap();
    place.file("kb/.report.txt.icloud", "bplist00");
    let report = index(&place);
    assert_eq!(report["documents"], 2);
    assert_eq!(report["skipped"][0]["path"], "report.txt");
    let reason = report["skipped"][0]["reason"].as_str().unwrap();
    assert!(reason.starts_with("not on this machine"), "{reason}");
    assert!(ask(&place, "How many units?").contains("42 units"));
    fs::remove_file(place.path().join("kb/.report.txt.icloud")).unwrap();
    assert_eq!(index(&place)["documents"], 1);
}

#[test]
fn r11_pages_without_text_are_listed_at_every_index() {
    let place = Workplace::empty();
    place.file(
        "kb/mixed.pdf",
        samples::scan(Some("The second page is text.")),
    );
    for _ in 0..2 {
        let report = index(&place);
        assert_eq!(report["in_part"][0]["path"], "mixed.pdf");
        let missing = report["in_part"][0]["missing"][0].as_str().unwrap();
        missing.must_begin_with("page 1 of 2: only a picture");
    }
    fs::remove_file(place.path().join("kb/mixed.pdf")).unwrap();
    place.file("kb/other.md", OTHER);
    assert_eq!(index(&place)["in_part"].as_array().unwrap().len(), 0);
}

#[cfg(unix)]
#[test]
fn r11_the_text_of_scans_is_recognised_where_that_is_asked_for() {
    use std::os::unix::fs::PermissionsExt;

    let place = Workplace::empty();
    place.file(
        "with-text.pdf",
        samples::pdf("", &["Recognised invoice 4711"]),
    );
    place.file("kb/scan.pdf", samples::scan(None));
    // Takes the last of its arguments for the file to write, as ocrmypdf does.
    let program = place.file(
        "bin/ocrmypdf",
        format!(
            "#!/bin/sh\nfor last; do :; done\ncp '{}' \"$last\"\n",
            place.path().join("with-text.pdf").display()
        ),
    );
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let report = index(&place);
    let reason = report["skipped"][0]["reason"].as_str().unwrap();
    assert_eq!(
        reason,
        "a scan without text: install ocrmypdf, then set KB_AGENT_OCR=1"
    );
    let path = std::env::var("PATH").unwrap();
    let output = place
        .command(&["index", "--json", "--kb", "kb"])
        .env("KB_AGENT_OCR", "1")
        .env(
            "PATH",
            format!("{}:{path}", place.path().join("bin").display()),
        )
        .output()
        .unwrap();
    assert_eq!(json_lines(&output.stdout)[0]["documents"], 1);
    assert!(ask(&place, "Which invoice was recognised?").contains("4711"));
}
