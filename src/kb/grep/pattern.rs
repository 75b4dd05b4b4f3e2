//! Words or a regular expression?
//!
//! People and models write both into one field. A query with the marks of a regular expression
//! that compiles is one; if it does not compile it is searched literally; all else is words, any
//! of which may match. A word begins where a letter or digit does not go on from before, so that
//! `path` is found in `fast_path` and `paths` but not in `sympathy`; what holds a digit is an id
//! and must end there as well: `PROJ-10` is not `PROJ-103`.

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use regex::bytes::{Regex, RegexBuilder};

use super::tally::ReadAs;
use crate::kb::error::KbError;
use crate::text::is_cjk;

/// The most words of a query: a mask has this many bits.
const MAX_WORDS: usize = 64;
const SIZE_LIMIT: usize = 1 << 20;
const DFA_SIZE_LIMIT: usize = 8 << 20;

/// Words that carry no meaning of their own in a question.
const FUNCTION_WORDS: &[&str] = &[
    "a", "about", "an", "and", "any", "are", "as", "at", "be", "between", "but", "by", "can",
    "could", "did", "do", "does", "else", "find", "for", "from", "give", "had", "has", "have",
    "how", "i", "if", "in", "into", "is", "it", "its", "me", "my", "no", "not", "of", "on", "or",
    "our", "please", "show", "should", "so", "such", "tell", "than", "that", "the", "their",
    "them", "then", "there", "these", "they", "this", "those", "to", "us", "was", "we", "were",
    "what", "what's", "when", "where", "which", "who", "whom", "whose", "why", "will", "with",
    "would", "you", "your", "什么", "怎么", "如何", "哪些", "哪个", "为什", "是什", "的是",
];

/// A query as grep understands it. A clone searches without waiting for others.
#[derive(Clone)]
pub(super) struct Pattern {
    matcher: RegexMatcher,
    /// What says where in a line it matches; a regular expression is one word.
    words: Vec<QueryWord>,
    /// Letters that are the same bytes in all encodings but UTF-16.
    is_ascii: bool,
}

#[derive(Clone)]
struct QueryWord {
    regex: Regex,
    from_start: bool,
    to_end: bool,
}

impl Pattern {
    /// Reads a query that is not empty.
    pub fn parse(query: &str) -> Result<(Self, ReadAs), KbError> {
        if looks_like_regex(query) {
            // As ripgrep does: capitals in the pattern make it exact.
            if let (Ok(matcher), Ok(regex)) =
                (builder().case_smart(true).build(query), compile(query))
            {
                let pattern = Self {
                    matcher,
                    words: vec![QueryWord {
                        regex,
                        from_start: false,
                        to_end: false,
                    }],
                    is_ascii: false,
                };
                return Ok((pattern, ReadAs::Pattern));
            }
            let literal = Self::literals(&[query.to_owned()], false)?;
            return Ok((literal, ReadAs::BrokenPattern));
        }
        Self::of_words(query)
    }

    /// Reads a query that is not empty as words, whatever marks it holds.
    pub fn of_words(query: &str) -> Result<(Self, ReadAs), KbError> {
        let words = words(query);
        if words.is_empty() {
            let literal = Self::literals(&[query.to_owned()], false)?;
            return Ok((literal, ReadAs::Marks));
        }
        Ok((Self::literals(&words, true)?, ReadAs::Words))
    }

    /// How many words there are; a regular expression is one.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// The mask of a line that holds them all.
    pub fn full_mask(&self) -> u64 {
        u64::MAX >> (u64::BITS as usize - self.len().clamp(1, MAX_WORDS))
    }

    /// Whether a search through these bytes misses nothing: what is no UTF-8 may hold words in
    /// other letters.
    pub fn is_seen_in(&self, bytes: &[u8]) -> bool {
        self.is_ascii || str::from_utf8(bytes).is_ok()
    }

    /// Finds lines that may match.
    pub fn matcher(&self) -> &RegexMatcher {
        &self.matcher
    }

    /// Which words the line holds, one bit each.
    pub fn mask(&self, line: &[u8]) -> u64 {
        let words = self.words.iter().enumerate();
        words
            .filter(|(_, word)| word.first_in(line).is_some())
            .fold(0, |mask, (at, _)| mask | (1 << at))
    }

    /// Where in the line the first of the words stands, in bytes.
    pub fn first_match(&self, line: &[u8]) -> Option<usize> {
        let places = self.words.iter().filter_map(|word| word.first_in(line));
        places.min()
    }

    fn literals(words: &[String], bounded: bool) -> Result<Self, KbError> {
        let too_long = || {
            KbError::BadQuery("query is too long to search literally; use fewer words".to_owned())
        };
        let escaped: Vec<String> = words.iter().map(|word| regex::escape(word)).collect();
        let matcher = builder()
            .case_insensitive(true)
            .build(&escaped.join("|"))
            .map_err(|_| too_long())?;
        let is_ascii = words.iter().all(|word| word.is_ascii());
        let words = words
            .iter()
            .zip(&escaped)
            .map(|(word, escaped)| {
                let spaced = bounded && !word.chars().any(is_cjk);
                Ok(QueryWord {
                    regex: compile(escaped).map_err(|_| too_long())?,
                    from_start: spaced && word.starts_with(char::is_alphanumeric),
                    to_end: spaced && word.ends_with(|c: char| c.is_ascii_digit()),
                })
            })
            .collect::<Result<_, KbError>>()?;
        Ok(Self {
            matcher,
            words,
            is_ascii,
        })
    }
}

impl QueryWord {
    /// The position, in bytes, where the word first stands as a word of its own.
    fn first_in(&self, line: &[u8]) -> Option<usize> {
        let mut from = 0;
        while let Some(found) = self.regex.find_at(line, from) {
            let (before, after) = (&line[..found.start()], &line[found.end()..]);
            let starts = !self.from_start || !last_char(before).is_some_and(goes_on);
            let ends = !self.to_end || !first_char(after).is_some_and(goes_on);
            if starts && ends {
                return Some(found.start());
            }
            from = found.start() + 1;
        }
        None
    }
}

/// The character that the bytes begin with, if they are UTF-8 there.
fn first_char(bytes: &[u8]) -> Option<char> {
    let start = &bytes[..bytes.len().min(4)];
    start.utf8_chunks().next()?.valid().chars().next()
}

fn last_char(bytes: &[u8]) -> Option<char> {
    let at = (1..=bytes.len().min(4))
        .map(|n| bytes.len() - n)
        .find(|&at| bytes[at] & 0xC0 != 0x80)?;
    first_char(&bytes[at..])
}

fn goes_on(c: char) -> bool {
    c.is_alphanumeric() && !is_cjk(c)
}

fn builder() -> RegexMatcherBuilder {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .size_limit(SIZE_LIMIT)
        .dfa_size_limit(DFA_SIZE_LIMIT)
        // `^` and `$` mean lines, and a line may end in CRLF.
        .multi_line(true)
        .crlf(true)
        .line_terminator(Some(b'\n'));
    builder
}

/// Compiles a pattern that ignores case: it is only used within lines that the matcher has found.
fn compile(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern)
        .case_insensitive(true)
        .multi_line(true)
        .crlf(true)
        .size_limit(SIZE_LIMIT)
        .dfa_size_limit(DFA_SIZE_LIMIT)
        .build()
}

/// Whether a query has the marks of a regular expression. A final `?` or `.` and a bracketed aside are prose.
fn looks_like_regex(query: &str) -> bool {
    let marks = ["\\", ".*", ".+", "|", "(?", ")?", ")*", ")+", "+?", "*?"];
    marks.iter().any(|mark| query.contains(mark))
        || (query.contains('[') && !query.contains("[["))
        || query.starts_with('^')
        || query.ends_with('$')
        || query.contains('(') != query.contains(')')
        || (!query.contains(' ') && query.contains(['*', '+', '{', '(']))
}

/// The words of a question, function words left out unless there are no others.
fn words(query: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for (at, quoted) in query.split('"').enumerate() {
        // Every second part stands between quotes and is one phrase.
        if at % 2 == 1 && !quoted.trim().is_empty() {
            all.push(quoted.trim().to_owned());
            continue;
        }
        for word in quoted.split_whitespace() {
            split_scripts(word.trim_matches(is_edge), &mut all);
        }
    }
    let mut seen = std::collections::HashSet::new();
    all.retain(|word| !word.is_empty() && seen.insert(word.to_lowercase()));
    let telling: Vec<String> = all
        .iter()
        .filter(|word| !FUNCTION_WORDS.contains(&word.to_lowercase().as_str()))
        .cloned()
        .collect();
    let mut words = if telling.is_empty() { all } else { telling };
    words.truncate(MAX_WORDS);
    words
}

fn is_edge(c: char) -> bool {
    !c.is_alphanumeric() && c != '_'
}

/// Scripts without spaces give pairs of characters; a character alone stands for itself.
fn split_scripts(word: &str, all: &mut Vec<String>) {
    let chars: Vec<char> = word.chars().collect();
    for run in chars.chunk_by(|&a, &b| is_cjk(a) == is_cjk(b)) {
        if !run.first().is_some_and(|&c| is_cjk(c)) {
            let plain: String = run.iter().collect();
            all.push(plain.trim_matches(is_edge).to_owned());
        } else if run.len() == 1 {
            all.extend(run.iter().map(char::to_string));
        } else {
            all.extend(run.windows(2).map(|pair| pair.iter().collect()));
        }
    }
}
