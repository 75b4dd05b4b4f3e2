//! R17: one number for each item, all in one call.

use crate::agent::ports::GradeJob;

use super::super::wire::Message;
use super::fence::{conversation, evidence, parts, question};
use super::template::messages;

const FILE: &str = include_str!("../../../../assets/prompts/grade.md");

/// The messages of one grading.
pub fn grade(job: &GradeJob<'_>) -> Vec<Message> {
    let question = [question(job.query), parts(job.sub_questions)]
        .join("\n\n")
        .trim_end()
        .to_owned();
    messages(
        FILE,
        &[
            ("history", conversation(job.history)),
            ("evidence", evidence(job.context, |_, _| String::new())),
            ("question", question),
            ("count", job.context.len().to_string()),
        ],
    )
}
