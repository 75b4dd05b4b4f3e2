//! The nouns of a run and the pure law over them.
//!
//! Nothing here waits, reads a file or knows a model: the topology is data, the route functions
//! and the pre-filter rules are functions of values. The agent obeys them, the path pane draws
//! them and a recorded run can be judged by them again, because all three call the same code.

/// Gives an enum its words, in the order of its variants: the same in the log, in settings and on the screen.
macro_rules! words {
    ($name:ident: $($variant:ident $word:literal),+ $(,)?) => {
        impl $name {
            /// All of them, in their order.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The word of the wire format.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }

            /// The one that is called so.
            pub fn parse(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.as_str() == word)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}
pub(crate) use words;

mod answer;
mod approval_rules;
mod confidence;
mod day;
mod decided_by;
mod evidence;
mod file_format;
mod grade;
mod graded_by;
mod label;
mod limits;
mod passage_ranks;
mod place;
mod question;
mod route;
mod routing_plan;
mod score;
mod searched_base;
mod tool;
mod topology;
mod usage;
mod wait;
mod warnings;
mod what_if;

pub use answer::{
    Answer, Citation, NOT_IN_THE_SOURCES, Outcome, Quotation, SentenceSupport, Turn, added_mark,
    quotation_below, with_support_notes, written_part,
};
pub use approval_rules::{AutoApproveRule, RuleGrounds, approving_rule};
pub use confidence::{Confidence, ConfidenceLevel};
pub use day::Day;
pub use decided_by::DecidedBy;
pub use evidence::{
    Evidence, EvidenceId, ItemsBeyond, Measured, Topic, add_evidence, is_same_passage,
};
pub use file_format::{FILE_FORMATS, FileContent, FileFormat, FileKind};
pub use grade::{GradeThresholds, GraderAction, KEEP_FROM, SUFFICIENT_FROM, scores_of};
pub use graded_by::GradedBy;
pub use label::{LabelTarget, LabelVerdict, other_routes};
pub use limits::{
    Condition, FILTERS, Filter, FilterName, Filters, Mention, Offers, begins_mention, filter_of,
    filters, may_be_limited, mention_of, mentions, open_filter, tag_key, with_quoted_names,
    without_filters, without_limits, without_mentions,
};
pub use passage_ranks::{Cut, ListPlace, PassageRanks};
pub use place::{LineRange, Place, PlaceUnit, location};
pub use question::{
    Earlier, Language, Languages, Literals, NamedPath, Parts, Question, QuestionKind,
};
pub use route::{
    RouteReason, RouterThresholds, RoutingLimits, route_after_analyze, route_after_grade,
    route_after_tool_exec,
};
pub use routing_plan::{
    Complexity, Cue, QueryType, RoutingPlan, measure_of, measures_in_words, spoken_reasons,
};
pub use score::{Score, average};
pub use searched_base::SearchedBase;
pub use tool::{
    Argument, ArgumentKind, MOST_LISTED, PlannedCall, TOOLS, ToolCall, ToolDescriptor, ToolName,
    ToolRecord,
};
pub use topology::{EDGES, ENTRY, Edge, NodeName, edge};
pub use usage::{PathType, Usage, dollars};
pub use wait::{Wait, tokens_a_second};
pub use warnings::{WarningKind, Warnings};
pub use what_if::{
    Change, Decision, Forecast, GradedRound, Round, RoutedQuestion, Unknown, WhatIf, what_if,
};
