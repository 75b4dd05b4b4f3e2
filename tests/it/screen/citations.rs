//! Citations in an answer: chosen by keys, opened by Enter or a click.

use kb_agent::protocol::{Command, Event};
use kb_agent::tui::{Effect, Msg, Screen};
use ratatui::style::Modifier;

use super::{
    KeyCode, KeyModifiers, MouseButton, MouseEvent, MouseEventKind, ask, played, strike, struck,
    tap,
};
use super::{play, runs};
use crate::support::Said;

pub fn read(source: &str, line: usize) -> Vec<Effect> {
    vec![Effect::Send(Command::ReadDocument {
        source: source.to_owned(),
        line,
    })]
}

/// The marks that are drawn as chosen.
fn chosen(screen: &mut Screen, width: u16, height: u16) -> String {
    let buffer = screen.render(width, height);
    let cells = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    let reversed = cells.filter_map(|at| {
        let cell = buffer.cell(at)?;
        let is_chosen = cell.modifier.contains(Modifier::REVERSED);
        is_chosen.then(|| cell.symbol().to_owned())
    });
    reversed.collect()
}

#[test]
fn ui_a_key_to_citations_types_nothing_where_there_are_none() {
    let mut screen = played(runs::chitchat());
    for key in [']', '['] {
        tap(&mut screen, KeyCode::Char(key));
        assert!(screen.text(100, 30).contains("This answer cites nothing."));
        assert!(screen.text(100, 30).contains("> ask, / for commands"));
    }
    // Before anything is asked, and within a question, they are letters.
    let mut screen = super::screen();
    tap(&mut screen, KeyCode::Char('['));
    assert!(screen.text(100, 30).contains("> ["));
}

pub fn click(screen: &mut Screen, column: u16, row: u16) -> Vec<Effect> {
    screen.handle(Msg::Mouse(MouseEvent {
        kind: MouseEventKind::Down(MouseButton::Left),
        column,
        row,
        modifiers: KeyModifiers::NONE,
    }))
}

fn find(screen: &mut Screen, size: (u16, u16), what: &str) -> (u16, u16) {
    let text = screen.text(size.0, size.1);
    let found = text.lines().enumerate().find_map(|(y, line)| {
        let at = line.find(what)?;
        Some((line[..at].chars().count() as u16, y as u16))
    });
    found.unwrap_or_else(|| panic!("no {what}:\n{text}"))
}

fn twice() -> Vec<Event> {
    runs::rule_hit()
        .into_iter()
        .chain(runs::complex())
        .collect()
}

#[test]
fn brackets_choose_a_citation_and_enter_shows_its_source() {
    for (width, height) in [(160, 45), (100, 30), (60, 20)] {
        let mut screen = played(runs::complex());
        assert_eq!(chosen(&mut screen, width, height), "");
        for (key, mark) in [
            (']', "[1]"),
            (']', "[2]"),
            (']', "[3]"),
            (']', "[1]"),
            ('[', "[3]"),
        ] {
            tap(&mut screen, KeyCode::Char(key));
            let seen = chosen(&mut screen, width, height);
            // In the text and in the list below it, as far as both are in sight.
            assert!(seen == mark || seen == mark.repeat(2), "{seen} for {mark}");
        }
        let text = screen.text(width, height);
        assert!(text.contains("[3] engine/rerank.md:1-30"), "{text}");
        text.must_hold("⏎ source");
        text.must_lack("⏎ send");
        assert_eq!(
            tap(&mut screen, KeyCode::Enter),
            read("engine/rerank.md", 1)
        );
        assert!(screen.text(width, height).contains("reading …"));
        tap(&mut screen, KeyCode::Esc);
        assert!(chosen(&mut screen, width, height).starts_with("[3]"));
        tap(&mut screen, KeyCode::Esc);
        assert_eq!(chosen(&mut screen, width, height), "");
    }
}

#[test]
fn brackets_are_text_where_text_is_typed() {
    let mut screen = struck(runs::complex(), "]what [1] says]");
    let text = screen.text(100, 30);
    assert!(text.contains("> what [1] says]"), "{text}");
    assert_eq!(chosen(&mut screen, 100, 30), "");
    assert_eq!(
        tap(&mut screen, KeyCode::Enter),
        ask("what [1] says]", None)
    );
}

#[test]
fn a_click_on_a_mark_shows_its_source_and_the_run_it_belongs_to() {
    let size = (160, 45);
    let mut screen = played(twice());
    let (x, y) = find(&mut screen, size, "[2], then reranks");
    assert_eq!(click(&mut screen, x + 1, y), read("engine.md", 3));
    strike(&mut screen, "<Esc><Ctrl+Home>");
    let (x, y) = find(&mut screen, size, "[2], as PROJ-123");
    assert_eq!(click(&mut screen, x + 2, y), read("tickets/PROJ-77.md", 4));
    tap(&mut screen, KeyCode::Esc);
    let text = screen.text(size.0, size.1);
    assert!(text.contains("run 1 of 2"), "{text}");
    // Beside a mark a click gives the pane the keys and nothing else.
    let (x, y) = find(&mut screen, size, "as PROJ-123");
    assert_eq!(click(&mut screen, x, y), []);
    assert!(!screen.text(size.0, size.1).contains("Source"));
}

#[test]
fn a_new_question_forgets_the_chosen_citation() {
    let mut screen = struck(runs::rule_hit(), "]");
    play(&mut screen, runs::complex());
    assert_eq!(chosen(&mut screen, 160, 45), "");
}
