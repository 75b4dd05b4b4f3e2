//! What went wrong, as one clear line each: what, which host, what to do.
//!
//! Servers' own words are quoted, because only they know their context size or their quota; but
//! on one line, cut, and never with the key in them, which some gateways echo.

use std::error::Error;
use std::io;
use std::time::Duration;

use reqwest::StatusCode;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use crate::agent::ports::ReasonerError;
use crate::text::one_line;

use super::wire::error_message;

const QUOTE_CHARS: usize = 300;

/// Who is complained about.
#[derive(Debug, Clone)]
pub struct Site {
    /// Host and port, as the user wrote them.
    pub host: String,
    /// Kept only to be removed from what is quoted.
    pub key: Option<SecretString>,
}

impl Site {
    /// Nothing arrived for as long as we were willing to wait.
    pub fn silent(&self, waited: Duration) -> ReasonerError {
        ReasonerError::Unreachable(format!(
            "{} sent nothing for {}; try again, or raise KB_AGENT_LLM_TIMEOUT_SECS",
            self.host,
            seconds(waited)
        ))
    }

    /// The connection could not be made, or broke.
    pub fn transport(&self, error: &reqwest::Error) -> ReasonerError {
        let cause = self.quote(&root_cause(error));
        ReasonerError::Unreachable(if error.is_connect() {
            format!(
                "cannot reach {}: {cause}; check that the server runs and KB_AGENT_LLM_BASE_URL",
                self.host
            )
        } else if error.is_builder() {
            format!("cannot ask {}: {cause}", self.host)
        } else {
            format!("{} broke the connection: {cause}; try again", self.host)
        })
    }

    /// It answered with an error status.
    pub fn refusal(&self, status: StatusCode, body: &[u8]) -> ReasonerError {
        let code = status.as_u16();
        let host = &self.host;
        let said = match self.said(body) {
            Some(said) => format!(": {said}"),
            None => String::new(),
        };
        ReasonerError::Refused(match code {
            401 | 403 if self.key.is_none() => {
                format!("{host} asks for a key ({code}){said}; set KB_AGENT_LLM_API_KEY")
            }
            401 | 403 => {
                format!("{host} does not accept the key ({code}){said}; check KB_AGENT_LLM_API_KEY")
            }
            404 => format!(
                "{host} does not know the address or the model (404){said}; \
                 check KB_AGENT_LLM_BASE_URL and KB_AGENT_LLM_MODEL"
            ),
            429 => format!("{host} has had enough requests (429){said}; wait, then ask again"),
            300..=399 => {
                format!("{host} redirects ({code}); set KB_AGENT_LLM_BASE_URL to where it leads")
            }
            400..=499 => format!(
                "{host} rejects the request ({code}){said}; {}",
                way_out(&said)
            ),
            _ => format!("{host} failed ({code}){said}; try again, or see the server's log"),
        })
    }

    /// It answered with an error object where a reply should be.
    pub fn error_object(&self, error: &Value) -> ReasonerError {
        let said = error_message(error).map_or_else(
            || "an error without a message".to_owned(),
            |message| self.quote(&message),
        );
        let way_out = way_out(&said);
        ReasonerError::Refused(format!("{} failed: {said}; {way_out}", self.host))
    }

    /// It answered with something that is not the protocol.
    pub fn not_a_reply(&self, what: &str) -> ReasonerError {
        ReasonerError::Protocol(format!(
            "{} sent {what} instead of a chat reply; \
             check KB_AGENT_LLM_BASE_URL (most end in /v1)",
            self.host
        ))
    }

    /// It answered, and said nothing.
    pub fn empty(&self) -> ReasonerError {
        ReasonerError::Protocol(format!(
            "{} sent an empty answer; ask again, or choose another KB_AGENT_LLM_MODEL",
            self.host
        ))
    }

    /// It would not stop.
    pub fn too_long(&self, limit: usize) -> ReasonerError {
        ReasonerError::Protocol(format!(
            "{} sent more than {} MB; choose another KB_AGENT_LLM_MODEL",
            self.host,
            limit / (1024 * 1024)
        ))
    }

    /// It lists no model that could be used.
    pub fn no_model(&self) -> ReasonerError {
        ReasonerError::Protocol(format!(
            "{} lists no model; set KB_AGENT_LLM_MODEL",
            self.host
        ))
    }

    /// The message in an error body: of JSON its message, of short plain text the text, of a web
    /// page nothing.
    fn said(&self, body: &[u8]) -> Option<String> {
        let text = String::from_utf8_lossy(body);
        let text = text.trim();
        let message = match serde_json::from_str::<Value>(text) {
            Ok(value) => error_message(&value)?,
            Err(_) if text.is_empty() || text.starts_with('<') => return None,
            Err(_) => text.to_owned(),
        };
        Some(self.quote(&message))
    }

    fn quote(&self, words: &str) -> String {
        let words = match &self.key {
            Some(key) if !key.expose_secret().is_empty() => {
                words.replace(key.expose_secret(), "[key]")
            }
            _ => words.to_owned(),
        };
        let line = one_line(&words, QUOTE_CHARS);
        line.trim_end_matches(['.', ';']).to_owned()
    }
}

fn way_out(said: &str) -> &'static str {
    if said.to_lowercase().contains("context") {
        "give the model a larger context, or forget the conversation and ask again"
    } else {
        "check KB_AGENT_LLM_MODEL, or see the server's log"
    }
}

/// The innermost reason: the outer ones only say that a request failed, with its address.
fn root_cause(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    match cause.downcast_ref::<io::Error>().map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionRefused) => "connection refused".to_owned(),
        Some(io::ErrorKind::ConnectionReset) => "connection reset".to_owned(),
        Some(io::ErrorKind::TimedOut) => "no answer within 10 s".to_owned(),
        _ => cause.to_string(),
    }
}

fn seconds(duration: Duration) -> String {
    if duration.subsec_millis() == 0 {
        format!("{} s", duration.as_secs())
    } else {
        format!("{} ms", duration.as_millis())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(key: Option<&str>) -> Site {
        Site {
            host: "llm.example:8080".to_owned(),
            key: key.map(SecretString::from),
        }
    }

    #[test]
    fn every_status_is_one_clear_line() {
        let body = br#"{"error":{"message":"the server's\nown words.","code":1}}"#;
        for (status, line) in [
            (
                401,
                "llm.example:8080 asks for a key (401): the server's own words; set KB_AGENT_LLM_API_KEY",
            ),
            (
                404,
                "llm.example:8080 does not know the address or the model (404): the server's own words; check KB_AGENT_LLM_BASE_URL and KB_AGENT_LLM_MODEL",
            ),
            (
                422,
                "llm.example:8080 rejects the request (422): the server's own words; check KB_AGENT_LLM_MODEL, or see the server's log",
            ),
            (
                429,
                "llm.example:8080 has had enough requests (429): the server's own words; wait, then ask again",
            ),
            (
                308,
                "llm.example:8080 redirects (308); set KB_AGENT_LLM_BASE_URL to where it leads",
            ),
            (
                503,
                "llm.example:8080 failed (503): the server's own words; try again, or see the server's log",
            ),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(site(None).refusal(status, body).to_string(), line);
        }
    }

    #[test]
    fn web_pages_are_not_quoted_and_plain_words_are() {
        for (body, line) in [
            (
                "<html><h1>Bad Gateway</h1></html>",
                "llm.example:8080 failed (502); try again, or see the server's log",
            ),
            (
                "",
                "llm.example:8080 failed (502); try again, or see the server's log",
            ),
            (
                "upstream is down",
                "llm.example:8080 failed (502): upstream is down; try again, or see the server's log",
            ),
        ] {
            let failure = site(None).refusal(StatusCode::BAD_GATEWAY, body.as_bytes());
            assert_eq!(failure.to_string(), line);
        }
    }

    #[test]
    fn the_key_is_removed_from_what_is_quoted() {
        let body = br#"{"error":{"message":"Incorrect API key provided: sk-secret-1"}}"#;
        let site = site(Some("sk-secret-1"));
        let failure = site.refusal(StatusCode::UNAUTHORIZED, body);
        assert_eq!(
            failure.to_string(),
            "llm.example:8080 does not accept the key (401): Incorrect API key provided: [key]; \
             check KB_AGENT_LLM_API_KEY"
        );
        assert!(!format!("{site:?} {failure:?}").contains("sk-secret"));
    }

    #[test]
    fn an_overflowing_context_is_named_with_its_sizes() {
        let body = br#"{"error":{"code":400,"message":"request (9015 tokens) exceeds the available context size (4096 tokens), try increasing it"}}"#;
        assert_eq!(
            site(None)
                .refusal(StatusCode::BAD_REQUEST, body)
                .to_string(),
            "llm.example:8080 rejects the request (400): request (9015 tokens) exceeds the \
             available context size (4096 tokens), try increasing it; give the model a larger \
             context, or forget the conversation and ask again"
        );
    }
}
