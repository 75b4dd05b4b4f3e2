//! The audit log can be believed: whose file it is, what is missing in it, and what a crash leaves.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use kb_agent::audit::{AuditLog, BreakKind, LogSettings, LogVerification, Mask, verify};
use kb_agent::protocol::{Event, EventBody, RunId, SCHEMA, Timestamp};
use serde_json::{Value, json};

use crate::support::Said;
use crate::workplace::{Demo, Workplace, events, json_lines, one_line, text};

fn refused(demo: &Demo, log: &Path) -> String {
    let output = demo
        .command(&["ask", "hello"])
        .env("KB_AGENT_AUDIT_LOG", log)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(output.stdout.is_empty());
    let line = one_line(&output);
    assert!(line.contains("KB_AGENT_AUDIT_LOG"), "{line}");
    line
}

fn verified(demo: &Demo) -> Output {
    demo.run(&["audit", "verify"])
}

fn holds(demo: &Demo) -> String {
    let output = verified(demo);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(output.stderr.is_empty());
    text(&output.stdout)
}

fn broken(demo: &Demo) -> String {
    let output = verified(demo);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    one_line(&output)
}

/// A line of a run as versions before the chain wrote it.
fn old_line(run: &str, seq: u64, session: &str) -> String {
    let body = json!({"schema": 1, "ts": "2026-01-01T00:00:00.000Z", "run": run, "seq": seq,
        "event": "run_started", "session": session, "query": format!("what of {run}?"),
        "mode": "offline", "model": "extractive", "settings": {"max_iterations": 3,
        "vector_score_threshold": 0.8, "auto_approve_max_items": 2}});
    format!("{body}\n")
}

#[cfg(unix)]
#[test]
fn trust_a_file_that_is_no_audit_log_is_left_as_it_is() {
    use std::os::unix::fs::PermissionsExt;
    let demo = Workplace::with_demo();
    for (name, content) in [
        ("vhome/.bashrc", "alias ll='ls -l'\n"),
        ("vhome/settings.json", "{\"event\": \"none\", \"seq\": 0}\n"),
        ("vhome/state.json", "{\"theme\": \"da"),
        ("vhome/blank", "\n"),
    ] {
        let path = demo.place().file(name, content);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let line = refused(&demo, &path);
        assert!(line.contains("first line is none of our events"), "{line}");
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o644, "{name}");
    }
    assert_eq!(
        fs::read_dir(demo.place().path().join("vhome"))
            .unwrap()
            .count(),
        4
    );
}

#[cfg(unix)]
#[test]
fn trust_a_link_or_a_pipe_is_no_audit_log() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let demo = Workplace::with_demo();
    demo.ask(&["hello"]);
    let log = demo.place().audit_log();
    let size = fs::metadata(&log).unwrap().len();
    fs::set_permissions(&log, fs::Permissions::from_mode(0o640)).unwrap();
    let place = demo.place().path().to_owned();
    let (named, dangling, pipe) = (place.join("l"), place.join("d"), place.join("p"));
    symlink(&log, &named).unwrap();
    symlink(place.join("nowhere"), &dangling).unwrap();
    crate::workplace::pipe(&pipe);
    for (path, why) in [
        (&named, "is a link"),
        (&dangling, "is a link"),
        (&pipe, "not a regular file"),
        (&place, "s a directory"),
    ] {
        let line = refused(&demo, path);
        assert!(line.contains(why), "{line}");
    }
    let meta = fs::metadata(&log).unwrap();
    assert_eq!(meta.len(), size);
    assert_eq!(meta.permissions().mode() & 0o777, 0o640);
    assert!(!place.join("nowhere").exists());
    assert!(!place.join("l.live").exists());
}

#[cfg(unix)]
#[test]
fn trust_no_folder_of_the_users_is_emptied() {
    use std::os::unix::fs::symlink;
    let demo = Workplace::with_demo();
    let place = demo.place();
    // A folder of that name, with a file called as our gate is.
    let wav = place.file("radio.live/recording.wav", "song");
    let gate = place.file("radio.live/gate", "of the garden");
    let output = demo
        .command(&["ask", "hello"])
        .env("KB_AGENT_AUDIT_LOG", place.path().join("radio"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(fs::read_to_string(wav).unwrap(), "song");
    assert_eq!(fs::read_to_string(gate).unwrap(), "of the garden");
    assert_eq!(
        fs::read_dir(place.path().join("radio.live"))
            .unwrap()
            .count(),
        2
    );
    // A link of that name.
    let thesis = place.file("elsewhere/01938d2e-0000-7000-8000-000000000001", "");
    symlink(
        place.path().join("elsewhere"),
        place.path().join("log.live"),
    )
    .unwrap();
    let line = refused(&demo, &place.path().join("log"));
    assert!(line.contains("log.live is a link"), "{line}");
    assert!(thesis.exists());
    assert_eq!(
        fs::read_dir(place.path().join("elsewhere"))
            .unwrap()
            .count(),
        1
    );
}

#[cfg(unix)]
#[test]
fn trust_what_is_kept_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let place = Workplace::empty();
    place.run_well(&["ask", "hello"]);
    let mode = |name: &str| {
        let meta = fs::metadata(place.data().join(name)).unwrap();
        meta.permissions().mode() & 0o777
    };
    for folder in ["", "logs", "index", "audit.jsonl.live"] {
        assert_eq!(mode(folder), 0o700, "{folder}");
    }
    for file in ["audit.jsonl", "audit.jsonl.head"] {
        assert_eq!(mode(file), 0o600, "{file}");
    }
}

#[test]
fn trust_an_older_log_is_continued_and_verify_says_from_where_the_chain_holds() {
    let demo = Workplace::with_demo();
    let old = old_line("01938d2e-0000-7000-8000-000000000001", 0, "gone") + &old_line("", 3, "");
    demo.place().file("data/audit.jsonl", &old);
    let output = verified(&demo);
    assert!(text(&output.stdout).contains("2 lines, none of them chained"));
    let output = demo.run_well(&["ask", "hello"]);
    let line = one_line(&output);
    assert!(line.contains("2 runs were interrupted"), "{line}");
    assert!(holds(&demo).contains("the chain holds from line 3 on"));
    let doctor = text(&demo.run(&["doctor"]).stdout);
    assert!(doctor.contains("holds from line 3 on"), "{doctor}");
    // The last line without a chain is what the first one with it refers to.
    let log = fs::read_to_string(demo.place().audit_log()).unwrap();
    fs::write(
        demo.place().audit_log(),
        log.replace("what of ?", "what if ?"),
    )
    .unwrap();
    assert!(broken(&demo).contains("line 3 does not follow from the one before it"));
}

#[test]
fn trust_a_lost_first_line_or_an_empty_id_stops_no_start() {
    for line in [
        old_line("01938d2e-0000-7000-8000-000000000001", 4, "gone"),
        old_line("", 0, "gone"),
        old_line("", 7, "../../etc"),
        old_line("\u{202e}", 0, "gone"),
    ] {
        let demo = Workplace::with_demo();
        demo.place().file("data/audit.jsonl", &line);
        let output = demo.run_well(&["ask", "hello"]);
        assert!(one_line(&output).contains("interrupted"));
        let third = demo.run(&["ask", "hello"]);
        assert!(
            third.stderr.is_empty(),
            "closed once: {}",
            text(&third.stderr)
        );
    }
}

#[test]
fn trust_what_cannot_be_read_is_passed_over_and_counted() {
    let demo = Workplace::with_demo();
    let log = demo.place().audit_log();
    let first = old_line("01938d2e-0000-7000-8000-000000000001", 0, "gone");
    demo.place().file("data/audit.jsonl", first + "no event\n");
    // A hole is a line too long to be one of ours.
    let file = fs::OpenOptions::new().append(true).open(&log).unwrap();
    file.set_len(40 << 20).unwrap();
    let output = demo.run_well(&["ask", "hello"]);
    assert!(one_line(&output).contains("interrupted"));
    let printed = holds(&demo);
    printed.must_hold("2 lines cut short or too long");
    assert!(printed.contains("from line 4 on"), "{printed}");
}

#[test]
fn trust_ten_thousand_interrupted_runs_are_closed_in_one_pass() {
    let demo = Workplace::with_demo();
    let run = |at: usize| format!("01938d2e-0000-7000-8000-{at:012x}");
    let lines: String = (0..10_000)
        .map(|at| old_line(&run(at), 0, "gone"))
        .collect();
    demo.place().file("data/audit.jsonl", lines);
    let output = demo.run_well(&["ask", "hello"]);
    assert!(one_line(&output).contains("10000 runs were interrupted"));
    let log = fs::read(demo.place().audit_log()).unwrap();
    let log = json_lines(&log);
    assert_eq!(events(&log, "run_finished").len(), 10_001);
}

/// Whole lines, without their line feeds.
pub fn lines_of(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn write_lines(path: &Path, lines: &[String]) {
    fs::write(path, lines.join("\n") + "\n").unwrap();
}

#[test]
fn trust_the_first_line_that_was_changed_removed_or_added_or_the_one_behind_it_is_named() {
    let demo = Workplace::with_demo();
    demo.ask(&["hello"]);
    demo.ask(&["What is corrective grading?"]);
    let log = demo.place().audit_log();
    assert!(holds(&demo).contains("the chain holds"));
    let whole = lines_of(&log);
    let check = |how: BreakKind, number: usize, changed: &[String]| {
        write_lines(&log, changed);
        let found = verify(&log).unwrap().broken.expect("it is seen");
        let found_as = (found.kind, found.line as usize, found.part.as_path());
        assert_eq!(found_as, (how, number, log.as_path()), "of {}", whole.len());
    };
    let foreign = old_line("01938d2e-0000-7000-8000-000000000001", 0, "gone");
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        let is_last = at + 1 == whole.len();
        changed[at] = changed[at].replacen("\"seq\":", "\"seq\":1", 1);
        if is_last {
            check(BreakKind::Changed, at + 1, &changed);
        } else {
            check(BreakKind::DoesNotFollow, at + 2, &changed);
        }
        changed[at] = "gone".to_owned();
        match at {
            // It could be older than the chain.
            0 => check(BreakKind::DoesNotFollow, 2, &changed),
            _ => check(BreakKind::NotOurs, at + 1, &changed),
        }
        let mut changed = whole.clone();
        changed.remove(at);
        let how = if is_last {
            BreakKind::Removed
        } else {
            BreakKind::DoesNotFollow
        };
        check(how, at + 1, &changed);
        for (added, how) in [
            (foreign.trim_end(), BreakKind::NotOurs),
            (&whole[at], BreakKind::DoesNotFollow),
            ("text", BreakKind::NotOurs),
        ] {
            // Behind the last line, what is no event could be a line that a crash cut short.
            let mut changed = whole.clone();
            changed.insert(at + 1, added.to_owned());
            check(how, at + 2, &changed);
        }
    }
    // Several at the end: the lines themselves cannot show it, the head does.
    for kept in 1..whole.len() {
        check(BreakKind::Removed, kept + 1, &whole[..kept]);
    }
    write_lines(&log, &whole[..3]);
    let line = broken(&demo);
    assert!(line.contains("audit.jsonl: line 4 was removed"), "{line}");
    let doctor = demo.run(&["doctor"]);
    assert_eq!(doctor.status.code(), Some(1));
    assert!(text(&doctor.stdout).contains("line 4 was removed"));
    fs::write(&log, "").unwrap();
    assert!(broken(&demo).contains("line 1 was removed"));
    fs::remove_file(&log).unwrap();
    assert!(broken(&demo).contains("line 1 was removed"));
    write_lines(&log, &whole);
    holds(&demo);
    fs::remove_file(log.with_extension("jsonl.head")).unwrap();
    assert!(broken(&demo).contains("is missing"));
}

#[test]
fn trust_what_is_missing_stays_missing_after_the_next_question() {
    let demo = Workplace::with_demo();
    demo.ask(&["hello"]);
    let log = demo.place().audit_log();
    let whole = lines_of(&log);
    write_lines(&log, &whole[..whole.len() - 2]);
    demo.ask(&["hello"]);
    demo.ask(&["hello"]);
    let line = broken(&demo);
    let expected = format!("line {} does not follow", whole.len() - 1);
    assert!(line.contains(&expected), "{line}");
}

#[test]
fn trust_many_processes_write_one_chain() {
    let demo = Workplace::with_demo();
    let children: Vec<_> = (0..8)
        .map(|_| {
            let mut command = demo.command(&["ask", "hello"]);
            command.stdout(Stdio::null()).stderr(Stdio::piped());
            command.spawn().unwrap()
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
    }
    assert_eq!(events(&demo.place().audit(), "run_finished").len(), 8);
    assert!(holds(&demo).contains("the chain holds"));
}

#[test]
fn trust_the_chain_is_of_the_log_and_not_of_the_stream() {
    let demo = Workplace::with_demo();
    for event in demo.ask(&["hello"]) {
        assert_eq!(event.get("prev"), None);
    }
    let log = json_lines(&fs::read(demo.place().audit_log()).unwrap());
    let lines = lines_of(&demo.place().audit_log());
    assert_eq!(log[0]["prev"], "0".repeat(64));
    for (line, next) in lines.iter().zip(&log[1..]) {
        let hash = blake3::hash(line.as_bytes()).to_hex().to_string();
        assert_eq!(next["prev"], hash);
    }
}

/// A log that is rotated often, written as sessions write it.
struct Rotated {
    home: tempfile::TempDir,
    to: LogSettings,
    asked: usize,
}

impl Rotated {
    fn keeping(keep_bytes: u64) -> Self {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("audit.jsonl");
        Self {
            home,
            to: LogSettings {
                path,
                keep_bytes,
                prompts: false,
            },
            asked: 0,
        }
    }

    /// One run of ten events.
    fn run(&mut self) {
        let (_session, closed) = AuditLog::begin_session(&self.to, Mask::default()).unwrap();
        assert_eq!(closed, []);
        let mut log = AuditLog::open(&self.to, Mask::default()).unwrap();
        self.asked += 1;
        let run = RunId::generate();
        for seq in 0..10 {
            let message = format!("{} of question {}", seq, self.asked);
            let code = "test".to_owned();
            log.append(&Event {
                schema: SCHEMA,
                ts: Timestamp::now(),
                run: run.clone(),
                seq,
                body: EventBody::Warning { code, message },
            })
            .unwrap();
        }
    }

    fn parts(&self) -> Vec<PathBuf> {
        let is_part = |path: &PathBuf| {
            path.extension().is_some_and(|end| end == "jsonl") && *path != self.to.path
        };
        let entries = fs::read_dir(self.home.path()).unwrap();
        let mut parts: Vec<_> = entries.map(|e| e.unwrap().path()).filter(is_part).collect();
        parts.sort();
        parts
    }

    fn verify(&self) -> LogVerification {
        verify(&self.to.path).unwrap()
    }
}

#[test]
fn trust_the_chain_goes_through_the_parts_and_old_ones_may_go() {
    let mut log = Rotated::keeping(40_000);
    let mut most = 0;
    for _ in 0..60 {
        log.run();
        let found = log.verify();
        assert_eq!(found.broken, None, "after {}", log.asked);
        assert_eq!(found.unchained, 0);
        let sizes = log.parts().into_iter().chain([log.to.path.clone()]);
        let size: u64 = sizes
            .map(|path| fs::metadata(path).map_or(0, |m| m.len()))
            .sum();
        most = most.max(size);
    }
    assert!(log.parts().len() > 1, "{:?}", log.parts());
    // What one run writes comes on top until the next begins.
    assert!(most < 45_000, "{most}");
    let kept = log.verify().lines;
    assert!(kept < 600, "the oldest went: {kept}");

    // The clock of a test runs on, and so do the names.
    let parts = log.parts();
    let whole = lines_of(&parts[1]);
    let mut changed = whole.clone();
    let last = changed.len() - 1;
    changed[last] = changed[last].replace("question", "answer");
    write_lines(&parts[1], &changed);
    let found = log.verify().broken.unwrap();
    assert_eq!(found.part, parts[1].clone());
    assert_eq!(found.line, whole.len() as u64);
    assert_eq!(found.kind, BreakKind::Changed);
    write_lines(&parts[1], &whole[1..]);
    let found = log.verify().broken.unwrap();
    assert_eq!(found.part, parts[1].clone());
    assert_eq!(found.line, 1);
    assert_eq!(found.kind, BreakKind::DoesNotFollow);
    write_lines(&parts[1], &whole);
    assert_eq!(log.verify().broken, None);
    fs::remove_file(&parts[0]).unwrap();
    let found = log.verify().broken.unwrap();
    assert_eq!(found.part, parts[1].clone());
    assert_eq!(found.line, 1);
    assert_eq!(found.kind, BreakKind::DoesNotFollow);
}

#[test]
fn trust_runs_in_parts_that_were_put_aside_are_read() {
    let demo = Workplace::with_demo();
    let run = "01938d2e-0000-7000-8000-000000000001";
    let lines: String = (0..900).map(|_| old_line(run, 0, "gone")).collect();
    demo.place().file("data/audit.jsonl", lines);
    let small = |args: &[&str]| {
        let mut command = demo.command(args);
        command.env("KB_AGENT_AUDIT_KEEP_MB", "1");
        command.output().unwrap()
    };
    // The start closes the run and puts the log aside, as it is over a quarter of what is kept.
    let output = small(&["ask", "hello"]);
    assert!(one_line(&output).contains("what of 01938d2e"));
    let log = demo.place().audit();
    assert_eq!(events(&log, "run_started")[0]["query"], "hello");
    let parts: Vec<_> = fs::read_dir(demo.place().data())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("audit.0"))
        .collect();
    assert_eq!(parts.len(), 1);
    let path = text(&demo.run(&["graph", run]).stdout);
    assert!(path.contains("what of 01938d2e"), "{path}");
    assert!(holds(&demo).contains("in 2 parts"));
    let output = small(&["ask", "hello"]);
    assert!(
        output.stderr.is_empty(),
        "closed once: {}",
        text(&output.stderr)
    );
}

#[test]
fn trust_a_crash_raises_no_false_alarm() {
    let demo = Workplace::with_demo();
    demo.ask(&["hello"]);
    let log = demo.place().audit_log();
    // A line that was written and not noted, and one that was cut short.
    let before = fs::read_to_string(log.with_extension("jsonl.head")).unwrap();
    demo.ask(&["hello"]);
    fs::write(log.with_extension("jsonl.head"), before).unwrap();
    holds(&demo);
    let mut torn = fs::read(&log).unwrap();
    torn.extend_from_slice(b"{\"event\":\"run_star");
    fs::write(&log, torn).unwrap();
    holds(&demo);
    demo.ask(&["hello"]);
    let printed = holds(&demo);
    assert!(printed.contains("1 line cut short"), "{printed}");
    let all: Vec<Value> = fs::read_to_string(&log)
        .unwrap()
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    assert_eq!(events(&all, "run_finished").len(), 3);
}
