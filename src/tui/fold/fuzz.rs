//! Events in orders and with numbers that no run has.

use std::sync::Arc;

use crate::protocol::Event;

use super::{AuditRow, RunView};

/// Folds the input's lines, those of them that are events, as one run.
///
/// # Panics
/// Where a row would break the screen, or the counts do not agree.
pub fn events(input: &[u8]) {
    let mut run: Option<RunView> = None;
    for line in input.split(|byte| *byte == b'\n') {
        let Ok(event) = serde_json::from_slice::<Event>(line).map(Arc::new) else {
            continue;
        };
        match &mut run {
            Some(run) => run.apply(&event),
            None => run = RunView::begin(&event),
        }
        let Some(run) = &run else { continue };
        if let Some(row) = AuditRow::from_event(&event, run) {
            assert!(!row.summary.contains(['\n', '\u{1b}']));
            let _ = row.json();
        }
        let _ = (
            run.tokens(),
            run.rounds(),
            run.calls(),
            run.elapsed(event.ts),
        );
        assert!(run.evidence.kept_count() <= run.evidence.len());
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn kept_events_are_folded() {
        for (_, input) in crate::fuzz::kept_inputs("events") {
            super::events(&input);
        }
    }
}
