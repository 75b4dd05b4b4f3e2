use std::time::Instant;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use crate::agent::context::{Run, Stop, milliseconds};
use crate::agent::ports::ToolError;
use crate::agent::state::SearchFailure;
use crate::domain::{
    Complexity, Evidence, NodeName, PathType, PlannedCall, RouteReason, ToolRecord, add_evidence,
    route_after_tool_exec,
};
use crate::protocol::{EventBody, EvidenceItem};

/// R8, R13, R14: makes the planned calls at once and gathers what they found.
///
/// `tool_finished` comes in the order in which the tools finish; evidence enters the context in
/// the order of the plan, so that numbering does not depend on timing.
pub(crate) async fn tool_exec(run: &mut Run<'_>) -> Result<Option<RouteReason>, Stop> {
    let calls = std::mem::take(&mut run.state.pending);
    for PlannedCall { call, by } in &calls {
        let (call, by) = (call.clone(), *by);
        run.events.emit(EventBody::ToolCalled { call, by }).await;
    }

    let tools = &run.ports.tools;
    let sink = Some(&run.waits.sink);
    let mut running: FuturesUnordered<_> = calls
        .iter()
        .enumerate()
        .map(|(at, PlannedCall { call, .. })| async move {
            let started = Instant::now();
            (at, tools.run(call, sink).await, milliseconds(started))
        })
        .collect();
    let mut results: Vec<Option<CallOutcome>> = calls.iter().map(|_| None).collect();
    while let Some((at, result, ms)) = run.guard_call(NodeName::ToolExec, running.next()).await? {
        let found = match result {
            Ok(items) => CallOutcome { items, error: None },
            Err(error) => CallOutcome {
                items: Vec::new(),
                error: Some(error),
            },
        };
        run.events
            .emit(EventBody::ToolFinished {
                call: calls[at].call.clone(),
                items: found.items.len(),
                scores: found.items.iter().map(|item| item.score).collect(),
                ms,
                error: found.error.as_ref().map(ToString::to_string),
                is_breakdown: found.error.as_ref().is_some_and(ToolError::is_breakdown),
                by: calls[at].by,
            })
            .await;
        results[at] = Some(found);
    }
    drop(running);
    // Once a run is enough to tell why its evidence is thin.
    if run.state.tool_history.is_empty() {
        run.events.caveats(run.ports.tools.caveats().await).await;
    }

    let mut items = Vec::new();
    for (PlannedCall { call, by }, found) in calls.into_iter().zip(results) {
        let Some(found) = found else { continue };
        if let Some(error) = &found.error {
            run.state.failures.push(SearchFailure {
                line: format!("{}: {error}", call.tool()),
                is_breakdown: error.is_breakdown(),
            });
        }
        run.state.tool_history.push(ToolRecord {
            call,
            round: run.state.iteration,
            scores: found.items.iter().map(|item| item.score).collect(),
            is_breakdown: found.error.as_ref().is_some_and(ToolError::is_breakdown),
            error: found.error.map(|error| error.to_string()),
            by,
        });
        items.extend(found.items.into_iter().map(|item| Evidence { by, ..item }));
    }
    add_to_context(run, items).await;

    let reason = route_after_tool_exec(run.state.complexity());
    if run.state.complexity() == Complexity::Simple {
        run.cut_short(PathType::SimpleSkipGrading, reason.as_str())
            .await;
    }
    Ok(Some(reason))
}

struct CallOutcome {
    items: Vec<Evidence>,
    error: Option<ToolError>,
}

async fn add_to_context(run: &mut Run<'_>, items: Vec<Evidence>) {
    let touched = add_evidence(&mut run.state.context, items, &mut run.state.evidence_ids);
    if touched.is_empty() {
        return;
    }
    // The old grades no longer line up with the context; the next grading makes new ones.
    run.state.evidence_scores.clear();
    let items = run
        .state
        .context
        .iter()
        .filter(|item| touched.contains(&item.id))
        .map(EvidenceItem::from)
        .collect();
    run.events.emit(EventBody::EvidenceAdded { items }).await;
}
