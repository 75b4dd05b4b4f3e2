//! One server: requests, second attempts, and what it refuses.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use reqwest::{Client, RequestBuilder, StatusCode};
use rustls::pki_types::CertificateDer;
use secrecy::SecretString;
use serde::Serialize;
use serde_json::Value;

use super::data::{EmbeddingData, InputType, RefusalKind, TextForm};
use super::reply;
use super::reply::Unusable;
use crate::agent::ports::{CallWaits, EmbedError};
use crate::http::{ModelUse, Site, Variables, backoff, error_message, models, retry_after};
use crate::text::Trouble;

/// A request is changed so often at most, by what the server refuses.
const MOST_LESSONS: u32 = 4;
const SETTINGS: Variables = Variables {
    base_url: "KB_AGENT_EMBEDDING_BASE_URL",
    api_key: Some("KB_AGENT_EMBEDDING_API_KEY"),
    model: Some("KB_AGENT_EMBEDDING_MODEL"),
};
/// More than any request's vectors come to.
const REPLY_BYTES: usize = 64 << 20;
/// A text that is still too long at this length is not what the server minds.
const SHORTEST: usize = 200;
const LISTING: Duration = Duration::from_secs(10);
/// A text that every server takes.
const PLAIN_TEXT: &str = "text";
/// How often a part of a batch is asked for again that was refused whole.
const TRIES_OF_A_PART: u32 = 2;

/// Where the model is.
#[derive(Debug, Clone)]
pub struct EmbeddingEndpoint {
    /// Root of the endpoint, e.g. `http://127.0.0.1:11434/v1`.
    pub base_url: String,
    /// Bearer token.
    pub api_key: Option<SecretString>,
    /// The model; without one the first that the endpoint lists.
    pub model: Option<String>,
    /// Authorities that sign its certificate, beside those that the system trusts.
    pub authorities: Vec<CertificateDer<'static>>,
    /// What stands before a question, whatever is known of the model.
    pub query_prefix: Option<String>,
    /// What stands before a passage, whatever is known of the model.
    pub passage_prefix: Option<String>,
    /// What is known of models and of how servers refuse.
    pub data: EmbeddingData,
}

/// How long a server is borne with.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    tries: u32,
    request: Duration,
    /// Over all tries.
    total: Duration,
    /// Whether a text that it refuses is left out and the others are asked for.
    leaves_out: bool,
}

impl Patience {
    /// A user waits for the answer to a question.
    pub const QUESTION: Self = Self {
        tries: 2,
        request: Duration::from_secs(10),
        total: Duration::from_secs(10),
        leaves_out: false,
    };
    /// An index is made.
    pub const BULK: Self = Self {
        tries: 5,
        request: Duration::from_mins(1),
        total: Duration::from_mins(1),
        leaves_out: true,
    };
}

/// What the texts of a request are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextKind {
    Query,
    Passage,
}

/// A model and what it wants to be told.
#[derive(Debug, Clone)]
pub struct ModelInUse {
    pub name: String,
    pub form: TextForm,
}

/// How vectors of some texts are asked for.
#[derive(Clone, Copy)]
pub struct VectorRequest<'a> {
    pub model: &'a ModelInUse,
    pub kind: TextKind,
    pub patience: Patience,
    pub waiting: &'a CallWaits,
}

/// An `/embeddings` server.
pub struct EmbeddingServer {
    http: Client,
    site: Site,
    data: EmbeddingData,
    limits: Mutex<LearnedLimits>,
}

/// What is known of the server by what it refused.
struct LearnedLimits {
    takes_encoding: bool,
    /// What it asked to be told.
    input_type: Option<InputType>,
    takes_input_type: bool,
    /// Texts that it takes at a time.
    most: usize,
    /// Why it refused the last text that was left out.
    refused: Option<Trouble>,
}

/// Why there are no vectors.
enum EmbeddingFailure {
    /// It may go better next time.
    Passing(Trouble, Refusal),
    /// Less at a time may be accepted.
    TooLarge(Trouble),
    /// One of the texts may be what it minds.
    Refused(Trouble),
    /// It may go better at once, with what has been learned.
    Learned(Trouble),
    Final(Trouble),
}

#[derive(Serialize)]
struct EmbeddingRequest<'a> {
    model: &'a str,
    input: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding_format: Option<&'static str>,
    /// What the server is told of the texts, by the field's name.
    #[serde(flatten)]
    extra_fields: BTreeMap<String, String>,
    #[serde(skip)]
    input_type: Option<InputType>,
}

/// What the server said of a refusal that may pass.
#[derive(Default)]
struct Refusal {
    /// `None` where there was no reply.
    status: Option<u16>,
    /// How long to wait.
    after: Option<Duration>,
}

impl EmbeddingServer {
    /// Checks the settings; sends nothing.
    pub fn new(endpoint: &EmbeddingEndpoint) -> Result<Self, EmbedError> {
        let site = Site::new(&endpoint.base_url, endpoint.api_key.as_ref(), &SETTINGS);
        let site = site.map_err(EmbedError)?.trusting(&endpoint.authorities);
        let http = site.client().map_err(EmbedError)?;
        Ok(Self {
            http,
            site,
            data: endpoint.data.clone(),
            limits: Mutex::new(LearnedLimits {
                takes_encoding: true,
                input_type: None,
                takes_input_type: true,
                most: usize::MAX,
                refused: None,
            }),
        })
    }

    /// The name of the first model that the server lists; `None` where there is no listing.
    pub async fn first_model(&self) -> Result<Option<String>, EmbedError> {
        let request = self.http.get(self.site.url(&["models"]));
        let (status, _, body) = self
            .exchange(request, LISTING, &CallWaits::default())
            .await
            .map_err(|failure| EmbedError(failure.trouble()))?;
        if let StatusCode::NOT_FOUND
        | StatusCode::METHOD_NOT_ALLOWED
        | StatusCode::NOT_IMPLEMENTED = status
        {
            return Ok(None);
        }
        if !status.is_success() {
            return Err(EmbedError(self.site.refusal(status, &body)));
        }
        let listing: Value = serde_json::from_slice(&body).map_err(|_| {
            EmbedError(
                self.site
                    .not_a_reply("no list of models", "a list of models"),
            )
        })?;
        // A name may not say what a model is for.
        let listed = models(&listing);
        let embeds = listed.iter().find(|it| it.purpose == ModelUse::Embedding);
        match embeds.or(listed.first()) {
            Some(model) => Ok(Some(model.name.clone())),
            None => Err(EmbedError(self.site.no_model())),
        }
    }

    /// Why the last text that was left out is refused.
    pub fn last_refusal(&self) -> Option<EmbedError> {
        self.limits.lock().refused.clone().map(EmbedError)
    }

    /// One vector for each text. What is too large is asked for in parts, and of a single text
    /// that is too long its beginning. Where texts may be left out, the vector of one that the server
    /// refuses, while it takes another, is empty.
    pub async fn vectors(
        &self,
        mut wanted: VectorRequest<'_>,
        texts: Vec<String>,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let prefix = wanted.prefix();
        let texts: Vec<String> = texts.iter().map(|text| format!("{prefix}{text}")).collect();
        let mut vectors = Vec::with_capacity(texts.len());
        let mut waiting = vec![texts];
        let mut takes_others = None;
        while let Some(mut batch) = waiting.pop() {
            let most = self.limits.lock().most;
            let failure = if batch.len() > most {
                let rest = batch.split_off(most);
                waiting.extend([rest, batch]);
                continue;
            } else {
                match self.request_with_retries(wanted, &batch).await {
                    Ok(found) => {
                        vectors.extend(found);
                        continue;
                    }
                    Err(failure) => failure,
                }
            };
            let is_too_large = matches!(failure, EmbeddingFailure::TooLarge(_));
            let is_of_a_text = is_too_large || matches!(failure, EmbeddingFailure::Refused(_));
            if is_too_large && batch.len() == 1 && batch[0].len() > prefix.len() + SHORTEST {
                let half = batch[0].floor_char_boundary(batch[0].len() / 2);
                batch[0].truncate(half.max(prefix.len()));
                waiting.push(batch);
                continue;
            }
            let is_split = batch.len() > 1 && is_too_large;
            if !is_split {
                if !is_of_a_text || !wanted.patience.leaves_out {
                    return Err(EmbedError(failure.trouble()));
                }
                if takes_others.is_none() {
                    let plain = [format!("{prefix}{PLAIN_TEXT}")];
                    takes_others = Some(self.request_with_retries(wanted, &plain).await.is_ok());
                }
                if takes_others == Some(false) {
                    return Err(EmbedError(failure.trouble()));
                }
                wanted.patience.tries = TRIES_OF_A_PART;
            }
            if batch.len() > 1 {
                let rest = batch.split_off(batch.len() / 2);
                waiting.extend([rest, batch]);
            } else {
                let trouble = failure.trouble();
                tracing::warn!(%trouble, "a text is left out");
                self.limits.lock().refused = Some(trouble);
                vectors.push(Vec::new());
            }
        }
        Ok(vectors)
    }

    /// Two lengths of vectors from one model.
    pub fn mixed(&self, expected: usize, found: usize) -> EmbedError {
        let host = self.site.host();
        EmbedError(Trouble::new(
            format!("{host} gave vectors of {found} numbers after vectors of {expected}"),
            format!("check {}", SETTINGS.model()),
        ))
    }

    async fn request_with_retries(
        &self,
        wanted: VectorRequest<'_>,
        texts: &[String],
    ) -> Result<Vec<Vec<f32>>, EmbeddingFailure> {
        let VectorRequest {
            patience, waiting, ..
        } = wanted;
        let begun = Instant::now();
        let mut tried = 0;
        let mut learned = 0;
        loop {
            let (line, refusal) = match self.request_vectors(wanted, texts).await {
                Err(EmbeddingFailure::Passing(line, refusal)) => (line, refusal),
                Err(EmbeddingFailure::Learned(line)) if learned == MOST_LESSONS => {
                    return Err(EmbeddingFailure::Refused(line));
                }
                Err(EmbeddingFailure::Learned(line)) => {
                    learned += 1;
                    tracing::debug!(%line, "the embedding is asked for in another way");
                    continue;
                }
                outcome => return outcome,
            };
            tried += 1;
            let pause = refusal.after.unwrap_or_else(|| backoff(tried));
            if tried >= patience.tries || begun.elapsed() + pause > patience.total {
                return Err(match refusal.status {
                    Some(500 | 502) => EmbeddingFailure::Refused(line),
                    _ => EmbeddingFailure::Final(line),
                });
            }
            waiting.retry(refusal.status, pause, tried + 1, patience.tries);
            tracing::debug!(%line, ?pause, "the embedding is asked for again");
            tokio::time::sleep(pause).await;
        }
    }

    async fn request_vectors(
        &self,
        wanted: VectorRequest<'_>,
        texts: &[String],
    ) -> Result<Vec<Vec<f32>>, EmbeddingFailure> {
        let request = self.http.post(self.site.url(&["embeddings"]));
        let sent = self.body(wanted, texts);
        let request = request.json(&sent);
        let (status, after, body) = self
            .exchange(request, wanted.patience.request, wanted.waiting)
            .await?;
        if !status.is_success() {
            let line = self.site.refusal(status, &body);
            let code = status.as_u16();
            if let 400 | 403 | 415 | 422 | 500 = code
                && let Some(failure) = self.adapt_to_refusal(&sent, &error_text(&body), &line)
            {
                return Err(failure);
            }
            return Err(match code {
                413 => EmbeddingFailure::TooLarge(line),
                400 | 403 | 406 | 415 | 422 | 451 => EmbeddingFailure::Refused(line),
                501 | 505 => EmbeddingFailure::Final(line),
                408 | 409 | 425 | 429 | 500..=599 => {
                    let status = Some(code);
                    EmbeddingFailure::Passing(line, Refusal { status, after })
                }
                _ => EmbeddingFailure::Final(line),
            });
        }
        reply::vectors(&body, texts.len())
            .map_err(|unusable| self.unusable(unusable, &sent, texts.len()))
    }

    fn body<'a>(&self, wanted: VectorRequest<'a>, texts: &'a [String]) -> EmbeddingRequest<'a> {
        let limits = self.limits.lock();
        let known = wanted.model.form.input_type.as_ref();
        let asked_for = limits.input_type.as_ref().or(known);
        let input_type = asked_for.filter(|_| limits.takes_input_type).cloned();
        let extra_fields = input_type.as_ref().map(|of| {
            let value = match wanted.kind {
                TextKind::Query => &of.query,
                TextKind::Passage => &of.passage,
            };
            (of.field.clone(), value.clone())
        });
        EmbeddingRequest {
            model: &wanted.model.name,
            input: texts,
            encoding_format: limits.takes_encoding.then_some("float"),
            extra_fields: extra_fields.into_iter().collect(),
            input_type,
        }
    }

    /// The failure that the words of an error tell, with what is learned from them for later requests;
    /// `None` where they tell nothing that can be made otherwise.
    fn adapt_to_refusal(
        &self,
        sent: &EmbeddingRequest<'_>,
        said: &str,
        line: &Trouble,
    ) -> Option<EmbeddingFailure> {
        let line = line.clone();
        let mut limits = self.limits.lock();
        Some(match self.data.refusal(said)? {
            RefusalKind::TooLarge => EmbeddingFailure::TooLarge(line),
            RefusalKind::TooMany if sent.input.len() == 1 => EmbeddingFailure::Refused(line),
            RefusalKind::TooMany => {
                limits.most = (sent.input.len() / 2).clamp(1, limits.most);
                EmbeddingFailure::TooLarge(line)
            }
            // What another request has learned meanwhile holds for this one too.
            RefusalKind::Encoding if sent.encoding_format.is_some() => {
                limits.takes_encoding = false;
                EmbeddingFailure::Learned(line)
            }
            RefusalKind::InputType => {
                let asked = InputType::asked_for(said);
                let is_told = sent.input_type.is_some();
                let is_of_no_use = sent.input_type == limits.input_type;
                if is_told && is_of_no_use && limits.input_type.as_ref() == Some(&asked) {
                    limits.takes_input_type = false;
                } else if limits.takes_input_type {
                    limits.input_type = Some(asked);
                } else if !is_told {
                    return None;
                }
                EmbeddingFailure::Learned(line)
            }
            RefusalKind::Encoding => return None,
        })
    }

    /// Status, `Retry-After` and body. Everything that happens on the way is worth another try,
    /// but not a host that does not answer.
    async fn exchange(
        &self,
        request: RequestBuilder,
        timeout: Duration,
        waiting: &CallWaits,
    ) -> Result<(StatusCode, Option<Duration>, Vec<u8>), EmbeddingFailure> {
        let failed = |error: &reqwest::Error| {
            let line = self.site.transport(error);
            if error.is_connect() || error.is_builder() {
                EmbeddingFailure::Final(line)
            } else {
                EmbeddingFailure::Passing(line, Refusal::default())
            }
        };
        let late = || {
            let (host, waited) = (self.site.host(), timeout.as_secs());
            let what = format!("{host} did not answer within {waited} s");
            EmbeddingFailure::Passing(Trouble::new(what, "try again"), Refusal::default())
        };
        let exchange = async {
            let sent = self.site.authorized(request).send();
            let sent = waiting.wait_for(timeout, false, sent).await;
            let sent = sent.map_err(|_| late())?;
            let mut response = sent.map_err(|error| failed(&error))?;
            let (status, after) = (response.status(), retry_after(response.headers()));
            let mut body = Vec::new();
            while let Some(bytes) = response.chunk().await.map_err(|error| failed(&error))? {
                body.extend_from_slice(&bytes);
                if body.len() > REPLY_BYTES {
                    let line = self.site.not_a_reply("more than 64 MB", "vectors");
                    return Err(EmbeddingFailure::Final(line));
                }
            }
            Ok((status, after, body))
        };
        let in_time = tokio::time::timeout(timeout, exchange).await;
        in_time.unwrap_or_else(|_| Err(late()))
    }

    fn unusable(
        &self,
        unusable: Unusable,
        sent: &EmbeddingRequest<'_>,
        texts: usize,
    ) -> EmbeddingFailure {
        let host = self.site.host();
        let check = format!("check {}", SETTINGS.model());
        match unusable {
            // What a number that is none makes of JSON.
            Unusable::NotAReply(what @ "broken JSON") => {
                EmbeddingFailure::Refused(self.site.not_a_reply(what, "vectors"))
            }
            Unusable::NotAReply(what) => {
                EmbeddingFailure::Final(self.site.not_a_reply(what, "vectors"))
            }
            Unusable::Error(error) => {
                let line = self.site.error_object(&error);
                let said = error_message(&error).unwrap_or_default();
                let failure = self.adapt_to_refusal(sent, &said, &line);
                failure.unwrap_or(EmbeddingFailure::Refused(line))
            }
            Unusable::Count(count) => {
                let what = format!("{host} gave {count} vectors for {texts} texts");
                let line = Trouble::new(what, check);
                if count == 0 || count > texts {
                    return EmbeddingFailure::Final(line);
                }
                // Some servers take several texts for one.
                self.limits.lock().most = count;
                EmbeddingFailure::TooLarge(line)
            }
            Unusable::Mixed(expected, found) => {
                EmbeddingFailure::Final(self.mixed(expected, found).0)
            }
            Unusable::NotNumbers => {
                let what = format!("{host} gave a vector that holds no numbers");
                EmbeddingFailure::Refused(Trouble::new(what, check))
            }
        }
    }
}

impl<'a> VectorRequest<'a> {
    fn prefix(&self) -> &'a str {
        let form = &self.model.form;
        match self.kind {
            TextKind::Query => &form.query,
            TextKind::Passage => &form.passage,
        }
    }
}

impl EmbeddingFailure {
    fn trouble(self) -> Trouble {
        match self {
            Self::Passing(trouble, _)
            | Self::TooLarge(trouble)
            | Self::Refused(trouble)
            | Self::Learned(trouble)
            | Self::Final(trouble) => trouble,
        }
    }
}

/// The message of an error, and the field that it is about where that stands apart.
fn error_text(body: &[u8]) -> String {
    let Ok(error) = serde_json::from_slice::<Value>(body) else {
        return String::from_utf8_lossy(body).into_owned();
    };
    let place = error.pointer("/detail/0/loc").map(Value::to_string);
    let message = error_message(&error);
    [message, place]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" ")
}
