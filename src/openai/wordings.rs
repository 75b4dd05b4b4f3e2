//! By which words servers tell what went wrong, as rows of a table that users can add to.
//!
//! Servers have no common codes for an overflowing context or an unknown model, so their words are
//! what there is to go by; words that are not known cost a second attempt or a clearer line, and
//! nothing else.

use regex::{Captures, Regex, RegexBuilder};
use serde::Deserialize;
use serde_json::Value;

use crate::files::read_tables;
use crate::text::one_line;

const BUILT_IN: &str = include_str!("../../assets/llm/errors.toml");

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
    /// More was sent than an embedding model takes.
    TooLarge,
    /// More texts were sent than are embedded at a time.
    TooMany,
    /// The form that vectors are asked for in is not known.
    Encoding,
    /// The server wants to be told what a text is, or does not.
    InputType,
}

/// What may be said of a request for vectors.
const OF_EMBEDDING: [ErrorKind; 4] = [
    ErrorKind::TooLarge,
    ErrorKind::TooMany,
    ErrorKind::Encoding,
    ErrorKind::InputType,
];

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

/// What a status means, and what to do.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatusMeaning {
    from: u16,
    to: u16,
    #[serde(default)]
    says: String,
    #[serde(default)]
    without_key: bool,
    /// What is wrong with `{host}`.
    pub what: String,
    /// What to do; `{address}`, `{key}`, `{model}` and `{proxy}` stand for settings.
    pub next: String,
}

/// What a failure of TLS means and what to do, where the library's word for it says nothing to a person.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsMeaning {
    says: String,
    /// What is wrong.
    pub what: String,
    /// What to do; `{address}` stands for the setting of the address.
    pub next: String,
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
    /// Whether it is the request alone that is too large, whatever was sent before it.
    pub fn is_exceeded(self) -> bool {
        self.sent
            .zip(self.context)
            .is_some_and(|(sent, most)| sent > most)
    }

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
    #[serde(default)]
    tls: Vec<TlsMeaning>,
    #[serde(default)]
    status: Vec<StatusMeaning>,
}

impl Wordings {
    /// The built-in table behind the rows of a file of the user's. The error is one line.
    pub fn with_user_rows(own: Option<&str>) -> Result<Self, String> {
        let own_rows: Self = read_tables(own, "")?;
        let of_status = own_rows.status.iter().map(|row| &row.says);
        for says in own_rows
            .error
            .iter()
            .flat_map(|row| &row.says)
            .chain(of_status)
        {
            pattern(says).map_err(|why| one_line(&why.to_string(), 300))?;
        }
        read_tables(own, BUILT_IN)
    }

    /// Whether an error in these words is of that kind. Errors are rare, so patterns are compiled when
    /// one came.
    pub fn tell(&self, kind: ErrorKind, words: &str) -> bool {
        self.first(&[kind], words).is_some()
    }

    /// What an error in these words, of a request for vectors, is about.
    pub fn embedding_kind(&self, words: &str) -> Option<ErrorKind> {
        self.first(&OF_EMBEDDING, words)
    }

    /// The kind of the first row, of those of these kinds, by which an error in these words is known.
    fn first(&self, kinds: &[ErrorKind], words: &str) -> Option<ErrorKind> {
        let mut rows = self.error.iter().filter(|row| kinds.contains(&row.kind));
        let row = rows.find(|row| row.captures(words).next().is_some());
        row.map(|row| row.kind)
    }

    /// What a status means that comes with these words, where a key is sent or not.
    pub fn status(&self, code: u16, is_keyless: bool, words: &str) -> Option<&StatusMeaning> {
        self.status.iter().find(|row| {
            let says = pattern(&row.says).is_ok_and(|says| says.is_match(words));
            (row.from..=row.to).contains(&code) && (is_keyless || !row.without_key) && says
        })
    }

    /// What a failure of TLS means that the library calls this.
    pub fn tls_meaning(&self, cause: &str) -> Option<&TlsMeaning> {
        self.tls.iter().find(|row| cause.contains(&row.says))
    }

    /// The sizes that an overflow names, each in the first words that name it.
    pub fn sizes(&self, words: &str) -> Sizes {
        let mut sizes = Sizes::default();
        let overflows = self
            .error
            .iter()
            .filter(|row| row.kind == ErrorKind::Overflow);
        for found in overflows.flat_map(|row| row.captures(words)) {
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
}

impl Wording {
    fn captures<'a>(&'a self, words: &'a str) -> impl Iterator<Item = Captures<'a>> {
        let patterns = self.says.iter();
        patterns.filter_map(|says| pattern(says).ok()?.captures(words))
    }
}

fn pattern(says: &str) -> Result<Regex, regex::Error> {
    let mut pattern = RegexBuilder::new(says);
    let pattern = pattern.case_insensitive(true).dot_matches_new_line(true);
    pattern.build()
}

#[cfg(test)]
mod tests {
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
