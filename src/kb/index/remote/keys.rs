//! Numbers and keys by which the server finds terms and references.

use super::schema::TERM_IDS;
use crate::kb::links::{Link, LinkTarget, LinkTargets};
use crate::text::spaced;

/// The number of a term in a space, from 1. Two terms may have the same, and are then one to the server.
pub(super) fn term_id(space: i32, term: &str) -> i32 {
    (1 + hash(&format!("{space}\n{term}")) % u64::from(TERM_IDS)) as i32
}

/// The number under which the vectors of a model are kept.
pub(super) fn model_number(model_id: &str) -> i32 {
    (hash(model_id) >> 33) as i32
}

fn hash(text: &str) -> u64 {
    let hash = blake3::hash(text.as_bytes());
    u64::from_le_bytes(hash.as_bytes().first_chunk().copied().unwrap_or_default())
}

/// The keys by which a document with these references is found.
pub(super) fn keys_of_links(links: &[Link]) -> Vec<String> {
    let mut keys: Vec<String> = links
        .iter()
        .map(|link| match &link.target {
            LinkTarget::Id(id) => key('i', id),
            LinkTarget::Path(path) => key('p', &path.to_lowercase()),
            LinkTarget::Name(name) => key('n', &spaced(name)),
        })
        .collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// The keys to search for; a document that links to one of the targets has at least one of them.
pub(super) fn keys_of_targets(targets: &LinkTargets) -> Vec<String> {
    let ids = targets.id.iter().map(|id| key('i', id));
    let paths = targets
        .paths
        .iter()
        .map(|path| key('p', &path.to_lowercase()));
    let names = targets.names.iter().map(|name| key('n', name));
    ids.chain(paths).chain(names).collect()
}

/// A key of this kind, shortened to the length that the server can index.
fn key(kind: char, of: &str) -> String {
    const LONGEST: usize = 200;
    let key = format!("{kind}{of}");
    if key.len() <= LONGEST {
        return key.replace('\0', "\u{fffd}");
    }
    blake3::hash(key.as_bytes()).to_hex().to_string()
}
