//! R23, R24: the answer, from the evidence or from the conversation alone.

use crate::agent::ports::SynthesizeJob;
use crate::domain::Complexity;
use crate::reasoner::offline::answer_instruction;

use super::super::room::Room;
use super::super::wire::Message;
use super::Prompts;
use super::fence::PromptFence;

impl Prompts {
    /// The messages of an answer: from evidence, or of a friendly reply without any.
    pub fn synthesize(
        &self,
        job: &SynthesizeJob<'_>,
        room: &Room,
        fence: &PromptFence,
    ) -> Vec<Message> {
        let history = fence.conversation(job.history, room.history);
        // Small models follow the language of the evidence, unless the last thing they read says otherwise.
        let language = answer_instruction(job.question.language).to_owned();
        if job.complexity == Complexity::Chitchat {
            return self.chitchat.fill(&[
                ("history", history),
                ("question", fence.question(job.query)),
                ("language", language),
            ]);
        }
        self.synthesize.fill(&[
            ("history", history),
            ("evidence", fence.evidence(job.context, room.evidence, &[])),
            ("parts", fence.parts(job.sub_questions)),
            ("question", fence.question(job.query)),
            ("language", language),
        ])
    }
}
