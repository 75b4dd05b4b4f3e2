//! The references that a document makes: wiki links, Markdown links, ticket ids, and lines such
//! as `Blocks: PROJ-105` that name the kind of relation.
//!
//! Targets are kept as the text gives them, made comparable; which document one means is decided
//! when somebody asks, so that a link to a document that is added later works without reading
//! this one again.

use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

/// One reference.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Link {
    /// The line it stands on, from 1.
    pub line: usize,
    /// What it leads to.
    pub target: LinkTarget,
    /// How it is made.
    pub kind: LinkKind,
}

/// What a reference leads to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkTarget {
    /// A file, as evidence would name it.
    Path(String),
    /// A document by its name or title, in lower case.
    Name(String),
    /// A ticket, in upper case.
    Id(String),
}

/// How a reference is made.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkKind {
    /// By a line that names the relation: `Parent`, `Blocks` …
    Relation(String),
    /// `[text](target)`.
    Markdown,
    /// `[[target]]`.
    Wiki,
    /// By a ticket id in the text.
    Mention,
}

/// Prefixes that look like tickets and are standards.
const NOT_TICKETS: &[&str] = &[
    "UTF", "SHA", "ISO", "MD", "RFC", "IEEE", "ECMA", "ANSI", "CP", "BM", "AES", "RSA", "COVID",
    "GPT", "IPV", "HTTP", "P", "Q", "H",
];

/// What may stand before the colon of a relation line, in lower case.
const RELATIONS: &[&str] = &[
    "parent",
    "parents",
    "child",
    "children",
    "epic",
    "subtask",
    "subtasks",
    "sub-task",
    "sub-tasks",
    "blocks",
    "blocked by",
    "is blocked by",
    "clones",
    "cloned by",
    "is cloned by",
    "duplicates",
    "duplicate of",
    "duplicated by",
    "is duplicated by",
    "relates to",
    "related to",
    "related",
    "depends on",
    "required by",
    "requires",
    "causes",
    "caused by",
    "is caused by",
    "fixes",
    "fixed by",
    "supersedes",
    "superseded by",
    "replaces",
    "replaced by",
    "see also",
    "see",
    "implements",
    "implemented by",
    "part of",
    "follows",
    "precedes",
    "links",
    "link",
    "refs",
    "references",
    "父任务",
    "子任务",
    "阻塞",
    "被阻塞",
    "克隆",
    "克隆自",
    "关联",
    "相关",
    "依赖",
    "依赖于",
    "参见",
];

static RELATION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"^\s*(?:[-*+]\s+)?[*_]{0,2}([\p{L}][\p{L} -]{0,30}?)[*_]{0,2}\s*[:：][*_]{0,2}\s*(\S.*)$",
    )
    .ok()
});
static ID: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\b([A-Z][A-Z0-9]+)-(\d+)\b").ok());
static MARKDOWN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\]\(\s*<?([^()<>\s]+(?:\([^()\s]*\)[^()<>\s]*)?)").ok());
static WIKI: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\[\[([^\]\[|#]+)[^\]\[]*\]\]").ok());
static PATH: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^(?:\.{1,2}/)*[\w.\-]+(?:/[\w.\-]+)*\.[A-Za-z][A-Za-z0-9]{0,7}$").ok()
});

/// All references of a text. `source` is the document's own name, which relative paths start at.
pub(super) fn links(source: &str, text: &str) -> Vec<Link> {
    let folder = source.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut links: Vec<Link> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let relation = relation(line);
        let mut add = |target: LinkTarget, kind: LinkKind| {
            let link = Link {
                line: at + 1,
                target,
                kind,
            };
            let known = links
                .iter()
                .rev()
                .take_while(|known| known.line == link.line)
                .any(|known| known.target == link.target);
            if !known {
                links.push(link);
            }
        };
        let named = |kind: LinkKind| {
            relation
                .as_ref()
                .map_or(kind, |(name, _)| LinkKind::Relation(name.clone()))
        };
        for target in captures(MARKDOWN.as_ref(), line) {
            if let Some(path) = relative(folder, target) {
                add(LinkTarget::Path(path), named(LinkKind::Markdown));
            }
        }
        for target in captures(WIKI.as_ref(), line) {
            let name = target.trim().to_lowercase();
            add(LinkTarget::Name(name), named(LinkKind::Wiki));
        }
        for id in ticket_ids(line) {
            add(LinkTarget::Id(id), named(LinkKind::Mention));
        }
        if let Some((name, value)) = &relation {
            for word in value.split([',', ';', ' ', '、', '，']) {
                let is_path = PATH.as_ref().is_some_and(|path| path.is_match(word));
                if let Some(path) = relative(folder, word).filter(|_| is_path) {
                    add(LinkTarget::Path(path), LinkKind::Relation(name.clone()));
                }
            }
        }
    }
    links
}

/// The ticket ids of a text, in order.
pub(super) fn ticket_ids(text: &str) -> Vec<String> {
    ID.as_ref()
        .map(|id| {
            id.captures_iter(text)
                .filter(|found| !NOT_TICKETS.contains(&&found[1]))
                .map(|found| found[0].to_owned())
                .collect()
        })
        .unwrap_or_default()
}

fn relation(line: &str) -> Option<(String, &str)> {
    let found = RELATION.as_ref()?.captures(line)?;
    let name = found.get(1)?.as_str().trim();
    RELATIONS
        .contains(&name.to_lowercase().as_str())
        .then_some((name.to_owned(), found.get(2)?.as_str()))
}

fn captures<'t>(pattern: Option<&Regex>, line: &'t str) -> Vec<&'t str> {
    pattern
        .map(|pattern| {
            pattern
                .captures_iter(line)
                .filter_map(|found| found.get(1).map(|group| group.as_str()))
                .collect()
        })
        .unwrap_or_default()
}

/// A link's target as a name within the base; `None` for the web, anchors and what leads out.
fn relative(folder: &str, target: &str) -> Option<String> {
    let target = target.split(['#', '?']).next().unwrap_or_default();
    if target.is_empty() || target.contains(':') {
        return None;
    }
    let target = target.replace("%20", " ");
    let from_root = target.starts_with('/');
    let mut parts: Vec<&str> = if from_root || folder.is_empty() {
        Vec::new()
    } else {
        folder.split('/').collect()
    };
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_are_found_with_their_kind() {
        let text = "# PROJ-1: x\nBlocks: PROJ-2, ../fast-path.md\n- **Relates to:** [[Fast Path|fp]]\nSee [the plan](nodes/plan.md#top) and [web](https://a.b/c.md).\nUTF-8 is no ticket.\n父任务：PROJ-9\n";
        let found = links("tickets/PROJ-1.md", text);
        let rel = |name: &str| LinkKind::Relation(name.to_owned());
        let expected = vec![
            (1, LinkTarget::Id("PROJ-1".to_owned()), LinkKind::Mention),
            (2, LinkTarget::Id("PROJ-2".to_owned()), rel("Blocks")),
            (
                2,
                LinkTarget::Path("fast-path.md".to_owned()),
                rel("Blocks"),
            ),
            (
                3,
                LinkTarget::Name("fast path".to_owned()),
                rel("Relates to"),
            ),
            (
                4,
                LinkTarget::Path("tickets/nodes/plan.md".to_owned()),
                LinkKind::Markdown,
            ),
            (6, LinkTarget::Id("PROJ-9".to_owned()), rel("父任务")),
        ];
        let found: Vec<_> = found
            .into_iter()
            .map(|link| (link.line, link.target, link.kind))
            .collect();
        assert_eq!(found, expected);
    }
}
