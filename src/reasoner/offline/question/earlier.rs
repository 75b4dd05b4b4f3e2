//! The earlier question whose words a question needs to be understood: its subject, or what is said of it there,
//! whichever is lacking, without what another word takes the place of.

use super::super::language::{Table, Token, terms, tokens};
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
/// A question that goes on with "and" or "too" and has more words of its own names its own topic.
const OWN_BEHIND_LEAD: usize = 1;
/// Words that are taken from an earlier question; twice as many where small ones are among them.
const MOST_WORDS: usize = 12;

/// The earlier question that a question continues; `None` where it stands alone.
pub fn earlier_question(asked: Span<'_>, literals: &Literals, history: &[Turn]) -> Option<Earlier> {
    if !asked.leans(literals) {
        return None;
    }
    let is_unsure = asked.may_stand_alone();
    let rest = asked.behind_lead();
    let asks = rest.count_topics() > 0 && rest.asks_something() && !rest.is_chinese();
    let lacks_predicate = !asks && !rest.refers_back();
    with_previous(history, |previous| {
        let mut replaced = Vec::new();
        if !literals.keywords().is_empty() {
            // "What does GENERATE mean?", "And REFINE?": the new name takes the place of the old one.
            replaced = literals_of(previous.as_written()).keywords();
        }
        if lacks_predicate {
            replaced.extend(rest.replaced_words(previous, false));
        }
        let words = words_without(&replaced, previous, lacks_predicate);
        (words, is_unsure)
    })
}

/// The earlier question that a correction is about, with the words that stay.
pub fn corrected_question(correction: &Correction<'_>, history: &[Turn]) -> Option<Earlier> {
    with_previous(history, |previous| {
        let mut replaced = match correction.not_meant {
            Some(not_meant) if previous.is_chinese() => vec![not_meant.as_written().to_owned()],
            Some(not_meant) => not_meant.words(),
            None => correction.meant.replaced_words(previous, true),
        };
        replaced.extend(correction.meant.words());
        (words_without(&replaced, previous, true), false)
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
    let says = |word: &String| {
        let is_generic = previous.table.generic.has(&word.to_lowercase());
        !is_generic && !terms(word, previous.language).is_empty()
    };
    words.iter().any(says).then(|| Earlier {
        question: previous.as_question(),
        words,
        is_unsure,
    })
}

/// The words of an earlier question without those that make room: all that are said of its subject as they stand, or
/// those of its subject that carry meaning. Of Chinese a text.
fn words_without(replaced: &[String], previous: Span<'_>, is_predicate: bool) -> Vec<String> {
    let subject = previous.subject();
    if previous.is_chinese() {
        let replaced = replaced.iter().filter(|it| !it.is_empty());
        let text = subject.as_written().to_owned();
        let text = replaced.fold(text, |text, it| text.replace(it, " "));
        return vec![text.trim().to_owned()];
    }
    let (words, most) = if is_predicate {
        let asking = previous.table.asks_at(previous.tokens, 0);
        let said = previous.slice(asking.map_or(0, |(length, _)| length)..);
        (said.all_words(), 2 * MOST_WORDS)
    } else {
        (subject.words(), MOST_WORDS)
    };
    let words = words.into_iter().filter(|word| !is_in(replaced, word));
    words.take(most).collect()
}

impl Span<'_> {
    /// Whether a question may need what was said before it.
    fn leans(self, literals: &Literals) -> bool {
        if self.is_social() {
            return false;
        }
        let has_lead = self.table.leads.longest(self.tokens, 0).is_some();
        let says_also = self.says_also();
        let rest = self.behind_lead();
        let own = rest.count_topics();
        let is_named = !literals.keywords().is_empty() || !literals.paths.is_empty();
        if own == 0 {
            return !is_named;
        }
        if rest.has_clauses() {
            return !is_named && own <= OWN && rest.refers_back();
        }
        // A subject that is known is left out in Chinese.
        let starts = self.table.starts.longest(rest.tokens, 0).is_some();
        let lacks_subject = self.is_chinese() && own <= if starts { FRAGMENT } else { 1 };
        let refers_back = own <= OWN && rest.refers_back();
        if rest.asks_something() {
            let names_little = (has_lead || says_also) && own <= OWN_BEHIND_LEAD;
            return !is_named && (refers_back || lacks_subject || names_little);
        }
        let is_fragment = own <= if has_lead { OWN } else { FRAGMENT };
        let goes_on = has_lead || says_also && own < FRAGMENT;
        let leans = rest.begins_with_link() || refers_back || lacks_subject;
        is_fragment && (goes_on || !is_named && leans)
    }

    /// Whether a question says by a pronoun, or by nothing at all, what it is about, or does not say what is asked of it.
    pub fn is_left_out(self, literals: &Literals) -> bool {
        let rest = self.behind_lead();
        let asks = rest.asks_something() || !literals.keywords().is_empty();
        let is_fragment = self.goes_on() && !asks;
        self.leans(literals) && (is_fragment || rest.refers_back() || rest.count_topics() == 0)
    }

    /// Whether a question that leans may name a topic of its own: "What about sick pay?", "Sick pay?".
    fn may_stand_alone(self) -> bool {
        let rest = self.behind_lead();
        !self.goes_on() && !rest.begins_with_link() && !rest.refers_back()
    }

    /// Whether it begins with a word such as "and" or ends with one such as "too"; "what about" may begin anew.
    fn goes_on(self) -> bool {
        self.table.leads.longest(self.tokens, 0) == Some(1) || self.says_also()
    }

    fn says_also(self) -> bool {
        let without = self.without_end(&[&self.table.also]);
        without.tokens.len() < self.without_end(&[]).tokens.len()
    }

    /// What stands between the words that only go on.
    fn behind_lead(self) -> Self {
        let lead = self.table.leads.longest(self.tokens, 0);
        let rest = self.slice(lead.unwrap_or(0)..);
        let rest = rest.slice(rest.leading_marks()..);
        rest.without_end(&[&self.table.also])
    }

    fn asks_something(self) -> bool {
        self.asks() || self.table.starts.longest(self.tokens, 0).is_some()
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

    /// The words of the question before that make room: the number where another one is given, what describes a word
    /// that both have, what stands behind the link that both have; for a correction else what has such a link or none
    /// as that has, what stands behind the last link, the last. Of Chinese the last name in letters.
    fn replaced_words(self, previous: Span<'_>, corrects: bool) -> Vec<String> {
        let (table, tokens) = (previous.table, previous.tokens);
        let meant = self.words();
        if previous.is_chinese() {
            let name = previous.words().pop();
            let name = name.filter(|name| !meant.is_empty() && !is_in(&meant, name));
            return name.into_iter().collect();
        }
        let is_number = |token: &&Token| token.word.starts_with(|c: char| c.is_ascii_digit());
        let numbers = tokens.iter().filter(is_number);
        let numbers: Vec<String> = numbers.map(|token| token.word.clone()).collect();
        if !numbers.is_empty() && self.tokens.iter().any(|it| is_number(&it)) {
            return numbers;
        }
        let form = |table: &'static Table| [&table.stop, &table.generic, &table.links];
        let named = table.uncovered(&form(table), tokens);
        let runs: Vec<&[usize]> = named.chunk_by(|a, b| a + 1 == *b).collect();
        let mut described = runs.iter().rev().filter_map(|run| {
            let shared = |at: &usize| is_in(&meant, &tokens[*at].word);
            run.iter().rposition(shared).map(|shared| &run[..shared])
        });
        let own_link = self.tokens.first().filter(|_| self.begins_with_link());
        let begins_bare = self.table.uncovered(&form(self.table), self.tokens).first() == Some(&0);
        let places = runs.windows(2).map(|pair| {
            let before = &tokens[pair[0][pair[0].len() - 1] + 1..pair[1][0]];
            let has_link = table.links.is_in(before);
            let is_alike = own_link.map_or(!has_link && !begins_bare, |own| {
                before.iter().any(|token| token.word == own.word)
            });
            ((is_alike, has_link), pair[1])
        });
        let place = places.max_by_key(|(likeness, _)| *likeness);
        let place = place.filter(|((is_alike, _), place)| {
            corrects || own_link.is_some() && *is_alike && place.len() < FRAGMENT
        });
        let replaced = described.next().or(place.map(|(_, place)| place));
        let replaced = replaced.unwrap_or_default().iter();
        replaced.map(|at| tokens[*at].word.clone()).collect()
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
        let whole = whole.slice(whole.leading_marks()..);
        let mut rest = whole;
        while let Some(length) = table.corrections.longest(rest.tokens, 0) {
            rest = rest.slice(length..);
            rest = rest.slice(rest.leading_marks()..);
        }
        let corrects = rest.tokens.len() < whole.tokens.len() && rest.has_terms();
        if !corrects || rest.asks_something() || rest.is_social() {
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
}
