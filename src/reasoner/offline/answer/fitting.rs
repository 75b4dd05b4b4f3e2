//! Which passages may be quoted as an answer to one question.

use crate::domain::{Evidence, Question, QuestionKind};

use super::super::judge::{Judged, Seen};
use super::super::language::{says_name, spelt_out, terms};
use super::super::question::asks_for_content;
use super::found::Found;

/// What may be quoted for a question.
#[derive(Debug, Default)]
pub(super) struct Fitting {
    /// The places of the passages, the best graded first; none where nothing answers.
    pub(super) passages: Vec<usize>,
    /// Whether nothing is asked but what a named file says.
    pub(super) content_only: bool,
}

/// A question that names a file which was found is answered from that alone; one that names an id or a
/// name of code, from what speaks of it. Beyond that the judge says whether anything answers.
pub(super) fn fitting(question: &Question, judged: &Judged, found: Found<'_>) -> Fitting {
    let all: Vec<usize> = (0..found.items.len()).collect();
    let named: Vec<usize> = all
        .iter()
        .copied()
        .filter(|at| is_named(question, &found.items[*at]))
        .collect();
    let of_file = !named.is_empty();
    let only_file = question.kind == QuestionKind::File && !question.literals.paths.is_empty();
    let mut allowed = match (of_file, only_file) {
        (true, _) => named,
        (false, true) => return Fitting::default(),
        (false, false) => speaking(question, found, all),
    };
    if !of_file && !judged.answers(allowed.iter().copied()) {
        return Fitting::default();
    }
    let grade = |at: usize| judged.grades[at];
    allowed.sort_by(|a, b| grade(*b).total_cmp(&grade(*a)).then(a.cmp(b)));
    Fitting {
        passages: allowed,
        content_only: of_file && asks_for_content(question),
    }
}

/// Those that speak of an id or a name of code in the question: what is said of `KB_CACHE_SIZE` answers
/// nothing of another setting. A name of one word that nothing holds may be no name.
fn speaking(question: &Question, found: Found<'_>, all: Vec<usize>) -> Vec<usize> {
    let literals = &question.literals;
    let names: Vec<&String> = literals.ids.iter().chain(&literals.identifiers).collect();
    if names.is_empty() {
        return all;
    }
    let speaks = |at: &usize| {
        let (item, seen) = (&found.items[*at], &found.seen[*at]);
        let text = format!("{} {}", item.source, item.text);
        names
            .iter()
            .any(|name| says_name(&text, name) || is_spelt(name, question, seen))
    };
    let speaking: Vec<usize> = all.iter().copied().filter(speaks).collect();
    let of_parts = |name: &&String| spelt_out(name).contains(' ');
    let sure = !literals.ids.is_empty() || literals.identifiers.iter().any(|name| of_parts(&name));
    if speaking.is_empty() && !sure {
        return all;
    }
    speaking
}

/// Whether one unit of the passage holds all words that a name is made of.
fn is_spelt(name: &str, question: &Question, passage: &Seen) -> bool {
    let words = terms(&spelt_out(name), question.language);
    let mut units = passage.units.iter();
    words.len() > 1 && units.any(|unit| words.iter().all(|word| unit.held.contains(word)))
}

/// Whether the question names the item's file.
fn is_named(question: &Question, item: &Evidence) -> bool {
    let mut paths = question.literals.paths.iter();
    paths.any(|file| item.source == file.path || item.source.ends_with(&format!("/{}", file.path)))
}

#[cfg(test)]
mod tests {
    use super::super::super::question::read;
    use super::super::samples::{Sample, passage};
    use super::*;

    #[test]
    fn r23_what_is_named_is_answered_from_what_speaks_of_it() {
        let mut sample = Sample::of(&[
            passage(
                "notes/paint.md",
                "# Paint\n\nTK-10 paints the fence with KB_PAINT_MODE green.",
            ),
            passage("pump.md", "# Pump\n\nTK-1 repairs the pump of the fence."),
            passage("old/pump.md", "# Old pump\n\nThe old pump is at the fence."),
        ]);
        for (text, fit) in [
            ("What does TK-1 repair at the fence?", vec![1]),
            ("What does TK-10 paint?", vec![0]),
            ("What does TK-100 paint?", vec![]),
            ("What is the paint mode of kbPaintMode?", vec![0]),
            ("What is KB_DOOR_MODE?", vec![]),
            ("What does old/pump.md say of the fence?", vec![2]),
            ("What does fence.md say of the fence?", vec![]),
        ] {
            let judged = sample.judged(text);
            let found = fitting(&read(text, &[]), &judged, sample.found());
            assert_eq!(found.passages, fit, "{text}");
            assert!(!found.content_only, "{text}");
        }
        let text = "What does old/pump.md say?";
        let judged = sample.judged(text);
        assert!(fitting(&read(text, &[]), &judged, sample.found()).content_only);
    }
}
