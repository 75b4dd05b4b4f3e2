//! What `audit verify` says of a log that was tampered with, before and after further questions.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use kb_agent::audit::{
    AuditLog, BreakKind, LogSettings, LogVerification, Mask, Session, UnwitnessedEnd, verify,
};
use kb_agent::protocol::{Event, RunId, Update};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::audit_trust::lines_of;
use crate::workplace::{Demo, Workplace, one_line, text};

/// Events of a run.
const EVENTS: u64 = 4;

/// A log that sessions write to as the program does, without a question being answered.
struct Log {
    home: tempfile::TempDir,
    to: LogSettings,
}

impl Log {
    fn new() -> Self {
        Self::keeping(1 << 30)
    }

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
        }
    }

    /// A session that answers so many questions.
    fn session(&self, runs: usize) {
        let mut session = Open::begin(&self.to);
        for _ in 0..runs {
            session.run();
        }
        session.end();
    }

    fn path(&self) -> &Path {
        &self.to.path
    }

    fn head(&self) -> PathBuf {
        self.to.path.with_extension("jsonl.head")
    }

    fn lines(&self) -> Vec<String> {
        lines_of(self.path())
    }

    fn write(&self, lines: &[String]) {
        fs::write(self.path(), lines.join("\n") + "\n").unwrap();
    }

    fn verify(&self) -> LogVerification {
        verify(self.path()).unwrap()
    }

    fn broken(&self) -> Option<(BreakKind, u64)> {
        self.verify()
            .broken
            .map(|broken| (broken.kind, broken.line))
    }

    /// The parts that were put aside, oldest first.
    fn parts(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.home.path()).unwrap();
        let mut parts: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        parts.retain(|path| {
            path != self.path() && path.extension().is_some_and(|end| end == "jsonl")
        });
        parts.sort();
        parts
    }
}

/// A session that is going on.
struct Open {
    _session: Session,
    events: mpsc::Sender<Event>,
    updates: mpsc::Receiver<Update>,
    writer: std::thread::JoinHandle<()>,
}

impl Open {
    fn begin(to: &LogSettings) -> Self {
        let (session, _) = AuditLog::begin_session(to, Mask::default()).unwrap();
        let log = AuditLog::open(to, Mask::default()).unwrap();
        let (events, received) = mpsc::channel(1);
        // More than the events of a test and of what goes wrong meanwhile.
        let (readers, updates) = mpsc::channel(10_000);
        Self {
            _session: session,
            events,
            updates,
            writer: log.spawn(received, readers).unwrap(),
        }
    }

    fn run(&mut self) {
        let run = RunId::generate();
        (0..EVENTS).for_each(|seq| self.event(&run, seq));
    }

    /// One event of a run; it is on disk afterwards, and its run's end perhaps not noted yet.
    fn event(&mut self, run: &RunId, seq: u64) {
        let event = if seq + 1 < EVENTS {
            json!({"schema": 1, "ts": "2026-01-01T00:00:00.000Z", "run": run, "seq": seq,
                "event": "warning", "code": "test", "message": format!("{seq}")})
        } else {
            json!({"schema": 1, "ts": "2026-01-01T00:00:00.000Z", "run": run, "seq": seq,
                "event": "run_finished", "outcome": "answered", "path": [], "iterations": 0,
                "reasoning_calls": 0, "calls_saved": 0, "prompt_tokens": 0,
                "completion_tokens": 0, "ms": 1.0})
        };
        let event = serde_json::from_value(event).unwrap();
        self.events.blocking_send(event).unwrap();
        while !matches!(self.updates.blocking_recv(), Some(Update::Event(_))) {}
    }

    fn end(self) {
        drop(self.events);
        self.writer.join().unwrap();
    }
}

fn append(path: &Path, text: &str) {
    let mut log = fs::OpenOptions::new().append(true).open(path).unwrap();
    log.write_all(text.as_bytes()).unwrap();
}

/// An event that refers to what `prev` says, or to nothing.
fn foreign(seq: u64, prev: Option<&str>) -> String {
    let mut event = json!({"schema": 1, "ts": "2026-01-01T00:00:00.000Z", "run": "01938d2e-foreign",
        "seq": seq, "event": "warning", "code": "forged", "message": "x"});
    if let Some(prev) = prev {
        event["prev"] = Value::String(prev.to_owned());
    }
    event.to_string()
}

fn fails(demo: &Demo, args: &[&str]) -> String {
    let output = demo.run(args);
    let printed = format!("{}{}", text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{printed}");
    printed
}

#[test]
fn trust_a_line_of_no_event_at_the_end_stays_named_after_the_next_question() {
    for added in [
        "text\n",
        "{\"not\": \"ours\"}\n",
        // A beginning of an event that was ended by hand, and text that was not ended.
        "{\"event\":\"run_star\n",
        "text",
        "\n",
    ] {
        let demo = Workplace::with_demo();
        demo.ask(&["hello"]);
        let log = demo.place().audit_log();
        let number = lines_of(&log).len() + 1;
        append(&log, added);
        let expected = format!("line {number} was added");
        for _ in 0..3 {
            let line = fails(&demo, &["audit", "verify"]);
            assert!(line.contains(&expected), "{added:?}: {line}");
            demo.ask(&["hello"]);
        }
    }
}

#[test]
fn trust_a_missing_head_is_reported_and_stays_reported_after_the_next_question() {
    for cut in [0, 2] {
        let demo = Workplace::with_demo();
        demo.ask(&["hello"]);
        let log = demo.place().audit_log();
        let head = log.with_extension("jsonl.head");
        let mut whole = lines_of(&log);
        whole.truncate(whole.len() - cut);
        fs::write(&log, whole.join("\n") + "\n").unwrap();
        fs::remove_file(&head).unwrap();
        let line = fails(&demo, &["audit", "verify"]);
        assert!(line.contains("audit.jsonl.head"), "{line}");
        assert!(line.contains("missing"), "{line}");
        let doctor = fails(&demo, &["doctor"]);
        assert!(doctor.contains("audit.jsonl.head"), "{doctor}");
        let expected = format!("line {} was written", whole.len() + 1);
        for _ in 0..2 {
            demo.run_well(&["ask", "hello"]);
            let line = fails(&demo, &["audit", "verify"]);
            assert!(
                line.contains(&expected) && line.contains("missing"),
                "{line}"
            );
            assert!(fails(&demo, &["doctor"]).contains(&expected));
            assert!(head.exists());
        }
        // Without the head that was made since, the line itself says it.
        fs::remove_file(&head).unwrap();
        assert!(fails(&demo, &["audit", "verify"]).contains(&expected));
    }
}

#[test]
fn trust_a_copy_of_an_earlier_line_at_the_end_is_named_itself() {
    let log = Log::new();
    log.session(2);
    let whole = log.lines();
    for copied in 0..whole.len() {
        log.write(&whole);
        append(log.path(), &format!("{}\n", whole[copied]));
        let added = Some((BreakKind::DoesNotFollow, whole.len() as u64 + 1));
        assert_eq!(log.broken(), added, "of line {}", copied + 1);
    }
    // However far away the line is that was copied.
    let log = Log::new();
    log.session(400);
    let whole = log.lines();
    append(log.path(), &format!("{}\n{}\n", whole[3], whole[4]));
    let added = Some((BreakKind::DoesNotFollow, whole.len() as u64 + 1));
    assert_eq!(log.broken(), added);
    log.session(1);
    assert_eq!(log.broken(), added);
}

#[test]
fn audit_verify_says_that_there_is_no_log_yet() {
    let demo = Workplace::with_demo();
    let output = demo.run_well(&["audit", "verify"]);
    assert!(output.stderr.is_empty());
    let printed = text(&output.stdout);
    assert!(printed.contains("no audit log yet"), "{printed}");
    assert!(!demo.place().audit_log().exists());
    // A name that was given is a name that was meant.
    let output = demo.run(&["audit", "verify", "nowhere.jsonl"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(one_line(&output).contains("nowhere.jsonl"));
}

#[test]
fn audit_verify_says_the_times_of_the_first_and_the_last_chained_event() {
    let demo = Workplace::with_demo();
    // A line of an older version stands before the chain: its time is not vouched for.
    let old = foreign(0, None).replace("2026-01-01", "2020-01-01");
    demo.place().file("data/audit.jsonl", &(old + "\n"));
    let chained_times = || {
        let output = demo.run(&["audit", "verify"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let printed = text(&output.stdout);
        let told = printed
            .lines()
            .find_map(|line| line.strip_prefix("events of the chain: "));
        told.map(str::to_owned)
    };
    assert_eq!(chained_times(), None);
    demo.ask(&["hello"]);
    let lines = lines_of(&demo.place().audit_log());
    let time = |line: &String| {
        let event: Value = serde_json::from_str(line).unwrap();
        event["ts"].as_str().unwrap().to_owned()
    };
    let expected = format!("{} to {}", time(&lines[1]), time(lines.last().unwrap()));
    assert_eq!(chained_times(), Some(expected));
}

/// A log of two sessions, one of which answered two questions.
fn written() -> (Log, Vec<String>) {
    let log = Log::new();
    log.session(2);
    log.session(1);
    assert_eq!(log.broken(), None);
    let lines = log.lines();
    assert_eq!(lines.len() as u64, 3 * EVENTS);
    (log, lines)
}

/// What is found right after the change, and after one and two further sessions. A log whose first
/// line is none of ours is not written to.
fn found(log: &Log, changed: &[String], head: &[u8]) -> [Option<(BreakKind, u64)>; 3] {
    log.write(changed);
    fs::write(log.head(), head).unwrap();
    let at_once = log.broken();
    if serde_json::from_str::<Event>(&changed[0]).is_err() {
        assert!(AuditLog::open(&log.to, Mask::default()).is_err());
        return [at_once; 3];
    }
    log.session(1);
    let once = log.broken();
    log.session(1);
    [at_once, once, log.broken()]
}

#[test]
fn trust_the_first_odd_line_or_the_one_behind_it_is_named_now_and_after_further_questions() {
    let (log, whole) = written();
    let head = fs::read(log.head()).unwrap();
    let mut wrong = Vec::new();
    let mut check = |what: String, changed: &[String], line: usize| {
        let found = found(&log, changed, &head);
        let odd = line as u64..=line as u64 + 1;
        if !(found.iter()).all(|found| found.is_some_and(|(_, line)| odd.contains(&line))) {
            wrong.push(format!("{what}: {line}, found {found:?}"));
        }
    };
    let random = "ab".repeat(32);
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] = changed[at].replacen("\"seq\":", "\"seq\":1", 1);
        check(format!("seq {at}"), &changed, at + 1);
        changed[at] = foreign(0, Some(&random));
        check(format!("forged {at}"), &changed, at + 1);
        changed[at] = "gone".to_owned();
        check(format!("gone {at}"), &changed, at + 1);
        // What begins a log and is no event could be older than the chain.
        if at > 0 && at + 1 < whole.len() {
            changed[at + 1] = "gone as well".to_owned();
            check(format!("two gone {at}"), &changed, at + 1);
        }
        for count in 1..=3.min(whole.len() - at) {
            let mut changed = whole.clone();
            changed.drain(at..at + count);
            check(format!("{count} from {at}"), &changed, at + 1);
        }
    }
    for at in 0..=whole.len() {
        let mut added = vec![
            vec!["text".to_owned()],
            vec![String::new()],
            vec!["text".to_owned(), "more text".to_owned()],
            vec![foreign(0, None)],
            vec![foreign(0, Some(&random))],
            vec![foreign(0, Some(&random)), foreign(1, None)],
            vec![foreign(0, Some(&random)), foreign(1, Some(&random))],
        ];
        // A line that stands before its own copy is the first of two.
        let copies = (0..whole.len()).filter(|from| *from != at);
        added.extend(copies.clone().map(|from| vec![whole[from].clone()]));
        added.extend(copies.filter_map(|from| Some(whole.get(from..from + 2)?.to_vec())));
        for lines in added {
            let mut changed = whole.clone();
            changed.splice(at..at, lines.iter().cloned());
            check(format!("{lines:?} at {at}"), &changed, at + 1);
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn trust_no_cut_is_healed_by_removing_the_head_as_well() {
    let (log, whole) = written();
    for kept in 1..=whole.len() {
        log.write(&whole[..kept]);
        fs::remove_file(log.head()).unwrap();
        let head = log.head();
        assert_eq!(unwitnessed(&log), Some(UnwitnessedEnd::End { head }));
        let (part, line) = (log.path().to_owned(), kept as u64 + 1);
        let expected = Some(UnwitnessedEnd::Line { part, line });
        for _ in 0..2 {
            log.session(1);
            assert_eq!(unwitnessed(&log), expected, "of {kept} lines");
            assert!(log.head().exists());
        }
        // What changes from then on is named as ever.
        let mut changed = log.lines();
        changed.remove(kept + 2);
        log.write(&changed);
        assert_eq!(
            log.broken(),
            Some((BreakKind::DoesNotFollow, kept as u64 + 3))
        );
    }
    // A head that cannot be read is none.
    log.write(&whole);
    fs::write(log.head(), "{").unwrap();
    let head = log.head();
    assert_eq!(unwitnessed(&log), Some(UnwitnessedEnd::End { head }));
}

/// What is reported of a log whose chain holds.
fn unwitnessed(log: &Log) -> Option<UnwitnessedEnd> {
    let found = log.verify();
    assert_eq!(found.broken, None);
    found.unwitnessed
}

#[test]
fn trust_a_head_that_vanishes_during_a_session_is_reported_for_good() {
    let log = Log::new();
    let mut session = Open::begin(&log.to);
    let run = RunId::generate();
    session.event(&run, 0);
    fs::remove_file(log.head()).unwrap();
    (1..EVENTS).for_each(|seq| session.event(&run, seq));
    session.run();
    session.end();
    let (part, line) = (log.path().to_owned(), EVENTS + 1);
    assert_eq!(unwitnessed(&log), Some(UnwitnessedEnd::Line { part, line }));
    assert!(log.head().exists());
    // The one that was there before the first line raises no alarm.
    let log = Log::new();
    drop(Open::begin(&log.to));
    assert_eq!((unwitnessed(&log), log.verify().lines), (None, 0));
    assert!(log.head().exists());
}

#[test]
fn trust_foreign_lines_are_named_without_the_head_too() {
    let (log, whole) = written();
    for (added, how) in [
        ("text".to_owned(), BreakKind::NotOurs),
        (foreign(0, None), BreakKind::NotOurs),
        (whole[2].clone(), BreakKind::DoesNotFollow),
    ] {
        log.write(&whole);
        append(log.path(), &format!("{added}\n"));
        let _ = fs::remove_file(log.head());
        let expected = Some((how, whole.len() as u64 + 1));
        assert_eq!(log.broken(), expected, "{added}");
        log.session(1);
        assert_eq!(log.broken(), expected, "{added}");
    }
}

#[test]
fn trust_a_torn_line_is_counted_and_never_taken_for_an_added_one() {
    let (log, whole) = written();
    let head = fs::read(log.head()).unwrap();
    let next = &whole[0];
    for end in [1, 2, 5, 20, next.len() - 1] {
        log.write(&whole);
        fs::write(log.head(), &head).unwrap();
        append(log.path(), &next[..end]);
        for _ in 0..3 {
            let found = log.verify();
            assert_eq!(found.fault(), None, "{}", &next[..end]);
            assert_eq!(found.unreadable, 1);
            log.session(1);
        }
    }
}

#[test]
fn trust_putting_a_log_aside_heals_nothing() {
    let overgrown = |edit: &dyn Fn(&Path)| {
        let log = Log::keeping(40_000);
        // The end is noted with each question, and the log put aside once it is over a quarter.
        while log.parts().is_empty() {
            log.session(1);
        }
        let mut lines = log.lines();
        while lines.join("\n").len() < 8_000 {
            log.session(1);
            lines = log.lines();
        }
        assert_eq!(log.parts().len(), 1);
        edit(log.path());
        let broken = log.broken();
        // Less is kept from now on: the next session begins by putting it aside.
        let less = LogSettings {
            keep_bytes: 28_000,
            ..log.to.clone()
        };
        for _ in 0..2 {
            let mut session = Open::begin(&less);
            session.run();
            session.end();
        }
        assert_eq!(log.parts().len(), 2);
        let found = log.verify().broken.expect("it is seen");
        assert_eq!(found.part, log.parts()[1]);
        (lines.len() as u64, broken, (found.kind, found.line))
    };
    let (lines, before, after) = overgrown(&|log| append(log, "text\n"));
    assert_eq!(before, Some((BreakKind::NotOurs, lines + 1)));
    assert_eq!(Some(after), before);
    let (lines, before, after) = overgrown(&|log| {
        let kept = lines_of(log);
        fs::write(log, kept[..kept.len() - 2].join("\n") + "\n").unwrap();
    });
    assert_eq!(before, Some((BreakKind::Removed, lines - 1)));
    // What comes next does not follow from what is left.
    assert_eq!(after, (BreakKind::DoesNotFollow, lines - 1));
}

#[test]
fn trust_a_log_that_is_written_and_put_aside_meanwhile_raises_no_false_alarm() {
    let log = Log::keeping(40_000);
    let writer = std::thread::spawn({
        let to = log.to.clone();
        move || {
            for _ in 0..40 {
                let mut session = Open::begin(&to);
                (0..10).for_each(|_| session.run());
                session.end();
            }
        }
    });
    let mut verified = 0;
    let mut faults = Vec::new();
    while !writer.is_finished() {
        // The writer may not have begun.
        faults.extend(log.verify().fault());
        verified += 1;
    }
    writer.join().unwrap();
    assert!(verified > 50, "{verified}");
    assert_eq!(faults, Vec::<String>::new(), "of {verified}");
    assert_eq!(log.verify().fault(), None);
    assert!(log.parts().len() > 1);
}

#[test]
fn trust_an_event_that_is_too_long_for_a_line_is_shortened_and_raises_no_alarm() {
    /// The longest line.
    const LONG: usize = 16 << 20;
    let log = Log::new();
    log.session(1);
    let run = RunId::generate();
    let event = |message: &str| -> Event {
        let event = json!({"schema": 1, "ts": "2026-01-01T00:00:00.000Z", "run": run, "seq": 0,
            "event": "warning", "code": "test", "message": message});
        serde_json::from_value(event).unwrap()
    };
    let mut writer = AuditLog::open(&log.to, Mask::default()).unwrap();
    writer
        .append(&event(&"long ".repeat(LONG / 5 + 1)))
        .unwrap();
    writer.append(&event("short")).unwrap();
    drop(writer);
    log.session(1);
    let found = log.verify();
    assert_eq!((found.fault(), found.unreadable), (None, 0));
    let lines = log.lines();
    let written = &lines[EVENTS as usize];
    assert!(written.len() < 2 << 20, "{}", written.len());
    let shortened: Event = serde_json::from_str(written).unwrap();
    let kb_agent::protocol::EventBody::Warning { message, .. } = shortened.body else {
        panic!("{:?}", shortened.body);
    };
    assert!(message.starts_with("long long "));
    let left_out = (LONG / 5 + 1) * 5 - (1 << 20);
    assert!(message.ends_with(&format!("… [{left_out} bytes left out]")));
}
