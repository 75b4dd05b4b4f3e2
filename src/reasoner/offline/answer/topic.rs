//! What a question is about, without the words that ask.

use crate::text::is_chinese;

use super::literals::Literals;
use super::topic_zh::chinese_topic;
use super::words::is_stop;

/// What a question is about: its first words of the question form and its last verbs taken away.
pub(super) fn topic_of(question: &str) -> String {
    let literals = Literals::of(question).keywords();
    if let [only] = literals.as_slice() {
        return only.clone();
    }
    whole_topic_of(question)
}

/// The same, with all that is said beside a name: a reason is asked of what was said of it.
fn whole_topic_of(question: &str) -> String {
    let question = question.trim_end_matches(['?', '？', '。', '.', '!', '！', ' ']);
    if is_chinese(question) {
        return chinese_topic(question);
    }
    let words: Vec<&str> = question.split_whitespace().collect();
    let bare = |word: &str| {
        word.trim_matches(|c: char| !c.is_alphanumeric())
            .to_lowercase()
    };
    let says = |word: &&str| {
        let word = bare(word);
        !(is_stop(&word) || GENERIC.contains(&word.as_str()))
    };
    let first = words.iter().position(&says);
    let last = words.iter().rposition(says);
    let (Some(first), Some(mut last)) = (first, last) else {
        return String::new();
    };
    let auxiliary = |at: usize| words.get(at).is_some_and(|word| is_auxiliary(&bare(word)));
    // What the log holds is asked of the log; the verb is no part of it.
    if bare(words[0]) == "what" && auxiliary(1) && last + 1 == words.len() && last > first {
        last -= 1;
    }
    let topic = (first..=last).filter(|at| !auxiliary(*at));
    let topic: Vec<&str> = topic.map(|at| words[at]).collect();
    let marks = [',', ';', ':', '"', '“', '”', '‘', '’', '\''];
    topic.join(" ").trim_matches(marks).to_owned()
}

fn is_auxiliary(word: &str) -> bool {
    matches!(word, "do" | "does" | "did")
}

/// Verbs and nouns that ask about a topic but are none.
pub(super) const GENERIC: &[&str] = &[
    "work",
    "works",
    "mean",
    "means",
    "happen",
    "happens",
    "use",
    "used",
    "exactly",
    "detail",
    "details",
    "example",
    "examples",
    "purpose",
    "definition",
    "meant",
    "counts",
    "bedeutet",
    "bezeichnet",
    "versteht",
    "get",
    "go",
    "look",
    "like",
    "need",
    "needed",
];
