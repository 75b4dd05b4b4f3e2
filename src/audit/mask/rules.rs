use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, MatchKind};
use regex::Regex;
use serde::Deserialize;

use super::check::RuleCheck;

/// No match of a rule has fewer bytes.
const SHORTEST_MATCH: usize = 5;

const TABLE: &str = include_str!("../../../assets/mask/rules.toml");

/// One kind of secret.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule {
    /// Its name, for tests and for people.
    #[allow(dead_code, reason = "tests tell which rule it is")]
    pub(super) id: String,
    keywords: Vec<String>,
    /// So many characters of keys that every match has in a row; 0 where it need not have many.
    #[serde(default)]
    run: usize,
    pattern: String,
    #[serde(default)]
    pub(super) check: RuleCheck,
    #[allow(dead_code, reason = "tests hold it against the rule")]
    pub(super) example: String,
    #[allow(dead_code, reason = "tests hold it against the rule")]
    pub(super) counter: String,
    #[serde(skip)]
    compiled: OnceLock<Option<Regex>>,
}

/// All rules, and the searches that tell which of them to try: most text has none of the words.
pub(super) struct MaskRules {
    pub(super) all: Vec<Rule>,
    /// Keywords of the rules that the words of a sentence can match.
    of_words: Keywords,
    /// Keywords of the rules that need many characters in a row, which a sentence does not have.
    of_runs: Keywords,
    /// The fewest that one of those needs.
    shortest_run: usize,
}

/// Some of the rules, by their keywords.
struct Keywords {
    search: Option<AhoCorasick>,
    /// The rule of each keyword.
    of_keyword: Vec<usize>,
    /// Rules without keywords.
    without: Vec<usize>,
}

#[derive(Deserialize)]
struct RuleFile {
    rule: Vec<Rule>,
}

/// A table that cannot be read would mask nothing; a test reads it.
pub(super) static RULES: LazyLock<MaskRules> = LazyLock::new(|| {
    let all = toml::from_str::<RuleFile>(TABLE).map_or_else(|_| Vec::new(), |table| table.rule);
    let runs = all.iter().map(|rule| rule.run).filter(|run| *run > 0);
    MaskRules {
        of_words: Keywords::from_rules(&all, |rule| rule.run == 0),
        of_runs: Keywords::from_rules(&all, |rule| rule.run > 0),
        shortest_run: runs.min().unwrap_or(0),
        all,
    }
});

impl MaskRules {
    /// The rules one of whose keywords stands in the text, where it has a run that is long enough.
    pub(super) fn for_text(&self, text: &str) -> impl Iterator<Item = &Rule> {
        let mut wanted = Vec::new();
        let mut longest = 0;
        // Short names and words are shorter than any secret.
        if text.len() >= SHORTEST_MATCH {
            self.of_words.find(text, &mut wanted);
            longest = longest_run(text.as_bytes(), self.shortest_run);
        }
        if longest > 0 {
            self.of_runs.find(text, &mut wanted);
        }
        wanted.sort_unstable();
        wanted.dedup();
        let wanted = wanted.into_iter().filter_map(|at| self.all.get(at));
        wanted.filter(move |rule| rule.run <= longest)
    }
}

impl Keywords {
    fn from_rules(all: &[Rule], is_one: impl Fn(&Rule) -> bool) -> Self {
        let some = all.iter().enumerate().filter(|(_, rule)| is_one(rule));
        let (without, with): (Vec<_>, Vec<_>) =
            some.partition(|(_, rule)| rule.keywords.is_empty());
        let words = with
            .iter()
            .flat_map(|(at, rule)| rule.keywords.iter().map(move |word| (*at, word)));
        let (of_keyword, words): (Vec<usize>, Vec<&String>) = words.unzip();
        let search = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .build(words)
            .ok();
        Self {
            search,
            of_keyword,
            without: without.into_iter().map(|(at, _)| at).collect(),
        }
    }

    /// Adds the rules to try, some of them more than once.
    fn find(&self, text: &str, wanted: &mut Vec<usize>) {
        wanted.extend(&self.without);
        let Some(search) = &self.search else {
            wanted.extend(&self.of_keyword);
            return;
        };
        // Most text has none, which is told in half the time of finding all.
        if !search.is_match(text) {
            return;
        }
        let found = search.find_overlapping_iter(text);
        wanted.extend(found.filter_map(|found| self.of_keyword.get(found.pattern().as_usize())));
    }
}

/// Whether keys are made of it: a letter, a digit or one of their signs.
fn is_of_a_key(byte: u8) -> bool {
    OF_KEYS[usize::from(byte)]
}

static OF_KEYS: [bool; 256] = {
    let mut of_keys = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        let c = byte as u8;
        of_keys[byte] = c.is_ascii_alphanumeric()
            || matches!(
                c,
                b'%' | b'+' | b'-' | b'.' | b'/' | b':' | b'=' | b'_' | b'~'
            );
        byte += 1;
    }
    of_keys
};

/// How many characters of keys stand in a row at most; 0 where that is less than `shortest`.
///
/// A run that is long enough covers every `shortest`th byte; so most bytes are not looked at.
fn longest_run(text: &[u8], shortest: usize) -> usize {
    let shortest = shortest.max(1);
    let (mut longest, mut from) = (0, 0);
    // What stands before `from` is no part of a run.
    while let Some(row) = text.get(from..from + shortest) {
        let mut fitting_from = shortest;
        while fitting_from > 0 && is_of_a_key(row[fitting_from - 1]) {
            fitting_from -= 1;
        }
        if fitting_from > 0 {
            from += fitting_from;
        } else {
            let run = text[from..].iter().take_while(|byte| is_of_a_key(**byte));
            let run = run.count();
            longest = longest.max(run);
            from += run;
        }
    }
    longest
}

impl Rule {
    /// Compiled when it is needed first; most never are.
    pub(super) fn pattern(&self) -> Option<&Regex> {
        let compiled = self.compiled.get_or_init(|| Regex::new(&self.pattern).ok());
        compiled.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use regex_syntax::hir::{Class, Hir, HirKind};

    /// Whether all that this matches is made of characters of keys.
    fn is_a_run(pattern: &Hir) -> bool {
        match pattern.kind() {
            HirKind::Empty | HirKind::Look(_) => true,
            HirKind::Literal(literal) => literal.0.iter().all(|byte| is_of_a_key(*byte)),
            HirKind::Class(Class::Unicode(class)) => class.iter().all(|range| {
                range.end().is_ascii()
                    && (range.start()..=range.end()).all(|c| is_of_a_key(c as u8))
            }),
            HirKind::Class(Class::Bytes(_)) => false,
            HirKind::Repetition(repetition) => is_a_run(&repetition.sub),
            HirKind::Capture(capture) => is_a_run(&capture.sub),
            HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().all(is_a_run),
        }
    }

    /// How many characters of keys stand in a row in each match, at least.
    fn run_of(pattern: &Hir) -> usize {
        let shortest = |part: &Hir| part.properties().minimum_len().unwrap_or(0);
        match pattern.kind() {
            _ if is_a_run(pattern) => shortest(pattern),
            HirKind::Repetition(repetition) if repetition.min > 0 => run_of(&repetition.sub),
            HirKind::Capture(capture) => run_of(&capture.sub),
            HirKind::Alternation(ways) => ways.iter().map(run_of).min().unwrap_or(0),
            HirKind::Concat(parts) => {
                let (mut longest, mut row) = (0, 0);
                for part in parts {
                    row = if is_a_run(part) {
                        row + shortest(part)
                    } else {
                        0
                    };
                    longest = longest.max(row).max(run_of(part));
                }
                longest
            }
            _ => 0,
        }
    }

    #[test]
    fn trust_no_rule_asks_for_more_than_its_pattern_does() {
        let mut wrong = Vec::new();
        for rule in &RULES.all {
            let pattern = regex_syntax::parse(&rule.pattern).unwrap();
            let run = run_of(&pattern);
            // Fewer than in a long word would keep nothing out.
            let expected = if run < 15 { 0 } else { run };
            if rule.run != expected {
                wrong.push(format!("{}: run = {expected}", rule.id));
            }
            if rule.keywords.is_empty() && run < 15 {
                wrong.push(format!("{}: tried on every text", rule.id));
            }
        }
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    }

    #[test]
    fn trust_no_rule_matches_less_than_the_shortest_match() {
        let shortest = |rule: &Rule| {
            let pattern = regex_syntax::parse(&rule.pattern).unwrap();
            pattern.properties().minimum_len().unwrap_or(0)
        };
        let mut all: Vec<_> = RULES
            .all
            .iter()
            .map(|rule| (shortest(rule), &rule.id))
            .collect();
        all.sort();
        assert_eq!(
            all.first().map(|(len, _)| *len),
            Some(SHORTEST_MATCH),
            "{all:?}"
        );
    }

    proptest! {
        #[test]
        fn the_longest_run_is_found(text in "[a:. é\n]{0,40}", shortest in 1_usize..9) {
            let runs = text.as_bytes().split(|byte| !is_of_a_key(*byte));
            let longest = runs.map(<[u8]>::len).max().unwrap_or(0);
            let expected = if longest < shortest { 0 } else { longest };
            prop_assert_eq!(longest_run(text.as_bytes(), shortest), expected);
        }
    }
}
