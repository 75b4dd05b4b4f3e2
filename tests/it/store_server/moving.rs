//! Between a store and a data folder: vectors move, and measures agree.

use std::process::Output;

use serde_json::Value;

use super::{Store, fails, kb, notes, succeeds};
use crate::eval::{CORPUS, QRELS, QUERIES};
use crate::support::Said;
use crate::workplace::{Workplace, text};

#[test]
#[cfg_attr(not(feature = "store-server-tests"), ignore = "needs PostgreSQL")]
fn vectors_move_from_a_local_index_to_a_store_without_embedding_again() {
    let place = notes();
    let store = Store::prepared(&place);
    let notes = kb(&place, "notes");
    let local = |args: &[&str]| {
        let mut command = place.command(args);
        command.env("KB_AGENT_DATA_DIR", place.path().join("data"));
        command.output().unwrap()
    };
    succeeds(&local(&["index", "--kb", &notes]));
    let pushed = store.run(&place, &["store", "push", "--kb", &notes]);
    succeeds(&pushed);
    text(&pushed.stdout).must_hold("2 vectors taken over");
    assert!(pushed.stderr.is_empty(), "{}", text(&pushed.stderr));
    succeeds(&store.run(&place, &["store", "drop", "team"]));
    assert_eq!(store.status(&place)["spaces"].as_array().unwrap().len(), 0);
    assert!(fails(&store.run(&place, &["store", "drop", "team"])).contains("no space"));
}

#[test]
#[cfg_attr(not(feature = "store-server-tests"), ignore = "needs PostgreSQL")]
fn a_collection_is_measured_over_the_store_as_over_the_data_folder() {
    let place = Workplace::holding([
        ("tiny/corpus.jsonl", CORPUS),
        ("tiny/queries.jsonl", QUERIES),
        ("tiny/qrels/test.tsv", QRELS),
    ]);
    let store = Store::prepared(&place);
    let measured = |output: &Output| {
        succeeds(output);
        let mut figures: Value = serde_json::from_slice(&output.stdout).unwrap();
        figures["queries_per_second"].take();
        figures
    };
    for tool in ["grep", "vector", "hybrid"] {
        let args = ["eval", "beir", "tiny", "--json", "--tool", tool];
        let over_store = store.run(&place, &args);
        let space = store.status(&place)["spaces"][0].clone();
        assert_eq!(space["documents"], 4);
        let name = space["name"].as_str().unwrap();
        assert!(name.starts_with("eval-"), "{name}");
        assert!(text(&over_store.stderr).contains(name));
        let here = place.command(&args).output().unwrap();
        assert_eq!(measured(&over_store), measured(&here), "{tool}");
    }
}
