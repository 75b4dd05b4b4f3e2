//! reStructuredText as Markdown, so that there is one reader of marks. Each line keeps its number.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::markdown::compile;

/// Literals, references and links within a line or over its end.
static INLINE: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"``(?P<literal>(?:[^`\n]|`[^`\n]|\n[^`\n])+`?)``|:(?P<role>[\w:+.-]+):`(?P<said>[^`<]+)(?:<(?P<aim>[^`]*)>)?`|`(?P<link>[^`<]+)<(?P<to>[^`>\s]+)>`__?|`(?P<name>[^`]+)`__?",
    )
});

static DIRECTIVE: LazyLock<Regex> =
    LazyLock::new(|| compile(r"^\s*\.\. (?P<name>[\w:-]+)::\s*(?P<argument>.*)$"));

/// What a name stands for, `.. _name: target`, and not for another name.
static TARGET: LazyLock<Regex> =
    LazyLock::new(|| compile(r"^\s*\.\. _`?(?P<name>[^:`]+)`?:\s+(?P<to>\S*[^\s_])\s*$"));

/// What is said in a box of its own.
const ADMONITIONS: [&str; 10] = [
    "note",
    "warning",
    "important",
    "tip",
    "hint",
    "caution",
    "attention",
    "danger",
    "error",
    "seealso",
];
/// Directives whose body is code.
const CODE: [&str; 6] = [
    "code-block",
    "code",
    "sourcecode",
    "parsed-literal",
    "prompt",
    "highlight",
];
/// Directives whose argument is the name of what is described, as it is typed.
#[rustfmt::skip]
const DESCRIBING: [&str; 18] = [
    "attribute", "class", "classmethod", "cmdoption", "confval", "data", "decorator", "describe", "directive", "envvar",
    "exception", "function", "macro", "method", "module", "option", "staticmethod", "type",
];
/// Directives whose argument is for the program that makes pages.
#[rustfmt::skip]
const UNSEEN: [&str; 17] = [
    "container", "contents", "cssclass", "currentmodule", "default-role", "figure", "ifconfig", "image", "include", "index",
    "literalinclude", "meta", "only", "program", "role", "rst-class", "toctree",
];

/// A text as Markdown of as many lines.
pub(super) fn to_markdown(text: &str) -> String {
    let mut writer = Writer {
        lines: text.lines().collect(),
        marks: Vec::new(),
        written: Vec::new(),
        prose: Vec::new(),
    };
    let mut at = 0;
    while at < writer.lines.len() {
        at = writer.write(at);
    }
    writer.end_prose();
    let ends = if text.ends_with('\n') { "\n" } else { "" };
    writer.written.join("\n") + ends
}

struct Writer<'a> {
    lines: Vec<&'a str>,
    /// The lines of headings, those of the highest level first: their character, and whether one stands above the title too.
    marks: Vec<(char, bool)>,
    written: Vec<String>,
    /// Lines of prose whose marks are still to be read.
    prose: Vec<String>,
}

impl Writer<'_> {
    /// Writes what begins at a line, and returns the line behind it.
    fn write(&mut self, at: usize) -> usize {
        if let Some((title, mark, height)) = self.heading(at) {
            let title = format!("{} {title}", "#".repeat(self.level(mark)));
            self.end_prose();
            self.written.extend(vec![String::new(); height - 2]);
            self.written.extend([title, String::new()]);
            return at + height;
        }
        let line = self.lines[at];
        if let Some(found) = DIRECTIVE.captures(line) {
            let (name, argument) = (&found["name"], found["argument"].trim());
            let name = name.rsplit(':').next().unwrap_or(name);
            if CODE.contains(&name) {
                return self.write_code(at, argument);
            }
            if name == "raw" {
                return self.skip(at, String::new());
            }
            let said = match name {
                "versionadded" => format!("New in version {argument}"),
                "versionchanged" => format!("Changed in version {argument}"),
                "deprecated" => format!("Deprecated since version {argument}"),
                name if ADMONITIONS.contains(&name) => {
                    format!("{}{}: {argument}", name[..1].to_uppercase(), &name[1..])
                }
                name if UNSEEN.contains(&name) || argument.is_empty() => String::new(),
                name if DESCRIBING.contains(&name) => format!("`{argument}`"),
                _ => argument.to_owned(),
            };
            let line = format!("{}{said}", margin(line));
            return self.write_body(at, line.trim_end());
        }
        if let Some(found) = TARGET.captures(line) {
            let definition = format!("[{}]: {}", &found["name"], &found["to"]);
            return self.skip(at, definition);
        }
        if let Some(rest) = line.trim_start().strip_prefix(".. ") {
            if rest.starts_with('[') {
                let note = format!("{}{rest}", margin(line));
                return self.write_body(at, &note);
            }
            // A comment or a place that links lead to.
            return self.skip(at, String::new());
        }
        if let Some(before) = line.trim_end().strip_suffix("::") {
            let said = format!("{before}:");
            self.prose.push(if before.trim().is_empty() {
                String::new()
            } else {
                said
            });
            return self.write_literal(at, "");
        }
        self.prose.push(line.to_owned());
        at + 1
    }

    /// The title of a heading, its mark, and how many lines it takes.
    fn heading(&self, at: usize) -> Option<(String, (char, bool), usize)> {
        let is_free = at == 0 || self.lines[at - 1].trim().is_empty();
        let (title, under, height) = match adornment(self.lines[at]) {
            Some(_) => (self.lines.get(at + 1)?, self.lines.get(at + 2)?, 3),
            None => (&self.lines[at], self.lines.get(at + 1)?, 2),
        };
        let mark = adornment(under)?;
        let is_framed = height == 2 || adornment(self.lines[at]) == Some(mark);
        let length = title.trim().chars().count();
        let is_title = length > 0 && 2 * under.trim().len() >= length && adornment(title).is_none();
        let is_bare = height == 3 || !title.starts_with(char::is_whitespace);
        let is_heading = is_free && is_framed && is_title && is_bare;
        is_heading.then(|| (inline(title.trim()), (mark, height == 3), height))
    }

    /// Which mark means which level is up to each document: the first one met is the highest.
    fn level(&mut self, mark: (char, bool)) -> usize {
        let known = self.marks.iter().position(|known| *known == mark);
        let level = known.unwrap_or_else(|| {
            self.marks.push(mark);
            self.marks.len() - 1
        });
        (1 + level).min(6)
    }

    /// Writes a directive whose body is code.
    fn write_code(&mut self, at: usize, language: &str) -> usize {
        self.prose.push(String::new());
        self.write_literal(at, language)
    }

    /// Writes the code that belongs to a line, the line itself being written; the fences take the places of the blank lines
    /// around it. What has none stays as it is.
    fn write_literal(&mut self, at: usize, language: &str) -> usize {
        let indent = indent_of(self.lines[at]);
        let end = self.end_of_body(at);
        let is_blank = |line: &&str| line.trim().is_empty();
        let is_option = |line: &&str| line.trim().starts_with(':');
        let body = &self.lines[at + 1..end];
        let options = body.iter().take_while(|line| is_option(line)).count();
        let blank = body[options..].iter().take_while(|line| is_blank(line));
        let code = at + 1 + options + blank.count();
        let mut last = self.lines[code.min(end)..end].iter();
        let last = code
            + last
                .rposition(|line| !is_blank(line))
                .map_or(0, |at| at + 1);
        let is_closed = last < end || end == self.lines.len();
        if code == at + 1 + options || last == code || !is_closed {
            return at + 1;
        }
        self.prose.extend(vec![String::new(); code - at - 2]);
        self.end_prose();
        let margin = margin(self.lines[at]);
        self.written.push(format!("{margin}```{language}"));
        let code_indent = self.lines[code..last].iter().filter(|line| !is_blank(line));
        let code_indent = code_indent.map(|line| indent_of(line)).min();
        let removed = code_indent.unwrap_or_default() - indent;
        for line in &self.lines[code..last] {
            let cut = line.get(removed..).unwrap_or(line);
            self.written.push(cut.to_owned());
        }
        if last < end {
            self.written.push(format!("{margin}```"));
            self.written.extend(vec![String::new(); end - last - 1]);
        }
        end
    }

    /// Writes a line instead of a directive, and its body as prose.
    fn write_body(&mut self, at: usize, line: &str) -> usize {
        self.prose.push(line.to_owned());
        let indent = indent_of(self.lines[at]);
        let end = self.end_of_body(at);
        let mut next = at + 1;
        while next < end && self.lines[next].trim().starts_with(':') {
            self.prose.push(String::new());
            next += 1;
        }
        let body = self.lines[next..end]
            .iter()
            .filter(|line| !line.trim().is_empty());
        let removed = body
            .map(|line| indent_of(line) - indent)
            .min()
            .unwrap_or_default();
        for at in next..end {
            let line = self.lines[at];
            self.lines[at] = line.get(removed..).unwrap_or(line);
        }
        next
    }

    /// Writes a line instead of a comment with its body.
    fn skip(&mut self, at: usize, line: String) -> usize {
        let end = self.end_of_body(at);
        self.prose.push(line);
        self.prose.extend(vec![String::new(); end - at - 1]);
        end
    }

    /// The line behind what is indented further than a line, and behind the blank lines after it.
    fn end_of_body(&self, at: usize) -> usize {
        let indent = indent_of(self.lines[at]);
        let rest = self.lines[at + 1..].iter();
        let mut rest = rest.map(|line| line.trim().is_empty() || indent_of(line) > indent);
        rest.position(|belongs| !belongs)
            .map_or(self.lines.len(), |length| at + 1 + length)
    }

    fn end_prose(&mut self) {
        let prose = std::mem::take(&mut self.prose);
        if !prose.is_empty() {
            let shown = inline(&prose.join("\n"));
            self.written.extend(shown.split('\n').map(str::to_owned));
        }
    }
}

/// The character that a line consists of.
fn adornment(line: &str) -> Option<char> {
    let line = line.trim_end();
    let mark = line.chars().next().filter(char::is_ascii_punctuation)?;
    (line.len() >= 3 && line.chars().all(|c| c == mark)).then_some(mark)
}

fn margin(line: &str) -> &str {
    &line[..indent_of(line)]
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The marks within prose as those of Markdown; no line break is lost.
fn inline(text: &str) -> String {
    let replaced = INLINE.replace_all(text, |found: &Captures<'_>| {
        let group = |name| found.name(name).map_or("", |it| it.as_str().trim());
        let role = group("role").rsplit(':').next().unwrap_or_default();
        let said = match (group("literal"), role) {
            ("", "") if group("to").is_empty() => group("name").to_owned(),
            ("", "") => link(group("link"), group("to")),
            ("", role) => reference(role, group("said"), group("aim")),
            (literal, _) if literal.contains('`') => format!("`` {literal} ``"),
            (literal, _) => format!("`{literal}`"),
        };
        let lines = |text: &str| text.matches('\n').count();
        let lost = lines(&found[0]).saturating_sub(lines(&said));
        said + &"\n".repeat(lost)
    });
    replaced.into_owned()
}

fn link(said: &str, to: &str) -> String {
    if to.contains('\n') {
        said.to_owned()
    } else if to.contains([' ', '(']) {
        format!("[{said}](<{to}>)")
    } else {
        format!("[{said}]({to})")
    }
}

/// What a role says of a text: a link to a file or to a name, or how it is shown.
fn reference(role: &str, said: &str, aim: &str) -> String {
    let is_plain = !said.contains(['\n', '[', ']', '|']) && !aim.contains(['\n', '[', ']', '|']);
    match (role, aim) {
        ("doc" | "download", "") => link(said, said),
        ("doc" | "download", aim) => link(said, aim),
        ("ref" | "any", "") if is_plain => format!("[[{said}]]"),
        ("ref" | "any", aim) if is_plain => format!("[[{aim}|{said}]]"),
        _ => said.trim_start_matches(['~', '!']).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r23_restructured_text_is_read_as_markdown_line_by_line() {
        for (text, expected) in [
            (
                "=====\nGuide\n=====\n\nUse\n===\n\na\n\n~~~\nTwo\n~~~",
                "\n# Guide\n\n\n## Use\n\n\na\n\n\n### Two\n",
            ),
            (
                "Run it:\n\n.. code-block:: sh\n   :linenos:\n\n   a ``b``\n     c\n\nDone.",
                "Run it:\n\n\n\n```sh\na ``b``\n  c\n```\nDone.",
            ),
            (
                "Run ``it``::\n\n    a\n\n\nDone",
                "Run `it`:\n```\na\n```\n\nDone",
            ),
            ("* a\n\n  .. code::\n\n     b\n", "* a\n\n\n  ```\n  b\n"),
            (
                ".. note:: It\n   is so.\n\n   Also.\n\nb",
                "Note: It\nis so.\n\nAlso.\n\nb",
            ),
            (
                ".. _here:\n\n.. image:: a.png\n   :alt: b\n\nc",
                "\n\n\n\n\nc",
            ),
            (
                "See `the\nguide <a.html>`__ and :ref:`that <x>` or `it`_.",
                "See [the\nguide](a.html) and [[x|that]] or it.",
            ),
            (
                ":doc:`guide/start` :doc:`Text </top>` :doc:`a b` :ref:`near` :py:func:`~a.b` ``:doc:`no```",
                "[guide/start](guide/start) [Text](/top) [a b](<a b>) [[near]] a.b `` :doc:`no` ``",
            ),
            (
                "See :ref:`the\nguide <x>`, :doc:`it\n<y>` and\n``a\nb``.",
                "See the\nguide, [it](y)\n and\n`a\nb`.",
            ),
            (
                ".. option:: --all\n\n   Do all.\n\n.. versionadded:: 3.1\n\n.. toctree:: a\n\n.. raw:: html\n\n   <br>\n\nb",
                "`--all`\n\nDo all.\n\nNew in version 3.1\n\n\n\n\n\n\n\nb",
            ),
            (
                ".. _`the site`: https://x.y/z\n.. _a: b_\n.. _here:\n",
                "[the site]: https://x.y/z\n\n\n",
            ),
            (
                ".. [1] A note\n   goes on.\n\n.. a comment\n   too\n",
                "[1] A note\ngoes on.\n\n\n\n",
            ),
            ("Not::\n   closed\nso", "Not:\n   closed\nso"),
            ("A table\n\n---\n\nend", "A table\n\n---\n\nend"),
        ] {
            let read = to_markdown(text);
            assert_eq!(read, expected, "{text}");
            assert_eq!(read.split('\n').count(), text.split('\n').count());
        }
    }

    #[test]
    fn r23_broken_restructured_text_is_text() {
        for text in [
            "",
            "::",
            ".. ",
            "..",
            "===\n===",
            "``",
            ".. code::",
            "a::\n\n",
            "\u{0}::\n\n \u{e4}\n",
        ] {
            let read = to_markdown(text);
            assert_eq!(
                read.split('\n').count(),
                text.split('\n').count(),
                "{text:?}"
            );
        }
    }
}
