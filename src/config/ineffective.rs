//! What is set to no effect: names that are no setting, and settings that do nothing as things are.

use super::environment::{ENV, Environment, Origin, Overrides, PREFIX};
use super::setting::{Setting, shorten_value};
use super::table::{LLM_BASE_URL, setting, settings};
use crate::text::{nearest, one_line, plural};

/// Names of the program's own tests begin so.
const OF_TESTS: &str = "KB_AGENT_TEST_";

/// Something that was set to no effect. Never with its value, which may be a key under a misspelt name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IneffectiveSetting {
    /// What was set, on one line.
    pub name: String,
    /// What, and why; one line.
    pub line: String,
    /// What to do; one line.
    pub next: String,
}

/// What looks like a setting and is none, in order: a misspelt name must not be silently without effect.
pub(super) fn unknown(environment: &Environment) -> impl Iterator<Item = IneffectiveSetting> {
    let names = environment.names();
    let names = names.filter(|name| setting(name).is_none() && !name.starts_with(OF_TESTS));
    names.map(|set| {
        let known = settings().filter_map(|one| one.name.strip_prefix(PREFIX));
        let wanted = set.strip_prefix(PREFIX).unwrap_or(set);
        let meant = match nearest(wanted, known).first() {
            Some(meant) => format!("did you mean {PREFIX}{meant}?"),
            None => "look for its name in .env.example".to_owned(),
        };
        let name = one_line(set, 80);
        IneffectiveSetting {
            line: format!("{name} is no setting of kb-agent: {meant}"),
            next: format!("rename {name}, or remove it"),
            name,
        }
    })
}

/// One line on all that looks like a setting and is none.
pub fn unknown_in_one_line(environment: &Environment) -> Option<String> {
    let mut unknown = unknown(environment);
    let first = unknown.next()?;
    let more = unknown.count();
    if more == 0 {
        return Some(first.line);
    }
    Some(format!(
        "{} and {} are no settings of kb-agent: kb-agent doctor lists them",
        first.name,
        plural(more, "more name")
    ))
}

/// What a start says, one line each. What is for a chat endpoint is left out: it counts for a server that is
/// found on this machine, too.
pub(super) fn without_effect(environment: &Environment) -> Vec<String> {
    let told = settings().filter(|one| match one.needs.first() {
        Some(needed) => *needed != LLM_BASE_URL,
        None => one.name == "KB_AGENT_EMBEDDING",
    });
    let told = told.filter_map(|one| idle(one, environment, None));
    told.map(|one| one.line).collect()
}

/// Why what is set of a setting does nothing beside a flag or the other settings.
pub(super) fn idle(
    one: &Setting,
    environment: &Environment,
    flag: Option<&str>,
) -> Option<IneffectiveSetting> {
    let name = one.name;
    environment.get(name)?;
    let is_set = |name: &&str| environment.get(name).is_some();
    let needed = one.needs.first().filter(|_| !one.needs.iter().any(is_set));
    let (why, next) = if let Some(flag) = flag {
        (
            format!("{flag} wins over it"),
            format!("nothing, if {flag} is what you want"),
        )
    } else if let Some(needed) = needed {
        (
            format!("{needed} is not set"),
            format!("set {needed}, or remove {name}"),
        )
    } else {
        (
            (one.idle)(environment)?.to_owned(),
            format!("remove {name}"),
        )
    };
    Some(IneffectiveSetting {
        name: name.to_owned(),
        line: format!("{name} is set without effect: {why}"),
        next,
    })
}

/// What a file says in vain, because another place says something else and wins.
pub(super) fn outvoted(name: &str, environment: &Environment) -> Option<IneffectiveSetting> {
    environment.get(name)?;
    let file = environment.overridden_by(name)?;
    let winner = match environment.origin(name) {
        Origin::Environment => "the environment".to_owned(),
        file => shorten_value(&file.to_string()),
    };
    Some(IneffectiveSetting {
        name: name.to_owned(),
        line: format!(
            "{name} is set without effect in {}: {winner} wins over it",
            shorten_value(&file.to_string())
        ),
        next: "nothing, if the value in effect is what you want".to_owned(),
    })
}

/// What `.env` of the working folder sets and may not, where neither the command line nor anything else of
/// the user's says it.
pub fn ignored(environment: &Environment, overrides: &Overrides) -> Option<IneffectiveSetting> {
    let file = environment.barred_file()?;
    let names = settings().map(|one| one.name);
    let names = names.filter(|name| environment.is_barred(name) && overrides.flag(name).is_none());
    let names: Vec<&str> = names.collect();
    let (name, them) = match names.split_last()? {
        (last, []) => ((*last).to_owned(), "it"),
        (last, others) => (format!("{} and {last}", others.join(", ")), "them"),
    };
    let own = environment.config_dir().map(|folder| folder.join(ENV));
    let own = own.map_or_else(
        || "your own .env".to_owned(),
        |path| shorten_value(&path.to_string_lossy()),
    );
    Some(IneffectiveSetting {
        line: format!(
            "{} sets {name} without effect: only settings of the screen and of routing count there",
            shorten_value(&file.to_string())
        ),
        next: format!(
            "put {them} into {own} or the environment, or give that file with --env-file"
        ),
        name,
    })
}
