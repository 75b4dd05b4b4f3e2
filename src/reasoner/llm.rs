//! Thinks with an OpenAI-compatible chat endpoint.
//!
//! Each job is the same three steps: `prompt` turns the job into messages, `exchange` holds the
//! talk with the server until there is a reply, `read` makes sense of what a model wrote. Only the
//! middle step waits or fails, in layers of its own: `request` is what is sent and how a model is spoken to, `client`
//! sends it, `stream` waits for a reply and reads it, `think` tells thoughts from the answer, `failure` knows what went
//! wrong. Prompting and reading are pure, so what models get wrong
//! is tested by tables. What servers do differently, what stands in replies, what prompts say and what
//! tokens cost is data in `assets/`, and users can put their own before it.
//!
//! Nothing is spawned: a dropped future takes its connection with it, which is how a run is
//! cancelled.

mod client;
mod exchange;
mod failure;
mod fence;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod json;
mod pace;
mod prompt;
mod read;
mod repetition;
mod reply_schema;
mod request;
mod server;
mod settings;
mod stream;
mod think;
mod tokens;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::sync::{OnceCell, mpsc};

use crate::agent::ports::{
    Analysis, AnalyzeJob, AnswerSink, CallOrigin, CallWaits, GradeJob, Grades, Identity, PlanJob,
    PlannedCalls, Reasoner, ReasonerError, Synthesis, SynthesizeJob, UnreadableGrades, WaitSink,
};
use crate::domain::{Complexity, Evidence, NodeName, Outcome, Question, Score, Turn};
pub use crate::http::{ListedModel, ModelUse};
use crate::protocol::{Mode, RunId};
use crate::reasoner::offline::{self, OfflineReasoner};
use client::{Endpoint, LlmOverrides};
use exchange::{ChatExchange, ModelReply};
use failure::NAME_MODEL;
pub use fence::PromptFence;
use prompt::{Message, Prompts};
use reply_schema::ReplySchema;
use request::ReplyRequest;
pub use server::Structured;
pub use settings::{EndpointSettings, JobSettings, Jobs, ModelJob};

use tokens::Room;

/// The thinking engine behind a chat endpoint. A clone shares all but the jobs' settings.
#[derive(Clone)]
pub struct EndpointReasoner {
    exchange: Arc<ChatExchange>,
    prompts: Arc<Prompts>,
    jobs: Jobs,
    context_tokens: Option<usize>,
    /// The models that jobs have for themselves, by their nodes.
    own_models: HashMap<NodeName, ListedModel>,
    /// The main model: as set, or as found out before the first question.
    model: Arc<OnceCell<ListedModel>>,
    /// Whether the last attempt to find it out failed.
    is_unreached: Arc<AtomicBool>,
    /// The second opinion on what a model takes for small talk.
    offline: Option<Arc<OfflineReasoner>>,
}

/// What a server that lists no models is asked for: it has one and calls it what it likes.
const UNNAMED_MODEL: &str = "default";
/// What the main model is called until its name is asked for.
const UNKNOWN_MODEL: &str = "model not known yet";
/// What it is called where the server was asked for its name and gave none.
const UNREACHED_MODEL: &str = "no model reached";

impl EndpointReasoner {
    /// Checks the settings; nothing is sent before the first question.
    pub fn new(settings: EndpointSettings) -> Result<Self, ReasonerError> {
        let overrides =
            LlmOverrides::read(settings.overrides.as_deref()).map_err(ReasonerError::Internal)?;
        let endpoint = Endpoint::new(&settings, &overrides)?;
        let own_models = ModelJob::ALL.into_iter().filter_map(|job| {
            let model = settings.jobs.settings_for(job).model.as_deref();
            model.map(|model| (job.node(), unlisted(model)))
        });
        let own_models = own_models.collect();
        let named = settings.model.as_deref().map(str::trim);
        let named = named.filter(|model| !model.is_empty()).map(unlisted);
        Ok(Self {
            exchange: Arc::new(ChatExchange::new(
                endpoint,
                settings.retries,
                overrides.prices,
            )),
            prompts: Arc::new(overrides.prompts),
            jobs: settings.jobs,
            context_tokens: settings.context_tokens,
            own_models,
            model: Arc::new(OnceCell::new_with(named)),
            is_unreached: Arc::default(),
            offline: None,
        })
    }

    /// The same with the offline engine, which reads again what a model takes for small talk.
    #[must_use]
    pub fn with_offline(mut self, offline: OfflineReasoner) -> Self {
        self.offline = Some(Arc::new(offline));
        self
    }

    /// The same with another model for each of these jobs.
    #[must_use]
    pub fn with_models<'a>(
        &self,
        chosen: impl Iterator<Item = (ModelJob, &'a ListedModel)>,
    ) -> Self {
        let mut other = self.clone();
        let chosen = chosen.map(|(job, model)| (job.node(), model.clone()));
        other.own_models.extend(chosen);
        other
    }

    /// The model that this job has for itself; `None` where the main one does it.
    pub fn own_model(&self, job: ModelJob) -> Option<&str> {
        let model = self.own_models.get(&job.node())?;
        Some(&model.name)
    }

    /// The model that answers, where every job has one of its own: the endpoint need not be asked for a
    /// main one then.
    fn answering_model(&self) -> Option<&str> {
        let has_own = |job: ModelJob| self.own_models.contains_key(&job.node());
        let answering = self.own_model(ModelJob::Synthesize);
        answering.filter(|_| ModelJob::ALL.into_iter().all(has_own))
    }

    /// The model of a job, in whose name the endpoint may be asked for it.
    async fn model_for(
        &self,
        job: ModelJob,
        waits: Option<&WaitSink>,
    ) -> Result<&ListedModel, ReasonerError> {
        match self.own_models.get(&job.node()) {
            Some(model) => Ok(model),
            None => self.main_model(waits).await,
        }
    }

    async fn main_model(&self, waits: Option<&WaitSink>) -> Result<&ListedModel, ReasonerError> {
        let found = self.model.get_or_try_init(|| async {
            let Some(listed) = self.exchange.models(waits).await? else {
                return Ok(unlisted(UNNAMED_MODEL));
            };
            let mut listed = listed.into_iter();
            let model = listed.find(|model| model.purpose == ModelUse::Chat);
            let site = &self.exchange.endpoint.site;
            let failure = || site.unusable("lists no model that chats", NAME_MODEL);
            model.ok_or_else(|| failure().error)
        });
        let found = found.await;
        self.is_unreached.store(found.is_err(), Ordering::Relaxed);
        found
    }

    /// One call, from its prompt to the reply.
    async fn ask(
        &self,
        job: ModelJob,
        origin: CallOrigin<'_>,
        schema: Option<ReplySchema>,
        messages: &(dyn Fn(&Room) -> Vec<Message> + Sync),
        out: Option<&AnswerSink>,
    ) -> Result<ModelReply, ReasonerError> {
        let model = self.model_for(job, origin.waits).await?;
        let messages = &|room: &Room| prompt::instructed(messages(room), origin.instruction);
        let wanted = ReplyRequest {
            job,
            origin,
            model: &model.name,
            settings: self.jobs.settings_for(job),
            schema,
            messages,
            out,
            context: self.context_tokens.or(model.context),
        };
        self.exchange.reply_to(wanted).await
    }

    /// Grades by the model of that job, within the job's limits.
    async fn grade_by(&self, model: ModelJob, job: GradeJob<'_>) -> Result<Grades, ReasonerError> {
        let fence = PromptFence::new();
        let messages = |room: &Room| self.prompts.grade(&job, room, &fence);
        let schema = Some(reply_schema::grades(job.context.len()));
        let reply = self.ask(model, job.origin, schema, &messages, None).await?;
        let mut scores = if reply.is_skipped {
            Err(UnreadableGrades("the model could not be asked".to_owned()))
        } else {
            read::grades(&reply.text, job.context.len())
        };
        let mut warnings = reply.warnings;
        warnings.extend(scores.iter_mut().find_map(|scores| read::rescale(scores)));
        let every = |scores: Vec<f64>| scores.into_iter().map(Some).collect();
        Ok(Grades {
            scores: scores.map(every),
            usage: reply.usage,
            warnings,
        })
    }
}

impl fmt::Debug for EndpointReasoner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EndpointReasoner")
            .field("site", &self.exchange.endpoint.site)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

/// A model of which only the name is known.
fn unlisted(name: &str) -> ListedModel {
    ListedModel {
        name: name.to_owned(),
        purpose: ModelUse::Chat,
        context: None,
    }
}

#[async_trait]
impl Reasoner for EndpointReasoner {
    fn identity(&self) -> Identity {
        let found = self.model.get().map(|model| model.name.as_str());
        let model = match self.answering_model().or(found) {
            Some(model) => model,
            None if self.is_unreached.load(Ordering::Relaxed) => UNREACHED_MODEL,
            None => UNKNOWN_MODEL,
        };
        Identity {
            mode: Mode::Llm,
            model: model.to_owned(),
        }
    }

    async fn ready(&self, waits: Option<&WaitSink>) -> Result<(), ReasonerError> {
        match self.answering_model() {
            Some(_) => Ok(()),
            None => self.main_model(waits).await.map(|_| ()),
        }
    }

    fn read(&self, query: &str, history: &[Turn]) -> Question {
        offline::read(query, history)
    }

    async fn analyze(&self, job: AnalyzeJob<'_>) -> Result<Analysis, ReasonerError> {
        let fence = PromptFence::new();
        let messages = |room: &Room| self.prompts.analyze(&job, room, &fence);
        let schema = Some(reply_schema::analysis());
        let asking = self.ask(ModelJob::Analyze, job.origin, schema, &messages, None);
        let reply = asking.await?;
        let mut analysis = read::analysis(&reply.text);
        if reply.is_skipped {
            analysis.warnings.clear();
        }
        if analysis.plan.complexity == Complexity::Chitchat && job.forced.is_none() {
            let second = match &self.offline {
                Some(offline) if offline::tells_small_talk(job.query) => {
                    Some(offline.analyze(job).await?)
                }
                _ => None,
            };
            read::check_small_talk(&mut analysis, second);
        }
        analysis.usage = reply.usage;
        analysis.warnings.splice(0..0, reply.warnings);
        Ok(analysis)
    }

    async fn plan(&self, job: PlanJob<'_>) -> Result<PlannedCalls, ReasonerError> {
        let fence = PromptFence::new();
        let messages = |room: &Room| self.prompts.plan(&job, room, &fence);
        let schema = Some(reply_schema::plan());
        let asking = self.ask(ModelJob::Plan, job.origin, schema, &messages, None);
        let reply = asking.await?;
        let mut planned = read::plan(&reply.text);
        if reply.is_skipped {
            planned.warnings.clear();
        }
        planned.usage = reply.usage;
        planned.warnings.splice(0..0, reply.warnings);
        Ok(planned)
    }

    async fn grade(&self, job: GradeJob<'_>) -> Result<Grades, ReasonerError> {
        self.grade_by(ModelJob::Grade, job).await
    }

    async fn synthesize(
        &self,
        job: SynthesizeJob<'_>,
        out: AnswerSink,
    ) -> Result<Synthesis, ReasonerError> {
        let fence = PromptFence::new();
        let messages = |room: &Room| self.prompts.synthesize(&job, room, &fence);
        let model_job = match job.complexity {
            Complexity::Chitchat => ModelJob::SmallTalk,
            Complexity::Simple | Complexity::Complex => ModelJob::Synthesize,
        };
        let reply = self
            .ask(model_job, job.origin, None, &messages, Some(&out))
            .await?;
        Ok(Synthesis {
            outcome: Outcome::Answered,
            confidence: None,
            quoted: Vec::new(),
            replacement: reply.is_taken_back.then_some(reply.text),
            usage: reply.usage,
            warnings: reply.warnings,
        })
    }
}

// The endpoint tried out, with the prompts, the client and the readers of a run.
//
// What works here works in a run, because there is no second way to ask: one small judgement goes
// down the ladder of structured replies, one small answer is streamed, and what went wrong is the
// line that a question would have given. Who asks decides what to make of it.

const QUESTION: &str = "When does the east gate open?";
const EVIDENCE: &str = "The east gate opens at seven in the morning.";
/// Pieces that may wait to be counted.
const IN_FLIGHT: usize = 64;

/// A structured reply.
#[derive(Debug)]
pub struct StructuredReply {
    /// How it was held to its form in the end.
    pub form: Structured,
    /// What was read in it: one number, or why there is none.
    pub grades: Grades,
}

/// A streamed reply.
#[derive(Debug)]
pub struct Answered {
    /// Time until the first piece that a person sees.
    pub first: Duration,
    /// Time until the end of the reply.
    pub total: Duration,
    /// How many pieces the stream came in.
    pub pieces: usize,
    /// What it cost and what went on meanwhile; tokens that the endpoint did not count are estimated.
    pub synthesis: Synthesis,
}

impl Answered {
    /// Whether its end may be missing.
    pub fn is_cut_short(&self) -> bool {
        let mut warnings = self.synthesis.warnings.iter();
        warnings.any(|warning| warning.code == "answer_cut_short")
    }
}

impl EndpointReasoner {
    /// Host and port of the endpoint.
    pub fn host(&self) -> &str {
        self.exchange.endpoint.site.host()
    }

    /// What kind of server it is taken for, by its row of the table.
    pub fn server(&self) -> &str {
        &self.exchange.endpoint.server.name
    }

    /// The models that the endpoint lists; `None` where it lists none at all.
    pub async fn models(&self) -> Result<Option<Vec<ListedModel>>, ReasonerError> {
        self.exchange.models(None).await
    }

    /// The same for a person who waits for it: a server that fails is not asked again. A main model
    /// that is not known yet is known then.
    pub async fn models_now(&self) -> Result<Option<Vec<ListedModel>>, ReasonerError> {
        let waits = CallWaits::for_bytes(None);
        let listed = self.exchange.endpoint.models(&waits).await;
        let listed = listed.map_err(|failure| failure.into_error(1))?;
        let mut known = listed.iter().flatten();
        if let Some(model) = known.find(|model| model.purpose == ModelUse::Chat) {
            // One that was known before stays.
            let _ = self.model.set(model.clone());
        }
        Ok(listed)
    }

    /// The model of a job. Where none is named the endpoint is asked.
    pub async fn model_of(&self, job: ModelJob) -> Result<&str, ReasonerError> {
        Ok(&self.model_for(job, None).await?.name)
    }

    /// A small judgement by the model of that job, within the job's limits.
    pub async fn try_judging(&self, job: ModelJob) -> Result<StructuredReply, ReasonerError> {
        let (run, context) = (RunId::generate(), [evidence()]);
        let question = offline::read(QUESTION, &[]);
        let grading = GradeJob {
            origin: origin(&run, job),
            query: QUESTION,
            question: &question,
            history: &[],
            sub_questions: &[],
            context: &context,
        };
        let grades = self.grade_by(job, grading).await?;
        let model = self.model_of(job).await?;
        Ok(StructuredReply {
            form: self.exchange.endpoint.dialects.of_model(model).structured,
            grades,
        })
    }

    /// A small answer, streamed.
    pub async fn try_answering(&self) -> Result<Answered, ReasonerError> {
        let (run, context) = (RunId::generate(), [evidence()]);
        let question = offline::read(QUESTION, &[]);
        let answering = SynthesizeJob {
            origin: origin(&run, ModelJob::Synthesize),
            query: QUESTION,
            question: &question,
            history: &[],
            complexity: Complexity::Simple,
            sub_questions: &[],
            context: &context,
            absent_words: &[],
        };
        let (said, mut pieces_in) = mpsc::channel(IN_FLIGHT);
        let begun = Instant::now();
        let asking = self.synthesize(answering, AnswerSink(said));
        let counting = async {
            let (mut first, mut pieces) = (None, 0);
            while pieces_in.recv().await.is_some() {
                first.get_or_insert_with(|| begun.elapsed());
                pieces += 1;
            }
            (first, pieces)
        };
        let (synthesis, (first, pieces)) = tokio::join!(asking, counting);
        let (synthesis, total) = (synthesis?, begun.elapsed());
        Ok(Answered {
            first: first.unwrap_or(total),
            total,
            pieces,
            synthesis,
        })
    }
}

fn origin(run: &RunId, job: ModelJob) -> CallOrigin<'_> {
    CallOrigin {
        run,
        node: job.node(),
        calls: None,
        waits: None,
        instruction: None,
    }
}

fn evidence() -> Evidence {
    Evidence {
        source: "gates.md".to_owned(),
        score: Score::clamped(1.0),
        ..Evidence::without_file(1, EVIDENCE)
    }
}
