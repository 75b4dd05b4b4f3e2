//! What a Markdown file says of itself above its text: `title: …` in YAML, `title = …` in TOML.
//!
//! Only names and lists of names are read, as people write them. What else stands there keeps its
//! lines in the text, where `kb::fields` finds it.

use crate::text::front_matter;

/// Keys that name, place or date a page, and say nothing that is asked for.
const NAMING: &[&str] = &[
    "title",
    "aliases",
    "alias",
    "tags",
    "tag",
    "keywords",
    "category",
    "categories",
    "description",
    "summary",
    "date",
    "lastmod",
    "created",
    "updated",
    "modified",
    "author",
    "authors",
    "slug",
    "url",
    "permalink",
    "layout",
    "template",
    "weight",
    "draft",
    "id",
    "hide",
    "icon",
    "lang",
    "nav_order",
    "outline",
    "publish",
    "toc",
    "cssclass",
    "cssclasses",
    "sidebar_label",
    "sidebar_position",
];

/// The lines between the rules.
pub(super) struct Metadata<'t> {
    lines: Vec<&'t str>,
}

impl<'t> Metadata<'t> {
    /// Parses the front matter of a text; the result is empty where there is none.
    pub fn parse(text: &'t str) -> Self {
        let count = front_matter(text.lines());
        Self {
            lines: text.lines().take(count).collect(),
        }
    }

    /// Every key at the margin with its values, in the order of their lines.
    pub fn entries(&self) -> Vec<(String, Vec<String>)> {
        let keys = self.lines.iter().filter_map(|line| entry(line));
        keys.map(|(key, _)| (key.to_owned(), self.list(&[key])))
            .collect()
    }

    /// The value of a key.
    pub fn one(&self, key: &str) -> Option<String> {
        let mut lines = self.lines.iter().filter_map(|line| entry(line));
        let (_, value) = lines.find(|(own, _)| own.eq_ignore_ascii_case(key))?;
        Some(bare(value)).filter(|value| !value.is_empty())
    }

    /// All values of the first of these keys that is there, on its line or on lines below it.
    pub fn list(&self, keys: &[&str]) -> Vec<String> {
        let is_asked = |line: &str| {
            entry(line).is_some_and(|(own, _)| keys.iter().any(|key| own.eq_ignore_ascii_case(key)))
        };
        let Some(at) = self.lines.iter().position(|line| is_asked(line)) else {
            return Vec::new();
        };
        let value = entry(self.lines[at]).map_or("", |(_, value)| value);
        let below = self.lines[at + 1..].iter().map(|line| line.trim());
        let below = below.map_while(|line| line.strip_prefix("- "));
        let values: Vec<String> = match value.strip_prefix('[') {
            Some(list) => list.trim_end_matches(']').split(',').map(bare).collect(),
            None if value.is_empty() => below.map(bare).collect(),
            None => value.split(',').map(bare).collect(),
        };
        values
            .into_iter()
            .filter(|value| !value.is_empty())
            .collect()
    }
}

/// Whether these lines of metadata say nothing but what a page is called and where it stands.
pub(crate) fn names_only(lines: &[&str]) -> bool {
    let mut keys = lines
        .iter()
        .filter_map(|line| entry(line))
        .map(|(key, _)| key);
    keys.all(|key| NAMING.iter().any(|naming| naming.eq_ignore_ascii_case(key)))
}

/// Key and value of a line at the margin.
fn entry(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once([':', '='])?;
    let is_key = !key.is_empty() && !key.starts_with([' ', '\t', '-', '#']);
    is_key.then(|| (key.trim(), value.trim()))
}

fn bare(value: &str) -> String {
    value.trim().trim_matches(['"', '\'']).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_however_they_are_listed() {
        for (text, title, aliases) in [
            (
                "---\ntitle: \"A: b\"\naliases: [One, 'two words']\n---\n",
                Some("A: b"),
                &["One", "two words"][..],
            ),
            (
                "---\naliases:\n  - One\n  - Two\ntags: x\n---\n",
                None,
                &["One", "Two"],
            ),
            ("---\naliases:\n- One\n---\n", None, &["One"]),
            ("---\nalias: One, Two\n---\n", None, &["One", "Two"]),
            (
                "+++\ntitle = 'T'\naliases = [\"a\"]\n+++\n",
                Some("T"),
                &["a"],
            ),
            ("title: no\n", None, &[]),
            ("---\n title: no\n---\n", None, &[]),
        ] {
            let metadata = Metadata::parse(text);
            assert_eq!(metadata.one("title").as_deref(), title, "{text}");
            assert_eq!(metadata.list(&["aliases", "alias"]), aliases, "{text}");
        }
    }

    #[test]
    fn what_is_more_than_a_name_is_known() {
        let is_naming = |text: &str| names_only(&text.lines().collect::<Vec<_>>());
        assert!(is_naming("---\nTitle: a\ntags:\n  - b: c\n---"));
        assert!(!is_naming("---\ntitle: a\nstatus: open\n---"));
    }
}
