//! The empty chat over somebody's own documents.

use crossterm::event::KeyCode;
use kb_agent::domain::Complexity;
use kb_agent::protocol::{
    JobModels, KnowledgeContents, KnowledgeStatus, LeftOut, SampleQuestion, SourceContents,
    Timestamp, Update,
};
use kb_agent::tui::{Msg, Screen, Setup};

use super::{ask, pictures, strike, tap};
use crate::support::Said;

fn over(contents: KnowledgeContents) -> Screen {
    let mut screen = Screen::new(Setup {
        models: JobModels::same_for_all("extractive"),
        ..Setup::default()
    })
    .unwrap();
    screen.handle(Msg::Update(Update::Knowledge(KnowledgeStatus {
        name: "house".to_owned(),
        documents: contents.kinds.iter().map(|(_, count)| count).sum(),
        chunks: 312,
        ..KnowledgeStatus::default()
    })));
    screen.handle(Msg::Update(Update::Contents(contents)));
    screen
}

fn contents() -> KnowledgeContents {
    let kinds = [
        ("Markdown", 21),
        ("PDF", 3),
        ("rs", 2),
        ("sheet", 2),
        ("mail", 1),
        ("book", 1),
        ("go", 1),
    ];
    let sample = |route, text: &str| SampleQuestion {
        route,
        text: text.to_owned(),
    };
    KnowledgeContents {
        kinds: kinds.map(|(kind, count)| (kind.to_owned(), count)).into(),
        newest: vec![
            (
                "flat/lease\u{1b}[2J.md".to_owned(),
                Timestamp(1_763_683_267_412),
            ),
            ("garden.md".to_owned(), Timestamp(1_763_583_267_412)),
        ],
        bytes: 3_140_000,
        samples: Some(vec![
            sample(Complexity::Chitchat, "hello"),
            sample(Complexity::Simple, "What is said about Monthly rent?"),
            sample(Complexity::Complex, "Compare Lease with Garden plan"),
        ]),
        ..KnowledgeContents::default()
    }
}

#[test]
fn ui_the_empty_chat_says_what_ones_own_base_holds() {
    let mut screen = over(contents());
    pictures("own_base", &mut screen);
    let text = screen.text(160, 45);
    assert!(text.contains("31 documents (3.1 MB)"), "{text}");
    assert!(text.contains("21 Markdown · 3 PDF"), "{text}");
    assert!(text.contains("2 of other kinds"), "{text}");
    assert!(text.contains("Newest: flat/lease.md 2025-11-21"), "{text}");
    strike(&mut screen, "/try<Enter>");
    assert!(screen.text(100, 30).contains("Sample questions"));
    assert_eq!(
        strike(&mut screen, "<Esc>2"),
        ask("What is said about Monthly rent?", None)
    );
}

#[test]
fn ui_until_samples_are_known_that_is_said() {
    let mut screen = over(KnowledgeContents {
        samples: Some(Vec::new()),
        samples_are_sought: true,
        ..contents()
    });
    let text = screen.text(160, 45);
    assert!(text.contains("Looking for questions to try …"), "{text}");
    assert!(!text.contains("No question to try"), "{text}");
}

#[test]
fn ui_where_no_heading_is_usable_that_is_said_and_a_digit_is_typed() {
    let mut screen = over(KnowledgeContents {
        samples: Some(Vec::new()),
        ..contents()
    });
    let text = screen.text(160, 45);
    assert!(text.contains("No question to try"), "{text}");
    assert!(!text.contains("press its number"), "{text}");
    assert_eq!(tap(&mut screen, KeyCode::Char('1')), []);
    assert!(screen.text(100, 30).contains("> 1"));
}

#[test]
fn ui_windows_list_sources_and_what_was_left_out() {
    let mut screen = over(KnowledgeContents {
        sources: vec![
            SourceContents {
                path: "/srv/house".to_owned(),
                location: "/srv/house".into(),
                label: "house".to_owned(),
                documents: 30,
                chunks: 300,
                is_added: false,
            },
            SourceContents {
                path: "/srv/letter\u{1b}[2J.pdf".to_owned(),
                location: "/srv/letter.pdf".into(),
                label: "letter.pdf".to_owned(),
                documents: 1,
                chunks: 12,
                is_added: true,
            },
        ],
        setting: Some("KB_AGENT_SOURCE=/srv/house:/srv/letter.pdf".to_owned()),
        left_out: LeftOut {
            count: 501,
            files: vec![(
                "house/scan.pdf".to_owned(),
                "a scan without text".to_owned(),
            )],
        },
        ..contents()
    });
    strike(&mut screen, "/kb<Enter>");
    pictures("sources", &mut screen);
    let text = screen.text(100, 30);
    assert!(text.contains("30 documents · 300 chunks"), "{text}");
    assert!(text.contains("/srv/letter.pdf"), "{text}");
    assert!(text.contains("KB_AGENT_SOURCE=/srv/house"), "{text}");
    assert!(text.contains("1 document · 12 chunks"), "{text}");
    strike(&mut screen, "<Esc>/index<Enter>");
    let text = screen.text(100, 30);
    text.must_hold("house/scan.pdf: a scan without text");
    text.must_hold("and 500 more; 'kb-agent index' lists all");
}
