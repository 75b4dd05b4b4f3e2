//! The screen: events and keys in, cells out.

mod answer;
mod audit;
mod branches;
mod citations;
mod commands;
mod compare;
mod copy;
mod details;
mod evidence;
mod labels;
mod looks;
mod mention;
mod models;
mod notices;
mod path;
mod pointer;
mod prompt_keys;
mod recall;
mod replay;
mod resumed;
pub mod runs;
mod sessions;
mod shown;
mod source;
mod states;
mod statistics;
mod waiting;
mod walk;
mod welcome;
mod what_if;

use crate::support::Said;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use kb_agent::domain::{Complexity, Outcome, RoutingLimits, ToolName};
use kb_agent::protocol::{
    Command, Event, EventBody, JobModels, KnowledgeStatus, Mode, NoticeLevel, QuestionPlace, RunId,
    RunRecord, Timestamp, Update,
};
use kb_agent::tui::{Effect, Msg, Sample, Screen, Setup, ThemeName};
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};

use runs::{Tape, item};

const SIZES: [(u16, u16); 4] = [(160, 45), (100, 30), (60, 20), (39, 9)];

pub fn screen() -> Screen {
    themed(ThemeName::DARK)
}

fn themed(theme: ThemeName) -> Screen {
    let mut screen = Screen::new(setup(theme)).unwrap();
    tell_knowledge(&mut screen);
    screen
}

fn setup(theme: ThemeName) -> Setup {
    let sample = |route, text: &str| Sample {
        route,
        text: text.to_owned(),
    };
    Setup {
        theme,
        no_color: false,
        mode: Mode::Offline,
        models: JobModels::same_for_all("extractive"),
        endpoint: None,
        limits: RoutingLimits::default(),
        samples: vec![
            sample("chitchat", "Hello, who are you?"),
            sample("simple", "What is the default chunk size?"),
            sample(
                "complex",
                "Compare the index pipeline with the query engine",
            ),
        ],
        notices: Vec::new(),
        markdown,
        ..Setup::default()
    }
}

fn tell_knowledge(screen: &mut Screen) {
    screen.handle(Msg::Update(Update::Knowledge(KnowledgeStatus {
        name: "demo-kb".to_owned(),
        documents: 24,
        chunks: 312,
        pending: 0,
        ..KnowledgeStatus::default()
    })));
}

/// Stands for what the program writes.
fn markdown(runs: &[RunRecord]) -> String {
    let questions = runs
        .iter()
        .map(|run| format!("# {}\n", run.summary.question));
    questions.collect()
}

fn played(events: Vec<Event>) -> Screen {
    let mut screen = screen();
    play(&mut screen, events);
    screen
}

/// Tells the screen these events; what it does at them.
fn play(screen: &mut Screen, events: impl IntoIterator<Item = Event>) -> Vec<Effect> {
    let events = events.into_iter();
    let told = events.flat_map(|event| screen.handle(Msg::Update(Update::Event(event))));
    told.collect()
}

fn notify(screen: &mut Screen, level: NoticeLevel, message: &str) {
    screen.handle(Msg::Update(Update::Notice {
        level,
        message: message.to_owned(),
    }));
}

pub fn press(screen: &mut Screen, code: KeyCode, modifiers: KeyModifiers) -> Vec<Effect> {
    screen.handle(Msg::Key(KeyEvent::new(code, modifiers)))
}

pub fn tap(screen: &mut Screen, code: KeyCode) -> Vec<Effect> {
    press(screen, code, KeyModifiers::NONE)
}

fn ctrl(screen: &mut Screen, c: char) -> Vec<Effect> {
    press(screen, KeyCode::Char(c), KeyModifiers::CONTROL)
}

pub fn write(screen: &mut Screen, text: &str) {
    for c in text.chars() {
        tap(screen, KeyCode::Char(c));
    }
}

/// The screen after these events and keys.
fn struck(events: Vec<Event>, keys: &str) -> Screen {
    let mut screen = played(events);
    strike(&mut screen, keys);
    screen
}

/// Strikes these keys, `<Alt+4>` and `<Enter>` among them by their names; what the last one does.
fn strike(screen: &mut Screen, keys: &str) -> Vec<Effect> {
    let mut effects = Vec::new();
    let mut rest = keys.chars();
    while let Some(c) = rest.next() {
        effects = if c == '<' {
            let name: String = rest.by_ref().take_while(|c| *c != '>').collect();
            let (modifier, key) = name.split_once('+').unwrap_or(("", &name));
            press(screen, key_named(key), modifier_named(modifier))
        } else {
            tap(screen, KeyCode::Char(c))
        };
    }
    effects
}

fn modifier_named(name: &str) -> KeyModifiers {
    match name {
        "" => KeyModifiers::NONE,
        "Alt" => KeyModifiers::ALT,
        "Ctrl" => KeyModifiers::CONTROL,
        "Shift" => KeyModifiers::SHIFT,
        _ => panic!("{name} is no modifier"),
    }
}

fn key_named(name: &str) -> KeyCode {
    use KeyCode::{BackTab, Backspace, Delete, Down, End, Enter, Esc, Home, Left};
    use KeyCode::{PageDown, PageUp, Right, Tab, Up};
    let named = [
        BackTab, Backspace, Delete, Down, End, Enter, Esc, Home, Left, PageDown, PageUp, Right,
        Tab, Up,
    ];
    let mut named = named.into_iter();
    let mut letters = name.chars();
    match (letters.next(), letters.as_str()) {
        (Some(letter), "") => KeyCode::Char(letter),
        (Some('F'), number) if !number.starts_with(char::is_alphabetic) => {
            KeyCode::F(number.parse().unwrap())
        }
        _ => named
            .find(|key| format!("{key:?}") == name)
            .unwrap_or_else(|| panic!("{name} is no key")),
    }
}

fn ask(query: &str, route: Option<Complexity>) -> Vec<Effect> {
    vec![Effect::Send(Command::Ask {
        query: query.to_owned(),
        route,
        place: QuestionPlace::default(),
    })]
}

/// Pictures at all sizes; a screen that is too small for any shows one line, whatever the state.
fn pictures(name: &str, screen: &mut Screen) {
    for (width, height) in &SIZES[..3] {
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(format!("{name}_{width}x{height}"), screen.text(*width, *height));
        });
    }
    assert_eq!(screen.text(39, 9).trim_end(), "kb-agent needs 40×10 cells");
}

#[test]
fn empty_chat() {
    pictures("empty", &mut screen());
}

#[test]
fn a_screen_that_is_too_small_says_what_it_needs() {
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("too_small_39x9", screen().text(39, 9));
    });
}

#[test]
fn r7_chitchat_run() {
    pictures("chitchat", &mut played(runs::chitchat()));
}

#[test]
fn r8_simple_run() {
    pictures("simple", &mut played(runs::simple()));
}

#[test]
fn r9_complex_run_with_refine_and_dropped_items() {
    pictures("complex", &mut played(runs::complex()));
}

#[test]
fn complex_run_at_work() {
    let mut events = runs::complex();
    let grading = events
        .iter()
        .position(|event| event.body.name() == "evidence_graded")
        .unwrap();
    events.truncate(grading);
    pictures("at_work", &mut played(events));
}

#[test]
fn r16_rule_hit_is_not_drawn_as_measured() {
    let mut screen = played(runs::rule_hit());
    pictures("rule", &mut screen);
    let text = screen.text(160, 45);
    assert!(text.contains("rule few_context: 2 ≤ 2 → GENERATE"));
    assert!(!text.contains('▇'), "{text}");
}

#[test]
fn an_answer_says_what_the_search_could_not_look_at() {
    let mut events = runs::simple();
    let at = events
        .iter()
        .position(|event| event.body.name() == "answer_finished")
        .unwrap();
    let mut warning = events[at].clone();
    warning.body = EventBody::Warning {
        code: "index_incomplete".to_owned(),
        message: "48 of 215 passages\u{1b}[2J are embedded".to_owned(),
    };
    events.insert(at, warning);
    for (width, height) in [(160, 45), (100, 30), (60, 20)] {
        let text = played(events.clone()).text(width, height);
        assert!(text.contains("⚠ 48 of 215 passages are embedded"), "{text}");
    }
    let text = played(runs::simple()).text(100, 30);
    assert!(!text.contains('⚠'), "{text}");
}

#[test]
fn cancelled_run() {
    pictures("cancelled", &mut played(runs::cancelled()));
}

#[test]
fn failed_run() {
    pictures("failed", &mut played(runs::failed()));
}

#[test]
fn a_run_that_failed_before_its_first_node_says_so() {
    let mut tape = Tape::new("0199a1b2-0000-7000-8000-0000000000f7");
    tape.start("What is a chunk?");
    tape.end(Outcome::Failed, 0, 0, Some("cannot reach localhost:9"));
    let mut screen = played(tape.events);
    let text = screen.text(160, 45);
    assert!(text.contains("failed before the first node"), "{text}");
    assert!(!text.contains("× analyze_and_route"), "{text}");
    assert_eq!(text.matches("skipped: run failed").count(), 5, "{text}");
    strike(&mut screen, "<Alt+2>u");
    let text = screen.text(160, 45);
    assert!(text.contains("failed before the first node"), "{text}");
}

#[test]
fn the_time_of_a_node_that_failed_is_not_that_of_one_that_came_to_its_end() {
    for (events, said) in [
        (runs::failed(), "× analyze_and_route  failed after 21 ms"),
        (runs::cancelled(), "◼ grade_evidence     stopped after 1 ms"),
    ] {
        let mut screen = struck(events, "<Alt+2>");
        let text = screen.text(160, 45);
        assert!(text.contains(said), "{text}");
        // And so in the path as it ran.
        tap(&mut screen, KeyCode::Char('u'));
        let text = screen.text(160, 45);
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn r23_not_found_run() {
    pictures("not_found", &mut played(runs::not_found()));
}

#[test]
fn help_is_made_from_the_keymap() {
    let mut screen = screen();
    tap(&mut screen, KeyCode::Char('?'));
    pictures("help", &mut screen);
}

#[test]
fn side_panes_take_their_turn() {
    let mut screen = struck(runs::complex(), "<Tab><Tab>");
    pictures("evidence", &mut screen);
    tap(&mut screen, KeyCode::Tab);
    pictures("audit", &mut screen);
    tap(&mut screen, KeyCode::Char('z'));
    pictures("audit_zoomed", &mut screen);
    tap(&mut screen, KeyCode::Enter);
    pictures("json", &mut screen);
}

#[test]
fn r20_the_arithmetic_of_a_decision_is_shown() {
    let text = played(runs::complex()).text(160, 45);
    assert!(text.contains("avg 0.64 < 0.70 → REFINE"), "{text}");
    assert!(text.contains("avg 0.78 ≥ 0.70 → GENERATE"), "{text}");
    assert!(text.contains("↺ 2"), "{text}");
}

#[test]
fn offline_answers_say_so() {
    for (width, height) in &SIZES[..3] {
        let text = played(runs::simple()).text(*width, *height);
        assert!(text.contains("extractive, offline"), "{text}");
        assert!(
            text.contains("not graded (simple)") || *width < 120,
            "{text}"
        );
    }
}

#[test]
fn typing_and_sending() {
    let mut screen = screen();
    assert_eq!(
        strike(&mut screen, "what is<Alt+Enter>a chunk<Enter>"),
        ask("what is\na chunk", None)
    );
    let text = screen.text(100, 30);
    assert!(text.contains("you   what is"), "{text}");
    assert_eq!(
        tap(&mut screen, KeyCode::Esc),
        [Effect::Send(Command::Cancel)]
    );
}

#[test]
fn a_refused_question_is_not_lost() {
    let mut screen = screen();
    let Effect::Send(command) = strike(&mut screen, "hello<Enter>").remove(0) else {
        panic!("no command");
    };
    screen.handle(Msg::Refused(command));
    let text = screen.text(100, 30);
    text.must_hold("> hello");
    text.must_hold("did not take");
    assert!(!screen.is_animated());
}

#[test]
fn a_digit_sends_a_sample_only_while_nothing_is_typed() {
    let mut screen = screen();
    write(&mut screen, "a1");
    assert!(screen.text(100, 30).contains("> a1"));
    assert_eq!(
        strike(&mut screen, "<Ctrl+c>2"),
        ask("What is the default chunk size?", None)
    );
}

#[test]
fn commands_at_the_prompt() {
    let mut screen = screen();
    write(&mut screen, "/ro");
    assert!(screen.text(100, 30).contains("/route"));
    assert_eq!(strike(&mut screen, "<Tab>simple<Enter>"), []);
    assert_eq!(
        strike(&mut screen, "why<Enter>"),
        ask("why", Some(Complexity::Simple))
    );

    let mut screen = played(runs::simple());
    assert_eq!(
        strike(&mut screen, "/clear<Enter>"),
        [Effect::Send(Command::Forget)]
    );
    assert!(screen.text(100, 30).contains("Ask demo-kb anything"));
    strike(&mut screen, "/nope<Enter>");
    assert!(screen.text(100, 30).contains("/nope is no command"));
}

#[test]
fn retry_by_another_route() {
    let mut screen = struck(runs::simple(), "/retry<Enter>");
    assert!(screen.text(100, 30).contains("by which route?"));
    let effects = tap(&mut screen, KeyCode::Enter);
    let first = runs::simple()[0].run.clone();
    assert_eq!(
        effects,
        [Effect::Send(Command::Ask {
            query: "What is the default chunk size?".to_owned(),
            route: Some(Complexity::Complex),
            place: QuestionPlace::retry_of(first.clone()),
        })]
    );
    let mut other = played(runs::simple());
    let by_name = strike(&mut other, "/retry simple<Enter>");
    let [Effect::Send(Command::Ask { route, .. })] = &by_name[..] else {
        panic!("no question");
    };
    assert_eq!(*route, Some(Complexity::Simple));
    // A retry of the retry is one of the question's first run too.
    let mut tape = Tape::new("0199a1b2-0000-7000-8000-0000000000f9");
    tape.start("What is the default chunk size?");
    tape.end(Outcome::Answered, 0, 0, None);
    let EventBody::RunStarted { place, .. } = &mut tape.events[0].body else {
        panic!("no start");
    };
    place.retry_of = Some(first.clone());
    play(&mut screen, tape.events);
    strike(&mut screen, "/retry<Enter>");
    let [Effect::Send(Command::Ask { place, .. })] = &tap(&mut screen, KeyCode::Enter)[..] else {
        panic!("no question");
    };
    assert_eq!(place.retry_of.as_ref(), Some(&first));
}

#[test]
fn ctrl_c_clears_then_leaves() {
    let mut screen = screen();
    assert_eq!(strike(&mut screen, "half a question<Ctrl+c>"), []);
    assert!(screen.text(100, 30).contains("↑ brings it back"));
    tap(&mut screen, KeyCode::Up);
    assert!(screen.text(100, 30).contains("> half a question"));
    assert_eq!(ctrl(&mut screen, 'c'), []);
    assert_eq!(ctrl(&mut screen, 'c'), [Effect::Quit]);
}

#[test]
fn a_large_paste_is_kept_and_not_sent() {
    let mut screen = screen();
    let line = "word ".repeat(20);
    screen.handle(Msg::Paste(format!("{line}\n").repeat(1000)));
    screen.text(100, 30);
    assert_eq!(tap(&mut screen, KeyCode::Enter), []);
    let text = screen.text(100, 30);
    assert!(text.contains("at most 16 kB can be sent"), "{text}");
    assert!(text.contains("word word"), "{text}");
}

#[test]
fn history_of_questions() {
    let mut screen = screen();
    for (question, events) in [("one", runs::chitchat()), ("two", runs::simple())] {
        write(&mut screen, question);
        tap(&mut screen, KeyCode::Enter);
        play(&mut screen, events);
    }
    write(&mut screen, "draft");
    for (key, shown) in [
        (KeyCode::Up, "> two"),
        (KeyCode::Up, "> one"),
        (KeyCode::Down, "> two"),
        (KeyCode::Down, "> draft"),
    ] {
        tap(&mut screen, key);
        let text = screen.text(100, 30);
        assert!(text.contains(shown), "{shown}\n{text}");
    }
}

#[test]
fn late_events_of_other_runs_are_ignored() {
    let mut screen = played(runs::simple());
    let before = screen.text(160, 45);
    for mut event in runs::complex().into_iter().skip(1) {
        screen.handle(Msg::Update(Update::Event(event.clone())));
        // Nor those of this run after its end.
        event.run = runs::simple()[0].run.clone();
        screen.handle(Msg::Update(Update::Event(event)));
    }
    assert_eq!(screen.text(160, 45), before);
}

#[test]
fn letters_without_a_use_in_a_pane_type_nothing_and_say_how_to_type() {
    for (pane, letter) in [('2', 'h'), ('3', '!'), ('4', 'é')] {
        let mut screen = played(runs::complex());
        press(&mut screen, KeyCode::Char(pane), KeyModifiers::ALT);
        tap(&mut screen, KeyCode::Char(letter));
        let text = screen.text(100, 30);
        assert!(text.contains("i goes to the question"), "{text}");
        write(&mut screen, "ihow jkgz?");
        let text = screen.text(100, 30);
        assert!(text.contains("> how jkgz?"), "{text}");
    }
}

#[test]
fn keys_with_a_use_in_a_pane_keep_it() {
    for size in [(160, 45), (100, 30), (60, 20)] {
        let mut screen = struck(runs::complex(), "<Alt+4>");
        for key in "kkjgGnN ".chars() {
            tap(&mut screen, KeyCode::Char(key));
        }
        strike(&mut screen, "<Alt+x><Backspace>");
        let text = screen.text(size.0, size.1);
        assert!(
            text.contains("▸ Audit") || text.contains("▸Audit"),
            "{text}"
        );
        // A filter takes every letter.
        write(&mut screen, "/what");
        let text = screen.text(size.0, size.1);
        assert!(text.contains("/ what"), "{text}");
        assert!(
            text.contains("▸ Audit") || text.contains("▸Audit"),
            "{text}"
        );
    }
}

#[test]
fn a_paste_is_never_lost() {
    let pasted = |screen: &mut Screen| {
        screen.handle(Msg::Paste("from elsewhere".to_owned()));
        let text = screen.text(100, 30);
        assert!(text.contains("> from elsewhere"), "{text}");
        assert!(!text.contains("┌─ Help"), "{text}");
        text
    };
    for pane in ['2', '3', '4'] {
        let mut screen = played(runs::complex());
        press(&mut screen, KeyCode::Char(pane), KeyModifiers::ALT);
        assert!(pasted(&mut screen).contains("▸Chat"));
    }
    let mut helped = struck(runs::complex(), "<F1>");
    pasted(&mut helped);
    // Only a filter that is being typed takes it, and only while it has the keys.
    let mut screen = struck(runs::complex(), "<Alt+4>/");
    screen.handle(Msg::Paste("route".to_owned()));
    let text = screen.text(160, 45);
    text.must_hold("/ route");
    text.must_lack("> route");
    screen.handle(Msg::Mouse(MouseEvent {
        kind: MouseEventKind::Down(MouseButton::Left),
        column: 10,
        row: 10,
        modifiers: KeyModifiers::NONE,
    }));
    pasted(&mut screen);
}

#[test]
fn a_window_leaves_no_torn_lines_beside_it() {
    for keys in [&[KeyCode::F(1)][..], &[KeyCode::BackTab, KeyCode::Enter]] {
        let mut screen = played(runs::complex());
        for key in keys {
            tap(&mut screen, *key);
        }
        for (width, height) in [
            (40, 10),
            (60, 20),
            (80, 24),
            (100, 30),
            (119, 40),
            (121, 30),
        ] {
            let buffer = screen.render(width, height);
            let text = screen.text(width, height);
            let is = |x: u16, y: u16, sign: &str| buffer[(x, y)].symbol() == sign;
            let left = (2..5)
                .find(|&x| (1..height).any(|y| is(x, y, "┌")))
                .expect(&text);
            let top = (1..height).find(|&y| is(left, y, "┌")).unwrap();
            let bottom = (top..height).find(|&y| is(left, y, "└")).expect(&text);
            let right = (left..width).find(|&x| is(x, top, "┐")).expect(&text);
            assert!(is(right, bottom, "┘"), "{text}");
            for y in top..=bottom {
                assert!(is(0, y, "│") && is(width - 1, y, "│"), "row {y}\n{text}");
                let mut beside = (1..left).chain(right + 1..width - 1);
                assert!(beside.all(|x| is(x, y, " ")), "row {y}\n{text}");
            }
        }
    }
}

#[test]
fn a_window_shows_long_values_whole_and_how_much_there_is() {
    let why = "cannot reach llm.example:8080: connection refused; check that the server runs";
    let mut tape = Tape::new("0199a1b2-0000-7000-8000-0000000000f8");
    tape.start("What is a chunk?");
    tape.end(Outcome::Failed, 0, 0, Some(why));
    let mut screen = struck(tape.events, "<BackTab><Enter>");
    screen.text(60, 20);
    assert!(screen.text(60, 20).contains(" 1–14 of "));
    tap(&mut screen, KeyCode::Char('G'));
    let text = screen.text(60, 20);
    let inside = text.split(['│', '\n']).map(str::trim);
    let words = inside.collect::<Vec<_>>().join(" ");
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(why), "{text}");
    strike(&mut screen, "<Esc><F1>");
    assert!(screen.text(60, 20).contains(" 1–14 of "));
    assert!(!screen.text(160, 120).contains(" 1–"));
}

#[test]
fn a_question_of_many_lines_says_where_it_is() {
    let mut screen = screen();
    screen.handle(Msg::Paste("one line\n".repeat(199) + "the last"));
    for (width, height) in [(160, 45), (100, 30), (60, 20), (40, 10)] {
        let text = screen.text(width, height);
        assert!(text.contains("line 200 of 200"), "{text}");
        assert!(text.contains("the last"), "{text}");
    }
    ctrl(&mut screen, 'c');
    assert!(!screen.text(60, 20).contains("of 200"));
}

#[test]
fn what_is_cut_at_the_edge_says_so() {
    let mut events = runs::complex();
    events.truncate(4);
    let text = played(events).text(40, 12);
    assert!(text.contains("further questions que…"), "{text}");
}

#[test]
fn the_mouse_focuses_and_scrolls_what_is_under_it() {
    let mut screen = played(runs::complex());
    screen.text(160, 45);
    let at = |kind, column, row| {
        Msg::Mouse(MouseEvent {
            kind,
            column,
            row,
            modifiers: KeyModifiers::NONE,
        })
    };
    screen.handle(at(MouseEventKind::Down(MouseButton::Left), 120, 40));
    assert!(screen.text(160, 45).contains("▸ Audit"));
    screen.handle(at(MouseEventKind::ScrollUp, 120, 40));
    assert!(screen.text(160, 45).contains("paused"));
}

#[test]
fn escape_sequences_never_reach_a_cell() {
    let evil = "\u{1b}[31mred\u{1b}]0;title\u{7}\u{9b}2J\u{202e}dne";
    let mut tape = Tape::new("run\u{1b}[31m-with-a-long-name");
    tape.start(evil);
    tape.analyze(Complexity::Complex, &[evil, evil]);
    let mut dirty = item(1, evil, (1, 2), ToolName::GrepSearch, 0.4);
    dirty.excerpt = evil.to_owned();
    tape.retrieve(0, Vec::new(), vec![dirty]);
    for piece in ["a \u{1b}", "[31mb ", evil, "\n```\n", evil, "\n```\n"] {
        tape.after(1).add(EventBody::AnswerDelta {
            text: piece.to_owned(),
            supported: None,
        });
    }
    tape.after(1).add(EventBody::Warning {
        code: evil.to_owned(),
        message: evil.to_owned(),
    });
    let mut citation = runs::cite(1, evil, (1, 2));
    citation.source = evil.to_owned();
    let unfinished = tape.events.clone();
    tape.answer(0, evil, vec![citation]);
    tape.end(Outcome::Failed, 1, 0, Some(evil));
    for events in [unfinished, tape.events] {
        let mut screen = played(events);
        notify(&mut screen, NoticeLevel::Warning, evil);
        screen.handle(Msg::Update(Update::Knowledge(KnowledgeStatus {
            name: evil.to_owned(),
            ..KnowledgeStatus::default()
        })));
        screen.handle(Msg::Paste(evil.to_owned()));
        for _ in 0..4 {
            tap(&mut screen, KeyCode::Tab);
            for (width, height) in SIZES {
                let text = screen.text(width, height);
                for bad in ["\u{1b}", "\u{9b}", "\u{202e}", "[31m", "title", "2J"] {
                    assert!(!text.contains(bad), "{bad:?} in\n{text}");
                }
            }
        }
        strike(&mut screen, "<Alt+4>g<Enter>");
        let json = screen.text(160, 45);
        assert!(json.contains("run_started"), "{json}");
        assert!(
            !json.contains('\u{1b}') && !json.contains('\u{202e}'),
            "{json}"
        );
    }
}

#[test]
fn wide_characters_keep_the_borders_in_place() {
    let mut tape = Tape::new("0199a1b2-0000-7000-8000-0000000000c9");
    let query = "比较索引流水线与查询引擎，并说明为什么需要重新排序？";
    tape.start(query);
    tape.analyze(Complexity::Complex, &[query, query]);
    let mut found = item(1, "文档/索引流水线.md", (10, 42), ToolName::GrepSearch, 0.8);
    found.excerpt = "分块之后嵌入 👩‍💻，再写入索引。".repeat(6);
    tape.retrieve(0, Vec::new(), vec![found]);
    tape.answer(
        0,
        "流水线读取文件夹，把每个文档切成块并嵌入 [1]。👩‍💻 e\u{301}\n\n| 列 | 值 |\n|---|---|\n| 块大小 | 五百一十二 |",
        vec![runs::cite(1, "文档/索引流水线.md", (10, 42))],
    );
    tape.end(Outcome::Answered, 3, 1, None);
    let mut screen = played(tape.events);
    screen.handle(Msg::Paste(query.repeat(3)));
    for width in 40..161 {
        let buffer = screen.render(width, 30);
        for y in 0..30 {
            let edge = buffer[(width - 1, y)].symbol();
            assert!(
                "│┐┤┘".contains(edge),
                "{edge:?} at {width}, {y}\n{}",
                screen.text(width, 30)
            );
        }
    }
}

#[test]
fn no_color_leaves_no_colour() {
    let mut screen = Screen::new(Setup {
        theme: ThemeName::DARK,
        no_color: true,
        mode: Mode::Offline,
        models: JobModels::default(),
        endpoint: None,
        limits: RoutingLimits::default(),
        samples: Vec::new(),
        notices: vec!["a notice".to_owned()],
        markdown,
        ..Setup::default()
    })
    .unwrap();
    play(&mut screen, runs::complex());
    let buffer = screen.render(160, 45);
    assert!(buffer.content().iter().all(|cell| {
        cell.fg == ratatui::style::Color::Reset && cell.bg == ratatui::style::Color::Reset
    }));
}

fn any_msg() -> impl Strategy<Value = Msg> {
    let all: Vec<Event> = [
        runs::chitchat(),
        runs::simple(),
        runs::complex(),
        runs::rule_hit(),
        runs::cancelled(),
        runs::failed(),
        runs::not_found(),
    ]
    .concat();
    let event = (0..all.len(), any::<bool>()).prop_map(move |(at, same)| {
        let mut event = all[at].clone();
        if same {
            event.run = RunId("same".into());
        }
        Msg::Update(Update::Event(event))
    });
    let key = prop_oneof![
        any::<char>().prop_map(KeyCode::Char),
        proptest::sample::select("jkgGnNz/?i123 qr".chars().collect::<Vec<_>>())
            .prop_map(KeyCode::Char),
        proptest::sample::select(vec![
            KeyCode::Enter,
            KeyCode::Esc,
            KeyCode::Tab,
            KeyCode::BackTab,
            KeyCode::Up,
            KeyCode::Down,
            KeyCode::PageUp,
            KeyCode::PageDown,
            KeyCode::Home,
            KeyCode::End,
            KeyCode::Backspace,
            KeyCode::F(1),
        ]),
    ];
    let modifiers = proptest::sample::select(vec![
        KeyModifiers::NONE,
        KeyModifiers::CONTROL,
        KeyModifiers::ALT,
        KeyModifiers::SHIFT,
    ]);
    prop_oneof![
        6 => event,
        6 => (key, modifiers).prop_map(|(code, modifiers)| Msg::Key(KeyEvent::new(code, modifiers))),
        1 => ".{0,40}".prop_map(Msg::Paste),
        1 => (0..200_u16, 0..60_u16, any::<bool>()).prop_map(|(column, row, down)| {
            Msg::Mouse(MouseEvent {
                kind: if down { MouseEventKind::ScrollDown } else { MouseEventKind::Down(MouseButton::Left) },
                column,
                row,
                modifiers: KeyModifiers::NONE,
            })
        }),
        1 => (0..60_usize, 0..400_usize).prop_map(|(first, lines)| Msg::Update(Update::Document(
            source::any_document(first, lines)
        ))),
        1 => any::<u32>().prop_map(|now| Msg::Tick(Timestamp(u64::from(now)))),
        1 => Just(Msg::EngineGone),
    ]
}

proptest! {
    #![proptest_config(proptest::test_runner::Config {
        cases: 96,
        failure_persistence: None,
        ..proptest::test_runner::Config::default()
    })]

    #[test]
    fn no_events_keys_or_sizes_panic(
        steps in proptest::collection::vec((any_msg(), 1_u16..200, 1_u16..60), 1..40)
    ) {
        let mut screen = screen();
        for (at, (msg, width, height)) in steps.into_iter().enumerate() {
            screen.handle(msg);
            if at % 4 == 0 {
                screen.render(width, height);
            }
        }
        screen.render(160, 45);
        screen.render(1, 1);
    }
}
