//! Text to index terms.
//!
//! Stock tokenizers lose what people look up in a knowledge base: `PROJ-123` falls into two
//! common pieces, `max_items` and `MaxItems` are one opaque word each, Chinese is one word a
//! sentence. Here a compound is kept whole *and* given in parts (`compound`), and scripts without
//! spaces give single characters and pairs (measured better than a dictionary). Stop words and
//! English stems follow. Case, width and accents are folded first (`folding`); a word with an umlaut
//! is also given as it is spelt without one. A document in another language has the stems of that
//! one too (`languages`).
//!
//! A text's terms lie one after the other in one buffer that is used again for the next text.

use std::collections::HashMap;
use std::slice;

use tantivy::tokenizer::{
    BoxTokenStream, Language, Stemmer, StopWordFilter, TextAnalyzer, Token, TokenStream, Tokenizer,
};
use unicode_normalization::char::is_combining_mark;

use crate::text::is_cjk;
use query_terms::{Terms, char_at, is_picture, is_unspaced};

mod compound;
mod folding;
mod languages;
mod query_terms;

pub(crate) use languages::{detect, mark, unmark};
pub(crate) use query_terms::Role;

/// Raised when the same text gives other terms: an index made by another version is made anew.
pub(crate) const VERSION: u32 = 3;

/// Lucene's English list.
const STOP_WORDS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it",
    "no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there", "these",
    "they", "this", "to", "was", "will", "with",
];

/// The analyzer of the index and its marked texts.
pub(crate) fn analyzer() -> TextAnalyzer {
    TextAnalyzer::builder(StemmingTokenizer::new(chain())).build()
}

fn chain() -> TextAnalyzer {
    TextAnalyzer::builder(Words::default())
        .filter(StopWordFilter::remove(
            STOP_WORDS.iter().map(|&word| word.to_owned()),
        ))
        .filter(Stemmer::new(Language::English))
        .build()
}

/// A term of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueryTerm {
    /// The term as it is in the index.
    pub text: String,
    /// The role of the term in the query.
    pub role: Role,
    /// Alternatives that a text may have in its place: other spellings, and stems in other languages.
    pub others: Vec<String>,
}

/// The distinct terms of a query, in order of appearance.
pub(crate) fn terms(text: &str) -> Vec<QueryTerm> {
    let mut analyzer = chain();
    let mut terms: Vec<QueryTerm> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut stream = analyzer.token_stream(text);
    // The place of the last term among the distinct ones, and in the text.
    let mut last = None;
    while stream.advance() {
        let token = stream.token();
        let role = Role::from_length(token.position_length);
        if role != Role::Spelling {
            let place = *known.entry(token.text.clone()).or_insert(terms.len());
            last = Some((place, token.position));
            if place == terms.len() {
                terms.push(QueryTerm {
                    text: token.text.clone(),
                    role,
                    others: Vec::new(),
                });
            }
        } else if let Some((place, position)) = last
            && position + 1 == token.position
            && !terms[place].others.contains(&token.text)
        {
            // A stop word, which is no term, has no other spelling either.
            terms[place].others.push(token.text.clone());
        }
    }
    drop(stream);
    for word in languages::words(text) {
        let mut stream = analyzer.token_stream(word);
        let mut own = Vec::new();
        while stream.advance() {
            own.push(stream.token().text.clone());
        }
        // A word of several parts has no stem.
        let place = own
            .first()
            .filter(|_| own.len() < 3)
            .and_then(|term| known.get(term));
        if let Some(term) = place.and_then(|place| terms.get_mut(*place))
            && term.role == Role::Word
        {
            let stems = languages::stems(word);
            let new = stems.into_iter().filter(|stem| !term.others.contains(stem));
            let new: Vec<String> = new.collect();
            term.others.extend(new);
        }
    }
    terms
}

/// Words of a question that do not describe its subject.
const ASKING: &[&str] = &[
    "what",
    "what's",
    "whats",
    "who",
    "which",
    "where",
    "when",
    "why",
    "how",
    "do",
    "does",
    "did",
    "can",
    "could",
    "should",
    "would",
    "i",
    "you",
    "we",
    "me",
    "my",
    "your",
    "our",
    "about",
    "mean",
    "means",
    "meant",
    "meaning",
    "definition",
    "define",
    "explain",
    "describe",
    "tell",
    "give",
    "show",
    "please",
    "work",
    "works",
    "using",
    "use",
    "some",
    "any",
    "have",
    "has",
    "were",
];
/// Asking words in Chinese, longer ones first.
const ASKING_ZH: &[&str] = &[
    "是什么意思",
    "什么意思",
    "是什么",
    "什么是",
    "有哪些",
    "哪些",
    "什么",
    "怎么",
    "如何",
    "请问",
    "介绍",
    "？",
];
/// The most words of a name.
const LONGEST_NAME: usize = 8;

/// The key that a heading, a title and a question for just that share; `None` where no word is left.
pub(crate) fn name_key(text: &str) -> Option<String> {
    let mut plain = text.to_lowercase();
    for asking in ASKING_ZH {
        plain = plain.replace(asking, " ");
    }
    let is_telling = |word: &&str| {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        !ASKING.contains(&bare)
    };
    let telling: Vec<&str> = plain.split_whitespace().filter(is_telling).collect();
    if telling.len() > 2 * LONGEST_NAME {
        return None;
    }
    let terms = terms(&telling.join(" ")).into_iter();
    let mut terms: Vec<String> = terms
        .filter(|term| term.role != Role::Joined)
        .map(|term| term.text)
        .collect();
    terms.sort_unstable();
    let is_name = !terms.is_empty() && (terms.len() <= LONGEST_NAME || plain.chars().any(is_cjk));
    is_name.then(|| terms.join(" "))
}

/// The keys of names, each once; what begins with numbers, as `3.1 Risks` and `ch04-slices`, is also
/// found without them.
pub(crate) fn name_keys(names: &[String]) -> Vec<String> {
    let bare = |name: &str| {
        let is_joint = |c: char| matches!(c, ' ' | '.' | '-' | '_' | ')');
        let mut rest = name;
        while let Some((number, after)) = rest.split_once(is_joint)
            && (number.is_empty() || number.ends_with(|c: char| c.is_ascii_digit()))
        {
            rest = after;
        }
        (rest.len() < name.len()).then(|| name_key(rest)).flatten()
    };
    let keys = names.iter().flat_map(|name| [name_key(name), bare(name)]);
    let mut keys: Vec<String> = keys.flatten().collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

#[derive(Clone, Default)]
struct Words {
    terms: Terms,
    folded: String,
    word: Terms,
    spelt_out: Terms,
    token: Token,
}

impl Tokenizer for Words {
    type TokenStream<'a> = Stream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Stream<'a> {
        self.terms.clear();
        // No term goes across a blank.
        for word in text.split_ascii_whitespace() {
            if word.is_ascii() {
                split(word, &mut self.terms);
            } else {
                self.split_folded(word);
            }
        }
        Stream {
            terms: &self.terms,
            token: &mut self.token,
            next: 0,
            start: 0,
        }
    }
}

impl Words {
    /// Adds the terms of a word that is not ASCII, and behind each its spelling without umlauts, where it
    /// has one.
    fn split_folded(&mut self, word: &str) {
        let mut fold_and_split = |word: &str, terms: &mut Terms| {
            self.folded.clear();
            folding::fold(word, &mut self.folded);
            split(&self.folded, terms);
        };
        let Some(spelt_out) = folding::spell_out(word) else {
            return fold_and_split(word, &mut self.terms);
        };
        self.word.clear();
        fold_and_split(word, &mut self.word);
        self.spelt_out.clear();
        fold_and_split(&spelt_out, &mut self.spelt_out);
        // The same terms, unless a longer spelling makes one too long for a word.
        let is_parallel = self.word.ends.len() == self.spelt_out.ends.len();
        let mut spellings = self.spelt_out.iter();
        for (term, role) in self.word.iter() {
            self.terms.push(&[term], role);
            if let Some((spelling, _)) = spellings.next().filter(|_| is_parallel)
                && spelling != term
            {
                self.terms.push(&[spelling], Role::Spelling);
            }
        }
    }
}

struct Stream<'a> {
    terms: &'a Terms,
    token: &'a mut Token,
    next: usize,
    start: usize,
}

impl TokenStream for Stream<'_> {
    fn advance(&mut self) -> bool {
        let Some(&(end, role)) = self.terms.ends.get(self.next) else {
            return false;
        };
        self.token.position = self.next;
        self.token.position_length = role.as_length();
        self.token.text.clear();
        self.token.text.push_str(&self.terms.text[self.start..end]);
        self.start = end;
        self.next += 1;
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

/// The terms of a marked text, then its stems.
#[derive(Clone)]
struct StemmingTokenizer {
    terms: TextAnalyzer,
    stems: String,
    ends: Vec<usize>,
    token: Token,
}

impl StemmingTokenizer {
    fn new(terms: TextAnalyzer) -> Self {
        Self {
            terms,
            stems: String::new(),
            ends: Vec::new(),
            token: Token::default(),
        }
    }
}

impl Tokenizer for StemmingTokenizer {
    type TokenStream<'a> = StemmingStream<'a>;

    fn token_stream<'a>(&'a mut self, marked: &'a str) -> StemmingStream<'a> {
        self.stems.clear();
        self.ends.clear();
        languages::stem_marked(marked, &mut self.stems, &mut self.ends);
        StemmingStream {
            terms: self.terms.token_stream(unmark(marked)),
            has_terms: true,
            stems: &self.stems,
            ends: self.ends.iter(),
            start: 0,
            token: &mut self.token,
        }
    }
}

struct StemmingStream<'a> {
    terms: BoxTokenStream<'a>,
    has_terms: bool,
    stems: &'a str,
    ends: slice::Iter<'a, usize>,
    start: usize,
    token: &'a mut Token,
}

impl TokenStream for StemmingStream<'_> {
    fn advance(&mut self) -> bool {
        self.has_terms = self.has_terms && self.terms.advance();
        if self.has_terms {
            return true;
        }
        let Some(&end) = self.ends.next() else {
            return false;
        };
        self.token.text.clear();
        self.token.text.push_str(&self.stems[self.start..end]);
        self.token.position = self.terms.token().position.saturating_add(1);
        self.start = end;
        true
    }

    fn token(&self) -> &Token {
        if self.has_terms {
            self.terms.token()
        } else {
            self.token
        }
    }

    fn token_mut(&mut self) -> &mut Token {
        if self.has_terms {
            self.terms.token_mut()
        } else {
            self.token
        }
    }
}

/// Splits a folded text into terms.
fn split(text: &str, terms: &mut Terms) {
    let mut at = 0;
    while let Some(&byte) = text.as_bytes().get(at) {
        at = if byte.is_ascii_alphanumeric() {
            compound::take(text, at, terms)
        } else if byte.is_ascii() {
            if byte == b'.' {
                compound::take_dotted(text, at, terms);
            }
            at + 1
        } else {
            match char_at(text, at) {
                Some(c) if is_unspaced(c) => pairs(text, at, terms),
                Some(c) if c.is_alphanumeric() => compound::take(text, at, terms),
                Some(c) if is_picture(c) => picture(text, at, terms),
                Some(c) => at + c.len_utf8(),
                None => text.len(),
            }
        };
    }
}

/// Characters and pairs of characters of a script without spaces; returns where the run ends. A
/// vowel or tone mark stays with the character that it belongs to.
fn pairs(text: &str, from: usize, terms: &mut Terms) -> usize {
    let mut before: Option<&str> = None;
    let mut at = from;
    while char_at(text, at).is_some_and(is_unspaced) {
        let mut end = at;
        while let Some(c) = char_at(text, end).filter(|&c| end == at || is_combining_mark(c)) {
            end += c.len_utf8();
        }
        let one = &text[at..end];
        if let Some(before) = before {
            terms.push(&[before, one], Role::Exact);
        }
        terms.push(&[one], Role::Exact);
        before = Some(one);
        at = end;
    }
    at
}

/// A picture, or the two letters that make a flag; returns where it ends.
fn picture(text: &str, from: usize, terms: &mut Terms) -> usize {
    let is_flag_letter = |c: &char| matches!(c, '\u{1f1e6}'..='\u{1f1ff}');
    let mut chars = text[from..].chars();
    let first = chars.next().map_or(0, char::len_utf8);
    let is_flag = text[from..].chars().take(2).filter(is_flag_letter).count() == 2;
    let end = from + if is_flag { 2 * first } else { first };
    terms.push(&[&text[from..end]], Role::Exact);
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        terms(text).into_iter().map(|term| term.text).collect()
    }

    /// Whether all terms of the query are among those of the text.
    fn finds(query: &str, text: &str) -> bool {
        let text = texts(text);
        let query = texts(query);
        !query.is_empty() && query.iter().all(|term| text.contains(term))
    }

    #[test]
    fn identifiers_are_found_whole_and_in_parts() {
        for (text, expected) in [
            ("PROJ-123", vec!["proj-123", "proj", "123"]),
            ("max_items", vec!["max_item", "max", "item"]),
            ("HTTPServer", vec!["httpserver", "http", "server"]),
            ("end. Next", vec!["end", "next"]),
            ("the user's don't", vec!["user", "don"]),
            ("tools.md", vec!["tools.md", "tool", "md"]),
            ("v1.2.3", vec!["v1.2.3", "1.2.3", "v1", "1", "2", "3"]),
            ("C++ or C#", vec!["c", "c++", "c#"]),
            ("use .NET here", vec!["use", ".net", "net", "here"]),
            ("1,234,567 bytes", vec!["1234567", "byte"]),
            (
                "src/kb/base.rs",
                vec![
                    "src/kb/base.r",
                    "kb/base.r",
                    "src",
                    "kb",
                    "base.r",
                    "base",
                    "rs",
                ],
            ),
            (
                "jane.doe@example.com",
                vec![
                    "jane.doe@example.com",
                    "jane.do",
                    "jane",
                    "doe",
                    "example.com",
                    "exampl",
                    "com",
                ],
            ),
            ("0xDEADbeef", vec!["0xdeadbeef", "0x", "dea", "dbeef"]),
            ("ＡＢＣ", vec!["abc"]),
            (
                "快速路径",
                vec!["快", "快速", "速", "速路", "路", "路径", "径"],
            ),
            ("用grep搜索", vec!["用", "grep", "搜", "搜索", "索"]),
        ] {
            assert_eq!(texts(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_asked_in_part_or_in_another_dress_is_found() {
        for (query, text) in [
            ("cafe", "un café"),
            ("café", "a cafe"),
            ("STRASSE", "die Straße"),
            ("smorrebrod", "smørrebrød"),
            ("naive", "nai\u{308}ve"),
            ("ΛΌΓΟΣ", "ο λογος"),
            ("еще", "Ещё"),
            ("istanbul", "İstanbul"),
            ("ﬁle", "file"),
            ("محمد", "مُحَمَّد"),
            ("احمد", "أحمد"),
            ("٢٠٢٤", "in 2024"),
            ("בראשית", "בְּרֵאשִׁ֖ית"),
            ("צה\"ל", "צה״ל"),
            ("👍", "👍🏽"),
            ("eau", "l’eau"),
            ("グーグル", "ｸﾞｰｸﾞﾙで検索"),
            ("データ", "データベース"),
            ("人々", "多くの人々"),
            ("검색", "한국어검색엔진"),
            ("ภาษา", "ภาษาไทย"),
            ("हिन्दी", "यह हिन्दी है"),
            ("kb/base.rs", "see src/kb/base.rs:12"),
            ("base.rs", "see src/kb/base.rs"),
            ("example.com", "https://example.com/docs/a?b=1"),
            ("1.2.3", "released v1.2.3"),
            ("1234567", "1,234,567 rows"),
            (
                "550e8400-e29b-41d4-a716-446655440000",
                "id=550E8400-E29B-41D4-A716-446655440000",
            ),
            ("KB_AGENT_SOURCE", "set `KB_AGENT_SOURCE=…`"),
            ("non-breaking", "non\u{2011}breaking"),
        ] {
            assert!(
                finds(query, text),
                "{query}: {:?} in {:?}",
                texts(query),
                texts(text)
            );
        }
    }

    #[test]
    fn what_is_different_stays_different() {
        for (query, text) in [
            ("C++", "C#"),
            ("PROJ-123", "PROJ-124 123 PROJ"),
            ("ハ", "バ"),
            ("कम", "काम"),
            ("🇫🇷", "🇷🇫"),
            (".NET", "the net"),
            ("1.2.3", "3.2.1"),
        ] {
            assert!(
                !finds(query, text),
                "{query}: {:?} in {:?}",
                texts(query),
                texts(text)
            );
        }
    }

    #[test]
    fn the_role_says_what_may_be_corrected() {
        let roles: Vec<_> = terms("retrieval high-speed PROJX-12 快")
            .into_iter()
            .collect();
        let role = |text: &str| roles.iter().find(|term| term.text == text).unwrap().role;
        assert_eq!(role("retriev"), Role::Word);
        assert_eq!(role("high-spe"), Role::Joined);
        assert_eq!(role("speed"), Role::Word);
        assert_eq!(role("projx-12"), Role::Exact);
        assert_eq!(role("projx"), Role::Exact);
        assert_eq!(role("快"), Role::Exact);
    }

    #[test]
    fn a_name_and_a_question_for_it_have_one_key() {
        for (name, question) in [
            ("Vault", "What is a vault?"),
            ("Risks", "what are the risks"),
            ("The Slice Type", "What does slice type mean?"),
            (
                "Path operation functions",
                "explain path operation function",
            ),
            ("保险库", "什么是保险库？"),
            ("fast-path", "what is the fast path"),
        ] {
            assert!(name_key(name).is_some(), "{name}");
            assert_eq!(name_key(name), name_key(question), "{name}");
        }
        assert_eq!(name_key("What is it?"), None);
        assert_ne!(name_key("Risks"), name_key("What are the risks of Heron?"));
        for name in ["3.1 Risks", "ch04-03-risks", "2. Risks"] {
            let keys = name_keys(&[name.to_owned()]);
            assert!(keys.contains(&"risk".to_owned()), "{keys:?}");
        }
    }

    #[test]
    fn any_text_ends() {
        let long = "a".repeat(5000);
        for text in [
            "", "-", "..", "a-", "/a/", "@", "\u{301}", "a\u{301}", "c++", "1,", &long, "'s", "é'",
        ] {
            let _ = terms(text);
        }
        assert!(terms(&long).is_empty());
    }
}
