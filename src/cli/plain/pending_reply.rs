use crate::domain::LineRange;

use super::narrator::Narrator;

/// What the next line waits for.
pub(super) enum PendingReply {
    Nothing,
    /// A question was sent whose run has not begun.
    Asking,
    Answering(Box<Narrator>),
    /// A passage with these lines was asked for.
    Reading(LineRange),
    /// The questions to try, or one of them, before they are known.
    Trying(Option<usize>),
    /// What the knowledge base holds, before that is known.
    Describing,
    /// All recorded runs are summed up.
    SummingUp,
    /// Recorded conversations were asked for.
    ListingSessions,
    /// This conversation is written to a file.
    Exporting,
    /// The models were asked for.
    ListingModels,
    /// A model is being checked.
    ChoosingModel,
    /// Another folder or file is read.
    Adding,
}

/// Whether the conversation goes on.
#[derive(PartialEq, Eq)]
pub(super) enum NextStep {
    GoesOn,
    Ends,
}
