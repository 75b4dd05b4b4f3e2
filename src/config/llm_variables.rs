//! The settings of the chat endpoint.

use super::variable::{Variable, reaching, variable};

pub(super) const BASE_URL: Variable = reaching("KB_AGENT_LLM_BASE_URL", "an http or https address")
    .unset("offline")
    .help(
        "Root of an OpenAI-compatible chat endpoint, such as http://localhost:11434/v1 (Ollama), \
         http://localhost:8080/v1 (llama.cpp) or https://api.openai.com/v1. Without it kb-agent \
         is offline: learned weights route, extracts answer, no network is used.",
    );
pub(super) const API_KEY: Variable =
    reaching("KB_AGENT_LLM_API_KEY", "printable ASCII without spaces").help(
        "Key of the endpoint, sent as a bearer token or as the kind of server wants it. Never \
         printed, never logged.",
    );
pub(super) const MODEL: Variable = reaching("KB_AGENT_LLM_MODEL", "a model's name")
    .unset("the first listed that chats")
    .help("Model for every job that has none of its own.");
pub(super) const TIMEOUT: Variable = variable(
    "KB_AGENT_LLM_TIMEOUT_SECS",
    "a number of seconds from 1 to 3600",
)
.or("60")
.help(
    "No byte received for this long is an error. So is ten times as long for one whole reply; \
     for a stream, without a word.",
);
pub(super) const RETRIES: Variable =
    variable("KB_AGENT_LLM_RETRIES", "a whole number from 0 to 10")
        .or("3")
        .help(
            "Times a request is repeated after 408, 409, 425, 429, 5xx, or a connection that broke \
             or was refused.",
        );
pub(super) const SERVER: Variable = reaching("KB_AGENT_LLM_SERVER", "a name of the servers' table")
    .unset("by its address")
    .help(
        "Kind of server: openai, azure, anthropic, gemini, openrouter, deepseek, mistral, ollama, \
         lmstudio, litellm, vllm, llama.cpp, other, or a name of your own servers.toml.",
    );
pub(super) const CONTEXT: Variable = variable(
    "KB_AGENT_LLM_CONTEXT_TOKENS",
    "a whole number from 1024 to 10000000",
)
.unset("what the server lists")
.help(
    "Tokens that the model reads; evidence and conversation are kept within them. Where neither \
     this nor the server says, about 15000 tokens of evidence and 2000 of conversation are sent, \
     and trimmed when the server refuses them.",
);

/// It reaches out: it says who is taken for a server.
pub(super) const CA: Variable = reaching("KB_AGENT_LLM_CA", "a certificate file")
    .unset("the system's authorities")
    .help(
        "PEM file with authorities of your own, trusted beside the system's by the chat and the \
         embedding endpoint.",
    );

/// The three variables of a job.
pub(super) struct JobVariables {
    pub(super) model: Variable,
    pub(super) temperature: Variable,
    pub(super) max_tokens: Variable,
}

/// The variables of a job with the names of its model, temperature and limit of tokens.
const fn job(
    names: [&'static str; 3],
    temperature: &'static str,
    tokens: &'static str,
) -> JobVariables {
    JobVariables {
        model: reaching(names[0], "a model's name")
            .unset("as for all")
            .help("Model for this job. A small one routes and grades well."),
        temperature: variable(names[1], "a number from 0 to 2")
            .or(temperature)
            .help("Temperature of this job."),
        max_tokens: variable(names[2], "a whole number from 16 to 1000000")
            .unset(tokens)
            .help("Tokens after which a reply of this job ends, thinking included."),
    }
}

pub(super) const ANALYZE: JobVariables = job(
    [
        "KB_AGENT_LLM_MODEL_ANALYZE",
        "KB_AGENT_LLM_TEMPERATURE_ANALYZE",
        "KB_AGENT_LLM_MAX_TOKENS_ANALYZE",
    ],
    "0",
    "800; 4096 more for a model that thinks",
);
pub(super) const PLAN: JobVariables = job(
    [
        "KB_AGENT_LLM_MODEL_PLAN",
        "KB_AGENT_LLM_TEMPERATURE_PLAN",
        "KB_AGENT_LLM_MAX_TOKENS_PLAN",
    ],
    "0",
    "1000; 4096 more for a model that thinks",
);
pub(super) const GRADE: JobVariables = job(
    [
        "KB_AGENT_LLM_MODEL_GRADE",
        "KB_AGENT_LLM_TEMPERATURE_GRADE",
        "KB_AGENT_LLM_MAX_TOKENS_GRADE",
    ],
    "0",
    "128 and 16 an item; 4096 more for a model that thinks",
);
pub(super) const SYNTHESIZE: JobVariables = job(
    [
        "KB_AGENT_LLM_MODEL_SYNTHESIZE",
        "KB_AGENT_LLM_TEMPERATURE_SYNTHESIZE",
        "KB_AGENT_LLM_MAX_TOKENS_SYNTHESIZE",
    ],
    "0.2",
    "8192; small talk ends after 300",
);

/// Every setting of this page.
pub(super) const VARIABLES: [Variable; 20] = [
    BASE_URL,
    API_KEY,
    MODEL,
    TIMEOUT,
    RETRIES,
    SERVER,
    CONTEXT,
    CA,
    ANALYZE.model,
    ANALYZE.temperature,
    ANALYZE.max_tokens,
    PLAN.model,
    PLAN.temperature,
    PLAN.max_tokens,
    GRADE.model,
    GRADE.temperature,
    GRADE.max_tokens,
    SYNTHESIZE.model,
    SYNTHESIZE.temperature,
    SYNTHESIZE.max_tokens,
];

/// The variables of the jobs' models.
pub(super) fn job_models() -> impl Iterator<Item = &'static str> {
    [ANALYZE, PLAN, GRADE, SYNTHESIZE]
        .into_iter()
        .map(|of| of.model.name)
}
