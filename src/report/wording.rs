//! What a document says of a run, in words: clean, on one line, and not yet escaped for its format.

use crate::domain::{Citation, Complexity, Cue, GradedBy, LabelTarget, Outcome, measures_in_words};
use crate::protocol::{
    Branches, EvidenceRecord, EvidenceStanding, Mode, RunRecord, RunSummary, Step,
};
use crate::text::{one_line, plural};

/// What a figure that nothing was recorded for is written as.
const NOTHING: &str = "–";

/// Longer texts on one line are cut, in characters.
const LONGEST: usize = 2000;

/// The question.
pub(super) fn question(run: &RunSummary) -> String {
    line(&run.question)
}

/// When, which way, how it ended, what it cost.
pub(super) fn course(run: &RunSummary) -> String {
    let calls = run.calls.map(|calls| run.mode.calls(calls));
    let saved = run.saved.map(|saved| format!("{saved} saved"));
    let forced = run.forced_route.map_or("", |_| ", forced");
    let parts = [
        Some(run.time.minute_and_zone()),
        Some(format!(
            "{}{forced}",
            run.route.map_or(NOTHING, Complexity::as_str)
        )),
        Some(
            run.outcome
                .map_or("no end recorded", Outcome::as_str)
                .to_owned(),
        ),
        run.confidence_level.map(|level| level.advice().to_owned()),
        calls,
        saved,
        run.ms.map(|ms| format!("{ms:.0} ms")),
        Some(line(&run.model)),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// Its names, that of the run whose question it asks once more, edited or after which it goes on, and its
/// branch where the conversation has several.
pub(super) fn names(run: &RunSummary, branches: &Branches) -> String {
    let mut names = format!("run {} · session {}", line(&run.id.0), line(&run.session));
    for (words, other) in [
        ("again, after run", &run.retry_of),
        ("edited, in the place of run", &run.edit_of),
        ("after run", &run.after),
    ] {
        if let Some(other) = other {
            names.push_str(&format!(" · {words} {}", line(&other.0)));
        }
    }
    if let Some(rerun) = &run.rerun {
        let other = line(&rerun.of.0);
        names.push_str(&format!(" · {} of run {other}", rerun.in_words()));
    }
    let fork = branches.fork_at(&run.id);
    names
        + &fork.map_or(String::new(), |fork| {
            format!(" · branch {} of {}", fork.at, fork.of)
        })
}

/// What it was kept within, by names and by filters; `None` where it was not.
pub fn limits(run: &RunRecord) -> Option<String> {
    let limits: Vec<String> = run
        .within
        .iter()
        .chain(&run.filters)
        .map(|one| line(one))
        .collect();
    (!limits.is_empty()).then(|| format!("Kept within {}", limits.join(", ")))
}

/// What people said of it; `None` where nothing is.
pub(super) fn labels(run: &RunRecord) -> Option<String> {
    let said = run.labels.iter().map(|(target, verdict)| {
        let what = match target {
            LabelTarget::Route => "route".to_owned(),
            LabelTarget::Answer => "answer".to_owned(),
            LabelTarget::Passage { id } => {
                let item = run.evidence.iter().find(|known| known.item.id == *id);
                item.map_or_else(|| line(&id.0), place)
            }
        };
        format!("{what} {}", verdict.in_words())
    });
    let said: Vec<String> = said.collect();
    (!said.is_empty()).then(|| format!("judged: {}", said.join(" · ")))
}

/// The node, its cost, where the run went next, and why.
pub(super) fn step(step: &Step, mode: Mode) -> String {
    format!("{} · {}", node(step), cost(step, mode))
}

/// The node, and which time it was entered where it was before.
pub fn node(step: &Step) -> String {
    match step.node.round(step.iteration) {
        Some(round) if round > 1 => format!("{}, round {round}", step.node),
        _ => step.node.as_str().to_owned(),
    }
}

/// The cost of a node, where the run went next, and why.
pub fn cost(step: &Step, mode: Mode) -> String {
    let mut text = match (step.ms, step.calls) {
        (Some(ms), Some(calls)) => format!("{ms:.1} ms · {}", mode.calls(calls)),
        _ => "broke off".to_owned(),
    };
    if let (Some(sent), Some(received)) = (step.prompt_tokens, step.completion_tokens) {
        text.push_str(&format!(" · {sent} + {received} tokens"));
    }
    if let Some(route) = &step.route {
        text.push_str(&format!(
            " · {} → {}",
            route.reason.as_str(),
            route.to.as_str()
        ));
    }
    text
}

/// What happened in it.
pub fn notes(step: &Step) -> Vec<String> {
    let because = step.because.iter().map(cue);
    let reason = step
        .reason
        .iter()
        .map(|reason| format!("because: {}", line(reason)));
    let mut notes: Vec<String> = because.chain(reason).collect();
    notes.extend(step.built_in.map(|route| {
        let measured = measures_in_words(&step.built_in_because).map(|words| format!(" · {words}"));
        format!(
            "the built-in router: {}{}",
            route.as_str(),
            measured.unwrap_or_default()
        )
    }));
    if let Some(plan) = &step.plan {
        let tools: Vec<&str> = plan
            .suggested_tools
            .iter()
            .map(|tool| tool.as_str())
            .collect();
        if !tools.is_empty() {
            notes.push(format!("tools: {}", tools.join(", ")));
        }
        notes.extend(
            plan.sub_questions
                .iter()
                .map(|part| format!("part: {}", line(part))),
        );
    }
    for tool in &step.tools {
        let found = match &tool.error {
            Some(error) => format!("failed: {}", line(error)),
            None => plural(tool.items, "item"),
        };
        let (name, subject) = (tool.call.tool(), line(tool.call.subject()));
        notes.push(format!("{name} “{subject}”: {found} · {:.1} ms", tool.ms));
    }
    if let Some(short) = &step.fast_path {
        let rule = line(&short.rule_name);
        notes.push(format!("fast path: {} by {rule}", short.path_type.as_str()));
    }
    if let Some(verdict) = &step.verdict {
        let average = verdict
            .average
            .map_or_else(|| NOTHING.to_owned(), |average| format!("{average:.2}"));
        let (mut items, by) = (plural(verdict.items, "item"), verdict.by.as_str());
        if verdict.not_looked_at > 0 {
            items.push_str(&format!(", {} not looked at", verdict.not_looked_at));
        }
        let action = verdict.action.as_str();
        notes.push(format!(
            "graded: {items}, average {average} by {by}: {action}"
        ));
    }
    notes
}

fn cue(cue: &Cue) -> String {
    let figure = cue.figure().map(|figure| format!(" {figure}"));
    format!("because: {}{}", line(&cue.cue), figure.unwrap_or_default())
}

/// File and place of an item.
pub fn place(evidence: &EvidenceRecord) -> String {
    format!(
        "{}:{}",
        line(&evidence.item.source),
        evidence.item.location()
    )
}

/// The scores of an item, where each came from, and what became of it.
pub fn scores(evidence: &EvidenceRecord) -> String {
    let grade = match (evidence.grade, evidence.graded_by) {
        (Some(grade), Some(GradedBy::Hand)) => format!("grade {grade}, set by hand or kept"),
        (Some(grade), Some(by)) if by.is_measured() => format!("grade {grade} by {}", by.as_str()),
        (Some(_), Some(by)) => format!("approved by {}, not measured", by.as_str()),
        (None, Some(by)) => format!("not looked at by {}", by.as_str()),
        _ => "not graded".to_owned(),
    };
    let item = &evidence.item;
    let measured = [
        side("words", item.measured.lexical_rank, item.measured.bm25),
        side("meaning", item.measured.vector_rank, item.measured.cosine),
    ];
    let measured: Vec<String> = measured.into_iter().flatten().collect();
    let measured = if measured.is_empty() {
        String::new()
    } else {
        format!(" ({})", measured.join(", "))
    };
    let became = match (evidence.standing, evidence.cited) {
        (_, true) => "cited".to_owned(),
        (EvidenceStanding::Dropped, _) => "dropped".to_owned(),
        (EvidenceStanding::Within, _) => {
            let held_by = evidence.held_by.as_ref().map(|id| line(&id.0));
            format!("part of {}", held_by.unwrap_or_default())
        }
        (EvidenceStanding::Low, _) => "brought back, for nothing better was left".to_owned(),
        (EvidenceStanding::Kept, _) if evidence.n.is_some() => "sent, not cited".to_owned(),
        (EvidenceStanding::Kept, _) => "not sent".to_owned(),
    };
    format!(
        "{became} · {grade} · match {} by {}{measured}",
        item.score, item.tool
    )
}

/// Its number in prompt and answer, else its name in the run.
pub fn number(evidence: &EvidenceRecord) -> String {
    match evidence.n {
        Some(n) => format!("[{n}]"),
        None => line(&evidence.item.id.0),
    }
}

/// How the passage begins.
pub(super) fn excerpt(evidence: &EvidenceRecord) -> String {
    line(&evidence.item.excerpt)
}

/// A mark of the answer and what it stands for.
pub fn citation(citation: &Citation) -> String {
    format!(
        "[{}] {}:{}",
        citation.n,
        line(&citation.source),
        citation.location()
    )
}

/// What was not as it should be, and why the run failed.
pub(super) fn troubles(run: &RunRecord) -> Vec<String> {
    let warnings = run.warnings.iter();
    let warnings =
        warnings.map(|warning| format!("{}: {}", line(&warning.code), line(&warning.message)));
    let error = run
        .summary
        .error
        .iter()
        .map(|error| format!("error: {}", line(error)));
    warnings.chain(error).collect()
}

/// Cited and sent items by number, then what else was found.
pub fn in_order(run: &RunRecord) -> Vec<&EvidenceRecord> {
    let mut items: Vec<&EvidenceRecord> = run.evidence.iter().collect();
    items.sort_by_key(|item| item.n.unwrap_or(usize::MAX));
    items
}

fn side(name: &str, rank: Option<usize>, value: Option<f64>) -> Option<String> {
    let rank = rank.map(|rank| format!(" #{rank}"));
    let value = value.map(|value| format!(" {value:.2}"));
    let words: String = [rank, value].into_iter().flatten().collect();
    (!words.is_empty()).then(|| format!("{name}{words}"))
}

fn line(text: &str) -> String {
    one_line(text, LONGEST)
}
