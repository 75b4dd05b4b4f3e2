//! Whether a question that a model took for small talk is (R2).
//!
//! A question about the base that is answered as small talk is answered out of nothing, and small
//! models send most of them there. So their word needs a second one: that of the offline engine, whose
//! classifier was trained to tell the two apart, or of the rest of the plan.

use crate::agent::ports::{Analysis, Caveat};
use crate::domain::{Complexity, QueryType, RoutingPlan};

/// Makes small talk a simple question where it seems not to be small talk. `offline` is what the offline engine
/// makes of the same question, where it can tell.
pub fn check_small_talk(analysis: &mut Analysis, offline: Option<Analysis>) {
    let plan = &mut analysis.plan;
    let contradiction = contradiction(plan);
    let is_talk = match &offline {
        Some(offline) => offline.plan.complexity == Complexity::Chitchat,
        None => contradiction.is_none(),
    };
    if is_talk {
        return;
    }
    if let Some(offline) = offline
        && plan.suggested_tools.is_empty()
    {
        *plan = offline.plan;
    }
    plan.complexity = Complexity::Simple;
    analysis.reply = None;
    let why = contradiction.unwrap_or("it reads like a question about the knowledge base");
    let message = format!("the model took the question for small talk, but {why}: it is looked up");
    let doubt = Caveat::new("small_talk_doubted", message);
    analysis.warnings.push(doubt);
}

/// What in a plan says that its question is not small talk.
fn contradiction(plan: &RoutingPlan) -> Option<&'static str> {
    let said = [
        (
            plan.query_type != QueryType::Chitchat,
            "gave it another type",
        ),
        (!plan.suggested_tools.is_empty(), "suggested tools for it"),
        (!plan.grep_keywords.is_empty(), "named words to look for"),
        (!plan.sub_questions.is_empty(), "divided it into parts"),
    ];
    said.into_iter()
        .find_map(|(is_said, what)| is_said.then_some(what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ToolName;

    fn small_talk() -> Analysis {
        Analysis {
            plan: RoutingPlan {
                complexity: Complexity::Chitchat,
                query_type: QueryType::Chitchat,
                ..RoutingPlan::default()
            },
            reply: Some("It is 42.".to_owned()),
            ..Analysis::default()
        }
    }

    fn offline(complexity: Complexity) -> Analysis {
        Analysis {
            plan: RoutingPlan {
                suggested_tools: vec![ToolName::GrepSearch],
                complexity,
                ..RoutingPlan::default()
            },
            ..Analysis::default()
        }
    }

    #[test]
    fn r02_a_plan_that_contradicts_small_talk_is_simple() {
        let agreeing = small_talk();
        let with = |change: fn(&mut RoutingPlan)| {
            let mut analysis = small_talk();
            change(&mut analysis.plan);
            analysis
        };
        for (analysis, why) in [
            (
                with(|plan| plan.query_type = QueryType::Exact),
                "gave it another type",
            ),
            (
                with(|plan| plan.suggested_tools.push(ToolName::ReadFile)),
                "suggested tools for it",
            ),
            (
                with(|plan| plan.grep_keywords.push("a".to_owned())),
                "named words to look for",
            ),
            (
                with(|plan| plan.sub_questions.push("What is a?".to_owned())),
                "divided it into parts",
            ),
        ] {
            for second in [None, Some(offline(Complexity::Complex))] {
                let mut settled = analysis.clone();
                check_small_talk(&mut settled, second);
                assert_eq!(settled.plan.complexity, Complexity::Simple, "{why}");
                assert_eq!(settled.reply, None);
                let message = format!(
                    "the model took the question for small talk, but {why}: it is looked up"
                );
                assert_eq!(settled.warnings[0].message, message);
            }
            // A model that contradicts itself whatever it is asked does so for a greeting, too.
            let mut settled = analysis.clone();
            check_small_talk(&mut settled, Some(offline(Complexity::Chitchat)));
            assert_eq!(settled, analysis);
        }
        let mut settled = agreeing.clone();
        check_small_talk(&mut settled, None);
        assert_eq!(settled, agreeing);
    }

    #[test]
    fn r02_small_talk_needs_the_word_of_the_offline_engine() {
        let mut settled = small_talk();
        check_small_talk(&mut settled, Some(offline(Complexity::Chitchat)));
        assert_eq!(settled, small_talk());
        check_small_talk(&mut settled, Some(offline(Complexity::Complex)));
        assert_eq!(settled.plan.complexity, Complexity::Simple);
        assert_eq!(settled.plan.suggested_tools, [ToolName::GrepSearch]);
        assert_eq!(settled.reply, None);
    }
}
