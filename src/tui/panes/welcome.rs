//! The conversation before it begins: what this is, what it knows, what to ask.

use unicode_width::UnicodeWidthStr;

use crate::protocol::{KnowledgeContents, KnowledgeStatus, Mode};
use crate::text::one_line;
use crate::tui::ink::{Ink, Row, cut_path, grouped, grouped_plural, pad, wrap};
use crate::tui::model::{Model, Sample};

/// How many of the things that were to be said first are said.
const GREETINGS: usize = 3;

/// What stands where no question made from a heading had a sure answer.
const NO_SAMPLES: &str = "No question to try: none that was made from the headings had a sure answer. \
                          Ask what the files say, or for a file by its name.";
/// What stands there until that is known.
const SEEKING_SAMPLES: &str = "Looking for questions to try …";

/// What an `@` is for.
const KEPT_WITHIN: &str = "Type @ to search only one folder or document.";

/// Kinds of files that are counted one by one.
const KINDS: usize = 5;

/// What the files are, and which of them are the newest.
fn contents(contents: &KnowledgeContents) -> Vec<Row> {
    let kinds = contents.kinds.iter();
    let listed = kinds.clone().take(KINDS);
    let listed =
        listed.map(|(kind, count)| format!("{} {}", grouped(*count as u64), one_line(kind, 20)));
    let mut listed: Vec<String> = listed.collect();
    let others: usize = kinds.skip(KINDS).map(|(_, count)| count).sum();
    if others > 0 {
        listed.push(format!("{} of other kinds", grouped(others as u64)));
    }
    let newest = contents.newest.iter();
    let newest = newest.map(|(name, moment)| {
        let minute = moment.minute();
        let day = minute.split(' ').next().unwrap_or_default();
        format!("{} {day}", cut_path(&one_line(name, 120), NAME))
    });
    let newest: Vec<String> = newest.collect();
    let mut rows = Vec::new();
    if !listed.is_empty() {
        rows.push(Row::new(Ink::Text, listed.join(" · ")));
    }
    if !newest.is_empty() {
        rows.push(Row::new(Ink::Dim, "Newest: ").add(Ink::Text, newest.join(" · ")));
    }
    rows
}

/// Columns for the name of a file.
const NAME: usize = 40;

/// ` (3.1 MB)`; nothing where it is not known.
fn of_bytes(bytes: u64) -> String {
    const KILO: u64 = 1000;
    const MEGA: u64 = 1_000_000;
    match bytes {
        0 => String::new(),
        bytes if bytes < MEGA => format!(" ({} kB)", bytes.div_ceil(KILO)),
        bytes => format!(" ({}.{} MB)", grouped(bytes / MEGA), bytes % MEGA / 100_000),
    }
}

/// How far the index is.
fn progress(knowledge: &KnowledgeStatus) -> String {
    let doing = match (knowledge.indexing, knowledge.pending) {
        (_, 0) => "Looking for changes".to_owned(),
        (true, pending) => {
            let chunks = grouped_plural(knowledge.chunks, "chunk");
            format!("Embedding: {} of {chunks} to come", grouped(pending as u64))
        }
        (false, 1) => "1 chunk is not embedded yet".to_owned(),
        (false, pending) => format!("{} chunks are not embedded yet", grouped(pending as u64)),
    };
    format!("{doing}; answers use what is there.")
}

/// How much of the welcome fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WelcomeDetail {
    /// The whole welcome fits.
    Plenty,
    /// What can be asked, whole.
    Some,
    /// What can be asked, one row each.
    Little,
}

/// The empty chat: what this is, what the knowledge base holds, what to try. Where that does not
/// fit, the explanations go and the questions stay.
pub fn welcome(model: &Model, width: usize, height: usize) -> Vec<Row> {
    let laid_out =
        [WelcomeDetail::Plenty, WelcomeDetail::Some].map(|room| rows(model, width, room));
    let fitting = laid_out.into_iter().find(|rows| rows.len() <= height);
    fitting.unwrap_or_else(|| rows(model, width, WelcomeDetail::Little))
}

fn rows(model: &Model, width: usize, room: WelcomeDetail) -> Vec<Row> {
    let body = width.saturating_sub(3).max(1);
    let knowledge = &model.knowledge;
    let mut name = one_line(&knowledge.name, 60);
    if name.is_empty() {
        "the knowledge base".clone_into(&mut name);
    }
    let mut rows = Vec::new();
    if room == WelcomeDetail::Plenty {
        rows.push(Row::default());
    }
    let mut say = |row: Row| {
        let indent = Row::new(Ink::Text, "  ");
        rows.extend(wrap(&row, &indent, &indent, body + 2));
    };
    say(Row::new(Ink::Brand, format!("Ask {name} anything.")));
    // First of all, where no size of the screen hides them.
    for notice in model.greetings.iter().take(GREETINGS) {
        say(Row::new(Ink::Warning, "⚠ ").add(Ink::Text, notice.clone()));
    }
    if let Some(more) = model.greetings.len().checked_sub(GREETINGS + 1) {
        let more = format!("⚠ and {} more like these", more + 1);
        say(Row::new(Ink::Warning, more));
    }
    if room == WelcomeDetail::Plenty {
        say(Row::new(
            Ink::Text,
            "Each answer shows its work: which way the question went and why, what it rests on, \
         and what it cost. Tab goes to Path, Evidence and Audit.",
        ));
        say(Row::default());
    }
    say(match (knowledge.documents, knowledge.indexing) {
        (0, true) => Row::new(Ink::Running, "Reading the documents…"),
        (0, false) => Row::new(Ink::Dim, "It holds no documents yet."),
        (documents, _) => {
            let documents = grouped_plural(documents, "document");
            let bytes = of_bytes(model.contents.bytes);
            let chunks = grouped_plural(knowledge.chunks, "chunk");
            let held = format!("{documents}{bytes} in {chunks}");
            Row::new(Ink::Dim, "It holds ")
                .add(Ink::Text, held)
                .add(Ink::Dim, ".")
        }
    });
    if room != WelcomeDetail::Little {
        contents(&model.contents).into_iter().for_each(&mut say);
    }
    if room == WelcomeDetail::Plenty && !model.contents.names.is_empty() {
        say(Row::new(Ink::Dim, KEPT_WITHIN));
    }
    if knowledge.pending > 0 || knowledge.indexing && knowledge.documents > 0 {
        say(Row::new(Ink::Running, progress(knowledge)));
    }
    if model.mode == Mode::Offline && room == WelcomeDetail::Plenty {
        say(Row::new(
            Ink::Dim,
            "No model is configured: answers are extractive, offline, quoted from the documents.",
        ));
    }
    if !model.samples.is_empty() {
        if room == WelcomeDetail::Plenty {
            say(Row::default());
        }
        say(Row::new(Ink::Dim, "Try one; press its number:"));
    }
    if model.contents.samples_are_sought {
        say(Row::new(Ink::Running, SEEKING_SAMPLES));
    } else if model.samples.is_empty() && !model.contents.kinds.is_empty() {
        say(Row::new(Ink::Dim, NO_SAMPLES));
    }
    for (first, text) in samples(model) {
        let rest = Row::new(Ink::Text, " ".repeat(first.width()));
        match room {
            WelcomeDetail::Little => rows.push(first.join(text).fit(body + 2)),
            _ => rows.extend(wrap(&text, &first, &rest, body + 2)),
        }
    }
    rows
}

/// One row a sample question.
pub fn sample_rows(model: &Model, width: usize) -> Vec<Row> {
    let rows = samples(model).into_iter();
    rows.map(|(first, text)| first.join(text).fit(width))
        .collect()
}

/// Number and route of each sample question, and its text.
fn samples(model: &Model) -> Vec<(Row, Row)> {
    let samples = model.samples.iter().take(9);
    let column = samples.clone().map(|sample| sample.route.width()).max();
    let row = |(at, sample): (usize, &Sample)| {
        // `complex · rule` is a complex one.
        let ink = match sample.route.split(' ').next() {
            Some("chitchat") => Ink::Chitchat,
            Some("simple") => Ink::Simple,
            Some("complex") => Ink::Complex,
            _ => Ink::Weak,
        };
        let first = Row::new(Ink::Key, format!("  {} ", at + 1))
            .add(ink, pad(sample.route, column.unwrap_or(0)))
            .add(Ink::Text, "  ");
        let text = one_line(&sample.text, 200);
        (first, Row::new(Ink::Text, text))
    };
    samples.enumerate().map(row).collect()
}
