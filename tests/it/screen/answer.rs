//! An answer in the chat: how sure it is, where it begins, what it leaves out.

use kb_agent::domain::Confidence;
use kb_agent::protocol::{Event, EventBody};

use super::runs;
use super::{KeyCode, KeyModifiers, played, press, strike};

/// The complex run with another answer.
fn answered(with: &str, chance: Option<f64>) -> Vec<Event> {
    let mut events = runs::complex();
    events.retain(|event| event.body.name() != "answer_delta");
    for event in &mut events {
        if let EventBody::AnswerFinished {
            text,
            confidence,
            confidence_level,
            ..
        } = &mut event.body
        {
            with.clone_into(text);
            *confidence = chance.map(Confidence::clamped);
            *confidence_level = confidence.map(Confidence::level);
        }
    }
    events
}

fn long() -> String {
    let lines = (1..=30).map(|at| format!("- line {at} of it [1]\n"));
    lines.collect::<String>() + "\n… 9 more lines [3]\n"
}

#[test]
fn r23_the_footer_says_how_sure_an_answer_is_where_that_was_measured() {
    for (chance, told) in [
        (Some(0.97), "✓ sure · complex · 6 of 6 steps"),
        (Some(0.8), "≈ likely · complex · "),
        (Some(0.2), "? look yourself · complex · "),
        (None, "       complex · 6 of 6 steps"),
    ] {
        let mut screen = played(answered("So it is [1].", chance));
        let text = screen.text(100, 30);
        assert!(text.contains(told), "{told}: {text}");
    }
}

#[test]
fn ui_a_long_answer_is_shown_from_its_beginning() {
    for (width, height) in [(80, 24), (100, 30), (160, 45), (60, 20)] {
        let mut screen = played(answered(&long(), None));
        let text = screen.text(width, height);
        assert!(text.contains("• line 1 of it"), "{width}: {text}");
        let is_whole = text.contains("9 more lines");
        assert_eq!(text.contains("goes on below"), !is_whole, "{text}");
        press(&mut screen, KeyCode::End, KeyModifiers::CONTROL);
        let text = screen.text(width, height);
        assert!(text.contains("6 of 6 steps"), "{width}: {text}");
        assert!(!text.contains("goes on below"), "{text}");
    }
}

#[test]
fn ui_at_80_by_24_the_chat_has_14_rows_and_the_path_four() {
    let mut screen = played(answered(&long(), None));
    let text = screen.text(80, 24);
    let lines: Vec<&str> = text.lines().collect();
    let border = lines.iter().position(|line| line.contains("Path")).unwrap();
    assert_eq!(border, 16, "{text}");
    assert!(
        lines[17].contains("● analyze_and_route ▸ ● plan ▸"),
        "{text}"
    );
    assert!(lines[20].contains("6 of 6 steps"), "{text}");
    assert!(lines[21].starts_with('├'), "{text}");
    strike(&mut screen, "<Tab>j");
    let text = screen.text(80, 24);
    assert!(text.lines().nth(19).unwrap().contains("plan"), "{text}");
}

#[test]
fn ui_what_a_block_leaves_out_leads_to_its_source() {
    let mut screen = played(answered("So it is [1].\n\n… 9 more lines [3]", None));
    let text = screen.text(160, 45);
    let (y, line) = text
        .lines()
        .enumerate()
        .find(|(_, line)| line.contains("… 9 more lines [3]"))
        .unwrap();
    let at = line.find("[3]").unwrap();
    let x = line[..at].chars().count() as u16 + 1;
    let effects = super::citations::click(&mut screen, x, y as u16);
    assert_eq!(effects, super::citations::read("engine/rerank.md", 1));
}
