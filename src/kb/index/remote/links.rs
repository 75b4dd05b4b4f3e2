//! References of documents, as the server keeps and finds them.

use crate::kb::links::{Link, LinkTarget, LinkTargets};
use crate::text::spaced;

/// The JSON form in which references are stored.
pub(super) fn written_links(links: &[Link]) -> String {
    serde_json::to_string(links).unwrap_or_default()
}

/// Reads references from [`written_links`].
pub(super) fn read_links(text: &str) -> Vec<Link> {
    serde_json::from_str(text).unwrap_or_default()
}

/// The keys by which a document with these references is found.
pub(super) fn keys_of_links(links: &[Link]) -> Vec<String> {
    let mut keys: Vec<String> = links
        .iter()
        .map(|link| match &link.target {
            LinkTarget::Id(id) => id_key(id),
            LinkTarget::Path(path) => path_key(path),
            LinkTarget::Name(name) => name_key(&spaced(name)),
        })
        .collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// The keys to search for; a document that links to one of the targets has at least one of them.
pub(super) fn keys_of_targets(targets: &LinkTargets) -> Vec<String> {
    let ids = targets.id.iter().map(|id| id_key(id));
    let paths = targets.paths.iter().map(|path| path_key(path));
    let names = targets.names.iter().map(|name| name_key(name));
    ids.chain(paths).chain(names).collect()
}

fn id_key(id: &str) -> String {
    bounded(&format!("i{id}"))
}

fn path_key(path: &str) -> String {
    bounded(&format!("p{}", path.to_lowercase()))
}

fn name_key(name: &str) -> String {
    bounded(&format!("n{name}"))
}

/// Shortens a key to the length that the server can index.
fn bounded(key: &str) -> String {
    const LONGEST: usize = 200;
    if key.len() <= LONGEST {
        return key.replace('\0', "\u{fffd}");
    }
    blake3::hash(key.as_bytes()).to_hex().to_string()
}
