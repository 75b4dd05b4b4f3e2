//! What dies, fills up or is of another version: one line each, and nothing lost.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::RwLockWriteGuard;
use serde_json::Value;

use super::{SCHEMA, SERVER, Store, fails, found, kb, notes, script, set, sql, succeeds};
use crate::workplace::{Workplace, text};

#[test]
#[cfg_attr(not(feature = "store-server-tests"), ignore = "needs PostgreSQL")]
fn a_killed_indexer_leaves_a_whole_commit_and_its_right_to_the_next() {
    let notes = Sixty::new();
    let store = Store::prepared(&notes.0);
    let index = ["index", "--kb", &notes.docs()];
    let begun = Instant::now();
    succeeds(&store.run(&notes.0, &index));
    let usual = begun.elapsed();
    let mut random = fastrand::Rng::with_seed(7);
    for kill in 0..kills(8) {
        notes.change_ten(kill);
        let mut child = store.command(&notes.0, &index).spawn().unwrap();
        thread::sleep(Duration::from_secs_f64(usual.as_secs_f64() * random.f64()));
        child.kill().unwrap();
        child.wait().unwrap();
        notes.are_whole(&store, kill);
    }
    let last = store.run(&notes.0, &["index", "--json", "--kb", &notes.docs()]);
    succeeds(&last);
    assert!(!text(&last.stderr).contains("another kb-agent"));
    notes.are_as_undisturbed(&store);
}

/// The server, for a test that stops it; runs again after it, however the test ends.
struct OwnServer {
    _held: RwLockWriteGuard<'static, ()>,
}

impl OwnServer {
    fn hold() -> Self {
        Self {
            _held: SERVER.write(),
        }
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        script("start");
    }
}

/// A folder of sixty notes, ten of which are written anew each time.
struct Sixty(Workplace);

impl Sixty {
    fn new() -> Self {
        let notes = Self(Workplace::empty());
        for n in 0..60 {
            notes.write(n, &format!("number {n}"));
        }
        notes
    }

    fn write(&self, n: usize, what: &str) {
        let text = format!("# Note {n}\n\nThe kiln {what}.\n");
        self.0.file(&format!("docs/{n}.md"), text);
    }

    fn change_ten(&self, time: usize) {
        for n in 0..10 {
            let n = (time * 7 + n) % 60;
            self.write(n, &format!("{n}, time {time}"));
        }
    }

    fn docs(&self) -> String {
        kb(&self.0, "docs")
    }

    /// As many documents as there are files, each with its words.
    fn are_whole(&self, store: &Store, kill: usize) {
        let status = store.status(&self.0);
        assert_eq!(status["spaces"][0]["documents"], 60, "kill {kill}");
        let query = ["search", "--json", "-k", "100", "kiln"];
        let hits = store.run(&Workplace::empty(), &query);
        assert_eq!(found(&hits).len(), 60, "kill {kill}");
    }

    /// What the store says is what one says that nothing disturbed.
    fn are_as_undisturbed(&self, store: &Store) {
        let fresh = Store::unguarded();
        succeeds(&fresh.run(&self.0, &["store", "init"]));
        succeeds(&fresh.run(&self.0, &["index", "--kb", &self.docs()]));
        for query in ["kiln number", "time 3", "note 42"] {
            let of = |store: &Store| {
                let query = ["search", "--tool", "hybrid", "--json", query];
                found(&store.run(&Workplace::empty(), &query))
            };
            assert_eq!(of(store), of(&fresh), "{query}");
        }
    }
}

fn kills(usual: usize) -> usize {
    std::env::var("KB_AGENT_TEST_KILLS").map_or(usual, |n| n.parse().unwrap())
}

#[test]
#[cfg_attr(not(feature = "store-server-tests"), ignore = "needs PostgreSQL")]
fn a_killed_server_comes_back_with_a_whole_commit() {
    let notes = Sixty::new();
    let _server = OwnServer::hold();
    let store = Store::unguarded();
    succeeds(&store.run(&notes.0, &["store", "init"]));
    let index = ["index", "--kb", &notes.docs()];
    let begun = Instant::now();
    succeeds(&store.run(&notes.0, &index));
    let usual = begun.elapsed();
    let mut random = fastrand::Rng::with_seed(11);
    for kill in 0..kills(2) {
        notes.change_ten(kill);
        let mut indexer = store.command(&notes.0, &index);
        let indexer = indexer.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        thread::sleep(Duration::from_secs_f64(usual.as_secs_f64() * random.f64()));
        script("kill");
        let output = indexer.unwrap().wait_with_output().unwrap();
        if !output.status.success() {
            // Where the words were done already, a line says so.
            let lines = text(&output.stderr);
            let last = lines.lines().last().unwrap_or_default();
            assert!(
                last.contains("the store ") && lines.lines().count() <= 2,
                "{lines}"
            );
        }
        script("start");
        notes.are_whole(&store, kill);
    }
    succeeds(&store.run(&notes.0, &index));
    notes.are_as_undisturbed(&store);
}

#[test]
#[cfg_attr(not(feature = "store-server-tests"), ignore = "needs PostgreSQL")]
fn a_path_that_no_index_of_the_server_takes_is_left_out_and_listed() {
    let place = notes();
    let store = Store::prepared(&place);
    let index = ["index", "--kb", &kb(&place, "notes")];
    succeeds(&store.run(&place, &index));
    let folder = "a long name of a folder ".repeat(10);
    let deep = [folder.trim(); 11].join("/");
    place.file(&format!("notes/{deep}/kiln.md"), "# Deep\n\nA deep kiln.\n");
    place.file("notes/new.md", "# New\n\nThe kiln is new.\n");
    let index = [&index[..], &["--json"]].concat();
    for unchanged in [2, 3] {
        let output = store.run(&place, &index);
        succeeds(&output);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["unchanged"], unchanged, "{report}");
        let why = report["skipped"][0]["reason"].as_str().unwrap();
        assert!(why.contains("the limit is 2600 bytes"), "{report}");
    }
    assert_eq!(store.status(&place)["spaces"][0]["documents"], 3);
}

#[test]
#[cfg_attr(not(feature = "store-server-tests"), ignore = "needs PostgreSQL")]
fn a_space_that_is_dropped_under_its_indexer_is_made_anew_whole() {
    let place = notes();
    let store = Store::prepared(&place);
    let index = ["index", "--watch", "--json", "--kb", &kb(&place, "notes")];
    let mut indexer = store.command(&place, &index);
    let mut indexer = indexer.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(indexer.stdout.take().unwrap()).lines();
    let mut ready = lines.map_while(Result::ok).map(|line| {
        let line: Value = serde_json::from_str(&line).unwrap();
        line["ready"].as_str().unwrap_or_default().to_owned()
    });
    assert!(ready.any(|what| what == "embeddings"));
    succeeds(&store.run(&place, &["store", "drop", "team"]));
    place.file("notes/new.md", "# New\n\nThe kiln is new.\n");
    assert!(ready.any(|what| what == "words"));
    let status = store.status(&place);
    indexer.kill().unwrap();
    indexer.wait().unwrap();
    assert_eq!(status["spaces"][0]["documents"], 3);
}

/// What a full disk refuses is one line; what was there stays, and goes on when there is room.
#[test]
#[cfg_attr(not(feature = "store-server-tests"), ignore = "needs PostgreSQL")]
fn a_full_disk_of_the_server_is_one_line_and_loses_nothing() {
    let place = notes();
    let _server = OwnServer::hold();
    // The script mounts it, which only root may.
    let small = set("KB_AGENT_TEST_STORE_SMALL_DISK");
    script("small-disk");
    let space = format!("small_{}", uuid::Uuid::now_v7().simple());
    sql(
        "postgres",
        &format!("CREATE TABLESPACE {space} LOCATION '{small}'"),
    );
    let store = Store::made_with(&format!("TABLESPACE {space}"));
    let notes = kb(&place, "notes");
    let index = ["index", "--kb", &notes];
    succeeds(&store.run(&place, &["store", "init"]));
    succeeds(&store.run(&place, &index));
    let mut random = fastrand::Rng::with_seed(3);
    for n in 0..40 {
        let words = (0..20_000).map(|_| format!("{:x}", random.u32(..)));
        let words: Vec<String> = words.collect();
        place.file(&format!("notes/{n}.md"), words.join(" "));
    }
    let line = fails(&store.run(&place, &index));
    assert!(line.contains("has no room"), "{line}");
    let search = ["search", "--json", "kiln"];
    assert_eq!(found(&store.run(&Workplace::empty(), &search)).len(), 2);
    // A long update commits now and then: what was committed before the disk was full stays too.
    let documents = store.status(&place)["spaces"][0]["documents"].clone();
    assert!(
        (2..42).contains(&documents.as_u64().unwrap()),
        "{documents}"
    );
    for n in 0..40 {
        std::fs::remove_file(place.path().join(format!("notes/{n}.md"))).unwrap();
    }
    place.file("notes/new.md", "# New\n\nThe kiln is new.\n");
    succeeds(&store.run(&place, &index));
    assert_eq!(found(&store.run(&Workplace::empty(), &search)).len(), 3);
    sql("postgres", &format!("DROP DATABASE {}", store.database));
    sql("postgres", &format!("DROP TABLESPACE {space}"));
    script("no-small-disk");
}

#[test]
#[cfg_attr(not(feature = "store-server-tests"), ignore = "needs PostgreSQL")]
fn another_version_has_a_schema_of_its_own() {
    let place = notes();
    let store = Store::prepared(&place);
    let notes = kb(&place, "notes");
    succeeds(&store.run(&place, &["index", "--kb", &notes]));
    // As if an older version had made it.
    store.sql(&format!("ALTER SCHEMA {SCHEMA} RENAME TO kb_v0_1"));
    let line = fails(&store.run(&place, &["search", "--kb", &notes, "kiln"]));
    assert!(line.contains("store init"), "{line}");
    succeeds(&store.run(&place, &["store", "init"]));
    let status = store.status(&place);
    assert_eq!(status["spaces"].as_array().unwrap().len(), 0);
    assert_eq!(status["of_other_versions"][0], "team");
    let line = fails(&store.run(&Workplace::empty(), &["search", "kiln"]));
    assert!(line.contains("the space 'team' (kb_v0_1)"), "{line}");
    assert!(line.contains("store push"), "{line}");
    let doctor = text(&store.run(&Workplace::empty(), &["doctor"]).stdout);
    assert!(
        doctor.contains("of another version of kb-agent: team"),
        "{doctor}"
    );
    succeeds(&store.run(&place, &["store", "push", "--kb", &notes]));
    assert!(
        store.status(&place)["of_other_versions"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    succeeds(&store.run(&place, &["store", "drop", "team"]));
    // The older one is as it was.
    store.sql(&format!(
        "DROP SCHEMA {SCHEMA} CASCADE; ALTER SCHEMA kb_v0_1 RENAME TO {SCHEMA}"
    ));
    let search = store.run(&Workplace::empty(), &["search", "--json", "kiln"]);
    assert_eq!(found(&search).len(), 2);
}

#[test]
#[cfg_attr(not(feature = "store-server-tests"), ignore = "needs PostgreSQL")]
fn a_server_that_dies_is_one_line_and_all_is_there_when_it_is_back() {
    let place = notes();
    let _server = OwnServer::hold();
    let (store, notes) = Store::indexed_unguarded(&place);
    let mut child = store
        .command(&place, &["index", "--rebuild", "--kb", &notes])
        .spawn()
        .unwrap();
    script("kill");
    let _ = child.wait();
    let line = fails(&store.run(&place, &["search", "--kb", &notes, "kiln"]));
    assert!(line.contains("cannot be reached"), "{line}");
    script("start");
    let search = store.run(&Workplace::empty(), &["search", "--json", "kiln"]);
    assert_eq!(found(&search).len(), 2);
    succeeds(&store.run(&place, &["index", "--kb", &notes]));
}

#[test]
#[cfg_attr(not(feature = "store-server-tests"), ignore = "needs PostgreSQL")]
fn a_replica_is_read_while_the_first_server_is_gone() {
    let place = notes();
    let _server = OwnServer::hold();
    let (store, notes) = Store::indexed_unguarded(&place);
    script("standby");
    let url = store.url("kb", "space=team");
    let (before, after) = url.split_once("127.0.0.1:").unwrap();
    let (port, rest) = after.split_once('/').unwrap();
    let replica: u16 = port.parse::<u16>().unwrap() + 1;
    let both = format!("{before}127.0.0.1:{port},127.0.0.1:{replica}/{rest}");
    let run = |place: &Workplace, args: &[&str]| {
        let mut command = store.command(place, args);
        command.env("KB_AGENT_STORE_URL", &both).output().unwrap()
    };
    let elsewhere = Workplace::empty();
    let query = ["search", "--json", "kiln"];
    let first = found(&run(&elsewhere, &query));
    script("kill");
    let from_replica = run(&elsewhere, &query);
    let refused = run(&place, &["index", "--kb", &notes]);
    script("start");
    script("stop-standby");
    assert_eq!(found(&from_replica), first);
    let line = text(&refused.stderr);
    assert!(!refused.status.success(), "{line}");
    assert_eq!(line.trim().lines().count(), 1, "{line}");
    place.file("notes/new.md", "# New\n\nThe kiln is new.\n");
    succeeds(&run(&place, &["index", "--kb", &notes]));
    assert_eq!(found(&run(&elsewhere, &query)).len(), 3);
}
