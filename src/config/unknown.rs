//! Settings that nothing reads: a misspelt name must not be silently without effect.

use std::fmt;

use super::Environment;
use super::variables::variables;
use crate::text::{nearest, one_line};

/// What looks like a setting and is none; never with its value, which may be a key under a misspelt
/// name.
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
    const PREFIX: &str = "KB_AGENT_";
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
