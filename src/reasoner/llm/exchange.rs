//! One job from its first request to its reply: what is asked again, how, and when no more.
//!
//! Four things can be done about a failure, each for its own reason and each bounded: the same
//! again after a pause, in other words of the protocol, with less evidence, or nothing. Once a
//! person has seen a piece of the answer only the last is left: what came is kept, and what broke
//! is said.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::json::judgement;
use super::overrides::LlmOverrides;
use super::pace::ModelPaces;
use super::repetition::RepetitionWatch;
use super::request::{Dialect, Dialects, ModelRequest, ReplyRequest, tokens_of};
use super::settings::EndpointSettings;
use super::think::{ReplyEnd, ReplyMarks, ThinkFilter, Thinking, judgement_in};
use super::tokens::{Room, estimate};
use crate::agent::ports::{AnswerSink, Caveat, ModelCall, ReasonerError, WaitSink};
use crate::domain::Usage;
use crate::openai::{
    CallContext, CallWaits, ChatEnd, ChatReply, Endpoint, Failure, FailureKind, Fault, ListedModel,
    Piece, Prices, Retries, Sizes,
};

/// A server may refuse so many things of a request, one after the other.
const MOST_ADAPTATIONS: u32 = 8;
/// A prompt is shortened so often at most.
const MOST_SHORTENINGS: u32 = 8;
/// The sizes of contexts are multiples of this.
const CONTEXT_STEP: usize = 1_024;
/// What to do about a model that cannot be used.
const OTHER_MODEL: &str = "choose another KB_AGENT_LLM_MODEL";
/// A prompt of fewer tokens fits into any context.
const SMALL_PROMPT: usize = 1_500;
/// Estimates of tokens are off by less than this share.
const FAR_BELOW: f64 = 0.6;

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
    /// How each model is spoken to, as far as is known by now.
    pub dialects: Dialects,
    marks: Arc<ReplyMarks>,
    paces: ModelPaces,
    prices: Prices,
    /// No byte for this long is an error.
    silence: Duration,
    /// How often the same may be asked again.
    retries: u32,
}

impl From<Failure> for ReasonerError {
    fn from(failure: Failure) -> Self {
        match failure.kind {
            FailureKind::Unreachable => Self::Unreachable(failure.trouble),
            FailureKind::Refused => Self::Refused(failure.trouble),
            FailureKind::Protocol => Self::Protocol(failure.trouble),
        }
    }
}

impl ChatExchange {
    /// Checks the settings; sends nothing.
    pub fn new(
        settings: &EndpointSettings,
        overrides: LlmOverrides,
    ) -> Result<Self, ReasonerError> {
        let endpoint = settings.endpoint(&overrides.tables);
        let endpoint = endpoint.map_err(ReasonerError::Refused)?;
        Ok(Self {
            dialects: Dialects::for_server(&endpoint.server),
            endpoint,
            marks: overrides.marks,
            paces: ModelPaces::default(),
            prices: overrides.prices,
            silence: settings.timeout,
            retries: settings.retries,
        })
    }

    /// Asks until there is a reply, or nothing left to try. Notes the call, whichever way it ends.
    pub async fn reply_to(&self, wanted: ReplyRequest<'_>) -> Result<ModelReply, ReasonerError> {
        let waiting = CallWaits::for_tokens(wanted.origin.waits.map(WaitSink::sender));
        let dialect = self.dialects.of_model(wanted.model);
        let fixed = tokens_of(&(wanted.messages)(&Room::NONE));
        let context = wanted.context.or(dialect.context);
        let call = Call {
            exchange: self,
            wanted: &wanted,
            waiting: &waiting,
            dialect,
            room: Room::in_context(context, wanted.max_tokens(dialect), fixed),
            fixed,
            warnings: Vec::new(),
            spent: Usage::default(),
            pending: Usage::default(),
            retries: Retries::new(self.retries, None),
            adapted: 0,
            shortened: 0,
            begun: Instant::now(),
            log_entry: ModelCall::default(),
        };
        call.reply().await
    }

    /// The models that the endpoint lists, asked for as patiently as for a reply, or else only once.
    pub async fn models(
        &self,
        waits: Option<&WaitSink>,
        is_patient: bool,
    ) -> Result<Option<Vec<ListedModel>>, ReasonerError> {
        let waits = &CallWaits::for_bytes(waits.map(WaitSink::sender));
        let context = CallContext {
            origin: None,
            silence: self.silence,
            waits,
        };
        let mut retries = Retries::new(if is_patient { self.retries } else { 0 }, None);
        loop {
            match self.endpoint.models(&context).await {
                Ok(listed) => return Ok(listed),
                Err(failure) if retries.pause(&failure, waits).await => {}
                Err(failure) => return Err(failure.told_after(retries.made + 1).into()),
            }
        }
    }

    /// What the server counted; where it has not, an estimate that says so.
    fn usage_of(&self, request: &ModelRequest<'_>, reply: &ChatReply<'_>, text: &str) -> Usage {
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
    retries: Retries,
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
    async fn reply(mut self) -> Result<ModelReply, ReasonerError> {
        let (wanted, waiting) = (self.wanted, self.waiting);
        loop {
            let request = ModelRequest::new(wanted, self.dialect, &self.room);
            self.log_entry.prompt = request.prompt();
            let marks = Arc::clone(&self.exchange.marks);
            let mut partial = PartialReply {
                out: wanted.out,
                waiting,
                filter: ThinkFilter::new(marks, self.dialect.thinking),
                watch: RepetitionWatch::default(),
                thought_watch: RepetitionWatch::default(),
            };
            match self.send_and_read(&request, &mut partial).await {
                Ok((reply, end)) => {
                    if let Some(reply) = self.accept(&request, &reply, end, partial) {
                        return Ok(reply);
                    }
                }
                Err(failure) if partial.is_shown() => {
                    let shown = partial.filter.shown;
                    self.pending.completion_tokens = Some(estimate(&shown) as u64);
                    self.log_entry.reply = Some(shown);
                    let next = "what came is kept, ask again for the whole answer";
                    return Err(ReasonerError::from(failure).map(|trouble| trouble.next(next)));
                }
                Err(failure) => {
                    let is_too_long = matches!(failure.fault, Fault::Shrink(_));
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
    ) -> Result<(ChatReply<'a>, ReplyEnd), Failure> {
        let (exchange, wanted) = (self.exchange, self.wanted);
        let site = &exchange.endpoint.site;
        self.waiting.restart();
        let context = CallContext {
            origin: Some((&wanted.origin.run.0, wanted.origin.node.as_str())),
            silence: exchange.silence,
            waits: self.waiting,
        };
        let body = request.body(exchange.endpoint.progress_field());
        let chat = exchange.endpoint.chat(&body, request.max_tokens, &context);
        let mut reply = chat.await?;
        reply.known_rate = exchange.paces.reading_rate(wanted.model);
        // From now on it is paid for.
        self.pending.prompt_tokens = Some(request.sent as u64);
        let end = loop {
            match reply.next().await {
                Ok(Some(piece)) => {
                    if let Some(end) = partial.push(&piece, &reply).await {
                        reply.close();
                        break end;
                    }
                }
                Ok(None) => break end_of(&reply, &exchange.marks),
                Err(failure) => {
                    // What came is kept, also what was held back, unless it is thought.
                    if partial.filter.thought().is_none() {
                        partial.finish().await;
                    }
                    return Err(failure);
                }
            }
        };
        if wanted.is_judgement() {
            return match end {
                ReplyEnd::BrokeOff | ReplyEnd::Damaged => Err(site.cut_off()),
                _ => Ok((reply, end)),
            };
        }
        // What was thought until something ended the reply is no answer.
        let has_ended = matches!(end, ReplyEnd::Complete | ReplyEnd::Unsaid);
        if has_ended || partial.filter.thought().is_none() {
            partial.finish().await;
        }
        if partial.is_shown() {
            return Ok((reply, end));
        }
        let has_thought = !reply.thoughts.is_empty() || reply.count_tokens() > 0;
        let thought = format!("spent all of its {} tokens on thinking", reply.tokens);
        let (what, next) = match end {
            ReplyEnd::Withheld => return Err(site.withheld(None)),
            ReplyEnd::BrokeOff | ReplyEnd::Damaged => return Err(site.cut_off()),
            ReplyEnd::Endless if !has_thought => return Err(site.too_much()),
            ReplyEnd::Limit | ReplyEnd::Endless => {
                (&*thought, "raise KB_AGENT_LLM_MAX_TOKENS_SYNTHESIZE")
            }
            ReplyEnd::Repeating => ("said the same again and again", OTHER_MODEL),
            ReplyEnd::Complete | ReplyEnd::Unsaid => (
                "sent an empty answer",
                "ask again, or choose another KB_AGENT_LLM_MODEL",
            ),
        };
        Err(site.unusable(what, next))
    }

    /// The reply, and what is learnt from it; `None` where it is asked for again, with more room to think
    /// or with less evidence.
    fn accept(
        &mut self,
        request: &ModelRequest<'_>,
        reply: &ChatReply<'_>,
        end: ReplyEnd,
        partial: PartialReply<'_>,
    ) -> Option<ModelReply> {
        let thinking = partial.filter.reading.thinking;
        // Nobody sees a judgement.
        let is_taken_back = partial.is_shown() && partial.filter.is_taken_back;
        let marks = &self.exchange.marks;
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
        let full_after = tokens_until_full(request, reply, end);
        if self.wanted.is_judgement() {
            let has_thought = thinking != Thinking::Unknown
                || !reply.thoughts.is_empty()
                || usage.reasoning_tokens.is_some_and(|tokens| tokens > 0);
            let is_cut = matches!(end, ReplyEnd::Limit | ReplyEnd::Endless);
            if is_cut && has_thought && self.leave_room_to_think()
                || full_after.is_some() && self.leave_room_to_reply(request)
            {
                return None;
            }
        }
        self.log_entry.reply = Some(text.clone());
        self.learn(request, reply, thinking);
        let host = self.exchange.endpoint.host();
        if self.retries.made > 0 {
            let attempts = self.retries.made + 1;
            let message = format!("{host} answered at attempt {attempts}");
            self.warn("endpoint_retried", message);
        }
        let (reads, writes) = (reply.reading_rate(), reply.writing_rate());
        let paces = &self.exchange.paces;
        self.warnings
            .extend(paces.note(self.wanted.model, reads, writes));
        if let Some(how) = cut_short(end, reply.tokens, full_after) {
            let message = format!("{host} {how}");
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
    fn learn(&mut self, request: &ModelRequest<'_>, reply: &ChatReply<'_>, thinking: Thinking) {
        let endpoint = &self.exchange.endpoint;
        if thinking == Thinking::Unopened {
            self.dialect.thinking = thinking;
        }
        let (sent, host) = (request.sent, endpoint.host());
        if let Some(read) = tokens_until_cut(request, reply, endpoint.server.cuts_prompts) {
            self.dialect.context = Some(read);
            let message = format!(
                "{host} read about {read} of {sent} tokens, so the first evidence is lost; raise \
                 its context size (num_ctx), or set KB_AGENT_LLM_CONTEXT_TOKENS"
            );
            self.warn("prompt_truncated", message);
        }
        let dialects = &self.exchange.dialects;
        dialects.learn(self.wanted.model, self.dialect);
    }

    /// Changes the next request or waits before it, as the failure asks for; it is the error where nothing
    /// helps.
    async fn prepare_retry(
        &mut self,
        failure: Failure,
        tried: &ModelRequest<'_>,
    ) -> Result<(), ReasonerError> {
        if self.retries.pause(&failure, self.waiting).await {
            return Ok(());
        }
        let endpoint = &self.exchange.endpoint;
        let adapted = match failure.fault {
            Fault::Shrink(sizes) if self.fit(tried, sizes) => return Ok(()),
            Fault::Unsupported if self.adapted < MOST_ADAPTATIONS => {
                let is_structured = self.wanted.schema.is_some();
                let wordings = &endpoint.site.wordings;
                tried
                    .dialect
                    .without(wordings, &failure.words, is_structured)
            }
            _ => None,
        };
        let Some((dialect, without)) = adapted else {
            return Err(failure.told_after(self.retries.made + 1).into());
        };
        self.adapted += 1;
        self.dialect = dialect;
        let message = format!("{} refuses {without}: done without", endpoint.host());
        self.warn("endpoint_adapted", message);
        Ok(())
    }

    /// The reply where a judgement cannot be asked for: none, so that the rules decide.
    fn skip(&mut self) -> ModelReply {
        let message = "the question alone does not fit into the model's context: a rule decided \
                       instead; raise the server's context size";
        self.warn("context_overflow", message);
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
    reply: &ChatReply<'_>,
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
fn tokens_until_full(
    request: &ModelRequest<'_>,
    reply: &ChatReply<'_>,
    end: ReplyEnd,
) -> Option<u64> {
    let tokens = reply.counted?.completion_tokens?;
    let has_limit = request.dialect.limit.as_str().is_some();
    let is_full = tokens * 2 < u64::from(request.max_tokens);
    (end == ReplyEnd::Limit && has_limit && is_full).then_some(tokens)
}

/// Why a reply ended that was read to its end.
fn end_of(reply: &ChatReply<'_>, marks: &ReplyMarks) -> ReplyEnd {
    let end = match &reply.end {
        ChatEnd::Unsaid => ReplyEnd::Unsaid,
        ChatEnd::Marked => ReplyEnd::Complete,
        ChatEnd::Reason(reason) => marks.end_for_reason(reason),
        ChatEnd::TooMuch => ReplyEnd::Endless,
    };
    match end {
        ReplyEnd::Complete if reply.is_damaged() => ReplyEnd::Damaged,
        end => end,
    }
}

/// What is said when a reply of so many tokens stopped before the model had finished, or was stopped; the
/// context may have been full after some tokens.
fn cut_short(end: ReplyEnd, tokens: u32, full_after: Option<u64>) -> Option<String> {
    let how = match end {
        ReplyEnd::Complete => return None,
        ReplyEnd::Limit if let Some(tokens) = full_after => &format!(
            "stopped at its token limit after {tokens} tokens, because the model's context is \
             full; raise its context size, or set KB_AGENT_LLM_CONTEXT_TOKENS"
        ),
        ReplyEnd::Limit => "stopped at its token limit; the answer may be incomplete",
        ReplyEnd::Withheld => "withheld part of the answer (content filter)",
        ReplyEnd::BrokeOff => "broke the reply off; the answer may be incomplete",
        ReplyEnd::Endless => {
            &format!("did not stop at the limit of {tokens} tokens; the answer was ended there")
        }
        ReplyEnd::Repeating => "said the same again and again; the answer was ended there",
        ReplyEnd::Damaged => {
            "sent something unreadable in the middle; some of the answer may be lost"
        }
        ReplyEnd::Unsaid => {
            "ended the reply without saying that it was complete; the answer may be incomplete"
        }
    };
    Some(how.to_owned())
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
    thought_watch: RepetitionWatch,
}

impl PartialReply<'_> {
    /// Takes the next piece of a reply. Returns how the reply ends, where the rest of it is of no use.
    async fn push(&mut self, piece: &Piece, reply: &ChatReply<'_>) -> Option<ReplyEnd> {
        self.thought_watch.push(&piece.thought);
        if !piece.text.is_empty() {
            self.push_text(&piece.text, reply).await;
        }
        if self.watch.repeats || self.thought_watch.repeats {
            return Some(ReplyEnd::Repeating);
        }
        let has_ended = self.out.is_some() && self.filter.reading.has_ended();
        has_ended.then_some(ReplyEnd::Complete)
    }

    async fn push_text(&mut self, text: &str, reply: &ChatReply<'_>) {
        if !reply.thoughts.is_empty() {
            self.filter.trust();
        }
        let shown = self.filter.push(text);
        if self.out.is_some() {
            self.watch.push(text);
        }
        self.show(shown).await;
        match self.filter.thought() {
            Some(thought) => self.waiting.thinking(|| estimate(thought)),
            None => self.waiting.writing(|| reply.count_tokens()),
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
