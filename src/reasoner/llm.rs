//! Thinks with an OpenAI-compatible chat endpoint.
//!
//! Each job is the same three steps, one module each: `prompt` turns the job into messages,
//! `client` and `stream` carry them over and bring the reply back, `read` makes sense of
//! what a model wrote. Only the middle step waits or fails; prompting and reading are pure, so
//! what models get wrong is tested by tables. Nothing is spawned: a dropped future takes its
//! connection with it, which is how a run is cancelled.

mod client;
mod failure;
mod prompt;
mod read;
mod stream;
mod think;
mod wire;

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use secrecy::SecretString;

use crate::agent::ports::{
    Analysis, AnalyzeJob, AnswerSink, CallOrigin, Caveat, GradeJob, Grades, Identity, PlanJob,
    Planned, Reasoner, ReasonerError, Synthesis, SynthesizeJob, ToolDescriptor,
};
use crate::domain::{Complexity, Outcome};
use crate::protocol::Mode;

use client::Endpoint;
use stream::Completion;
use think::ThinkFilter;
use wire::Message;

/// Judging is to be repeatable; only the wording of an answer may vary.
const JUDGING: f64 = 0.0;
const WRITING: f64 = 0.2;

/// Where the model is and how it is spoken to.
#[derive(Debug, Clone)]
pub struct EndpointSettings {
    /// Root of the endpoint, e.g. `http://127.0.0.1:11434/v1`; a closing slash makes no difference.
    pub base_url: String,
    /// Bearer token.
    pub api_key: Option<SecretString>,
    /// The model; without one the first that the endpoint lists.
    pub model: Option<String>,
    /// No byte received for this long is an error.
    pub timeout: Duration,
    /// What the plan prompt may offer.
    pub tools: &'static [ToolDescriptor],
}

/// The thinking engine behind a chat endpoint.
pub struct EndpointReasoner {
    endpoint: Endpoint,
    model: String,
    tools: &'static [ToolDescriptor],
}

/// What a server that lists no models is asked for: it has one and calls it what it likes.
const UNNAMED_MODEL: &str = "default";

impl EndpointReasoner {
    /// Checks the settings and, when no model is named, asks the endpoint for its first.
    ///
    /// With a model named nothing is sent before the first question.
    pub async fn connect(settings: EndpointSettings) -> Result<Self, ReasonerError> {
        let endpoint = Endpoint::new(&settings)?;
        let named = settings.model.filter(|model| !model.trim().is_empty());
        let model = if let Some(model) = named {
            model.trim().to_owned()
        } else {
            let listed = endpoint.first_model().await?;
            listed.unwrap_or_else(|| UNNAMED_MODEL.to_owned())
        };
        Ok(Self {
            endpoint,
            model,
            tools: settings.tools,
        })
    }

    /// One judging call, read to its end.
    async fn judge(
        &self,
        origin: CallOrigin<'_>,
        messages: &[Message],
    ) -> Result<Completion, ReasonerError> {
        let reply = self
            .endpoint
            .chat(origin, &self.model, messages, JUDGING)
            .await?;
        reply.collect().await
    }
}

impl fmt::Debug for EndpointReasoner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EndpointReasoner")
            .field("endpoint", &self.endpoint)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Reasoner for EndpointReasoner {
    fn identity(&self) -> Identity {
        Identity {
            mode: Mode::Llm,
            model: self.model.clone(),
        }
    }

    async fn analyze(&self, job: AnalyzeJob<'_>) -> Result<Analysis, ReasonerError> {
        let reply = self.judge(job.origin, &prompt::analyze(&job)).await?;
        let mut analysis = read::analysis(&reply.text);
        analysis.usage = reply.usage;
        Ok(analysis)
    }

    async fn plan(&self, job: PlanJob<'_>) -> Result<Planned, ReasonerError> {
        let reply = self
            .judge(job.origin, &prompt::plan(&job, self.tools))
            .await?;
        let mut planned = read::plan(&reply.text);
        planned.usage = reply.usage;
        Ok(planned)
    }

    async fn grade(&self, job: GradeJob<'_>) -> Result<Grades, ReasonerError> {
        let reply = self.judge(job.origin, &prompt::grade(&job)).await?;
        Ok(Grades {
            scores: read::grades(&reply.text, job.context.len()),
            usage: reply.usage,
        })
    }

    async fn synthesize(
        &self,
        job: SynthesizeJob<'_>,
        out: AnswerSink,
    ) -> Result<Synthesis, ReasonerError> {
        let messages = if job.complexity == Complexity::Chitchat {
            prompt::chitchat(&job)
        } else {
            prompt::synthesize(&job)
        };
        let mut reply = self
            .endpoint
            .chat(job.origin, &self.model, &messages, WRITING)
            .await?;
        let mut filter = ThinkFilter::default();
        let mut said_something = false;
        while let Some(piece) = reply.next_text().await? {
            let shown = filter.push(&piece);
            if !shown.is_empty() {
                said_something = true;
                out.push(shown).await;
            }
        }
        let rest = filter.finish();
        if !rest.is_empty() {
            said_something = true;
            out.push(rest).await;
        }
        if !said_something {
            return Err(reply.empty());
        }
        let warnings = reply.cut_short().map(|message| Caveat {
            code: "answer_cut_short",
            message,
        });
        Ok(Synthesis {
            outcome: Outcome::Answered,
            usage: reply.usage(),
            warnings: warnings.into_iter().collect(),
        })
    }
}
