//! What in a question must be taken literally: identifiers, ticket ids, quotations, file names.

/// The literal parts of a question, each kind in order of appearance, without repetition.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Literals {
    /// Ticket ids such as `PROJ-123`.
    pub(super) tickets: Vec<String>,
    /// Names of code and settings: `grep_keywords`, `RE_RETRIEVE`, `VectorTool`, `GENERATE`.
    pub(super) identifiers: Vec<String>,
    /// What stood between quotation marks or backticks.
    pub(super) quoted: Vec<String>,
    /// Named files, with lines when they were given.
    pub(super) files: Vec<NamedFile>,
}

/// A file that the question names, as in `guide.md:10-20`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedFile {
    /// As written, without the lines.
    pub(super) path: String,
    /// First line.
    pub(super) start: Option<usize>,
    /// Last line.
    pub(super) end: Option<usize>,
}

impl Literals {
    /// Finds them in a text.
    pub(super) fn of(text: &str) -> Self {
        let mut found = Self::default();
        let rest = found.take_quoted(text);
        for word in rest.split(|c: char| !is_literal_char(c)) {
            found.take_word(word);
        }
        for word in rest.split(|c: char| c.is_whitespace() || "，。？！、：；（）".contains(c))
        {
            found.take_chinese_file(word);
        }
        found
    }

    /// Words to be searched literally, files left out.
    pub(super) fn keywords(&self) -> Vec<String> {
        let mut all = Vec::new();
        for word in self
            .tickets
            .iter()
            .chain(&self.identifiers)
            .chain(&self.quoted)
        {
            add(&mut all, word.clone());
        }
        all
    }

    fn take_quoted(&mut self, text: &str) -> String {
        let chars: Vec<char> = text.chars().collect();
        let mut rest = String::with_capacity(text.len());
        let mut at = 0;
        while at < chars.len() {
            let close = match chars[at] {
                '"' => Some('"'),
                '`' => Some('`'),
                '“' => Some('”'),
                '「' => Some('」'),
                '《' => Some('》'),
                _ => None,
            };
            let end = close.and_then(|close| {
                chars[at + 1..]
                    .iter()
                    .take(120)
                    .position(|c| *c == close)
                    .map(|length| at + 1 + length)
            });
            if let Some(end) = end {
                let inside: String = chars[at + 1..end].iter().collect();
                let inside = inside.trim();
                if is_file(inside) {
                    self.take_word(inside);
                } else if is_ticket(inside) {
                    add(&mut self.tickets, inside.to_owned());
                } else if !inside.is_empty() {
                    add(&mut self.quoted, inside.to_owned());
                }
                rest.push(' ');
                at = end + 1;
            } else {
                rest.push(chars[at]);
                at += 1;
            }
        }
        rest
    }

    /// Chinese runs on without spaces, so the name ends with its ending and begins after the verb.
    fn take_chinese_file(&mut self, word: &str) {
        let end = ["md", "txt", "pdf", "docx"]
            .iter()
            .find_map(|ending| Some(word.find(&format!(".{ending}"))? + 1 + ending.len()));
        let Some(end) = end else {
            return;
        };
        let mut path = &word[..end];
        for verb in [
            "请", "查看", "阅读", "打开", "读取", "总结", "读", "看", "在", "文件", "文档",
        ] {
            path = path.strip_prefix(verb).unwrap_or(path);
        }
        let name = path.rsplit('/').next().unwrap_or(path);
        if name.chars().any(crate::text::is_cjk) {
            self.files.push(NamedFile {
                path: path.to_owned(),
                start: None,
                end: None,
            });
        }
    }

    fn take_word(&mut self, word: &str) {
        // An option of a command: `--verbose`.
        let option = word.trim_end_matches(['.', ':', '-', '/', ',']);
        let name = option.strip_prefix("--").unwrap_or_default();
        let asks = ["why", "how", "what", "when", "where", "who", "which"].contains(&name);
        if name.len() > 1 && !asks && name.starts_with(|c: char| c.is_ascii_lowercase()) {
            add(&mut self.identifiers, option.to_owned());
            return;
        }
        let word = word.trim_matches(['.', ':', '-', '/', ',']);
        if word.is_empty() {
            return;
        }
        if let Some(file) = named_file(word) {
            if !self.files.contains(&file) {
                self.files.push(file);
            }
        } else if is_ticket(word) {
            add(&mut self.tickets, word.to_owned());
        } else if is_identifier(word) {
            add(&mut self.identifiers, word.to_owned());
        }
    }
}

/// Whether this is a ticket id: capitals, a hyphen, digits.
pub(super) fn is_ticket(word: &str) -> bool {
    word.rsplit_once('-').is_some_and(|(project, number)| {
        project.len() >= 2
            && project.starts_with(|c: char| c.is_ascii_uppercase())
            && project
                .chars()
                .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
            && (1..=7).contains(&number.len())
            && number.chars().all(|c| c.is_ascii_digit())
    })
}

fn add(list: &mut Vec<String>, word: String) {
    if !list.contains(&word) {
        list.push(word);
    }
}

fn is_literal_char(c: char) -> bool {
    c.is_ascii_alphanumeric()
        || matches!(c, '_' | '-' | '.' | '/' | ':')
        || (c.is_alphabetic() && !c.is_ascii() && !crate::text::is_cjk(c))
}

/// Endings that name a document rather than a product such as Node.js or a version such as 1.2.
const ENDINGS: &[&str] = &[
    "md", "markdown", "txt", "rst", "adoc", "org", "pdf", "docx", "pptx", "xlsx", "odt", "epub",
    "html", "htm", "csv", "tsv", "json", "jsonl", "yaml", "yml", "toml", "xml", "ini", "env",
    "log", "rs", "py", "js", "ts", "go", "java", "c", "h", "cpp", "sh", "sql", "ipynb",
];

fn is_file(word: &str) -> bool {
    !word.contains(char::is_whitespace) && named_file(word).is_some()
}

fn named_file(word: &str) -> Option<NamedFile> {
    if word.contains("://") {
        return None;
    }
    let (path, lines) = word.split_once(':').unwrap_or((word, ""));
    let name = path.rsplit('/').next()?;
    let (stem, ending) = name.rsplit_once('.')?;
    let known = ENDINGS.contains(&ending.to_ascii_lowercase().as_str());
    // "Node.js" is a product; "app.js" and "src/Node.js" are files.
    let product = ending == "js" && path == name && stem.starts_with(char::is_uppercase);
    if !known || stem.is_empty() || product {
        return None;
    }
    let (start, end) = lines.split_once('-').unwrap_or((lines, lines));
    let number = |text: &str| text.parse::<usize>().ok().filter(|line| *line > 0);
    let (start, end) = match (number(start), number(end)) {
        (Some(start), Some(end)) if start <= end => (Some(start), Some(end)),
        _ => (None, None),
    };
    Some(NamedFile {
        path: path.to_owned(),
        start,
        end,
    })
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

/// Capitals, then digits: `BM25`, `MD5`.
fn is_code(word: &str) -> bool {
    let digits = word.trim_start_matches(|c: char| c.is_ascii_uppercase());
    // "Q3" and "A4" are no names of anything.
    !digits.is_empty()
        && digits.len() + 1 < word.len()
        && digits.chars().all(|c| c.is_ascii_digit())
}

/// A capital after a small letter, twice begun: `VectorTool`, `tantivyStore`; not `iPhone`, `eBay`.
fn is_camel(word: &str) -> bool {
    let chars: Vec<char> = word.chars().collect();
    chars.iter().all(char::is_ascii_alphanumeric)
        && chars.windows(2).enumerate().any(|(at, pair)| {
            at >= 1 && pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase()
        })
        && !chars.starts_with(&['M', 'c'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r01_literal_words_are_found() {
        for (text, keywords) in [
            ("PROJ-123 详情", vec!["PROJ-123"]),
            ("什么是 BM25", vec!["BM25"]),
            ("what does --dry-run do?", vec!["--dry-run"]),
            ("one -- or two - dashes", vec![]),
            ("what is grep_keywords?", vec!["grep_keywords"]),
            ("VectorTool是什么", vec!["VectorTool"]),
            ("RE_RETRIEVE or GENERATE", vec!["RE_RETRIEVE", "GENERATE"]),
            ("where is \"fast path\" said", vec!["fast path"]),
            ("什么是“快速路径”", vec!["快速路径"]),
            ("the API of McDonald and eBay in the USA", vec![]),
            ("What is COVID-19?", vec!["COVID-19"]),
        ] {
            assert_eq!(Literals::of(text).keywords(), keywords, "{text}");
        }
    }

    #[test]
    fn r11_named_files_carry_their_lines() {
        let file = |path: &str, start, end| NamedFile {
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
            ("Node.js 1.2 e.g. etc. https://a.b/c.md", vec![]),
        ] {
            assert_eq!(Literals::of(text).files, files, "{text}");
        }
    }
}
