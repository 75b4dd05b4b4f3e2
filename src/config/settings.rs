use std::path::{Path, PathBuf};
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use secrecy::SecretString;

use super::check::{check, inclusion};
use super::environment::{Environment, Overrides, platform_dirs};
use super::error::SettingError;
use super::ineffective::without_effect;
use super::variables::{
    AUDIT_LOG, CONFIG_DIR, DATA_DIR, EMBEDDING, EMBEDDING_BASE_URL, INCLUDE, JOBS, LLM_BASE_URL,
    LLM_CA, LLM_MODEL, LOG, SOURCE, THEME,
};
use crate::domain::{DecidedBy, GradeThresholds, Languages, RouterThresholds, RoutingLimits};
use crate::files::read_certificates;
use crate::globs::Inclusion;
use crate::text::one_line;

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
        check(environment)?;
        let is = |name: &str, value: &str| environment.get(name) == Some(value);
        let of_platform = || platform_dirs().map(|[data, _]| data);
        let data_dir = overrides.data_dir.or_else(|| environment.parsed(DATA_DIR));
        let data_dir = data_dir.or_else(of_platform).ok_or_else(no_home)?;
        let sources = if overrides.sources.is_empty() {
            let paths = environment.get(SOURCE).map(std::env::split_paths);
            paths.into_iter().flatten().collect()
        } else {
            overrides.sources
        };
        let is_online = environment.get(LLM_BASE_URL).is_some();
        let is_sought = !is_online && !is("KB_AGENT_LLM_DISCOVER", "0");
        let local = is_sought.then(|| endpoint(environment)).transpose()?;
        let audit_log = environment.parsed(AUDIT_LOG);
        let log_filter = overrides.log_filter.map(str::to_owned);
        let include = environment.get(INCLUDE).and_then(inclusion);
        let ocr = environment.get("KB_AGENT_OCR").filter(|set| *set != "0");
        let ocr = ocr.map(|set| if set == "1" { "" } else { set });
        Ok(Self {
            llm: is_online.then(|| endpoint(environment)).transpose()?,
            local: local.map(Box::new),
            embedding: embedding(environment)?,
            sources,
            include: include.unwrap_or_default(),
            store: store(environment),
            mcp_token: secret(environment, "KB_AGENT_MCP_TOKEN"),
            otlp_endpoint: environment.parsed("KB_AGENT_OTLP_ENDPOINT"),
            audit_log: audit_log.unwrap_or_else(|| data_dir.join("audit.jsonl")),
            audit_keep_bytes: environment.in_effect::<u64>("KB_AGENT_AUDIT_KEEP_MB") << 20,
            audit_prompts: is("KB_AGENT_AUDIT_PROMPTS", "1"),
            limits: RoutingLimits {
                max_iterations: environment.in_effect("KB_AGENT_MAX_ITERATIONS"),
                vector_score_threshold: environment.in_effect("KB_AGENT_VECTOR_SCORE_THRESHOLD"),
                auto_approve_max_items: environment.in_effect("KB_AGENT_AUTO_APPROVE_MAX_ITEMS"),
                thresholds: GradeThresholds::default(),
                router: RouterThresholds {
                    chitchat: environment.parsed("KB_AGENT_CHITCHAT_THRESHOLD"),
                    complex: environment.parsed("KB_AGENT_COMPLEX_THRESHOLD"),
                },
            },
            log_filter: log_filter.unwrap_or_else(|| environment.in_effect(LOG)),
            theme: environment.in_effect(THEME),
            ocr: ocr.map(str::to_owned),
            embedding_languages: match environment.get(EMBEDDING) {
                Some("english") => Some(Languages::English),
                Some("multilingual") => Some(Languages::All),
                _ => None,
            },
            mouse: !is("KB_AGENT_MOUSE", "off"),
            no_color: environment.get("NO_COLOR").is_some(),
            without_effect: without_effect(environment),
            own_program: None,
            config_dir: environment.config_dir(),
            data_dir,
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

fn embedding(environment: &Environment) -> Result<Option<EmbeddingSettings>, SettingError> {
    let Some(base_url) = environment.parsed(EMBEDDING_BASE_URL) else {
        return Ok(None);
    };
    Ok(Some(EmbeddingSettings {
        base_url,
        api_key: secret(environment, "KB_AGENT_EMBEDDING_API_KEY"),
        model: environment.parsed("KB_AGENT_EMBEDDING_MODEL"),
        authorities: authorities(environment)?,
        query_prefix: prefix(environment, "KB_AGENT_EMBEDDING_QUERY_PREFIX"),
        passage_prefix: prefix(environment, "KB_AGENT_EMBEDDING_PASSAGE_PREFIX"),
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

fn store(environment: &Environment) -> Option<StoreSettings> {
    Some(StoreSettings {
        url: secret(environment, "KB_AGENT_STORE_URL")?,
        password: secret(environment, "KB_AGENT_STORE_PASSWORD"),
        ca: environment.parsed("KB_AGENT_STORE_CA"),
    })
}

fn secret(environment: &Environment, name: &str) -> Option<SecretString> {
    environment.get(name).map(SecretString::from)
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

/// The endpoint that is set, or else how one that is found on this machine is spoken to: without what
/// belongs to the other, which is its key, its authorities and the names of its models and its kind.
fn endpoint(environment: &Environment) -> Result<EndpointConfig, SettingError> {
    let base_url: String = environment.in_effect(LLM_BASE_URL);
    let is_set = !base_url.is_empty();
    let name = |name: &str| environment.parsed(name).filter(|_| is_set);
    let [analyze, plan, grade, synthesize] = JOBS.map(|job| JobConfig {
        model: name(&format!("{LLM_MODEL}_{job}")),
        temperature: environment.parsed(&format!("KB_AGENT_LLM_TEMPERATURE_{job}")),
        max_tokens: environment.parsed(&format!("KB_AGENT_LLM_MAX_TOKENS_{job}")),
    });
    let decides = environment.get("KB_AGENT_LLM_DECIDES");
    let mut deciding = [DecidedBy::Model, DecidedBy::BuiltIn].into_iter();
    let authorities = is_set.then(|| authorities(environment)).transpose()?;
    Ok(EndpointConfig {
        base_url,
        api_key: secret(environment, "KB_AGENT_LLM_API_KEY").filter(|_| is_set),
        model: name(LLM_MODEL),
        timeout: Duration::from_secs(environment.in_effect("KB_AGENT_LLM_TIMEOUT_SECS")),
        retries: environment.parsed("KB_AGENT_LLM_RETRIES"),
        server: name("KB_AGENT_LLM_SERVER"),
        context_tokens: environment.parsed("KB_AGENT_LLM_CONTEXT_TOKENS"),
        evidence_tokens: environment.parsed("KB_AGENT_EVIDENCE_TOKENS"),
        decides: deciding.find(|one| decides == Some(one.as_str())),
        authorities: authorities.unwrap_or_default(),
        analyze,
        plan,
        grade,
        synthesize,
    })
}

/// The authorities that a file names; without the setting none.
fn authorities(environment: &Environment) -> Result<Vec<CertificateDer<'static>>, SettingError> {
    /// What is wrong with a file is told up to this length, its path included.
    const FILE_CHARS: usize = 400;
    let Some(path) = environment.get(LLM_CA) else {
        return Ok(Vec::new());
    };
    read_certificates(Path::new(path)).map_err(|why| {
        let next = "give a certificate file in PEM form";
        let line = format!("{LLM_CA}: {}; {next}", one_line(&why, FILE_CHARS));
        SettingError::new(LLM_CA, line, next.to_owned())
    })
}

fn no_home() -> SettingError {
    let next = format!("set {DATA_DIR} to a folder that may be written");
    SettingError::new(DATA_DIR, format!("no home folder is known: {next}"), next)
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
        let said = |name| Some((name, environment.of_process(name)?.to_owned()));
        let without_option = [CONFIG_DIR, AUDIT_LOG, INCLUDE].into_iter();
        let mut sources = overrides.sources.clone();
        if sources.is_empty()
            && let Some(paths) = environment.of_process(SOURCE)
        {
            sources.extend(std::env::split_paths(paths));
        }
        let data_dir = environment.of_process(DATA_DIR).map(PathBuf::from);
        Self {
            variables: without_option.filter_map(said).collect(),
            sources,
            data_dir: overrides.data_dir.clone().or(data_dir),
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

    use super::super::variables::{Kind, variable, variables};
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
        let secret = variables().filter(|one| matches!(one.takes, Kind::Secret));
        let secret = secret.map(|one| one.name.as_str());
        let values = secret.map(|name| (name, format!("secret-{name}")));
        let values: Vec<_> = values.collect();
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
            ("KB_AGENT_LLM_TEMPERATURE_PLAN", "2.5"),
            ("KB_AGENT_LLM_MAX_TOKENS_ANALYZE", "0"),
            ("KB_AGENT_LLM_RETRIES", "11"),
            ("KB_AGENT_LLM_CONTEXT_TOKENS", "many"),
            ("KB_AGENT_LLM_MODEL_SYNTHESIZE", "built-in"),
        ] {
            let line = settings([("KB_AGENT_DATA_DIR", "data"), (name, value)])
                .unwrap_err()
                .to_string();
            let allowed = &variable(name).unwrap().allowed;
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
                let allowed = &variable(name).unwrap().allowed;
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
        let mut known: Vec<&str> = variables().map(|one| one.name.as_str()).collect();
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
        let endpoint = endpoint(&environment).unwrap();
        assert_eq!(endpoint.analyze, JobConfig::default());
        assert_eq!(endpoint.grade.model.as_deref(), Some("small"));
        assert_eq!(endpoint.grade.max_tokens, Some(512));
        assert_eq!(endpoint.synthesize.temperature, Some(0.7));
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
