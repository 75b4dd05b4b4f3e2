//! Documents for the person in front of the screen: asked of the engine, read by it alone.

use std::fs;

use kb_agent::engine::Conversation;
use kb_agent::protocol::{Command, DocumentPart, Update};
use tokio::sync::mpsc;

use crate::engine::engine;
use crate::terminal::Terminal;
use crate::workplace::Workplace;

struct Desk {
    conversation: Conversation,
    commands: mpsc::Sender<Command>,
    updates: mpsc::Receiver<Update>,
}

impl Desk {
    async fn over(place: &Workplace) -> Self {
        let engine = engine(place, "").await.unwrap();
        let (conversation, commands, updates) = Conversation::begin(engine).unwrap();
        Self {
            conversation,
            commands,
            updates,
        }
    }

    async fn read(&mut self, source: &str, line: usize) -> Result<DocumentPart, String> {
        let source = source.to_owned();
        let command = Command::ReadDocument {
            source: source.clone(),
            line,
        };
        self.commands.send(command).await.unwrap();
        loop {
            if let Update::Document(text) = self.updates.recv().await.unwrap() {
                assert_eq!((text.source, text.line), (source, line));
                return text.part;
            }
        }
    }

    async fn close(self) {
        drop((self.commands, self.updates));
        self.conversation.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn trust_a_document_is_read_bounded_clean_and_from_the_base_alone() {
    let place = Workplace::empty();
    let evil = "one\u{1b}[2J\u{1b}]52;c;ZXZpbA==\u{7}\ntwo\u{9b}5;1H\r\nthree\u{202e}\n";
    place.file("kb/evil.md", evil);
    place.file("kb/long.txt", format!("{}\nend\n", "wide ".repeat(100_000)));
    place.file("outside.md", "# Not yours\n");
    let line = |n: usize| format!("line {n} of a log that is long enough to be cut\n");
    place.file("kb/log.txt", (1..=50_000).map(line).collect::<String>());
    let mut desk = Desk::over(&place).await;

    let part = desk.read("evil.md", 1).await.unwrap();
    assert_eq!(part.lines, ["one", "two", "three"]);
    assert_eq!((part.first, part.total), (1, 3));
    let path = place.path().join("kb/evil.md").canonicalize().unwrap();
    assert_eq!(part.path, Some(path));
    assert!(part.modified.is_some());

    let part = desk.read("long.txt", 1).await.unwrap();
    assert!(part.lines[0].ends_with('…'));
    assert_eq!(
        part.lines[0].chars().count(),
        DocumentPart::LONGEST_LINE + 1
    );

    let part = desk.read("log.txt", 20_000).await.unwrap();
    assert_eq!(part.total, 50_000);
    assert_eq!(part.line(20_000).unwrap(), line(20_000).trim_end());
    let bytes: usize = part.lines.iter().map(|line| line.len() + 1).sum();
    assert!(bytes <= DocumentPart::MOST_BYTES, "{bytes}");
    assert!(part.first > 5_000 && part.last() < 40_000);
    let end = desk.read("log.txt", 50_000).await.unwrap();
    assert_eq!(end.last(), 50_000);

    for outside in ["../outside.md", "/etc/passwd", "gone.md"] {
        let said = desk.read(outside, 1).await.unwrap_err();
        assert!(said.contains("is not in this knowledge base"), "{said}");
    }
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_documents_asked_for_at_once_the_last_comes() {
    let place = Workplace::empty();
    place.file("kb/log.txt", "a line\n".repeat(50_000));
    let mut desk = Desk::over(&place).await;
    for line in 1..200 {
        let command = Command::ReadDocument {
            source: "log.txt".to_owned(),
            line,
        };
        desk.commands.send(command).await.unwrap();
    }
    assert_eq!(desk.read_last().await, 50_000);
    desk.close().await;
}

impl Desk {
    /// The last line of the document that was asked for last, past all answers before.
    async fn read_last(&mut self) -> usize {
        let (source, line) = ("log.txt".to_owned(), 50_000);
        let command = Command::ReadDocument { source, line };
        self.commands.send(command).await.unwrap();
        loop {
            if let Update::Document(text) = self.updates.recv().await.unwrap()
                && text.line == line
            {
                return text.part.unwrap().last();
            }
        }
    }
}

/// Answers rest on a file of some thousand lines; the passage is at its end.
fn long_notes() -> String {
    let filler =
        |n: usize| format!("Entry {n}: the pump of hall {n} was oiled and left alone.\n\n");
    let mut notes: String = (1..=2_000).map(filler).collect();
    notes.push_str("# The gate\n\nThe gate threshold is seven millimetres.\n");
    notes
}

#[cfg(unix)]
#[test]
fn a_passage_is_read_copied_and_edited_in_the_real_terminal() {
    use std::os::unix::fs::PermissionsExt;
    let place = Workplace::empty();
    let notes = place.file("kb/notes.md", long_notes());
    let arguments = place.path().join("arguments");
    let script = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$@\" > '{}'\necho THE-EDITOR-IS-OPEN\nread answer\n",
        arguments.display()
    );
    let editor = place.file("bin/vim", script);
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = place.command(&["kb"]);
    command.env("EDITOR", format!("'{}' -R", editor.display()));
    let mut terminal = Terminal::start(&command, 120, 40);
    terminal.wait_for_text("1 doc");
    terminal.press_until("What is the gate threshold?\r", "saved 1");
    terminal.press_until("\u{1b}3", "▸ Evidence");
    let text = terminal.press_until("\r", "4003 ▌ The gate threshold is seven");
    assert!(text.contains("of 4003"), "{text}");
    terminal.press_until("y", "Sent notes.md:");

    terminal.press_until("o", "THE-EDITOR-IS-OPEN");
    assert!(
        terminal.is_cooked(),
        "the editor has the terminal as it was"
    );
    let words = fs::read_to_string(&arguments).unwrap();
    let words: Vec<_> = words.lines().collect();
    assert_eq!(words[0], "-R");
    assert!(words[1].starts_with("+40"), "{words:?}");
    assert_eq!(words[2], notes.canonicalize().unwrap().to_str().unwrap());
    // What is changed meanwhile is reported when the editor is closed.
    fs::write(&notes, format!("A new line.\n\n{}", long_notes())).unwrap();
    terminal.press_until("\n", "stands at 4003-4005 now");
    terminal.keys("\u{1b}");
    terminal.wait_for("the panes", |screen| {
        screen.contents().contains("▸ Evidence") && !screen.contents().contains("Source")
    });
    fs::remove_file(&notes).unwrap();
    terminal.press_until("\r", "is not in this knowledge base");
    terminal.leave();
}

#[test]
fn without_an_editor_one_line_says_what_to_set() {
    let place = Workplace::holding([(
        "kb/notes.md",
        "# The gate\n\nThe gate threshold is seven.\n",
    )]);
    let mut terminal = Terminal::start(&place.command(&["kb"]), 120, 40);
    terminal.wait_for_text("1 doc");
    terminal.press_until("What is the gate threshold?\r", "saved 1");
    terminal.press_until("\u{1b}3", "▸ Evidence");
    terminal.press_until("\r", "▌ The gate threshold");
    terminal.press_until("o", "set VISUAL or EDITOR");
    terminal.leave();
}
