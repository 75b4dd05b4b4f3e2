//! References of a document to others, and how they are written in Markdown, wikis, HTML, Org and AsciiDoc.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use percent_encoding::percent_decode_str;
use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::text::spaced;

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
    /// A file, as evidence would name it; its extension may be missing.
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
    /// A word names the relation: `Parent`, `Blocks` …, as it is written there.
    Relation(String),
    /// `[text](target)`, or what other markup has for that.
    Markdown,
    /// `[[target]]`.
    Wiki,
    /// A ticket id stands in the text.
    Mention,
}

/// A set of targets that references may lead to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct LinkTargets {
    /// A ticket, in upper case.
    pub id: Option<String>,
    /// The paths by which links call the documents, in lower case.
    pub paths: HashSet<String>,
    /// The names by which wiki links call the documents.
    pub names: HashSet<String>,
}

impl LinkTargets {
    /// Whether a reference leads to one of the targets.
    pub fn are_meant_by(&self, link: &Link) -> bool {
        match &link.target {
            LinkTarget::Id(id) => self.id.as_ref() == Some(id),
            LinkTarget::Path(path) => {
                self.paths.contains(path) || self.paths.contains(&path.to_lowercase())
            }
            LinkTarget::Name(name) => self.names.contains(&spaced(name)),
        }
    }
}

/// The most bytes of a link's target; an unclosed link is not searched beyond this.
const MAX_TARGET_BYTES: usize = 512;

type TargetAt = (usize, LinkTarget, LinkKind);

static DEFINITION: LazyLock<Regex> =
    LazyLock::new(|| compile(r"(?m)^ {0,3}\[([^\]\[^][^\]\[]*)\]:[ \t]*(?:<([^<>\n]+)>|(\S+))"));
static REFERENCE: LazyLock<Regex> = LazyLock::new(|| compile(r"\[([^\]\[]+)\](?:\[([^\]\[]*)\])?"));
static WIKI: LazyLock<Regex> = LazyLock::new(|| compile(r"\[\[([^\]\[]+)\](\[[^\]\[]*\])?\]"));
static HTML: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r#"(?i)<a\s[^>]*?href\s*=\s*["']([^"']+)["']|<([^<>\s:@]+\.(?:md|markdown|txt|rst|org|adoc|html?|pdf|docx))>"#,
    )
});
static ASCIIDOC: LazyLock<Regex> =
    LazyLock::new(|| compile(r"\b(?:xref|link):([^\[\]\s]+)\[|<<([^<>,\s]+\.adoc)[^<>]*>>"));
static PATH: LazyLock<Regex> =
    LazyLock::new(|| compile(r"^(?:\.{1,2}/)*[\w.\-]+(?:/[\w.\-]+)*\.[A-Za-z][A-Za-z0-9]{0,7}$"));

/// The forms of one document.
pub(super) struct Forms<'t> {
    folder: &'t str,
    markup: Markup,
    /// What `[text][label]` means, by the label in lower case.
    definitions: HashMap<String, LinkTarget>,
    /// Labels that no line refers to: where they are defined is all there is.
    unused: HashSet<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Markup {
    Markdown,
    AsciiDoc,
    Org,
}

impl<'t> Forms<'t> {
    pub fn new(source: &'t str, text: &str) -> Self {
        let folder = source.rsplit_once('/').map_or("", |(folder, _)| folder);
        let extension = source.rsplit('.').next().unwrap_or_default();
        let markup = match extension.to_lowercase().as_str() {
            "adoc" | "asciidoc" | "asc" => Markup::AsciiDoc,
            "org" => Markup::Org,
            _ => Markup::Markdown,
        };
        let mut forms = Self {
            folder,
            markup,
            definitions: HashMap::new(),
            unused: HashSet::new(),
        };
        if text.contains("]:") {
            for found in DEFINITION.captures_iter(text) {
                let target = found.get(2).or(found.get(3)).map(|target| target.as_str());
                if let Some(path) = target.and_then(|target| resolve_target(folder, target)) {
                    let label = found[1].to_lowercase();
                    forms.definitions.insert(label, LinkTarget::Path(path));
                }
            }
        }
        if !forms.definitions.is_empty() {
            let used: HashSet<String> = text
                .lines()
                .flat_map(references)
                .map(|(_, label)| label)
                .collect();
            forms.unused = forms
                .definitions
                .keys()
                .filter(|label| !used.contains(*label))
                .cloned()
                .collect();
        }
        forms
    }

    /// The links of a line with where they stand.
    pub fn targets(&self, line: &str) -> Vec<TargetAt> {
        let mut found = Vec::new();
        if self.markup == Markup::AsciiDoc {
            for (at, target) in captures(&ASCIIDOC, line) {
                self.add_path(at, target, &mut found);
            }
        }
        let has = |mark| memchr::memchr(mark, line.as_bytes()).is_some();
        if !has(b'[') && !has(b'<') {
            return found;
        }
        let line = without_code(line);
        for (at, target) in inline(&line) {
            self.add_path(at, target, &mut found);
        }
        self.add_references(&line, &mut found);
        if defined_label(&line).is_some() {
            return found;
        }
        if line.contains("[[") {
            self.add_wiki_links(&line, &mut found);
        }
        if has(b'<') {
            for (at, target) in captures(&HTML, &line) {
                self.add_path(at, target, &mut found);
            }
        }
        found
    }

    /// Finds paths that stand in a text without any markup.
    pub fn bare_paths(&self, text: &str) -> Vec<LinkTarget> {
        text.split([',', ';', ' ', '、', '，', '"', '\'', '`', '|'])
            .filter(|word| PATH.is_match(word))
            .filter_map(|word| resolve_target(self.folder, word))
            .map(LinkTarget::Path)
            .collect()
    }

    fn add_path(&self, at: usize, target: &str, found: &mut Vec<TargetAt>) {
        if let Some(path) = resolve_target(self.folder, target) {
            found.push((at, LinkTarget::Path(path), LinkKind::Markdown));
        }
    }

    fn add_references(&self, line: &str, found: &mut Vec<TargetAt>) {
        if self.definitions.is_empty() {
            return;
        }
        let mut labels = references(line);
        if let Some(label) = defined_label(line) {
            labels.extend(self.unused.contains(&label).then_some((0, label)));
        }
        for (at, label) in labels {
            if let Some(target) = self.definitions.get(&label) {
                found.push((at, target.clone(), LinkKind::Markdown));
            }
        }
    }

    fn add_wiki_links(&self, line: &str, found: &mut Vec<TargetAt>) {
        for link in WIKI.captures_iter(line) {
            let (Some(whole), Some(target)) = (link.get(0), link.get(1)) else {
                continue;
            };
            let target = target.as_str();
            let of_org = link.get(2).is_some() || self.markup == Markup::Org;
            let path = target
                .strip_prefix("file:")
                .or(of_org.then_some(target))
                .map(|path| path.split("::").next().unwrap_or(path))
                .filter(|path| path.contains(['.', '/']) || target.starts_with("file:"));
            if let Some(path) = path {
                self.add_path(whole.start(), path, found);
                continue;
            }
            if target.contains("://") {
                continue;
            }
            let name = target.split(['|', '#']).next().unwrap_or_default();
            let name = name.trim_end_matches('\\').trim().to_lowercase();
            if !name.is_empty() {
                found.push((whole.start(), LinkTarget::Name(name), LinkKind::Wiki));
            }
        }
    }
}

/// The label that a line defines.
fn defined_label(line: &str) -> Option<String> {
    if !line.contains("]:") {
        return None;
    }
    let defined = DEFINITION.captures(line)?;
    Some(defined[1].to_lowercase())
}

fn captures<'l>(pattern: &Regex, line: &'l str) -> Vec<(usize, &'l str)> {
    let found = pattern.captures_iter(line);
    found
        .filter_map(|found| {
            let target = found.iter().skip(1).flatten().next()?;
            Some((found.get_match().start(), target.as_str()))
        })
        .collect()
}

/// The targets of `[text](target "title")`, also with spaces in them.
fn inline(line: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for at in memchr::memmem::find_iter(line.as_bytes(), "](") {
        let rest = line[at + 2..].trim_start();
        let rest = &rest[..rest.floor_char_boundary(MAX_TARGET_BYTES)];
        if let Some(pointed) = rest.strip_prefix('<') {
            found.extend(pointed.split_once('>').map(|(target, _)| (at, target)));
            continue;
        }
        let mut depth = 1;
        let end = rest.char_indices().find(|(_, c)| {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        let Some((end, _)) = end else { continue };
        found.push((at, without_title(rest[..end].trim())));
    }
    found
}

/// Removes the title from `path "title"`.
fn without_title(inside: &str) -> &str {
    let Some(quote) = inside.chars().next_back().filter(|c| "\"')".contains(*c)) else {
        return inside;
    };
    let open = if quote == ')' { '(' } else { quote };
    let before_end = &inside[..inside.len() - 1];
    match before_end.rfind(open) {
        Some(at) if before_end[..at].ends_with(char::is_whitespace) => before_end[..at].trim(),
        _ => inside,
    }
}

/// The line with code in it blanked out, every byte at its place.
fn without_code(line: &str) -> Cow<'_, str> {
    if !line.contains('`') {
        return line.into();
    }
    let mut blanked = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        let ticks = rest[start..].bytes().take_while(|&b| b == b'`').count();
        let inside = &rest[start + ticks..];
        let mark = "`".repeat(ticks);
        let Some(end) = inside.find(&mark) else { break };
        let whole = start + ticks + end + ticks;
        blanked.push_str(&rest[..start]);
        blanked.push_str(&" ".repeat(whole - start));
        rest = &rest[whole..];
    }
    blanked.push_str(rest);
    blanked.into()
}

/// A link's target as a name within the base; `None` for the web, anchors and what leads out.
fn resolve_target(folder: &str, target: &str) -> Option<String> {
    let target = target.split(['#', '?']).next().unwrap_or_default();
    if target.is_empty() || target.contains(':') || target.starts_with("//") {
        return None;
    }
    let target = percent_decode(target)
        .replace("\\_", "_")
        .replace('\\', "/");
    let from_root = target.starts_with('/');
    let mut parts: Vec<&str> = if from_root || folder.is_empty() {
        Vec::new()
    } else {
        folder.split('/').collect()
    };
    for part in target.split('/') {
        match part.trim() {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// Decodes `%20` and the like; what does not decode to UTF-8 stays as it is.
fn percent_decode(target: &str) -> Cow<'_, str> {
    let text = percent_decode_str(target).decode_utf8();
    text.unwrap_or(Cow::Borrowed(target))
}

/// The labels that a line refers to: `[text][label]`, `[label][]` and `[label]`.
fn references(line: &str) -> Vec<(usize, String)> {
    let found = REFERENCE.captures_iter(line);
    found
        .filter_map(|found| {
            let whole = found.get_match();
            let label = found.get(2).filter(|label| !label.is_empty());
            let is_other = line[whole.end()..].starts_with(['(', ':']);
            let label = label.or(found.get(1))?.as_str();
            (!is_other).then(|| (whole.start(), label.to_lowercase()))
        })
        .collect()
}

/// Compiles a pattern of the program.
#[expect(clippy::expect_used, reason = "the tests of this room compile each")]
pub(super) fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern of the program")
}
