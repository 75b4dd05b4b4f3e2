//! One server: requests, second attempts, and what it refuses.

use std::time::{Duration, Instant};

use reqwest::{Client, RequestBuilder, StatusCode};
use rustls::pki_types::CertificateDer;
use secrecy::SecretString;
use serde::Serialize;
use serde_json::Value;

use super::reply;
use super::reply::Unusable;
use crate::agent::ports::{CallWaits, EmbedError};
use crate::http::{ModelUse, Site, Variables, backoff, error_message, models, retry_after};
use crate::text::Trouble;

const SETTINGS: Variables = Variables {
    base_url: "KB_AGENT_EMBEDDING_BASE_URL",
    api_key: "KB_AGENT_EMBEDDING_API_KEY",
    model: "KB_AGENT_EMBEDDING_MODEL",
};
/// More than any request's vectors come to.
const REPLY_BYTES: usize = 64 << 20;
/// A text that is still too long at this length is not what the server minds.
const SHORTEST: usize = 200;
const LISTING: Duration = Duration::from_secs(10);

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
}

/// How long a server is borne with.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    tries: u32,
    request: Duration,
    /// Over all tries.
    total: Duration,
}

impl Patience {
    /// A user waits for the answer to a question.
    pub const QUESTION: Self = Self {
        tries: 2,
        request: Duration::from_secs(10),
        total: Duration::from_secs(10),
    };
    /// An index is made.
    pub const BULK: Self = Self {
        tries: 5,
        request: Duration::from_mins(1),
        total: Duration::from_mins(1),
    };
}

/// An `/embeddings` server.
pub struct EmbeddingServer {
    http: Client,
    site: Site,
}

/// Why there are no vectors.
enum EmbeddingFailure {
    /// It may go better next time.
    Passing(Trouble, Refusal),
    /// Less at a time may be accepted.
    TooLarge(Trouble),
    Final(Trouble),
}

/// What the server said of a refusal that may pass.
#[derive(Default)]
struct Refusal {
    /// `None` where there was no reply.
    status: Option<u16>,
    /// How long to wait.
    after: Option<Duration>,
}

#[derive(Serialize)]
struct EmbeddingRequest<'a> {
    model: &'a str,
    input: &'a [String],
    encoding_format: &'static str,
}

impl EmbeddingServer {
    /// Checks the settings; sends nothing.
    pub fn new(endpoint: &EmbeddingEndpoint) -> Result<Self, EmbedError> {
        let site = Site::new(&endpoint.base_url, endpoint.api_key.as_ref(), &SETTINGS);
        let site = site.map_err(EmbedError)?.trusting(&endpoint.authorities);
        let http = site.client().map_err(EmbedError)?;
        Ok(Self { http, site })
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

    /// One vector for each text. What is too large is asked for in parts, and of a single text
    /// that is too long its beginning.
    pub async fn vectors(
        &self,
        model: &str,
        texts: Vec<String>,
        patience: (Patience, &CallWaits),
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors = Vec::with_capacity(texts.len());
        let mut waiting = vec![texts];
        while let Some(mut batch) = waiting.pop() {
            match self.patiently(model, &batch, patience).await {
                Ok(found) => vectors.extend(found),
                Err(EmbeddingFailure::TooLarge(_)) if batch.len() > 1 => {
                    let rest = batch.split_off(batch.len() / 2);
                    waiting.push(rest);
                    waiting.push(batch);
                }
                Err(EmbeddingFailure::TooLarge(_)) if batch[0].len() > SHORTEST => {
                    let half = batch[0].floor_char_boundary(batch[0].len() / 2);
                    batch[0].truncate(half);
                    waiting.push(batch);
                }
                Err(failure) => return Err(EmbedError(failure.trouble())),
            }
        }
        Ok(vectors)
    }

    /// Two lengths of vectors from one model.
    pub fn mixed(&self, expected: usize, found: usize) -> EmbedError {
        let host = self.site.host();
        EmbedError(Trouble::new(
            format!("{host} gave vectors of {found} numbers after vectors of {expected}"),
            format!("check {}", SETTINGS.model),
        ))
    }

    async fn patiently(
        &self,
        model: &str,
        texts: &[String],
        (patience, waiting): (Patience, &CallWaits),
    ) -> Result<Vec<Vec<f32>>, EmbeddingFailure> {
        let begun = Instant::now();
        let mut tried = 0;
        loop {
            let once = self.once(model, texts, (patience.request, waiting));
            let (line, refusal) = match once.await {
                Err(EmbeddingFailure::Passing(line, refusal)) => (line, refusal),
                outcome => return outcome,
            };
            tried += 1;
            let pause = refusal.after.unwrap_or_else(|| backoff(tried));
            if tried >= patience.tries || begun.elapsed() + pause > patience.total {
                return Err(EmbeddingFailure::Final(line));
            }
            waiting.retry(refusal.status, pause, tried + 1, patience.tries);
            tracing::debug!(%line, ?pause, "the embedding is asked for again");
            tokio::time::sleep(pause).await;
        }
    }

    async fn once(
        &self,
        model: &str,
        texts: &[String],
        (timeout, waiting): (Duration, &CallWaits),
    ) -> Result<Vec<Vec<f32>>, EmbeddingFailure> {
        let body = EmbeddingRequest {
            model,
            input: texts,
            encoding_format: "float",
        };
        let request = self.http.post(self.site.url(&["embeddings"])).json(&body);
        let (status, after, body) = self.exchange(request, timeout, waiting).await?;
        if !status.is_success() {
            let line = self.site.refusal(status, &body);
            return Err(match status.as_u16() {
                413 => EmbeddingFailure::TooLarge(line),
                400 | 422 | 500 if complains_of_size(&body) => EmbeddingFailure::TooLarge(line),
                501 | 505 => EmbeddingFailure::Final(line),
                408 | 409 | 425 | 429 | 500..=599 => {
                    let status = Some(status.as_u16());
                    EmbeddingFailure::Passing(line, Refusal { status, after })
                }
                _ => EmbeddingFailure::Final(line),
            });
        }
        reply::vectors(&body, texts.len()).map_err(|unusable| self.unusable(unusable, texts.len()))
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

    fn unusable(&self, unusable: Unusable, texts: usize) -> EmbeddingFailure {
        let host = self.site.host();
        EmbeddingFailure::Final(match unusable {
            Unusable::NotAReply(what) => self.site.not_a_reply(what, "vectors"),
            Unusable::Error(error) => self.site.error_object(&error),
            Unusable::Count(count) => Trouble::new(
                format!("{host} gave {count} vectors for {texts} texts"),
                format!("check {}", SETTINGS.model),
            ),
            Unusable::Mixed(expected, found) => self.mixed(expected, found).0,
            Unusable::NotNumbers => Trouble::new(
                format!("{host} gave a vector that holds no numbers"),
                format!("check {}", SETTINGS.model),
            ),
        })
    }
}

impl EmbeddingFailure {
    fn trouble(self) -> Trouble {
        match self {
            Self::Passing(trouble, _) | Self::TooLarge(trouble) | Self::Final(trouble) => trouble,
        }
    }
}

/// Whether an error is about how much was sent. Servers have no common status for it: 400, 413,
/// 422 and 500 all occur.
fn complains_of_size(body: &[u8]) -> bool {
    let said = serde_json::from_slice::<Value>(body)
        .ok()
        .and_then(|error| error_message(&error))
        .unwrap_or_else(|| String::from_utf8_lossy(body).into_owned())
        .to_lowercase();
    [
        "too large",
        "too long",
        "too many",
        "context length",
        "context size",
        "batch size",
        "maximum allowed",
        "exceeds",
    ]
    .iter()
    .any(|sign| said.contains(sign))
}
