//! The offline engine, by requirement.

use std::sync::{Arc, OnceLock};

use kb_agent::agent::ports::{
    Analysis, AnalyzeJob, AnswerSink, CallOrigin, EmbedError, Embedder, GradeJob, PlanJob,
    Reasoner, SynthesizeJob,
};
use kb_agent::domain::{
    Complexity, Evidence, EvidenceId, LineRange, NodeName, Outcome, QueryType, RoutingPlan, Score,
    ToolCall, ToolName, ToolRecord, Turn, Usage,
};
use kb_agent::kb::embed::SentenceEmbedding;
use kb_agent::protocol::{Mode, RunId};
use kb_agent::reasoner::offline::OfflineReasoner;
use tokio::sync::mpsc;

/// One model for all tests of this file: loading it is most of their time.
fn embedder() -> Arc<dyn Embedder> {
    static SHARED: OnceLock<Arc<SentenceEmbedding>> = OnceLock::new();
    Arc::clone(SHARED.get_or_init(|| Arc::new(SentenceEmbedding::new()))) as Arc<dyn Embedder>
}

fn engine() -> OfflineReasoner {
    OfflineReasoner::new(embedder())
}

fn run() -> RunId {
    RunId("r".to_owned())
}

fn turn(question: &str) -> Turn {
    Turn {
        question: question.to_owned(),
        answer: "…".to_owned(),
    }
}

fn item(n: usize, source: &str, text: &str) -> Evidence {
    Evidence {
        id: EvidenceId(format!("e{n}")),
        source: source.to_owned(),
        lines: LineRange {
            start: 1,
            end: text.lines().count().max(1),
        },
        tool: ToolName::HybridSearch,
        score: Score::UNKNOWN,
        text: text.to_owned(),
        low: false,
    }
}

async fn analyze(
    query: &str,
    history: &[Turn],
    forced: Option<Complexity>,
    failed: &[ToolRecord],
) -> Analysis {
    let run = run();
    let analysis = engine()
        .analyze(AnalyzeJob {
            origin: CallOrigin {
                run: &run,
                node: NodeName::AnalyzeAndRoute,
            },
            query,
            history,
            forced,
            failed,
        })
        .await
        .unwrap();
    assert_eq!(analysis.usage, Usage::ONE_CALL);
    let changes = analysis.plan.clone().reconcile();
    assert!(
        changes.iter().all(|change| change.contains("single part")),
        "{query}: {changes:?}"
    );
    analysis
}

struct Round<'a> {
    history: &'a [Turn],
    tools: &'a [ToolRecord],
    context: &'a [Evidence],
    scores: &'a [Score],
    refine: bool,
}

const FIRST: Round<'static> = Round {
    history: &[],
    tools: &[],
    context: &[],
    scores: &[],
    refine: false,
};

async fn plan(query: &str, routing: &RoutingPlan, round: Round<'_>) -> Vec<ToolCall> {
    let run = run();
    let planned = engine()
        .plan(PlanJob {
            origin: CallOrigin {
                run: &run,
                node: NodeName::Plan,
            },
            query,
            history: round.history,
            routing,
            tool_history: round.tools,
            context: round.context,
            scores: round.scores,
            refine: round.refine,
        })
        .await
        .unwrap();
    assert_eq!(planned.usage, Usage::ONE_CALL);
    assert!(planned.calls.len() <= 6, "{:?}", planned.calls);
    planned.calls
}

async fn grade(query: &str, sub_questions: &[&str], context: &[Evidence]) -> Vec<f64> {
    let run = run();
    let sub_questions: Vec<String> = sub_questions.iter().map(ToString::to_string).collect();
    let grades = engine()
        .grade(GradeJob {
            origin: CallOrigin {
                run: &run,
                node: NodeName::GradeEvidence,
            },
            query,
            history: &[],
            sub_questions: &sub_questions,
            context,
        })
        .await
        .unwrap();
    grades.scores.unwrap()
}

async fn answer(
    query: &str,
    history: &[Turn],
    complexity: Complexity,
    sub_questions: &[&str],
    context: &[Evidence],
) -> (String, Outcome, usize) {
    let run = run();
    let sub_questions: Vec<String> = sub_questions.iter().map(ToString::to_string).collect();
    let (sink, mut pieces) = mpsc::channel(10_000);
    let synthesis = engine()
        .synthesize(
            SynthesizeJob {
                origin: CallOrigin {
                    run: &run,
                    node: NodeName::Synthesize,
                },
                query,
                history,
                complexity,
                sub_questions: &sub_questions,
                context,
            },
            AnswerSink(sink),
        )
        .await
        .unwrap();
    let mut text = String::new();
    let mut count = 0;
    while let Ok(piece) = pieces.try_recv() {
        text.push_str(&piece);
        count += 1;
    }
    (text, synthesis.outcome, count)
}

fn demo() -> Vec<Evidence> {
    vec![
        item(
            1,
            "thresholds.md",
            "# Thresholds\n\nThe vector score threshold decides which results need no grading. \
             Its default is 0.8.\nThe cap on iterations is 3.",
        ),
        item(
            2,
            "routes.md",
            "# Routes\n\n## Simple path\n\nThe simple path skips grading and uses three calls. See \
             [the rules](rules.md).\n\n## Complex path\n\nThe complex path grades the evidence and \
             may search again.",
        ),
        item(
            3,
            "zh/路由.md",
            "# 路由\n\n快速路径是节省推理调用的捷径，共有三种。\n闲聊不检索任何内容。",
        ),
    ]
}

#[tokio::test]
async fn r01_the_plan_says_what_is_looked_for_and_how() {
    use QueryType::{Conceptual, Exact, FileDiscovery, Relational};
    use ToolName::{GraphRelated, GrepSearch, HybridSearch, LocalFileQa, ReadFile};
    for (query, kind, tools, keywords) in [
        (
            "What is the fast path?",
            Conceptual,
            vec![HybridSearch],
            vec![],
        ),
        ("什么是快速路径？", Conceptual, vec![HybridSearch], vec![]),
        (
            "PROJ-123 详情",
            Exact,
            vec![GrepSearch, HybridSearch],
            vec!["PROJ-123"],
        ),
        (
            "where is grep_keywords set?",
            Exact,
            vec![GrepSearch, HybridSearch],
            vec!["grep_keywords"],
        ),
        (
            "REFINE vs RE_RETRIEVE",
            Exact,
            vec![GrepSearch],
            vec!["REFINE", "RE_RETRIEVE"],
        ),
        (
            "What does PROJ-7 depend on?",
            Relational,
            vec![GraphRelated, HybridSearch],
            vec!["PROJ-7"],
        ),
        (
            "PROJ-7 依赖哪些工单？",
            Relational,
            vec![GraphRelated, HybridSearch],
            vec!["PROJ-7"],
        ),
        (
            "Which file describes the audit log?",
            FileDiscovery,
            vec![LocalFileQa],
            vec![],
        ),
        (
            "哪个文件讲离线模式？",
            FileDiscovery,
            vec![LocalFileQa],
            vec![],
        ),
        (
            "What does nodes/plan.md say?",
            FileDiscovery,
            vec![ReadFile],
            vec![],
        ),
    ] {
        let plan = analyze(query, &[], None, &[]).await.plan;
        assert_eq!(plan.query_type, kind, "{query}");
        assert_eq!(plan.suggested_tools, tools, "{query}");
        assert_eq!(plan.grep_keywords, keywords, "{query}");
    }
}

#[tokio::test]
async fn r02_small_talk_is_answered_along_the_way() {
    for (query, words) in [("who are you?", "offline engine"), ("你是谁？", "离线引擎")] {
        let analysis = analyze(query, &[], None, &[]).await;
        assert_eq!(analysis.plan.complexity, Complexity::Chitchat, "{query}");
        assert!(analysis.plan.suggested_tools.is_empty());
        assert!(analysis.reply.unwrap().contains(words), "{query}");
    }
    for query in [
        "hi, what is the vector threshold?",
        "你好，请问有几种路由？",
        "is chitchat graded?",
    ] {
        let analysis = analyze(query, &[], None, &[]).await;
        assert_ne!(analysis.plan.complexity, Complexity::Chitchat, "{query}");
        assert_eq!(analysis.reply, None, "{query}");
    }
}

#[tokio::test]
async fn r03_several_intents_have_at_least_two_parts() {
    for (query, parts) in [
        ("Compare the simple path with the complex path", 2),
        ("What is chitchat and how does it save calls?", 2),
        ("比较索引管线和查询引擎的架构差异", 2),
        ("VectorTool 是什么", 0),
        ("What is the fast path?", 0),
    ] {
        let plan = analyze(query, &[], None, &[]).await.plan;
        assert_eq!(plan.sub_questions.len(), parts, "{query}: {plan:?}");
        let expected = if parts > 0 {
            Complexity::Complex
        } else {
            Complexity::Simple
        };
        assert_eq!(plan.complexity, expected, "{query}");
    }
}

#[tokio::test]
async fn r03_a_forced_route_gets_a_plan_made_for_it() {
    let query = "Compare the simple path with the complex path";
    let simple = analyze(query, &[], Some(Complexity::Simple), &[])
        .await
        .plan;
    assert_eq!(simple.complexity, Complexity::Simple);
    assert!(simple.sub_questions.is_empty());
    let complex = analyze("What is X?", &[], Some(Complexity::Complex), &[])
        .await
        .plan;
    assert_eq!(complex.complexity, Complexity::Complex);
    let chitchat = analyze("What is X?", &[], Some(Complexity::Chitchat), &[]).await;
    assert!(chitchat.reply.is_some());
    let knowledge = analyze("hello", &[], Some(Complexity::Simple), &[]).await;
    assert_eq!(knowledge.plan.complexity, Complexity::Simple);
}

#[tokio::test]
async fn r05_follow_ups_are_searched_with_their_topic() {
    for (before, query, topic) in [
        (
            "What is the vector score threshold?",
            "and its default?",
            "vector score threshold",
        ),
        ("什么是快速路径？", "它有几种？", "快速路径"),
    ] {
        let history = [turn(before)];
        let routing = analyze(query, &history, None, &[]).await.plan;
        let round = Round {
            history: &history,
            ..FIRST
        };
        let calls = plan(query, &routing, round).await;
        assert!(calls[0].subject().contains(topic), "{calls:?}");
    }
    let (text, outcome, _) = answer(
        "and its default?",
        &[turn("What is the vector score threshold?")],
        Complexity::Simple,
        &[],
        &demo(),
    )
    .await;
    assert_eq!(outcome, Outcome::Answered);
    assert!(text.contains("default is 0.8. [1]"), "{text}");
}

#[tokio::test]
async fn r06_after_a_failure_the_tools_are_others() {
    let record = |call| ToolRecord {
        call,
        round: 0,
        scores: Vec::new(),
        error: None,
    };
    let failed = [record(ToolCall::HybridSearch {
        semantic_query: "What is the fast path?".to_owned(),
        exact_keywords: Vec::new(),
    })];
    let query = "What is the fast path?";
    let routing = analyze(query, &[], None, &failed).await.plan;
    assert_eq!(routing.complexity, Complexity::Complex);
    assert!(!routing.suggested_tools.is_empty());
    assert!(!routing.suggested_tools.contains(&ToolName::HybridSearch));
    let round = Round {
        tools: &failed,
        ..FIRST
    };
    let calls = plan(query, &routing, round).await;
    assert!(!calls.is_empty());
    assert!(
        calls.iter().all(|call| *call != failed[0].call),
        "{calls:?}"
    );
}

#[tokio::test]
async fn r11_parts_are_planned_together() {
    let query = "Compare hybrid_search with PROJ-12 ranking";
    let routing = analyze(query, &[], None, &[]).await.plan;
    let calls = plan(query, &routing, FIRST).await;
    let grep: Vec<_> = calls
        .iter()
        .filter(|call| call.tool() == ToolName::GrepSearch)
        .collect();
    assert_eq!(grep.len(), 1, "{calls:?}");
    assert_eq!(grep[0].subject(), "PROJ-12|hybrid_search");
    let hybrid = calls
        .iter()
        .filter(|call| call.tool() == ToolName::HybridSearch)
        .count();
    assert_eq!(hybrid, 2, "{calls:?}");
}

#[tokio::test]
async fn r11_named_files_are_read_with_their_lines() {
    let query = "read nodes/plan.md:10-20";
    let routing = analyze(query, &[], None, &[]).await.plan;
    assert_eq!(
        plan(query, &routing, FIRST).await,
        [ToolCall::ReadFile {
            path: "nodes/plan.md".to_owned(),
            start_line: Some(10),
            end_line: Some(20),
        }]
    );
}

#[tokio::test]
async fn r11_no_call_is_made_twice() {
    let query = "What is the fast path?";
    let routing = analyze(query, &[], None, &[]).await.plan;
    let mut history: Vec<ToolRecord> = Vec::new();
    for _ in 0..3 {
        let round = Round {
            tools: &history,
            ..FIRST
        };
        let calls = plan(query, &routing, round).await;
        assert!(!calls.is_empty());
        for call in calls {
            assert!(history.iter().all(|record| record.call != call), "{call:?}");
            history.push(ToolRecord {
                call,
                round: 0,
                scores: Vec::new(),
                error: None,
            });
        }
    }
}

#[tokio::test]
async fn r17_grades_tell_answers_from_the_rest() {
    let mut context = demo();
    context.push(item(
        4,
        "bread.md",
        "# Bread\n\nKnead flour, water and salt, then let it rise.",
    ));
    let scores = grade(
        "What is the default of the vector score threshold?",
        &[],
        &context,
    )
    .await;
    assert_eq!(scores.len(), context.len());
    assert!(scores[0] >= 0.7, "{scores:?}");
    assert!(scores[2] < 0.3 && scores[3] < 0.3, "{scores:?}");
    let scores = grade("什么是快速路径？", &[], &context).await;
    assert!(scores[2] >= 0.7, "{scores:?}");
    assert!(scores[0] < 0.3 && scores[3] < 0.3, "{scores:?}");
    let parts = [
        "What is the simple path?",
        "What is the vector score threshold?",
    ];
    let scores = grade("Compare them", &parts, &context).await;
    assert!(scores[0] >= 0.5 && scores[1] >= 0.5, "{scores:?}");
}

#[tokio::test]
async fn r21_refine_looks_for_what_is_missing() {
    let query = "Compare the simple path with the retention policy";
    let routing = analyze(query, &[], None, &[]).await.plan;
    let round = Round {
        context: &demo()[1..2],
        scores: &[Score::clamped(0.8)],
        refine: true,
        ..FIRST
    };
    let calls = plan(query, &routing, round).await;
    assert!(!calls.is_empty());
    for call in &calls {
        assert!(call.subject().contains("retention policy"), "{calls:?}");
    }
    assert!(
        calls
            .iter()
            .any(|call| call.tool() != ToolName::HybridSearch)
    );
}

#[tokio::test]
async fn r23_answers_are_quoted_with_their_source() {
    for (query, sub_questions, expected) in [
        (
            "What is the default of the vector score threshold?",
            &[][..],
            vec!["Its default is 0.8. [1]"],
        ),
        (
            "什么是快速路径？",
            &[],
            vec!["快速路径是节省推理调用的捷径，共有三种。 [3]"],
        ),
        (
            "Compare the simple path with the complex path",
            &["What is the simple path?", "What is the complex path?"],
            vec![
                "**simple path**: The simple path skips grading and uses three calls. [2]",
                "**complex path**: The complex path grades the evidence and may search again. [2]",
            ],
        ),
    ] {
        let complexity = if sub_questions.is_empty() {
            Complexity::Simple
        } else {
            Complexity::Complex
        };
        let (text, outcome, pieces) = answer(query, &[], complexity, sub_questions, &demo()).await;
        assert_eq!(outcome, Outcome::Answered, "{query}");
        for part in expected {
            assert!(text.contains(part), "{query}: {text}");
        }
        assert!(pieces > 3, "{query}: {pieces} pieces");
        assert!(!text.contains("]("), "{text}");
    }
}

#[tokio::test]
async fn r23_nothing_found_is_said_and_not_guessed() {
    for (query, words) in [
        (
            "What is the capital of France?",
            "Nothing in the knowledge base answers this.",
        ),
        ("怎么做红烧肉？", "知识库中没有能回答这个问题的内容。"),
    ] {
        let (text, outcome, _) = answer(query, &[], Complexity::Simple, &[], &demo()).await;
        assert_eq!(outcome, Outcome::NotFound, "{text}");
        assert!(text.starts_with(words), "{text}");
        assert!(text.contains("thresholds.md:1-4"), "{text}");
        assert!(!text.contains("[1]"), "{text}");
    }
}

#[tokio::test]
async fn r23_a_ticket_speaks_for_itself() {
    let context = [
        item(
            1,
            "tickets/PROJ-104.md",
            "# PROJ-104: Tune\n\nStatus: open\nDepends on: PROJ-103",
        ),
        item(
            2,
            "tickets/PROJ-103.md",
            "# PROJ-103: Rules\n\nStatus: done\nDepends on: PROJ-102",
        ),
    ];
    let query = "What does PROJ-103 depend on?";
    let (text, _, _) = answer(query, &[], Complexity::Simple, &[], &context).await;
    assert!(text.starts_with("- Depends on: PROJ-102 [2]"), "{text}");
}

#[tokio::test]
async fn r24_small_talk_has_no_citations() {
    for query in ["thanks!", "谢谢"] {
        let (text, outcome, _) = answer(query, &[], Complexity::Chitchat, &[], &[]).await;
        assert_eq!(outcome, Outcome::Answered);
        assert!(!text.is_empty() && !text.contains('['), "{text}");
    }
}

#[tokio::test]
async fn r01_no_input_is_too_strange() {
    let long = "threshold 阈值? ".repeat(6_000);
    for query in [
        "",
        " \n",
        "😀😀😀",
        "?？",
        "\"`“",
        "[[](",
        "and",
        "它",
        "compare",
        long.as_str(),
    ] {
        let history = [turn("😀"), turn("")];
        let routing = analyze(query, &history, None, &[]).await.plan;
        let round = Round {
            history: &history,
            context: &demo(),
            scores: &[Score::ZERO; 3],
            refine: true,
            ..FIRST
        };
        plan(query, &routing, round).await;
        plan(query, &routing, FIRST).await;
        let mut context = demo();
        context.push(item(4, "", ""));
        let scores = grade(query, &[], &context).await;
        assert!(scores.iter().all(|score| score.is_finite()), "{scores:?}");
        answer(query, &history, Complexity::Simple, &[], &context).await;
    }
}

#[tokio::test]
async fn r17_a_failing_embedding_is_an_error_and_not_a_grade() {
    struct Broken;
    impl Embedder for Broken {
        fn model_id(&self) -> &'static str {
            "broken"
        }
        fn embed(&self, _: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
            Err(EmbedError("no model".to_owned()))
        }
    }
    let engine = OfflineReasoner::new(Arc::new(Broken));
    assert_eq!(engine.identity().mode, Mode::Offline);
    assert_eq!(engine.identity().model, "extractive");
    let run = run();
    let job = GradeJob {
        origin: CallOrigin {
            run: &run,
            node: NodeName::GradeEvidence,
        },
        query: "x",
        history: &[],
        sub_questions: &[],
        context: &demo(),
    };
    let error = engine.grade(job).await.unwrap_err();
    assert!(error.to_string().contains("no model"), "{error}");
}
