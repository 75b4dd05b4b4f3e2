//! The chat endpoint over HTTP: one request, in whose name, and how long to wait.
//!
//! What is done when a request fails is decided in [`super::exchange`]; here nothing is repeated
//! but a request on a kept connection that turned out to be dead.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use reqwest::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderValue};
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};

use crate::agent::ports::{CallOrigin, CallWaits, ReasonerError};
use crate::http::models;

use super::EndpointSettings;
use super::body::{Bounds, collect, words_of_error};
use super::dialect::{Dialect, Dialects};
use super::failure::{ChatSite, Failure};
use super::overrides::LlmOverrides;
use super::reply_schema::ReplySchema;
use super::server::{Server, Structured};
use super::stream::ChatReply;
use super::wire::{ChatRequest, Message, StreamOptions, without_system};

const RUN: &str = "X-KB-Agent-Run";
const NODE: &str = "X-KB-Agent-Node";
/// A listing of models is read as far as a reply of so many tokens would be.
const LISTING_TOKENS: u32 = 4_096;

/// A chat endpoint.
pub struct Endpoint {
    http: Client,
    timeout: Duration,
    /// Who is asked.
    pub site: ChatSite,
    /// What kind of server it is taken for.
    pub server: Server,
    /// What is known of each of its models.
    pub dialects: Dialects,
}

/// One request.
#[derive(Debug, Clone, Copy)]
pub struct ModelRequest<'a> {
    /// In whose name.
    pub origin: CallOrigin<'a>,
    /// Who is to reply.
    pub model: &'a str,
    /// What is said.
    pub messages: &'a [Message],
    /// How it is said.
    pub dialect: Dialect,
    /// What the reply looks like; none where it is an answer.
    pub schema: Option<&'a ReplySchema>,
    /// 0 is repeatable.
    pub temperature: f64,
    /// Where the reply ends at the latest.
    pub max_tokens: u32,
    /// Where waiting is reported.
    pub waiting: &'a CallWaits,
}

impl ModelRequest<'_> {
    fn body(&self) -> ChatRequest<'_> {
        let dialect = self.dialect;
        let limit = dialect.limit.as_str();
        ChatRequest {
            model: self.model,
            messages: if dialect.system {
                Cow::Borrowed(self.messages)
            } else {
                Cow::Owned(without_system(self.messages))
            },
            temperature: dialect.temperature.then_some(self.temperature),
            limit: limit
                .map(|name| BTreeMap::from([(name, self.max_tokens)]))
                .unwrap_or_default(),
            stream: dialect.stream,
            stream_options: (dialect.stream && dialect.asks_usage).then_some(StreamOptions {
                include_usage: true,
            }),
            response_format: self
                .schema
                .and_then(|schema| response_format(dialect, schema)),
        }
    }
}

fn response_format(dialect: Dialect, schema: &ReplySchema) -> Option<Value> {
    match dialect.structured {
        Structured::JsonSchema => Some(json!({
            "type": "json_schema",
            "json_schema": {"name": schema.name, "strict": true, "schema": schema.schema(dialect.bounds)},
        })),
        Structured::JsonObject => Some(json!({"type": "json_object"})),
        Structured::Prompt => None,
    }
}

impl Endpoint {
    /// Checks the settings; sends nothing.
    pub fn new(
        settings: &EndpointSettings,
        overrides: &LlmOverrides,
    ) -> Result<Self, ReasonerError> {
        let mut site = ChatSite::new(settings, overrides.wordings.clone())?;
        let server = overrides
            .servers
            .find(settings.server.as_deref(), site.base())
            .map_err(|line| ReasonerError::Refused(line.into()))?
            .clone();
        if let Some(header) = server.key_header() {
            site = site.with_key_in(header)?;
        }
        Ok(Self {
            http: site.client()?,
            timeout: settings.timeout,
            dialects: Dialects::of(&server),
            site,
            server,
        })
    }

    /// Sends the messages; the reply is read as it comes.
    pub async fn chat(&self, request: ModelRequest<'_>) -> Result<ChatReply, Failure> {
        let bounds = Bounds {
            silence: self.timeout,
            tokens: request.max_tokens,
            waiting: request.waiting.clone(),
        };
        let post = self
            .http
            .post(self.site.url(&self.server.path()))
            .header(RUN, &*request.origin.run.0)
            .header(NODE, request.origin.node.as_str())
            // A gateway that compresses a stream holds its pieces back; one that does so all the
            // same is understood.
            .header(ACCEPT_ENCODING, HeaderValue::from_static("identity"))
            .json(&request.body());
        let response = self.reach(post, request.waiting).await?;
        let response = self.accepted(response).await?;
        if let Some(encoding) = response.headers().get(CONTENT_ENCODING)
            && encoding != "identity"
        {
            let what = format!(
                "bytes packed as {}",
                String::from_utf8_lossy(encoding.as_bytes())
            );
            return Err(self.site.not_a_reply(&crate::text::one_line(&what, 40)));
        }
        let thoughts = self.server.thoughts.clone();
        ChatReply::open(response, self.site.clone(), bounds, thoughts).await
    }

    /// The names of the models that the endpoint lists, at least one; `None` where there is no
    /// listing, which is what servers of a single model do.
    pub async fn models(&self, waiting: &CallWaits) -> Result<Option<Vec<String>>, Failure> {
        let request = self.http.get(self.site.url(&["models"]));
        let response = self.reach(request, waiting).await?;
        if let StatusCode::NOT_FOUND
        | StatusCode::METHOD_NOT_ALLOWED
        | StatusCode::NOT_IMPLEMENTED = response.status()
        {
            return Ok(None);
        }
        let response = self.accepted(response).await?;
        let bounds = Bounds {
            silence: self.timeout,
            tokens: LISTING_TOKENS,
            waiting: waiting.clone(),
        };
        let bytes = collect(response, &self.site, bounds).await?;
        let listing: Value = serde_json::from_slice(&bytes)
            .map_err(|_| self.site.not_a_reply("no list of models"))?;
        let listed: Vec<String> = models(&listing).into_iter().map(str::to_owned).collect();
        if listed.is_empty() {
            return Err(self.site.no_model());
        }
        Ok(Some(listed))
    }

    async fn reach(
        &self,
        request: RequestBuilder,
        waiting: &CallWaits,
    ) -> Result<Response, Failure> {
        let request = self.site.authorized(request);
        let again = request.try_clone();
        match (self.once(request, waiting).await?, again) {
            (Ok(response), _) => Ok(response),
            // A kept connection that the server closed in the meantime: the server has not seen the
            // request, so it is made again, on a new one.
            (Err(error), Some(again)) if is_stale(&error) => self
                .once(again, waiting)
                .await?
                .map_err(|error| self.site.transport(&error)),
            (Err(error), _) => Err(self.site.transport(&error)),
        }
    }

    /// The inner error is the connection's; silence is reported as such.
    async fn once(
        &self,
        request: RequestBuilder,
        waiting: &CallWaits,
    ) -> Result<Result<Response, reqwest::Error>, Failure> {
        waiting
            .wait_for(self.timeout, false, request.send())
            .await
            .map_err(|_| self.site.silent(self.timeout, false))
    }

    async fn accepted(&self, response: Response) -> Result<Response, Failure> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let headers = response.headers().clone();
        let body = words_of_error(response, self.timeout).await;
        Err(self.site.refusal(status, &headers, &body))
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("site", &self.site)
            .field("server", &self.server.name)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// Broken before any answer, though the connection had been there.
fn is_stale(error: &reqwest::Error) -> bool {
    error.is_request() && !error.is_connect() && !error.is_timeout()
}
