use std::cmp::Reverse;
use std::sync::LazyLock;

use regex::Regex;
use strsim::osa_distance;

use super::super::language::{language_of, table};
use crate::domain::{FILE_FORMATS, FileFormat, Language, Literals, NamedPath};
use crate::reasoner::regex;
use crate::text::is_cjk;

/// More of a kind are only in a text that is pasted rather than asked.
const MOST: usize = 64;

/// What stands between quotation marks.
static QUOTATION: LazyLock<Regex> = LazyLock::new(|| {
    regex(r#"["“„]([^"“”„]{1,120})["“”]|`([^`]{1,120})`|「([^」]{1,120})」|《([^》]{1,120})》"#)
});
/// A run of letters, figures and the signs of names.
static RUN: LazyLock<Regex> = LazyLock::new(|| regex(r"[\w./:-]+"));
/// A file at the beginning of a run with its lines, by an ending that names a document rather than a product or a
/// version such as 1.2; a name may have several dots.
static PATH: LazyLock<Regex> = LazyLock::new(|| {
    let endings = FILE_FORMATS.iter().flat_map(FileFormat::endings_in_prose);
    let mut endings: Vec<&str> = endings.collect();
    // The longest that fits counts.
    endings.sort_by_key(|ending| Reverse(ending.len()));
    regex(&format!(
        r"(?x)^[:-]*(.*?\.(?i:{}))(:(\d+)(?:-(\d+))?)?(?:$|[^A-Za-z0-9._/-]|[._/-](?:$|[^A-Za-z0-9]))",
        endings.join("|")
    ))
});
/// An id such as `PROJ-123`.
static ID: LazyLock<Regex> = LazyLock::new(|| regex(r"^([A-Za-z][A-Za-z0-9_]+)-([0-9]{1,7})$"));
/// An option of a command, such as `--verbose`.
static OPTION: LazyLock<Regex> = LazyLock::new(|| regex("^--[a-z][a-z0-9-]+$"));
/// A name of code: with an underscore; of five capitals; with a capital behind two letters, the second small, as of
/// `VectorTool` and not `iPhone`; of capitals and then figures, as of `BM25`.
static IDENTIFIER: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?x)^(?: [A-Za-z0-9.-][A-Za-z0-9_.-]*_[A-Za-z0-9_.-]* | (?:[0-9_-]*[A-Z]){5}[A-Z0-9_-]*
    | [A-Za-z0-9]+[a-z][A-Z][A-Za-z0-9]* | [A-Z]{2,}[0-9]+ )$",
    )
});

/// What in a text must be found as it is written.
pub fn literals_of(text: &str) -> Literals {
    let mut found = Literals::default();
    for captures in QUOTATION.captures_iter(text) {
        let quoted = captures.iter().skip(1).flatten().next();
        let quoted = quoted.map_or("", |it| it.as_str().trim());
        let is_single = !quoted.contains(char::is_whitespace);
        if let Some((path, "")) = named_path(quoted).filter(|_| is_single) {
            add(&mut found.paths, path);
        } else if let Some(id) = id(quoted) {
            add(&mut found.ids, id);
        } else if !quoted.is_empty() {
            add(&mut found.quotations, quoted.to_owned());
        }
    }
    let unquoted = QUOTATION.replace_all(text, " ");
    let runs = RUN.find_iter(&unquoted).map(|run| run.as_str());
    for mut rest in runs.filter(|run| !run.contains("://")) {
        // Where words are written without spaces a run holds more than one name.
        while let Some((path, behind)) = named_path(rest) {
            add(&mut found.paths, path);
            rest = behind;
        }
        for word in rest.split(is_cjk) {
            add_name(word, &mut found);
        }
    }
    found
}

fn add_name(word: &str, found: &mut Literals) {
    let signs = ['.', ':', '-', '/'];
    let option = word.trim_end_matches(signs);
    let word = option.trim_start_matches(signs);
    let letters = word.bytes().filter(u8::is_ascii_alphabetic).count();
    if OPTION.is_match(option) {
        add(&mut found.identifiers, option.to_owned());
    } else if let Some(id) = id(word) {
        add(&mut found.ids, id);
    } else if letters > 1 && !word.starts_with("Mc") && IDENTIFIER.is_match(word) {
        add(&mut found.identifiers, word.to_owned());
    }
}

/// The first file that a run of characters names, and what stands behind it.
fn named_path(run: &str) -> Option<(NamedPath, &str)> {
    let found = PATH.captures(run)?;
    let path = without_verbs(found.get(1)?.as_str());
    let (stem, ending) = path.rsplit('/').next()?.rsplit_once('.')?;
    // "Node.js" is a product; "app.js" and "src/Node.js" are files.
    let is_product = ending == "js" && !path.contains('/') && stem.starts_with(char::is_uppercase);
    if stem.is_empty() || is_product {
        return None;
    }
    let number = |group: usize| found.get(group)?.as_str().parse::<usize>().ok();
    let start = number(3).filter(|start| *start > 0);
    let end = start.and_then(|start| number(4).or(Some(start)).filter(|end| start <= *end));
    let path = NamedPath {
        path: path.to_owned(),
        start: end.and(start),
        end,
    };
    let behind = found.get(2).or(found.get(1))?.end();
    Some((path, &run[behind..]))
}

/// A file's name without the verbs that stand right in front of it, as Chinese is written without spaces. A name of
/// nothing but such words is a name.
fn without_verbs(mut path: &str) -> &str {
    let verbs = &table(language_of(path)).before_files;
    while let Some(rest) = verbs
        .iter()
        .find_map(|verb| path.strip_prefix(verb.as_str()))
    {
        if rest.starts_with('.') {
            break;
        }
        path = rest;
    }
    path
}

/// An id in the case in which ids are kept. "mid-2020" and "top-10" in small letters are words.
fn id(word: &str) -> Option<String> {
    let captures = ID.captures(word)?;
    let (project, number) = (&captures[1], &captures[2]);
    let is_small = project.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_year = number.len() == 4 && (number.starts_with("19") || number.starts_with("20"));
    let is_word = is_small && (is_year || table(Language::EN).stop.has(project));
    (!is_word).then(|| word.to_uppercase())
}

fn add<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if list.len() < MOST && !list.contains(&item) {
        list.push(item);
    }
}

/// Letters of a word that is corrected: shorter words are too near to too many, longer ones are no words.
const LETTERS: std::ops::RangeInclusive<usize> = 5..=24;
/// Bytes of a question.
const LONGEST: usize = 2_000;

/// The question with its misspelt words corrected, where there are any.
///
/// A word that is not known is taken for the nearest word of the `vocabulary` that begins alike and differs in one
/// letter, or in two of many (Damerau 1964: four of five slips are one letter). Names and what must be found
/// literally are never touched.
pub fn correct_spelling(
    question: &str,
    is_known: impl Fn(&str) -> bool,
    vocabulary: &[&str],
) -> Option<String> {
    // The words that are known are English.
    if question.len() > LONGEST || language_of(question) != Language::EN {
        return None;
    }
    let literals = literals_of(question);
    let mut named = literals.keywords();
    named.extend(literals.paths.into_iter().map(|named| named.path));
    let is_outside = |c: char| !c.is_alphanumeric() && c != '_';
    let mut corrected = String::with_capacity(question.len());
    for piece in question.split_inclusive(is_outside) {
        let word = piece.trim_end_matches(is_outside);
        let lower = word.to_lowercase();
        let rest = if corrected.is_empty() { &lower } else { word };
        let is_misspelt = LETTERS.contains(&word.len())
            && rest.bytes().all(|byte| byte.is_ascii_lowercase())
            && !vocabulary.contains(&lower.as_str())
            && !is_known(&lower)
            && !named.iter().any(|name| name.contains(word));
        let near = vocabulary.iter().filter(|other| {
            let letters = lower.len().min(other.len());
            is_misspelt
                && LETTERS.contains(&other.len())
                && other.as_bytes()[0] == lower.as_bytes()[0]
                && osa_distance(&lower, other) <= 1 + usize::from(letters >= 8)
        });
        let nearest = near.min_by_key(|other| (osa_distance(&lower, other), **other));
        corrected.push_str(nearest.map_or(word, |other| *other));
        corrected.push_str(&piece[word.len()..]);
    }
    (corrected != question).then_some(corrected)
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

#[cfg(test)]
mod spelling_tests {
    use super::*;

    #[test]
    fn r23_a_slip_is_read_as_it_was_meant() {
        let vocabulary = ["option", "reads", "different", "threshold", "internet"];
        let known =
            |word: &str| ["adoption", "which", "reads", "zebra", "crossing"].contains(&word);
        for (question, meant) in [
            (
                "Which optoin reads a differnt file?",
                Some("Which option reads a different file?"),
            ),
            ("treshhold", Some("threshold")),
            // A word that means something is no slip, and neither are names and short words.
            ("adoption", None),
            ("OPTOIN", None),
            ("fiel", None),
            ("what is optoin_list", None),
            ("what is \"optoin\"", None),
            ("zebra crossing", None),
            ("who is Interent", None),
            ("was ist das interent", None),
        ] {
            assert_eq!(
                correct_spelling(question, known, &vocabulary).as_deref(),
                meant
            );
        }
    }
}
