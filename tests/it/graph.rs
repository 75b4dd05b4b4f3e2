//! The graph, driven by a scripted reasoner and scripted tools: each requirement of the run.

use std::sync::Arc;

use kb_agent::agent::RunRequest;
use kb_agent::agent::ports::{Caveat, ToolError, UnreadableGrades};
use kb_agent::domain::{
    Complexity, Evidence, GradedBy, LineRange, NodeName, Outcome, QueryType, Quotation,
    RouteReason, RoutingLimits, RoutingPlan, ToolCall, ToolName, Turn,
};
use kb_agent::protocol::{Event, EventBody};

use crate::support::{
    Finished, ReasonerCall, Script, ScriptedReasoner, ScriptedTools, hybrid, item, items, plan_for,
    question_of, run, run_until,
};
use NodeName::{AnalyzeAndRoute, GradeEvidence, Plan, Synthesize, ToolExec};

/// A complex question whose one search finds five items.
fn complex(grades: Vec<Result<Vec<f64>, UnreadableGrades>>) -> Script {
    Script {
        analyses: vec![(plan_for(Complexity::Complex), None)],
        plans: vec![
            vec![hybrid("one")],
            vec![hybrid("two")],
            vec![hybrid("three")],
        ],
        grades,
        answer: vec!["It is ", "so [1]."],
        ..Script::default()
    }
}

/// [`complex`] for a question that is taken another way.
fn routed(complexity: Complexity, grades: Vec<Result<Vec<f64>, UnreadableGrades>>) -> Script {
    Script {
        analyses: vec![(plan_for(complexity), None)],
        ..complex(grades)
    }
}

fn synthesized(items: usize, low: usize, complexity: Complexity) -> ReasonerCall {
    ReasonerCall::Synthesize {
        items,
        low,
        complexity,
    }
}

/// `count` items found by a search.
fn found(count: usize) -> Vec<Evidence> {
    items(count, ToolName::HybridSearch, 0.5)
}

fn finding(items: Vec<(&'static str, Vec<Evidence>)>) -> ScriptedTools {
    ScriptedTools {
        items,
        ..ScriptedTools::default()
    }
}

fn five_items() -> ScriptedTools {
    finding(vec![("one", found(5))])
}

/// The way of a question that is graded once.
const WHOLE: [NodeName; 5] = [AnalyzeAndRoute, Plan, ToolExec, GradeEvidence, Synthesize];

fn read(path: &str) -> ToolCall {
    ToolCall::ReadFile {
        path: path.to_owned(),
        start_line: None,
        end_line: None,
    }
}

fn qa(query: &str) -> ToolCall {
    ToolCall::LocalFileQa {
        query: query.to_owned(),
        path: None,
        field: None,
        value: None,
    }
}

async fn play(script: Script, tools: ScriptedTools) -> (Finished, Arc<ScriptedReasoner>) {
    play_asked(script, tools, question_of("the question")).await
}

async fn play_asked(
    script: Script,
    tools: ScriptedTools,
    question: RunRequest,
) -> (Finished, Arc<ScriptedReasoner>) {
    let (reasoner, limits) = (ScriptedReasoner::new(script), RoutingLimits::default());
    let finished = run(reasoner.clone(), Arc::new(tools), limits, question).await;
    (finished, reasoner)
}

/// [`play`], cancelled as soon as an event satisfies `stop`.
async fn play_until(
    script: Script,
    tools: ScriptedTools,
    stop: impl Fn(&Event) -> bool,
) -> Finished {
    let (reasoner, limits) = (ScriptedReasoner::new(script), RoutingLimits::default());
    run_until(reasoner, Arc::new(tools), limits, question_of("q"), stop).await
}

fn routes(finished: &Finished) -> Vec<(NodeName, NodeName, RouteReason)> {
    picked!(finished, EventBody::RouteDecided { from, to, reason } => (*from, *to, *reason))
        .collect()
}

fn graded(finished: &Finished) -> Vec<(Vec<f64>, f64, &'static str, GradedBy)> {
    picked!(
        finished,
        EventBody::EvidenceGraded { scores, average, action, by } =>
            (scores.iter().map(|s| s.score.value()).collect(), *average, action.as_str(), *by)
    )
    .collect()
}

#[tokio::test]
async fn r01_the_plan_is_reported_and_used() {
    let plan = RoutingPlan {
        query_type: QueryType::Relational,
        complexity: Complexity::Complex,
        sub_questions: vec!["a?".to_owned(), "b?".to_owned()],
        suggested_tools: vec![ToolName::GraphRelated],
        grep_keywords: vec!["PROJ-1".to_owned()],
        ..RoutingPlan::default()
    };
    let script = Script {
        analyses: vec![(plan.clone(), None)],
        ..complex(vec![])
    };
    let (finished, _) = play(script, five_items()).await;
    let reported = picked!(finished, EventBody::RoutingPlan { plan, .. } => plan.clone()).next();
    assert_eq!(reported, Some(plan));
}

#[tokio::test]
async fn r04_a_fallback_analysis_walks_the_whole_path_and_warns() {
    let script = Script {
        analyses: vec![(RoutingPlan::fallback(), None)],
        caveat: Some(Caveat {
            code: "analysis_unreadable",
            message: "the reply held no plan".to_owned(),
        }),
        ..complex(vec![])
    };
    let (finished, _) = play(script, five_items()).await;
    assert_eq!(finished.path(), WHOLE);
    assert_eq!(finished.warnings(), ["analysis_unreadable"]);
}

#[tokio::test]
async fn r05_the_conversation_reaches_the_analysis() {
    let question = RunRequest {
        history: vec![Turn {
            question: "what is the threshold?".to_owned(),
            answer: "0.8".to_owned(),
        }],
        ..question_of("and its default?")
    };
    let (_, reasoner) = play_asked(complex(vec![]), five_items(), question).await;
    let (failed, history) = (vec![], 1);
    assert_eq!(
        reasoner.asked()[0],
        ReasonerCall::Analyze { failed, history }
    );
}

#[tokio::test]
async fn r06_re_entry_knows_what_failed_and_takes_another_tool() {
    // An engine that insists on the same tool and the same call.
    let script = Script {
        plans: vec![vec![hybrid("one")]],
        ..complex(vec![Ok(vec![0.1; 5]), Ok(vec![0.9; 3])])
    };
    let tools = finding(vec![
        ("one", found(5)),
        ("the question", items(3, ToolName::GrepSearch, 0.5)),
    ]);
    let (finished, reasoner) = play(script, tools).await;
    let asked = reasoner.asked();
    assert!(asked.contains(&ReasonerCall::Analyze {
        failed: vec![hybrid("one")],
        history: 0
    }));
    let second_plan = picked!(
        finished, EventBody::RoutingPlan { plan, .. } => plan.suggested_tools.clone()
    )
    .nth(1)
    .unwrap();
    assert_eq!(second_plan[0], ToolName::GrepSearch);
    assert_eq!(finished.warnings(), ["strategy_changed", "plan_fallback"]);
    let called: Vec<_> =
        picked!(finished, EventBody::ToolCalled { call, .. } => call.tool()).collect();
    assert_eq!(called, [ToolName::HybridSearch, ToolName::GrepSearch]);
}

#[tokio::test]
async fn r07_chitchat_goes_straight_to_the_answer() {
    let script = Script {
        analyses: vec![(plan_for(Complexity::Chitchat), Some("Hello!"))],
        ..Script::default()
    };
    let (finished, reasoner) = play(script, ScriptedTools::default()).await;
    assert_eq!(finished.path(), [AnalyzeAndRoute, Synthesize]);
    assert_eq!(finished.fast_paths(), [("chitchat", "chitchat")]);
    assert_eq!(
        routes(&finished),
        [(AnalyzeAndRoute, Synthesize, RouteReason::Chitchat)]
    );
    assert_eq!(finished.text(), "Hello!");
    assert_eq!(finished.calls(), (1, 3));
    assert_eq!(reasoner.asked().len(), 1, "only the analysis was asked");
    let query = picked!(finished, EventBody::FastPathHit { query, .. } => query.clone()).next();
    assert_eq!(query.as_deref(), Some("the question"));
}

#[tokio::test]
async fn r08_simple_skips_grading() {
    let script = routed(Complexity::Simple, vec![]);
    let (finished, _) = play(script, five_items()).await;
    assert_eq!(
        finished.path(),
        [AnalyzeAndRoute, Plan, ToolExec, Synthesize]
    );
    assert_eq!(finished.fast_paths(), [("simple_skip_grading", "simple")]);
    assert_eq!(finished.calls(), (3, 1));
}

#[tokio::test]
async fn r09_complex_runs_the_whole_path() {
    let (finished, _) = play(complex(vec![Ok(vec![0.9; 5])]), five_items()).await;
    assert_eq!(finished.path(), WHOLE);
    assert_eq!(finished.fast_paths(), []);
    assert_eq!(
        finished.names().join(" "),
        "run_started node_entered routing_plan node_finished route_decided node_entered \
         node_finished node_entered tool_called tool_finished evidence_added node_finished \
         route_decided node_entered evidence_graded node_finished route_decided node_entered \
         evidence_numbered answer_delta answer_delta answer_finished node_finished \
         run_finished"
    );
}

#[tokio::test]
async fn r10_reasoning_calls_are_counted_by_route() {
    let chitchat = |reply| Script {
        analyses: vec![(plan_for(Complexity::Chitchat), reply)],
        answer: vec!["Hi."],
        ..Script::default()
    };
    let simple = routed(Complexity::Simple, vec![]);
    let few = finding(vec![("one", found(2))]);
    let refined = complex(vec![Ok(vec![0.5; 5]), Ok(vec![0.9; 5])]);
    for (name, script, tools, calls) in table![
        "chitchat", chitchat(Some("Hi.")), finding(vec![]), (1, 3);
        "without a reply", chitchat(None), finding(vec![]), (2, 2);
        "an empty reply", chitchat(Some(" ")), finding(vec![]), (2, 2);
        "simple", simple, five_items(), (3, 1);
        "complex by a rule", complex(vec![]), few, (3, 1);
        "complex graded", complex(vec![]), five_items(), (4, 0);
        "refined once", refined, five_items(), (6, 0);
    ] {
        let (finished, _) = play(script, tools).await;
        assert_eq!(finished.calls(), calls, "{name}");
        let by_node: u32 = picked!(
            finished, EventBody::NodeFinished { reasoning_calls, .. } => *reasoning_calls
        )
        .sum();
        assert_eq!(by_node, calls.0, "{name}: by node");
    }
}

#[tokio::test]
async fn r11_no_call_is_made_twice() {
    let again = vec![hybrid("one"), hybrid("one")];
    let script = Script {
        plans: vec![again.clone(), again],
        ..complex(vec![Ok(vec![0.5; 5]), Ok(vec![0.9; 5])])
    };
    let (finished, _) = play(script, five_items()).await;
    let called: Vec<_> =
        picked!(finished, EventBody::ToolCalled { call, .. } => call.clone()).collect();
    assert_eq!(called, [hybrid("one"), hybrid("the question")]);
}

#[tokio::test]
async fn r13_calls_run_at_once_and_one_failure_does_not_fail_the_round() {
    let script = Script {
        plans: vec![vec![hybrid("one"), hybrid("broken"), read("../secret")]],
        ..complex(vec![])
    };
    let path = "../secret".to_owned();
    let outside = ToolError::OutsideRoots { path };
    let tools = ScriptedTools {
        failing: vec![
            ("broken", ToolError::Failed("the index is gone".to_owned())),
            ("../secret", outside),
        ],
        // Opens only when all three are running.
        meet: Some(tokio::sync::Barrier::new(3)),
        ..five_items()
    };
    let (finished, reasoner) = play(script, tools).await;
    assert_eq!(finished.outcome(), Outcome::Answered);
    let errors: Vec<_> = picked!(
        finished,
        EventBody::ToolFinished { error: Some(error), items, is_breakdown, .. } => {
            assert_eq!(*is_breakdown, error == "the index is gone", "{error}");
            (*items, error.clone())
        }
    )
    .collect();
    assert_eq!(errors.len(), 2);
    assert!(errors.iter().all(|(items, _)| *items == 0));
    assert!(errors.iter().any(|(_, line)| line == "the index is gone"));
    let graded = ReasonerCall::Grade { items: 5 };
    assert!(reasoner.asked().contains(&graded), "errors are no evidence");
}

#[tokio::test]
async fn r14_evidence_is_merged_and_numbered_in_the_order_of_the_plan() {
    let script = Script {
        plans: vec![vec![hybrid("one"), hybrid("two")]],
        ..complex(vec![])
    };
    let tools = finding(vec![
        ("one", found(3)),
        ("two", items(4, ToolName::HybridSearch, 0.6)),
    ]);
    let (finished, _) = play(script, tools).await;
    let added = picked!(finished, EventBody::EvidenceAdded { items } => items.clone())
        .next()
        .unwrap();
    let shape = added.iter().map(|i| (i.id.0.as_str(), i.lines.start));
    let shape: Vec<_> = shape.collect();
    assert_eq!(shape, [("e1", 1), ("e2", 11), ("e3", 21), ("e4", 31)]);
}

#[tokio::test]
async fn r15_no_evidence_is_re_retrieved_before_any_rule() {
    let script = Script {
        plans: vec![vec![qa("nothing")], vec![hybrid("one")]],
        ..complex(vec![Ok(vec![0.9; 5])])
    };
    let (finished, _) = play(script, five_items()).await;
    let verdicts = graded(&finished);
    assert_eq!(
        verdicts[0],
        (vec![], 0.0, "RE_RETRIEVE", GradedBy::NoEvidence)
    );
    assert_eq!(verdicts[1].2, "GENERATE");
    assert_eq!(finished.path(), [&WHOLE[..4], &WHOLE].concat());
}

#[tokio::test]
async fn r16_each_rule_approves_without_a_grading_call() {
    use ToolName::{HybridSearch, LocalFileQa, ReadFile, VectorSearch};
    let vector = || ToolCall::VectorSearch {
        query: "one".to_owned(),
        k: None,
    };
    for (rule, calls, (count, tool, score)) in table![
        "local_file_qa", vec![hybrid("none"), qa("one")], (5, LocalFileQa, 0.2);
        "read_file", vec![read("one"), read("none")], (5, ReadFile, 1.0);
        "few_context", vec![hybrid("one")], (2, HybridSearch, 0.1);
        "high_vector_score", vec![vector()], (5, VectorSearch, 0.8);
    ] {
        let script = Script {
            plans: vec![calls],
            ..complex(vec![])
        };
        let tools = finding(vec![("one", items(count, tool, score))]);
        let (finished, reasoner) = play(script, tools).await;
        assert_eq!(finished.fast_paths(), [("rule_auto_approve", rule)]);
        let verdict = &graded(&finished)[0];
        let whole = |score: &f64| (score - 1.0).abs() < f64::EPSILON;
        assert!(verdict.0.iter().all(whole));
        assert_eq!((verdict.2, verdict.3.as_str()), ("GENERATE", rule));
        assert!(!verdict.3.is_measured(), "a rule measures nothing");
        let is_asked = |asked: &ReasonerCall| matches!(asked, ReasonerCall::Grade { .. });
        assert!(!reasoner.asked().iter().any(is_asked));
        assert_eq!(finished.calls(), (3, 1));
    }
}

#[tokio::test]
async fn r17_all_items_are_graded_in_one_call() {
    let many = finding(vec![("one", found(40))]);
    let (finished, reasoner) = play(complex(vec![]), many).await;
    let mut grades = reasoner.asked();
    grades.retain(|asked| matches!(asked, ReasonerCall::Grade { .. }));
    assert_eq!(grades, [ReasonerCall::Grade { items: 40 }]);
    assert_eq!(graded(&finished)[0].0.len(), 40);
}

#[tokio::test]
async fn r18_wrong_length_scores_fall_back() {
    for (reply, reason) in [
        (Ok(vec![0.9; 4]), "4 numbers for 5 items"),
        (Ok(vec![0.9; 6]), "6 numbers for 5 items"),
        (Ok(vec![]), "0 numbers for 5 items"),
        (Ok(vec![0.9, f64::NAN, 0.9, 0.9, 0.9]), "finite"),
        (Ok(vec![f64::INFINITY; 5]), "finite"),
        (Err(UnreadableGrades("prose".to_owned())), "prose"),
    ] {
        let (finished, _) = play(complex(vec![reply]), five_items()).await;
        let verdict = graded(&finished)[0].clone();
        assert_eq!(verdict, (vec![0.5; 5], 0.5, "REFINE", GradedBy::Fallback));
        assert!(finished.warnings().contains(&"grade_unreadable"));
        let message = picked!(
            finished, EventBody::Warning { message, .. } => message.clone()
        )
        .next();
        assert!(message.unwrap().contains(reason));
    }
}

#[tokio::test]
async fn r18_numbers_outside_are_clamped_with_a_warning() {
    let script = complex(vec![Ok(vec![7.0, -3.0, 0.9, 0.9, 1e300])]);
    let (finished, _) = play(script, five_items()).await;
    let verdict = graded(&finished)[0].clone();
    assert_eq!(verdict.0, [1.0, 0.0, 0.9, 0.9, 1.0]);
    assert_eq!(verdict.3, GradedBy::Grader);
    assert_eq!(finished.warnings(), ["grade_clamped"]);
}

#[tokio::test]
async fn r19_r20_low_items_leave_first_and_each_is_reported() {
    let two_of = vec![0.9, 0.1, 0.9, 0.29, 0.3];
    let (finished, reasoner) = play(complex(vec![Ok(two_of)]), five_items()).await;
    let removed: Vec<_> = picked!(
        finished, EventBody::EvidenceRemoved { id, score, .. } => (id.0.clone(), score.value())
    )
    .collect();
    assert_eq!(removed, [("e2".to_owned(), 0.1), ("e4".to_owned(), 0.29)]);
    let verdict = &graded(&finished)[0];
    assert!(
        (verdict.1 - 0.7).abs() < 1e-9,
        "the average is over what remains"
    );
    assert_eq!(verdict.2, "GENERATE");
    assert!(
        reasoner
            .asked()
            .contains(&synthesized(3, 0, Complexity::Complex))
    );
}

#[tokio::test]
async fn r21_refine_keeps_the_good_and_plans_again() {
    let refined = complex(vec![Ok(vec![0.5, 0.5, 0.1, 0.1, 0.1]), Ok(vec![0.8; 4])]);
    let tools = finding(vec![
        ("one", found(5)),
        (
            "two",
            [101, 121]
                .map(|at| item(at, ToolName::GrepSearch, 0.5))
                .into(),
        ),
    ]);
    let (finished, reasoner) = play(refined, tools).await;
    assert_eq!(finished.path(), [&WHOLE[..4], &WHOLE[1..]].concat());
    let asked = reasoner.asked();
    let (refine, kept) = (true, 2);
    assert!(asked.contains(&ReasonerCall::Plan { refine, kept }));
    let both = ReasonerCall::Grade { items: 4 };
    assert!(asked.contains(&both), "kept and new together");
    let routes = routes(&finished);
    let reasons: Vec<_> = routes.iter().map(|(_, _, r)| r.as_str()).collect();
    assert_eq!(
        reasons,
        ["complex", "complex", "REFINE", "complex", "GENERATE"]
    );
}

#[tokio::test]
async fn r21_re_retrieve_returns_to_the_analysis() {
    let script = complex(vec![Ok(vec![0.1; 5]), Ok(vec![0.9; 5])]);
    let tools = finding(vec![("one", found(5)), ("two", found(5))]);
    let (finished, _) = play(script, tools).await;
    assert!(routes(&finished).contains(&(GradeEvidence, AnalyzeAndRoute, RouteReason::ReRetrieve)));
    assert_eq!(finished.outcome(), Outcome::Answered);
}

#[tokio::test]
async fn r22_the_cap_ends_every_loop_and_the_best_discarded_come_back_low() {
    let script = complex(vec![Ok(vec![0.1, 0.2, 0.05, 0.15, 0.0])]);
    let tools = finding(vec![
        ("one", found(5)),
        ("two", found(5)),
        ("three", found(5)),
    ]);
    let (finished, reasoner) = play(script, tools).await;
    let reason = routes(&finished).last().unwrap().2;
    assert_eq!(reason, RouteReason::MaxIterations);
    assert_eq!(graded(&finished).len(), 3);
    let back = picked!(finished, EventBody::EvidenceAdded { items } => items.clone())
        .next_back()
        .unwrap();
    assert!(back.iter().all(|item| item.low));
    let starts: Vec<_> = back.iter().map(|item| item.lines.start).collect();
    assert_eq!(starts, [11, 31, 1], "best grade first, each passage once");
    assert_eq!(
        reasoner.asked().last(),
        Some(&synthesized(3, 3, Complexity::Complex))
    );
}

#[tokio::test]
async fn r22_the_cap_is_a_setting() {
    let limits = RoutingLimits {
        max_iterations: 1,
        ..RoutingLimits::default()
    };
    let reasoner = ScriptedReasoner::new(complex(vec![Ok(vec![0.5; 5])]));
    let finished = run(reasoner, Arc::new(five_items()), limits, question_of("q")).await;
    assert_eq!(finished.path(), WHOLE);
    let reason = routes(&finished).last().unwrap().2;
    assert_eq!(reason, RouteReason::MaxIterations);
}

#[tokio::test]
async fn r23_citations_map_to_lines_and_strays_are_removed() {
    let script = Script {
        answer: vec!["It is so [", "2", "], not [9].", "\u{1b}[2J"],
        ..complex(vec![Ok(vec![0.9; 5])])
    };
    let (finished, _) = play(script, five_items()).await;
    assert_eq!(finished.text(), "It is so [2], not.");
    let citations = &finished.answer.as_ref().unwrap().citations;
    assert_eq!(citations.len(), 1);
    assert_eq!((citations[0].n, citations[0].lines.start), (2, 11));
    assert_eq!(finished.warnings(), ["citation_removed"]);
}

/// An answer that cites items 4 and 2, quotes of both, and is likely.
fn quoting(at_once: bool) -> Script {
    let quoted = |n, start| Quotation {
        n,
        lines: LineRange { start, end: start },
    };
    Script {
        answer: vec!["See [", "4] and `x[2]`.\n\nThen [2, 9] ", "and [4]."],
        at_once,
        confidence: Some(0.89951),
        quoted: vec![quoted(2, 11), quoted(4, 31)],
        ..complex(vec![Ok(vec![0.9; 5])])
    }
}

#[tokio::test]
async fn r23_an_answer_that_is_there_at_once_numbers_what_it_cites_by_first_use() {
    let (finished, _) = play(quoting(true), five_items()).await;
    let answer = finished.answer.as_ref().unwrap();
    assert_eq!(answer.text, "See [1] and `x[2]`.\n\nThen [2] and [1].");
    let cited: Vec<_> = answer
        .citations
        .iter()
        .map(|one| (one.n, one.lines.start, one.quoted.len()))
        .collect();
    assert_eq!(cited, [(1, 31, 1), (2, 11, 1)]);
    assert!(answer.citations.iter().all(|one| one.quoted == [one.lines]));
    let names = finished.names();
    let at = |name| names.iter().position(|known| *known == name).unwrap();
    assert!(at("evidence_numbered") < at("answer_delta"));
    let EventBody::EvidenceNumbered { items } = finished.bodies()[at("evidence_numbered")] else {
        panic!();
    };
    let ids: Vec<_> = items.iter().map(|item| &*item.id.0).collect();
    let EventBody::EvidenceAdded { items } = finished.bodies()[at("evidence_added")] else {
        panic!();
    };
    let by_use: Vec<_> = [3, 1, 0, 2, 4]
        .map(|place: usize| &*items[place].id.0)
        .into();
    assert_eq!(ids, by_use);
    assert_eq!(finished.warnings(), ["citation_removed"]);
}

#[tokio::test]
async fn r23_the_numbers_of_a_prompt_stay_as_they_are() {
    let (finished, _) = play(quoting(false), five_items()).await;
    let answer = finished.answer.as_ref().unwrap();
    assert_eq!(answer.text, "See [4] and `x[2]`.\n\nThen [2] and [4].");
    let cited: Vec<_> = answer.citations.iter().map(|one| one.n).collect();
    assert_eq!(cited, [4, 2]);
    assert!(answer.citations.iter().all(|one| one.quoted == [one.lines]));
}

#[tokio::test]
async fn r23_confidence_is_told_where_it_was_measured_and_older_lines_have_none() {
    let finished_line = async |confidence| {
        let script = Script {
            confidence,
            ..complex(vec![])
        };
        let (finished, _) = play(script, five_items()).await;
        let is_it = |event: &&Event| event.body.name() == "answer_finished";
        let event = finished.events.iter().find(is_it).unwrap();
        serde_json::to_value(event).unwrap()
    };
    let line = finished_line(Some(0.89951)).await;
    assert_eq!(line["confidence"], 0.9);
    assert_eq!(line["confidence_level"], "sure");
    let line = finished_line(None).await;
    assert!(line.get("confidence").is_none() && line.get("confidence_level").is_none());
    assert!(line["citations"][0].get("quoted").is_none());
    let event: Event = serde_json::from_value(line).unwrap();
    let EventBody::AnswerFinished { confidence, .. } = event.body else {
        panic!();
    };
    assert_eq!(confidence, None);
}

#[tokio::test]
async fn r23_nothing_found_is_said_without_a_call() {
    for (complexity, calls) in [(Complexity::Simple, (2, 2)), (Complexity::Complex, (6, 4))] {
        let script = routed(complexity, vec![]);
        let (finished, reasoner) = play(script, ScriptedTools::default()).await;
        assert_eq!(finished.outcome(), Outcome::NotFound);
        let nothing = "Nothing was found in the knowledge base.";
        assert!(finished.text().starts_with(nothing));
        assert_eq!(finished.calls(), calls);
        let is_asked = |asked: &ReasonerCall| matches!(asked, ReasonerCall::Synthesize { .. });
        assert!(!reasoner.asked().iter().any(is_asked));
    }
}

#[tokio::test]
async fn r24_chitchat_is_answered_from_the_conversation_alone() {
    let script = Script {
        analyses: vec![(plan_for(Complexity::Chitchat), None)],
        answer: vec!["Hi [1], ", "nice to meet you."],
        ..Script::default()
    };
    let (finished, reasoner) = play(script, five_items()).await;
    // Brackets mean nothing here.
    assert_eq!(finished.text(), "Hi [1], nice to meet you.");
    assert!(finished.answer.as_ref().unwrap().citations.is_empty());
    assert_eq!(
        reasoner.asked().last(),
        Some(&synthesized(0, 0, Complexity::Chitchat))
    );
}

#[tokio::test]
async fn forced_routes_are_taken_and_reported() {
    use Complexity::{Chitchat, Complex, Simple};
    for (analysed, forced, path) in table![
        Complex, Chitchat, vec![AnalyzeAndRoute, Synthesize];
        Chitchat, Simple, vec![AnalyzeAndRoute, Plan, ToolExec, Synthesize];
        Simple, Complex, WHOLE.to_vec();
    ] {
        let script = routed(analysed, vec![]);
        let question = RunRequest {
            route: Some(forced),
            ..question_of("q")
        };
        let (finished, _) = play_asked(script, five_items(), question).await;
        assert_eq!(finished.path(), path);
        assert_eq!(routes(&finished)[0].2, RouteReason::Forced);
    }
}

#[tokio::test]
async fn a_run_can_be_cancelled_in_every_node() {
    for node in [AnalyzeAndRoute, Plan, GradeEvidence, Synthesize] {
        let script = Script {
            hang_at: Some(node),
            ..complex(vec![])
        };
        let entered = |event: &Event| matches!(&event.body, EventBody::NodeEntered { node: n, .. } if *n == node);
        let finished = play_until(script, five_items(), entered).await;
        assert_eq!(finished.outcome(), Outcome::Cancelled, "{node}");
        assert_eq!(finished.path().last(), Some(&node));
        assert!(finished.answer.is_none());
    }
}

#[tokio::test]
async fn a_run_can_be_cancelled_while_tools_run() {
    let tools = ScriptedTools {
        // No one else comes: the tool never returns.
        meet: Some(tokio::sync::Barrier::new(2)),
        ..five_items()
    };
    let called = |event: &Event| matches!(event.body, EventBody::ToolCalled { .. });
    let finished = play_until(complex(vec![]), tools, called).await;
    assert_eq!(finished.outcome(), Outcome::Cancelled);
    assert_eq!(finished.path().last(), Some(&ToolExec));
}

#[tokio::test]
async fn a_run_that_fails_says_why_and_closes_its_stream() {
    for node in [AnalyzeAndRoute, Plan, GradeEvidence, Synthesize] {
        let script = Script {
            fail_at: Some(node),
            ..complex(vec![])
        };
        let (finished, reasoner) = play(script, five_items()).await;
        assert_eq!(finished.outcome(), Outcome::Failed);
        let Some(EventBody::RunFinished {
            error,
            reasoning_calls,
            ..
        }) = finished.bodies().pop()
        else {
            panic!("no end");
        };
        assert_eq!(*error, Some(format!("no answer in {node}")));
        let asked = reasoner.asked().len();
        assert_eq!(*reasoning_calls as usize, asked, "a lost call counts");
    }
}

#[tokio::test]
async fn tokens_are_added_up_where_they_are_counted() {
    let (finished, _) = play(complex(vec![]), five_items()).await;
    let Some(EventBody::RunFinished {
        prompt_tokens,
        completion_tokens,
        ..
    }) = finished.bodies().pop()
    else {
        panic!("no end");
    };
    assert_eq!((*prompt_tokens, *completion_tokens), (100, 10));
}

#[tokio::test]
async fn r28_grading_and_answering_stay_apart_and_nothing_runs_ahead() {
    let (finished, reasoner) = play(complex(vec![Ok(vec![0.9; 5])]), five_items()).await;
    let jobs: Vec<_> = reasoner
        .asked()
        .iter()
        .map(|asked| match asked {
            ReasonerCall::Analyze { .. } => AnalyzeAndRoute,
            ReasonerCall::Plan { .. } => Plan,
            ReasonerCall::Grade { .. } => GradeEvidence,
            ReasonerCall::Synthesize { .. } => Synthesize,
        })
        .collect();
    assert_eq!(jobs, [AnalyzeAndRoute, Plan, GradeEvidence, Synthesize]);
    let names = finished.names();
    let graded = names.iter().position(|name| *name == "evidence_graded");
    let first_word = names.iter().position(|name| *name == "answer_delta");
    assert!(graded < first_word, "no word before the verdict");
}

#[tokio::test]
async fn r09_a_question_that_failed_once_is_graded_the_second_time() {
    let script = Script {
        analyses: vec![
            (plan_for(Complexity::Complex), None),
            (plan_for(Complexity::Simple), None),
        ],
        ..complex(vec![Ok(vec![0.1; 5]), Ok(vec![0.9; 5])])
    };
    let tools = finding(vec![("one", found(5)), ("two", found(5))]);
    let (finished, _) = play(script, tools).await;
    assert_eq!(graded(&finished).len(), 2);
}

#[tokio::test]
async fn a_slow_reader_that_cancels_sees_no_gap() {
    use kb_agent::agent::Agent;
    use kb_agent::agent::ports::Ports;
    use tokio::sync::mpsc;
    use tokio_util::sync::CancellationToken;
    let script = Script {
        answer: vec!["word "; 400],
        ..complex(vec![Ok(vec![0.9; 5])])
    };
    let agent = Agent {
        ports: Ports {
            reasoner: ScriptedReasoner::new(script),
            tools: Arc::new(five_items()),
        },
        limits: RoutingLimits::default(),
        session: "session".to_owned(),
    };
    // One place only: the run is always waiting to send when the token fires.
    let (sender, mut receiver) = mpsc::channel(1);
    let cancel = CancellationToken::new();
    let running = agent.answer(question_of("q"), sender, cancel.clone());
    let reading = async {
        let mut events = Vec::new();
        while let Some(event) = receiver.recv().await {
            if events.len() == 60 {
                cancel.cancel();
                // Lets the run see the token while its next event waits for a place.
                tokio::task::yield_now().await;
            }
            events.push(event);
        }
        events
    };
    let (_, events) = tokio::join!(running, reading);
    crate::support::check_stream(&events);
}
