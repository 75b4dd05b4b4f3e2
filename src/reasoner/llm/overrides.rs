//! Prompts, prices and servers: what is built in, and what the user put in its place.
//!
//! Read once, when the program starts: a mistake in a file is shown then, with the file's name, and
//! not in the middle of an answer.

use std::path::Path;

use super::failure::Wordings;
use super::price::Prices;
use super::prompt::Prompts;
use super::server::Servers;
use crate::files;

/// No prompt or table is nearly as large.
const LARGEST: u64 = 1 << 20;

/// The data that users can replace.
#[derive(Debug, Clone)]
pub struct LlmOverrides {
    /// The words of every job.
    pub prompts: Prompts,
    /// What tokens cost.
    pub prices: Prices,
    /// What servers do differently.
    pub servers: Servers,
    /// How servers say what went wrong.
    pub wordings: Wordings,
}

impl LlmOverrides {
    /// What is built in, with the files of that folder before it: `prompts/*.md`, `prices.toml`,
    /// `servers.toml`, `errors.toml`. A file that is not there is no error; the error is one line.
    pub fn read(folder: Option<&Path>) -> Result<Self, String> {
        let file = |name: &str| folder.map_or(Ok(None), |folder| text_of(&folder.join(name)));
        let with_file_name = |name: &'static str| {
            move |why: String| match folder {
                Some(folder) => format!("{}: {why}", folder.join(name).display()),
                None => why,
            }
        };
        Ok(Self {
            prompts: Prompts::with(|name| {
                let name = format!("prompts/{name}.md");
                let text = file(&name)?;
                Ok(text.map(|text| (folder.map(|at| at.join(&name)).unwrap_or_default(), text)))
            })?,
            prices: Prices::with(file("prices.toml")?.as_deref())
                .map_err(with_file_name("prices.toml"))?,
            servers: Servers::with(file("servers.toml")?.as_deref())
                .map_err(with_file_name("servers.toml"))?,
            wordings: Wordings::with(file("errors.toml")?.as_deref())
                .map_err(with_file_name("errors.toml"))?,
        })
    }
}

fn text_of(path: &Path) -> Result<Option<String>, String> {
    match files::read_text_bounded(path, LARGEST) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(format!("{} cannot be read: {error}", path.display())),
    }
}
