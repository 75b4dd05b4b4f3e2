//! The pure law: topology, routes, rules, averages. Tables in, verdicts out.

use kb_agent::domain::{
    AutoApproveRule, Complexity, EDGES, ENTRY, Evidence, EvidenceId, GradeThresholds, GraderAction,
    LineRange, NodeName, QueryType, RouteReason, RoutingLimits, RoutingPlan, Score, ToolName,
    ToolRecord, approving_rule, average, edge, route_after_analyze, route_after_grade,
    route_after_tool_exec,
};
use serde_json::{Value, json};

#[test]
fn topology_has_the_edges_of_the_design_and_no_other() {
    let drawn: Vec<_> = EDGES
        .iter()
        .map(|edge| (edge.from.as_str(), edge.to.map_or("END", NodeName::as_str)))
        .collect();
    assert_eq!(
        drawn,
        [
            ("analyze_and_route", "synthesize"),
            ("analyze_and_route", "plan"),
            ("plan", "tool_exec"),
            ("tool_exec", "synthesize"),
            ("tool_exec", "grade_evidence"),
            ("grade_evidence", "synthesize"),
            ("grade_evidence", "plan"),
            ("grade_evidence", "analyze_and_route"),
            ("synthesize", "END"),
        ]
    );
    assert_eq!(ENTRY, NodeName::AnalyzeAndRoute);
}

#[test]
fn every_decision_has_exactly_one_edge() {
    for node in NodeName::ALL {
        let leaving: Vec<_> = EDGES.iter().filter(|edge| edge.from == node).collect();
        let unconditional = leaving.iter().filter(|edge| edge.when.is_empty()).count();
        assert!(
            unconditional == 0 || leaving.len() == 1,
            "{node}: an unconditional edge must be the only one"
        );
        let mut reasons: Vec<_> = leaving.iter().flat_map(|edge| edge.when).collect();
        let all = reasons.len();
        reasons.sort_by_key(|reason| reason.as_str());
        reasons.dedup();
        assert_eq!(reasons.len(), all, "{node}: a reason leads two ways");
    }
}

#[test]
fn r07_r08_r09_routes_follow_complexity() {
    for (complexity, after_analyze, after_tools) in table![
        Complexity::Chitchat, NodeName::Synthesize, None;
        Complexity::Simple, NodeName::Plan, Some(NodeName::Synthesize);
        Complexity::Complex, NodeName::Plan, Some(NodeName::GradeEvidence);
    ] {
        let taken = edge(
            NodeName::AnalyzeAndRoute,
            Some(route_after_analyze(complexity)),
        );
        assert_eq!(taken.unwrap().to, Some(after_analyze));
        if after_tools.is_some() {
            let taken = edge(NodeName::ToolExec, Some(route_after_tool_exec(complexity)));
            assert_eq!(taken.unwrap().to, after_tools);
        }
    }
}

#[test]
fn r20_the_average_of_what_remains_decides() {
    for (scores, action) in [
        (vec![0.9, 0.9], GraderAction::Generate),
        (vec![0.7], GraderAction::Generate),
        (vec![0.69], GraderAction::Refine),
        (vec![0.3, 0.3], GraderAction::Refine),
        (vec![0.9, 0.4], GraderAction::Refine),
        (vec![0.299], GraderAction::ReRetrieve),
        (vec![], GraderAction::ReRetrieve),
    ] {
        let mean = average(scores.iter().map(|&s| Score::clamped(s)));
        assert_eq!(
            GradeThresholds::default().action_for(mean),
            action,
            "{scores:?}"
        );
    }
}

#[test]
fn r21_r22_the_action_leads_on_until_the_gradings_are_spent() {
    let limits = RoutingLimits::default();
    for (action, iteration, reason, to) in table![
        GraderAction::Generate, 1, RouteReason::Generate, NodeName::Synthesize;
        GraderAction::Refine, 1, RouteReason::Refine, NodeName::Plan;
        GraderAction::ReRetrieve, 2, RouteReason::ReRetrieve, NodeName::AnalyzeAndRoute;
        GraderAction::Refine, 3, RouteReason::MaxIterations, NodeName::Synthesize;
        GraderAction::ReRetrieve, 3, RouteReason::MaxIterations, NodeName::Synthesize;
        GraderAction::Generate, 3, RouteReason::Generate, NodeName::Synthesize;
    ] {
        assert_eq!(route_after_grade(action, iteration, &limits), reason);
        let taken = edge(NodeName::GradeEvidence, Some(reason)).unwrap();
        assert_eq!(taken.to, Some(to));
    }
}

fn item(tool: ToolName, score: f64) -> Evidence {
    Evidence {
        id: EvidenceId("e".to_owned()),
        lines: LineRange { start: 1, end: 2 },
        text: "text".to_owned(),
        ..crate::support::item(1, tool, score)
    }
}

fn record(tool: ToolName, round: u32) -> ToolRecord {
    let args: Value = serde_json::from_str(tool.descriptor().example).unwrap();
    let call = serde_json::from_value(json!({"tool": tool, "args": args})).unwrap();
    ToolRecord {
        call,
        round,
        scores: Vec::new(),
        error: None,
        is_breakdown: false,
        by: None,
    }
}

#[test]
fn r16_rules_approve_in_their_order() {
    use AutoApproveRule as Rule;
    use ToolName::{GrepSearch, HybridSearch, LocalFileQa, ReadFile, VectorSearch};
    let limits = RoutingLimits::default();
    let five = |tool, score| vec![item(tool, score); 5];
    for (context, history, expected) in [
        // 1: the last call of all
        (
            five(LocalFileQa, 0.1),
            vec![(HybridSearch, 0), (LocalFileQa, 1)],
            Some(Rule::LocalFileQa),
        ),
        (
            five(LocalFileQa, 0.1),
            vec![(LocalFileQa, 1), (HybridSearch, 1)],
            None,
        ),
        // 2: every call of this round
        (
            five(ReadFile, 1.0),
            vec![(HybridSearch, 0), (ReadFile, 1), (ReadFile, 1)],
            Some(Rule::ReadFile),
        ),
        (
            five(ReadFile, 1.0),
            vec![(ReadFile, 1), (HybridSearch, 1)],
            None,
        ),
        (five(ReadFile, 1.0), vec![(ReadFile, 0)], None),
        // 3: few items
        (
            vec![item(GrepSearch, 0.1); 2],
            vec![(GrepSearch, 1)],
            Some(Rule::FewContext),
        ),
        (vec![item(GrepSearch, 0.1); 3], vec![(GrepSearch, 1)], None),
        // 4: vector scores
        (
            five(VectorSearch, 0.8),
            vec![(VectorSearch, 1)],
            Some(Rule::HighVectorScore),
        ),
        (five(VectorSearch, 0.79), vec![(VectorSearch, 1)], None),
        (five(HybridSearch, 0.99), vec![(HybridSearch, 1)], None),
        // the earlier rule wins
        (
            vec![item(ReadFile, 1.0)],
            vec![(ReadFile, 1)],
            Some(Rule::ReadFile),
        ),
        // R15: nothing is approved by nothing
        (vec![], vec![(LocalFileQa, 1)], None),
    ] {
        let history = history.into_iter().map(|(tool, round)| record(tool, round));
        let history: Vec<_> = history.collect();
        assert_eq!(
            approving_rule(&context, &history, 1, &limits),
            expected,
            "{} items, {history:?}",
            context.len()
        );
    }
}

#[test]
fn r16_thresholds_move_the_rules() {
    let limits = RoutingLimits {
        vector_score_threshold: 0.6,
        auto_approve_max_items: 0,
        ..RoutingLimits::default()
    };
    let history = [record(ToolName::VectorSearch, 0)];
    let rule = |score| approving_rule(&[item(ToolName::VectorSearch, score)], &history, 0, &limits);
    assert_eq!(rule(0.6), Some(AutoApproveRule::HighVectorScore));
    assert_eq!(rule(0.59), None, "few_context is off at 0");
}

#[test]
fn r02_r03_the_plan_agrees_with_its_complexity() {
    let mut chitchat = RoutingPlan {
        complexity: Complexity::Chitchat,
        query_type: QueryType::Exact,
        sub_questions: vec!["a".to_owned()],
        suggested_tools: vec![ToolName::GrepSearch],
        grep_keywords: vec!["b".to_owned()],
        ..RoutingPlan::default()
    };
    assert!(!chitchat.reconcile().is_empty());
    assert_eq!(chitchat.query_type, QueryType::Chitchat);
    assert!(chitchat.suggested_tools.is_empty() && chitchat.sub_questions.is_empty());

    let mut simple = RoutingPlan {
        complexity: Complexity::Simple,
        query_type: QueryType::Chitchat,
        sub_questions: vec!["a".to_owned(), "b".to_owned()],
        ..RoutingPlan::default()
    };
    simple.reconcile();
    assert!(simple.sub_questions.is_empty());
    assert_eq!(simple.query_type, QueryType::Conceptual);
    assert_eq!(simple.suggested_tools, [ToolName::HybridSearch]);
}

#[test]
fn r04_what_is_missing_counts_as_complex() {
    let plan = RoutingPlan::fallback();
    assert_eq!(plan.complexity, Complexity::Complex);
    assert_eq!(plan.query_type, QueryType::Conceptual);
    assert_eq!(plan.suggested_tools, [ToolName::HybridSearch]);
}

#[test]
fn r16_a_call_that_failed_approves_nothing() {
    let limits = RoutingLimits::default();
    let context = vec![item(ToolName::HybridSearch, 0.5); 5];
    for tool in [ToolName::LocalFileQa, ToolName::ReadFile] {
        let failed = ToolRecord {
            error: Some("not in the knowledge base".to_owned()),
            ..record(tool, 1)
        };
        assert_eq!(approving_rule(&context, &[failed], 1, &limits), None);
    }
}

#[test]
fn r16_a_low_score_in_the_history_is_not_hidden_by_a_merge() {
    let limits = RoutingLimits::default();
    let merged = vec![item(ToolName::VectorSearch, 0.9); 5];
    let call = |tool, scores: &[f64]| ToolRecord {
        scores: scores.iter().map(|&score| Score::clamped(score)).collect(),
        ..record(tool, 0)
    };
    for history in [
        [
            call(ToolName::VectorSearch, &[0.9]),
            call(ToolName::VectorSearch, &[0.5]),
        ],
        [
            call(ToolName::VectorSearch, &[0.9]),
            call(ToolName::GrepSearch, &[0.9]),
        ],
    ] {
        assert_eq!(approving_rule(&merged, &history, 0, &limits), None);
    }
    let high = [
        call(ToolName::VectorSearch, &[0.9, 0.8]),
        call(ToolName::GrepSearch, &[]),
    ];
    assert!(approving_rule(&merged, &high, 0, &limits).is_some());
}
