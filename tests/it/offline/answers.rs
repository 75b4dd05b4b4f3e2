//! What evidence is worth, and what is said.

use std::sync::Arc;

use kb_agent::agent::ports::{CallOrigin, EmbedError, Embedder, GradeJob, Reasoner};
use kb_agent::domain::{
    Complexity, KEEP_FROM, NodeName, Outcome, Question, SUFFICIENT_FROM, Score,
};
use kb_agent::protocol::Mode;
use kb_agent::reasoner::offline::OfflineReasoner;

use super::{FIRST, Round, analyze, answer, demo, grade, item, plan, run, turn};

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
async fn r20_a_part_that_could_not_be_answered_keeps_the_search_going() {
    let cache = item(
        1,
        "settings.md",
        "# Settings\n\nKB_CACHE_SIZE sets how many pages the cache holds; its default is 64.",
    );
    let age = item(
        2,
        "settings.md",
        "# Settings\n\nKB_CACHE_AGE sets how many days the cache keeps a page; its default is 7.",
    );
    let parts = [
        "What is the default of KB_CACHE_SIZE?",
        "What is the default of KB_CACHE_AGE?",
    ];
    let query = "What are the defaults of KB_CACHE_SIZE and KB_CACHE_AGE?";
    let one = grade(query, &parts, std::slice::from_ref(&cache)).await;
    assert!((KEEP_FROM..SUFFICIENT_FROM).contains(&one[0]), "{one:?}");
    let both = grade(query, &parts, &[cache, age]).await;
    assert!(both.iter().all(|g| *g >= SUFFICIENT_FROM), "{both:?}");
}

#[tokio::test]
async fn r23_nothing_found_is_said_and_not_guessed() {
    for (query, words, near) in [
        (
            "What is the capital of France?",
            "Nothing in the knowledge base answers this.",
            false,
        ),
        (
            "What is the default of the KB_CACHE_SIZE threshold?",
            "Nothing in the knowledge base answers this.",
            true,
        ),
        (
            "怎么做红烧肉？",
            "知识库中没有能回答这个问题的内容。",
            false,
        ),
    ] {
        let (text, outcome, _) = answer(query, &[], Complexity::Simple, &[], &demo()).await;
        assert_eq!(outcome, Outcome::NotFound, "{text}");
        assert!(text.starts_with(words), "{text}");
        // What has nothing to do with the question is no help.
        assert_eq!(text.contains("thresholds.md:1-4"), near, "{text}");
        assert!(!text.contains("[1]"), "{text}");
    }
}

#[tokio::test]
async fn r23_what_is_asked_for_whole_is_quoted_whole() {
    let context = [
        item(
            1,
            "servers.md",
            "# Ports\n\n| port | service |\n|---|---|\n| 22 | ssh |\n| 445 | smb |\n| 5001 | admin |",
        ),
        item(
            2,
            "backup.md",
            "# Backup\n\nTo restore a file:\n\n    export REPO=sftp:nas\n    restore notes.md\n\nIt takes an hour.",
        ),
        item(
            3,
            "retry.py",
            "LIMIT = 5\n\n\ndef backoff(attempt):\n    pause = 2 ** attempt\n\n    return pause\n\n\ndef other():\n    pass",
        ),
        item(
            4,
            "工具.md",
            "# 工具\n\n## 手工工具\n\n- 锤子\n- 锯子\n\n## 电动工具\n\n冲击钻用来打孔。\n\n## 测量工具\n\n- 卷尺\n- 水平仪",
        ),
    ];
    for (query, expected) in [
        ("What runs on port 445?", "- port: 445; service: smb [1]"),
        (
            "List all the ports",
            "| port | service |     |\n| ---- | ------- | --- |\n| 22   | ssh     | [1] |\n| 445  | smb     | [1] |\n| 5001 | admin   | [1] |",
        ),
        (
            "How do I restore a file?",
            "To restore a file: [2]\n```\nexport REPO=sftp:nas\nrestore notes.md\n```\n[2]",
        ),
        (
            "Show the function backoff",
            "```python\ndef backoff(attempt):\n    pause = 2 ** attempt\n\n    return pause\n```\n[3]",
        ),
        (
            "有哪些工具？",
            "- 锤子 [4]\n- 锯子 [4]\n- 冲击钻用来打孔。 [4]\n- 卷尺 [4]\n- 水平仪 [4]",
        ),
    ] {
        let (text, outcome, _) = answer(query, &[], Complexity::Simple, &[], &context).await;
        assert_eq!(outcome, Outcome::Answered, "{query}");
        let quoted = text.split("\n\n(Not certain").next();
        assert_eq!(quoted, Some(expected), "{query}");
    }
}

#[tokio::test]
async fn r23_another_setting_is_no_answer() {
    let context = [item(
        1,
        "settings.md",
        "# Settings\n\n| variable | default |\n|---|---|\n| `KB_MAX_ITERATIONS` | 3 |\n| `KB_THEME` | auto |",
    )];
    for (query, outcome) in [
        (
            "What is the default of KB_MAX_ITERATIONS?",
            Outcome::Answered,
        ),
        ("What is the default of maxIterations?", Outcome::Answered),
        ("What is the default of KB_CACHE_SIZE?", Outcome::NotFound),
        ("KB_CACHE_SIZE 的默认值是多少？", Outcome::NotFound),
        ("What is the default of PROJ-7?", Outcome::NotFound),
    ] {
        let (text, found, _) = answer(query, &[], Complexity::Simple, &[], &context).await;
        assert_eq!(found, outcome, "{query}: {text}");
    }
}

#[tokio::test]
async fn r05_who_changes_the_language_is_answered_in_the_new_one() {
    let context = demo();
    for (before, query, chinese) in [
        ("什么是快速路径？", "What is its default?", false),
        ("什么是快速路径？", "REFINE?", false),
        ("What is the fast path?", "它的默认值是多少？", true),
    ] {
        let history = [turn(before)];
        let (text, _, _) = answer(query, &history, Complexity::Simple, &[], &context).await;
        let said = kb_agent::text::is_chinese(&text);
        assert_eq!(said, chinese, "{query}: {text}");
    }
}

#[tokio::test]
async fn r23_a_comparison_ends_with_what_is_said_of_both() {
    let mut context = demo();
    context.push(item(
        4,
        "paths.md",
        "# Simple path and complex path\n\nThe first is quick, the second is careful.",
    ));
    let parts = ["What is the simple path?", "What is the complex path?"];
    let query = "Compare the simple path with the complex path";
    let (text, _, _) = answer(query, &[], Complexity::Complex, &parts, &context).await;
    assert!(
        text.ends_with(
            "**simple path and complex path**: The first is quick, the second is careful. [4]"
        ),
        "{text}"
    );
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
            Err(EmbedError("no model".into()))
        }
    }
    let engine = OfflineReasoner::new(Arc::new(Broken));
    assert_eq!(engine.identity().mode, Mode::Offline);
    assert_eq!(engine.identity().model, "extractive");
    let run = run();
    let question = Question::default();
    let job = GradeJob {
        origin: CallOrigin {
            run: &run,
            node: NodeName::GradeEvidence,
            calls: None,
            waits: None,
        },
        query: "x",
        question: &question,
        history: &[],
        sub_questions: &[],
        context: &demo(),
    };
    let error = engine.grade(job).await.unwrap_err();
    assert!(error.to_string().contains("no model"), "{error}");
}
