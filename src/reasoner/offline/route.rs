//! Which way a question goes: the routing plan, the reply to small talk, and what decided it.
//!
//! Learned weights decide what is small talk and what is complex; lists only choose the reply. A false
//! "small talk" costs an answer and a missed one a search, so the doubt is knowledge's: what must be
//! taken literally, an identifier or a file, is never small talk.

mod features;
mod learned;
mod reasons;
mod replies;
mod tools;
mod weights;

use crate::agent::ports::Embedder;
use crate::domain::{
    Complexity, Cue, Language, Parts, QueryType, Question, QuestionKind, RoutingPlan, ToolRecord,
};

use self::reasons::{measured, reason_of_simple, sentence};
use self::replies::{is_all_social, reply};
use self::tools::{query_type, tools_for};
use super::language::table;

/// From this probability on a message is small talk: by cross-validation .980 of those taken are, and of
/// all small talk .88 is taken.
const SMALL_TALK_FROM: f64 = 0.8;
/// The same in Chinese, where nothing but the words is weighed: .981, and .71 is taken.
const SMALL_TALK_ZH_FROM: f64 = 0.9;
/// From this probability on a question is complex; of ten Chinese ones so taken one is not.
const COMPLEX_FROM: f64 = 0.5;
const COMPLEX_ZH_FROM: f64 = 0.6;
/// Characters of the longest small talk; longer messages have something to say.
const LONGEST_TALK: usize = 160;

/// A route with its reasons.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Routed {
    pub(super) plan: RoutingPlan,
    /// The reply to small talk.
    pub(super) reply: Option<String>,
    /// What decided the route, the most important first; nothing where the user did.
    pub(super) because: Vec<Cue>,
    /// How likely small talk, 0–1.
    pub(super) small_talk: f64,
}

/// Routes a question; `failed` are the calls that led nowhere. Blocks while it embeds.
pub(super) fn route(
    question: &Question,
    forced: Option<Complexity>,
    failed: &[ToolRecord],
    embedder: &dyn Embedder,
) -> Routed {
    let (text, language) = (question.text.as_str(), question.language);
    let vector = vector_of_talk(question, embedder);
    let talk = |text: &str| match (&vector, language) {
        (None, _) => 0.0,
        // Nothing was learned: a message is small talk where nothing else is said.
        (_, Language::De) => f64::from(u8::from(is_all_social(text, language))),
        (Some(vector), _) => learned::small_talk(text, language, vector),
    };
    let small_talk = talk(text);
    let from = match language {
        Language::Zh => SMALL_TALK_ZH_FROM,
        Language::En | Language::De => SMALL_TALK_FROM,
    };
    let is_talk = match forced {
        Some(forced) => forced == Complexity::Chitchat,
        None => failed.is_empty() && !wants_knowledge(question) && small_talk >= from,
    };
    let (plan, mut because) = if is_talk {
        let plan = RoutingPlan {
            query_type: QueryType::Chitchat,
            complexity: Complexity::Chitchat,
            ..RoutingPlan::default()
        };
        let mut because = vec![sentence("small talk; nothing to look up")];
        because.extend(measured("chitchat", text, talk));
        (plan, because)
    } else {
        plan_knowledge(question, forced, failed)
    };
    if forced.is_some() {
        because.clear();
    }
    Routed {
        plan,
        reply: is_talk.then(|| reply(text, language)),
        because,
        small_talk,
    }
}

/// What a message is judged by beside its words: the vector of an English one, else nothing. `None` where it says too
/// much, or too little, to be small talk, or where its vector is missing.
fn vector_of_talk(question: &Question, embedder: &dyn Embedder) -> Option<Vec<f32>> {
    let (text, literals) = (question.text.as_str(), &question.literals);
    let is_named = !literals.keywords().is_empty() || !literals.paths.is_empty();
    let is_long = text.chars().nth(LONGEST_TALK).is_some();
    if is_named || is_long || !text.contains(char::is_alphanumeric) {
        return None;
    }
    match question.language {
        Language::En => embedder.embed(&[text]).ok()?.pop(),
        Language::Zh | Language::De => Some(Vec::new()),
    }
}

/// Whether a question goes on from what was talked about ("why?" alone would be small talk), or compares two things.
fn wants_knowledge(question: &Question) -> bool {
    let goes_on = question.continues.is_some() && question.kind != QuestionKind::Other;
    goes_on || matches!(question.parts, Parts::Sides { .. })
}

/// The plan of a question that is looked up, and what decided it.
fn plan_knowledge(
    question: &Question,
    forced: Option<Complexity>,
    failed: &[ToolRecord],
) -> (RoutingPlan, Vec<Cue>) {
    let (judged, because) = if failed.is_empty() {
        complexity(question)
    } else {
        // Only a complex question is graded, so one that comes back was complex.
        let reason = "nothing useful was found before; another way is tried";
        (Complexity::Complex, vec![sentence(reason)])
    };
    let query_type = query_type(question);
    let mut plan = RoutingPlan {
        query_type,
        complexity: forced.unwrap_or(judged),
        parts: question.parts.clone(),
        sub_questions: sub_questions(question),
        suggested_tools: tools_for(query_type, &question.literals, failed),
        grep_keywords: question.literals.keywords(),
    };
    plan.reconcile();
    (plan, because)
}

/// Whether a question needs several look-ups: it has parts, or the weights say so.
fn complexity(question: &Question) -> (Complexity, Vec<Cue>) {
    let (text, language) = (question.text.as_str(), question.language);
    let complex = match &question.parts {
        Parts::Sides { .. } => "two things are compared",
        Parts::Several { .. } => "several questions are asked at once",
        Parts::One => "the question ties several facts together",
    };
    let mut complex = vec![sentence(complex)];
    let mut simple = vec![sentence(&reason_of_simple(question.kind))];
    let from = match (&question.parts, language) {
        (Parts::Sides { .. } | Parts::Several { .. }, _) => return (Complexity::Complex, complex),
        // Nothing was learned: what has no parts is one look-up.
        (Parts::One, Language::De) => return (Complexity::Simple, simple),
        (Parts::One, Language::En) => COMPLEX_FROM,
        (Parts::One, Language::Zh) => COMPLEX_ZH_FROM,
    };
    let judge = |text: &str| learned::complexity(text, language);
    if judge(text) >= from {
        complex.extend(measured("complex", text, judge));
        (Complexity::Complex, complex)
    } else {
        simple.extend(measured("simple", text, |text| 1.0 - judge(text)));
        (Complexity::Simple, simple)
    }
}

/// The parts as questions that stand alone.
fn sub_questions(question: &Question) -> Vec<String> {
    match &question.parts {
        Parts::One => Vec::new(),
        Parts::Sides { left, right } => {
            let table = table(question.language);
            vec![table.question_about(left), table.question_about(right)]
        }
        Parts::Several { questions } => questions.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::question::read;
    use super::*;
    use crate::agent::ports::EmbedError;
    use crate::domain::ToolName;

    /// Measures nothing, so that the words decide alone.
    struct NoVector;

    impl Embedder for NoVector {
        fn model_id(&self) -> &'static str {
            "none"
        }

        fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
            Ok(vec![Vec::new(); texts.len()])
        }
    }

    /// Has none, and says so.
    struct Broken;

    impl Embedder for Broken {
        fn model_id(&self) -> &'static str {
            "broken"
        }

        fn embed(&self, _: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
            Err(EmbedError("it is broken".into()))
        }
    }

    fn routed(text: &str) -> Routed {
        route(&read(text, &[]), None, &[], &NoVector)
    }

    #[test]
    fn r02_small_talk_is_answered_and_knowledge_looked_up() {
        for talk in ["你好！", "Guten Morgen!", "Vielen Dank!"] {
            let routed = routed(talk);
            assert_eq!(routed.plan.complexity, Complexity::Chitchat, "{talk}");
            assert!(routed.reply.is_some() && routed.plan.suggested_tools.is_empty());
            assert_eq!(routed.because[0].cue, "small talk; nothing to look up");
        }
        for knowledge in [
            "What is the default chunk size?",
            "hello PROJ-12",
            "thanks.md",
            "Hallo, wo steht die Hausordnung?",
            "快速路径会跳过哪些节点？",
            "",
        ] {
            let routed = routed(knowledge);
            assert_ne!(routed.plan.complexity, Complexity::Chitchat, "{knowledge}");
            assert_eq!(routed.reply, None);
        }
    }

    #[test]
    fn r02_without_a_vector_nothing_english_is_small_talk() {
        let routed = route(&read("Hello there!", &[]), None, &[], &Broken);
        assert_eq!(routed.plan.complexity, Complexity::Simple);
        let forced = route(
            &read("Hello there!", &[]),
            Some(Complexity::Chitchat),
            &[],
            &Broken,
        );
        assert_eq!(forced.plan.complexity, Complexity::Chitchat);
        assert!(forced.reply.is_some() && forced.because.is_empty());
    }

    #[test]
    fn r03_parts_become_questions_of_their_own() {
        let plan = routed("What is the difference between Redis and Kafka?").plan;
        assert_eq!(plan.complexity, Complexity::Complex);
        assert_eq!(plan.sub_questions, ["What is Redis?", "What is Kafka?"]);
        let plan = routed("Was unterscheidet Miete von Pacht?").plan;
        assert_eq!(plan.sub_questions, ["Was ist Miete?", "Was ist Pacht?"]);
        let plan = routed("What is a chunk? How long may a passage be?").plan;
        assert_eq!(plan.sub_questions.len(), 2);
        let simple = route(
            &read("Redis vs Kafka", &[]),
            Some(Complexity::Simple),
            &[],
            &NoVector,
        );
        assert!(simple.plan.sub_questions.is_empty());
    }

    #[test]
    fn r01_the_tools_follow_from_what_is_named() {
        use ToolName::{GraphRelated, GrepSearch, HybridSearch, LocalFileQa, ReadFile};
        for (text, kind, tools) in [
            (
                "Who works on proj-12?",
                QueryType::Exact,
                vec![GrepSearch, HybridSearch],
            ),
            (
                "What depends on PROJ-12?",
                QueryType::Relational,
                vec![GraphRelated, HybridSearch],
            ),
            (
                "What does guide.md say?",
                QueryType::FileDiscovery,
                vec![ReadFile, HybridSearch],
            ),
            (
                "Which file describes the cache?",
                QueryType::FileDiscovery,
                vec![LocalFileQa],
            ),
            (
                "How is the cache cleared?",
                QueryType::Conceptual,
                vec![HybridSearch],
            ),
            (
                "哪个文件描述缓存？",
                QueryType::FileDiscovery,
                vec![LocalFileQa],
            ),
        ] {
            let plan = routed(text).plan;
            assert_eq!(plan.query_type, kind, "{text}");
            assert_eq!(plan.suggested_tools, tools, "{text}");
        }
        assert_eq!(
            routed("Who works on proj-12?").plan.grep_keywords,
            ["PROJ-12"]
        );
    }
}
