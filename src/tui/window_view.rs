//! The window that lies above the panes, drawn.

use ratatui::buffer::Buffer;
use ratatui::layout::{Margin, Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Widget};
use unicode_width::UnicodeWidthStr;

use crate::domain::{Complexity, NodeName};
use crate::protocol::{Mode, NoticeLevel, joined};
use crate::text::one_line;

use super::answers;
use super::ink::{Ink, Row, columns, cut_path, grouped, grouped_plural, pad, wrap};
use super::keymap::KeyContext;
use super::layout::Arrangement;
use super::model::{Model, Overlay};
use super::panes::wording::route_ink;
use super::panes::{compare, detail, rerun, run_history, welcome, what_if};
use super::slash::{COMMANDS, ROUTES};
use super::theme::{Theme, clear, draw_row};
use super::window::{Page, Window};

/// A strip beside a window that is no wider shows only torn lines.
const NARROW_STRIP: u16 = 3;

/// Rows above a list that is typed into: what is typed, and what is to be said.
const HEAD: u16 = 2;

/// Rows of a list that is known to be short.
const FEWEST_ROWS: u16 = 6;

/// Columns of help before what a key or a command does.
const KEYS: usize = 18;

/// A window as it stands on the screen.
pub struct WindowView {
    title: &'static str,
    /// The rows above a list that is typed into; none in other windows.
    head: Vec<Row>,
    /// Where the rows below these stand.
    pub area: Rect,
    /// All rows, of a long list only those that are seen.
    rows: Vec<Row>,
    /// How many rows there are.
    pub count: usize,
}

impl WindowView {
    /// Lays the window out.
    pub fn new(model: &Model, window: &Window, places: &Arrangement) -> Self {
        let room = places.overlay_room(matches!(window.shown, Overlay::Compare { .. }));
        let width = usize::from(room.width);
        if !window.shown.is_typed() {
            let (title, rows) = rows(model, &window.shown, width);
            let height = room.height.min(rows.len().max(1) as u16);
            let y = room.y + (room.height - height) / 2;
            let area = Rect { y, height, ..room };
            let (head, count) = (Vec::new(), rows.len());
            return Self {
                title,
                head,
                area,
                rows,
                count,
            };
        }
        // It is no longer than its items need, and keeps its place while they are narrowed.
        let items = u16::try_from(window.texts.len()).unwrap_or(u16::MAX);
        let most = room.height.saturating_sub(HEAD);
        let area = Rect {
            y: room.y + HEAD.min(room.height),
            height: items.max(FEWEST_ROWS).min(most),
            ..room
        };
        let (title, note, trouble) = about_list(window, width);
        let rows = match trouble {
            Some((ink, words)) => {
                let indent = Row::new(Ink::Text, " ");
                wrap(&Row::new(ink, words), &indent, &indent, width)
            }
            None => listed(model, window, area),
        };
        let notice = model.notice.as_ref().map(|notice| match notice.level {
            NoticeLevel::Info => Row::new(Ink::Info, format!(" {}", notice.message)),
            NoticeLevel::Warning => Row::new(Ink::Warning, format!(" ⚠ {}", notice.message)),
        });
        Self {
            title,
            head: vec![typed_row(window, width), notice.unwrap_or(note).fit(width)],
            area,
            rows,
            count: window.matches.len(),
        }
    }

    /// Which row is at this cell.
    pub fn row_at(&self, window: &Window, position: Position) -> Option<usize> {
        let row = usize::from(position.y.checked_sub(self.area.y)?);
        let at = window.list.top + row;
        (self.area.contains(position) && at < self.count).then_some(at)
    }

    /// The rows that are seen.
    pub fn seen_rows(&self, window: &Window) -> &[Row] {
        let is_whole = !window.shown.is_typed();
        let first = if is_whole { window.list.top } else { 0 };
        &self.rows[first.min(self.rows.len())..]
    }

    /// Draws the window with a frame of its own.
    pub fn draw(&self, window: &Window, screen: Rect, theme: &Theme, buffer: &mut Buffer) {
        let head = self.head.len() as u16;
        let inside = Rect {
            y: self.area.y - head,
            height: self.area.height + head,
            ..self.area
        };
        let around = inside.outer(Margin::new(2, 1)).intersection(screen);
        clear(around, buffer);
        clear_side_strips(around, screen, buffer);
        let (top, seen) = (window.list.top, usize::from(self.area.height));
        let focus = theme.style(Ink::Focus);
        let mut frame = Block::bordered()
            .border_style(focus)
            .title(Span::styled(format!("─ {} ", self.title), focus));
        if self.count > seen {
            let last = (top + seen).min(self.count);
            let part = format!(" {}–{last} of {} ", top + 1, self.count);
            let part = Span::styled(part, theme.style(Ink::Dim));
            let part = Line::from(vec![part, Span::styled("─", focus)]);
            frame = frame.title_bottom(part.right_aligned());
        }
        frame.render(around, buffer);
        for (line, row) in inside.rows().zip(&self.head) {
            draw_row(buffer, theme, line, row);
        }
        for (at, (line, row)) in self.area.rows().zip(self.seen_rows(window)).enumerate() {
            draw_row(buffer, theme, line, row);
            if window.shown.is_choice() && self.count > 0 && window.list.selected == top + at {
                buffer.set_style(line, theme.style(Ink::Selected));
            }
        }
    }
}

/// Empties the strips between a window and the frame where they are too narrow for anything but
/// torn lines; the frame goes on straight there.
fn clear_side_strips(window: Rect, screen: Rect, buffer: &mut Buffer) {
    let (first, last) = (screen.x, screen.right() - 1);
    for (frame, from, to) in [(first, first + 1, window.x), (last, window.right(), last)] {
        let width = to.saturating_sub(from);
        let strip = Rect::new(from, window.y, width, window.height);
        if strip.is_empty() || strip.width > NARROW_STRIP {
            continue;
        }
        clear(strip, buffer);
        for y in window.top()..window.bottom() {
            if let Some(cell) = buffer.cell_mut((frame, y)) {
                cell.set_symbol("│");
            }
        }
    }
}

/// What is typed, and how many of how many are left, where that is known.
fn typed_row(window: &Window, width: usize) -> Row {
    let row = Row::new(Ink::Focus, " > ").add(Ink::Text, window.typed.as_str());
    // The first row of the models is none of them.
    let first = usize::from(matches!(window.shown, Overlay::Models(_)));
    let left = window.matches.iter().filter(|at| **at >= first).count();
    let part = match window.texts.len().saturating_sub(first) {
        0 => String::new(),
        count if left == count => format!("{count} "),
        count => format!("{left} of {count} "),
    };
    row.add(Ink::Focus, "▏")
        .and_right(Row::new(Ink::Dim, part), width)
}

/// Title of a list that is typed into, what is to be said of it, and why it is empty.
fn about_list(window: &Window, width: usize) -> (&'static str, Row, Option<(Ink, String)>) {
    let is_empty = window.matches.is_empty();
    let nothing =
        (is_empty && !window.texts.is_empty()).then(|| (Ink::Dim, "nothing like that".into()));
    match &window.shown {
        Overlay::Sessions(list) => {
            let note = list
                .note()
                .map(|words| Row::new(Ink::Dim, format!(" {words}")));
            ("Sessions · local times", note.unwrap_or_default(), nothing)
        }
        Overlay::Models(list) => {
            let trouble = list.trouble().map(|why| (Ink::Warning, why));
            ("Models", list.note(width), trouble.or(nothing))
        }
        Overlay::Recall(questions) if questions.is_empty() => {
            let none = Row::new(Ink::Dim, " Nothing was asked yet.");
            ("Earlier questions", none, None)
        }
        Overlay::Recall(_) => ("Earlier questions", Row::default(), nothing),
        Overlay::Answers(answers) => {
            let note = match answers {
                None => " reading the audit log …",
                Some(known) if known.is_empty() => " Nothing was answered yet.",
                Some(_) => "",
            };
            (
                "All answers · local times",
                Row::new(Ink::Dim, note),
                nothing,
            )
        }
        Overlay::Documents(names) => {
            let note = if names.is_empty() {
                " The knowledge base holds no documents."
            } else {
                ""
            };
            ("Documents", Row::new(Ink::Dim, note), nothing)
        }
        _ => ("Palette", Row::default(), nothing),
    }
}

/// The rows of a list that are seen.
fn listed(model: &Model, window: &Window, area: Rect) -> Vec<Row> {
    let width = usize::from(area.width);
    let selected = window.selected();
    let seen = window.matches.iter().skip(window.list.top);
    let seen = seen.take(area.height.into()).copied();
    let row = |place: usize| match &window.shown {
        Overlay::Sessions(list) => list.row(place, Some(place) == selected, width),
        Overlay::Models(list) => list.row(place, &model.models, width),
        Overlay::Recall(questions) => {
            Row::new(Ink::Text, format!(" {}", one_line(&questions[place], 400)))
        }
        Overlay::Palette(rows) => rows[place].row(width),
        Overlay::Documents(names) => Row::new(
            Ink::Text,
            format!(" {}", cut_path(&one_line(&names[place], 400), width - 1)),
        ),
        Overlay::Answers(Some(known)) => answers::row(&known[place], &window.typed, width),
        _ => Row::default(),
    };
    seen.map(|place| row(place).fit(width)).collect()
}

/// Title and all rows of a window that is not typed into.
fn rows(model: &Model, shown: &Overlay, width: usize) -> (&'static str, Vec<Row>) {
    match shown {
        Overlay::Help => ("Help", help_rows(model, width)),
        Overlay::Event { about, lines, .. } => ("Event", event_rows(about, lines, width)),
        Overlay::Compare { left, right } => ("Two runs", compare::rows(model, left, right, width)),
        Overlay::Retry => ("Ask again, by which route?", retry_rows()),
        Overlay::Samples => ("Sample questions", welcome::sample_rows(model, width)),
        Overlay::Statistics(read) => {
            let rows = run_history::rows(read.as_ref(), width);
            ("Statistics of all recorded runs", rows)
        }
        Overlay::Page(page) => (page_title(*page), page_rows(model, *page, width)),
        Overlay::Detail { item, unfolded } => {
            let lines = detail::lines(model, *item, unfolded, width);
            let rows = lines.into_iter().map(|line| line.row).collect();
            let mode = model.shown_run().map_or(model.mode, |run| run.mode);
            (detail::title(*item, mode), rows)
        }
        Overlay::WhatIf(sliders) => ("What if", what_if::rows(model, sliders, width)),
        Overlay::Rerun(plan) => {
            let title = match plan.from() {
                // No plan begins at the first node.
                NodeName::AnalyzeAndRoute | NodeName::Plan => "Again from plan",
                NodeName::ToolExec => "Again from tool_exec",
                NodeName::GradeEvidence => "Again from grade_evidence",
                NodeName::Synthesize => "Again from synthesize",
            };
            (title, rerun::rows(plan, width))
        }
        Overlay::Palette(_)
        | Overlay::Sessions(_)
        | Overlay::Models(_)
        | Overlay::Recall(_)
        | Overlay::Answers(_)
        | Overlay::Documents(_) => ("", Vec::new()),
    }
}

/// All keys, from the table that is asked when a key arrives.
fn help_rows(model: &Model, width: usize) -> Vec<Row> {
    let section = |place: &KeyContext| {
        let mut rows = vec![Row::new(Ink::Heading, model.keymap.title(*place))];
        rows.extend(model.keymap.bindings_of(*place).map(|binding| {
            let names: Vec<_> = binding.keys.iter().take(2).map(|key| key.name()).collect();
            let both = names.join(", ");
            // The second one gives way.
            let keys = if both.width() < KEYS {
                &both
            } else {
                &names[0]
            };
            let row = Row::new(Ink::Key, pad(keys, KEYS));
            row.add(Ink::Text, format!(" {}", binding.help()))
        }));
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
    // The keys of the list that help lies above come first.
    let beneath = model.beneath.as_ref();
    let beneath = beneath.filter(|window| window.shown.is_typed());
    let beneath = beneath.into_iter().flat_map(Window::places);
    let mut left: Vec<Row> = beneath
        .chain(here)
        .flat_map(|place| section(&place))
        .collect();
    if !is_replay {
        left.push(Row::new(Ink::Heading, "Commands at the prompt"));
        for command in COMMANDS.iter() {
            let usage = format!("{} {}", command.name, command.arguments);
            let usage = Row::new(Ink::Key, pad(&usage, KEYS));
            let help = Row::new(Ink::Text, format!(" {}", command.help));
            if usage.width() > KEYS {
                left.extend([usage, Row::default().pad_to(KEYS).join(help)]);
            } else {
                left.push(usage.join(help));
            }
        }
        left.push(Row::default());
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
        KeyContext::Detail,
    ];
    let mut right: Vec<Row> = right.iter().flat_map(section).collect();
    // The keys of a node's details stand with those of any window.
    right.pop();
    right.extend(section(&KeyContext::Overlay).into_iter().skip(1));
    let signs = [
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
    columns(left, right, width / 2 - 2, "  ", width)
}

fn retry_rows() -> Vec<Row> {
    let row = |(at, (name, route)): (usize, (&str, Option<Complexity>))| {
        let why = match route {
            None => "the agent decides",
            Some(Complexity::Simple) => "retrieve once, no grading",
            Some(Complexity::Complex) => "the whole path, graded",
            Some(Complexity::Chitchat) => "a reply without documents",
        };
        Row::new(Ink::Key, format!(" {} ", at + 1))
            .add(route.map_or(Ink::Text, route_ink), pad(name, 10))
            .add(Ink::Dim, why)
    };
    ROUTES.into_iter().enumerate().map(row).collect()
}

/// What is known of an event's place, and its JSON with its indentation, long values broken.
fn event_rows(about: &str, lines: &[String], width: usize) -> Vec<Row> {
    let broken = |line: &String| {
        let bare = line.trim_start();
        let indent = Row::new(Ink::Text, &line[..line.len() - bare.len()]);
        let further = indent.clone().add(Ink::Text, "  ");
        let row = match bare.split_once("\": ") {
            Some((key, value)) if key.starts_with('"') => {
                Row::new(Ink::Citation, format!("{key}\"")).add(Ink::Text, format!(": {value}"))
            }
            _ => Row::new(Ink::Text, bare),
        };
        wrap(&row, &indent, &further, width)
    };
    let about = Row::new(Ink::Dim, about).fit(width);
    std::iter::once(about)
        .chain(lines.iter().flat_map(broken))
        .collect()
}

// Windows that only show: what is indexed, which engine answers.

/// Columns before what a line says.
const LABEL: usize = 22;

/// What the window is called.
pub fn page_title(page: Page) -> &'static str {
    match page {
        Page::Index => "Index",
        Page::Sources => "Knowledge base",
        Page::Engine => "Engine",
    }
}

/// Lays out all rows of the page.
pub fn page_rows(model: &Model, page: Page, width: usize) -> Vec<Row> {
    let rows = match page {
        Page::Index => [page_of_index(model), left_out(model)].concat(),
        Page::Sources => page_of_sources(model),
        Page::Engine => page_of_engine(model),
    };
    let broken = |row: &Row| {
        let indent = Row::new(Ink::Text, " ".repeat(LABEL.min(width / 2)));
        wrap(row, &Row::default(), &indent, width)
    };
    rows.iter().flat_map(broken).collect()
}

fn page_line(label: &str, value: impl Into<String> + AsRef<str>) -> Row {
    Row::new(Ink::Dim, pad(label, LABEL)).add(Ink::Text, value)
}

fn page_heading(text: &str) -> [Row; 2] {
    [Row::default(), Row::new(Ink::Heading, text)]
}

fn page_of_index(model: &Model) -> Vec<Row> {
    let knowledge = &model.knowledge;
    let state = match (knowledge.indexing, knowledge.pending) {
        (true, 0) => "looking for changes".to_owned(),
        (true, pending) => format!("embedding, {} to come", grouped(pending as u64)),
        (false, 0) => "up to date".to_owned(),
        (false, pending) => format!("{} not embedded", grouped(pending as u64)),
    };
    let watching = if knowledge.watching {
        "yes: saved files are searchable at once"
    } else {
        "no"
    };
    vec![
        page_line("name", one_line(&knowledge.name, 200)),
        page_line("documents", grouped(knowledge.documents as u64)),
        page_line("chunks", grouped(knowledge.chunks as u64)),
        page_line("state", state),
        page_line("watching", watching),
    ]
}

/// The files that are not in the index, with their reasons.
fn left_out(model: &Model) -> Vec<Row> {
    let left_out = &model.contents.left_out;
    if left_out.count == 0 {
        return Vec::new();
    }
    let mut rows = page_heading("Left out").to_vec();
    rows.push(page_line("files", grouped(left_out.count as u64)));
    for (path, reason) in &left_out.files {
        let row = Row::new(Ink::Text, format!("{}: ", one_line(path, 400)));
        rows.push(row.add(Ink::Dim, one_line(reason, 400)));
    }
    let more = left_out.count.saturating_sub(left_out.files.len());
    if more > 0 {
        let more = grouped(more as u64);
        let words = format!("and {more} more; 'kb-agent index' lists all");
        rows.push(Row::new(Ink::Dim, words));
    }
    rows
}

/// The folders and files that the base is made of, with what each holds.
fn page_of_sources(model: &Model) -> Vec<Row> {
    let contents = &model.contents;
    let mut rows = page_of_index(model);
    if !contents.sources.is_empty() {
        rows.extend(page_heading("Sources"));
    }
    for source in &contents.sources {
        rows.push(Row::new(Ink::Text, one_line(&source.path, 400)));
        let documents = grouped_plural(source.documents, "document");
        let held = format!("{documents} · {}", grouped_plural(source.chunks, "chunk"));
        let mut row = page_line("", held);
        if source.is_added {
            row.push(Ink::Dim, " · added for this session");
        }
        rows.push(row);
    }
    if let Some(setting) = &contents.setting {
        rows.extend(page_heading("The same at the next start"));
        rows.push(Row::new(Ink::Text, one_line(setting, 4000)));
        let where_to = "in the environment, or as a line of your own .env";
        rows.push(Row::new(Ink::Dim, where_to));
    }
    rows
}

fn page_of_engine(model: &Model) -> Vec<Row> {
    let limits = model.shown_run().map_or(model.limits, |run| run.limits);
    let mut rows = match model.mode {
        Mode::Offline => vec![
            page_line("engine", "offline, built in"),
            page_line("answers", "extractive: quoted from the documents"),
        ],
        Mode::Llm => vec![page_line("engine", "chat endpoint")],
    };
    let by_model = model.models.by_model();
    let is_one = by_model.len() == 1;
    for (name, jobs) in &by_model {
        let label = if is_one {
            "model".to_owned()
        } else {
            joined(jobs)
        };
        rows.push(page_line(&label, one_line(name, 200)));
    }
    if model.mode == Mode::Llm {
        rows.push(page_line("", "/model chooses another one"));
    }
    if let Some(endpoint) = &model.endpoint {
        rows.push(page_line("endpoint", endpoint.clone()));
    }
    let route = model.route.map_or("auto", |route| route.as_str());
    rows.push(page_line("route", format!("{route} (/route)")));
    rows.extend(page_heading("Settings that route"));
    let (gradings, threshold) = (limits.max_iterations, limits.vector_score_threshold);
    rows.push(page_line("gradings at most", gradings.to_string()));
    rows.push(page_line("vector threshold", format!("{threshold:.2}")));
    let items = grouped_plural(limits.auto_approve_max_items, "item");
    rows.push(page_line("auto-approve up to", items));
    let share = |share: f64| format!("{share:.2}");
    let by_language = |set: Option<f64>| set.map_or_else(|| "by language".to_owned(), share);
    for (name, value) in [
        ("keep passages from", share(limits.thresholds.keep_from)),
        (
            "answer from average",
            share(limits.thresholds.sufficient_from),
        ),
        ("small talk from", by_language(limits.router.chitchat)),
        ("complex from", by_language(limits.router.complex)),
    ] {
        rows.push(page_line(name, value));
    }
    rows.push(Row::default());
    let words = "Engine, model and settings are set by KB_AGENT_… variables; 'kb-agent doctor' \
                 checks them.";
    rows.push(Row::new(Ink::Dim, words));
    rows
}
