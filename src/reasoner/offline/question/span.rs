//! A run of tokens of a question, and what its words do.

use std::slice::SliceIndex;

use super::super::language::{Phrases, Sign, Table, Token, language_of, table, terms};
use crate::domain::Language;

/// Tokens of a text that follow each other.
#[derive(Debug, Clone, Copy)]
pub struct Span<'a> {
    text: &'a str,
    pub tokens: &'a [Token],
    pub language: Language,
    pub table: &'static Table,
}

/// Signs that may close a word.
const CLOSING: usize = 4;
/// Tokens in front that may lead to an indirect question.
const LONGEST_FRAME: usize = 20;
/// Sentences that may be told before a question.
const SENTENCES: usize = 8;

impl<'a> Span<'a> {
    /// The whole text.
    pub fn new(text: &'a str, tokens: &'a [Token]) -> Self {
        let language = language_of(text);
        let table = table(language);
        Self {
            text,
            tokens,
            language,
            table,
        }
    }

    /// A part of it, by the places of tokens.
    pub fn slice(self, range: impl SliceIndex<[Token], Output = [Token]>) -> Self {
        let tokens = self.tokens.get(range).unwrap_or_default();
        Self { tokens, ..self }
    }

    /// The text from the first token to the last, with the signs that belong to those: "C++", "$HOME".
    pub fn as_written(self) -> &'a str {
        let (Some(first), Some(last)) = (self.tokens.first(), self.tokens.last()) else {
            return "";
        };
        let is_apart = |c: char| "\"`'“”‘’「」《》()（）,.;:?!，。；：？！、".contains(c);
        let opens = |c: char| !c.is_alphanumeric() && !c.is_whitespace() && !is_apart(c);
        let start = self.text[..first.range.start].trim_end_matches(opens).len();
        let written = &self.text[start..last.range.end];
        let pairs = ["“”", "「」", "《》", "()", "（）"];
        let closes = |c: &char| match c {
            '"' | '`' => written.matches(*c).count() % 2 == 1,
            '+' | '#' | '%' | '*' => true,
            _ => pairs
                .iter()
                .any(|pair| pair.ends_with(*c) && written.contains(pair.trim_end_matches(*c))),
        };
        let behind = self.text[last.range.end..].chars().take(CLOSING);
        let closing: usize = behind.take_while(closes).map(char::len_utf8).sum();
        self.text[start..last.range.end + closing].trim()
    }

    /// The same with the question mark that the whole text ends with.
    pub fn as_question(self) -> String {
        let written = self.as_written();
        let mark = self.text.trim_end().chars().next_back();
        let is_missing = |c: &char| matches!(c, '?' | '？') && !written.ends_with(*c);
        let mark = mark.filter(|c| is_missing(c) && !written.is_empty());
        written.chars().chain(mark).collect()
    }

    /// The stems of its words that carry meaning.
    pub fn terms(self) -> Vec<String> {
        terms(self.as_written(), self.language)
    }

    pub fn has_terms(self) -> bool {
        !self.terms().is_empty()
    }

    /// The number of words that carry meaning; two Han characters are about one.
    pub fn count_words(self) -> usize {
        let terms = self.terms().len();
        if self.language == Language::Zh {
            terms.div_ceil(2)
        } else {
            terms
        }
    }

    /// The words that carry meaning as they are written, of scripts with spaces only, each once.
    pub fn words(self) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        for token in self.tokens.iter().filter(|it| it.sign == Sign::Word) {
            let word = self.slice_of(token).as_written();
            let is_new = !words.iter().any(|known| known == word);
            if is_new && !terms(word, self.language).is_empty() {
                words.push(word.to_owned());
            }
        }
        words
    }

    fn slice_of(self, token: &'a Token) -> Self {
        let tokens = std::slice::from_ref(token);
        Self { tokens, ..self }
    }

    /// The first phrase of a list that is no part of a word: its place and its number of tokens.
    pub fn find(self, list: &Phrases) -> Option<(usize, usize)> {
        (0..self.tokens.len())
            .filter(|at| !self.is_kept(*at))
            .find_map(|at| Some((at, list.at(self.tokens, at)?)))
    }

    /// Whether a token is part of a word that only looks as if it held a stop word.
    pub fn is_kept(self, at: usize) -> bool {
        (at.saturating_sub(2)..=at).any(|from| {
            let kept = self.table.keep.at(self.tokens, from);
            kept.is_some_and(|length| from + length > at)
        })
    }

    /// Whether its words are written without spaces.
    pub fn is_unspaced(self) -> bool {
        self.language == Language::Zh && self.tokens.iter().any(|it| it.sign == Sign::Han)
    }

    /// Whether words that ask or a question mark are in it.
    pub fn asks(self) -> bool {
        let is_mark = |token: &Token| matches!(token.word.as_str(), "?" | "？");
        self.tokens.iter().any(is_mark) || self.table.asks.values().any(|it| it.is_in(self.tokens))
    }

    /// What is told before the question, and the question without its frames.
    ///
    /// A question that says nothing by itself ("… Why?") is taken together with what is told.
    pub fn split_context(self) -> (Option<Self>, Self) {
        let is_end = |at: &usize| {
            let before = at.checked_sub(2).map(|it| self.slice(it..=it));
            let word = before.map_or("", Self::as_written);
            // "Dr. King", "St. Augustine", "Invoice no. 5".
            let is_title =
                word.starts_with(char::is_uppercase) && word.ends_with(char::is_lowercase);
            let is_number = self.tokens[*at]
                .word
                .starts_with(|c: char| c.is_ascii_digit());
            let is_short = word.len() <= 3 && (is_title || is_number) || word.chars().count() == 1;
            ends_sentence(&self.tokens[at - 1]) && !is_short
        };
        let mut begins = 0;
        for at in (1..self.tokens.len()).filter(is_end).take(SENTENCES) {
            if self.slice(begins..at).asks() {
                break;
            }
            begins = at;
        }
        let rest = self.slice(begins..);
        let asked = rest.without_frames();
        let is_complete = asked.count_words() > 0 || asked.find(&self.table.pronouns).is_some();
        if begins == 0 || !rest.asks() || !is_complete {
            return (None, self.without_frames());
        }
        let told = self.slice(..begins).without_frames();
        (told.has_terms().then_some(told), asked)
    }

    /// Where an indirect question begins, as behind "I would like to know whether".
    fn indirect_question(self) -> usize {
        let (table, tokens) = (self.table, self.tokens);
        let asks = |at: usize| table.asks_at(tokens, at).is_some();
        let starts = |at: usize| table.starts.at(tokens, at).is_some();
        let places = (0..tokens.len().min(LONGEST_FRAME)).rev();
        // "How do I check whether …" asks how.
        let mut places = places.filter(|at| *at == 0 || !starts(0) && !(0..*at).any(asks));
        let found = places.find_map(|at| {
            let behind = at + table.indirect.at(tokens, at)?;
            let begins = behind + self.slice(behind..).leading_marks();
            let whether = table.whether.at(tokens, begins);
            let is_direct = asks(begins) || begins > behind && starts(begins);
            whether.or(is_direct.then_some(0)).map(|it| begins + it)
        });
        found.unwrap_or(0)
    }

    pub fn leading_marks(self) -> usize {
        self.tokens.iter().take_while(|it| it.is_mark()).count()
    }

    /// Without the polite frames in front and behind, where more than those is said.
    pub fn without_frames(self) -> Self {
        let mut rest = self.slice(self.indirect_question()..);
        loop {
            rest = rest.slice(rest.leading_marks()..);
            let frame = self.table.polite_front.at(rest.tokens, 0);
            let Some(length) = frame.filter(|_| !rest.is_kept(0)) else {
                break;
            };
            rest = rest.slice(length..);
        }
        let rest = rest.without_end(&[&self.table.polite_back]);
        if rest.has_terms() { rest } else { self }
    }

    /// Without what asks, joins and compares at its ends.
    pub fn subject(self) -> Self {
        let table = self.table;
        let form = [&table.stop, &table.generic, &table.comparing];
        let form = || form.into_iter().chain(table.asks.values());
        let front: Vec<&Phrases> = form().chain([&table.leads, &table.starts]).collect();
        let back: Vec<&Phrases> = form().chain([&table.polite_back]).collect();
        let first = table.uncovered(&front, self.tokens).first().copied();
        self.without_end(&back)
            .slice(first.unwrap_or(self.tokens.len())..)
    }

    /// Without the phrases of the lists and the marks at its end.
    fn without_end(self, lists: &[&Phrases]) -> Self {
        let last = self.table.uncovered(lists, self.tokens).pop();
        self.slice(..last.map_or(0, |last| last + 1))
    }

    /// What stands in front of the first auxiliary: "colours" of "colours can I choose".
    pub fn before_verb(self) -> Self {
        let table = self.table;
        let is_auxiliary = |at: &usize| {
            table.starts.at(self.tokens, *at).is_some() && table.stop.has(&self.tokens[*at].word)
        };
        let verb = (1..self.tokens.len()).find(is_auxiliary);
        let front = self.slice(..verb.unwrap_or(self.tokens.len()));
        if table.asks_in_front && front.has_terms() {
            front
        } else {
            self
        }
    }
}

/// Whether a mark ends a sentence.
pub fn ends_sentence(token: &Token) -> bool {
    matches!(
        token.word.as_str(),
        "." | "。" | "?" | "？" | "!" | "！" | ";" | "；" | "\n"
    )
}
