//! A Markdown file without what its site generator or its browser would have taken out of sight:
//! comments, anchors, scripts, includes, badges, the marks of directives.
//!
//! Every line stays in its place, so that line numbers are those of the file; a line of which
//! nothing is left is blank. Blocks of code stay as they are, because there a comment is an example.
//! `pulldown-cmark` says what is code, a link or a picture; what CommonMark does not know is a
//! pattern of [`GENERATED`].

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use regex::Regex;

use crate::text::{begins_item, front_matter, markup};

/// Targets of links that are longer are data.
const LONGEST_TARGET: usize = 120;
/// Admonitions within admonitions are opened this deep.
const DEEPEST: usize = 8;
/// Attributes of a tag or a shortcode that are text to a reader.
const READ_ATTRIBUTES: &[&str] = &["caption", "title", "label", "alt", "summary"];

/// What generators and programs of notes read and do not show. What a pattern's group holds stays.
///
/// Each pattern alone is searched in linear time, because a search ends where its match does. An
/// alternative that can run far beside one that need not would end that, so such are two patterns.
const GENERATED: &[&str] = &[
    // Comments of HTML, of MDX and of Obsidian, which may go over lines.
    r"(?s)<!--.*?-->",
    r"(?s)\{/\*.*?\*/\}",
    r"^[ \t]*%%(?s:.*?)%%|%%.*?%%",
    // Scripts and styles.
    r"(?is)<script(?:\s[^<>]*)?>.*?</script\s*>",
    r"(?is)<style(?:\s[^<>]*)?>.*?</style\s*>",
    // Includes, and what else mdBook has for its helpers.
    INCLUDE,
    r"\{\{#.*?\}\}",
    // `[text]({{< ref "page" >}})`: links that a generator makes.
    r"!?\[([^\[\]\r\n]*)\]\(\{(?:%|\{[<%#]).*?\}[^)\r\n]*\)",
    // `::: tip Title`, `:::{note} Title`, `:::note[Title]`: containers.
    r"^[ \t]*:{3,}[ \t]*(?:\{[^}\n]*\}|[^\s\[{]*)[ \t\[]*([^\]{\r\n]*?)[ \t]*(?:[\]{].*)?$",
    // `/// details | Title`, with the options in the lines below: blocks of Python-Markdown.
    r"^[ \t]*/{3,}[ \t]*[^\s|]*[ \t]*(?:\|[ \t]*(.*?))?[ \t]*$(?:\r?\n(?: {4}|\t)[^\n:]+:.*$)*",
    // `# Title {#id .class}`, `{: .class }`, `[text](target){ .class }`: ids and attributes.
    r"^([ \t]*#.*?)[ \t]*\{:? *[#.][^{\r\n]*\}[ \t]*$",
    r"^[ \t]*\{(?::| ?[.#]).*\}[ \t]*$",
    r#"([)\]])\{(?::| ?[.#]| ?[a-z-]+=")[^{}\r\n]*\}"#,
    // `[TOC]`, `[[_TOC_]]`: tables of contents.
    r"(?i)^[ \t]*\[{1,2}_?toc_?\]{1,2}[ \t]*$",
    // `import Tabs from '@theme/Tabs';`
    r#"^[ \t]*import .* from ['"][^'"\n]*['"];?[ \t]*$"#,
    // `id:: 65a1b2c3-…`, `((65a1b2c3-…))`: properties and references of Logseq.
    r"^[ \t]*(?:- )?(?:collapsed::.*|id:: *[0-9a-f-]{36}[ \t]*)$",
    r"\(\([0-9a-f-]{36}\)\)",
    // Pictures that are written into the text.
    r#"data:[a-z0-9/+.;=-]*;base64,[^\s)"'<>]*"#,
];
/// Shortcodes of Hugo and tags of Liquid, whose attributes may be text.
const SHORTCODES: &[&str] = &[r"(?s)\{\{[<%].*?[>%]\}\}", r"\{%.*?%\}"];
/// A line that is nothing but the name of a file to be put there.
const INCLUDE: &str = r"^[ \t]*(?:[;#/ -]*--8<--.*|\{\{#.*\}\}|\{\*.*\*\}|\{% include.*%\}|\{\{< include.*>\}\}|<<< [@./].*)[ \t]*$";
/// `!!! note "Title"`, `??? tip`, `=== "Name of a tab"`; the group is the title.
const ADMONITION: &str = r#"^[ \t]*(?:(?:!{3}|\?{3}\+?)(?: +[\w-]+){1,3}|(?:!{3}|\?{3}\+?|={3}[+!]?)(?: +[\w-]+)* +"(.*)")[ \t]*$"#;
/// A tag of HTML; the group is its name.
const TAG: &str = r#"(?i:<(/?[a-z][a-z0-9.-]*)(?:[\s/](?:[^<>"']|"[^"]*"|'[^']*')*)?>)"#;
const ATTRIBUTE: &str = r#"[\s"']([a-z]+)\s*=\s*(?:"([^"]*)"|'([^']*)')"#;

static HIDDEN: LazyLock<Vec<(Regex, &[&str])>> = LazyLock::new(|| {
    let generated = GENERATED.iter().map(|row| (compile(row), [].as_slice()));
    let shortcodes = SHORTCODES.iter().map(|row| (compile(row), READ_ATTRIBUTES));
    generated.chain(shortcodes).collect()
});
static INCLUDES: LazyLock<Regex> = LazyLock::new(|| compile(INCLUDE));
static ADMONITIONS: LazyLock<Regex> = LazyLock::new(|| compile(ADMONITION));
static TAGS: LazyLock<Regex> = LazyLock::new(|| compile(TAG));
static LINES_OF_TAGS: LazyLock<Regex> =
    LazyLock::new(|| compile(&format!(r"^(?:[ \t]*(?:{TAG}|<!--.*?-->))+[ \t]*$")));
static ATTRIBUTES: LazyLock<Regex> = LazyLock::new(|| compile(ATTRIBUTE));
static ESCAPED: LazyLock<Regex> = LazyLock::new(|| compile(r"\\[[:punct:]]"));

/// The text as it is read by people.
pub(crate) fn readable(text: &str) -> String {
    let matter = front_matter(text.lines());
    let matter = text.split_inclusive('\n').take(matter);
    let (matter, body) = text.split_at(matter.map(str::len).sum());
    let mut page = Page::parse(Cow::Borrowed(body));
    for _ in 0..DEEPEST {
        match page.without_admonitions() {
            Some(opened) => page = Page::parse(Cow::Owned(opened)),
            None => break,
        }
    }
    page.hide_generated();
    page.hide_tags();
    let edited = page.edited();
    let mut readable = matter.to_owned();
    for (line, was) in edited.split_inclusive('\n').zip(body.split_inclusive('\n')) {
        let said = line.trim_end_matches(['\r', '\n']);
        readable.push_str(if line == was { said } else { said.trim_end() });
        readable.push_str(&line[said.len()..]);
    }
    readable
}

/// A text, and what is to be done with it.
struct Page<'t> {
    text: Cow<'t, str>,
    /// The text with something else in place of code and of escaped marks, byte for byte.
    prose: String,
    /// What takes the place of stretches of the text.
    edits: Vec<(Range<usize>, String)>,
}

impl<'t> Page<'t> {
    fn parse(text: Cow<'t, str>) -> Self {
        let mut prose = text.clone().into_owned().into_bytes();
        let mut mask = |range: Range<usize>| {
            let bytes = prose[range]
                .iter_mut()
                .filter(|byte| !byte.is_ascii_whitespace());
            bytes.for_each(|byte| *byte = b'x');
        };
        for escaped in ESCAPED.find_iter(&text) {
            mask(escaped.range());
        }
        let mut edits = Vec::new();
        let mut hide = |range: Range<usize>| edits.push((range, String::new()));
        // The links and pictures that are open.
        let mut open = Vec::new();
        // The last picture, and whether a link that holds nothing else says nothing.
        let mut picture = (0..0, false);
        // Where the last event ends: the text of a link or a picture, at its end.
        let mut end = 0;
        for (event, range) in Parser::new_ext(&text, markup()).into_offset_iter() {
            let last = std::mem::replace(&mut end, range.end);
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    open.push(dest_url);
                    end = range.start;
                }
                Event::End(tag @ (TagEnd::Link | TagEnd::Image)) => {
                    let target = open.pop().unwrap_or("".into());
                    let begin = range.start + if tag == TagEnd::Image { 2 } else { 1 };
                    let said = begin..last.max(begin);
                    // The parser leaves out what ends `[text][]`.
                    let rest = text[range.end..].strip_prefix("[]");
                    let range = range.start..rest.map_or(range.end, |_| range.end + 2);
                    end = range.end;
                    let is_elsewhere = target.contains("://");
                    let (is_hidden, is_text) = if tag == TagEnd::Image {
                        let alt = &text[said.clone()];
                        let alt = &alt[..alt.floor_char_boundary(LONGEST_TARGET)];
                        let is_badge = is_badge(&target) || is_badge(alt);
                        picture = (range.clone(), is_badge || is_elsewhere);
                        (is_badge, true)
                    } else {
                        let rest = picture.0.end..said.end;
                        let is_picture = picture.0.start == begin && text[rest].trim().is_empty();
                        let is_long = is_elsewhere && target.len() > LONGEST_TARGET;
                        let is_inline = text[said.end..].starts_with("](");
                        let is_data = is_inline && (is_long || target.starts_with("data:"));
                        (is_picture && picture.1, is_picture || is_data)
                    };
                    if is_hidden {
                        hide(range);
                    } else if is_text {
                        hide(range.start..said.start);
                        hide(said.end..range.end);
                    }
                }
                Event::Start(Tag::CodeBlock(_)) if is_outline(&text, range.start) => {}
                Event::Code(_) | Event::Start(Tag::CodeBlock(_)) => {
                    if is_only_includes(&text[range.clone()]) {
                        hide(range.clone());
                    }
                    mask(range);
                }
                _ => {}
            }
        }
        let prose = String::from_utf8(prose).unwrap_or_default();
        Self { text, prose, edits }
    }

    /// The text with the title of each outer admonition, and what it holds, in its place.
    fn without_admonitions(&self) -> Option<String> {
        ADMONITIONS.find(&self.prose)?;
        let mut text = String::with_capacity(self.text.len());
        // What the line of the open admonition begins with.
        let mut outer: Option<&str> = None;
        let mut at = 0;
        for line in self.text.split_inclusive('\n') {
            let prose = &self.prose[at..at + line.len()];
            at += line.len();
            let rest = outer.and_then(|it| line.strip_prefix(it));
            let inner = rest.and_then(|it| it.strip_prefix("    ").or(it.strip_prefix('\t')));
            if let Some((outer, inner)) = outer.zip(inner) {
                text.extend([outer, inner]);
            } else if let Some(found) = ADMONITIONS.captures(prose) {
                let blanks = &line[..line.len() - line.trim_start().len()];
                let title = found.get(1).map_or("", |title| &line[title.range()]);
                text.extend([blanks, title, &line[line.trim_end().len()..]]);
                outer = Some(blanks);
            } else {
                outer = outer.filter(|_| line.trim().is_empty());
                text.push_str(line);
            }
        }
        Some(text)
    }

    fn hide_generated(&mut self) {
        for (pattern, keeps) in HIDDEN.iter() {
            for found in pattern.captures_iter(&self.prose) {
                let whole = found.get_match().range();
                let rest = whole.end..whole.end;
                let kept = found.get(1).map_or(rest, |kept| kept.range());
                let said = attributes(&self.text[whole.clone()], keeps);
                self.edits.push((whole.start..kept.start, said));
                self.edits.push((kept.end..whole.end, String::new()));
            }
        }
    }

    /// `<a …>…</a>` becomes a link and `<img …>` what it shows in words; of tags that are all that
    /// stands on a line, what their attributes say is left.
    fn hide_tags(&mut self) {
        let mut lines = LINES_OF_TAGS.find_iter(&self.prose).peekable();
        // The edit of the open link, and its target.
        let mut link: Option<(usize, String)> = None;
        for found in TAGS.captures_iter(&self.prose) {
            let range = found.get_match().range();
            while lines.next_if(|line| line.end() <= range.start).is_some() {}
            let is_alone = lines.peek().is_some_and(|line| line.start() <= range.start);
            let tag = &self.text[range.clone()];
            let mut said = match found[1].to_ascii_lowercase().as_str() {
                "a" => {
                    let target = attributes(tag, &["href"]);
                    let is_short = (1..=LONGEST_TARGET).contains(&target.len());
                    let is_link = is_short && !target.contains(' ') && !target.starts_with("data:");
                    link = is_link.then_some((self.edits.len(), target));
                    String::new()
                }
                "/a" => match link.take() {
                    Some((open, target)) if self.has_words_since(open, range.start) => {
                        self.edits[open].1.push('[');
                        format!("]({target})")
                    }
                    _ => String::new(),
                },
                "img" if is_badge(tag) => String::new(),
                "img" => attributes(tag, &["alt"]),
                _ if is_alone => attributes(tag, READ_ATTRIBUTES),
                _ => continue,
            };
            if is_alone && link.is_none() && !said.is_empty() {
                said.push(' ');
            }
            self.edits.push((range, said));
        }
    }

    /// Whether there is text, or a picture in words, between the tag of this edit and `end`.
    fn has_words_since(&self, tag: usize, end: usize) -> bool {
        let html = &self.prose[self.edits[tag].0.end..end];
        let text = TAGS.replace_all(html, "");
        let has_text = !text.trim().is_empty() && !text.trim().starts_with("![");
        let has_words = has_text || self.edits[tag..].iter().any(|(_, said)| !said.is_empty());
        has_words && !html.starts_with(['\r', '\n'])
    }

    /// The text after its edits, of which the one that begins first holds. Each leaves the ends of
    /// lines that it covers.
    fn edited(mut self) -> String {
        self.edits.sort_by_key(|(range, _)| range.start);
        let mut edited = String::with_capacity(self.text.len());
        let mut at = 0;
        for (range, said) in self.edits {
            if range.start >= at {
                edited.push_str(&self.text[at..range.start]);
                edited.extend(self.text[range.clone()].matches(['\r', '\n']));
                edited.push_str(&said);
                at = range.end;
            }
        }
        edited.push_str(&self.text[at..]);
        edited
    }
}

/// The values of a tag's attributes of these names.
fn attributes(tag: &str, names: &[&str]) -> String {
    let all = ATTRIBUTES.captures_iter(tag);
    let read = all.filter(|found| names.contains(&&found[1]));
    let values = read.filter_map(|found| Some(found.get(2).or(found.get(3))?.as_str()));
    values
        .flat_map(str::split_whitespace)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Whether an indented block is not code but notes: a list that begins right below another line.
fn is_outline(text: &str, begin: usize) -> bool {
    let above = text[..begin].rsplit('\n').nth(1);
    begins_item(&text[begin..]) && above.is_some_and(|above| !above.trim().is_empty())
}

/// Whether a block of code holds nothing but includes.
fn is_only_includes(block: &str) -> bool {
    let rest = INCLUDES.replace_all(block, "");
    let is_fence = |line: &str| line.trim_matches(['`', '~', ' ', '\t']).is_empty();
    matches!(rest, Cow::Owned(_)) && rest.lines().skip(1).all(is_fence)
}

fn is_badge(text: &str) -> bool {
    text.to_ascii_lowercase().contains("badge") || text.contains("shields.io")
}

/// Compiles a pattern of the program, which is read line by line.
#[expect(clippy::expect_used, reason = "the tests compile each")]
pub(super) fn compile(pattern: &str) -> Regex {
    Regex::new(&format!("(?mR){pattern}")).expect("a pattern of the program")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each as it is written and as it is read.
    const PAGES: &[(&str, &str)] = &[
        ("a <!-- b --> c", "a  c"),
        ("a <!-- b\nc\nd --> e\nf", "a\n\n e\nf"),
        ("<!-- only\n\ncomment -->\n\ntext", "\n\n\n\ntext"),
        ("a `<!-- b -->` c", "a `<!-- b -->` c"),
        ("<a id=\"x\"></a>\n## T <a name='y'></a>", "\n## T"),
        ("## First Steps { #first-steps }", "## First Steps"),
        ("## T {#id .class}", "## T"),
        ("### The `{#if}` block", "### The `{#if}` block"),
        (
            "::: warning Mind the gap\ntext\n:::",
            "Mind the gap\ntext\n",
        ),
        (":::tip\ntext\n:::", "\ntext\n"),
        (":::{note} Title\ntext\n:::", "Title\ntext\n"),
        ("/// note | Title\n\ntext\n\n///", "Title\n\ntext\n\n"),
        (
            "/// details | More\n    type: info\n\ntext\n///",
            "More\n\n\ntext\n",
        ),
        (
            "!!! note \"Read this\"\n    text\n\n    more\n\nafter",
            "Read this\ntext\n\nmore\n\nafter",
        ),
        ("??? tip\n    text", "\ntext"),
        (
            "=== \"Linux\"\n\n    ```sh\n    make\n    ```\n",
            "Linux\n\n```sh\nmake\n```\n",
        ),
        ("Wow!!! note this", "Wow!!! note this"),
        ("{{#include a.rs}}\ntext {{#title x}} on", "\ntext  on"),
        ("{* ../../x.py hl[1:2] *}", ""),
        ("{% include 'a.md' %}\nb", "\nb"),
        ("{{< hint info >}}\ntext\n{{< /hint >}}", "\ntext\n"),
        (
            "{{< figure src=\"a.png\" caption=\"The parts\" >}}",
            "The parts",
        ),
        ("--8<-- \"a.md\"\nb", "\nb"),
        (
            "<script setup>\nimport a from 'b'\n</script>\ntext",
            "\n\n\ntext",
        ),
        ("<style>a{}</style>\ntext", "\ntext"),
        ("use the `<script>` tag", "use the `<script>` tag"),
        ("![A diagram](data:image/png;base64,AAAA)", "A diagram"),
        ("[![Build](https://img.shields.io/x)](https://ci)", ""),
        ("![Coverage badge](a.svg) text", " text"),
        ("[![Screen](a.png)](a.png)", "Screen"),
        (
            "[Pydantic](https://docs.pydantic.dev)",
            "[Pydantic](https://docs.pydantic.dev)",
        ),
        (
            "see <a href=\"https://x.org\" class=\"e\">X</a>.",
            "see [X](https://x.org).",
        ),
        ("<div align=\"center\">\ntext\n</div>", "\ntext\n"),
        ("<Listing number=\"1\" caption=\"Hello\">", "Hello"),
        ("<https://example.org>", "<https://example.org>"),
        ("a < b and c > d {x}", "a < b and c > d {x}"),
        ("[TOC]\r\na\r\n", "\r\na\r\n"),
        ("::: tip T\r\na <!-- b -->\r\n", "T\r\na\r\n"),
        (":::note[Mind `this`]\ntext", "Mind `this`\ntext"),
        (
            "1. a\n\n    ??? tip \"T\"\n        !!! note\n            b\n\n2. c",
            "1. a\n\n    T\n\n    b\n\n2. c",
        ),
        (
            "``` md\n=== \"T\"\n```\n=== \"T\"\n    a",
            "``` md\n=== \"T\"\n```\nT\na",
        ),
        (
            "[text]({{< ref \"page.md\" >}}) and [more]({% link a.md %})",
            "text and more",
        ),
        (
            "<img src=\"a.png\"\n  alt=\"Two\n  tables\">\nb",
            "\n\nTwo tables\nb",
        ),
        (
            "<p><a href=\"a\"><img src=\"b\" alt=\"Logo\"></a></p>",
            "[Logo](a)",
        ),
        (
            "<a href=\"a\"><img src=\"badge.svg\" alt=\"b\"></a> c",
            " c",
        ),
        (
            "![Screen][] and [![Screen][]][x]\n\n[screen]: a.png\n[x]: b",
            "Screen and Screen\n\n[screen]: a.png\n[x]: b",
        ),
        (
            "[![a]][b]\n\n[a]: https://x.org/a.png\n[b]: c",
            "\n\n[a]: https://x.org/a.png\n[b]: c",
        ),
        (
            "![A](a.png){ width=\"300\" }, [b](c){: .button }",
            "A, [b](c)",
        ),
        ("f(x){ return }", "f(x){ return }"),
        ("\\{{#include a}} \\<a b>", "\\{{#include a}} \\<a b>"),
        ("a %% b %% c\n%%\nd\n%%\ne", "a  c\n\n\n\ne"),
        (
            "# T\n\t- a\n\t  id:: 65a1b2c3-1111-2222-3333-444455556666\n\t  ((65a1b2c3-1111-2222-3333-444455556666)) b",
            "# T\n\t- a\n\n\t   b",
        ),
    ];

    #[test]
    fn what_a_reader_never_sees_is_gone() {
        for &(text, expected) in PAGES {
            assert_eq!(readable(text), expected, "{text:?}");
        }
        let long = format!("[run](https://play.example.org/?code={})", "x".repeat(200));
        assert_eq!(readable(&format!("a {long} b")), "a run b");
    }

    #[test]
    fn code_and_metadata_stay_as_they_are() {
        for text in [
            "---\ntitle: <!-- a -->\n---\ntext",
            "```html\n<script>\n<!-- a -->\n</script>\n```\nb",
            "~~~\n::: tip\n~~~",
            "- item\n\n    ```md\n    {{#include a}} b\n    ```\n",
            "> ```\n> <!-- a -->\n> ```\n",
            "text\n\n    <!-- code by indentation -->\n\ntext",
            "```\n{{#include a.rs}}\nlet b = 1;\n```",
            "```\n<!-- never closed",
        ] {
            assert_eq!(readable(text), text);
        }
        for text in [
            "```rust\n{{#rustdoc_include a.rs}}\n```\nb",
            "```rust,ignore\n\n{{#include a}}\n```\nb",
        ] {
            let readable = readable(text);
            assert_eq!(readable.trim(), "b");
            assert_eq!(readable.lines().count(), text.lines().count());
        }
    }

    #[test]
    fn ends_a_line_of_openings_takes_as_long_as_it_is() {
        for opening in [
            "[",
            "![",
            "`",
            "` ``",
            "<a ",
            "<a href=\"a\">",
            "<img ",
            "{%",
            "{{#",
            "(data:",
            "[](data:",
            "<!--",
            "!!! a\n    ",
            "{{<",
            "{% {{#a}} ",
            "%% a\n",
            "<a '<b>",
            "[![a](b)](c)",
            "    - a\n",
        ] {
            let time = |times: usize| {
                let text = opening.repeat(times);
                let start = std::time::Instant::now();
                assert!(readable(&text).len() <= text.len());
                start.elapsed()
            };
            let (small, large) = (time(2_000), time(40_000));
            assert!(
                large < small * 80 + std::time::Duration::from_millis(300),
                "{opening}: {small:?}, {large:?}"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn every_line_stays_in_its_place(text in "([a`<>!\\[\\](){}%#:/?\" \n-]|<!--|-->|:::|!!! a|```|<a |data:x;base64,|é|<script>){0,60}") {
            let readable = readable(&text);
            proptest::prop_assert_eq!(readable.split('\n').count(), text.split('\n').count());
        }
    }
}
