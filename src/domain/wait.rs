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
    /// The model reads the prompt, as the server reports it.
    Reading {
        /// Tokens read so far.
        tokens: u64,
        /// Tokens that it has to read.
        tokens_in_all: u64,
        /// Tokens before these that it need not read again, because the server has kept them.
        cached: u64,
        /// Since reading began.
        seconds: u64,
        /// How many it reads in a second, so far or else in an earlier call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens_per_second: Option<f64>,
        /// About how long it still reads at that rate.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seconds_left: Option<u64>,
    },
    /// The model thinks before it replies.
    Thinking {
        /// About how many tokens so far.
        tokens: u64,
    },
    /// The model writes.
    Writing {
        /// About how many tokens so far.
        tokens: u64,
        /// About how many it writes in a second.
        tokens_per_second: f64,
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
            Self::Reading {
                tokens,
                tokens_in_all,
                seconds,
                tokens_per_second,
                seconds_left,
                ..
            } => {
                // Servers that read the whole prompt at once report nothing in between.
                let read = match tokens {
                    0 => format!("{tokens_in_all} tok"),
                    _ => format!("{tokens} of {tokens_in_all} tok"),
                };
                let left = seconds_left.map(|left| left as f64 - (passed / 1000.0).floor());
                // What matters least stands last, where a narrow screen cuts it off.
                let time = match left {
                    Some(left) if left > 0.0 => format!("{left} s left"),
                    _ => format!("{} s so far", seconds as f64 + (passed / 1000.0).floor()),
                };
                let pace = tokens_per_second.map(|rate| format!(" · {}", tokens_a_second(rate)));
                format!(
                    "reading the prompt · {read} · {time}{}",
                    pace.unwrap_or_default()
                )
            }
            Self::Thinking { tokens } => format!("thinking · {tokens} tok"),
            Self::Writing {
                tokens,
                tokens_per_second,
            } => format!(
                "writing · {tokens} tok · {}",
                tokens_a_second(tokens_per_second)
            ),
            Self::Silence {
                seconds,
                seconds_left,
            } => format!("{seconds} s without a byte, {seconds_left} left"),
            Self::Over => String::new(),
        }
    }
}

/// A rate in words: one below ten with its first decimal.
pub fn tokens_a_second(rate: f64) -> String {
    let decimals = usize::from(rate < 9.95);
    format!("{rate:.decimals$} tok/s")
}

#[cfg(test)]
mod tests {
    use super::*;

    const READING: Wait = Wait::Reading {
        tokens: 412,
        tokens_in_all: 760,
        cached: 30,
        seconds: 7,
        tokens_per_second: Some(58.2),
        seconds_left: Some(6),
    };

    #[test]
    fn ui_reading_the_prompt_is_one_line_with_what_is_read_and_left() {
        let at_once = |seconds_left: Option<u64>| Wait::Reading {
            tokens: 0,
            tokens_in_all: 1_137,
            cached: 0,
            seconds: 9,
            tokens_per_second: seconds_left.map(|_| 52.4),
            seconds_left,
        };
        let so_far = "reading the prompt · 1137 tok · 9 s so far";
        for (wait, passed, line) in [
            (
                READING,
                0.0,
                "reading the prompt · 412 of 760 tok · 6 s left · 58 tok/s",
            ),
            (
                READING,
                2_400.0,
                "reading the prompt · 412 of 760 tok · 4 s left · 58 tok/s",
            ),
            (
                READING,
                8_000.0,
                "reading the prompt · 412 of 760 tok · 15 s so far · 58 tok/s",
            ),
            (at_once(None), 0.0, so_far),
            (
                at_once(Some(13)),
                0.0,
                "reading the prompt · 1137 tok · 13 s left · 52 tok/s",
            ),
            (at_once(Some(0)), 0.0, &format!("{so_far} · 52 tok/s")),
            (
                Wait::Writing {
                    tokens: 40,
                    tokens_per_second: 8.41,
                },
                900.0,
                "writing · 40 tok · 8.4 tok/s",
            ),
        ] {
            assert_eq!(wait.line(passed), line);
        }
    }

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
