//! Whether a question asks for several things, and for how many of what.

use super::words::{plain_words, terms};

/// Whether more than one thing is asked for.
///
/// Told by how the question begins: "all" and "table" further on may be part of what is told about
/// something else, as in "why are all scores equal".
pub(super) fn asks_for_several(question: &str) -> bool {
    // What follows a colon is said, not asked.
    let head = question.split(": ").next().unwrap_or(question);
    let words = plain_words(head);
    let mut lead = words
        .iter()
        .map(String::as_str)
        .skip_while(|word| POLITE.contains(word));
    let first = lead.next().unwrap_or_default();
    let rest: Vec<&str> = lead.collect();
    let at = |at: usize| rest.get(at).copied().unwrap_or_default();
    let line = format!(" {} {} ", first, rest.join(" "));
    let says = |cues: &[&str]| cues.iter().any(|cue| line.contains(&format!(" {cue} ")));
    let english = match first {
        "list" | "enumerate" | "liste" | "nenne" | "zähle" => true,
        "name" => matches!(at(0), "the" | "all" | "every" | "some") || number_in(head).is_some(),
        "show" | "give" | "print" | "display" | "get" | "all" | "every" => {
            first == "all" || first == "every" || says(&["all", "every", "list", "table", "each"])
        }
        "what" | "which" | "welche" | "welcher" | "welchen" => {
            at(0) == "are" && !matches!(at(1), "a" | "an")
                || matches!(at(0), "all" | "must" | "needs")
                || number_in(head).is_some()
                || is_plural(at(0))
                || is_plural(at(1)) && !is_verb(at(0))
                || first.starts_with("welche")
        }
        "how" => at(0) == "many",
        "wie" => at(0) == "viele",
        _ => says(&["list of", "list all", "list the", "table of"]),
    };
    let asks = english || says(&["what steps", "which steps", "the steps"]);
    let chinese = [
        "哪些", "列出", "步骤", "表格", "哪三", "哪两", "哪四", "哪几",
    ];
    asks || chinese.iter().any(|cue| question.contains(cue))
        || ["所有", "全部"].iter().any(|cue| question.starts_with(cue))
            && !question.contains("为什么")
        || ["几个", "几种", "几条", "几类", "几项", "几步"]
            .iter()
            .any(|cue| question.contains(cue))
        || !counts_zh(question).is_empty()
}

/// Words in front of what is asked.
const POLITE: &[&str] = &[
    "please", "can", "could", "would", "you", "me", "and", "so", "tell", "i", "want", "need", "to",
    "see", "like", "bitte",
];

/// Verbs that may stand where a noun would be: "what does it list".
fn is_verb(word: &str) -> bool {
    matches!(
        word,
        "is" | "are"
            | "was"
            | "were"
            | "do"
            | "does"
            | "did"
            | "can"
            | "should"
            | "has"
            | "have"
            | "happens"
            | "means"
            | "makes"
            | "causes"
    )
}

/// The noun of "which ports", as a term.
pub(super) fn asked_noun(question: &str) -> Option<String> {
    let words = plain_words(question);
    let [first, noun, ..] = words.as_slice() else {
        return None;
    };
    let asked = matches!(first.as_str(), "which" | "what") && is_plural(noun);
    terms(noun).into_iter().next().filter(|_| asked)
}

/// "tools", not "is", "class" or "happens".
fn is_plural(word: &str) -> bool {
    let verb = [
        "happens", "means", "causes", "does", "makes", "runs", "makes", "follows", "comes",
        "takes", "goes",
    ];
    word.len() > 3
        && word.ends_with('s')
        && !word.ends_with("ss")
        && !word.ends_with("us")
        && !word.ends_with("is")
        && !verb.contains(&word)
}

/// "The four rules" are four, and so are 四条规则.
pub(super) fn number_in(text: &str) -> Option<usize> {
    if let [(_, count), ..] = counts_zh(text).as_slice() {
        return Some(*count);
    }
    let words = plain_words(text);
    let english = [
        "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    ];
    // "Merge two files" does not ask for two things.
    let asks = [
        "the",
        "which",
        "what",
        "these",
        "those",
        "all",
        "name",
        "list",
        "are",
        "its",
        "your",
        "our",
        "their",
        "my",
        "me",
        "first",
        "last",
        "top",
        "main",
        "following",
        "least",
        "only",
    ];
    words.iter().enumerate().find_map(|(at, word)| {
        let count = english.iter().position(|number| word == number)? + 2;
        let before = at.checked_sub(1).map(|before| words[before].as_str());
        before
            .is_none_or(|before| asks.contains(&before))
            .then_some(count)
    })
}

/// Chinese numbers with their measure words, and what they count to.
fn counts_zh(text: &str) -> Vec<(String, usize)> {
    let chars: Vec<char> = text.chars().collect();
    let is_digit = |c: char| "一二两三四五六七八九十".contains(c);
    let mut counts = Vec::new();
    for (end, _) in chars
        .iter()
        .enumerate()
        .filter(|(_, c)| "条个种类步项".contains(**c))
    {
        let before = &chars[..end];
        let length = before.iter().rev().take_while(|c| is_digit(**c)).count();
        let (rest, digits) = before.split_at(end - length);
        // Of hundreds the last digits alone would count something else.
        let is_whole = rest.last().is_none_or(|c| !"百千万零".contains(*c));
        let number = number_zh(digits).filter(|_| is_whole);
        if let Some(count) = number.filter(|count| *count > 1) {
            counts.push((chars[end - length..=end].iter().collect(), count));
        }
    }
    counts
}

/// What 两, 十三 or 二十 counts; nothing for what is no number below a hundred.
fn number_zh(digits: &[char]) -> Option<usize> {
    let one = |c: char| match c {
        '两' => Some(2),
        c => "一二三四五六七八九"
            .chars()
            .position(|digit| digit == c)
            .map(|at| at + 1),
    };
    match digits {
        ['十'] => Some(10),
        ['十', last] => Some(10 + one(*last)?),
        [first, '十'] => Some(10 * one(*first)?),
        [first, '十', last] => Some(10 * one(*first)? + one(*last)?),
        [digit] => one(*digit),
        _ => None,
    }
}

pub(super) fn without_counts(question: &str) -> String {
    let mut rest = question.to_owned();
    for (words, _) in counts_zh(question) {
        rest = rest.replace(&words, " ");
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r23_a_number_counts_what_is_asked_for() {
        for (text, count) in [
            ("Which two settings are there?", Some(2)),
            ("List the four rules", Some(4)),
            ("three tools", Some(3)),
            ("How do I merge two files?", None),
            ("十三条规则是什么？", Some(13)),
            ("二十个文件", Some(20)),
            ("二十五项设置", Some(25)),
            ("两种引擎有什么区别", Some(2)),
            ("一个文件", None),
            ("一百二十条规则", None),
            ("三四个文件", None),
            ("What are its three states?", Some(3)),
            ("这个文件", None),
        ] {
            assert_eq!(number_in(text), count, "{text}");
        }
        assert_eq!(without_counts("十三条规则"), " 规则");
    }
}
