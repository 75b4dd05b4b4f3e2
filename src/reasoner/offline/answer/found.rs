//! What was found, and places in it.

use crate::domain::Evidence;

use super::super::evidence::Passage;
use super::super::judge::Seen;

/// Of longer lists and longer runs of steps only so many items are quoted, and the answer says so.
pub(super) const LONGEST_LIST: usize = 40;

/// What is quoted from: the items, and the same read as passages and as words, in their order.
#[derive(Clone, Copy)]
pub(in super::super) struct Found<'a> {
    pub(in super::super) items: &'a [Evidence],
    pub(in super::super) passages: &'a [Passage],
    pub(in super::super) seen: &'a [Seen],
}

/// A unit of a passage, both by their place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Choice {
    pub(super) item: usize,
    pub(super) unit: usize,
}
