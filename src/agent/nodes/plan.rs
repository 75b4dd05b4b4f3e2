use crate::agent::context::{Run, Stop};
use crate::agent::ports::PlanJob;
use crate::domain::{
    DecidedBy, GraderAction, NodeName, PlannedCall, RouteReason, RoutingPlan, ToolCall, ToolName,
    ToolRecord,
};

/// More calls than this in one round are a runaway reply, not a plan.
const CALLS_PER_ROUND: usize = 8;

/// R11, R21: which tools to call next.
pub(crate) async fn plan(run: &mut Run<'_>) -> Result<Option<RouteReason>, Stop> {
    let unrouted = RoutingPlan::fallback();
    let routing = run.state.routing_plan.as_ref().unwrap_or(&unrouted);
    let job = PlanJob {
        origin: run.origin(NodeName::Plan),
        query: run.state.lookup().query,
        question: &run.state.question,
        history: run.state.lookup().history,
        routing,
        tool_history: &run.state.tool_history,
        context: &run.state.context,
        scores: &run.state.evidence_scores,
        refine: run.state.grader_action == Some(GraderAction::Refine),
    };
    let call = run.ports.reasoner.plan(job);
    let called = run.guard_call(NodeName::Plan, call).await;
    let planned = run.settle(NodeName::Plan, called).await?;
    run.state.usage.add(planned.usage);
    run.events.caveats(planned.warnings).await;
    run.note_decider(planned.by, planned.usage);

    let mut calls: Vec<PlannedCall> = Vec::new();
    for planned in planned.calls {
        let is_new = !was_made(&run.state.tool_history, &planned.call);
        if is_new && calls.iter().all(|other| other.call != planned.call) {
            calls.push(planned);
        }
    }
    // What the program searches beside a model's plan is bounded by itself.
    let is_beside = |it: &PlannedCall| {
        planned.by == Some(DecidedBy::Model) && it.by == Some(DecidedBy::BuiltIn)
    };
    let beside: Vec<PlannedCall> = calls.extract_if(.., |call| is_beside(call)).collect();
    if calls.len() > CALLS_PER_ROUND {
        let message = format!(
            "{} calls planned; the first {CALLS_PER_ROUND} are made",
            calls.len()
        );
        calls.truncate(CALLS_PER_ROUND);
        run.events.warn("plan_truncated", message).await;
    }
    if calls.is_empty() {
        let routing = run.state.routing_plan.as_ref().unwrap_or(&unrouted);
        let fallback = fallback_call(routing, run.state.lookup().query, &run.state.tool_history);
        let message = match &fallback {
            Some(call) => format!("nothing new was planned: {} on the question", call.tool()),
            None => "nothing new was planned, and every search has been tried".to_owned(),
        };
        run.events.warn("plan_fallback", message).await;
        calls.extend(fallback.map(PlannedCall::from));
    }
    calls.extend(beside);
    run.state.pending = calls;
    Ok(None)
}

fn was_made(history: &[ToolRecord], call: &ToolCall) -> bool {
    history.iter().any(|record| record.call == *call)
}

/// A search with the question itself: first by the suggested tools, then by any that is left.
fn fallback_call(routing: &RoutingPlan, query: &str, history: &[ToolRecord]) -> Option<ToolCall> {
    let any = [
        ToolName::HybridSearch,
        ToolName::VectorSearch,
        ToolName::GrepSearch,
    ];
    routing
        .suggested_tools
        .iter()
        .copied()
        .chain(any)
        .filter_map(|tool| tool.descriptor().search)
        .map(|search| search(query.to_owned(), &routing.grep_keywords))
        .find(|call| !was_made(history, call))
}
