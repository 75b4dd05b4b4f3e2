//! R23, R24: the answer, from the evidence or from the conversation alone.

use crate::agent::ports::SynthesizeJob;

use super::super::wire::Message;
use super::fence::{conversation, evidence, parts, question};
use super::template::messages;

const FILE: &str = include_str!("../../../../assets/prompts/synthesize.md");
const CHITCHAT: &str = include_str!("../../../../assets/prompts/chitchat.md");

/// The messages of an answer from evidence.
pub fn synthesize(job: &SynthesizeJob<'_>) -> Vec<Message> {
    messages(
        FILE,
        &[
            ("history", conversation(job.history)),
            ("evidence", evidence(job.context, |_, _| String::new())),
            ("parts", parts(job.sub_questions)),
            ("question", question(job.query)),
        ],
    )
}

/// The messages of a friendly reply: no evidence, and no rule about it.
pub fn chitchat(job: &SynthesizeJob<'_>) -> Vec<Message> {
    messages(
        CHITCHAT,
        &[
            ("history", conversation(job.history)),
            ("question", question(job.query)),
        ],
    )
}
