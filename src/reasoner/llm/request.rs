//! One request to a model: what is wanted of it, and the JSON that asks for it.

use std::collections::HashMap;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::failure::{ErrorKind, Wordings};
use super::prompt::Message;
use super::reply_schema::ReplySchema;
use super::server::{LimitField, SchemaBounds, Server, Structured, UsageInStream};
use super::settings::{JobSettings, ModelJob};
use super::think::Thinking;
use super::tokens::{Room, estimate};
use crate::agent::ports::{AnswerSink, CallOrigin};

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

    /// The request as the protocol wants it.
    pub fn body(&self) -> Value {
        let dialect = self.dialect;
        let messages = if dialect.system {
            json!(self.messages)
        } else {
            // Some templates know no system role, or refuse two messages of one role in a row.
            let texts: Vec<_> = self.messages.iter().map(|it| it.content.as_str()).collect();
            json!([Message::new("user", texts.join("\n\n"))])
        };
        let mut body = json!({
            "model": self.wanted.model,
            "messages": messages,
            "stream": dialect.stream,
        });
        if dialect.temperature {
            body["temperature"] = self.wanted.settings.temperature.into();
        }
        if let Some(name) = dialect.limit.as_str() {
            body[name] = self.max_tokens.into();
        }
        if dialect.stream && dialect.asks_usage {
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

/// What a request to this model may say.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one thing that a server takes or refuses"
)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// How the reply is held to its form.
    pub structured: Structured,
    /// What the token limit is called.
    pub limit: LimitField,
    /// Whether token counts are asked for.
    pub asks_usage: bool,
    /// Whether it may be asked how far the prompt is read, where the server is known to tell.
    pub takes_progress: bool,
    /// Whether it takes a system message.
    pub system: bool,
    /// Whether it streams.
    pub stream: bool,
    /// Whether a temperature may be given.
    pub temperature: bool,
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
        if tells(ErrorKind::NoSystem) {
            let is_sent = std::mem::replace(&mut self.system, false);
            return is_sent.then_some((self, "a system message"));
        }
        if self.limit != LimitField::None && tells(ErrorKind::LimitName) {
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
        let (temperature, usage) = (&mut self.temperature, &mut self.asks_usage);
        let progress = &mut self.takes_progress;
        let fields = [
            (temperature, ErrorKind::Temperature, "a temperature"),
            (usage, ErrorKind::Usage, "stream_options"),
            (progress, ErrorKind::Progress, "return_progress"),
            (&mut self.stream, ErrorKind::NoStream, "a stream"),
        ];
        let is_refused = |(is_sent, kind, _): &(&mut bool, _, _)| **is_sent && tells(*kind);
        let refused = fields.into_iter().find(is_refused);
        if let Some((is_sent, _, name)) = refused {
            *is_sent = false;
            return Some((self, name));
        }
        if !structured {
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
        let first = Dialect {
            structured: server.structured,
            limit: server.limit,
            asks_usage: server.usage == UsageInStream::Asked,
            takes_progress: true,
            system: true,
            stream: true,
            temperature: true,
            bounds: server.bounds,
            thinking: Thinking::Unknown,
            longest_reply: None,
            context: None,
        };
        Self {
            first,
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
        structured: Structured::JsonSchema,
        limit: LimitField::MaxTokens,
        asks_usage: true,
        takes_progress: true,
        system: true,
        stream: true,
        temperature: true,
        bounds: SchemaBounds::All,
        thinking: Thinking::Unknown,
        longest_reply: None,
        context: None,
    };

    #[test]
    fn what_a_server_objects_to_is_given_up_and_nothing_else() {
        let wordings = Wordings::with_user_rows(None).unwrap();
        for (said, left, what) in [
            (
                "unsupported parameter: 'max_tokens'. use 'max_completion_tokens' instead.",
                Dialect {
                    limit: LimitField::MaxCompletionTokens,
                    ..FIRST
                },
                "this token limit",
            ),
            (
                "max_tokens is too large: 8192. this model supports at most 4096",
                Dialect {
                    limit: LimitField::None,
                    ..FIRST
                },
                "this token limit",
            ),
            (
                "unsupported value: 'temperature' does not support 0 with this model",
                Dialect {
                    temperature: false,
                    ..FIRST
                },
                "a temperature",
            ),
            (
                "extra inputs are not permitted: stream_options",
                Dialect {
                    asks_usage: false,
                    ..FIRST
                },
                "stream_options",
            ),
            (
                "unsupported param: return_progress",
                Dialect {
                    takes_progress: false,
                    ..FIRST
                },
                "return_progress",
            ),
            (
                "'response_format.type' must be 'text'",
                Dialect {
                    structured: Structured::JsonObject,
                    ..FIRST
                },
                "json_schema",
            ),
            (
                "invalid schema for response_format 'grades': 'maxlength' is not permitted.",
                Dialect {
                    bounds: SchemaBounds::Lists,
                    ..FIRST
                },
                "bounds in a schema",
            ),
            (
                "failed to parse grammar: number of repetitions exceeds sane defaults",
                Dialect {
                    bounds: SchemaBounds::None,
                    ..FIRST
                },
                "bounds in a schema",
            ),
            (
                "the specified schema produces a constraint that has too many states for serving.",
                Dialect {
                    bounds: SchemaBounds::None,
                    ..FIRST
                },
                "bounds in a schema",
            ),
            (
                "bad request",
                Dialect {
                    structured: Structured::JsonObject,
                    ..FIRST
                },
                "json_schema",
            ),
        ] {
            assert_eq!(
                FIRST.without(&wordings, said, true),
                Some((left, what)),
                "{said}"
            );
        }
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
