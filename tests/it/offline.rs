//! The offline engine, by requirement: what its tests share.

mod answers;
mod routing;

use crate::support::origin;
use std::sync::{Arc, OnceLock};

use kb_agent::agent::ports::{
    Analysis, AnalyzeJob, AnswerSink, Embedder, GradeJob, PlanJob, Reasoner, SynthesizeJob,
};
use kb_agent::domain::{
    Complexity, Evidence, EvidenceId, LineRange, NodeName, Outcome, RoutingPlan, Score, ToolCall,
    ToolName, ToolRecord, Turn, Usage,
};
use kb_agent::embed::JudgeEmbedder;
use kb_agent::protocol::RunId;
use kb_agent::reasoner::offline::OfflineReasoner;
use tokio::sync::mpsc;

/// One model for all tests of this file: loading it is most of their time.
fn embedder() -> Arc<dyn Embedder> {
    static SHARED: OnceLock<Arc<JudgeEmbedder>> = OnceLock::new();
    Arc::clone(SHARED.get_or_init(|| Arc::new(JudgeEmbedder::built_in()))) as Arc<dyn Embedder>
}

fn engine() -> OfflineReasoner {
    OfflineReasoner::new(embedder())
}

fn run() -> RunId {
    RunId("r".into())
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
        score: Score::UNKNOWN,
        text: text.to_owned(),
        ..crate::support::item(1, ToolName::HybridSearch, 0.0)
    }
}

async fn analyze(
    query: &str,
    history: &[Turn],
    forced: Option<Complexity>,
    failed: &[ToolRecord],
) -> Analysis {
    let run = run();
    let question = engine().read(query, history);
    let analysis = engine()
        .analyze(AnalyzeJob {
            origin: origin(&run, NodeName::AnalyzeAndRoute),
            query,
            question: &question,
            history,
            forced,
            failed,
            spoken_of: None,
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
    let question = engine().read(query, round.history);
    let planned = engine()
        .plan(PlanJob {
            origin: origin(&run, NodeName::Plan),
            query,
            question: &question,
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
    planned.calls.into_iter().map(|it| it.call).collect()
}

/// The grades of a few items, all of which are looked at.
async fn grade(query: &str, sub_questions: &[&str], context: &[Evidence]) -> Vec<f64> {
    let grades = grades(query, sub_questions, context).await.into_iter();
    grades.map(Option::unwrap).collect()
}

async fn grades(query: &str, sub_questions: &[&str], context: &[Evidence]) -> Vec<Option<f64>> {
    let run = run();
    let sub_questions: Vec<String> = sub_questions.iter().map(ToString::to_string).collect();
    let question = engine().read(query, &[]);
    let grades = engine()
        .grade(GradeJob {
            origin: origin(&run, NodeName::GradeEvidence),
            query,
            question: &question,
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
    let question = engine().read(query, history);
    let synthesis = engine()
        .synthesize(
            SynthesizeJob {
                origin: origin(&run, NodeName::Synthesize),
                query,
                question: &question,
                history,
                complexity,
                sub_questions: &sub_questions,
                context,
                absent_words: &[],
                stance: kb_agent::agent::ports::AnswerStance::Answer,
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

fn rows(text: &str) -> Vec<serde_json::Value> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test]
async fn r02_thanks_and_greetings_in_five_languages_are_small_talk() {
    let talk = rows(include_str!("../../assets/routing/talk.jsonl"));
    let mut missed = Vec::new();
    for row in &talk {
        let query = row["query"].as_str().unwrap();
        let analysis = analyze(query, &[], None, &[]).await;
        if analysis.plan.complexity != Complexity::Chitchat {
            missed.push(query);
        }
    }
    assert_eq!(talk.len(), 150);
    assert!(missed.len() <= 7, "{missed:?}");
}

#[tokio::test]
async fn r02_what_the_documents_speak_of_is_no_small_talk() {
    let run = run();
    for (query, spoken_of, is_talk) in [
        ("mentoring", &["mentoring"][..], false),
        ("tell me a joke", &[], true),
        ("tell me a joke", &["joke"], false),
        ("zwxq", &[], false),
        ("What makes people laugh?", &[], false),
        ("thanks, that helped", &["helped"], true),
        ("thanks", &["thanks"], true),
        // Praise, but a heading is called so.
        ("brilliant", &["brilliant"], false),
    ] {
        let spoken_of: Vec<String> = spoken_of.iter().map(|it| (*it).to_owned()).collect();
        let question = engine().read(query, &[]);
        let job = AnalyzeJob {
            origin: origin(&run, NodeName::AnalyzeAndRoute),
            query,
            question: &question,
            history: &[],
            forced: None,
            failed: &[],
            spoken_of: Some(&spoken_of),
        };
        let analysis = engine().analyze(job).await.unwrap();
        let complexity = analysis.plan.complexity;
        assert_eq!(complexity == Complexity::Chitchat, is_talk, "{query}");
        let hint = "put it in quotation marks";
        let assumed = is_talk && query.starts_with("tell");
        let said = analysis.search_hint.unwrap_or_default();
        assert_eq!(said.contains(hint), assumed, "{query}: {said}");
    }
}

#[test]
fn r05_follow_ups_take_what_they_lack_and_nothing_else() {
    let pairs = rows(include_str!("../../assets/routing/pairs.jsonl"));
    let mut wrong = Vec::new();
    for pair in &pairs {
        let (first, second) = (
            pair["first"].as_str().unwrap(),
            pair["second"].as_str().unwrap(),
        );
        let history = [Turn {
            question: first.to_owned(),
            answer: String::new(),
        }];
        let mut question = engine().read(second, &history);
        // The documents have headings for these; a run asks them.
        if question.continues.as_ref().is_some_and(|it| it.is_unsure)
            && pair["kind"] == "standalone"
        {
            question = engine().read(second, &[]);
        }
        let searched = question.search_text().to_lowercase();
        let words = |of: &str| -> Vec<String> {
            let words = pair[of].as_array().unwrap().iter();
            words
                .map(|word| word.as_str().unwrap().to_lowercase())
                .collect()
        };
        let is_right = words("topic").iter().all(|word| searched.contains(word))
            && !words("not").iter().any(|word| searched.contains(word))
            && (pair["kind"] != "yes" || question.continues.is_none());
        if !is_right {
            wrong.push((first, second, searched));
        }
    }
    assert_eq!(pairs.len(), 156);
    assert!(wrong.len() <= 6, "{wrong:?}");
}

#[test]
fn r05_a_question_without_its_topic_says_that_it_lacks_one() {
    for (query, lacks) in [
        ("Can it be extended?", true),
        ("Why?", true),
        ("Pourquoi ?", true),
        ("and for Windows?", true),
        ("Die Kommentare auch?", true),
        ("no, I meant the PIN", true),
        ("How long is probation?", false),
        ("parental leave", false),
        ("too many open files", false),
        ("If my laptop is stolen, who do I tell about it?", false),
    ] {
        assert_eq!(engine().read(query, &[]).lacks_topic, lacks, "{query}");
    }
}
