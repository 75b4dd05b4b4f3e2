//! From a job to the messages that are sent.
//!
//! The words are data, in `assets/prompts/` or in files of the user's; here is only what is put
//! into them. What does not change between calls comes first, so that servers can keep it in their
//! cache: the system message is the same for every call of a job, then comes the conversation,
//! then the evidence, then the question. Whatever users and documents wrote is fenced, by tags with a
//! mark of the request's own; the system message knows of the mark and not what it is.

mod analyze;
mod defuse;
mod fence;
mod grade;
mod plan;
mod synthesize;
mod template;

use std::path::PathBuf;

pub use defuse::{OwnTag, own_tag};
pub use fence::PromptFence;
use template::Template;

/// The prompt of every job.
#[derive(Debug, Clone)]
pub struct Prompts {
    analyze: Template,
    plan: Template,
    grade: Template,
    synthesize: Template,
    chitchat: Template,
}

/// A prompt file's name, what is built in, and the values without which it cannot work.
struct BuiltIn(&'static str, &'static str, &'static [&'static str]);

const ANALYZE: BuiltIn = BuiltIn(
    "analyze",
    include_str!("../../../assets/prompts/analyze.md"),
    &["question"],
);
const PLAN: BuiltIn = BuiltIn(
    "plan",
    include_str!("../../../assets/prompts/plan.md"),
    &["tools", "question"],
);
const GRADE: BuiltIn = BuiltIn(
    "grade",
    include_str!("../../../assets/prompts/grade.md"),
    &["evidence", "question", "count"],
);
const SYNTHESIZE: BuiltIn = BuiltIn(
    "synthesize",
    include_str!("../../../assets/prompts/synthesize.md"),
    &["evidence", "question"],
);
const CHITCHAT: BuiltIn = BuiltIn(
    "chitchat",
    include_str!("../../../assets/prompts/chitchat.md"),
    &["question"],
);

impl Prompts {
    /// The built-in prompts, each replaced by what `own` finds under its name, with its path. The
    /// error is one line.
    pub fn with(
        own: impl Fn(&str) -> Result<Option<(PathBuf, String)>, String>,
    ) -> Result<Self, String> {
        let template = |BuiltIn(name, text, must): &BuiltIn| {
            let built_in = Template::new(text);
            match own(name)? {
                None => Ok(built_in),
                Some((path, text)) => Template::checked(&text, &built_in, must)
                    .map_err(|why| format!("{}: {why}", path.display())),
            }
        };
        Ok(Self {
            analyze: template(&ANALYZE)?,
            plan: template(&PLAN)?,
            grade: template(&GRADE)?,
            synthesize: template(&SYNTHESIZE)?,
            chitchat: template(&CHITCHAT)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ToolName;

    #[test]
    fn the_built_in_prompts_pass_the_check_for_own_ones() {
        for BuiltIn(name, text, must) in [ANALYZE, PLAN, GRADE, SYNTHESIZE, CHITCHAT] {
            let checked = Template::checked(text, &Template::new(text), must);
            assert!(checked.is_ok(), "{name}: {checked:?}");
        }
    }

    #[test]
    fn the_routing_prompt_names_every_tool() {
        for tool in ToolName::ALL {
            assert!(ANALYZE.1.contains(&format!("{tool} (")), "{tool}");
        }
    }

    #[test]
    fn own_prompts_that_cannot_work_are_one_line() {
        for (text, why) in [
            (
                "Grade.",
                "has no line '=== user ===': instructions come before it, what varies after",
            ),
            (
                "Grade.\n=== user ===\n{{evidence}} {{count}}",
                "has no {{question}}: without it the prompt cannot work",
            ),
            (
                "Grade.\n=== user ===\n{{evidence}} {{question}} {{count}} {{colour}}",
                "has {{colour}}, which has no value: there are {{history}}, {{evidence}}, {{question}}, {{count}}",
            ),
        ] {
            let own = |name: &str| {
                Ok((name == "grade").then(|| (PathBuf::from("grade.md"), text.to_owned())))
            };
            assert_eq!(Prompts::with(own).unwrap_err(), format!("grade.md: {why}"));
        }
    }
}
