//! What stands over the parts of an answer.

use super::fit_to_say::asks_what_it_is;
use super::literals::Literals;
use super::named_files::asks_for_content;
use super::topic::topic_of;
use super::words::terms;

/// An answer to a part below its label; what stands alone begins on a line of its own.
pub(super) fn led(label: &str, body: &str, chinese: bool) -> String {
    let stands_alone = body.starts_with("- ")
        || body.starts_with("```")
        || body.starts_with('|')
        || body.starts_with(|c: char| c.is_ascii_digit()) && body.contains("\n2. ");
    let joint = match (stands_alone, chinese) {
        (true, true) => "：\n",
        (true, false) => ":\n",
        (false, true) => "：",
        (false, false) => ": ",
    };
    // A table needs an empty line before it.
    let gap = if body.starts_with('|') { "\n" } else { "" };
    format!("**{label}**{joint}{gap}{body}")
}

/// What stands over the answer to a part: what it asks about, or the part as it was asked.
pub(super) fn label(question: &str) -> String {
    if asks_for_content(question)
        && let [file] = Literals::of(question).files.as_slice()
    {
        return file.path.clone();
    }
    let topic = topic_of(question);
    let long = topic.chars().count() > 60 || terms(question).len() > 5;
    let label = if topic.is_empty() || long || !asks_what_it_is(question) {
        question
    } else {
        &topic
    };
    label.trim_end_matches(['?', '？', ' ']).to_owned()
}
