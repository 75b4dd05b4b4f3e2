//! What a setting is: its name, what it may be, and what it can do.

/// A setting's name and what it may be, for messages and documentation.
#[derive(Debug, Clone, Copy)]
pub struct Variable {
    /// The environment variable.
    pub name: &'static str,
    /// What values it takes, to be read after "must be".
    pub allowed: &'static str,
    /// What it can do.
    pub class: Class,
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

/// A setting of taste.
pub(super) const fn variable(name: &'static str, allowed: &'static str) -> Variable {
    Variable {
        name,
        allowed,
        class: Class::Taste,
    }
}

/// A setting that reaches out.
pub(super) const fn reaching(name: &'static str, allowed: &'static str) -> Variable {
    Variable {
        name,
        allowed,
        class: Class::Reach,
    }
}
