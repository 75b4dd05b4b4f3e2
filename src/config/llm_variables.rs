//! The names of the chat endpoint's settings.

use super::variable::{Variable, reaching, variable};

pub(super) const BASE_URL: Variable = reaching("KB_AGENT_LLM_BASE_URL", "an http or https address");
pub(super) const API_KEY: Variable =
    reaching("KB_AGENT_LLM_API_KEY", "printable ASCII without spaces");
pub(super) const MODEL: Variable = reaching("KB_AGENT_LLM_MODEL", "a model's name");
pub(super) const TIMEOUT: Variable = variable(
    "KB_AGENT_LLM_TIMEOUT_SECS",
    "a number of seconds from 1 to 3600",
);
pub(super) const RETRIES: Variable =
    variable("KB_AGENT_LLM_RETRIES", "a whole number from 0 to 10");
pub(super) const SERVER: Variable = reaching("KB_AGENT_LLM_SERVER", "a name of the servers' table");
pub(super) const CONTEXT: Variable = variable(
    "KB_AGENT_LLM_CONTEXT_TOKENS",
    "a whole number from 1024 to 10000000",
);

/// It is for the embedding endpoint too. It reaches out: it says who is taken for a server.
pub(super) const CA: Variable = reaching("KB_AGENT_LLM_CA", "a certificate file");

/// The three variables of a job.
pub(super) struct JobVariables {
    pub(super) model: Variable,
    pub(super) temperature: Variable,
    pub(super) max_tokens: Variable,
}

const TEMPERATURE: &str = "a number from 0 to 2";
const MAX_TOKENS: &str = "a whole number from 16 to 1000000";

pub(super) const ANALYZE: JobVariables = JobVariables {
    model: reaching("KB_AGENT_LLM_MODEL_ANALYZE", "a model's name"),
    temperature: variable("KB_AGENT_LLM_TEMPERATURE_ANALYZE", TEMPERATURE),
    max_tokens: variable("KB_AGENT_LLM_MAX_TOKENS_ANALYZE", MAX_TOKENS),
};
pub(super) const PLAN: JobVariables = JobVariables {
    model: reaching("KB_AGENT_LLM_MODEL_PLAN", "a model's name"),
    temperature: variable("KB_AGENT_LLM_TEMPERATURE_PLAN", TEMPERATURE),
    max_tokens: variable("KB_AGENT_LLM_MAX_TOKENS_PLAN", MAX_TOKENS),
};
pub(super) const GRADE: JobVariables = JobVariables {
    model: reaching("KB_AGENT_LLM_MODEL_GRADE", "a model's name"),
    temperature: variable("KB_AGENT_LLM_TEMPERATURE_GRADE", TEMPERATURE),
    max_tokens: variable("KB_AGENT_LLM_MAX_TOKENS_GRADE", MAX_TOKENS),
};
pub(super) const SYNTHESIZE: JobVariables = JobVariables {
    model: reaching("KB_AGENT_LLM_MODEL_SYNTHESIZE", "a model's name"),
    temperature: variable("KB_AGENT_LLM_TEMPERATURE_SYNTHESIZE", TEMPERATURE),
    max_tokens: variable("KB_AGENT_LLM_MAX_TOKENS_SYNTHESIZE", MAX_TOKENS),
};

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
