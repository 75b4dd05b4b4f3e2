//! A Markdown file without what its site generator or its browser would have taken out of sight:
//! comments, anchors, scripts, includes, badges, the marks of directives.
//!
//! Every line stays in its place, so that line numbers are those of the file; a line of which
//! nothing is left is blank. Blocks of code stay as they are, because there a comment is an example.

use crate::text::{Fence, begins_item, front_matter};

/// Targets of links that are longer are data.
const LONGEST_TARGET: usize = 120;
/// What opens in a line is looked for this many bytes to be closed, or a line of openings would take
/// as long as it is often long.
const LONGEST_SPAN: usize = 2000;
/// Attributes of a tag that are text to a reader.
const READ_ATTRIBUTES: &[&str] = &["caption", "title", "label", "alt", "summary"];

/// The text as it is read by people.
pub(in crate::kb::extract) fn readable(text: &str) -> String {
    let lines: Vec<&str> = text.split('\n').collect();
    let mut cleaner = Cleaner::default();
    let mut readable = String::with_capacity(text.len());
    let mut at = front_matter(text.lines());
    for line in &lines[..at] {
        readable.push_str(line);
        readable.push('\n');
    }
    while at < lines.len() {
        let end = cleaner.take(&lines, at, &mut readable);
        at = end + 1;
    }
    // The last line ends where the file does.
    readable.pop();
    readable
}

/// What is open at the beginning of a line.
#[derive(Default)]
struct Cleaner {
    /// How what is out of sight ends.
    hidden_until: Option<&'static str>,
    /// How far the text of each open admonition is indented.
    admonitions: Vec<usize>,
    in_list: bool,
    /// Whether the line before is blank or part of an indented block of code.
    may_be_code: bool,
    /// Whether the line before opened a block that may have options.
    may_be_option: bool,
}

impl Cleaner {
    /// Writes the line, or the block of code that begins there; returns the last line taken.
    fn take(&mut self, lines: &[&str], at: usize, readable: &mut String) -> usize {
        let (line, end) = match lines[at].strip_suffix('\r') {
            Some(line) => (line, "\r\n"),
            None => (lines[at], "\n"),
        };
        let line = match self.hidden_until {
            Some(mark) => match after_mark(line, mark) {
                Some(rest) => {
                    self.hidden_until = None;
                    rest
                }
                None => "",
            },
            None => line,
        };
        let line = self.dedented(line);
        if let Some(last) = end_of_code(lines, at, line) {
            let dedent = self.admonitions.last().copied().unwrap_or(0);
            let is_included = is_only_includes(&lines[at + 1..last.max(at + 1)]);
            for line in &lines[at..=last] {
                if !is_included {
                    readable.push_str(unindented(line, dedent));
                }
                readable.push('\n');
            }
            (self.may_be_code, self.may_be_option) = (false, false);
            return last;
        }
        if line.trim().is_empty() {
            self.may_be_code = true;
        } else if self.may_be_code && !self.in_list && indent(line) >= 4 && !self.may_be_option {
            readable.push_str(line);
        } else {
            self.in_list =
                begins_item(line) || self.in_list && (indent(line) > 0 || !self.may_be_code);
            self.may_be_code = false;
            let clean = self.clean(line);
            readable.push_str(&clean);
        }
        readable.push_str(end);
        at
    }

    /// A line without the indentation of the admonition that it belongs to.
    fn dedented<'l>(&mut self, line: &'l str) -> &'l str {
        if line.trim().is_empty() {
            return line;
        }
        let own = indent(line);
        self.admonitions.retain(|inner| *inner <= own);
        unindented(line, self.admonitions.last().copied().unwrap_or(0))
    }

    fn clean(&mut self, line: &str) -> String {
        let trimmed = line.trim();
        let was_opened = std::mem::take(&mut self.may_be_option);
        if let Some(title) = self.directive(line, trimmed, was_opened) {
            return title;
        }
        let line = without_heading_id(line);
        for (begin, end) in [("<script", "</script>"), ("<style", "</style>")] {
            let is_tag = |rest: &str| rest.is_empty() || rest.starts_with([' ', '>']);
            if strip_prefix(trimmed, begin).is_some_and(is_tag) {
                let rest = after_mark(trimmed, end);
                if rest.is_none() {
                    self.hidden_until = Some(end);
                }
                return rest.map(|rest| self.inline(rest)).unwrap_or_default();
            }
        }
        let clean = self.inline(line);
        let clean = match tags_only(&clean) {
            Some(said) => said,
            None => clean,
        };
        if clean.trim().is_empty() {
            String::new()
        } else if clean.len() < line.len() {
            clean.trim_end().to_owned()
        } else {
            clean
        }
    }

    /// What is left of a line that is a directive: its title.
    fn directive(&mut self, line: &str, trimmed: &str, was_opened: bool) -> Option<String> {
        if let Some(rest) = trimmed.strip_prefix(":::") {
            return Some(title_of_container(rest.trim_start_matches(':')));
        }
        if let Some(rest) = trimmed.strip_prefix("///") {
            let rest = rest.trim_start_matches('/').trim();
            let (name, title) = rest.split_once('|').unwrap_or((rest, ""));
            let is_block = name.split_whitespace().count() <= 1;
            self.may_be_option = is_block && !rest.is_empty();
            return is_block.then(|| title.trim().to_owned());
        }
        for mark in ["!!!", "???+", "???", "==="] {
            let Some(rest) = trimmed.strip_prefix(mark) else {
                continue;
            };
            let title = rest.split('"').nth(1);
            let is_titled = title.is_some() && rest.trim_end().ends_with('"');
            let names = rest.split('"').next().unwrap_or_default().trim();
            let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ');
            let is_one = rest.starts_with([' ', '+', '!'])
                && names.trim_start_matches(['+', '!']).chars().all(is_name)
                && (is_titled || mark != "===" && title.is_none() && names.split(' ').count() < 4);
            if is_one && !trimmed.trim_matches('=').is_empty() {
                let inner = self.admonitions.last().copied().unwrap_or(0) + indent(line) + 4;
                self.admonitions.push(inner);
                return Some(title.unwrap_or_default().to_owned());
            }
        }
        let is_option = was_opened && indent(line) >= 4 && trimmed.contains(':');
        self.may_be_option = is_option;
        let is_attributes = trimmed.ends_with('}')
            && ["{:", "{ .", "{.", "{#", "{ #"]
                .iter()
                .any(|mark| trimmed.starts_with(mark));
        let is_contents = ["[toc]", "[[toc]]"]
            .iter()
            .any(|toc| trimmed.eq_ignore_ascii_case(toc));
        let is_import = trimmed.starts_with("import ")
            && [" from '", " from \""]
                .iter()
                .any(|from| trimmed.contains(from));
        let is_own = is_include(trimmed) || is_logseq_property(trimmed);
        (is_option || is_attributes || is_contents || is_import || is_own).then(String::new)
    }

    /// A line without what is out of sight within it.
    fn inline(&mut self, line: &str) -> String {
        let mut clean = String::with_capacity(line.len());
        let mut rest = line;
        while let Some(at) = rest.find(['\\', '`', '<', '{', '!', '[', 'd', '%', '(']) {
            clean.push_str(&rest[..at]);
            rest = &rest[at..];
            let taken = self.take_inline(rest, &mut clean).max(1);
            rest = &rest[taken..];
        }
        clean.push_str(rest);
        clean
    }

    /// Writes what is left of what begins here; returns how much of it was looked at.
    fn take_inline(&mut self, rest: &str, clean: &mut String) -> usize {
        if let Some(length) = code_span(rest) {
            clean.push_str(&rest[..length]);
            return length;
        }
        if let Some(escaped) = rest.strip_prefix('\\') {
            let length = 1 + escaped.chars().next().map_or(0, char::len_utf8);
            clean.push_str(&rest[..length]);
            return length;
        }
        for (begin, end) in HIDDEN {
            if let Some(inner) = rest.strip_prefix(begin) {
                let Some(at) = inner.find(end) else {
                    let is_inline = *begin == "%%" && !clean.trim().is_empty();
                    if *begin == "{%" || *begin == "{{#" || is_inline {
                        clean.push_str(rest);
                    } else {
                        self.hidden_until = Some(end);
                    }
                    return rest.len();
                };
                if *begin == "{{<" {
                    clean.push_str(&read_attributes(&inner[..at]));
                }
                return begin.len() + at + end.len();
            }
        }
        if let Some((said, length)) = self
            .image(rest)
            .or_else(|| self.link(rest))
            .or_else(|| self.tag(rest))
        {
            clean.push_str(&said);
            return length;
        }
        if let Some(length) = block_reference(rest) {
            return length;
        }
        if rest.starts_with("data:") && rest.get(..80).is_some_and(|head| head.contains(";base64,"))
        {
            return rest
                .find([' ', ')', '"', '\'', '>', '<'])
                .unwrap_or(rest.len());
        }
        let first = rest.chars().next().map_or(0, char::len_utf8);
        clean.push_str(&rest[..first]);
        first
    }

    /// `![alt](target)`: what it shows in words, unless it is a badge.
    fn image(&mut self, rest: &str) -> Option<(String, usize)> {
        let (alt, target, length) = bracketed(rest.strip_prefix('!')?)?;
        let said = if is_badge(alt, target) {
            String::new()
        } else {
            self.inline(alt)
        };
        Some((said, length + 1))
    }

    /// `[text](target)`; of a link whose target is data, or that is a picture of elsewhere, the text.
    fn link(&mut self, rest: &str) -> Option<(String, usize)> {
        let (text, target, length) = bracketed(rest)?;
        if let Some((alt, source, whole)) = text.strip_prefix('!').and_then(bracketed)
            && whole + 1 == text.trim_end().len()
        {
            let is_elsewhere = source.contains("://") || source.is_empty();
            let is_dropped = is_elsewhere || is_badge(alt, source);
            let said = if is_dropped { "" } else { alt };
            return Some((said.to_owned(), length));
        }
        let is_data =
            target.starts_with("data:") || target.contains("://") && target.len() > LONGEST_TARGET;
        is_data.then(|| (self.inline(text), length))
    }

    /// `<a …>…</a>` and `<img …>`.
    fn tag(&mut self, rest: &str) -> Option<(String, usize)> {
        let is_known = ["</a>", "<img ", "<a "]
            .iter()
            .any(|tag| strip_prefix(rest, tag).is_some());
        if !is_known {
            return None;
        }
        let Some(end) = rest.find('>') else {
            return Some((rest.to_owned(), rest.len()));
        };
        let tag = &rest[..=end];
        if strip_prefix(tag, "</a>").is_some() {
            return Some((String::new(), tag.len()));
        }
        if strip_prefix(tag, "<img ").is_some() {
            let alt = attribute(tag, "alt").unwrap_or_default();
            let source = attribute(tag, "src").unwrap_or_default();
            let said = if is_badge(alt, source) { "" } else { alt };
            return Some((said.to_owned(), tag.len()));
        }
        strip_prefix(tag, "<a ")?;
        let Some(target) = attribute(tag, "href") else {
            return Some((String::new(), tag.len()));
        };
        let inner = within(&rest[tag.len()..]);
        let Some(close) = inner.to_ascii_lowercase().find("</a>") else {
            return Some((String::new(), tag.len()));
        };
        let said = self.inline(&inner[..close]);
        let length = tag.len() + close + "</a>".len();
        if said.trim().is_empty() || target.len() > LONGEST_TARGET || target.starts_with("data:") {
            return Some((said, length));
        }
        Some((format!("[{said}]({target})"), length))
    }
}

/// How what is out of sight begins and ends. What is not closed on its line goes on, except what may
/// be text as well.
const HIDDEN: &[(&str, &str)] = &[
    ("<!--", "-->"),
    ("{/*", "*/}"),
    ("{{<", ">}}"),
    ("{{%", "%}}"),
    ("{{#", "}}"),
    ("{%", "%}"),
    // Comments of Obsidian.
    ("%%", "%%"),
];

/// Whether a line is nothing but the name of a file to be put there.
fn is_include(trimmed: &str) -> bool {
    let within = |begin: &str, end: &str| trimmed.starts_with(begin) && trimmed.ends_with(end);
    trimmed.contains("--8<--")
        && trimmed
            .trim_start_matches([';', '-', '#', '/', ' '])
            .starts_with("8<")
        || within("{{#", "}}")
        || within("{*", "*}")
        || within("{% include", "%}")
        || within("{{< include", ">}}")
        || within("<<< @/", "")
}

fn is_only_includes(lines: &[&str]) -> bool {
    let mut said = lines
        .iter()
        .map(|line| line.trim())
        .filter(|line| !line.is_empty())
        .peekable();
    said.peek().is_some() && said.all(is_include)
}

/// The last line of the block of code that begins at this line, which is given without its
/// indentation.
fn end_of_code(lines: &[&str], at: usize, line: &str) -> Option<usize> {
    let is_quoted = line.trim_start().starts_with('>');
    let marks = |c: char| c == '>' || c == ' ' || c == '\t';
    let bare = line.trim_start_matches(marks);
    let bare = match bare.split_once(' ') {
        Some((mark, rest)) if begins_item(bare) && mark.len() < 4 => rest.trim_start(),
        _ => bare,
    };
    let fence = Fence::opened_by(bare)?;
    let is_within_item = indent(line) >= 4;
    let rest = lines.iter().enumerate().skip(at + 1);
    for (number, line) in rest {
        if is_quoted && !line.trim_start().starts_with('>') {
            return Some(number - 1);
        }
        let bare = if is_quoted {
            line.trim_start_matches(marks)
        } else {
            line
        };
        if fence.is_closed_by(bare) {
            return Some(number);
        }
        if is_within_item && !line.trim().is_empty() && indent(line) == 0 {
            return Some(number - 1);
        }
    }
    Some(lines.len() - 1)
}

/// `::: warning Foo`, `:::{note} Foo`, `::: name.of.module`.
fn title_of_container(rest: &str) -> String {
    let rest = rest.trim();
    let title = match rest.strip_prefix('{') {
        Some(named) => named.split_once('}').map_or("", |(_, title)| title),
        None => rest
            .split_once(char::is_whitespace)
            .map_or("", |(_, title)| title),
    };
    let title = title.split('{').next().unwrap_or_default().trim();
    title.trim_matches(['[', ']']).to_owned()
}

/// A heading without `{#id}` at its end.
fn without_heading_id(line: &str) -> &str {
    if !line.trim_start().starts_with('#') || !line.trim_end().ends_with('}') {
        return line;
    }
    let Some(open) = line.rfind('{') else {
        return line;
    };
    let inner = line[open + 1..].trim_start_matches([':', ' ']);
    if inner.starts_with(['#', '.']) {
        line[..open].trim_end()
    } else {
        line
    }
}

/// What tags say that are all that stands on a line; `None` where there is more, or no tag.
fn tags_only(line: &str) -> Option<String> {
    let mut rest = line.trim();
    if !rest.starts_with('<') || indent(line) >= 4 {
        return None;
    }
    let mut said = Vec::new();
    while let Some(tag) = rest.strip_prefix('<') {
        let (inner, after) = tag.split_once('>')?;
        let name = inner.trim_start_matches('/');
        let length = name
            .find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '.'))
            .unwrap_or(name.len());
        let follows = name[length..].chars().next();
        let is_tag = name.starts_with(|c: char| c.is_ascii_alphabetic())
            && follows.is_none_or(|c| c == ' ' || c == '/');
        if !is_tag {
            return None;
        }
        said.extend(Some(read_attributes(inner)).filter(|said| !said.is_empty()));
        rest = after.trim_start();
    }
    rest.is_empty().then(|| said.join(" "))
}

/// The values of a tag's attributes that are text.
fn read_attributes(tag: &str) -> String {
    let values = READ_ATTRIBUTES
        .iter()
        .filter_map(|name| attribute(tag, name));
    let values: Vec<&str> = values.filter(|value| !value.trim().is_empty()).collect();
    values.join(" ")
}

/// The value of an attribute in quotes.
fn attribute<'t>(tag: &'t str, name: &str) -> Option<&'t str> {
    let begins = tag.match_indices(name).find_map(|(at, _)| {
        let is_apart = tag[..at].ends_with([' ', '"', '\'']);
        let value = tag[at + name.len()..]
            .trim_start()
            .strip_prefix('=')?
            .trim_start();
        is_apart.then_some(value)
    })?;
    let quote = begins.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    begins[1..].split(quote).next()
}

/// The text and the target of `[text](target)` or `[text][name]`, and how long the whole is.
fn bracketed(rest: &str) -> Option<(&str, &str, usize)> {
    let close = closing(rest, '[', ']')?;
    let text = &rest[1..close];
    let after = &rest[close + 1..];
    if after.starts_with('(') {
        let end = closing(after, '(', ')')?;
        return Some((text, after[1..end].trim(), close + 1 + end + 1));
    }
    let end = after
        .starts_with('[')
        .then(|| closing(after, '[', ']'))
        .flatten()?;
    Some((text, "", close + 1 + end + 1))
}

/// As much as is looked at for what closes what was opened.
fn within(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST_SPAN)]
}

/// Where what is opened by the first character is closed.
fn closing(text: &str, open: char, close: char) -> Option<usize> {
    if text.starts_with("(data:") {
        let ends = |c: char| !c.is_ascii_alphanumeric() && !"+/=;:,.%_-".contains(c);
        let end = 1 + text[1..].find(ends)?;
        if text[end..].starts_with(close) {
            return Some(end);
        }
    }
    let text = within(text);
    let mut depth = 0_usize;
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == open => depth += 1,
            c if c == close => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// How long the reference to a block of Logseq is that begins here: `((65a1b2c3-…))`.
fn block_reference(rest: &str) -> Option<usize> {
    let inner = rest.strip_prefix("((")?;
    let end = inner.find("))")?;
    is_id(&inner[..end]).then_some(end + 4)
}

/// `id:: 65a1b2c3-…`, and what else Logseq keeps for itself.
fn is_logseq_property(trimmed: &str) -> bool {
    let Some((key, value)) = trimmed.trim_start_matches("- ").split_once("::") else {
        return false;
    };
    key == "collapsed" || key == "id" && is_id(value.trim())
}

/// An id that a program gave: 36 characters of hexadecimal digits and hyphens.
fn is_id(text: &str) -> bool {
    text.len() == 36 && text.bytes().all(|c| c.is_ascii_hexdigit() || c == b'-')
}

fn is_badge(alt: &str, source: &str) -> bool {
    let says = |text: &str| text.to_ascii_lowercase().contains("badge");
    says(alt) || says(source) || source.contains("shields.io")
}

/// How long the inline code is that begins here.
fn code_span(rest: &str) -> Option<usize> {
    let rest = within(rest);
    let run = rest.bytes().take_while(|byte| *byte == b'`').count();
    let mut at = run;
    while run > 0 && at < rest.len() {
        at += rest[at..].find('`')?;
        let other = rest[at..].bytes().take_while(|byte| *byte == b'`').count();
        at += other;
        if other == run {
            return Some(at);
        }
    }
    (run > 0).then_some(run)
}

fn after_mark<'l>(line: &'l str, mark: &str) -> Option<&'l str> {
    let at = line.to_ascii_lowercase().find(mark)?;
    Some(&line[at + mark.len()..])
}

fn strip_prefix<'l>(line: &'l str, prefix: &str) -> Option<&'l str> {
    let begin = line.get(..prefix.len())?;
    begin
        .eq_ignore_ascii_case(prefix)
        .then(|| &line[prefix.len()..])
}

/// The columns that a line is indented by.
fn indent(line: &str) -> usize {
    let blanks = line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t'));
    blanks.map(|byte| if byte == b'\t' { 4 } else { 1 }).sum()
}

/// A line without so many columns of its indentation.
fn unindented(line: &str, columns: usize) -> &str {
    let mut left = columns;
    let mut rest = line;
    while left > 0 {
        let width = match rest.bytes().next() {
            Some(b' ') => 1,
            Some(b'\t') => 4,
            _ => break,
        };
        left = left.saturating_sub(width);
        rest = &rest[1..];
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_reader_never_sees_is_gone() {
        for (text, expected) in [
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
        ] {
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
