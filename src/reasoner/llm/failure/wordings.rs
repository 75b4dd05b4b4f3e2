//! By which words servers tell what went wrong: rows of a table that users can add to.

use serde::Deserialize;
use serde_json::Value;

const BUILT_IN: &str = include_str!("../../../../assets/llm/errors.toml");

/// What an error may be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// More was sent than the model can read.
    Overflow,
    /// The model takes no system message.
    NoSystem,
    /// The server's rules forbid the answer.
    Filtered,
    /// There is nothing left to pay with.
    NoCredit,
    /// The model is not there; see also [`names_a_missing_model`].
    NoModel,
}

/// How some servers say one thing.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wording {
    kind: ErrorKind,
    says: Vec<String>,
    #[serde(default)]
    context: Vec<String>,
    #[serde(default)]
    #[cfg_attr(not(test), expect(dead_code, reason = "a test reads it"))]
    example: String,
    #[serde(default)]
    #[cfg_attr(not(test), expect(dead_code, reason = "a test reads it"))]
    reads: Option<Sizes>,
    #[serde(default, rename = "who")]
    _who: String,
}

/// The numbers of an example; what was sent is 0 where it is not said.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(not(test), expect(dead_code, reason = "a test reads them"))]
struct Sizes {
    context: u32,
    sent: u32,
}

/// The table, the user's own rows first.
#[derive(Debug, Clone)]
pub struct Wordings(Vec<Wording>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WordingFile {
    #[serde(default)]
    error: Vec<Wording>,
}

impl Wordings {
    /// The built-in table behind the rows of a file of the user's. The error is one line.
    pub fn with(own: Option<&str>) -> Result<Self, String> {
        let mut rows = Vec::new();
        for text in own.into_iter().chain([BUILT_IN]) {
            let file: WordingFile = toml::from_str(text)
                .map_err(|error| crate::text::one_line(&error.to_string(), 300))?;
            rows.extend(file.error);
        }
        Ok(Self(rows))
    }

    /// Whether an error in these words, in lower case, is of that kind.
    pub fn tell(&self, kind: ErrorKind, words: &str) -> bool {
        let rows = self.0.iter().filter(|row| row.kind == kind);
        rows.flat_map(|row| &row.says)
            .any(|sign| words.contains(sign.as_str()))
    }

    /// What stands before the size of the context, in any server's words.
    pub fn context_signs(&self) -> impl Iterator<Item = &str> {
        let signs = self.0.iter().flat_map(|row| &row.context);
        signs.map(String::as_str)
    }
}

/// Everything an error says, in lower case: its message, and the codes and types beside it.
pub fn words_of(error: &Value, body: &[u8]) -> String {
    let text = match error {
        Value::Null => String::from_utf8_lossy(body).into_owned(),
        error => error.to_string(),
    };
    text.to_lowercase()
}

/// `model 'x' not found`, `The model "x" does not exist`: with the name in between.
pub fn names_a_missing_model(words: &str) -> bool {
    words.match_indices("model").any(|(at, _)| {
        let end = (at + 160).min(words.len());
        let after = &words[at..words.floor_char_boundary(end)];
        [
            "not found",
            "does not exist",
            "doesn't exist",
            "is not available",
        ]
        .iter()
        .any(|sign| after.contains(sign))
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::overflow::{Shorter, shorter};
    use super::*;

    #[test]
    fn every_example_is_understood_as_its_row_says() {
        let table = Wordings::with(None).unwrap();
        for row in &table.0 {
            let words = row.example.to_lowercase();
            assert!(row.says.iter().any(|sign| words.contains(sign)), "{row:?}");
            let kinds = [
                ErrorKind::NoSystem,
                ErrorKind::Filtered,
                ErrorKind::NoCredit,
            ];
            for kind in kinds.into_iter().filter(|kind| *kind != row.kind) {
                assert!(!table.tell(kind, &words), "{kind:?}: {row:?}");
            }
            if let Some(Sizes { context, sent }) = row.reads {
                let sent = if sent == 0 { 99_999 } else { sent };
                let Shorter { share, max_tokens } = shorter(&table, &words, 2_000, 99_999);
                let reply = if max_tokens < 2_000 { max_tokens } else { 0 };
                let expected = f64::from(context - reply) / f64::from(sent);
                let share = share.unwrap();
                let counted = f64::from(context - max_tokens) / f64::from(sent);
                assert!(share == expected || share == counted, "{share}: {row:?}");
            }
        }
    }

    #[test]
    fn own_rows_are_read_first_and_a_mistake_is_one_line() {
        let own = "[[error]]\nkind = \"overflow\"\nsays = [\"zu viel\"]\n";
        let table = Wordings::with(Some(own)).unwrap();
        assert!(table.tell(ErrorKind::Overflow, "das ist zu viel"));
        assert!(table.tell(ErrorKind::Overflow, "maximum context length"));
        let wrong = Wordings::with(Some("[[error]]\nkind = \"odd\"\n")).unwrap_err();
        assert!(!wrong.contains('\n'), "{wrong}");
    }

    #[test]
    fn a_missing_model_is_distinguished_from_another_missing_thing() {
        for (said, missing) in [
            ("model 'qwen9' not found", true),
            (
                "the model `gpt-9` does not exist or you do not have access to it",
                true,
            ),
            ("file not found", false),
            ("the model is loading", false),
        ] {
            assert_eq!(names_a_missing_model(said), missing, "{said}");
        }
    }
}
