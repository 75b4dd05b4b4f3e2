//! One job from its first request to its reply: what is asked again, how, and when no more.
//!
//! Four things can be done about a failure, each for its own reason and each bounded: the same
//! again after a pause, in other words of the protocol, with less evidence, or nothing. Once a
//! person has seen a piece of the answer only the last is left: what came is kept, and what broke
//! is said.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::agent::ports::{
    AnswerSink, CallLog, CallOrigin, CallWaits, Caveat, ModelCall, ReasonerError, WaitSink,
};
use crate::domain::Usage;
use crate::http::ListedModel;

use super::client::{Endpoint, ModelRequest};
use super::dialect::Dialect;
use super::failure::{Cure, Failure, Sizes};
use super::job::{JobSettings, ModelJob};
use super::marks::Ended;
use super::overflow::shorter;
use super::partial_reply::PartialReply;
use super::price::Prices;
use super::read::judgement;
use super::reply_schema::ReplySchema;
use super::room::Room;
use super::stream::ChatReply;
use super::think::{Thinking, judgement_in};
use super::tokens::estimate;
use super::wire::{Message, TokenCount};

/// A server may refuse so many things of a request, one after the other.
const MOST_ADAPTATIONS: u32 = 8;
/// A prompt is shortened so often at most.
const MOST_SHORTENINGS: u32 = 8;
/// A prompt of fewer tokens fits into any context.
const SMALL_PROMPT: usize = 1_500;
/// Estimates of tokens are off by less than this share.
const FAR_BELOW: f64 = 0.6;
/// The sizes of contexts are multiples of this.
const CONTEXT_STEP: usize = 1_024;

/// What is wanted of the model.
pub struct ReplyWanted<'a> {
    /// What is to be done.
    pub job: ModelJob,
    /// In whose name.
    pub origin: CallOrigin<'a>,
    /// Who is to reply.
    pub model: &'a str,
    /// The job's limits.
    pub settings: &'a JobSettings,
    /// What the reply looks like; none where it is an answer.
    pub schema: Option<ReplySchema>,
    /// What is said, within a room.
    pub messages: &'a (dyn Fn(&Room) -> Vec<Message> + Sync),
    /// Where an answer goes as it comes; a judgement is read as a whole.
    pub out: Option<&'a AnswerSink>,
    /// How many tokens the model reads, where a setting or the server's listing says so.
    pub context: Option<usize>,
}

impl ReplyWanted<'_> {
    /// Where the reply ends at the latest.
    fn tokens(&self, dialect: Dialect) -> u32 {
        let items = self.schema.as_ref().map_or(0, |schema| schema.items);
        let thinks = dialect.thinking != Thinking::Unknown;
        let tokens = self.settings.max_tokens;
        tokens
            .unwrap_or_else(|| self.job.tokens(items, thinks))
            .min(dialect.longest_reply.unwrap_or(u32::MAX))
    }
}

/// What a model replied.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelReply {
    /// Its text, without thoughts.
    pub text: String,
    /// Whether a person has seen what turned out to be thought.
    pub is_taken_back: bool,
    /// Whether the model could not be asked, because nothing would have fitted.
    pub is_unasked: bool,
    /// What it cost.
    pub usage: Usage,
    /// What went on meanwhile, one warning each.
    pub warnings: Vec<Caveat>,
    /// Why it ended.
    pub end: Ended,
}

/// Speaks with one endpoint.
#[derive(Debug)]
pub struct ChatExchange {
    /// Who is asked.
    pub endpoint: Endpoint,
    /// How often the same may be asked again.
    pub retries: u32,
    /// What tokens cost.
    pub prices: Prices,
}

/// What is asked next, and what went on so far.
struct Attempt<'a> {
    dialect: Dialect,
    room: Room,
    /// About how many tokens a prompt takes in any case.
    fixed: usize,
    warnings: Vec<Caveat>,
    /// What was paid for replies that could not be used.
    lost: Usage,
    retried: u32,
    adapted: u32,
    shortened: u32,
    requests: u32,
    note: CallNote<'a>,
}

/// What is noted of a call when it ends, also where it is dropped because the run was cancelled.
struct CallNote<'a> {
    log: Option<&'a CallLog>,
    begun: Instant,
    call: ModelCall,
}

impl Drop for CallNote<'_> {
    fn drop(&mut self) {
        self.call.ms = self.begun.elapsed().as_micros() as f64 / 1000.0;
        if let Some(log) = self.log {
            log.note(std::mem::take(&mut self.call));
        }
    }
}

impl ChatExchange {
    /// Asks until there is a reply, or nothing left to try. Notes the call, whichever way it ends.
    pub async fn hold(&self, wanted: ReplyWanted<'_>) -> Result<ModelReply, ReasonerError> {
        let dialect = self.endpoint.dialects.of_model(wanted.model);
        let fixed = tokens_of(&(wanted.messages)(&Room::NONE));
        let context = wanted.context.or(dialect.context);
        let mut attempt = Attempt {
            dialect,
            room: Room::in_context(context, wanted.tokens(dialect), fixed),
            fixed,
            warnings: Vec::new(),
            lost: Usage::default(),
            retried: 0,
            adapted: 0,
            shortened: 0,
            requests: 0,
            note: CallNote {
                log: wanted.origin.calls,
                begun: Instant::now(),
                call: ModelCall {
                    model: wanted.model.to_owned(),
                    ..ModelCall::default()
                },
            },
        };
        let held = self.ask(&wanted, &mut attempt).await;
        let call = &mut attempt.note.call;
        let mut spent = attempt.lost;
        match &held {
            Ok(reply) => {
                spent = reply.usage;
                call.reply = Some(reply.text.clone());
            }
            Err(_) => spent.add(Usage {
                prompt_tokens: call.prompt_tokens,
                completion_tokens: call.completion_tokens,
                ..Usage::default()
            }),
        }
        call.prompt_tokens = spent.prompt_tokens;
        call.completion_tokens = spent.completion_tokens;
        held
    }

    async fn ask(
        &self,
        wanted: &ReplyWanted<'_>,
        attempt: &mut Attempt<'_>,
    ) -> Result<ModelReply, ReasonerError> {
        let waiting = CallWaits::for_tokens(wanted.origin.waits);
        loop {
            let messages = (wanted.messages)(&attempt.room);
            attempt.note.call.retries = attempt.requests;
            attempt.requests += 1;
            attempt.note.call.prompt = written(&messages);
            let dialect = attempt.dialect;
            let request = ModelRequest {
                origin: wanted.origin,
                model: wanted.model,
                messages: &messages,
                dialect,
                schema: wanted.schema.as_ref(),
                temperature: wanted.settings.temperature,
                max_tokens: wanted.tokens(dialect),
                waiting: &waiting,
            };
            let marks = Arc::clone(&self.endpoint.marks);
            let mut partial = PartialReply::new(wanted.out, &waiting, marks, dialect.thinking);
            match self.once(request, &mut partial, attempt).await {
                Ok(reply) => {
                    if let Some(reply) = self.accept(wanted, attempt, &request, &reply, partial) {
                        return Ok(reply);
                    }
                }
                Err(failure) if partial.is_shown() => {
                    let shown = partial.filter.shown;
                    attempt.note.call.completion_tokens = Some(estimate(&shown) as u64);
                    attempt.note.call.reply = Some(shown);
                    return Err(failure.within_an_answer());
                }
                Err(failure) => {
                    let may_pass = failure.cure.pause(1).is_some();
                    tracing::debug!(line = %failure.error, may_pass, "a request failed");
                    let is_too_long = matches!(failure.cure, Cure::Shorter(_));
                    let cured = self.cure(failure, &request, attempt).await;
                    if is_too_long && wanted.out.is_none() && cured.is_err() {
                        return Ok(unasked(attempt));
                    }
                    cured?;
                }
            }
        }
    }

    /// The reply, and what is learnt from it; `None` where it is asked for again, with more room to think
    /// or with less evidence.
    fn accept(
        &self,
        wanted: &ReplyWanted<'_>,
        attempt: &mut Attempt<'_>,
        request: &ModelRequest<'_>,
        reply: &ChatReply,
        partial: PartialReply<'_>,
    ) -> Option<ModelReply> {
        let is_judgement = wanted.out.is_none();
        let text = if is_judgement {
            let others = [&*reply.calls(), reply.thoughts()];
            let said = judgement(&partial.filter.reply, &others);
            judgement_in(&self.endpoint.marks, said)
        } else {
            partial.filter.shown
        };
        let usage = self.cost(request, reply, &text);
        let dialect = &mut attempt.dialect;
        let began = partial.filter.reading.began;
        let has_thought = !reply.thoughts().is_empty()
            || began != Thinking::Unknown
            || usage.reasoning_tokens.is_some_and(|tokens| tokens > 0);
        let may_be_longer = wanted.settings.max_tokens.is_none() && dialect.longest_reply.is_none();
        let is_cut = matches!(reply.end, Ended::Limit | Ended::Endless);
        let is_unknown = dialect.thinking == Thinking::Unknown;
        if is_judgement && is_cut && has_thought && may_be_longer && is_unknown {
            dialect.thinking = Thinking::First;
            attempt.lost.add(usage);
            return None;
        }
        // A reply that ends far below its limit has reached the end of the context.
        let got = usage.completion_tokens.unwrap_or_default();
        let is_counted = reply.count.is_some_and(|count| count.completion.is_some());
        let is_full = reply.end == Ended::Limit
            && is_counted
            && dialect.limit.as_str().is_some()
            && got * 2 < u64::from(request.max_tokens);
        if is_judgement && is_full && attempt.shortened < 2 {
            attempt.shortened += 1;
            if attempt.shorten(tokens_of(request.messages), None) {
                attempt.lost.add(usage);
                return None;
            }
        }
        let dialect = &mut attempt.dialect;
        if began == Thinking::Unopened {
            dialect.thinking = began;
        }
        if let Some((read, caveat)) = self.truncation(request, reply) {
            dialect.context = Some(read);
            attempt.warnings.push(caveat);
        }
        self.endpoint.dialects.learn(request.model, *dialect);
        self.note_ending(attempt, reply, is_judgement, is_full.then_some(got));
        if partial.is_taken_back {
            attempt.warnings.push(Caveat {
                code: "thought_shown",
                message: "the model thought aloud without saying so: only what it said after \
                          that is its answer"
                    .to_owned(),
            });
        }
        attempt.lost.add(usage);
        Some(ModelReply {
            text,
            is_taken_back: partial.is_taken_back,
            is_unasked: false,
            usage: Usage {
                calls: usage.calls,
                priced_calls: usage.priced_calls,
                ..attempt.lost
            },
            warnings: std::mem::take(&mut attempt.warnings),
            end: reply.end,
        })
    }

    /// How much of the prompt a server read that cuts a long one without a word, as Ollama does. Others
    /// count wrongly at times, so the count must be one at which contexts end.
    fn truncation(&self, request: &ModelRequest<'_>, reply: &ChatReply) -> Option<(usize, Caveat)> {
        let count = reply.count?;
        // Some servers count apart what was cached.
        let read = (count.prompt? + count.cached.unwrap_or_default()) as usize;
        let sent = tokens_of(request.messages);
        let is_at_end = read.next_multiple_of(CONTEXT_STEP) - read <= CONTEXT_STEP / 16;
        let is_cutting = self.endpoint.server.cuts_prompts || is_at_end;
        let is_far_below = (read as f64) < sent as f64 * FAR_BELOW;
        if read < CONTEXT_STEP || sent < SMALL_PROMPT || !is_cutting || !is_far_below {
            return None;
        }
        let host = self.endpoint.site.host();
        let message = format!(
            "{host} read about {read} of {sent} tokens, so the first evidence is lost; raise its \
             context size (num_ctx), or set KB_AGENT_LLM_CONTEXT_TOKENS"
        );
        let code = "prompt_truncated";
        Some((read, Caveat { code, message }))
    }

    /// Says what went on before there was this reply, and why its end may be missing; `full_after` that
    /// many tokens the context was full.
    fn note_ending(
        &self,
        attempt: &mut Attempt<'_>,
        reply: &ChatReply,
        is_judgement: bool,
        full_after: Option<u64>,
    ) {
        let host = self.endpoint.site.host();
        if attempt.retried > 0 {
            attempt.warnings.push(Caveat {
                code: "endpoint_retried",
                message: format!("{host} answered at attempt {}", attempt.retried + 1),
            });
        }
        let ending = reply.cut_short().map(|ending| match full_after {
            Some(tokens) => format!(
                "{host} stopped at its token limit after {tokens} tokens, because the model's context \
                 is full; raise its context size, or set KB_AGENT_LLM_CONTEXT_TOKENS"
            ),
            None => ending,
        });
        let code = if is_judgement {
            "reply_cut_short"
        } else {
            "answer_cut_short"
        };
        let ending = ending.map(|message| Caveat { code, message });
        attempt.warnings.extend(ending);
    }

    /// Does about a failure what can be done; it is the error where that is nothing.
    async fn cure(
        &self,
        failure: Failure,
        tried: &ModelRequest<'_>,
        next: &mut Attempt<'_>,
    ) -> Result<(), ReasonerError> {
        if let Some(pause) = self.pause(&failure.cure, next.retried) {
            let (attempt, attempts) = (next.retried + 2, self.attempts());
            tried
                .waiting
                .retry(failure.status, pause, attempt, attempts);
            tokio::time::sleep(pause).await;
            next.retried += 1;
            return Ok(());
        }
        let other = match &failure.cure {
            Cure::Shorter(sizes) if next.fit(tried, *sizes) => return Ok(()),
            Cure::WithoutSystem if tried.dialect.system => {
                let system = false;
                Some((
                    Dialect {
                        system,
                        ..tried.dialect
                    },
                    "a system message",
                ))
            }
            Cure::Otherwise(said) if next.adapted < MOST_ADAPTATIONS => {
                let wordings = &self.endpoint.site.wordings;
                let is_structured = tried.schema.is_some();
                tried.dialect.without(wordings, said, is_structured)
            }
            _ => None,
        };
        let Some((dialect, without)) = other else {
            return Err(failure.after(next.retried + 1));
        };
        next.adapted += 1;
        next.dialect = dialect;
        let host = self.endpoint.site.host();
        next.warnings.push(Caveat {
            code: "endpoint_adapted",
            message: format!("{host} refuses {without}: done without"),
        });
        Ok(())
    }

    /// The models that the endpoint lists, asked for as patiently as for a reply.
    pub async fn models(
        &self,
        waits: Option<&WaitSink>,
    ) -> Result<Option<Vec<ListedModel>>, ReasonerError> {
        let waiting = CallWaits::for_bytes(waits);
        let mut retried = 0;
        loop {
            let failure = match self.endpoint.models(&waiting).await {
                Ok(listed) => return Ok(listed),
                Err(failure) => failure,
            };
            let Some(pause) = self.pause(&failure.cure, retried) else {
                return Err(failure.after(retried + 1));
            };
            waiting.retry(failure.status, pause, retried + 2, self.attempts());
            tokio::time::sleep(pause).await;
            retried += 1;
        }
    }

    /// How often the same may be asked, the first time included.
    fn attempts(&self) -> u32 {
        self.retries.saturating_add(1)
    }

    /// How long to wait before the same is asked again; `None` where it is not.
    fn pause(&self, cure: &Cure, retried: u32) -> Option<Duration> {
        cure.pause(retried + 1).filter(|_| retried < self.retries)
    }

    /// One request, read to its end.
    async fn once(
        &self,
        request: ModelRequest<'_>,
        partial: &mut PartialReply<'_>,
        attempt: &mut Attempt<'_>,
    ) -> Result<ChatReply, Failure> {
        let mut reply = self.endpoint.chat(request).await?;
        // From now on it is paid for.
        attempt.note.call.prompt_tokens = Some(tokens_of(request.messages) as u64);
        loop {
            let piece = match reply.next_text().await {
                Ok(Some(piece)) => piece,
                Ok(None) => break,
                Err(failure) => {
                    // What came is kept, also what was held back, unless it is thought.
                    if partial.filter.thought().is_none() {
                        partial.finish().await;
                    }
                    return Err(failure);
                }
            };
            if !reply.thoughts().is_empty() {
                partial.filter.trust();
            }
            partial.push(&piece).await;
            if partial.repeats_itself() {
                reply.stop(Ended::Repeating);
            } else if partial.out.is_some() && partial.filter.reading.is_over() {
                reply.stop(Ended::Complete);
            }
        }
        // What was thought until something ended the reply is no answer.
        let is_over = matches!(reply.end, Ended::Complete | Ended::Unsaid);
        let is_thought = !is_over && partial.filter.thought().is_some();
        if partial.out.is_none() {
            let is_broken = matches!(reply.end, Ended::BrokeOff | Ended::Damaged);
            return if is_broken {
                Err(self.endpoint.site.cut_off())
            } else {
                Ok(reply)
            };
        }
        if !is_thought {
            partial.finish().await;
        }
        if partial.is_shown() {
            Ok(reply)
        } else {
            Err(reply.empty())
        }
    }

    /// What the server counted; where it has not, an estimate that says so.
    fn cost(&self, request: &ModelRequest<'_>, reply: &ChatReply, text: &str) -> Usage {
        let count = reply.count.unwrap_or_default();
        let estimated = count.prompt.is_none() || count.completion.is_none();
        let sent = || tokens_of(request.messages) as u64;
        let got = || (estimate(text) + estimate(reply.thoughts())) as u64;
        let counted = TokenCount {
            prompt: count.prompt.or_else(|| Some(sent())),
            completion: count.completion.or_else(|| Some(got())),
            ..count
        };
        let server = &self.endpoint.server.name;
        self.prices.usage(server, request.model, counted, estimated)
    }
}

impl Attempt<'_> {
    /// Makes the next request fit, going by the sizes that the server named; false when nothing would.
    fn fit(&mut self, tried: &ModelRequest<'_>, sizes: Sizes) -> bool {
        if self.shortened >= MOST_SHORTENINGS {
            return false;
        }
        self.shortened += 1;
        let sent = tokens_of(tried.messages);
        let estimated = u32::try_from(sent).unwrap_or(u32::MAX);
        let shorter = shorter(sizes, tried.max_tokens, estimated);
        if shorter.max_tokens < tried.max_tokens {
            self.dialect.longest_reply = Some(shorter.max_tokens);
            if shorter.share.is_some_and(|share| share >= 1.0) {
                return true;
            }
        }
        self.shorten(sent, shorter.share.filter(|share| *share < 1.0))
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
        self.warnings.push(Caveat {
            code: "context_overflow",
            message: format!(
                "the prompt did not fit into the model's context: evidence, by score, and \
                 conversation are trimmed to about {} tokens",
                room.evidence + room.history
            ),
        });
        true
    }
}

/// The reply where a judgement cannot be asked for: none, so that the rules decide.
fn unasked(attempt: &mut Attempt<'_>) -> ModelReply {
    let mut warnings = std::mem::take(&mut attempt.warnings);
    warnings.push(Caveat {
        code: "context_overflow",
        message:
            "the question alone does not fit into the model's context: a rule decided instead; \
                  raise the server's context size"
                .to_owned(),
    });
    ModelReply {
        text: String::new(),
        is_taken_back: false,
        is_unasked: true,
        usage: attempt.lost,
        warnings,
        end: Ended::Unsaid,
    }
}

/// The messages as one text, each below the name of its role.
fn written(messages: &[Message]) -> String {
    let written = messages
        .iter()
        .map(|message| format!("[{}]\n{}", message.role, message.content));
    written.collect::<Vec<_>>().join("\n\n")
}

/// About how many tokens these messages are.
pub fn tokens_of(messages: &[Message]) -> usize {
    messages
        .iter()
        .map(|message| estimate(&message.content))
        .sum()
}
