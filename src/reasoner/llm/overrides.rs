//! What is built in and users can replace: prompts, prices and tables.
//!
//! Read once, when the program starts: a mistake in a file is shown then, with the file's name, and
//! not in the middle of an answer.

use std::path::Path;
use std::sync::Arc;

use super::failure::Wordings;
use super::marks::ReplyMarks;
use super::price::Prices;
use super::prompt::Prompts;
use super::server::Servers;
use crate::files::read_own_file;

/// The data that users can replace.
#[derive(Debug, Clone)]
pub struct LlmOverrides {
    /// The words of every job.
    pub prompts: Prompts,
    /// What tokens cost.
    pub prices: Prices,
    /// What servers do differently.
    pub servers: Servers,
    /// What stands in replies beside their text.
    pub marks: Arc<ReplyMarks>,
    /// How servers say what went wrong.
    pub wordings: Wordings,
}

impl LlmOverrides {
    /// What is built in, with the files of that folder before it. A file that is not there is no error;
    /// the error is one line.
    pub fn read(folder: Option<&Path>) -> Result<Self, String> {
        Ok(Self {
            prompts: Prompts::read(folder)?,
            prices: read_own_file(folder, "prices.toml", Prices::with_user_rows)?,
            servers: read_own_file(folder, "servers.toml", Servers::with_user_rows)?,
            marks: read_own_file(folder, "replies.toml", ReplyMarks::with_user_rows)
                .map(Arc::new)?,
            wordings: read_own_file(folder, "errors.toml", Wordings::with_user_rows)?,
        })
    }
}
