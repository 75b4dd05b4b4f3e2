use crate::agent::context::{Run, Stop};
use crate::agent::ports::GradeJob;
use crate::domain::{
    AutoApproveRule, Evidence, GradedBy, GraderAction, NodeName, PathType, RouteReason, Score,
    approving_rule, route_after_grade, scores_of,
};
use crate::protocol::{EventBody, EvidenceItem, ItemScore};

/// How many discarded items come back when nothing else is left (R22).
const RESTORED: usize = 3;

/// R15–R22: is what was found good enough? (CRAG, Yan 2024)
pub(crate) async fn grade_evidence(run: &mut Run<'_>) -> Result<Option<RouteReason>, Stop> {
    let round = run.state.iteration;
    let rule = approving_rule(
        &run.state.context,
        &run.state.tool_history,
        round,
        run.limits,
    );
    let action = if run.state.context.is_empty() {
        let action = GraderAction::ReRetrieve;
        emit_verdict(run, action, &[], GradedBy::NoEvidence).await;
        action
    } else if let Some(known) = run.state.set_grades.take() {
        // What a person set takes the place of rules and grader.
        let items = run.state.context.iter();
        let scores: Vec<Option<Score>> = items
            .map(|item| known.get(&item.id).map(|known| known.grade))
            .collect();
        apply(run, &scores, GradedBy::Hand).await
    } else if let Some(rule) = rule {
        approve(run, rule).await
    } else {
        let (scores, by) = ask_grader(run).await?;
        apply(run, &scores, by).await
    };
    run.state.grader_action = Some(action);
    run.state.iteration += 1;

    let reason = route_after_grade(action, run.state.iteration, run.limits);
    if reason == RouteReason::MaxIterations && run.state.context.is_empty() {
        restore_best(run).await;
    }
    Ok(Some(reason))
}

async fn approve(run: &mut Run<'_>, rule: AutoApproveRule) -> GraderAction {
    run.cut_short(PathType::RuleAutoApprove, rule.as_str())
        .await;
    let count = run.state.context.len();
    let scores = vec![Some(Score::FULL); count];
    emit_verdict(run, GraderAction::Generate, &scores, GradedBy::Rule(rule)).await;
    run.state.evidence_scores = vec![Score::FULL; count];
    GraderAction::Generate
}

/// R17, R18: one batch call; a reply that is not N finite numbers counts as 0.5 each. An item that was not looked at has
/// no score.
async fn ask_grader(run: &mut Run<'_>) -> Result<(Vec<Option<Score>>, GradedBy), Stop> {
    let job = GradeJob {
        origin: run.origin(NodeName::GradeEvidence),
        query: run.state.lookup().query,
        question: &run.state.question,
        history: run.state.lookup().history,
        sub_questions: run.state.sub_questions(),
        context: &run.state.context,
    };
    let call = run.ports.reasoner.grade(job);
    let called = run.guard_call(NodeName::GradeEvidence, call).await;
    let grades = run.settle(NodeName::GradeEvidence, called).await?;
    run.state.usage.add(grades.usage);
    run.events.caveats(grades.warnings).await;
    run.note_decider(grades.by, grades.usage);

    let wanted = run.state.context.len();
    let read = grades.scores.map_err(|unreadable| unreadable.to_string());
    let problem = match read.and_then(|numbers| Ok((scores_of(&numbers, wanted)?, numbers))) {
        Err(problem) => problem,
        Ok((scores, numbers)) => {
            let numbers = numbers.iter().flatten();
            let outside = numbers.filter(|n| !(0.0..=1.0).contains(*n)).count();
            if outside > 0 {
                let message = format!("{outside} of {wanted} grades lay outside 0–1");
                run.events.warn("grade_clamped", message).await;
            }
            return Ok((scores, GradedBy::Grader));
        }
    };
    let message = format!("the grading could not be read ({problem}): every item counts as 0.5");
    run.events.warn("grade_unreadable", message).await;
    Ok((vec![Some(Score::UNKNOWN); wanted], GradedBy::Fallback))
}

/// R19, R20: drops what is too low or was not looked at, then judges what remains.
async fn apply(run: &mut Run<'_>, scores: &[Option<Score>], by: GradedBy) -> GraderAction {
    let thresholds = run.limits.thresholds;
    let action =
        thresholds.action_for(thresholds.average_of_kept(scores.iter().flatten().copied()));
    emit_verdict(run, action, scores, by).await;

    let context = std::mem::take(&mut run.state.context);
    run.state.evidence_scores.clear();
    for (item, &score) in context.into_iter().zip(scores) {
        if let Some(kept) = score.filter(|score| thresholds.keeps(*score)) {
            run.state.context.push(item);
            run.state.evidence_scores.push(kept);
            continue;
        }
        let removed = EventBody::EvidenceRemoved {
            id: item.id.clone(),
            score: score.unwrap_or(Score::ZERO),
            not_looked_at: score.is_none(),
        };
        run.events.emit(removed).await;
        let score = score.unwrap_or(Score::ZERO);
        run.state.discarded.push((item, score));
    }
    action
}

async fn emit_verdict(
    run: &mut Run<'_>,
    action: GraderAction,
    scores: &[Option<Score>],
    by: GradedBy,
) {
    run.state.calls_saved += by.calls_saved();
    let known = scores.iter().flatten().copied();
    let average = run.limits.thresholds.average_of_kept(known);
    let average = average.unwrap_or(0.0);
    let scores = run
        .state
        .context
        .iter()
        .zip(scores)
        .map(|(item, &score)| ItemScore {
            id: item.id.clone(),
            score: score.unwrap_or(Score::ZERO),
            not_looked_at: score.is_none(),
        })
        .collect();
    run.events
        .emit(EventBody::EvidenceGraded {
            scores,
            average,
            action,
            by,
        })
        .await;
}

/// R22: the gradings are spent and everything was discarded: the best come back, marked low.
async fn restore_best(run: &mut Run<'_>) {
    let mut discarded = std::mem::take(&mut run.state.discarded);
    discarded.sort_by(|(_, a), (_, b)| b.value().total_cmp(&a.value()));
    for (mut item, score) in discarded {
        if run.state.context.len() < RESTORED && !is_covered(&run.state.context, &item) {
            item.low = true;
            run.state.context.push(item);
            run.state.evidence_scores.push(score);
        } else {
            run.state.discarded.push((item, score));
        }
    }
    if run.state.context.is_empty() {
        return;
    }
    let items = run.state.context.iter().map(EvidenceItem::from).collect();
    run.events.emit(EventBody::EvidenceAdded { items }).await;
}

/// A passage that was found again in a later round is there under another id.
fn is_covered(context: &[Evidence], item: &Evidence) -> bool {
    context
        .iter()
        .any(|known| known.source == item.source && known.lines.overlaps(item.lines))
}
