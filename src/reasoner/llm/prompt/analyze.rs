//! R1–R6: what kind of question, which way, which tools.

use crate::agent::ports::AnalyzeJob;
use crate::domain::{Complexity, ToolRecord};
use crate::text::one_line;

use super::super::reply_schema::analysis_form;
use super::super::room::Room;
use super::super::wire::Message;
use super::Prompts;
use super::fence::PromptFence;

impl Prompts {
    /// The messages of one analysis.
    pub fn analyze(&self, job: &AnalyzeJob<'_>, room: &Room, fence: &PromptFence) -> Vec<Message> {
        self.analyze.filled(&[
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
    if records.is_empty() {
        return String::new();
    }
    let calls: Vec<String> = records.iter().map(described).collect();
    format!(
        "This question was looked up before, and these tools and queries failed: nothing useful \
         was found.\n{}\nYou must choose another retrieval strategy: other tools, or the same \
         tools with clearly different words (synonyms, broader or narrower terms, another \
         language). Do not suggest the same again.",
        fence.around("failed", &calls.join("\n"))
    )
}

fn described(record: &ToolRecord) -> String {
    let args = serde_json::to_string(&record.call).unwrap_or_default();
    match &record.error {
        Some(error) => format!("{args} (error: {})", one_line(error, 200)),
        None => format!("{args} ({} items, useless)", record.scores.len()),
    }
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
