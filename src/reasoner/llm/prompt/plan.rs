//! R11, R21: which tools to call.

use crate::agent::ports::{PlanJob, ToolDescriptor};
use crate::domain::{Evidence, ToolRecord};
use crate::text::one_line;

use super::super::room::Room;
use super::super::wire::Message;
use super::Prompts;
use super::fence::PromptFence;

impl Prompts {
    /// The messages of one planning round.
    pub fn plan(
        &self,
        job: &PlanJob<'_>,
        tools: &[ToolDescriptor],
        room: &Room,
        fence: &PromptFence,
    ) -> Vec<Message> {
        self.plan.filled(&[
            ("tools", listed(tools)),
            ("history", fence.conversation(job.history, room.history)),
            ("routing", routing(job, fence)),
            ("calls", made(job.tool_history, fence)),
            ("refine", refine(job)),
            ("kept", kept(job, room.evidence, fence)),
            ("question", fence.question(job.query)),
        ])
    }
}

fn listed(tools: &[ToolDescriptor]) -> String {
    let lines: Vec<String> = tools
        .iter()
        .map(|tool| format!("- {}: {} args: {}", tool.name, tool.purpose, tool.args))
        .collect();
    lines.join("\n")
}

fn routing(job: &PlanJob<'_>, fence: &PromptFence) -> String {
    let routing = job.routing;
    let tools: Vec<&str> = routing
        .suggested_tools
        .iter()
        .map(|tool| tool.as_str())
        .collect();
    let mut lines = Vec::new();
    if !tools.is_empty() {
        lines.push(format!("suggested tools, best first: {}", tools.join(", ")));
    }
    if !routing.grep_keywords.is_empty() {
        lines.push(format!(
            "literal words: {}",
            routing.grep_keywords.join(", ")
        ));
    }
    let analysis = if lines.is_empty() {
        String::new()
    } else {
        format!(
            "The analysis:\n{}",
            fence.around("analysis", &lines.join("\n"))
        )
    };
    [analysis, fence.parts(&routing.sub_questions)]
        .into_iter()
        .filter(|block| !block.is_empty())
        .collect::<Vec<_>>()
        .join("\n\n")
}

fn made(history: &[ToolRecord], fence: &PromptFence) -> String {
    if history.is_empty() {
        return String::new();
    }
    let calls: Vec<String> = history
        .iter()
        .map(|record| {
            let call = serde_json::to_string(&record.call).unwrap_or_default();
            match &record.error {
                Some(error) => format!("{call} → error: {}", one_line(error, 200)),
                None => format!("{call} → {} items", record.scores.len()),
            }
        })
        .collect();
    format!(
        "Calls already made; none of them is made again:\n{}",
        fence.around("calls", &calls.join("\n"))
    )
}

/// R21: only what is missing is still looked for.
fn refine(job: &PlanJob<'_>) -> String {
    if !job.refine {
        return String::new();
    }
    "The evidence below was kept from the rounds before, with its grade from 0.00 to 1.00. It \
     stays. It is not enough: find out which part of the question it does not answer yet, and \
     search for what is still missing, with refined keywords taken from the evidence and the \
     question. Do not search again for what is already there."
        .to_owned()
}

fn kept(job: &PlanJob<'_>, room: usize, fence: &PromptFence) -> String {
    let grade = |at: usize, _: &Evidence| match job.scores.get(at) {
        Some(score) => format!(" grade=\"{score}\""),
        None => String::new(),
    };
    fence.evidence(job.context, room, grade)
}
