use serde::{Deserialize, Serialize};

use super::NodeName;

/// What the call of a model waits for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Wait {
    /// A request failed, and the same is asked again after a pause.
    Retry {
        /// How long that pause is.
        seconds: f64,
        /// Which request comes next, from 1.
        attempt: u32,
        /// How many there may be.
        attempts: u32,
        /// What the server answered; `None` where no whole reply came.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
    },
    /// Nothing of the reply has come.
    FirstToken {
        /// Since the last byte, or since it was asked for.
        seconds: u64,
        /// Until that is an error.
        seconds_left: u64,
    },
    /// The model thinks before it replies.
    Thinking {
        /// About how many tokens so far.
        tokens: u64,
    },
    /// The reply has begun, and nothing more comes.
    Silence {
        /// Since the last byte.
        seconds: u64,
        /// Until that is an error.
        seconds_left: u64,
    },
    /// What was waited for has come.
    Over,
}

impl Wait {
    /// The same on one line, so many milliseconds after the report, with what is called where that
    /// is not the model that thinks; without a node no run has begun.
    pub fn line_of(&self, node: Option<NodeName>, passed: f64) -> String {
        let line = self.line(passed);
        match node {
            None => format!("starting · {line}"),
            Some(NodeName::ToolExec) => format!("embedding · {line}"),
            Some(_) => line,
        }
    }

    /// The same on one line, so many milliseconds after the report.
    pub fn line(&self, passed: f64) -> String {
        match *self {
            Self::Retry {
                seconds,
                attempt,
                attempts,
                status,
            } => {
                let why = status.map_or_else(|| "no reply".to_owned(), |code| code.to_string());
                let left = (seconds - passed / 1000.0).ceil();
                let when = if left > 0.0 {
                    format!("again in {left} s")
                } else {
                    "asked again".to_owned()
                };
                format!("{why}: {when} ({attempt} of {attempts})")
            }
            Self::FirstToken {
                seconds,
                seconds_left,
            } => format!("no token yet · {seconds} s, {seconds_left} left"),
            Self::Thinking { tokens } => format!("thinking · {tokens} tok"),
            Self::Silence {
                seconds,
                seconds_left,
            } => format!("{seconds} s without a byte, {seconds_left} left"),
            Self::Over => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ui_what_is_waited_for_is_one_line_that_counts_down() {
        let retry = |status| Wait::Retry {
            seconds: 3.2,
            attempt: 2,
            attempts: 3,
            status,
        };
        for (wait, passed, line) in [
            (retry(Some(429)), 0.0, "429: again in 4 s (2 of 3)"),
            (retry(Some(429)), 2_500.0, "429: again in 1 s (2 of 3)"),
            (retry(None), 3_200.0, "no reply: asked again (2 of 3)"),
            (
                Wait::FirstToken {
                    seconds: 2,
                    seconds_left: 58,
                },
                900.0,
                "no token yet · 2 s, 58 left",
            ),
            (Wait::Thinking { tokens: 320 }, 0.0, "thinking · 320 tok"),
            (
                Wait::Silence {
                    seconds: 12,
                    seconds_left: 48,
                },
                0.0,
                "12 s without a byte, 48 left",
            ),
        ] {
            assert_eq!(wait.line(passed), line);
        }
        assert_eq!(Wait::Over.line(0.0), "");
        let asked = |node| retry(Some(429)).line_of(node, 0.0);
        assert_eq!(asked(None), "starting · 429: again in 4 s (2 of 3)");
        assert_eq!(
            asked(Some(NodeName::ToolExec)),
            "embedding · 429: again in 4 s (2 of 3)"
        );
        let of_model = "429: again in 4 s (2 of 3)";
        assert_eq!(asked(Some(NodeName::Plan)), of_model);
    }
}
