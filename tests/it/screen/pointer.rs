//! Selecting with the mouse, and dragging the borders between panes.

use kb_agent::tui::{ClickUnit, Effect, Msg, Screen};
use ratatui::style::Modifier;

use super::runs;
use super::{KeyCode, KeyModifiers, MouseButton, MouseEvent, MouseEventKind, played, tap};

fn send(screen: &mut Screen, kind: MouseEventKind, (column, row): (u16, u16)) -> Vec<Effect> {
    screen.handle(Msg::Mouse(MouseEvent {
        kind,
        column,
        row,
        modifiers: KeyModifiers::NONE,
    }))
}

fn drag(screen: &mut Screen, from: (u16, u16), to: (u16, u16)) -> Vec<Effect> {
    let button = MouseButton::Left;
    send(screen, MouseEventKind::Down(button), from);
    send(screen, MouseEventKind::Drag(button), to);
    send(screen, MouseEventKind::Up(button), to)
}

/// Where a text stands on the screen.
#[track_caller]
fn place(screen: &mut Screen, (width, height): (u16, u16), text: &str) -> (u16, u16) {
    let shown = screen.text(width, height);
    for (y, line) in shown.lines().enumerate() {
        if let Some(at) = line.find(text) {
            return (line[..at].chars().count() as u16, y as u16);
        }
    }
    panic!("no {text}:\n{shown}");
}

#[track_caller]
fn copied(effects: &[Effect]) -> &str {
    match effects {
        [Effect::Copy(text)] => text,
        other => panic!("{other:?}"),
    }
}

fn reversed(screen: &mut Screen, (width, height): (u16, u16)) -> usize {
    let buffer = screen.render(width, height);
    let is_reversed = |cell: &&ratatui::buffer::Cell| cell.modifier.contains(Modifier::REVERSED);
    buffer.content.iter().filter(is_reversed).count()
}

#[test]
fn a_drag_selects_within_its_pane_and_copies_when_it_ends() {
    for size in [(160, 45), (100, 30)] {
        let mut screen = played(runs::complex());
        let (x, y) = place(&mut screen, size, "The pipeline walks");
        // Far out of the pane, to the right.
        let effects = drag(&mut screen, (x, y), (x + 11, y));
        assert_eq!(copied(&effects), "The pipeline");
        assert_eq!(reversed(&mut screen, size), 12);
        let effects = drag(&mut screen, (x, y), (size.0 - 1, y));
        let text = copied(&effects);
        assert!(
            text.starts_with("The pipeline walks, chunks") && !text.contains('│'),
            "{text}"
        );
        assert!(
            screen
                .text(size.0, size.1)
                .contains("Sent the selection (1 line)")
        );
        // Any key ends it.
        tap(&mut screen, KeyCode::Left);
        assert_eq!(reversed(&mut screen, size), 0);
    }
}

#[test]
fn two_clicks_select_a_word_and_three_a_line() {
    let mut screen = played(runs::complex());
    let (x, y) = place(&mut screen, (160, 45), "different times");
    let word = screen.handle(Msg::Select(ClickUnit::Word, x + 3, y));
    assert_eq!(copied(&word), "different");
    let line = screen.handle(Msg::Select(ClickUnit::Line, x + 3, y));
    assert!(
        copied(&line).contains("Both read the same store"),
        "{line:?}"
    );
    // The release that follows copies nothing more.
    let up = MouseEventKind::Up(MouseButton::Left);
    assert_eq!(send(&mut screen, up, (x + 3, y)), []);
}

#[test]
fn borders_between_panes_are_dragged_and_kept() {
    let mut screen = played(runs::complex());
    let (audit, row) = place(&mut screen, (160, 45), "Audit");
    let effects = drag(&mut screen, (audit + 20, row), (audit + 20, row + 6));
    // The screen keeps it for its owner.
    assert_eq!(effects, []);
    assert_eq!(place(&mut screen, (160, 45), "Audit").1, row + 6);
    // The border stands two cells before the title.
    let border = |screen: &mut Screen| place(screen, (160, 45), "Path").0 - 2;
    let side = border(&mut screen);
    drag(&mut screen, (side, 10), (side - 20, 10));
    assert_eq!(border(&mut screen), side - 20);
    // However far, no pane is lost.
    drag(&mut screen, (side - 20, 10), (0, 10));
    let left = border(&mut screen);
    assert!((40..60).contains(&left), "{left}");
}

#[test]
fn no_drag_panics_at_any_size() {
    let mut screen = played(runs::complex());
    for (width, height) in [
        (160, 45),
        (120, 24),
        (100, 30),
        (80, 20),
        (60, 20),
        (40, 10),
        (20, 5),
    ] {
        screen.text(width, height);
        for from in 0..height {
            drag(&mut screen, (width / 2, from), (width * 2, height * 2));
            drag(&mut screen, (width / 3, from), (0, 0));
            screen.handle(Msg::Select(ClickUnit::Word, width - 1, from));
            screen.text(width, height);
        }
    }
}
