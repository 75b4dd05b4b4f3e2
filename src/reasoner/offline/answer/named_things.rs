//! Names that a question is about, and whether a passage speaks of them.
//!
//! A question about `KB_CACHE_SIZE` is not answered by what is said of another setting, however
//! alike the two are. Only names nobody uses by accident count: ticket ids and identifiers made of
//! parts. A word in capitals may be shouted, a quotation may be loose.

use crate::domain::Evidence;
use crate::text::is_chinese;

use super::asks_for_files;
use super::fit_to_say::{DEFINES, asks_what_it_is, definition};
use super::lists::things_asked_for;
use super::literals::Literals;
use super::passage::Passage;
use super::several::asks_for_several;
use super::source_code::defines;
use super::topic::topic_of;
use super::units::{Kind, Unit};
use super::words::{is_weak, plain_words, spelt_out, terms};

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

/// Whether nothing is asked but what the passage has by its form: what a section is headed with,
/// what a unit defines, code of that name, or what a name that it holds is about.
pub(super) fn asks_for(question: &str, passage: &Passage) -> bool {
    asks_for_code(question) && defines_asked(question, passage)
        || is_headed(question, passage)
        || is_defined(question, passage)
        || is_named(question, passage)
        || is_keyed(question, passage)
}

/// Whether the question names a code that an entry of the passage explains: "it shows E5", "what does
/// MTA stand for".
fn is_keyed(question: &str, passage: &Passage) -> bool {
    let words: Vec<&str> = question
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| is_code_word(word))
        .collect();
    // Who shouts names no code.
    let shouted = !question.contains(|c: char| c.is_ascii_lowercase() || !c.is_ascii());
    !shouted
        && !words.is_empty()
        && passage.units.iter().any(|unit| {
            let key = match &unit.row {
                Some(row) => row.cells.first().map(String::as_str),
                None if unit.kind == Kind::Item => {
                    unit.text.split_once([':', '：']).map(|(k, _)| k)
                }
                None => None,
            };
            let bare = |c: char| !c.is_ascii_alphanumeric();
            key.is_some_and(|key| words.contains(&key.trim_matches(bare)))
        })
}

/// "E5", "MTA": two to six capitals and digits, with a capital.
fn is_code_word(word: &str) -> bool {
    (2..=6).contains(&word.len())
        && word.starts_with(|c: char| c.is_ascii_uppercase())
        && word
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
}

/// Whether a unit says "X is …" of exactly what is asked.
fn is_defined(question: &str, passage: &Passage) -> bool {
    asks_what_it_is(question)
        && terms(question) == terms(&topic_of(question))
        && passage
            .units
            .iter()
            .any(|unit| definition(question, unit) >= DEFINES)
}

/// Whether nothing but a name is asked about, which the passage holds as it is written.
fn is_named(question: &str, passage: &Passage) -> bool {
    let names = named(question);
    let [name] = names.as_slice() else {
        return false;
    };
    let rest = terms(&question.replace(name.as_str(), " "));
    let form = |term: &String| is_weak(term) || ABOUT.contains(&term.as_str());
    rest.iter().all(form) && passage.text.contains(name.as_str())
}

/// Stems of what a thing with a name is called.
const ABOUT: &[&str] = &[
    "ticket", "issu", "setting", "variabl", "problem", "task", "item", "cod", "工单", "问题",
    "设置",
];

fn asks_for_code(question: &str) -> bool {
    let words = plain_words(question);
    let cue = |word: &String| CODE.contains(&word.as_str());
    words.iter().any(cue) || CODE_ZH.iter().any(|cue| question.contains(cue))
}

/// The words of a question that may be names in code.
fn names_in(question: &str) -> Vec<String> {
    let words = question.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let words = words.filter(|word| word.len() > 2 && !CODE.contains(word));
    words.map(str::to_owned).collect()
}

fn defines_asked(question: &str, passage: &Passage) -> bool {
    let names = names_in(question);
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
    // "Show me the costs table" asks for the rows of `costs.csv`.
    let sheet = !things.is_empty()
        && passage.is_called(&things)
        && passage.units.iter().all(|unit| unit.row.is_some());
    !asks_for_files(question)
        && passage.units.iter().any(|unit| {
            if sheet {
                return true;
            }
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

/// Whether the question wishes to be shown code, a command or a picture made of signs.
///
/// The word alone is not enough: "which class does the flat belong to" and "a query failed" speak
/// of such things, "which command" and "show me an example" wish for them.
pub(super) fn wishes_for_code(question: &str) -> bool {
    let words = plain_words(question);
    let shows = words
        .iter()
        .position(|word| SHOWING.contains(&word.as_str()));
    let asks = words
        .iter()
        .position(|word| matches!(word.as_str(), "what" | "which"));
    let wished = match (shows, asks) {
        (Some(at), _) => words[at + 1..].iter().take(5),
        (None, Some(at)) => words[at + 1..].iter().take(2),
        (None, None) => words[..words.len().min(2)].iter().take(2),
    };
    wished
        .into_iter()
        .any(|word| SHOWN_AS_CODE.contains(&word.as_str()))
        || SHOWN_AS_CODE_ZH.iter().any(|cue| question.contains(cue))
}

/// Whether the unit defines what the question asks the code of.
pub(super) fn is_code_asked_for(question: &str, unit: &Unit) -> bool {
    unit.kind == Kind::Code && asks_for_code(question) && defines(&unit.text, &names_in(question))
}

const SHOWING: &[&str] = &[
    "show", "give", "print", "display", "paste", "see", "need", "example", "zeig", "zeige",
];

const SHOWN_AS_CODE: &[&str] = &[
    "code",
    "command",
    "commands",
    "example",
    "examples",
    "syntax",
    "diagram",
    "config",
    "configuration",
    "snippet",
    "script",
    "usage",
    "query",
    "env",
    "befehl",
    "beispiel",
];

const SHOWN_AS_CODE_ZH: &[&str] = &[
    "什么命令",
    "哪个命令",
    "命令是",
    "示例",
    "举例",
    "例子",
    "样例",
    "代码",
    "流程图",
    "示意图",
    "架构图",
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
