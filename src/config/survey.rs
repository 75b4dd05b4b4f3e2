//! Every setting with its value and where that came from, for who asks why.
//!
//! A program that starts stops at the first setting that cannot be used. Who looks for what is
//! wrong wants all of them, and the rest checked as if those had not been set. Secrets never leave
//! here, also not those that addresses can hold.

use super::environment::{CONFIG_DIR, DATA_DIR, Environment, LOG, Origin, Overrides, SOURCE};
use super::error::SettingError;
use super::ineffective::{IneffectiveSetting, idle, ignored, outvoted, unknown};
use super::resolve::no_home;
use super::setting::{Setting, Unset, shorten_value};
use super::settings::Settings;
use super::table::{AUDIT_LOG, settings};

/// What all settings come to.
#[derive(Debug, Clone)]
pub struct Survey {
    /// The settings, without those that cannot be used; `None` where nothing can be without them.
    pub settings: Option<Settings>,
    /// Why some cannot be used.
    pub refused: Vec<SettingError>,
    /// What looks like a setting and is none.
    pub unknown: Vec<IneffectiveSetting>,
    /// What the working folder's `.env` sets and may not.
    pub ignored: Option<IneffectiveSetting>,
    /// Every setting.
    pub listed: Vec<ListedSetting>,
    /// The `.env` files that were read, a line each.
    pub files: Vec<String>,
}

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSetting {
    /// The variable.
    pub name: &'static str,
    /// What it means that it has no value.
    pub unset: Option<&'static str>,
    /// Its value on one line, secrets masked; `None` where it is not set and nothing is built in
    /// here.
    pub value: Option<String>,
    /// Where that is from.
    pub origin: Origin,
    /// Whether something was set to no effect.
    pub idle: Option<IneffectiveSetting>,
}

/// Looks every setting up as [`Settings::resolve`] does, and goes on where that stops. What cannot be read
/// is among what is refused, and comes first.
pub fn survey(environment: &Environment, overrides: &Overrides) -> Survey {
    let (made, mut refused) = Settings::read(environment, overrides.clone());
    if made.is_none() {
        refused.push(no_home());
    }
    let list = |one: &'static Setting| {
        let name = one.name;
        let is_refused = refused.iter().any(|error| error.variable() == Some(name));
        let flag = overrides.flag(name).filter(|_| !is_refused);
        // What cannot be used is listed as it was set, not as what stands in for it.
        let resolved = made.as_ref().filter(|_| !is_refused);
        let resolved = resolved.and_then(|made| resolved_path(name, made));
        let value = resolved.or_else(|| Some(one.masked(environment.get(name)?)));
        let (default, unset) = match one.unset {
            Unset::To(text) => (Some(text.to_owned()), None),
            Unset::Means(text) | Unset::As(text) => (None, Some(text)),
        };
        let idle = idle(one, environment, flag).or_else(|| outvoted(name, environment));
        ListedSetting {
            name,
            unset,
            value: value.or(default),
            origin: flag.map_or_else(|| environment.origin(name), Origin::Flag),
            // What cannot be used has its own line.
            idle: idle.filter(|_| !is_refused),
        }
    };
    let listed = settings().map(list).collect();
    Survey {
        settings: made,
        refused,
        unknown: unknown(environment).collect(),
        ignored: ignored(environment, overrides),
        listed,
        files: environment
            .files()
            .map(|file| shorten_value(&file.to_string_lossy()))
            .collect(),
    }
}

/// What the settings made of it, where flags or the platform have a say.
fn resolved_path(name: &str, settings: &Settings) -> Option<String> {
    let path = match name {
        SOURCE => return joined_paths(settings),
        LOG => return Some(shorten_value(&settings.log_filter)),
        DATA_DIR => &settings.data_dir,
        CONFIG_DIR => settings.config_dir.as_ref()?,
        AUDIT_LOG => &settings.audit_log,
        _ => return None,
    };
    Some(shorten_value(&path.to_string_lossy()))
}

fn joined_paths(settings: &Settings) -> Option<String> {
    let paths = std::env::join_paths(&settings.sources).ok()?;
    (!paths.is_empty()).then(|| shorten_value(&paths.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::unknown_in_one_line;

    fn surveyed<const N: usize>(pairs: [(&str, &str); N]) -> Survey {
        survey(&Environment::from_pairs(pairs), &Overrides::default())
    }

    fn of<'a>(survey: &'a Survey, name: &str) -> &'a ListedSetting {
        survey.listed.iter().find(|one| one.name == name).unwrap()
    }

    #[test]
    fn no_secret_is_listed() {
        let survey = surveyed([
            ("KB_AGENT_DATA_DIR", "data"),
            ("KB_AGENT_LLM_BASE_URL", "https://h/v1?key=s3cret"),
            ("KB_AGENT_LLM_API_KEY", "sk-s3cret"),
            (
                "KB_AGENT_STORE_URL",
                "postgres://me:s3cret?/#s3cret@db:5432/x?a@b&k=s3cret",
            ),
            ("KB_AGENT_LLM_APIKEY", "sk-s3cret"),
        ]);
        let listed = format!("{:?} {:?}", survey.listed, survey.unknown);
        assert!(!listed.contains("s3cret"), "{listed}");
        let value = |name| of(&survey, name).value.clone().unwrap();
        assert_eq!(value("KB_AGENT_LLM_BASE_URL"), "https://h/v1?[masked]");
        assert_eq!(value("KB_AGENT_LLM_API_KEY"), "[masked, 9 characters]");
        let meant = "did you mean KB_AGENT_LLM_API_KEY?";
        assert!(survey.unknown[0].line.ends_with(meant));
    }

    #[test]
    fn trust_what_is_ignored_is_named_with_what_to_do() {
        let of_folder = [
            ("KB_AGENT_LLM_API_KEY", "sk-s3cret"),
            ("KB_AGENT_LLM_BASE_URL", "https://h/v1"),
            ("KB_AGENT_SOURCE", "notes"),
            ("KB_AGENT_THEME", "mono"),
        ];
        let own = Environment::from_pairs([
            ("KB_AGENT_DATA_DIR", "data"),
            ("KB_AGENT_CONFIG_DIR", "config"),
        ]);
        let environment = own.clone().with_folder("clone/.env", of_folder);
        let by_flag = Overrides {
            sources: vec!["docs".into()],
            ..Overrides::default()
        };
        let survey = survey(&environment, &by_flag);
        let said = survey.ignored.unwrap();
        assert_eq!(
            said.line,
            "clone/.env sets KB_AGENT_LLM_BASE_URL and KB_AGENT_LLM_API_KEY without effect: only \
             settings of the screen and of routing count there"
        );
        assert_eq!(
            said.next,
            "put them into config/.env or the environment, or give that file with --env-file"
        );
        // The user's own file may set all of it, and then nothing is said.
        let environment = own
            .with_own("config/.env", of_folder)
            .with_folder("clone/.env", of_folder);
        assert_eq!(ignored(&environment, &Overrides::default()), None);
        let url = environment.get("KB_AGENT_LLM_BASE_URL");
        assert_eq!(url, Some("https://h/v1"));
    }

    #[test]
    fn what_is_set_in_vain_says_why() {
        let overrides = Overrides {
            sources: vec!["notes".into()],
            data_dir: None,
            log_filter: Some("debug"),
        };
        let environment = Environment::from_pairs([
            ("KB_AGENT_DATA_DIR", "data"),
            ("KB_AGENT_SOURCE", "other"),
            ("KB_AGENT_LOG", "warn"),
            ("KB_AGENT_LLM_MODEL", "m"),
            ("KB_AGENT_EMBEDDING_MODEL", "e"),
            ("KB_AGENT_VECTOR_SCORE_THRESHOLD", "0.5"),
            ("KB_AGENT_CHITCHAT_THRESHOLD", "0.5"),
        ]);
        let survey = survey(&environment, &overrides);
        for (name, why) in [
            ("KB_AGENT_SOURCE", "--kb wins over it"),
            ("KB_AGENT_LOG", "-v wins over it"),
            ("KB_AGENT_LLM_MODEL", "KB_AGENT_LLM_BASE_URL is not set"),
            (
                "KB_AGENT_EMBEDDING_MODEL",
                "KB_AGENT_EMBEDDING_BASE_URL is not set",
            ),
            (
                "KB_AGENT_VECTOR_SCORE_THRESHOLD",
                "KB_AGENT_LLM_BASE_URL is not set",
            ),
        ] {
            let idle = of(&survey, name).idle.as_ref().unwrap();
            assert_eq!(idle.line, format!("{name} is set without effect: {why}"));
        }
        let source = of(&survey, "KB_AGENT_SOURCE");
        assert_eq!(source.value.as_deref(), Some("notes"));
        assert_eq!(source.origin, Origin::Flag("--kb"));
        let log = of(&survey, "KB_AGENT_LOG");
        assert_eq!(log.value.as_deref(), Some("debug"));
        assert_eq!(log.origin, Origin::Flag("-v"));
        for in_use in ["KB_AGENT_DATA_DIR", "KB_AGENT_CHITCHAT_THRESHOLD"] {
            assert_eq!(of(&survey, in_use).idle, None);
        }
        let survey = surveyed([
            ("KB_AGENT_DATA_DIR", "data"),
            ("KB_AGENT_LLM_BASE_URL", "http://127.0.0.1:1/v1"),
            ("KB_AGENT_LLM_DECIDES", "model"),
            ("KB_AGENT_LLM_MODEL_PLAN", "built-in"),
            ("KB_AGENT_VECTOR_SCORE_THRESHOLD", "0.5"),
            ("KB_AGENT_COMPLEX_THRESHOLD", "0.5"),
        ]);
        for (name, why) in [
            (
                "KB_AGENT_VECTOR_SCORE_THRESHOLD",
                "the built-in engine plans",
            ),
            ("KB_AGENT_COMPLEX_THRESHOLD", "a model routes"),
        ] {
            let idle = of(&survey, name).idle.as_ref().unwrap();
            assert!(idle.line.contains(why), "{}", idle.line);
        }
    }

    #[test]
    fn r26_names_that_are_no_setting_are_one_line() {
        let one = Environment::from_pairs([("KB_AGENT_TEST_X", "1"), ("KB_AGENT_KEYS", "vi")]);
        let line = unknown_in_one_line(&one).unwrap();
        assert!(
            line.starts_with("KB_AGENT_KEYS is no setting of kb-agent"),
            "{line}"
        );
        let three = [
            ("KB_AGENT_FOO", "1"),
            ("KB_AGENT_BAR", "2"),
            ("KB_AGENT_BAZ", "3"),
        ];
        let line = unknown_in_one_line(&Environment::from_pairs(three));
        let expected =
            "KB_AGENT_BAR and 2 more names are no settings of kb-agent: kb-agent doctor lists them";
        assert_eq!(line.as_deref(), Some(expected));
    }
}
