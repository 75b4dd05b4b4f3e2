//! What daily users reach for: the question in an editor, documents by name, answers kept and found.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::terminal::Terminal;
use crate::workplace::{Demo, Workplace, assert_tells_of_long_list, json_lines, long_list, text};

fn editor(place: &Workplace, script: &str) -> String {
    let path = place.file("edit.sh", format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

fn open(demo: &Demo, editor: &str) -> Terminal {
    let mut command = demo.command(&[]);
    command.env("EDITOR", editor);
    let terminal = Terminal::start(&command, 120, 40);
    terminal.wait_for_text("38 docs");
    terminal
}

#[test]
fn a_question_is_written_in_the_editor() {
    let demo = Workplace::with_demo();
    // As many editors save: another file takes the place of the first.
    let script =
        "cp \"$1\" \"$1.new\"; printf ' and\\nsecond line\\n' >> \"$1.new\"; mv \"$1.new\" \"$1\"";
    let mut terminal = open(&demo, &editor(demo.place(), script));
    terminal.press_until("first line", "> first line");
    let screen = terminal.press_until("\u{7}", "second line");
    assert!(screen.contains("> first line and"), "{screen}");
    let screen = terminal.press_until("\u{18}\u{5}", "second line and");
    assert!(screen.contains("> first line and"), "{screen}");
    terminal.leave();
}

#[test]
fn an_editor_that_fails_leaves_the_question_as_it_was() {
    let demo = Workplace::with_demo();
    let kept = demo.place().path().join("kept-drafts");
    fs::create_dir(&kept).unwrap();
    let mut command = demo.command(&[]);
    command.env("TMPDIR", &kept);
    let editor = editor(demo.place(), "echo changed > \"$1\"; exit 3");
    let mut terminal = Terminal::start(command.env("EDITOR", editor), 120, 40);
    terminal.wait_for_text("38 docs");
    terminal.press_until("first line", "> first line");
    let screen = terminal.press_until("\u{7}", "The editor ended with");
    assert!(screen.contains("> first line"), "{screen}");
    assert!(screen.contains("written is in"), "{screen}");
    terminal.leave();
    // What was written is not lost.
    let files: Vec<_> = fs::read_dir(&kept).unwrap().collect();
    let [Ok(file)] = &files[..] else {
        panic!("{files:?}");
    };
    assert_eq!(fs::read_to_string(file.path()).unwrap(), "changed\n");
}

#[test]
fn r23_of_a_list_that_is_longer_than_a_passage_an_answer_tells_how_much_it_leaves_out() {
    let place = Workplace::holding([("kb/parts.md", &long_list())]);
    place.index();
    for question in [
        "read parts.md:10-20",
        "What does parts.md say?",
        "Which parts does the workshop have?",
    ] {
        let asked = place.run_well(&["ask", "--json", "--kb", "kb", question]);
        assert_tells_of_long_list(&asked);
    }
}

#[test]
fn documents_are_listed_filtered_and_read() {
    let demo = Workplace::with_demo();
    let mut terminal = open(&demo, "true");
    terminal.press_until("/docs\r", "Documents");
    terminal.press_until("glossary", "1 of 38");
    let screen = terminal.press_until("\r", "lines 1–");
    assert!(screen.contains("Source glossary.md"), "{screen}");
    terminal.press_until("\u{1b}", "> ask");
    terminal.press_until("/open glos", "glossary.md");
    terminal.press_until("\r", "Source glossary.md");
    terminal.press_until("\u{1b}", "> ask");
    terminal.press_until("/open glossarys.md\r", "did you mean");
    terminal.leave();
}

#[test]
fn an_answer_is_kept_as_a_note_and_found_again() {
    let demo = Workplace::with_demo();
    let mut terminal = open(&demo, "true");
    terminal.press_until("/save\r", "There is no answer to keep yet.");
    terminal.keys("What is corrective grading?\r");
    terminal.wait_for_text("saved 1");
    terminal.press_until("/save kept\r", "Kept in kept.md");
    let note = fs::read_to_string(demo.place().path().join("kept.md")).unwrap();
    assert!(
        note.starts_with("# What is corrective grading?\n"),
        "{note}"
    );
    assert!(note.contains("\\[1\\]"), "{note}");
    terminal.press_until("/save kept\r", "kept.md exists");
    // Another conversation, from which the answer is found by a word of it.
    terminal.press_until("/clear\r", "> ask");
    terminal.press_until("\u{12}", "Earlier questions");
    terminal.press_until("\u{12}", "All answers");
    let screen = terminal.press_until("grading", " > grading");
    assert!(screen.contains("What is corrective grading?"), "{screen}");
    terminal.press_until("\r", "Resumed");
    terminal.leave();
    let found = demo.run_well(&["runs", "--grep", "GRADING corrective"]);
    assert!(text(&found.stdout).contains("What is corrective grading?"));
    let found = demo.run_well(&["runs", "--json", "--grep", "no such words"]);
    assert!(json_lines(&found.stdout).is_empty());
    // The same objects as those of the list, with the words around what was found.
    let found = demo.run_well(&["runs", "--json", "--grep", "corrective"]);
    let mut found = json_lines(&found.stdout).remove(0);
    let excerpt = found.as_object_mut().unwrap().remove("excerpt").unwrap();
    assert!(
        excerpt
            .as_str()
            .unwrap()
            .to_lowercase()
            .contains("corrective")
    );
    let listed = json_lines(&demo.run_well(&["runs", "--json"]).stdout);
    assert!(listed.contains(&found), "{found}");
    assert!(Path::new(&demo.place().path().join("kept.md")).exists());
}

#[test]
fn a_run_is_exported_as_a_recording_of_the_screen() {
    let demo = Workplace::with_demo();
    demo.run_well(&["ask", "What is corrective grading?"]);
    let cast = demo.run_well(&["export", "last", "--format", "cast", "--size", "100x30"]);
    let lines = json_lines(&cast.stdout);
    let (head, outputs) = lines.split_first().unwrap();
    assert_eq!((&head["version"], &head["width"]), (&2.into(), &100.into()));
    assert_eq!(head["title"], "What is corrective grading?");
    let seconds = |output: &serde_json::Value| output[0].as_f64().unwrap();
    assert!(
        outputs
            .windows(2)
            .all(|two| seconds(&two[0]) < seconds(&two[1]))
    );
    // What a player shows at the end is the answered question.
    let mut player = vt100::Parser::new(30.try_into().unwrap(), 100.try_into().unwrap(), 0);
    for output in outputs {
        assert_eq!(output[1], "o");
        player.process(output[2].as_str().unwrap().as_bytes());
    }
    let shown = player.screen().contents();
    assert!(
        shown.contains("Corrective grading means") && shown.contains("simple"),
        "{shown}"
    );
    // A size that is none or in which the screen has no room, or of another format, is bad usage.
    for (format, size, why) in [
        ("cast", "7", "must be from 40x10 to 500x500"),
        ("cast", "39x10", "must be from 40x10 to 500x500"),
        ("html", "100x30", "--size goes with --format cast"),
    ] {
        let refused = demo.run(&["export", "last", "--format", format, "--size", size]);
        assert_eq!(refused.status.code(), Some(2), "{format} {size}");
        let said = text(&refused.stderr);
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn sources_are_links_to_their_files() {
    let place = Workplace::holding([("kb/a gate.md", "# Gates\n\nThe gate threshold is seven.\n")]);
    let mut terminal = Terminal::start(&place.command(&["kb"]), 140, 40);
    terminal.wait_for_text("1 doc");
    terminal.keys("What is the gate threshold?\r");
    terminal.wait_for_text("saved 1");
    let path = place.path().canonicalize().unwrap().join("kb/a%20gate.md");
    let link = format!("\u{1b}]8;;file://{}\u{1b}\\", path.display());
    terminal.wait_for_written(&link);
    // An editor that cannot be started leaves a screen that is drawn anew, with its links.
    terminal.press_until("\u{7}", "set VISUAL or EDITOR");
    terminal.keys("\u{3}\u{3}");
    let (code, written) = terminal.end_with_written();
    let (_, after) = written.rsplit_once("VISUAL").unwrap();
    assert_eq!((code, after.contains(&link)), (0, true));
}

#[test]
fn questions_of_ask_are_no_conversations() {
    let demo = Workplace::with_demo();
    demo.run_well(&["ask", "What is corrective grading?"]);
    let mut terminal = open(&demo, "true");
    terminal.press_until("\u{13}", "Nothing is recorded yet");
    terminal.keys("\u{1b}");
    terminal.wait_for("no window", |screen| {
        !screen.contents().contains("Nothing is recorded yet")
    });
    terminal.leave();
    let runs = json_lines(&demo.run_well(&["runs", "--json"]).stdout);
    assert_eq!((runs.len(), &runs[0]["single"]), (1, &true.into()));
}
