//! "What is in this knowledge base?": asked of the documents as a whole, answered with a line of each.

use crate::domain::{Evidence, MOST_LISTED, Score, ToolName};
use crate::text::is_chinese;

use super::passage::Passage;
use super::quoting::quoted;
use super::sentences::Kind;
use super::words::plain_words;

/// The query that stands for all documents.
pub(super) const EVERYTHING: &str = "*";
/// Characters of what a document says first.
const LONGEST_SAID: usize = 200;

/// Whether nothing is asked but what the documents are, or are about.
pub(super) fn asks_what_there_is(question: &str) -> bool {
    if is_chinese(question) {
        return asks_what_there_is_zh(question);
    }
    let words = plain_words(question);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let rest = match words.as_slice() {
        ["can" | "could", "you", rest @ ..] | ["please", rest @ ..] => rest,
        all => all,
    };
    let Some((first, rest)) = rest.split_first() else {
        return false;
    };
    let says = |list: &[&str]| rest.iter().any(|word| list.contains(word));
    // "What is a knowledge base?" asks what the word means.
    let one = rest
        .windows(2)
        .any(|pair| matches!(pair[0], "a" | "an") && !OVERVIEW.contains(&pair[1]));
    let held = match *first {
        "what" | "which" => {
            says(HOLDING) || rest.last() == Some(&"about") || *rest == ["is", "here"]
        }
        "how" => rest.first() == Some(&"many") && says(HOLDING),
        "list" | "show" | "give" | "tell" | "summarize" | "summarise" | "overview" => true,
        _ => false,
    };
    let known = |word: &&str| {
        FRAME.contains(word)
            || WHOLE.contains(word)
            || HOLDING.contains(word)
            || OVERVIEW.contains(word)
    };
    let whole =
        says(WHOLE) || matches!(*first, "give" | "show") && rest.last() == Some(&"overview");
    held && !one && rest.iter().all(known) && whole
}

fn asks_what_there_is_zh(question: &str) -> bool {
    let says = |list: &[&str]| list.iter().any(|word| question.contains(word));
    // 这个文件 is one of them.
    if says(ONE_ZH) {
        return false;
    }
    let mut rest: String = question.chars().filter(|c| c.is_alphanumeric()).collect();
    for word in [ALL_ZH, WHOLE_ZH, ASKING_ZH, HOLDING_ZH, FRAME_ZH].concat() {
        rest = rest.replace(word, "");
    }
    rest.is_empty() && says(WHOLE_ZH) && says(ASKING_ZH) && says(HOLDING_ZH)
}

/// A line of each document: its name, its title and what it says first. Nothing where the items are not
/// the documents from their beginning.
pub(super) fn overview(items: &[Evidence], chinese: bool) -> Option<String> {
    let begins = |item: &Evidence| item.tool == ToolName::LocalFileQa && item.score == Score::ZERO;
    if items.is_empty() || !items.iter().all(begins) {
        return None;
    }
    let all = items.len() <= MOST_LISTED;
    let mut lines = vec![match (chinese, all) {
        (true, true) => format!("知识库有 {} 个文档，各引开头一句：", items.len()),
        (true, false) => "知识库中的文档，各引开头一句：".to_owned(),
        (false, true) => format!(
            "The knowledge base holds {}, each with how it begins:",
            documents(items.len())
        ),
        (false, false) => "Documents of the knowledge base, each with how it begins:".to_owned(),
    }];
    for (at, item) in items.iter().take(MOST_LISTED).enumerate() {
        let passage = Passage::read(item);
        let first = passage.units.iter().find(|unit| unit.kind != Kind::Code);
        let first = first.map_or("", |unit| unit.text.as_str());
        let mut said: String = first.chars().take(LONGEST_SAID).collect();
        if said.len() < first.len() {
            said.push('…');
        }
        let title = passage.title.name();
        let joint = if title.is_empty() || said.is_empty() {
            ""
        } else {
            " – "
        };
        let line = quoted(&format!("{title}{joint}{said}"), at + 1);
        lines.push(format!("- `{}`: {line}", item.source));
    }
    if !all {
        lines.push(String::new());
        lines.push(if chinese {
            format!("（只列出前 {MOST_LISTED} 个。）")
        } else {
            format!("(Only the first {MOST_LISTED} are listed.)")
        });
    }
    Some(lines.join("\n"))
}

fn documents(count: usize) -> String {
    if count == 1 {
        "one document".to_owned()
    } else {
        format!("{count} documents")
    }
}

/// What stands for the documents as a whole.
#[rustfmt::skip]
const WHOLE: &[&str] = &[
    "knowledge", "kb", "documents", "files", "docs", "pages", "topics", "subjects", "folder", "collection", "here", "everything",
];
/// What says that it is about what they hold.
#[rustfmt::skip]
const HOLDING: &[&str] = &[
    "in", "inside", "there", "have", "contain", "contains", "hold", "holds", "cover", "covers", "covered", "available",
    "stored", "find",
];
const OVERVIEW: &[&str] = &["overview", "summary", "list"];
#[rustfmt::skip]
const FRAME: &[&str] = &[
    "is", "are", "the", "this", "these", "of", "do", "does", "you", "your", "my", "me", "i", "we", "us", "our", "about", "base",
    "can", "please", "a", "an", "all", "information", "exactly", "what", "which", "many",
];
const WHOLE_ZH: &[&str] = &["知识库", "这里", "文件夹", "文件", "文档", "资料"];
const ONE_ZH: &[&str] = &[
    "这个文件",
    "这个文档",
    "该文件",
    "该文档",
    "这份",
    "这篇",
    "哪个文件",
    "哪个文档",
];
/// Before the others, because they hold one of them.
const ALL_ZH: &[&str] = &["所有", "全部"];
const ASKING_ZH: &[&str] = &["什么", "哪些", "列出", "列一下", "概述", "介绍"];
#[rustfmt::skip]
const HOLDING_ZH: &[&str] = &["里面", "包含", "包括", "涵盖", "收录", "列出", "列一下", "介绍", "概述", "有", "里", "中"];
#[rustfmt::skip]
const FRAME_ZH: &[&str] = &[
    "这个", "这些", "整个", "目前", "现在", "当前", "一下", "内容", "东西", "主题", "主要", "关于", "请", "你", "我", "都", "的",
    "了", "些", "吗", "呢", "是", "讲", "本", "该",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r11_what_there_is_is_asked_of_all_documents() {
        for question in [
            "What is in this knowledge base?",
            "what's in here",
            "Which files are there?",
            "list all documents",
            "What topics do you cover?",
            "what documents do you have?",
            "What is this knowledge base about?",
            "give me an overview of the documents",
            "What can I find here?",
            "How many documents are there?",
            "give me an overview",
            "这里有什么？",
            "what is stored in this folder",
            "Can you list the documents?",
            "what subjects do you cover?",
            "本知识库包含哪些内容？",
            "这个知识库里有什么？",
            "有哪些文件？",
            "请列出所有文档",
            "知识库的内容主要包括哪些主题？",
        ] {
            assert!(asks_what_there_is(question), "{question}");
        }
        for question in [
            "What is a knowledge base?",
            "What is a document?",
            "Which files are skipped?",
            "which documents mention the audit log",
            "What is in the audit log?",
            "What is in overview.md?",
            "show me the settings",
            "What do you know?",
            "what does a document contain?",
            "What contents can a document have?",
            "what is a folder about",
            "what does list files do",
            "can i list files?",
            "What kinds of files are there?",
            "What is in this document?",
            "show me the document",
            "Summarize the document",
            "what docuemnts are there?",
            "这个文件里有什么？",
            "这个文档主要介绍什么？",
            "有哪些主题？",
            "what is this about",
            "什么是知识库？",
            "知识库是什么？",
            "文件夹里的文件怎么读？",
            "哪些文件提到了审计日志？",
            "有哪些工具？",
        ] {
            assert!(!asks_what_there_is(question), "{question}");
        }
    }
}
