//! Servers that run on this machine: who listens at the usual ports and lists models that chat.
//!
//! Only 127.0.0.1 is asked, directly, for the listing and nothing else. These ports are often those of
//! other programs, so what does not answer exactly as a listing does is no server, and no error.

use std::path::Path;
use std::time::Duration;

use futures_util::future::join_all;
use reqwest::{Client, StatusCode};
use serde_json::Value;
use tokio::time::timeout;

use super::address::{Address, Variables};
use super::models::{ListedModel, ModelUse, models};
use super::server::Servers;
use crate::files::read_own_file;
use crate::text::one_line;

/// No setting names these addresses.
const NOWHERE: Variables = Variables {
    base_url: "",
    api_key: None,
    model: None,
};
/// How long one port is asked, its connection included.
const PATIENCE: Duration = Duration::from_millis(300);
/// A longer listing is none.
const LARGEST: usize = 1 << 20;
/// Columns of the longest name that is taken.
const LONGEST_NAME: usize = 120;

/// A server on this machine.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalServer {
    /// What kind of server its port is known for, as the setting calls it.
    pub kind: String,
    /// What a person calls that.
    pub title: String,
    /// Its root.
    pub base_url: String,
    /// The models that can chat; at least one.
    pub models: Vec<ListedModel>,
}

/// Asks all usual ports of this machine at once, which takes 300 ms at most. The ports are those of the
/// servers' table, the user's rows of that folder first; the error is one line about their file.
pub async fn local_servers(folder: Option<&Path>) -> Result<Vec<LocalServer>, String> {
    let servers = read_own_file(folder, "servers.toml", Servers::with_user_rows)?;
    let address = Address::new("http://127.0.0.1/v1", None, &NOWHERE);
    let client = address.and_then(|address| address.client());
    let client = client.map_err(|trouble| trouble.to_string())?;
    let asked = servers.with_local_ports().into_iter();
    let asked = asked.map(async |(row, port)| {
        let base_url = format!("http://127.0.0.1:{port}/v1");
        let listed = timeout(PATIENCE, listed_at(&client, &base_url)).await;
        Some(LocalServer {
            kind: row.name.clone(),
            title: row.title().to_owned(),
            models: listed.ok().flatten()?,
            base_url,
        })
    });
    Ok(join_all(asked).await.into_iter().flatten().collect())
}

async fn listed_at(client: &Client, base_url: &str) -> Option<Vec<ListedModel>> {
    let asked = client.get(format!("{base_url}/models")).send().await;
    let mut response = asked.ok()?;
    if response.status() != StatusCode::OK {
        return None;
    }
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.ok()? {
        body.extend_from_slice(&piece);
        if body.len() > LARGEST {
            return None;
        }
    }
    chat_models(&serde_json::from_slice(&body).ok()?)
}

/// The models of a listing, `{"data": [{"id": …}]}` or `{"models": [{"name": …}]}`, that can chat; `None`
/// where there is none, or where it is the answer of some other program.
fn chat_models(listing: &Value) -> Option<Vec<ListedModel>> {
    let rows = listing.get("data").or_else(|| listing.get("models"))?;
    let mut rows = rows.as_array()?.iter();
    let is_model = |row: &Value| {
        ["id", "model", "name"]
            .iter()
            .any(|key| row[key].is_string())
    };
    if !rows.all(is_model) {
        return None;
    }
    let mut models = models(listing);
    // A name is shown, sent and written to a file: one that is not a plain line is left out.
    let is_plain = |name: &str| one_line(name, LONGEST_NAME) == name;
    models.retain(|model| model.purpose == ModelUse::Chat && is_plain(&model.name));
    (!models.is_empty()).then_some(models)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn local_servers_are_told_from_other_programs_by_their_listing() {
        for (listing, expected) in [
            (
                json!({"object": "list", "data": [{"id": "a"}, {"id": "b"}]}),
                "a b",
            ),
            (json!({"models": [{"name": "a"}]}), "a"),
            (
                json!({"data": [{"id": "nomic-embed-text"}, {"id": "a"}]}),
                "a",
            ),
            (json!({"data": [{"id": "evil\u{1b}[2J"}, {"id": "a"}]}), "a"),
            (json!({"data": [{"id": "two\nlines"}]}), ""),
            (json!({"data": [{"id": "nomic-embed-text"}]}), ""),
            (json!({"data": [{"id": 7, "title": "an invoice"}]}), ""),
            (json!({"data": ["a"]}), ""),
            (json!({"data": []}), ""),
            (json!({"data": null}), ""),
            (json!({"status": "ok"}), ""),
            (json!([{"id": "a"}]), ""),
        ] {
            let names = chat_models(&listing).into_iter().flatten();
            let names: Vec<String> = names.map(|model| model.name).collect();
            assert_eq!(names.join(" "), expected, "{listing}");
        }
    }

    #[test]
    fn local_servers_have_the_ports_of_the_table_and_a_users_row_moves_one() {
        let ports = |own: Option<&str>| {
            let servers = Servers::with_user_rows(own).unwrap();
            let rows = servers.with_local_ports().into_iter();
            let mut rows: Vec<_> = rows
                .map(|(row, port)| format!("{} {port}", row.title()))
                .collect();
            rows.sort();
            rows.join(", ")
        };
        let usual = "Jan 1337, KoboldCpp 5001, LM Studio 1234, Ollama 11434, llama.cpp 8080, \
                     text-generation-webui 5000, vLLM 8000";
        assert_eq!(ports(None), usual);
        let own = "[[server]]\nname = 'ollama'\nat = []\nlocal_port = 7777\n\
                   [[server]]\nname = 'vllm'\nat = []\n\
                   [[server]]\nname = 'mine'\nat = []\nlocal_port = 1234\n";
        let moved = "Jan 1337, KoboldCpp 5001, llama.cpp 8080, mine 1234, ollama 7777, \
                     text-generation-webui 5000";
        assert_eq!(ports(Some(own)), moved);
    }
}
