//! Words that carry meaning, in a form in which question and passage can meet.
//!
//! English words are lower-cased and lose their inflection; an identifier counts as a whole and
//! as its parts, so that `KB_AGENT_MAX_ITERATIONS` is met by "max iterations". Scripts without
//! spaces become pairs of characters: measured as good as a dictionary, and nothing to carry.

use std::collections::{HashMap, HashSet};

use crate::text::is_cjk;

/// What a word still weighs that is in this share of the passages, of at least so many.
pub(super) const SAYS_LITTLE: f64 = 0.3;
const EVERYWHERE: f64 = 0.7;
const FEWEST: usize = 5;
/// Longer texts are read up to here: a question or passage never needs more.
const MAX_CHARS: usize = 20_000;

/// Stemmed words and character pairs in order, stop words left out.
pub(super) fn terms(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    for token in tokens(text) {
        match token {
            Token::Word(word) => push_word(&word, &mut terms),
            Token::Cjk(run) => push_cjk(&run, &mut terms),
        }
    }
    terms
}

/// Chinese characters one by one, and the words between them: what is left in common where two
/// texts say the same in other words. Stop words are left out.
pub(super) fn characters(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for token in tokens(text) {
        match token {
            Token::Word(word) => found.push(word.to_lowercase()),
            Token::Cjk(run) => {
                let rest = without_stops(&run);
                let single = rest.chars().filter(|c| !c.is_whitespace());
                found.extend(single.map(String::from));
            }
        }
    }
    found
}

/// The words of a text in lower case as they stand, punctuation gone, contractions written out.
pub(super) fn plain_words(text: &str) -> Vec<String> {
    let text: String = text.chars().take(MAX_CHARS).collect();
    let text = text.to_lowercase().replace(['’', '‘'], "'");
    text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '_' | '-')))
        .map(|word| word.trim_matches(['\'', '-']))
        .filter(|word| !word.is_empty())
        .flat_map(expanded)
        .collect()
}

/// How much each term of a question weighs: less when it says little, more when few of the
/// passages hold it (the inverse document frequency of Robertson and Spärck Jones 1976 over the
/// batch, halved, because a batch was chosen for holding these very terms).
pub(super) fn weights(question: &[String], passages: &[HashSet<String>]) -> HashMap<String, f64> {
    let total = passages.len() as f64;
    question
        .iter()
        .map(|term| {
            let holding = passages.iter().filter(|held| held.contains(term)).count() as f64;
            let idf = (1.0 + (total - holding + 0.5) / (holding + 0.5)).ln();
            let own = if is_weak(term) { 0.3 } else { 1.0 };
            (term.clone(), own * (1.0 + 0.5 * idf.min(3.0)))
        })
        .collect()
}

/// Whether a word is in nearly all that was found, as the name of what all of it is about is.
pub(super) fn is_everywhere(term: &str, passages: &[HashSet<String>]) -> bool {
    let holding = passages.iter().filter(|held| held.contains(term)).count();
    passages.len() >= FEWEST && holding as f64 >= EVERYWHERE * passages.len() as f64
}

/// Whether a word says nothing by itself.
pub(super) fn is_stop(word: &str) -> bool {
    STOP.contains(&word)
}

/// Whether a term narrows little down.
pub(super) fn is_weak(term: &str) -> bool {
    WEAK.contains(&term)
}

enum Token {
    Word(String),
    Cjk(String),
}

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut word = String::new();
    let mut run = String::new();
    for c in text.chars().take(MAX_CHARS).chain([' ']) {
        let cjk = is_cjk(c);
        if !cjk && !run.is_empty() {
            tokens.push(Token::Cjk(std::mem::take(&mut run)));
        }
        let inside = c.is_alphanumeric() || (matches!(c, '_' | '-') && !word.is_empty());
        if (cjk || !inside) && !word.is_empty() {
            tokens.push(Token::Word(std::mem::take(&mut word)));
        }
        if cjk {
            run.push(c);
        } else if inside {
            word.push(c);
        }
    }
    tokens
}

fn push_word(word: &str, terms: &mut Vec<String>) {
    let word = word.trim_end_matches(['_', '-']);
    let parts = parts_of(word);
    if parts.len() > 1 {
        terms.push(word.to_lowercase());
    }
    for part in parts {
        let part = part.to_lowercase();
        if !is_stop(&part) && (part.len() > 1 || part.chars().all(char::is_numeric)) {
            terms.push(stem(&part));
        }
    }
}

/// An identifier as words: `maxItems` is "max items".
pub(super) fn spelt_out(identifier: &str) -> String {
    parts_of(identifier).join(" ").to_lowercase()
}

/// `max_iterations` and `MaxIterations` are "max" and "iterations".
fn parts_of(word: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut lower_before = false;
    for c in word.chars() {
        let separator = matches!(c, '_' | '-');
        if (separator || (c.is_uppercase() && lower_before)) && !part.is_empty() {
            parts.push(std::mem::take(&mut part));
        }
        if !separator {
            part.push(c);
        }
        lower_before = c.is_lowercase();
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

fn without_stops(run: &str) -> String {
    let mut rest = run.to_owned();
    for stop in CJK_STOP {
        rest = rest.replace(stop, " ");
    }
    rest
}

fn push_cjk(run: &str, terms: &mut Vec<String>) {
    for piece in without_stops(run).split_whitespace() {
        let chars: Vec<char> = piece.chars().collect();
        match chars.as_slice() {
            [single] => terms.push(single.to_string()),
            many => terms.extend(many.windows(2).map(|pair| pair.iter().collect::<String>())),
        }
    }
}

/// A light stemmer after Harman 1991 ("How effective is suffixing?"): plural, past, progressive.
/// Short words stay as they are, and no attempt is made at a dictionary form.
fn stem(word: &str) -> String {
    if word.len() < 4 || !word.is_ascii() || word.bytes().any(|b| b.is_ascii_digit()) {
        return word.to_owned();
    }
    let word = if let Some(base) = word.strip_suffix("ies").filter(|b| b.len() > 2) {
        format!("{base}y")
    } else if word.ends_with("sses") || word.ends_with("xes") || word.ends_with("ches") {
        word[..word.len() - 2].to_owned()
    } else if word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("us") {
        word[..word.len() - 1].to_owned()
    } else {
        word.to_owned()
    };
    for suffix in ["ation", "ing", "ed", "er", "ly"] {
        if let Some(base) = word.strip_suffix(suffix).filter(|b| b.len() > 3) {
            let doubled = base.len() > 4
                && base.as_bytes()[base.len() - 1] == base.as_bytes()[base.len() - 2]
                && !base.ends_with("ss")
                && !base.ends_with("ll");
            let base = if doubled {
                &base[..base.len() - 1]
            } else {
                base
            };
            return base.strip_suffix('e').unwrap_or(base).to_owned();
        }
    }
    word.strip_suffix('e')
        .filter(|b| b.len() > 2)
        .unwrap_or(&word)
        .to_owned()
}

fn expanded(word: &str) -> Vec<String> {
    let two = |a: &str, b: &str| vec![a.to_owned(), b.to_owned()];
    match word {
        "whats" | "what's" => two("what", "is"),
        "whos" | "who's" => two("who", "is"),
        "hows" | "how's" => two("how", "is"),
        "im" | "i'm" => two("i", "am"),
        "youre" | "you're" => two("you", "are"),
        "lets" | "let's" => two("let", "us"),
        "id" => two("i", "would"),
        "u" | "ya" => vec!["you".to_owned()],
        "ur" => vec!["your".to_owned()],
        "r" => vec!["are".to_owned()],
        "wanna" => two("want", "to"),
        "gonna" => two("going", "to"),
        _ => match word.split_once('\'') {
            Some((head, "s")) if head != "it" => vec![head.to_owned()],
            Some((head, "s")) => two(head, "is"),
            Some((head, "re")) => two(head, "are"),
            Some((head, "ll")) => two(head, "will"),
            Some((head, "d")) => two(head, "would"),
            Some((head, "ve")) => two(head, "have"),
            _ => vec![word.to_owned()],
        },
    }
}

/// Words of the question form rather than of its subject.
#[rustfmt::skip]
const STOP: &[&str] = &[
    "a", "an", "the", "and", "or", "but", "nor", "so", "if", "then", "than", "of", "in", "on", "at",
    "to", "for", "from", "by", "with", "as", "into", "about", "between", "among", "over", "under",
    "is", "are", "was", "were", "be", "been", "being", "am", "do", "does", "did", "done", "has",
    "have", "had", "having", "can", "could", "will", "would", "shall", "should", "may", "might",
    "must", "what", "which", "who", "whom", "whose", "when", "where", "why", "how", "that", "this",
    "these", "those", "it", "its", "they", "them", "their", "he", "she", "his", "her", "him", "i",
    "me", "my", "we", "us", "our", "you", "your", "there", "here", "not", "no", "please", "tell",
    "explain", "describe", "give", "show", "also", "any", "some", "such", "s", "t", "compare",
    "difference", "differ", "versus", "vs", "both", "each", "out", "up", "let", "hi", "hello", "hey",
    "thanks", "question", "want", "know",
    // German, but for those that are words of English too.
    "der", "das", "den", "dem", "des", "ein", "eine", "einen", "einem", "einer", "eines", "und", "oder", "aber", "ist",
    "sind", "wird", "werden", "wurde", "haben", "habe", "kann", "können", "muss", "müssen", "soll", "darf", "dürfen",
    "wie", "wo", "wann", "wer", "wem", "wen", "wessen", "warum", "wieso", "weshalb", "welche", "welcher", "welches",
    "welchen", "ich", "wir", "sie", "ihr", "mein", "unser", "man", "sich", "mit", "auf", "für", "von", "zum", "zur",
    "im", "bei", "nach", "über", "nicht", "auch", "es", "gibt", "viel", "viele", "bitte", "heißt",
];

/// Stems that narrow little down.
#[rustfmt::skip]
const WEAK: &[&str] = &[
    "us", "use", "work", "mean", "get", "many", "much", "kind", "thing", "happen", "need", "make",
    "take", "find", "way", "type", "name", "first", "new", "different", "possibl", "list", "call",
    "do", "go", "same", "other", "when", "where", "one", "more", "most", "document", "file",
    "工作", "使用", "作用", "意思", "时候", "情况", "问题", "内容", "需要", "方法", "原理", "主要", "具体",
    "文件", "文档", "哪种", "哪一", "用来",
];

/// Longest first, so that a short one does not break a long one.
const CJK_STOP: &[&str] = &[
    "有没有",
    "为什么",
    "是什么",
    "有什么",
    "怎么样",
    "怎么办",
    "有哪些",
    "是哪些",
    "请问",
    "什么",
    "怎么",
    "怎样",
    "如何",
    "哪些",
    "哪几种",
    "几种",
    "几个",
    "哪个",
    "哪里",
    "多少",
    "是否",
    "可以",
    "能否",
    "一下",
    "告诉我",
    "介绍",
    "解释",
    "比较",
    "区别",
    "差异",
    "不同",
    "之间",
    "以及",
    "还有",
    "的",
    "了",
    "吗",
    "呢",
    "吧",
    "是",
    "和",
    "与",
    "跟",
    "在",
    "有",
    "会",
    "被",
    "把",
    "它",
    "你",
    "我",
    "请",
    "几",
    "这",
    "那",
    "就",
    "都",
    "也",
    "应该",
    "一般",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn question_and_passage_meet_in_one_form() {
        for (a, b) in [
            ("thresholds", "threshold"),
            ("graded", "grading"),
            ("grades", "grade"),
            ("planning", "planned"),
            ("searches", "search"),
            ("queries", "query"),
            ("stopped", "stopping"),
        ] {
            assert_eq!(terms(a), terms(b), "{a} {b}");
        }
    }

    #[test]
    fn identifiers_count_whole_and_in_parts() {
        assert_eq!(
            terms("MAX_ITERATIONS PROJ-123"),
            ["max_iterations", "max", "iter", "proj-123", "proj", "123"]
        );
        assert_eq!(terms("VectorTool"), ["vectortool", "vector", "tool"]);
    }

    #[test]
    fn chinese_becomes_pairs() {
        assert_eq!(terms("什么是快速路径？"), ["快速", "速路", "路径"]);
        assert_eq!(terms("它的默认值是多少"), ["默认", "认值"]);
    }

    #[test]
    fn chinese_becomes_characters_too() {
        assert_eq!(characters("什么是 SSH 端口？"), ["ssh", "端", "口"]);
    }

    #[test]
    fn nothing_remains_of_nothing() {
        for text in ["", " ", "😀😀", "?!…", "what is the"] {
            assert!(terms(text).is_empty(), "{text:?}");
        }
    }
}
