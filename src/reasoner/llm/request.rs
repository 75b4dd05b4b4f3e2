//! One request to a model: what is wanted of it, and the JSON that asks for it.

use std::collections::HashMap;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::prompt::Message;
use super::reply_schema::ReplySchema;
use super::settings::{JobSettings, ModelJob};
use super::think::Thinking;
use super::tokens::{Room, estimate};
use crate::agent::ports::{AnswerSink, CallOrigin};
use crate::openai::{
    ErrorKind, LimitField, SchemaBounds, Server, Structured, UsageInStream, Wordings,
};

/// What is wanted of the model.
pub struct ReplyRequest<'a> {
    /// What is to be done.
    pub job: ModelJob,
    /// The run and node on whose behalf the request is made.
    pub origin: CallOrigin<'a>,
    /// Who is to reply.
    pub model: &'a str,
    /// The job's limits.
    pub settings: &'a JobSettings,
    /// What the reply looks like; none where it is an answer.
    pub schema: Option<ReplySchema>,
    /// What is said, within a room.
    pub messages: &'a (dyn Fn(&Room) -> Vec<Message> + Sync),
    /// Where an answer goes as it comes; a judgement is read as a whole.
    pub out: Option<&'a AnswerSink>,
    /// How many tokens the model reads, where a setting or the server's listing says so.
    pub context: Option<usize>,
}

impl ReplyRequest<'_> {
    /// Whether the reply is for the program to read, and not for a person.
    pub fn is_judgement(&self) -> bool {
        self.out.is_none()
    }

    /// Where the reply ends at the latest.
    pub fn max_tokens(&self, dialect: Dialect) -> u32 {
        let items = self.schema.as_ref().map_or(0, |schema| schema.items);
        let thinks = dialect.thinking != Thinking::Unknown;
        let tokens = self.settings.max_tokens;
        tokens
            .unwrap_or_else(|| self.job.tokens(items, thinks))
            .min(dialect.longest_reply.unwrap_or(u32::MAX))
    }
}

/// One request.
pub struct ModelRequest<'a> {
    /// What it is for.
    pub wanted: &'a ReplyRequest<'a>,
    /// What is said.
    messages: Vec<Message>,
    /// About how many tokens that is.
    pub sent: usize,
    /// How it is said.
    pub dialect: Dialect,
    /// Where the reply ends at the latest.
    pub max_tokens: u32,
}

impl<'a> ModelRequest<'a> {
    /// A request with as much evidence and conversation as has room.
    pub fn new(wanted: &'a ReplyRequest<'_>, dialect: Dialect, room: &Room) -> Self {
        let messages = (wanted.messages)(room);
        Self {
            wanted,
            sent: tokens_of(&messages),
            messages,
            dialect,
            max_tokens: wanted.max_tokens(dialect),
        }
    }

    /// The request as the protocol wants it; `progress` is the field that asks for how far the prompt is
    /// read.
    pub fn body(&self, progress: Option<&str>) -> Value {
        let dialect = self.dialect;
        let streams = dialect.takes(ErrorKind::NoStream);
        let messages = if dialect.takes(ErrorKind::NoSystem) {
            json!(self.messages)
        } else {
            // Some templates know no system role, or refuse two messages of one role in a row.
            let texts: Vec<_> = self.messages.iter().map(|it| it.content.as_str()).collect();
            json!([Message::new("user", texts.join("\n\n"))])
        };
        let mut body = json!({
            "model": self.wanted.model,
            "messages": messages,
            "stream": streams,
        });
        if let Some(field) = progress
            && streams
            && dialect.takes(ErrorKind::Progress)
        {
            body[field] = true.into();
        }
        if dialect.takes(ErrorKind::Temperature) {
            body["temperature"] = self.wanted.settings.temperature.into();
        }
        if let Some(name) = dialect.limit.as_str() {
            body[name] = self.max_tokens.into();
        }
        if streams && dialect.takes(ErrorKind::Usage) {
            body["stream_options"] = json!({"include_usage": true});
        }
        if let Some(schema) = &self.wanted.schema {
            match dialect.structured {
                Structured::JsonSchema => {
                    let (name, schema) = (schema.name, schema.schema(dialect.bounds));
                    let named = json!({"name": name, "strict": true, "schema": schema});
                    body["response_format"] = json!({"type": "json_schema", "json_schema": named});
                }
                Structured::JsonObject => body["response_format"] = json!({"type": "json_object"}),
                Structured::Prompt => {}
            }
        }
        body
    }

    /// The messages as one text, each below the name of its role.
    pub fn prompt(&self) -> String {
        let written = |it: &Message| format!("[{}]\n{}", it.role, it.content);
        let written: Vec<String> = self.messages.iter().map(written).collect();
        written.join("\n\n")
    }
}

/// About how many tokens these messages are.
pub fn tokens_of(messages: &[Message]) -> usize {
    messages.iter().map(|it| estimate(&it.content)).sum()
}

// How one model of one server is spoken to, as far as is known by now.
//
// The table says where to begin. What the server then refuses is left out from the next request
// on, and remembered for as long as the program runs: the ladder of structured replies is one of
// these things, the name of the token limit another.

/// What a server may refuse that is left out then, and what it is called.
const LEFT_OUT: [(ErrorKind, &str); 5] = [
    (ErrorKind::NoSystem, "a system message"),
    (ErrorKind::Temperature, "a temperature"),
    (ErrorKind::Usage, "stream_options"),
    (ErrorKind::Progress, "return_progress"),
    (ErrorKind::NoStream, "a stream"),
];

/// What a request to this model may say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// What is left out, in the order of the table.
    left_out: [bool; LEFT_OUT.len()],
    /// How the reply is held to its form.
    pub structured: Structured,
    /// What the token limit is called.
    pub limit: LimitField,
    /// How far a schema may bound the reply.
    pub bounds: SchemaBounds,
    /// How the model thinks.
    pub thinking: Thinking,
    /// A reply that is allowed to be longer leaves no room for the question.
    pub longest_reply: Option<u32>,
    /// How many tokens the model reads, as a reply has shown.
    pub context: Option<usize>,
}

impl Dialect {
    fn of_server(server: &Server) -> Self {
        let is_left_out =
            |(kind, _)| kind == ErrorKind::Usage && server.usage != UsageInStream::Asked;
        Self {
            left_out: LEFT_OUT.map(is_left_out),
            structured: server.structured,
            limit: server.limit,
            bounds: server.bounds,
            thinking: Thinking::Unknown,
            longest_reply: None,
            context: None,
        }
    }

    /// Whether a request may hold what some servers refuse in such words.
    pub fn takes(&self, kind: ErrorKind) -> bool {
        let mut left_out = LEFT_OUT.iter().zip(self.left_out);
        !left_out.any(|((of, _), is_left_out)| *of == kind && is_left_out)
    }

    /// Gives up what the server's words object to, and says what that was; `None` when there is nothing
    /// left to give up. Words that name nothing are taken to mean the form of the reply, because that
    /// is what most often is not known.
    pub fn without(
        mut self,
        wordings: &Wordings,
        said: &str,
        structured: bool,
    ) -> Option<(Self, &'static str)> {
        let tells = |kind| wordings.tell(kind, said);
        let minds_system = tells(ErrorKind::NoSystem);
        if !minds_system && self.limit != LimitField::None && tells(ErrorKind::LimitName) {
            self.limit = match self.limit {
                _ if tells(ErrorKind::LimitSize) => LimitField::None,
                LimitField::MaxTokens if said.contains("max_completion_tokens") => {
                    LimitField::MaxCompletionTokens
                }
                LimitField::MaxCompletionTokens => LimitField::MaxTokens,
                _ => LimitField::None,
            };
            return Some((self, "this token limit"));
        }
        let mut named = LEFT_OUT.iter();
        if let Some(at) = named.position(|(kind, _)| self.takes(*kind) && tells(*kind)) {
            self.left_out[at] = true;
            return Some((self, LEFT_OUT[at].1));
        }
        if minds_system || !structured {
            return None;
        }
        let refused = self.structured;
        let of_text = tells(ErrorKind::TextBounds);
        let fewer = match self.bounds {
            SchemaBounds::All if of_text => Some(SchemaBounds::Lists),
            SchemaBounds::All | SchemaBounds::Lists if of_text || tells(ErrorKind::Bounds) => {
                Some(SchemaBounds::None)
            }
            _ => None,
        };
        if let Some(fewer) = fewer.filter(|_| refused == Structured::JsonSchema) {
            self.bounds = fewer;
            return Some((self, "bounds in a schema"));
        }
        self.structured = refused.below()?;
        Some((self, refused.as_str()))
    }
}

/// What is known of every model of one server.
#[derive(Debug)]
pub struct Dialects {
    first: Dialect,
    known: Mutex<HashMap<String, Dialect>>,
}

impl Dialects {
    /// What the table says, for every model.
    pub fn for_server(server: &Server) -> Self {
        Self {
            first: Dialect::of_server(server),
            known: Mutex::default(),
        }
    }

    /// How to speak to this model now.
    pub fn of_model(&self, model: &str) -> Dialect {
        let known = self.known.lock().get(model).copied();
        known.unwrap_or_else(|| Dialect {
            thinking: Thinking::of_model(model),
            ..self.first
        })
    }

    /// This is what the model understood.
    pub fn learn(&self, model: &str, understood: Dialect) {
        if self.of_model(model) != understood {
            self.known.lock().insert(model.to_owned(), understood);
        }
    }
}

#[cfg(test)]
mod dialect_tests {
    use super::*;

    const FIRST: Dialect = Dialect {
        left_out: [false; LEFT_OUT.len()],
        structured: Structured::JsonSchema,
        limit: LimitField::MaxTokens,
        bounds: SchemaBounds::All,
        thinking: Thinking::Unknown,
        longest_reply: None,
        context: None,
    };

    #[test]
    fn what_a_server_objects_to_is_given_up_and_nothing_else() {
        let wordings = Wordings::with_user_rows(None).unwrap();
        let left_out = |kind| Dialect {
            left_out: LEFT_OUT.map(|(of, _)| of == kind),
            ..FIRST
        };
        let limit = |limit| Dialect { limit, ..FIRST };
        let bounds = |bounds| Dialect { bounds, ..FIRST };
        let object = Dialect {
            structured: Structured::JsonObject,
            ..FIRST
        };
        for (said, left, what) in [
            (
                "unsupported parameter: 'max_tokens'. use 'max_completion_tokens' instead.",
                limit(LimitField::MaxCompletionTokens),
                "this token limit",
            ),
            (
                "max_tokens is too large: 8192. this model supports at most 4096",
                limit(LimitField::None),
                "this token limit",
            ),
            (
                "unsupported value: 'temperature' does not support 0 with this model",
                left_out(ErrorKind::Temperature),
                "a temperature",
            ),
            (
                "extra inputs are not permitted: stream_options",
                left_out(ErrorKind::Usage),
                "stream_options",
            ),
            (
                "unsupported param: return_progress",
                left_out(ErrorKind::Progress),
                "return_progress",
            ),
            (
                "system role not supported",
                left_out(ErrorKind::NoSystem),
                "a system message",
            ),
            (
                "'response_format.type' must be 'text'",
                object,
                "json_schema",
            ),
            (
                "invalid schema for response_format 'grades': 'maxlength' is not permitted.",
                bounds(SchemaBounds::Lists),
                "bounds in a schema",
            ),
            (
                "failed to parse grammar: number of repetitions exceeds sane defaults",
                bounds(SchemaBounds::None),
                "bounds in a schema",
            ),
            (
                "the specified schema produces a constraint that has too many states for serving.",
                bounds(SchemaBounds::None),
                "bounds in a schema",
            ),
            ("bad request", object, "json_schema"),
        ] {
            let given_up = FIRST.without(&wordings, said, true);
            assert_eq!(given_up, Some((left, what)), "{said}");
        }
        let untold = left_out(ErrorKind::NoSystem);
        assert_eq!(
            untold.without(&wordings, "system role not supported", true),
            None
        );
    }

    #[test]
    fn ends_a_schema_that_is_refused_without_bounds_too_is_given_up() {
        let wordings = Wordings::with_user_rows(None).unwrap();
        let mut dialect = FIRST;
        let mut refused = Vec::new();
        let said = "invalid schema: 'maxlength' and 'maxitems' are not supported";
        while let Some((next, what)) = dialect.without(&wordings, said, true) {
            dialect = next;
            refused.push(what);
        }
        let bounds = "bounds in a schema";
        assert_eq!(refused, [bounds, bounds, "json_schema", "json_object"]);
    }

    #[test]
    fn the_ladder_ends_and_an_answer_has_none() {
        let wordings = Wordings::with_user_rows(None).unwrap();
        let mut dialect = FIRST;
        let mut refused = Vec::new();
        while let Some((next, what)) = dialect.without(&wordings, "no", true) {
            dialect = next;
            refused.push(what);
        }
        assert_eq!(refused, ["json_schema", "json_object"]);
        assert_eq!(FIRST.without(&wordings, "no", false), None);
    }
}
