use crate::text::one_line;

/// Warnings about how a run came to go on as it should: what they tell of does not touch the answer.
/// Every other one does, those that are not known here too.
const ON_THE_WAY: [&str; 6] = [
    "endpoint_adapted",
    "endpoint_retried",
    "routing_plan_adjusted",
    "strategy_changed",
    "tool_unknown",
    "analysis_value_unknown",
];

/// A warning longer than this is cut.
const LONGEST: usize = 300;

/// The warnings of one run, those of one kind together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Warnings {
    kinds: Vec<WarningKind>,
}

/// All warnings with one code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WarningKind {
    /// A stable code for programs, made safe to show.
    pub code: String,
    /// What the first of them says, clean, on one line.
    pub message: String,
    /// How many there are.
    pub count: usize,
    /// Whether others say something else.
    differ: bool,
}

impl Warnings {
    /// Takes the next one.
    pub fn add(&mut self, code: &str, message: &str) {
        let code = one_line(code, 60);
        let message = one_line(message, LONGEST);
        match self.kinds.iter_mut().find(|kind| kind.code == code) {
            Some(kind) => {
                kind.count += 1;
                kind.differ |= kind.message != message;
            }
            None => self.kinds.push(WarningKind {
                code,
                message,
                count: 1,
                differ: false,
            }),
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.kinds.iter().map(|kind| kind.count).sum()
    }

    /// What the reader of the answer should know, in the order in which it happened.
    pub fn at_the_answer(&self) -> impl Iterator<Item = &WarningKind> {
        self.kinds.iter().filter(|kind| kind.affects_the_answer())
    }

    /// What did not touch the answer.
    pub fn on_the_way(&self) -> impl Iterator<Item = &WarningKind> {
        self.kinds.iter().filter(|kind| !kind.affects_the_answer())
    }
}

impl WarningKind {
    fn affects_the_answer(&self) -> bool {
        !ON_THE_WAY.contains(&self.code.as_str())
    }

    /// All of this kind in one line.
    pub fn line(&self) -> String {
        match (self.count, self.differ) {
            (1, _) => self.message.clone(),
            (count, false) => format!("{} (×{count})", self.message),
            (count, true) => format!("{} (and {} more like it)", self.message, count - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_warnings_of_one_kind_are_one_line_with_their_count() {
        let mut warnings = Warnings::default();
        for _ in 0..10 {
            warnings.add("grade_unreadable", "the grading could not be read");
        }
        warnings.add("endpoint_retried", "answered at attempt 2");
        warnings.add("call_dropped", "one\u{1b}[2J call");
        warnings.add("call_dropped", "another call");
        let lines: Vec<_> = warnings.at_the_answer().map(WarningKind::line).collect();
        assert_eq!(
            lines,
            [
                "the grading could not be read (×10)",
                "one call (and 1 more like it)"
            ]
        );
        assert_eq!(warnings.on_the_way().count(), 1);
        assert_eq!(warnings.count(), 13);
    }
}
