//! The references that a document makes: wiki links, Markdown links and those of other markup,
//! ticket ids, and what names the kind of relation, such as `Blocks: PROJ-105`.
//!
//! `forms` knows how a link is written, `relations` what says of which kind it is: a line, a
//! heading, a list under a key, a row or column of a table, or a verb before the id. Targets are
//! kept as the text gives them, made comparable; which document one means is decided when a caller
//! asks, so that a link to a document that is added later works without reading this one again.
//! What stands in a code block is an example, no link; an id in it is still a mention.
//!
//! A document may be one line of a million ids: each line costs what is on it and no more, and of
//! the links of a document the first [`MAX_LINKS`] are kept.

mod forms;
mod relations;

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;
use tokio_util::sync::CancellationToken;

use forms::{Forms, compile};
use relations::{NamedRange, Relations};

use crate::text::Fences;

pub(crate) use forms::LinkTargets;
pub use forms::{Link, LinkKind, LinkTarget};

/// Prefixes that look like tickets and are standards.
const NOT_TICKETS: &[&str] = &[
    "UTF", "SHA", "ISO", "MD", "RFC", "IEEE", "ECMA", "ANSI", "CP", "BM", "AES", "RSA", "COVID",
    "GPT", "IPV", "HTTP", "P", "Q", "H",
];

/// More links than a person could follow: an export of all tickets is a list, not a text.
const MAX_LINKS: usize = 100_000;
/// Links read between two looks at whether to go on.
const LOOK_UP: usize = 1024;

// A letter without case, as in Chinese, ends no id and begins none.
static ID: LazyLock<Regex> =
    LazyLock::new(|| compile(r"(?-u:\b)([A-Z][A-Z0-9]+)-([0-9]+)(?-u:\b)"));

/// The references of a text. `source` is the document's own name, which relative paths start at.
/// `None` once `cancel` is cancelled.
pub(super) fn links(source: &str, text: &str, cancel: &CancellationToken) -> Option<Vec<Link>> {
    let forms = Forms::new(source, text);
    let mut relations = Relations::new(source);
    let mut fences = Fences::default();
    let mut links = Links::default();
    for (at, line) in text.lines().enumerate() {
        if links.is_full() {
            break;
        }
        if cancel.is_cancelled() {
            return None;
        }
        links.begin(at + 1);
        let ids = positions_of_ids(line);
        if fences.hold(line.trim_start()) {
            for (_, id) in ids {
                links.add(LinkTarget::Id(id.to_owned()), LinkKind::Mention);
            }
            continue;
        }
        let named = relations.read(line, &ids);
        for (at, target, kind) in forms.targets(line) {
            links.add(target, kind_at(&named, at, kind));
        }
        for (n, (at, id)) in ids.into_iter().enumerate() {
            if links.is_full() || (n % LOOK_UP == 0 && cancel.is_cancelled()) {
                break;
            }
            let kind = kind_at(&named, at, LinkKind::Mention);
            links.add(LinkTarget::Id(id.to_owned()), kind);
        }
        for span in &named {
            if links.is_full() {
                break;
            }
            for path in forms.bare_paths(line.get(span.range.clone()).unwrap_or_default()) {
                links.add(path, LinkKind::Relation(span.name.clone()));
            }
        }
    }
    Some(links.all)
}

/// The relation that is named for this place of the line. Names are in the order of their places
/// and do not overlap.
fn kind_at(named: &[NamedRange], at: usize, plain: LinkKind) -> LinkKind {
    let before = named.partition_point(|span| span.range.start <= at);
    named[..before]
        .last()
        .filter(|span| span.range.contains(&at))
        .map_or(plain, |span| LinkKind::Relation(span.name.clone()))
}

/// The links so far, each target once a line.
#[derive(Default)]
struct Links {
    all: Vec<Link>,
    line: usize,
    on_line: HashSet<LinkTarget>,
}

impl Links {
    fn begin(&mut self, line: usize) {
        self.line = line;
        self.on_line.clear();
    }

    fn add(&mut self, target: LinkTarget, kind: LinkKind) {
        if !self.is_full() && self.on_line.insert(target.clone()) {
            self.all.push(Link {
                line: self.line,
                target,
                kind,
            });
        }
    }

    fn is_full(&self) -> bool {
        self.all.len() >= MAX_LINKS
    }
}

/// Where ticket ids stand in a line.
fn positions_of_ids(line: &str) -> Vec<(usize, &str)> {
    if !line.contains('-') {
        return Vec::new();
    }
    let found = ID.captures_iter(line);
    found
        .filter(|found| !NOT_TICKETS.contains(&&found[1]))
        .map(|found| found.get_match())
        .map(|found| (found.start(), found.as_str()))
        .collect()
}

/// Whether a line holds a ticket id.
pub(crate) fn holds_ticket(line: &str) -> bool {
    !positions_of_ids(line).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The links of a text, written `line target kind`.
    fn found(source: &str, text: &str) -> Vec<String> {
        links(source, text, &CancellationToken::new())
            .unwrap()
            .into_iter()
            .map(|link| {
                let target = match link.target {
                    LinkTarget::Path(path) => format!("({path})"),
                    LinkTarget::Name(name) => format!("[{name}]"),
                    LinkTarget::Id(id) => id,
                };
                let kind = match link.kind {
                    LinkKind::Relation(name) => name,
                    LinkKind::Markdown => "link".to_owned(),
                    LinkKind::Wiki => "wiki".to_owned(),
                    LinkKind::Mention => "mention".to_owned(),
                };
                format!("{} {target} {kind}", link.line)
            })
            .collect()
    }

    #[test]
    fn all_forms_are_found_with_their_kind() {
        let text = "# PROJ-1: x\nBlocks: PROJ-2, ../fast-path.md\n- **Relates to:** [[Fast Path|fp]]\nSee [the plan](nodes/plan.md#top) and [web](https://a.b/c.md).\nUTF-8 is no ticket.\n父任务：PROJ-9\n参见PROJ-8的说明\n";
        let expected = [
            "1 PROJ-1 mention",
            "2 PROJ-2 Blocks",
            "2 (fast-path.md) Blocks",
            "3 [fast path] Relates to",
            "4 (tickets/nodes/plan.md) link",
            "6 PROJ-9 父任务",
            "7 PROJ-8 参见",
        ];
        assert_eq!(found("tickets/PROJ-1.md", text), expected);
    }

    /// A text with so many of something.
    type Text = fn(usize) -> String;

    /// What is written for each number, one after the other.
    fn each(n: usize, write: impl Fn(usize) -> String) -> String {
        (0..n).fold(String::new(), |text, n| text + &write(n))
    }

    #[test]
    fn ends_a_line_costs_what_is_on_it() {
        // Ten times the text takes some ten times as long; by the square it was a hundred times.
        let most: [(&str, Text); 10] = [
            ("ids", |n| each(n, |n| format!("PROJ-{n} "))),
            ("verbs", |n| each(n, |n| format!("blocks PROJ-{n}. "))),
            ("row", |n| {
                let head = "| Blocks ".repeat(n);
                let ids: String = each(n, |n| format!("| PROJ-{n} "));
                format!("{head}|\n{ids}|\n")
            }),
            ("links", |n| each(n, |n| format!("[a]({n}.md) "))),
            ("open links", |n| "[a](b ".repeat(n)),
            ("open angles", |n| "[a](<b ".repeat(n)),
            ("open wiki", |n| "[[a ".repeat(n)),
            ("ticks", |n| "` `` [a](".repeat(n)),
            ("tags", |n| "<a <a href='".repeat(n)),
            ("labels", |n| {
                each(n, |n| format!("[l{n}]: {n}.md\n[x][u{n}]\n"))
            }),
        ];
        for (what, text) in most {
            let time = |n: usize| {
                let text = text(n);
                let start = std::time::Instant::now();
                links("a.md", &text, &CancellationToken::new()).unwrap();
                start.elapsed()
            };
            let (small, large) = (time(1_000), time(10_000));
            assert!(
                large < small * 40 + std::time::Duration::from_millis(300),
                "{what}: {small:?} for 1,000, {large:?} for 10,000"
            );
        }
    }

    #[test]
    fn ends_the_reading_of_links_when_asked_to() {
        let text = "PROJ-1\n".repeat(10);
        let cancel = CancellationToken::new();
        cancel.cancel();
        assert_eq!(links("a.md", &text, &cancel), None);
        let ids: String = each(MAX_LINKS + 9, |n| format!("PROJ-{n} "));
        let some = links("a.md", &ids, &CancellationToken::new()).unwrap();
        assert_eq!(some.len(), MAX_LINKS);
    }

    #[test]
    fn markdown_links_are_read_in_all_their_forms() {
        let text = "[a](my%20file.md 'title') [b](<with space.md>) [c](../up.md?x#y) ![d](pic.png)\n\
            [e][one] [two][] and [Three] but [not this]\n\
            `[code](x.md)` and <auto.md> <a href=\"page.html#x\">f</a> [g](plain space.md) [h](a_(b).md)\n\
            ```\n[in](fence.md) PROJ-7\n```\n\
            [one]: first.md\n[two]: <sub/second.md> \"t\"\n[three]: third.md\n[unused]: fourth.md\n\
            [^1]: [note](note.md)\n[mail](mailto:a@b.c) [web](//x.y/z) [here](#top)\n";
        let expected = [
            "1 (d/my file.md) link",
            "1 (d/with space.md) link",
            "1 (up.md) link",
            "1 (d/pic.png) link",
            "2 (d/first.md) link",
            "2 (d/sub/second.md) link",
            "2 (d/third.md) link",
            "3 (d/plain space.md) link",
            "3 (d/a_(b).md) link",
            "3 (d/auto.md) link",
            "3 (d/page.html) link",
            "5 PROJ-7 mention",
            "10 (d/fourth.md) link",
            "11 (d/note.md) link",
        ];
        assert_eq!(found("d/a.md", text), expected);
    }

    #[test]
    fn links_of_other_markup_are_links() {
        let org = "[[file:x.org][the x]] [[./y.org::*Part]] [[https://a.b][web]] [[Some Page]]";
        assert_eq!(
            found("o/a.org", org),
            ["1 (o/x.org) link", "1 (o/y.org) link", "1 [some page] wiki"]
        );
        let adoc = "xref:guide/start.adoc#top[Start] link:other.adoc[Other] <<near.adoc#x,Near>>";
        assert_eq!(
            found("a.adoc", adoc),
            [
                "1 (guide/start.adoc) link",
                "1 (other.adoc) link",
                "1 (near.adoc) link"
            ]
        );
        assert_eq!(
            found("a.md", "![[Folder/Page#Part|shown]] and [[Other.md]]"),
            ["1 [folder/page] wiki", "1 [other.md] wiki"]
        );
    }

    #[test]
    fn a_relation_is_named_by_key_heading_list_table_or_verb() {
        let front = "---\ntitle: x\nparent: PROJ-1\nblocks:\n  - PROJ-2\n  - PROJ-3\nblocked_by: [PROJ-4, \"PROJ-5\"]\nstatus: PROJ-6\nlabels:\n  - PROJ-8\n---\nSome PROJ-7.\n";
        assert_eq!(
            found("a.md", front),
            [
                "3 PROJ-1 parent",
                "5 PROJ-2 blocks",
                "6 PROJ-3 blocks",
                "7 PROJ-4 blocked_by",
                "7 PROJ-5 blocked_by",
                "8 PROJ-6 mention",
                "10 PROJ-8 mention",
                "12 PROJ-7 mention",
            ]
        );
        let headings = "## Blocks\n\n- PROJ-1: first\n* [[Other]]\n\nProse on PROJ-2.\n\nRelates to\n----------\n\nPROJ-3\n\n### Notes\n- PROJ-4\n\n**子任务**\n1. PROJ-5\n";
        assert_eq!(
            found("a.md", headings),
            [
                "3 PROJ-1 Blocks",
                "4 [other] Blocks",
                "6 PROJ-2 mention",
                "11 PROJ-3 Relates to",
                "14 PROJ-4 mention",
                "17 PROJ-5 子任务",
            ]
        );
        let tables = "| Blocks | PROJ-1, [x](x.md) |\n|---|---|\n| **Parent** | PROJ-2 |\n| Owner | PROJ-3 |\n\n| Key | Is blocked by |\n|---|---|\n| PROJ-4 | PROJ-5 |\n\n| PROJ-6 | clones | PROJ-7 |\n";
        assert_eq!(
            found("a.md", tables),
            [
                "1 (x.md) Blocks",
                "1 PROJ-1 Blocks",
                "3 PROJ-2 Parent",
                "4 PROJ-3 mention",
                "8 PROJ-4 mention",
                "8 PROJ-5 Is blocked by",
                "10 PROJ-6 mention",
                "10 PROJ-7 clones",
            ]
        );
        let verbs = "PROJ-1 blocks PROJ-2, PROJ-3 and PROJ-4. It unblocks PROJ-5.\nThis is duplicated by [PROJ-6](t/PROJ-6.md); PROJ-7 阻塞了 PROJ-8。\n\"blocks\": [\"PROJ-9\"],\nPROJ-10 被阻塞于 PROJ-11";
        assert_eq!(
            found("a.md", verbs),
            [
                "1 PROJ-1 mention",
                "1 PROJ-2 blocks",
                "1 PROJ-3 blocks",
                "1 PROJ-4 blocks",
                "1 PROJ-5 mention",
                "2 (t/PROJ-6.md) link",
                "2 PROJ-6 is duplicated by",
                "2 PROJ-7 mention",
                "2 PROJ-8 阻塞了",
                "3 PROJ-9 blocks",
                "4 PROJ-10 mention",
                "4 PROJ-11 被阻塞于",
            ]
        );
    }
}
