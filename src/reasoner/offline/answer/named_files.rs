//! Questions about files that they name.

use crate::domain::Evidence;
use crate::text::is_chinese;

use super::literals::Literals;
use super::words::terms;

/// Beginnings of words that ask for a file's content as such.
const READING: [&str; 14] = [
    "say",
    "read",
    "content",
    "summar",
    "open",
    "contain",
    "file",
    "document",
    "contrast",
    "similar",
    "show",
    "look",
    "common",
    "distinguish",
];

/// What is left of a Chinese question about content when its words of form are gone.
const READING_ZH: &str = "阅读查看打开读取内容总结一下文件文档主要讲了说了什么里面两个对比";

/// Whether a question from which the file names were taken asks for anything but what they say.
pub(super) fn asks_for_more_than_content(rest: &str) -> bool {
    !terms(rest).iter().all(|term| {
        READING.iter().any(|word| term.starts_with(word))
            || is_chinese(term) && READING_ZH.contains(term.as_str())
    })
}

/// Whether nothing is asked but what a named file says.
pub(super) fn asks_for_content(question: &str) -> bool {
    let files = Literals::of(question).files;
    let mut rest = question.to_owned();
    for file in &files {
        if let (Some(start), Some(end)) = (file.start, file.end) {
            rest = rest.replace(&format!("{}:{start}-{end}", file.path), " ");
            rest = rest.replace(&format!("{}:{start}", file.path), " ");
        }
        rest = rest.replace(&file.path, " ");
    }
    !files.is_empty() && !asks_for_more_than_content(&rest)
}

/// Whether the question names the item's file, so that quoting it needs no other reason.
pub(super) fn names(question: &str, item: &Evidence) -> bool {
    Literals::of(question)
        .files
        .iter()
        .any(|file| item.source == file.path || item.source.ends_with(&format!("/{}", file.path)))
}
