//! Web pages as Markdown: headings, lists, tables, code and links; without scripts and menus.
//!
//! A browser's parser repairs whatever it is given, which elements within very many others make
//! expensive; such a page is read as the text between its tags.

use std::borrow::Cow;
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, LazyLock};

use htmd::element_handler::{HandlerResult, Handlers};
use htmd::options::{BulletListMarker, Options};
use htmd::{Element, HtmlToMarkdown, Node};
use markup5ever_rcdom::NodeData;
use parking_lot::Mutex;
use quick_xml::escape::unescape;
use regex::Regex;

use super::draft::{Draft, markdown_table};
use super::{Extraction, SkipReason};
use crate::text::extension;

/// Never said on the page, or said on every page.
const SILENT: &[&str] = &[
    "script", "style", "nav", "noscript", "template", "svg", "iframe", "object", "select",
];
/// Elements that need no end of their own.
const LEFT_OPEN: &[&str] = &[
    "p", "li", "td", "th", "tr", "dt", "dd", "option", "thead", "tbody", "tfoot", "html", "body",
    "colgroup", "rt", "rp", "optgroup",
];
/// Written pages stay below a hundred elements within each other.
const MAX_DEPTH: usize = 400;
/// Tags, and attributes of one of them; each is compared with those before it.
const MAX_TAGS: usize = 500_000;
const MAX_TAG_BYTES: usize = 1024 * 1024;
/// A button that says more is a question that opens its answer.
const BUTTON_WORDS: usize = 3;

const VOID: &[&str] = &[
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track",
    "wbr",
];
/// A page as a document.
pub(crate) fn document(path: &Path, html: &str) -> Result<Extraction, SkipReason> {
    let repaired;
    let html = if extension(&path.to_string_lossy()) == "xhtml" || html.starts_with("<?xml") {
        repaired = opened(html);
        &repaired
    } else {
        html
    };
    let (markdown, title) = to_markdown(html)?;
    let mut draft = Draft::default();
    if let Some(title) = title.as_deref().filter(|title| !markdown.contains(*title)) {
        draft.push(title);
    }
    draft.push_apart(&markdown);
    draft.finish_sections(title, "the page has no words outside its scripts and menus")
}

/// A page's Markdown and its title.
pub(crate) fn to_markdown(html: &str) -> Result<(String, Option<String>), SkipReason> {
    if is_too_costly(html) {
        return Ok((between_tags(html), None));
    }
    let title: Arc<Mutex<Option<String>>> = Arc::default();
    let kept = Arc::clone(&title);
    let keep_title = move |handlers: &dyn Handlers, element: Element<'_>| {
        let said = handlers.walk_children(element.node).content;
        kept.lock().get_or_insert(said);
        None::<HandlerResult>
    };
    let converter = HtmlToMarkdown::builder()
        .options(Options {
            bullet_list_marker: BulletListMarker::Dash,
            ul_bullet_spacing: 1,
            ol_number_spacing: 1,
            ..Options::default()
        })
        .skip_tags(SILENT.to_vec())
        .add_handler(vec!["title"], keep_title)
        .add_handler(vec!["a"], without_anchors)
        .add_handler(vec!["button"], without_labels)
        .add_handler(vec!["img"], without_data)
        .add_handler(vec!["table"], table_as_markdown)
        .build();
    let markdown = converter
        .convert(html)
        .map_err(|error| SkipReason::Damaged(error.to_string()))?;
    let title = title
        .lock()
        .take()
        .map(|title| title.trim().to_owned())
        .filter(|title| !title.is_empty());
    Ok((markdown, title))
}

/// Links within the page lead nowhere outside of it, and neither do files that stand in the link.
fn without_anchors(handlers: &dyn Handlers, element: Element<'_>) -> Option<HandlerResult> {
    let target = attribute(element.node, "href");
    if target.is_some_and(|target| !target.starts_with('#') && !is_data(&target)) {
        return handlers.fallback(element);
    }
    Some(handlers.walk_children(element.node))
}

fn attribute(node: &Node, name: &str) -> Option<String> {
    let NodeData::Element { attrs, .. } = &node.data else {
        return None;
    };
    let attributes = attrs.borrow();
    let own = attributes.iter().find(|own| &*own.name.local == name)?;
    Some(own.value.to_string())
}

/// What a button says that is no mere label.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the converter asks for this signature"
)]
fn without_labels(handlers: &dyn Handlers, button: Element<'_>) -> Option<HandlerResult> {
    let said = handlers.walk_children(button.node);
    let is_question = said.content.split_whitespace().count() >= BUTTON_WORDS;
    is_question.then_some(said)
}

/// Whether an address is the file itself.
fn is_data(address: &str) -> bool {
    address
        .get(..5)
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"))
}

/// A picture within the page is what is said of it.
fn without_data(handlers: &dyn Handlers, element: Element<'_>) -> Option<HandlerResult> {
    if attribute(element.node, "src").is_some_and(|source| !is_data(&source)) {
        return handlers.fallback(element);
    }
    let alt = attribute(element.node, "alt").unwrap_or_default();
    Some(HandlerResult::from(alt))
}

/// Whether building and walking this page's tree would take more than any written page does.
fn is_too_costly(html: &str) -> bool {
    let (mut depth, mut count) = (0_usize, 0_usize);
    for tag in tags(html) {
        let name = tag.name.to_ascii_lowercase();
        count += 1;
        if VOID.contains(&name.as_str()) || LEFT_OPEN.contains(&name.as_str()) {
            continue;
        }
        depth = if tag.closes {
            depth.saturating_sub(1)
        } else {
            depth + 1
        };
        if depth > MAX_DEPTH || count > MAX_TAGS || tag.end - tag.start > MAX_TAG_BYTES {
            return true;
        }
    }
    false
}

/// XHTML closes empty elements with a mark that HTML does not know.
pub(crate) fn opened(xhtml: &str) -> String {
    static EMPTY: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"<([A-Za-z][\w:-]*)([^<>]*)/>").ok());
    let Some(empty) = EMPTY.as_ref() else {
        return xhtml.to_owned();
    };
    let opened = empty.replace_all(xhtml, |found: &regex::Captures<'_>| {
        let name = &found[1];
        if VOID.contains(&name) {
            found[0].to_owned()
        } else {
            format!("<{name}{}></{name}>", &found[2])
        }
    });
    opened.into_owned()
}

/// What stands between two tags.
struct HtmlTag<'a> {
    name: &'a str,
    closes: bool,
    /// Where the tag begins, and where what follows it does.
    start: usize,
    end: usize,
}

fn tags(html: &str) -> impl Iterator<Item = HtmlTag<'_>> {
    let bytes = html.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + memchr::memchr(b'<', &bytes[at..])?;
            let closes = bytes.get(start + 1) == Some(&b'/');
            let name_at = start + 1 + usize::from(closes);
            let length = bytes[name_at..]
                .iter()
                .take_while(|byte| byte.is_ascii_alphanumeric())
                .count();
            at = name_at;
            if length == 0 {
                continue;
            }
            let end =
                memchr::memchr(b'>', &bytes[name_at..]).map_or(bytes.len(), |n| name_at + n + 1);
            at = end;
            return Some(HtmlTag {
                name: &html[name_at..name_at + length],
                closes,
                start,
                end,
            });
        }
    })
}

/// Each run of text as a line, without what scripts and menus say.
fn between_tags(html: &str) -> String {
    let mut text = String::new();
    let mut from = 0;
    let mut silent: Option<String> = None;
    for tag in tags(html) {
        if silent.is_none() && tag.start > from {
            let words = words(&html[from..tag.start]);
            if !words.is_empty() {
                text.push_str(&words);
                text.push('\n');
            }
        }
        let name = tag.name.to_ascii_lowercase();
        match &silent {
            Some(open) if tag.closes && *open == name => silent = None,
            None if !tag.closes && matches!(name.as_str(), "script" | "style") => {
                silent = Some(name);
            }
            _ => {}
        }
        from = tag.end;
    }
    if silent.is_none() {
        text.push_str(&words(&html[from..]));
    }
    text
}

/// The words of a text, one blank between them. A word with a bare `&` stays as it is.
fn words(text: &str) -> String {
    let words = text.split_whitespace();
    let words = words.map(|word| unescape(word).unwrap_or(Cow::Borrowed(word)));
    words.collect::<Vec<_>>().join(" ")
}

// Tables of web pages: every cell of every row, whatever covers rows and columns.

/// A cell that claims to cover more rows or columns was made to fill the memory.
const MAX_SPAN: usize = 100;

/// The table as Markdown. A cell that covers rows belongs to each of them; one that covers columns
/// is said once.
#[expect(
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    reason = "the converter asks for this signature"
)]
fn table_as_markdown(handlers: &dyn Handlers, table: Element<'_>) -> Option<HandlerResult> {
    let node = table.node;
    let mut caption = String::new();
    let mut rows: Vec<Rc<Node>> = Vec::new();
    collect(handlers, node, &mut rows, &mut caption);
    let mut grid: Vec<Vec<String>> = Vec::new();
    // What still covers a column: for how many rows, and what it says.
    let mut covered: Vec<(usize, String)> = Vec::new();
    for row in rows {
        let mut cells: Vec<String> = Vec::new();
        let children = row.children.borrow();
        for cell in children.iter().filter(|child| is(child, &["td", "th"])) {
            take_covered(&mut covered, &mut cells);
            let said = handlers.handle(cell).map(|result| result.content);
            let said = said.unwrap_or_default().trim().to_owned();
            let (down, right) = (span(cell, "rowspan"), span(cell, "colspan"));
            covered.resize(covered.len().max(cells.len() + right), (0, String::new()));
            for column in 0..right {
                let said = if column == 0 {
                    said.clone()
                } else {
                    String::new()
                };
                covered[cells.len()] = (down - 1, said.clone());
                cells.push(said);
            }
        }
        take_covered(&mut covered, &mut cells);
        if cells.iter().any(|cell| !cell.is_empty()) {
            grid.push(cells);
        }
    }
    if grid.is_empty() {
        return Some(handlers.walk_children(node));
    }
    if is_within_cell(node) {
        let said = grid.concat().join(" ");
        return Some(HandlerResult::from(format!("{caption} {said}")));
    }
    let markdown = format!("\n\n{caption}\n\n{}\n\n", markdown_table(&grid));
    Some(HandlerResult::from(markdown))
}

/// Whether the table stands in a cell of another one.
fn is_within_cell(node: &Node) -> bool {
    let parent = node.parent.take();
    node.parent.set(parent.clone());
    let parent = parent.and_then(|parent| parent.upgrade());
    parent.is_some_and(|parent| is(&parent, &["td", "th"]) || is_within_cell(&parent))
}

/// Adds what covers the next columns from above.
fn take_covered(covered: &mut [(usize, String)], cells: &mut Vec<String>) {
    while let Some((rows, said)) = covered.get_mut(cells.len()).filter(|(rows, _)| *rows > 0) {
        *rows -= 1;
        cells.push(said.clone());
    }
}

/// The rows of this table, not those of tables within it, and what its caption says.
fn collect(handlers: &dyn Handlers, node: &Node, rows: &mut Vec<Rc<Node>>, caption: &mut String) {
    for child in node.children.borrow().iter() {
        if is(child, &["tr"]) {
            rows.push(Rc::clone(child));
        } else if is(child, &["thead", "tbody", "tfoot"]) {
            collect(handlers, child, rows, caption);
        } else if is(child, &["caption"])
            && let Some(said) = handlers.handle(child)
        {
            caption.push_str(said.content.trim());
        }
    }
}

fn is(node: &Node, names: &[&str]) -> bool {
    matches!(&node.data, NodeData::Element { name, .. } if names.contains(&&*name.local))
}

fn span(node: &Node, name: &str) -> usize {
    attribute(node, name)
        .and_then(|value| value.trim().parse().ok())
        .unwrap_or(1)
        .clamp(1, MAX_SPAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_keeps_its_structure_and_loses_its_furniture() {
        let html = "<html><head><title>The &amp; page</title><style>b{}</style></head><body>\
            <nav><a href=x>Menu</a></nav><h1>Setup</h1><p>See <a href=\"notes/a.md\">notes</a>.</p>\
            <ul><li>one</li><li>two</li></ul><script>alert(1)</script>\
            <table><tr><th>Key</th><th>Value</th></tr><tr><td>a</td><td>1</td></tr></table>\
            <pre><code>let x = 1;\nlet y = 2;</code></pre></body></html>";
        let (text, title) = to_markdown(html).unwrap();
        assert_eq!(title.as_deref(), Some("The & page"));
        assert!(text.starts_with("# Setup"), "{text}");
        for said in [
            "See [notes](notes/a.md).",
            "- one\n- two",
            "| Key",
            "```\nlet x = 1;\nlet y = 2;\n```",
        ] {
            assert!(text.contains(said), "{said}: {text}");
        }
        for silent in ["Menu", "alert", "b{}", "The & page"] {
            assert!(!text.contains(silent), "{silent}: {text}");
        }
    }

    #[test]
    fn a_page_that_is_nothing_but_nesting_is_its_text() {
        let nested = "<div>".repeat(100_000) + "in the middle &amp; below";
        assert_eq!(to_markdown(&nested).unwrap().0, "in the middle & below");
        let signs = "<i>".repeat(100_000) + "AT&T &mdash;&nbsp;&#8364;&#x41; &nonsense;";
        assert_eq!(
            to_markdown(&signs).unwrap().0,
            "AT&T \u{2014}\u{a0}\u{20ac}A &nonsense;"
        );
        let hidden = "<div></x>".repeat(400_000) + "said";
        assert_eq!(to_markdown(&hidden).unwrap().0, "said");
    }

    #[test]
    fn xhtml_closes_what_html_would_leave_open() {
        let (text, _) =
            to_markdown(&opened("<title/><p>one<br/>two <a id=\"x\"/>three</p>")).unwrap();
        assert!(text.contains("three"), "{text}");
    }
}
