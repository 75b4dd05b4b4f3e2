//! What went wrong, as one clear line each: what and which host, and what to do.
//!
//! Servers' own words are quoted, because only they know their context size or their quota; but
//! on one line, cut, and never with the key in them, which some gateways echo.

use std::error::Error;
use std::io;

use reqwest::StatusCode;
use secrecy::ExposeSecret;
use serde_json::Value;

use super::{Site, error_message};
use crate::text::{Trouble, one_line};

const QUOTE_CHARS: usize = 300;

/// Whether a connection was refused or reset before it stood: who restarts is back in a moment.
pub fn is_turned_away(error: &reqwest::Error) -> bool {
    let kind = root(error).downcast_ref::<io::Error>().map(io::Error::kind);
    error.is_connect()
        && matches!(
            kind,
            Some(
                io::ErrorKind::ConnectionRefused
                    | io::ErrorKind::ConnectionReset
                    | io::ErrorKind::ConnectionAborted
                    | io::ErrorKind::BrokenPipe
            )
        )
}

/// The innermost reason: the outer ones only say that a request failed, with its address.
fn root<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause
}

impl Site {
    /// The connection could not be made, or broke.
    pub fn transport(&self, error: &reqwest::Error) -> Trouble {
        // Of several clocks that run, the one that strikes first gives the error its shape.
        let cause = if error.is_connect() && error.is_timeout() {
            self.no_answer()
        } else {
            self.quote(&self.root_cause(error))
        };
        if let Some((what, next)) = self.tls_trouble(&root(error).to_string()) {
            Trouble::new(format!("cannot reach {}: {what}", self.host), next)
        } else if error.is_connect() {
            let (proxy, too) = match self.proxy() {
                Some(variable) => (
                    format!(" through the proxy in {variable}"),
                    format!(", and {variable}"),
                ),
                None => <_>::default(),
            };
            let base_url = self.variables.base_url;
            Trouble::new(
                format!("cannot reach {}{proxy}: {cause}", self.host),
                format!("check that the server runs and {base_url}{too}"),
            )
        } else if error.is_builder() {
            format!("cannot ask {}: {cause}", self.host).into()
        } else {
            let what = format!("{} broke the connection: {cause}", self.host);
            Trouble::new(what, "try again")
        }
    }

    /// It answered with an error status.
    pub fn refusal(&self, status: StatusCode, body: &[u8]) -> Trouble {
        let code = status.as_u16();
        let host = &self.host;
        let (base_url, api_key) = (self.variables.base_url, self.variables.api_key());
        let said = match self.message_in(body) {
            Some(said) => format!(": {said}"),
            None => String::new(),
        };
        let (what, next) = match code {
            403 if names_a_region(&said) => (
                "does not serve your region",
                format!("set {base_url} to another server"),
            ),
            401 | 403 if self.key.is_none() => ("asks for a key", format!("set {api_key}")),
            401 | 403 => ("does not accept the key", format!("check {api_key}")),
            405 => (
                "takes no such request at this address",
                format!("check {base_url}"),
            ),
            413 => (
                "takes no request of this size",
                "forget the conversation and ask again, or see the server's log".to_owned(),
            ),
            404 => (
                "does not know the address or the model",
                format!("check {base_url} and {}", self.variables.model()),
            ),
            407 => {
                let proxy = self.proxy().unwrap_or("HTTPS_PROXY");
                return Trouble::new(
                    format!("the proxy before {host} asks for a name and a password (407){said}"),
                    format!("put them into {proxy}"),
                );
            }
            408 | 409 | 425 => (
                "cannot take the request now",
                "try again, or see the server's log".to_owned(),
            ),
            429 => ("has had enough requests", "wait, then ask again".to_owned()),
            300..=399 => return self.redirect(status, None),
            400..=499 => ("rejects the request", self.next_step(&said)),
            _ => ("failed", "try again, or see the server's log".to_owned()),
        };
        Trouble::new(format!("{host} {what} ({code}){said}"), next)
    }

    /// It sends the request elsewhere, which is not followed: the key is for this host only.
    pub fn redirect(&self, status: StatusCode, location: Option<&str>) -> Trouble {
        let code = status.as_u16();
        let (host, base_url) = (&self.host, self.variables.base_url);
        let mut to = String::new();
        if let Some(mut url) = location.and_then(|to| self.base().join(to).ok())
            && matches!(url.scheme(), "http" | "https")
        {
            // Name, password and query may be secrets; where it leads does not need them.
            let bare = url.set_username("").and_then(|()| url.set_password(None));
            url.set_query(None);
            url.set_fragment(None);
            if bare.is_ok() {
                to = format!(" to {}", self.quote(url.as_str()));
            }
        }
        Trouble::new(
            format!("{host} redirects ({code}){to}"),
            format!("set {base_url} to where it leads"),
        )
    }

    /// It answered with an error object where a reply should be.
    pub fn error_object(&self, error: &Value) -> Trouble {
        let said = error_message(error).map_or_else(
            || "an error without a message".to_owned(),
            |message| self.quote(&message),
        );
        Trouble::new(
            format!("{} failed: {said}", self.host),
            self.next_step(&said),
        )
    }

    /// It answered with something that is not `expected`.
    pub fn not_a_reply(&self, what: &str, expected: &str) -> Trouble {
        Trouble::new(
            format!("{} sent {what} instead of {expected}", self.host),
            format!("check {} (most end in /v1)", self.variables.base_url),
        )
    }

    /// It lists no model that could be used.
    pub fn no_model(&self) -> Trouble {
        Trouble::new(
            format!("{} lists no model", self.host),
            format!("set {}", self.variables.model()),
        )
    }

    /// The message in an error body: of JSON its message, of short plain text the text, of a web
    /// page nothing.
    pub fn message_in(&self, body: &[u8]) -> Option<String> {
        let text = String::from_utf8_lossy(body);
        let text = text.trim();
        let message = match serde_json::from_str::<Value>(text) {
            Ok(value) => error_message(&value)?,
            Err(_) if text.is_empty() || text.starts_with('<') => return None,
            Err(_) => text.to_owned(),
        };
        Some(self.quote(&message))
    }

    /// The variable of the proxy that this host is asked through.
    fn proxy(&self) -> Option<&'static str> {
        if self.is_this_machine() {
            return None;
        }
        let of_scheme: &[&'static str] = if self.base().scheme() == "https" {
            &["HTTPS_PROXY", "https_proxy"]
        } else {
            // CGI scripts get HTTP_PROXY from their callers, so the small one comes first.
            &["http_proxy", "HTTP_PROXY"]
        };
        of_scheme
            .iter()
            .chain(&["ALL_PROXY", "all_proxy"])
            .copied()
            .find(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
    }

    /// Foreign words, on one line and without the key.
    pub fn quote(&self, words: &str) -> String {
        let words = match &self.key {
            Some(key) if !key.expose_secret().is_empty() => {
                words.replace(key.expose_secret(), "[key]")
            }
            _ => words.to_owned(),
        };
        let line = one_line(&words, QUOTE_CHARS);
        line.trim_end_matches(['.', ';']).to_owned()
    }

    fn root_cause(&self, error: &(dyn Error + 'static)) -> String {
        let cause = root(error);
        match cause.downcast_ref::<io::Error>().map(io::Error::kind) {
            Some(io::ErrorKind::ConnectionRefused) => "connection refused".to_owned(),
            Some(
                io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::BrokenPipe,
            ) => "connection reset".to_owned(),
            Some(io::ErrorKind::TimedOut) => self.no_answer(),
            // Behind a SOCKS proxy the library tells no more than this.
            _ => match cause.to_string().as_str() {
                "SOCKS error: failed to create underlying connection" => {
                    "the proxy does not answer".to_owned()
                }
                other => other.to_owned(),
            },
        }
    }

    /// What a failure of TLS means and what to do, where the library's word for it says nothing to a
    /// person.
    fn tls_trouble(&self, cause: &str) -> Option<(&'static str, String)> {
        let base_url = self.variables.base_url;
        let meanings = [
            (
                "UnknownIssuer",
                "its certificate is signed by an authority that this machine does not know",
                "name the file of that authority's certificate in KB_AGENT_LLM_CA".to_owned(),
            ),
            (
                "CaUsedAsEndEntity",
                "its certificate is one of an authority and not of a server",
                "give the server one that the authority signed, and name the authority's in \
                 KB_AGENT_LLM_CA"
                    .to_owned(),
            ),
            (
                "InvalidContentType",
                "it does not speak TLS",
                format!("check whether {base_url} has to begin with http://"),
            ),
            (
                "NotValidForName",
                "its certificate is for another name",
                format!("set {base_url} to the name in the certificate"),
            ),
            (
                "Expired",
                "its certificate has expired",
                "have it renewed, or check this machine's clock".to_owned(),
            ),
        ];
        let found = meanings.into_iter().find(|(sign, ..)| cause.contains(sign));
        found.map(|(_, what, next)| (what, next))
    }

    fn no_answer(&self) -> String {
        format!("no answer within {} s", self.connect_timeout.as_secs_f64())
    }

    fn next_step(&self, said: &str) -> String {
        if said.to_lowercase().contains("context") {
            "give the model a larger context, or forget the conversation and ask again".to_owned()
        } else {
            format!("check {}, or see the server's log", self.variables.model())
        }
    }
}

/// Whether a refusal is about where the request comes from.
fn names_a_region(said: &str) -> bool {
    let said = said.to_lowercase();
    ["country", "region", "territory"]
        .iter()
        .any(|place| said.contains(place))
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;

    use super::super::LLM;
    use super::*;

    fn site(key: Option<&str>) -> Site {
        let key = key.map(SecretString::from);
        Site::new("http://llm.example:8080/v1", key.as_ref(), &LLM).unwrap()
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
                409,
                "llm.example:8080 cannot take the request now (409): the server's own words; try again, or see the server's log",
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
    fn trust_of_a_redirect_only_host_and_path_are_shown() {
        for (location, to) in [
            (
                "https://user:password@h.example/v1?key=s#t",
                " to https://h.example/v1",
            ),
            ("//user:password@h.example/v1", " to http://h.example/v1"),
            (
                "/else\u{202e}where",
                " to http://llm.example:8080/else%E2%80%AEwhere",
            ),
            ("mailto:user:password@h.example", ""),
            ("file:///etc/passwd", ""),
            ("http://", ""),
        ] {
            let line = site(None)
                .redirect(StatusCode::FOUND, Some(location))
                .to_string();
            let expected = format!(
                "llm.example:8080 redirects (302){to}; set KB_AGENT_LLM_BASE_URL to where it leads"
            );
            assert_eq!(line, expected, "{location}");
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
        assert!(!format!("{site:?}").contains("sk-secret"));
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
