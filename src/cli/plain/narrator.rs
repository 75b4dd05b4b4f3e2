//! A run in words, a line for each thing that happens: no signs, no colours, nothing redrawn.

use crate::domain::{
    AutoApproveRule, Citation, Cue, GradedBy, NodeName, Outcome, RouteReason, RoutingLimits,
    SUFFICIENT_FROM, Wait, WarningKind, Warnings, dollars, spoken_reasons,
};
use crate::protocol::{Event, EventBody, EvidenceItem, Mode, RunEnd, RunRecord, Verdict};
use crate::text::{StreamSanitizer, duration, one_line, plural, sanitize};

/// Longer texts on one line are cut, characters.
const LONGEST: usize = 300;

/// Says what happens in a run, and keeps what it came to.
pub(super) struct Narrator {
    record: RunRecord,
    limits: RoutingLimits,
    warnings: Warnings,
    stream: StreamSanitizer,
    /// The pieces of the answer.
    shown: String,
    /// Whether the answer has begun, and whether its last line is open.
    answering: AnswerOutput,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerOutput {
    NotYet,
    OpenLine,
    AtLineStart,
}

impl Narrator {
    /// For the run that this event begins; `None` when it begins none.
    pub(super) fn begin(event: &Event) -> Option<Self> {
        let record = RunRecord::begin(event)?;
        Some(Self {
            limits: record.settings.unwrap_or_default(),
            record,
            warnings: Warnings::default(),
            stream: StreamSanitizer::default(),
            shown: String::new(),
            answering: AnswerOutput::NotYet,
        })
    }

    /// What the run came to so far.
    pub(super) fn record(&self) -> &RunRecord {
        &self.record
    }

    /// What is to be said of the next event: whole lines, or a piece of the answer.
    pub(super) fn render(&mut self, event: &Event) -> String {
        self.record.apply(event);
        if let EventBody::AnswerDelta { text } = &event.body {
            self.shown.push_str(text);
            let piece = self.stream.push(text);
            return self.answer(&piece);
        }
        let mut lines = Vec::new();
        self.lines_of(&event.body, &mut lines);
        if lines.is_empty() {
            return String::new();
        }
        let mut text = self.end_answer();
        for line in lines {
            text.push_str(&line);
            text.push('\n');
        }
        text
    }

    fn lines_of(&mut self, body: &EventBody, lines: &mut Vec<String>) {
        match body {
            EventBody::NodeEntered { node, iteration } => {
                lines.push(match node.round(*iteration) {
                    None | Some(1) => format!("Node {node}."),
                    Some(round) => format!("Node {node}, round {round}."),
                });
            }
            EventBody::NodeFinished {
                node,
                ms,
                reasoning_calls,
                ..
            } => {
                let calls = self.record.summary.mode.calls(*reasoning_calls);
                lines.push(format!("  {node} took {}, {calls}.", duration(*ms)));
            }
            EventBody::RoutingPlan { plan, because } => {
                let route = plan.complexity.as_str();
                lines.push(format!("  Route: {route}.{}", reasons(because)));
                for part in &plan.sub_questions {
                    lines.push(format!("  Part: {}", line(part)));
                }
            }
            EventBody::ToolFinished {
                call,
                items,
                ms,
                error,
                ..
            } => {
                let found = match error {
                    Some(error) => format!("failed: {}", line(error)),
                    None => plural(*items, "item"),
                };
                let (tool, subject) = (call.tool(), line(call.subject()));
                lines.push(format!(
                    "  Tool {tool}, \"{subject}\": {found}, {}.",
                    duration(*ms)
                ));
            }
            EventBody::EvidenceAdded { items } => {
                lines.extend(
                    items
                        .iter()
                        .map(|item| format!("  Found {}.", describe_item(item))),
                );
            }
            EventBody::EvidenceGraded { scores, by, .. } => {
                for graded in scores {
                    let place = self.place(&graded.id.0);
                    let score = if by.is_measured() {
                        format!("{} by {}", graded.score, by.as_str())
                    } else {
                        format!("approved by {}, not measured", by.as_str())
                    };
                    lines.push(format!("  Grade of {place}: {score}."));
                }
            }
            EventBody::EvidenceRemoved { id, score } => {
                lines.push(format!("  Dropped {}, graded {score}.", self.place(&id.0)));
            }
            EventBody::RouteDecided { from, to, reason } => {
                let why = self.why(*reason);
                lines.push(format!("  From {from} to {to}: {why}."));
            }
            EventBody::EvidenceNumbered { items } => {
                for numbered in items {
                    let (n, place) = (numbered.n, self.place(&numbered.id.0));
                    lines.push(format!("  Evidence {n}: {place}."));
                }
            }
            EventBody::AnswerFinished {
                text, citations, ..
            } => {
                // Some of what was shown may have turned out to be no answer.
                if !text.starts_with(self.shown.trim_end()) || self.shown.is_empty() {
                    lines.push(format!("Answer: {}", sanitize(text).trim_end()));
                }
                lines.extend(citations.iter().map(source));
            }
            EventBody::Waiting {
                node,
                wait: wait @ Wait::Retry { .. },
            } => lines.push(waiting(wait, Some(*node))),
            EventBody::Warning { code, message } => self.warnings.add(code, message),
            EventBody::RunFinished { .. } => {
                let warnings = self.warnings.at_the_answer().map(WarningKind::line);
                lines.extend(warnings.map(|line| format!("Warning: {line}")));
                lines.extend(RunEnd::from_body(body).map(|end| self.footer(end)));
            }
            _ => {}
        }
    }

    fn answer(&mut self, piece: &str) -> String {
        if piece.is_empty() {
            return String::new();
        }
        let begin = match self.answering {
            AnswerOutput::NotYet => "Answer: ",
            _ => "",
        };
        self.answering = if piece.ends_with('\n') {
            AnswerOutput::AtLineStart
        } else {
            AnswerOutput::OpenLine
        };
        format!("{begin}{piece}")
    }

    /// What follows the answer begins on a line of its own.
    fn end_answer(&mut self) -> String {
        let rest = std::mem::take(&mut self.stream).finish();
        let mut text = self.answer(&rest);
        if self.answering == AnswerOutput::OpenLine {
            text.push('\n');
            self.answering = AnswerOutput::AtLineStart;
        }
        text
    }

    /// File and lines of an item.
    fn place(&self, id: &str) -> String {
        let known = self
            .record
            .evidence
            .iter()
            .find(|known| known.item.id.0 == id);
        known.map_or_else(|| line(id), |known| place(&known.item))
    }

    /// The reason with its arithmetic, where a verdict stands behind it.
    fn why(&self, reason: RouteReason) -> String {
        let mut verdicts = self
            .record
            .path
            .iter()
            .filter_map(|step| step.verdict.as_ref());
        let word = reason.as_str();
        match (reason, verdicts.next_back()) {
            (
                RouteReason::Generate
                | RouteReason::Refine
                | RouteReason::ReRetrieve
                | RouteReason::MaxIterations,
                Some(verdict),
            ) => format!("{}, so {word}", self.grounds(verdict)),
            _ => word.to_owned(),
        }
    }

    fn grounds(&self, verdict: &Verdict) -> String {
        match verdict.by {
            GradedBy::NoEvidence => "there is no evidence".to_owned(),
            GradedBy::Rule(rule) => {
                let founded = match rule {
                    AutoApproveRule::FewContext => format!(
                        ", {} of at most {}",
                        plural(verdict.items, "item"),
                        self.limits.auto_approve_max_items
                    ),
                    AutoApproveRule::HighVectorScore => {
                        format!(", all from {:.2} up", self.limits.vector_score_threshold)
                    }
                    AutoApproveRule::LocalFileQa | AutoApproveRule::ReadFile => String::new(),
                };
                format!("approved by the rule {}{founded}", rule.as_str())
            }
            GradedBy::Grader | GradedBy::Fallback => match verdict.average {
                None => "no item is good enough".to_owned(),
                Some(average) if average < SUFFICIENT_FROM => {
                    format!("the average {average:.2} is below {SUFFICIENT_FROM:.2}")
                }
                Some(average) => {
                    format!("the average {average:.2} is at least {SUFFICIENT_FROM:.2}")
                }
            },
        }
    }

    fn footer(&self, end: RunEnd<'_>) -> String {
        let outcome = match (end.outcome, end.error) {
            (Outcome::Failed, Some(error)) => format!("Failed: {}", line(error)),
            (Outcome::Failed, None) => "Failed".to_owned(),
            (Outcome::Cancelled, _) => "Stopped".to_owned(),
            (Outcome::NotFound, _) => "Nothing was found".to_owned(),
            (Outcome::Answered, _) => "Answered".to_owned(),
        };
        let mut parts = vec![outcome];
        let confidence = self.record.confidence;
        parts.extend(confidence.map(|confidence| confidence.level().advice().to_owned()));
        if self.record.summary.mode == Mode::Offline {
            parts.push("offline, extractive".to_owned());
        }
        parts.extend(end.route.map(|route| format!("route {}", route.as_str())));
        parts.push(self.record.summary.mode.calls(end.calls));
        parts.push(format!("{} saved", end.saved));
        let about = if end.spent.estimated { "about " } else { "" };
        match end.tokens() {
            0 => {}
            tokens => parts.push(format!("{about}{}", plural(tokens as usize, "token"))),
        }
        parts.extend(
            end.spent
                .cost_usd
                .map(|cost| format!("{about}{}", dollars(cost))),
        );
        match self.warnings.count() {
            0 => {}
            count => parts.push(plural(count, "warning")),
        }
        parts.push(duration(end.ms));
        format!("{}.", parts.join(", "))
    }
}

/// File and lines.
pub(super) fn place(item: &EvidenceItem) -> String {
    format!("{}:{}", line(&item.source), item.location())
}

fn describe_item(item: &EvidenceItem) -> String {
    let again = if item.low { ", brought back" } else { "" };
    format!(
        "{} by {}, match {}{again}",
        place(item),
        item.tool,
        item.score
    )
}

fn reasons(because: &[Cue]) -> String {
    let reasons: Vec<&str> = spoken_reasons(because).collect();
    if reasons.is_empty() {
        return String::new();
    }
    format!(" Because: {}.", line(&reasons.join("; ")))
}

fn source(citation: &Citation) -> String {
    let (n, source) = (citation.n, line(&citation.source));
    format!("Source [{n}]: {source}:{}.", citation.location())
}

/// Clean, on one line.
pub(super) fn line(text: &str) -> String {
    one_line(text, LONGEST)
}

/// What is said of a wait before the run begins.
pub(super) fn before_the_run(wait: &Wait) -> String {
    match wait {
        Wait::Retry { .. } => waiting(wait, None) + "\n",
        _ => String::new(),
    }
}

fn waiting(wait: &Wait, node: Option<NodeName>) -> String {
    format!("  Waiting: {}.", wait.line_of(node, 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ui_a_run_in_lines_looks_like_this() {
        let recorded = include_str!("../../../tests/it/fixtures/picture.jsonl");
        let events = recorded
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        let events: Vec<Event> = events.collect();
        let mut narrator = Narrator::begin(&events[0]).unwrap();
        let said: String = events[1..]
            .iter()
            .map(|event| narrator.render(event))
            .collect();
        assert!(said.chars().all(|c| c == '\n' || !c.is_control()));
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!("plain_run", said);
        });
    }
}
