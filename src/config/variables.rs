//! The names of all settings.

use super::llm_variables;
use super::variable::{Variable, reaching, variable};

/// Every setting there is.
pub fn variables() -> impl Iterator<Item = Variable> {
    llm_variables::VARIABLES.into_iter().chain(OWN)
}

const OWN: [Variable; 24] = [
    EMBEDDING,
    EMBEDDING_BASE_URL,
    EMBEDDING_MODEL,
    EMBEDDING_API_KEY,
    EMBEDDING_QUERY_PREFIX,
    EMBEDDING_PASSAGE_PREFIX,
    PLAIN_HTTP_HOSTS,
    SOURCE,
    INCLUDE,
    OCR,
    DATA_DIR,
    CONFIG_DIR,
    STORE_URL,
    STORE_PASSWORD,
    STORE_CA,
    MAX_ITERATIONS,
    VECTOR_THRESHOLD,
    AUTO_APPROVE,
    AUDIT_LOG,
    AUDIT_KEEP,
    AUDIT_PROMPTS,
    LOG,
    THEME,
    MOUSE,
];

/// The built-in model by what a base is written in.
pub(super) const EMBEDDING: Variable =
    variable("KB_AGENT_EMBEDDING", "auto, english or multilingual");
pub(super) const EMBEDDING_BASE_URL: Variable =
    reaching("KB_AGENT_EMBEDDING_BASE_URL", "an http or https address");
pub(super) const EMBEDDING_MODEL: Variable = reaching("KB_AGENT_EMBEDDING_MODEL", "a model's name");
pub(super) const EMBEDDING_API_KEY: Variable = reaching(
    "KB_AGENT_EMBEDDING_API_KEY",
    "printable ASCII without spaces",
);
pub(super) const EMBEDDING_QUERY_PREFIX: Variable =
    reaching("KB_AGENT_EMBEDDING_QUERY_PREFIX", PREFIX);
/// It reaches out: another one has all text sent to the server again.
pub(super) const EMBEDDING_PASSAGE_PREFIX: Variable =
    reaching("KB_AGENT_EMBEDDING_PASSAGE_PREFIX", PREFIX);
const PREFIX: &str = "a text, or none";
/// Settings whose values are taken with the spaces at their ends.
pub(super) const WITH_SPACES: [&str; 2] =
    [EMBEDDING_QUERY_PREFIX.name, EMBEDDING_PASSAGE_PREFIX.name];
pub(super) const PLAIN_HTTP_HOSTS: Variable = reaching(
    "KB_AGENT_PLAIN_HTTP_HOSTS",
    "names of hosts, separated by commas",
);
pub(super) const SOURCE: Variable =
    reaching("KB_AGENT_SOURCE", "folders or files, separated as in PATH");
/// It reaches out: it makes files of secrets part of what is read.
pub(super) const INCLUDE: Variable = reaching(
    "KB_AGENT_INCLUDE",
    "patterns of files such as *.env, separated as in PATH",
);
/// It reaches out: it starts other programs.
pub(super) const OCR: Variable = reaching(
    "KB_AGENT_OCR",
    "0, 1, or languages of tesseract such as deu+eng",
);
pub(super) const DATA_DIR: Variable = reaching("KB_AGENT_DATA_DIR", "a folder");
pub(super) const CONFIG_DIR: Variable = reaching("KB_AGENT_CONFIG_DIR", "a folder");
pub(super) const STORE_URL: Variable = reaching(
    "KB_AGENT_STORE_URL",
    "an address such as postgres://USER@HOST/DATABASE",
);
pub(super) const STORE_PASSWORD: Variable =
    reaching("KB_AGENT_STORE_PASSWORD", "printable ASCII without spaces");
pub(super) const STORE_CA: Variable = reaching("KB_AGENT_STORE_CA", "a certificate file");
pub(super) const MAX_ITERATIONS: Variable =
    variable("KB_AGENT_MAX_ITERATIONS", "a whole number from 1 to 10");
pub(super) const VECTOR_THRESHOLD: Variable =
    variable("KB_AGENT_VECTOR_SCORE_THRESHOLD", "a number from 0 to 1");
pub(super) const AUTO_APPROVE: Variable = variable(
    "KB_AGENT_AUTO_APPROVE_MAX_ITEMS",
    "a whole number from 0 to 100",
);
pub(super) const AUDIT_LOG: Variable = reaching("KB_AGENT_AUDIT_LOG", "a file");
/// It reaches out: a small number has parts of the log removed.
pub(super) const AUDIT_KEEP: Variable =
    reaching("KB_AGENT_AUDIT_KEEP_MB", "a whole number from 1 to 1000000");
/// It reaches out: whole documents are written to the log then.
pub(super) const AUDIT_PROMPTS: Variable = reaching("KB_AGENT_AUDIT_PROMPTS", "0 or 1");
pub(super) const LOG: Variable = variable(
    "KB_AGENT_LOG",
    "a filter such as info, debug or kb_agent=trace",
);
pub(super) const THEME: Variable = variable(
    "KB_AGENT_THEME",
    "one of auto, dark, light, high-contrast, mono, or of a file in themes/ of the configuration folder",
);
pub(super) const MOUSE: Variable = variable("KB_AGENT_MOUSE", "on or off");
