//! How near what was found comes, in meaning, to what is asked of the things that a question names.
//!
//! "Which licence is the tool released under?" is near every sentence about the tool, by its name. So
//! names are left out before the comparison: what stays is what is wanted, and in a base that does not
//! tell it, nothing is near that.

use std::collections::HashSet;

use crate::agent::ports::{EmbedError, Embedder};

use super::heard::is_name;
use super::literals::Literals;
use super::passage::Passage;
use super::relevance::Vectors;
use super::units::Unit;
use super::words::{is_everywhere, is_stop, is_weak, plain_words, terms};

/// Longer questions are not compared, in bytes.
const LONGEST: usize = 2_000;
/// So many units of a passage are looked at.
pub(super) const UNITS: usize = 20;

/// The words of the kind of thing that a question names: "cloud provider" of "Which cloud provider
/// hosts it?", "paint" of "How much paint?"; none where it names none.
pub(super) fn kind_named(question: &str) -> Vec<String> {
    let words = plain_words(question);
    let asks = |at: usize| match (
        words[at].as_str(),
        at.checked_sub(1).map(|b| words[b].as_str()),
    ) {
        ("which" | "what", _) => true,
        ("much" | "many", Some(before)) => before == "how",
        _ => false,
    };
    let asks = (0..words.len()).find(|at| asks(*at));
    let after = asks.map_or(&[][..], |at| &words[at + 1..]);
    let kind = after.iter().take(2).take_while(|word| !is_stop(word));
    kind.flat_map(|word| terms(word)).collect()
}

/// What a question asks, the names taken out.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    /// The question without names; it says something.
    text: String,
    /// Whether the only name is that of what everything found is about.
    pub(super) of_all: bool,
}

impl Wanted {
    /// Of a question over the words of each passage; none where names are all it says, and none of
    /// what is too long to be one question.
    pub(super) fn of(question: &str, held: &[HashSet<String>]) -> Option<Self> {
        if question.len() > LONGEST {
            return None;
        }
        let literals = Literals::of(question);
        let files = literals.files.iter().map(|file| &file.path);
        let names = literals.tickets.iter().chain(&literals.identifiers);
        let mut text = question.to_owned();
        for name in names.chain(files).filter(|name| !name.is_empty()) {
            text = text.replace(name.as_str(), " ");
        }
        let literal = text != question;
        let mut cut = 0;
        let mut rest = String::with_capacity(text.len());
        for piece in text.split_inclusive(|c: char| !is_name_char(c)) {
            let word = piece.trim_end_matches(|c: char| !is_name_char(c));
            let whole = word.to_lowercase();
            let is_it = |term: &String| {
                (*term == whole || !whole.contains(['-', '_']))
                    && is_everywhere(term, held)
                    && is_name(term, question)
            };
            if terms(word).iter().any(is_it) {
                cut += 1;
                rest.push_str(&piece[word.len()..]);
            } else {
                rest.push_str(piece);
            }
        }
        let says = terms(&rest).iter().any(|term| !is_weak(term));
        says.then_some(Self {
            of_all: cut > 0 && !literal,
            text: rest,
        })
    }

    /// The cosine of what is wanted and the nearest unit below its heading, of each of the passages
    /// that `at` names; 0 of the others. Blocks while it embeds.
    pub(super) fn near(
        &self,
        passages: &[Passage],
        at: &[usize],
        embedder: &dyn Embedder,
    ) -> Result<Vec<f64>, EmbedError> {
        let told: Vec<Vec<String>> = passages
            .iter()
            .enumerate()
            .map(|(place, passage)| {
                let units = passage.units.iter().take(UNITS);
                let units = units.filter(|_| at.contains(&place));
                units.map(Unit::in_context).collect()
            })
            .collect();
        let mut texts = vec![self.text.as_str()];
        texts.extend(told.iter().flatten().map(String::as_str));
        let vectors = Vectors::of(&texts, embedder)?;
        let nearest = |told: &Vec<String>| {
            let cosines = told.iter().map(|text| vectors.cosine(&self.text, text));
            cosines.fold(0.0, f64::max)
        };
        Ok(told.iter().map(nearest).collect())
    }
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r23_a_question_names_the_kind_of_its_answer() {
        for (question, kind) in [
            ("Which cloud provider hosts it?", "cloud provider"),
            ("What is it?", ""),
            ("At what temperature does it boil?", "temperature"),
            ("Where is the key?", ""),
            ("How much paint do we need?", "paint"),
            ("How much does it cost?", ""),
        ] {
            assert_eq!(kind_named(question), terms(kind), "{question}");
        }
    }

    #[test]
    fn r23_names_are_not_what_is_wanted() {
        let held: Vec<HashSet<String>> = (0..6)
            .map(|_| terms("The box-tool packs boxes.").into_iter().collect())
            .collect();
        let wanted = |question| {
            Wanted::of(question, &held).map(|w| {
                let words: Vec<&str> = w.text.split_whitespace().collect();
                (words.join(" "), w.of_all)
            })
        };
        for (question, text, of_all) in [
            (
                "Which licence has box-tool?",
                Some("Which licence has ?"),
                true,
            ),
            ("who closed PROJ-103", Some("who closed"), false),
            ("What is PROJ-103?", None, false),
            ("box-tool", None, false),
            ("how do I pack a bag", Some("how do I pack a bag"), false),
            ("box-tool 支持语音吗", Some("支持语音吗"), true),
        ] {
            let text = text.map(|text| (text.to_owned(), of_all));
            assert_eq!(wanted(question), text, "{question}");
        }
    }
}
