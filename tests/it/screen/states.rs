//! How the main states look at the largest and the smallest size, and in every theme.

use kb_agent::domain::{Complexity, NodeName, Outcome};
use kb_agent::protocol::{Event, EventBody, SessionUpdate, Update};
use kb_agent::tui::{Background, ColorDepth, Glyphs, LEAST, Msg, Screen, TerminalLooks, ThemeName};
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

use super::runs::{self, Tape};
use super::{KeyCode, KeyModifiers, play, press, tap, write};
use super::{audit, compare, path, sessions, source, statistics};

type State = (&'static str, fn(&mut Screen));

/// What leads there from an empty chat.
const STATES: [State; 19] = [
    ("empty chat", |_| {}),
    ("answer with code", |screen| {
        play(screen, answered_with_code());
    }),
    ("path, refined", |screen| {
        in_pane(screen, path::compared(), '2');
    }),
    ("path at work", |screen| {
        in_pane(screen, path::planning_again(), '2');
    }),
    ("path, failed", |screen| {
        in_pane(screen, runs::failed(), '2');
    }),
    ("detail of a node", |screen| {
        in_pane(screen, path::by_endpoint(), '2');
        for _ in 0..3 {
            tap(screen, KeyCode::Char('j'));
        }
        tap(screen, KeyCode::Enter);
    }),
    ("evidence", |screen| in_pane(screen, runs::complex(), '3')),
    ("source", |screen| {
        in_pane(screen, source::found(), '3');
        tap(screen, KeyCode::Enter);
        let part = source::part(1, 340, 340);
        source::send(screen, source::SOURCE, 30, Ok(part));
    }),
    ("audit with waterfall", |screen| {
        in_pane(screen, audit::dropping(), '4');
        tap(screen, KeyCode::Char('z'));
    }),
    ("event", |screen| {
        in_pane(screen, audit::dropping(), '4');
        tap(screen, KeyCode::Enter);
    }),
    ("replay midway", |screen| {
        play(screen, runs::complex());
        write(screen, "/replay");
        tap(screen, KeyCode::Enter);
        for _ in 0..4 {
            press(screen, KeyCode::Right, KeyModifiers::SHIFT);
        }
    }),
    ("what if", |screen| {
        in_pane(screen, runs::complex(), '2');
        tap(screen, KeyCode::Char('w'));
        for _ in 0..3 {
            tap(screen, KeyCode::Down);
        }
        press(screen, KeyCode::Left, KeyModifiers::SHIFT);
    }),
    ("compare", |screen| {
        play(screen, runs::simple());
        let first = runs::simple();
        play(
            screen,
            compare::chosen(runs::complex(), Complexity::Complex, first.first()),
        );
        in_pane(screen, Vec::new(), '2');
        tap(screen, KeyCode::Char('c'));
    }),
    ("race", race),
    ("statistics", |screen| {
        write(screen, "/stats");
        tap(screen, KeyCode::Enter);
        let read = Ok(Box::new(statistics::history()));
        screen.handle(Msg::Update(Update::Statistics(read)));
    }),
    ("sessions", |screen| {
        play(screen, runs::simple());
        press(screen, KeyCode::Char('s'), KeyModifiers::CONTROL);
        let listed = SessionUpdate::Listed(Ok(sessions::sessions()));
        screen.handle(Msg::Update(Update::Session(listed)));
    }),
    ("palette", |screen| {
        play(screen, runs::complex());
        press(screen, KeyCode::Char('p'), KeyModifiers::CONTROL);
        write(screen, "re");
    }),
    ("slash menu", |screen| write(screen, "/")),
    ("help", |screen| {
        tap(screen, KeyCode::Char('?'));
    }),
];

/// Those in which every ink that has a meaning of its own is seen.
const STYLED: [&str; 8] = [
    "answer with code",
    "path, refined",
    "path, failed",
    "evidence",
    "source",
    "audit with waterfall",
    "what if",
    "statistics",
];

fn in_pane(screen: &mut Screen, events: Vec<Event>, pane: char) {
    play(screen, events);
    press(screen, KeyCode::Char(pane), KeyModifiers::ALT);
}

fn answered_with_code() -> Vec<Event> {
    let mut tape = Tape::new("0199a1b2-0000-7000-8000-0000000000aa");
    tape.start("How do I build the index?");
    tape.analyze(Complexity::Simple, &[]);
    tape.retrieve(0, Vec::new(), Vec::new());
    let answer = "## Building\n\n> Later changes are *taken up*.\n\n| step | ms |\n|---|---:|\n| read | 12 |\n\n\
                  Run `kb-agent index` **once** [1]:\n\n```rust\nlet count = 42; // documents\n\
                  println!(\"{count}\");\n```\n";
    tape.answer(0, answer, vec![runs::cite(1, "docs/index.md", (3, 9))]);
    tape.end(Outcome::Answered, 2, 2, None);
    tape.events
}

/// Two routes of one question, one of them at work.
fn race(screen: &mut Screen) {
    write(screen, "/race What is the default chunk size?");
    tap(screen, KeyCode::Enter);
    let short = compare::chosen(runs::simple(), Complexity::Simple, None);
    let whole = compare::chosen(runs::complex(), Complexity::Complex, short.first());
    let is_grading = |event: &Event| {
        let grading = NodeName::GradeEvidence;
        matches!(event.body, EventBody::NodeEntered { node, .. } if node == grading)
    };
    let until = whole.iter().position(is_grading).unwrap() + 1;
    play(screen, short[..1].to_vec());
    play(screen, whole[..until].to_vec());
    play(screen, short[1..].to_vec());
}

/// The screen in that state, on a terminal whose ground the theme is for.
fn in_state(state: fn(&mut Screen), theme: ThemeName, depth: ColorDepth) -> Screen {
    let background = match theme {
        ThemeName::LIGHT => Background::Light,
        _ => Background::Dark,
    };
    let terminal = TerminalLooks {
        depth,
        glyphs: Glyphs::Unicode,
        background: Some(background),
        answers: false,
    };
    let mut screen = Screen::on_terminal(super::setup(theme), terminal).unwrap();
    super::tell_knowledge(&mut screen);
    state(&mut screen);
    screen
}

fn snapshot(name: &str, text: &str) {
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, text);
    });
}

#[test]
fn ui_every_state_has_its_look_at_the_largest_and_the_smallest_size() {
    for (width, height) in [(200, 60), LEAST] {
        let mut all = String::new();
        for (name, state) in STATES {
            let mut screen = in_state(state, ThemeName::DARK, ColorDepth::True);
            let text = screen.text(width, height);
            all.push_str(&format!("═══ {name}\n{text}\n"));
        }
        snapshot(&format!("states_{width}x{height}"), &all);
    }
}

#[test]
fn ui_every_state_keeps_its_frame_at_every_size() {
    for (name, state) in STATES {
        let mut screen = in_state(state, ThemeName::DARK, ColorDepth::True);
        for (width, height) in [(200, 60), (160, 45), (120, 30), (100, 30), (60, 20), LEAST] {
            let text = screen.text(width, height);
            for (at, line) in text.lines().enumerate() {
                let cells = unicode_width::UnicodeWidthStr::width(line);
                let ends = line.ends_with(['│', '┐', '┘', '┤']);
                assert!(
                    cells == usize::from(width) && ends,
                    "{name} {width}×{height}, {at}\n{text}"
                );
            }
        }
    }
}

#[test]
fn ui_every_theme_paints_every_state() {
    let themes = table![
        "dark", ThemeName::DARK, ColorDepth::True;
        "light", ThemeName::LIGHT, ColorDepth::True;
        "high-contrast", ThemeName::parse("high-contrast").unwrap(), ColorDepth::True;
        "mono", ThemeName::MONO, ColorDepth::True;
        "dark-16", ThemeName::DARK, ColorDepth::Sixteen;
        "light-16", ThemeName::LIGHT, ColorDepth::Sixteen;
    ];
    for (theme, name, depth) in themes {
        let mut looks = Looks::default();
        let mut all = String::new();
        for (state, steps) in STATES.iter().filter(|(state, _)| STYLED.contains(state)) {
            let buffer = in_state(*steps, name, depth).render(100, 24);
            all.push_str(&format!("═══ {state}\n{}\n", looks.painted(&buffer)));
        }
        snapshot(
            &format!("styled_{theme}"),
            &format!("{}{all}", looks.legend()),
        );
    }
}

/// Colours and modifiers of cells, each called by a letter.
#[derive(Default)]
struct Looks(Vec<(Color, Color, Modifier)>);

impl Looks {
    const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

    fn letter(&mut self, cell: &Cell) -> char {
        let look = (cell.fg, cell.bg, cell.modifier);
        let at = self.0.iter().position(|known| *known == look);
        let at = at.unwrap_or_else(|| {
            self.0.push(look);
            self.0.len() - 1
        });
        Self::LETTERS
            .chars()
            .nth(at)
            .expect("a letter for each look")
    }

    /// Each line of text, and below it where its looks begin.
    fn painted(&mut self, buffer: &Buffer) -> String {
        let mut lines = String::new();
        for y in 0..buffer.area.height {
            let (mut text, mut looks, mut last) = (String::new(), String::new(), ' ');
            for x in 0..buffer.area.width {
                let cell = &buffer[(x, y)];
                text.push_str(cell.symbol());
                let letter = self.letter(cell);
                looks.push(if letter == last { ' ' } else { letter });
                last = letter;
            }
            lines.push_str(&format!("{}\n{}\n", text.trim_end(), looks.trim_end()));
        }
        lines
    }

    fn legend(&self) -> String {
        let each = Self::LETTERS.chars().zip(&self.0);
        let legend = each.map(|(letter, (fg, bg, modifier))| {
            let modifier = if modifier.is_empty() {
                String::new()
            } else {
                format!(" {modifier:?}")
            };
            format!("{letter} {fg} on {bg}{modifier}\n")
        });
        legend.collect()
    }
}
