//! One job from its first request to its reply: what is asked again, how, and when no more.
//!
//! Four things can be done about a failure, each for its own reason and each bounded: the same
//! again after a pause, in other words of the protocol, with less evidence, or nothing. Once a
//! person has seen a piece of the answer only the last is left: what came is kept, and what broke
//! is said.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use super::client::Endpoint;
use super::failure::{Failure, Retry, Sizes};
use super::json::judgement;
use super::repetition::RepetitionWatch;
use super::request::{Dialect, ModelRequest, ReplyRequest, tokens_of};
use super::server::Prices;
use super::stream::ChatReply;
use super::think::{ReplyEnd, ThinkFilter, Thinking, judgement_in};
use super::tokens::{Room, estimate};
use crate::agent::ports::{AnswerSink, CallWaits, Caveat, ModelCall, ReasonerError, WaitSink};
use crate::domain::Usage;
use crate::http::ListedModel;
use crate::protocol::RunId;

/// A server may refuse so many things of a request, one after the other.
const MOST_ADAPTATIONS: u32 = 8;
/// A prompt is shortened so often at most.
const MOST_SHORTENINGS: u32 = 8;
/// After so many judgements of a run that fitted nowhere its model is asked for none.
const MOST_MISFITS: u32 = 2;
/// A prompt of fewer tokens fits into any context.
const SMALL_PROMPT: usize = 1_500;
/// Estimates of tokens are off by less than this share.
const FAR_BELOW: f64 = 0.6;
/// The sizes of contexts are multiples of this.
const CONTEXT_STEP: usize = 1_024;

/// What a model replied.
#[derive(Debug, Default)]
pub struct ModelReply {
    /// Its text, without thoughts.
    pub text: String,
    /// Whether a person has seen what turned out to be thought.
    pub is_taken_back: bool,
    /// Whether the model could not be asked, because nothing would have fitted.
    pub is_skipped: bool,
    /// What it cost.
    pub usage: Usage,
    /// What went on meanwhile, one warning each.
    pub warnings: Vec<Caveat>,
}

/// Speaks with one endpoint.
pub struct ChatExchange {
    /// Who is asked.
    pub endpoint: Endpoint,
    /// How often the same may be asked again.
    retries: u32,
    prices: Prices,
    /// How many judgements of the latest run were too long for each model.
    misfits: Mutex<(Option<RunId>, HashMap<String, u32>)>,
}

impl ChatExchange {
    /// Sends nothing yet.
    pub fn new(endpoint: Endpoint, retries: u32, prices: Prices) -> Self {
        Self {
            endpoint,
            retries,
            prices,
            misfits: Mutex::default(),
        }
    }

    /// Asks until there is a reply, or nothing left to try. Notes the call, whichever way it ends.
    pub async fn reply_to(&self, wanted: ReplyRequest<'_>) -> Result<ModelReply, ReasonerError> {
        if wanted.is_judgement() && self.count_misfits(&wanted, 0) >= MOST_MISFITS {
            let is_skipped = true;
            return Ok(ModelReply {
                is_skipped,
                ..ModelReply::default()
            });
        }
        let waiting = CallWaits::for_tokens(wanted.origin.waits);
        Call::new(self, &wanted, &waiting).reply().await
    }

    /// Waits before the same is asked again; false where that helps nothing.
    async fn pause(&self, failure: &Failure, retried: &mut u32, waiting: &CallWaits) -> bool {
        let pause = failure.retry.pause(*retried + 1);
        let Some(pause) = pause.filter(|_| *retried < self.retries) else {
            return false;
        };
        *retried += 1;
        let attempts = self.retries.saturating_add(1);
        waiting.retry(failure.status, pause, *retried + 1, attempts);
        tokio::time::sleep(pause).await;
        true
    }

    /// The models that the endpoint lists, asked for as patiently as for a reply.
    pub async fn models(
        &self,
        waits: Option<&WaitSink>,
    ) -> Result<Option<Vec<ListedModel>>, ReasonerError> {
        let waiting = CallWaits::for_bytes(waits);
        let mut retried = 0;
        loop {
            match self.endpoint.models(&waiting).await {
                Ok(listed) => return Ok(listed),
                Err(failure) if self.pause(&failure, &mut retried, &waiting).await => {}
                Err(failure) => return Err(failure.into_error(retried + 1)),
            }
        }
    }

    /// What the server counted; where it has not, an estimate that says so.
    fn usage_of(&self, request: &ModelRequest<'_>, reply: &ChatReply, text: &str) -> Usage {
        let mut usage = reply.counted.unwrap_or(Usage::ONE_CALL);
        usage.estimated = usage.prompt_tokens.is_none() || usage.completion_tokens.is_none();
        let got = || (estimate(text) + estimate(&reply.thoughts)) as u64;
        usage.prompt_tokens.get_or_insert(request.sent as u64);
        usage.completion_tokens.get_or_insert_with(got);
        let server = &self.endpoint.server.name;
        let model = request.wanted.model;
        self.prices.set_cost(&mut usage, server, model);
        usage
    }

    /// How many judgements of this run were too long for the model, `more` of them just now.
    fn count_misfits(&self, wanted: &ReplyRequest<'_>, more: u32) -> u32 {
        let mut misfits = self.misfits.lock();
        let (run, models) = &mut *misfits;
        if run.as_ref() != Some(wanted.origin.run) {
            *run = Some(wanted.origin.run.clone());
            models.clear();
        }
        let count = models.entry(wanted.model.to_owned()).or_default();
        *count += more;
        *count
    }
}

/// One call: what is asked next, and what went on so far.
struct Call<'a> {
    exchange: &'a ChatExchange,
    wanted: &'a ReplyRequest<'a>,
    waiting: &'a CallWaits,
    dialect: Dialect,
    room: Room,
    /// About how many tokens a prompt takes in any case.
    fixed: usize,
    warnings: Vec<Caveat>,
    /// What was paid so far, also for replies that could not be used.
    spent: Usage,
    /// About how many tokens the request takes that is on its way or failed.
    pending: Usage,
    retried: u32,
    adapted: u32,
    shortened: u32,
    begun: Instant,
    log_entry: ModelCall,
}

impl Drop for Call<'_> {
    /// Notes the call, also where it is dropped because the run was cancelled.
    fn drop(&mut self) {
        if let Some(log) = self.wanted.origin.calls {
            self.spent.add(self.pending);
            let entry = std::mem::take(&mut self.log_entry);
            log.note(ModelCall {
                model: self.wanted.model.to_owned(),
                prompt_tokens: self.spent.prompt_tokens,
                completion_tokens: self.spent.completion_tokens,
                ms: self.begun.elapsed().as_micros() as f64 / 1000.0,
                ..entry
            });
        }
    }
}

impl<'a> Call<'a> {
    fn new(
        exchange: &'a ChatExchange,
        wanted: &'a ReplyRequest<'a>,
        waiting: &'a CallWaits,
    ) -> Self {
        let dialect = exchange.endpoint.dialects.of_model(wanted.model);
        let fixed = tokens_of(&(wanted.messages)(&Room::NONE));
        let context = wanted.context.or(dialect.context);
        Self {
            exchange,
            wanted,
            waiting,
            dialect,
            room: Room::in_context(context, wanted.max_tokens(dialect), fixed),
            fixed,
            warnings: Vec::new(),
            spent: Usage::default(),
            pending: Usage::default(),
            retried: 0,
            adapted: 0,
            shortened: 0,
            begun: Instant::now(),
            log_entry: ModelCall::default(),
        }
    }

    async fn reply(mut self) -> Result<ModelReply, ReasonerError> {
        let (wanted, waiting) = (self.wanted, self.waiting);
        loop {
            let request = ModelRequest::new(wanted, self.dialect, &self.room);
            self.log_entry.prompt = request.prompt();
            let marks = Arc::clone(&self.exchange.endpoint.marks);
            let mut partial = PartialReply {
                out: wanted.out,
                waiting,
                filter: ThinkFilter::new(marks, self.dialect.thinking),
                watch: RepetitionWatch::default(),
            };
            match self.send_and_read(&request, &mut partial).await {
                Ok(reply) => {
                    if let Some(reply) = self.accept(&request, &reply, partial) {
                        return Ok(reply);
                    }
                }
                Err(failure) if partial.is_shown() => {
                    let shown = partial.filter.shown;
                    self.pending.completion_tokens = Some(estimate(&shown) as u64);
                    self.log_entry.reply = Some(shown);
                    return Err(failure.within_an_answer());
                }
                Err(failure) => {
                    let may_pass = failure.retry.pause(1).is_some();
                    tracing::debug!(line = %failure.error, may_pass, "a request failed");
                    let is_too_long = matches!(failure.retry, Retry::WithLess(_));
                    match self.prepare_retry(failure, &request).await {
                        Err(_) if is_too_long && wanted.is_judgement() => return Ok(self.skip()),
                        prepared => prepared?,
                    }
                }
            }
            self.log_entry.retries += 1;
        }
    }

    /// One request, read to its end.
    async fn send_and_read(
        &mut self,
        request: &ModelRequest<'_>,
        partial: &mut PartialReply<'_>,
    ) -> Result<ChatReply, Failure> {
        let endpoint = &self.exchange.endpoint;
        let mut reply = endpoint.chat(request, self.waiting).await?;
        // From now on it is paid for.
        self.pending.prompt_tokens = Some(request.sent as u64);
        loop {
            match reply.next_text().await {
                Ok(Some(piece)) => partial.push(&piece, &mut reply).await,
                Ok(None) => break,
                Err(failure) => {
                    // What came is kept, also what was held back, unless it is thought.
                    if partial.filter.thought().is_none() {
                        partial.finish().await;
                    }
                    return Err(failure);
                }
            }
        }
        if self.wanted.is_judgement() {
            return match reply.end {
                ReplyEnd::BrokeOff | ReplyEnd::Damaged => Err(endpoint.site.cut_off()),
                _ => Ok(reply),
            };
        }
        // What was thought until something ended the reply is no answer.
        let has_ended = matches!(reply.end, ReplyEnd::Complete | ReplyEnd::Unsaid);
        if has_ended || partial.filter.thought().is_none() {
            partial.finish().await;
        }
        let is_shown = partial.is_shown();
        if is_shown {
            Ok(reply)
        } else {
            Err(reply.empty())
        }
    }

    /// The reply, and what is learnt from it; `None` where it is asked for again, with more room to think
    /// or with less evidence.
    fn accept(
        &mut self,
        request: &ModelRequest<'_>,
        reply: &ChatReply,
        partial: PartialReply<'_>,
    ) -> Option<ModelReply> {
        let thinking = partial.filter.reading.thinking;
        // Nobody sees a judgement.
        let is_taken_back = partial.is_shown() && partial.filter.is_taken_back;
        let marks = &self.exchange.endpoint.marks;
        // An answer as it was shown; of a judgement what holds it, without thoughts.
        let text = if self.wanted.is_judgement() {
            let others = [&*reply.calls(), &reply.thoughts];
            judgement_in(marks, judgement(&partial.filter.reply, &others))
        } else {
            partial.filter.shown
        };
        let usage = self.exchange.usage_of(request, reply, &text);
        self.spent.add(usage);
        self.pending = Usage::default();
        let full_after = tokens_until_full(request, reply);
        if self.wanted.is_judgement() {
            let has_thought = thinking != Thinking::Unknown
                || !reply.thoughts.is_empty()
                || usage.reasoning_tokens.is_some_and(|tokens| tokens > 0);
            let is_cut = matches!(reply.end, ReplyEnd::Limit | ReplyEnd::Endless);
            if is_cut && has_thought && self.leave_room_to_think()
                || full_after.is_some() && self.leave_room_to_reply(request)
            {
                return None;
            }
        }
        self.log_entry.reply = Some(text.clone());
        self.learn(request, reply, thinking);
        if self.retried > 0 {
            let (host, attempts) = (self.exchange.endpoint.site.host(), self.retried + 1);
            let message = format!("{host} answered at attempt {attempts}");
            self.warn("endpoint_retried", message);
        }
        let (reads, writes) = (reply.reading_rate(), reply.writing_rate());
        let paces = &self.exchange.endpoint.paces;
        self.warnings
            .extend(paces.note(self.wanted.model, reads, writes));
        if let Some(message) = reply.cut_short(full_after) {
            let is_judgement = self.wanted.is_judgement();
            let what = if is_judgement {
                "reply_cut_short"
            } else {
                "answer_cut_short"
            };
            self.warn(what, message);
        }
        if is_taken_back {
            let message = "the model thought aloud without saying so: only what it said after that \
                           is its answer";
            self.warn("thought_shown", message);
        }
        Some(ModelReply {
            text,
            is_taken_back,
            is_skipped: false,
            usage: Usage {
                calls: usage.calls,
                priced_calls: usage.priced_calls,
                ..self.spent
            },
            warnings: std::mem::take(&mut self.warnings),
        })
    }

    /// Remembers how the model is asked, how it thinks and how much of a prompt it reads.
    fn learn(&mut self, request: &ModelRequest<'_>, reply: &ChatReply, thinking: Thinking) {
        let endpoint = &self.exchange.endpoint;
        if thinking == Thinking::Unopened {
            self.dialect.thinking = thinking;
        }
        let (sent, host) = (request.sent, endpoint.site.host());
        if let Some(read) = tokens_until_cut(request, reply, endpoint.server.cuts_prompts) {
            self.dialect.context = Some(read);
            let message = format!(
                "{host} read about {read} of {sent} tokens, so the first evidence is lost; raise \
                 its context size (num_ctx), or set KB_AGENT_LLM_CONTEXT_TOKENS"
            );
            self.warn("prompt_truncated", message);
        }
        endpoint.dialects.learn(self.wanted.model, self.dialect);
    }

    /// Changes the next request or waits before it, as the failure asks for; it is the error where nothing
    /// helps.
    async fn prepare_retry(
        &mut self,
        failure: Failure,
        tried: &ModelRequest<'_>,
    ) -> Result<(), ReasonerError> {
        let (exchange, waiting) = (self.exchange, self.waiting);
        if exchange.pause(&failure, &mut self.retried, waiting).await {
            return Ok(());
        }
        let site = &exchange.endpoint.site;
        let adapted = match &failure.retry {
            Retry::WithLess(sizes) if self.fit(tried, *sizes) => return Ok(()),
            Retry::Adapted(said) if self.adapted < MOST_ADAPTATIONS => {
                let is_structured = self.wanted.schema.is_some();
                tried.dialect.without(&site.wordings, said, is_structured)
            }
            _ => None,
        };
        let Some((dialect, without)) = adapted else {
            return Err(failure.into_error(self.retried + 1));
        };
        self.adapted += 1;
        self.dialect = dialect;
        let message = format!("{} refuses {without}: done without", site.host());
        self.warn("endpoint_adapted", message);
        Ok(())
    }

    /// The reply where a judgement cannot be asked for: none, so that the rules decide.
    fn skip(&mut self) -> ModelReply {
        let (code, what) = if self.exchange.count_misfits(self.wanted, 1) < MOST_MISFITS {
            ("context_overflow", "a rule decided instead")
        } else {
            let what = "rules make all judgements of this run from now on";
            ("judgements_by_rules", what)
        };
        let message = format!(
            "the question alone does not fit into the model's context: {what}; raise the server's \
             context size"
        );
        self.warn(code, message);
        ModelReply {
            is_skipped: true,
            usage: self.spent,
            warnings: std::mem::take(&mut self.warnings),
            ..ModelReply::default()
        }
    }

    fn warn(&mut self, code: &'static str, message: impl Into<String>) {
        self.warnings.push(Caveat::new(code, message));
    }

    /// Gives the next reply room for thoughts; false where it has that, or a limit was set.
    fn leave_room_to_think(&mut self) -> bool {
        let limit = self.wanted.settings.max_tokens;
        let has_limit = limit.or(self.dialect.longest_reply);
        if has_limit.is_some() || self.dialect.thinking != Thinking::Unknown {
            return false;
        }
        self.dialect.thinking = Thinking::First;
        true
    }

    /// Makes the next request leave room for a reply; false when that was done before or nothing is left.
    fn leave_room_to_reply(&mut self, tried: &ModelRequest<'_>) -> bool {
        self.shortened += 1;
        self.shortened <= 2 && self.shorten(tried.sent, None)
    }

    /// Makes the next request fit, going by the sizes that the server named; false when nothing would.
    fn fit(&mut self, tried: &ModelRequest<'_>, sizes: Sizes) -> bool {
        if self.shortened >= MOST_SHORTENINGS {
            return false;
        }
        self.shortened += 1;
        let (share, max_tokens) = sizes.fitting(tried.max_tokens, tried.sent);
        if max_tokens < tried.max_tokens {
            self.dialect.longest_reply = Some(max_tokens);
            if share.is_some_and(|share| share >= 1.0) {
                return true;
            }
        }
        self.shorten(tried.sent, share.filter(|share| *share < 1.0))
    }

    /// Leaves out evidence and conversation until `share` of the `sent` tokens are left, half of them
    /// where that is unknown; false when nothing is left to leave out.
    fn shorten(&mut self, sent: usize, share: Option<f64>) -> bool {
        let Some(room) = self.room.smaller(sent, self.fixed, share) else {
            return false;
        };
        self.room = room;
        // The last one says how much is left.
        self.warnings
            .retain(|warning| warning.code != "context_overflow");
        let message = format!(
            "the prompt did not fit into the model's context: evidence, by score, and conversation \
             are trimmed to about {} tokens",
            room.evidence + room.history
        );
        self.warn("context_overflow", message);
        true
    }
}

/// How much of the prompt a server read that cuts a long one without a word, as Ollama does. Others count
/// wrongly at times, so the count must be one at which contexts end.
fn tokens_until_cut(
    request: &ModelRequest<'_>,
    reply: &ChatReply,
    cuts_prompts: bool,
) -> Option<usize> {
    let counted = reply.counted?;
    // Some servers count apart what was cached.
    let read = (counted.prompt_tokens? + counted.cached_tokens.unwrap_or_default()) as usize;
    let is_at_end = read.next_multiple_of(CONTEXT_STEP) - read <= CONTEXT_STEP / 16;
    let is_far_below = (read as f64) < request.sent as f64 * FAR_BELOW;
    let is_large = read >= CONTEXT_STEP && request.sent >= SMALL_PROMPT;
    (is_large && is_far_below && (cuts_prompts || is_at_end)).then_some(read)
}

/// After how many tokens the context was full: a reply has reached its end where it stops far below its
/// own limit.
fn tokens_until_full(request: &ModelRequest<'_>, reply: &ChatReply) -> Option<u64> {
    let tokens = reply.counted?.completion_tokens?;
    let has_limit = request.dialect.limit.as_str().is_some();
    let is_full = tokens * 2 < u64::from(request.max_tokens);
    (reply.end == ReplyEnd::Limit && has_limit && is_full).then_some(tokens)
}

// A reply as it comes: an answer goes on to the reader piece by piece, without its thoughts.

/// What came so far.
struct PartialReply<'a> {
    /// Where it goes; a judgement goes nowhere until it is whole.
    out: Option<&'a AnswerSink>,
    waiting: &'a CallWaits,
    /// What is told apart in it.
    filter: ThinkFilter,
    watch: RepetitionWatch,
}

impl PartialReply<'_> {
    /// Takes the next piece of a reply, and ends the reply where the rest of it is of no use.
    async fn push(&mut self, piece: &str, reply: &mut ChatReply) {
        if !reply.thoughts.is_empty() {
            self.filter.trust();
        }
        let shown = self.filter.push(piece);
        if self.out.is_some() {
            self.watch.push(piece);
        }
        self.show(shown).await;
        match self.filter.thought() {
            Some(thought) => self.waiting.thinking(|| estimate(thought)),
            None => self.waiting.writing(|| reply.written()),
        }
        if self.watch.repeats {
            reply.stop(ReplyEnd::Repeating);
        } else if self.out.is_some() && self.filter.reading.has_ended() {
            reply.stop(ReplyEnd::Complete);
        }
    }

    /// Whether a person has seen some of it.
    fn is_shown(&self) -> bool {
        self.out.is_some() && !self.filter.shown.is_empty()
    }

    /// Shows what is left, after the last piece has come.
    async fn finish(&mut self) {
        let rest = self.filter.finish();
        self.show(rest).await;
    }

    async fn show(&mut self, shown: String) {
        if let Some(out) = self.out
            && !shown.is_empty()
        {
            out.push(shown).await;
        }
    }
}
