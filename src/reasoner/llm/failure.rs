//! What went wrong with the chat endpoint: one clear line, and what could be done about it.
//!
//! [`crate::http`] knows the lines that hold for every endpoint; here are those about chatting, and
//! what servers' own words tell apart. Servers have no common codes for an overflowing context or
//! an unknown model, so their words are what there is to go by; words that are not known cost a
//! second attempt or a clearer line, and nothing else. Every line says what to do.

use std::sync::Arc;
use std::time::Duration;

use regex::{Captures, Regex, RegexBuilder};
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, LOCATION};
use serde::Deserialize;
use serde_json::Value;

use super::settings::EndpointSettings;
use crate::agent::ports::ReasonerError;
use crate::files::read_tables;
use crate::http::{self, Variables, backoff, reconnecting, retry_after};
use crate::text::{Trouble, one_line};

/// Where an endpoint is set.
pub const SETTINGS: Variables = Variables {
    base_url: "KB_AGENT_LLM_BASE_URL",
    api_key: Some("KB_AGENT_LLM_API_KEY"),
    model: Some("KB_AGENT_LLM_MODEL"),
};
/// What to do about silence.
const MORE_TIME: &str = "try again, or raise KB_AGENT_LLM_TIMEOUT_SECS";
/// What to do where no model is found.
pub const NAME_MODEL: &str = "set KB_AGENT_LLM_MODEL";
/// What to do about a model that cannot be used.
pub const OTHER_MODEL: &str = "choose another KB_AGENT_LLM_MODEL";
/// A server's `Retry-After` is heeded up to this.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
/// What went wrong, and whether another request may go better.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The error to report.
    pub error: ReasonerError,
    /// What to do about it.
    pub retry: Retry,
    /// What the server answered, where another request may go better.
    pub status: Option<u16>,
}

/// Whether and how the request is repeated.
#[derive(Debug, Clone, PartialEq)]
pub enum Retry {
    /// Repeating does not help.
    Never,
    /// The same again, after so long if the server said so.
    Again(Option<Duration>),
    /// The same again, soon: the connection was not accepted, so it cannot overload the server.
    Reconnect,
    /// Less of it, by the sizes that the server named.
    WithLess(Sizes),
    /// The same in other words of the protocol; what the server said.
    Adapted(String),
}

impl Retry {
    /// How long to wait before the same is asked again, `retried` times so far counting this one;
    /// `None` where that helps nothing.
    pub fn pause(&self, retried: u32) -> Option<Duration> {
        match self {
            Self::Again(asked_for) => Some(asked_for.unwrap_or_else(|| backoff(retried))),
            Self::Reconnect => Some(reconnecting(retried)),
            _ => None,
        }
    }
}

impl Failure {
    fn new(error: ReasonerError, retry: Retry, status: Option<u16>) -> Self {
        Self {
            error,
            retry,
            status,
        }
    }

    fn lasting(error: ReasonerError) -> Self {
        Self::new(error, Retry::Never, None)
    }

    /// The error to report after tokens have been shown: nothing is asked again, and what came is kept.
    pub fn within_an_answer(self) -> ReasonerError {
        let next = "what came is kept, ask again for the whole answer";
        self.error.map(|trouble| trouble.next(next))
    }

    /// The error to report once nothing is left to try, after `asked` requests.
    pub fn into_error(self, asked: u32) -> ReasonerError {
        // Where no connection was made, nothing was asked.
        if asked < 2 || self.retry == Retry::Reconnect {
            return self.error;
        }
        let asked_often = |what: &str| format!("{what} (asked {asked} times)");
        self.error.map(|trouble| trouble.what(asked_often))
    }
}

/// The chat endpoint's host, as who is asked and who is complained about.
#[derive(Debug, Clone)]
pub struct ChatSite {
    /// Address, key and client.
    pub http: http::Site,
    /// The table of wordings by which the server's errors are understood.
    pub wordings: Arc<Wordings>,
}

impl ChatSite {
    /// Checks address and key; sends nothing. Connecting must be given up before the wait for a
    /// first byte is, or it is unknown which of the two it was.
    pub fn new(settings: &EndpointSettings, wordings: Wordings) -> Result<Self, ReasonerError> {
        let site = http::Site::new(&settings.base_url, settings.api_key.as_ref(), &SETTINGS)
            .map_err(ReasonerError::Refused)?;
        Ok(Self {
            http: site
                .connecting_within(settings.timeout / 2)
                .trusting(&settings.authorities),
            wordings: Arc::new(wordings),
        })
    }

    /// Host and port of the endpoint.
    pub fn host(&self) -> &str {
        self.http.host()
    }

    /// Nothing arrived for as long as we were willing to wait.
    pub fn silent(&self, waited: Duration, begun: bool) -> Failure {
        let begun = begun.then_some("stopped in the middle of a reply and ");
        let how = begun.unwrap_or_default();
        self.unreachable(&format!("{how}sent nothing for {}", seconds(waited)))
    }

    /// It says that it is alive, and nothing else.
    pub fn stalled(&self, waited: Duration) -> Failure {
        let waited = seconds(waited);
        let what = format!("kept the connection alive for {waited} without a word");
        self.unreachable(&what)
    }

    /// It sends a byte now and then, and comes to no end.
    pub fn unfinished(&self, waited: Duration) -> Failure {
        let waited = seconds(waited);
        self.unreachable(&format!("was still sending one reply after {waited}"))
    }

    fn unreachable(&self, what: &str) -> Failure {
        self.lasting(ReasonerError::Unreachable, what, MORE_TIME)
    }

    /// The connection could not be made, or broke.
    pub fn transport(&self, error: &reqwest::Error) -> Failure {
        let retry = if http::is_turned_away(error) {
            Retry::Reconnect
        } else if error.is_connect() || error.is_builder() {
            Retry::Never
        } else {
            Retry::Again(None)
        };
        let line = self.http.transport(error);
        Failure::new(ReasonerError::Unreachable(line), retry, None)
    }

    /// The reply ended before it was complete.
    pub fn cut_off(&self) -> Failure {
        let what = "ended a reply in the middle";
        let next = "try again, or see the server's log";
        Failure {
            retry: Retry::Again(None),
            ..self.lasting(ReasonerError::Unreachable, what, next)
        }
    }

    /// It answered with something that is not the protocol.
    pub fn not_a_reply(&self, what: &str) -> Failure {
        let line = self.http.not_a_reply(what, "a chat reply");
        Failure::lasting(ReasonerError::Protocol(line))
    }

    /// What it answered cannot be used.
    pub fn unusable(&self, what: &str, next: &str) -> Failure {
        self.lasting(ReasonerError::Protocol, what, next)
    }

    /// It sent more than any reply is, before one could be read.
    pub fn too_much(&self) -> Failure {
        self.unusable("did not stop sending", OTHER_MODEL)
    }

    /// It answered that it will not answer.
    pub fn withheld(&self, said: Option<&str>) -> Failure {
        let said = said.map(|said| format!(": {said}")).unwrap_or_default();
        let what = format!("withheld the answer (content filter){said}");
        let next = "put the question in other words";
        self.lasting(ReasonerError::Refused, &what, next)
    }

    fn lasting(&self, kind: fn(Trouble) -> ReasonerError, what: &str, next: &str) -> Failure {
        let what = format!("{} {what}", self.host());
        Failure::lasting(kind(Trouble::new(what, next)))
    }

    /// It answered with an error status.
    pub fn refusal(&self, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Failure {
        if status.is_redirection() {
            let location = headers.get(LOCATION).and_then(|to| to.to_str().ok());
            let line = self.http.redirect(status, location);
            return Failure::lasting(ReasonerError::Refused(line));
        }
        let words = match serde_json::from_slice(body) {
            Ok(error) => self.wordings.without_echo(error).to_string(),
            Err(_) => String::from_utf8_lossy(body).into_owned(),
        };
        let (said, line) = (self.http.message_in(body), self.http.refusal(status, body));
        let code = Some(status.as_u16());
        self.classify(code, &words, said.as_deref(), line, Some(headers))
    }

    /// It answered with an error object where a reply should be.
    pub fn error_object(&self, error: &Value) -> Failure {
        let words = self.wordings.without_echo(error.clone()).to_string();
        let said = http::error_message(error).map(|said| self.http.quote(&said));
        let inner = error.get("error").unwrap_or(error);
        let mut codes = ["code", "status", "status_code"].into_iter();
        let code = codes.find_map(|key| {
            let code = inner.get(key)?;
            let code = code.as_u64().or_else(|| code.as_str()?.parse().ok())?;
            u16::try_from(code).ok().filter(|code| *code < 1_000)
        });
        let line = self.http.error_object(error);
        self.classify(code, &words, said.as_deref(), line, None)
    }

    /// What the server's words tell; where they tell nothing of a kind, it is `line`. An error without
    /// headers came in place of a reply.
    fn classify(
        &self,
        code: Option<u16>,
        words: &str,
        said: Option<&str>,
        line: Trouble,
        headers: Option<&HeaderMap>,
    ) -> Failure {
        let tells = |kind| self.wordings.tell(kind, words);
        let rejected = code.is_none_or(|code| matches!(code, 400 | 404 | 413 | 422 | 500));
        let refused = |what: &str, next: &str| {
            let status_note = code.map(|code| format!(" ({code})")).unwrap_or_default();
            let quoted = said.map(|said| format!(": {said}"));
            let what = format!("{what}{status_note}{}", quoted.unwrap_or_default());
            self.lasting(ReasonerError::Refused, &what, next)
        };
        let adapted = || Retry::Adapted(words.to_owned());
        let retry = match (code, headers.and_then(retry_after)) {
            _ if rejected && tells(ErrorKind::NoSystem) => adapted(),
            _ if rejected && (tells(ErrorKind::Overflow) || code == Some(413)) => {
                Retry::WithLess(self.wordings.sizes(words))
            }
            _ if tells(ErrorKind::NoCredit) || code == Some(402) => {
                let what = "says that there is nothing left to spend";
                return refused(what, "see your account there");
            }
            _ if rejected && tells(ErrorKind::Filtered) => return self.withheld(said),
            _ if rejected && tells(ErrorKind::NoModel) => {
                let next = format!("check {}", SETTINGS.model());
                return refused("does not know the model", &next);
            }
            (Some(429), Some(after)) if after > LONGEST_PAUSE => {
                let after = Duration::from_secs(after.as_secs_f64().ceil() as u64);
                let next = format!("ask again in {}", seconds(after));
                return refused("has had enough requests", &next);
            }
            (Some(404 | 500), _) if tells(ErrorKind::Form) => adapted(),
            // What is not implemented is not there after a pause either.
            (Some(400 | 415 | 422 | 501 | 505), _) => adapted(),
            (Some(408 | 409 | 425 | 429 | 500..=599), after) => {
                Retry::Again(after.filter(|after| *after <= LONGEST_PAUSE))
            }
            _ if headers.is_none() && tells(ErrorKind::Passing) => Retry::Again(None),
            _ => Retry::Never,
        };
        Failure::new(ReasonerError::Refused(line), retry, code)
    }
}

fn seconds(duration: Duration) -> String {
    if duration.subsec_millis() == 0 {
        format!("{} s", duration.as_secs())
    } else {
        format!("{} ms", duration.as_millis())
    }
}

// By which words servers tell what went wrong: rows of a table that users can add to.

const BUILT_IN: &str = include_str!("../../../assets/llm/errors.toml");

/// What an error may be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// More was sent than the model can read.
    Overflow,
    /// The model takes no system message.
    NoSystem,
    /// The server's rules forbid the answer.
    Filtered,
    /// There is nothing left to pay with.
    NoCredit,
    /// The model is not there.
    NoModel,
    /// The field of the token limit is not known.
    LimitName,
    /// The token limit is too large.
    LimitSize,
    /// No temperature is taken.
    Temperature,
    /// Token counts cannot be asked for.
    Usage,
    /// How far the prompt is read cannot be asked for.
    Progress,
    /// The reply cannot be streamed.
    NoStream,
    /// A schema may not bound texts.
    TextBounds,
    /// A schema may bound nothing.
    Bounds,
    /// The reply cannot be held to a form.
    Form,
    /// It may go better at another time.
    Passing,
}

/// How some servers say one thing.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wording {
    kind: ErrorKind,
    says: Vec<String>,
    #[serde(default)]
    #[cfg_attr(not(test), expect(dead_code, reason = "a test reads it"))]
    example: String,
    #[serde(default)]
    #[cfg_attr(not(test), expect(dead_code, reason = "a test reads it"))]
    reads: Option<Sizes>,
    #[serde(default, rename = "who")]
    _who: String,
}

/// The sizes that an overflow names, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sizes {
    /// What the model reads.
    pub context: Option<u32>,
    /// How many tokens were sent.
    pub sent: Option<u32>,
    /// The reply that was allowed for, where it counts.
    pub reply: Option<u32>,
}

/// A reply for which so little is left would not be worth it, in tokens.
const SHORTEST_REPLY: u32 = 64;

impl Sizes {
    /// The share of a prompt that would fit, where the server says it, and where its reply is to end.
    /// `max_tokens` is what was asked for, and `estimated` about what was sent. Some servers count
    /// the reply that was allowed for into what was sent: then less is allowed for, and perhaps nothing
    /// has to go.
    pub fn fitting(self, max_tokens: u32, estimated: usize) -> (Option<f64>, u32) {
        let Some(context) = self.context else {
            return (None, max_tokens);
        };
        let shorter = max_tokens.min((context / 4).max(SHORTEST_REPLY));
        let counted_reply = self.reply.map(|_| shorter);
        let room = context.saturating_sub(counted_reply.unwrap_or_default());
        let sent = self.sent.map_or(estimated as f64, f64::from).max(1.0);
        let share = f64::from(room) / sent;
        (Some(share), counted_reply.unwrap_or(max_tokens))
    }
}

/// The table, the user's own rows first.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wordings {
    #[serde(default)]
    error: Vec<Wording>,
    /// Fields in which servers repeat what they were sent.
    #[serde(default)]
    echoes: Vec<String>,
}

impl Wordings {
    /// The built-in table behind the rows of a file of the user's. The error is one line.
    pub fn with_user_rows(own: Option<&str>) -> Result<Self, String> {
        let own_rows: Self = read_tables(own, "")?;
        for says in own_rows.error.iter().flat_map(|row| &row.says) {
            pattern(says).map_err(|why| one_line(&why.to_string(), 300))?;
        }
        read_tables(own, BUILT_IN)
    }

    /// Whether an error in these words is of that kind. Errors are rare, so patterns are compiled when
    /// one came.
    pub fn tell(&self, kind: ErrorKind, words: &str) -> bool {
        self.captures(kind, words).next().is_some()
    }

    /// The sizes that an overflow names, each in the first words that name it.
    pub fn sizes(&self, words: &str) -> Sizes {
        let mut sizes = Sizes::default();
        for found in self.captures(ErrorKind::Overflow, words) {
            let number = |name| found.name(name)?.as_str().parse().ok();
            sizes = Sizes {
                context: sizes.context.or_else(|| number("context")),
                sent: sizes.sent.or_else(|| number("sent")),
                reply: sizes.reply.or_else(|| number("reply")),
            };
        }
        sizes
    }

    /// An error without what was sent: words of a question say nothing about what went wrong.
    pub fn without_echo(&self, error: Value) -> Value {
        match error {
            Value::Object(fields) => {
                let fields = fields.into_iter();
                let said = fields.filter(|(name, _)| !self.echoes.contains(name));
                let said = said.map(|(name, value)| (name, self.without_echo(value)));
                said.collect()
            }
            Value::Array(items) => items.into_iter().map(|it| self.without_echo(it)).collect(),
            other => other,
        }
    }

    fn captures<'a>(
        &'a self,
        kind: ErrorKind,
        words: &'a str,
    ) -> impl Iterator<Item = Captures<'a>> {
        let rows = self.error.iter().filter(move |row| row.kind == kind);
        let patterns = rows.flat_map(|row| &row.says);
        patterns.filter_map(|says| pattern(says).ok()?.captures(words))
    }
}

fn pattern(says: &str) -> Result<Regex, regex::Error> {
    let mut pattern = RegexBuilder::new(says);
    let pattern = pattern.case_insensitive(true).dot_matches_new_line(true);
    pattern.build()
}

#[cfg(test)]
mod wordings_tests {
    use super::*;

    #[test]
    fn every_example_is_understood_as_its_row_says() {
        let table = Wordings::with_user_rows(None).unwrap();
        for row in &table.error {
            let words = &row.example;
            let is_said = |says| pattern(says).unwrap().is_match(words);
            assert!(row.says.iter().any(|says| is_said(says)), "{row:?}");
            let kinds = [
                ErrorKind::NoSystem,
                ErrorKind::Filtered,
                ErrorKind::NoCredit,
            ];
            for kind in kinds.into_iter().filter(|kind| *kind != row.kind) {
                assert!(!table.tell(kind, words), "{kind:?}: {row:?}");
            }
            if let Some(reads) = row.reads {
                let (context, sent) = (reads.context.unwrap(), reads.sent.unwrap_or(99_999));
                let (share, max_tokens) = table.sizes(words).fitting(2_000, 99_999);
                let reply = if max_tokens < 2_000 { max_tokens } else { 0 };
                let expected = f64::from(context - reply) / f64::from(sent);
                assert!(
                    (share.unwrap() - expected).abs() < 1e-9,
                    "{share:?}: {row:?}"
                );
            }
        }
    }

    #[test]
    fn own_rows_are_read_first_and_a_mistake_is_one_line() {
        let own = "[[error]]\nkind = \"overflow\"\nsays = [\"zu viel\"]\n";
        let table = Wordings::with_user_rows(Some(own)).unwrap();
        assert!(table.tell(ErrorKind::Overflow, "das ist zu viel"));
        assert!(table.tell(ErrorKind::Overflow, "maximum context length"));
        for wrong in [
            "[[error]]\nkind = \"odd\"\n",
            "[[error]]\nkind = \"overflow\"\nsays = [\"(\"]\n",
        ] {
            let wrong = Wordings::with_user_rows(Some(wrong)).unwrap_err();
            assert!(!wrong.contains('\n'), "{wrong}");
        }
    }

    #[test]
    fn a_missing_model_is_distinguished_from_another_missing_thing() {
        let table = Wordings::with_user_rows(None).unwrap();
        for (said, missing) in [
            ("model 'qwen9' not found", true),
            (
                "The model `gpt-9` does not exist or you do not have access to it",
                true,
            ),
            ("file not found", false),
            ("the model is loading", false),
        ] {
            assert_eq!(table.tell(ErrorKind::NoModel, said), missing, "{said}");
        }
    }

    #[test]
    fn what_fits_is_read_from_what_servers_say() {
        let wordings = Wordings::with_user_rows(None).unwrap();
        for (said, share, max_tokens) in [
            (
                r#"{"error":{"code":400,"message":"request (9015 tokens) exceeds the available context size (4096 tokens), try increasing it","n_ctx":4096,"n_prompt_tokens":9015}}"#,
                Some(4_096.0 / 9_015.0),
                2_000,
            ),
            (
                "'max_tokens' or 'max_completion_tokens' is too large: 2000. this model's maximum \
                 context length is 4000 tokens and your request has 2500 input tokens",
                Some(3_000.0 / 2_500.0),
                1_000,
            ),
            (
                "this model's maximum context length is 4097 tokens. however, your messages \
                 resulted in 5200 tokens.",
                Some(4_097.0 / 5_200.0),
                2_000,
            ),
            (
                "range of input length should be [1, 30720]",
                Some(30_720.0 / 40_000.0),
                2_000,
            ),
            ("the prompt is too long", None, 2_000),
        ] {
            assert_eq!(
                wordings.sizes(said).fitting(2_000, 40_000),
                (share, max_tokens),
                "{said}"
            );
        }
    }
}
