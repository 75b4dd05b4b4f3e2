//! The chat endpoint over HTTP: one request, in whose name, and how long to wait.
//!
//! What is done when a request fails is decided in [`super::exchange`]; here nothing is repeated
//! but a request on a kept connection that turned out to be dead.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderName, HeaderValue, SERVER};
use reqwest::{Client, RequestBuilder, Response, Url};
use serde_json::Value;

use super::failure::{ChatSite, Failure, NAME_MODEL, Wordings};
use super::pace::ModelPaces;
use super::prompt::Prompts;
use super::request::{Dialects, ModelRequest};
use super::server::{Prices, Server, Servers};
use super::settings::EndpointSettings;
use super::stream::{Body, Bounds, ChatReply, collect, words_of_error};
use super::think::ReplyMarks;
use crate::agent::ports::{CallWaits, ReasonerError};
use crate::files::read_own_file;
use crate::http::{self, ListedModel, models};
use crate::text::{Trouble, one_line};

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
    /// How fast its models read and write.
    pub paces: ModelPaces,
    servers: Servers,
    /// The field that asks for how far a prompt is read, once it is known that the server takes one.
    progress: OnceLock<String>,
    /// The same host with the key where its listing of models wants it.
    listing: http::Site,
    /// Whether what is asked is below `/v1` of an address that names a host alone.
    is_below_v1: AtomicBool,
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
            .find(settings.server.as_deref(), site.http.base());
        let server = server
            .map_err(|line| ReasonerError::Refused(line.into()))?
            .clone();
        let key_in = |site: http::Site, header: Option<HeaderName>| match header {
            Some(header) => site.with_key_in(header).map_err(ReasonerError::Refused),
            None => Ok(site),
        };
        site.http = key_in(site.http, server.key_header.clone())?;
        let listing = key_in(site.http.clone(), server.listing_key_header.clone())?;
        let http = site.http.client();
        Ok(Self {
            http: http.map_err(ReasonerError::Internal)?,
            timeout: settings.timeout,
            dialects: Dialects::for_server(&server),
            marks: Arc::clone(&overrides.marks),
            paces: ModelPaces::default(),
            servers: overrides.servers.clone(),
            progress: server
                .progress
                .clone()
                .map(OnceLock::from)
                .unwrap_or_default(),
            listing,
            site,
            server,
            is_below_v1: AtomicBool::new(false),
        })
    }

    /// Sends the messages; the reply is read as it comes.
    pub async fn chat(
        &self,
        request: &ModelRequest<'_>,
        waiting: &CallWaits,
    ) -> Result<ChatReply, Failure> {
        waiting.restart();
        let bounds = self.bounds(request.max_tokens, waiting);
        let mut body = request.body();
        if let Some(field) = self.progress.get()
            && request.dialect.stream
            && request.dialect.takes_progress
        {
            body[field] = true.into();
        }
        let origin = request.wanted.origin;
        let post = |url| {
            self.site
                .http
                .authorized(self.http.post(url))
                .header(RUN, &*origin.run.0)
                .header(NODE, origin.node.as_str())
                // A gateway that compresses a stream holds its pieces back; one that does so all the
                // same is understood.
                .header(ACCEPT_ENCODING, HeaderValue::from_static("identity"))
                .json(&body)
        };
        let path = self.server.path();
        let response = self.reach_below_root(&path, post, waiting).await?;
        let response = self.accepted(response).await?;
        if let Some(encoding) = response.headers().get(CONTENT_ENCODING)
            && encoding != "identity"
        {
            let encoding = String::from_utf8_lossy(encoding.as_bytes());
            let what = one_line(&format!("bytes packed as {encoding}"), 40);
            return Err(self.site.not_a_reply(&what));
        }
        let body = Body::new(response, self.site.clone(), bounds);
        let (thoughts, marks) = (self.server.thoughts.clone(), Arc::clone(&self.marks));
        let mut reply = ChatReply::new(body, thoughts, marks);
        reply.known_rate = self.paces.reading_rate(request.wanted.model);
        Ok(reply)
    }

    /// The models that the endpoint lists, at least one; `None` where there is no
    /// listing, which is what servers of a single model do.
    pub async fn models(&self, waiting: &CallWaits) -> Result<Option<Vec<ListedModel>>, Failure> {
        let get = |url| self.listing.authorized(self.http.get(url));
        let response = self.reach_below_root(&["models"], get, waiting).await?;
        if matches!(response.status().as_u16(), 404 | 405 | 501) {
            return Ok(None);
        }
        let response = self.accepted(response).await?;
        let bounds = self.bounds(LISTING_TOKENS, waiting);
        let bytes = collect(Body::new(response, self.site.clone(), bounds)).await?;
        let listing: Value = serde_json::from_slice(&bytes)
            .map_err(|_| self.site.not_a_reply("no list of models"))?;
        let listed = models(&listing);
        if listed.is_empty() {
            return Err(self.site.unusable("lists no model", NAME_MODEL));
        }
        Ok(Some(listed))
    }

    fn bounds(&self, tokens: u32, waiting: &CallWaits) -> Bounds {
        Bounds {
            silence: self.timeout,
            tokens,
            waiting: waiting.clone(),
        }
    }

    /// Asks below the root; where a bare host knows nothing there, below its `/v1`, from then on too.
    async fn reach_below_root(
        &self,
        path: &[&str],
        request: impl Fn(Url) -> RequestBuilder,
        waiting: &CallWaits,
    ) -> Result<Response, Failure> {
        let below_v1 = [&["v1"], path].concat();
        let reach = async |path: &[&str]| {
            let request = request(self.site.http.url(path));
            self.reach(request, waiting).await
        };
        if self.is_below_v1.load(Ordering::Relaxed) {
            return reach(&below_v1).await;
        }
        let response = reach(path).await?;
        let is_known = |response: &Response| !matches!(response.status().as_u16(), 404 | 405);
        if self.site.http.base().path() != "/" || is_known(&response) {
            return Ok(response);
        }
        let again = reach(&below_v1).await?;
        if is_known(&again) {
            self.is_below_v1.store(true, Ordering::Relaxed);
            return Ok(again);
        }
        Ok(response)
    }

    async fn reach(
        &self,
        request: RequestBuilder,
        waiting: &CallWaits,
    ) -> Result<Response, Failure> {
        let request = request.headers(self.server.headers.clone());
        let again = request.try_clone();
        let send = async |request: RequestBuilder| {
            let response = waiting.wait_for(self.timeout, false, request.send()).await;
            response.map_err(|_| self.site.silent(self.timeout, false))
        };
        let outcome = match (send(request).await?, again) {
            // A kept connection that the server closed in the meantime: the server has not seen the
            // request, so it is made again, on a new one.
            (Err(error), Some(again))
                if error.is_request() && !error.is_connect() && !error.is_timeout() =>
            {
                send(again).await?
            }
            (outcome, _) => outcome,
        };
        let response = outcome.map_err(|error| self.site.transport(&error))?;
        // A llama.cpp on a port of the user's own says who it is.
        let name = response
            .headers()
            .get(SERVER)
            .and_then(|name| name.to_str().ok());
        if let Some(field) = name.and_then(|name| self.servers.progress_of(name)) {
            self.progress.get_or_init(|| field.to_owned());
        }
        Ok(response)
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

// What is built in and users can replace: prompts, prices and tables.
//
// Read once, when the program starts: a mistake in a file is shown then, with the file's name, and
// not in the middle of an answer.

/// The data that users can replace.
#[derive(Debug, Clone)]
pub struct LlmOverrides {
    /// The words of every job.
    pub prompts: Prompts,
    /// What tokens cost.
    pub prices: Prices,
    /// What servers do differently.
    pub servers: Servers,
    /// What stands in replies beside their text.
    pub marks: Arc<ReplyMarks>,
    /// How servers say what went wrong.
    pub wordings: Wordings,
}

impl LlmOverrides {
    /// What is built in, with the files of that folder before it. A file that is not there is no error;
    /// the error is one line.
    pub fn read(folder: Option<&Path>) -> Result<Self, Trouble> {
        Ok(Self {
            prompts: Prompts::read(folder)?,
            prices: read_own_file(folder, "prices.toml", Prices::with_user_rows)?,
            servers: read_own_file(folder, "servers.toml", Servers::with_user_rows)?,
            marks: read_own_file(folder, "replies.toml", ReplyMarks::with_user_rows)
                .map(Arc::new)?,
            wordings: read_own_file(folder, "errors.toml", Wordings::with_user_rows)?,
        })
    }
}
