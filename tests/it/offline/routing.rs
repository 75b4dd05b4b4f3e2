//! Which way, and which tools.

use kb_agent::domain::{Complexity, Outcome, QueryType, Score, ToolCall, ToolName, ToolRecord};

use super::{FIRST, Round, analyze, answer, demo, plan, turn};

#[tokio::test]
async fn r01_the_plan_says_what_is_looked_for_and_how() {
    use QueryType::{Conceptual, Exact, FileDiscovery, Relational};
    use ToolName::{GraphRelated, GrepSearch, HybridSearch, LocalFileQa, ReadFile};
    for (query, kind, tools, keywords) in table![
        "What is the fast path?", Conceptual, vec![HybridSearch], vec![];
        "什么是快速路径？", Conceptual, vec![HybridSearch], vec![];
        "PROJ-123 详情", Exact, vec![GrepSearch, HybridSearch], vec!["PROJ-123"];
        "where is grep_keywords set?", Exact, vec![GrepSearch, HybridSearch], vec!["grep_keywords"];
        "REFINE vs RE_RETRIEVE", Exact, vec![GrepSearch, HybridSearch],
            vec!["REFINE", "RE_RETRIEVE"];
        "What does PROJ-7 depend on?", Relational, vec![GraphRelated, HybridSearch], vec!["PROJ-7"];
        "PROJ-7 依赖哪些工单？", Relational, vec![GraphRelated, HybridSearch], vec!["PROJ-7"];
        "Which file describes the audit log?", FileDiscovery, vec![LocalFileQa], vec![];
        "哪个文件讲离线模式？", FileDiscovery, vec![LocalFileQa], vec![];
        "What does nodes/plan.md say?", FileDiscovery, vec![ReadFile, HybridSearch], vec![];
        "read nodes/plan.md:10-20", FileDiscovery, vec![ReadFile], vec![];
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
    for (before, query, topic) in table![
        "What is the vector score threshold?", "and its default?", "vector score threshold";
        "什么是快速路径？", "它有几种？", "快速路径";
    ] {
        let history = [turn(before)];
        let routing = analyze(query, &history, None, &[]).await.plan;
        let round = Round {
            history: &history,
            ..FIRST
        };
        let calls = plan(query, &routing, round).await;
        assert!(
            calls.iter().all(|call| {
                let subject = call.subject();
                topic.split(' ').all(|word| subject.contains(word))
            }),
            "{calls:?}"
        );
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
    assert!(text.contains("default is 0.8"), "{text}");
}

#[tokio::test]
async fn r06_after_a_failure_the_tools_are_others() {
    let record = |call| ToolRecord {
        call,
        round: 0,
        scores: Vec::new(),
        error: None,
        is_breakdown: false,
        by: None,
    };
    let failed = [record(ToolCall::HybridSearch {
        semantic_query: "What is the fast path?".to_owned(),
        exact_keywords: Vec::new(),
    })];
    let query = "What is the fast path?";
    let routing = analyze(query, &[], None, &failed).await.plan;
    assert_eq!(routing.complexity, Complexity::Complex);
    assert_eq!(routing.suggested_tools[0], ToolName::VectorSearch);
    assert!(!routing.suggested_tools.contains(&ToolName::LocalFileQa));
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
    let mut words: Vec<&str> = grep[0].subject().split('|').collect();
    words.sort_unstable();
    assert_eq!(words, ["PROJ-12", "hybrid_search"]);
    let hybrid = calls
        .iter()
        .filter(|call| call.tool() == ToolName::HybridSearch)
        .count();
    // Both sides, and the whole, which may be described in one place.
    assert_eq!(hybrid, 3, "{calls:?}");
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
                is_breakdown: false,
                by: None,
            });
        }
    }
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
