//! A run of tokens of a question, and what its words do.

use std::collections::HashSet;
use std::slice::SliceIndex;

use super::super::language::{
    FEWEST_WORDS, Phrases, Sign, Table, Token, count_form_words, language_of, table, terms,
};
use crate::domain::Language;

#[derive(Debug, Clone, Copy)]
pub struct Span<'a> {
    text: &'a str,
    pub tokens: &'a [Token],
    pub language: Language,
    pub table: &'static Table,
}

impl<'a> Span<'a> {
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

    /// The same in the language of the text before, where it is too short to tell its own.
    pub fn in_conversation(mut self, before: &str) -> Self {
        if self.language == Language::EN && self.all_words().len() < FEWEST_WORDS {
            let language = language_of(before);
            let told = |language| count_form_words(self.tokens, language);
            if told(language) >= told(Language::EN) {
                self.language = language;
                self.table = table(language);
            }
        }
        self
    }

    /// A part of it, by the places of tokens.
    pub fn slice(self, range: impl SliceIndex<[Token], Output = [Token]>) -> Self {
        let tokens = self.tokens.get(range).unwrap_or_default();
        Self { tokens, ..self }
    }

    /// The text from the first token to the last, with the signs around it: "C++", "$HOME".
    pub fn as_written(self) -> &'a str {
        let (Some(first), Some(last)) = (self.tokens.first(), self.tokens.last()) else {
            return "";
        };
        let is_sign = |c: char| {
            !c.is_alphanumeric() && !c.is_whitespace() && !",.;:?!，。；：？！、".contains(c)
        };
        let before = self.text[..first.range.start].trim_end_matches(is_sign);
        let behind = self.text[last.range.end..].trim_start_matches(is_sign);
        &self.text[before.len()..self.text.len() - behind.len()]
    }

    /// The same with the question mark that the whole text ends with.
    pub fn as_question(self) -> String {
        let mut written = self.as_written().to_owned();
        let mark = self.text.trim_end().chars().next_back();
        let mark = mark.filter(|c| matches!(c, '?' | '？') && !written.ends_with(*c));
        written.extend(mark);
        written
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
        let characters = 1 + usize::from(self.is_chinese());
        self.terms().len().div_ceil(characters)
    }

    /// The words that carry meaning as they are written, of scripts with spaces only, each once.
    pub fn words(self) -> Vec<String> {
        let words = self.tokens.iter().filter(|it| it.sign == Sign::Word);
        let words = words.map(|it| &self.text[it.range.clone()]);
        let mut seen = HashSet::new();
        let says = |word: &&str| !terms(word, self.language).is_empty();
        let words = words.filter(|word| says(word) && seen.insert(*word));
        words.map(str::to_owned).collect()
    }

    /// All words as they are written.
    pub fn all_words(self) -> Vec<String> {
        let words = self.tokens.iter().filter(|token| !token.is_mark());
        let words = words.map(|token| self.text[token.range.clone()].to_owned());
        words.collect()
    }

    /// The words that a look-up could be about, each once: neither form nor politeness nor small talk. Of scripts without
    /// spaces pairs of characters.
    pub fn topics(self) -> Vec<String> {
        let mut topics: Vec<String> = Vec::new();
        let mut add = |topic: String| {
            if !topics.contains(&topic) {
                topics.push(topic);
            }
        };
        let places = self.topic_places();
        for run in places.chunk_by(|a, b| a + 1 == *b && self.joins(*a)) {
            let (first, last) = (run[0], run[run.len() - 1]);
            let text = &self.text[self.tokens[first].range.start..self.tokens[last].range.end];
            if self.tokens[first].sign == Sign::Word {
                add(text.to_owned());
            } else {
                terms(text, self.language).into_iter().for_each(&mut add);
            }
        }
        topics
    }

    /// The places of the tokens that a look-up could be about.
    pub fn topic_places(self) -> Vec<usize> {
        let table = self.table;
        let tokens = table.without_slips(self.tokens.to_vec());
        let mut form = table.social();
        form.extend([&table.social_filler, &table.stop, &table.generic]);
        form.extend([&table.starts, &table.leads, &table.pronouns]);
        form.extend([&table.polite_front, &table.polite_back]);
        form.extend(table.asks.values());
        table.uncovered(&form, &tokens)
    }

    /// Whether it is nothing but small talk.
    pub fn is_social(self) -> bool {
        let table = self.table;
        let tokens = table.without_slips(self.tokens.to_vec());
        let is_said = table.social().iter().any(|list| list.is_in(&tokens));
        let mut lists = table.social();
        lists.extend([&table.social_filler, &table.polite_back]);
        is_said && table.uncovered(&lists, &tokens).is_empty()
    }

    pub fn has_pronoun(self) -> bool {
        self.find(&self.table.pronouns).is_some()
    }

    /// Whether a token and the next are characters of one run without spaces.
    fn joins(self, at: usize) -> bool {
        let is_unspaced = |token: &Token| matches!(token.sign, Sign::Han | Sign::Kana);
        self.tokens[at..].iter().take(2).all(is_unspaced)
    }

    /// The first phrase of a list that is no part of a word: its place and its number of tokens.
    pub fn find(self, list: &Phrases) -> Option<(usize, usize)> {
        let mut places = (0..self.tokens.len()).filter(|at| !self.is_kept(*at));
        places.find_map(|at| Some((at, list.longest(self.tokens, at)?)))
    }

    /// Whether a token is part of a word that only looks as if it held a stop word.
    pub fn is_kept(self, at: usize) -> bool {
        (at.saturating_sub(2)..=at).any(|from| {
            let kept = self.table.keep.longest(self.tokens, from);
            kept.is_some_and(|length| from + length > at)
        })
    }

    pub fn is_chinese(self) -> bool {
        self.language == Language::ZH
    }

    /// Whether words that ask or a question mark are in it.
    pub fn asks(self) -> bool {
        let is_mark = |token: &Token| matches!(token.word.as_str(), "?" | "？");
        self.tokens.iter().any(is_mark) || self.table.asks.values().any(|it| it.is_in(self.tokens))
    }

    pub fn leading_marks(self) -> usize {
        self.tokens.iter().take_while(|it| it.is_mark()).count()
    }

    /// Strips polite phrases at both ends, unless nothing else is left.
    pub fn without_frames(self) -> Self {
        let mut rest = self.slice(self.leading_marks()..);
        while let Some(length) = self.table.polite_front.longest(rest.tokens, 0) {
            if rest.is_kept(0) {
                break;
            }
            rest = rest.slice(length..);
            rest = rest.slice(rest.leading_marks()..);
        }
        let rest = rest.without_end(&[&self.table.polite_back]);
        if rest.has_terms() { rest } else { self }
    }

    /// Strips question words, joints and words that compare at both ends.
    pub fn subject(self) -> Self {
        let table = self.table;
        let mut form: Vec<&Phrases> = table.asks.values().collect();
        form.extend([&table.stop, &table.generic, &table.also]);
        form.extend([&table.comparing, &table.comparatives]);
        let front = [&form[..], &[&table.leads, &table.starts]].concat();
        let back = [&form[..], &[&table.polite_back]].concat();
        let first = table.uncovered(&front, self.tokens).first().copied();
        let first = first.unwrap_or(self.tokens.len());
        self.without_end(&back).slice(first..)
    }

    /// Strips the phrases of the lists and punctuation at the end.
    pub fn without_end(self, lists: &[&Phrases]) -> Self {
        let last = self.table.uncovered(lists, self.tokens).pop();
        self.slice(..last.map_or(0, |last| last + 1))
    }
}

/// Whether a mark ends a sentence.
pub fn ends_sentence(token: &Token) -> bool {
    matches!(
        token.word.as_str(),
        "." | "。" | "?" | "？" | "!" | "！" | ";" | "；" | "\n"
    )
}
