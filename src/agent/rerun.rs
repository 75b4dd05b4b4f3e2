//! A run that begins at a node of another one: the recorded state is taken over, with the changes that
//! were made by hand, and the graph goes on from there.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::join_all;

use crate::domain::{Evidence, EvidenceId, NodeName, Score, ToolCall};
use crate::protocol::{Event, EventBody, EvidenceItem, Mode, PriorGrade, RecordedState, Rerun};
use crate::text::{one_line, plural};

use super::context::{Run, Stop};
use super::state::SearchFailure;

/// What is said where a node has no state that could be taken over.
const NO_STATE: &str = "was not entered in that run, or is where every run begins; ask the question \
                        again instead";

impl Run<'_> {
    /// Takes over the state that the run of these events had at a node, and tells it in events of its
    /// own. Returns the node at which the run begins.
    pub(super) async fn take_over(
        &mut self,
        rerun: &Rerun,
        events: &[Arc<Event>],
    ) -> Result<NodeName, Stop> {
        let recorded = RecordedState::at_node(events, rerun.from);
        let Some(recorded) = recorded else {
            return Err(Stop::Failed(format!("{} {NO_STATE}", rerun.from)));
        };
        let recorded = recorded.changed(rerun);
        if let Some(plan) = &recorded.plan {
            let plan = EventBody::RoutingPlan {
                plan: plan.clone(),
                because: Vec::new(),
                reason: None,
                built_in: None,
                built_in_because: Vec::new(),
            };
            self.events.emit(plan).await;
        }
        let texts = self.read_again(&recorded).await?;

        let failed = recorded.tool_history.iter().filter_map(|record| {
            let error = record.error.as_deref()?;
            Some(SearchFailure {
                line: format!("{}: {error}", record.call.tool()),
                is_breakdown: record.is_breakdown,
            })
        });
        self.state.failures = failed.collect();
        self.state.evidence_ids = recorded.last_evidence_number();
        let grades = &recorded.grades;
        let with_text = |item: &EvidenceItem| texts.get(&item.id).cloned();
        self.state.context = recorded.context.iter().filter_map(with_text).collect();
        let discarded = recorded.discarded.iter().filter_map(with_text);
        self.state.discarded = discarded
            .map(|item| {
                let grade = grades.get(&item.id).map(|known| known.grade);
                (item, grade.unwrap_or(Score::ZERO))
            })
            .collect();
        self.emit_taken_over(grades).await;
        let of_context = self.state.context.iter();
        let known = of_context.map(|item| Some(grades.get(&item.id)?.grade));
        let known: Option<Vec<Score>> = known.collect();
        if rerun.from == NodeName::GradeEvidence {
            self.state.set_grades = (!rerun.graded.is_empty()).then_some(recorded.grades);
        } else {
            self.state.evidence_scores = known.unwrap_or_default();
        }
        let is_offline = self.ports.reasoner.identity().mode == Mode::Offline;
        if rerun.instruction.is_some() && (is_offline || rerun.from == NodeName::ToolExec) {
            let message = if is_offline {
                "the built-in engine follows no instruction: it has no effect".to_owned()
            } else {
                format!(
                    "{} calls no model: the instruction has no effect",
                    rerun.from
                )
            };
            self.events.warn("instruction_ignored", message).await;
        }
        let instruction = rerun.instruction.clone();
        self.state.instruction = instruction.map(|text| (rerun.from, text));
        self.state.routing_plan = recorded.plan;
        self.parse_rewritten_question();
        self.state.tool_history = recorded.tool_history;
        self.state.pending = recorded.pending;
        self.state.grader_action = recorded.action;
        self.state.iteration = recorded.iteration;
        Ok(rerun.from)
    }

    /// The stream holds the beginning of a passage only: the rest is read from its document. What is not
    /// there any more is left out, and what reads otherwise is used as it is now; a warning says so.
    async fn read_again(
        &mut self,
        recorded: &RecordedState,
    ) -> Result<HashMap<EvidenceId, Evidence>, Stop> {
        let tools = &self.ports.tools;
        let items = || recorded.context.iter().chain(&recorded.discarded);
        let calls: Vec<ToolCall> = items().map(call_for).collect();
        let reading = join_all(calls.iter().map(|call| tools.run(call, None)));
        let read = self.guard(reading).await?;
        let (mut texts, mut gone, mut other) = (HashMap::new(), Vec::new(), Vec::new());
        for (item, read) in items().zip(read) {
            let place = || format!("{}:{}", one_line(&item.source, 200), item.location());
            let why = match read.map(|found| found.into_iter().next()) {
                Ok(Some(passage)) => {
                    let beginning = one_line(&passage.text, EvidenceItem::EXCERPT_CHARS);
                    if beginning != item.excerpt {
                        other.push(place());
                    }
                    texts.insert(item.id.clone(), with_recorded(item, passage));
                    continue;
                }
                Ok(None) => "it is empty".to_owned(),
                Err(error) => error.to_string(),
            };
            gone.push(format!("{}: {why}", place()));
        }
        let words = "left out, because not to be read any more";
        self.warn_of_passages("evidence_gone", &gone, words).await;
        let words = "changed since, and used as now in the document";
        self.warn_of_passages("evidence_changed", &other, words)
            .await;
        Ok(texts)
    }

    async fn warn_of_passages(&mut self, code: &str, places: &[String], words: &str) {
        if let Some(first) = places.first() {
            let count = plural(places.len(), "passage");
            let message = format!("{count} {words}, such as {first}");
            self.events.warn(code, message).await;
        }
    }

    /// Tells what is taken over: all items with their grades, then those that are not in the context.
    async fn emit_taken_over(&mut self, grades: &HashMap<EvidenceId, PriorGrade>) {
        let with_grade = |item: &Evidence| EvidenceItem {
            known_grade: grades.get(&item.id).copied(),
            ..EvidenceItem::from(item)
        };
        let discarded = self.state.discarded.iter().map(|(item, _)| item);
        let items = self.state.context.iter().chain(discarded);
        let items: Vec<EvidenceItem> = items.map(with_grade).collect();
        if !items.is_empty() {
            self.events.emit(EventBody::EvidenceAdded { items }).await;
        }
        for (item, score) in &self.state.discarded {
            let removed = EventBody::EvidenceRemoved {
                id: item.id.clone(),
                score: *score,
                not_looked_at: !grades.contains_key(&item.id),
            };
            self.events.emit(removed).await;
        }
    }
}

/// The call that reads exactly the lines of an item.
fn call_for(item: &EvidenceItem) -> ToolCall {
    ToolCall::ReadFile {
        path: item.source.clone(),
        start_line: Some(item.lines.start),
        end_line: Some(item.lines.end),
    }
}

/// The passage that was read, under the name and with the measures that were recorded.
fn with_recorded(item: &EvidenceItem, read: Evidence) -> Evidence {
    Evidence {
        id: item.id.clone(),
        source: item.source.clone(),
        lines: item.lines,
        place: item.place.clone(),
        tool: item.tool,
        score: item.score,
        measured: item.measured,
        text: read.text,
        topic: read.topic,
        low: item.low,
        by: item.by,
    }
}
