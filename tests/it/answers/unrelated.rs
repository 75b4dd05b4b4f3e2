//! Earlier turns that have nothing to do with a question: an answer must not change because of them.

use super::TestQuestion;

/// The places of one or two other questions to be asked before the one at `at`, the same on every
/// run: in its language, answerable, none a follow-up, from other documents than its own and each
/// other's. Fewer where the set holds no such ones.
pub fn before(all: &[TestQuestion], at: usize) -> Vec<usize> {
    let asked = &all[at];
    let hash = blake3::hash(asked.question.as_bytes());
    let [count, place @ ..] = *hash.as_bytes();
    let [a, b, c, d, ..] = place;
    let start = u32::from_le_bytes([a, b, c, d]) as usize % all.len();
    let wanted = 1 + usize::from(count % 2);
    let mut drawn: Vec<usize> = Vec::new();
    for other in (start..all.len()).chain(0..start) {
        let is_apart = |from: usize| {
            let theirs = &all[from].sources;
            from != other && !all[other].sources.iter().any(|s| theirs.contains(s))
        };
        if drawn.len() < wanted
            && all[other].language == asked.language
            && all[other].history.is_empty()
            && !all[other].sources.is_empty()
            && is_apart(at)
            && drawn.iter().all(|&from| is_apart(from))
        {
            drawn.push(other);
        }
    }
    drawn
}

#[test]
fn turns_before_a_question_share_no_document_with_it() {
    let asked = |language: &str, question: &str, sources: &[&str], history: &[&str]| TestQuestion {
        kind: "fact".to_owned(),
        language: language.to_owned(),
        question: question.to_owned(),
        history: history.iter().map(|&it| it.to_owned()).collect(),
        sources: sources.iter().map(|&it| it.to_owned()).collect(),
        says: Vec::new(),
        held_out: false,
    };
    let all = [
        asked("en", "a", &["one.md"], &[]),
        asked("en", "same document", &["two.md", "one.md"], &[]),
        asked("en", "nothing answers", &[], &[]),
        asked("en", "a follow-up", &["three.md"], &["b"]),
        asked("zh", "another language", &["four.md"], &[]),
        asked("en", "b", &["five.md"], &[]),
    ];
    assert_eq!(before(&all, 0), [5]);
    assert_eq!(before(&all, 4), [] as [usize; 0]);
    // Nothing answers it, so anything is unrelated, but only one of two that share a document.
    let drawn = before(&all, 2);
    assert!(drawn.iter().all(|at| [0, 1, 5].contains(at)), "{drawn:?}");
    assert!(!(drawn.contains(&0) && drawn.contains(&1)), "{drawn:?}");
    assert_eq!(drawn, before(&all, 2));
}
