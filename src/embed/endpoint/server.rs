//! One server: batches, what it refuses, and what is left out.

use std::time::Duration;

use parking_lot::Mutex;
use rustls::pki_types::CertificateDer;
use secrecy::SecretString;
use serde_json::{Value, json};

use super::data::{EmbeddingData, InputType, TextForm};
use crate::agent::ports::EmbedError;
use crate::embed::normalised;
use crate::openai::{
    Address, CallContext, CallWaits, Endpoint, ErrorKind, Failure, Fault, ModelUse, Purpose,
    Retries, Variables, mixed_lengths,
};
use crate::text::Trouble;

/// A request is changed so often at most, by what the server refuses.
const MOST_LESSONS: u32 = 4;
const SETTINGS: Variables = Variables {
    base_url: "KB_AGENT_EMBEDDING_BASE_URL",
    api_key: Some("KB_AGENT_EMBEDDING_API_KEY"),
    model: Some("KB_AGENT_EMBEDDING_MODEL"),
};
/// A text that is still too long at this length is not what the server minds.
const SHORTEST: usize = 200;
const LISTING: Duration = Duration::from_secs(10);
/// A text that every server takes.
const PLAIN_TEXT: &str = "text";
/// How often a part of a batch is asked for again that was refused whole.
const RETRIES_OF_A_PART: u32 = 1;

/// Where the model is.
#[derive(Debug, Clone)]
pub struct EmbeddingEndpoint {
    /// Root of the endpoint, e.g. `http://127.0.0.1:11434/v1`.
    pub base_url: String,
    /// Bearer token, or whatever the server's row of the table makes of it.
    pub api_key: Option<SecretString>,
    /// The model; without one the first that the endpoint lists.
    pub model: Option<String>,
    /// Authorities that sign its certificate, beside those that the system trusts.
    pub authorities: Vec<CertificateDer<'static>>,
    /// What stands before a question, whatever is known of the model.
    pub query_prefix: Option<String>,
    /// What stands before a passage, whatever is known of the model.
    pub passage_prefix: Option<String>,
    /// What is known of models and servers.
    pub data: EmbeddingData,
}

/// What the texts of a request are, and so how long a server is borne with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextKind {
    /// A question, whose answer a user waits for.
    Query,
    /// Passages, while an index is made: one that is refused is left out, and the others are asked for.
    Passage,
}

impl TextKind {
    /// How often a request is made again, and how long one may take and all of them together.
    fn patience(self) -> (u32, Duration) {
        match self {
            Self::Query => (1, Duration::from_secs(10)),
            Self::Passage => (4, Duration::from_mins(1)),
        }
    }

    fn choose(self, query: &str, passage: &str) -> String {
        match self {
            Self::Query => query.to_owned(),
            Self::Passage => passage.to_owned(),
        }
    }
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
    pub waits: &'a CallWaits,
}

/// An `/embeddings` server.
pub struct EmbeddingServer {
    endpoint: Endpoint,
    manner: Mutex<Manner>,
    /// Why it refused the last text that was left out.
    refused: Mutex<Option<Trouble>>,
}

/// How it is asked, by what it refused so far.
#[derive(Debug, Clone)]
struct Manner {
    takes_encoding: bool,
    input_type: InputTypeSource,
    /// Texts that it takes at a time.
    most: usize,
}

/// Where the field comes from that says what the texts are.
#[derive(Debug, Clone, PartialEq, Eq)]
enum InputTypeSource {
    /// The row of the model.
    Model,
    /// What the server asked for.
    Server(InputType),
    /// No such field is sent.
    None,
}

impl EmbeddingServer {
    /// Checks the settings; sends nothing.
    pub fn new(settings: &EmbeddingEndpoint) -> Result<Self, EmbedError> {
        let address = Address::new(&settings.base_url, settings.api_key.as_ref(), &SETTINGS);
        let address = address.map_err(EmbedError)?.trusting(&settings.authorities);
        let endpoint = Endpoint::new(address, Purpose::Embedding, None, &settings.data.tables);
        Ok(Self {
            endpoint: endpoint.map_err(EmbedError)?,
            manner: Mutex::new(Manner {
                takes_encoding: true,
                input_type: InputTypeSource::Model,
                most: usize::MAX,
            }),
            refused: Mutex::default(),
        })
    }

    /// The name of the first model that the server lists; `None` where there is no listing.
    pub async fn first_model(&self) -> Result<Option<String>, EmbedError> {
        let context = CallContext {
            origin: None,
            silence: LISTING,
            waits: &CallWaits::default(),
        };
        // Who asks for the model's name blocks until it is known.
        let listed = tokio::time::timeout(LISTING, self.endpoint.models(&context)).await;
        let listed = listed.unwrap_or_else(|_| Err(self.endpoint.site.unanswered(LISTING)));
        let listed = listed.map_err(|failure| EmbedError(failure.trouble))?;
        let listed = listed.unwrap_or_default();
        // A name may not say what a model is for.
        let embeds = listed.iter().find(|it| it.purpose == ModelUse::Embedding);
        Ok(embeds.or(listed.first()).map(|model| model.name.clone()))
    }

    /// Why the last text that was left out is refused.
    pub fn last_refusal(&self) -> Option<EmbedError> {
        self.refused.lock().clone().map(EmbedError)
    }

    /// One vector for each text. What is too large is asked for in parts, and of a single text
    /// that is too long its beginning. Where texts may be left out, the vector of one that the server
    /// refuses, while it takes another, is empty.
    pub async fn vectors(
        &self,
        wanted: VectorRequest<'_>,
        texts: Vec<String>,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let form = &wanted.model.form;
        let prefix = wanted.kind.choose(&form.query, &form.passage);
        let (mut retries, _) = wanted.kind.patience();
        let texts: Vec<String> = texts.iter().map(|text| format!("{prefix}{text}")).collect();
        let mut vectors = Vec::with_capacity(texts.len());
        let mut waiting = vec![texts];
        let mut takes_others = None;
        while let Some(mut batch) = waiting.pop() {
            let most = self.manner.lock().most;
            if batch.len() > most {
                let rest = batch.split_off(most);
                waiting.extend([rest, batch]);
                continue;
            }
            let failure = match self.ask(wanted, &batch, retries).await {
                Ok(found) => {
                    vectors.extend(found.into_iter().map(normalised));
                    continue;
                }
                Err(failure) => failure,
            };
            let is_too_large = matches!(failure.fault, Fault::Shrink(_) | Fault::Split(_));
            if is_too_large && batch.len() == 1 && batch[0].len() > prefix.len() + SHORTEST {
                let half = batch[0].floor_char_boundary(batch[0].len() / 2);
                batch[0].truncate(half.max(prefix.len()));
                waiting.push(batch);
                continue;
            }
            if !(is_too_large && batch.len() > 1) {
                let mut may_leave_out = wanted.kind == TextKind::Passage && is_of_a_text(&failure);
                if may_leave_out && takes_others.is_none() {
                    let plain = [format!("{prefix}{PLAIN_TEXT}")];
                    takes_others = Some(self.ask(wanted, &plain, retries).await.is_ok());
                }
                may_leave_out &= takes_others == Some(true);
                if !may_leave_out {
                    return Err(EmbedError(failure.trouble));
                }
                retries = RETRIES_OF_A_PART;
            }
            if batch.len() > 1 {
                let rest = batch.split_off(batch.len() / 2);
                waiting.extend([rest, batch]);
            } else {
                tracing::warn!(trouble = %failure.trouble, "a text is left out");
                *self.refused.lock() = Some(failure.trouble);
                vectors.push(Vec::new());
            }
        }
        Ok(vectors)
    }

    /// Two lengths of vectors from one model.
    pub fn mixed(&self, expected: usize, found: usize) -> EmbedError {
        let what = format!(
            "{} {}",
            self.endpoint.host(),
            mixed_lengths(expected, found)
        );
        EmbedError(Trouble::new(what, format!("check {}", SETTINGS.model())))
    }

    /// One batch, until there are vectors or nothing left to try.
    async fn ask(
        &self,
        wanted: VectorRequest<'_>,
        texts: &[String],
        retries: u32,
    ) -> Result<Vec<Vec<f32>>, Failure> {
        let (_, time) = wanted.kind.patience();
        let context = CallContext {
            origin: None,
            silence: time,
            waits: wanted.waits,
        };
        let mut retries = Retries::new(retries, Some(time));
        let mut lessons = 0;
        loop {
            let manner = self.manner.lock().clone();
            let body = wanted.body(texts, &manner);
            let mut failure = match self.endpoint.embed(&body, texts.len(), &context).await {
                Ok(vectors) => return Ok(vectors),
                Err(failure) => failure,
            };
            match failure.fault {
                // Fewer than one it cannot be.
                Fault::Split(_) if texts.len() == 1 => {
                    failure.fault = Fault::Unsupported;
                    return Err(failure);
                }
                Fault::Split(taken) => {
                    let mut manner = self.manner.lock();
                    manner.learn_most(taken as usize, texts.len());
                    return Err(failure);
                }
                Fault::Unsupported
                    if lessons < MOST_LESSONS && self.learn(&manner, &failure.words) =>
                {
                    lessons += 1;
                    tracing::debug!(line = %failure.trouble, "the embedding is asked for in another way");
                }
                _ if retries.pause(&failure, wanted.waits).await => {}
                _ => return Err(failure),
            }
        }
    }

    /// Whether a refusal in these words, of a request in this manner, can be met in another one, which is
    /// remembered. What another request has learned meanwhile holds for this one too.
    fn learn(&self, sent: &Manner, words: &str) -> bool {
        let kind = self.endpoint.site.wordings.embedding_kind(words);
        let mut now = self.manner.lock();
        match kind {
            Some(ErrorKind::Encoding) if sent.takes_encoding => now.takes_encoding = false,
            Some(ErrorKind::InputType) if sent.input_type != InputTypeSource::None => {
                let asked = InputTypeSource::Server(InputType::asked_for(words));
                if now.input_type == sent.input_type {
                    let is_in_vain = sent.input_type == asked;
                    now.input_type = if is_in_vain {
                        InputTypeSource::None
                    } else {
                        asked
                    };
                }
            }
            _ => return false,
        }
        true
    }
}

impl Manner {
    /// So many of the texts that were sent are taken at a time; 0 where that is unknown.
    fn learn_most(&mut self, taken: usize, sent: usize) {
        let most = if taken > 0 { taken } else { sent / 2 };
        self.most = most.clamp(1, self.most);
    }
}

impl VectorRequest<'_> {
    fn body(&self, texts: &[String], manner: &Manner) -> Value {
        let mut body = json!({"model": self.model.name, "input": texts});
        if manner.takes_encoding {
            body["encoding_format"] = "float".into();
        }
        let input_type = match &manner.input_type {
            InputTypeSource::Model => self.model.form.input_type.as_ref(),
            InputTypeSource::Server(input_type) => Some(input_type),
            InputTypeSource::None => None,
        };
        if let Some(of) = input_type {
            body[&of.field] = self.kind.choose(&of.query, &of.passage).into();
        }
        body
    }
}

/// Whether one of the texts may be what the server minds.
fn is_of_a_text(failure: &Failure) -> bool {
    match failure.status {
        Some(403 | 406 | 451 | 500 | 502) => true,
        Some(501 | 505) => false,
        _ => matches!(
            failure.fault,
            Fault::Shrink(_) | Fault::Split(_) | Fault::Unsupported
        ),
    }
}
