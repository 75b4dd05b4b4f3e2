//! "And its default?" becomes a question that stands alone (R5).
//!
//! Every job resolves in this one way, because a port hands over the raw question and the
//! conversation, never an earlier job's reading of them.

use crate::domain::Turn;
use crate::text::{is_chinese, is_cjk};

use super::elliptic::{CHINESE_PRONOUNS, Elliptic, another_of_its_kind, kind_of};
use super::language;
use super::literals::Literals;
use super::nearest::is_nothing;
use super::ordinals::by_place;
use super::overview::asks_what_there_is;
use super::plainly::plainly;
use super::social::{Social, social};
use super::states::{asks_for_state, in_another_state};
use super::topic_zh::chinese_topic;
use super::words::{is_stop, plain_words, terms};

/// How many turns back a topic is looked for.
const REACH: usize = 4;
/// So many words of its own, or Han characters, are a question that stands alone.
const ENOUGH_WORDS: usize = 3;
const ENOUGH_HAN: usize = 12;

/// The question as it would be asked without the conversation before it.
pub(super) fn resolve(query: &str, history: &[Turn]) -> String {
    let query = &plainly(without_greeting(query.trim()));
    if query.chars().count() > 120 || asks_what_there_is(query) || asks_for_state(query) {
        return query.to_owned();
    }
    if let Some(last) = history.last()
        && let Some(other) = in_another_state(query, last.question.trim())
    {
        return other;
    }
    if language::asked_for(query).is_some() {
        let meant = history.iter().rposition(|turn| {
            social(&turn.question).is_none() && language::asked_for(&turn.question).is_none()
        });
        return meant.map_or(query.to_owned(), |at| {
            resolve(&history[at].question, &history[..at])
        });
    }
    // What found nothing has no items, and says nothing of what is meant.
    if let Some(last) = history.last().filter(|turn| !is_nothing(&turn.answer))
        && let Some(resolved) = by_place(query, &last.answer, || {
            topic_of(&resolve(&last.question, &history[..history.len() - 1]))
        })
    {
        return resolved;
    }
    let previous = history
        .iter()
        .rev()
        .take(REACH)
        .map(|turn| turn.question.trim())
        .filter(|question| social(question).is_none());
    // A question that hangs on an earlier one says little about the topic itself.
    let previous = previous
        .clone()
        .find(|question| kind_of(question).is_none())
        .or_else(|| previous.clone().next());
    let (Some(kind), Some(previous)) = (kind_of(query), previous) else {
        return query.to_owned();
    };
    if is_chinese(query) != is_chinese(previous) && says_enough(query) {
        return query.to_owned();
    }
    let topic = if asks_only_why(query) {
        whole_topic_of(previous)
    } else {
        topic_of(previous)
    };
    if topic.is_empty() {
        return query.to_owned();
    }
    match another_of_its_kind(kind, &topic, previous) {
        Elliptic::Pronoun => with_topic(query, &topic),
        Elliptic::Instead(other) if previous.contains(&topic) => {
            previous.replacen(&topic, &other, 1)
        }
        Elliptic::Instead(other) => other,
        Elliptic::Fragment(rest) if is_chinese(&rest) || is_chinese(query) => {
            let asks = [
                "有",
                "为什么",
                "怎",
                "如何",
                "什么时候",
                "是",
                "在",
                "能",
                "可以",
                "会",
            ]
            .iter()
            .any(|word| rest.starts_with(word));
            let joint = if rest.is_empty() || asks { "" } else { "的" };
            format!("{topic}{joint}{rest}")
        }
        Elliptic::Fragment(rest) if rest.is_empty() => format!("{query} {topic}"),
        Elliptic::Fragment(rest) => format!("{rest} of {topic}?"),
    }
}

/// Whether a question can be looked for with the pronoun left in it: what it says of the asker's own
/// things is asked of the program, and whoever changes the language mostly changes the topic too.
fn says_enough(query: &str) -> bool {
    if is_chinese(query) {
        let han = query.chars().filter(|c| is_cjk(*c)).count();
        return query.contains('我') && han >= ENOUGH_HAN;
    }
    let words = plain_words(query);
    let own = |word: &&String| !is_stop(word) && !GENERIC.contains(&word.as_str());
    let mine =
        |word: &String| matches!(word.as_str(), "my" | "mine" | "our" | "ours" | "me" | "us");
    words.iter().any(mine) && words.iter().filter(own).count() >= ENOUGH_WORDS
}

/// Whether nothing is asked but the reason of what was said.
pub(super) fn asks_only_why(query: &str) -> bool {
    let words = plain_words(query);
    let rest = words
        .iter()
        .filter(|word| !matches!(word.as_str(), "and" | "but" | "so" | "not" | "is" | "that"));
    let rest: Vec<&str> = rest.map(String::as_str).collect();
    matches!(
        rest.as_slice(),
        ["why" | "warum" | "wieso" | "weshalb"] | ["how", "come"]
    ) || matches!(
        query.trim_matches(['?', '？', ' ', '那', '呢']),
        "为什么" | "为何" | "原因"
    )
}

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

/// The question behind "hi," and "你好，".
pub(super) fn without_greeting(query: &str) -> &str {
    let Some(at) = query.find([',', '，', '!', '！', '.', '。']) else {
        return query;
    };
    let (head, tail) = query.split_at(at);
    let tail =
        tail.trim_start_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '"' | '`' | '“'));
    // "I only said hello" is social, but tells what is asked about.
    let greets = social(head).is_some_and(|kind| kind != Social::Other);
    if head.chars().count() <= 30 && greets && !terms(tail).is_empty() {
        tail
    } else {
        query
    }
}

fn with_topic(query: &str, topic: &str) -> String {
    if is_chinese(query) {
        let query = query.trim_start_matches(['那', '么', '，']);
        return CHINESE_PRONOUNS
            .iter()
            .find(|pronoun| query.contains(**pronoun))
            .map_or(query.to_owned(), |pronoun| {
                query.replacen(pronoun, topic, 1)
            });
    }
    let mut words = Vec::new();
    let mut replaced = false;
    for (at, word) in query.split_whitespace().enumerate() {
        let bare = word
            .trim_matches(|c: char| !c.is_alphanumeric())
            .to_lowercase();
        if at == 0 && matches!(bare.as_str(), "and" | "but" | "so" | "then" | "ok") {
            continue;
        }
        let tail: String = word
            .chars()
            .rev()
            .take_while(|c| !c.is_alphanumeric())
            .collect();
        let pronoun = matches!(
            bare.as_str(),
            "it" | "its" | "it's" | "they" | "them" | "their" | "this" | "that" | "these" | "those"
        );
        if pronoun && !replaced {
            replaced = true;
            words.push(format!("{topic}{tail}"));
        } else {
            words.push(word.to_owned());
        }
    }
    words.join(" ")
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

#[cfg(test)]
mod tests {
    use super::*;

    fn after(question: &str, query: &str) -> String {
        let turn = Turn {
            question: question.to_owned(),
            answer: "…".to_owned(),
        };
        resolve(query, &[turn])
    }

    #[test]
    fn r05_follow_ups_take_the_topic() {
        for (before, query, resolved) in [
            (
                "What is the vector score threshold?",
                "and its default?",
                "vector score threshold default?",
            ),
            (
                "What is the vector score threshold?",
                "how is it changed?",
                "how is vector score threshold changed?",
            ),
            (
                "What is the vector score threshold?",
                "and the default?",
                "the default of vector score threshold?",
            ),
            (
                "What does GENERATE mean?",
                "what about REFINE?",
                "What does REFINE mean?",
            ),
            ("How does hybrid search work?", "why?", "why? hybrid search"),
            (
                "什么是快速路径？",
                "它的默认值是多少？",
                "快速路径的默认值是多少？",
            ),
            ("什么是快速路径？", "那它呢", "快速路径"),
            ("什么是快速路径？", "默认值呢？", "快速路径的默认值"),
        ] {
            assert_eq!(after(before, query), resolved, "{query}");
        }
    }

    #[test]
    fn r05_another_language_brings_its_own_topic() {
        for (before, query, resolved) in [
            (
                "快速路径会跳过哪些节点？",
                "Could it accidentally overwrite or edit one of my files?",
                "Could it accidentally overwrite or edit one of my files?",
            ),
            (
                "What is the vector score threshold?",
                "它会不会不小心删掉我自己的文件？",
                "它会不会不小心删掉我自己的文件？",
            ),
            (
                "什么是快速路径？",
                "这个知识库里有什么？",
                "这个知识库里有什么？",
            ),
            (
                "什么是快速路径？",
                "How many of these are skipped by default?",
                "How many of 快速路径 are skipped by default?",
            ),
            (
                "什么是快速路径？",
                "What is its default?",
                "What is 快速路径 default?",
            ),
            (
                "What is the vector score threshold?",
                "它的默认值是多少？",
                "vector score threshold的默认值是多少？",
            ),
        ] {
            assert_eq!(after(before, query), resolved, "{query}");
        }
    }

    #[test]
    fn r05_a_question_that_stands_alone_stays() {
        for query in [
            "What is the vector score threshold?",
            "What is hybrid search and how does it work?",
            "which rule says that few items pass",
            "什么是混合检索？",
            "compare simple and complex",
        ] {
            assert_eq!(after("What is chitchat?", query), query);
        }
        assert_eq!(resolve("and its default?", &[]), "and its default?");
        assert_eq!(
            resolve("hi, what is the threshold?", &[]),
            "what is the threshold?"
        );
        assert_eq!(resolve("你好，请问有几种路由？", &[]), "有几种路由？");
    }
}
