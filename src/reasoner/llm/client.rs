//! The chat endpoint over HTTP: one request, in whose name, and how long to wait.
//!
//! What is done when a request fails is decided in [`super::exchange`]; here nothing is repeated
//! but a request on a kept connection that turned out to be dead.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderName, HeaderValue};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};
use serde_json::{Value, json};

use crate::agent::ports::{CallOrigin, CallWaits, ReasonerError};
use crate::http::{self, ListedModel, models};

use super::EndpointSettings;
use super::body::{Bounds, collect, words_of_error};
use super::dialect::{Dialect, Dialects};
use super::failure::{ChatSite, Failure};
use super::marks::ReplyMarks;
use super::overrides::LlmOverrides;
use super::reply_schema::ReplySchema;
use super::server::{Server, Structured};
use super::stream::ChatReply;
use super::wire::{Message, without_system};

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
    /// What stands in replies beside their text.
    pub marks: Arc<ReplyMarks>,
    /// The same host with the key where its listing of models wants it.
    listing: http::Site,
    /// Whether what is asked is below `/v1` of an address that names a host alone.
    is_below_v1: AtomicBool,
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
    fn body(&self) -> Value {
        let dialect = self.dialect;
        let messages = if dialect.system {
            Cow::Borrowed(self.messages)
        } else {
            Cow::Owned(without_system(self.messages))
        };
        let mut body = json!({
            "model": self.model,
            "messages": messages,
            "stream": dialect.stream,
        });
        if dialect.temperature {
            body["temperature"] = self.temperature.into();
        }
        if let Some(name) = dialect.limit.as_str() {
            body[name] = self.max_tokens.into();
        }
        if dialect.stream && dialect.asks_usage {
            body["stream_options"] = json!({"include_usage": true});
        }
        let form = self.schema.and_then(|it| response_format(dialect, it));
        if let Some(form) = form {
            body["response_format"] = form;
        }
        body
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
            .find(settings.server.as_deref(), site.http.base())
            .map_err(|line| ReasonerError::Refused(line.into()))?
            .clone();
        let key_in = |site: http::Site, header: Option<HeaderName>| match header {
            Some(header) => site.with_key_in(header).map_err(ReasonerError::Refused),
            None => Ok(site),
        };
        site.http = key_in(site.http, server.key_header.clone())?;
        let listing = key_in(site.http.clone(), server.listing_key_header.clone())?;
        Ok(Self {
            http: site
                .http
                .client()
                .map_err(|trouble| ReasonerError::Internal(trouble.to_string()))?,
            timeout: settings.timeout,
            dialects: Dialects::of(&server),
            marks: Arc::clone(&overrides.marks),
            listing,
            site,
            server,
            is_below_v1: AtomicBool::new(false),
        })
    }

    /// Sends the messages; the reply is read as it comes.
    pub async fn chat(&self, request: ModelRequest<'_>) -> Result<ChatReply, Failure> {
        let bounds = Bounds {
            silence: self.timeout,
            tokens: request.max_tokens,
            waiting: request.waiting.clone(),
        };
        let body = request.body();
        let post = |url| {
            self.site
                .http
                .authorized(self.http.post(url))
                .header(RUN, &*request.origin.run.0)
                .header(NODE, request.origin.node.as_str())
                // A gateway that compresses a stream holds its pieces back; one that does so all the
                // same is understood.
                .header(ACCEPT_ENCODING, HeaderValue::from_static("identity"))
                .json(&body)
        };
        let path = self.server.path();
        let response = self.reach_below_root(&path, post, request.waiting).await?;
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
        let marks = Arc::clone(&self.marks);
        let site = self.site.clone();
        Ok(ChatReply::new(response, site, bounds, thoughts, marks))
    }

    /// The models that the endpoint lists, at least one; `None` where there is no
    /// listing, which is what servers of a single model do.
    pub async fn models(&self, waiting: &CallWaits) -> Result<Option<Vec<ListedModel>>, Failure> {
        let get = |url| self.listing.authorized(self.http.get(url));
        let response = self.reach_below_root(&["models"], get, waiting).await?;
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
        let listed = models(&listing);
        if listed.is_empty() {
            return Err(self.site.no_model());
        }
        Ok(Some(listed))
    }

    /// Asks below the root; where a bare host knows nothing there, below its `/v1`, from then on too.
    async fn reach_below_root(
        &self,
        path: &[&str],
        request: impl Fn(Url) -> RequestBuilder,
        waiting: &CallWaits,
    ) -> Result<Response, Failure> {
        let below_v1 = [&["v1"], path].concat();
        if self.is_below_v1.load(Ordering::Relaxed) {
            return self
                .reach(request(self.site.http.url(&below_v1)), waiting)
                .await;
        }
        let response = self
            .reach(request(self.site.http.url(path)), waiting)
            .await?;
        let is_unknown = |status| {
            matches!(
                status,
                StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED
            )
        };
        if self.site.http.base().path() != "/" || !is_unknown(response.status()) {
            return Ok(response);
        }
        let again = self
            .reach(request(self.site.http.url(&below_v1)), waiting)
            .await?;
        if is_unknown(again.status()) {
            return Ok(response);
        }
        self.is_below_v1.store(true, Ordering::Relaxed);
        Ok(again)
    }

    async fn reach(
        &self,
        request: RequestBuilder,
        waiting: &CallWaits,
    ) -> Result<Response, Failure> {
        let request = request.headers(self.server.headers.clone());
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
