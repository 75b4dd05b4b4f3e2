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
mod local;
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
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::sync::{OnceCell, mpsc};

use crate::agent::ports::{
    Analysis, AnalyzeJob, AnswerSink, AnswerStance, CallOrigin, CallWaits, Caveat, ChooseJob,
    ChosenEvidence, GradeJob, Grades, Identity, NOTHING_FOUND, PlanJob, PlannedCalls, Reasoner,
    ReasonerError, Support, SupportJob, Synthesis, SynthesizeJob, UnreadableGrades, WaitSink,
};
use crate::domain::{
    Complexity, DecidedBy, Evidence, NodeName, Outcome, Question, RouterThresholds, Score, Turn,
    Usage,
};
pub use crate::http::{ListedModel, ModelUse};
use crate::protocol::{Mode, RunId};
use crate::reasoner::offline::{self, OfflineReasoner};
use client::{Endpoint, LlmOverrides};
use exchange::{ChatExchange, ModelReply};
use failure::NAME_MODEL;
pub use fence::PromptFence;
pub use local::{LocalServer, local_servers};
use prompt::{Message, Prompts, SentTurns};
use reply_schema::ReplySchema;
use request::ReplyRequest;
pub use server::Structured;
pub use settings::{Decides, EndpointSettings, JobSettings, Jobs, ModelJob};

use tokens::{Room, estimate};

/// The thinking engine behind a chat endpoint. A clone shares all but the jobs' settings.
#[derive(Clone)]
pub struct EndpointReasoner {
    exchange: Arc<ChatExchange>,
    prompts: Arc<Prompts>,
    jobs: Jobs,
    decides: Decides,
    evidence_tokens: Option<usize>,
    context_tokens: Option<usize>,
    /// The models that jobs have for themselves, by their nodes.
    own_models: HashMap<NodeName, ListedModel>,
    /// The main model: as set, or as found out before the first question.
    model: Arc<OnceCell<ListedModel>>,
    /// Whether the last attempt to find it out failed.
    is_unreached: Arc<AtomicBool>,
    /// How the first judgement of a model went, as far as one was made.
    pace: Arc<JudgementPace>,
    /// Fences what users and documents wrote. Its mark is the same for all requests, so that a server can keep what it
    /// has read of a prompt; it is made up when the program starts, and nobody else knows it.
    fence: Arc<PromptFence>,
    /// The prompts of the answers so far, which begin the next one.
    sent: Arc<SentTurns>,
    /// What decides in the place of a small model, finds the evidence and checks what a model writes.
    offline: Option<Arc<OfflineReasoner>>,
}

/// Whether judgements of a model are worth waiting for.
#[derive(Debug, Default)]
struct JudgementPace(AtomicU8);

impl JudgementPace {
    const QUICK: u8 = 1;
    const SLOW: u8 = 2;

    fn is_slow(&self) -> bool {
        self.0.load(Ordering::Relaxed) == Self::SLOW
    }

    /// Notes how long a judgement took. True where it is the first one and too slow.
    fn note(&self, took: Duration) -> bool {
        let pace = if took > SLOW_JUDGEMENT {
            Self::SLOW
        } else {
            Self::QUICK
        };
        let first = self
            .0
            .compare_exchange(0, pace, Ordering::Relaxed, Ordering::Relaxed);
        first.is_ok() && pace == Self::SLOW
    }
}

/// A first judgement that takes longer than this leaves the others to the built-in engine.
const SLOW_JUDGEMENT: Duration = Duration::from_secs(10);
/// A model with fewer billions of parameters decides worse than the built-in engine.
const DECIDES_FROM: f64 = 8.0;
/// Tokens of evidence by billions of parameters: below the first number the second; a model whose size nobody tells is
/// a large one of a service. The smallest model read no more to any use; the other two are not measured.
const EVIDENCE_TOKENS: [(f64, usize); 3] = [(4.0, 600), (14.1, 1_500), (f64::INFINITY, 4_000)];
/// Evidence takes at most this share of what a model reads.
const EVIDENCE_SHARE: usize = 3;

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
            model.map(|model| (job.node(), ListedModel::named(model)))
        });
        let own_models = own_models.collect();
        let named = settings.model.as_deref().map(str::trim);
        let named = named
            .filter(|model| !model.is_empty())
            .map(ListedModel::named);
        Ok(Self {
            exchange: Arc::new(ChatExchange::new(
                endpoint,
                settings.retries,
                overrides.prices,
            )),
            prompts: Arc::new(overrides.prompts),
            jobs: settings.jobs,
            decides: settings.decides,
            evidence_tokens: settings.evidence_tokens,
            context_tokens: settings.context_tokens,
            own_models,
            model: Arc::new(OnceCell::new_with(named)),
            is_unreached: Arc::default(),
            pace: Arc::default(),
            fence: Arc::default(),
            sent: Arc::default(),
            offline: None,
        })
    }

    /// The same with the offline engine, which decides where the model does not, finds evidence and checks answers.
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

    /// Who decides in this job, as far as is known of the model by now.
    pub fn decider(&self, job: ModelJob) -> DecidedBy {
        let (own, main) = (self.own_models.get(&job.node()), self.model.get());
        let is_built_in = |model: &ListedModel| model.name == DecidedBy::BuiltIn.as_str();
        let by_size = |model: Option<&ListedModel>| {
            let billions = model.and_then(|model| model.billions);
            if self.pace.is_slow() || billions.is_some_and(|billions| billions < DECIDES_FROM) {
                DecidedBy::BuiltIn
            } else {
                DecidedBy::Model
            }
        };
        match (own, self.decides) {
            _ if self.offline.is_none() || job.node() == NodeName::Synthesize => DecidedBy::Model,
            (Some(own), _) if is_built_in(own) => DecidedBy::BuiltIn,
            (Some(_), _) | (None, Decides::Model) => DecidedBy::Model,
            (None, Decides::BuiltIn) => DecidedBy::BuiltIn,
            (None, Decides::Auto) => by_size(main),
        }
    }

    /// Whether the model that plans is known to be small.
    fn is_small(&self) -> bool {
        let own = self.own_models.get(&NodeName::Plan);
        let billions = own.or(self.model.get()).and_then(|model| model.billions);
        billions.is_some_and(|billions| billions < DECIDES_FROM)
    }

    /// The offline engine, where it decides in this job.
    fn built_in(&self, job: ModelJob) -> Option<&OfflineReasoner> {
        let offline = self.offline.as_deref();
        offline.filter(|_| self.decider(job) == DecidedBy::BuiltIn)
    }

    /// Notes how long a judgement took, with a caveat where the others are left to the built-in engine for that.
    fn note_pace(&self, job: ModelJob, begun: Instant) -> Option<Caveat> {
        let is_auto = self.decides == Decides::Auto && self.own_model(job).is_none();
        let is_slow = is_auto && self.offline.is_some() && self.pace.note(begun.elapsed());
        let seconds = begun.elapsed().as_secs();
        is_slow.then(|| {
            let model = self.identity().model;
            let message = format!(
                "{model} took {seconds} s for its first judgement: the built-in engine decides from now on \
                 (KB_AGENT_LLM_DECIDES=model leaves it to the model)"
            );
            Caveat::new("built_in_decides", message)
        })
    }

    /// About how many tokens of evidence the model that answers gets.
    fn evidence_tokens(&self) -> usize {
        let own = self.own_models.get(&NodeName::Synthesize);
        let model = own.or(self.model.get());
        let billions = model
            .and_then(|model| model.billions)
            .unwrap_or(f64::INFINITY);
        let by_size = EVIDENCE_TOKENS.iter().find(|(below, _)| billions < *below);
        let by_size = by_size.map_or(EVIDENCE_TOKENS[2].1, |(_, tokens)| *tokens);
        let context = self
            .context_tokens
            .or(model.and_then(|model| model.context));
        let most = context.map_or(usize::MAX, |context| context / EVIDENCE_SHARE);
        self.evidence_tokens.unwrap_or(by_size).min(most)
    }

    /// A room with no more conversation than twice the evidence of an answer.
    fn with_less_history(&self, room: &Room) -> Room {
        Room {
            history: room.history.min(2 * self.evidence_tokens()),
            ..*room
        }
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
                return Ok(ListedModel::named(UNNAMED_MODEL));
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

    /// Asks for the question as it can be understood alone. Where that fails, or the reply is no such question, it is
    /// looked up with words of the one before, as without a model.
    async fn rewrite(&self, job: &AnalyzeJob<'_>, analysis: &mut Analysis) {
        let before = self.sent.before(job.history);
        let messages = |room: &Room| {
            let room = self.with_less_history(room);
            self.prompts.rewrite(job, &room, &self.fence, &before)
        };
        let asking = self.ask(ModelJob::Rewrite, job.origin, None, &messages, None);
        let why = match asking.await {
            Ok(reply) => {
                analysis.usage = reply.usage;
                analysis.warnings.extend(reply.warnings);
                analysis.plan.rewritten = read::rewriting(&reply.text, job.query, job.history);
                "its reply is no such question".to_owned()
            }
            Err(error) => crate::text::one_line(&error.to_string(), 200),
        };
        if analysis.plan.rewritten.is_none() {
            let message = format!(
                "the model did not rewrite the question, which leans on the one before; words of that one are \
                 searched too: {why}"
            );
            analysis
                .warnings
                .push(Caveat::new("question_not_rewritten", message));
        }
    }

    /// Grades by the model of that job, within the job's limits.
    async fn grade_by(&self, model: ModelJob, job: GradeJob<'_>) -> Result<Grades, ReasonerError> {
        let begun = Instant::now();
        let messages = |room: &Room| self.prompts.grade(&job, room, &self.fence);
        let schema = Some(reply_schema::grades(job.context.len()));
        let reply = self.ask(model, job.origin, schema, &messages, None).await?;
        let mut scores = if reply.is_skipped {
            Err(UnreadableGrades("the model could not be asked".to_owned()))
        } else {
            read::grades(&reply.text, job.context.len())
        };
        let mut warnings = reply.warnings;
        warnings.extend(scores.iter_mut().find_map(|scores| read::rescale(scores)));
        warnings.extend(self.note_pace(model, begun));
        let every = |scores: Vec<f64>| scores.into_iter().map(Some).collect();
        Ok(Grades {
            scores: scores.map(every),
            by: Some(DecidedBy::Model),
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

    fn effective_thresholds(&self, set: RouterThresholds, question: &Question) -> RouterThresholds {
        offline::effective_thresholds(set, question.language)
    }

    async fn analyze(&self, job: AnalyzeJob<'_>) -> Result<Analysis, ReasonerError> {
        if let Some(offline) = self.built_in(ModelJob::Analyze) {
            let mut analysis = offline.analyze(job).await?;
            // The model replies to small talk.
            analysis.reply = None;
            analysis.by = Some(DecidedBy::BuiltIn);
            analysis.usage = Usage::default();
            let is_talk = analysis.plan.complexity == Complexity::Chitchat;
            if job.question.continues.is_some() && !is_talk {
                self.rewrite(&job, &mut analysis).await;
            }
            return Ok(analysis);
        }
        let begun = Instant::now();
        let messages = |room: &Room| self.prompts.analyze(&job, room, &self.fence);
        let schema = Some(reply_schema::analysis());
        let asking = self.ask(ModelJob::Analyze, job.origin, schema, &messages, None);
        let reply = asking.await?;
        let mut analysis = read::analysis(&reply.text);
        if reply.is_skipped {
            analysis.warnings.clear();
        }
        let second = match &self.offline {
            Some(offline) if job.forced.is_none() && job.failed.is_empty() => {
                Some(offline.analyze(job).await?)
            }
            _ => None,
        };
        if let Some(second) = &second {
            analysis.built_in = Some(second.plan.complexity);
            analysis.built_in_because.clone_from(&second.because);
        }
        if analysis.plan.complexity == Complexity::Chitchat && job.forced.is_none() {
            let is_spoken_of = job.spoken_of.is_some_and(|topics| !topics.is_empty());
            let second = second.filter(|_| is_spoken_of || offline::tells_small_talk(job.query));
            read::check_small_talk(&mut analysis, second);
            let is_talk = analysis.plan.complexity == Complexity::Chitchat;
            analysis.search_hint = offline::search_hint(job.question).filter(|_| is_talk);
        }
        analysis.by = Some(DecidedBy::Model);
        analysis.usage = reply.usage;
        analysis.warnings.splice(0..0, reply.warnings);
        let is_slow = self.note_pace(ModelJob::Analyze, begun);
        analysis.warnings.extend(is_slow);
        Ok(analysis)
    }

    async fn plan(&self, job: PlanJob<'_>) -> Result<PlannedCalls, ReasonerError> {
        if let Some(offline) = self.built_in(ModelJob::Plan) {
            let mut planned = offline.plan(job).await?;
            for planned in &mut planned.calls {
                planned.by = Some(DecidedBy::BuiltIn);
            }
            planned.by = Some(DecidedBy::BuiltIn);
            planned.usage = Usage::default();
            return Ok(planned);
        }
        let begun = Instant::now();
        let messages = |room: &Room| self.prompts.plan(&job, room, &self.fence);
        let schema = Some(reply_schema::plan());
        let asking = self.ask(ModelJob::Plan, job.origin, schema, &messages, None);
        let reply = asking.await?;
        let mut planned = read::plan(&reply.text);
        if reply.is_skipped {
            planned.warnings.clear();
        }
        read::replace_stray_queries(&mut planned, &job, &self.prompts, self.is_small());
        for planned in &mut planned.calls {
            planned.by = Some(DecidedBy::Model);
        }
        if self.offline.is_some() {
            planned.calls.extend(offline::searches(&job));
        }
        planned.by = Some(DecidedBy::Model);
        planned.usage = reply.usage;
        planned.warnings.splice(0..0, reply.warnings);
        planned
            .warnings
            .extend(self.note_pace(ModelJob::Plan, begun));
        Ok(planned)
    }

    async fn grade(&self, job: GradeJob<'_>) -> Result<Grades, ReasonerError> {
        if let Some(offline) = self.built_in(ModelJob::Grade) {
            let grades = offline.grade(job).await?;
            return Ok(Grades {
                by: Some(DecidedBy::BuiltIn),
                usage: Usage::default(),
                ..grades
            });
        }
        self.grade_by(ModelJob::Grade, job).await
    }

    async fn choose(&self, job: ChooseJob<'_>) -> Result<Option<ChosenEvidence>, ReasonerError> {
        let Some(offline) = &self.offline else {
            return Ok(None);
        };
        let budget = self.evidence_tokens();
        let mut chosen = offline.choose_for_model(job, budget, estimate).await?;
        if self.decider(ModelJob::Grade) == DecidedBy::Model {
            // A model that judges evidence can also tell that it does not answer.
            chosen.stance = AnswerStance::Doubt;
            chosen.confidence = None;
            chosen.quotation = None;
        }
        Ok(Some(chosen))
    }

    fn find_support(&self, job: SupportJob<'_>) -> Vec<(Range<usize>, Support)> {
        let offline = self.offline.as_ref();
        offline.map_or_else(Vec::new, |offline| offline.find_support_for(job))
    }

    async fn withdraw(&self, job: SynthesizeJob<'_>) -> Result<Option<String>, ReasonerError> {
        match self.built_in(ModelJob::Grade) {
            Some(offline) => offline.nothing_answers(as_looked_up(job)).await.map(Some),
            None => Ok(None),
        }
    }

    async fn synthesize(
        &self,
        job: SynthesizeJob<'_>,
        out: AnswerSink,
    ) -> Result<Synthesis, ReasonerError> {
        if let (AnswerStance::ByProgram, Some(offline)) = (job.stance, &self.offline) {
            let synthesis = offline.synthesize(as_looked_up(job), out).await?;
            // So that the conversation that the model gets has no hole.
            self.sent.note(job.query, self.fence.question(job.query));
            return Ok(Synthesis {
                usage: Usage::default(),
                ..synthesis
            });
        }
        let before = self.sent.before(job.history);
        let messages = |room: &Room| {
            let room = self.with_less_history(room);
            let messages = self.prompts.synthesize(&job, &room, &self.fence, &before);
            if let Some(last) = messages.last()
                && job.complexity != Complexity::Chitchat
            {
                self.sent.note(job.query, last.content.clone());
            }
            messages
        };
        let model_job = match job.complexity {
            Complexity::Chitchat => ModelJob::SmallTalk,
            Complexity::Simple | Complexity::Complex => ModelJob::Synthesize,
        };
        let (held, mut pieces) = mpsc::channel(IN_FLIGHT);
        let held = AnswerSink(held);
        let mut refusal = RefusalFilter::new(job.stance);
        let asking = async {
            // The pieces end with the sink.
            let held = held;
            self.ask(model_job, job.origin, None, &messages, Some(&held))
                .await
        };
        let passing_on = async {
            while let Some(piece) = pieces.recv().await {
                let shown = refusal.push(piece);
                if !shown.is_empty() {
                    out.push(shown).await;
                }
            }
        };
        let (reply, ()) = tokio::join!(asking, passing_on);
        let reply = reply?;
        if refusal.refuses() {
            let text = match &self.offline {
                Some(offline) => offline.nothing_answers(as_looked_up(job)).await?,
                None => NOTHING_FOUND.to_owned(),
            };
            return Ok(Synthesis {
                outcome: Outcome::NotFound,
                confidence: None,
                quoted: Vec::new(),
                replacement: Some(text),
                usage: reply.usage,
                warnings: reply.warnings,
            });
        }
        let rest = refusal.finish();
        if !rest.is_empty() {
            out.push(rest).await;
        }
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

/// The job of an engine that goes by the question as it is looked up.
fn as_looked_up(job: SynthesizeJob<'_>) -> SynthesizeJob<'_> {
    if job.question.text == job.query {
        return job;
    }
    SynthesizeJob {
        query: &job.question.text,
        history: &[],
        ..job
    }
}

/// Holds the beginning of a reply back while it may be the word by which a model says that nothing answers.
struct RefusalFilter {
    /// What came of a reply that may still be that word; `None` once it cannot.
    held: Option<String>,
}

impl RefusalFilter {
    fn new(stance: AnswerStance) -> Self {
        let may_refuse = stance == AnswerStance::Doubt;
        Self {
            held: may_refuse.then(String::new),
        }
    }

    /// What of the reply can be shown.
    fn push(&mut self, piece: String) -> String {
        let Some(held) = &mut self.held else {
            return piece;
        };
        held.push_str(&piece);
        let said = bare(held);
        if said.len() <= NOT_FOUND.len() && NOT_FOUND.starts_with(&said) {
            return String::new();
        }
        self.held.take().unwrap_or_default()
    }

    /// Whether the reply is that word and nothing else.
    fn refuses(&self) -> bool {
        self.held
            .as_deref()
            .is_some_and(|held| bare(held) == NOT_FOUND)
    }

    /// What is left at the end.
    fn finish(&mut self) -> String {
        self.held.take().unwrap_or_default()
    }
}

/// The letters of a text, in lower case.
fn bare(text: &str) -> String {
    let letters = text.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// The letters of what a model replies where the evidence does not answer.
const NOT_FOUND: &str = "notfound";

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
            stance: AnswerStance::Answer,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r23_a_reply_is_held_back_only_while_it_may_say_that_nothing_answers() {
        for (stance, pieces, shown, refuses) in [
            (AnswerStance::Doubt, &["NOT", " FOUND", "."][..], "", true),
            (
                AnswerStance::Doubt,
                &["Not", " far", " from it."],
                "Not far from it.",
                false,
            ),
            (AnswerStance::Doubt, &["Yes", " [1]."], "Yes [1].", false),
            (AnswerStance::Answer, &["NOT FOUND"], "NOT FOUND", false),
        ] {
            let mut filter = RefusalFilter::new(stance);
            let said: String = pieces
                .iter()
                .map(|it| filter.push((*it).to_owned()))
                .collect();
            assert_eq!(
                (said.as_str(), filter.refuses()),
                (shown, refuses),
                "{pieces:?}"
            );
        }
    }

    #[test]
    fn llm_only_a_slow_first_judgement_leaves_the_others_to_the_built_in_engine() {
        let (quick, slow) = (Duration::from_secs(2), Duration::from_secs(11));
        for (took, first_is_slow) in [([quick, slow], false), ([slow, quick], true)] {
            let pace = JudgementPace::default();
            assert_eq!(took.map(|it| pace.note(it)), [first_is_slow, false]);
            assert_eq!(pace.is_slow(), first_is_slow);
        }
    }
}
