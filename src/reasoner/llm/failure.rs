//! What went wrong with the chat endpoint, as the reasoner's errors: [`crate::http`] knows the
//! lines that hold for every endpoint, here are those about chatting.

use std::time::Duration;

use reqwest::{Client, RequestBuilder, StatusCode, Url};
use serde_json::Value;

use super::EndpointSettings;
use crate::agent::ports::ReasonerError;
use crate::http::{self, Variables};

const SETTINGS: Variables = Variables {
    base_url: "KB_AGENT_LLM_BASE_URL",
    api_key: "KB_AGENT_LLM_API_KEY",
    model: "KB_AGENT_LLM_MODEL",
};

/// The chat endpoint's host, as who is asked and who is complained about.
#[derive(Debug, Clone)]
pub struct Site(http::Site);

impl Site {
    /// Checks address and key; sends nothing.
    pub fn new(settings: &EndpointSettings) -> Result<Self, ReasonerError> {
        http::Site::new(&settings.base_url, settings.api_key.as_ref(), &SETTINGS)
            .map(Self)
            .map_err(ReasonerError::Refused)
    }

    /// Host and port.
    pub fn host(&self) -> &str {
        self.0.host()
    }

    /// A client for it.
    pub fn client(&self) -> Result<Client, ReasonerError> {
        self.0.client().map_err(ReasonerError::Internal)
    }

    /// The address below its root.
    pub fn url(&self, path: &[&str]) -> Url {
        self.0.url(path)
    }

    /// The request with the key.
    pub fn authorized(&self, request: RequestBuilder) -> RequestBuilder {
        self.0.authorized(request)
    }

    /// Nothing arrived for as long as we were willing to wait.
    pub fn silent(&self, waited: Duration) -> ReasonerError {
        ReasonerError::Unreachable(format!(
            "{} sent nothing for {}; try again, or raise KB_AGENT_LLM_TIMEOUT_SECS",
            self.host(),
            seconds(waited)
        ))
    }

    /// The connection could not be made, or broke.
    pub fn transport(&self, error: &reqwest::Error) -> ReasonerError {
        ReasonerError::Unreachable(self.0.transport(error))
    }

    /// It answered with an error status.
    pub fn refusal(&self, status: StatusCode, body: &[u8]) -> ReasonerError {
        ReasonerError::Refused(self.0.refusal(status, body))
    }

    /// It answered with an error object where a reply should be.
    pub fn error_object(&self, error: &Value) -> ReasonerError {
        ReasonerError::Refused(self.0.error_object(error))
    }

    /// It answered with something that is not the protocol.
    pub fn not_a_reply(&self, what: &str) -> ReasonerError {
        ReasonerError::Protocol(self.0.not_a_reply(what, "a chat reply"))
    }

    /// It answered, and said nothing.
    pub fn empty(&self) -> ReasonerError {
        ReasonerError::Protocol(format!(
            "{} sent an empty answer; ask again, or choose another KB_AGENT_LLM_MODEL",
            self.host()
        ))
    }

    /// It would not stop.
    pub fn too_long(&self, limit: usize) -> ReasonerError {
        ReasonerError::Protocol(format!(
            "{} sent more than {} MB; choose another KB_AGENT_LLM_MODEL",
            self.host(),
            limit / (1024 * 1024)
        ))
    }

    /// It lists no model that could be used.
    pub fn no_model(&self) -> ReasonerError {
        ReasonerError::Protocol(self.0.no_model())
    }
}

fn seconds(duration: Duration) -> String {
    if duration.subsec_millis() == 0 {
        format!("{} s", duration.as_secs())
    } else {
        format!("{} ms", duration.as_millis())
    }
}
