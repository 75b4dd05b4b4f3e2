use thiserror::Error;

/// A setting that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{line}")]
pub struct SettingError {
    /// The variable whose value cannot be used; empty where a file cannot be read.
    variable: String,
    /// What is wrong and what to do, in one line.
    line: String,
    /// What to do, in one line.
    pub next: String,
}

impl SettingError {
    pub(super) fn new(variable: &str, line: String, next: String) -> Self {
        let variable = variable.to_owned();
        Self {
            variable,
            line,
            next,
        }
    }

    /// The same of the variable that was read in the place of `name`.
    pub(super) fn renamed(self, name: &str, other: &str) -> Self {
        let next = self.next.replace(name, other);
        Self::new(other, self.line.replace(name, other), next)
    }

    /// The variable whose value cannot be used.
    pub fn variable(&self) -> Option<&str> {
        (!self.variable.is_empty()).then_some(self.variable.as_str())
    }
}
