//! What plain mode lists: commands, questions to try, runs, evidence, a passage.

use crate::domain::{Complexity, LineRange, Outcome};
use crate::engine::Engine;
use crate::protocol::{
    DocumentText, Event, EvidenceItem, KnowledgeContents, Mode, ModelListing, RunRecord,
    SessionSummary,
};
use crate::text::{one_line, plural};

use super::command::COMMANDS;
use super::narrator::{line, place};

/// Lines of a passage that are shown at most.
const LONGEST_PASSAGE: usize = 60;

/// Recorded conversations that are listed, the newest.
const MOST_SESSIONS: usize = 20;

/// What is said at the beginning.
pub(super) fn greeting(engine: &Engine) -> String {
    let status = engine.knowledge().status();
    let identity = engine.identity();
    let mode = match identity.mode {
        Mode::Offline => "offline, extractive".to_owned(),
        Mode::Llm => engine.models().in_words(),
    };
    format!(
        "kb-agent in plain mode over {}: {} in {}; {mode}.\n\
         Type a question; /help lists the commands, Ctrl+D leaves.\n",
        one_line(&status.name, 60),
        plural(status.documents, "document"),
        plural(status.chunks, "passage"),
    )
}

/// The runs that these events tell of.
pub(super) fn runs_of(events: &[Event]) -> Vec<RunRecord> {
    let mut runs: Vec<RunRecord> = Vec::new();
    for event in events {
        if let Some(begun) = RunRecord::begin(event) {
            runs.push(begun);
        } else if let Some(run) = runs.iter_mut().rfind(|run| run.summary.id == event.run) {
            run.apply(event);
        }
    }
    runs
}

/// The commands.
pub(super) fn help() -> String {
    let commands = COMMANDS.iter();
    let commands = commands.map(|(usage, purpose)| format!("{usage}: {purpose}.\n"));
    let commands: Vec<String> = commands.collect();
    commands.concat() + "Ctrl+C stops an answer; twice, or Ctrl+D, leaves.\n"
}

/// What the base is made of, and how many files were left out.
pub(super) fn made_of(contents: &KnowledgeContents) -> String {
    let mut lines: Vec<String> = Vec::new();
    for source in &contents.sources {
        let session = if source.is_added {
            ", added for this session"
        } else {
            ""
        };
        lines.push(format!(
            "{}: {} in {}{session}.\n",
            one_line(&source.path, 400),
            plural(source.documents, "document"),
            plural(source.chunks, "passage"),
        ));
    }
    if let Some((first, reason)) = contents.left_out.files.first() {
        lines.push(format!(
            "Left out: {}, the first: {}: {}; 'kb-agent index' lists them.\n",
            plural(contents.left_out.count, "file"),
            one_line(first, 400),
            one_line(reason, 400),
        ));
    }
    if let Some(setting) = &contents.setting {
        lines.push(format!(
            "The same at the next start: {}\n",
            one_line(setting, 4000)
        ));
    }
    lines.concat()
}

/// The runs of this conversation, with their numbers.
pub(super) fn runs(runs: &[RunRecord]) -> String {
    if runs.is_empty() {
        return "Nothing was asked yet.\n".to_owned();
    }
    let lines = runs.iter().enumerate();
    let lines = lines.map(|(at, run)| listed(at + 1, run) + "\n");
    lines.collect::<Vec<_>>().concat()
}

fn listed(at: usize, run: &RunRecord) -> String {
    let summary = &run.summary;
    let route = summary.route.map_or("no route", Complexity::as_str);
    let outcome = summary.outcome.map_or("no end", Outcome::as_str);
    let confidence = summary
        .confidence_level
        .map_or_else(String::new, |level| format!(", {}", level.advice()));
    let calls = summary.mode.calls(summary.calls.unwrap_or_default());
    format!(
        "Run {at}: {}. {route}, {outcome}{confidence}, {calls}, {} saved.",
        line(&summary.question),
        summary.saved.unwrap_or_default()
    )
}

/// Recorded conversations, the newest first, and how to go on with one.
pub(super) fn sessions(listed: &[SessionSummary]) -> String {
    if listed.is_empty() {
        return "No conversation is recorded yet.\n".to_owned();
    }
    let lines = listed.iter().take(MOST_SESSIONS).map(|session| {
        let name = session.name.as_deref().unwrap_or(&session.question);
        let here = if session.is_current { ", this one" } else { "" };
        format!(
            "{}: {}, {}{here}. Resume: kb-agent --plain -c {}\n",
            session.time.minute(),
            line(name),
            plural(session.runs, "run"),
            line(&session.id),
        )
    });
    let mut said = lines.collect::<Vec<_>>().concat();
    if let Some(more) = listed.len().checked_sub(MOST_SESSIONS).filter(|n| *n > 0) {
        said.push_str(&format!(
            "And {more} older; 'kb-agent runs' lists all runs.\n"
        ));
    }
    said
}

/// The models that can be chosen.
pub(super) fn models(listing: &ModelListing) -> String {
    let mut said: String = listing
        .models
        .iter()
        .map(|model| match model.context {
            Some(context) => format!("{}, reads {context} tokens\n", line(&model.name)),
            None => format!("{}\n", line(&model.name)),
        })
        .collect();
    let host = one_line(&listing.host, 80);
    if said.is_empty() {
        said = format!("No model that {host} lists can chat.\n");
    } else {
        said = format!("{host} lists:\n{said}");
    }
    if listing.left_out > 0 {
        said.push_str(&format!(
            "Left out: {} that cannot chat.\n",
            listing.left_out
        ));
    }
    said
}

/// The evidence of a run with the numbers that the answer gives it, in their order.
pub(super) fn numbered(run: &RunRecord) -> Vec<(usize, &EvidenceItem)> {
    let evidence = run.evidence.iter();
    let mut numbered: Vec<_> = evidence
        .filter_map(|known| Some((known.n?, &known.item)))
        .collect();
    numbered.sort_unstable_by_key(|(n, _)| *n);
    numbered
}

/// The same as lines.
pub(super) fn sources(run: Option<&RunRecord>) -> String {
    let numbered = run.map_or_else(Vec::new, numbered);
    if numbered.is_empty() {
        return "The last answer had no evidence.\n".to_owned();
    }
    let lines = numbered.iter();
    let lines = lines.map(|(n, item)| format!("{n}: {}\n", place(item)));
    lines.collect::<Vec<_>>().concat()
}

/// The lines of a passage as the index reads them.
pub(super) fn passage(text: &DocumentText, lines: LineRange) -> String {
    let source = one_line(&text.source, 300);
    let part = match &text.part {
        Ok(part) => part,
        Err(why) => return format!("{source}: {}\n", one_line(why, 400)),
    };
    let end = lines.end.min(lines.start + LONGEST_PASSAGE - 1);
    let mut shown = format!("{source}, lines {} to {end}:\n", lines.start);
    for number in lines.start..=end {
        if let Some(line) = part.line(number) {
            shown.push_str(line);
            shown.push('\n');
        }
    }
    if end < lines.end {
        shown.push_str(&format!("{} more.\n", plural(lines.end - end, "line")));
    }
    shown
}
