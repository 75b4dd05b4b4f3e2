use std::path::PathBuf;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use secrecy::SecretString;

use crate::domain::{DecidedBy, Languages, RoutingLimits};
use crate::globs::Inclusion;

/// Every setting, checked.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The chat endpoint; `None` is offline.
    pub llm: Option<EndpointConfig>,
    /// How a server is spoken to that is found on this machine, which only its address and its model
    /// are missing in; `None` where none is looked for.
    pub local: Option<Box<EndpointConfig>>,
    /// The embedding endpoint; `None` is the built-in model.
    pub embedding: Option<EmbeddingSettings>,
    /// The folders and files of the knowledge base; empty is the bundled demo.
    pub sources: Vec<PathBuf>,
    /// Files in them that are read although they are hidden or hold secrets by their names.
    pub include: Inclusion,
    /// The store that is shared with others; `None` is the index in the data folder.
    pub store: Option<StoreSettings>,
    /// What clients of `mcp --http` prove themselves by; `None` makes one at each start.
    pub mcp_token: Option<SecretString>,
    /// The collector that gets finished runs as traces; `None` sends none.
    pub otlp_endpoint: Option<String>,
    /// What goes along to it: names and values of headers.
    pub otlp_headers: Vec<(String, SecretString)>,
    /// The name of these settings where they are measured, for the traces of the runs; no setting of its own.
    pub eval_settings: Option<String>,
    /// Index, audit log, diagnostics.
    pub data_dir: PathBuf,
    /// The user's own prompts, prices and servers, where there are any.
    pub config_dir: Option<PathBuf>,
    /// The audit file.
    pub audit_log: PathBuf,
    /// How much of it is kept, with the parts that were put aside.
    pub audit_keep_bytes: u64,
    /// Whether prompts and replies of model calls go there, and into `ask --json`, too.
    pub audit_prompts: bool,
    /// The settings that route.
    pub limits: RoutingLimits,
    /// The diagnostics filter.
    pub log_filter: String,
    /// The theme's name.
    pub theme: String,
    /// Whose text of scans and pictures is recognised, and as which languages: empty for the
    /// default of the programs; `None` for no recognition.
    pub ocr: Option<String>,
    /// Which built-in embedding a base gets; `None` by what it is written in.
    pub embedding_languages: Option<Languages>,
    /// Whether the terminal is to report the mouse.
    pub mouse: bool,
    /// Whether `NO_COLOR` asks for no colour.
    pub no_color: bool,
    /// What is set and not acted on, one line each.
    pub without_effect: Vec<String>,
    /// Where this program itself is, which takes documents apart in processes of its own; `None`
    /// does that on threads, as where the library is used without the program.
    pub own_program: Option<PathBuf>,
}

/// An embedding endpoint.
#[derive(Debug, Clone, Default)]
pub struct EmbeddingSettings {
    /// Its root, such as one ending in `/v1`.
    pub base_url: String,
    /// Its bearer token.
    pub api_key: Option<SecretString>,
    /// The model; `None` is the first one listed.
    pub model: Option<String>,
    /// Authorities that sign servers' certificates, beside those that the system trusts.
    pub authorities: Vec<CertificateDer<'static>>,
    /// What stands before a question; `None` is as the model is known to want it.
    pub query_prefix: Option<String>,
    /// What stands before a passage; `None` is as the model is known to want it.
    pub passage_prefix: Option<String>,
}

/// A store that is shared with others.
#[derive(Debug, Clone, Default)]
pub struct StoreSettings {
    /// Its address, which may hold a password.
    pub url: SecretString,
    /// The password that goes with its user.
    pub password: Option<SecretString>,
    /// The authority that signs its certificate; `None` for those that the system trusts.
    pub ca: Option<PathBuf>,
}

impl Settings {
    /// What nobody may see: keys, passwords, tokens, headers, and the address of the store, which may hold one.
    pub fn secrets(&self) -> impl Iterator<Item = &SecretString> {
        let llm = self.llm.iter().filter_map(|at| at.api_key.as_ref());
        let embedding = self.embedding.iter().filter_map(|at| at.api_key.as_ref());
        let store = self
            .store
            .iter()
            .flat_map(|at| at.password.iter().chain([&at.url]));
        let headers = self.otlp_headers.iter().map(|(_, value)| value);
        llm.chain(embedding)
            .chain(store)
            .chain(headers)
            .chain(&self.mcp_token)
    }

    /// The folder of the indexes.
    pub fn index_dir(&self) -> PathBuf {
        self.data_dir.join("index")
    }

    /// The folder of the diagnostics.
    pub fn log_dir(&self) -> PathBuf {
        self.data_dir.join("logs")
    }
}

/// A chat endpoint.
#[derive(Debug, Clone, Default)]
pub struct EndpointConfig {
    /// Its root, such as one ending in `/v1`.
    pub base_url: String,
    /// Its key.
    pub api_key: Option<SecretString>,
    /// The model; `None` is the first one listed.
    pub model: Option<String>,
    /// No byte received for this long is an error.
    pub timeout: Duration,
    /// How often a request is made again; `None` is as built in.
    pub retries: Option<u32>,
    /// What kind of server it is; `None` goes by its address.
    pub server: Option<String>,
    /// How many tokens the model reads.
    pub context_tokens: Option<usize>,
    /// About how many tokens of evidence an answer is written from; `None` goes by the model's size.
    pub evidence_tokens: Option<usize>,
    /// Who decides where no model is set for a job; `None` goes by the model's size and speed.
    pub decides: Option<DecidedBy>,
    /// Authorities that sign servers' certificates, beside those that the system trusts.
    pub authorities: Vec<CertificateDer<'static>>,
    /// R1–R6.
    pub analyze: JobConfig,
    /// R11, R21.
    pub plan: JobConfig,
    /// R17.
    pub grade: JobConfig,
    /// R23, R24.
    pub synthesize: JobConfig,
}

/// What is set for one job; `None` is as for all, or as built in.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JobConfig {
    /// The model.
    pub model: Option<String>,
    /// 0 is repeatable.
    pub temperature: Option<f64>,
    /// Where a reply ends at the latest.
    pub max_tokens: Option<u32>,
}

impl EndpointConfig {
    /// How one that is found on this machine is spoken to: without what belongs to the one that is set, which is
    /// its key, its authorities and the names of its models and its kind.
    pub(super) fn of_unknown_server(self) -> Self {
        let without_model = |job: JobConfig| JobConfig { model: None, ..job };
        Self {
            api_key: None,
            model: None,
            server: None,
            authorities: Vec::new(),
            analyze: without_model(self.analyze),
            plan: without_model(self.plan),
            grade: without_model(self.grade),
            synthesize: without_model(self.synthesize),
            ..self
        }
    }
}
