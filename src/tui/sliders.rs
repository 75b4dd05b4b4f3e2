//! Limits that can be moved, to see what a run would have done within them.

use crate::domain::{GradeThresholds, RoutingLimits};

/// A limit that can be moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slider {
    /// The lowest grade with which an item is kept.
    KeepFrom,
    /// The lowest average grade with which the evidence is enough.
    SufficientFrom,
    /// The lowest score with which results of `vector_search` need no grading.
    VectorScore,
    /// Up to how many items need no grading.
    AutoApprove,
    /// How many gradings a run may make.
    Gradings,
}

/// Where the sliders stand, and which of them the keys move.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sliders {
    /// Values of the sliders in hundredths or whole numbers; `None` where the run's own limit
    /// holds.
    moved: [Option<u32>; Slider::ALL.len()],
    selected: usize,
}

impl Slider {
    /// All sliders from top to bottom.
    pub const ALL: [Self; 5] = [
        Self::KeepFrom,
        Self::SufficientFrom,
        Self::VectorScore,
        Self::AutoApprove,
        Self::Gradings,
    ];

    /// What it is called.
    pub fn title(self) -> &'static str {
        match self {
            Self::KeepFrom => "items stay from",
            Self::SufficientFrom => "answer from",
            Self::VectorScore => "vector score from",
            Self::AutoApprove => "no grading up to",
            Self::Gradings => "gradings at most",
        }
    }

    /// Its value as a person reads it.
    pub fn value_text(self, limits: &RoutingLimits) -> String {
        match self {
            Self::KeepFrom => format!("{:.2}", limits.thresholds.keep_from),
            Self::SufficientFrom => format!("{:.2}", limits.thresholds.sufficient_from),
            Self::VectorScore => format!("{:.2}", limits.vector_score_threshold),
            Self::AutoApprove => limits.auto_approve_max_items.to_string(),
            Self::Gradings => limits.max_iterations.to_string(),
        }
    }

    /// How far it stands between its ends, 0–1.
    pub fn share(self, limits: &RoutingLimits) -> f64 {
        let (least, most) = self.range();
        let value = self.value(limits).clamp(least, most) - least;
        f64::from(value) / f64::from(most - least)
    }

    fn range(self) -> (u32, u32) {
        match self {
            Self::KeepFrom | Self::SufficientFrom | Self::VectorScore | Self::AutoApprove => {
                (0, 100)
            }
            Self::Gradings => (1, 10),
        }
    }

    fn value(self, limits: &RoutingLimits) -> u32 {
        let hundredths = |value: f64| (value * 100.0).round().clamp(0.0, 100.0) as u32;
        match self {
            Self::KeepFrom => hundredths(limits.thresholds.keep_from),
            Self::SufficientFrom => hundredths(limits.thresholds.sufficient_from),
            Self::VectorScore => hundredths(limits.vector_score_threshold),
            Self::AutoApprove => u32::try_from(limits.auto_approve_max_items).unwrap_or(u32::MAX),
            Self::Gradings => limits.max_iterations,
        }
    }

    fn set(self, limits: &mut RoutingLimits, value: u32) {
        let hundredths = f64::from(value) / 100.0;
        match self {
            Self::KeepFrom => {
                limits.thresholds = GradeThresholds {
                    keep_from: hundredths,
                    ..limits.thresholds
                }
            }
            Self::SufficientFrom => {
                limits.thresholds = GradeThresholds {
                    sufficient_from: hundredths,
                    ..limits.thresholds
                }
            }
            Self::VectorScore => limits.vector_score_threshold = hundredths,
            Self::AutoApprove => limits.auto_approve_max_items = value as usize,
            Self::Gradings => limits.max_iterations = value,
        }
    }
}

impl Sliders {
    /// The one that the keys move.
    pub fn selected(&self) -> Slider {
        Slider::ALL[self.selected]
    }

    /// The one above or below has the keys.
    pub fn select(&mut self, by: isize) {
        let last = Slider::ALL.len() - 1;
        self.selected = self.selected.saturating_add_signed(by).min(last);
    }

    /// Moves the selected one, from where the run had it.
    pub fn step(&mut self, by: i64, recorded: &RoutingLimits) {
        let slider = self.selected();
        let (least, most) = slider.range();
        let now = i64::from(slider.value(&self.limits(recorded)));
        let moved = now.saturating_add(by);
        let moved = moved.clamp(i64::from(least), i64::from(most));
        self.moved[self.selected] = u32::try_from(moved).ok();
        let mut limits = *recorded;
        slider.set(&mut limits, moved as u32);
        if limits == *recorded {
            self.moved[self.selected] = None;
        }
    }

    /// All as the run had them.
    pub fn reset(&mut self) {
        self.moved = Default::default();
    }

    /// Whether this one was moved.
    pub fn is_moved(&self, slider: Slider) -> bool {
        self.moved[slider as usize].is_some()
    }

    /// The limits that they stand for, over those that the run kept to.
    pub fn limits(&self, recorded: &RoutingLimits) -> RoutingLimits {
        let mut limits = *recorded;
        for (slider, moved) in Slider::ALL.into_iter().zip(self.moved) {
            if let Some(value) = moved {
                slider.set(&mut limits, value);
            }
        }
        limits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slider_moves_within_its_range_and_comes_back_to_the_recorded_value() {
        let recorded = RoutingLimits {
            vector_score_threshold: 0.815,
            ..RoutingLimits::default()
        };
        let mut sliders = Sliders::default();
        assert_eq!(sliders.limits(&recorded), recorded);
        sliders.step(5, &recorded);
        assert!((sliders.limits(&recorded).thresholds.keep_from - 0.35).abs() < 1e-9);
        sliders.step(-5, &recorded);
        assert!(!sliders.is_moved(Slider::KeepFrom));
        sliders.step(-500, &recorded);
        assert!(sliders.limits(&recorded).thresholds.keep_from.abs() < 1e-9);
        sliders.select(9);
        assert_eq!(sliders.selected(), Slider::Gradings);
        sliders.step(-9, &recorded);
        assert_eq!(sliders.limits(&recorded).max_iterations, 1);
        sliders.step(99, &recorded);
        assert_eq!(sliders.limits(&recorded).max_iterations, 10);
        sliders.reset();
        // What was recorded between two steps stays what it was.
        assert_eq!(sliders.limits(&recorded), recorded);
    }
}
