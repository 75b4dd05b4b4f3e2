//! The earlier question whose words a question needs to be understood, and what a correction replaces of it.

use super::super::language::{Token, tokens};
use super::literals::literals_of;
use super::span::Span;
use crate::domain::{Earlier, Literals, Turn};

/// How many turns back an earlier question is looked for.
const TURNS: usize = 4;
/// Bytes that are read of an earlier question.
const READ: usize = 2_000;
/// A question with more words of its own stands alone, whatever it begins with.
const OWN: usize = 4;
/// A question of at most so many words that asks nothing is a fragment.
const FRAGMENT: usize = 3;
/// A question that goes on with "and" and has more words of its own names its own topic.
const OWN_BEHIND_LEAD: usize = 1;
/// Words that are taken from an earlier question.
const MOST_WORDS: usize = 12;

/// The earlier question that a question continues; `None` where it stands alone.
pub fn earlier_question(asked: Span<'_>, literals: &Literals, history: &[Turn]) -> Option<Earlier> {
    if !asked.leans(literals) {
        return None;
    }
    let is_unsure = asked.may_stand_alone();
    with_previous(history, |previous| {
        let mut words = topic_words(previous);
        if !literals.keywords().is_empty() {
            // "What does GENERATE mean?", "And REFINE?": the new name takes the place of the old one.
            let names = literals_of(previous.as_written()).keywords();
            words.retain(|word| !names.contains(word));
        }
        (words, is_unsure)
    })
}

/// The earlier question that a correction is about, with the words that stay.
pub fn corrected_question(correction: &Correction<'_>, history: &[Turn]) -> Option<Earlier> {
    with_previous(history, |previous| {
        let replaced = correction.replaced_words(previous);
        let meant = correction.meant.words();
        let mut words = topic_words(previous);
        words.retain(|word| !is_in(&replaced, word) && !is_in(&meant, word));
        (words, false)
    })
}

fn is_in(words: &[String], word: &str) -> bool {
    words
        .iter()
        .any(|it| it.to_lowercase() == word.to_lowercase())
}

/// The last question that stands alone, with what is taken of it: one that continues another says little of the topic
/// itself. `None` where nothing is taken.
fn with_previous(
    history: &[Turn],
    take: impl FnOnce(Span<'_>) -> (Vec<String>, bool),
) -> Option<Earlier> {
    let turns = history.iter().rev().take(TURNS).map(|turn| {
        let text = &turn.question[..turn.question.floor_char_boundary(READ)];
        (text, tokens(text))
    });
    let turns: Vec<(&str, Vec<Token>)> = turns.collect();
    let spans = turns.iter();
    let spans = spans.map(|(text, tokens)| Span::new(text, tokens).without_frames());
    let spans: Vec<Span<'_>> = spans
        .filter(|span| span.has_terms() && !span.is_social())
        .collect();
    let stands_alone = |span: &&Span<'_>| {
        !span.leans(&literals_of(span.as_written())) && Correction::read(**span).is_none()
    };
    let previous = *spans.iter().find(stands_alone).or(spans.first())?;
    let (words, is_unsure) = take(previous);
    let question = previous.as_question();
    (!words.is_empty()).then_some(Earlier {
        question,
        words,
        is_unsure,
    })
}

/// The words of what an earlier question is about.
fn topic_words(previous: Span<'_>) -> Vec<String> {
    let subject = previous.subject();
    if subject.is_chinese() && subject.has_terms() {
        vec![subject.as_written().to_owned()]
    } else {
        subject.words().into_iter().take(MOST_WORDS).collect()
    }
}

impl Span<'_> {
    /// Whether a question may need what was said before it.
    fn leans(self, literals: &Literals) -> bool {
        if self.is_social() {
            return false;
        }
        let lead = self.table.leads.longest(self.tokens, 0);
        let rest = self.behind_lead();
        let own = rest.count_topics();
        let is_named = !literals.keywords().is_empty() || !literals.paths.is_empty();
        let starts = self.table.starts.longest(rest.tokens, 0).is_some();
        let mut asking = self.table.asks.values();
        let asks = starts || asking.any(|list| list.is_in(rest.tokens));
        if own == 0 {
            return !is_named;
        }
        if rest.has_clauses() {
            return !is_named && own <= OWN && rest.refers_back();
        }
        // A subject that is known is left out in Chinese.
        let lacks_subject = self.is_chinese() && own <= if starts { FRAGMENT } else { 1 };
        let refers_back = own <= OWN && rest.refers_back();
        if asks {
            let names_little = lead.is_some() && own <= OWN_BEHIND_LEAD;
            return !is_named && (refers_back || lacks_subject || names_little);
        }
        let is_fragment = own <= if lead.is_some() { OWN } else { FRAGMENT };
        let goes_on = || rest.begins_with_link() || self.asks() || refers_back || lacks_subject;
        is_fragment && (lead.is_some() || !is_named && goes_on())
    }

    /// Whether a question says by a pronoun, or by nothing at all, what it is about.
    pub fn is_left_out(self, literals: &Literals) -> bool {
        let rest = self.behind_lead();
        self.leans(literals) && (rest.refers_back() || rest.count_topics() == 0)
    }

    /// Whether a question that leans may name a topic of its own: "What about sick pay?", "Sick pay?".
    fn may_stand_alone(self) -> bool {
        let lead = self.table.leads.longest(self.tokens, 0);
        let rest = self.behind_lead();
        lead != Some(1) && !rest.begins_with_link() && !rest.refers_back()
    }

    /// What stands behind the words that only go on.
    fn behind_lead(self) -> Self {
        let lead = self.table.leads.longest(self.tokens, 0);
        let rest = self.slice(lead.unwrap_or(0)..);
        rest.slice(rest.leading_marks()..)
    }

    fn begins_with_link(self) -> bool {
        self.table.links.longest(self.tokens, 0).is_some()
    }

    /// Whether it has more than one clause that names something.
    fn has_clauses(self) -> bool {
        let named = self.topic_places();
        let (Some(first), Some(last)) = (named.first(), named.last()) else {
            return false;
        };
        self.tokens[*first..*last].iter().any(Token::is_mark)
            || self.tokens[*first..].iter().any(Token::is_mark) && self.has_pronoun()
    }

    /// The number of words that a look-up could be about; two pairs of Han characters are about one.
    fn count_topics(self) -> usize {
        let characters = 1 + usize::from(self.is_chinese());
        self.topics().len().div_ceil(characters)
    }

    /// Whether a pronoun stands for something that an earlier clause does not name.
    fn refers_back(self) -> bool {
        let (table, tokens) = (self.table, self.tokens);
        let is_empty = |at: usize| {
            (at.saturating_sub(4)..=at).any(|from| {
                let phrase = table.empty_pronouns.longest(tokens, from);
                phrase.is_some_and(|length| from + length > at)
            })
        };
        let named = self.topic_places();
        let is_named_before = |at: usize| {
            let clause = tokens[..at].iter().rposition(Token::is_mark);
            clause.is_some_and(|clause| named.iter().any(|place| *place < clause))
        };
        let mut pronouns = (0..tokens.len()).filter(|at| {
            !self.is_kept(*at) && table.pronouns.longest(tokens, *at).is_some() && !is_empty(*at)
        });
        pronouns.any(|at| !is_named_before(at))
    }
}

/// A correction of the question before: "no, I meant on Windows".
#[derive(Debug, Clone, Copy)]
pub struct Correction<'a> {
    /// What is meant instead.
    pub meant: Span<'a>,
    /// What is not meant, where that is said: "with dump, not mount".
    not_meant: Option<Span<'a>>,
}

impl<'a> Correction<'a> {
    /// Reads a correction; `None` where a message is none, or asks a question of its own.
    pub fn read(whole: Span<'a>) -> Option<Self> {
        let table = whole.table;
        let mut rest = whole.slice(whole.leading_marks()..);
        while let Some(length) = table.corrections.longest(rest.tokens, 0) {
            rest = rest.slice(length..);
            rest = rest.slice(rest.leading_marks()..);
        }
        let starts = table.starts.longest(rest.tokens, 0).is_some();
        let corrects = rest.tokens.len() < whole.tokens.len() && rest.has_terms();
        if !corrects || starts || rest.asks() || rest.is_social() {
            return None;
        }
        let not_meant = rest.find(&table.not_meant);
        Some(match not_meant {
            Some((at, length)) if rest.slice(..at).has_terms() => Self {
                meant: rest.slice(..at),
                not_meant: Some(rest.slice(at + length..)),
            },
            _ => Self {
                meant: rest,
                not_meant: None,
            },
        })
    }

    /// The words of the question before that make room: what is said not to be meant; else the number where another one
    /// is given, what describes a word that both have, what stands behind the link that both have, or behind the last.
    fn replaced_words(&self, previous: Span<'_>) -> Vec<String> {
        if let Some(not_meant) = self.not_meant {
            return not_meant.words();
        }
        let is_number = |token: &&Token| token.word.starts_with(|c: char| c.is_ascii_digit());
        let words = |tokens: &[Token]| tokens.iter().map(|token| token.word.clone()).collect();
        if self.meant.tokens.iter().any(|it| is_number(&it)) {
            let numbers = previous.tokens.iter().filter(is_number);
            let numbers: Vec<String> = numbers.map(|token| token.word.clone()).collect();
            if !numbers.is_empty() {
                return numbers;
            }
        }
        let meant = self.meant.words();
        let form = [&previous.table.stop, &previous.table.generic];
        let named = previous.table.uncovered(&form, previous.tokens);
        let shared = named
            .iter()
            .rposition(|at| is_in(&meant, &previous.tokens[*at].word));
        if let Some(shared) = shared {
            let before = named[..=shared].chunk_by(|a, b| a + 1 == *b).last();
            let before = before.unwrap_or_default();
            let Some((_, before)) = before.split_last() else {
                return Vec::new();
            };
            let before = before.iter().map(|at| previous.tokens[*at].word.clone());
            return before.collect();
        }
        let link_at = |at: &usize| previous.table.links.longest(previous.tokens, *at).is_some();
        let own_link = self.meant.tokens.first();
        let own_link = own_link.filter(|_| self.meant.begins_with_link());
        let mut links = (0..previous.tokens.len()).filter(link_at).rev();
        let is_own = |at: &usize| own_link.is_none_or(|own| own.word == previous.tokens[*at].word);
        links
            .find(is_own)
            .map_or_else(Vec::new, |link| words(&previous.tokens[link + 1..]))
    }
}
