//! What embedding models want to be sent, as a table that users can add to, and what is known of servers.

use std::path::Path;

use serde::Deserialize;

use crate::files::{read_own_file, read_tables};
use crate::openai::Tables;

const BUILT_IN: &str = include_str!("../../../assets/llm/embedding.toml");

/// What is known of models and servers, the user's own rows first.
#[derive(Debug, Clone)]
pub struct EmbeddingData {
    models: ModelTable,
    /// What is known of servers.
    pub tables: Tables,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelTable {
    #[serde(default)]
    model: Vec<TextForm>,
}

/// What a model wants to be told of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextForm {
    /// Parts of the names of such models.
    parts: Vec<String>,
    /// What stands before a question.
    #[serde(default)]
    pub query: String,
    /// What stands before a passage.
    #[serde(default)]
    pub passage: String,
    /// A field that says which of the two it is.
    pub input_type: Option<InputType>,
    #[serde(default)]
    examples: Vec<String>,
    #[serde(default, rename = "docs")]
    _docs: String,
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

impl EmbeddingData {
    /// What is built in, with the files of that folder before it. A file that is not there is no error;
    /// the error is one line.
    pub fn read(folder: Option<&Path>) -> Result<Self, String> {
        let models = read_own_file(folder, "embedding.toml", ModelTable::with_user_rows)?;
        let tables = Tables::read(folder)?;
        Ok(Self { models, tables })
    }

    /// What the model of that name wants; nothing where it is not known.
    pub fn form_of(&self, model: &str) -> TextForm {
        self.models.form_of(model)
    }
}

impl ModelTable {
    fn with_user_rows(own: Option<&str>) -> Result<Self, String> {
        read_tables(own, BUILT_IN)
    }

    fn form_of(&self, model: &str) -> TextForm {
        let name = model.to_lowercase().replace('_', "-");
        let is_of = |row: &&TextForm| row.parts.iter().any(|part| name.contains(part.as_str()));
        self.model.iter().find(is_of).cloned().unwrap_or_default()
    }
}

impl InputType {
    /// The names that a server gives the two kinds of text, read from its error.
    pub fn asked_for(said: &str) -> Self {
        let mut words = said.split(|c: char| !c.is_alphanumeric() && c != '_');
        let (query, passage) = if said.contains("search_document") {
            ("search_query", "search_document")
        } else if words.any(|word| word == "document") {
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
        let data = ModelTable::with_user_rows(None).unwrap();
        for row in &data.model {
            assert!(!row.examples.is_empty(), "{row:?}");
            for example in &row.examples {
                assert_eq!(data.form_of(example), *row, "{example}");
            }
        }
        assert_eq!(data.form_of("text-embedding-3-small"), TextForm::default());
    }

    #[test]
    fn rows_of_the_users_own_come_first_and_a_mistake_in_them_is_one_line() {
        let own = "[[model]]\nparts = [\"our-e5-base\"]\nquery = \"ask: \"\n";
        let data = ModelTable::with_user_rows(Some(own)).unwrap();
        assert_eq!(data.form_of("Our_E5_base").query, "ask: ");
        assert_eq!(data.form_of("e5-base").query, "query: ");
        for own in [
            "[[model]]\nquery = \"a\"",
            "[[model]]\nparts = []\nqery = \"\"",
            "[[",
        ] {
            let line = ModelTable::with_user_rows(Some(own)).unwrap_err();
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
