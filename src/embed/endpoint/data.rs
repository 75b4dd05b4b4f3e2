//! What embedding models want to be sent and how their servers refuse a request, as tables that
//! users can add to.

use serde::Deserialize;

const BUILT_IN: &str = include_str!("../../../assets/llm/embedding.toml");

/// The tables, the user's own rows first.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmbeddingData {
    #[serde(default)]
    model: Vec<ModelRow>,
    #[serde(default)]
    refusal: Vec<RefusalRow>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelRow {
    parts: Vec<String>,
    #[serde(default)]
    query: String,
    #[serde(default)]
    passage: String,
    input_type: Option<InputType>,
    #[serde(default)]
    #[cfg_attr(not(test), expect(dead_code, reason = "a test reads it"))]
    examples: Vec<String>,
    #[serde(default, rename = "docs")]
    _docs: String,
}

/// What a model wants to be told of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextForm {
    /// What stands before a question.
    pub query: String,
    /// What stands before a passage.
    pub passage: String,
    /// A field that says which of the two it is.
    pub input_type: Option<InputType>,
}

/// A field of a request that says what its texts are.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputType {
    /// The field's name.
    #[serde(default = "input_type")]
    pub field: String,
    /// What stands before a question.
    pub query: String,
    /// What stands before a passage.
    pub passage: String,
}

fn input_type() -> String {
    "input_type".to_owned()
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RefusalRow {
    kind: RefusalKind,
    says: Vec<String>,
    #[serde(default, rename = "who")]
    _who: String,
    #[serde(default)]
    #[cfg_attr(not(test), expect(dead_code, reason = "a test reads it"))]
    example: String,
}

/// What a server minds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalKind {
    /// How much is sent.
    TooLarge,
    /// How many texts are sent.
    TooMany,
    /// The form that vectors are asked for in.
    Encoding,
    /// The server is told, or not told, what a text is.
    InputType,
}

impl EmbeddingData {
    /// The built-in tables with the user's own before them; the error is one line.
    pub fn read(own: Option<&str>) -> Result<Self, String> {
        crate::files::read_tables(own, BUILT_IN)
    }

    /// What the model of that name wants; nothing where it is not known.
    pub fn form_of(&self, model: &str) -> TextForm {
        let name = model.to_lowercase().replace('_', "-");
        let is_of = |row: &&ModelRow| row.parts.iter().any(|part| name.contains(part.as_str()));
        let row = self.model.iter().find(is_of);
        row.map(ModelRow::form).unwrap_or_default()
    }

    /// What a server minds that says this.
    pub fn refusal(&self, said: &str) -> Option<RefusalKind> {
        let said = said.to_lowercase();
        let is_of = |row: &&RefusalRow| row.says.iter().any(|sign| said.contains(sign.as_str()));
        self.refusal.iter().find(is_of).map(|row| row.kind)
    }
}

impl ModelRow {
    fn form(&self) -> TextForm {
        TextForm {
            query: self.query.clone(),
            passage: self.passage.clone(),
            input_type: self.input_type.clone(),
        }
    }
}

impl InputType {
    /// The names that a server gives the two kinds of text, read from its error.
    pub fn asked_for(said: &str) -> Self {
        let (query, passage) = if said.contains("search_document") {
            ("search_query", "search_document")
        } else if said.contains("document") {
            ("query", "document")
        } else {
            ("query", "passage")
        };
        Self {
            field: input_type(),
            query: query.to_owned(),
            passage: passage.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_is_what_its_examples_are_taken_for() {
        let data = EmbeddingData::read(None).unwrap();
        for row in &data.model {
            assert!(!row.examples.is_empty(), "{row:?}");
            for example in &row.examples {
                assert_eq!(data.form_of(example), row.form(), "{example}");
            }
        }
        for row in &data.refusal {
            assert_eq!(data.refusal(&row.example), Some(row.kind), "{row:?}");
        }
        assert_eq!(data.form_of("text-embedding-3-small"), TextForm::default());
        assert_eq!(data.refusal("model 'm' not found"), None);
    }

    #[test]
    fn rows_of_the_users_own_come_first_and_a_mistake_in_them_is_one_line() {
        let own = "[[model]]\nparts = [\"our-e5-base\"]\nquery = \"ask: \"\n\
                   [[refusal]]\nkind = \"too_many\"\nsays = [\"slow down the texts\"]\n";
        let data = EmbeddingData::read(Some(own)).unwrap();
        assert_eq!(data.form_of("Our_E5_base").query, "ask: ");
        assert_eq!(data.form_of("e5-base").query, "query: ");
        let minds = data.refusal("please slow down the texts");
        assert_eq!(minds, Some(RefusalKind::TooMany));
        for own in [
            "[[model]]\nquery = \"a\"",
            "[[model]]\nparts = []\nqery = \"\"",
            "[[",
        ] {
            let line = EmbeddingData::read(Some(own)).unwrap_err();
            assert!(!line.contains('\n'), "{line}");
        }
    }

    #[test]
    fn a_server_that_asks_for_an_input_type_is_told_in_its_own_words() {
        for (said, query, passage) in [
            (
                "'input_type' parameter is required for asymmetric models",
                "query",
                "passage",
            ),
            (
                "input_type: one of search_document, search_query",
                "search_query",
                "search_document",
            ),
            (
                "input_type must be 'query' or 'document'",
                "query",
                "document",
            ),
        ] {
            let asked = InputType::asked_for(said);
            assert_eq!(
                (asked.query.as_str(), asked.passage.as_str()),
                (query, passage),
                "{said}"
            );
        }
    }
}
