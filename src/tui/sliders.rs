//! Limits that can be moved, to see what a run would have done within them.

use crate::domain::RoutingLimits;

/// A limit that can be moved, as a whole number or in hundredths.
#[derive(Debug)]
pub struct Slider {
    /// What it is called.
    pub title: &'static str,
    ends: (u32, u32),
    is_share: bool,
    get: fn(&RoutingLimits) -> f64,
    set: fn(&mut RoutingLimits, f64),
}

/// All sliders from top to bottom.
pub static SLIDERS: [Slider; 5] = [
    Slider {
        title: "keep passages ≥",
        ends: (0, 100),
        is_share: true,
        get: |limits| limits.thresholds.keep_from,
        set: |limits, value| limits.thresholds.keep_from = value,
    },
    Slider {
        title: "answer if average ≥",
        ends: (0, 100),
        is_share: true,
        get: |limits| limits.thresholds.sufficient_from,
        set: |limits, value| limits.thresholds.sufficient_from = value,
    },
    Slider {
        title: "trust vectors ≥",
        ends: (0, 100),
        is_share: true,
        get: |limits| limits.vector_score_threshold,
        set: |limits, value| limits.vector_score_threshold = value,
    },
    Slider {
        title: "skip grading up to",
        ends: (0, 100),
        is_share: false,
        get: |limits| limits.auto_approve_max_items as f64,
        set: |limits, value| limits.auto_approve_max_items = value as usize,
    },
    Slider {
        title: "max gradings",
        ends: (1, 10),
        is_share: false,
        get: |limits| f64::from(limits.max_iterations),
        set: |limits, value| limits.max_iterations = value as u32,
    },
];

/// Where the sliders stand, and which of them the keys move.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sliders {
    /// Where each stands; `None` where the run's own limit holds.
    moved: [Option<u32>; SLIDERS.len()],
    /// The one that the keys move.
    pub selected: usize,
}

impl Slider {
    fn unit(&self) -> f64 {
        if self.is_share { 100.0 } else { 1.0 }
    }

    fn value(&self, limits: &RoutingLimits) -> u32 {
        let value = ((self.get)(limits) * self.unit()).round();
        (value.max(0.0) as u32).clamp(self.ends.0, self.ends.1)
    }

    /// Its value as a person reads it.
    pub fn value_text(&self, limits: &RoutingLimits) -> String {
        let decimals = if self.is_share { 2 } else { 0 };
        format!("{:.decimals$}", (self.get)(limits))
    }

    /// How far it stands between its ends, 0–1.
    pub fn share(&self, limits: &RoutingLimits) -> f64 {
        let (least, most) = self.ends;
        f64::from(self.value(limits) - least) / f64::from(most - least)
    }
}

impl Sliders {
    /// The one above or below has the keys.
    pub fn select(&mut self, by: isize) {
        let last = SLIDERS.len() - 1;
        self.selected = self.selected.saturating_add_signed(by).min(last);
    }

    /// Moves the selected one, from where the run had it.
    pub fn step(&mut self, by: i64, recorded: &RoutingLimits) {
        let slider = &SLIDERS[self.selected];
        let moved = i64::from(slider.value(&self.limits(recorded))).saturating_add(by);
        let moved = moved.clamp(slider.ends.0.into(), slider.ends.1.into()) as u32;
        self.moved[self.selected] = None;
        if moved != slider.value(recorded) {
            self.moved[self.selected] = Some(moved);
        }
    }

    /// All as the run had them.
    pub fn reset(&mut self) {
        self.moved = Default::default();
    }

    /// Whether this one was moved.
    pub fn is_moved(&self, at: usize) -> bool {
        self.moved[at].is_some()
    }

    /// The limits that they stand for, over those that the run kept to.
    pub fn limits(&self, recorded: &RoutingLimits) -> RoutingLimits {
        let mut limits = *recorded;
        for (slider, moved) in SLIDERS.iter().zip(self.moved) {
            if let Some(value) = moved {
                (slider.set)(&mut limits, f64::from(value) / slider.unit());
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
        assert!(!sliders.is_moved(0));
        sliders.step(-500, &recorded);
        assert!(sliders.limits(&recorded).thresholds.keep_from.abs() < 1e-9);
        sliders.select(9);
        assert_eq!(sliders.selected, 4);
        sliders.step(-9, &recorded);
        assert_eq!(sliders.limits(&recorded).max_iterations, 1);
        sliders.step(99, &recorded);
        assert_eq!(sliders.limits(&recorded).max_iterations, 10);
        sliders.moved = Default::default();
        // What was recorded between two steps stays what it was.
        assert_eq!(sliders.limits(&recorded), recorded);
    }
}
