//! What went wrong, as one clear line each: what and which host, and what to do; and what may help.
//!
//! Servers' own words are quoted, because only they know their context size or their quota; but
//! on one line, cut, and never with the key in them, which some gateways echo.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::{HeaderMap, LOCATION};
use secrecy::ExposeSecret;
use serde_json::Value;

use super::address::Address;
use super::models::error_message;
use super::retry_after::retry_after;
use super::wordings::{ErrorKind, Sizes, Wordings};
use crate::text::{Trouble, one_line};

const QUOTE_CHARS: usize = 300;
const SOCKS_FAILED: &str = "SOCKS error: failed to create underlying connection";
/// A server's `Retry-After` is heeded up to this.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// What may help.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    /// Nothing.
    Fatal,
    /// The same again, after so long if the server said so.
    Retry(Option<Duration>),
    /// The same again, soon: the connection was not accepted, so it cannot overload the server.
    Reconnect,
    /// Less of it, by the sizes that the server named.
    Shrink(Sizes),
    /// Fewer texts at a time: so many, or 0 where that is unknown.
    Split(u32),
    /// The same in other words of the protocol: [`Failure::words`] say what is not taken.
    Unsupported,
}

/// Who is to blame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The endpoint could not be reached or went silent.
    Unreachable,
    /// The endpoint answered with an error.
    Refused,
    /// What it sent is not what it should be.
    Protocol,
}

/// What went wrong with a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// Who is to blame.
    pub kind: FailureKind,
    /// What may help.
    pub fault: Fault,
    /// The status of the server's answer, where there was one.
    pub status: Option<u16>,
    /// The line to report.
    pub trouble: Trouble,
    /// The server's own words, without what it was sent.
    pub words: Box<str>,
}

impl Failure {
    /// A failure of which the server said nothing that could be read.
    pub fn new(
        kind: FailureKind,
        fault: Fault,
        status: Option<u16>,
        trouble: impl Into<Trouble>,
    ) -> Self {
        Self {
            kind,
            fault,
            status,
            trouble: trouble.into(),
            words: Box::default(),
        }
    }

    /// The same once nothing is left to try, after that many requests.
    #[must_use]
    pub fn told_after(mut self, asked: u32) -> Self {
        // Where no connection was made, nothing was asked.
        if asked > 1 && self.fault != Fault::Reconnect {
            let asked_often = |what: &str| format!("{what} (asked {asked} times)");
            self.trouble = self.trouble.what(asked_often);
        }
        self
    }
}

/// What an endpoint is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Chat replies.
    Chat,
    /// Vectors.
    Embedding,
}

/// Who is asked, and who is complained about.
#[derive(Debug, Clone)]
pub struct Site {
    /// Where it is.
    pub address: Address,
    /// What it is asked for.
    pub purpose: Purpose,
    /// The table by which its errors are understood.
    pub wordings: Arc<Wordings>,
}

impl Site {
    /// The failure of which this is said, with what to do.
    pub fn failure(
        &self,
        kind: FailureKind,
        fault: Fault,
        what: &str,
        next: impl Into<String>,
    ) -> Failure {
        let what = format!("{} {what}", self.address.host);
        Failure::new(kind, fault, None, Trouble::new(what, next))
    }

    /// It took longer than that, in this way; `{}` stands for the time.
    pub fn late(&self, how: &str, waited: Duration) -> Failure {
        let waited = match waited.subsec_millis() {
            0 => format!("{} s", waited.as_secs()),
            _ => format!("{} ms", waited.as_millis()),
        };
        let (fault, next) = match self.purpose {
            Purpose::Chat => (
                Fault::Fatal,
                "try again, or raise KB_AGENT_LLM_TIMEOUT_SECS",
            ),
            Purpose::Embedding => (Fault::Retry(None), "try again"),
        };
        let how = how.replace("{}", &waited);
        self.failure(FailureKind::Unreachable, fault, &how, next)
    }

    /// The whole of an exchange took longer than that, whether or not anything came.
    pub fn unanswered(&self, waited: Duration) -> Failure {
        self.late("did not answer within {}", waited)
    }

    /// The reply ended before it was complete.
    pub fn cut_off(&self) -> Failure {
        let what = "ended a reply in the middle";
        let next = "try again, or see the server's log";
        self.failure(FailureKind::Unreachable, Fault::Retry(None), what, next)
    }

    /// It answered with something that is not the protocol.
    pub fn not_a_reply(&self, what: &str) -> Failure {
        let expected = match self.purpose {
            Purpose::Chat => "a chat reply",
            Purpose::Embedding => "vectors",
        };
        let what = format!("sent {what} instead of {expected}");
        let base_url = self.address.variables.base_url;
        self.unusable(&what, format!("check {base_url} (most end in /v1)"))
    }

    /// What it answered cannot be used.
    pub fn unusable(&self, what: &str, next: impl Into<String>) -> Failure {
        self.failure(FailureKind::Protocol, Fault::Fatal, what, next)
    }

    /// It sent more than any reply is, before one could be read.
    pub fn too_much(&self) -> Failure {
        let model = self.address.variables.model();
        self.unusable("did not stop sending", format!("choose another {model}"))
    }

    /// It answered that it will not answer.
    pub fn withheld(&self, said: Option<&str>) -> Failure {
        let said = said.map(|said| format!(": {said}")).unwrap_or_default();
        let what = format!("withheld the answer (content filter){said}");
        let next = "put the question in other words";
        self.failure(FailureKind::Refused, Fault::Fatal, &what, next)
    }

    /// The connection could not be made, or broke.
    pub fn transport(&self, error: &reqwest::Error) -> Failure {
        let address = &self.address;
        let (host, base_url) = (&address.host, address.variables.base_url);
        let mut root: &(dyn Error + 'static) = error;
        while let Some(inner) = root.source() {
            root = inner;
        }
        let timeout = address.connect_timeout.as_secs_f64();
        let kind = root.downcast_ref::<io::Error>().map(io::Error::kind);
        let (is_turned_away, cause) = match kind {
            // Of several clocks that run, the one that strikes first gives the error its shape.
            _ if error.is_connect() && error.is_timeout()
                || kind == Some(io::ErrorKind::TimedOut) =>
            {
                (false, format!("no answer within {timeout} s"))
            }
            Some(io::ErrorKind::ConnectionRefused) => (true, "connection refused".to_owned()),
            Some(
                io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::BrokenPipe,
            ) => (true, "connection reset".to_owned()),
            // Behind a SOCKS proxy the library tells no more than this.
            _ if root.to_string() == SOCKS_FAILED => {
                (false, "the proxy does not answer".to_owned())
            }
            _ => (false, address.quote(&root.to_string())),
        };
        let fault = match self.purpose {
            // Who asks for a vector rather goes without than waits; who restarts is back in a moment.
            Purpose::Chat if error.is_connect() && is_turned_away => Fault::Reconnect,
            _ if error.is_connect() || error.is_builder() => Fault::Fatal,
            _ => Fault::Retry(None),
        };
        let line = if let Some(meaning) = self.wordings.tls_meaning(&root.to_string()) {
            let next = meaning.next.replace("{address}", base_url);
            Trouble::new(format!("cannot reach {host}: {}", meaning.what), next)
        } else if error.is_connect() {
            let (proxy, too) = match address.proxy() {
                Some(variable) => (
                    format!(" through the proxy in {variable}"),
                    format!(", and {variable}"),
                ),
                None => <_>::default(),
            };
            Trouble::new(
                format!("cannot reach {host}{proxy}: {cause}"),
                format!("check that the server runs and {base_url}{too}"),
            )
        } else if error.is_builder() {
            format!("cannot ask {host}: {cause}").into()
        } else {
            Trouble::new(format!("{host} broke the connection: {cause}"), "try again")
        };
        Failure::new(FailureKind::Unreachable, fault, None, line)
    }

    /// It answered with an error status.
    pub fn refusal(&self, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Failure {
        let code = status.as_u16();
        if status.is_redirection() {
            let location = headers.get(LOCATION).and_then(|to| to.to_str().ok());
            let line = self.address.redirect(code, location);
            return Failure::new(FailureKind::Refused, Fault::Fatal, Some(code), line);
        }
        let text = String::from_utf8_lossy(body);
        let text = text.trim();
        let (words, said) = match serde_json::from_str(text) {
            Ok(error) => {
                let said = error_message(&error);
                (self.wordings.without_echo(error).to_string(), said)
            }
            // A web page says nothing.
            Err(_) if text.is_empty() || text.starts_with('<') => (text.to_owned(), None),
            Err(_) => (text.to_owned(), Some(text.to_owned())),
        };
        let said = said.map(|said| self.address.quote(&said));
        let line = self.refused(code, said.as_deref());
        self.classify(Some(code), words, said.as_deref(), line, Some(headers))
    }

    /// The line for an error status.
    fn refused(&self, code: u16, said: Option<&str>) -> Trouble {
        let address = &self.address;
        let said = said.map(|said| format!(": {said}")).unwrap_or_default();
        let row = self.wordings.status(code, address.key.is_none(), &said);
        let Some(row) = row else {
            return format!("{} failed ({code}){said}", address.host).into();
        };
        let next = row.next.replace("{address}", address.variables.base_url);
        let next = next.replace("{key}", address.variables.api_key());
        let next = next.replace("{model}", address.variables.model());
        let next = next.replace("{proxy}", address.proxy().unwrap_or("HTTPS_PROXY"));
        let what = row.what.replace("{host}", &address.host);
        Trouble::new(format!("{what} ({code}){said}"), next)
    }

    /// It answered with an error object where a reply should be.
    pub fn error_object(&self, error: &Value) -> Failure {
        let words = self.wordings.without_echo(error.clone()).to_string();
        let said = error_message(error).map(|said| self.address.quote(&said));
        let inner = error.get("error").unwrap_or(error);
        let mut codes = ["code", "status", "status_code"].into_iter();
        let code = codes.find_map(|key| {
            let code = inner.get(key)?;
            let code = code.as_u64().or_else(|| code.as_str()?.parse().ok())?;
            u16::try_from(code).ok().filter(|code| *code < 1_000)
        });
        let quoted = said.as_deref().unwrap_or("an error without a message");
        let what = format!("{} failed: {quoted}", self.address.host);
        // As for a status that rejects the request.
        let next = self.refused(400, Some(quoted)).next;
        let line = Trouble {
            next,
            ..what.into()
        };
        self.classify(code, words, said.as_deref(), line, None)
    }

    /// What the server's words tell; where they tell nothing of a kind, it is `line`. An error without
    /// headers came in place of a reply.
    fn classify(
        &self,
        code: Option<u16>,
        words: String,
        said: Option<&str>,
        mut line: Trouble,
        headers: Option<&HeaderMap>,
    ) -> Failure {
        let tells = |kind| self.wordings.tell(kind, &words);
        let refused = |what: &str, next: &str| {
            let status_note = code.map(|code| format!(" ({code})")).unwrap_or_default();
            let quoted = said.map(|said| format!(": {said}")).unwrap_or_default();
            let what = format!("{what}{status_note}{quoted}");
            let failure = self.failure(FailureKind::Refused, Fault::Fatal, &what, next);
            Failure {
                status: code,
                ..failure
            }
        };
        let chats = self.purpose == Purpose::Chat;
        let may_be_sent_otherwise =
            code.is_none_or(|code| matches!(code, 400 | 403 | 404 | 413 | 415 | 422 | 500));
        let rejected = chats && may_be_sent_otherwise && !matches!(code, Some(403 | 415));
        let sizes = self.wordings.sizes(&words);
        let fault = match (code, headers.and_then(retry_after)) {
            _ if !chats
                && may_be_sent_otherwise
                && let Some(kind) = self.wordings.embedding_kind(&words) =>
            {
                match kind {
                    ErrorKind::TooLarge => Fault::Shrink(sizes),
                    ErrorKind::TooMany => Fault::Split(0),
                    _ => Fault::Unsupported,
                }
            }
            _ if rejected && tells(ErrorKind::NoSystem) => Fault::Unsupported,
            _ if rejected && tells(ErrorKind::Overflow) || code == Some(413) => {
                Fault::Shrink(sizes)
            }
            // What is larger than the limit of a minute is too large after a minute, too.
            (Some(429), _) if sizes.is_exceeded() => {
                let next =
                    "ask a shorter question, forget the conversation, or raise your limit there";
                line = line.next(next);
                Fault::Shrink(sizes)
            }
            _ if tells(ErrorKind::NoCredit) || code == Some(402) => {
                let what = "says that there is nothing left to spend";
                return refused(what, "see your account there");
            }
            _ if rejected && tells(ErrorKind::Filtered) => return self.withheld(said),
            _ if rejected && tells(ErrorKind::NoModel) => {
                let next = format!("check {}", self.address.variables.model());
                return refused("does not know the model", &next);
            }
            (Some(429), Some(after)) if after > LONGEST_PAUSE => {
                let seconds = after.as_secs_f64().ceil() as u64;
                let next = format!("ask again in {seconds} s");
                return refused("has had enough requests", &next);
            }
            (Some(404 | 500), _) if chats && tells(ErrorKind::Form) => Fault::Unsupported,
            // What is not implemented is not there after a pause either.
            (Some(400 | 415 | 422 | 501 | 505), _) => Fault::Unsupported,
            (Some(408 | 409 | 425 | 429 | 500..=599), after) => {
                Fault::Retry(after.filter(|after| *after <= LONGEST_PAUSE))
            }
            _ if headers.is_none() && tells(ErrorKind::Passing) => Fault::Retry(None),
            _ => Fault::Fatal,
        };
        Failure {
            words: words.into(),
            ..Failure::new(FailureKind::Refused, fault, code, line)
        }
    }
}

impl Address {
    /// The line where it sends the request elsewhere, which is not followed: the key is for this host only.
    fn redirect(&self, code: u16, location: Option<&str>) -> Trouble {
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
        let names = of_scheme.iter().chain(&["ALL_PROXY", "all_proxy"]);
        let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        names.copied().find(is_set)
    }

    /// Foreign words, on one line and without the key.
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

#[cfg(test)]
mod tests {
    use super::super::LLM;
    use super::*;

    fn site(key: Option<&str>) -> Site {
        let key = key.map(Into::into);
        let address = Address::new("http://llm.example:8080/v1", key.as_ref(), &LLM);
        Site {
            address: address.unwrap(),
            purpose: Purpose::Chat,
            wordings: Wordings::with_user_rows(None).unwrap().into(),
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
            let failure = site(None).refusal(status, &HeaderMap::new(), body);
            assert_eq!(failure.trouble.to_string(), line);
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
            let line = site(None).address.redirect(302, Some(location)).to_string();
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
            let none = HeaderMap::new();
            let failure = site(None).refusal(StatusCode::BAD_GATEWAY, &none, body.as_bytes());
            assert_eq!(failure.trouble.to_string(), line);
        }
    }

    #[test]
    fn the_key_is_removed_from_what_is_quoted() {
        let body = br#"{"error":{"message":"Incorrect API key provided: sk-secret-1"}}"#;
        let site = site(Some("sk-secret-1"));
        let failure = site.refusal(StatusCode::UNAUTHORIZED, &HeaderMap::new(), body);
        assert_eq!(
            failure.trouble.to_string(),
            "llm.example:8080 does not accept the key (401): Incorrect API key provided: [key]; \
             check KB_AGENT_LLM_API_KEY"
        );
        assert!(!format!("{site:?}").contains("sk-secret"));
    }

    #[test]
    fn what_may_help_is_read_from_status_and_words() {
        let exceeds = "request (9015 tokens) exceeds the available context size (4096 tokens)";
        let a_minute = "Rate limit reached on tokens per min (TPM): Limit 30000, Used 28000, \
                        Requested 9000. Please try again in 14s";
        let larger = "Request too large on tokens per min (TPM): Limit 30000, Requested 42000";
        let sizes = |context, sent| {
            Fault::Shrink(Sizes {
                context: Some(context),
                sent: Some(sent),
                ..Sizes::default()
            })
        };
        for (status, said, fault) in [
            (400, exceeds, sizes(4_096, 9_015)),
            (429, a_minute, Fault::Retry(None)),
            (429, larger, sizes(30_000, 42_000)),
            (413, "no", Fault::Shrink(Sizes::default())),
            (400, "no", Fault::Unsupported),
            (401, "no", Fault::Fatal),
            (503, "no", Fault::Retry(None)),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            let failure = site(None).refusal(status, &HeaderMap::new(), said.as_bytes());
            assert_eq!(failure.fault, fault, "{said}");
        }
    }
}
