//! Numbers, numbering, notices and progress: what must not mislead.

use kb_agent::domain::{Complexity, GradedBy, GraderAction, Outcome, Score, ToolName};
use kb_agent::protocol::{
    EventBody, ItemScore, JobModels, KnowledgeStatus, Mode, NoticeLevel, Update,
};
use kb_agent::tui::{Msg, Sample, Screen, Setup, ThemeName};

use super::runs::{self, Tape, item};
use super::{KeyCode, ask, notify, played, screen, strike, struck, tap, write};

const SIZES: [(u16, u16); 3] = [(160, 45), (100, 30), (60, 20)];

fn opened(samples: &[(&'static str, &str)], notices: &[&str]) -> Screen {
    let mut screen = Screen::new(Setup {
        theme: ThemeName::DARK,
        no_color: false,
        mode: Mode::Offline,
        models: JobModels::default(),
        limits: kb_agent::domain::RoutingLimits::default(),
        samples: samples
            .iter()
            .map(|(route, text)| Sample {
                route,
                text: (*text).to_owned(),
            })
            .collect(),
        notices: notices.iter().map(|&notice| notice.to_owned()).collect(),
        ..Setup::default()
    })
    .unwrap();
    screen.handle(Msg::Update(Update::Knowledge(holding(0, false))));
    screen
}

fn holding(pending: usize, indexing: bool) -> KnowledgeStatus {
    KnowledgeStatus {
        name: "demo-kb".to_owned(),
        documents: 38,
        chunks: 215,
        pending,
        indexing,
        ..KnowledgeStatus::default()
    }
}

#[test]
fn r20_an_average_just_below_the_mark_does_not_look_like_it() {
    let mut tape = Tape::new("0199a1b2-0000-7000-8000-0000000000d1");
    tape.start("compare");
    tape.analyze(Complexity::Complex, &["a", "b"]);
    let items = (1..4)
        .map(|n| item(n, "a.md", (n, n + 1), ToolName::GrepSearch, 0.8))
        .collect();
    tape.retrieve(0, Vec::new(), items);
    let scores: Vec<_> = (1..4)
        .map(|n| ItemScore {
            id: item(n, "a.md", (1, 1), ToolName::GrepSearch, 0.8).id,
            score: Score::clamped(0.6967),
            not_looked_at: false,
        })
        .collect();
    tape.after(1).add(EventBody::EvidenceGraded {
        scores,
        average: 0.6967,
        action: GraderAction::Refine,
        by: GradedBy::Grader,
    });
    tape.after(1).add(EventBody::RouteDecided {
        from: kb_agent::domain::NodeName::GradeEvidence,
        to: kb_agent::domain::NodeName::Plan,
        reason: kb_agent::domain::RouteReason::Refine,
    });
    let text = played(tape.events).text(160, 45);
    assert!(text.contains("avg 0.697 < 0.70 → REFINE"), "{text}");
    assert!(text.contains("avg 0.697 → REFINE"), "{text}");
    assert!(text.contains("REFINE · avg 0.697"), "{text}");
    assert!(text.contains("▇▇▇│▇▇▇·│··· 0.697 grader"), "{text}");
}

#[test]
fn r22_an_item_keeps_its_number_when_the_answer_does_not_use_it() {
    let mut tape = Tape::new("0199a1b2-0000-7000-8000-0000000000d2");
    tape.start("which");
    tape.analyze(Complexity::Simple, &[]);
    let mut low = item(3, "low.md", (1, 2), ToolName::GrepSearch, 0.2);
    low.low = true;
    tape.retrieve(
        0,
        Vec::new(),
        vec![
            item(1, "unused.md", (1, 2), ToolName::GrepSearch, 0.8),
            item(2, "used.md", (1, 2), ToolName::GrepSearch, 0.8),
            low,
        ],
    );
    tape.answer(0, "So it is [2].", vec![runs::cite(2, "used.md", (1, 2))]);
    tape.end(Outcome::Answered, 3, 1, None);
    let text = played(tape.events).text(160, 45);
    let mut rest = text.as_str();
    for row in ["  1 unused.md:1-2", "  2 used.md:1-2", "  3 low.md:1-2"] {
        let at = rest.find(row).unwrap_or_else(|| panic!("{row}\n{text}"));
        rest = &rest[at..];
    }
    assert!(text.contains("match .20, low"), "{text}");
}

#[test]
fn nothing_is_saved_by_not_arriving() {
    for events in [runs::failed(), runs::cancelled()] {
        let text = played(events).text(160, 45);
        assert!(!text.contains("of 1 call"), "{text}");
    }
}

#[test]
fn seven_samples_fit_and_answer_to_their_digits() {
    let samples = table![
        "chitchat", "Hello! Who are you?";
        "simple", "What is the default chunk size?";
        "complex · rule",
            "How is read_file related to local_file_qa, and when is each of them chosen?";
        "complex", "How does REFINE differ from RE_RETRIEVE?";
        "refine", "路由有哪几种方式？请比较简单路径和复杂路径各自的代价。";
        "re-retrieve", "Which colours do the themes have?";
        "simple", "Where is the audit log?";
    ];
    let mut screen = opened(&samples, &[]);
    for (width, height) in SIZES {
        let text = screen.text(width, height);
        for (at, (route, question)) in samples.iter().enumerate() {
            let row = format!("{} {route} ", at + 1);
            let start: String = question.chars().take(8).collect();
            let found = text
                .lines()
                .any(|line| line.contains(&row) && line.contains(&start));
            assert!(found, "{row} {start} at {width}x{height}\n{text}");
        }
    }
    assert_eq!(
        tap(&mut screen, KeyCode::Char('7')),
        ask("Where is the audit log?", None)
    );
}

#[test]
fn a_notice_of_the_start_stays_in_sight() {
    let notice = "the last run was interrupted and is closed as failed: what hangs so long that somebody had to end it?";
    let mut screen = opened(&[("simple", "Where is the audit log?")], &[notice]);
    notify(&mut screen, NoticeLevel::Info, "2 files were left out");
    for (width, height) in SIZES {
        let text = screen.text(width, height);
        for word in ["⚠ the last run was", "end it?", "2 files"] {
            assert!(text.contains(word), "{word} at {width}x{height}\n{text}");
        }
    }
}

#[test]
fn a_long_warning_is_shown_whole_and_outlives_news() {
    let warning =
        "another kb-agent is updating this index; searching what is there until it is done";
    for (width, height) in SIZES {
        let mut screen = screen();
        notify(&mut screen, NoticeLevel::Warning, warning);
        notify(&mut screen, NoticeLevel::Info, "2 files were left out");
        let text = screen.text(width, height);
        assert!(text.contains("⚠ another kb-agent"), "{text}");
        assert!(text.contains("is done"), "{text}");
        write(&mut screen, "a");
        assert!(screen.text(width, height).contains("⚠ another"));
        tap(&mut screen, KeyCode::Esc);
        assert!(!screen.text(width, height).contains("⚠ another"));
    }
}

#[test]
fn progress_of_the_index_is_reported() {
    let mut screen = screen();
    for (width, height) in SIZES {
        screen.handle(Msg::Update(Update::Knowledge(holding(55, true))));
        let text = screen.text(width, height);
        assert!(text.contains("embedding 55"), "{text}");
        assert!(text.contains("Embedding: 55 of 215 chunks"), "{text}");
        assert!(text.contains("answers use what"), "{text}");
        // No one is at work: it must not look as if somebody were.
        screen.handle(Msg::Update(Update::Knowledge(holding(55, false))));
        let text = screen.text(width, height);
        assert!(text.contains("55 not embedded"), "{text}");
        screen.handle(Msg::Update(Update::Knowledge(holding(0, false))));
        let text = screen.text(width, height);
        assert!(!text.contains("embed"), "{text}");
    }
}

#[test]
fn a_window_over_wide_characters_keeps_its_frame() {
    let mut tape = Tape::new("0199a1b2-0000-7000-8000-0000000000d3");
    tape.start(&"路由有哪几种方式".repeat(40));
    for shift in ["", "a"] {
        let mut events = tape.events.clone();
        if let EventBody::RunStarted { query, .. } = &mut events[0].body {
            query.insert_str(0, shift);
        }
        let mut screen = struck(events, "?");
        for width in 60..161 {
            let buffer = screen.render(width, 30);
            for y in 0..30 {
                for x in 1..width {
                    let wide =
                        unicode_width::UnicodeWidthStr::width(buffer[(x - 1, y)].symbol()) > 1;
                    let covers = "│┌└─".contains(buffer[(x, y)].symbol());
                    assert!(!(wide && covers), "at {x}, {y} of {width}");
                }
            }
        }
    }
}

#[test]
fn ctrl_u_empties_the_line_as_in_a_shell() {
    let mut screen = screen();
    strike(&mut screen, "half a question<Ctrl+u>");
    assert!(screen.text(100, 30).contains("> ask, / for commands"));
}

#[test]
fn help_is_not_cut_where_there_are_two_columns() {
    let mut screen = screen();
    tap(&mut screen, KeyCode::Char('?'));
    let text = screen.text(160, 90);
    assert!(!text.contains('…'), "{text}");
}

#[test]
fn help_above_another_window_gives_it_back() {
    let mut screen = struck(runs::complex(), "<Alt+4><Enter>");
    let event = screen.text(100, 30);
    assert!(event.contains("\"schema\": 1"), "{event}");
    for help in [KeyCode::Char('?'), KeyCode::F(1)] {
        for close in [help, KeyCode::Esc, KeyCode::Char('q'), KeyCode::Enter] {
            tap(&mut screen, help);
            assert!(screen.text(100, 30).contains("─ Help ─"));
            tap(&mut screen, close);
            assert_eq!(screen.text(100, 30), event, "{help:?}, {close:?}");
        }
    }
    strike(&mut screen, "?<Ctrl+c>");
    let closed = screen.text(100, 30);
    assert!(!closed.contains("─ Help ─") && !closed.contains("\"schema\""));
}

#[test]
fn how_a_run_ended_stands_in_a_narrow_title() {
    for (events, word) in [
        (runs::failed(), "failed"),
        (runs::cancelled(), "cancelled"),
        (runs::not_found(), "not found"),
    ] {
        let mut screen = struck(events, "<Alt+2>");
        let text = screen.text(60, 20);
        let title = text.lines().nth(1).unwrap();
        assert!(title.contains(word), "{text}");
    }
}

#[test]
fn a_model_name_and_a_notice_bring_no_escape_sequence() {
    let evil = "m\u{1b}[2J\u{9b}31mo\u{1b}]0;title\u{7}del";
    let mut screen = Screen::new(Setup {
        theme: ThemeName::DARK,
        no_color: false,
        mode: Mode::Llm,
        models: JobModels::same_for_all(evil),
        limits: kb_agent::domain::RoutingLimits::default(),
        samples: vec![Sample {
            route: "simple",
            text: evil.to_owned(),
        }],
        notices: vec![evil.to_owned()],
        ..Setup::default()
    })
    .unwrap();
    for (width, height) in SIZES {
        let text = screen.text(width, height);
        assert!(text.contains("⚠ model"), "{text}");
        assert!(text.matches("model").count() >= 3, "{text}");
        for bad in ['\u{1b}', '\u{9b}', '\u{7}'] {
            assert!(!text.contains(bad), "{text}");
        }
    }
}
