//! The line for the person, and what it leaves in sight.

use kb_agent::protocol::NoticeLevel;
use kb_agent::tui::{Msg, Screen};

use super::{KeyCode, KeyModifiers, played, press, struck, tap};
use super::{notify, runs};

fn warned(screen: &mut Screen) {
    let message = "the index could not be written, because the disk is full: 12 documents are not \
                   searchable until there is room for them, and kb-agent index is run again; LAST";
    notify(screen, NoticeLevel::Warning, message);
}

#[test]
fn ui_a_long_warning_leaves_the_counter_of_a_window_in_sight() {
    for (width, height) in [(160, 45), (100, 30), (60, 20)] {
        let mut screen = played(runs::complex());
        press(&mut screen, KeyCode::F(1), KeyModifiers::NONE);
        warned(&mut screen);
        let text = screen.text(width, height);
        let of = |text: &str| {
            let counter = text
                .lines()
                .find(|line| line.contains("└") && line.contains(" of "));
            counter.map(str::to_owned)
        };
        assert!(of(&text).is_some() && text.contains("LAST"), "{text}");
        // The last row can be scrolled to, and is seen.
        tap(&mut screen, KeyCode::End);
        let text = screen.text(width, height);
        let counter = of(&text).unwrap_or_else(|| panic!("{text}"));
        let mut numbers = counter.split(|c: char| !c.is_ascii_digit());
        let numbers: Vec<&str> = numbers.by_ref().filter(|n| !n.is_empty()).collect();
        assert_eq!(numbers[1], numbers[2], "{text}");
    }
}

#[test]
fn ui_a_warning_leaves_the_counter_of_what_is_typed_in_sight() {
    for (width, height) in [(160, 45), (100, 30), (60, 20)] {
        let mut screen = played(runs::complex());
        let lines: Vec<String> = (1..=30).map(|n| format!("line {n}")).collect();
        screen.handle(Msg::Paste(lines.join("\n")));
        for message in ["short", &"a warning that is long ".repeat(9)] {
            notify(&mut screen, NoticeLevel::Warning, message);
            let text = screen.text(width, height);
            assert!(text.contains(" line 30 of 30 "), "{text}");
            assert!(text.contains("⚠ "), "{text}");
        }
    }
}

#[test]
fn ui_a_long_warning_hides_what_lies_below_it() {
    let message = "a warning that is long ".repeat(9);
    for (width, height) in [(160, 45), (100, 30), (60, 20)] {
        let mut screen = played(runs::complex());
        // A counter takes from the border, not from the lines above it.
        let lines: Vec<String> = (1..=30).map(|n| format!("line {n}")).collect();
        screen.handle(Msg::Paste(lines.join("\n")));
        notify(&mut screen, NoticeLevel::Warning, &message);
        let text = screen.text(width, height);
        let lines = text.lines().skip_while(|line| !line.contains('⚠'));
        let column = lines.map(|line| line.split('│').nth(1).unwrap_or_default());
        let words = column.take_while(|line| !line.is_empty());
        let words: Vec<&str> = words.flat_map(str::split_whitespace).collect();
        let words = words.join(" ");
        let said = words.trim_start_matches(['▌', '●', '⚠', ' ']);
        let said = said.replace("▌ ", "").replace("● ", "");
        assert_eq!(said, message.trim_end(), "{text}");
    }
}

#[test]
fn ui_esc_leaves_a_replay_and_nothing_says_that_it_stops_it() {
    let mut screen = struck(runs::complex(), "/replay<Enter>");
    for _ in 0..12 {
        tap(&mut screen, KeyCode::Right);
        for (width, height) in [(160, 45), (60, 20)] {
            let text = screen.text(width, height);
            assert!(text.contains("replay"), "{text}");
            assert!(!text.contains("Esc stop"), "{text}");
            let is_waiting = text.contains(['◐', '◓', '◑', '◒']);
            let says_so = text.contains(" · Esc leaves");
            assert!(says_so || !is_waiting || width < 100, "{text}");
        }
    }
}
