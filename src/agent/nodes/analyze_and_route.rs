use crate::agent::context::{Run, Stop};
use crate::agent::ports::AnalyzeJob;
use crate::domain::{
    Complexity, DecidedBy, NodeName, PathType, RouteReason, RoutingPlan, ToolName, ToolRecord,
    route_after_analyze,
};
use crate::protocol::EventBody;

/// R1–R7: one call decides what kind of question this is and which way it goes.
pub(crate) async fn analyze_and_route(run: &mut Run<'_>) -> Result<Option<RouteReason>, Stop> {
    let asking = run.ports.tools.spoken_of(&run.state.question);
    let spoken_of = run.guard(asking).await?;
    run.separate_from_conversation(spoken_of.as_deref());
    let job = AnalyzeJob {
        origin: run.origin(NodeName::AnalyzeAndRoute),
        query: run.state.lookup().query,
        question: &run.state.question,
        history: run.state.lookup().history,
        forced: run.state.forced,
        failed: &run.state.tool_history,
        spoken_of: spoken_of.as_deref(),
    };
    let call = run.ports.reasoner.analyze(job);
    let called = run.guard_call(NodeName::AnalyzeAndRoute, call).await;
    let analysis = run.settle(NodeName::AnalyzeAndRoute, called).await?;
    run.state.usage.add(analysis.usage);
    run.events.caveats(analysis.warnings).await;
    run.note_decider(analysis.by, analysis.usage);

    let mut plan = analysis.plan;
    let before = run.state.routing_plan.take();
    plan.rewritten = plan
        .rewritten
        .or(before.and_then(|before| before.rewritten));
    if let Some(route) = run.state.forced {
        plan.complexity = route;
    } else if !run.state.tool_history.is_empty() {
        // Evidence that was just judged useless is a reason to grade the next, whatever the
        // second look at the question says.
        plan.complexity = Complexity::Complex;
    }
    let is_first = run.state.tool_history.is_empty();
    if run.state.question.lacks_topic && is_first && plan.complexity != Complexity::Chitchat {
        let line =
            "the question leaves out what it is about, and no question before it says so: name it";
        run.events.warn("topic_missing", line.to_owned()).await;
    }
    let changes = plan.reconcile();
    if !changes.is_empty() {
        run.events
            .warn("routing_plan_adjusted", changes.join("; "))
            .await;
    }
    if let Some(tool) = insist_on_another_strategy(&mut plan, &run.state.tool_history) {
        let message = format!("every suggested tool had failed before: {tool} put first");
        run.events.warn("strategy_changed", message).await;
    }
    let event = EventBody::RoutingPlan {
        plan: plan.clone(),
        because: analysis.because,
        reason: analysis.reason,
        built_in: analysis.built_in,
        built_in_because: analysis.built_in_because,
    };
    run.events.emit(event).await;

    let reason = route_after_analyze(plan.complexity);
    if plan.complexity == Complexity::Chitchat {
        run.state.reply = analysis.reply;
        run.state.search_hint = analysis.search_hint;
        run.cut_short(PathType::Chitchat, reason.as_str()).await;
    }
    run.state.routing_plan = Some(plan);
    run.parse_rewritten_question();
    Ok(Some(reason))
}

/// R6: after RE_RETRIEVE at least one tool must be new. Returns the one that was put first.
fn insist_on_another_strategy(plan: &mut RoutingPlan, failed: &[ToolRecord]) -> Option<ToolName> {
    // What the program searches by itself is no strategy of the plan.
    let planned = |record: &&ToolRecord| record.by != Some(DecidedBy::BuiltIn);
    let has_failed = |tool: &ToolName| {
        let mut records = failed.iter().filter(planned);
        records.any(|record| record.call.tool() == *tool)
    };
    if failed.is_empty()
        || plan.complexity == Complexity::Chitchat
        || !plan.suggested_tools.iter().all(has_failed)
    {
        return None;
    }
    let untried = [
        ToolName::HybridSearch,
        ToolName::GrepSearch,
        ToolName::VectorSearch,
        ToolName::LocalFileQa,
    ]
    .into_iter()
    .find(|tool| !has_failed(tool))?;
    plan.suggested_tools.insert(0, untried);
    Some(untried)
}
