//! Files that change while somebody watches: the real binary, its lines, and searches beside it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::terminal::Terminal;
use crate::workplace::{Workplace, json_lines, one_line};

/// How long anything may take on a busy machine before the test gives up.
const PATIENCE: Duration = Duration::from_mins(1);

/// `index --watch --json` over the folder `kb`, and what it says.
struct Watching {
    child: Child,
    lines: Receiver<String>,
    complaints: Receiver<String>,
}

impl Watching {
    fn start(place: &Workplace) -> Self {
        Self::run(&mut place.command(&["index", "--watch", "--json", "--kb", "kb"]))
    }

    fn run(command: &mut Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            lines: lines_of(child.stdout.take().unwrap()),
            complaints: lines_of(child.stderr.take().unwrap()),
            child,
        }
    }

    /// Waits until it says so; what it says before is passed over.
    fn wait_for(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let line = wait(&self.lines, what, |line| {
            wanted(&serde_json::from_str(line).unwrap())
        });
        serde_json::from_str(&line).unwrap()
    }

    fn wait_for_words(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        self.wait_for(what, |line| line["ready"] == "words" && wanted(line))
    }

    /// As Ctrl-C does.
    #[cfg(unix)]
    fn interrupt(&mut self) -> Option<i32> {
        crate::workplace::signal("INT", self.child.id());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines_of(out: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (send, lines) = channel();
    thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

fn wait(lines: &Receiver<String>, what: &str, wanted: impl Fn(&str) -> bool) -> String {
    let deadline = Instant::now() + PATIENCE;
    let mut seen = Vec::new();
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match lines.recv_timeout(left) {
            Ok(line) if wanted(&line) => return line,
            Ok(line) => seen.push(line),
            Err(error) => panic!("{what}: {error}; instead came\n{}", seen.join("\n")),
        }
    }
}

/// The files that a search beside the watch finds.
fn found(place: &Workplace, query: &str) -> Vec<String> {
    let output = place.run(&["search", "--kb", "kb", "--tool", "grep", "--json", query]);
    json_lines(&output.stdout)
        .iter()
        .map(|hit| hit["source"].as_str().unwrap().to_owned())
        .collect()
}

fn counts(added: u64, changed: u64, removed: u64) -> impl Fn(&Value) -> bool {
    move |line| line["added"] == added && line["changed"] == changed && line["removed"] == removed
}

#[test]
fn each_change_is_a_line_and_can_be_searched() {
    let place = Workplace::holding([("kb/gate.md", "# Gate\n\nThe gate opens at seven.\n")]);
    let watching = Watching::start(&place);
    watching.wait_for_words("the beginning", |line| line["documents"] == 1);
    watching.wait_for("its embedding", |line| {
        line["ready"] == "embeddings" && line["pending"] == 0
    });

    let door = place.file("kb/door.md", "# Door\n\nThe door has a rusty hinge.\n");
    let line = watching.wait_for_words("a new file", counts(1, 0, 0));
    assert_eq!(line["documents"], 2);
    assert_eq!(found(&place, "rusty hinge"), ["door.md"]);

    fs::write(&door, "# Door\n\nThe door has a golden knob.\n").unwrap();
    watching.wait_for_words("an edited file", counts(0, 1, 0));
    assert_eq!(found(&place, "golden knob"), ["door.md"]);

    // As editors save: another file takes the name.
    let draft = place.file(
        "kb/.door.md.tmp",
        "# Door\n\nThe door was painted turquoise.\n",
    );
    fs::rename(draft, &door).unwrap();
    watching.wait_for_words("a file replaced by another", counts(0, 1, 0));
    assert_eq!(found(&place, "turquoise"), ["door.md"]);

    let renamed = place.path().join("kb/portal.md");
    let begun = Instant::now();
    fs::rename(&door, &renamed).unwrap();
    let line = watching.wait_for_words("a renamed file", |line| line["moved"] == 1);
    let (took, most) = (line["ms"].as_u64().unwrap(), begun.elapsed().as_millis());
    assert!(
        u128::from(took) <= most,
        "{took} ms of {most} since the change"
    );
    assert_eq!(found(&place, "turquoise"), ["portal.md"]);

    fs::remove_file(&renamed).unwrap();
    let line = watching.wait_for_words("a removed file", counts(0, 0, 1));
    assert_eq!(line["documents"], 1);
    assert!(found(&place, "turquoise").is_empty());
}

#[test]
fn a_file_that_is_named_beside_its_folder_is_watched_wherever_it_lies() {
    let place = Workplace::holding([
        ("kb/gate.md", "# Gate\n\nThe gate opens at seven.\n"),
        ("kb/.gitignore", "build/\n"),
    ]);
    let ignored = place.file("kb/build/plan.md", "# Plan\n\nA bridge of granite.\n");
    let hidden = place.file("kb/.notes/diary.md", "# Diary\n\nA bridge of timber.\n");
    let arguments = ["index", "--watch", "--json", "--kb", "kb"];
    let named = ["--kb", "kb/build/plan.md", "--kb", "kb/.notes/diary.md"];
    let watching = Watching::run(&mut place.command(&[&arguments[..], &named[..]].concat()));
    watching.wait_for_words("the beginning", |line| line["documents"] == 3);
    fs::write(&ignored, "# Plan\n\nA bridge of basalt.\n").unwrap();
    watching.wait_for_words("the ignored file", counts(0, 1, 0));
    // Beside it nothing is looked at.
    place.file("kb/.notes/letters.md", "# Letters\n\nA bridge of brick.\n");
    fs::write(&hidden, "# Diary\n\nA bridge of steel.\n").unwrap();
    let line = watching.wait_for_words("the hidden file", counts(0, 1, 0));
    assert_eq!(line["documents"], 3);
}

#[test]
fn folders_that_come_and_go_are_followed() {
    let place = Workplace::holding([("kb/gate.md", "# Gate\n\nThe gate opens at seven.\n")]);
    for name in ["one", "two", "three"] {
        let content = format!("# {name}\n\nThis is note {name}.\n");
        place.file(&format!("outside/deep/{name}.md"), content);
    }
    let watching = Watching::start(&place);
    watching.wait_for_words("the beginning", |line| line["documents"] == 1);
    let (outside, inside) = (place.path().join("outside"), place.path().join("kb/inside"));

    fs::rename(&outside, &inside).unwrap();
    watching.wait_for_words("a folder moved in", counts(3, 0, 0));
    fs::write(
        inside.join("deep/one.md"),
        "# One\n\nChanged in its new place.\n",
    )
    .unwrap();
    watching.wait_for_words("a file in it", counts(0, 1, 0));
    fs::rename(&inside, &outside).unwrap();
    watching.wait_for_words("a folder moved out", counts(0, 0, 3));

    let root = place.path().join("kb");
    fs::remove_dir_all(&root).unwrap();
    wait(&watching.complaints, "the folder itself removed", |line| {
        line.contains("it is not there")
    });
    place.file("kb/again.md", "# Again\n\nThe folder is back.\n");
    watching.wait_for_words("the folder made again", |line| {
        line["documents"] == 1 && found(&place, "folder is back") == ["again.md"]
    });
    place.file("kb/more.md", "# More\n\nAnd it is watched.\n");
    watching.wait_for_words("a file in the new folder", |line| line["documents"] == 2);
}

#[test]
fn what_is_known_of_a_folder_that_is_taken_away_is_kept_until_it_returns() {
    let place = Workplace::holding([
        ("kb/gate.md", "# Gate\n\nThe gate opens at seven.\n"),
        ("kb/sub/door.md", "# Door\n\nThe door has a rusty hinge.\n"),
    ]);
    let watching = Watching::start(&place);
    watching.wait_for_words("the beginning", |line| line["documents"] == 2);
    let (root, away) = (place.path().join("kb"), place.path().join("elsewhere"));
    fs::rename(&root, &away).unwrap();
    wait(&watching.complaints, "that it is gone", |line| {
        line.contains("kb: it is not there; what is known of it is kept")
    });
    // One that begins now gets one line.
    let search = place.run(&["search", "--kb", "kb", "gate"]);
    assert_eq!(search.status.code(), Some(1));
    let line = one_line(&search);
    assert!(line.contains("cannot open the knowledge base kb"), "{line}");
    place.file("elsewhere/roof.md", "# Roof\n\nThe roof is thatched.\n");
    fs::rename(&away, &root).unwrap();
    let line = watching.wait_for_words("its return", |line| {
        assert_ne!(line["removed"], 2, "{line}");
        line["added"] == 1
    });
    assert_eq!(line["documents"], 3);
    assert_eq!(line["unchanged"], 2);
    wait(&watching.complaints, "that it is back", |line| {
        line.contains("kb: it is there again")
    });
    place.file("kb/sub/more.md", "# More\n\nAnd it is watched.\n");
    watching.wait_for_words("a file in it", counts(1, 0, 0));
}

#[test]
fn two_folders_are_watched_at_once() {
    let place = Workplace::holding([
        ("one/gate.md", "# Gate\n\nThe gate opens at seven.\n"),
        ("two/gate.md", "# Gate\n\nThe other gate is closed.\n"),
    ]);
    let args = ["index", "--watch", "--json", "--kb", "one", "--kb", "two"];
    let watching = Watching::run(&mut place.command(&args));
    watching.wait_for_words("the beginning", |line| line["documents"] == 2);
    place.file("two/door.md", "# Door\n\nThe door has a rusty hinge.\n");
    watching.wait_for_words("a file in the second", counts(1, 0, 0));
    place.file("one/sub/roof.md", "# Roof\n\nThe roof is thatched.\n");
    watching.wait_for_words("a file in the first", counts(1, 0, 0));
    // One goes and the other goes on.
    fs::rename(place.path().join("one"), place.path().join("away")).unwrap();
    wait(&watching.complaints, "that one is gone", |line| {
        line.contains("one: it is not there")
    });
    fs::remove_file(place.path().join("two/door.md")).unwrap();
    let line = watching.wait_for_words("a file removed in the second", counts(0, 0, 1));
    assert_eq!(line["documents"], 3);
    fs::rename(
        place.path().join("away/sub/roof.md"),
        place.path().join("two/roof.md"),
    )
    .unwrap();
    fs::rename(place.path().join("away"), place.path().join("one")).unwrap();
    watching.wait_for_words("all of it", |line| line["documents"] == 3);
    let output = place.run(&["search", "--kb", "one", "--kb", "two", "--json", "thatched"]);
    assert_eq!(json_lines(&output.stdout)[0]["source"], "two/roof.md");
}

#[test]
fn a_file_that_cannot_be_read_is_a_line_once() {
    let place = Workplace::holding([("kb/gate.md", "# Gate\n\nThe gate opens at seven.\n")]);
    let watching = Watching::run(&mut place.command(&["index", "--watch", "--kb", "kb"]));
    wait(&watching.lines, "the beginning", |line| {
        line.contains("1 added")
    });
    place.file("kb/torn.pdf", "%PDF-1.7\nand no more");
    wait(&watching.lines, "the damaged file", |line| {
        line.starts_with("skipped torn.pdf: ")
    });
    place.file("kb/door.md", "# Door\n\nThe door has a rusty hinge.\n");
    wait(&watching.lines, "another file", |line| {
        assert!(!line.starts_with("left out"), "{line}");
        line.contains("1 added")
    });
    place.file("kb/roof.md", "# Roof\n\nThe roof is thatched.\n");
    wait(&watching.lines, "one more", |line| {
        assert!(!line.starts_with("left out"), "{line}");
        line.contains("1 added")
    });
}

#[test]
fn a_storm_is_taken_up_in_few_updates_and_words_come_before_its_embedding() {
    let place = Workplace::holding([("kb/gate.md", "# Gate\n\nThe gate opens at seven.\n")]);
    let watching = Watching::start(&place);
    watching.wait_for_words("the beginning", |line| line["documents"] == 1);
    for n in 0..500 {
        let content = format!("# Note {n}\n\nThis is the note with the number {n}.\n");
        place.file(&format!("kb/storm/{n}.md"), content);
    }
    let deadline = Instant::now() + PATIENCE;
    let mut updates = 0;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let line = watching.lines.recv_timeout(left).unwrap();
        let line: Value = serde_json::from_str(&line).unwrap();
        updates += u32::from(line["ready"] == "words");
        if line["documents"] == 501 {
            break;
        }
    }
    assert!(updates < 100, "{updates} updates for one storm");
    place.file("kb/late.md", "# Late\n\nA heron stands in the reeds.\n");
    let line = watching.wait_for_words("a file saved meanwhile", counts(1, 0, 0));
    assert!(line["pending"].as_u64().unwrap() > 0, "{line}");
    assert_eq!(found(&place, "heron"), ["late.md"]);
}

/// The user who runs the tests may read everything; the user `nobody` may not.
#[cfg(target_os = "linux")]
#[test]
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn a_folder_that_may_not_be_read_is_reported_and_the_others_are_watched() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    use std::os::unix::process::CommandExt;

    const NOBODY: u32 = 65534;
    let place = Workplace::holding([
        ("kb/gate.md", "# Gate\n\nThe gate opens at seven.\n"),
        ("kb/b/private/secret.md", "# Secret\n\nNot for everybody.\n"),
        ("kb/c/deep/note.md", "# Note\n\nA note.\n"),
    ]);
    let private = place.path().join("kb/b/private");
    let close = |closed: bool| {
        let mode = if closed { 0o000 } else { 0o755 };
        fs::set_permissions(&private, fs::Permissions::from_mode(mode)).unwrap();
    };
    let mut command = place.command(&["index", "--watch", "--json", "--kb", "kb"]);
    if fs::metadata(place.path()).unwrap().uid() == 0 {
        let seen = Command::new(command.get_program())
            .arg("--version")
            .current_dir("/")
            .uid(NOBODY)
            .gid(NOBODY)
            .output();
        if !seen.is_ok_and(|output| output.status.success()) {
            eprintln!("SKIPPED: only root can start the binary, and root reads everything");
            return;
        }
        for path in [".", "kb", "kb/b", "kb/b/private", "kb/c", "kb/c/deep"] {
            chown(place.path().join(path), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        command.uid(NOBODY).gid(NOBODY);
    }
    close(true);
    let watching = Watching::run(&mut command);
    watching.wait_for_words("the beginning", |line| line["documents"] == 2);
    wait(&watching.complaints, "the folder", |line| {
        line.contains("kb/b/private cannot be watched") && line.contains("the others are")
    });
    place.file("kb/c/deep/more.md", "# More\n\nMore of it.\n");
    watching.wait_for_words("a file in a folder beside it", counts(1, 0, 0));
    place.file("kb/b/new/one.md", "# One\n\nIn a new folder.\n");
    watching.wait_for_words("a new folder beside it", counts(1, 0, 0));
    place.file("kb/b/new/two.md", "# Two\n\nIn that folder.\n");
    watching.wait_for_words("a file in the new folder", counts(1, 0, 0));
    close(false);
    watching.wait_for_words("the folder that may be read now", counts(1, 0, 0));
    place.file("kb/b/private/more.md", "# More\n\nMore secrets.\n");
    watching.wait_for_words("a file in it", counts(1, 0, 0));
}

#[cfg(unix)]
#[test]
fn one_watches_the_other_follows_and_takes_over() {
    let place = Workplace::holding([("kb/gate.md", "# Gate\n\nThe gate opens at seven.\n")]);
    let mut first = Watching::start(&place);
    first.wait_for("the beginning", |line| {
        line["ready"] == "embeddings" && line["pending"] == 0
    });
    let second = Watching::start(&place);
    wait(&second.complaints, "that it follows", |line| {
        line.contains("another kb-agent keeps this index up to date")
    });
    assert_eq!(first.interrupt(), Some(130), "an interrupted watch");
    place.file("kb/door.md", "# Door\n\nThe door has a rusty hinge.\n");
    second.wait_for_words("the change, from the other", |line| line["documents"] == 2);
}

#[test]
fn a_file_saved_while_the_screen_is_open_answers_a_question() {
    let place = Workplace::holding([("kb/gate.md", "# Gate\n\nThe gate opens at seven.\n")]);
    let mut terminal = Terminal::start(&place.command(&["kb"]), 140, 40);
    terminal.wait_for_text("1 doc · 1 chunk · watching");
    place.file("kb/door.md", "# Door\n\nThe door has a rusty hinge.\n");
    terminal.wait_for_text("2 docs · 2 chunks · watching");
    terminal.press_until("What does the door have?\r", "a rusty hinge");
    terminal.leave();
}

#[test]
fn a_second_screen_follows_what_the_first_one_finds() {
    let place = Workplace::holding([("kb/gate.md", "# Gate\n\nThe gate opens at seven.\n")]);
    let first = Terminal::start(&place.command(&["kb"]), 140, 40);
    first.wait_for_text("1 doc · 1 chunk · watching");
    let second = Terminal::start(&place.command(&["kb"]), 140, 40);
    second.wait_for_text("1 doc · 1 chunk · watching");
    place.file("kb/door.md", "# Door\n\nThe door has a rusty hinge.\n");
    first.wait_for_text("2 docs");
    second.wait_for_text("2 docs · 2 chunks · watching");
    first.kill();
    place.file("kb/roof.md", "# Roof\n\nThe roof is thatched.\n");
    second.wait_for_text("3 docs · 3 chunks · watching");
    second.leave();
}
