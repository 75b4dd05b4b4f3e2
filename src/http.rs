//! One endpoint over HTTP, whatever is asked of it.
//!
//! The chat endpoint and the embedding endpoint belong to rooms that do not see each other. What
//! they have in common stands below both: an address and a key from the settings, a client with
//! the same limits of patience, and what went wrong as one clear line. The rooms add what is said.

mod failure;
mod model_size;
mod patience;
mod shapes;
mod site;

pub use failure::is_turned_away;
pub use model_size::billions_by_name;
pub use patience::{backoff, reconnecting, response_timeout, retry_after};
pub use shapes::{ListedModel, ModelUse, error_message, models};
pub use site::{Site, Variables, is_this_machine};

#[cfg(test)]
const LLM: Variables = Variables {
    base_url: "KB_AGENT_LLM_BASE_URL",
    api_key: Some("KB_AGENT_LLM_API_KEY"),
    model: Some("KB_AGENT_LLM_MODEL"),
};
