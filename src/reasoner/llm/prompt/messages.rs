//! The messages of each job: which values go into its prompt.

use crate::agent::ports::{AnalyzeJob, GradeJob, PlanJob, SynthesizeJob};
use crate::domain::{Complexity, RoutingPlan, TOOLS, ToolDescriptor, ToolRecord};
use crate::reasoner::offline::answer_instruction;

use super::super::reply_schema::analysis_form;
use super::super::room::Room;
use super::super::wire::Message;
use super::Prompts;
use super::fence::PromptFence;

/// R21: only what is missing is still looked for.
const REFINE: &str = "The evidence below was kept from the rounds before, with its grade from 0.00 to 1.00. It \
     stays. It is not enough: find out which part of the question it does not answer yet, and \
     search for what is still missing, with refined keywords taken from the evidence and the \
     question. Do not search again for what is already there.";
const CALLS: &str = "Calls already made; none of them is made again:";
const FAILED: &str = "This question was looked up before, and these tools and queries failed: nothing useful was \
     found.";
/// R6: something else is wanted than what failed.
const OTHERWISE: &str = "You must choose another retrieval strategy: other tools, or the same tools with \
     clearly different words (synonyms, broader or narrower terms, another language). Do not \
     suggest the same again.";

impl Prompts {
    /// R1–R6: the messages of an analysis.
    pub fn analyze(&self, job: &AnalyzeJob<'_>, room: &Room, fence: &PromptFence) -> Vec<Message> {
        self.analyze.fill(&[
            ("form", analysis_form()),
            ("tools", names_of_tools()),
            ("history", fence.conversation(job.history, room.history)),
            ("failed", failed(job.failed, fence)),
            ("forced", job.forced.map(forced).unwrap_or_default()),
            ("question", fence.question(job.query)),
        ])
    }

    /// R11, R21: the messages of a planning round.
    pub fn plan(&self, job: &PlanJob<'_>, room: &Room, fence: &PromptFence) -> Vec<Message> {
        let calls = fence.calls(CALLS, "calls", job.tool_history);
        let kept = fence.evidence(job.context, room.evidence, job.scores);
        self.plan.fill(&[
            ("tools", descriptions_of_tools()),
            ("history", fence.conversation(job.history, room.history)),
            ("routing", routing(job.routing, fence)),
            ("calls", calls),
            ("refine", if job.refine { REFINE } else { "" }.to_owned()),
            ("kept", kept),
            ("question", fence.question(job.query)),
        ])
    }

    /// R17: the messages of a grading, which asks for all numbers in one call.
    pub fn grade(&self, job: &GradeJob<'_>, room: &Room, fence: &PromptFence) -> Vec<Message> {
        let question = [fence.question(job.query), fence.parts(job.sub_questions)].join("\n\n");
        self.grade.fill(&[
            ("history", fence.conversation(job.history, room.history)),
            ("evidence", fence.evidence(job.context, room.evidence, &[])),
            ("question", question.trim_end().to_owned()),
            ("count", job.context.len().to_string()),
        ])
    }

    /// R23, R24: the messages of an answer from evidence, or of a friendly reply without any.
    pub fn synthesize(
        &self,
        job: &SynthesizeJob<'_>,
        room: &Room,
        fence: &PromptFence,
    ) -> Vec<Message> {
        let template = match job.complexity {
            Complexity::Chitchat => &self.chitchat,
            Complexity::Simple | Complexity::Complex => &self.synthesize,
        };
        // Small models follow the language of the evidence, unless the last thing they read says otherwise.
        let language = answer_instruction(job.question.language).to_owned();
        template.fill(&[
            ("history", fence.conversation(job.history, room.history)),
            ("evidence", fence.evidence(job.context, room.evidence, &[])),
            ("parts", fence.parts(job.sub_questions)),
            ("question", fence.question(job.query)),
            ("language", language),
        ])
    }
}

/// The calls that led nowhere, and that something else is wanted.
fn failed(records: &[ToolRecord], fence: &PromptFence) -> String {
    let calls = fence.calls(FAILED, "failed", records);
    if calls.is_empty() {
        return calls;
    }
    format!("{calls}\n{OTHERWISE}")
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

/// Every tool on one line: `vector_search (by meaning)`.
fn names_of_tools() -> String {
    let names = TOOLS
        .iter()
        .map(|tool| format!("{} ({})", tool.word, tool.by));
    names.collect::<Vec<_>>().join(", ")
}

/// A line for each tool: what it is for and what it takes.
fn descriptions_of_tools() -> String {
    let describe = |tool: &ToolDescriptor| {
        let (word, purpose, example) = (tool.word, tool.purpose, tool.example);
        format!("- {word}: {purpose} args: {example}")
    };
    let lines: Vec<String> = TOOLS.iter().map(describe).collect();
    lines.join("\n")
}

fn routing(routing: &RoutingPlan, fence: &PromptFence) -> String {
    let tools = routing.suggested_tools.iter().map(|tool| tool.as_str());
    let tools = tools.collect::<Vec<_>>().join(", ");
    let lines = [
        ("suggested tools, best first", tools),
        ("literal words", routing.grep_keywords.join(", ")),
    ];
    let lines = lines.iter().filter(|(_, words)| !words.is_empty());
    let lines: Vec<String> = lines
        .map(|(what, words)| format!("{what}: {words}"))
        .collect();
    let analysis = fence.block("The analysis:", "analysis", &lines.join("\n"));
    let blocks = [analysis, fence.parts(&routing.sub_questions)];
    blocks.join("\n\n").trim_matches('\n').to_owned()
}
