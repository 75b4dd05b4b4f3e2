//! Words or a regular expression?
//!
//! People and models write both into one field. A query with the marks of a regular expression
//! that compiles is one; if it does not compile it is searched literally; all else is words, any
//! of which may match. A word begins where a letter or digit does not go on from before, so that
//! `path` is found in `fast_path` and `paths` but not in `sympathy`; what holds a digit is an id
//! and must end there as well: `PROJ-10` is not `PROJ-103`.

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use regex::{Regex, RegexBuilder};

use super::super::error::KbError;
use crate::text::is_cjk;

/// The bits of a mask.
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

/// A query as grep understands it.
pub(super) struct Pattern {
    matcher: RegexMatcher,
    words: Vec<Word>,
}

struct Word {
    regex: Regex,
    from_start: bool,
    to_end: bool,
}

impl Pattern {
    /// Reads a query that is not empty.
    pub fn parse(query: &str) -> Result<Self, KbError> {
        if looks_like_regex(query) {
            // As ripgrep does: capitals in the pattern make it exact.
            if let (Ok(matcher), Ok(regex)) = (
                builder().case_smart(true).build(query),
                compile(query, !query.chars().any(char::is_uppercase)),
            ) {
                return Ok(Self {
                    matcher,
                    words: vec![Word {
                        regex,
                        from_start: false,
                        to_end: false,
                    }],
                });
            }
            return Self::literals(&[query.to_owned()], false);
        }
        Self::of_words(query)
    }

    /// Reads a query that is not empty as words, whatever marks it holds.
    pub fn of_words(query: &str) -> Result<Self, KbError> {
        let words = words(query);
        if words.is_empty() {
            return Self::literals(&[query.to_owned()], false);
        }
        Self::literals(&words, true)
    }

    /// How many words there are.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Finds lines that may match.
    pub fn matcher(&self) -> &RegexMatcher {
        &self.matcher
    }

    /// Which words the line holds, one bit each.
    pub fn mask(&self, line: &str) -> u64 {
        let line = line.trim_end_matches(['\n', '\r']);
        self.words
            .iter()
            .enumerate()
            .filter(|(_, word)| word.is_in(line))
            .fold(0, |mask, (at, _)| mask | (1 << at))
    }

    /// Where in the line the first of the words stands, in bytes.
    pub fn first_match(&self, line: &str) -> Option<usize> {
        self.words
            .iter()
            .filter_map(|word| word.regex.find(line).map(|found| found.start()))
            .min()
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
        let words = words
            .iter()
            .zip(&escaped)
            .map(|(word, escaped)| {
                let spaced = bounded && !word.chars().any(is_cjk);
                Ok(Word {
                    regex: compile(escaped, true).map_err(|_| too_long())?,
                    from_start: spaced && word.starts_with(char::is_alphanumeric),
                    to_end: spaced && word.ends_with(|c: char| c.is_ascii_digit()),
                })
            })
            .collect::<Result<_, KbError>>()?;
        Ok(Self { matcher, words })
    }
}

impl Word {
    fn is_in(&self, line: &str) -> bool {
        let mut from = 0;
        while let Some(found) = line.get(from..).and_then(|rest| self.regex.find(rest)) {
            let (start, end) = (from + found.start(), from + found.end());
            let before = line[..start].chars().next_back();
            let after = line[end..].chars().next();
            let starts = !self.from_start || !before.is_some_and(goes_on);
            let ends = !self.to_end || !after.is_some_and(goes_on);
            if starts && ends {
                return true;
            }
            from = start + line[start..].chars().next().map_or(1, char::len_utf8);
        }
        false
    }
}

fn goes_on(c: char) -> bool {
    c.is_alphanumeric() && !is_cjk(c)
}

fn builder() -> RegexMatcherBuilder {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .size_limit(SIZE_LIMIT)
        .dfa_size_limit(DFA_SIZE_LIMIT)
        .line_terminator(Some(b'\n'));
    builder
}

fn compile(pattern: &str, any_case: bool) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern)
        .case_insensitive(any_case)
        .size_limit(SIZE_LIMIT)
        .dfa_size_limit(DFA_SIZE_LIMIT)
        .build()
}

/// A final `?` or `.` and a bracketed aside are prose; these are not.
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
