//! Models of a chat endpoint: what the screen asks about them, and which does which job.

use super::Mode;
use crate::domain::{DecidedBy, NodeName, words};
use crate::text::one_line;

/// What is said where no endpoint is set.
pub const OFFLINE_HAS_NO_MODELS: &str = "Offline there is no model to choose: set \
     KB_AGENT_LLM_BASE_URL, and KB_AGENT_LLM_API_KEY where the server wants one.";
/// How a person calls what the settings say.
const AS_SET: &str = "default";
/// Columns of a name at most.
const LONGEST_NAME: usize = 60;

/// A job that a model does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobName {
    /// Reading the question and choosing a route.
    Analyze,
    /// Choosing tool calls.
    Plan,
    /// Grading evidence.
    Grade,
    /// Answering.
    Answer,
}

words!(JobName: Analyze "analyze", Plan "plan", Grade "grade", Answer "answer");

impl JobName {
    /// The node of the graph that does it.
    pub fn node(self) -> NodeName {
        match self {
            Self::Analyze => NodeName::AnalyzeAndRoute,
            Self::Plan => NodeName::Plan,
            Self::Grade => NodeName::GradeEvidence,
            Self::Answer => NodeName::Synthesize,
        }
    }
}

/// Which model does which job.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobModels {
    main: String,
    own: [Option<String>; 4],
}

impl JobModels {
    /// This one does every job.
    pub fn same_for_all(main: impl Into<String>) -> Self {
        Self {
            main: main.into(),
            ..Self::default()
        }
    }

    /// This one does every job that has none of its own.
    pub fn set_main(&mut self, main: &str) {
        main.clone_into(&mut self.main);
    }

    /// The model of one job; `None`: the main one.
    pub fn set(&mut self, job: JobName, model: Option<&str>) {
        self.own[job as usize] = model.map(str::to_owned);
    }

    /// Whether a job has a model of its own.
    pub fn has_own(&self, job: JobName) -> bool {
        self.own[job as usize].is_some()
    }

    /// Who does this job.
    pub fn model(&self, job: JobName) -> &str {
        self.own[job as usize].as_deref().unwrap_or(&self.main)
    }

    /// The jobs of that model, in the order of the graph.
    pub fn jobs_of(&self, model: &str) -> Vec<JobName> {
        let jobs = JobName::ALL.into_iter();
        jobs.filter(|job| self.model(*job) == model).collect()
    }

    /// Each model with its jobs, the one that answers first.
    pub fn by_model(&self) -> Vec<(&str, Vec<JobName>)> {
        let mut found: Vec<(&str, Vec<JobName>)> = Vec::new();
        for job in [JobName::Answer].into_iter().chain(JobName::ALL) {
            let model = self.model(job);
            if found.iter().all(|(known, _)| *known != model) {
                found.push((model, self.jobs_of(model)));
            }
        }
        found
    }

    /// The same in clean words: `large`, or `large · plan, grade small`.
    pub fn in_words(&self) -> String {
        let words = self.by_model().into_iter().enumerate();
        let words = words.map(|(at, (model, jobs))| match at {
            0 => one_line(model, LONGEST_NAME),
            _ => format!("{} {}", joined(&jobs), one_line(model, LONGEST_NAME)),
        });
        words.collect::<Vec<_>>().join(" · ")
    }
}

/// The names of the jobs.
pub fn joined(jobs: &[JobName]) -> String {
    let names: Vec<&str> = jobs.iter().map(|job| job.as_str()).collect();
    names.join(", ")
}

/// What the screen asks about models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelCommand {
    /// Which there are.
    List,
    /// This does a job from the next question on, as long as the screen is open.
    Choose(ModelWish),
}

/// A model for a job.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelWish {
    /// The job; `None` for all of them.
    pub job: Option<JobName>,
    /// The model's name; `None` for the one that the settings name.
    pub model: Option<String>,
    /// The server on this machine that was found to have it; `None` for the one in use, or for any.
    pub server: Option<String>,
    /// Whether it is written to the user's own `.env` besides, for the next start.
    pub is_kept: bool,
}

/// What a person types behind `/model`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelRequest {
    /// The list, for this job or for all.
    List(Option<JobName>),
    /// A model.
    Choose(ModelWish),
}

impl ModelRequest {
    /// `NAME`, `JOB NAME`, `JOB` or nothing.
    pub fn parse(argument: &str) -> Self {
        let argument = argument.trim();
        let (first, rest) = argument
            .split_once(char::is_whitespace)
            .unwrap_or((argument, ""));
        let (job, name) = match JobName::parse(first) {
            Some(job) => (Some(job), rest.trim()),
            None if first == "all" => (None, rest.trim()),
            None => (None, argument),
        };
        match name {
            "" => Self::List(job),
            name => Self::Choose(ModelWish {
                job,
                model: (name != AS_SET).then(|| name.to_owned()),
                ..ModelWish::default()
            }),
        }
    }
}

/// The models that an endpoint lists.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelListing {
    /// Host and port.
    pub host: String,
    /// The models that can chat.
    pub models: Vec<ModelOffer>,
    /// How many cannot.
    pub left_out: usize,
    /// Which does which job: where no main model is set, the list says which that is.
    pub in_use: JobModels,
}

/// A model that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelOffer {
    /// What requests call it, as the server wrote it.
    pub name: String,
    /// How many tokens it reads, where the server says.
    pub context: Option<usize>,
    /// The server that was found to have it, where it is one that no setting names.
    pub server: Option<String>,
}

impl ModelOffer {
    /// The built-in engine, which decides in the place of a model and does not answer.
    pub fn built_in() -> Self {
        Self {
            name: DecidedBy::BuiltIn.as_str().to_owned(),
            context: None,
            server: None,
        }
    }
}

/// What the screen gets of models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelUpdate {
    /// The models that can be chosen, or one line that says why they are unknown.
    Listed(Result<ModelListing, String>),
    /// Which engine thinks from the next question on, where that changes.
    Engine {
        /// Whether a model or the offline engine thinks.
        mode: Mode,
        /// Where a model is asked.
        endpoint: Option<String>,
    },
    /// Who does which job from the next question on.
    Chosen(JobModels),
    /// It stays as it was, and why; one line.
    NotChosen(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ui_what_follows_the_command_is_a_job_a_name_or_both() {
        let choose = |job, model: Option<&str>| {
            let model = model.map(str::to_owned);
            ModelRequest::Choose(ModelWish {
                job,
                model,
                ..ModelWish::default()
            })
        };
        let grade = Some(JobName::Grade);
        for (typed, read) in [
            ("", ModelRequest::List(None)),
            ("all", ModelRequest::List(None)),
            (" grade ", ModelRequest::List(grade)),
            ("qwen3:8b", choose(None, Some("qwen3:8b"))),
            ("all qwen3:8b", choose(None, Some("qwen3:8b"))),
            ("grade  qwen3:1b", choose(grade, Some("qwen3:1b"))),
            ("default", choose(None, None)),
            ("grade default", choose(grade, None)),
        ] {
            assert_eq!(ModelRequest::parse(typed), read, "{typed}");
        }
    }

    #[test]
    fn ui_models_are_told_with_their_jobs_where_they_differ() {
        let mut models = JobModels::same_for_all("large");
        assert_eq!(models.in_words(), "large");
        models.set(JobName::Grade, Some("small\u{1b}[2J"));
        assert_eq!(models.in_words(), "large · grade small");
        models.set(JobName::Answer, Some("other"));
        assert_eq!(
            models.in_words(),
            "other · analyze, plan large · grade small"
        );
        for job in JobName::ALL {
            models.set(job, Some("large"));
        }
        assert_eq!(models.in_words(), "large");
    }
}
