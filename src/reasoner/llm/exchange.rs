//! One job from its first request to its reply: what is asked again, how, and when no more.
//!
//! Four things can be done about a failure, each for its own reason and each bounded: the same
//! again after a pause, in other words of the protocol, with less evidence, or nothing. Once a
//! person has seen a piece of the answer only the last is left: what came is kept, and what broke
//! is said.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::timeout;

use crate::agent::ports::{
    AnswerSink, CallOrigin, CallWaits, Caveat, ModelCall, ReasonerError, WaitSink,
};
use crate::domain::Usage;
use crate::http::ListedModel;

use super::client::{Endpoint, ModelRequest};
use super::dialect::Dialect;
use super::failure::{Cure, Failure};
use super::job::{JobSettings, ModelJob};
use super::overflow::{Shorter, shorter};
use super::partial_reply::PartialReply;
use super::price::Prices;
use super::read::judgement;
use super::reply_schema::ReplySchema;
use super::room::Room;
use super::stream::{ChatReply, CutShort};
use super::think::Thinking;
use super::tokens::estimate;
use super::wire::{Message, TokenCount};

/// The first words are shown when nothing else comes for so long.
const A_WHILE: Duration = Duration::from_millis(300);
/// More objections than there are things to do without.
const MOST_ADAPTATIONS: u32 = 8;
/// After so many, nothing is left that could go.
const MOST_SHORTENINGS: u32 = 8;

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
    /// What may be said at first.
    pub room: Room,
    /// What is said, within a room.
    pub messages: &'a (dyn Fn(&Room) -> Vec<Message> + Sync),
    /// Where an answer goes as it comes; a judgement is read as a whole.
    pub out: Option<&'a AnswerSink>,
}

impl ReplyWanted<'_> {
    /// Where the reply ends at the latest.
    pub fn tokens(&self, dialect: Dialect) -> u32 {
        let items = self.schema.as_ref().map_or(0, |schema| schema.items);
        let tokens = self.settings.max_tokens;
        tokens
            .unwrap_or_else(|| {
                self.job
                    .tokens(items, dialect.thinking != Thinking::Unknown)
            })
            .min(dialect.longest_reply.unwrap_or(u32::MAX))
    }

    /// Whether a judgement was cut off because the model thought, which was not known before: then it
    /// is asked for again with room for that, unless a limit was set.
    fn needs_room_to_think(
        &self,
        dialect: Dialect,
        reply: &ChatReply,
        said: &PartialReply<'_>,
    ) -> bool {
        let is_cut = matches!(reply.cut_short(), Some((CutShort::Limit, _)));
        let counted = reply.count.and_then(|count| count.reasoning());
        let has_thought = !reply.thoughts().is_empty()
            || said.filter.began != Thinking::Unknown
            || counted.is_some_and(|tokens| tokens > 0);
        let may_be_longer = self.settings.max_tokens.is_none() && dialect.longest_reply.is_none();
        let is_unknown = dialect.thinking == Thinking::Unknown;
        self.out.is_none() && may_be_longer && is_unknown && is_cut && has_thought
    }
}

/// What a model replied.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelReply {
    /// All of its text. Thoughts are left in a judgement and taken out of an answer.
    pub text: String,
    /// Whether a person has seen what turned out to be thought.
    pub is_taken_back: bool,
    /// What it cost.
    pub usage: Usage,
    /// What went on meanwhile, one warning each.
    pub warnings: Vec<Caveat>,
    /// Why its end may be missing.
    pub cut_short: Option<CutShort>,
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
struct Attempt {
    dialect: Dialect,
    room: Room,
    warnings: Vec<Caveat>,
    /// What replies cost that could not be used.
    lost: Usage,
    retried: u32,
    adapted: u32,
    shortened: u32,
    requests: u32,
    /// What the last request said.
    prompt: String,
}

impl ChatExchange {
    /// Asks until there is a reply, or nothing left to try. Notes the call, whichever way it ends.
    pub async fn hold(&self, wanted: ReplyWanted<'_>) -> Result<ModelReply, ReasonerError> {
        let (log, model) = (wanted.origin.calls, wanted.model);
        let begun = Instant::now();
        let (held, prompt, requests) = self.attempt(wanted).await;
        if let Some(log) = log {
            let reply = held.as_ref().ok();
            log.note(ModelCall {
                model: model.to_owned(),
                ms: begun.elapsed().as_micros() as f64 / 1000.0,
                prompt_tokens: reply.and_then(|reply| reply.usage.prompt_tokens),
                completion_tokens: reply.and_then(|reply| reply.usage.completion_tokens),
                retries: requests.saturating_sub(1),
                prompt,
                reply: reply.map(|reply| reply.text.clone()),
            });
        }
        held
    }

    /// The result, what the last request said, and how many there were.
    async fn attempt(
        &self,
        wanted: ReplyWanted<'_>,
    ) -> (Result<ModelReply, ReasonerError>, String, u32) {
        let mut next = Attempt {
            dialect: self.endpoint.dialects.of_model(wanted.model),
            room: wanted.room,
            warnings: Vec::new(),
            lost: Usage::default(),
            retried: 0,
            adapted: 0,
            shortened: 0,
            requests: 0,
            prompt: String::new(),
        };
        let held = self.ask(&wanted, &mut next).await;
        (held, next.prompt, next.requests)
    }

    async fn ask(
        &self,
        wanted: &ReplyWanted<'_>,
        next: &mut Attempt,
    ) -> Result<ModelReply, ReasonerError> {
        let model = wanted.model;
        let waiting = CallWaits::for_tokens(wanted.origin.waits);
        loop {
            let messages = (wanted.messages)(&next.room);
            next.requests += 1;
            next.prompt = written(&messages);
            let request = ModelRequest {
                origin: wanted.origin,
                model,
                messages: &messages,
                dialect: next.dialect,
                schema: wanted.schema.as_ref(),
                temperature: wanted.settings.temperature,
                max_tokens: wanted.tokens(next.dialect),
                waiting: &waiting,
            };
            let marks = Arc::clone(&self.endpoint.marks);
            let thinking = next.dialect.thinking;
            let mut partial_reply = PartialReply::new(wanted.out, &waiting, marks, thinking);
            match self.once(request, &mut partial_reply).await {
                Ok(reply) => {
                    let mut usage = self.cost(model, &messages, &reply, &partial_reply.text);
                    if wanted.needs_room_to_think(next.dialect, &reply, &partial_reply) {
                        next.dialect.thinking = Thinking::First;
                        next.lost.add(usage);
                        continue;
                    }
                    if partial_reply.filter.began == Thinking::Unopened {
                        next.dialect.thinking = Thinking::Unopened;
                    }
                    self.endpoint.dialects.learn(model, next.dialect);
                    usage.add(Usage {
                        calls: 0,
                        priced_calls: 0,
                        ..next.lost
                    });
                    return Ok(ModelReply {
                        usage,
                        warnings: self.caveats(next, &reply, &partial_reply),
                        text: partial_reply.text,
                        is_taken_back: partial_reply.is_taken_back,
                        cut_short: reply.cut_short().map(|(why, _)| why),
                    });
                }
                Err(failure) if partial_reply.shown => {
                    return Err(failure.within_an_answer());
                }
                Err(failure) => {
                    tracing::debug!(line = %failure.error, cure = ?failure.cure, "a request failed");
                    let is_too_long = matches!(failure.cure, Cure::Shorter(_));
                    let cured = self.cure(failure, wanted, &request, next).await;
                    if is_too_long && wanted.out.is_none() && cured.is_err() {
                        return Ok(unasked(next));
                    }
                    cured?;
                }
            }
        }
    }

    /// Does about a failure what can be done; it is the error where that is nothing.
    async fn cure(
        &self,
        failure: Failure,
        wanted: &ReplyWanted<'_>,
        tried: &ModelRequest<'_>,
        next: &mut Attempt,
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
        match &failure.cure {
            Cure::Shorter(said) if next.shortened < MOST_SHORTENINGS => {
                let sent = u32::try_from(tokens_of(tried.messages)).unwrap_or(u32::MAX);
                let wordings = self.endpoint.site.wordings();
                let shorter = shorter(wordings, said, tried.max_tokens, sent);
                if next.shorten(shorter, wanted, tried) {
                    return Ok(());
                }
            }
            Cure::WithoutSystem if tried.dialect.system => {
                let dialect = Dialect {
                    system: false,
                    ..tried.dialect
                };
                self.adapt(next, dialect, "a system message");
                return Ok(());
            }
            Cure::Otherwise(said) if next.adapted < MOST_ADAPTATIONS => {
                if let Some((other, without)) = tried.dialect.without(said, tried.schema.is_some())
                {
                    self.adapt(next, other, without);
                    return Ok(());
                }
            }
            _ => {}
        }
        Err(failure.after(next.retried + 1))
    }

    /// Asks in another way from now on, and says without what.
    fn adapt(&self, next: &mut Attempt, dialect: Dialect, without: &str) {
        next.adapted += 1;
        next.dialect = dialect;
        let host = self.endpoint.site.host();
        next.warnings.push(Caveat {
            code: "endpoint_adapted",
            message: format!("{host} refuses {without}: done without"),
        });
    }

    /// What went on before there was this reply, and what is wrong with it.
    fn caveats(
        &self,
        attempt: &mut Attempt,
        reply: &ChatReply,
        said: &PartialReply<'_>,
    ) -> Vec<Caveat> {
        let mut warnings = std::mem::take(&mut attempt.warnings);
        if attempt.retried > 0 {
            let host = self.endpoint.site.host();
            warnings.push(Caveat {
                code: "endpoint_retried",
                message: format!("{host} answered at attempt {}", attempt.retried + 1),
            });
        }
        if let Some((_, message)) = reply.cut_short() {
            let code = if said.out.is_some() {
                "answer_cut_short"
            } else {
                "reply_cut_short"
            };
            warnings.push(Caveat { code, message });
        }
        if said.is_taken_back {
            warnings.push(Caveat {
                code: "thought_shown",
                message: "the model thought aloud without saying so: only what it said after \
                          that is its answer"
                    .to_owned(),
            });
        }
        warnings
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
        partial_reply: &mut PartialReply<'_>,
    ) -> Result<ChatReply, Failure> {
        let mut reply = self.endpoint.chat(request).await?;
        loop {
            let next = {
                let mut next = pin!(reply.next_text());
                if let Ok(piece) = timeout(A_WHILE, &mut next).await {
                    piece
                } else {
                    partial_reply.pause().await;
                    next.await
                }
            };
            let piece = match next {
                Ok(Some(piece)) => piece,
                Ok(None) => break,
                Err(failure) => {
                    // What came is kept, also what was held back, unless it is thought.
                    if partial_reply.filter.thought().is_none() {
                        partial_reply.finish().await;
                    }
                    return Err(failure);
                }
            };
            if !reply.thoughts().is_empty() {
                partial_reply.filter.trust();
            }
            partial_reply.push(&piece).await;
            if partial_reply.repeats_itself() {
                reply.end_repeating();
            } else if partial_reply.filter.is_over() {
                reply.end_complete();
            }
        }
        if partial_reply.out.is_none() {
            let said = std::mem::take(&mut partial_reply.text);
            let others = [&*reply.calls(), reply.thoughts()];
            judgement(&said, &others).clone_into(&mut partial_reply.text);
            return reply.broken_off().map_or(Ok(reply), Err);
        }
        let is_cut = matches!(reply.cut_short(), Some((CutShort::Limit, _)));
        if !(is_cut
            && request.dialect.thinking == Thinking::Unopened
            && partial_reply.filter.thought().is_some())
        {
            partial_reply.finish().await;
        }
        if !partial_reply.shown {
            return Err(reply.empty());
        }
        Ok(reply)
    }

    /// What the server counted; where it has not, an estimate that says so.
    fn cost(&self, model: &str, messages: &[Message], reply: &ChatReply, text: &str) -> Usage {
        let count = reply.count.unwrap_or_default();
        let estimated = count.prompt_tokens.is_none() || count.completion_tokens.is_none();
        let sent = || tokens_of(messages) as u64;
        let got = || (estimate(text) + estimate(reply.thoughts())) as u64;
        let counted = TokenCount {
            prompt_tokens: count.prompt_tokens.or_else(|| Some(sent())),
            completion_tokens: count.completion_tokens.or_else(|| Some(got())),
            ..count
        };
        self.prices
            .usage(&self.endpoint.server.name, model, counted, estimated)
    }
}

impl Attempt {
    /// Makes the next request fit, going by what the server said; false when nothing would.
    fn shorten(
        &mut self,
        shorter: Shorter,
        wanted: &ReplyWanted<'_>,
        tried: &ModelRequest<'_>,
    ) -> bool {
        self.shortened += 1;
        if shorter.max_tokens < tried.max_tokens {
            self.dialect.longest_reply = Some(shorter.max_tokens);
        }
        let share = shorter.share.filter(|share| *share < 1.0);
        if share.is_none() && shorter.share.is_some() && shorter.max_tokens < tried.max_tokens {
            return true;
        }
        let fixed = (wanted.messages)(&Room::NONE);
        let room = self
            .room
            .smaller(tokens_of(tried.messages), tokens_of(&fixed), share);
        let Some(room) = room else {
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
fn unasked(attempt: &mut Attempt) -> ModelReply {
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
        usage: attempt.lost,
        warnings,
        cut_short: None,
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
