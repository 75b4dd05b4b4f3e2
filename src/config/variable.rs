//! What a setting is: its name, what it may be, what it is while it is not set, and what it does.

/// A setting. Help, `doctor`, `.env.example` and the reference page are made from it.
#[derive(Debug, Clone, Copy)]
pub struct Variable {
    /// The environment variable.
    pub name: &'static str,
    /// What values it takes, to be read after "must be".
    pub allowed: &'static str,
    /// What it can do.
    pub class: Class,
    /// Its value while it is not set, as it could be set; `None` where there is none.
    pub default: Option<&'static str>,
    /// What it means that it is not set, where it has no default.
    pub unset: Option<&'static str>,
    /// What it does, in sentences.
    pub help: &'static str,
}

/// What a setting can do, and so where it may come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// It changes how things are done or look; any folder's `.env` may say it.
    Taste,
    /// It says where things are sent, with what key, and what is read and written: only the user
    /// may say it, or a folder that the user trusts.
    Reach,
}

impl Class {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Taste => "taste",
            Self::Reach => "reach",
        }
    }
}

impl Variable {
    /// The setting with a default.
    pub(super) const fn or(mut self, default: &'static str) -> Self {
        self.default = Some(default);
        self
    }

    /// The setting with the meaning of its absence.
    pub(super) const fn unset(mut self, meaning: &'static str) -> Self {
        self.unset = Some(meaning);
        self
    }

    /// The setting with what it does.
    pub(super) const fn help(mut self, help: &'static str) -> Self {
        self.help = help;
        self
    }
}

/// A setting of taste.
pub(super) const fn variable(name: &'static str, allowed: &'static str) -> Variable {
    Variable {
        name,
        allowed,
        class: Class::Taste,
        default: None,
        unset: None,
        help: "",
    }
}

/// A setting that reaches out.
pub(super) const fn reaching(name: &'static str, allowed: &'static str) -> Variable {
    let mut variable = variable(name, allowed);
    variable.class = Class::Reach;
    variable
}
