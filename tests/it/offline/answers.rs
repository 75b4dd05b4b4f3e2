//! What evidence is worth, and what is said.

use std::sync::Arc;

use kb_agent::agent::ports::{EmbedError, Embedder, GradeJob, Reasoner};
use kb_agent::domain::{
    Complexity, KEEP_FROM, NodeName, Outcome, Question, SUFFICIENT_FROM, Score,
};
use kb_agent::protocol::Mode;
use kb_agent::reasoner::offline::OfflineReasoner;

use super::{FIRST, Round, analyze, answer, demo, grade, grades, item, plan, run, turn};
use crate::support::{Said, origin};

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
    assert!(scores[0] >= SUFFICIENT_FROM, "{scores:?}");
    assert!(scores[2] < KEEP_FROM && scores[3] < KEEP_FROM, "{scores:?}");
    let scores = grade("什么是快速路径？", &[], &context).await;
    assert!(scores[2] >= SUFFICIENT_FROM, "{scores:?}");
    assert!(scores[0] < KEEP_FROM && scores[3] < KEEP_FROM, "{scores:?}");
    let parts = [
        "What is the simple path?",
        "What is the vector score threshold?",
    ];
    let scores = grade("Compare them", &parts, &context).await;
    assert!(
        scores[0] >= KEEP_FROM && scores[1] >= KEEP_FROM,
        "{scores:?}"
    );
}

#[tokio::test]
async fn r23_the_block_that_answers_is_quoted_whole_with_its_best_sentence_in_bold() {
    let (text, outcome, pieces) = answer(
        "What is the default of the vector score threshold?",
        &[],
        Complexity::Simple,
        &[],
        &demo(),
    )
    .await;
    assert_eq!(outcome, Outcome::Answered);
    let quoted = "The vector score threshold decides which results need no grading";
    assert!(
        text.contains(quoted) && text.contains("Its default is 0.8"),
        "{text}"
    );
    assert!(text.contains("**") && text.contains("[1]"), "{text}");
    assert!(pieces > 3 && !text.contains("]("), "{text}");
    let (text, _, _) = answer("什么是快速路径？", &[], Complexity::Simple, &[], &demo()).await;
    text.must_hold("快速路径是节省推理调用的捷径");
    text.must_hold("[3]");
}

#[tokio::test]
async fn r23_what_belongs_together_is_quoted_together() {
    let context = [
        item(
            1,
            "servers.md",
            "# Ports\n\n| port | service |\n|---|---|\n| 22 | ssh |\n| 445 | smb |\n| 5001 | admin |",
        ),
        item(
            2,
            "backup.md",
            "# Backup\n\nTo restore a file:\n\n```sh\nexport REPO=sftp:nas\nrestore notes.md\n```\n\nIt takes an hour.",
        ),
    ];
    for (query, expected) in table![
        "What runs on port 445?",
            "| port | service |\n|---|---|\n| 22 | ssh |\n| **445** | **smb** |\n| 5001 | admin |\n\n[1]";
        "How do I restore a file?",
            "To restore a file:\n\n```sh\nexport REPO=sftp:nas\nrestore notes.md\n```";
    ] {
        let (text, outcome, _) = answer(query, &[], Complexity::Simple, &[], &context).await;
        assert_eq!(outcome, Outcome::Answered, "{query}: {text}");
        assert!(
            text.replace("**To restore a file**", "To restore a file")
                .contains(expected),
            "{query}: {text}"
        );
    }
}

#[tokio::test]
async fn r23_a_cut_block_says_how_much_is_left_out() {
    let rows: Vec<String> = (1..=30)
        .map(|n| {
            format!(
                "| key{n} | value {n} |
"
            )
        })
        .collect();
    let rows = rows.concat();
    let context = [item(
        1,
        "keys.md",
        &format!("# Keys\n\n| key | value |\n|---|---|\n{rows}"),
    )];
    let (text, _, _) = answer(
        "What is the value of key20?",
        &[],
        Complexity::Simple,
        &[],
        &context,
    )
    .await;
    assert!(text.contains("| key | value |\n|---|---|\n"), "{text}");
    text.must_hold("**key20**");
    text.must_hold("… 18 more [1]");
}

#[tokio::test]
async fn r23_nothing_found_is_said_and_not_guessed() {
    for (query, words) in table![
        "What is the capital of France?", "Nothing in the knowledge base answers this.";
        "What is the default of the KB_CACHE_SIZE threshold?",
            "Nothing in the knowledge base answers this: it does not mention “KB_CACHE_SIZE”.";
        "怎么做红烧肉？", "知识库中没有";
    ] {
        let (text, outcome, _) = answer(query, &[], Complexity::Simple, &[], &demo()).await;
        assert_eq!(outcome, Outcome::NotFound, "{text}");
        assert!(text.starts_with(words), "{text}");
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
        ("What is the default of KB_CACHE_SIZE?", Outcome::NotFound),
        ("KB_CACHE_SIZE 的默认值是多少？", Outcome::NotFound),
        ("What is the default of PROJ-7?", Outcome::NotFound),
    ] {
        let (text, found, _) = answer(query, &[], Complexity::Simple, &[], &context).await;
        assert_eq!(found, outcome, "{query}: {text}");
    }
}

#[tokio::test]
async fn r05_a_follow_up_says_what_it_is_about() {
    let history = [turn("What is the vector score threshold?")];
    let (text, _, _) = answer(
        "and its default?",
        &history,
        Complexity::Simple,
        &[],
        &demo(),
    )
    .await;
    text.must_begin_with("About: What is the vector score threshold?\n\n");
    assert!(text.contains("Its default is 0.8"), "{text}");
}

#[tokio::test]
async fn r23_a_block_that_names_both_sides_of_a_comparison_comes_first() {
    let mut context = demo();
    context.push(item(
        4,
        "paths.md",
        "# Simple path and complex path\n\nThe first is quick, the second is careful.",
    ));
    let parts = ["What is the simple path?", "What is the complex path?"];
    let query = "Compare the simple path with the complex path";
    let (text, _, _) = answer(query, &[], Complexity::Complex, &parts, &context).await;
    text.must_begin_with("The first is quick, the second is careful. [4]");
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
    let first = text.split("[2]").next().unwrap_or_default();
    assert!(first.contains("Depends on: PROJ-102"), "{text}");
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
async fn r17_a_passage_that_was_not_looked_at_has_no_grade() {
    let text = |at: usize| format!("# Note {at}\n\nThe backup of host {at} runs at night.");
    let context: Vec<_> = (1..=10)
        .map(|at| item(at, &format!("note{at}.md"), &text(at)))
        .collect();
    let grades = grades("When does the backup run?", &[], &context).await;
    assert_eq!(grades.iter().flatten().count(), 8, "{grades:?}");
    assert!(grades.iter().flatten().all(|grade| *grade > 0.0));
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
        origin: origin(&run, NodeName::GradeEvidence),
        query: "x",
        question: &question,
        history: &[],
        sub_questions: &[],
        context: &demo(),
    };
    let error = engine.grade(job).await.unwrap_err();
    assert!(error.to_string().contains("no model"), "{error}");
}
