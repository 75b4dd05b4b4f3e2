//! What went wrong with the chat endpoint: one clear line, and what could be done about it.
//!
//! [`crate::http`] knows the lines that hold for every endpoint; here are those about chatting, and
//! what servers' own words tell apart. Servers have no common codes for an overflowing context or
//! an unknown model, so their words are what there is to go by; a sign that is missing here costs
//! a second attempt or a clearer line, and nothing else. Every line says what to do.

mod wordings;

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderMap, LOCATION};
use reqwest::{Client, RequestBuilder, StatusCode, Url};
use serde_json::Value;

use super::EndpointSettings;
use crate::agent::ports::ReasonerError;
use crate::http::{self, Variables, backoff, reconnecting, retry_after};
use crate::text::Trouble;
pub use wordings::{ErrorKind, Wordings};
use wordings::{names_a_missing_model, words_of};

const SETTINGS: Variables = Variables {
    base_url: "KB_AGENT_LLM_BASE_URL",
    api_key: "KB_AGENT_LLM_API_KEY",
    model: "KB_AGENT_LLM_MODEL",
};
/// What to do about silence.
const MORE_TIME: &str = "try again, or raise KB_AGENT_LLM_TIMEOUT_SECS";
/// Longer than a person waits before a screen.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// What went wrong, and whether another request may go better.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// One line.
    pub error: ReasonerError,
    /// What to do about it.
    pub cure: Cure,
    /// What the server answered, where another request may go better.
    pub status: Option<u16>,
}

/// What may help.
#[derive(Debug, Clone, PartialEq)]
pub enum Cure {
    /// Nothing that is in our hands.
    None,
    /// The same again, after so long if the server said so.
    Again(Option<Duration>),
    /// The same again, soon: the connection was not accepted, so it cannot overload the server.
    Reconnect,
    /// Less of it; what the server said, in lower case.
    Shorter(String),
    /// The same without a system message.
    WithoutSystem,
    /// The same in other words of the protocol; what the server said, in lower case.
    Otherwise(String),
}

impl Cure {
    /// How long to wait before the same is asked again, `retried` times so far counting this one;
    /// `None` where that helps nothing.
    pub fn pause(&self, retried: u32) -> Option<Duration> {
        match self {
            Self::Again(asked_for) => Some(asked_for.unwrap_or_else(|| backoff(retried))),
            Self::Reconnect => Some(reconnecting(retried)),
            Self::None | Self::Shorter(_) | Self::WithoutSystem | Self::Otherwise(_) => None,
        }
    }
}

impl Failure {
    fn lasting(error: ReasonerError) -> Self {
        Self {
            error,
            cure: Cure::None,
            status: None,
        }
    }

    /// The same after tokens have been shown: nothing is asked again, and what came is kept.
    pub fn within_an_answer(self) -> ReasonerError {
        let next = "what came is kept, ask again for the whole answer";
        self.error.map(|trouble| Trouble::new(trouble.what, next))
    }

    /// The same after `asked` requests.
    pub fn after(self, asked: u32) -> ReasonerError {
        // Where no connection was made, nothing was asked.
        if asked < 2 || self.cure == Cure::Reconnect {
            return self.error;
        }
        self.error
            .map(|trouble| trouble.what(|what| format!("{what} (asked {asked} times)")))
    }
}

/// The chat endpoint's host, as who is asked and who is complained about.
#[derive(Debug, Clone)]
pub struct ChatSite {
    site: http::Site,
    wordings: Arc<Wordings>,
}

impl ChatSite {
    /// Checks address and key; sends nothing. Connecting must be given up before the wait for a
    /// first byte is, or it is unknown which of the two it was.
    pub fn new(settings: &EndpointSettings, wordings: Wordings) -> Result<Self, ReasonerError> {
        let site = http::Site::new(&settings.base_url, settings.api_key.as_ref(), &SETTINGS)
            .map_err(ReasonerError::Refused)?;
        Ok(Self {
            site: site
                .connecting_within(settings.timeout / 2)
                .trusting(&settings.authorities),
            wordings: Arc::new(wordings),
        })
    }

    /// By which words its errors are understood.
    pub fn wordings(&self) -> &Wordings {
        &self.wordings
    }

    /// The key goes bare into this header.
    pub fn with_key_in(self, header: reqwest::header::HeaderName) -> Result<Self, ReasonerError> {
        let site = self.site.with_key_in(header);
        Ok(Self {
            site: site.map_err(ReasonerError::Refused)?,
            wordings: self.wordings,
        })
    }

    /// Host and port.
    pub fn host(&self) -> &str {
        self.site.host()
    }

    /// The root, for telling servers apart.
    pub fn base(&self) -> &Url {
        self.site.base()
    }

    /// A client for it.
    pub fn client(&self) -> Result<Client, ReasonerError> {
        self.site
            .client()
            .map_err(|trouble| ReasonerError::Internal(trouble.to_string()))
    }

    /// The address below its root.
    pub fn url(&self, path: &[&str]) -> Url {
        self.site.url(path)
    }

    /// The request with the key.
    pub fn authorized(&self, request: RequestBuilder) -> RequestBuilder {
        self.site.authorized(request)
    }

    /// Nothing arrived for as long as we were willing to wait.
    pub fn silent(&self, waited: Duration, begun: bool) -> Failure {
        let how = if begun {
            "stopped in the middle of a reply and "
        } else {
            ""
        };
        Failure::lasting(ReasonerError::Unreachable(Trouble::new(
            format!("{} {how}sent nothing for {}", self.host(), seconds(waited)),
            MORE_TIME,
        )))
    }

    /// It says that it is alive, and nothing else.
    pub fn stalled(&self, waited: Duration) -> Failure {
        let (host, waited) = (self.host(), seconds(waited));
        Failure::lasting(ReasonerError::Unreachable(Trouble::new(
            format!("{host} kept the connection alive for {waited} without a word"),
            MORE_TIME,
        )))
    }

    /// It sends a byte now and then, and comes to no end.
    pub fn unfinished(&self, waited: Duration) -> Failure {
        let (host, waited) = (self.host(), seconds(waited));
        Failure::lasting(ReasonerError::Unreachable(Trouble::new(
            format!("{host} was still sending one reply after {waited}"),
            MORE_TIME,
        )))
    }

    /// The connection could not be made, or broke.
    pub fn transport(&self, error: &reqwest::Error) -> Failure {
        let cure = if http::is_turned_away(error) {
            Cure::Reconnect
        } else if error.is_connect() || error.is_builder() {
            Cure::None
        } else {
            Cure::Again(None)
        };
        Failure {
            error: ReasonerError::Unreachable(self.site.transport(error)),
            cure,
            status: None,
        }
    }

    /// The reply ended before it was complete.
    pub fn cut_off(&self) -> Failure {
        Failure {
            error: ReasonerError::Unreachable(Trouble::new(
                format!("{} ended a reply in the middle", self.host()),
                "try again, or see the server's log",
            )),
            cure: Cure::Again(None),
            status: None,
        }
    }

    /// It answered with an error status.
    pub fn refusal(&self, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Failure {
        if status.is_redirection() {
            let location = headers.get(LOCATION).and_then(|to| to.to_str().ok());
            let line = self.site.redirect(status, location);
            return Failure::lasting(ReasonerError::Refused(line));
        }
        let error = serde_json::from_slice(body).unwrap_or(Value::Null);
        let words = words_of(&error, body);
        let said = self.site.said(body);
        self.sorted(Some(status), &words, said.as_deref(), retry_after(headers))
            .unwrap_or_else(|cure| Failure {
                error: ReasonerError::Refused(self.site.refusal(status, body)),
                cure,
                status: Some(status.as_u16()),
            })
    }

    /// It answered with an error object where a reply should be.
    pub fn error_object(&self, error: &Value) -> Failure {
        let words = words_of(error, &[]);
        let said = http::error_message(error).map(|said| self.site.quote(&said));
        let status = ["code", "status", "status_code"]
            .into_iter()
            .find_map(|key| {
                let inner = error.get("error").unwrap_or(error);
                let code = inner.get(key)?;
                let code = code.as_u64().or_else(|| code.as_str()?.parse().ok())?;
                StatusCode::from_u16(u16::try_from(code).ok()?).ok()
            });
        let passing = [
            "overloaded",
            "server_error",
            "rate_limit",
            "timeout",
            "unavailable",
        ];
        self.sorted(status, &words, said.as_deref(), None)
            .unwrap_or_else(|cure| Failure {
                error: ReasonerError::Refused(self.site.error_object(error)),
                cure: match cure {
                    Cure::None if passing.iter().any(|sign| words.contains(sign)) => {
                        Cure::Again(None)
                    }
                    other => other,
                },
                status: status.map(|status| status.as_u16()),
            })
    }

    /// It answered with something that is not the protocol.
    pub fn not_a_reply(&self, what: &str) -> Failure {
        Failure::lasting(ReasonerError::Protocol(
            self.site.not_a_reply(what, "a chat reply"),
        ))
    }

    /// It answered, and said nothing.
    pub fn empty(&self) -> Failure {
        Failure::lasting(ReasonerError::Protocol(Trouble::new(
            format!("{} sent an empty answer", self.host()),
            format!("ask again, or choose another {}", SETTINGS.model),
        )))
    }

    /// It answered, and thought until its limit.
    pub fn only_thoughts(&self, limit: u32) -> Failure {
        let host = self.host();
        Failure::lasting(ReasonerError::Protocol(Trouble::new(
            format!("{host} spent all of its {limit} tokens on thinking"),
            "raise KB_AGENT_LLM_MAX_TOKENS_SYNTHESIZE",
        )))
    }

    /// It sent more than any reply is, before one could be read.
    pub fn too_much(&self) -> Failure {
        Failure::lasting(ReasonerError::Protocol(Trouble::new(
            format!("{} did not stop sending", self.host()),
            format!("choose another {}", SETTINGS.model),
        )))
    }

    /// It answered that it will not answer.
    pub fn withheld(&self, said: Option<&str>) -> Failure {
        let said = said.map(|said| format!(": {said}")).unwrap_or_default();
        let host = self.host();
        Failure::lasting(ReasonerError::Refused(Trouble::new(
            format!("{host} withheld the answer (content filter){said}"),
            "put the question in other words",
        )))
    }

    /// It lists no model that could be used.
    pub fn no_model(&self) -> Failure {
        Failure::lasting(ReasonerError::Protocol(self.site.no_model()))
    }

    /// It lists models, and none that chats.
    pub fn no_chat_model(&self) -> ReasonerError {
        ReasonerError::Protocol(Trouble::new(
            format!("{} lists no model that chats", self.host()),
            format!("set {}", SETTINGS.model),
        ))
    }

    /// What the server's words tell; where they tell nothing of a kind, only the cure.
    fn sorted(
        &self,
        status: Option<StatusCode>,
        words: &str,
        said: Option<&str>,
        after: Option<Duration>,
    ) -> Result<Failure, Cure> {
        let tells = |kind| self.wordings.tell(kind, words);
        let code = status.map(|status| status.as_u16());
        let rejected = code.is_none_or(|code| matches!(code, 400 | 404 | 413 | 422 | 500));
        let status_note = code.map(|code| format!(" ({code})")).unwrap_or_default();
        let quoted = said.map(|said| format!(": {said}")).unwrap_or_default();
        let host = self.host();
        let lasting = |what: String, next: String| {
            let trouble = Trouble::new(what, next);
            Ok(Failure::lasting(ReasonerError::Refused(trouble)))
        };
        if rejected && tells(ErrorKind::NoSystem) {
            return Err(Cure::WithoutSystem);
        }
        if rejected && (tells(ErrorKind::Overflow) || code == Some(413)) {
            return Err(Cure::Shorter(words.to_owned()));
        }
        if tells(ErrorKind::NoCredit) || code == Some(402) {
            return lasting(
                format!("{host} says that there is nothing left to spend{status_note}{quoted}"),
                "see your account there".to_owned(),
            );
        }
        if rejected && tells(ErrorKind::Filtered) {
            return Ok(self.withheld(said));
        }
        if rejected && (tells(ErrorKind::NoModel) || names_a_missing_model(words)) {
            return lasting(
                format!("{host} does not know the model{status_note}{quoted}"),
                format!("check {}", SETTINGS.model),
            );
        }
        match (code, after) {
            (Some(429), Some(after)) if after > LONGEST_PAUSE => {
                let after = Duration::from_secs(after.as_secs_f64().ceil() as u64);
                lasting(
                    format!("{host} has had enough requests (429){quoted}"),
                    format!("ask again in {}", seconds(after)),
                )
            }
            (Some(404 | 500), _) if objects_to_the_form(words) => {
                Err(Cure::Otherwise(words.to_owned()))
            }
            // What is not implemented is not there after a pause either.
            (Some(400 | 415 | 422 | 501 | 505), _) => Err(Cure::Otherwise(words.to_owned())),
            (Some(408 | 409 | 425 | 429 | 500..=599), after) => {
                Err(Cure::Again(after.filter(|after| *after <= LONGEST_PAUSE)))
            }
            _ => Err(Cure::None),
        }
    }
}

/// Whether an error that says nothing by its status is about the form that the reply was to have.
fn objects_to_the_form(words: &str) -> bool {
    let forms = ["response_format", "json_schema", "no endpoints found"];
    forms.iter().any(|form| words.contains(form))
}

fn seconds(duration: Duration) -> String {
    if duration.subsec_millis() == 0 {
        format!("{} s", duration.as_secs())
    } else {
        format!("{} ms", duration.as_millis())
    }
}
