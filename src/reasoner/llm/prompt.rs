//! From a job to the messages that are sent.
//!
//! The words are data, in `assets/prompts/` or in files of the user's; here is only what is put
//! into them. What does not change between calls comes first, so that servers can keep it in their
//! cache: the system message is the same for every call of a job, then comes the conversation,
//! then the evidence, then the question. Whatever users and documents wrote is fenced, by tags with a
//! mark of the request's own; the system message knows of the mark and not what it is.

mod defuse;
mod fence;
mod messages;
mod template;

use std::path::Path;

use crate::files::read_own_file;
pub use defuse::{begins_own_tag, own_tag};
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

/// A file of `assets/prompts/`.
macro_rules! built_in {
    ($name:literal: $($must:literal),+) => {
        BuiltIn($name, include_str!(concat!("../../../assets/prompts/", $name, ".md")), &[$($must),+])
    };
}

/// The built-in prompts in the order of the fields of [`Prompts`].
const BUILT_IN: [BuiltIn; 5] = [
    built_in!("analyze": "question"),
    built_in!("plan": "tools", "question"),
    built_in!("grade": "evidence", "question", "count"),
    built_in!("synthesize": "evidence", "question"),
    built_in!("chitchat": "question"),
];

impl Prompts {
    /// The built-in prompts, each replaced by the file of its name in `prompts/` of the folder. The
    /// error is one line.
    pub fn read(folder: Option<&Path>) -> Result<Self, String> {
        let read = |BuiltIn(name, built_in, must): &BuiltIn| {
            let built_in = Template::new(built_in);
            read_own_file(folder, &format!("prompts/{name}.md"), |own| match own {
                None => Ok(built_in),
                Some(own) => Template::checked(own, &built_in, must),
            })
        };
        let [analyze, plan, grade, synthesize, chitchat] = BUILT_IN.each_ref().map(read);
        Ok(Self {
            analyze: analyze?,
            plan: plan?,
            grade: grade?,
            synthesize: synthesize?,
            chitchat: chitchat?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_prompts_pass_the_check_for_own_ones() {
        for BuiltIn(name, text, must) in BUILT_IN {
            let checked = Template::checked(text, &Template::new(text), must);
            assert!(checked.is_ok(), "{name}: {checked:?}");
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
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("prompts/grade.md");
            std::fs::create_dir(folder.path().join("prompts")).unwrap();
            std::fs::write(&path, text).unwrap();
            let line = Prompts::read(Some(folder.path())).unwrap_err();
            assert_eq!(line, format!("{}: {why}", path.display()));
        }
    }
}
