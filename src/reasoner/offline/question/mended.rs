use strsim::osa_distance;

use super::super::language::{is_stop, language_of, terms};
use super::literals::literals_of;
use crate::domain::Language;

/// Shorter words are too near to too many; longer ones are no words, in letters.
const LETTERS: std::ops::RangeInclusive<usize> = 5..=24;
/// What is longer is no question, in bytes.
const LONGEST: usize = 2_000;

/// The question with its slips mended, where there are any.
///
/// A word that is not `known` is taken for the nearest word of the `vocabulary` that differs by a slip
/// (Damerau 1964: four of five slips are one letter), else for the only known word that does. Names and
/// what must be found literally are never touched.
pub(in super::super) fn mended(
    question: &str,
    known: impl Fn(&str) -> bool,
    vocabulary: &[&str],
) -> Option<String> {
    // What is known is English.
    if question.len() > LONGEST || language_of(question) != Language::En {
        return None;
    }
    let literals = literals_of(question);
    let mut named = literals.keywords();
    named.extend(literals.paths.into_iter().map(|named| named.path));
    let outside = |c: char| !c.is_alphanumeric() && c != '_';
    let mut meant = String::with_capacity(question.len());
    for piece in question.split_inclusive(outside) {
        let word = piece.trim_end_matches(outside);
        let lower = word.to_lowercase();
        let plain = word.chars().all(|c| c.is_ascii_alphabetic())
            && !word
                .chars()
                .skip(usize::from(meant.is_empty()))
                .any(char::is_uppercase);
        let slip = plain
            && LETTERS.contains(&word.len())
            && !is_stop(&lower, Language::En)
            && !vocabulary.contains(&lower.as_str())
            && !known(&lower)
            && !vocabulary.iter().any(|other| is_inflected(&lower, other))
            && !named.iter().any(|name| name.contains(word));
        let other = slip.then(|| {
            let near = vocabulary.iter().filter(|other| is_slip(&lower, other));
            let nearest = near.min_by_key(|other| (osa_distance(&lower, other), **other));
            nearest
                .map(|near| (*near).to_owned())
                .or_else(|| known_nearby(&lower, &known))
        });
        meant.push_str(other.flatten().as_deref().unwrap_or(word));
        meant.push_str(&piece[word.len()..]);
    }
    (meant != question).then_some(meant)
}

/// Whether two words are forms of one.
fn is_inflected(word: &str, other: &str) -> bool {
    other.as_bytes().first() == word.as_bytes().first()
        && terms(other, Language::En) == terms(word, Language::En)
}

/// Whether two words begin alike and differ in a letter, or in two of many.
fn is_slip(a: &str, b: &str) -> bool {
    let most = if a.len().min(b.len()) < 8 { 1 } else { 2 };
    LETTERS.contains(&b.len())
        && a.as_bytes()[0] == b.as_bytes()[0]
        && a.len().abs_diff(b.len()) <= most
        && osa_distance(a, b) <= most
}

/// The one known word from which this one comes by two letters that changed places, else by one that is
/// missing, else by one too many; the first letter stays.
fn known_nearby(word: &str, known: impl Fn(&str) -> bool) -> Option<String> {
    let cut = |at: usize| (&word[..at], &word[at..]);
    let (mut swapped, mut missing, mut surplus) = (Vec::new(), Vec::new(), Vec::new());
    for (head, tail) in (1..=word.len()).map(cut) {
        missing.extend(('a'..='z').map(|letter| format!("{head}{letter}{tail}")));
        if let Some(rest) = tail.get(1..) {
            surplus.push(format!("{head}{rest}"));
        }
        if let Some((pair, rest)) = tail.split_at_checked(2) {
            swapped.push(format!("{head}{}{}{rest}", &pair[1..], &pair[..1]));
        }
    }
    [swapped, missing, surplus]
        .into_iter()
        .find_map(|mut others| {
            others.retain(|other| other != word && known(other));
            others.sort_unstable();
            others.dedup();
            (others.len() == 1).then(|| others.remove(0))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r23_a_slip_is_read_as_it_was_meant() {
        let vocabulary = ["option", "reads", "different", "threshold"];
        let known = |word: &str| {
            [
                "adoption", "which", "reads", "access", "internet", "zebra", "crossing",
            ]
            .contains(&word)
        };
        for (question, meant) in [
            (
                "Which optoin reads a differnt file?",
                Some("Which option reads a different file?"),
            ),
            ("treshhold", Some("threshold")),
            // What is in no document.
            ("internet acess", Some("internet access")),
            ("interent", Some("internet")),
            ("interrnet", Some("internet")),
            // A word that means something is no slip, and neither are names and short words.
            ("adoption", None),
            ("OPTOIN", None),
            ("fiel", None),
            ("what is optoin_list", None),
            ("what is \"optoin\"", None),
            ("zebra crossing", None),
            ("who is Interent", None),
            ("was ist das interent", None),
        ] {
            assert_eq!(mended(question, known, &vocabulary).as_deref(), meant);
        }
    }
}
