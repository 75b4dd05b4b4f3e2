//! What the program asks of its terminal, and what it makes of the answers.

use std::io::Write;
use std::process::{Command, Stdio};

use super::terminal::Terminal;
use super::workplace::{Demo, Workplace, text};

/// How the program asks for the background.
const QUESTION: &str = "\u{1b}]11;?\u{1b}\\";
const LIGHT: &str = "\u{1b}]11;rgb:ffff/ffff/ffff\u{1b}\\";
const DARK: &str = "\u{1b}]11;rgb:1e1e/1e1e/2e2e\u{7}";

fn on(demo: &Demo, set: &[(&str, &str)]) -> Terminal {
    let mut command = demo.command(&[]);
    command
        .env("TERM", "xterm-256color")
        .env("COLORTERM", "truecolor")
        .envs(set.iter().copied());
    Terminal::start(&command, 100, 30)
}

/// The colour of that word, once it is shown.
fn ink(screen: &vt100::Screen, word: &str) -> Option<vt100::Color> {
    let (rows, columns) = screen.size();
    (0..rows.get()).find_map(|row| {
        let symbols: Vec<String> = (0..columns.get())
            .map(|column| {
                screen
                    .cell(row, column)
                    .map_or("", vt100::Cell::contents)
                    .to_owned()
            })
            .collect();
        let line = symbols.iter().map(|s| if s.is_empty() { " " } else { s });
        let line: String = line.collect();
        let at = line.find(word)?;
        let column = line[..at].chars().count() as u16;
        screen.cell(row, column).map(vt100::Cell::fgcolor)
    })
}

fn ink_of(theme: &str, demo: &Demo) -> vt100::Color {
    let terminal = on(demo, &[("KB_AGENT_THEME", theme)]);
    terminal.wait_for_text("38 docs");
    let mut found = vt100::Color::Default;
    terminal.wait_for("the name", |screen| ink(screen, "kb-agent").is_some());
    terminal.look(|screen| found = ink(screen, "kb-agent").unwrap_or_default());
    leave(terminal);
    found
}

fn leave(mut terminal: Terminal) {
    terminal.keys("\u{3}\u{3}\u{3}");
    assert_eq!(terminal.end(), 0);
}

#[test]
fn ui_auto_follows_the_answer_of_the_terminal() {
    let demo = Workplace::with_demo();
    let (dark, light) = (ink_of("dark", &demo), ink_of("light", &demo));
    assert_ne!(dark, light);
    let is = |colour: vt100::Color| {
        move |screen: &vt100::Screen| ink(screen, "kb-agent") == Some(colour)
    };
    // As soon as it is asked, and long after the first picture.
    for (answer, colour) in [(LIGHT, light), (DARK, dark)] {
        let mut terminal = on(&demo, &[]);
        terminal.wait_for_written(QUESTION);
        terminal.keys(answer);
        terminal.wait_for("the theme that fits", is(colour));
        leave(terminal);
    }
    let mut terminal = on(&demo, &[]);
    terminal.wait_for_text("38 docs");
    terminal.wait_for("dark, until it is reported", is(dark));
    terminal.keys(LIGHT);
    terminal.wait_for("light", is(light));
    terminal.press_until("typed", "> typed");
    leave(terminal);
}

#[test]
fn ui_auto_stays_dark_where_no_answer_can_be_read() {
    let demo = Workplace::with_demo();
    let dark = ink_of("dark", &demo);
    for garbage in [
        "",
        "\u{1b}]11;rgb:no/such/color\u{1b}\\",
        "\u{1b}]11;?\u{7}",
    ] {
        let mut terminal = on(&demo, &[]);
        terminal.wait_for_written(QUESTION);
        terminal.press_until(garbage, "38 docs");
        terminal.press_until("what is typed", "> what is typed");
        terminal.look(|screen| assert_eq!(ink(screen, "kb-agent"), Some(dark), "{garbage:?}"));
        leave(terminal);
    }
    // A theme with its own ground asks for none.
    let mut terminal = on(&demo, &[("KB_AGENT_THEME", "high-contrast")]);
    terminal.wait_for_text("38 docs");
    terminal.keys("\u{3}\u{3}");
    let (code, written) = terminal.end_with_written();
    assert_eq!((code, written.contains(QUESTION)), (0, false));
}

#[test]
fn ui_the_mouse_is_reported_until_a_key_or_a_setting_says_otherwise() {
    let demo = Workplace::with_demo();
    let reports = |wanted: bool| {
        move |screen: &vt100::Screen| {
            (screen.mouse_protocol_mode() != vt100::MouseProtocolMode::None) == wanted
        }
    };
    for (set, wanted) in [(&[][..], true), (&[("KB_AGENT_MOUSE", "off")][..], false)] {
        let mut terminal = on(&demo, set);
        terminal.wait_for_text("38 docs");
        terminal.wait_for("the mouse as it is set", reports(wanted));
        terminal.keys("\u{1b}m");
        terminal.wait_for("the other way by Alt+M", reports(!wanted));
        // In a pane the letter alone does it.
        terminal.keys("\t");
        terminal.keys("m");
        terminal.wait_for("the first way by m", reports(wanted));
        terminal.keys("\u{3}\u{3}");
        let (code, written) = terminal.end_with_written();
        assert_eq!(code, 0);
        let asked = written.matches("\u{1b}[?1000h").count();
        assert_eq!(asked, if wanted { 2 } else { 1 }, "{written:?}");
    }
    // Nothing is asked for where the setting is off and no one presses a key.
    let mut terminal = on(&demo, &[("KB_AGENT_MOUSE", "off")]);
    terminal.wait_for_text("38 docs");
    terminal.keys("\u{3}\u{3}");
    let written = terminal.end_with_written().1;
    for asked in ["?1000h", "?1002h", "?1003h", "?1006h"] {
        assert!(!written.contains(asked), "{asked}: {written:?}");
    }
}

#[test]
fn ui_a_terminal_that_cannot_move_its_cursor_gets_lines() {
    let demo = Workplace::with_demo();
    let cases: [(&[&str], &str); 4] = [
        (&[], "dumb"),
        (&[], "unknown"),
        (&[], "dumb-emacs-ansi"),
        (&["--plain"], "xterm-256color"),
    ];
    for (args, term) in cases {
        let mut command = demo.command(args);
        command.env("TERM", term);
        let mut terminal = Terminal::start(&command, 80, 24);
        terminal.wait_for_text("ask>");
        terminal.press_until("hello\n", "3 saved");
        terminal.keys("\u{4}");
        let (code, written) = terminal.end_with_written();
        assert_eq!(code, 0, "{term}: {written}");
        assert!(!written.contains('\u{1b}'), "{term}: {written:?}");
    }
    // A replay has no lines: it is refused in one.
    demo.ask(&["hello"]);
    let mut command = demo.command(&["replay"]);
    command.env("TERM", "dumb");
    let (code, written) = Terminal::start(&command, 80, 24).end_with_written();
    assert_eq!(code, 2, "{written}");
    assert!(
        written.contains("can be drawn on") && !written.contains('\u{1b}'),
        "{written:?}"
    );
}

/// As `script -qc 'kb-agent --plain' /dev/null` does: a terminal around it, a pipe around that.
#[cfg(target_os = "linux")]
#[test]
fn ui_lines_stay_lines_in_a_terminal_that_another_program_opens() {
    let demo = Workplace::with_demo();
    for (args, term) in [(" --plain", "xterm-256color"), ("", "dumb")] {
        let plain = demo.command(&[]);
        let program = plain.get_program().to_str().unwrap().to_owned();
        let mut script = Command::new("script");
        script.args(["-qec", &format!("{program}{args}"), "/dev/null"]);
        script.current_dir(demo.place().path()).env_clear();
        script.envs(
            plain
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        script.env("TERM", term).env("SHELL", "/bin/sh");
        let mut running = script
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = running.stdin.take().unwrap();
        input.write_all(b"hello\n/quit\n").unwrap();
        drop(input);
        let output = running.wait_with_output().unwrap();
        let said = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert!(said.contains("· chitchat ·"), "{said}");
        assert!(!said.contains('\u{1b}'), "{said:?}");
    }
}
