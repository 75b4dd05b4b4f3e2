//! Thinks with an OpenAI-compatible chat endpoint.
//!
//! Each job is the same three steps: `prompt` turns the job into messages, `exchange` holds the
//! talk with the server until there is a reply, `analysis`, `plan`, `grades` and `queries` make sense of
//! what a model wrote. Only the middle step waits or fails: `request` is what is sent and how a model is
//! spoken to, [`crate::openai`] sends it and reads the reply, `think` tells thoughts from the answer.
//! Prompting and reading are pure, so what models get wrong is tested by tables. What servers do
//! differently, what stands in replies, what prompts say and what tokens cost is data in `assets/`, and
//! users can put their own before it.
//!
//! Nothing is spawned: a dropped future takes its connection with it, which is how a run is
//! cancelled.

mod analysis;
mod exchange;
mod fence;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod grades;
mod json;
mod overrides;
mod pace;
mod plan;
mod prompt;
mod queries;
mod repetition;
mod reply_schema;
mod request;
mod settings;
mod think;
mod tokens;
mod trial;

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::sync::{OnceCell, mpsc};

use crate::agent::ports::{
    Analysis, AnalyzeJob, AnswerSink, AnswerStance, CallOrigin, Caveat, ChooseJob, ChosenEvidence,
    GradeJob, Grades, Identity, NOTHING_FOUND, PlanJob, PlannedCalls, Reasoner, ReasonerError,
    Support, SupportJob, Synthesis, SynthesizeJob, UnreadableGrades, WaitSink,
};
use crate::domain::{
    Complexity, DecidedBy, NodeName, Outcome, Question, RouterThresholds, Turn, Usage,
};
pub use crate::openai::{ListedModel, LocalServer, ModelUse, Structured, local_servers};
use crate::protocol::Mode;
use crate::reasoner::offline::{self, OfflineReasoner};
use exchange::{ChatExchange, ModelReply};
pub use fence::PromptFence;
use overrides::LlmOverrides;
use prompt::{Message, Prompts, SentTurns};
use reply_schema::ReplySchema;
use request::ReplyRequest;
pub use settings::{Decides, EndpointSettings, JobSettings, Jobs, ModelJob};
pub use trial::{Answered, StructuredReply};

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
    /// Whether the first judgement of a model was too slow, once one was made.
    is_slow: Arc<OnceLock<bool>>,
    /// Fences what users and documents wrote. Its mark is the same for all requests, so that a server can keep what it
    /// has read of a prompt; it is made up when the program starts, and nobody else knows it.
    fence: Arc<PromptFence>,
    /// The prompts of the answers so far, which begin the next one.
    sent: Arc<SentTurns>,
    /// What decides in the place of a small model, finds the evidence and checks what a model writes.
    offline: Option<Arc<OfflineReasoner>>,
}

/// A first judgement that takes longer than this leaves the others to the built-in engine.
const SLOW_JUDGEMENT: Duration = Duration::from_secs(10);
/// A model with fewer billions of parameters decides worse than the built-in engine.
const DECIDES_FROM: f64 = 8.0;
/// Evidence takes at most this share of what a model reads.
const EVIDENCE_SHARE: usize = 3;

/// Pieces that may wait to be passed on.
const IN_FLIGHT: usize = 64;

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
        let prompts = Arc::new(overrides.prompts.clone());
        let exchange = Arc::new(ChatExchange::new(&settings, overrides)?);
        let own_models = ModelJob::ALL.into_iter().filter_map(|job| {
            let model = settings.jobs.settings_for(job).model.as_deref();
            model.map(|model| (job.node(), ListedModel::from_name(model)))
        });
        let own_models = own_models.collect();
        let named = settings.model.as_deref().map(str::trim);
        let named = named
            .filter(|model| !model.is_empty())
            .map(ListedModel::from_name);
        Ok(Self {
            exchange,
            prompts,
            jobs: settings.jobs,
            decides: settings.decides,
            evidence_tokens: settings.evidence_tokens,
            context_tokens: settings.context_tokens,
            own_models,
            model: Arc::new(OnceCell::new_with(named)),
            is_unreached: Arc::default(),
            is_slow: Arc::default(),
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
        let own = self.own_model(job);
        let is_built_in = match self.decides {
            _ if self.offline.is_none() || job.node() == NodeName::Synthesize => false,
            _ if own.is_some() => own == Some(DecidedBy::BuiltIn.as_str()),
            Decides::Model => false,
            Decides::BuiltIn => true,
            Decides::Auto => self.is_slow.get() == Some(&true) || self.is_small(job),
        };
        if is_built_in {
            DecidedBy::BuiltIn
        } else {
            DecidedBy::Model
        }
    }

    /// What is known of the model of this job.
    fn known_model(&self, job: ModelJob) -> Option<&ListedModel> {
        let own = self.own_models.get(&job.node());
        own.or(self.model.get())
    }

    /// Whether the model of this job is known to be small.
    fn is_small(&self, job: ModelJob) -> bool {
        let billions = self.known_model(job).and_then(|model| model.billions);
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
        let took = begun.elapsed();
        let is_counted = is_auto && self.offline.is_some();
        (is_counted && is_first_and_slow(&self.is_slow, took)).then(|| {
            let (model, seconds) = (self.identity().model, took.as_secs());
            let message = format!(
                "{model} took {seconds} s for its first judgement: the built-in engine decides from now on \
                 (KB_AGENT_LLM_DECIDES=model leaves it to the model)"
            );
            Caveat::new("built_in_decides", message)
        })
    }

    /// About how many tokens of evidence the model that answers gets.
    fn evidence_tokens(&self) -> usize {
        let model = self.known_model(ModelJob::Synthesize);
        let billions = model.and_then(|model| model.billions);
        // A model whose size nobody tells is a large one of a service. The smallest model read no more to any use; the
        // other two are not measured.
        let by_size = match billions.unwrap_or(f64::INFINITY) {
            ..4.0 => 600,
            ..14.1 => 1_500,
            _ => 4_000,
        };
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
            let Some(listed) = self.exchange.models(waits, true).await? else {
                return Ok(ListedModel::from_name(UNNAMED_MODEL));
            };
            let mut listed = listed.into_iter();
            let model = listed.find(|model| model.purpose == ModelUse::Chat);
            let site = &self.exchange.endpoint.site;
            let failure = || site.unusable("lists no model that chats", "set KB_AGENT_LLM_MODEL");
            model.ok_or_else(|| failure().into())
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
                analysis.plan.rewritten =
                    queries::read_rewriting(&reply.text, job.query, job.history);
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
            grades::read(&reply.text, job.context.len())
        };
        let mut warnings = reply.warnings;
        warnings.extend(scores.iter_mut().find_map(|scores| grades::rescale(scores)));
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
        let mut analysis = analysis::read(&reply.text);
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
            analysis::check_small_talk(&mut analysis, second);
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
        let mut planned = plan::read(&reply.text);
        if reply.is_skipped {
            planned.warnings.clear();
        }
        queries::replace_stray_queries(
            &mut planned,
            &job,
            &self.prompts,
            self.is_small(ModelJob::Plan),
        );
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

/// Notes how long a judgement took where it is the first one; true where that was too long.
fn is_first_and_slow(first: &OnceLock<bool>, took: Duration) -> bool {
    let is_slow = took > SLOW_JUDGEMENT;
    first.set(is_slow).is_ok() && is_slow
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

/// Holds the beginning of a reply back while it may be the word by which a model says that nothing answers; `None` once
/// it cannot.
struct RefusalFilter(Option<String>);

impl RefusalFilter {
    fn new(stance: AnswerStance) -> Self {
        Self((stance == AnswerStance::Doubt).then(String::new))
    }

    /// What of the reply can be shown.
    fn push(&mut self, piece: String) -> String {
        let Some(held) = &mut self.0 else {
            return piece;
        };
        held.push_str(&piece);
        if NOT_FOUND.starts_with(&bare(held)) {
            return String::new();
        }
        self.finish()
    }

    /// Whether the reply is that word and nothing else.
    fn refuses(&self) -> bool {
        self.0
            .as_deref()
            .is_some_and(|held| bare(held) == NOT_FOUND)
    }

    /// What is left at the end.
    fn finish(&mut self) -> String {
        self.0.take().unwrap_or_default()
    }
}

/// The letters of a text, in lower case.
fn bare(text: &str) -> String {
    let letters = text.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// The letters of what a model replies where the evidence does not answer.
const NOT_FOUND: &str = "notfound";

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
        for (took, is_slow) in [([quick, slow], false), ([slow, quick], true)] {
            let first = OnceLock::new();
            assert_eq!(
                took.map(|it| is_first_and_slow(&first, it)),
                [is_slow, false]
            );
        }
    }
}
