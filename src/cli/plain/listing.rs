//! What plain mode lists: commands, questions to try, evidence, a passage, the knowledge base.

use crate::domain::LineRange;
use crate::protocol::{
    DocumentText, EvidenceRecord, KnowledgeContents, KnowledgeStatus, Mode, ModelListing, RunId,
    RunRecord, SessionSummary,
};
use crate::report::wording;
use crate::text::{one_line, plural};
use crate::tui::slash;

/// Lines of a passage that are shown at most.
const LONGEST_PASSAGE: usize = 60;
/// Recorded conversations that are listed, the newest.
const MOST_SESSIONS: usize = 20;
/// Longer names on one line are cut, in characters.
const LONGEST: usize = 400;

/// Name, argument and purpose of the commands that the screen lacks or has otherwise.
pub(super) const OWN_COMMANDS: [(&str, &str, &str); 5] = [
    ("/help", "", "list these commands"),
    (
        "/edit",
        "[NUMBER QUESTION]",
        "ask an earlier question in other words and go on from there; alone: list them",
    ),
    (
        "/sources",
        "[NUMBER]",
        "the evidence of the last answer, or one passage of it",
    ),
    ("/runs", "", "the questions of this conversation"),
    ("/try", "[NUMBER]", "questions to try, or one of them"),
];
/// What only a screen can show.
const OF_THE_SCREEN: [&str; 6] = [
    "/replay", "/find", "/theme", "/what-if", "/compare", "/race",
];

/// The commands.
pub(super) fn help() -> String {
    let shared = slash::COMMANDS
        .iter()
        .map(|all| (&*all.name, &*all.arguments, &*all.help));
    let is_here = |(name, ..): &(&str, &str, &str)| {
        !OF_THE_SCREEN.contains(name) && OWN_COMMANDS.iter().all(|(own, ..)| own != name)
    };
    let commands = OWN_COMMANDS.into_iter().chain(shared.filter(is_here));
    let lines = commands.map(|(name, argument, purpose)| {
        let usage = format!("{name} {argument}");
        format!("{}: {purpose}.\n", usage.trim_end())
    });
    lines.collect::<String>() + "Ctrl+C stops an answer; twice, or Ctrl+D, leaves.\n"
}

/// The questions of a branch, each by its first run, with their numbers.
pub(super) fn questions(asked: &[&RunId], runs: &[RunRecord]) -> String {
    if asked.is_empty() {
        return "Nothing was asked yet.\n".to_owned();
    }
    let question = |first: &RunId| {
        let is_it = |run: &&RunRecord| run.summary.retry_of.as_ref() == Some(first);
        let by_id = |run: &&RunRecord| run.summary.id == *first;
        let found = runs.iter().find(by_id).or(runs.iter().find(is_it));
        found.map_or_else(String::new, |run| one_line(&run.summary.question, LONGEST))
    };
    let lines = asked.iter().zip(1..);
    let lines = lines.map(|(first, number)| format!("{number}: {}", question(first)));
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

/// Questions to try, with their numbers and routes.
pub(super) fn samples(samples: &[(&str, &str)]) -> String {
    if samples.is_empty() {
        return "There is no question to try: none that was made from the headings had a sure \
                answer.\n"
            .to_owned();
    }
    let lines = samples.iter().zip(1..).map(|((route, question), number)| {
        format!("{number}: {question} ({})\n", route.replace(" · ", ", "))
    });
    lines.collect()
}

/// What the base holds, what it is made of, and how many files were left out.
pub(super) fn base(base: &KnowledgeStatus, contents: &KnowledgeContents) -> String {
    let line = |text: &str| one_line(text, LONGEST);
    let held = |documents, chunks| {
        let documents = plural(documents, "document");
        format!("{documents} in {}", plural(chunks, "passage"))
    };
    let mut lines = vec![format!(
        "{}: {}",
        line(&base.name),
        held(base.documents, base.chunks)
    )];
    let kinds = contents
        .kinds
        .iter()
        .map(|(kind, count)| format!("{count} {kind}"));
    let kinds: Vec<String> = kinds.collect();
    if !kinds.is_empty() {
        lines.push(format!("Kinds: {}", line(&kinds.join(", "))));
    }
    for (name, time) in &contents.newest {
        lines.push(format!("Newest: {}, {}", line(name), time.minute()));
    }
    for source in &contents.sources {
        let added = if source.is_added {
            ", added for this session"
        } else {
            ""
        };
        let held = held(source.documents, source.chunks);
        lines.push(format!("{}: {held}{added}", line(&source.path)));
    }
    if let Some((first, reason)) = contents.left_out.files.first() {
        lines.push(format!(
            "Left out: {}, the first: {}: {}; 'kb-agent index' lists them",
            plural(contents.left_out.count, "file"),
            line(first),
            line(reason)
        ));
    }
    let state = match (base.stopped, base.indexing, base.pending) {
        (true, _, _) => "stopped; /index goes on".to_owned(),
        (false, true, 0) => "looking for changes".to_owned(),
        (false, true, pending) => format!("{} to embed", plural(pending, "passage")),
        (false, false, 0) => "up to date".to_owned(),
        (false, false, pending) => format!("{} not embedded", plural(pending, "passage")),
    };
    lines.push(format!("Index: {state}"));
    let setting = contents.setting.iter();
    let setting = setting.map(|it| format!("The same at the next start: {}\n", one_line(it, 4000)));
    lines.join(".\n") + ".\n" + &setting.collect::<String>()
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
            one_line(name, LONGEST),
            plural(session.runs, "run"),
            one_line(&session.id, LONGEST),
        )
    });
    let more = listed.len().saturating_sub(MOST_SESSIONS);
    let more = (more > 0).then(|| format!("And {more} older; 'kb-agent runs' lists all runs.\n"));
    lines.chain(more).collect()
}

/// Which engine answers, and where.
pub(super) fn engine(mode: Mode, endpoint: Option<&str>) -> String {
    let mode = match mode {
        Mode::Offline => "offline, built in; answers are quoted from the documents",
        Mode::Llm => "chat endpoint",
    };
    let endpoint = endpoint.map(|endpoint| format!("Endpoint: {}\n", one_line(endpoint, 300)));
    format!("Engine: {mode}.\n{}", endpoint.unwrap_or_default())
}

/// The models that can be chosen.
pub(super) fn models(listing: &ModelListing) -> String {
    let host = one_line(&listing.host, 80);
    let mut said = match listing.models.as_slice() {
        [] => format!("No model that {host} lists can chat.\n"),
        _ => format!("{host} lists:\n"),
    };
    for model in &listing.models {
        let context = model
            .context
            .map(|tokens| format!(", reads {tokens} tokens"));
        let name = one_line(&model.name, LONGEST);
        let server = model.server.as_ref();
        let server = server.map(|server| format!(", {}", one_line(server, LONGEST)));
        let (server, context) = (server.unwrap_or_default(), context.unwrap_or_default());
        said.push_str(&format!("{name}{server}{context}\n"));
    }
    if listing.left_out > 0 {
        said.push_str(&format!(
            "Left out: {} that cannot chat.\n",
            listing.left_out
        ));
    }
    said
}

/// The evidence of a run that has a number, in the order of the numbers, with its scores.
pub(super) fn sources(run: Option<&RunRecord>) -> String {
    let evidence = run.map_or_else(Vec::new, wording::in_order);
    let numbered = evidence.iter().filter(|known| known.n.is_some());
    let line = |known: &&EvidenceRecord| {
        let (number, place) = (wording::number(known), wording::place(known));
        format!("{number} {place}: {}\n", wording::scores(known))
    };
    let lines: String = numbered.map(line).collect();
    if lines.is_empty() {
        return "The last answer had no evidence.\n".to_owned();
    }
    lines
}

/// The lines of a passage as the index reads them.
pub(super) fn passage(text: &DocumentText, lines: LineRange) -> String {
    let source = one_line(&text.source, LONGEST);
    let part = match &text.part {
        Ok(part) => part,
        Err(why) => return format!("{source}: {}\n", one_line(why, LONGEST)),
    };
    let end = lines.end.min(lines.start + LONGEST_PASSAGE - 1);
    let shown = (lines.start..=end).filter_map(|number| part.line(number));
    let shown: String = shown.flat_map(|line| [line, "\n"]).collect();
    let more = (end < lines.end).then(|| format!("{} more.\n", plural(lines.end - end, "line")));
    let more = more.unwrap_or_default();
    format!("{source}, lines {} to {end}:\n{shown}{more}", lines.start)
}
