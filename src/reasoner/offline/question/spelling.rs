use strsim::osa_distance;

use super::super::language::language_of;
use super::literals::literals_of;
use crate::domain::Language;

/// Letters of a word that is corrected: shorter words are too near to too many, longer ones are no words.
const LETTERS: std::ops::RangeInclusive<usize> = 5..=24;
/// Bytes of a question.
const LONGEST: usize = 2_000;

/// The question with its misspelt words corrected, where there are any.
///
/// A word that is not known is taken for the nearest word of the `vocabulary` that begins alike and differs in one
/// letter, or in two of many (Damerau 1964: four of five slips are one letter). Names and what must be found
/// literally are never touched.
pub fn correct_spelling(
    question: &str,
    is_known: impl Fn(&str) -> bool,
    vocabulary: &[&str],
) -> Option<String> {
    // The words that are known are English.
    if question.len() > LONGEST || language_of(question) != Language::EN {
        return None;
    }
    let literals = literals_of(question);
    let mut named = literals.keywords();
    named.extend(literals.paths.into_iter().map(|named| named.path));
    let is_outside = |c: char| !c.is_alphanumeric() && c != '_';
    let mut corrected = String::with_capacity(question.len());
    for piece in question.split_inclusive(is_outside) {
        let word = piece.trim_end_matches(is_outside);
        let lower = word.to_lowercase();
        let rest = if corrected.is_empty() { &lower } else { word };
        let is_misspelt = LETTERS.contains(&word.len())
            && rest.bytes().all(|byte| byte.is_ascii_lowercase())
            && !vocabulary.contains(&lower.as_str())
            && !is_known(&lower)
            && !named.iter().any(|name| name.contains(word));
        let near = vocabulary.iter().filter(|other| {
            let letters = lower.len().min(other.len());
            is_misspelt
                && LETTERS.contains(&other.len())
                && other.as_bytes()[0] == lower.as_bytes()[0]
                && osa_distance(&lower, other) <= 1 + usize::from(letters >= 8)
        });
        let nearest = near.min_by_key(|other| (osa_distance(&lower, other), **other));
        corrected.push_str(nearest.map_or(word, |other| *other));
        corrected.push_str(&piece[word.len()..]);
    }
    (corrected != question).then_some(corrected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r23_a_slip_is_read_as_it_was_meant() {
        let vocabulary = ["option", "reads", "different", "threshold", "internet"];
        let known =
            |word: &str| ["adoption", "which", "reads", "zebra", "crossing"].contains(&word);
        for (question, meant) in [
            (
                "Which optoin reads a differnt file?",
                Some("Which option reads a different file?"),
            ),
            ("treshhold", Some("threshold")),
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
            assert_eq!(
                correct_spelling(question, known, &vocabulary).as_deref(),
                meant
            );
        }
    }
}
