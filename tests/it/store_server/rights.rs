//! What each role may do: search, index, let others in.

use super::{SCHEMA, Store, fails, fails_with, found, kb, notes, set, sql_as, succeeds};
use crate::support::Said;
use crate::workplace::{Workplace, text};

#[test]
#[cfg_attr(not(feature = "store-server-tests"), ignore = "needs PostgreSQL")]
fn who_may_only_read_searches_and_is_told_so_once() {
    let (place, elsewhere) = (notes(), Workplace::empty());
    let store = Store::prepared(&place);
    let notes = kb(&place, "notes");
    succeeds(&store.run(&place, &["index", "--kb", &notes]));
    let role = format!("reader_{}", &store.database);
    store.sql(&format!("CREATE ROLE {role} LOGIN PASSWORD 'reading'"));
    let as_reader = |args: &[&str]| {
        let mut command = store.command(&elsewhere, args);
        command.env("KB_AGENT_STORE_URL", store.url(&role, "space=team"));
        command
            .env("KB_AGENT_STORE_PASSWORD", "reading")
            .output()
            .unwrap()
    };
    let refused = fails(&as_reader(&["search", "kiln"]));
    assert!(refused.contains("store"), "{refused}");
    let status = fails(&as_reader(&["store", "status"]));
    assert!(status.contains("may not read"), "{status}");
    assert!(status.contains("--print-sql --reader ROLE"), "{status}");
    store.let_in(None, &place, &["--reader", &role]);
    let search = as_reader(&["search", "--json", "kiln"]);
    assert_eq!(found(&search)[0], "notes/kiln.md");
    text(&search.stderr).must_hold("may only be read from here");
    let misspelt = store.url(&role, "space=taem");
    let mut elsewhere_in_vain = store.command(&elsewhere, &["search", "kiln"]);
    elsewhere_in_vain.env("KB_AGENT_STORE_URL", misspelt);
    elsewhere_in_vain.env("KB_AGENT_STORE_PASSWORD", "reading");
    let said = text(&elsewhere_in_vain.output().unwrap().stderr);
    assert!(said.contains("in a space 'taem'"), "{said}");
    let mut looking = store.command(&elsewhere, &["doctor"]);
    looking.env("KB_AGENT_STORE_URL", store.url(&role, "space=taem"));
    looking.env("KB_AGENT_STORE_PASSWORD", "reading");
    let doctor = looking.output().unwrap();
    assert_eq!(doctor.status.code(), Some(1));
    let doctor = text(&doctor.stdout);
    for says in [
        "no space 'taem'",
        "team: 2 documents",
        "this user may read: searches go on",
    ] {
        assert!(doctor.contains(says), "{says}: {doctor}");
    }
    let line = fails(&as_reader(&["index", "--kb", &notes]));
    assert!(line.contains("may only be read"), "{line}");
    // What another role makes later may be read too.
    let indexer = format!("indexer_{}", &store.database);
    store.sql(&format!("CREATE ROLE {indexer} LOGIN PASSWORD 'writing'"));
    store.let_in(None, &place, &["--writer", &indexer]);
    succeeds(&store.run(&place, &["store", "drop", "team"]));
    let mut indexing = store.command(&place, &["index", "--kb", &notes]);
    indexing.env("KB_AGENT_STORE_URL", store.url(&indexer, "space=team"));
    indexing.env("KB_AGENT_STORE_PASSWORD", "writing");
    succeeds(&indexing.output().unwrap());
    assert_eq!(
        found(&as_reader(&["search", "--json", "kiln"]))[0],
        "notes/kiln.md"
    );
    store.sql(&revoked(&role));
    let refused = fails(&as_reader(&["search", "kiln"]));
    assert!(refused.contains("--print-sql --reader ROLE"), "{refused}");
    for role in [role, indexer] {
        store.sql(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
    }
}

#[test]
#[cfg_attr(not(feature = "store-server-tests"), ignore = "needs PostgreSQL")]
fn an_owner_without_rights_over_the_server_lets_others_in_before_and_after_indexing() {
    let secret = "secret";
    let place = notes();
    let store = Store::new();
    let notes = kb(&place, "notes");
    let role = |name: &str| format!("{name}_{}", store.database);
    let roles = ["owner", "indexer", "early", "late"].map(role);
    for role in &roles {
        store.sql(&format!("CREATE ROLE {role} LOGIN PASSWORD 'secret'"));
    }
    let [owner, indexer, early, late] = &roles;
    store.sql(&format!(
        "CREATE EXTENSION vector; GRANT CREATE ON DATABASE {} TO {owner}",
        store.database
    ));
    let by = |role: &str, args: &[&str]| {
        let mut command = store.command(&place, args);
        command.env("KB_AGENT_STORE_URL", store.url(role, "space=team"));
        command
            .env("KB_AGENT_STORE_PASSWORD", "secret")
            .output()
            .unwrap()
    };
    let as_owner = Some((owner.as_str(), secret));
    // The script makes what is missing, too.
    store.let_in(as_owner, &place, &["--writer", indexer, "--reader", early]);
    succeeds(&by(owner, &["store", "init"]));
    succeeds(&by(indexer, &["index", "--kb", &notes]));
    store.let_in(as_owner, &place, &["--reader", late]);
    // Who may write by another role is not let in as a reader.
    let member = format!("GRANT {indexer} TO {late}");
    store.sql(&member);
    let demoted = store.try_to_let_in(as_owner, &place, &["--reader", late]);
    let refused = demoted.unwrap_err();
    let refused = refused.as_db_error().unwrap().message();
    assert!(refused.contains("may still write"), "{refused}");
    store.sql(&member.replace("GRANT", "REVOKE").replace(" TO ", " FROM "));
    // What an indexer wrote stays when it may only read.
    store.let_in(as_owner, &place, &["--reader", indexer]);
    let line = fails(&by(indexer, &["index", "--kb", &notes]));
    assert!(line.contains("may only be read"), "{line}");
    let status = text(&by(early, &["store", "status"]).stdout);
    assert!(status.contains("this user may read\n"), "{status}");
    for reader in [early, late] {
        let search = by(reader, &["search", "--json", "kiln"]);
        assert_eq!(found(&search)[0], "notes/kiln.md");
        sql_as(as_owner, &store.database, &revoked(reader)).unwrap();
        fails(&by(reader, &["search", "kiln"]));
    }
    for role in roles.iter().rev() {
        store.sql(&format!("DROP OWNED BY {role} CASCADE; DROP ROLE {role}"));
    }
}

#[test]
#[cfg_attr(not(feature = "store-server-tests"), ignore = "needs PostgreSQL")]
fn a_store_that_refuses_or_is_not_there_is_one_line_and_no_other_index_is_taken() {
    let place = notes();
    let store = Store::new();
    let notes = kb(&place, "notes");
    let ending = |code: i32, changes: &[(&str, &str)]| {
        let mut command = store.command(&place, &["search", "--kb", &notes, "kiln"]);
        for (name, value) in changes {
            command.env(name, value);
        }
        fails_with(code, &command.output().unwrap())
    };
    let with = |changes: &[(&str, &str)]| ending(1, changes);
    assert!(with(&[]).contains("store init"));
    assert!(with(&[("KB_AGENT_STORE_PASSWORD", "wrong")]).contains("password"));
    let other = set("KB_AGENT_TEST_STORE_CA").replace("ca.crt", "other.crt");
    let unknown = with(&[("KB_AGENT_STORE_CA", &other)]);
    assert!(unknown.contains("in KB_AGENT_STORE_CA"), "{unknown}");
    let missing = ending(2, &[("KB_AGENT_STORE_CA", "/nowhere/ca.crt")]);
    assert!(missing.contains("KB_AGENT_STORE_CA"), "{missing}");
    let misspelt = store.url("kb", "sapce=team");
    let unknown = ending(2, &[("KB_AGENT_STORE_URL", &misspelt)]);
    assert!(unknown.contains("sapce is unknown"), "{unknown}");
    let nowhere = store.url("kb", "");
    let line = ending_without_folder(&store, &nowhere);
    assert!(line.contains("names no space"), "{line}");
    let no_folder = store.run(&place, &["index"]);
    let line = fails_with(2, &no_folder);
    assert!(line.contains("--kb"), "{line}");
    let nowhere = with(&[(
        "KB_AGENT_STORE_URL",
        "postgres://kb@127.0.0.1:1/kb?space=team",
    )]);
    assert!(nowhere.contains("cannot be reached"), "{nowhere}");
    let url = store
        .url("kb", "space=team")
        .replace(&store.database, "no_such_database");
    let refused = with(&[("KB_AGENT_STORE_URL", &url)]);
    assert!(refused.contains("does not exist"), "{refused}");
    refused.must_hold("the database in KB_AGENT_STORE_URL");
    // Nothing was indexed here instead.
    let index = place.path().join("data/index");
    let folders = std::fs::read_dir(index).unwrap().flatten();
    let has_words = folders.into_iter().any(|folder| {
        let inner = std::fs::read_dir(folder.path())
            .into_iter()
            .flatten()
            .flatten();
        inner
            .into_iter()
            .any(|one| one.file_name().to_string_lossy().starts_with('v'))
    });
    assert!(!has_words);
    let bad = place.command(&["search", "kiln"]);
    let mut bad = bad;
    let output = bad
        .env("KB_AGENT_STORE_URL", "mysql://me:hunter2@db/x")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(!text(&output.stderr).contains("hunter2"));
}

/// What takes from a role what it was let do.
fn revoked(role: &str) -> String {
    format!(
        "REVOKE ALL ON ALL TABLES IN SCHEMA {SCHEMA} FROM {role}; REVOKE ALL ON SCHEMA {SCHEMA} FROM {role}"
    )
}

fn ending_without_folder(store: &Store, url: &str) -> String {
    let place = Workplace::empty();
    let mut command = store.command(&place, &["search", "kiln"]);
    fails_with(2, &command.env("KB_AGENT_STORE_URL", url).output().unwrap())
}
