//! Names that good evidence brings up: the bridge to what the question does not name itself.
//!
//! "Which queue does Kestrel use and how often does it try again?" The first part's evidence says
//! that the queue is Ibis, and only with that name is the second part found.

use std::collections::HashSet;

use crate::text::is_chinese;

use super::ends::sentences;
use super::literals::Literals;
use super::words::{is_stop, terms};

/// More names would only be more noise in one search.
const MOST: usize = 3;
/// So much of the good evidence is read.
const PASSAGES: usize = 3;

/// Names to search with for what is missing, from the sentences nearest to the questions first.
pub(super) fn bridges(good: &[&str], questions: &[String], missing: &[String]) -> Vec<String> {
    let asked: HashSet<String> = questions.iter().flat_map(|q| terms(q)).collect();
    let known = format!("{}\n{}", questions.join("\n"), missing.join("\n")).to_lowercase();
    let mut told: Vec<(usize, String)> = Vec::new();
    for text in good.iter().take(PASSAGES) {
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            for sentence in sentences(line) {
                let held: HashSet<String> = terms(&sentence).into_iter().collect();
                let shared = held.intersection(&asked).count();
                if shared > 0 {
                    told.push((shared, sentence));
                }
            }
        }
    }
    told.sort_by_key(|(shared, _)| std::cmp::Reverse(*shared));
    let mut found: Vec<String> = Vec::new();
    for (_, sentence) in &told {
        for name in names(sentence) {
            if !known.contains(&name.to_lowercase()) && !found.contains(&name) {
                found.push(name);
            }
        }
    }
    found.truncate(MOST);
    found
}

/// Identifiers, tickets, quotations and capitalised names of a sentence.
fn names(sentence: &str) -> Vec<String> {
    let literals = Literals::of(sentence);
    let mut names = literals.identifiers;
    names.extend(literals.tickets);
    let short = |name: &String| name.chars().count() <= 40;
    names.extend(literals.quoted.into_iter().filter(short));
    if is_chinese(sentence) {
        let latin = sentence.split(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c)));
        let latin = latin
            .filter(|word| word.len() > 2 && word.starts_with(|c: char| c.is_ascii_alphabetic()));
        names.extend(latin.map(str::to_owned));
    } else {
        names.extend(capitalised(sentence));
    }
    names
}

/// Runs of capitalised words; the first word of a sentence is capitalised for another reason.
fn capitalised(sentence: &str) -> Vec<String> {
    let mut runs: Vec<Vec<&str>> = vec![Vec::new()];
    for (at, word) in sentence.split_whitespace().enumerate() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let name = at > 0 && bare.starts_with(char::is_uppercase) && !is_stop(&bare.to_lowercase());
        if name && let Some(run) = runs.last_mut() {
            run.push(bare);
        }
        if !name || word.ends_with([',', ';', ')', ':']) {
            runs.push(Vec::new());
        }
    }
    let runs = runs.into_iter().filter(|run| !run.is_empty());
    runs.map(|run| run.join(" ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r21_good_evidence_lends_its_names() {
        for (good, questions, expected) in [
            (
                "# Team\n\nKestrel uses the Ibis queue for jobs. Lunch is at noon in Rome.",
                [
                    "Which queue does Kestrel use?",
                    "How often does the queue try again?",
                ],
                vec!["Ibis"],
            ),
            (
                "The film is based on the novel The Long Way by Ada Berg.",
                [
                    "Which novel is the film based on?",
                    "Who is the author's wife?",
                ],
                vec!["Long Way", "Ada Berg"],
            ),
            (
                "导入服务使用 RabbitMQ 作为队列。",
                ["导入服务用什么队列？", "队列重试几次？"],
                vec!["RabbitMQ"],
            ),
        ] {
            let questions: Vec<String> = questions.iter().map(ToString::to_string).collect();
            assert_eq!(bridges(&[good], &questions, &questions[1..]), expected);
        }
        assert!(bridges(&[], &[], &[]).is_empty());
    }
}
