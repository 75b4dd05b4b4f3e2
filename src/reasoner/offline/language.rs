//! The languages: where words and sentences end, and one table of words for each language.
//!
//! A table is a file in `assets/language/`; code asks for what a word does, never for the word.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;
use std::ops::Range;
use std::sync::LazyLock;

use frostem::{Algorithm, Stemmer};
use include_dir::{Dir, File, include_dir};
use serde::Deserialize;
use strsim::osa_distance;
use unicode_segmentation::UnicodeSegmentation;
use whatlang::{Detector, Lang};

use crate::domain::{Language, QuestionKind};
use crate::text::is_cjk;

/// Tokens of the longest text in which small talk is read as it was meant.
const LONGEST_TALK: usize = 12;
/// Shorter words are too near to too many.
const SLIP_FROM: usize = 6;
/// Fewer words than these are too few for a single form word to tell a language.
pub const FEWEST_WORDS: usize = 3;

/// The language of a text: the script that most of it is in, then the form words it holds.
///
/// A Han character counts as a word does, and each form word counts twice: names in other letters change
/// nothing.
pub fn language_of(text: &str) -> Language {
    let tokens = tokens(text);
    let [han, kana, words] = [Sign::Han, Sign::Kana, Sign::Word]
        .map(|sign| tokens.iter().filter(|token| token.sign == sign).count());
    let form_words = |language| count_form_words(&tokens, language);
    let others = languages().filter(|it| ![Language::ZH, Language::EN].contains(it));
    let counts: Vec<(Language, usize)> = others.map(|it| (it, form_words(it))).collect();
    let most = counts.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let english = form_words(Language::EN);
    if han > kana && han + 2 * form_words(Language::ZH) > words + 2 * english.max(most) {
        return Language::ZH;
    }
    let best = counts.into_iter().filter(|(_, count)| *count == most);
    let best: Vec<Language> = best.map(|(language, _)| language).collect();
    let written_with = |it: &Language| text.contains(|c| table(*it).letters.contains(c));
    let with_letters: Vec<Language> = best.iter().copied().filter(written_with).collect();
    if most >= english && most > 0 && !with_letters.is_empty() {
        return detect_among(text, &with_letters);
    }
    if most == 0 && english == 0 && !with_letters.is_empty() {
        // A borrowed word or a name has such letters in English too.
        return detect_any(text, &with_letters);
    }
    if most <= english {
        return Language::EN;
    }
    let has_no_other_word = |language: &Language| {
        let table = table(*language);
        let mut lists = form_lists(table);
        if tokens.len() > LONGEST_TALK {
            return table.uncovered(&lists, &tokens).is_empty();
        }
        lists.push(&table.social_filler);
        let tokens = table.without_slips(tokens.clone());
        table.uncovered(&lists, &tokens).is_empty()
    };
    let sure: Vec<Language> = best.iter().copied().filter(has_no_other_word).collect();
    match most {
        _ if !sure.is_empty() => detect_among(text, &sure),
        // One word may as well be a word of English that its table lacks.
        1 if words < FEWEST_WORDS => Language::EN,
        1 => detect_any(text, &best),
        _ => detect_among(text, &best),
    }
}

/// How many stop words and other words that every text needs a language has among the tokens.
pub fn count_form_words(tokens: &[Token], language: Language) -> usize {
    let lists = form_lists(table(language));
    let is_form = |at: &usize| {
        tokens[*at].language(language) == language
            && lists.iter().any(|list| list.longest(tokens, *at).is_some())
    };
    (0..tokens.len()).filter(is_form).count()
}

/// The lists of words that tell a language, whatever a text is about.
fn form_lists(table: &Table) -> Vec<&Phrases> {
    let mut lists = vec![&table.stop, &table.generic];
    lists.extend(table.social());
    lists
}

/// The language whose sequences of letters a text is most like, where that is among the candidates; else English.
fn detect_any(text: &str, candidates: &[Language]) -> Language {
    let detected = detect_among(text, &languages().collect::<Vec<_>>());
    let is_sure = candidates.contains(&detected);
    if is_sure { detected } else { Language::EN }
}

/// The one of these languages whose sequences of letters a text is most like.
fn detect_among(text: &str, candidates: &[Language]) -> Language {
    let first = candidates.first().copied().unwrap_or_default();
    if candidates.len() < 2 {
        return first;
    }
    let code = |language: &Language| Lang::from_code(&table(*language).long_code);
    let allowed = candidates.iter().filter_map(code).collect();
    let found = Detector::with_allowlist(allowed).detect_lang(text);
    let mut named = candidates.iter().copied();
    named.find(|it| code(it) == found).unwrap_or(first)
}

/// Whether the tables hold all letters of a text.
pub fn is_known_script(text: &str) -> bool {
    text.chars()
        .filter(|c| c.is_alphabetic())
        .all(is_known_letter)
}

/// Whether a text is in English, as far as its letters and form words tell.
pub fn is_english(text: &str) -> bool {
    let letters: Vec<char> = text.chars().filter(|c| c.is_alphabetic()).collect();
    let known = letters.iter().filter(|c| is_known_letter(**c)).count();
    language_of(text) == Language::EN && 2 * known >= letters.len()
}

fn is_known_letter(c: char) -> bool {
    let is_basic = matches!(c, 'a'..='z' | 'A'..='Z' | '\u{4e00}'..='\u{9fff}');
    is_basic || TABLES.values().any(|table| table.letters.contains(c))
}

/// What a language model is told so that it answers in a language.
pub fn answer_instruction(language: Language) -> &'static str {
    &table(language).answer_in
}

/// The sentences of a text, as byte ranges in order (Unicode UAX 29); only a blank line ends one without a mark.
pub fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    for paragraph in text.split_inclusive("\n\n") {
        // A single line break would end a sentence.
        let line = paragraph.replace(['\n', '\r'], " ");
        let mut goes_on = false;
        for (at, piece) in line.split_sentence_bound_indices() {
            let at = start + at;
            let sentence = trimmed(text, at..at + piece.len());
            match found.last_mut().filter(|_| goes_on) {
                Some(last) => last.end = sentence.end,
                None if sentence.is_empty() => {}
                None => found.push(sentence),
            }
            goes_on = ends_short(piece.trim());
        }
        start += paragraph.len();
    }
    found
}

/// Whether the full stop behind a text belongs to its last word, an ordinal or an initial: "3. Mai", "J. Doe".
fn ends_short(text: &str) -> bool {
    let last = text.strip_suffix('.').unwrap_or_default();
    let word = last.rsplit(|c: char| !c.is_alphanumeric()).next();
    let word = word.unwrap_or_default();
    let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
    !word.is_empty() && word.chars().count() <= 1 + usize::from(is_number)
}

/// Some bytes of a text without white space at their ends.
pub fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let written = &text[range.clone()];
    let start = range.end - written.trim_start().len();
    start..start + written.trim().len()
}

/// A word, a character of a script without spaces, or a mark, with its place in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub range: Range<usize>,
    /// The word in lower case.
    pub word: String,
    pub sign: Sign,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// A word of a script with spaces; `_` and `-` are letters within it.
    Word,
    Han,
    /// A character of another script without spaces.
    Kana,
    /// A mark that ends sentences or clauses.
    Mark,
}

impl Token {
    /// The language whose table holds the token, in a text of a language.
    pub fn language(&self, of_text: Language) -> Language {
        match (self.sign, of_text) {
            (Sign::Han | Sign::Kana, _) => Language::ZH,
            (_, Language::ZH) => Language::EN,
            (_, language) => language,
        }
    }

    pub fn is_mark(&self) -> bool {
        self.sign == Sign::Mark
    }
}

/// The tokens of a text in order; an apostrophe separates words, as every other sign does.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut found: Vec<Token> = Vec::new();
    let token = |range: Range<usize>, sign| Token {
        word: text[range.clone()].to_lowercase(),
        range,
        sign,
    };
    let mut word: Option<usize> = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        let is_letter = c.is_alphanumeric() && !is_cjk(c);
        if is_letter || word.is_some() && matches!(c, '_' | '-') {
            word.get_or_insert(at);
            continue;
        }
        if let Some(from) = word.take() {
            let end = from + text[from..at].trim_end_matches(['_', '-']).len();
            found.push(token(from..end, Sign::Word));
        }
        let end = at + c.len_utf8();
        let sign = match c {
            '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{ac00}'..='\u{d7af}' => {
                Sign::Kana
            }
            c if is_cjk(c) => Sign::Han,
            c if ",;?!，；？！。、：\n".contains(c) => Sign::Mark,
            // Within "guide.md" and "12:30" they separate nothing.
            '.' | ':' if !text[end..].starts_with(char::is_alphanumeric) => Sign::Mark,
            _ => continue,
        };
        found.push(token(at..end, sign));
    }
    found
}

/// Phrases of a table, found token by token.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "Vec<String>")]
pub struct Phrases {
    /// The words of each phrase by its first word, the longest phrase first.
    by_first: HashMap<String, Vec<Vec<String>>>,
}

impl Phrases {
    /// The number of tokens of the longest phrase that begins at a token.
    pub fn longest(&self, tokens: &[Token], at: usize) -> Option<usize> {
        let rest = tokens.get(at..)?;
        let is_next = |phrase: &&Vec<String>| {
            let mut pairs = rest.iter().zip(phrase.iter());
            phrase.len() <= rest.len() && pairs.all(|(token, word)| token.word == *word)
        };
        let phrases = self.by_first.get(&rest.first()?.word)?;
        phrases.iter().find(is_next).map(Vec::len)
    }

    /// Whether the tokens hold a phrase.
    pub fn is_in(&self, tokens: &[Token]) -> bool {
        (0..tokens.len()).any(|at| self.longest(tokens, at).is_some())
    }

    /// Whether a word is in a phrase.
    pub fn holds(&self, word: &str) -> bool {
        let mut phrases = self.by_first.values().flatten();
        phrases.any(|phrase| phrase.iter().any(|it| it == word))
    }

    /// A word of a phrase that differs from a word in one letter.
    pub fn near(&self, word: &str) -> Option<&str> {
        let words = self.by_first.values().flatten().flatten();
        let long = words.filter(|it| it.chars().count() >= SLIP_FROM);
        let near = long.filter(|it| osa_distance(word, it) == 1);
        near.map(String::as_str)
            .min_by_key(|it| (it.len().abs_diff(word.len()), *it))
    }

    /// Whether a single word is a phrase.
    pub fn has(&self, word: &str) -> bool {
        let phrases = self.by_first.get(word);
        phrases.is_some_and(|phrases| phrases.iter().any(|phrase| phrase.len() == 1))
    }
}

impl From<Vec<String>> for Phrases {
    fn from(listed: Vec<String>) -> Self {
        let mut by_first: HashMap<String, Vec<Vec<String>>> = HashMap::new();
        for phrase in listed {
            let words: Vec<String> = tokens(&phrase).into_iter().map(|it| it.word).collect();
            if let Some(first) = words.first() {
                by_first.entry(first.clone()).or_default().push(words);
            }
        }
        for phrases in by_first.values_mut() {
            phrases.sort_by_key(|words| std::cmp::Reverse(words.len()));
        }
        Self { by_first }
    }
}

/// The words of a language by what they do; the files say more of each list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    pub stop: Phrases,
    pub keep: Phrases,
    pub generic: Phrases,
    pub starts: Phrases,
    pub comparing: Phrases,
    pub comparatives: Phrases,
    pub pronouns: Phrases,
    pub leads: Phrases,
    pub also: Phrases,
    pub corrections: Phrases,
    pub not_meant: Phrases,
    pub empty_pronouns: Phrases,
    pub links: Phrases,
    pub states: Phrases,
    pub relations: Phrases,
    pub whole: Phrases,
    pub holding: Phrases,
    pub plural: Vec<String>,
    pub before_files: Vec<String>,
    pub numbered_parts: Vec<String>,
    pub polite_front: Phrases,
    pub polite_back: Phrases,
    pub side_joints: Phrases,
    pub between_sides: Phrases,
    pub between_choices: Phrases,
    pub part_joints: Phrases,
    pub about: String,
    pub letters: String,
    pub answer_in: String,
    pub long_code: String,
    pub stemmer: String,
    pub writes_nouns_large: bool,
    pub social_filler: Phrases,
    pub addressee: Phrases,
    pub small_talk_from: f64,
    pub complex_from: f64,
    pub asks: HashMap<QuestionKind, Phrases>,
    pub small_talk: Vec<SmallTalk>,
    pub frames: Frames,
}

/// What is said in small talk, and the reply to it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SmallTalk {
    pub said: Phrases,
    pub reply: String,
}

/// What an answer says around what it quotes. In those with `{}` a name or a number takes its place.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frames {
    pub nothing: String,
    pub unclear: String,
    pub never_said: String,
    pub nearest: String,
    pub see_also: String,
    pub about: String,
    pub missing: String,
    pub more_lines: String,
    pub more_items: String,
    pub and_more: String,
    pub untranslated: String,
    pub search_instead: String,
    pub one_document: String,
    pub documents: String,
    pub first_documents: String,
}

/// A sentence with what takes the place of its `{}`.
pub fn filled(frame: &str, with: impl Display) -> String {
    frame.replacen("{}", &with.to_string(), 1)
}

impl Table {
    /// The longest phrase that asks and begins at a token: its number of tokens, and what it asks for.
    pub fn asks_at(&self, tokens: &[Token], at: usize) -> Option<(usize, QuestionKind)> {
        let kinds = self.asks.iter();
        let found = kinds.filter_map(|(kind, list)| Some((list.longest(tokens, at)?, *kind)));
        found.max_by_key(|(length, _)| *length)
    }

    /// The places of the tokens that are neither marks nor in a phrase of the lists.
    pub fn uncovered(&self, lists: &[&Phrases], tokens: &[Token]) -> Vec<usize> {
        let mut places = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            let kept = self.keep.longest(tokens, at);
            let phrases = lists.iter().filter_map(|list| list.longest(tokens, at));
            let phrase = phrases.max();
            let length = kept.or(phrase).unwrap_or(1);
            if kept.is_some() || phrase.is_none() && !tokens[at].is_mark() {
                places.extend(at..at + length);
            }
            at += length;
        }
        places
    }

    /// The tokens with the words of small talk as they are meant: one of [`SLIP_FROM`] letters or more that is no other
    /// word of the table and differs in one letter from one.
    pub fn without_slips(&self, mut tokens: Vec<Token>) -> Vec<Token> {
        let mut known = self.social();
        known.extend([&self.social_filler, &self.stop, &self.generic]);
        for token in &mut tokens {
            let letters = token.word.chars().count();
            if letters < SLIP_FROM || known.iter().any(|list| list.holds(&token.word)) {
                continue;
            }
            let mut said = known.iter().take(self.small_talk.len());
            let meant = said.find_map(|list| list.near(&token.word));
            token.word = meant.map_or_else(|| token.word.clone(), str::to_owned);
        }
        tokens
    }

    pub fn social(&self) -> Vec<&Phrases> {
        self.small_talk.iter().map(|talk| &talk.said).collect()
    }
}

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/assets/language");

/// The table of each language that has a file.
pub static TABLES: LazyLock<BTreeMap<&str, Table>> = LazyLock::new(|| {
    let tables = FILES.files().map(|file| {
        let code = file.path().file_stem()?.to_str()?;
        Some((code, read(file)))
    });
    tables.flatten().collect()
});

#[expect(
    clippy::expect_used,
    reason = "the files are part of the program, and a test reads them"
)]
fn read(file: &File<'_>) -> Table {
    let text = file.contents_utf8().expect("a table of words is text");
    toml::from_str(text).expect("a table of words can be read")
}

/// The table of a language; without one, that of English.
pub fn table(language: Language) -> &'static Table {
    TABLES.get(language.0).unwrap_or(&TABLES[Language::EN.0])
}

/// Every language that has a table.
pub fn languages() -> impl Iterator<Item = Language> {
    TABLES.keys().map(|code| Language(code))
}

/// Stemmed words and pairs of characters in order, stop words left out.
///
/// An identifier counts as a whole and as its parts, so that `MAX_ITERATIONS` is met by "max
/// iterations". Scripts without spaces become pairs of characters: measured as good as a dictionary.
pub fn terms(text: &str, language: Language) -> Vec<String> {
    let algorithm = Algorithm::from_name(&table(language).stemmer).ok();
    let stemmer = algorithm.map(Stemmer::new);
    let tokens = tokens(text);
    let mut terms = Vec::new();
    // Neighbouring characters of a script without spaces.
    let mut run: Vec<&Token> = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let table = table(token.language(language));
        let kept = table.keep.longest(&tokens, at);
        let stop = table.stop.longest(&tokens, at).filter(|_| kept.is_none());
        let length = kept.or(stop).unwrap_or(1);
        let is_unspaced = matches!(token.sign, Sign::Han | Sign::Kana);
        let joins = is_unspaced && stop.is_none();
        let is_apart = |last: &&Token| last.range.end < token.range.start;
        if !joins || run.last().is_some_and(is_apart) {
            push_pairs(&mut run, &mut terms);
        }
        if joins {
            run.extend(&tokens[at..at + length]);
        } else if token.sign == Sign::Word && stop.is_none() {
            push_word(&text[token.range.clone()], language, stemmer, &mut terms);
        }
        at += length;
    }
    push_pairs(&mut run, &mut terms);
    terms
}

fn push_word(word: &str, language: Language, stemmer: Option<Stemmer>, terms: &mut Vec<String>) {
    let parts = identifier_parts(word);
    if parts.len() > 1 {
        terms.push(word.to_lowercase());
    }
    for part in parts {
        let says = part.len() > 1 || part.chars().all(char::is_numeric);
        if !says || table(language).stop.has(&part) {
            continue;
        }
        let is_plain = part.chars().all(char::is_alphabetic);
        terms.push(match stemmer.filter(|_| is_plain) {
            Some(stemmer) => stemmer.stem(&part).into_owned(),
            None => part,
        });
    }
}

/// The words of an identifier: `max_iterations` and `MaxIterations` are "max" and "iterations".
fn identifier_parts(word: &str) -> Vec<String> {
    let mut parts = Vec::new();
    for piece in word.split(['_', '-']) {
        let letters: Vec<char> = piece.chars().collect();
        let runs = letters.chunk_by(|a, b| !(a.is_lowercase() && b.is_uppercase()));
        parts.extend(runs.map(|run| run.iter().flat_map(|c| c.to_lowercase()).collect()));
    }
    parts
}

fn push_pairs(run: &mut Vec<&Token>, terms: &mut Vec<String>) {
    if let [single] = run.as_slice() {
        terms.push(single.word.clone());
    }
    let pairs = run.windows(2);
    terms.extend(pairs.map(|pair| format!("{}{}", pair[0].word, pair[1].word)));
    run.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r23_the_language_is_that_of_the_most_of_a_text() {
        for (text, language) in [
            ("What is the fast path?", Language::EN),
            ("什么是快速路径？", Language::ZH),
            ("Was ist der schnelle Weg?", Language("de")),
            ("Kündigungsfrist", Language("de")),
            ("Что такое быстрый путь?", Language("ru")),
            ("Qu'est-ce que le chemin rapide ?", Language("fr")),
            ("¿Qué es la ruta rápida?", Language("es")),
            ("O que é o caminho rápido?", Language("pt")),
            ("Che cos'è il percorso rapido?", Language("it")),
            // One foreign character changes nothing.
            ("What does 快 mean in the log?", Language::EN),
            ("快速路径会跳过の哪些节点", Language::ZH),
            ("ルーティングとは何ですか", Language::EN),
            ("VectorTool是什么", Language::ZH),
            ("什么是 fast path", Language::ZH),
            ("What is 快速路径?", Language::EN),
            ("Was bedeutet RE_RETRIEVE?", Language("de")),
            ("What was the war about?", Language::EN),
            ("", Language::EN),
            ("12 + 3", Language::EN),
            // Borrowed words, names and single words that other languages have too.
            ("José invoices of last year", Language::EN),
            ("OS upgrade", Language::EN),
        ] {
            assert_eq!(language_of(text), language, "{text}");
        }
    }

    #[test]
    fn r02_the_offline_engine_has_no_say_in_languages_that_it_cannot_read() {
        for text in ["Hello there 👋!", "Grüße", "你好！", "¿?"] {
            assert!(is_known_script(text), "{text}");
        }
        for text in ["Γειά σου", "こんにちは", "안녕하세요", "Dziękuję bardzo"] {
            assert!(!is_known_script(text), "{text}");
        }
    }

    #[test]
    fn r23_sentences_end_where_a_reader_ends_them() {
        for (text, count) in [
            ("Die Miete ist am 3. Mai fällig. Danach wird gemahnt.", 2),
            ("See vol. 3, e.g. by J. Doe. The rest is lost.", 2),
            ("Is it so? The answer is no. Nothing else is.", 3),
            ("It began in 1999. The next came later.", 2),
            ("3. Mai 2024", 1),
            ("他说：“好。”然后走了。第二句。", 3),
            ("One line\nof two\n\nAnother", 2),
            (" \n\n ", 0),
        ] {
            let found = sentences(text);
            let found: Vec<&str> = found.into_iter().map(|range| &text[range]).collect();
            assert_eq!(found.len(), count, "{found:?}");
        }
    }
}

#[cfg(test)]
mod table_tests {
    use super::*;

    #[test]
    fn every_language_has_every_kind_and_no_phrase_asks_for_two() {
        for (language, table) in &*TABLES {
            assert_eq!(table.asks.len(), 14, "{language}");
            assert_eq!(table.small_talk.len(), 5, "{language}");
            let frames = &table.frames;
            for frame in [
                &table.about,
                &frames.never_said,
                &frames.about,
                &frames.more_lines,
                &frames.more_items,
                &frames.documents,
                &frames.first_documents,
            ] {
                assert_eq!(frame.matches("{}").count(), 1, "{language}: {frame}");
            }
        }
        for file in FILES.files() {
            let table: toml::Table = toml::from_str(file.contents_utf8().unwrap()).unwrap();
            let lists = table["asks"].as_table().unwrap().values();
            let phrases: Vec<&str> = lists
                .flat_map(|list| list.as_array().unwrap())
                .map(|phrase| phrase.as_str().unwrap())
                .collect();
            let distinct: std::collections::HashSet<&&str> = phrases.iter().collect();
            assert_eq!(distinct.len(), phrases.len());
        }
    }

    #[test]
    fn an_unknown_key_is_refused() {
        let file = FILES.get_file("de.toml").unwrap().contents_utf8();
        let more = file
            .unwrap()
            .replacen("stop = [", "stops = []\nstop = [", 1);
        let error = toml::from_str::<Table>(&more).unwrap_err();
        assert!(error.to_string().contains("stops"), "{error}");
    }
}

#[cfg(test)]
mod terms_tests {
    use super::*;

    #[test]
    fn question_and_passage_meet_in_one_form() {
        for (a, b) in [
            ("thresholds", "threshold"),
            ("graded", "grading"),
            ("planning", "planned"),
            ("queries", "query"),
        ] {
            assert_eq!(terms(a, Language::EN), terms(b, Language::EN), "{a} {b}");
        }
        for (a, b) in [
            ("Häuser", "Haus"),
            ("Verträge", "Vertrag"),
            ("gekündigten", "gekündigt"),
        ] {
            assert_eq!(
                terms(a, Language("de")),
                terms(b, Language("de")),
                "{a} {b}"
            );
        }
    }

    #[test]
    fn identifiers_count_whole_and_in_parts() {
        assert_eq!(
            terms("MAX_ITERATIONS PROJ-123", Language::EN),
            ["max_iterations", "max", "iter", "proj-123", "proj", "123"]
        );
        assert_eq!(
            terms("VectorTool", Language::EN),
            ["vectortool", "vector", "tool"]
        );
    }

    #[test]
    fn chinese_becomes_pairs() {
        assert_eq!(
            terms("什么是快速路径？", Language::ZH),
            ["快速", "速路", "路径"]
        );
        assert_eq!(terms("它的默认值是多少", Language::ZH), ["默认", "认值"]);
        assert_eq!(terms("会议的目的", Language::ZH), ["会议", "目的"]);
    }

    #[test]
    fn nothing_remains_of_nothing() {
        for text in ["", " ", "😀😀", "?!…", "what is the", "_-_"] {
            assert!(terms(text, Language::EN).is_empty(), "{text:?}");
        }
    }
}
