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

/// A prompt file's name, what is built in, and what it must and may have values put into.
struct Built {
    name: &'static str,
    text: &'static str,
    must: &'static [&'static str],
    may: &'static [&'static str],
}

const ANALYZE: Built = Built {
    name: "analyze",
    text: include_str!("../../../assets/prompts/analyze.md"),
    must: &["question"],
    may: &["form", "history", "failed", "forced"],
};
const PLAN: Built = Built {
    name: "plan",
    text: include_str!("../../../assets/prompts/plan.md"),
    must: &["tools", "question"],
    may: &["history", "routing", "calls", "refine", "kept"],
};
const GRADE: Built = Built {
    name: "grade",
    text: include_str!("../../../assets/prompts/grade.md"),
    must: &["evidence", "question", "count"],
    may: &["history"],
};
const SYNTHESIZE: Built = Built {
    name: "synthesize",
    text: include_str!("../../../assets/prompts/synthesize.md"),
    must: &["evidence", "question"],
    may: &["history", "parts", "language"],
};
const CHITCHAT: Built = Built {
    name: "chitchat",
    text: include_str!("../../../assets/prompts/chitchat.md"),
    must: &["question"],
    may: &["history", "language"],
};

impl Prompts {
    /// The built-in prompts, each replaced by what `own` finds under its name, with its path. The
    /// error is one line.
    pub fn with(
        own: impl Fn(&str) -> Result<Option<(PathBuf, String)>, String>,
    ) -> Result<Self, String> {
        let template = |built: &Built| match own(built.name)? {
            None => Ok(Template::new(built.text)),
            Some((path, text)) => Template::checked(&text, built.must, built.may)
                .map_err(|why| format!("{}: {why}", path.display())),
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
        for built in [ANALYZE, PLAN, GRADE, SYNTHESIZE, CHITCHAT] {
            let checked = Template::checked(built.text, built.must, built.may);
            assert!(checked.is_ok(), "{}: {checked:?}", built.name);
        }
    }

    #[test]
    fn the_routing_prompt_names_every_tool() {
        for tool in ToolName::ALL {
            assert!(ANALYZE.text.contains(&format!("{tool} (")), "{tool}");
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
                "has {{colour}}, which has no value: there are {{evidence}}, {{question}}, {{count}}, {{history}}",
            ),
        ] {
            let own = |name: &str| {
                Ok((name == "grade").then(|| (PathBuf::from("grade.md"), text.to_owned())))
            };
            assert_eq!(Prompts::with(own).unwrap_err(), format!("grade.md: {why}"));
        }
    }
}
