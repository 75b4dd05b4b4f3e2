//! What people say of recorded runs. It stands beside the events: a run ends with `run_finished`,
//! whatever is said of it later.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};

use super::{Event, RunId, Timestamp};
use crate::domain::{LabelTarget, LabelVerdict};

/// One judgement of a person; its serde form is a line of the file of labels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// When it was given.
    pub ts: Timestamp,
    /// The run that is judged.
    pub run: RunId,
    /// The judged item.
    #[serde(flatten)]
    pub target: LabelTarget,
    /// The verdict.
    #[serde(flatten)]
    pub verdict: LabelVerdict,
}

/// A label that the screen wants kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelChange {
    /// The run that is judged.
    pub run: RunId,
    /// The judged item.
    pub target: LabelTarget,
    /// The verdict.
    pub verdict: LabelVerdict,
    /// What was said before, to be put back where it cannot be kept.
    pub before: LabelVerdict,
}

/// A recorded run: its events, and what people said of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RecordedRun {
    /// The events, in order.
    pub events: Vec<Event>,
    /// The labels.
    pub labels: RunLabels,
}

impl From<Vec<Event>> for RecordedRun {
    /// A run of which nothing was said.
    fn from(events: Vec<Event>) -> Self {
        let labels = RunLabels::default();
        Self { events, labels }
    }
}

/// All that was said of one run: the last word on each thing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunLabels(BTreeMap<LabelTarget, LabelVerdict>);

impl RunLabels {
    /// Replaces or removes the verdict on a target.
    pub fn set(&mut self, target: LabelTarget, verdict: LabelVerdict) {
        match verdict {
            LabelVerdict::TakenBack => self.0.remove(&target),
            said => self.0.insert(target, said),
        };
    }

    /// What is said of it; `None` where nothing is.
    pub fn get(&self, target: &LabelTarget) -> Option<LabelVerdict> {
        self.0.get(target).copied()
    }

    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// About what it keeps in memory.
    pub fn held_bytes(&self) -> usize {
        let each = size_of::<(LabelTarget, LabelVerdict)>();
        let names = self.0.keys().map(|target| match target {
            LabelTarget::Passage { id } => id.0.capacity(),
            LabelTarget::Route | LabelTarget::Answer => 0,
        });
        self.0.len() * each + names.sum::<usize>()
    }

    /// The route, the passages by their names, the answer.
    pub fn iter(&self) -> impl Iterator<Item = (&LabelTarget, LabelVerdict)> {
        self.0.iter().map(|(target, said)| (target, *said))
    }
}

/// A list of what is judged, each with what is said of it.
impl Serialize for RunLabels {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct LabelLine<'a> {
            #[serde(flatten)]
            target: &'a LabelTarget,
            #[serde(flatten)]
            verdict: LabelVerdict,
        }
        serializer.collect_seq(
            self.iter()
                .map(|(target, verdict)| LabelLine { target, verdict }),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Complexity, EvidenceId};

    #[test]
    fn a_label_is_one_flat_line_and_is_read_again() {
        let should_be = Some(Complexity::Complex);
        let passage = LabelTarget::Passage {
            id: EvidenceId("e4".to_owned()),
        };
        for (target, verdict, fields) in [
            (
                LabelTarget::Route,
                LabelVerdict::Bad { should_be },
                r#""what":"route","verdict":"bad","should_be":"complex""#,
            ),
            (
                passage,
                LabelVerdict::BAD,
                r#""what":"passage","id":"e4","verdict":"bad""#,
            ),
            (
                LabelTarget::Answer,
                LabelVerdict::TakenBack,
                r#""what":"answer","verdict":"taken_back""#,
            ),
        ] {
            let label = Label {
                ts: Timestamp(0),
                run: RunId("r".into()),
                target,
                verdict,
            };
            let line = format!(r#"{{"ts":"1970-01-01T00:00:00.000Z","run":"r",{fields}}}"#);
            assert_eq!(serde_json::to_string(&label).unwrap(), line);
            assert_eq!(serde_json::from_str::<Label>(&line).unwrap(), label);
        }
    }
}
