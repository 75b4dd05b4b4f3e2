//! One request to a model: what is wanted of it, and the JSON that asks for it.

use serde_json::{Value, json};

use super::dialect::Dialect;
use super::job::{JobSettings, ModelJob};
use super::reply_schema::ReplySchema;
use super::room::Room;
use super::server::Structured;
use super::think::Thinking;
use super::token_counts::estimate;
use super::wire::Message;
use crate::agent::ports::{AnswerSink, CallOrigin, CallWaits};

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
    pub messages: Vec<Message>,
    /// About how many tokens that is.
    pub sent: usize,
    /// How it is said.
    pub dialect: Dialect,
    /// Where the reply ends at the latest.
    pub max_tokens: u32,
    /// Where waiting is reported.
    pub waiting: &'a CallWaits,
}

impl<'a> ModelRequest<'a> {
    /// A request with as much evidence and conversation as has room.
    pub fn new(
        wanted: &'a ReplyRequest<'_>,
        dialect: Dialect,
        room: &Room,
        waiting: &'a CallWaits,
    ) -> Self {
        let messages = (wanted.messages)(room);
        Self {
            wanted,
            sent: tokens_of(&messages),
            messages,
            dialect,
            max_tokens: wanted.max_tokens(dialect),
            waiting,
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
        let written = self
            .messages
            .iter()
            .map(|message| format!("[{}]\n{}", message.role, message.content));
        written.collect::<Vec<_>>().join("\n\n")
    }
}

/// About how many tokens these messages are.
pub fn tokens_of(messages: &[Message]) -> usize {
    let tokens = messages.iter().map(|message| estimate(&message.content));
    tokens.sum()
}
