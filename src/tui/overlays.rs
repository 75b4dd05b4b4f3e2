//! What lies above the panes: help, an event as JSON, the choice of a route, a node's details …

use crate::domain::Complexity;

use super::ink::{Ink, Row, pad};
use super::keymap::KeyContext;
use super::model::{Model, Overlay};
use super::panes::wording::route_ink;
use super::panes::{compare, detail, statistics, welcome, what_if};
use super::slash::{COMMANDS, ROUTES};
use super::wrap::wrap;
use super::{pages, palette};

/// Title and all rows.
pub fn rows(model: &Model, overlay: &Overlay, width: usize) -> (&'static str, Vec<Row>) {
    match overlay {
        Overlay::Help(_) => ("Help", help_rows(model, width)),
        Overlay::Json { about, lines, .. } => ("Event", event_rows(about, lines, width)),
        // They have windows of their own.
        Overlay::Sessions(_) | Overlay::Models(_) | Overlay::Recall(_) => ("", Vec::new()),
        Overlay::Compare(shown) => ("Two runs", compare::rows(model, shown, width)),
        Overlay::Retry(_) => ("Ask again, by which route?", retry_rows()),
        Overlay::Samples(_) => ("Sample questions", welcome::sample_rows(model, width)),
        Overlay::Palette(shown) => ("Palette", palette::rows(model, &shown.typed, width)),
        Overlay::Statistics(window) => {
            let rows = statistics::rows(window, width);
            ("Statistics of all recorded runs", rows)
        }
        Overlay::Page(page, _) => (pages::title(*page), pages::rows(model, *page, width)),
        Overlay::Detail(shown) => {
            let lines = detail::lines(model, shown, width);
            let rows = lines.into_iter().map(|line| line.row).collect();
            let mode = model.shown_run().map_or(model.mode, |run| run.mode);
            (detail::title(shown.item, mode), rows)
        }
        Overlay::WhatIf(sliders) => ("What if", what_if::rows(model, sliders, width)),
    }
}

/// The places of the window that help lies above, whose keys are listed first.
fn beneath(model: &Model) -> &'static [KeyContext] {
    match &model.beneath {
        Some(Overlay::Sessions(_)) => &[KeyContext::Sessions, KeyContext::Menu],
        Some(Overlay::Models(_)) => &[KeyContext::Models, KeyContext::Menu],
        Some(Overlay::Recall(_)) => &[KeyContext::Recall, KeyContext::Menu],
        _ => &[],
    }
}

/// All keys, from the table that is asked when a key arrives.
pub fn help_rows(model: &Model, width: usize) -> Vec<Row> {
    let keymap = &model.keymap;
    let section = |place: KeyContext| {
        let mut rows = vec![Row::new(Ink::Heading, place.title())];
        for binding in keymap.bindings_of(place) {
            let keys: Vec<_> = binding.keys.iter().take(2).map(|key| key.name()).collect();
            rows.push(
                Row::new(Ink::Key, pad(&keys.join(", "), KEYS))
                    .add(Ink::Text, format!(" {}", binding.help)),
            );
        }
        rows.push(Row::default());
        rows
    };
    // Nothing is typed in a replay, and its keys are of use nowhere else.
    let is_replay = model.replay.is_some();
    let first = if is_replay {
        KeyContext::Replay
    } else {
        KeyContext::Prompt
    };
    let here = [
        first,
        KeyContext::Answer,
        KeyContext::Chosen,
        KeyContext::Acting,
        KeyContext::Global,
    ];
    let left = beneath(model).iter().chain(&here);
    let mut left: Vec<Row> = left.flat_map(|place| section(*place)).collect();
    let mut commands = vec![Row::new(Ink::Heading, "Commands at the prompt")];
    for command in COMMANDS {
        let usage = format!("{} {}", command.name, command.arguments);
        let help = command.help;
        if usage.len() > KEYS {
            commands.push(Row::new(Ink::Key, usage));
            commands.push(Row::new(Ink::Text, format!("{} {help}", pad("", KEYS))));
        } else {
            commands.push(Row::new(Ink::Key, pad(&usage, KEYS)).add(Ink::Text, format!(" {help}")));
        }
    }
    commands.push(Row::default());
    if !is_replay {
        left.extend(commands);
    }
    let right = [
        KeyContext::List,
        KeyContext::Path,
        KeyContext::Evidence,
        KeyContext::Audit,
        KeyContext::Event,
        KeyContext::Source,
        KeyContext::Menu,
        KeyContext::Find,
    ]
    .map(section)
    .concat();
    let windows = [section(KeyContext::Detail), section(KeyContext::Overlay)];
    let [mut detail, overlay] = windows;
    // The keys of a node's details stand with those of any window.
    detail.pop();
    let right = [right, detail, overlay[1..].to_vec()].concat();
    let signs = vec![
        Row::new(Ink::Waiting, "○ waiting  ")
            .add(Ink::Running, "◐ at work  ")
            .add(Ink::Done, "● done  ")
            .add(Ink::Skipped, "· skipped"),
        Row::new(Ink::Warning, "◼ stopped  ")
            .add(Ink::Failed, "× failed, dropped  ")
            .add(Ink::Running, "↺ 2 ")
            .add(Ink::Text, "entered twice"),
        Row::new(Ink::Warning, "⚠ warning  ")
            .add(Ink::Strong, "▇▇▇")
            .add(Ink::Text, " graded  ")
            .add(Ink::Unmeasured, "╌╌╌ not measured"),
    ];
    let mut right = right;
    if width < 104 {
        left.extend(right);
        left.extend(signs);
        return left.into_iter().map(|row| row.fit(width)).collect();
    }
    // The shorter column has room for them.
    let shorter = if left.len() <= right.len() {
        &mut left
    } else {
        &mut right
    };
    shorter.extend(signs);
    let half = width / 2;
    let count = left.len().max(right.len());
    left.resize(count, Row::default());
    right.resize(count, Row::default());
    left.into_iter()
        .zip(right)
        .map(|(left, right)| {
            left.fit(half - 2)
                .pad_to(half)
                .join(right.fit(width - half))
        })
        .collect()
}

const KEYS: usize = 18;

fn retry_rows() -> Vec<Row> {
    ROUTES
        .iter()
        .enumerate()
        .map(|(at, (name, route))| {
            let (ink, why) = match route {
                None => (Ink::Text, "the agent decides"),
                Some(Complexity::Simple) => {
                    (route_ink(Complexity::Simple), "retrieve once, no grading")
                }
                Some(Complexity::Complex) => {
                    (route_ink(Complexity::Complex), "the whole path, graded")
                }
                Some(Complexity::Chitchat) => {
                    (route_ink(Complexity::Chitchat), "a reply without documents")
                }
            };
            Row::new(Ink::Key, format!(" {} ", at + 1))
                .add(ink, pad(name, 10))
                .add(Ink::Dim, why)
        })
        .collect()
}

/// What is known of an event's place, and its JSON.
pub fn event_rows(about: &str, lines: &[String], width: usize) -> Vec<Row> {
    let mut rows = vec![Row::new(Ink::Dim, about).fit(width)];
    rows.extend(json_rows(lines, width));
    rows
}

/// The lines with their indentation, long values broken.
fn json_rows(lines: &[String], width: usize) -> Vec<Row> {
    let broken = |line: &String| {
        let bare = line.trim_start();
        let indent = Row::new(Ink::Text, &line[..line.len() - bare.len()]);
        let further = indent.clone().add(Ink::Text, "  ");
        wrap(&json_row(bare), &indent, &further, width)
    };
    lines.iter().flat_map(broken).collect()
}

/// `"key": value`, the key in its own ink.
fn json_row(line: &str) -> Row {
    match line.split_once("\": ") {
        Some((key, value)) if key.starts_with('"') => {
            Row::new(Ink::Citation, format!("{key}\"")).add(Ink::Text, format!(": {value}"))
        }
        _ => Row::new(Ink::Text, line),
    }
}
