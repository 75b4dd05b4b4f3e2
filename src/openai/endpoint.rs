//! Sends requests to one endpoint: in whose name, and how long to wait for a response.
//!
//! Nothing is repeated here but a request below `/v1`, where an address names a host alone.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::header::{ACCEPT_ENCODING, HeaderName, SERVER};
use reqwest::{Client, RequestBuilder, Response, Url};
use serde_json::Value;

use super::address::Address;
use super::body::{Body, SILENT, words_of_error};
use super::chat::ChatReply;
use super::embeddings;
use super::fault::{Failure, Purpose, Site};
use super::models::{ListedModel, models};
use super::server::{Server, Servers};
use super::waits::CallWaits;
use super::wordings::Wordings;
use crate::files::read_own_file;
use crate::text::Trouble;

const RUN: &str = "X-KB-Agent-Run";
const NODE: &str = "X-KB-Agent-Node";
/// More than any listing of models comes to.
const LISTING_BYTES: usize = 4 << 20;
/// More than any request's vectors come to.
const VECTOR_BYTES: usize = 64 << 20;
/// Each token may come in an event of its own, with the names of model and request around it.
const WIRE_BYTES_PER_TOKEN: usize = 768;
/// What comes beside the tokens: counts, filters' verdicts, signs of life.
const WIRE_BYTES_BESIDE: usize = 128 * 1024;

/// What is known of servers, the user's own rows first.
#[derive(Debug, Clone)]
pub struct Tables {
    /// What they do differently.
    pub servers: Servers,
    /// How they say what went wrong.
    pub wordings: Arc<Wordings>,
}

impl Tables {
    /// What is built in, with the files of that folder before it. A file that is not there is no error;
    /// the error is one line.
    pub fn read(folder: Option<&Path>) -> Result<Self, String> {
        Ok(Self {
            servers: read_own_file(folder, "servers.toml", Servers::with_user_rows)?,
            wordings: read_own_file(folder, "errors.toml", Wordings::with_user_rows)?.into(),
        })
    }
}

/// The run that a request is made for, and how long it is waited for.
#[derive(Debug, Clone, Copy)]
pub struct CallContext<'a> {
    /// The run and the node, for the server's log.
    pub origin: Option<(&'a str, &'a str)>,
    /// No byte for this long is an error.
    pub silence: Duration,
    /// Where waiting is reported.
    pub waits: &'a CallWaits,
}

/// An endpoint that speaks the OpenAI protocol.
pub struct Endpoint {
    http: Client,
    /// Who is asked.
    pub site: Site,
    /// What kind of server it is taken for.
    pub server: Server,
    servers: Servers,
    /// The field that asks for how far a prompt is read, once it is known that the server takes one.
    progress: OnceLock<String>,
    /// The same host with the key where its listing of models wants it.
    listing: Address,
    /// Whether what is asked is below `/v1` of an address that names a host alone.
    is_below_v1: AtomicBool,
}

impl Endpoint {
    /// An endpoint at that address, of the kind of server that is named or else fits the address.
    /// Sends nothing.
    pub fn new(
        address: Address,
        purpose: Purpose,
        server: Option<&str>,
        tables: &Tables,
    ) -> Result<Self, Trouble> {
        let server = tables.servers.find(server, address.base())?.clone();
        let key_in = |address: Address, header: Option<HeaderName>| match header {
            Some(header) => address.with_key_in(header),
            None => Ok(address),
        };
        let address = key_in(address, server.key_header.clone())?;
        let progress = server.progress.clone().map(OnceLock::from);
        Ok(Self {
            http: address.client()?,
            listing: key_in(address.clone(), server.listing_key_header.clone())?,
            site: Site {
                address,
                purpose,
                wordings: Arc::clone(&tables.wordings),
            },
            progress: progress.unwrap_or_default(),
            server,
            servers: tables.servers.clone(),
            is_below_v1: AtomicBool::new(false),
        })
    }

    /// Host and port.
    pub fn host(&self) -> &str {
        self.site.address.host()
    }

    /// The field that asks for how far a prompt is read, where the server is known to take one.
    pub fn progress_field(&self) -> Option<&str> {
        self.progress.get().map(String::as_str)
    }

    /// Asks for a reply of so many tokens at most; it is read as it comes.
    pub async fn chat<'a>(
        &'a self,
        body: &Value,
        tokens: u32,
        context: &CallContext<'a>,
    ) -> Result<ChatReply<'a>, Failure> {
        let response = self.post(&self.server.path(), body, context).await?;
        let most = WIRE_BYTES_BESIDE + tokens as usize * WIRE_BYTES_PER_TOKEN;
        let body = Body::new(response, &self.site, context.waits, context.silence, most);
        Ok(ChatReply::new(body, &self.server.thoughts, tokens))
    }

    /// Asks for the vectors of so many texts, and returns them in their order.
    pub async fn embed(
        &self,
        body: &Value,
        texts: usize,
        context: &CallContext<'_>,
    ) -> Result<Vec<Vec<f32>>, Failure> {
        let silence = context.silence;
        let asking = async {
            let response = self.post(&["embeddings"], body, context).await?;
            Body::new(response, &self.site, context.waits, silence, VECTOR_BYTES)
                .collect()
                .await
        };
        let reply = tokio::time::timeout(silence, asking).await;
        let reply = reply.unwrap_or_else(|_| Err(self.site.unanswered(silence)))?;
        embeddings::vectors(&self.site, &reply, texts)
    }

    /// The models that the endpoint lists, at least one; `None` where there is no
    /// listing, which is what servers of a single model do.
    pub async fn models(
        &self,
        context: &CallContext<'_>,
    ) -> Result<Option<Vec<ListedModel>>, Failure> {
        let get = |url| self.listing.authorized(self.http.get(url));
        let response = self.ask(&["models"], get, context).await?;
        if matches!(response.status().as_u16(), 404 | 405 | 501) {
            return Ok(None);
        }
        let response = self.accepted(response, context).await?;
        let silence = context.silence;
        let body = Body::new(response, &self.site, context.waits, silence, LISTING_BYTES);
        let listing: Value = serde_json::from_slice(&body.collect().await?)
            .map_err(|_| self.site.not_a_reply("no list of models"))?;
        let listed = models(&listing);
        if listed.is_empty() {
            let next = format!("set {}", self.site.address.variables.model());
            return Err(self.site.unusable("lists no model", next));
        }
        Ok(Some(listed))
    }

    async fn post(
        &self,
        path: &[&str],
        body: &Value,
        context: &CallContext<'_>,
    ) -> Result<Response, Failure> {
        let post = |url| {
            let request = self.site.address.authorized(self.http.post(url)).json(body);
            match self.site.purpose {
                // A gateway that compresses a stream holds its pieces back.
                Purpose::Chat => request.header(ACCEPT_ENCODING, "identity"),
                Purpose::Embedding => request,
            }
        };
        let response = self.ask(path, post, context).await?;
        self.accepted(response, context).await
    }

    /// Asks below the root; where a bare host knows nothing there, below its `/v1`, from then on too.
    async fn ask(
        &self,
        path: &[&str],
        request: impl Fn(Url) -> RequestBuilder,
        context: &CallContext<'_>,
    ) -> Result<Response, Failure> {
        let below_v1 = [&["v1"], path].concat();
        let address = &self.site.address;
        if self.is_below_v1.load(Ordering::Relaxed) {
            return self.send(request(address.url(&below_v1)), context).await;
        }
        let response = self.send(request(address.url(path)), context).await?;
        let is_known = |response: &Response| !matches!(response.status().as_u16(), 404 | 405);
        if address.base().path() != "/" || is_known(&response) {
            return Ok(response);
        }
        let again = self.send(request(address.url(&below_v1)), context).await?;
        if is_known(&again) {
            self.is_below_v1.store(true, Ordering::Relaxed);
            return Ok(again);
        }
        Ok(response)
    }

    async fn send(
        &self,
        mut request: RequestBuilder,
        context: &CallContext<'_>,
    ) -> Result<Response, Failure> {
        request = request.headers(self.server.headers.clone());
        if let Some((run, node)) = context.origin {
            request = request.header(RUN, run).header(NODE, node);
        }
        let sent = context
            .waits
            .wait_for(context.silence, false, request.send());
        let sent = sent
            .await
            .map_err(|_| self.site.late(SILENT, context.silence))?;
        let response = sent.map_err(|error| self.site.transport(&error))?;
        // A llama.cpp on a port of the user's own says who it is.
        let name = response.headers().get(SERVER);
        let name = name.and_then(|name| name.to_str().ok());
        if let Some(field) = name.and_then(|name| self.servers.progress_of(name)) {
            self.progress.get_or_init(|| field.to_owned());
        }
        Ok(response)
    }

    async fn accepted(
        &self,
        response: Response,
        context: &CallContext<'_>,
    ) -> Result<Response, Failure> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let headers = response.headers().clone();
        let body = words_of_error(response, context.silence).await;
        Err(self.site.refusal(status, &headers, &body))
    }
}
