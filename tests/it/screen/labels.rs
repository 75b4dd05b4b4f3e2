//! Routes, passages and answers that are judged: keys in, marks out.

use kb_agent::domain::{Complexity, EvidenceId, LabelTarget, LabelVerdict};
use kb_agent::protocol::{Command, LabelChange, RunLabels, Update};
use kb_agent::tui::{ColorDepth, Effect, Glyphs, Msg, Screen};

use super::source::{SOURCE, found, part, send};
use super::{played, runs, screen, strike};
use crate::support::Said;

/// What the screen wants kept, as it is in words.
fn kept(effects: &[Effect]) -> Vec<(LabelTarget, String)> {
    let changes = effects.iter().filter_map(|effect| match effect {
        Effect::Send(Command::Label(change)) => Some(change),
        _ => None,
    });
    changes
        .map(|change| (change.target.clone(), change.verdict.in_words()))
        .collect()
}

fn passage(id: &str) -> LabelTarget {
    LabelTarget::Passage {
        id: EvidenceId(id.to_owned()),
    }
}

#[test]
fn a_wrong_route_goes_through_the_others_and_is_taken_back() {
    let mut screen = played(runs::simple());
    strike(&mut screen, "<Alt+2>");
    for (word, said) in [
        ("should be complex", "- again: chitchat."),
        ("should be chitchat", "- takes it back."),
        ("taken back", "The route: the label is taken back."),
    ] {
        let effects = strike(&mut screen, "-");
        assert_eq!(kept(&effects), [(LabelTarget::Route, word.to_owned())]);
        let text = screen.text(160, 45);
        text.must_hold(said);
        assert_eq!(
            text.contains(&format!("simple ✗ {word}")),
            word != "taken back"
        );
    }
    strike(&mut screen, "+");
    let text = screen.text(160, 45);
    // In the title of the pane and below the answer.
    assert_eq!(text.matches("simple ✓").count(), 2, "{text}");
}

#[test]
fn a_passage_is_judged_in_its_pane_and_in_its_document() {
    let mut screen = played(found());
    assert_eq!(
        kept(&strike(&mut screen, "<Alt+3>+")),
        [(passage("e1"), "good".to_owned())]
    );
    screen.text(160, 45).must_hold("✓ 1 docs/guide/pipeline.md");
    strike(&mut screen, "<Enter>");
    send(&mut screen, SOURCE, 30, Ok(part(1, 340, 340)));
    screen.text(160, 45).must_hold("✓ judged good");
    // The next one, which is another label.
    strike(&mut screen, "n");
    let effects = strike(&mut screen, "-");
    assert_eq!(kept(&effects), [(passage("e2"), "bad".to_owned())]);
    strike(&mut screen, "<Esc>");
    screen.text(160, 45).must_hold("✗ 2 docs/guide/pipeline.md");
}

#[test]
fn an_answer_is_judged_with_alt_or_while_it_is_chosen() {
    let mut screen = played(runs::simple());
    for keys in ["<Alt++>", "<Alt+↑>+"] {
        let keys = keys.replace('↑', "Up");
        let effects = strike(&mut screen, &keys);
        assert_eq!(kept(&effects).len(), 1, "{keys}");
        let is_good = screen.text(160, 45).contains("✓ judged good");
        assert_eq!(is_good, keys.starts_with("<Alt++"), "{keys}");
    }
    // What is typed is typed.
    strike(&mut screen, "<Alt+Down><Esc>+-");
    screen.text(160, 45).must_hold("+-");
    let mut at_work = runs::simple();
    at_work.truncate(6);
    let mut screen = played(at_work);
    assert!(kept(&strike(&mut screen, "<Alt+->")).is_empty());
    screen.text(160, 45).must_hold("judged when it has ended");
}

#[test]
fn a_label_that_is_not_kept_goes_back_to_what_was_there() {
    let mut screen = played(runs::simple());
    strike(&mut screen, "<Alt+2>+");
    let effects = strike(&mut screen, "-");
    let [Effect::Send(command)] = &effects[..] else {
        panic!("{effects:?}");
    };
    let Command::Label(change) = command else {
        panic!("{command:?}");
    };
    assert_eq!(change.before, LabelVerdict::Good);
    screen.handle(Msg::Update(Update::NotLabelled {
        change: change.clone(),
        reason: "the disk is full".to_owned(),
    }));
    let text = screen.text(160, 45);
    text.must_hold("The label is not kept: the disk is full");
    assert!(text.contains("simple ✓") && !text.contains('✗'), "{text}");
    // Nor is one that the engine is too busy for.
    let refused = LabelChange {
        before: LabelVerdict::TakenBack,
        ..change.clone()
    };
    screen.handle(Msg::Refused(Command::Label(refused)));
    assert!(!screen.text(160, 45).contains("simple ✓"));
}

#[test]
fn labels_stand_in_a_replay_and_are_not_given_there() {
    let labels = || {
        let mut labels = RunLabels::default();
        let should_be = Some(Complexity::Complex);
        labels.set(LabelTarget::Route, LabelVerdict::Bad { should_be });
        labels.set(passage("e1"), LabelVerdict::Good);
        labels
    };
    let recorded = kb_agent::protocol::RecordedRun {
        events: found(),
        labels: labels(),
    };
    let mut replayed = screen();
    assert!(replayed.replay_recorded(recorded));
    let shows = |screen: &mut Screen| {
        let text = screen.text(160, 45);
        text.must_hold("simple ✗ should be complex");
        text.must_hold("✓ 1 docs/guide/pipeline.md");
    };
    strike(&mut replayed, "<End>");
    shows(&mut replayed);
    strike(&mut replayed, "<Left>");
    shows(&mut replayed);
    // Its keys are those of the clock, and a document's are not either.
    assert!(kept(&strike(&mut replayed, "<Alt+3>+")).is_empty());
    strike(&mut replayed, "<Enter>");
    send(&mut replayed, SOURCE, 30, Ok(part(1, 340, 340)));
    assert!(kept(&strike(&mut replayed, "-")).is_empty());
    replayed.text(160, 45).must_hold("Esc leaves the replay");
}

#[test]
fn marks_have_a_form_in_ascii() {
    let mut screen = super::looks::on(
        super::setup(kb_agent::tui::ThemeName::MONO),
        ColorDepth::None,
        Glyphs::Ascii,
    );
    super::play(&mut screen, found());
    strike(&mut screen, "<Alt+3>+<Alt+2>-");
    let text = screen.text(160, 45);
    text.must_hold("v 1 docs/guide/pipeline.md");
    text.must_hold("simple x should be complex");
}
