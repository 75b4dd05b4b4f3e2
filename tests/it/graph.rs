//! The graph, driven by a scripted reasoner and scripted tools: each requirement of the run.

use std::sync::Arc;

use kb_agent::agent::RunRequest;
use kb_agent::agent::ports::{Caveat, ToolError, UnreadableGrades};
use kb_agent::domain::{
    Complexity, GradedBy, LineRange, NodeName, Outcome, QueryType, Quotation, RouteReason,
    RoutingLimits, RoutingPlan, ToolCall, ToolName, Turn,
};
use kb_agent::protocol::{Event, EventBody};

use crate::support::{
    Finished, ReasonerCall, Script, ScriptedReasoner, ScriptedTools, hybrid, item, items, plan_for,
    run, run_until,
};
use NodeName::{AnalyzeAndRoute, GradeEvidence, Plan, Synthesize, ToolExec};

fn ask(query: &str) -> RunRequest {
    RunRequest {
        query: query.to_owned(),
        ..RunRequest::default()
    }
}

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

fn five_items() -> ScriptedTools {
    ScriptedTools {
        items: vec![("one", items(5, ToolName::HybridSearch, 0.5))],
        ..ScriptedTools::default()
    }
}

async fn play(script: Script, tools: ScriptedTools) -> (Finished, Arc<ScriptedReasoner>) {
    let reasoner = ScriptedReasoner::new(script);
    let finished = run(
        reasoner.clone(),
        Arc::new(tools),
        RoutingLimits::default(),
        ask("the question"),
    )
    .await;
    (finished, reasoner)
}

fn routes(finished: &Finished) -> Vec<(NodeName, NodeName, RouteReason)> {
    finished
        .bodies()
        .into_iter()
        .filter_map(|body| match body {
            EventBody::RouteDecided { from, to, reason } => Some((*from, *to, *reason)),
            _ => None,
        })
        .collect()
}

fn graded(finished: &Finished) -> Vec<(Vec<f64>, f64, &'static str, GradedBy)> {
    finished
        .bodies()
        .into_iter()
        .filter_map(|body| match body {
            EventBody::EvidenceGraded {
                scores,
                average,
                action,
                by,
            } => Some((
                scores.iter().map(|s| s.score.value()).collect(),
                *average,
                action.as_str(),
                *by,
            )),
            _ => None,
        })
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
    let reported = finished.bodies().into_iter().find_map(|body| match body {
        EventBody::RoutingPlan { plan, .. } => Some(plan.clone()),
        _ => None,
    });
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
    assert_eq!(
        finished.path(),
        [AnalyzeAndRoute, Plan, ToolExec, GradeEvidence, Synthesize]
    );
    assert_eq!(finished.warnings(), ["analysis_unreadable"]);
}

#[tokio::test]
async fn r05_the_conversation_reaches_the_analysis() {
    let reasoner = ScriptedReasoner::new(complex(vec![]));
    let question = RunRequest {
        history: vec![Turn {
            question: "what is the threshold?".to_owned(),
            answer: "0.8".to_owned(),
        }],
        ..ask("and its default?")
    };
    run(
        reasoner.clone(),
        Arc::new(five_items()),
        RoutingLimits::default(),
        question,
    )
    .await;
    assert_eq!(
        reasoner.asked()[0],
        ReasonerCall::Analyze {
            failed: vec![],
            history: 1
        }
    );
}

#[tokio::test]
async fn r06_re_entry_knows_what_failed_and_takes_another_tool() {
    // An engine that insists on the same tool and the same call.
    let script = Script {
        plans: vec![vec![hybrid("one")]],
        ..complex(vec![Ok(vec![0.1; 5]), Ok(vec![0.9; 3])])
    };
    let tools = ScriptedTools {
        items: vec![
            ("one", items(5, ToolName::HybridSearch, 0.5)),
            ("the question", items(3, ToolName::GrepSearch, 0.5)),
        ],
        ..ScriptedTools::default()
    };
    let (finished, reasoner) = play(script, tools).await;
    let asked = reasoner.asked();
    assert!(asked.contains(&ReasonerCall::Analyze {
        failed: vec![hybrid("one")],
        history: 0
    }));
    let second_plan = finished
        .bodies()
        .into_iter()
        .filter_map(|body| match body {
            EventBody::RoutingPlan { plan, .. } => Some(plan.suggested_tools.clone()),
            _ => None,
        })
        .nth(1)
        .unwrap();
    assert_eq!(second_plan[0], ToolName::GrepSearch);
    assert_eq!(finished.warnings(), ["strategy_changed", "plan_fallback"]);
    let called: Vec<_> = finished
        .bodies()
        .into_iter()
        .filter_map(|body| match body {
            EventBody::ToolCalled { call } => Some(call.tool()),
            _ => None,
        })
        .collect();
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
    let query = finished.bodies().into_iter().find_map(|body| match body {
        EventBody::FastPathHit { query, .. } => Some(query.clone()),
        _ => None,
    });
    assert_eq!(query.as_deref(), Some("the question"));
}

#[tokio::test]
async fn r08_simple_skips_grading() {
    let script = Script {
        analyses: vec![(plan_for(Complexity::Simple), None)],
        ..complex(vec![])
    };
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
    assert_eq!(
        finished.path(),
        [AnalyzeAndRoute, Plan, ToolExec, GradeEvidence, Synthesize]
    );
    assert_eq!(finished.fast_paths(), []);
    assert_eq!(
        finished.names(),
        [
            "run_started",
            "node_entered",
            "routing_plan",
            "node_finished",
            "route_decided",
            "node_entered",
            "node_finished",
            "node_entered",
            "tool_called",
            "tool_finished",
            "evidence_added",
            "node_finished",
            "route_decided",
            "node_entered",
            "evidence_graded",
            "node_finished",
            "route_decided",
            "node_entered",
            "evidence_numbered",
            "answer_delta",
            "answer_delta",
            "answer_finished",
            "node_finished",
            "run_finished",
        ]
    );
}

#[tokio::test]
async fn r10_reasoning_calls_are_counted_by_route() {
    let chitchat = |reply| Script {
        analyses: vec![(plan_for(Complexity::Chitchat), reply)],
        answer: vec!["Hi."],
        ..Script::default()
    };
    let simple = Script {
        analyses: vec![(plan_for(Complexity::Simple), None)],
        ..complex(vec![])
    };
    let few = ScriptedTools {
        items: vec![("one", items(2, ToolName::HybridSearch, 0.5))],
        ..ScriptedTools::default()
    };
    for (name, script, tools, calls) in [
        (
            "chitchat",
            chitchat(Some("Hi.")),
            ScriptedTools::default(),
            (1, 3),
        ),
        (
            "chitchat without a reply",
            chitchat(None),
            ScriptedTools::default(),
            (2, 2),
        ),
        (
            "chitchat with an empty reply",
            chitchat(Some(" ")),
            ScriptedTools::default(),
            (2, 2),
        ),
        ("simple", simple, five_items(), (3, 1)),
        ("complex by a rule", complex(vec![]), few, (3, 1)),
        ("complex graded", complex(vec![]), five_items(), (4, 0)),
        (
            "refined once",
            complex(vec![Ok(vec![0.5; 5]), Ok(vec![0.9; 5])]),
            five_items(),
            (6, 0),
        ),
    ] {
        let (finished, _) = play(script, tools).await;
        assert_eq!(finished.calls(), calls, "{name}");
        let by_node: u32 = finished
            .bodies()
            .into_iter()
            .filter_map(|body| match body {
                EventBody::NodeFinished {
                    reasoning_calls, ..
                } => Some(*reasoning_calls),
                _ => None,
            })
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
    let called: Vec<_> = finished
        .bodies()
        .into_iter()
        .filter_map(|body| match body {
            EventBody::ToolCalled { call } => Some(call.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(called, [hybrid("one"), hybrid("the question")]);
}

#[tokio::test]
async fn r13_calls_run_at_once_and_one_failure_does_not_fail_the_round() {
    let script = Script {
        plans: vec![vec![
            hybrid("one"),
            hybrid("broken"),
            ToolCall::ReadFile {
                path: "../secret".to_owned(),
                start_line: None,
                end_line: None,
            },
        ]],
        ..complex(vec![])
    };
    let tools = ScriptedTools {
        failing: vec![
            ("broken", ToolError::Failed("the index is gone".to_owned())),
            (
                "../secret",
                ToolError::OutsideRoots {
                    path: "../secret".to_owned(),
                },
            ),
        ],
        // Opens only when all three are running.
        meet: Some(tokio::sync::Barrier::new(3)),
        ..five_items()
    };
    let (finished, reasoner) = play(script, tools).await;
    assert_eq!(finished.outcome(), Outcome::Answered);
    let errors: Vec<_> = finished
        .bodies()
        .into_iter()
        .filter_map(|body| match body {
            EventBody::ToolFinished {
                error: Some(error),
                items,
                ..
            } => Some((*items, error.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(errors.len(), 2);
    assert!(errors.iter().all(|(items, _)| *items == 0));
    assert!(errors.iter().any(|(_, line)| line == "the index is gone"));
    assert!(
        reasoner.asked().contains(&ReasonerCall::Grade { items: 5 }),
        "errors are no evidence"
    );
}

#[tokio::test]
async fn r14_evidence_is_merged_and_numbered_in_the_order_of_the_plan() {
    let script = Script {
        plans: vec![vec![hybrid("one"), hybrid("two")]],
        ..complex(vec![])
    };
    let tools = ScriptedTools {
        items: vec![
            ("one", items(3, ToolName::HybridSearch, 0.5)),
            ("two", items(4, ToolName::HybridSearch, 0.6)),
        ],
        ..ScriptedTools::default()
    };
    let (finished, _) = play(script, tools).await;
    let added = finished
        .bodies()
        .into_iter()
        .find_map(|body| match body {
            EventBody::EvidenceAdded { items } => Some(items.clone()),
            _ => None,
        })
        .unwrap();
    let shape: Vec<_> = added
        .iter()
        .map(|i| (i.id.0.as_str(), i.lines.start))
        .collect();
    assert_eq!(shape, [("e1", 1), ("e2", 11), ("e3", 21), ("e4", 31)]);
}

#[tokio::test]
async fn r15_no_evidence_is_re_retrieved_before_any_rule() {
    let script = Script {
        plans: vec![
            vec![ToolCall::LocalFileQa {
                query: "nothing".to_owned(),
                path: None,
                field: None,
                value: None,
            }],
            vec![hybrid("one")],
        ],
        ..complex(vec![Ok(vec![0.9; 5])])
    };
    let (finished, _) = play(script, five_items()).await;
    let verdicts = graded(&finished);
    assert_eq!(
        verdicts[0],
        (vec![], 0.0, "RE_RETRIEVE", GradedBy::NoEvidence)
    );
    assert_eq!(verdicts[1].2, "GENERATE");
    assert_eq!(
        finished.path(),
        [
            AnalyzeAndRoute,
            Plan,
            ToolExec,
            GradeEvidence,
            AnalyzeAndRoute,
            Plan,
            ToolExec,
            GradeEvidence,
            Synthesize
        ]
    );
}

#[tokio::test]
async fn r16_each_rule_approves_without_a_grading_call() {
    let read = |path: &str| ToolCall::ReadFile {
        path: path.to_owned(),
        start_line: None,
        end_line: None,
    };
    let vector = || ToolCall::VectorSearch {
        query: "one".to_owned(),
        k: None,
    };
    let qa = || ToolCall::LocalFileQa {
        query: "one".to_owned(),
        path: None,
        field: None,
        value: None,
    };
    for (rule, calls, found) in [
        (
            "local_file_qa",
            vec![hybrid("none"), qa()],
            items(5, ToolName::LocalFileQa, 0.2),
        ),
        (
            "read_file",
            vec![read("one"), read("none")],
            items(5, ToolName::ReadFile, 1.0),
        ),
        (
            "few_context",
            vec![hybrid("one")],
            items(2, ToolName::HybridSearch, 0.1),
        ),
        (
            "high_vector_score",
            vec![vector()],
            items(5, ToolName::VectorSearch, 0.8),
        ),
    ] {
        let script = Script {
            plans: vec![calls],
            ..complex(vec![])
        };
        let tools = ScriptedTools {
            items: vec![("one", found)],
            ..ScriptedTools::default()
        };
        let (finished, reasoner) = play(script, tools).await;
        assert_eq!(finished.fast_paths(), [("rule_auto_approve", rule)]);
        let verdict = &graded(&finished)[0];
        assert!(
            verdict
                .0
                .iter()
                .all(|score| (*score - 1.0).abs() < f64::EPSILON)
        );
        assert_eq!((verdict.2, verdict.3.as_str()), ("GENERATE", rule));
        assert!(!verdict.3.is_measured(), "a rule measures nothing");
        assert!(
            !reasoner
                .asked()
                .iter()
                .any(|a| matches!(a, ReasonerCall::Grade { .. }))
        );
        assert_eq!(finished.calls(), (3, 1));
    }
}

#[tokio::test]
async fn r17_all_items_are_graded_in_one_call() {
    let many = ScriptedTools {
        items: vec![("one", items(40, ToolName::HybridSearch, 0.5))],
        ..ScriptedTools::default()
    };
    let (finished, reasoner) = play(complex(vec![]), many).await;
    let grades: Vec<_> = reasoner
        .asked()
        .into_iter()
        .filter(|asked| matches!(asked, ReasonerCall::Grade { .. }))
        .collect();
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
        let message = finished.bodies().into_iter().find_map(|body| match body {
            EventBody::Warning { message, .. } => Some(message.clone()),
            _ => None,
        });
        assert!(message.unwrap().contains(reason));
    }
}

#[tokio::test]
async fn r18_numbers_outside_are_clamped_with_a_warning() {
    let (finished, _) = play(
        complex(vec![Ok(vec![7.0, -3.0, 0.9, 0.9, 1e300])]),
        five_items(),
    )
    .await;
    let verdict = graded(&finished)[0].clone();
    assert_eq!(verdict.0, [1.0, 0.0, 0.9, 0.9, 1.0]);
    assert_eq!(verdict.3, GradedBy::Grader);
    assert_eq!(finished.warnings(), ["grade_clamped"]);
}

#[tokio::test]
async fn r19_r20_low_items_leave_first_and_each_is_reported() {
    let two_of = vec![0.9, 0.1, 0.9, 0.29, 0.3];
    let (finished, reasoner) = play(complex(vec![Ok(two_of)]), five_items()).await;
    let removed: Vec<_> = finished
        .bodies()
        .into_iter()
        .filter_map(|body| match body {
            EventBody::EvidenceRemoved { id, score, .. } => Some((id.0.clone(), score.value())),
            _ => None,
        })
        .collect();
    assert_eq!(removed, [("e2".to_owned(), 0.1), ("e4".to_owned(), 0.29)]);
    let verdict = &graded(&finished)[0];
    assert!(
        (verdict.1 - 0.7).abs() < 1e-9,
        "the average is over what remains"
    );
    assert_eq!(verdict.2, "GENERATE");
    assert!(reasoner.asked().contains(&ReasonerCall::Synthesize {
        items: 3,
        low: 0,
        complexity: Complexity::Complex
    }));
}

#[tokio::test]
async fn r21_refine_keeps_the_good_and_plans_again() {
    let refined = complex(vec![Ok(vec![0.5, 0.5, 0.1, 0.1, 0.1]), Ok(vec![0.8; 4])]);
    let tools = ScriptedTools {
        items: vec![
            ("one", items(5, ToolName::HybridSearch, 0.5)),
            (
                "two",
                vec![
                    item(101, ToolName::GrepSearch, 0.5),
                    item(121, ToolName::GrepSearch, 0.5),
                ],
            ),
        ],
        ..ScriptedTools::default()
    };
    let (finished, reasoner) = play(refined, tools).await;
    assert_eq!(
        finished.path(),
        [
            AnalyzeAndRoute,
            Plan,
            ToolExec,
            GradeEvidence,
            Plan,
            ToolExec,
            GradeEvidence,
            Synthesize
        ]
    );
    assert!(reasoner.asked().contains(&ReasonerCall::Plan {
        refine: true,
        kept: 2
    }));
    assert!(
        reasoner.asked().contains(&ReasonerCall::Grade { items: 4 }),
        "kept and new together"
    );
    let reasons: Vec<_> = routes(&finished)
        .into_iter()
        .map(|(_, _, r)| r.as_str())
        .collect();
    assert_eq!(
        reasons,
        ["complex", "complex", "REFINE", "complex", "GENERATE"]
    );
}

#[tokio::test]
async fn r21_re_retrieve_returns_to_the_analysis() {
    let script = complex(vec![Ok(vec![0.1; 5]), Ok(vec![0.9; 5])]);
    let tools = ScriptedTools {
        items: vec![
            ("one", items(5, ToolName::HybridSearch, 0.5)),
            ("two", items(5, ToolName::HybridSearch, 0.5)),
        ],
        ..ScriptedTools::default()
    };
    let (finished, _) = play(script, tools).await;
    assert!(routes(&finished).contains(&(GradeEvidence, AnalyzeAndRoute, RouteReason::ReRetrieve)));
    assert_eq!(finished.outcome(), Outcome::Answered);
}

#[tokio::test]
async fn r22_the_cap_ends_every_loop_and_the_best_discarded_come_back_low() {
    let script = complex(vec![Ok(vec![0.1, 0.2, 0.05, 0.15, 0.0])]);
    let tools = ScriptedTools {
        items: vec![
            ("one", items(5, ToolName::HybridSearch, 0.5)),
            ("two", items(5, ToolName::HybridSearch, 0.5)),
            ("three", items(5, ToolName::HybridSearch, 0.5)),
        ],
        ..ScriptedTools::default()
    };
    let (finished, reasoner) = play(script, tools).await;
    assert_eq!(
        routes(&finished).last().unwrap().2,
        RouteReason::MaxIterations
    );
    assert_eq!(graded(&finished).len(), 3);
    let back = finished
        .bodies()
        .into_iter()
        .rev()
        .find_map(|body| match body {
            EventBody::EvidenceAdded { items } => Some(items.clone()),
            _ => None,
        })
        .unwrap();
    assert!(back.iter().all(|item| item.low));
    let starts: Vec<_> = back.iter().map(|item| item.lines.start).collect();
    assert_eq!(starts, [11, 31, 1], "best grade first, each passage once");
    assert_eq!(
        reasoner.asked().last(),
        Some(&ReasonerCall::Synthesize {
            items: 3,
            low: 3,
            complexity: Complexity::Complex
        })
    );
}

#[tokio::test]
async fn r22_the_cap_is_a_setting() {
    let limits = RoutingLimits {
        max_iterations: 1,
        ..RoutingLimits::default()
    };
    let finished = run(
        ScriptedReasoner::new(complex(vec![Ok(vec![0.5; 5])])),
        Arc::new(five_items()),
        limits,
        ask("q"),
    )
    .await;
    assert_eq!(
        finished.path(),
        [AnalyzeAndRoute, Plan, ToolExec, GradeEvidence, Synthesize]
    );
    assert_eq!(
        routes(&finished).last().unwrap().2,
        RouteReason::MaxIterations
    );
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
    let lines = |start| LineRange { start, end: start };
    Script {
        answer: vec!["See [", "4] and `x[2]`.\n\nThen [2, 9] ", "and [4]."],
        at_once,
        confidence: Some(0.89951),
        quoted: vec![
            Quotation {
                n: 2,
                lines: lines(11),
            },
            Quotation {
                n: 4,
                lines: lines(31),
            },
        ],
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
    assert_eq!(
        (&line["confidence"], &line["confidence_level"]),
        (&0.9.into(), &"sure".into())
    );
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
        let script = Script {
            analyses: vec![(plan_for(complexity), None)],
            ..complex(vec![])
        };
        let (finished, reasoner) = play(script, ScriptedTools::default()).await;
        assert_eq!(finished.outcome(), Outcome::NotFound);
        assert!(
            finished
                .text()
                .starts_with("Nothing was found in the knowledge base.")
        );
        assert_eq!(finished.calls(), calls);
        assert!(
            !reasoner
                .asked()
                .iter()
                .any(|a| matches!(a, ReasonerCall::Synthesize { .. }))
        );
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
    assert_eq!(
        finished.text(),
        "Hi [1], nice to meet you.",
        "brackets mean nothing here"
    );
    assert!(finished.answer.as_ref().unwrap().citations.is_empty());
    assert_eq!(
        reasoner.asked().last(),
        Some(&ReasonerCall::Synthesize {
            items: 0,
            low: 0,
            complexity: Complexity::Chitchat
        })
    );
}

#[tokio::test]
async fn forced_routes_are_taken_and_reported() {
    for (analysed, forced, path) in [
        (
            Complexity::Complex,
            Complexity::Chitchat,
            vec![AnalyzeAndRoute, Synthesize],
        ),
        (
            Complexity::Chitchat,
            Complexity::Simple,
            vec![AnalyzeAndRoute, Plan, ToolExec, Synthesize],
        ),
        (
            Complexity::Simple,
            Complexity::Complex,
            vec![AnalyzeAndRoute, Plan, ToolExec, GradeEvidence, Synthesize],
        ),
    ] {
        let script = Script {
            analyses: vec![(plan_for(analysed), None)],
            ..complex(vec![])
        };
        let question = RunRequest {
            route: Some(forced),
            ..ask("q")
        };
        let finished = run(
            ScriptedReasoner::new(script),
            Arc::new(five_items()),
            RoutingLimits::default(),
            question,
        )
        .await;
        assert_eq!(finished.path(), path);
        assert_eq!(routes(&finished)[0].2, RouteReason::Forced);
    }
}

#[tokio::test]
async fn a_run_can_be_cancelled_in_every_node() {
    for (hang_at, node) in [
        (AnalyzeAndRoute, AnalyzeAndRoute),
        (Plan, Plan),
        (GradeEvidence, GradeEvidence),
        (Synthesize, Synthesize),
    ] {
        let script = Script {
            hang_at: Some(hang_at),
            ..complex(vec![])
        };
        let finished = run_until(
            ScriptedReasoner::new(script),
            Arc::new(five_items()),
            RoutingLimits::default(),
            ask("q"),
            |event| matches!(&event.body, EventBody::NodeEntered { node: n, .. } if *n == node),
        )
        .await;
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
    let finished = run_until(
        ScriptedReasoner::new(complex(vec![])),
        Arc::new(tools),
        RoutingLimits::default(),
        ask("q"),
        |event| matches!(event.body, EventBody::ToolCalled { .. }),
    )
    .await;
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
        assert_eq!(
            error.as_deref(),
            Some(format!("no answer in {node}").as_str())
        );
        assert_eq!(
            *reasoning_calls as usize,
            reasoner.asked().len(),
            "a lost call counts"
        );
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
    let tools = ScriptedTools {
        items: vec![
            ("one", items(5, ToolName::HybridSearch, 0.5)),
            ("two", items(5, ToolName::HybridSearch, 0.5)),
        ],
        ..ScriptedTools::default()
    };
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
    let running = agent.answer(ask("q"), sender, cancel.clone());
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
