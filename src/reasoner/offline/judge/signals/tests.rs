use super::super::super::evidence::Passage;
use super::*;
use crate::domain::Language;

const SENTENCES: [&str; 3] = [
    "The Otter pump lifts water from the well.",
    "It was built in 1931 by Ada Stone because the old well ran dry.",
    "Nobody paints the fence.",
];
const THIRD: f64 = 1.0 / 3.0;

fn read(question: &str) -> (Asked, Seen) {
    let mut seen = Seen::read(&Passage::of_sentences("Pumps (of wells)", &SENTENCES));
    for (unit, cosine) in seen.units.iter_mut().zip([0.5, 0.3, 0.1]) {
        unit.cosine = cosine;
    }
    let asked = Asked::read(question, Language::En, seen.units.iter());
    (asked, seen)
}

fn of_units(question: &str, name: &str) -> [f64; 3] {
    let (asked, seen) = read(question);
    let (_, _, signal) = OF_UNITS.iter().find(|(known, ..)| *known == name).unwrap();
    [0, 1, 2].map(|at| signal(&asked, &seen, at))
}

fn of_passage(question: &str, name: &str) -> f64 {
    let (asked, seen) = read(question);
    let (_, _, signal) = OF_PASSAGES
        .iter()
        .find(|(known, ..)| *known == name)
        .unwrap();
    signal(&asked, &seen)
}

#[test]
fn each_signal_of_a_unit_measures_what_it_is_called() {
    // Its words are otter, pump and built, each in one of the three sentences.
    let when = "When was the Otter pump built?";
    for (question, name, expected) in [
        (when, "coverage", [2.0 * THIRD, THIRD, 0.0]),
        (when, "coverage_titled", [2.0 * THIRD, 2.0 * THIRD, THIRD]),
        (when, "coverage_before", [2.0 * THIRD, 1.0, THIRD]),
        ("Otter, Ada?", "as_written", [0.5, 0.5, 0.0]),
        ("It?", "as_written", [0.0, 1.0, 0.0]),
        (when, "coverage_leaning", [2.0 * THIRD, 1.0, 0.0]),
        (when, "cosine", [0.5, 0.3, 0.1]),
        (when, "cosine_before", [0.5, 0.5, 0.3]),
        (when, "cosine_after", [0.3, 0.1, 0.1]),
        ("fences", "grams", [0.0, 0.0, 1.0]),
        (when, "run", [2.0 * THIRD, THIRD, 0.0]),
        (when, "early", [0.0, THIRD, 2.0 * THIRD]),
        (when, "heaviest", [1.0, 1.0, 0.0]),
    ] {
        let found = of_units(question, name);
        let close = found
            .iter()
            .zip(expected)
            .all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(close, "{name}, {question}: {found:?}");
    }
}

#[test]
fn each_signal_of_a_passage_measures_what_it_is_called() {
    let when = "When was the Otter pump built?";
    for (question, name, expected) in [
        (when, "held", 1.0),
        (when, "best_titled", 2.0 * THIRD),
        (when, "best_cosine", 0.5),
        (when, "second_cosine", 0.3),
        (when, "title_coverage", THIRD),
        (when, "heaviest", 1.0),
        (when, "near", 0.5),
    ] {
        let found = of_passage(question, name);
        assert!(
            (found - expected).abs() < 1e-9,
            "{name}, {question}: {found}"
        );
    }
    let words = of_passage(when, "words");
    assert!((words - 17.0_f64.ln()).abs() < 1e-9, "{}", words.exp());
}

#[test]
fn a_passage_without_units_has_signals_too() {
    let seen = Seen::read(&Passage::of_sentences("", &[]));
    let asked = Asked::read("Otter?", Language::En, std::iter::empty());
    for (name, _, signal) in OF_PASSAGES {
        assert!(signal(&asked, &seen).is_finite(), "{name}");
    }
    let nothing = Asked::read("?", Language::En, std::iter::empty());
    assert!(
        OF_PASSAGES
            .iter()
            .all(|(_, _, signal)| signal(&nothing, &seen).is_finite())
    );
}

#[test]
fn chinese_meets_in_pairs_of_characters() {
    let sentences = ["水泵每年检修两次。", "围栏不用油漆。"];
    let seen = Seen::read(&Passage::of_sentences("", &sentences));
    let asked = Asked::read("水泵多少年检修一次？", Language::Zh, seen.units.iter());
    let coverage: Vec<f64> = (0..2)
        .map(|at| of_units::coverage(&asked, &seen, at))
        .collect();
    assert!(coverage[0] > 0.3 && coverage[1] == 0.0, "{coverage:?}");
}

#[test]
fn relative_signals_stand_behind_the_others() {
    let signals = [("a", Relative, ()), ("b", Alone, ())];
    let rows = with_relative(vec![vec![1.0, 5.0], vec![3.0, 5.0]], &signals);
    assert_eq!(rows, [vec![1.0, 5.0, -2.0, -1.0], vec![3.0, 5.0, 0.0, 1.0]]);
    assert_eq!(names(&signals), ["a", "b", "a_to_best", "a_to_mean"]);
}
