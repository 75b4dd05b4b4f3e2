use std::path::{Path, PathBuf};
use std::str::FromStr;

use rustls::pki_types::CertificateDer;
use secrecy::SecretString;

use crate::domain::{Languages, RoutingLimits};
use crate::globs::Inclusion;
use crate::themes::theme_names;

use super::address::{address, protected};
use super::error::SettingError;
use super::folders::{platform_config_dir, platform_data_dir};
use super::unknown::unknown;
use super::values::{authorities, number, refused, secret};
use super::variable::Variable;
use super::variables::{
    AUDIT_KEEP, AUDIT_LOG, AUDIT_PROMPTS, AUTO_APPROVE, CONFIG_DIR, DATA_DIR, EMBEDDING,
    EMBEDDING_API_KEY, EMBEDDING_BASE_URL, EMBEDDING_MODEL, EMBEDDING_PASSAGE_PREFIX,
    EMBEDDING_QUERY_PREFIX, INCLUDE, LOG, MAX_ITERATIONS, MOUSE, OCR, SOURCE, STORE_CA,
    STORE_PASSWORD, STORE_URL, THEME, VECTOR_THRESHOLD,
};
use super::{EndpointConfig, Environment, endpoint, llm_variables};

/// The diagnostics filter while it is not set.
pub const DEFAULT_LOG_FILTER: &str = "info";

/// How many megabytes of audit log are kept by default.
const DEFAULT_AUDIT_KEEP_MB: u64 = 512;

/// Every setting, checked.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The chat endpoint; `None` is offline.
    pub llm: Option<EndpointConfig>,
    /// The embedding endpoint; `None` is the built-in model.
    pub embedding: Option<EmbeddingSettings>,
    /// The `.env` of the working folder, where it and not the user names one of these endpoints.
    pub endpoint_file: Option<PathBuf>,
    /// The folders and files of the knowledge base; empty is the bundled demo.
    pub sources: Vec<PathBuf>,
    /// Files in them that are read although they are hidden or hold secrets by their names.
    pub include: Inclusion,
    /// The store that is shared with others; `None` is the index in the data folder.
    pub store: Option<StoreSettings>,
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

/// What the command line says over the environment.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// `PATH…` or `--kb`.
    pub sources: Vec<PathBuf>,
    /// `--data-dir`.
    pub data_dir: Option<PathBuf>,
    /// What `-v` makes of the diagnostics filter.
    pub log_filter: Option<&'static str>,
}

impl Overrides {
    /// The same where these documents take the place of the knowledge base.
    #[must_use]
    pub fn over(&self, documents: Option<&Path>) -> Self {
        let mut overrides = self.clone();
        if let Some(documents) = documents {
            overrides.sources = vec![documents.to_owned()];
        }
        overrides
    }
}

impl Settings {
    /// Looks every setting up and checks it; the first that cannot be used is the error.
    pub fn resolve(environment: &Environment, overrides: Overrides) -> Result<Self, SettingError> {
        let data_dir = match (overrides.data_dir, environment.get(DATA_DIR.name)) {
            (Some(path), _) => path,
            (None, Some(path)) => PathBuf::from(path),
            (None, None) => platform_data_dir()?,
        };
        let sources = if overrides.sources.is_empty() {
            environment
                .get(SOURCE.name)
                .map(|paths| std::env::split_paths(paths).collect())
                .unwrap_or_default()
        } else {
            overrides.sources
        };
        let config_dir = environment
            .get(CONFIG_DIR.name)
            .map(PathBuf::from)
            .or_else(platform_config_dir);
        let theme = environment.get(THEME.name).unwrap_or("auto");
        let is_built_in = theme == "auto" || theme_names().any(|name| name == theme);
        if !is_built_in && !is_own_theme(theme, config_dir.as_deref()) {
            return Err(refused(THEME, theme));
        }
        let log_filter = environment.get(LOG.name).unwrap_or(DEFAULT_LOG_FILTER);
        if tracing_subscriber::EnvFilter::from_str(log_filter).is_err() {
            return Err(refused(LOG, log_filter));
        }
        let defaults = RoutingLimits::default();
        Ok(Self {
            llm: endpoint::endpoint(environment)?,
            embedding: embedding(environment)?,
            endpoint_file: endpoint_file(environment),
            audit_log: environment
                .get(AUDIT_LOG.name)
                .map_or_else(|| data_dir.join("audit.jsonl"), PathBuf::from),
            audit_keep_bytes: number(environment, AUDIT_KEEP, 1..=1_000_000)?
                .unwrap_or(DEFAULT_AUDIT_KEEP_MB)
                << 20,
            audit_prompts: number(environment, AUDIT_PROMPTS, 0..=1_u8)? == Some(1),
            limits: RoutingLimits {
                max_iterations: number(environment, MAX_ITERATIONS, 1..=10)?
                    .unwrap_or(defaults.max_iterations),
                vector_score_threshold: number(environment, VECTOR_THRESHOLD, 0.0..=1.0)?
                    .unwrap_or(defaults.vector_score_threshold),
                auto_approve_max_items: number(environment, AUTO_APPROVE, 0..=100)?
                    .unwrap_or(defaults.auto_approve_max_items),
                thresholds: defaults.thresholds,
            },
            sources,
            include: include(environment)?,
            store: store(environment)?,
            config_dir,
            data_dir,
            log_filter: overrides.log_filter.unwrap_or(log_filter).to_owned(),
            theme: theme.to_owned(),
            ocr: ocr(environment)?,
            embedding_languages: embedding_languages(environment)?,
            mouse: mouse(environment)?,
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
    match environment.get(OCR.name) {
        None | Some("0") => Ok(None),
        Some("1") => Ok(Some(String::new())),
        Some(languages) if !languages.is_empty() && languages.chars().all(is_language) => {
            Ok(Some(languages.to_owned()))
        }
        Some(other) => Err(refused(OCR, other)),
    }
}

fn embedding_languages(environment: &Environment) -> Result<Option<Languages>, SettingError> {
    match environment.get(EMBEDDING.name) {
        None | Some("auto") => Ok(None),
        Some("english") => Ok(Some(Languages::English)),
        Some("multilingual") => Ok(Some(Languages::All)),
        Some(other) => Err(refused(EMBEDDING, other)),
    }
}

fn mouse(environment: &Environment) -> Result<bool, SettingError> {
    match environment.get(MOUSE.name) {
        None | Some("on") => Ok(true),
        Some("off") => Ok(false),
        Some(other) => Err(refused(MOUSE, other)),
    }
}

/// What a folder's `.env` includes is of that folder.
fn include(environment: &Environment) -> Result<Inclusion, SettingError> {
    let Some(set) = environment.get(INCLUDE.name) else {
        return Ok(Inclusion::default());
    };
    let within = environment
        .is_of_folder(INCLUDE.name)
        .then(|| environment.folder())
        .flatten();
    let patterns: Vec<String> = std::env::split_paths(set)
        .map(|pattern| pattern.to_string_lossy().into_owned())
        .filter(|pattern| !pattern.is_empty())
        .collect();
    Inclusion::new(patterns.iter().map(String::as_str), within).map_err(|_| refused(INCLUDE, set))
}

fn embedding(environment: &Environment) -> Result<Option<EmbeddingSettings>, SettingError> {
    let api_key = secret(environment, EMBEDDING_API_KEY)?;
    let base_url = address(environment, EMBEDDING_BASE_URL)?;
    protected(environment, EMBEDDING_API_KEY, base_url.as_deref())?;
    let Some(base_url) = base_url else {
        return Ok(None);
    };
    Ok(Some(EmbeddingSettings {
        base_url,
        api_key,
        model: environment.get(EMBEDDING_MODEL.name).map(str::to_owned),
        authorities: authorities(environment, llm_variables::CA)?,
        query_prefix: prefix(environment, EMBEDDING_QUERY_PREFIX),
        passage_prefix: prefix(environment, EMBEDDING_PASSAGE_PREFIX),
    }))
}

/// `none` is no prefix, where an empty value is none of the user's.
fn prefix(environment: &Environment, variable: Variable) -> Option<String> {
    let set = environment.get(variable.name)?;
    Some(match set.trim() {
        "none" => String::new(),
        _ => set.replace("\\n", "\n"),
    })
}

fn store(environment: &Environment) -> Result<Option<StoreSettings>, SettingError> {
    let password = secret(environment, STORE_PASSWORD)?;
    let Some(url) = environment.get(STORE_URL.name) else {
        return Ok(None);
    };
    let is_address = ["postgres://", "postgresql://"]
        .iter()
        .any(|scheme| url.starts_with(scheme));
    if !is_address {
        // Whatever form it has, it may hold a password.
        return Err(SettingError::Secret {
            name: STORE_URL.name,
            allowed: STORE_URL.allowed,
        });
    }
    Ok(Some(StoreSettings {
        url: url.into(),
        password,
        ca: environment.get(STORE_CA.name).map(PathBuf::from),
    }))
}

fn endpoint_file(environment: &Environment) -> Option<PathBuf> {
    let urls = [llm_variables::BASE_URL, EMBEDDING_BASE_URL, STORE_URL];
    let is_of_folder = urls.iter().any(|url| environment.is_of_folder(url.name));
    environment
        .folder_file()
        .filter(|_| is_of_folder)
        .map(Path::to_owned)
}

/// What is for an embedding endpoint alone.
pub(super) const OF_EMBEDDING: [Variable; 4] = [
    EMBEDDING_MODEL,
    EMBEDDING_API_KEY,
    EMBEDDING_QUERY_PREFIX,
    EMBEDDING_PASSAGE_PREFIX,
];

fn without_effect(environment: &Environment) -> Vec<String> {
    let alone = OF_EMBEDDING
        .into_iter()
        .filter(|variable| {
            environment.get(variable.name).is_some()
                && environment.get(EMBEDDING_BASE_URL.name).is_none()
        })
        .map(|variable| {
            format!(
                "{} is set without {}: the built-in model embeds",
                variable.name, EMBEDDING_BASE_URL.name
            )
        });
    let store = [STORE_PASSWORD, STORE_CA].into_iter().filter(|variable| {
        environment.get(variable.name).is_some() && environment.get(STORE_URL.name).is_none()
    });
    let store = store.map(|variable| {
        format!(
            "{} is set without {}: the index is in the data folder",
            variable.name, STORE_URL.name
        )
    });
    let unknown = unknown(environment).map(|unknown| unknown.to_string());
    let both = [EMBEDDING, EMBEDDING_BASE_URL].map(|variable| environment.get(variable.name));
    let both = (both[0].is_some_and(|set| set != "auto") && both[1].is_some()).then(|| {
        format!(
            "{} is set beside {}: the endpoint embeds",
            EMBEDDING.name, EMBEDDING_BASE_URL.name
        )
    });
    alone.chain(both).chain(store).chain(unknown).collect()
}

#[cfg(test)]
mod tests {
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
    fn r26_a_bad_value_names_variable_value_and_what_is_allowed() {
        for (name, value) in [
            ("KB_AGENT_MAX_ITERATIONS", "0"),
            ("KB_AGENT_MAX_ITERATIONS", "eleven"),
            ("KB_AGENT_MAX_ITERATIONS", "2.5"),
            ("KB_AGENT_VECTOR_SCORE_THRESHOLD", "1.01"),
            ("KB_AGENT_VECTOR_SCORE_THRESHOLD", "NaN"),
            ("KB_AGENT_AUTO_APPROVE_MAX_ITEMS", "-1"),
            ("KB_AGENT_AUTO_APPROVE_MAX_ITEMS", "101"),
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
            for variable in [llm_variables::BASE_URL, EMBEDDING_BASE_URL] {
                let (name, allowed) = (variable.name, variable.allowed);
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
        let settings = settings([
            ("KB_AGENT_DATA_DIR", "data"),
            ("KB_AGENT_MAX_ITERATION", "5"),
        ])
        .unwrap();
        assert_eq!(settings.without_effect.len(), 1);
        assert!(settings.without_effect[0].starts_with("KB_AGENT_MAX_ITERATION is no setting"));
    }

    #[test]
    fn r26_limits_are_read() {
        let settings = settings([
            ("KB_AGENT_DATA_DIR", "data"),
            ("KB_AGENT_MAX_ITERATIONS", "10"),
            ("KB_AGENT_VECTOR_SCORE_THRESHOLD", "0.65"),
            ("KB_AGENT_AUTO_APPROVE_MAX_ITEMS", "0"),
        ])
        .unwrap();
        let limits = RoutingLimits {
            max_iterations: 10,
            vector_score_threshold: 0.65,
            auto_approve_max_items: 0,
            ..RoutingLimits::default()
        };
        assert_eq!(settings.limits, limits);
    }
}
