//! Terminals and keyboards as people have them: other letters, pastes without marks, pictures, tmux.

use crate::terminal::Terminal;
use crate::workplace::{Demo, Workplace, events};

fn start(demo: &Demo, set: &[(&str, &str)]) -> Terminal {
    let mut command = demo.command(&[]);
    command.envs(set.iter().copied());
    Terminal::start(&command, 120, 40)
}

fn open(demo: &Demo, set: &[(&str, &str)]) -> Terminal {
    let terminal = start(demo, set);
    terminal.wait_for_text("38 docs");
    terminal
}

#[test]
fn keys_do_the_same_on_a_cyrillic_keyboard_under_the_kitty_protocol() {
    let demo = Workplace::with_demo();
    let mut terminal = start(&demo, &[("TERM", "xterm-kitty")]);
    terminal.wait_for_written("\u{1b}[?u");
    terminal.press_until("\u{1b}[?1u\u{1b}[?62c", "38 docs");
    // Ctrl+З stands where Ctrl+P does, Ctrl+Ы where Ctrl+S does.
    terminal.press_until("\u{1b}[1079;5u", "set the route of new questions");
    terminal.press_until("\u{1b}[27u", "> ");
    // In a pane a letter is a key: `?` is typed the same way, `я` stands for z and shows it alone.
    terminal.press_until("\t", "zoom");
    terminal.keys("я");
    terminal.wait_for("the path alone", |screen| {
        !screen.contents().contains("Evidence")
    });
    terminal.keys("ш");
    terminal.press_until("привет", "> привет");
    // Ctrl+С clears what is typed, and then leaves.
    terminal.keys("\u{1b}[1089;5u");
    terminal.wait_for("an empty prompt", |screen| {
        !screen.contents().contains("привет")
    });
    terminal.keys("\u{1b}[1089;5u\u{1b}[1089;5u");
    assert_eq!(terminal.end(), 0);
}

#[test]
fn lines_pasted_without_marks_are_one_question_and_not_sent() {
    let demo = Workplace::with_demo();
    let mut terminal = open(&demo, &[]);
    terminal.keys("line one\rline two\rline three\r");
    let screen = terminal.wait_for_text("line three");
    assert!(screen.contains("line one"), "{screen}");
    // A question of one line is sent by its Enter.
    terminal.keys("\u{3}");
    terminal.wait_for("an empty prompt", |screen| {
        !screen.contents().contains("line three")
    });
    terminal.keys("hello\r");
    terminal.wait_for_text("saved 3");
    terminal.leave();
    assert_eq!(events(&demo.place().audit(), "run_started").len(), 1);
}

#[test]
fn a_picture_in_an_answer_moves_no_border() {
    let warning =
        "# Gates\n\n\u{26a0}\u{fe0f} The gate threshold is seven, 1\u{fe0f}\u{20e3} of them.\n";
    let place = Workplace::holding([("kb/gate.md", warning)]);
    let mut terminal = Terminal::start(&place.command(&["kb"]), 140, 40);
    terminal.wait_for_text("1 doc");
    terminal.keys("What is the gate threshold?\r");
    let screen = terminal.wait_for_text("saved 1");
    assert!(screen.contains('\u{26a0}'), "{screen}");
    terminal.keys("\u{3}\u{3}");
    let (code, written) = terminal.end_with_written();
    assert_eq!((code, written.contains('\u{fe0f}')), (0, false));
}

#[test]
fn a_copy_is_handed_on_through_tmux() {
    let demo = Workplace::with_demo();
    let mut terminal = open(&demo, &[("TMUX", "/tmp/tmux,1,0")]);
    terminal.keys("hello\r");
    terminal.wait_for_text("saved 3");
    terminal.press_until("\u{1b}y", "to the terminal to copy");
    terminal.wait_for_written("\u{1b}Ptmux;\u{1b}\u{1b}]52;c;");
    terminal.leave();
}
