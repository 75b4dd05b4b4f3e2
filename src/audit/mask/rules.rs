use std::collections::HashSet;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::AhoCorasick;
use regex::Regex;
use serde::Deserialize;

use super::check::RuleCheck;

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
    check: RuleCheck,
    #[allow(dead_code, reason = "tests hold it against the rule")]
    pub(super) example: String,
    #[allow(dead_code, reason = "tests hold it against the rule")]
    pub(super) counter: String,
    #[serde(skip)]
    compiled: OnceLock<Option<Regex>>,
}

/// All rules, and the search that tells which of them to try: most text has none of the words.
pub(super) struct MaskRules {
    pub(super) all: Vec<Rule>,
    /// Finds the keywords of all rules.
    search: Option<AhoCorasick>,
    /// The rule of each keyword.
    of_keyword: Vec<usize>,
}

#[derive(Deserialize)]
struct RuleFile {
    rule: Vec<Rule>,
}

/// A table that cannot be read would mask nothing; a test reads it.
pub(super) static RULES: LazyLock<MaskRules> = LazyLock::new(|| {
    let all = toml::from_str::<RuleFile>(TABLE).map_or_else(|_| Vec::new(), |table| table.rule);
    let keywords = all
        .iter()
        .enumerate()
        .flat_map(|(at, rule)| rule.keywords.iter().map(move |word| (at, word)));
    let (of_keyword, words): (Vec<usize>, Vec<&String>) = keywords.unzip();
    let search = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(words)
        .ok();
    MaskRules {
        all,
        search,
        of_keyword,
    }
});

impl MaskRules {
    /// The rules one of whose keywords stands in the text, where it has a run that is long enough.
    pub(super) fn for_text(&self, text: &str) -> impl Iterator<Item = &Rule> {
        // Most text has none, which is told in half the time of finding all.
        let search = self.search.iter().filter(|search| search.is_match(text));
        let found = search.flat_map(|search| search.find_overlapping_iter(text));
        let named: HashSet<usize> = found
            .map(|word| self.of_keyword[word.pattern().as_usize()])
            .collect();
        let run = longest_run(text);
        let rules = self.all.iter().enumerate();
        rules.filter_map(move |(at, rule)| {
            let is_tried = rule.run <= run && (rule.keywords.is_empty() || named.contains(&at));
            is_tried.then_some(rule)
        })
    }
}

/// Whether keys are made of it: a letter, a digit or one of their signs.
fn is_of_a_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"%+-./:=_~".contains(&byte)
}

/// How many characters of keys stand in a row at most.
fn longest_run(text: &str) -> usize {
    let runs = text.as_bytes().split(|byte| !is_of_a_key(*byte));
    runs.map(<[u8]>::len).max().unwrap_or(0)
}

impl Rule {
    /// The secrets of this kind in the text.
    pub(super) fn find(&self, text: &str) -> Vec<Range<usize>> {
        let patterns = self.pattern().into_iter();
        let mut secrets = Vec::new();
        for found in patterns.flat_map(|pattern| pattern.captures_iter(text)) {
            // The groups are the secret, or all of it where the pattern has none.
            let groups = found.iter().skip(usize::from(found.len() > 1)).flatten();
            secrets.extend(groups.filter_map(|group| self.check.part(text, group.range())));
        }
        secrets
    }

    /// Compiled when it is needed first; most never are.
    pub(super) fn pattern(&self) -> Option<&Regex> {
        let compiled = self.compiled.get_or_init(|| Regex::new(&self.pattern).ok());
        compiled.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
    fn the_longest_run_is_found() {
        for (text, longest) in [("", 0), ("é", 0), ("a: é a.b:c\nab", 5), ("ab-cd", 5)] {
            assert_eq!(longest_run(text), longest, "{text}");
        }
    }
}
