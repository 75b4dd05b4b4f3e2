//! Names that a question is about, and whether a passage speaks of them.
//!
//! A question about `KB_CACHE_SIZE` is not answered by what is said of another setting, however
//! alike the two are. Only names nobody uses by accident count: ticket ids and identifiers made of
//! parts. A word in capitals may be shouted, a quotation may be loose.

use crate::domain::Evidence;
use crate::text::is_chinese;

use super::analyze::asks_for_files;
use super::lists::{asks_for_several, things_asked_for};
use super::literals::Literals;
use super::passage::Passage;
use super::resolve::topic_of;
use super::sentences::Kind;
use super::source_code::defines;
use super::words::{plain_words, spelt_out, terms};

/// The names that an answer has to be about; any of them is enough.
pub(super) fn named(question: &str) -> Vec<String> {
    let literals = Literals::of(question);
    let mut names = literals.tickets;
    let parts = |name: &String| spelt_out(name).contains(' ');
    names.extend(literals.identifiers.into_iter().filter(parts));
    names
}

/// Whether the passage holds one of the names, as it is written or by its words in one unit.
pub(super) fn speaks_of(names: &[String], item: &Evidence, passage: &Passage) -> bool {
    let text = item.text.to_lowercase();
    let source = item.source.to_lowercase();
    names.iter().any(|name| {
        let lower = name.to_lowercase();
        let words = terms(&spelt_out(name));
        let told = || {
            passage.units.iter().any(|unit| {
                let held = terms(&unit.text);
                words.iter().all(|word| held.contains(word))
            })
        };
        text.contains(&lower) || source.contains(&lower) || !words.is_empty() && told()
    })
}

/// Whether nothing is asked but what a section is headed with, or code that the passage defines.
pub(super) fn asks_for(question: &str, passage: &Passage) -> bool {
    asks_for_code(question) && defines_asked(question, passage) || is_headed(question, passage)
}

fn asks_for_code(question: &str) -> bool {
    let words = plain_words(question);
    let cue = |word: &String| CODE.contains(&word.as_str());
    words.iter().any(cue) || CODE_ZH.iter().any(|cue| question.contains(cue))
}

fn defines_asked(question: &str, passage: &Passage) -> bool {
    let names: Vec<String> = question
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| word.len() > 2 && !CODE.contains(word))
        .map(str::to_owned)
        .collect();
    let code = passage.units.iter().filter(|unit| unit.kind == Kind::Code);
    code.into_iter().any(|unit| defines(&unit.text, &names))
}

/// "Show the conversion table" asks for what stands under "Conversion", "which folders are there"
/// for what stands under "Folders" or in a column of that name.
fn is_headed(question: &str, passage: &Passage) -> bool {
    let mut topic = terms(&without_form(&topic_of(question)));
    topic.retain(|term| !FORM.contains(&term.as_str()));
    let asked = terms(&without_form(question));
    let asked = asked.iter().filter(|term| !FORM.contains(&term.as_str()));
    let all_in_topic = !topic.is_empty() && asked.count() <= topic.len();
    let things = if asks_for_several(question) {
        things_asked_for(question)
    } else {
        Vec::new()
    };
    let is_it = |name: &str| {
        let name_terms = terms(name);
        let same =
            all_in_topic && name_terms == topic || !things.is_empty() && name_terms == things;
        same && is_chinese(name) == is_chinese(question)
    };
    !asks_for_files(question)
        && passage.units.iter().any(|unit| {
            let row = unit.row.as_ref();
            let column = row.and_then(|row| row.columns.first());
            is_it(&unit.heading) || column.is_some_and(|column| is_it(column))
        })
}

fn without_form(question: &str) -> String {
    FORM_ZH
        .iter()
        .fold(question.to_owned(), |rest, form| rest.replace(form, " "))
}

/// Whether code, a command or a picture made of signs is asked for.
pub(super) fn wants_code(question: &str) -> bool {
    let words = plain_words(question);
    asks_for_code(question)
        || words
            .iter()
            .any(|word| SHOWN_AS_CODE.contains(&word.as_str()))
        || ["命令", "示例", "例子", "样例", "配置", "图"]
            .iter()
            .any(|cue| question.contains(cue))
}

const SHOWN_AS_CODE: &[&str] = &[
    "command",
    "commands",
    "example",
    "syntax",
    "diagram",
    "configure",
    "config",
    "query",
    "script",
    "usage",
];

const CODE: &[&str] = &[
    "code",
    "function",
    "method",
    "class",
    "struct",
    "implementation",
    "implemented",
    "defined",
    "definition",
    "snippet",
    "source",
    "def",
    "macro",
    "enum",
    "trait",
    "interface",
];

const CODE_ZH: &[&str] = &["代码", "函数", "方法", "实现", "定义", "源码"];

/// Stems of words that ask for a form.
const FORM: &[&str] = &[
    "tabl", "list", "section", "exampl", "cod", "page", "chapt", "full", "whol", "print",
    "display", "diagram", "pictur", "everyth",
];

const FORM_ZH: &[&str] = &["表格", "列表", "清单", "表", "章节", "示例", "全文"];
