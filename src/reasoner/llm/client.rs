//! The chat endpoint over HTTP: what is asked, in whose name, and how long to wait.

use std::fmt;
use std::time::Duration;

use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde_json::Value;

use crate::agent::ports::{CallOrigin, ReasonerError};
use crate::http::first_model;

use super::EndpointSettings;
use super::failure::Site;
use super::stream::{ChatReply, collect_bytes, guarded_body};
use super::wire::{ChatRequest, Message, StreamOptions};

const RUN: &str = "X-KB-Agent-Run";
const NODE: &str = "X-KB-Agent-Node";
/// As much of an error page as is worth reading.
const ERROR_BYTES: usize = 64 * 1024;

/// A chat endpoint.
pub struct Endpoint {
    http: Client,
    timeout: Duration,
    site: Site,
}

impl Endpoint {
    /// Checks the settings; sends nothing.
    pub fn new(settings: &EndpointSettings) -> Result<Self, ReasonerError> {
        let site = Site::new(settings)?;
        Ok(Self {
            http: site.client()?,
            timeout: settings.timeout,
            site,
        })
    }

    /// Sends the messages; the reply is read as it comes.
    pub async fn chat(
        &self,
        origin: CallOrigin<'_>,
        model: &str,
        messages: &[Message],
        temperature: f64,
    ) -> Result<ChatReply, ReasonerError> {
        let body = ChatRequest {
            model,
            messages,
            temperature,
            stream: true,
            stream_options: StreamOptions {
                include_usage: true,
            },
        };
        let request = self
            .http
            .post(self.site.url(&["chat", "completions"]))
            .header(RUN, &origin.run.0)
            .header(NODE, origin.node.as_str())
            .json(&body);
        let response = self.send(request).await?;
        ChatReply::open(response, self.site.clone(), self.timeout).await
    }

    /// The name of the first model that the endpoint lists; `None` where there is no listing,
    /// which is what servers of a single model do.
    pub async fn first_model(&self) -> Result<Option<String>, ReasonerError> {
        let response = self
            .reach(self.http.get(self.site.url(&["models"])))
            .await?;
        if let StatusCode::NOT_FOUND
        | StatusCode::METHOD_NOT_ALLOWED
        | StatusCode::NOT_IMPLEMENTED = response.status()
        {
            return Ok(None);
        }
        let response = self.accepted(response).await?;
        let body = guarded_body(response, self.site.clone(), self.timeout);
        let bytes = collect_bytes(body).await?;
        let listing: Value = serde_json::from_slice(&bytes)
            .map_err(|_| self.site.not_a_reply("no list of models"))?;
        let model = first_model(&listing).ok_or_else(|| self.site.no_model())?;
        Ok(Some(model.to_owned()))
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, ReasonerError> {
        let response = self.reach(request).await?;
        self.accepted(response).await
    }

    async fn reach(&self, request: RequestBuilder) -> Result<Response, ReasonerError> {
        let request = self.site.authorized(request);
        let again = request.try_clone();
        match (self.once(request).await?, again) {
            (Ok(response), _) => Ok(response),
            // A kept connection that the server closed in the meantime: nobody has seen the
            // request, so it is made again, on a new one.
            (Err(error), Some(again)) if is_stale(&error) => self
                .once(again)
                .await?
                .map_err(|error| self.site.transport(&error)),
            (Err(error), _) => Err(self.site.transport(&error)),
        }
    }

    /// The inner error is the connection's; silence is told as such.
    async fn once(
        &self,
        request: RequestBuilder,
    ) -> Result<Result<Response, reqwest::Error>, ReasonerError> {
        tokio::time::timeout(self.timeout, request.send())
            .await
            .map_err(|_| self.site.silent(self.timeout))
    }

    async fn accepted(&self, response: Response) -> Result<Response, ReasonerError> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body = self.error_body(response).await;
        Err(self.site.refusal(status, &body))
    }

    /// The beginning of an error's body; what cannot be read of it is not missed.
    async fn error_body(&self, mut response: Response) -> Vec<u8> {
        let mut body = Vec::new();
        while body.len() < ERROR_BYTES {
            match tokio::time::timeout(self.timeout, response.chunk()).await {
                Ok(Ok(Some(bytes))) => body.extend_from_slice(&bytes),
                _ => break,
            }
        }
        body
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("site", &self.site)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// Broken before any answer, though the connection had been there.
fn is_stale(error: &reqwest::Error) -> bool {
    error.is_request() && !error.is_connect() && !error.is_timeout()
}
