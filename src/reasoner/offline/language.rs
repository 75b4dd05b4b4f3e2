//! "And in Chinese?": the same question, to be answered in another language.
//!
//! The offline engine quotes and cannot translate. What it can do is prefer documents in that
//! language, and say so where there are none.

use crate::text::{is_chinese, is_cjk};

use super::words::{is_stop, plain_words};

/// Whether nothing is asked but the last answer in Chinese (`true`) or English (`false`).
pub(super) fn asked_for(query: &str) -> Option<bool> {
    asked_for_zh(query).or_else(|| {
        let words = plain_words(query);
        let about_form = |word: &String| is_stop(word) || FORM.contains(&word.as_str());
        let mut named = words.iter().filter(|word| !about_form(word));
        match (named.next().map(String::as_str), named.next()) {
            (Some("chinese" | "mandarin"), None) => Some(true),
            (Some("english"), None) => Some(false),
            _ => None,
        }
    })
}

/// Whether a text is in Chinese rather than one that holds Chinese names; names in other letters are
/// common in Chinese texts.
pub(super) fn is_mostly_chinese(text: &str) -> bool {
    let han = text.chars().filter(|c| is_cjk(*c)).count();
    let letters = text.chars().filter(char::is_ascii_alphabetic).count();
    is_chinese(text) && 4 * han > letters
}

const FORM: &[&str] = &[
    "say",
    "answer",
    "translate",
    "translated",
    "again",
    "version",
    "repeat",
    "language",
    "ok",
    "okay",
    "now",
    "again",
];

fn asked_for_zh(query: &str) -> Option<bool> {
    let chinese = query.contains("中文") || query.contains("汉语");
    if !chinese && !query.contains("英文") && !query.contains("英语") {
        return None;
    }
    let mut rest = query.to_owned();
    for form in [
        "中文",
        "汉语",
        "英文",
        "英语",
        "怎么说",
        "回答",
        "翻译",
        "一遍",
        "一下",
        "版本",
        "用",
        "说",
        "再",
        "请",
        "那",
        "呢",
        "成",
        "的",
        "吗",
        "能",
        "可以",
        "，",
        "？",
        "?",
        "。",
        " ",
    ] {
        rest = rest.replace(form, "");
    }
    rest.is_empty().then_some(chinese)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r05_another_language_is_asked_for() {
        for (query, expected) in [
            ("and in Chinese?", Some(true)),
            ("Say it again in English, please", Some(false)),
            ("用中文呢？", Some(true)),
            ("英文怎么说", Some(false)),
            ("What is Chinese New Year?", None),
            ("How are Chinese documents indexed?", None),
            ("中文文档怎么检索？", None),
            ("why?", None),
        ] {
            assert_eq!(asked_for(query), expected, "{query}");
        }
    }
}
