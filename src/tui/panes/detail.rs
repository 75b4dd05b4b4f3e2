//! What went on in a node, round by round: a fold over its events.

use std::collections::BTreeSet;

use crate::domain::{GradedBy, KEEP_FROM, NodeName, PathType, RoutingPlan, ToolCall};
use crate::protocol::{EventBody, ItemScore, Mode};
use crate::text::{duration, one_line, sanitize};
use crate::tui::fold::{AuditRow, NodeState, RunView, Visit};
use crate::tui::ink::{Ink, Row, grouped, grouped_count, grouped_plural, measure, pad, wrap};
use crate::tui::model::{Model, OpenRun};
use crate::tui::pane_state::PathItem;

use super::node::{cue_words, second_opinion, sign};
use super::wording::{NOT_LOOKED_AT, band, broken_off, certainty, reason_ink, short_tool};

/// What stands above the window.
pub fn title(item: PathItem, mode: Mode) -> &'static str {
    match item {
        PathItem::Node(node) => node.as_str(),
        PathItem::Meter if mode == Mode::Offline => "Steps made and saved",
        PathItem::Meter => "Calls made and saved",
    }
}

/// Lays out all rows of the window.
pub fn lines(
    model: &Model,
    item: PathItem,
    unfolded: &BTreeSet<usize>,
    width: usize,
) -> Vec<DetailLine> {
    let mut page = WindowRows {
        lines: Vec::new(),
        unfolded,
        width,
        parts: 0,
    };
    match (item, model.shown_turn()) {
        (PathItem::Node(node), Some(turn)) => page.node(turn, node, model),
        (PathItem::Node(node), None) => page.text(Ink::Text, "", purpose(node)),
        (PathItem::Meter, turn) => {
            for row in savings(turn, model) {
                page.row(row);
            }
        }
    }
    page.lines
}

/// What a node is for, where no run can show it.
fn purpose(node: NodeName) -> &'static str {
    const PURPOSES: [&str; NodeName::ALL.len()] = [
        "One call decides what kind of question it is, which way it goes and which tools are \
         worth trying. Small talk goes straight to the answer.",
        "Picks the tool calls of the round. It never answers.",
        "Makes the planned calls at once and gathers what they find. A simple question is \
         answered from that without grading.",
        "Rules first, then one call that grades every passage from 0 to 1. Below 0.30 a passage \
         is dropped; an average from 0.70 on answers, one below looks for more.",
        "Writes the answer from the passages that are left, with citations.",
    ];
    PURPOSES[node as usize]
}

impl WindowRows<'_> {
    fn node(&mut self, turn: &OpenRun, node: NodeName, model: &Model) {
        let run = &turn.run;
        self.head(run, node, model);
        let visits: Vec<&Visit> = run.visits.iter().filter(|v| v.node == node).collect();
        let rounds = rounds(&turn.trail, node);
        if let Some(plan) = run.plan.as_ref().filter(|_| node == NodeName::Plan) {
            self.parts_of(plan);
        }
        for (at, events) in rounds.iter().enumerate() {
            let visit = visits.get(at).copied();
            if rounds.len() > 1 {
                self.row(Row::default());
                let title = round_title(at, node, visit, run.mode);
                self.row(Row::new(Ink::Heading, title));
            }
            for (place, row) in events.iter().enumerate() {
                self.event(turn, row.body(), &events[place + 1..]);
            }
            if node == NodeName::Plan {
                self.planned(turn, at);
            }
            if let Some((reason, why)) = visit.and_then(|visit| visit.left.as_ref()) {
                self.labelled("decided", Row::new(reason_ink(Some(*reason)), why.clone()));
            }
        }
        let failed = run.node(node).state == NodeState::Failed;
        if let Some(error) = run.finish.as_ref().and_then(|end| end.error.as_ref())
            && failed
        {
            self.text(Ink::Failed, "  ", &format!("× {error}"));
        }
    }

    fn head(&mut self, run: &RunView, node: NodeName, model: &Model) {
        let view = run.node(node);
        let (sign, ink) = sign(view.state, model.frame);
        let state = match view.state {
            NodeState::Waiting => "not reached yet".to_owned(),
            NodeState::Running => "at work".to_owned(),
            NodeState::Done => "done".to_owned(),
            NodeState::Skipped(why) => format!("skipped: {why}"),
            NodeState::Stopped | NodeState::Failed => broken_off(view.state, view.ms),
        };
        let mut row = Row::new(ink, format!("{sign} {state}"));
        if view.state == NodeState::Done {
            row.push(Ink::Dim, format!(" · {}", duration(view.ms)));
        }
        if view.visits > 1 {
            row.push(Ink::Running, format!(" · ↺ {}", view.visits));
        }
        if let Some(by) = view.by.filter(|_| run.mode == Mode::Llm) {
            row.push(Ink::Dim, format!(" · {by}"));
        }
        if view.calls > 0 {
            let calls = run.mode.calls(view.calls);
            row.push(Ink::Dim, format!(" · {calls}"));
        }
        if let Some(tokens) = view.tokens.filter(|tokens| *tokens > 0) {
            row.push(Ink::Dim, format!(" · {} tok", grouped(tokens)));
        }
        self.row(row);
    }

    /// The parts of the question.
    fn parts_of(&mut self, plan: &RoutingPlan) {
        for (at, part) in plan.sub_questions.iter().enumerate() {
            let row = Row::new(Ink::Dim, format!("  part {}   ", at + 1));
            self.below(&row.add(Ink::Text, one_line(part, 400)));
        }
    }

    /// A row behind a word of its own.
    fn labelled(&mut self, label: &str, row: Row) {
        self.row(Row::new(Ink::Dim, format!("  {label:<9}")).join(row));
    }

    /// The calls that a plan led to: those of the next visit of `tool_exec`.
    fn planned(&mut self, turn: &OpenRun, round: usize) {
        let rounds = rounds(&turn.trail, NodeName::ToolExec);
        for row in rounds.get(round).into_iter().flatten() {
            if let EventBody::ToolCalled { call, .. } = row.body() {
                self.call("  planned  ", call);
            }
        }
    }

    fn call(&mut self, before: &str, call: &ToolCall) {
        let args = serde_json::to_value(call).map(|value| value["args"].to_string());
        let args = format!(" {}", sanitize(&args.unwrap_or_default()));
        let row = Row::new(Ink::Dim, before).add(Ink::Text, short_tool(call.tool()));
        let row = row.add(Ink::Dim, args);
        self.below(&row);
    }

    /// How a call ended, as a later event tells.
    fn push_call_end(&mut self, call: &ToolCall, after: &[&AuditRow], goes_on: bool) {
        let end = after.iter().find_map(|row| match row.body() {
            EventBody::ToolFinished {
                call: ended,
                items,
                ms,
                error,
                ..
            } if ended == call => Some((*items, *ms, error)),
            _ => None,
        });
        match end {
            Some((_, ms, Some(error))) => {
                let line = format!("⚠ {} · {}", sanitize(error), duration(ms));
                self.wrapped(&Row::new(Ink::Warning, line), INDENT, None);
            }
            Some((items, ms, None)) => {
                let items = grouped_plural(items, "item");
                let line = format!("{INDENT}{items} · {}", duration(ms));
                self.row(Row::new(Ink::Dim, line));
            }
            None if goes_on => self.row(Row::new(Ink::Running, format!("{INDENT}at work"))),
            None => self.row(Row::new(Ink::Dim, format!("{INDENT}not ended"))),
        }
    }

    fn event(&mut self, turn: &OpenRun, body: &EventBody, after: &[&AuditRow]) {
        let evidence = &turn.run.evidence;
        match body {
            EventBody::RoutingPlan {
                plan,
                because,
                reason,
                built_in,
                built_in_because,
            } => {
                self.plan(plan);
                for cue in because {
                    self.labelled("because", cue_words(cue));
                }
                if let Some(reason) = reason {
                    self.labelled("because", Row::new(Ink::Text, one_line(reason, 400)));
                }
                if let Some(built_in) = built_in {
                    let opinion = second_opinion(plan.complexity, *built_in, built_in_because);
                    self.labelled("beside", opinion);
                }
            }
            EventBody::ToolCalled { call, .. } => {
                self.call("  called   ", call);
                self.push_call_end(call, after, turn.run.finish.is_none());
            }
            EventBody::EvidenceAdded { items } => {
                for item in items {
                    let place = format!("{}:{}", one_line(&item.source, 200), item.location());
                    let found = format!("  {} match {}", short_tool(item.tool), item.score);
                    let row = Row::new(Ink::Citation, place).add(Ink::Dim, found);
                    self.labelled("found", row);
                }
            }
            EventBody::FastPathHit { rule_name, .. } => {
                let rule = Row::new(Ink::Unmeasured, one_line(rule_name, 80));
                self.labelled("by rule", rule);
            }
            EventBody::EvidenceGraded {
                scores,
                average,
                action,
                by,
            } => {
                let call = turn.run.mode.call();
                let words = match by {
                    GradedBy::Grader => format!(", average {} by the grader", measure(*average)),
                    GradedBy::Rule(rule) => format!(", by rule {}: no {call}", rule.as_str()),
                    GradedBy::Hand => {
                        format!(", average {} by grades set by hand", measure(*average))
                    }
                    GradedBy::Fallback => ", the reply could not be read: 0.50 each".to_owned(),
                    GradedBy::NoEvidence => format!(", there is no evidence: no {call}"),
                };
                let row = Row::new(Ink::Text, action.as_str()).add(Ink::Dim, words);
                self.labelled("verdict", row);
                if by.is_measured() {
                    self.scores(scores, turn);
                }
            }
            EventBody::EvidenceNumbered { items } => {
                for item in items {
                    let place = evidence.place(&item.id).unwrap_or_default();
                    let row = Row::new(Ink::Citation, format!("[{}] ", item.n));
                    self.labelled("sent", row.add(Ink::Text, place));
                }
            }
            EventBody::AnswerFinished {
                text,
                citations,
                confidence,
                ..
            } => {
                let length = grouped_plural(text.chars().count(), "character");
                let cited = grouped_plural(citations.len(), "citation");
                self.row(Row::new(Ink::Dim, format!("  answered {length} · {cited}")));
                if let Some(confidence) = confidence {
                    let row = certainty(confidence.level());
                    let value = format!(" {:.2}", confidence.value());
                    self.labelled("right?", row.add(Ink::Dim, value));
                }
            }
            EventBody::Warning { message, .. } => {
                self.text(Ink::Warning, "  ", &format!("⚠ {}", sanitize(message)));
            }
            EventBody::ModelCalled { .. } => self.model_call(body),
            _ => {}
        }
    }

    fn plan(&mut self, plan: &RoutingPlan) {
        let tools: Vec<_> = plan.suggested_tools.iter().map(|t| t.as_str()).collect();
        let kind = serde_json::to_value(plan.query_type).unwrap_or_default();
        for (name, value) in [
            ("route", plan.complexity.as_str().to_owned()),
            ("type", kind.as_str().unwrap_or_default().replace('_', " ")),
            ("tools", tools.join(", ")),
            ("words", plan.grep_keywords.join(", ")),
        ] {
            if !value.is_empty() {
                let row = Row::new(Ink::Dim, format!("  {name:<8} "));
                self.wrapped(&row.add(Ink::Text, sanitize(&value).into_owned()), "", None);
            }
        }
        self.parts_of(plan);
    }

    fn scores(&mut self, scores: &[ItemScore], turn: &OpenRun) {
        for graded in scores {
            let place = turn.run.evidence.place(&graded.id).unwrap_or_default();
            let row = Row::new(Ink::Dim, INDENT);
            let Some(grade) = graded.grade() else {
                let row = row.add(Ink::Unmeasured, "–     ").add(Ink::Text, place);
                self.row(row.add(Ink::Unmeasured, format!("  {NOT_LOOKED_AT}")));
                continue;
            };
            let value = grade.value();
            let row = row.add(band(value), format!("{:<6}", measure(value)));
            let mut row = row.add(Ink::Text, place);
            if value < KEEP_FROM {
                row.push(Ink::Dropped, format!("  dropped, below {KEEP_FROM:.2}"));
            }
            self.row(row);
        }
    }
}

fn round_title(at: usize, node: NodeName, visit: Option<&Visit>, mode: Mode) -> String {
    let round = visit.and_then(|visit| node.round(visit.iteration));
    let mut title = format!("round {}", round.unwrap_or(at as u32 + 1));
    if let Some(visit) = visit {
        if let Some(ms) = visit.ms {
            title.push_str(&format!(" · {}", duration(ms)));
        }
        if visit.calls > 0 {
            title.push_str(&format!(" · {}", mode.calls(visit.calls)));
        }
    }
    title
}

/// The events of a node, visit by visit.
fn rounds(trail: &[AuditRow], node: NodeName) -> Vec<Vec<&AuditRow>> {
    let mut rounds: Vec<Vec<&AuditRow>> = Vec::new();
    for row in trail.iter().filter(|row| row.node == Some(node)) {
        if matches!(row.body(), EventBody::NodeEntered { .. }) {
            rounds.push(Vec::new());
        } else if let Some(round) = rounds.last_mut() {
            round.push(row);
        }
    }
    rounds
}

/// One row, and the part that it folds or unfolds.
#[derive(Debug, Clone)]
pub struct DetailLine {
    /// What is drawn.
    pub row: Row,
    /// The part of a prompt or reply that it is of, counted from 0.
    pub part: Option<usize>,
}

/// Indent of continued rows, as wide as the label at the beginning of a row.
pub const INDENT: &str = "           ";

/// The rows of a window as they are written.
pub struct WindowRows<'a> {
    /// What was written.
    pub lines: Vec<DetailLine>,
    unfolded: &'a BTreeSet<usize>,
    width: usize,
    parts: usize,
}

impl WindowRows<'_> {
    /// One row, cut at the edge.
    pub fn row(&mut self, row: Row) {
        let row = row.fit(self.width);
        self.lines.push(DetailLine { row, part: None });
    }

    /// A text on as many rows as it takes, below and behind `indent`.
    pub fn text(&mut self, ink: Ink, indent: &str, text: &str) {
        self.wrapped(&Row::new(ink, text), indent, None);
    }

    /// A row that begins with a word of its own; what does not fit goes on behind that.
    pub fn below(&mut self, row: &Row) {
        let indent = Row::new(Ink::Dim, INDENT);
        let rows = wrap(row, &Row::default(), &indent, self.width);
        let lines = rows.into_iter().map(|row| DetailLine { row, part: None });
        self.lines.extend(lines);
    }

    /// A row on as many as it takes, of a part or of none.
    pub fn wrapped(&mut self, row: &Row, indent: &str, part: Option<usize>) {
        let indent = Row::new(Ink::Dim, indent);
        let rows = wrap(row, &indent, &indent, self.width);
        let lines = rows.into_iter().map(|row| DetailLine { row, part });
        self.lines.extend(lines);
    }

    /// A call of a model with what was said in it.
    pub fn model_call(&mut self, body: &EventBody) {
        let EventBody::ModelCalled {
            model,
            ms,
            prompt_tokens,
            completion_tokens,
            retries,
            prompt,
            reply,
            ..
        } = body
        else {
            return;
        };
        let mut row = Row::new(Ink::Dim, "  asked    ").add(Ink::Text, one_line(model, 80));
        row.push(Ink::Dim, format!(" · {}", duration(*ms)));
        if let (Some(sent), Some(got)) = (prompt_tokens, completion_tokens) {
            let tokens = format!(" · {} sent, {} received", grouped(*sent), grouped(*got));
            row.push(Ink::Dim, tokens);
        }
        if *retries > 0 {
            let retries = grouped_count(u64::from(*retries), "retry", "retries");
            row.push(Ink::Warning, format!(" · {retries}"));
        }
        self.row(row);
        match prompt {
            Some(prompt) => self.push_message("prompt", &sanitize(prompt)),
            None => self.row(Row::new(Ink::Dim, "    prompt and reply are not kept")),
        }
        match (reply, prompt) {
            (Some(reply), _) => self.push_message("reply", &sanitize(reply)),
            (None, Some(_)) => self.row(Row::new(Ink::Warning, "    no reply")),
            (None, None) => {}
        }
    }

    /// A prompt or a reply, its fenced parts folded.
    fn push_message(&mut self, what: &str, text: &str) {
        self.row(Row::new(Ink::Heading, format!("    {what}")));
        for section in sections(text) {
            match section {
                PromptSection::Line(line) => {
                    self.wrapped(&Row::new(Ink::Quote, line), "    ▏ ", None);
                }
                PromptSection::Fenced {
                    tag,
                    attributes,
                    inside,
                } => self.fenced(tag, attributes, &inside),
            }
        }
    }

    fn fenced(&mut self, tag: &str, attributes: &str, inside: &[&str]) {
        let part = self.parts;
        self.parts += 1;
        let is_open = self.unfolded.contains(&part);
        let count = grouped_plural(inside.len(), "line");
        let mut row = Row::new(Ink::Key, if is_open { "    ▾ " } else { "    ▸ " });
        let opening = format!("{tag} {attributes}");
        row.push(Ink::Citation, opening.trim());
        row.push(Ink::Dim, format!("  {count}"));
        let row = row.fit(self.width);
        self.lines.push(DetailLine {
            row,
            part: Some(part),
        });
        for line in inside.iter().filter(|_| is_open) {
            self.wrapped(&Row::new(Ink::Quote, *line), "      ▏ ", Some(part));
        }
    }
}

/// A stretch of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptSection<'a> {
    /// A line of its own.
    Line(&'a str),
    /// What is between two tags, both included.
    Fenced {
        /// The tag without its mark: `evidence`.
        tag: &'a str,
        /// What the tag says besides, such as `n="1" source="a.md"`.
        attributes: &'a str,
        /// The lines between.
        inside: Vec<&'a str>,
    },
}

/// A part with fewer lines is shown as it is.
const FOLDED_FROM: usize = 3;

/// The prompt in its order. Fences are tags with a mark of eight hexadecimal digits that was made up for
/// the request, so that no document can open or close one.
pub fn sections(prompt: &str) -> Vec<PromptSection<'_>> {
    let lines: Vec<&str> = prompt.lines().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let fenced = opening(lines[at]).and_then(|(tag, mark, attributes)| {
            let close = format!("</{tag}-{mark}>");
            let length = lines[at + 1..].iter().position(|line| *line == close)?;
            Some((tag, attributes, length))
        });
        match fenced {
            Some((tag, attributes, length)) if tag == "evidence" || length >= FOLDED_FROM => {
                found.push(PromptSection::Fenced {
                    tag,
                    attributes,
                    inside: lines[at + 1..=at + length].to_vec(),
                });
                at += length + 2;
            }
            _ => {
                found.push(PromptSection::Line(lines[at]));
                at += 1;
            }
        }
    }
    found
}

/// Tag, mark and attributes of a line that is nothing but an opening tag.
fn opening(line: &str) -> Option<(&str, &str, &str)> {
    let inside = line.strip_prefix('<')?.strip_suffix('>')?;
    let (name, attributes) = inside.split_once(' ').unwrap_or((inside, ""));
    let (tag, mark) = name.rsplit_once('-')?;
    let is_mark = mark.len() == 8 && mark.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_tag = !tag.is_empty() && tag.bytes().all(|byte| byte.is_ascii_lowercase());
    (is_mark && is_tag).then_some((tag, mark, attributes))
}

/// The calls that one event saved: where, how many, and why.
struct SavedCalls {
    node: NodeName,
    calls: u32,
    why: String,
}

/// Made and saved, node by node, and what the whole is.
pub fn savings(turn: Option<&OpenRun>, model: &Model) -> Vec<Row> {
    let most = model.limits.max_iterations;
    let words = [
        "The full pipeline thinks once to analyze the question, then once to",
        "plan and once to grade in each round, and once to answer.",
    ];
    let mut rows = words.map(|line| Row::new(Ink::Text, line)).to_vec();
    let Some(turn) = turn else {
        rows.push(Row::default());
        let calls = model.mode.calls(2 + 2 * most);
        let line = format!("With at most {most} rounds that is {calls}.");
        rows.push(Row::new(Ink::Dim, line));
        return rows;
    };
    let saved = saved_by_events(turn);
    rows.push(Row::default());
    for node in NodeName::ALL {
        let view = turn.run.node(node);
        let of_node = || saved.iter().filter(|one| one.node == node);
        let count: u32 = of_node().map(|one| one.calls).sum();
        if view.calls == 0 && count == 0 {
            continue;
        }
        let mut row = Row::new(Ink::Text, pad(node.as_str(), 18));
        row.push(Ink::Text, format!("{:>2} made", view.calls));
        if count > 0 {
            row.push(Ink::Strong, format!("  {count} saved"));
            let why: Vec<_> = of_node().map(|one| one.why.as_str()).collect();
            row.push(Ink::Dim, format!(": {}", why.join(", ")));
        }
        rows.push(row);
    }
    rows.push(Row::default());
    rows.push(sum(turn));
    rows.push(Row::default());
    rows.extend(run_id_rows(turn));
    rows
}

/// What the run is called at the command line.
fn run_id_rows(turn: &OpenRun) -> [Row; 2] {
    let id = Row::new(Ink::Dim, "run ").add(Ink::Text, one_line(&turn.run.id.0, 64));
    let words = "kb-agent replay, graph and export take it, or its end";
    [id, Row::new(Ink::Dim, words)]
}

fn sum(turn: &OpenRun) -> Row {
    let made = turn.run.calls();
    let calls = turn.run.mode.calls(made);
    let Some(finish) = &turn.run.finish else {
        let line = format!("{calls} so far; what is saved counts at the end");
        return Row::new(Ink::Dim, line);
    };
    if finish.broke_off() {
        let line = format!("{calls}; nothing is saved by not arriving");
        return Row::new(Ink::Dim, line);
    }
    let whole = turn.run.mode.calls(made.saturating_add(finish.saved));
    let saved = finish.saved;
    let words =
        format!("{made} made + {saved} saved = {whole} of the full pipeline on these rounds");
    Row::new(Ink::Text, words)
}

/// What each short cut spared, as the run counts it.
fn saved_by_events(turn: &OpenRun) -> Vec<SavedCalls> {
    let mut saved = Vec::new();
    let mut save = |node, why: &str| {
        saved.push(SavedCalls {
            node,
            calls: 1,
            why: why.to_owned(),
        });
    };
    for row in &turn.trail {
        match row.body() {
            EventBody::FastPathHit {
                path_type,
                rule_name,
                ..
            } => match path_type {
                PathType::Chitchat => {
                    save(NodeName::Plan, "small talk needs no search");
                    save(NodeName::GradeEvidence, "small talk has no evidence");
                }
                PathType::SimpleSkipGrading => {
                    save(NodeName::GradeEvidence, "simple questions are not graded");
                }
                PathType::RuleAutoApprove => {
                    let rule = one_line(rule_name, 40);
                    save(NodeName::GradeEvidence, &format!("rule {rule}"));
                }
            },
            EventBody::EvidenceGraded {
                by: GradedBy::NoEvidence,
                ..
            } => save(NodeName::GradeEvidence, "there was nothing to grade"),
            _ => {}
        }
    }
    // An answer without a call came with the analysis, or there was nothing to answer from.
    let recorded = saved.len() as u32;
    let rest = turn.run.finish.as_ref().map_or(0, |finish| finish.saved);
    if rest > recorded && turn.run.node(NodeName::Synthesize).calls == 0 {
        saved.push(SavedCalls {
            node: NodeName::Synthesize,
            calls: rest - recorded,
            why: format!("the answer needed no {} of its own", turn.run.mode.call()),
        });
    }
    saved
}

#[cfg(test)]
mod fences_tests {
    use super::*;

    #[test]
    fn evidence_folds_and_the_rest_stays() {
        let prompt = "[user]\n<evidence-0a1b2c3d n=\"1\">\n</evidence>\n</evidence-00000000>\n\
                      </evidence-0a1b2c3d>\n<question-0a1b2c3d>\nwhich?\n</question-0a1b2c3d>\n<b>";
        let found = sections(prompt);
        let PromptSection::Fenced {
            tag,
            attributes,
            inside,
        } = &found[1]
        else {
            panic!("{found:?}");
        };
        assert_eq!((*tag, *attributes), ("evidence", "n=\"1\""));
        // Only the tag with the mark closes it.
        assert_eq!(inside, &["</evidence>", "</evidence-00000000>"]);
        assert_eq!(found[0], PromptSection::Line("[user]"));
        assert_eq!(found[2], PromptSection::Line("<question-0a1b2c3d>"));
        assert_eq!(found.last(), Some(&PromptSection::Line("<b>")));
    }

    #[test]
    fn a_fence_that_never_closes_hides_nothing() {
        let prompt = "<evidence-0a1b2c3d n=\"1\">\ntext";
        assert_eq!(
            sections(prompt),
            [
                PromptSection::Line("<evidence-0a1b2c3d n=\"1\">"),
                PromptSection::Line("text")
            ]
        );
    }
}
