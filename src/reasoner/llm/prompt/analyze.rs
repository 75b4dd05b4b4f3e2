//! R1–R6: what kind of question, which way, which tools.

use crate::agent::ports::AnalyzeJob;
use crate::domain::{Complexity, ToolRecord};

use super::super::reply_schema::analysis_form;
use super::super::room::Room;
use super::super::wire::Message;
use super::Prompts;
use super::fence::PromptFence;

impl Prompts {
    /// The messages of one analysis.
    pub fn analyze(&self, job: &AnalyzeJob<'_>, room: &Room, fence: &PromptFence) -> Vec<Message> {
        self.analyze.fill(&[
            ("form", analysis_form()),
            ("history", fence.conversation(job.history, room.history)),
            ("failed", failed(job.failed, fence)),
            ("forced", job.forced.map(forced).unwrap_or_default()),
            ("question", fence.question(job.query)),
        ])
    }
}

/// R6: the calls that led nowhere, and that something else is wanted.
fn failed(records: &[ToolRecord], fence: &PromptFence) -> String {
    let title = "This question was looked up before, and these tools and queries failed: nothing \
                 useful was found.";
    let calls = fence.calls(title, "failed", records);
    if calls.is_empty() {
        return calls;
    }
    format!(
        "{calls}\nYou must choose another retrieval strategy: other tools, or the same tools with \
         clearly different words (synonyms, broader or narrower terms, another language). Do not \
         suggest the same again."
    )
}

fn forced(complexity: Complexity) -> String {
    let word = complexity.as_str();
    let so = match complexity {
        Complexity::Chitchat => "give the reply, and no tools",
        Complexity::Simple => "give no sub_questions",
        Complexity::Complex => "give at least two sub_questions",
    };
    format!("The user has chosen the route: complexity is \"{word}\"; {so}.")
}
