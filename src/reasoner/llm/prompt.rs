//! From a job to the messages that are sent.
//!
//! The words are data, in `assets/prompts/` or in files of the user's; here is only what is put
//! into them. What does not change between calls comes first, so that servers can keep it in their
//! cache: the system message is the same for every call of a job, then comes the conversation,
//! then the evidence, then the question. Whatever users and documents wrote is fenced, by tags with a
//! mark of the request's own; the system message knows of the mark and not what it is.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::LazyLock;

use parking_lot::Mutex;
use regex::{Captures, Regex};
use serde::Serialize;

use super::fence::PromptFence;
use super::reply_schema::analysis_form;
use super::settings::ModelJob;
use super::tokens::{Room, estimate};
use crate::agent::ports::{AnalyzeJob, AnswerStance, GradeJob, PlanJob, SynthesizeJob};
use crate::domain::{
    ArgumentKind, Complexity, RoutingPlan, TOOLS, ToolDescriptor, ToolRecord, Turn,
};
use crate::files::read_own_file;
use crate::reasoner::offline::answer_instruction;
use crate::reasoner::regex;
use crate::text::sanitize;

/// Who said it, and what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message {
    pub role: &'static str,
    pub content: String,
}

impl Message {
    pub fn new(role: &'static str, content: impl Into<String>) -> Self {
        let content = content.into();
        Self { role, content }
    }
}

/// The messages, the last with what the person tells the model besides.
pub fn instructed(mut messages: Vec<Message>, instruction: Option<&str>) -> Vec<Message> {
    if let (Some(last), Some(instruction)) = (messages.last_mut(), instruction) {
        let instruction = sanitize(instruction);
        last.content
            .push_str(&format!("\n\nThe person adds: {instruction}"));
    }
    messages
}

/// The prompt of every job, in their order.
#[derive(Debug, Clone)]
pub struct Prompts(Vec<Template>);

/// A prompt file's name, what is built in, and the values without which it cannot work.
struct BuiltIn(&'static str, &'static str, &'static [&'static str]);

/// A file of `assets/prompts/`.
macro_rules! built_in {
    ($name:literal: $($must:literal),+) => {
        BuiltIn($name, include_str!(concat!("../../../assets/prompts/", $name, ".md")), &[$($must),+])
    };
}

/// The built-in prompts in the order of the jobs.
const BUILT_IN: [BuiltIn; 6] = [
    built_in!("analyze": "question"),
    built_in!("plan": "tools", "question"),
    built_in!("grade": "evidence", "question", "count"),
    built_in!("synthesize": "evidence", "question"),
    built_in!("chitchat": "question"),
    built_in!("rewrite": "question"),
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
        let templates: Result<_, String> = BUILT_IN.iter().map(read).collect();
        templates.map(Self)
    }
}

// The messages of each job: which values go into its prompt.

impl Prompts {
    /// Whether a text stands in the prompt of planning as it is, and so is no query of the model's own.
    pub fn holds_in_plan(&self, query: &str) -> bool {
        let prompt = self.0[ModelJob::Plan as usize].texts().into_iter();
        let mut texts = prompt.chain(TOOLS.iter().map(|tool| tool.purpose));
        texts.any(|text| text.contains(query))
    }
}

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
        self.0[ModelJob::Analyze as usize].fill(&[
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
        self.0[ModelJob::Plan as usize].fill(&[
            ("tools", descriptions_of_tools()),
            ("history", fence.conversation(job.history, room.history)),
            ("routing", routing(job.routing, fence)),
            ("calls", calls),
            ("refine", if job.refine { REFINE } else { "" }.to_owned()),
            ("kept", kept),
            ("question", fence.question(job.query)),
        ])
    }

    /// The messages that ask for a question as it can be understood alone. They begin as those of the answer will, so that
    /// a server need not read again what was sent for the answers `before`.
    pub fn rewrite(
        &self,
        job: &AnalyzeJob<'_>,
        room: &Room,
        fence: &PromptFence,
        before: &[Turn],
    ) -> Vec<Message> {
        let before = within(before, room.history);
        let (turns, history) = match before {
            [] => (Vec::new(), job.history),
            before => (turns(before), [].as_slice()),
        };
        let history = &history[history.len().saturating_sub(TURNS_BEFORE)..];
        let mut messages = self.0[ModelJob::Rewrite as usize].fill(&[
            ("history", fence.conversation(history, room.history)),
            ("question", fence.question(job.query)),
        ]);
        if !turns.is_empty() {
            let mut as_answered = self.0[ModelJob::Synthesize as usize].fill(&[]);
            as_answered.truncate(1);
            let own: Vec<Message> = messages
                .splice(0..1, as_answered.into_iter().chain(turns))
                .collect();
            if let (Some(own), Some(last)) = (own.first(), messages.last_mut()) {
                last.content = format!("{}\n\n{}", own.content, last.content);
            }
        }
        messages
    }

    /// R17: the messages of a grading, which asks for all numbers in one call.
    pub fn grade(&self, job: &GradeJob<'_>, room: &Room, fence: &PromptFence) -> Vec<Message> {
        let question = [fence.question(job.query), fence.parts(job.sub_questions)].join("\n\n");
        self.0[ModelJob::Grade as usize].fill(&[
            ("history", fence.conversation(job.history, room.history)),
            ("evidence", fence.evidence(job.context, room.evidence, &[])),
            ("question", question.trim_end().to_owned()),
            ("count", job.context.len().to_string()),
        ])
    }

    /// R23, R24: the messages of an answer from evidence, or of a friendly reply without any. What was sent for the
    /// answers `before` goes before it as it was, so that a server need not read it again.
    pub fn synthesize(
        &self,
        job: &SynthesizeJob<'_>,
        room: &Room,
        fence: &PromptFence,
        before: &[Turn],
    ) -> Vec<Message> {
        let is_talk = job.complexity == Complexity::Chitchat;
        let template = if is_talk {
            ModelJob::SmallTalk
        } else {
            ModelJob::Synthesize
        };
        let before = if is_talk {
            &[]
        } else {
            within(before, room.history)
        };
        let known = job.history.len() - before.len();
        let doubts = job.stance == AnswerStance::Doubt;
        // Small models follow the language of the evidence, unless the last thing they read says otherwise.
        let language = answer_instruction(job.question.language).to_owned();
        let history = match before {
            // Small talk leans on little, and a small model reads it for seconds.
            [] if is_talk => &job.history[known.saturating_sub(TURNS_BEFORE)..],
            [] => &job.history[..known],
            _ => &[],
        };
        let mut messages = self.0[template as usize].fill(&[
            ("history", fence.conversation(history, room.history)),
            ("evidence", fence.evidence(job.context, room.evidence, &[])),
            ("parts", fence.parts(job.sub_questions)),
            ("question", fence.question(job.query)),
            ("doubt", if doubts { DOUBT } else { "" }.to_owned()),
            ("language", language),
        ]);
        messages.splice(1..1, turns(before));
        messages
    }
}

/// Turns that a question may speak of.
const TURNS_BEFORE: usize = 2;

/// The messages of earlier turns, each with what was sent as its question.
fn turns(before: &[Turn]) -> Vec<Message> {
    let turns = before.iter().flat_map(|turn| {
        [
            Message::new("user", turn.question.clone()),
            Message::new("assistant", turn.answer.clone()),
        ]
    });
    turns.collect()
}

/// What is said where it is not sure that the evidence answers.
const DOUBT: &str = "If the passages do not answer it, reply only: NOT FOUND.";

/// The latest of the turns that have room.
fn within(before: &[Turn], room: usize) -> &[Turn] {
    let mut left = room;
    let fits = |turn: &&Turn| {
        let rest = left.checked_sub(estimate(&turn.question) + estimate(&turn.answer));
        left = rest.unwrap_or(left);
        rest.is_some()
    };
    let count = before.iter().rev().take_while(fits).count();
    &before[before.len() - count..]
}

/// What was sent for the latest answers, by their questions.
#[derive(Debug, Default)]
pub struct SentTurns(Mutex<VecDeque<(String, String)>>);

/// Answers of which it is kept what was sent.
const MOST_SENT_TURNS: usize = 8;

impl SentTurns {
    /// Keeps the last message that is sent for an answer to that question, in the place of what was kept for it.
    pub fn note(&self, question: &str, message: String) {
        let mut sent = self.0.lock();
        sent.retain(|(known, _)| known != question);
        sent.push_back((question.to_owned(), message));
        if sent.len() > MOST_SENT_TURNS {
            sent.pop_front();
        }
    }

    /// The turns at the end of a conversation of which it is known what was sent, with that as the question, oldest
    /// first.
    pub fn before(&self, history: &[Turn]) -> Vec<Turn> {
        let sent = self.0.lock();
        let exchange = |turn: &Turn| {
            let mut sent = sent.iter();
            let (_, message) = sent.find(|(question, _)| *question == turn.question)?;
            Some(Turn {
                question: message.clone(),
                answer: turn.answer.clone(),
            })
        };
        let mut known: Vec<Turn> = history.iter().rev().map_while(exchange).collect();
        known.reverse();
        known
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
    let name = |tool: &ToolDescriptor| format!("{} ({})", tool.word, tool.by);
    let names: Vec<String> = TOOLS.iter().map(name).collect();
    names.join(", ")
}

/// A line for each tool: what it is for and what it takes. There is no example: small models copy it.
fn descriptions_of_tools() -> String {
    let describe = |tool: &ToolDescriptor| {
        let (word, purpose) = (tool.word, tool.purpose);
        let arguments = tool.arguments.iter().map(|argument| match argument.kind {
            ArgumentKind::List => format!("{}: […]", argument.name),
            _ if argument.is_optional => format!("{}?", argument.name),
            _ => argument.name.to_owned(),
        });
        let arguments: Vec<String> = arguments.collect();
        format!("- {word}: {purpose} args: {}", arguments.join(", "))
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

// A prompt file: the system message, a border, the user message; `{{name}}` where values go.
//
// Values are put in by one pass over the file, so braces inside a value stay what they are. A
// place whose value is empty leaves no gap.

const BORDER: &str = "=== user ===";

/// A prompt with places for values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    system: String,
    user: String,
}

impl Template {
    /// A prompt that is known to be sound.
    pub fn new(file: &str) -> Self {
        let (system, user) = file.split_once(BORDER).unwrap_or((file, ""));
        Self {
            system: system.trim().to_owned(),
            user: user.trim().to_owned(),
        }
    }

    /// A prompt of the user's: it must name every value of `must`, and may name those that the built-in one
    /// names. The error is one line.
    pub fn checked(file: &str, built_in: &Self, must: &[&str]) -> Result<Self, String> {
        if !file.contains(BORDER) {
            return Err(format!(
                "has no line '{BORDER}': instructions come before it, what varies after"
            ));
        }
        let template = Self::new(file);
        let names = template.names();
        if let Some(missing) = must.iter().find(|name| !names.contains(name)) {
            return Err(format!(
                "has no {{{{{missing}}}}}: without it the prompt cannot work"
            ));
        }
        let known = built_in.names();
        if let Some(unknown) = names.iter().find(|name| !known.contains(name)) {
            return Err(format!(
                "has {{{{{}}}}}, which has no value: there are {{{{{}}}}}",
                crate::text::one_line(unknown, 40),
                known.join("}}, {{")
            ));
        }
        Ok(template)
    }

    /// Its texts.
    fn texts(&self) -> [&str; 2] {
        [&self.system, &self.user]
    }

    /// The values that it has places for.
    fn names(&self) -> Vec<&str> {
        let places = self.texts().into_iter();
        let places = places.flat_map(|text| PLACE.captures_iter(text));
        let names = places.filter_map(|place| place.get(2));
        names.map(|name| name.as_str()).collect()
    }

    /// The messages with the values put in.
    pub fn fill(&self, values: &[(&str, String)]) -> Vec<Message> {
        vec![
            Message::new("system", fill_places(&self.system, values)),
            Message::new("user", fill_places(&self.user, values)),
        ]
    }
}

/// A place for a value, with whether it begins a line, and the ends of lines behind it.
static PLACE: LazyLock<Regex> = LazyLock::new(|| regex(r"(?m)(^)?\{\{([^}]*)\}\}(\n*)"));

fn fill_places(text: &str, values: &[(&str, String)]) -> String {
    let fill = |place: &Captures<'_>| {
        let value = values.iter().find(|(name, _)| *name == &place[2]);
        match (value, place.get(1)) {
            (Some((_, value)), _) if !value.is_empty() => format!("{value}{}", &place[3]),
            (_, Some(_)) => String::new(),
            _ => place[3].to_owned(),
        }
    };
    PLACE.replace_all(text, fill).into_owned()
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

    fn turn(question: &str, answer: &str) -> Turn {
        Turn {
            question: question.to_owned(),
            answer: answer.to_owned(),
        }
    }

    #[test]
    fn llm_what_was_sent_begins_the_next_prompt_as_far_as_all_of_it_is_known() {
        let sent = SentTurns::default();
        for question in ["two?", "three?"] {
            sent.note(question, format!("evidence for {question}"));
        }
        let history = [turn("one?", "1"), turn("two?", "2"), turn("three?", "3")];
        let before = sent.before(&history);
        let users: Vec<&str> = before.iter().map(|it| it.question.as_str()).collect();
        assert_eq!(users, ["evidence for two?", "evidence for three?"]);
        assert_eq!(within(&before, 8).len(), 1);
        // A turn between that nobody knows ends the beginning.
        assert_eq!(sent.before(&[turn("two?", "2"), turn("new?", "n")]), []);
    }

    #[test]
    fn values_are_put_in_once_and_empty_ones_leave_no_gap() {
        let file = "be {{mood}}\n=== user ===\n{{a}}\n\n{{b}}\n\n{{c}}\n\nend";
        let values = [
            ("mood", "kind".to_owned()),
            ("a", String::new()),
            ("b", "{{c}} and {{".to_owned()),
            ("c", String::new()),
        ];
        assert_eq!(
            Template::new(file).fill(&values),
            [
                Message::new("system", "be kind"),
                Message::new("user", "{{c}} and {{\n\nend"),
            ]
        );
    }
}
