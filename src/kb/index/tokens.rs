//! Text to index terms.
//!
//! Stock tokenizers lose what people look up in a knowledge base: `PROJ-123` falls into two
//! common pieces, `max_items` and `MaxItems` are one opaque word each, Chinese is one word a
//! sentence. Here a compound is kept whole *and* given in parts, and scripts without spaces give single
//! characters and pairs (`split`; measured better than a dictionary). Stop words and
//! English stems follow. Case, width and accents are folded first (`folding`); a word with an umlaut
//! is also given as it is spelt without one. A document in another language has the stems of that
//! one too (`languages`).
//!
//! A text's terms lie one after the other in one buffer that is used again for the next text.

use std::borrow::Cow;
use std::collections::HashMap;

use frostem::{Algorithm, Stemmer};
use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer};

use crate::text::is_cjk;
use split::{Terms, split};

mod folding;
mod languages;
mod split;

pub(crate) use languages::{detect, mark, unmark};
pub(crate) use split::Role;

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
    TextAnalyzer::builder(IndexTokenizer::default()).build()
}

/// A term as the index has it, as an English stem; `None` for a stop word.
fn indexed(term: &str) -> Option<Cow<'_, str>> {
    let stem = || Stemmer::new(Algorithm::English).stem(term);
    (!STOP_WORDS.contains(&term)).then(stem)
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
    let mut words = Words::default();
    let mut terms: Vec<QueryTerm> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    // The place of the term before, which another spelling belongs to; a stop word has none.
    let mut last = None;
    for (word, role) in words.split(text).iter() {
        let Some(term) = indexed(word) else {
            last = None;
            continue;
        };
        if role != Role::Spelling {
            let place = *known.entry(term.to_string()).or_insert(terms.len());
            last = Some(place);
            if place == terms.len() {
                terms.push(QueryTerm {
                    text: term.into_owned(),
                    role,
                    others: Vec::new(),
                });
            }
        } else if let Some(place) = last {
            terms[place].add(term.into_owned());
        }
    }
    for word in languages::words(text) {
        let own = words.split(word).iter();
        let own: Vec<_> = own.filter_map(|(word, _)| indexed(word)).collect();
        // A word of several parts has no stem.
        let place = own.first().filter(|_| own.len() < 3);
        if let Some(place) = place.and_then(|term| known.get(&**term))
            && terms[*place].role == Role::Word
        {
            for stem in languages::stems(word) {
                terms[*place].add(stem);
            }
        }
    }
    terms
}

impl QueryTerm {
    fn add(&mut self, other: String) {
        if !self.others.contains(&other) {
            self.others.push(other);
        }
    }
}

/// Words of a question that do not describe its subject.
const ASKING: &str = "\
    what what's whats who which where when why how do does did can could should would i you \
    we me my your our about mean means meant meaning definition define explain describe tell \
    give show please work works using use some any have has were";
/// Asking words in Chinese, longer ones first.
const ASKING_ZH: &str = "是什么意思 什么意思 是什么 什么是 有哪些 哪些 什么 怎么 如何 请问 介绍 ？";
/// The most words of a name.
const LONGEST_NAME: usize = 8;

/// The key that a heading, a title and a question for just that share; `None` where no word is left.
pub(crate) fn name_key(text: &str) -> Option<String> {
    let mut plain = text.to_lowercase();
    for asking in ASKING_ZH.split(' ') {
        plain = plain.replace(asking, " ");
    }
    let is_telling = |word: &&str| {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        !ASKING.split(' ').any(|asking| asking == bare)
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

/// Splits texts into terms, with buffers that are used again.
#[derive(Clone, Default)]
struct Words {
    terms: Terms,
    folded: String,
    word: Terms,
    spelt_out: Terms,
}

impl Words {
    fn split(&mut self, text: &str) -> &Terms {
        self.terms.clear();
        // No term goes across a blank.
        for word in text.split_ascii_whitespace() {
            if word.is_ascii() {
                split(word, &mut self.terms);
            } else {
                self.split_folded(word);
            }
        }
        &self.terms
    }

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

/// The terms of a marked text, then the stems of its language.
#[derive(Clone, Default)]
struct IndexTokenizer {
    words: Words,
    terms: Terms,
    token: Token,
}

impl Tokenizer for IndexTokenizer {
    type TokenStream<'a> = Stream<'a>;

    fn token_stream<'a>(&'a mut self, marked: &'a str) -> Stream<'a> {
        self.terms.clear();
        for (word, role) in self.words.split(unmark(marked)).iter() {
            if let Some(term) = indexed(word) {
                self.terms.text.push_str(&term);
                self.terms.end(role);
            }
        }
        languages::stem_marked(marked, &mut self.terms);
        Stream {
            terms: &self.terms,
            token: &mut self.token,
            next: 0,
            start: 0,
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
        let Some(&(end, _)) = self.terms.ends.get(self.next) else {
            return false;
        };
        self.token.position = self.next;
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
