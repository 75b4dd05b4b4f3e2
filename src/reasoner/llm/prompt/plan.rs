//! R11, R21: which tools to call.

use crate::agent::ports::{PlanJob, ToolDescriptor};
use crate::domain::RoutingPlan;

use super::super::room::Room;
use super::super::wire::Message;
use super::Prompts;
use super::fence::PromptFence;

/// R21: only what is missing is still looked for.
const REFINE: &str = "The evidence below was kept from the rounds before, with its grade from 0.00 to 1.00. It \
     stays. It is not enough: find out which part of the question it does not answer yet, and \
     search for what is still missing, with refined keywords taken from the evidence and the \
     question. Do not search again for what is already there.";

impl Prompts {
    /// The messages of one planning round.
    pub fn plan(
        &self,
        job: &PlanJob<'_>,
        tools: &[ToolDescriptor],
        room: &Room,
        fence: &PromptFence,
    ) -> Vec<Message> {
        self.plan.fill(&[
            ("tools", describe(tools)),
            ("history", fence.conversation(job.history, room.history)),
            ("routing", routing(job.routing, fence)),
            (
                "calls",
                fence.calls(
                    "Calls already made; none of them is made again:",
                    "calls",
                    job.tool_history,
                ),
            ),
            ("refine", if job.refine { REFINE } else { "" }.to_owned()),
            (
                "kept",
                fence.evidence(job.context, room.evidence, job.scores),
            ),
            ("question", fence.question(job.query)),
        ])
    }
}

fn describe(tools: &[ToolDescriptor]) -> String {
    let lines: Vec<String> = tools
        .iter()
        .map(|tool| format!("- {}: {} args: {}", tool.name, tool.purpose, tool.args))
        .collect();
    lines.join("\n")
}

fn routing(routing: &RoutingPlan, fence: &PromptFence) -> String {
    let tools = routing.suggested_tools.iter().map(|tool| tool.as_str());
    let lines = [
        (
            "suggested tools, best first",
            tools.collect::<Vec<_>>().join(", "),
        ),
        ("literal words", routing.grep_keywords.join(", ")),
    ];
    let lines: Vec<String> = lines
        .into_iter()
        .filter(|(_, words)| !words.is_empty())
        .map(|(what, words)| format!("{what}: {words}"))
        .collect();
    let analysis = fence.block("The analysis:", "analysis", &lines.join("\n"));
    let blocks = [analysis, fence.parts(&routing.sub_questions)];
    blocks.join("\n\n").trim_matches('\n').to_owned()
}
