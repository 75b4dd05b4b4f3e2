//! One endpoint that speaks the OpenAI protocol, for chat and for embeddings.
//!
//! [`Endpoint`] sends requests, [`ChatReply`] reads what streams back, and [`Failure`] is what went
//! wrong as one clear line, with what may help ([`Fault`]). Servers differ: how they are first spoken
//! to, how they say what they refuse and what their tokens cost is data in `assets/llm`. Whoever asks
//! decides what to leave out, how often to ask again and what to make of a reply:
//!
//! ```ignore
//! let endpoint = Endpoint::new(address, Purpose::Chat, None, &Tables::read(folder)?)?;
//! let mut reply = endpoint.chat(&body, tokens, &context).await?;
//! while let Some(piece) = reply.next().await? { /* piece.text, piece.thought */ }
//! ```

mod address;
mod body;
mod chat;
mod chunk;
mod embeddings;
mod endpoint;
mod fault;
mod lines;
mod local;
mod models;
mod prices;
mod retries;
mod retry_after;
mod server;
mod tokens;
mod waits;
mod wordings;

pub use address::{Address, Variables, is_this_machine};
#[cfg(any(test, fuzzing))]
pub use body::Body;
pub use chat::{ChatEnd, ChatReply, Piece};
pub use embeddings::mixed as mixed_lengths;
pub use endpoint::{CallContext, Endpoint, Tables};
pub use fault::{Failure, FailureKind, Fault, Purpose, Site};
pub use local::{LocalServer, local_servers};
pub use models::{ListedModel, ModelUse};
pub use prices::Prices;
pub use retries::Retries;
pub use retry_after::retry_after;
pub use server::{LimitField, SchemaBounds, Server, Structured, UsageInStream};
pub use tokens::{estimate, weight as token_weight};
pub use waits::CallWaits;
pub use wordings::{ErrorKind, Sizes, Wordings};

#[cfg(test)]
const LLM: Variables = Variables {
    base_url: "KB_AGENT_LLM_BASE_URL",
    api_key: Some("KB_AGENT_LLM_API_KEY"),
    model: Some("KB_AGENT_LLM_MODEL"),
};
