//! Which passages speak of which others by their titles.
//!
//! A question that needs two documents often names only the first, which in turn names the second.
//! The second then shares few words with the question and is wanted all the same. So being named
//! counts, but only as much as the one that names is itself wanted: where nothing answers the
//! question, nothing is gained by it.

use crate::text::is_cjk;

use super::super::evidence::Passage;
use super::model::{chance, log_odds};
use super::seen::title_of;

/// A shorter name, in letters of an alphabet and of Chinese, is as likely a word like any other.
const SHORTEST: usize = 4;
const SHORTEST_CJK: usize = 3;

/// By how much the log-odds of a passage rise that a surely relevant one names.
const LIFT: f64 = 2.0;

/// Grades with the links: each counts by how relevant the passage that it comes from is by itself.
pub(super) fn linked(grades: &[f64], named_by: &[Vec<usize>]) -> Vec<f64> {
    let best = |by: &Vec<usize>| by.iter().map(|at| grades[*at]).fold(0.0, f64::max);
    let all = grades.iter().zip(named_by);
    all.map(|(grade, by)| chance(log_odds(*grade) + LIFT * best(by)))
        .collect()
}

/// For each passage the places of those of other documents that say its title.
pub(super) fn named_by(passages: &[Passage]) -> Vec<Vec<usize>> {
    let names = |at: usize, passage: &Passage| {
        let title = title_of(&passage.title);
        let others = passages.iter().enumerate().filter(|(other, by)| {
            let apart = passage.source != by.source || passage.source.is_empty();
            *other != at && apart && is_said(title, &by.text)
        });
        others.map(|(other, _)| other).collect()
    };
    passages
        .iter()
        .enumerate()
        .map(|(at, passage)| names(at, passage))
        .collect()
}

/// Whether the text says the title as it stands, capitals included: a title such as "Rules" is not
/// said by every text that speaks of rules.
fn is_said(title: &str, text: &str) -> bool {
    let cjk = title.chars().any(is_cjk);
    if title.chars().count() < if cjk { SHORTEST_CJK } else { SHORTEST } {
        return false;
    }
    let apart = |c: Option<char>| cjk || !c.is_some_and(char::is_alphanumeric);
    text.match_indices(title).any(|(at, found)| {
        apart(text[..at].chars().next_back()) && apart(text[at + found.len()..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_said_as_it_stands() {
        for (title, text, said) in [
            ("Ada Stone", "It was painted by Ada Stone.", true),
            ("Ada Stone", "Stone, Ada", false),
            ("Rules", "the rules come first", false),
            ("Rule", "Rules come first", false),
            ("Oslo", "in Oslo, Norway", true),
            ("Rye", "made of Rye", false),
            ("评分规则", "详见评分规则一节", true),
            ("工具", "使用工具", false),
            ("", "anything", false),
        ] {
            assert_eq!(is_said(title, text), said, "{title}: {text}");
        }
    }

    #[test]
    fn a_passage_named_by_a_good_one_is_better_and_by_a_poor_one_hardly() {
        let named = linked(&[0.9, 0.2, 0.2, 0.0], &[vec![], vec![0], vec![3], vec![]]);
        assert!(named[1] > 0.55 && named[1] < 0.65, "{named:?}");
        assert!((named[0] - 0.9).abs() < 1e-9 && (named[2] - 0.2).abs() < 1e-9);
    }
}
