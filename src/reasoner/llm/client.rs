//! One endpoint over HTTP: addresses, headers, the key, and the limits of patience.
//!
//! Redirects are not followed, because the evidence in a request belongs to the host that the
//! user named. Loopback hosts are asked directly: a proxy could not reach them.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url, redirect};
use secrecy::ExposeSecret;
use serde_json::Value;

use crate::agent::ports::{CallOrigin, ReasonerError};
use crate::text::one_line;

use super::EndpointSettings;
use super::failure::Site;
use super::stream::{ChatReply, collect_bytes, guarded_body};
use super::wire::{ChatRequest, Message, StreamOptions, first_model};

const RUN: &str = "X-KB-Agent-Run";
const NODE: &str = "X-KB-Agent-Node";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Shorter than the five seconds after which common servers close an idle connection, so that no
/// question is ever sent into a closing one.
const IDLE_CONNECTION: Duration = Duration::from_secs(3);
/// As much of an error page as is worth reading.
const ERROR_BYTES: usize = 64 * 1024;

/// A chat endpoint.
pub struct Endpoint {
    http: Client,
    chat: Url,
    models: Url,
    bearer: Option<HeaderValue>,
    timeout: Duration,
    site: Site,
}

impl Endpoint {
    /// Checks the settings; sends nothing.
    pub fn new(settings: &EndpointSettings) -> Result<Self, ReasonerError> {
        let base = parse_base(&settings.base_url)?;
        let key = settings
            .api_key
            .as_ref()
            .map(|key| key.expose_secret().trim().to_owned())
            .filter(|key| !key.is_empty());
        let bearer = key.as_deref().map(bearer).transpose()?;
        // Only the first caller of the process installs it; that another was first is no error.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder()
            .user_agent(concat!("kb-agent/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(IDLE_CONNECTION);
        if is_loopback(&base) {
            builder = builder.no_proxy();
        }
        let http = builder.build().map_err(|error| {
            ReasonerError::Internal(format!("cannot prepare HTTP: {}", error.without_url()))
        })?;
        Ok(Self {
            http,
            chat: below(&base, &["chat", "completions"]),
            models: below(&base, &["models"]),
            bearer,
            timeout: settings.timeout,
            site: Site {
                host: host(&base),
                key: key.map(Into::into),
            },
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
            .post(self.chat.clone())
            .header(RUN, &origin.run.0)
            .header(NODE, origin.node.as_str())
            .json(&body);
        let response = self.send(request).await?;
        ChatReply::open(response, self.site.clone(), self.timeout).await
    }

    /// The name of the first model that the endpoint lists; `None` where there is no listing,
    /// which is what servers of a single model do.
    pub async fn first_model(&self) -> Result<Option<String>, ReasonerError> {
        let response = self.reach(self.http.get(self.models.clone())).await?;
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

    async fn reach(&self, mut request: RequestBuilder) -> Result<Response, ReasonerError> {
        if let Some(bearer) = &self.bearer {
            request = request.header(AUTHORIZATION, bearer.clone());
        }
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
            .field("host", &self.site.host)
            .field("key", &self.bearer.as_ref().map(|_| "[redacted]"))
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// Broken before any answer, though the connection had been there.
fn is_stale(error: &reqwest::Error) -> bool {
    error.is_request() && !error.is_connect() && !error.is_timeout()
}

fn parse_base(text: &str) -> Result<Url, ReasonerError> {
    let refuse = |what: String| {
        ReasonerError::Refused(format!(
            "KB_AGENT_LLM_BASE_URL {what}; it should look like http://127.0.0.1:8080/v1"
        ))
    };
    // Before anything is quoted: an address with a password in it is never shown.
    if text.contains('@') {
        return Err(refuse(
            "holds a user name or password; the key belongs in KB_AGENT_LLM_API_KEY".to_owned(),
        ));
    }
    let shown = one_line(text, 120);
    let url = Url::parse(text.trim())
        .map_err(|error| refuse(format!("'{shown}' is not an address ({error})")))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(refuse(format!("'{shown}' is neither http:// nor https://")));
    }
    Ok(url)
}

fn bearer(key: &str) -> Result<HeaderValue, ReasonerError> {
    let mut value = HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| {
        ReasonerError::Refused(
            "KB_AGENT_LLM_API_KEY holds a character that no header can carry".to_owned(),
        )
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// The address below the base; a query string of the base stays, as some gateways need one.
fn below(base: &Url, path: &[&str]) -> Url {
    let mut url = base.clone();
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(path);
    }
    url
}

fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    host == "localhost"
        || host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_built_below_the_base() {
        for (base, chat) in [
            ("http://h/v1", "http://h/v1/chat/completions"),
            ("http://h:8080/v1/", "http://h:8080/v1/chat/completions"),
            (" https://h ", "https://h/chat/completions"),
            (
                "https://h/v1?api-version=2",
                "https://h/v1/chat/completions?api-version=2",
            ),
        ] {
            let base = parse_base(base).unwrap();
            assert_eq!(below(&base, &["chat", "completions"]).as_str(), chat);
        }
    }

    #[test]
    fn a_bad_address_is_one_clear_line() {
        for (base, line) in [
            (
                "localhost:8080/v1",
                "KB_AGENT_LLM_BASE_URL 'localhost:8080/v1' is neither http:// nor https://; it should look like http://127.0.0.1:8080/v1",
            ),
            (
                "nonsense",
                "KB_AGENT_LLM_BASE_URL 'nonsense' is not an address (relative URL without a base); it should look like http://127.0.0.1:8080/v1",
            ),
            (
                "http://u:pw@h/v1",
                "KB_AGENT_LLM_BASE_URL holds a user name or password; the key belongs in KB_AGENT_LLM_API_KEY; it should look like http://127.0.0.1:8080/v1",
            ),
        ] {
            assert_eq!(parse_base(base).unwrap_err().to_string(), line);
        }
    }

    #[test]
    fn loopback_is_known_by_name_and_number() {
        for (base, loopback) in [
            ("http://localhost:1/v1", true),
            ("http://127.0.0.2/v1", true),
            ("http://[::1]:1/v1", true),
            ("http://10.0.0.1/v1", false),
            ("https://api.example/v1", false),
        ] {
            assert_eq!(is_loopback(&Url::parse(base).unwrap()), loopback, "{base}");
        }
    }
}
