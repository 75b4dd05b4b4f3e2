use std::fmt;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use secrecy::SecretString;

use super::environment::{Environment, Overrides, platform_dirs};
use super::error::SettingError;
use super::variables::{
    AUDIT_LOG, CONFIG_DIR, DATA_DIR, EMBEDDING, EMBEDDING_API_KEY, EMBEDDING_BASE_URL,
    EMBEDDING_MODEL, EMBEDDING_PASSAGE_PREFIX, EMBEDDING_QUERY_PREFIX, EVIDENCE_TOKENS, INCLUDE,
    JOBS, LLM_API_KEY, LLM_BASE_URL, LLM_CA, LLM_DECIDES, LLM_DISCOVER, LLM_MODEL, LOG, MCP_TOKEN,
    MOUSE, OCR, OF_EMBEDDING, OTLP_ENDPOINT, PLAIN_HTTP_HOSTS, PREFIX, SOURCE, STORE_CA,
    STORE_PASSWORD, STORE_URL, THEME, variable, variables,
};
use crate::domain::{DecidedBy, Languages, RouterThresholds, RoutingLimits};
use crate::files::read_certificates;
use crate::globs::Inclusion;
use crate::http::is_this_machine;
use crate::text::{nearest, one_line};
use crate::themes::theme_names;

/// The diagnostics filter while it is not set.
pub const DEFAULT_LOG_FILTER: &str = "info";

/// How many megabytes of audit log are kept by default.
const DEFAULT_AUDIT_KEEP_MB: u64 = 512;

/// Every setting, checked.
#[derive(Debug, Clone)]
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
    /// What is set and not acted on, one line each: later features, misspelt names.
    pub without_effect: Vec<String>,
    /// Where this program itself is, which takes documents apart in processes of its own; `None`
    /// does that on threads, as where the library is used without the program.
    pub own_program: Option<PathBuf>,
}

/// An embedding endpoint.
#[derive(Debug, Clone)]
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
#[derive(Debug, Clone)]
pub struct StoreSettings {
    /// Its address, which may hold a password.
    pub url: SecretString,
    /// The password that goes with its user.
    pub password: Option<SecretString>,
    /// The authority that signs its certificate; `None` for those that the system trusts.
    pub ca: Option<PathBuf>,
}

impl Settings {
    /// What nobody may see: keys, passwords, tokens, and the address of the store, which may hold one.
    pub fn secrets(&self) -> impl Iterator<Item = &SecretString> {
        let llm = self.llm.iter().filter_map(|at| at.api_key.as_ref());
        let embedding = self.embedding.iter();
        let embedding = embedding.filter_map(|at| at.api_key.as_ref());
        let store = self.store.iter();
        let store = store.flat_map(|at| at.password.iter().chain([&at.url]));
        llm.chain(embedding).chain(store).chain(&self.mcp_token)
    }

    /// Looks every setting up and checks it; the first that cannot be used is the error.
    pub fn resolve(environment: &Environment, overrides: Overrides) -> Result<Self, SettingError> {
        if let Some(error) = environment.unreadable.first() {
            return Err(error.clone());
        }
        let set = environment.get(DATA_DIR).map(PathBuf::from);
        let of_platform = || platform_dirs().map(|[data, _]| data);
        let data_dir = overrides.data_dir.or(set).or_else(of_platform);
        let data_dir = data_dir.ok_or(SettingError::NoHome)?;
        let sources = if overrides.sources.is_empty() {
            environment
                .get(SOURCE)
                .map(|paths| std::env::split_paths(paths).collect())
                .unwrap_or_default()
        } else {
            overrides.sources
        };
        let config_dir = environment.config_dir();
        let theme = environment.get(THEME).unwrap_or("auto");
        let is_built_in = theme == "auto" || theme_names().any(|name| name == theme);
        if !is_built_in && !is_own_theme(theme, config_dir.as_deref()) {
            return Err(refused(THEME, theme));
        }
        let log_filter = environment.get(LOG).unwrap_or(DEFAULT_LOG_FILTER);
        if tracing_subscriber::EnvFilter::from_str(log_filter).is_err() {
            return Err(refused(LOG, log_filter));
        }
        let defaults = RoutingLimits::default();
        let llm = endpoint(environment)?;
        let is_sought = number(environment, LLM_DISCOVER, 0..=1_u8)? != Some(0) && llm.is_none();
        Ok(Self {
            local: is_sought.then(|| local_endpoint(environment)).transpose()?,
            llm,
            embedding: embedding(environment)?,
            audit_log: environment
                .get(AUDIT_LOG)
                .map_or_else(|| data_dir.join("audit.jsonl"), PathBuf::from),
            audit_keep_bytes: number(environment, "KB_AGENT_AUDIT_KEEP_MB", 1..=1_000_000)?
                .unwrap_or(DEFAULT_AUDIT_KEEP_MB)
                << 20,
            audit_prompts: number(environment, "KB_AGENT_AUDIT_PROMPTS", 0..=1_u8)? == Some(1),
            limits: RoutingLimits {
                max_iterations: number(environment, "KB_AGENT_MAX_ITERATIONS", 1..=10)?
                    .unwrap_or(defaults.max_iterations),
                vector_score_threshold: number(
                    environment,
                    "KB_AGENT_VECTOR_SCORE_THRESHOLD",
                    0.0..=1.0,
                )?
                .unwrap_or(defaults.vector_score_threshold),
                auto_approve_max_items: number(
                    environment,
                    "KB_AGENT_AUTO_APPROVE_MAX_ITEMS",
                    0..=100,
                )?
                .unwrap_or(defaults.auto_approve_max_items),
                thresholds: defaults.thresholds,
                router: RouterThresholds {
                    chitchat: number(environment, "KB_AGENT_CHITCHAT_THRESHOLD", PROBABILITIES)?,
                    complex: number(environment, "KB_AGENT_COMPLEX_THRESHOLD", PROBABILITIES)?,
                },
            },
            sources,
            include: include(environment)?,
            store: store(environment)?,
            otlp_endpoint: address(environment, OTLP_ENDPOINT)?,
            mcp_token: secret(environment, MCP_TOKEN)?,
            config_dir,
            data_dir,
            log_filter: overrides.log_filter.unwrap_or(log_filter).to_owned(),
            theme: theme.to_owned(),
            ocr: ocr(environment)?,
            embedding_languages: choice(environment, EMBEDDING, &LANGUAGES)?.flatten(),
            mouse: choice(environment, MOUSE, &[("on", true), ("off", false)])?.unwrap_or(true),
            no_color: environment.get("NO_COLOR").is_some(),
            without_effect: without_effect(environment),
            own_program: None,
        })
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

/// Whether a theme may have this name: it is that of a file, and no path.
pub fn is_theme_name(name: &str) -> bool {
    let is_fit = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name.len() <= 60 && name.chars().all(is_fit)
}

fn is_own_theme(name: &str, config_dir: Option<&Path>) -> bool {
    let file = |folder: &Path| folder.join("themes").join(format!("{name}.toml"));
    is_theme_name(name) && config_dir.is_some_and(|folder| file(folder).is_file())
}

fn ocr(environment: &Environment) -> Result<Option<String>, SettingError> {
    let is_language = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '+' | '/');
    match environment.get(OCR) {
        None | Some("0") => Ok(None),
        Some("1") => Ok(Some(String::new())),
        Some(languages) if !languages.is_empty() && languages.chars().all(is_language) => {
            Ok(Some(languages.to_owned()))
        }
        Some(other) => Err(refused(OCR, other)),
    }
}

const LANGUAGES: [(&str, Option<Languages>); 3] = [
    ("auto", None),
    ("english", Some(Languages::English)),
    ("multilingual", Some(Languages::All)),
];

/// What the word stands for that a variable is set to.
fn choice<T: Copy>(
    environment: &Environment,
    name: &str,
    choices: &[(&str, T)],
) -> Result<Option<T>, SettingError> {
    let Some(set) = environment.get(name) else {
        return Ok(None);
    };
    let chosen = choices.iter().find(|(word, _)| *word == set);
    let (_, chosen) = chosen.ok_or_else(|| refused(name, set))?;
    Ok(Some(*chosen))
}

fn include(environment: &Environment) -> Result<Inclusion, SettingError> {
    let Some(set) = environment.get(INCLUDE) else {
        return Ok(Inclusion::default());
    };
    let patterns: Vec<String> = std::env::split_paths(set)
        .map(|pattern| pattern.to_string_lossy().into_owned())
        .filter(|pattern| !pattern.is_empty())
        .collect();
    Inclusion::new(patterns.iter().map(String::as_str)).map_err(|_| refused(INCLUDE, set))
}

fn embedding(environment: &Environment) -> Result<Option<EmbeddingSettings>, SettingError> {
    let api_key = secret(environment, EMBEDDING_API_KEY)?;
    let Some(base_url) = address(environment, EMBEDDING_BASE_URL)? else {
        return Ok(None);
    };
    protect_key(environment, EMBEDDING_API_KEY, &base_url)?;
    Ok(Some(EmbeddingSettings {
        base_url,
        api_key,
        model: environment.get(EMBEDDING_MODEL).map(str::to_owned),
        authorities: authorities(environment)?,
        query_prefix: prefix(environment, EMBEDDING_QUERY_PREFIX),
        passage_prefix: prefix(environment, EMBEDDING_PASSAGE_PREFIX),
    }))
}

/// `none` is no prefix, where an empty value is none of the user's.
fn prefix(environment: &Environment, name: &str) -> Option<String> {
    let set = environment.get(name)?;
    Some(match set.trim() {
        "none" => String::new(),
        _ => set.replace("\\n", "\n"),
    })
}

fn store(environment: &Environment) -> Result<Option<StoreSettings>, SettingError> {
    let password = secret(environment, STORE_PASSWORD)?;
    let Some(url) = environment.get(STORE_URL) else {
        return Ok(None);
    };
    let mut schemes = ["postgres://", "postgresql://"].iter();
    if !schemes.any(|scheme| url.starts_with(scheme)) {
        // Whatever form it has, it may hold a password.
        return Err(refused_secret(STORE_URL));
    }
    Ok(Some(StoreSettings {
        url: url.into(),
        password,
        ca: environment.get(STORE_CA).map(PathBuf::from),
    }))
}

fn without_effect(environment: &Environment) -> Vec<String> {
    let is_set = |name: &str| environment.get(name).is_some();
    let set_without = |names: &[&'static str], needed: &str, what: &str| {
        let set = names.iter().filter(|name| is_set(name) && !is_set(needed));
        let lines = set.map(|name| format!("{name} is set without {needed}: {what}"));
        lines.collect::<Vec<_>>()
    };
    let mut lines = set_without(
        &OF_EMBEDDING,
        EMBEDDING_BASE_URL,
        "the built-in model embeds",
    );
    let is_chosen = environment.get(EMBEDDING).is_some_and(|set| set != "auto");
    if is_chosen && is_set(EMBEDDING_BASE_URL) {
        lines.push(format!(
            "{EMBEDDING} is set beside {EMBEDDING_BASE_URL}: the endpoint embeds"
        ));
    }
    let of_store = [STORE_PASSWORD, STORE_CA];
    lines.extend(set_without(
        &of_store,
        STORE_URL,
        "the index is in the data folder",
    ));
    lines.extend(unknown(environment).map(|unknown| unknown.to_string()));
    lines
}

/// A chat endpoint.
#[derive(Debug, Clone)]
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

/// How long silence is borne with where nothing is set, seconds.
const DEFAULT_TIMEOUT: u64 = 60;

/// The endpoint, checked whether it is in use or not; `None` is offline.
fn endpoint(environment: &Environment) -> Result<Option<EndpointConfig>, SettingError> {
    let set = endpoint_anywhere(environment)?;
    let Some(base_url) = address(environment, LLM_BASE_URL)? else {
        return Ok(None);
    };
    protect_key(environment, LLM_API_KEY, &base_url)?;
    Ok(Some(EndpointConfig {
        base_url,
        authorities: authorities(environment)?,
        ..set
    }))
}

/// How a server is spoken to that is found on this machine: as is set, but without a key, and without
/// names of models and of a kind of server, which are another endpoint's.
fn local_endpoint(environment: &Environment) -> Result<Box<EndpointConfig>, SettingError> {
    let mut set = Box::new(endpoint_anywhere(environment)?);
    (set.api_key, set.model, set.server) = (None, None, None);
    for job in [
        &mut set.analyze,
        &mut set.plan,
        &mut set.grade,
        &mut set.synthesize,
    ] {
        job.model = None;
    }
    Ok(set)
}

/// What is set of an endpoint besides its address.
fn endpoint_anywhere(environment: &Environment) -> Result<EndpointConfig, SettingError> {
    let named = |name: &str| environment.get(name).map(str::to_owned);
    let [analyze, plan, grade, synthesize] = JOBS.map(|job| {
        let name = |what: &str| format!("KB_AGENT_LLM_{what}_{job}");
        Ok(JobConfig {
            model: named(&name("MODEL")),
            temperature: number(environment, &name("TEMPERATURE"), 0.0..=2.0)?,
            max_tokens: number(environment, &name("MAX_TOKENS"), 16..=1_000_000)?,
        })
    });
    let api_key = secret(environment, LLM_API_KEY)?;
    let timeout = number(environment, "KB_AGENT_LLM_TIMEOUT_SECS", 1..=3600)?;
    let retries = number(environment, "KB_AGENT_LLM_RETRIES", 0..=10)?;
    let context_tokens = number(
        environment,
        "KB_AGENT_LLM_CONTEXT_TOKENS",
        1_024..=10_000_000,
    )?;
    let evidence_tokens = number(environment, EVIDENCE_TOKENS, 100..=1_000_000)?;
    let decides = choice(environment, LLM_DECIDES, &DECIDES)?.flatten();
    let (analyze, plan, grade, synthesize) = (analyze?, plan?, grade?, synthesize?);
    check_answering_model(&synthesize)?;
    Ok(EndpointConfig {
        base_url: String::new(),
        api_key,
        model: named(LLM_MODEL),
        timeout: Duration::from_secs(timeout.unwrap_or(DEFAULT_TIMEOUT)),
        retries,
        server: named("KB_AGENT_LLM_SERVER"),
        context_tokens,
        evidence_tokens,
        decides,
        authorities: Vec::new(),
        analyze,
        plan,
        grade,
        synthesize,
    })
}

const DECIDES: [(&str, Option<DecidedBy>); 3] = [
    ("auto", None),
    ("model", Some(DecidedBy::Model)),
    ("built-in", Some(DecidedBy::BuiltIn)),
];

/// The built-in engine writes no answers beside a model.
fn check_answering_model(synthesize: &JobConfig) -> Result<(), SettingError> {
    let name = "KB_AGENT_LLM_MODEL_SYNTHESIZE";
    match synthesize.model.as_deref() {
        Some(model) if model == DecidedBy::BuiltIn.as_str() => Err(refused(name, model)),
        _ => Ok(()),
    }
}

/// A value is quoted up to this length.
const VALUE_CHARS: usize = 80;
/// What is wrong with a file is told up to this length, its path included.
const FILE_CHARS: usize = 400;

/// What a probability may be held against; from 0 on everything would be taken.
const PROBABILITIES: RangeInclusive<f64> = 0.01..=1.0;

fn number<T: FromStr + PartialOrd>(
    environment: &Environment,
    name: &str,
    allowed: RangeInclusive<T>,
) -> Result<Option<T>, SettingError> {
    let Some(text) = environment.get(name) else {
        return Ok(None);
    };
    match text.parse::<T>() {
        Ok(value) if allowed.contains(&value) => Ok(Some(value)),
        _ => Err(refused(name, text)),
    }
}

fn secret(environment: &Environment, name: &str) -> Result<Option<SecretString>, SettingError> {
    match environment.get(name) {
        None => Ok(None),
        Some(text) if text.bytes().all(|b| b.is_ascii_graphic()) => Ok(Some(text.into())),
        Some(_) => Err(refused_secret(name)),
    }
}

/// The authorities that a file names; without the setting none.
fn authorities(environment: &Environment) -> Result<Vec<CertificateDer<'static>>, SettingError> {
    let Some(path) = environment.get(LLM_CA) else {
        return Ok(Vec::new());
    };
    read_certificates(Path::new(path)).map_err(|why| SettingError::Certificates {
        name: LLM_CA,
        why: one_line(&why, FILE_CHARS),
    })
}

fn refused(name: &str, value: &str) -> SettingError {
    let variable = variable(name);
    SettingError::Value {
        name: variable.name,
        value: one_line(value, VALUE_CHARS),
        allowed: variable.allowed,
    }
}

/// The same of a value that may hold a key or a password, which is not repeated.
fn refused_secret(name: &str) -> SettingError {
    let variable = variable(name);
    SettingError::Secret {
        name: variable.name,
        allowed: variable.allowed,
    }
}

/// The http or https address that a variable is set to.
fn address(environment: &Environment, name: &'static str) -> Result<Option<String>, SettingError> {
    let Some(text) = environment.get(name) else {
        return Ok(None);
    };
    match reqwest::Url::parse(text) {
        Ok(url) if !url.username().is_empty() || url.password().is_some() => {
            Err(SettingError::Secret {
                name,
                allowed: "an address without a user or password in it",
            })
        }
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => {
            Ok(Some(text.to_owned()))
        }
        // What cannot be taken apart may still hold a password.
        _ if text.contains('@') => Err(refused_secret(name)),
        _ => Err(match with_scheme(text) {
            Some(meant) => SettingError::Bare {
                name,
                value: text.to_owned(),
                allowed: variable(name).allowed,
                meant,
            },
            None => refused(name, text),
        }),
    }
}

/// The address that is meant where the scheme is left away: names of the wide network are asked
/// by https, what has a port of its own or is near by http.
fn with_scheme(text: &str) -> Option<String> {
    if text.contains("//") || one_line(text, VALUE_CHARS) != text {
        return None;
    }
    let url = reqwest::Url::parse(&format!("http://{text}")).ok()?;
    let is_far = url.port().is_none() && url.domain().is_some_and(|name| name.contains('.'));
    let scheme = if is_far { "https" } else { "http" };
    url.has_host().then(|| format!("{scheme}://{text}"))
}

/// Refuses to send a key over a network where it can be read on the way: by http to another machine,
/// unless the user names that.
fn protect_key(
    environment: &Environment,
    key: &'static str,
    base_url: &str,
) -> Result<(), SettingError> {
    let url = reqwest::Url::parse(base_url).ok();
    let Some(url) = url.filter(|url| url.scheme() == "http" && !is_this_machine(url)) else {
        return Ok(());
    };
    let host = url.host_str().unwrap_or_default();
    let allowed = environment.get(PLAIN_HTTP_HOSTS);
    let mut allowed = allowed.unwrap_or_default().split(',');
    let is_allowed = allowed.any(|name| name.trim().eq_ignore_ascii_case(host));
    if environment.get(key).is_none() || is_allowed {
        return Ok(());
    }
    Err(SettingError::Unencrypted {
        name: key,
        host: one_line(host, VALUE_CHARS),
        allow: PLAIN_HTTP_HOSTS,
    })
}

/// What looks like a setting and is none: a misspelt name must not be silently without effect. Never
/// with its value, which may be a key under a misspelt name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownSetting {
    /// What was set, on one line.
    pub name: String,
    /// The setting that was probably meant.
    pub meant: Option<String>,
}

impl fmt::Display for UnknownSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is no setting of kb-agent: ", self.name)?;
        match &self.meant {
            Some(meant) => write!(f, "did you mean {meant}?"),
            None => f.write_str("look for its name in .env.example"),
        }
    }
}

/// All of them, in order.
pub(super) fn unknown(environment: &Environment) -> impl Iterator<Item = UnknownSetting> {
    let bare = |name: &'static str| name.strip_prefix(PREFIX).unwrap_or(name);
    let names = environment.names();
    names
        .filter(|name| variables().all(|known| known.name != *name))
        .map(move |name| {
            let known = variables().map(|known| bare(known.name));
            let wanted = name.strip_prefix(PREFIX).unwrap_or(name);
            let meant = nearest(wanted, known).into_iter().next();
            UnknownSetting {
                name: one_line(name, 80),
                meant: meant.map(|meant| format!("{PREFIX}{meant}")),
            }
        })
}

/// What has to be said again so that another start in the same folder comes to the same knowledge
/// base and the same audit log.
///
/// That is what the command line says, and what the process's environment says, which may have
/// been there for one command only. A `.env` file is found again by itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StartSettings {
    /// Variables that no option stands for.
    pub variables: Vec<(&'static str, String)>,
    /// `--kb`.
    pub sources: Vec<PathBuf>,
    /// `--data-dir`.
    pub data_dir: Option<PathBuf>,
}

impl StartSettings {
    /// Collects what the command line and the environment of this start set.
    pub fn from_start(environment: &Environment, overrides: &Overrides) -> Self {
        let said = |name: &str| environment.of_process(name);
        let without_option = [CONFIG_DIR, AUDIT_LOG, INCLUDE].into_iter();
        let variables = without_option.filter_map(|name| {
            let value = said(name)?.to_owned();
            Some((name, value))
        });
        let sources = match overrides.sources.as_slice() {
            [] => said(SOURCE)
                .map(|paths| std::env::split_paths(paths).collect())
                .unwrap_or_default(),
            given => given.to_vec(),
        };
        Self {
            variables: variables.collect(),
            sources,
            data_dir: overrides
                .data_dir
                .clone()
                .or_else(|| said(DATA_DIR).map(PathBuf::from)),
        }
    }

    /// The same over the bundled demo, whatever sources are set.
    #[must_use]
    pub fn over_demo(mut self, environment: &Environment) -> Self {
        self.sources.clear();
        if environment.get(SOURCE).is_some() {
            self.variables.push((SOURCE, String::new()));
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::super::shown::SECRETS;
    use super::super::variables;
    use super::*;

    fn settings<const N: usize>(pairs: [(&str, &str); N]) -> Result<Settings, SettingError> {
        Settings::resolve(&Environment::from_pairs(pairs), Overrides::default())
    }

    #[test]
    fn r26_defaults_are_those_of_the_contract() {
        let settings = settings([("KB_AGENT_DATA_DIR", "data")]).unwrap();
        assert!(settings.llm.is_none());
        assert_eq!(settings.limits, RoutingLimits::default());
        assert_eq!(settings.audit_log, Path::new("data/audit.jsonl"));
        assert_eq!(settings.audit_keep_bytes, 512 << 20);
        assert_eq!(settings.log_filter, "info");
        assert_eq!(settings.theme, "auto");
        assert!(settings.sources.is_empty() && settings.without_effect.is_empty());
    }

    #[test]
    fn trust_every_setting_that_nobody_may_see_is_among_the_secrets() {
        let others = [
            ("KB_AGENT_DATA_DIR", "data"),
            ("KB_AGENT_LLM_BASE_URL", "http://127.0.0.1:1/v1"),
            ("KB_AGENT_EMBEDDING_BASE_URL", "http://127.0.0.1:1/v1"),
            ("KB_AGENT_STORE_URL", "postgres://127.0.0.1/base"),
        ];
        let values = SECRETS.map(|name| (name, format!("secret-{name}")));
        let set = values.iter().map(|(name, value)| (*name, value.as_str()));
        let environment = Environment::from_pairs(set.chain(others));
        let settings = Settings::resolve(&environment, Overrides::default()).unwrap();
        let secrets: Vec<&str> = settings
            .secrets()
            .map(ExposeSecret::expose_secret)
            .collect();
        for (name, value) in &values {
            assert!(secrets.contains(&value.as_str()), "{name}");
        }
    }

    #[test]
    fn r26_a_bad_value_names_variable_value_and_what_is_allowed() {
        for (name, value) in [
            ("KB_AGENT_MAX_ITERATIONS", "0"),
            ("KB_AGENT_MAX_ITERATIONS", "eleven"),
            ("KB_AGENT_MAX_ITERATIONS", "2.5"),
            ("KB_AGENT_VECTOR_SCORE_THRESHOLD", "1.01"),
            ("KB_AGENT_VECTOR_SCORE_THRESHOLD", "NaN"),
            ("KB_AGENT_AUTO_APPROVE_MAX_ITEMS", "-1"),
            ("KB_AGENT_AUTO_APPROVE_MAX_ITEMS", "101"),
            ("KB_AGENT_CHITCHAT_THRESHOLD", "0"),
            ("KB_AGENT_COMPLEX_THRESHOLD", "1.5"),
            ("KB_AGENT_AUDIT_KEEP_MB", "0"),
            ("KB_AGENT_AUDIT_PROMPTS", "yes"),
            ("KB_AGENT_LLM_TIMEOUT_SECS", "0"),
            ("KB_AGENT_LLM_BASE_URL", "http//localhost:8080"),
            ("KB_AGENT_LLM_BASE_URL", "mailto:me"),
            ("KB_AGENT_LLM_BASE_URL", ":8080"),
            ("KB_AGENT_EMBEDDING_BASE_URL", "ftp://somewhere"),
            ("KB_AGENT_THEME", "pink"),
            ("KB_AGENT_MOUSE", "maybe"),
            ("KB_AGENT_OCR", "deu eng"),
            ("KB_AGENT_EMBEDDING", "german"),
            ("KB_AGENT_INCLUDE", "*.env:[a"),
            ("KB_AGENT_LOG", "kb_agent=loud"),
        ] {
            let line = settings([("KB_AGENT_DATA_DIR", "data"), (name, value)])
                .unwrap_err()
                .to_string();
            let allowed = variables().find(|v| v.name == name).unwrap().allowed;
            assert_eq!(line, format!("{name} is '{value}': it must be {allowed}"));
        }
    }

    #[test]
    fn r26_an_address_without_its_scheme_is_reported_with_it() {
        for (value, meant) in [
            ("localhost:9", "http://localhost:9"),
            ("localhost", "http://localhost"),
            ("127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1"),
            ("[::1]:8080", "http://[::1]:8080"),
            ("gpu.local:8000/v1", "http://gpu.local:8000/v1"),
            ("api.openai.com/v1", "https://api.openai.com/v1"),
        ] {
            for name in [LLM_BASE_URL, EMBEDDING_BASE_URL] {
                let allowed = variable(name).allowed;
                let line = settings([("KB_AGENT_DATA_DIR", "data"), (name, value)])
                    .unwrap_err()
                    .to_string();
                let whole =
                    format!("{name} is '{value}': it must be {allowed}; did you mean {meant}?");
                assert_eq!(line, whole);
            }
        }
    }

    #[test]
    fn r26_every_setting_is_in_the_example_and_no_other() {
        let example = include_str!("../../.env.example");
        let mut named: Vec<&str> = example
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| Some(line.split_once('=')?.0))
            .collect();
        let mut known: Vec<&str> = variables().map(|variable| variable.name).collect();
        named.sort_unstable();
        known.sort_unstable();
        assert_eq!(named, known);
    }

    #[test]
    fn r26_a_key_is_never_repeated() {
        let line = settings([
            ("KB_AGENT_DATA_DIR", "data"),
            ("KB_AGENT_LLM_API_KEY", "my secret key"),
        ])
        .unwrap_err()
        .to_string();
        assert!(line.contains("KB_AGENT_LLM_API_KEY") && !line.contains("secret key"));
        let kept = settings([
            ("KB_AGENT_DATA_DIR", "data"),
            ("KB_AGENT_LLM_BASE_URL", "http://127.0.0.1:1/v1"),
            ("KB_AGENT_LLM_API_KEY", "sk-visible"),
        ])
        .unwrap();
        assert!(!format!("{kept:?}").contains("sk-visible"));
    }

    #[test]
    fn r26_a_password_in_an_address_is_refused_and_not_repeated() {
        for address in [
            "http://user:pa55@host/v1",
            "htps://user:pa55@host",
            "user:pa55@host",
        ] {
            let line = settings([
                ("KB_AGENT_DATA_DIR", "data"),
                ("KB_AGENT_LLM_BASE_URL", address),
            ])
            .unwrap_err()
            .to_string();
            assert!(
                line.contains("KB_AGENT_LLM_BASE_URL") && !line.contains("pa55"),
                "{line}"
            );
        }
    }

    #[test]
    fn r26_a_misspelt_setting_is_reported() {
        // The second was a setting once, and a file may still hold it.
        for (name, value) in [("KB_AGENT_MAX_ITERATION", "5"), ("KB_AGENT_KEYS", "vi")] {
            let settings = settings([("KB_AGENT_DATA_DIR", "data"), (name, value)]).unwrap();
            let lines = settings.without_effect;
            assert_eq!(lines.len(), 1, "{lines:?}");
            assert!(lines[0].starts_with(&format!("{name} is no setting")));
        }
    }

    #[test]
    fn r26_limits_are_read() {
        let settings = settings([
            ("KB_AGENT_DATA_DIR", "data"),
            ("KB_AGENT_MAX_ITERATIONS", "10"),
            ("KB_AGENT_VECTOR_SCORE_THRESHOLD", "0.65"),
            ("KB_AGENT_AUTO_APPROVE_MAX_ITEMS", "0"),
            ("KB_AGENT_CHITCHAT_THRESHOLD", "0.6"),
        ])
        .unwrap();
        let limits = RoutingLimits {
            max_iterations: 10,
            vector_score_threshold: 0.65,
            auto_approve_max_items: 0,
            router: RouterThresholds {
                chitchat: Some(0.6),
                complex: None,
            },
            ..RoutingLimits::default()
        };
        assert_eq!(settings.limits, limits);
    }
}

#[cfg(test)]
mod endpoint_tests {
    use super::*;

    #[test]
    fn every_job_has_its_own_settings() {
        let environment = Environment::from_pairs([
            ("KB_AGENT_LLM_BASE_URL", "http://127.0.0.1:1/v1"),
            ("KB_AGENT_LLM_MODEL", "large"),
            ("KB_AGENT_LLM_MODEL_GRADE", "small"),
            ("KB_AGENT_LLM_TEMPERATURE_SYNTHESIZE", "0.7"),
            ("KB_AGENT_LLM_MAX_TOKENS_GRADE", "512"),
        ]);
        let endpoint = endpoint(&environment).unwrap().unwrap();
        assert_eq!(endpoint.analyze, JobConfig::default());
        assert_eq!(endpoint.grade.model.as_deref(), Some("small"));
        assert_eq!(endpoint.grade.max_tokens, Some(512));
        assert_eq!(endpoint.synthesize.temperature, Some(0.7));
    }

    #[test]
    fn a_job_setting_out_of_range_is_refused_by_name() {
        for (name, value) in [
            ("KB_AGENT_LLM_TEMPERATURE_PLAN", "2.5"),
            ("KB_AGENT_LLM_MAX_TOKENS_ANALYZE", "0"),
            ("KB_AGENT_LLM_RETRIES", "11"),
            ("KB_AGENT_LLM_CONTEXT_TOKENS", "many"),
        ] {
            let line = endpoint(&Environment::from_pairs([(name, value)])).unwrap_err();
            assert!(
                line.to_string()
                    .starts_with(&format!("{name} is '{value}': it must be"))
            );
        }
    }
}

#[cfg(test)]
mod restated_tests {
    use super::*;

    #[test]
    fn what_a_file_says_is_found_again_and_all_else_is_restated() {
        let process = [
            ("KB_AGENT_SOURCE", "a:b c"),
            ("KB_AGENT_AUDIT_LOG", "log"),
            ("KB_AGENT_LLM_API_KEY", "sk-secret"),
            ("KB_AGENT_DATA_DIR", " "),
        ];
        let environment =
            Environment::from_pairs(process).with_own(".env", [("KB_AGENT_INCLUDE", "*.env")]);
        let restated = StartSettings::from_start(&environment, &Overrides::default());
        let expected = StartSettings {
            variables: vec![("KB_AGENT_AUDIT_LOG", "log".to_owned())],
            sources: vec![PathBuf::from("a"), PathBuf::from("b c")],
            data_dir: None,
        };
        assert_eq!(restated, expected);
        let given = Overrides {
            sources: vec![PathBuf::from("x")],
            data_dir: Some(PathBuf::from("d")),
            ..Overrides::default()
        };
        let restated = StartSettings::from_start(&environment, &given);
        assert_eq!(restated.sources, given.sources);
        assert_eq!(restated.data_dir, given.data_dir);
        let demo = restated.over_demo(&environment);
        assert_eq!(demo.sources, Vec::<PathBuf>::new());
        assert_eq!(demo.variables[1], ("KB_AGENT_SOURCE", String::new()));
    }
}
