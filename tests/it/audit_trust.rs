//! The audit log can be believed: whose file it is, how much is kept, and what a crash leaves.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use kb_agent::audit::{AuditLog, LogSettings, Mask};
use kb_agent::protocol::{Event, EventBody, RunId, SCHEMA, Timestamp};
use serde_json::json;

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

/// A line that begins a run.
fn old_line(run: &str, seq: u64, session: &str) -> String {
    let body = json!({"schema": 1, "ts": "2026-01-01T00:00:00.000Z", "run": run, "seq": seq,
        "event": "run_started", "session": session, "query": format!("what of {run}?"),
        "mode": "offline", "model": "extractive", "settings": {"max_iterations": 3,
        "vector_score_threshold": 0.8, "auto_approve_max_items": 2}});
    format!("{body}\n")
}

/// What a process that was killed leaves beside the log.
fn left_by_a_kill(demo: &Demo) {
    let session = "data/audit.jsonl.live/01938d2e-0000-7000-8000-0000000000ff";
    demo.place().file(session, "");
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
    assert_eq!(mode("audit.jsonl"), 0o600);
    // One that others may read is closed to them.
    fs::set_permissions(place.audit_log(), fs::Permissions::from_mode(0o644)).unwrap();
    place.run_well(&["ask", "hello"]);
    assert_eq!(mode("audit.jsonl"), 0o600);
}

#[test]
fn trust_a_log_of_an_earlier_version_is_continued_and_its_head_stays_as_it_is() {
    let demo = Workplace::with_demo();
    let run = "01938d2e-0000-7000-8000-000000000001";
    let zeros = "0".repeat(64);
    let fields = format!("{{\"prev\":\"{zeros}\",\"noted\":{{\"lines\":3}},");
    let chained = old_line(run, 0, "gone").replacen('{', &fields, 1);
    let old = chained + &old_line("", 3, "");
    demo.place().file("data/audit.jsonl", &old);
    left_by_a_kill(&demo);
    let head = demo.place().file("data/audit.jsonl.head", "notes");
    let output = demo.run_well(&["ask", "hello"]);
    one_line(&output).must_hold("2 runs were interrupted");
    let path = text(&demo.run_well(&["graph", run]).stdout);
    path.must_hold("what of 01938d2e");
    let log = fs::read_to_string(demo.place().audit_log()).unwrap();
    assert!(log.starts_with(&old), "{log}");
    assert_eq!(fs::read_to_string(head).unwrap(), "notes");
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
        left_by_a_kill(&demo);
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
fn trust_what_cannot_be_read_is_passed_over() {
    let demo = Workplace::with_demo();
    let log = demo.place().audit_log();
    let first = old_line("01938d2e-0000-7000-8000-000000000001", 0, "gone");
    demo.place().file("data/audit.jsonl", first + "no event\n");
    left_by_a_kill(&demo);
    // A hole is a line too long to be one of ours.
    let file = fs::OpenOptions::new().append(true).open(&log).unwrap();
    file.set_len(40 << 20).unwrap();
    let output = demo.run_well(&["ask", "hello"]);
    assert!(one_line(&output).contains("interrupted"));
    let runs = demo.run_well(&["runs", "--json"]);
    assert_eq!(json_lines(&runs.stdout).len(), 2);
}

#[test]
fn trust_ten_thousand_interrupted_runs_are_closed_in_one_pass() {
    let demo = Workplace::with_demo();
    let run = |at: usize| format!("01938d2e-0000-7000-8000-{at:012x}");
    let lines: String = (0..10_000)
        .map(|at| old_line(&run(at), 0, "gone"))
        .collect();
    demo.place().file("data/audit.jsonl", lines);
    // Without one that was killed nothing is taken for cut short.
    let first = demo.run_well(&["ask", "hello"]);
    assert_eq!(text(&first.stderr), "");
    left_by_a_kill(&demo);
    let output = demo.run_well(&["ask", "hello"]);
    assert!(one_line(&output).contains("10000 runs were interrupted"));
    let log = fs::read(demo.place().audit_log()).unwrap();
    let log = json_lines(&log);
    assert_eq!(events(&log, "run_finished").len(), 10_002);
}

#[test]
fn trust_many_processes_write_one_log() {
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
    // Each line is one event.
    assert_eq!(events(&demo.place().audit(), "run_finished").len(), 8);
}

fn warning(run: &RunId, seq: u64, message: String) -> Event {
    let code = "test".to_owned();
    Event {
        schema: SCHEMA,
        ts: Timestamp::now(),
        run: run.clone(),
        seq,
        body: EventBody::Warning { code, message },
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
            log.append(&warning(&run, seq, message)).unwrap();
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
}

#[test]
fn trust_an_overgrown_log_is_put_aside_and_its_oldest_parts_go() {
    let mut log = Rotated::keeping(40_000);
    let mut most = 0;
    for _ in 0..60 {
        log.run();
        let files = log.parts().into_iter().chain([log.to.path.clone()]);
        let size: u64 = files
            .map(|path| fs::metadata(path).map_or(0, |meta| meta.len()))
            .sum();
        most = most.max(size);
    }
    assert!(log.parts().len() > 1, "{:?}", log.parts());
    // What one run writes comes on top until the next begins.
    assert!(most < 45_000, "{most}");
    let files = log.parts().into_iter().chain([log.to.path.clone()]);
    let kept: Vec<String> = files
        .flat_map(|path| json_lines(&fs::read(path).unwrap()))
        .map(|line| line["message"].as_str().unwrap().to_owned())
        .collect();
    let written: Vec<String> = (1..=60)
        .flat_map(|asked| (0..10).map(move |seq| format!("{seq} of question {asked}")))
        .collect();
    assert!(kept.len() < written.len(), "the oldest went");
    assert_eq!(kept, written[written.len() - kept.len()..]);
}

#[test]
fn trust_runs_in_parts_that_were_put_aside_are_read() {
    let demo = Workplace::with_demo();
    let run = "01938d2e-0000-7000-8000-000000000001";
    let lines: String = (0..900).map(|_| old_line(run, 0, "gone")).collect();
    demo.place().file("data/audit.jsonl", lines);
    left_by_a_kill(&demo);
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
    let output = small(&["ask", "hello"]);
    assert!(
        output.stderr.is_empty(),
        "closed once: {}",
        text(&output.stderr)
    );
}

#[test]
fn trust_a_line_that_a_crash_cut_short_is_ended_and_passed_over() {
    let demo = Workplace::with_demo();
    let log = demo.place().file("data/audit.jsonl", "");
    // Some file systems leave zeros in the place of what was not written.
    for left in [
        "{\"schema\": 1, \"ts\": \"20",
        "{\"event\":\"run_star",
        "{\"event\":\"run_star\0\0\0",
    ] {
        let torn = fs::read_to_string(&log).unwrap() + left;
        fs::write(&log, &torn).unwrap();
        demo.ask(&["hello"]);
        let written = fs::read_to_string(&log).unwrap();
        let rest = written.strip_prefix(&torn).unwrap();
        assert!(rest.starts_with('\n'), "{rest}");
        assert_eq!(json_lines(&rest.as_bytes()[1..])[0]["event"], "run_started");
    }
    let runs = demo.run_well(&["runs", "--json"]);
    assert_eq!(json_lines(&runs.stdout).len(), 3);
    // One that was ended by somebody else begins no log of ours.
    fs::write(&log, "{\"schema\": 1, \"ts\": \"20\n").unwrap();
    one_line(&demo.run(&["ask", "hello"])).must_hold("no audit log");
}

#[test]
fn trust_an_event_that_is_too_long_for_a_line_is_shortened() {
    /// The longest line.
    const LONG: usize = 16 << 20;
    let log = Rotated::keeping(1 << 30);
    let mut writer = AuditLog::open(&log.to, Mask::default()).unwrap();
    for message in ["long ".repeat(LONG / 5 + 1), "short".to_owned()] {
        writer
            .append(&warning(&RunId::generate(), 0, message))
            .unwrap();
    }
    let lines = json_lines(&fs::read(&log.to.path).unwrap());
    let shortened = lines[0]["message"].as_str().unwrap();
    let left_out = (LONG / 5 + 1) * 5 - (1 << 20);
    assert!(shortened.starts_with("long long "));
    assert!(shortened.ends_with(&format!("… [{left_out} bytes left out]")));
    assert_eq!(lines[1]["message"], "short");
}
