use super::super::language::{language_of, table};
use crate::domain::{Language, Literals, NamedPath};
use crate::text::is_cjk;

/// What in a text must be found as it is written.
pub(super) fn literals_of(text: &str) -> Literals {
    let mut found = Literals::default();
    let rest = take_quoted(text, &mut found);
    let mut word = String::new();
    for c in rest.chars().chain([' ']) {
        if c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':') {
            word.push(c);
        } else if !word.is_empty() {
            take_run(&word, &mut found);
            word.clear();
        }
    }
    found
}

/// Quotation marks stand at most so many characters apart.
const LONGEST_QUOTATION: usize = 120;

/// Takes what stands between quotation marks; returns the rest.
fn take_quoted(text: &str, found: &mut Literals) -> String {
    let mut left = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        let close = match c {
            '"' => Some("\"”“"),
            '`' => Some("`"),
            '“' => Some("”"),
            '„' => Some("“”\""),
            '「' => Some("」"),
            '《' => Some("》"),
            _ => None,
        };
        let inside = close.and_then(|close| {
            let mut marks = rest.char_indices().take(LONGEST_QUOTATION);
            marks.find(|(_, c)| close.contains(*c)).map(|(end, _)| end)
        });
        match inside.map(|end| (rest[..end].trim(), end)) {
            Some((quoted, end)) if !quoted.is_empty() => {
                take_quotation(quoted, found);
                left.push(' ');
                rest = &rest[end..];
                rest = rest.strip_prefix(|_| true).unwrap_or(rest);
            }
            _ => left.push(c),
        }
    }
    left
}

fn take_quotation(quoted: &str, found: &mut Literals) {
    let single = !quoted.contains(char::is_whitespace);
    if let Some((path, "")) = named_path(quoted).filter(|_| single) {
        add(&mut found.paths, path);
    } else if let Some(id) = id(quoted) {
        add(&mut found.ids, id);
    } else {
        add(&mut found.quotations, quoted.to_owned());
    }
}

/// A run of letters, figures and the signs of names; where words are written without spaces it holds
/// more than one name.
fn take_run(run: &str, found: &mut Literals) {
    let mut rest = if run.contains("://") { "" } else { run };
    while let Some((path, behind)) = named_path(rest) {
        add(&mut found.paths, path);
        rest = behind;
    }
    for word in rest.split(is_cjk) {
        take_word(word, found);
    }
}

fn take_word(word: &str, found: &mut Literals) {
    let option = word.trim_end_matches(['.', ':', '-', '/']);
    let word = option.trim_start_matches(['.', ':', '-', '/']);
    if let Some(name) = option.strip_prefix("--")
        && name.len() > 1
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && !table(Language::En).stop.has(name)
    {
        add(&mut found.identifiers, option.to_owned());
    } else if let Some(id) = id(word) {
        add(&mut found.ids, id);
    } else if is_identifier(word) {
        add(&mut found.identifiers, word.to_owned());
    }
}

/// Endings that name a document rather than a product such as Node.js or a version such as 1.2.
#[rustfmt::skip]
const ENDINGS: &[&str] = &[
    "md", "markdown", "txt", "rst", "adoc", "org", "pdf", "docx", "pptx", "xlsx", "odt", "epub", "html", "htm", "csv",
    "tsv", "json", "jsonl", "yaml", "yml", "toml", "xml", "ini", "env", "log", "rs", "py", "js", "ts", "go", "java",
    "c", "h", "cpp", "sh", "sql", "ipynb", "eml", "rtf",
];

/// The first file that a run of characters names, and what stands behind it. A name may have several dots:
/// its ending is the last that no further letter follows.
fn named_path(run: &str) -> Option<(NamedPath, &str)> {
    let ending_at = |dot: usize| {
        let behind = &run[dot + 1..];
        let length = behind
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(behind.len());
        let (ending, rest) = behind.split_at(length);
        let goes_on = rest.strip_prefix(['.', '-', '_', '/']);
        let goes_on =
            goes_on.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphanumeric()));
        let known = ENDINGS.contains(&ending.to_ascii_lowercase().as_str());
        (known && !goes_on).then_some(dot + 1 + length)
    };
    let end = run.match_indices('.').find_map(|(dot, _)| ending_at(dot))?;
    let path = run[..end].trim_start_matches([':', '-']);
    let path = without_verbs(path);
    let name = path.rsplit('/').next().unwrap_or(path);
    let (stem, ending) = name.rsplit_once('.')?;
    // "Node.js" is a product; "app.js" and "src/Node.js" are files.
    let product = ending == "js" && path == name && stem.starts_with(char::is_uppercase);
    if stem.is_empty() || product {
        return None;
    }
    let lines = run[end..].strip_prefix(':').unwrap_or_default();
    let length = lines
        .find(|c: char| !c.is_ascii_digit() && c != '-')
        .unwrap_or(lines.len());
    let behind = if length > 0 {
        &lines[length..]
    } else {
        &run[end..]
    };
    let (start, last) = lines[..length]
        .split_once('-')
        .unwrap_or((&lines[..length], &lines[..length]));
    let number = |text: &str| text.parse::<usize>().ok().filter(|line| *line > 0);
    let (start, end) = match (number(start), number(last)) {
        (Some(start), Some(end)) if start <= end => (Some(start), Some(end)),
        _ => (None, None),
    };
    Some((
        NamedPath {
            path: path.to_owned(),
            start,
            end,
        },
        behind,
    ))
}

/// Chinese runs on without a space, so that a verb may stand right in front of a name.
fn without_verbs(mut path: &str) -> &str {
    let verbs = &table(language_of(path)).before_files;
    while let Some(rest) = verbs
        .iter()
        .find_map(|verb| path.strip_prefix(verb.as_str()))
    {
        // A name of nothing but such words is a name.
        if rest.starts_with('.') {
            break;
        }
        path = rest;
    }
    // In front of the letters of another script stands no part of the name.
    let first = path.find(|c: char| c.is_ascii_alphanumeric()).unwrap_or(0);
    let dense = path[..first].chars().all(is_cjk) && path[first..].contains('/');
    if dense { &path[first..] } else { path }
}

/// An id such as `PROJ-123`, in the case in which ids are kept: letters, a hyphen, figures.
fn id(word: &str) -> Option<String> {
    let (project, number) = word.rsplit_once('-')?;
    let letters = project
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '_');
    let figures = (1..=7).contains(&number.len()) && number.chars().all(|c| c.is_ascii_digit());
    // "mid-2020" and "top-10" in small letters are words.
    let small = project.chars().all(|c| c.is_ascii_lowercase());
    let year = number.len() == 4 && (number.starts_with("19") || number.starts_with("20"));
    let is_id = letters
        && figures
        && project.len() >= 2
        && project.starts_with(|c: char| c.is_ascii_alphabetic())
        && !(small && (year || table(Language::En).stop.has(project)));
    is_id.then(|| word.to_uppercase())
}

fn is_identifier(word: &str) -> bool {
    let letters = word.chars().filter(char::is_ascii_alphabetic).count();
    if letters < 2 || !word.is_ascii() || word.contains('/') || word.contains(':') {
        return false;
    }
    let has_lower = word.chars().any(|c| c.is_ascii_lowercase());
    let snake = word.contains('_') && !word.starts_with('_');
    let shouted = !has_lower && letters >= 5 && !word.contains('.');
    snake || shouted || is_camel(word) || is_code(word)
}

/// Capitals, then figures: `BM25`, `MD5`; "Q3" and "A4" are no names of anything.
fn is_code(word: &str) -> bool {
    let figures = word.trim_start_matches(|c: char| c.is_ascii_uppercase());
    let capitals = word.len() - figures.len();
    !figures.is_empty() && capitals > 1 && figures.chars().all(|c| c.is_ascii_digit())
}

/// A capital after a small letter, twice begun: `VectorTool`, `tantivyStore`; not `iPhone`, `eBay`.
fn is_camel(word: &str) -> bool {
    let bytes = word.as_bytes();
    let raised = bytes
        .windows(2)
        .skip(1)
        .any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    raised && bytes.iter().all(u8::is_ascii_alphanumeric) && !word.starts_with("Mc")
}

/// A text with more of a kind is pasted rather than asked.
const MOST: usize = 64;

fn add<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if list.len() < MOST && !list.contains(&item) {
        list.push(item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r01_literal_words_are_found() {
        for (text, keywords) in [
            ("PROJ-123 详情", vec!["PROJ-123"]),
            ("who works on proj-123?", vec!["PROJ-123"]),
            ("什么是 BM25", vec!["BM25"]),
            ("what does --dry-run do?", vec!["--dry-run"]),
            ("one -- or two - dashes", vec![]),
            ("since mid-2020", vec![]),
            ("what is grep_keywords?", vec!["grep_keywords"]),
            ("VectorTool是什么", vec!["VectorTool"]),
            ("RE_RETRIEVE or GENERATE", vec!["RE_RETRIEVE", "GENERATE"]),
            ("where is \"fast path\" said", vec!["fast path"]),
            ("wo steht „schneller Weg“?", vec!["schneller Weg"]),
            ("什么是“快速路径”", vec!["快速路径"]),
            ("the API of McDonald and eBay in the USA", vec![]),
            ("What is covid-19?", vec!["COVID-19"]),
        ] {
            assert_eq!(literals_of(text).keywords(), keywords, "{text}");
        }
    }

    #[test]
    fn r11_named_files_carry_their_lines() {
        let file = |path: &str, start, end| NamedPath {
            path: path.to_owned(),
            start,
            end,
        };
        for (text, files) in [
            (
                "read nodes/plan.md:10-20",
                vec![file("nodes/plan.md", Some(10), Some(20))],
            ),
            ("what is in `a.md:7`?", vec![file("a.md", Some(7), Some(7))]),
            ("a.md:20-10", vec![file("a.md", None, None)]),
            ("请看 guide.md。", vec![file("guide.md", None, None)]),
            (
                "请看zh/路由.md里的内容",
                vec![file("zh/路由.md", None, None)],
            ),
            (
                "比较路由.v2.md和指南.txt的内容",
                vec![file("路由.v2.md", None, None), file("指南.txt", None, None)],
            ),
            (
                "what does release.notes.v1.2.md say",
                vec![file("release.notes.v1.2.md", None, None)],
            ),
            ("open a.md.bak.txt", vec![file("a.md.bak.txt", None, None)]),
            (
                "Was steht in Übersicht.md?",
                vec![file("Übersicht.md", None, None)],
            ),
            ("Node.js 1.2 e.g. etc. https://a.b/c.md", vec![]),
        ] {
            assert_eq!(literals_of(text).paths, files, "{text}");
        }
    }
}
