//! A query as it was meant.

use super::matches::Correction;
use super::tokens;

/// How many letters of a word that is spelt right are looked for.
const BEGINNING: usize = 4;

/// A term as one of these texts spells it, in lower case: the index knows stems only.
pub(crate) fn as_written(term: &str, texts: &[&str]) -> Option<String> {
    let start: String = term.chars().take(BEGINNING).collect();
    let is_it = |word: &str| tokens::terms(word).iter().any(|own| own.text == term);
    let words = texts.iter().flat_map(|text| text.split(is_border));
    words
        .map(str::to_lowercase)
        .find(|word| word.starts_with(&start) && is_it(word))
}

fn is_border(c: char) -> bool {
    !c.is_alphabetic()
}

/// The query with what was meant in place of what is not in the index. What `is_known` stays: no passage
/// has the word, but it means something. `None` where nothing changes.
pub(crate) fn rewritten(
    query: &str,
    corrections: &[Correction],
    is_known: impl Fn(&str) -> bool,
) -> Option<String> {
    let spelt: Vec<(&str, &str)> = corrections
        .iter()
        .filter_map(|one| Some((one.asked.as_str(), one.spelt.as_deref()?)))
        .collect();
    if spelt.is_empty() {
        return None;
    }
    let word = |piece: &str| {
        let word = piece.trim_end_matches(is_border);
        let own = tokens::terms(word);
        let corrected = spelt.iter().find(|(asked, _)| {
            own.iter().any(|term| term.text == *asked) && !is_known(&word.to_lowercase())
        });
        match corrected {
            Some((_, meant)) => format!("{meant}{}", &piece[word.len()..]),
            None => piece.to_owned(),
        }
    };
    let changed: String = query.split_inclusive(is_border).map(word).collect();
    (changed != query).then_some(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_rewritten_as_the_texts_spell_it() {
        let correction = |asked: &str, meant: &str| {
            let [asked, meant] = [asked, meant].map(|word| tokens::terms(word).remove(0).text);
            let texts = ["Gradual work.", "Of Grading: how it is done", "none"];
            let spelt = as_written(&meant, &texts);
            Correction {
                asked,
                meant,
                spelt,
            }
        };
        let corrections = [
            correction("graeding", "grading"),
            correction("retreival", "retrieval"),
        ];
        let rewritten = |query| rewritten(query, &corrections, |_| false);
        assert_eq!(rewritten("graeding").as_deref(), Some("grading"));
        assert_eq!(
            rewritten("How does Graeding, work?").as_deref(),
            Some("How does grading, work?")
        );
        // The other one is not spelt here.
        assert_eq!(rewritten("retreival"), None);
        assert_eq!(
            super::rewritten("retreival", &corrections[1..], |_| false),
            None
        );
        // A word that is one is no slip.
        assert_eq!(
            super::rewritten("Graeding", &corrections, |word| word == "graeding"),
            None
        );
    }
}
