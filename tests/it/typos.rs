//! Misspelt words of a query, over a real index.

use kb_agent::kb::{Hit, KnowledgeBase, SearchMode};

use crate::kb::Bench;

fn base() -> (Bench, KnowledgeBase) {
    let bench = Bench::new(&[
        ("retrieval.md", "Retrieval finds passages.\n"),
        ("configuration.md", "Configuration of the embedding.\n"),
        ("threshold.md", "The threshold for a passage is low.\n"),
        ("PROJ-123.md", "Ticket PROJ-123 is about speed.\n"),
        ("speed.md", "High speed trains.\n"),
        ("zh.md", "审计日志在这里。\n"),
    ]);
    let base = bench.indexed();
    (bench, base)
}

fn words(base: &KnowledgeBase, query: &str) -> Vec<Hit> {
    base.search(SearchMode::Lexical, query, 10).unwrap()
}

fn sources(base: &KnowledgeBase, query: &str) -> Vec<String> {
    words(base, query)
        .into_iter()
        .map(|hit| hit.source)
        .collect()
}

#[test]
fn a_misspelt_word_finds_what_was_meant() {
    let (_bench, base) = base();
    for (query, source) in [
        ("retreival", "retrieval.md"),
        ("retrieva", "retrieval.md"),
        ("Xetrieval", "retrieval.md"),
        ("treshold", "threshold.md"),
        ("configuraton", "configuration.md"),
        ("cofniguration", "configuration.md"),
        ("speeed", "speed.md"),
    ] {
        assert_eq!(
            sources(&base, query).first().map(String::as_str),
            Some(source),
            "{query}"
        );
    }
}

#[test]
fn of_a_text_that_the_index_does_not_know_only_the_first_words_are_looked_up() {
    let (_bench, base) = base();
    let letter = |at: usize| char::from(b'a' + (at % 26) as u8);
    let word = |at: usize| String::from_iter(['q', 'x', 'z', letter(at / 26), letter(at), ' ']);
    let unknown = |count: usize| (0..count).map(word).collect::<String>();
    let asked = |before: usize| sources(&base, &format!("{}retreival", unknown(before)));
    assert_eq!(asked(20), ["retrieval.md"]);
    assert!(asked(40).is_empty());
    let known = format!("{}retrieval", unknown(40));
    assert_eq!(sources(&base, &known), ["retrieval.md"]);
}

#[test]
fn a_corrected_word_is_less_than_certain() {
    let (_bench, base) = base();
    let best = |query: &str| words(&base, query).remove(0);
    let (right, wrong) = (best("threshold"), best("treshold"));
    assert_eq!(right.source, wrong.source);
    assert!(wrong.measured.bm25 < right.measured.bm25, "{wrong:?}");
    assert!(wrong.measured.share < right.measured.share, "{wrong:?}");
    assert!(wrong.score < right.score, "{wrong:?}");
}

#[test]
fn a_misspelt_question_means_what_the_right_one_means() {
    let (_bench, base) = base();
    let found = |query: &str| -> Vec<(String, Option<f64>)> {
        let hits = base.search(SearchMode::Hybrid, query, 10).unwrap();
        hits.into_iter()
            .map(|hit| (hit.source, hit.measured.cosine))
            .collect()
    };
    for (right, wrong) in [
        ("threshold", "treshold"),
        ("retrieval", "retreival"),
        ("passage threshold", "pasasge threshold"),
    ] {
        let found = [right, wrong].map(found);
        assert!(found[0][0].1 > Some(0.3), "{found:?}");
        assert_eq!(found[0], found[1], "{wrong}");
    }
}

#[test]
fn what_is_exact_or_too_short_is_never_corrected() {
    let (_bench, base) = base();
    for query in ["PROJ123", "PROX-999", "hgh", "审记", "quaternion", "123456"] {
        let found = sources(&base, query);
        let is_there = query == "审记";
        assert_eq!(!found.is_empty(), is_there, "{query}: {found:?}");
    }
}

#[test]
fn words_that_exist_are_not_spread_to_their_neighbours() {
    let bench = Bench::new(&[
        ("a.md", "form\n"),
        ("b.md", "from\n"),
        ("c.md", "forms farm\n"),
    ]);
    let base = bench.indexed();
    assert_eq!(sources(&base, "farm"), ["c.md"]);
    // A joined word that is written apart counts by its parts.
    let bench = Bench::new(&[("a.md", "high speed\n"), ("b.md", "slow\n")]);
    let base = bench.indexed();
    let (joined, apart) = (words(&base, "high-speed"), words(&base, "high speed"));
    assert_eq!(joined[0].measured.share, apart[0].measured.share);
}
