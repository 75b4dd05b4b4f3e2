//! Waiting shows itself: how far the index is, how fast, how long still, and that it is stopped.

use crossterm::event::KeyCode;
use kb_agent::protocol::{
    Command, IndexCommand, IndexProgress, IndexStep, KnowledgeStatus, Timestamp, Update,
};
use kb_agent::tui::{Effect, Msg, Screen};

use super::{SIZES, screen, tap, write};

fn tell(screen: &mut Screen, status: KnowledgeStatus) {
    screen.handle(Msg::Update(Update::Knowledge(status)));
}

fn embedding(done: usize, at: u64) -> KnowledgeStatus {
    counted(IndexStep::Embedding, done, 5_020, at)
}

fn counted(step: IndexStep, done: usize, total: usize, at: u64) -> KnowledgeStatus {
    KnowledgeStatus {
        name: "handbook".to_owned(),
        documents: 640,
        chunks: 5_020,
        pending: 5_020 - done,
        indexing: true,
        watching: true,
        progress: Some(IndexProgress {
            step,
            done,
            total,
            at: Timestamp(at),
        }),
        stopped: false,
    }
}

fn stopped() -> KnowledgeStatus {
    KnowledgeStatus {
        indexing: false,
        watching: false,
        progress: None,
        stopped: true,
        ..embedding(1_204, 0)
    }
}

#[test]
fn the_header_says_how_far_embedding_is_how_fast_and_how_long_still() {
    let mut screen = screen();
    tell(&mut screen, embedding(374, 10_000));
    tell(&mut screen, embedding(1_204, 20_000));
    let plain = |text: String| text.replace(['\u{a0}', '\u{202f}'], " ");
    for (width, said) in [
        (160, "embedding 1 204 of 5 020 · 83/s · 46 s left"),
        (100, "embedding 1 204 of 5 020 · 83/s · 46 s left"),
        (80, "embedding 1 204 of 5 020"),
        (60, "embedding 23 %"),
    ] {
        let text = plain(screen.text(width, 30));
        assert!(text.contains(said), "{width}: {text}");
    }
}

#[test]
fn files_that_are_read_are_counted_likewise() {
    let mut screen = screen();
    let reading = |done, at| counted(IndexStep::Reading, done, 640, at);
    tell(&mut screen, reading(20, 0));
    tell(&mut screen, reading(120, 2_000));
    let text = screen.text(160, 45);
    assert!(
        text.contains("reading 120 of 640 files · 50/s · 11 s left"),
        "{text}"
    );
}

#[test]
fn indexing_is_stopped_and_taken_up_again_by_a_command() {
    let mut screen = screen();
    tell(&mut screen, embedding(1_204, 0));
    write(&mut screen, "/index stop");
    let stop = Effect::Send(Command::Index(IndexCommand::Stop));
    assert_eq!(tap(&mut screen, KeyCode::Enter), [stop]);
    assert!(screen.text(160, 45).contains("what is done is kept"));
    tell(&mut screen, stopped());
    for (width, height) in &SIZES[..3] {
        let text = screen.text(*width, *height);
        assert!(text.contains("indexing stopped"), "{text}");
    }
    write(&mut screen, "/index go");
    let resume = Effect::Send(Command::Index(IndexCommand::Resume));
    assert_eq!(tap(&mut screen, KeyCode::Enter), [resume]);
    let text = screen.text(160, 45);
    assert!(text.contains("brought up to date again"), "{text}");
    write(&mut screen, "/index now");
    assert!(tap(&mut screen, KeyCode::Enter).is_empty());
    let text = screen.text(160, 45);
    assert!(text.contains("/index needs one of stop, go"), "{text}");
}
