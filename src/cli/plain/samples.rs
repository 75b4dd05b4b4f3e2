//! Questions to try: those of the demo, or those that are made from the user's own documents, which
//! become known a little later.

use crate::engine::SAMPLES;
use crate::protocol::SampleQuestion;

/// Route and text of each.
pub(super) struct NumberedSamples {
    questions: Vec<(&'static str, String)>,
    are_known: bool,
}

impl NumberedSamples {
    /// The questions of the demo; those of another base come later.
    pub(super) fn for_base(is_demo: bool) -> Self {
        let given = if is_demo { SAMPLES } else { &[] };
        let own = |(route, text): &(&'static str, &str)| (*route, (*text).to_owned());
        Self {
            questions: given.iter().map(own).collect(),
            are_known: is_demo,
        }
    }

    /// Takes those that were made, if any were.
    pub(super) fn take(&mut self, made: Option<Vec<SampleQuestion>>) {
        let numbered = |sample: SampleQuestion| (sample.route.as_str(), sample.text);
        if let Some(made) = made {
            self.questions = made.into_iter().map(numbered).collect();
        }
        self.are_known = true;
    }

    /// Whether it is known which there are.
    pub(super) fn are_known(&self) -> bool {
        self.are_known
    }

    /// The question of that number, from 1.
    pub(super) fn get(&self, number: usize) -> Option<&str> {
        let (_, text) = self.questions.get(number.checked_sub(1)?)?;
        Some(text)
    }

    /// All, with their numbers.
    pub(super) fn listed(&self) -> String {
        if self.questions.is_empty() {
            return "There is no question to try: none that was made from the headings had a sure \
                    answer.\n"
                .to_owned();
        }
        let questions = self.questions.iter().enumerate();
        let lines = questions.map(|(at, (route, question))| {
            let route = route.replace(" · ", ", ");
            format!("{}: {question} ({route})\n", at + 1)
        });
        lines.collect::<Vec<_>>().concat()
    }
}
