//! What is built in and users can replace, read once, when the program starts: a mistake in a file is
//! shown then, with the file's name, and not in the middle of an answer.

use std::path::Path;
use std::sync::Arc;

use super::prompt::Prompts;
use super::think::ReplyMarks;
use crate::files::read_own_file;
use crate::openai::{Prices, Tables};
use crate::text::Trouble;

/// What users can replace.
#[derive(Debug, Clone)]
pub struct LlmOverrides {
    /// The words of every job.
    pub prompts: Prompts,
    /// What tokens cost.
    pub prices: Prices,
    /// What stands in replies beside their text.
    pub marks: Arc<ReplyMarks>,
    /// What is known of servers.
    pub tables: Tables,
}

impl LlmOverrides {
    /// What is built in, with the files of that folder before it. A file that is not there is no error;
    /// the error is one line.
    pub fn read(folder: Option<&Path>) -> Result<Self, Trouble> {
        Ok(Self {
            prompts: Prompts::read(folder)?,
            prices: read_own_file(folder, "prices.toml", Prices::with_user_rows)?,
            marks: read_own_file(folder, "replies.toml", ReplyMarks::with_user_rows)?.into(),
            tables: Tables::read(folder)?,
        })
    }
}
