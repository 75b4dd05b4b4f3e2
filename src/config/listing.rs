//! Every setting with its value and where that came from, for who asks why.
//!
//! A program that starts stops at the first setting that cannot be used. Who looks for what is
//! wrong wants all of them, and the rest checked as if those had not been set. Secrets never leave
//! here, also not those that addresses can hold.

use std::mem::take;

use super::environment::{Environment, Origin, Overrides};
use super::error::SettingError;
use super::ineffective::{IneffectiveSetting, idle, ignored, outvoted, unknown};
use super::settings::Settings;
use super::shown::{masked, path, text};
use super::variables::{AUDIT_LOG, CONFIG_DIR, DATA_DIR, LOG, SOURCE, variables};

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
    let mut usable = environment.clone();
    let mut refused = take(&mut usable.unreadable);
    let settings = loop {
        match Settings::resolve(&usable, overrides.clone()) {
            Ok(settings) => break Some(settings),
            Err(error) => {
                let forgotten = error.variable().is_some_and(|name| usable.forget(name));
                refused.push(error);
                if !forgotten {
                    break None;
                }
            }
        }
    };
    let listed = variables().map(|variable| {
        let name = variable.name.as_str();
        let is_refused = refused.iter().any(|error| error.variable() == Some(name));
        let flag = overrides.flag(name).filter(|_| !is_refused);
        // What cannot be used is listed as it was set, not as what stands in for it.
        let (from, made) = if is_refused {
            (environment, None)
        } else {
            (&usable, settings.as_ref())
        };
        let resolved = made.and_then(|settings| of_settings(name, settings));
        let shown = resolved.or_else(|| Some(masked(variable, from.get(name)?)));
        let idle = idle(variable, environment, flag);
        let idle = idle.or_else(|| outvoted(name, environment));
        ListedSetting {
            name,
            unset: variable.unset.as_deref(),
            value: shown.or_else(|| variable.default.clone()),
            origin: flag.map_or_else(|| from.origin(name), Origin::Flag),
            // What cannot be used has its own line.
            idle: idle.filter(|_| !is_refused),
        }
    });
    let listed = listed.collect();
    Survey {
        settings,
        refused,
        unknown: unknown(environment).collect(),
        ignored: ignored(environment, overrides),
        listed,
        files: environment.files().map(path).collect(),
    }
}

/// What the settings made of it, where flags or the platform have a say.
fn of_settings(name: &str, settings: &Settings) -> Option<String> {
    match name {
        SOURCE => {
            let paths: Vec<String> = settings.sources.iter().map(|at| path(at)).collect();
            let separator = if cfg!(windows) { ";" } else { ":" };
            (!paths.is_empty()).then(|| paths.join(separator))
        }
        DATA_DIR => Some(path(&settings.data_dir)),
        CONFIG_DIR => settings.config_dir.as_deref().map(path),
        AUDIT_LOG => Some(path(&settings.audit_log)),
        LOG => Some(text(&settings.log_filter)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surveyed<const N: usize>(pairs: [(&str, &str); N]) -> Survey {
        survey(&Environment::from_pairs(pairs), &Overrides::default())
    }

    fn of<'a>(survey: &'a Survey, name: &str) -> &'a ListedSetting {
        survey.listed.iter().find(|one| one.name == name).unwrap()
    }

    #[test]
    fn every_setting_is_listed_with_its_value_and_origin() {
        let survey = surveyed([
            ("KB_AGENT_DATA_DIR", "data"),
            ("KB_AGENT_MAX_ITERATIONS", "5"),
        ]);
        let names: Vec<&str> = survey.listed.iter().map(|one| one.name).collect();
        let known: Vec<&str> = variables().map(|variable| &*variable.name).collect();
        assert_eq!(names, known);
        for (name, value, origin) in [
            ("KB_AGENT_MAX_ITERATIONS", Some("5"), Origin::Environment),
            (
                "KB_AGENT_VECTOR_SCORE_THRESHOLD",
                Some("0.8"),
                Origin::Default,
            ),
            ("KB_AGENT_LLM_TIMEOUT_SECS", Some("60"), Origin::Default),
            (
                "KB_AGENT_AUDIT_LOG",
                Some("data/audit.jsonl"),
                Origin::Default,
            ),
            ("KB_AGENT_LLM_BASE_URL", None, Origin::Default),
        ] {
            let one = of(&survey, name);
            assert_eq!(
                (one.value.as_deref(), &one.origin),
                (value, &origin),
                "{name}"
            );
        }
    }

    #[test]
    fn a_setting_at_its_default_changes_nothing() {
        let resolved = |pairs: Vec<(&str, &str)>| {
            let own = [
                ("KB_AGENT_DATA_DIR", "data"),
                ("KB_AGENT_LLM_BASE_URL", "http://127.0.0.1:1/v1"),
                // The engine's own defaults, which are tested there.
                ("KB_AGENT_LLM_RETRIES", "3"),
            ];
            let environment = Environment::from_pairs(own.into_iter().chain(pairs));
            let mut settings = Settings::resolve(&environment, Overrides::default()).unwrap();
            let llm = settings.llm.as_mut().unwrap();
            for job in [
                &mut llm.analyze,
                &mut llm.plan,
                &mut llm.grade,
                &mut llm.synthesize,
            ] {
                job.temperature = None;
            }
            format!("{settings:?}")
        };
        let unset = resolved(Vec::new());
        for variable in variables() {
            if let Some(default) = &variable.default {
                let (name, default) = (variable.name.as_str(), default.as_str());
                assert_eq!(resolved(vec![(name, default)]), unset, "{name}");
            }
        }
    }

    #[test]
    fn all_that_cannot_be_used_is_listed_and_the_rest_goes_on() {
        let survey = surveyed([
            ("KB_AGENT_DATA_DIR", "data"),
            ("KB_AGENT_MAX_ITERATIONS", "many"),
            ("KB_AGENT_THEME", "pink"),
            ("KB_AGENT_LLM_BASE_URL", "http://u:pa55@h/v1"),
            ("KB_AGENT_AUTO_APPROVE_MAX_ITEMS", "7"),
        ]);
        assert_eq!(survey.refused.len(), 3);
        let settings = survey.settings.as_ref().unwrap();
        assert_eq!(settings.limits.auto_approve_max_items, 7);
        for (name, value) in [
            ("KB_AGENT_THEME", "pink"),
            ("KB_AGENT_MAX_ITERATIONS", "many"),
        ] {
            let one = of(&survey, name);
            assert_eq!(one.value.as_deref(), Some(value));
            assert_eq!(one.origin, Origin::Environment);
        }
        assert!(!format!("{survey:?}").contains("pa55"));
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
    fn trust_of_the_folder_only_the_screen_and_routing_count() {
        let own = Environment::from_pairs([("KB_AGENT_DATA_DIR", "data")]);
        let folder: Vec<&str> = variables()
            .filter(|variable| variable.folder)
            .map(|variable| &*variable.name)
            .collect();
        assert_eq!(folder.len(), 7, "{folder:?}");
        for name in variables().map(|variable| &*variable.name) {
            let environment = own.clone().with_folder("clone/.env", [(name, "7")]);
            let counts = folder.contains(&name);
            let found = environment.get(name) == Some("7");
            assert_eq!(found, counts, "{name}");
            // What the user sets is not asked for again.
            let is_said = !counts && own.get(name).is_none();
            let ignored = ignored(&environment, &Overrides::default());
            assert_eq!(ignored.is_some(), is_said, "{name}");
        }
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
        assert_eq!(of(&survey, "KB_AGENT_DATA_DIR").idle, None);
    }
}
