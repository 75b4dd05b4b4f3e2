//! What an answer is made from.

use crate::domain::{Evidence, Question};

use super::super::question::Part;
use super::super::verdict::Verdict;

/// What is answered from.
#[derive(Clone, Copy)]
pub(in super::super) struct Material<'a> {
    pub(in super::super) question: &'a Question,
    pub(in super::super) parts: &'a [Part],
    pub(in super::super) items: &'a [Evidence],
    pub(in super::super) verdict: &'a Verdict,
    /// A name in the question that occurs nowhere in the base.
    pub(in super::super) unknown: Option<&'a str>,
}
