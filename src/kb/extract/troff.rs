//! A manual page in troff as Markdown, so that there is one reader of marks. Each line keeps its number.
//!
//! Known are the macros of man(7) and mdoc(7) and those that docutils, pod2man and asciidoctor write. A line of control
//! that says nothing is blank; conditions and definitions are not followed.

use std::iter::{self, Peekable};
use std::mem;
use std::str::Chars;

use unicode_normalization::UnicodeNormalization;

/// Most lines below a page's head that are searched for its name.
const HEAD_LINES: usize = 30;
/// Most blanks by which a nested item is indented.
const DEEPEST: usize = 12;
/// Bytes of the longest word that is taken for an option.
const LONGEST_WORD: usize = 200;
/// Requests that print nothing between an item's name and its text, such as index entries and distances.
const UNSEEN: [&str; 2] = [".IX", ".PD"];

/// Converts a page to Markdown with the same number of lines.
pub(super) fn to_markdown(text: &str) -> String {
    let mut writer = Writer {
        lines: text.lines().collect(),
        ..Writer::default()
    };
    while let Some(line) = writer.lines.get(writer.written.len()).copied() {
        writer.write(line);
    }
    let ends = if text.ends_with('\n') { "\n" } else { "" };
    writer.written.join("\n") + ends
}

#[derive(Default)]
struct Writer<'a> {
    lines: Vec<&'a str>,
    /// Output lines, one for each input line.
    written: Vec<String>,
    /// The page's name and section.
    name: String,
    /// How far items are indented here, and further out.
    base: usize,
    outer: Vec<usize>,
    /// How far text is indented.
    body: usize,
    /// Markdown to write before the next text, such as the mark of a heading or an item.
    next: String,
    /// The line that opens the block of code that is being written.
    fence: Option<usize>,
    is_table: bool,
    /// Whether the table's lines still say how it is laid out.
    is_layout: bool,
    /// Whether a macro is being defined.
    is_definition: bool,
}

impl Writer<'_> {
    /// Writes a line; with an item's name also the unseen lines below it.
    fn write(&mut self, line: &str) {
        let control = line.strip_prefix(['.', '\'']).map(str::trim_start);
        match control {
            _ if self.is_definition => {
                self.is_definition = control.is_none_or(|control| !control.starts_with('.'));
                self.written.push(String::new());
            }
            Some(control) => self.obey(control),
            None if self.fence.is_some() => self.write_code(line),
            None => self.write_text(line),
        }
    }

    /// Handles a control line.
    fn obey(&mut self, control: &str) {
        let end = control.find(|c: char| c.is_whitespace() || c == '\\');
        let (name, rest) = control.split_at(end.unwrap_or(control.len()));
        let arguments = arguments(rest);
        let is_unfilled = |argument: &String| argument == "-literal" || argument == "-unfilled";
        let all = || arguments.join(" ");
        let words = arguments.iter().map(String::as_str);
        let said = match name {
            "TH" | "Dt" if !arguments.is_empty() => {
                self.begin_section("# ");
                self.title(&arguments)
            }
            "SH" | "Sh" => {
                self.begin_section("## ");
                all()
            }
            "SS" | "Ss" => {
                self.begin_section("### ");
                all()
            }
            "IP" => self.named_item(arguments.first().map_or("", String::as_str)),
            "It" => {
                self.begin_item("- ");
                phrase(&self.name, words)
            }
            "nf" | "EX" | "Vb" | "TS" => {
                self.open_code(name == "TS");
                return;
            }
            "Bd" if arguments.iter().any(is_unfilled) => {
                self.open_code(false);
                return;
            }
            "fi" | "EE" | "Ve" | "TE" | "Ed" => {
                self.close_code();
                return;
            }
            "so" => format!("See {}", all()),
            "UR" | "MT" | "URL" | "MTO" => link(&arguments),
            "B" | "I" | "R" | "SM" | "SB" | "CW" | "SY" | "UE" | "ME" => all(),
            "BR" | "RB" | "BI" | "IB" | "IR" | "RI" => arguments.concat(),
            "OP" => format!("[{}]", all()),
            "Nd" => format!("– {}", all()),
            name if is_macro(name) => phrase(&self.name, iter::once(name).chain(words)),
            name => {
                self.lay_out(name);
                String::new()
            }
        };
        self.say(&said);
    }

    /// Handles a control line that has no text.
    fn lay_out(&mut self, name: &str) {
        match name {
            "de" | "de1" | "am" | "ig" => self.is_definition = true,
            "T&" => self.is_layout = true,
            "TP" => self.begin_item("- "),
            "PP" | "P" | "LP" | "HP" => {
                self.next.clear();
                self.body = self.base;
            }
            "RS" | "INDENT" | "Bl" => {
                self.outer.push(self.base);
                self.base = self.body.min(DEEPEST);
                self.body = self.base;
            }
            "RE" | "UNINDENT" => {
                self.base = self.outer.pop().unwrap_or_default();
                self.body = self.base;
            }
            // The enclosing item continues after the list.
            "El" => {
                self.body = self.base;
                self.base = self.outer.pop().unwrap_or_default();
            }
            _ => {}
        }
    }

    /// Begins with the mark of a heading; code that nothing ended until here is none.
    fn begin_section(&mut self, mark: &str) {
        if let Some(fence) = self.fence.take() {
            self.written[fence].clear();
        }
        (self.base, self.body) = (0, 0);
        self.outer.clear();
        mark.clone_into(&mut self.next);
    }

    fn begin_item(&mut self, mark: &str) {
        mark.clone_into(&mut self.next);
        self.body = self.base + mark.len();
    }

    /// Begins an item and returns its name. That stands right above its text, behind what is unseen.
    fn named_item(&mut self, name: &str) -> String {
        let shown = plain(name);
        self.body = self.base + 2;
        if let Some(mark) = bullet(shown.trim()) {
            self.begin_item(&mark);
            return String::new();
        }
        if shown.trim().is_empty() {
            return String::new();
        }
        self.begin_item("- ");
        let is_unseen = |line: &&&str| UNSEEN.iter().any(|unseen| line.starts_with(*unseen));
        let below = self.lines.iter().skip(self.written.len() + 1);
        let unseen = below.take_while(is_unseen).count();
        self.written.extend(vec![String::new(); unseen]);
        name.to_owned()
    }

    /// What the page is called, `ls(1)`, as its text spells it: heads are often in capitals.
    fn title(&mut self, arguments: &[String]) -> String {
        let name = plain(&arguments[0]).replace(' ', "-");
        let below = self.lines.iter().skip(self.written.len() + 1);
        let below = below
            .take(HEAD_LINES)
            .map(|line| plain(line.trim_start_matches(".Nm ")));
        let words: Vec<String> = below
            .flat_map(|line| {
                let words = line.split([' ', ',', '\t']).map(str::to_owned);
                words.collect::<Vec<_>>()
            })
            .collect();
        let spelt = words
            .into_iter()
            .find(|word| word.eq_ignore_ascii_case(&name));
        self.name = spelt.unwrap_or(name);
        match arguments.get(1).filter(|section| !section.is_empty()) {
            Some(section) => format!("{}({section})", self.name),
            None => self.name.clone(),
        }
    }

    fn open_code(&mut self, is_table: bool) {
        if self.fence.is_some() {
            self.written.push(String::new());
            return;
        }
        self.fence = Some(self.written.len());
        (self.is_table, self.is_layout) = (is_table, is_table);
        self.next.clear();
        self.written.push(format!("{:1$}```", "", self.body));
    }

    fn close_code(&mut self) {
        let fence = self.fence.take().map(|fence| self.written[fence].clone());
        self.written.push(fence.unwrap_or_default());
    }

    fn write_code(&mut self, line: &str) {
        let mut text = plain(line).trim_end().to_owned();
        if self.is_layout {
            self.is_layout = !text.ends_with('.');
            text.clear();
        } else if self.is_table {
            text = text.replace("T{", "").replace("T}", "");
            // What parts columns, with nothing beside it.
            if text.len() == 1 && !text.contains(char::is_alphanumeric) {
                text.clear();
            }
        }
        if !text.is_empty() {
            text.insert_str(0, &" ".repeat(self.body));
        }
        self.written.push(text);
    }

    /// Writes a line that is none of control; a first one with a further indented one below it names that.
    fn write_text(&mut self, line: &str) {
        let below = self.lines.get(self.written.len() + 1).copied();
        let is_indented = |below: &str| below.starts_with('\t') || below.starts_with(".RS");
        let is_first = self.next.is_empty()
            && self.body == self.base
            && self
                .written
                .last()
                .is_none_or(|above| above.is_empty() || above.starts_with('#'));
        let end = line.trim_end();
        let is_sentence = end.ends_with([':', '.']) && !end.ends_with("...");
        let is_name = line.starts_with(|c: char| !c.is_whitespace()) && !is_sentence;
        if is_first && is_name && below.is_some_and(is_indented) {
            self.begin_item("- ");
        }
        self.say(line);
    }

    /// Writes a text whose escapes are still to be read.
    fn say(&mut self, raw: &str) {
        let text = plain(raw);
        let text = text.trim();
        if text.is_empty() {
            self.written.push(String::new());
        } else if self.fence.is_some() {
            self.written.push(format!("{:1$}{text}", "", self.body));
        } else if self.next.is_empty()
            && let Some(mark) = bullet(text)
        {
            self.begin_item(&mark);
            self.written.push(String::new());
        } else if self.next.starts_with('#') {
            self.written.push(format!("{}{text}", self.next));
            self.next.clear();
        } else {
            let mark = mem::take(&mut self.next);
            let margin = if mark.is_empty() {
                self.body
            } else {
                self.base
            };
            // In prose, Markdown would read it as a quotation.
            let text = mark_literals(&text.replace('`', "'"));
            self.written.push(format!("{:margin$}{mark}{text}", ""));
        }
    }
}

/// The arguments of a macro, which quotes hold together, with their escapes; what follows `\"` is a comment.
fn arguments(rest: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Option<String> = None;
    let mut is_quoted = false;
    let mut chars = rest.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&'"') => break,
            '\\' => {
                let word = open.get_or_insert_default();
                word.push(c);
                word.extend(chars.next());
            }
            '"' if open.is_none() => {
                open = Some(String::new());
                is_quoted = true;
            }
            '"' if is_quoted && chars.next_if_eq(&'"').is_none() => {
                is_quoted = false;
                found.extend(open.take());
            }
            ' ' | '\t' if !is_quoted => found.extend(open.take()),
            c => open.get_or_insert_default().push(c),
        }
    }
    found.extend(open);
    found
}

/// A target with its text, and what stands right behind it.
fn link(arguments: &[String]) -> String {
    let argument = |at: usize| arguments.get(at).map_or("", String::as_str);
    match (argument(0), argument(1)) {
        ("", _) => String::new(),
        (to, "") => format!("<{to}>{}", argument(2)),
        (to, said) => format!("{said} <{to}>{}", argument(2)),
    }
}

/// The mark of an item that begins with this alone.
fn bullet(text: &str) -> Option<String> {
    if ["•", "·", "*", "-", "o", "+"].contains(&text) {
        return Some("- ".to_owned());
    }
    let number = text.strip_suffix(['.', ')'])?;
    let is_number = (1..=4).contains(&number.len()) && number.bytes().all(|c| c.is_ascii_digit());
    is_number.then(|| format!("{text} "))
}

// Words as they are typed.

/// The text with options, arguments and other words that hold signs as code, so that no sign is read as a mark.
fn mark_literals(text: &str) -> String {
    let words = text.split_inclusive(' ').map(|word| {
        let core = without_punctuation(word);
        if word.len() <= LONGEST_WORD && is_literal(core) {
            word.replacen(core, &format!("`{core}`"), 1)
        } else {
            word.to_owned()
        }
    });
    words.collect()
}

fn is_literal(word: &str) -> bool {
    let is_sign = |c: char| "<>*\\=~^".contains(c);
    if !word.contains(char::is_alphanumeric) {
        return word.starts_with("--") || word.contains(is_sign) || word.contains('#');
    }
    let is_address = word.contains("://") || word.starts_with('<') && word.contains('@');
    !is_address && (word.starts_with(['-', '_', '$', '#']) || word.contains(is_sign))
}

/// A word without the punctuation and the brackets around it; brackets that belong to it stay.
fn without_punctuation(word: &str) -> &str {
    let mut core = word.trim_end();
    if core.len() > LONGEST_WORD {
        return core;
    }
    let is_uneven = |core: &str, left: char, right: char| {
        core.matches(left).count() != core.matches(right).count()
    };
    while let Some(first) = core.chars().next() {
        let is_outside = match first {
            '(' | '"' | '\'' | '“' | '‘' => true,
            '[' => is_uneven(core, '[', ']'),
            _ => false,
        };
        if !is_outside {
            break;
        }
        core = &core[first.len_utf8()..];
    }
    while let Some(last) = core.chars().next_back() {
        let is_outside = match last {
            ',' | '.' | ';' | ':' | '!' | '?' | '”' | '’' => true,
            '"' | '\'' => core.matches(last).count() % 2 == 1,
            ')' => is_uneven(core, '(', ')'),
            ']' => is_uneven(core, '[', ']'),
            '}' => is_uneven(core, '{', '}'),
            _ => false,
        };
        if !is_outside {
            break;
        }
        core = &core[..core.len() - last.len_utf8()];
    }
    core
}

// Escapes.

/// A text without its escapes.
fn plain(text: &str) -> String {
    let mut said = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            said.push(c);
            continue;
        }
        if matches!(chars.peek(), Some('(' | '[')) {
            said.push_str(&glyph(&name(&mut chars)));
            continue;
        }
        match chars.next() {
            // A comment.
            Some('"' | '#') => break,
            Some('*') => said.push_str(&glyph(&name(&mut chars))),
            // Fonts, colours, registers, sizes.
            Some('f' | 'F' | 'm' | 'M' | 'n' | 'g' | 'k' | 'Y' | 's') => {
                chars.next_if(|c| matches!(c, '+' | '-'));
                if chars.peek() == Some(&'\'') {
                    skip_quoted(&mut chars);
                } else {
                    name(&mut chars);
                }
            }
            // Movements, lines, widths.
            Some(
                'h' | 'v' | 'w' | 'l' | 'L' | 'D' | 'o' | 'X' | 'N' | 'Z' | 'b' | 'R' | 'S' | 'H'
                | 'x' | 'A',
            ) => skip_quoted(&mut chars),
            Some('e' | 'E' | '\\') => said.push('\\'),
            Some(' ' | '~' | '0' | 't') => said.push(' '),
            Some(c @ ('-' | '\'' | '`' | '.')) => said.push(c),
            _ => {}
        }
    }
    said
}

/// A name of one sign, `(` with two or `[` with any number up to `]`.
fn name(chars: &mut Peekable<Chars<'_>>) -> String {
    match chars.next() {
        Some('(') => chars.by_ref().take(2).collect(),
        Some('[') => chars.by_ref().take_while(|c| *c != ']').collect(),
        first => first.into_iter().collect(),
    }
}

fn skip_quoted(chars: &mut Peekable<Chars<'_>>) {
    if let Some(quote) = chars.next() {
        chars.by_ref().take_while(|c| *c != quote).for_each(drop);
    }
}

/// Signs, and strings that pages define for them, by their names.
#[rustfmt::skip]
const GLYPHS: &[(&str, &str)] = &[
    ("bu", "•"), ("em", "—"), ("en", "–"), ("--", "--"), ("hy", "-"), ("mi", "-"), ("aq", "'"), ("Aq", "'"), ("cq", "’"),
    ("oq", "‘"), ("lq", "“"), ("rq", "”"), ("L\"", "“"), ("R\"", "”"), ("dq", "\""), ("C`", "\""), ("C'", "\""), ("co", "©"),
    ("rg", "®"), ("R", "®"), ("tm", "™"), ("Tm", "™"), ("ti", "~"), ("ha", "^"), ("ga", "`"), ("rs", "\\"), ("at", "@"),
    ("sh", "#"), ("Do", "$"), ("sl", "/"), ("ba", "|"), ("br", "|"), ("pl", "+"), ("mu", "×"), ("+-", "±"), ("de", "°"),
    ("sc", "§"), ("<=", "≤"), (">=", "≥"), ("!=", "≠"), ("->", "→"), ("<-", "←"), ("la", "⟨"), ("ra", "⟩"), ("Fo", "«"),
    ("Fc", "»"), ("ss", "ß"), ("lB", "["), ("rB", "]"), ("lC", "{"), ("rC", "}"),
];

/// The sign of this name; empty where none is known.
fn glyph(name: &str) -> String {
    if let Some((_, sign)) = GLYPHS.iter().find(|(known, _)| *known == name) {
        return (*sign).to_owned();
    }
    if let Some(hex) = name.strip_prefix('u').filter(|hex| hex.len() >= 4) {
        let number = u32::from_str_radix(hex, 16).ok().and_then(char::from_u32);
        let sign = number.filter(|c| !c.is_control());
        return sign.into_iter().collect();
    }
    let mut chars = name.chars();
    let accent = match chars.next() {
        Some('\'') => '\u{301}',
        Some('`') => '\u{300}',
        Some('^') => '\u{302}',
        Some(':') => '\u{308}',
        Some('~') => '\u{303}',
        Some(',') => '\u{327}',
        _ => return String::new(),
    };
    let letter = chars.next().filter(|c| c.is_alphabetic());
    letter.map_or_else(String::new, |letter| {
        [letter, accent].into_iter().nfc().collect()
    })
}

// Macros of mdoc(7), which stand within one another's lines.

/// Macros of text, also those that only say how it is shown.
#[rustfmt::skip]
const MACROS: &[&str] = &[
    "Ac", "Ad", "An", "Ao", "Ap", "Aq", "Ar", "At", "Bc", "Bo", "Bq", "Brc", "Bro", "Brq", "Bsx", "Bx", "Cd", "Cm", "D1", "Dc",
    "Dl", "Do", "Dq", "Dv", "Ec", "Em", "Eo", "Er", "Ev", "Fa", "Fl", "Fn", "Fr", "Ft", "Fx", "Ic", "In", "Lb", "Li", "Lk", "Ms",
    "Mt", "Nm", "No", "Ns", "Nx", "Oc", "Oo", "Op", "Ox", "Pa", "Pc", "Pf", "Po", "Pq", "Qc", "Ql", "Qo", "Qq", "Rv", "Sc", "So",
    "Sq", "St", "Sx", "Sy", "Ta", "Tn", "Ux", "Va", "Vt", "Xc", "Xo", "Xr",
];
/// Requests that end what another one opens.
const CLOSING: [&str; 8] = ["Ac", "Bc", "Brc", "Dc", "Oc", "Pc", "Qc", "Sc"];
/// Punctuation that stands as a word of its own.
const MARKS: [&str; 10] = [".", ",", ";", ":", "?", "!", ")", "]", "(", "["];

fn is_macro(word: &str) -> bool {
    MACROS.contains(&word)
}

/// What a macro writes before and behind what follows.
fn enclosure(name: &str) -> Option<(&'static str, &'static str)> {
    Some(match name {
        "Op" | "Oo" | "Bq" | "Bo" => ("[", "]"),
        "Pq" | "Po" => ("(", ")"),
        "Aq" | "Ao" => ("<", ">"),
        "Brq" | "Bro" => ("{", "}"),
        "Dq" | "Do" => ("“", "”"),
        "Qq" | "Qo" => ("\"", "\""),
        "Sq" | "So" | "Ql" => ("‘", "’"),
        _ => return None,
    })
}

/// A line while its words are put together.
#[derive(Default)]
struct Phrase {
    text: String,
    /// Whether no blank stands before the next word.
    is_glued: bool,
}

impl Phrase {
    fn add(&mut self, word: &str) {
        if !self.is_glued && !self.text.is_empty() {
            self.text.push(' ');
        }
        self.end(word);
    }

    /// Adds what stands right behind a word.
    fn end(&mut self, mark: &str) {
        self.text.push_str(mark);
        self.is_glued = false;
    }
}

/// A line of macros and words as text: `Op Fl v Ar file` is `[-v file]`.
fn phrase<'w>(page: &str, words: impl Iterator<Item = &'w str>) -> String {
    let mut phrase = Phrase::default();
    // What closes what is open, and the macro whose words are read.
    let (mut open, mut of) = (Vec::new(), "");
    let mut words = words.peekable();
    while let Some(word) = words.next() {
        let is_last = words.peek().is_none();
        let is_bare = words
            .peek()
            .is_none_or(|next| is_macro(next) || MARKS.contains(next));
        if let Some((opening, closing)) = enclosure(word) {
            phrase.add(opening);
            phrase.is_glued = true;
            open.push(closing);
            of = "";
        } else if CLOSING.contains(&word) {
            phrase.end(open.pop().unwrap_or_default());
        } else if is_macro(word) {
            of = word;
            match word {
                "Ns" => phrase.is_glued = true,
                "Ux" => phrase.add("UNIX"),
                "Fl" if is_bare => {
                    phrase.add("-");
                    phrase.is_glued = true;
                }
                "Ar" if is_bare => phrase.add("file ..."),
                "Nm" if is_bare => phrase.add(page),
                _ => {}
            }
        } else if MARKS.contains(&word) {
            if matches!(word, "(" | "[") {
                phrase.add(word);
                phrase.is_glued = true;
                continue;
            }
            // The end of a sentence stands behind all that is open.
            if is_last {
                phrase.text.extend(open.drain(..).rev());
            }
            phrase.end(word);
        } else if of == "Xr" && word.starts_with(|c: char| c.is_ascii_digit()) {
            phrase.end(&format!("({word})"));
        } else {
            let mark = if of == "Fl" { "-" } else { "" };
            phrase.add(&format!("{mark}{word}"));
            phrase.is_glued = of == "Pf";
        }
    }
    phrase.text.extend(open.into_iter().rev());
    phrase.text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r23_a_manual_page_is_read_as_markdown_line_by_line() {
        for (page, expected) in [
            // As md2man writes it.
            (
                ".nh\n.TH \"BOX PACK\" \"1\" \"Jan 2017\" \"\" \"\"\n\n.SH NAME\nbox-pack - Pack files\n\n.SH EXIT STATUS\nIt is 0,\nor 1.\n.SH OPTIONS\n\\fB-a\\fP, \\fB--all\\fP[=false]\n\tpack \\fBall\\fR files, see <files>\n\n.PP\n\\fB--to\\fP=\"\"\n\twhere to\n",
                "\n# box-pack(1)\n\n## NAME\nbox-pack - Pack files\n\n## EXIT STATUS\nIt is 0,\nor 1.\n## OPTIONS\n- `-a`, `--all[=false]`\n  pack all files, see `<files>`\n\n\n- `--to=\"\"`\n  where to\n",
            ),
            // By hand.
            (
                ".\\\" By hand\n.TH box 5\n.SH \"FILES\"\n.TP\n.BI \\-f \" file\"\nRead\n.IR file ;\nsee\n.BR tar (1).\n.PP\nFor example:\n.EX\n# tar \\e\n  *.c\n.EE\n.IP \\(bu 2\nOne\n.IP \\(bu\nTwo \\(em more\n.RS\n.IP 1.\nOnce\\&.\n.RE\n.P\n.UR https://x.y/\n.UE .\n.so man1/tar.1",
                "\n# box(5)\n## FILES\n\n- `-f` file\n  Read\n  file;\n  see\n  tar(1).\n\nFor example:\n```\n# tar \\\n  *.c\n```\n\n- One\n\n- Two — more\n\n\n  1. Once.\n\n\n<https://x.y/>\n.\nSee man1/tar.1",
            ),
            // As DocBook's style sheets write it.
            (
                ".ie \\n(.g .ds Aq \\(aq\n.el       .ds Aq '\n.PP\n\\fB\\-v\\fR\n.RS 4\nIt\\*(Aqs loud:\n.sp\n.RS 4\n.ie n \\{\\\n\\h'-04'\\(bu\\h'+03'\\c\n.\\}\n.el \\{\\\n.IP \\(bu 2.3\n.\\}\nA word\n.RE\n.RE\n.PP\nEnd",
                "\n\n\n- `-v`\n\n  It's loud:\n\n\n\n\n\n\n\n\n  - A word\n\n\n\nEnd",
            ),
            // As pod2man writes it.
            (
                ".de Vb\n.nf\ntext\n..\n.SH \"SEE\"\n.IX Header \"SEE\"\n.IP \"\\fB\\-x\\fR \\fIn\\fR\" 4\n.IX Item \"-x n\"\nDo \\f(CW\\*(C`it\\*(C'\\fR.\n.Vb 1\n\\&  x \\-1\n.Ve",
                "\n\n\n\n## SEE\n\n\n- `-x` n\n  Do \"it\".\n  ```\n    x -1\n  ```",
            ),
            // mdoc(7).
            (
                ".Dd May 1, 2024\n.Dt BOX 1\n.Os\n.Sh NAME\n.Nm box\n.Nd pack files\n.Sh SYNOPSIS\n.Nm\n.Op Fl av\n.Op Fl f Ar file\n.Ar\n.Bl -tag -width Ds\n.It Fl f Ar file , Fl Fl file Ns = Ns Ar file\nRead\n.Pa /etc/box\n.Pq see Xr tar 1 .\n.El\n.Bd -literal\n$ box\n.Ed\n.Ss Too\n.Dq so .",
                "\n# box(1)\n\n## NAME\nbox\n– pack files\n## SYNOPSIS\nbox\n[-av]\n[`-f` file]\nfile ...\n\n- `-f` file, `--file=file`\n  Read\n  /etc/box\n  (see tar(1)).\n\n```\n$ box\n```\n### Too\n“so”.",
            ),
            // A table, and code that nothing ends.
            (
                ".TS\ntab(:);\nl l.\na:b\nT{\nc\nT}:d\n.TE\n.nf\nx\n.SH\nNEXT",
                "```\n\n\na:b\n\nc\n:d\n```\n\nx\n\n## NEXT",
            ),
        ] {
            let read = to_markdown(page);
            assert_eq!(read, expected, "{page}");
            assert_eq!(read.split('\n').count(), page.split('\n').count());
        }
    }

    #[test]
    fn r23_escapes_are_what_they_stand_for() {
        for (text, expected) in [
            (
                r"\fB\-v\fR\|\s-1NAME\s0 \(co \[u00E9]\[:o] a\ b\eb",
                "-vNAME © éö a b\\b",
            ),
            (r"\h'-04'\m[red]x\m[]\*(Tm\n[.g] \[ua]\[u000A]y\c", "x™ y"),
            (r#"said \" not"#, "said "),
            (r"\", ""),
            (r"\[", ""),
            (r"\f", ""),
        ] {
            assert_eq!(plain(text), expected, "{text}");
        }
        let quoted = arguments(r#" a "b ""c""" d\ e "" \" f"#);
        assert_eq!(quoted, ["a", "b \"c\"", "d\\ e", ""]);
    }

    #[test]
    fn r23_words_as_they_are_typed_are_code() {
        for (text, expected) in [
            ("use -a, --all (or -b).", "use `-a`, `--all` (or `-b`)."),
            ("[-v] [--to=<x>] *.c", "[-v] `[--to=<x>]` `*.c`"),
            ("a - b; NAME_X $HOME '--x'", "a - b; NAME_X `$HOME` '`--x`'"),
            ("<https://x.y/?a=b> <a@b.c>", "<https://x.y/?a=b> <a@b.c>"),
        ] {
            assert_eq!(mark_literals(text), expected);
        }
    }

    #[test]
    fn r23_broken_troff_is_text() {
        let deep = ".RS\n.TP\na\n".repeat(500);
        let long = "[".repeat(100_000);
        for text in [
            "",
            ".",
            "'",
            "..",
            ".TH",
            ".SH",
            ".de\nx",
            ".nf\n.nf",
            ".fi",
            ".IP \"",
            ".RE\n.El",
            ".It\n.Bl",
            ".Op",
            ".Xr",
            "\\\n",
            deep.as_str(),
            long.as_str(),
        ] {
            let read = to_markdown(text);
            assert_eq!(read.split('\n').count(), text.split('\n').count());
        }
    }
}
