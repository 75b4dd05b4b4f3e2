//! Statistics of the whole log, on the command line and on the screen.

use serde_json::{Value, json};

use super::terminal::Terminal;
use super::workplace::{Workplace, json_lines, text};
use crate::support::Said;

/// A run of that day of January 2026.
fn run(day: u32, nth: u32, hit: Option<(&str, &str)>, ms: f64) -> Vec<Value> {
    let event = |seq: u32, name: &str, fields: Value| {
        let mut event = json!({
            "schema": 1, "ts": format!("2026-01-{day:02}T03:04:{seq:02}.000Z"),
            "run": format!("01b00000-0000-7000-8000-0000{day:04}{nth:04}"), "seq": seq, "event": name,
        });
        let fields = fields.as_object().unwrap().clone();
        event.as_object_mut().unwrap().extend(fields);
        event
    };
    let settings = json!({
        "max_iterations": 3, "vector_score_threshold": 0.8, "auto_approve_max_items": 2,
    });
    let mut events = vec![
        event(
            0,
            "run_started",
            json!({
                "session": format!("s-{day}"), "query": "what?", "mode": "llm", "model": "m",
                "settings": settings,
            }),
        ),
        event(
            1,
            "node_finished",
            json!({"node": "plan", "iteration": 0, "ms": ms, "reasoning_calls": 1}),
        ),
    ];
    if let Some((path_type, rule)) = hit {
        let fields = json!({"path_type": path_type, "rule_name": rule, "query": "what?"});
        events.push(event(2, "fast_path_hit", fields));
    }
    events.push(event(
        3,
        "run_finished",
        json!({
            "outcome": "answered", "complexity": "simple", "path": ["analyze_and_route"],
            "iterations": 0, "reasoning_calls": 3, "calls_saved": 1, "prompt_tokens": 200,
            "completion_tokens": 100, "cost_usd": 0.3, "ms": 10.0 * ms,
        }),
    ));
    events
}

/// Runs on the 1st, the 2nd and the 4th.
fn recorded() -> Workplace {
    let skip = Some(("simple_skip_grading", "simple"));
    let rule = Some(("rule_auto_approve", "few_context"));
    let runs = [
        run(1, 0, skip, 10.0),
        run(1, 1, None, 10.0),
        run(2, 0, rule, 40.0),
        run(4, 0, None, 20.0),
    ];
    let lines: Vec<String> = runs.concat().iter().map(Value::to_string).collect();
    let place = Workplace::empty();
    place.file("data/audit.jsonl", lines.join("\n") + "\n");
    place
}

fn on_terminal(place: &Workplace, locale: &str, columns: u16) -> String {
    let mut command = place.command(&["stats"]);
    command.env("LC_ALL", locale);
    let terminal = Terminal::start(&command, columns, 50);
    let (code, shown) = terminal.end_with_text();
    assert_eq!(code, 0, "{shown}");
    shown
}

#[test]
fn ui_stats_on_a_terminal_have_a_bar_a_day() {
    let place = recorded();
    let shown = on_terminal(&place, "C.UTF-8", 100);
    shown.must_hold("a bar a day, 2026-01-01 to 2026-01-04 (UTC)");
    let bars = |label: &str| {
        let line = shown
            .lines()
            .find(|line| line.trim_start().starts_with(label));
        let line = line.unwrap_or_else(|| panic!("no {label}: {shown}"));
        let is_bars = |word: &&str| word.chars().all(|c| "·▁▂▃▄▅▆▇█".contains(c));
        line.split_whitespace()
            .filter(is_bars)
            .collect::<Vec<_>>()
            .join(" ")
    };
    for (label, drawn) in [
        ("calls made", "█▅·▅"),
        ("tokens saved", "█▅·▅"),
        ("all ", "▅█·▁"),
        ("simple_skip_grading", "▅▁·▁"),
        ("few_context", "▁█·▁"),
        ("plan", "▃█·▅ ▃█·▅"),
        ("tool_exec", ""),
    ] {
        assert_eq!(bars(label), drawn, "{label}: {shown}");
    }
    shown.must_hold("saved, at the mean of a call: ~400 tokens, ~$0.40");
    // Without UTF-8 the same, in ASCII.
    let ascii = on_terminal(&place, "C", 100);
    assert!(ascii.is_ascii() && ascii.contains("#+.+"), "{ascii}");
    assert_eq!(ascii.lines().count(), shown.lines().count());
    // As many bars as there is room for.
    let narrow = on_terminal(&place, "C.UTF-8", 40);
    let with_bars: Vec<&str> = narrow.lines().filter(|line| line.contains('█')).collect();
    assert!(!with_bars.is_empty(), "{narrow}");
    assert!(
        with_bars
            .iter()
            .all(|line| line.starts_with(['r', 'c', 't'])),
        "{narrow}"
    );
}

#[test]
fn ui_stats_in_a_pipe_have_no_bars() {
    let place = recorded();
    let shown = text(&place.run(&["stats"]).stdout);
    assert!(shown.contains("4 runs: 4 answered"), "{shown}");
    assert!(
        !shown.contains('█') && !shown.contains("bar a day"),
        "{shown}"
    );
    let stats = json_lines(&place.run(&["stats", "--json"]).stdout);
    assert_eq!((stats.len(), &stats[0]["runs"]), (1, &json!(4)));
    assert_eq!(stats[0]["tokens_saved"], json!(400));
    assert!(stats[0].get("days").is_none());
}

#[test]
fn ui_stats_of_the_screen_are_those_of_the_whole_log() {
    let place = recorded();
    place.file("kb/a.md", "# The gate\n\nThe gate opens at seven.\n");
    let mut command = place.command(&["kb"]);
    command.env("LC_ALL", "C.UTF-8");
    let mut terminal = Terminal::start(&command, 120, 45);
    terminal.wait_for_text("Ask ");
    let shown = terminal.press_until("/stats\r", "2026-01-01 to 2026-01-04");
    let total = json_lines(&place.run(&["stats", "--json"]).stdout).remove(0);
    for expected in [
        format!("calls made            {} ", total["calls"]),
        format!("calls saved           {} ", total["saved"]),
        "few_context         1 run · 25 %".to_owned(),
        "median 15 ms · p95 40 ms · 4 measured".to_owned(),
        "~400 · at the mean of a call".to_owned(),
    ] {
        assert!(shown.contains(&expected), "{expected}: {shown}");
    }
    terminal.keys("\u{1b}");
    terminal.wait_for("the window's end", |screen| {
        !screen.contents().contains("Statistics of all")
    });
    terminal.leave();
}
