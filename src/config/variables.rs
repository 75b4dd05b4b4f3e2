//! All settings, in the groups of `.env.example` and of the reference page.

use super::llm_variables;
use super::variable::{Variable, reaching, variable};

/// Every setting there is.
pub fn variables() -> impl Iterator<Item = Variable> {
    GROUPS
        .iter()
        .flat_map(|(_, variables)| variables.iter().copied())
}

/// The settings by what they are about, each group with its title.
pub const GROUPS: [(&str, &[Variable]); 9] = [
    ("Chat endpoint", &llm_variables::VARIABLES),
    ("Embedding", &[EMBEDDING]),
    (
        "Embedding endpoint",
        &[
            EMBEDDING_BASE_URL,
            EMBEDDING_API_KEY,
            EMBEDDING_MODEL,
            EMBEDDING_QUERY_PREFIX,
            EMBEDDING_PASSAGE_PREFIX,
        ],
    ),
    ("Keys", &[PLAIN_HTTP_HOSTS]),
    (
        "Knowledge base",
        &[SOURCE, INCLUDE, OCR, DATA_DIR, CONFIG_DIR],
    ),
    ("Routing", &[MAX_ITERATIONS, VECTOR_THRESHOLD, AUTO_APPROVE]),
    ("Logs", &[AUDIT_LOG, AUDIT_KEEP, AUDIT_PROMPTS, LOG]),
    ("Screen", &[THEME, MOUSE]),
    ("Shared store", &[STORE_URL, STORE_PASSWORD, STORE_CA]),
];

pub(super) const EMBEDDING: Variable =
    variable("KB_AGENT_EMBEDDING", "auto, english or multilingual")
        .or("auto")
        .help(
            "The built-in embedding model: english (better for English), multilingual, or auto \
             (chosen by the language of the files). A change embeds everything again.",
        );
pub(super) const EMBEDDING_BASE_URL: Variable =
    reaching("KB_AGENT_EMBEDDING_BASE_URL", "an http or https address")
        .unset("the built-in model")
        .help(
            "Root of an OpenAI-style endpoint that answers /embeddings, such as \
             http://localhost:11434/v1. The text of every passage is sent there. Without it the \
             built-in model embeds and nothing is sent. Another model embeds everything again.",
        );
pub(super) const EMBEDDING_MODEL: Variable = reaching("KB_AGENT_EMBEDDING_MODEL", "a model's name")
    .unset("the first listed that embeds")
    .help(
        "Embedding model. Without it the first listed model whose name is that of an embedding \
         model is used, else the first listed.",
    );
pub(super) const EMBEDDING_API_KEY: Variable = reaching(
    "KB_AGENT_EMBEDDING_API_KEY",
    "printable ASCII without spaces",
)
.help("Bearer token for the embedding endpoint. Never printed, never logged.");
pub(super) const EMBEDDING_QUERY_PREFIX: Variable =
    reaching("KB_AGENT_EMBEDDING_QUERY_PREFIX", PREFIX)
        .unset("what the model is known to want")
        .help(
            "Text before each question, for models that were trained with one. Spaces at its ends \
             count, so quote it (\"query: \"); \\n is a new line; none is no text. The built-in \
             table knows e5, nomic, bge, qwen3-embedding and others by name.",
        );
/// It reaches out: another one has all text sent to the server again.
pub(super) const EMBEDDING_PASSAGE_PREFIX: Variable =
    reaching("KB_AGENT_EMBEDDING_PASSAGE_PREFIX", PREFIX)
        .unset("what the model is known to want")
        .help("Text before each passage, written likewise. Another one embeds everything again.");
const PREFIX: &str = "a text, or none";
/// Settings whose values are taken with the spaces at their ends.
pub(super) const WITH_SPACES: [&str; 2] =
    [EMBEDDING_QUERY_PREFIX.name, EMBEDDING_PASSAGE_PREFIX.name];
pub(super) const PLAIN_HTTP_HOSTS: Variable = reaching(
    "KB_AGENT_PLAIN_HTTP_HOSTS",
    "names of hosts, separated by commas",
)
.unset("no host but this machine")
.help(
    "Hosts that may get a key over plain http://, where anyone on the way can read it. Write the \
     names as in the address. Set it where the key is set.",
);
pub(super) const SOURCE: Variable =
    reaching("KB_AGENT_SOURCE", "folders or files, separated as in PATH")
        .unset("the bundled demo")
        .help("The knowledge base: folders or files. PATH arguments and --kb win over it.");
/// It reaches out: it makes files of secrets part of what is read.
pub(super) const INCLUDE: Variable = reaching(
    "KB_AGENT_INCLUDE",
    "patterns of files such as *.env, separated as in PATH",
)
.unset("no file of secrets")
.help(
    "Files to read although they are hidden or their names say that they hold secrets. In .env \
     of the current folder it applies to files below that folder only.",
);
/// It reaches out: it starts other programs.
pub(super) const OCR: Variable = reaching(
    "KB_AGENT_OCR",
    "0, 1, or languages of tesseract such as deu+eng",
)
.or("0")
.help(
    "1 or languages: ocrmypdf recognises the text of scans and tesseract that of pictures, where \
     they are installed. Files that are indexed already need index --rebuild.",
);
pub(super) const DATA_DIR: Variable = reaching("KB_AGENT_DATA_DIR", "a folder")
    .unset("the platform's data folder")
    .help(
        "Folder of the index, the audit log and the diagnostics; on Linux \
         ~/.local/share/kb-agent. --data-dir wins over it.",
    );
pub(super) const CONFIG_DIR: Variable = reaching("KB_AGENT_CONFIG_DIR", "a folder")
    .unset("the platform's configuration folder")
    .help(
        "Folder of your .env, prompts/*.md, prices.toml, servers.toml, errors.toml, replies.toml, \
         embedding.toml, themes/*.toml and keymap.toml, which win over the built-in ones; on \
         Linux ~/.config/kb-agent.",
    );
pub(super) const STORE_URL: Variable = reaching(
    "KB_AGENT_STORE_URL",
    "an address such as postgres://USER@HOST/DATABASE",
)
.unset("the data folder")
.help(
    "PostgreSQL with pgvector instead of the index in the data folder: \
     postgres://USER@HOST/DATABASE?space=NAME. All text that is indexed goes there. Run 'kb-agent \
     store init' once.",
);
pub(super) const STORE_PASSWORD: Variable =
    reaching("KB_AGENT_STORE_PASSWORD", "printable ASCII without spaces")
        .help("Password of that user. Never printed, never logged.");
pub(super) const STORE_CA: Variable = reaching("KB_AGENT_STORE_CA", "a certificate file")
    .unset("the system's authorities")
    .help("PEM file with the authority that signs the server's certificate.");
pub(super) const MAX_ITERATIONS: Variable =
    variable("KB_AGENT_MAX_ITERATIONS", "a whole number from 1 to 10")
        .or("3")
        .help("Gradings a question may have before it is answered with the evidence at hand.");
pub(super) const VECTOR_THRESHOLD: Variable =
    variable("KB_AGENT_VECTOR_SCORE_THRESHOLD", "a number from 0 to 1")
        .or("0.8")
        .help(
            "Evidence that comes only from vector_search and scores at least this is not graded.",
        );
pub(super) const AUTO_APPROVE: Variable = variable(
    "KB_AGENT_AUTO_APPROVE_MAX_ITEMS",
    "a whole number from 0 to 100",
)
.or("2")
.help("Up to this many items of evidence are not graded; 0 turns the rule off.");
pub(super) const AUDIT_LOG: Variable = reaching("KB_AGENT_AUDIT_LOG", "a file")
    .unset("audit.jsonl in the data folder")
    .help(
        "The audit log: every event of every run, one JSON object a line, secrets masked, mode \
         0600. Name a new file, or one that is an audit log already.",
    );
/// It reaches out: a small number has parts of the log removed.
pub(super) const AUDIT_KEEP: Variable =
    reaching("KB_AGENT_AUDIT_KEEP_MB", "a whole number from 1 to 1000000")
        .or("512")
        .help(
            "Megabytes of the audit log that are kept; the oldest parts beyond that are removed.",
        );
/// It reaches out: whole documents are written to the log then.
pub(super) const AUDIT_PROMPTS: Variable =
    reaching("KB_AGENT_AUDIT_PROMPTS", "0 or 1").or("0").help(
        "1: prompts and replies of model calls go to the audit log and to 'ask --json', secrets \
         masked. 0: only the screen shows them.",
    );
pub(super) const LOG: Variable = variable(
    "KB_AGENT_LOG",
    "a filter such as info, debug or kb_agent=trace",
)
.or("info")
.help("Diagnostics filter for logs/ in the data folder. -v wins over it.");
pub(super) const THEME: Variable = variable(
    "KB_AGENT_THEME",
    "auto, a theme that /theme lists (dark, light, mono …), or a file in themes/ of the configuration folder",
)
.or("auto")
.help(
    "Colours of the screen. auto follows the terminal's background. NO_COLOR turns colours off.",
);
pub(super) const MOUSE: Variable = variable("KB_AGENT_MOUSE", "on or off").or("on").help(
    "off leaves the mouse to the terminal, which then selects text. m on the screen switches.",
);
