//! R17: one number for each item, all in one call.

use crate::agent::ports::GradeJob;

use super::super::room::Room;
use super::super::wire::Message;
use super::Prompts;
use super::fence::PromptFence;

impl Prompts {
    /// The messages of one grading.
    pub fn grade(&self, job: &GradeJob<'_>, room: &Room, fence: &PromptFence) -> Vec<Message> {
        let question = [fence.question(job.query), fence.parts(job.sub_questions)]
            .join("\n\n")
            .trim_end()
            .to_owned();
        self.grade.fill(&[
            ("history", fence.conversation(job.history, room.history)),
            ("evidence", fence.evidence(job.context, room.evidence, &[])),
            ("question", question),
            ("count", job.context.len().to_string()),
        ])
    }
}
