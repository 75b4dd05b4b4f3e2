//! Reads all settings from where they are said.

use std::path::Path;

use secrecy::ExposeSecret;

use super::environment::{
    DATA_DIR, ENV, Environment, Origin, Overrides, is_there, platform_dirs, process,
};
use super::error::SettingError;
use super::ineffective::without_effect;
use super::setting::{Kind, Unset};
use super::settings::Settings;
use super::table::{is_for_user_alone, settings};

impl Environment {
    /// Reads the process's environment, the named file, `.env` in the user's configuration folder, and,
    /// where no file is named, what `.env` in the working folder may set.
    ///
    /// A missing `.env` is fine. A named file that cannot be read, and a line that is not `NAME=value`,
    /// are errors of [`Settings::resolve`](super::Settings::resolve).
    pub fn read(env_file: Option<&Path>) -> Self {
        let mut environment = Self::default();
        environment.add(Origin::Environment, process());
        if let Some(path) = env_file {
            environment.add_file(path);
        }
        let own = environment.config_dir().map(|folder| folder.join(ENV));
        let own = own.filter(|path| is_there(path));
        if let Some(path) = &own {
            environment.add_file(path);
        }
        let beside = Path::new(ENV);
        let is_own = || {
            let real = beside.canonicalize().ok();
            real.is_some() && real == own.as_ref().and_then(|own| own.canonicalize().ok())
        };
        if env_file.is_none() && is_there(beside) && !is_own() {
            environment.add_file(beside);
            environment.bar_last(is_for_user_alone);
        }
        environment
    }
}

impl Settings {
    /// Looks every setting up and checks it, whether it is in use or not; the first that cannot be used is the
    /// error.
    pub fn resolve(environment: &Environment, overrides: Overrides) -> Result<Self, SettingError> {
        let (settings, refused) = Self::read(environment, overrides);
        match refused.into_iter().next() {
            Some(error) => Err(error),
            None => settings.ok_or_else(no_home),
        }
    }

    /// Reads every setting. One that cannot be used counts as not set, and is among the errors. `None` where
    /// no folder for data is known.
    pub(super) fn read(
        environment: &Environment,
        overrides: Overrides,
    ) -> (Option<Self>, Vec<SettingError>) {
        let mut made = Self::default();
        let mut refused = environment.unreadable.clone();
        for one in settings() {
            let is_needed = one.needs.is_empty()
                || one.needs.iter().any(|name| environment.get(name).is_some());
            let other = match one.unset {
                Unset::As(other) if is_needed => environment.get(other),
                _ => None,
            };
            let is_other = environment.get(one.name).is_none();
            let value = environment.get(one.name).or(other);
            // Nothing is asked that the file is for.
            let value = value.filter(|_| is_needed || !matches!(one.kind, Kind::Certificates(_)));
            match value.map(|value| one.read(value, environment, &mut made)) {
                Some(Ok(())) => continue,
                Some(Err(error)) => refused.push(match one.unset {
                    Unset::As(other) if is_other => error.renamed(one.name, other),
                    _ => error,
                }),
                None => {}
            }
            if let Unset::To(default) = one.unset
                && let Err(error) = one.read(default, environment, &mut made)
            {
                refused.push(error);
            }
        }
        (made.complete(environment, overrides), refused)
    }

    /// Adds what the command line and the platform say, and leaves out what has no address.
    fn complete(mut self, environment: &Environment, overrides: Overrides) -> Option<Self> {
        let chat = self.llm.take().unwrap_or_default();
        if chat.base_url.is_empty() {
            self.local = self.local.map(|_| Box::new(chat.of_unknown_server()));
        } else {
            self.local = None;
            self.llm = Some(chat);
        }
        self.embedding = self.embedding.filter(|at| !at.base_url.is_empty());
        self.store = self.store.filter(|at| !at.url.expose_secret().is_empty());
        if !overrides.sources.is_empty() {
            self.sources = overrides.sources;
        }
        if let Some(folder) = overrides.data_dir {
            self.data_dir = folder;
        } else if self.data_dir.as_os_str().is_empty() {
            let [data, _] = platform_dirs()?;
            self.data_dir = data;
        }
        if self.audit_log.as_os_str().is_empty() {
            self.audit_log = self.data_dir.join("audit.jsonl");
        }
        if let Some(filter) = overrides.log_filter {
            filter.clone_into(&mut self.log_filter);
        }
        self.config_dir = self.config_dir.or_else(|| environment.config_dir());
        self.no_color = environment.get("NO_COLOR").is_some();
        self.without_effect = without_effect(environment);
        Some(self)
    }
}

/// Says that no folder for data is known.
pub(super) fn no_home() -> SettingError {
    let next = format!("set {DATA_DIR} to a folder that may be written");
    SettingError::new(DATA_DIR, format!("no home folder is known: {next}"), next)
}

#[cfg(test)]
mod tests {
    use super::super::table::setting;
    use super::*;
    use crate::domain::{GradeThresholds, RouterThresholds, RoutingLimits};

    fn resolved(pairs: &[(&str, &str)]) -> Result<Settings, SettingError> {
        let pairs = [("KB_AGENT_DATA_DIR", "data")].iter().chain(pairs);
        let environment = Environment::from_pairs(pairs.copied());
        Settings::resolve(&environment, Overrides::default())
    }

    fn refused(name: &str, value: &str) -> String {
        resolved(&[(name, value)]).unwrap_err().to_string()
    }

    #[test]
    fn r26_defaults_are_those_of_the_contract() {
        let settings = resolved(&[]).unwrap();
        assert!(settings.llm.is_none() && settings.local.is_some());
        assert_eq!(settings.limits, RoutingLimits::default());
        assert_eq!(settings.audit_log, Path::new("data/audit.jsonl"));
        assert_eq!(settings.audit_keep_bytes, 512 << 20);
        assert_eq!(settings.log_filter, "info");
        assert_eq!(settings.theme, "auto");
        assert!(settings.sources.is_empty() && settings.without_effect.is_empty());
    }

    #[test]
    fn r26_a_setting_at_its_default_changes_nothing() {
        let unset = format!("{:?}", resolved(&[]).unwrap());
        for one in settings() {
            if let Unset::To(default) = one.unset {
                let set = format!("{:?}", resolved(&[(one.name, default)]).unwrap());
                assert_eq!(set, unset, "{}", one.name);
            }
        }
    }

    #[test]
    fn trust_every_setting_that_nobody_may_see_is_among_the_secrets() {
        let mut pairs = vec![
            ("KB_AGENT_LLM_BASE_URL", "http://127.0.0.1:1/v1"),
            ("KB_AGENT_EMBEDDING_BASE_URL", "http://127.0.0.1:1/v1"),
            ("KB_AGENT_STORE_URL", "postgres://127.0.0.1/base"),
            ("KB_AGENT_OTLP_ENDPOINT", "http://127.0.0.1:1"),
        ];
        let secret: Vec<_> = settings().filter(|one| one.is_secret()).collect();
        let values: Vec<String> = secret
            .iter()
            .map(|one| format!("secret-{}", one.name))
            .collect();
        let header = format!("authorization={}", values[3]);
        for (one, value) in secret.iter().zip(&values) {
            let is_header = one.name == "KB_AGENT_OTLP_HEADERS";
            pairs.push((one.name, if is_header { &header } else { value }));
        }
        assert_eq!(secret[3].name, "KB_AGENT_OTLP_HEADERS");
        let settings = resolved(&pairs).unwrap();
        let secrets = settings.secrets().map(ExposeSecret::expose_secret);
        let secrets: Vec<&str> = secrets.collect();
        for value in &values {
            assert!(secrets.contains(&value.as_str()), "{value}");
            assert!(!format!("{settings:?}").contains(value), "{value}");
        }
    }

    #[test]
    fn trust_headers_that_a_folder_sets_under_the_name_of_other_programs_do_not_count() {
        let headers = [("OTEL_EXPORTER_OTLP_HEADERS", "x-from=clone")];
        let own = [
            ("KB_AGENT_DATA_DIR", "data"),
            ("KB_AGENT_OTLP_ENDPOINT", "http://127.0.0.1:1"),
        ];
        let count = |environment: Environment| {
            let settings = Settings::resolve(&environment, Overrides::default());
            settings.unwrap().otlp_headers.len()
        };
        let own = Environment::from_pairs(own);
        assert_eq!(count(own.clone().with_folder("clone/.env", headers)), 0);
        assert_eq!(count(own.with_own("config/.env", headers)), 1);
    }

    #[test]
    fn r26_a_bad_value_names_variable_value_and_what_is_allowed() {
        for (name, value) in [
            ("KB_AGENT_MAX_ITERATIONS", "0"),
            ("KB_AGENT_MAX_ITERATIONS", "eleven"),
            ("KB_AGENT_MAX_ITERATIONS", "2.5"),
            ("KB_AGENT_VECTOR_SCORE_THRESHOLD", "NaN"),
            ("KB_AGENT_KEEP_FROM", "1.01"),
            ("KB_AGENT_SUFFICIENT_FROM", "-0.1"),
            ("KB_AGENT_AUTO_APPROVE_MAX_ITEMS", "-1"),
            ("KB_AGENT_CHITCHAT_THRESHOLD", "0"),
            ("KB_AGENT_COMPLEX_THRESHOLD", "1.5"),
            ("KB_AGENT_AUDIT_PROMPTS", "yes"),
            ("KB_AGENT_LLM_TIMEOUT_SECS", "0"),
            ("KB_AGENT_LLM_BASE_URL", "http//localhost:8080"),
            ("KB_AGENT_LLM_BASE_URL", "mailto:me"),
            ("KB_AGENT_EMBEDDING_BASE_URL", "ftp://somewhere"),
            ("KB_AGENT_THEME", "pink"),
            ("KB_AGENT_MOUSE", "maybe"),
            ("KB_AGENT_OCR", "klingon"),
            ("KB_AGENT_OCR", "deu eng"),
            ("KB_AGENT_OCR", "deu+"),
            ("KB_AGENT_INCLUDE", "*.env:[a"),
            ("KB_AGENT_LOG", "kb_agent=loud"),
            ("KB_AGENT_LLM_TEMPERATURE_PLAN", "2.5"),
            ("KB_AGENT_LLM_CONTEXT_TOKENS", "many"),
            ("KB_AGENT_LLM_MODEL_SYNTHESIZE", "built-in"),
        ] {
            let allowed = setting(name).unwrap().allowed();
            let line = format!("{name} is '{value}': it must be {allowed}");
            assert_eq!(refused(name, value), line);
        }
        for (value, meant) in [
            ("localhost:9", "http://localhost:9"),
            ("localhost", "http://localhost"),
            ("[::1]:8080", "http://[::1]:8080"),
            ("gpu.local:8000/v1", "http://gpu.local:8000/v1"),
            ("api.openai.com/v1", "https://api.openai.com/v1"),
        ] {
            let line = refused("KB_AGENT_LLM_BASE_URL", value);
            assert!(
                line.ends_with(&format!("; did you mean {meant}?")),
                "{line}"
            );
        }
    }

    #[test]
    fn trust_a_secret_that_is_refused_is_not_repeated() {
        for (name, value) in [
            ("KB_AGENT_LLM_API_KEY", "my s3cret"),
            ("KB_AGENT_MCP_TOKEN", "s3cret-of-fifte"),
            ("KB_AGENT_OTLP_HEADERS", "s3cret"),
            ("KB_AGENT_OTLP_HEADERS", "a=b,s3cret header=x"),
            ("KB_AGENT_LLM_BASE_URL", "http://user:s3cret@host/v1"),
            ("KB_AGENT_LLM_BASE_URL", "htps://user:s3cret@host"),
            ("KB_AGENT_LLM_BASE_URL", "user:s3cret@host"),
        ] {
            let line = refused(name, value);
            assert!(line.contains(name) && !line.contains("s3cret"), "{line}");
        }
    }

    #[test]
    fn r26_headers_of_other_programs_are_refused_by_their_own_name() {
        let endpoint = ("KB_AGENT_OTLP_ENDPOINT", "http://127.0.0.1:1");
        let with = |headers| resolved(&[endpoint, ("OTEL_EXPORTER_OTLP_HEADERS", headers)]);
        assert_eq!(with("a=b,").unwrap().otlp_headers.len(), 1);
        let line = with("a b").unwrap_err().to_string();
        assert!(line.starts_with("OTEL_EXPORTER_OTLP_HEADERS "), "{line}");
    }

    #[test]
    fn r26_values_are_read() {
        let settings = resolved(&[
            ("KB_AGENT_MAX_ITERATIONS", " 10 "),
            ("KB_AGENT_KEEP_FROM", "0.2"),
            ("KB_AGENT_SUFFICIENT_FROM", "0.9"),
            ("KB_AGENT_VECTOR_SCORE_THRESHOLD", "0.65"),
            ("KB_AGENT_AUTO_APPROVE_MAX_ITEMS", "0"),
            ("KB_AGENT_CHITCHAT_THRESHOLD", "0.6"),
            ("KB_AGENT_LLM_BASE_URL", "http://127.0.0.1:1/v1"),
            ("KB_AGENT_LLM_MODEL_GRADE", "small"),
            ("KB_AGENT_LLM_MAX_TOKENS_GRADE", "512"),
            ("KB_AGENT_EMBEDDING_BASE_URL", "http://127.0.0.1:1/v1"),
            ("KB_AGENT_EMBEDDING_QUERY_PREFIX", "query:\\n "),
            ("KB_AGENT_OCR", "deu+chi_sim_vert+script/Latin"),
            ("KB_AGENT_OTLP_ENDPOINT", "http://127.0.0.1:1"),
            (
                "OTEL_EXPORTER_OTLP_HEADERS",
                "Authorization=Basic%20a=, x-p=1",
            ),
        ]);
        let settings = settings.unwrap();
        let limits = RoutingLimits {
            max_iterations: 10,
            vector_score_threshold: 0.65,
            auto_approve_max_items: 0,
            thresholds: GradeThresholds {
                keep_from: 0.2,
                sufficient_from: 0.9,
            },
            router: RouterThresholds {
                chitchat: Some(0.6),
                complex: None,
            },
        };
        assert_eq!(settings.limits, limits);
        let llm = settings.llm.as_ref().unwrap();
        assert_eq!((&llm.model, llm.grade.max_tokens), (&None, Some(512)));
        assert_eq!(llm.grade.model.as_deref(), Some("small"));
        assert_eq!(llm.synthesize.temperature, Some(0.2));
        let embedding = settings.embedding.as_ref().unwrap();
        assert_eq!(embedding.query_prefix.as_deref(), Some("query:\n "));
        let recognised = settings.ocr.as_deref();
        assert_eq!(recognised, Some("deu+chi_sim_vert+script/Latin"));
        let headers = settings.otlp_headers.iter();
        let headers: Vec<_> = headers
            .map(|(name, value)| (name.as_str(), value.expose_secret()))
            .collect();
        assert_eq!(headers, [("authorization", "Basic a="), ("x-p", "1")]);
    }
}
