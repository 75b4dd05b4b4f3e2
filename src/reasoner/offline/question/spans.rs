use std::ops::Range;

use super::super::language::{Phrases, Sign, Table, Token, language_among, table, terms_among};
use crate::domain::Language;

/// Some tokens of a text that follow each other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span<'a> {
    text: &'a str,
    pub(super) tokens: &'a [Token],
    pub(super) language: Language,
    pub(super) table: &'static Table,
}

impl<'a> Span<'a> {
    /// The whole text.
    pub(super) fn of(text: &'a str, tokens: &'a [Token]) -> Self {
        let language = language_among(text, tokens);
        let table = table(language);
        Self {
            text,
            tokens,
            language,
            table,
        }
    }

    /// A part of it, by the places of tokens.
    pub(super) fn part(self, range: Range<usize>) -> Self {
        let tokens = self.tokens.get(range).unwrap_or_default();
        Self { tokens, ..self }
    }

    /// As it is written, from its first token to its last.
    pub(super) fn written(self) -> &'a str {
        let (Some(first), Some(last)) = (self.tokens.first(), self.tokens.last()) else {
            return "";
        };
        // A sign that opens or closes, as of "C++" and "$HOME", belongs to its word.
        let ends = |c: char| {
            c.is_whitespace() || "\"`'“”‘’「」《》()（）".contains(c) || c.is_alphanumeric()
        };
        let before = &self.text[..first.range.start];
        let before = before.len()
            - before
                .trim_end_matches(|c: char| !ends(c) && !",.;:?!，。；：？！、".contains(c))
                .len();
        let written = &self.text[first.range.start - before..last.range.end];
        let closes = |c: char| match c {
            '”' => written.contains('“'),
            '」' => written.contains('「'),
            '》' => written.contains('《'),
            ')' => written.contains('('),
            '）' => written.contains('（'),
            '"' | '`' => written.matches(c).count() % 2 == 1,
            c => matches!(c, '+' | '#' | '%' | '*'),
        };
        let behind = &self.text[last.range.end..];
        let mut signs = behind.char_indices().take(CLOSING);
        let after = signs.find(|(_, c)| !closes(*c)).map(|(at, _)| at);
        let after = after.unwrap_or_else(|| {
            behind
                .char_indices()
                .nth(CLOSING)
                .map_or(behind.len(), |(at, _)| at)
        });
        self.text[first.range.start - before..last.range.end + after].trim()
    }

    /// Its words that carry meaning.
    pub(super) fn terms(self) -> Vec<String> {
        terms_among(self.text, self.tokens, self.language)
    }

    /// The first phrase of a list that is no part of a word: where it begins, and how many tokens it has.
    pub(super) fn first(self, list: &Phrases) -> Option<(usize, usize)> {
        (0..self.tokens.len())
            .find_map(|at| Some((at, list.at(self.tokens, at).filter(|_| !self.is_kept(at))?)))
    }

    /// Whether a token is part of a word that only holds other words.
    pub(super) fn is_kept(self, at: usize) -> bool {
        (at.saturating_sub(2)..=at).any(|from| {
            let kept = self.table.keep.at(self.tokens, from);
            kept.is_some_and(|length| from + length > at)
        })
    }

    /// Whether it has any.
    pub(super) fn says(self) -> bool {
        // The answer is in the first tokens nearly always.
        let head = self.part(0..self.tokens.len().min(16));
        !head.terms().is_empty() || self.tokens.len() > 16 && !self.terms().is_empty()
    }

    /// How many words carry meaning; two Han characters are about one.
    pub(super) fn content(self) -> usize {
        let terms = self.terms().len();
        if self.language == Language::Zh {
            terms.div_ceil(2)
        } else {
            terms
        }
    }

    /// What is told first, where anything is, and what is asked behind it, without its frames. Where what
    /// asks says nothing by itself ("… Why?"), all is asked.
    pub(super) fn told_and_asked(self) -> (Option<Self>, Self) {
        let ends = (1..self.tokens.len()).filter(|at| {
            let mark = self.tokens[at - 1].word.as_str();
            matches!(mark, "." | "。" | "!" | "！" | ";" | "；" | "\n")
        });
        let mut asks_before = false;
        let mut from = 0;
        let mut begins = None;
        for at in ends.take(SENTENCES) {
            asks_before |= self.part(from..at).asks();
            if asks_before {
                break;
            }
            from = at;
            let word = at
                .checked_sub(2)
                .map_or("", |before| &self.tokens[before].word);
            let known = &self.table.abbreviations;
            let short = word.chars().count() == 1
                || known
                    .always
                    .iter()
                    .chain(&known.before_numbers)
                    .any(|known| known == word);
            if !short {
                begins = Some(at);
            }
        }
        let begins = begins.filter(|at| self.part(*at..self.tokens.len()).asks());
        let Some(at) = begins else {
            return (None, self.unframed());
        };
        let (told, asked) = (
            self.part(0..at),
            self.part(at..self.tokens.len()).unframed(),
        );
        let means = asked.first(&self.table.pronouns).is_some();
        if asked.content() == 0 && !means {
            (None, self.unframed())
        } else if told.unframed().says() {
            (Some(told.unframed()), asked)
        } else {
            (None, asked)
        }
    }

    /// Whether it holds a question.
    fn asks(self) -> bool {
        let marked = self
            .tokens
            .iter()
            .any(|token| matches!(token.word.as_str(), "?" | "？"));
        marked || (0..self.tokens.len()).any(|at| self.table.asks.at(self.tokens, at).is_some())
    }

    /// Where an indirect question begins, as behind "I would like to know whether".
    fn indirect(self) -> usize {
        let frames = &self.table.frames;
        let found = (0..self.tokens.len().min(LONGEST_FRAME))
            .rev()
            .find_map(|at| {
                let from = at + frames.leading.at(self.tokens, at)?;
                let asks = |place: usize| {
                    self.table.asks.at(self.tokens, place).is_some()
                        || place == 0 && self.table.starts.at(self.tokens, 0).is_some()
                };
                // "How do I check whether …" asks how.
                if (0..at).any(asks) {
                    return None;
                }
                let marks = self.tokens[from..]
                    .iter()
                    .take_while(|token| token.is_mark())
                    .count();
                let begins = from + marks;
                if let Some(length) = frames.whether.at(self.tokens, begins) {
                    return Some(begins + length);
                }
                let starts = marks > 0 && self.table.starts.at(self.tokens, begins).is_some();
                let asks = self.table.asks.at(self.tokens, begins).is_some();
                (starts || asks).then_some(begins)
            });
        found.unwrap_or(0)
    }

    /// Without the polite frames in front and behind, where more than those is said.
    pub(super) fn unframed(self) -> Self {
        let mut from = self.indirect();
        loop {
            let marks = self.tokens[from..]
                .iter()
                .take_while(|token| token.is_mark())
                .count();
            let frame = self.table.frames.front.at(self.tokens, from + marks);
            match frame.filter(|_| !self.is_kept(from + marks)) {
                Some(length) => from += marks + length,
                None => break from += marks,
            }
        }
        let mut rest = self.part(from..self.tokens.len());
        while let Some(shorter) = rest.without_last(&self.table.frames.back) {
            rest = shorter;
        }
        if rest.says() { rest } else { self }
    }

    /// Without what asks, joins and compares at its ends.
    pub(super) fn subject(self) -> Self {
        let table = self.table;
        let mut from = 0;
        while from < self.tokens.len() {
            let foreign = super::super::language::table(self.tokens[from].language(self.language));
            let asks = table.asks.at(self.tokens, from).map(|(length, _)| length);
            let lists = [
                &table.leads,
                &table.starts,
                &table.comparing,
                &foreign.stop,
                &table.generic,
            ];
            let kept = self.is_kept(from);
            let phrase = lists
                .iter()
                .filter_map(|list| list.at(self.tokens, from))
                .max();
            match asks.max(phrase).filter(|_| !kept) {
                Some(length) => from += length,
                None if self.tokens[from].is_mark() => from += 1,
                None => break,
            }
        }
        let mut rest = self.part(from..self.tokens.len());
        loop {
            let lists = [
                &table.stop,
                &table.generic,
                &table.comparing,
                &table.frames.back,
            ];
            let shorter = lists.iter().find_map(|list| rest.without_last(list));
            let asked = || {
                let from = rest.tokens.len().saturating_sub(LONGEST_PHRASE);
                let ends = |at: &usize| {
                    let asks = table.asks.at(rest.tokens, *at);
                    asks.is_some_and(|(length, _)| at + length == rest.tokens.len())
                };
                (from..rest.tokens.len())
                    .find(ends)
                    .map(|at| rest.part(0..at))
            };
            match shorter.or_else(asked) {
                Some(shorter) => rest = shorter,
                None => return rest,
            }
        }
    }

    /// What stands in front of the first auxiliary: "colours" of "colours can I choose".
    pub(super) fn before_verb(self) -> Self {
        let table = self.table;
        let verb = (1..self.tokens.len()).find(|at| {
            table.starts.at(self.tokens, *at).is_some() && table.stop.has(&self.tokens[*at].word)
        });
        let front = self.part(0..verb.unwrap_or(self.tokens.len()));
        if self.table.asks_in_front && front.says() {
            front
        } else {
            self
        }
    }

    /// Whether what stands behind a place and in front of the verb means several things by its ending;
    /// names do not, whatever they end with.
    pub(super) fn is_plural(self, from: usize) -> bool {
        let rest = self.part(from..self.tokens.len());
        let noun = rest.before_verb();
        let token = if noun.tokens.len() < rest.tokens.len() {
            noun.tokens.last()
        } else {
            rest.tokens.first()
        };
        let Some(token) = token else {
            return false;
        };
        let word = token.word.as_str();
        let plain = self.text[token.range.clone()].starts_with(char::is_lowercase);
        let ends = |ending: &String| word.ends_with(ending.as_str());
        let stems = super::super::language::terms(word, self.language);
        plain
            && !self.table.generic.has(word)
            && self.table.plural.iter().any(ends)
            && stems.first().is_some_and(|stem| stem != word)
    }

    /// Without the phrase that it ends with, or the mark.
    fn without_last(self, list: &Phrases) -> Option<Self> {
        let count = self.tokens.len();
        if self.tokens.last()?.is_mark() {
            return Some(self.part(0..count - 1));
        }
        let from = count.saturating_sub(LONGEST_PHRASE);
        let begins = (from..count).find(|at| list.at(self.tokens, *at) == Some(count - at))?;
        (!self.is_kept(count - 1)).then(|| self.part(0..begins))
    }

    /// Whether its words are written without spaces.
    pub(super) fn is_dense(self) -> bool {
        self.tokens.iter().any(|token| token.sign == Sign::Han) && self.language == Language::Zh
    }
}

/// So many signs may close a word.
const CLOSING: usize = 4;
/// So many tokens in front may lead to a question.
const LONGEST_FRAME: usize = 20;
/// So many sentences may be told before it.
const SENTENCES: usize = 8;
/// Tokens of the longest phrase that is looked for from behind.
const LONGEST_PHRASE: usize = 6;
