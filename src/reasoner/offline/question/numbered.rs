use std::sync::LazyLock;

use regex::Regex;

use super::super::language::{TABLES, regex};
use super::super::passage::Block;
use crate::domain::Question;

/// The number of a part, as people write it: `4`, `4.2`, `12a`, `IV`, `B`, `四`.
const NUMBER: &str = r"(?:\d+(?:\.\d+)*[a-z]?|[IVXLC]{2,}|[A-HJ-Z]|[一二三四五六七八九十百]+)";

/// A part named by its number: `clause 4.2`, `§ 3`, `第4条`.
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    let names = names();
    regex(&format!(
        r"(?:§+\s*|\b(?i:{names})\s+)(?P<after>{NUMBER})\b|第\s*(?P<before>{NUMBER})\s*(?:{names})"
    ))
});

/// What a part begins with that has a number: `4.2 Termination`, `§ 3`, `Step 2: …`, `第四条`.
static HEADING: LazyLock<Regex> = LazyLock::new(|| {
    let names = names();
    regex(&format!(
        r"^\W*(?P<name>§+\s*|第\s*|(?i:{names})\s+)?(?P<number>{NUMBER})(?P<end>[.):：*]|\s|$|{names})"
    ))
});

/// What numbered parts are called in any language, as alternatives of a pattern.
fn names() -> String {
    let names = TABLES.values().flat_map(|table| &table.numbered_parts);
    names
        .map(|name| regex::escape(name))
        .collect::<Vec<_>>()
        .join("|")
}

/// The parts of documents that a question names by their numbers.
#[derive(Debug, Default)]
pub struct NumberedParts(Vec<String>);

impl NumberedParts {
    /// Reads them from the question.
    pub fn named_in(question: &Question) -> Self {
        let found = NAMED.captures_iter(&question.asked);
        let numbers = found.filter_map(|it| it.name("after").or(it.name("before")));
        Self(numbers.map(|number| number.as_str().to_owned()).collect())
    }

    /// How near a block is to one of the parts: 2 where it stands right below its heading or begins with its number, 1
    /// where it stands in a part of it, else 0.
    pub fn nearness(&self, block: &Block) -> u8 {
        let is_headed = |heading: &String| self.0.iter().any(|part| begins(heading, part));
        let is_item = self.0.iter().any(|part| {
            let sentences = block.sentences.iter();
            sentences
                .clone()
                .any(|sentence| begins_item(&sentence.text, part))
        });
        if is_item || block.headings.last().is_some_and(is_headed) {
            2
        } else {
            u8::from(block.headings.iter().any(is_headed))
        }
    }
}

/// Whether a heading begins with the number of the part; `A quick start` does not begin with a number.
fn begins(heading: &str, part: &str) -> bool {
    let is_figure = part.starts_with(|c: char| c.is_ascii_digit() || !c.is_ascii());
    number(heading).is_some_and(|(number, is_marked)| number == part && (is_marked || is_figure))
}

/// Whether a text begins with the number as the number of an item: `3 apples` does not.
fn begins_item(text: &str, part: &str) -> bool {
    let is_marked_by_itself = part.contains('.');
    number(text)
        .is_some_and(|(number, is_marked)| number == part && (is_marked || is_marked_by_itself))
}

/// The number that a text begins with, and whether a name before it or a sign behind it says that it is one.
fn number(text: &str) -> Option<(&str, bool)> {
    let found = HEADING.captures(text)?;
    let ends_number = matches!(&found["end"], "." | ")" | ":" | "：");
    let is_marked = found.name("name").is_some() || ends_number;
    Some((found.name("number")?.as_str(), is_marked))
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    #[test]
    fn parts_are_named_by_a_word_and_a_number() {
        for (question, expected) in [
            ("What does clause 4.2 say?", &["4.2"][..]),
            ("Summarise § 3 and §12a", &["3", "12a"]),
            ("Compare Article IV with Appendix B", &["IV", "B"]),
            ("Was steht in Abschnitt 2.1?", &["2.1"]),
            ("第4条和第五章说了什么", &["4", "五"]),
            ("What changed in 4.2?", &[]),
            ("Which part is broken?", &[]),
            ("What is the main part I need?", &[]),
        ] {
            assert_eq!(
                NumberedParts::named_in(&read(question, &[])).0,
                expected,
                "{question}"
            );
        }
    }

    #[test]
    fn a_part_begins_with_its_number() {
        for heading in [
            "4.2 Termination",
            "4.2. Bye",
            "§ 4.2",
            "Clause 4.2: Bye",
            "**4.2** Bye",
        ] {
            assert!(begins(heading, "4.2"), "{heading}");
        }
        for heading in ["4.2.1 More", "4.21 Other", "Release 4.2", "4 Term"] {
            assert!(!begins(heading, "4.2"), "{heading}");
        }
        assert!(
            begins("第四条 终止", "四") && begins("Appendix A", "A") && begins("A. Rates", "A")
        );
        assert!(!begins("A quick start", "A"));
        assert!(begins_item("3. Press the key.", "3") && begins_item("4.2 Either side", "4.2"));
        assert!(!begins_item("3 apples are left.", "3"));
    }
}
