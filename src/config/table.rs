//! Every setting: one row each. Help, `doctor`, `.env.example`, the reference page and the reading of its value
//! are made from the row; what it sets is a field of [`Settings`].
//!
//! A row: the name, what it takes and the field that it sets, what holds while it is not set, and what it does.

use std::time::Duration;

use super::environment::{CONFIG_DIR, DATA_DIR, Environment, LOG, SOURCE};
use super::setting::Kind::{
    Address, AnsweringModel, Certificates, Filter, Headers, Number, OcrLanguages, OneOf, Patterns,
    Secret, SpacedText, Store, Switch, Text, Theme, Whole,
};
use super::setting::Unset::{As, Means, To};
use super::setting::{PLAIN_HTTP_HOSTS, Setting, row};
use super::settings::{EmbeddingSettings, EndpointConfig, Settings, StoreSettings};
use crate::domain::{DecidedBy, Languages};

/// Settings that are about the same.
pub struct Group {
    /// What they are about.
    pub title: &'static str,
    /// The settings.
    pub settings: &'static [Setting],
}

/// Every setting there is.
pub fn settings() -> impl Iterator<Item = &'static Setting> {
    GROUPS.iter().flat_map(|group| group.settings)
}

/// The setting of that name.
pub(super) fn setting(name: &str) -> Option<&'static Setting> {
    settings().find(|one| one.name == name)
}

/// Whether `.env` of the working folder may not set it: a setting for the user alone, or what stands in for one.
pub(super) fn is_for_user_alone(name: &str) -> bool {
    let is_it = |one: &Setting| one.name == name || matches!(one.unset, As(other) if other == name);
    settings().any(|one| is_it(one) && !one.folder)
}

pub(super) const LLM_BASE_URL: &str = "KB_AGENT_LLM_BASE_URL";
pub(super) const INCLUDE: &str = "KB_AGENT_INCLUDE";
pub(super) const AUDIT_LOG: &str = "KB_AGENT_AUDIT_LOG";
const EMBEDDING_BASE_URL: &str = "KB_AGENT_EMBEDDING_BASE_URL";
const CHAT: &[&str] = &[LLM_BASE_URL];
const EMBEDDING: &[&str] = &[EMBEDDING_BASE_URL];
const STORE: &[&str] = &["KB_AGENT_STORE_URL"];
const COLLECTOR: &[&str] = &["KB_AGENT_OTLP_ENDPOINT"];

const MODEL: &str = "Model for this job; built-in is the engine of the program itself.";
const TEMPERATURE: &str = "Temperature of this job.";
const MAX_TOKENS: &str = "Tokens after which a reply of this job ends, thinking included.";

fn chat(settings: &mut Settings) -> &mut EndpointConfig {
    settings.llm.get_or_insert_default()
}

fn embedding(settings: &mut Settings) -> &mut EmbeddingSettings {
    settings.embedding.get_or_insert_default()
}

fn store(settings: &mut Settings) -> &mut StoreSettings {
    settings.store.get_or_insert_default()
}

/// `none` is no prefix, where an empty value is none of the user's.
fn prefix(text: &str) -> String {
    match text.trim() {
        "none" => String::new(),
        _ => text.replace("\\n", "\n"),
    }
}

/// All settings by what they are about.
#[rustfmt::skip]
pub static GROUPS: &[Group] = &[
    Group { title: "Chat endpoint", settings: &[
        row(LLM_BASE_URL, Address(|s, url| chat(s).base_url = url), Means("offline"),
            "Root of an OpenAI-compatible chat endpoint, such as http://localhost:11434/v1 (Ollama), http://localhost:8080/v1 \
             (llama.cpp) or https://api.openai.com/v1. Without it kb-agent is offline: learned weights route, extracts answer, no \
             network is used."),
        row("KB_AGENT_LLM_API_KEY", Secret(1, |s, key| chat(s).api_key = Some(key)), Means("not set"),
            "Key of the endpoint, sent as a bearer token or as the kind of server wants it. Never printed, never logged.").needs(CHAT),
        row("KB_AGENT_LLM_MODEL", Text("a model's name", |s, name| chat(s).model = Some(name)), Means("the first listed that chats"),
            "Model for every job that has none of its own.").needs(CHAT).idle(|set| {
                let has_own = |job| set.get(&format!("KB_AGENT_LLM_MODEL_{job}")).is_some();
                let has_all = ["ANALYZE", "PLAN", "GRADE", "SYNTHESIZE"].into_iter().all(has_own);
                has_all.then_some("every job has a model of its own")
            }),
        row("KB_AGENT_LLM_TIMEOUT_SECS", Whole([1, 3600], |s, seconds| chat(s).timeout = Duration::from_secs(seconds)), To("60"),
            "Seconds without a byte received that are an error. So is ten times as long for one whole reply; for a stream, without a \
             word.").needs(CHAT),
        row("KB_AGENT_LLM_RETRIES", Whole([0, 10], |s, n| chat(s).retries = Some(n as u32)), To("3"),
            "Times a request is repeated after 408, 409, 425, 429, 5xx, or a connection that broke or was refused.").needs(CHAT),
        row("KB_AGENT_LLM_SERVER", Text("a name of the servers' table", |s, name| chat(s).server = Some(name)), Means("by its address"),
            "Kind of server: openai, azure, anthropic, gemini, openrouter, deepseek, mistral, ollama, lmstudio, litellm, vllm, \
             llama.cpp, jan, text-generation-webui, koboldcpp, other, or a name of your own servers.toml.").needs(CHAT),
        row("KB_AGENT_LLM_DISCOVER", Switch(|s, is_on| s.local = is_on.then(Box::default)), To("1"),
            "While no endpoint is set, the screen asks the usual ports of this machine for their models (Ollama, LM Studio, llama.cpp, \
             vLLM, Jan, text-generation-webui, KoboldCpp), so that /model can offer them. No other machine is asked, and nothing is \
             sent but the request for the list. 0 turns it off."),
        row("KB_AGENT_LLM_CONTEXT_TOKENS", Whole([1024, 10_000_000], |s, n| chat(s).context_tokens = Some(n as usize)),
            Means("what the server lists"),
            "Tokens that the model reads; evidence and conversation are kept within them. Where neither this nor the server says, \
             about 15000 tokens of evidence and 2000 of conversation are sent, and trimmed when the server refuses them.").needs(CHAT),
        row("KB_AGENT_LLM_DECIDES", OneOf(&["auto", "model", "built-in"], |s, who| chat(s).decides = match who {
                "model" => Some(DecidedBy::Model),
                "built-in" => Some(DecidedBy::BuiltIn),
                _ => None,
            }), To("auto"),
            "Who reads the question, plans the search and grades what was found: the model, or the built-in engine, which takes \
             milliseconds. auto is built-in below 8 billion parameters, or where the first judgement takes longer than 10 \
             seconds.").needs(CHAT),
        row("KB_AGENT_EVIDENCE_TOKENS", Whole([100, 1_000_000], |s, n| chat(s).evidence_tokens = Some(n as usize)),
            Means("600 below 4 billion parameters, 1500 up to 14, else 4000"),
            "About how many tokens of evidence a model writes an answer from: the blocks that are most likely to answer. A small model \
             reads some 60 tokens a second on two cores.").needs(CHAT),
        row("KB_AGENT_LLM_CA", Certificates(|s, authorities| {
                chat(s).authorities.clone_from(&authorities);
                embedding(s).authorities = authorities;
            }), Means("the system's authorities"),
            "PEM file with authorities of your own, trusted beside the system's by the chat and the embedding endpoint.")
            .needs(&[LLM_BASE_URL, EMBEDDING_BASE_URL]),
        row("KB_AGENT_LLM_MODEL_ANALYZE", Text("a model's name, or built-in", |s, name| chat(s).analyze.model = Some(name)),
            Means("as for all"), MODEL).needs(CHAT),
        row("KB_AGENT_LLM_TEMPERATURE_ANALYZE", Number([0.0, 2.0], |s, t| chat(s).analyze.temperature = Some(t)), To("0"),
            TEMPERATURE).needs(CHAT),
        row("KB_AGENT_LLM_MAX_TOKENS_ANALYZE", Whole([16, 1_000_000], |s, n| chat(s).analyze.max_tokens = Some(n as u32)),
            Means("800; 4096 more for a model that thinks"), MAX_TOKENS).needs(CHAT),
        row("KB_AGENT_LLM_MODEL_PLAN", Text("a model's name, or built-in", |s, name| chat(s).plan.model = Some(name)),
            Means("as for all"), MODEL).needs(CHAT),
        row("KB_AGENT_LLM_TEMPERATURE_PLAN", Number([0.0, 2.0], |s, t| chat(s).plan.temperature = Some(t)), To("0"),
            TEMPERATURE).needs(CHAT),
        row("KB_AGENT_LLM_MAX_TOKENS_PLAN", Whole([16, 1_000_000], |s, n| chat(s).plan.max_tokens = Some(n as u32)),
            Means("1000; 4096 more for a model that thinks"), MAX_TOKENS).needs(CHAT),
        row("KB_AGENT_LLM_MODEL_GRADE", Text("a model's name, or built-in", |s, name| chat(s).grade.model = Some(name)),
            Means("as for all"), MODEL).needs(CHAT),
        row("KB_AGENT_LLM_TEMPERATURE_GRADE", Number([0.0, 2.0], |s, t| chat(s).grade.temperature = Some(t)), To("0"),
            TEMPERATURE).needs(CHAT),
        row("KB_AGENT_LLM_MAX_TOKENS_GRADE", Whole([16, 1_000_000], |s, n| chat(s).grade.max_tokens = Some(n as u32)),
            Means("128 and 16 an item; 4096 more for a model that thinks"), MAX_TOKENS).needs(CHAT),
        row("KB_AGENT_LLM_MODEL_SYNTHESIZE", AnsweringModel(|s, name| chat(s).synthesize.model = Some(name)),
            Means("as for all"), "Model for this job; the built-in engine does not write answers beside a model.").needs(CHAT),
        row("KB_AGENT_LLM_TEMPERATURE_SYNTHESIZE", Number([0.0, 2.0], |s, t| chat(s).synthesize.temperature = Some(t)), To("0.2"),
            TEMPERATURE).needs(CHAT),
        row("KB_AGENT_LLM_MAX_TOKENS_SYNTHESIZE", Whole([16, 1_000_000], |s, n| chat(s).synthesize.max_tokens = Some(n as u32)),
            Means("8192; small talk ends after 300"), MAX_TOKENS).needs(CHAT),
    ] },
    Group { title: "Embedding", settings: &[
        row("KB_AGENT_EMBEDDING", OneOf(&["auto", "english", "multilingual"], |s, which| s.embedding_languages = match which {
                "english" => Some(Languages::English),
                "multilingual" => Some(Languages::All),
                _ => None,
            }), To("auto"),
            "The built-in embedding model: english (better for English), multilingual, or auto (chosen by the language of the files). A \
             change embeds everything again.").idle(|set| {
                let is_idle = set.get(EMBEDDING_BASE_URL).is_some() && set.get("KB_AGENT_EMBEDDING") != Some("auto");
                is_idle.then_some("the endpoint embeds")
            }),
    ] },
    Group { title: "Embedding endpoint", settings: &[
        row(EMBEDDING_BASE_URL, Address(|s, url| embedding(s).base_url = url), Means("the built-in model"),
            "Root of an OpenAI-style endpoint that answers /embeddings, such as http://localhost:11434/v1. The text of every passage is \
             sent there. Without it the built-in model embeds and nothing is sent. Another model embeds everything again."),
        row("KB_AGENT_EMBEDDING_API_KEY", Secret(1, |s, key| embedding(s).api_key = Some(key)), Means("not set"),
            "Bearer token for the embedding endpoint. Never printed, never logged.").needs(EMBEDDING),
        row("KB_AGENT_EMBEDDING_MODEL", Text("a model's name", |s, name| embedding(s).model = Some(name)),
            Means("the first listed that embeds"),
            "Embedding model. Without it the first listed model whose name is that of an embedding model is used, else the first \
             listed.").needs(EMBEDDING),
        row("KB_AGENT_EMBEDDING_QUERY_PREFIX", SpacedText("a text, or none", |s, text| embedding(s).query_prefix = Some(prefix(&text))),
            Means("what the model is known to want"),
            "Text before each question, for models that were trained with one. Spaces at its ends count, so quote it (\"query: \"); \\n \
             is a new line; none is no text. The built-in table knows e5, nomic, bge, qwen3-embedding and others by name.").needs(EMBEDDING),
        row("KB_AGENT_EMBEDDING_PASSAGE_PREFIX", SpacedText("a text, or none", |s, text| embedding(s).passage_prefix = Some(prefix(&text))),
            Means("what the model is known to want"),
            "Text before each passage, written likewise. Another one embeds everything again.").needs(EMBEDDING),
    ] },
    Group { title: "Keys", settings: &[
        row(PLAIN_HTTP_HOSTS, Text("names of hosts, separated by commas", |_, _| {}), Means("no host but this machine"),
            "Hosts that may get a key over plain http://, where anyone on the way can read it. Write the names as in the address."),
    ] },
    Group { title: "Knowledge base", settings: &[
        row(SOURCE, Text("folders or files, separated as in PATH", |s, paths| s.sources = std::env::split_paths(&paths).collect()),
            Means("the bundled demo"),
            "The knowledge base: folders or files. PATH arguments and --kb win over it."),
        row(INCLUDE, Patterns(|s, patterns| s.include = patterns), Means("no file of secrets"),
            "Files to read although they are hidden or their names say that they hold secrets."),
        row("KB_AGENT_OCR", OcrLanguages(|s, languages| s.ocr = languages), To("0"),
            "1 or languages: ocrmypdf recognises the text of scans and tesseract that of pictures, where they are installed. Files \
             that are indexed already need index --rebuild."),
        row(DATA_DIR, Text("a folder", |s, path| s.data_dir = path.into()), Means("the platform's data folder"),
            "Folder of the index, the audit log and the diagnostics; on Linux ~/.local/share/kb-agent. --data-dir wins over it."),
        row(CONFIG_DIR, Text("a folder", |s, path| s.config_dir = Some(path.into())), Means("the platform's configuration folder"),
            "Folder of your .env, prompts/*.md, prices.toml, servers.toml, errors.toml, replies.toml, embedding.toml, themes/*.toml and \
             keymap.toml, which win over the built-in ones; on Linux ~/.config/kb-agent. A file of 'eval run --settings' may set it: \
             prompts are compared so."),
    ] },
    Group { title: "Routing", settings: &[
        row("KB_AGENT_MAX_ITERATIONS", Whole([1, 10], |s, n| s.limits.max_iterations = n as u32), To("3"),
            "Gradings a question may have before it is answered with the evidence at hand.").in_folder(),
        row("KB_AGENT_KEEP_FROM", Number([0.0, 1.0], |s, share| s.limits.thresholds.keep_from = share), To("0.3"),
            "Evidence with a lower grade is dropped. When the average grade is lower, the search begins anew (RE_RETRIEVE).").in_folder(),
        row("KB_AGENT_SUFFICIENT_FROM", Number([0.0, 1.0], |s, share| s.limits.thresholds.sufficient_from = share), To("0.7"),
            "From this average grade on, the evidence is answered from (GENERATE); below it the search is refined (REFINE).").in_folder(),
        row("KB_AGENT_VECTOR_SCORE_THRESHOLD", Number([0.0, 1.0], |s, share| s.limits.vector_score_threshold = share), To("0.8"),
            "Evidence that comes only from vector_search and scores at least this is not graded. It counts where a model plans: \
             the built-in engine always searches by words, too.").needs(CHAT).in_folder().idle(|set| {
                is_left_to(set, "PLAN", "built-in").then_some("the built-in engine plans, and searches by words, too")
            }),
        row("KB_AGENT_AUTO_APPROVE_MAX_ITEMS", Whole([0, 100], |s, n| s.limits.auto_approve_max_items = n as usize), To("2"),
            "Up to this many items of evidence are not graded; 0 turns the rule off.").in_folder(),
        row("KB_AGENT_CHITCHAT_THRESHOLD", Number([0.01, 1.0], |s, share| s.limits.router.chitchat = Some(share)),
            Means("0.8 in English, 0.9 in Chinese"),
            "Where the built-in engine routes, a message that is small talk with at least this probability is not searched for, unless \
             the documents speak of it, or it asks for something or is nothing but a noun or two. In other languages a list of phrases \
             decides. 'kb-agent eval routing' shows what each threshold does. Where a model routes it does nothing.").in_folder()
            .idle(|set| is_left_to(set, "ANALYZE", "model").then_some("a model routes")),
        row("KB_AGENT_COMPLEX_THRESHOLD", Number([0.01, 1.0], |s, share| s.limits.router.complex = Some(share)),
            Means("0.5 in English, 0.6 in Chinese"),
            "Where the built-in engine routes, a question that needs several searches with at least this probability is graded. \
             Comparisons and several questions at once always are. Where a model routes it does nothing.").in_folder()
            .idle(|set| is_left_to(set, "ANALYZE", "model").then_some("a model routes")),
    ] },
    Group { title: "Logs", settings: &[
        row(AUDIT_LOG, Text("a file", |s, path| s.audit_log = path.into()), Means("audit.jsonl in the data folder"),
            "The audit log: every event of every run, one JSON object a line, secrets masked, mode 0600. Name a new file, or one that is \
             an audit log already."),
        row("KB_AGENT_AUDIT_KEEP_MB", Whole([1, 1_000_000], |s, n| s.audit_keep_bytes = n << 20), To("512"),
            "Megabytes of the audit log that are kept; the oldest parts beyond that are removed."),
        row("KB_AGENT_AUDIT_PROMPTS", Switch(|s, is_on| s.audit_prompts = is_on), To("0"),
            "1: prompts and replies of model calls go to the audit log and to 'ask --json', secrets masked. 0: only the screen shows \
             them."),
        row(LOG, Filter(|s, filter| s.log_filter = filter), To("info"),
            "Diagnostics filter for logs/ in the data folder. -v wins over it."),
    ] },
    Group { title: "Screen", settings: &[
        row("KB_AGENT_THEME", Theme(|s, name| s.theme = name), To("auto"),
            "Colours of the screen. auto follows the terminal's background. NO_COLOR turns colours off.").in_folder().idle(|set| {
                let is_idle = set.get("NO_COLOR").is_some() && set.get("KB_AGENT_THEME") != Some("mono");
                is_idle.then_some("NO_COLOR takes the colours away")
            }),
        row("KB_AGENT_MOUSE", OneOf(&["on", "off"], |s, word| s.mouse = word == "on"), To("on"),
            "off leaves the mouse to the terminal, which then selects text. m on the screen switches.").in_folder(),
    ] },
    Group { title: "Shared store", settings: &[
        row("KB_AGENT_STORE_URL", Store(|s, url| store(s).url = url), Means("the data folder"),
            "PostgreSQL with pgvector instead of the index in the data folder: postgres://USER@HOST/DATABASE?space=NAME. All text that \
             is indexed goes there. Run 'kb-agent store init' once."),
        row("KB_AGENT_STORE_PASSWORD", Secret(1, |s, password| store(s).password = Some(password)), Means("not set"),
            "Password of that user. Never printed, never logged.").needs(STORE),
        row("KB_AGENT_STORE_CA", Text("a certificate file", |s, path| store(s).ca = Some(path.into())), Means("the system's authorities"),
            "PEM file with the authority that signs the server's certificate.").needs(STORE),
    ] },
    Group { title: "Other programs", settings: &[
        row("KB_AGENT_OTLP_ENDPOINT", Address(|s, url| s.otlp_endpoint = Some(url)), Means("not set"),
            "OpenTelemetry collector that gets each finished run as a trace, such as http://localhost:4318 (OTLP over HTTP). Questions, \
             answers, prompts and passages go along only with KB_AGENT_AUDIT_PROMPTS=1, secrets masked."),
        row("KB_AGENT_OTLP_HEADERS", Headers(|s, headers| s.otlp_headers = headers), As("OTEL_EXPORTER_OTLP_HEADERS"),
            "Headers that go to the collector with each trace, such as Authorization=Basic%20cGs6c2s=, separated by commas; %20 is a \
             space and %2C a comma. Never printed, never logged.").needs(COLLECTOR),
        row("KB_AGENT_MCP_TOKEN", Secret(16, |s, token| s.mcp_token = Some(token)), Means("made and printed at each start"),
            "What clients of 'kb-agent mcp --http' send as a bearer token. A token that you set is never printed or logged."),
    ] },
];

/// Whether a job is surely done by the model, or by the built-in engine, while there is an endpoint.
fn is_left_to(set: &Environment, job: &str, who: &str) -> bool {
    let own = set.get(&format!("KB_AGENT_LLM_MODEL_{job}"));
    let by_job = own.map(|name| if name == "built-in" { name } else { "model" });
    let decides = by_job.or_else(|| set.get("KB_AGENT_LLM_DECIDES"));
    set.get(LLM_BASE_URL).is_some() && decides == Some(who)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_says_what_it_takes_and_does_and_needs_only_settings() {
        assert!(settings().count() > 40);
        for one in settings() {
            assert!(one.name.starts_with("KB_AGENT_") && !one.allowed().is_empty());
            assert!(one.help.ends_with('.'), "{}: {}", one.name, one.help);
            let is_known = |name: &&str| setting(name).is_some();
            assert!(one.needs.iter().all(is_known), "{}", one.name);
        }
    }
}
