//! What an answer is made from.

use crate::domain::{Evidence, Question};

use super::super::question::Part;
use super::super::verdict::Verdict;

/// What is answered from.
#[derive(Clone, Copy)]
pub struct Material<'a> {
    pub question: &'a Question,
    pub parts: &'a [Part],
    pub items: &'a [Evidence],
    pub verdict: &'a Verdict,
    /// A name in the question that occurs nowhere in the base.
    pub unknown: Option<&'a str>,
}
