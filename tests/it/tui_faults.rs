//! What an endpoint does wrong, as a person at the screen sees it: the line, the way out, and that
//! the next question is answered.

use serde_json::Value;

use crate::fault_server::{
    Act, FaultServer, ending, error, piece, reply, says, stream, stream_head,
};
use crate::support::Said;
use crate::terminal::Terminal;
use crate::workplace::{Workplace, events};

const ESC: &str = "\u{1b}";
const CTRL_C: &str = "\u{3}";
const CHITCHAT: &str = r#"{"complexity": "chitchat", "query_type": "chitchat", "reply": null}"#;

/// Of 140.
const CHAT_COLUMNS: u16 = 72;

/// A screen before an endpoint whose small talk goes as scripted, and which then says "Better now."
struct Fault {
    place: Workplace,
    server: FaultServer,
    terminal: Terminal,
}

impl Fault {
    fn new(analyze: Vec<Act>, synthesize: Vec<Act>) -> Self {
        let then = |mut acts: Vec<Act>, last: Act| {
            acts.push(last);
            acts
        };
        let server = FaultServer::start(&[
            ("analyze_and_route", then(analyze, says(CHITCHAT))),
            ("synthesize", then(synthesize, says("Better now."))),
        ]);
        let place = Workplace::with_gate();
        let mut command = place.command(&["kb"]);
        command
            .env("KB_AGENT_LLM_BASE_URL", server.base_url())
            .env("KB_AGENT_LLM_API_KEY", "sk-verysecret0123456789")
            .env("KB_AGENT_LLM_MODEL", "m")
            .env("KB_AGENT_LLM_RETRIES", "1");
        let terminal = Terminal::start(&command, 140, 40);
        terminal.wait_for_text("1 doc");
        Self {
            place,
            server,
            terminal,
        }
    }

    /// Asks, and waits for words on the screen that stand in one line or more.
    fn asked(&mut self, words: &str) -> String {
        self.terminal.keys("hello there\r");
        self.shows(words)
    }

    fn shows(&self, words: &str) -> String {
        let words = words.replace("HOST", self.server.address());
        let flat = |text: &str| {
            let words = text.split_whitespace().filter(|word| *word != "│");
            words.collect::<Vec<_>>().join(" ")
        };
        self.terminal.wait_for(&words, |screen| {
            // The chat is the left of two columns; what wraps there goes on in its next row.
            let lines = screen.rows(0, CHAT_COLUMNS);
            flat(&lines.collect::<Vec<_>>().join(" ")).contains(&words)
        })
    }

    /// The key that is offered asks again, and this time it is answered.
    fn retried(&mut self) {
        self.shows("/retry asks again");
        self.terminal.keys("/retry\r");
        self.terminal.wait_for_text("Ask again, by which route?");
        self.terminal.keys("\r");
        self.shows("Better now.");
    }

    /// Leaves, and checks what is left: every run ended once, and no key anywhere.
    fn outcomes(mut self) -> Vec<String> {
        self.terminal.keys(CTRL_C);
        self.terminal.keys(CTRL_C);
        assert_eq!(self.terminal.end(), 0);
        let log = self.place.audit();
        let runs = |event: &str| -> Vec<Value> {
            events(&log, event)
                .into_iter()
                .map(|e| e["run"].clone())
                .collect()
        };
        assert_eq!(runs("run_started"), runs("run_finished"));
        let whole = std::fs::read_to_string(self.place.audit_log()).unwrap();
        assert!(!whole.contains("verysecret"));
        events(&log, "run_finished")
            .into_iter()
            .map(|end| end["outcome"].as_str().unwrap().to_owned())
            .collect()
    }
}

#[test]
fn a_wrong_key_is_reported_with_the_way_out() {
    let refused = error("401 Unauthorized", "", "bad key sk-verysecret0123456789");
    let mut fault = Fault::new(vec![refused], vec![]);
    let screen = fault.asked("× failed: HOST does not accept the key (401): bad key [key]");
    assert!(!screen.contains("verysecret"), "{screen}");
    fault.retried();
    assert_eq!(fault.outcomes(), ["failed", "answered"]);
}

#[test]
fn an_answer_that_breaks_off_stays_and_can_be_asked_for_again() {
    let half = [stream_head(), piece("The first half of it").into_bytes()].concat();
    let cut = b"data: {\"choices\": [{\"ind".to_vec();
    let mut fault = Fault::new(vec![], vec![Act::Send(vec![half, cut])]);
    fault.asked("× failed: ");
    fault.shows("The first half of it");
    fault.retried();
    assert_eq!(
        fault.server.seen().len(),
        4,
        "nothing is sent again by itself"
    );
    assert_eq!(fault.outcomes(), ["failed", "answered"]);
}

#[test]
fn a_page_where_an_answer_should_be_is_one_line() {
    let page =
        "<html><head><title>Bad \u{1b}[31mGateway\u{1b}[2J</title></head><body>x</body></html>";
    let page = reply("502 Bad Gateway", "Content-Type: text/html\r\n", page);
    let mut fault = Fault::new(vec![Act::Keep(page.clone()), Act::Keep(page)], vec![]);
    let screen = fault.asked("× failed: HOST");
    screen.must_hold("502");
    screen.must_lack("<html>");
    fault.retried();
    assert_eq!(fault.outcomes(), ["failed", "answered"]);
}

#[test]
fn waiting_for_a_busy_server_is_reported_and_ends_well() {
    let busy = error("429 Too Many Requests", "Retry-After: 0\r\n", "slow down");
    let mut fault = Fault::new(vec![busy], vec![]);
    fault.asked("Better now.");
    fault.terminal.wait_for_text("endpoint_retried");
    assert_eq!(fault.outcomes(), ["answered"]);
}

#[test]
fn a_stream_that_never_ends_is_stopped_by_escape_and_closed() {
    let forever = Act::Hang([stream_head(), piece("At seven. Th").into_bytes()].concat());
    let mut fault = Fault::new(vec![], vec![forever]);
    fault.asked("At seven. Th");
    assert_eq!(fault.server.hung_up(), 0);
    fault.terminal.keys(ESC);
    fault.shows("◼ cancelled");
    while fault.server.hung_up() == 0 {
        std::thread::yield_now();
    }
    fault.asked("Better now.");
    assert_eq!(fault.outcomes(), ["cancelled", "answered"]);
}

#[test]
fn ui_a_pause_before_a_retry_is_reported_and_escape_ends_it_at_once() {
    let busy = error("429 Too Many Requests", "Retry-After: 30\r\n", "slow down");
    let mut fault = Fault::new(vec![busy], vec![]);
    let screen = fault.asked("(2 of 2) · Esc stops");
    assert!(screen.contains("429: again in "), "{screen}");
    fault.terminal.keys(ESC);
    let screen = fault.shows("◼ cancelled");
    assert!(!screen.contains("429: "), "{screen}");
    fault.asked("Better now.");
    assert_eq!(fault.outcomes(), ["cancelled", "answered"]);
}

#[test]
fn ui_a_model_without_a_first_token_is_reported_and_escape_ends_it_at_once() {
    let mut fault = Fault::new(vec![Act::Hang(Vec::new())], vec![]);
    let screen = fault.asked("no token yet · ");
    assert!(screen.contains(" left · Esc stops"), "{screen}");
    fault.terminal.keys(ESC);
    let screen = fault.shows("◼ cancelled");
    assert!(!screen.contains("no token yet"), "{screen}");
    assert_eq!(fault.outcomes(), ["cancelled"]);
}

#[test]
fn ui_escape_keeps_what_was_written() {
    let half = [stream_head(), piece("At seven. Th").into_bytes()].concat();
    let mut fault = Fault::new(vec![], vec![Act::Hang(half)]);
    fault.asked("At seven. Th");
    fault.terminal.keys(ESC);
    let screen = fault.shows("◼ cancelled");
    screen.must_hold("At seven. Th");
    let answers = |fault: &Fault| -> Vec<Value> {
        let log = fault.place.audit();
        let answers = events(&log, "answer_finished").into_iter();
        answers.map(|answer| answer["text"].clone()).collect()
    };
    fault.asked("Better now.");
    let screen = fault.shows("saved");
    screen.must_hold("At seven. Th");
    assert_eq!(answers(&fault), ["At seven. Th", "Better now."]);
    assert_eq!(fault.outcomes(), ["cancelled", "answered"]);
}

#[test]
fn ui_the_reading_of_a_prompt_is_shown_and_escape_ends_it_at_once() {
    let chunk = r#"{"choices":[{"index":0,"delta":{"content":null}}],"prompt_progress":{"total":760,"cache":0,"processed":400,"time_ms":8000}}"#;
    let begun = [stream_head(), format!("data: {chunk}\n\n").into_bytes()].concat();
    let mut fault = Fault::new(vec![], vec![Act::Hang(begun)]);
    let screen = fault.asked("reading the prompt · 400 of 760 tok · ");
    screen.must_hold("Esc stops");
    fault.terminal.keys(ESC);
    let screen = fault.shows("◼ cancelled");
    screen.must_lack("reading the prompt");
    fault.asked("Better now.");
    assert_eq!(fault.outcomes(), ["cancelled", "answered"]);
}

#[test]
fn what_a_reply_says_to_the_terminal_is_not_obeyed() {
    let evil = "Fine\u{1b}[2J\u{1b}]0;owned\u{7} \u{9b}5;1Hso far\u{1b}[?1049l.";
    let evil = stream(format!("{}{}", piece(evil), ending()));
    let mut fault = Fault::new(vec![], vec![evil]);
    fault.asked("so far");
    fault.terminal.wait_for("the screen", |screen| {
        screen.alternate_screen() && screen.contents().contains("saved")
    });
    assert_eq!(fault.outcomes(), ["answered"]);
}
