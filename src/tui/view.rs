//! Model in, cells out.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Margin, Position, Rect};
use ratatui::style::Modifier;
use ratatui::symbols::merge::MergeStrategy;
use ratatui::widgets::Widget;
use unicode_width::UnicodeWidthStr;

use crate::domain::{DecidedBy, Languages, NodeName};
use crate::protocol::{JobModels, JobName, Mode};
use crate::text::{duration, one_line};

use super::focus::marked_rows;
use super::ink::{Ink, Row, cut, grouped, grouped_plural};
use super::keymap::{Action, KeyContext};
use super::layout::{Arrangement, LEAST, LayoutWidth, draw_notice, prompt_sign};
use super::model::{AskedBy, Model};
use super::pane_state::Pane;
use super::panes::{audit, chat, evidence, path};
use super::theme::{Theme, draw_row};
use super::window_view::WindowView;
use super::{copy, menu, pace};

/// Draws the screen as settled.
pub fn view(model: &Model, theme: &Theme, frame: &mut Frame<'_>) {
    let places = Arrangement::new(model);
    // A resize can overtake the model; what is drawn must fit the buffer at hand.
    if places.screen != frame.area() {
        return;
    }
    let buffer = frame.buffer_mut();
    if places.breadth == LayoutWidth::Tiny {
        let words = format!("kb-agent needs {}×{} cells", LEAST.0, LEAST.1);
        draw_row(buffer, theme, places.screen, &Row::new(Ink::Warning, words));
        return;
    }
    borders(model, &places, theme, buffer);
    header(model, &places, theme, buffer);
    footer(model, &places, theme, buffer);
    titles(model, &places, theme, buffer);
    for &(pane, area) in &places.panes {
        for (line, row) in area.rows().zip(model.pane_rows(pane)) {
            draw_row(buffer, theme, line, row);
        }
        let selected = match pane {
            Pane::Evidence => model.evidence.drawn.selected,
            Pane::Audit => model.audit.drawn.selected,
            Pane::Path => model.path.drawn.selected,
            Pane::Chat => None,
        };
        if let Some(line) = selected.and_then(|at| area.rows().nth(at)) {
            buffer.set_style(line, theme.style(Ink::Selected));
        }
        for at in marked_rows(model, pane) {
            if let Some(line) = area.rows().nth(at) {
                draw_row(buffer, theme, line, &Row::new(Ink::Focus, "▌"));
            }
        }
    }
    let caret = places
        .prompt
        .and_then(|area| prompt(model, theme, area, buffer));
    if model.overlay.is_none() {
        draw_notice(model, places.notice, theme, buffer);
    }
    if let Some(area) = places.reading {
        document(model, area, theme, buffer);
    }
    menu::draw(model, theme, buffer);
    match &model.overlay {
        Some(window) => {
            WindowView::new(model, window, &places).draw(window, places.screen, theme, buffer);
            // The window may lie where it is said else; one that is typed into says it itself.
            if !window.shown.is_typed() {
                draw_notice(model, places.notice_below_window(), theme, buffer);
            }
        }
        None => {
            if let Some(caret) = caret.filter(|_| model.focus == Pane::Chat) {
                frame.set_cursor_position(caret);
            }
        }
    }
    copy::mark_selection(model, frame.buffer_mut());
}

fn header(model: &Model, places: &Arrangement, theme: &Theme, buffer: &mut Buffer) {
    let width = usize::from(places.screen.width);
    let knowledge = &model.knowledge;
    // Progress says more than the counts that it will change, and takes their room.
    let working = knowledge.indexing || knowledge.stopped || knowledge.pending > 0;
    let mut left = Row::new(Ink::Brand, " kb-agent ");
    if !knowledge.name.is_empty() {
        left.push(Ink::Border, "── ");
        left.push(Ink::Text, one_line(&knowledge.name, 40));
        if width >= if working { 110 } else { 60 } {
            let documents = grouped_plural(knowledge.documents, "doc");
            left.push(Ink::Dim, format!(" · {documents}"));
        }
        if width >= if working { 140 } else { 80 } {
            let chunks = grouped_plural(knowledge.chunks, "chunk");
            left.push(Ink::Dim, format!(" · {chunks}"));
        }
        if knowledge.languages == Some(Languages::All) && width >= if working { 150 } else { 100 } {
            left.push(Ink::Dim, " · multilingual");
        }
        left = left.join(pace::progress(knowledge, &model.pace, width));
        left.push(Ink::Text, " ");
    }
    let mut run = Row::default();
    if let Some((at, of)) = model.shown_among() {
        let words = format!("run {at} of {of}");
        if width >= if working { 130 } else { 90 } {
            run.push(Ink::Border, " ── ");
            run.push(Ink::Dim, words);
        } else if of > 1 && !working && width >= 60 {
            run.push(Ink::Dim, format!(" · {words}"));
        }
    }
    let mut right = Row::new(Ink::Text, " ");
    match model.mode {
        Mode::Offline if width < 70 => right.push(Ink::Unmeasured, "offline"),
        Mode::Offline => right.push(Ink::Unmeasured, "offline · extractive"),
        Mode::Llm => {
            // All that is left beside the ends, and a third of the line in any case.
            let used = left.width() + run.width() + 8;
            let room = width.saturating_sub(used).max(width / 3);
            let deciding = deciding_time(model).filter(|words| words.width() * 3 < room);
            let deciding = deciding.unwrap_or_default();
            let room = room.saturating_sub(deciding.width());
            right.push(Ink::Text, models_in(&deciders(model), room));
            right = right.join(deciding);
        }
    }
    let right = right.join(run).add(Ink::Text, " ");
    line_with_ends(places.screen, 0, left, right, theme, buffer);
}

/// Who does which job. What was left to default is known only from a run: there the built-in engine may have decided.
fn deciders(model: &Model) -> JobModels {
    let mut models = model.models.clone();
    let Some(run) = model.shown_run() else {
        return models;
    };
    for job in JobName::ALL {
        let is_left_to_default = !models.has_own(job);
        if is_left_to_default && run.node(job.node()).by == Some(DecidedBy::BuiltIn) {
            models.set(job, Some(DecidedBy::BuiltIn.as_str()));
        }
    }
    models
}

/// How long it took to decide in the run that is shown, where it is told who decided.
fn deciding_time(model: &Model) -> Option<Row> {
    let run = model.shown_run()?;
    let nodes = NodeName::ALL.map(|node| run.node(node));
    let decided = nodes.iter().filter(|node| node.by.is_some());
    let ms = decided.map(|node| node.ms).reduce(|all, ms| all + ms)?;
    let words = format!(" · decided in {}", duration(ms));
    Some(Row::new(Ink::Dim, words))
}

/// Which model does which job, as far as there is room: all of it, or who answers and how many others
/// there are.
fn models_in(models: &JobModels, room: usize) -> String {
    let whole = models.in_words();
    let by_model = models.by_model();
    let others = by_model.len().saturating_sub(1);
    if whole.width() <= room || others == 0 {
        return cut(&whole, room);
    }
    let more = format!(" +{others}");
    let answers = one_line(models.model(JobName::Answer), 60);
    format!("{}{more}", cut(&answers, room.saturating_sub(more.len())))
}

fn footer(model: &Model, places: &Arrangement, theme: &Theme, buffer: &mut Buffer) {
    let mut right = Row::default();
    let tokens = model.turns.tokens();
    if tokens > 0 {
        right.push(Ink::Dim, format!(" {} tok ", grouped(tokens)));
    }
    if let Some(playhead) = model.replay.as_ref().filter(|_| places.prompt.is_none()) {
        right = playhead
            .row(usize::from(places.screen.width) / 2)
            .add(Ink::Text, " ");
    }
    let room = usize::from(places.screen.width).saturating_sub(right.width() + 6);
    let mut left = Row::new(Ink::Text, " ");
    let is_stopped_by_key = model.is_busy() && !model.is_acting();
    if is_stopped_by_key && model.overlay.is_none() && model.replay.is_none() {
        left = left.add(Ink::Key, "Esc").add(Ink::Dim, " stop  ");
    }
    let mut hints = model.keymap.hints(&model.places());
    if let Some(held) = model.keymap.pending_key() {
        let held = format!(" {}", held.called(model.key_names));
        left = Row::new(Ink::Key, held).add(Ink::Dim, " waits for the next key, Esc drops it ");
        hints.clear();
    }
    if model.asked_by == AskedBy::Demo {
        left = Row::new(Ink::Key, " any key").add(Ink::Dim, " ends the demo");
        hints.clear();
    }
    let last = places.screen.height - 1;
    if model.notice.is_some() && (model.overlay.is_some() || places.notice.border.y == last) {
        // What is said stands here, and half a hint behind it reads as part of it.
        hints.clear();
        left = Row::default();
    }
    let help = Row::new(Ink::Key, "?").add(Ink::Dim, " help ");
    let opening = menu::word_for_opening(model);
    for hint in &hints {
        let word = opening.filter(|_| hint.action == Action::Open);
        let word = word.or(hint.hint.as_deref()).unwrap_or_default();
        let key = hint.keys.first();
        let key = key.map(|key| key.called(model.key_names));
        let key = key.unwrap_or_default();
        let hint = Row::new(Ink::Key, key).add(Ink::Dim, format!(" {word}  "));
        if left.width() + hint.width() + help.width() > room {
            break;
        }
        left = left.join(hint);
    }
    if model.overlay.is_none() && model.find.is_none() && !hints.is_empty() {
        left = left.join(help);
    }
    line_with_ends(places.screen, last, left, right, theme, buffer);
}

/// Writes into a horizontal border, leaving the line between the two visible.
fn line_with_ends(screen: Rect, y: u16, left: Row, right: Row, theme: &Theme, buffer: &mut Buffer) {
    let width = usize::from(screen.width).saturating_sub(4);
    let right = right.fit(width);
    let left = left.fit(width.saturating_sub(right.width() + 1));
    let inside = Rect::new(2, y, width as u16, 1);
    draw_row(buffer, theme, inside, &left);
    let start = inside.right().saturating_sub(right.width() as u16);
    let end = Rect::new(start, y, right.width() as u16, 1);
    draw_row(buffer, theme, end, &right);
}

fn titles(model: &Model, places: &Arrangement, theme: &Theme, buffer: &mut Buffer) {
    for &(pane, area) in &places.titles {
        let focused = pane == model.focus;
        let ink = if focused { Ink::Focus } else { Ink::Title };
        let drawn = places.pane(pane).is_some();
        // With tabs every name keeps its place; else the sign pushes the name in.
        let label = match (focused, places.status.is_some()) {
            (true, true) => format!("▸{} ", pane.title()),
            (true, false) => format!(" ▸ {} ", pane.title()),
            (false, _) => format!(" {} ", pane.title()),
        };
        let ink = if drawn { ink } else { Ink::Dim };
        let label = Row::new(ink, label);
        let used = label.width();
        draw_row(buffer, theme, area, &label);
        let room = usize::from(area.width).saturating_sub(used + 3);
        // Names side by side share one state.
        let is_tab = places.status.is_some_and(|(_, at)| at.y == area.y);
        let row = status(model, pane).fit_parts(room);
        if !is_tab && room > 0 && !row.pieces.is_empty() {
            let (x, width) = (area.x + used as u16, room as u16 + 2);
            let row = Row::new(Ink::Text, "  ").join(row).add(Ink::Text, " ");
            draw_row(buffer, theme, Rect { x, width, ..area }, &row);
        }
    }
    if let Some((pane, area)) = places.status {
        let row = status(model, pane).fit_parts(usize::from(area.width).saturating_sub(2));
        if !row.pieces.is_empty() {
            let width = row.width() as u16 + 2;
            let x = area.right().saturating_sub(width);
            let row = Row::new(Ink::Text, " ").join(row).add(Ink::Text, " ");
            draw_row(buffer, theme, Rect { x, width, ..area }, &row);
        }
    }
}

fn status(model: &Model, pane: Pane) -> Row {
    match pane {
        Pane::Chat if !model.chat.is_following() => {
            Row::new(Ink::Dim, "scrolled: Ctrl+End follows")
        }
        Pane::Chat if model.chat.goes_on => Row::new(Ink::Dim, "goes on below: Ctrl+End"),
        Pane::Chat => Row::default(),
        Pane::Path => path::status(model),
        Pane::Evidence => evidence::status(model),
        Pane::Audit => audit::status(model),
    }
}

/// Draws the document that has the screen for itself, with its title and what is to be said of it.
fn document(model: &Model, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let Some(view) = &model.reading else {
        return;
    };
    let rows = evidence::source_head(model, view, area.width.into());
    let head = Rect::new(area.x, 1, area.width, area.y - 2);
    let head = head.rows().zip(&rows);
    for (line, row) in head.chain(area.rows().zip(&view.visible)) {
        draw_row(buffer, theme, line, row);
    }
}

/// Draws the prompt and tells where the caret stands.
fn prompt(model: &Model, theme: &Theme, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    if let Some(playhead) = &model.replay {
        draw_row(buffer, theme, area, &playhead.row(area.width.into()));
        if let Some(remark) = playhead.remark().filter(|_| model.notice.is_none()) {
            let border = Rect::new(area.x + 1, area.y - 1, area.width.saturating_sub(2), 1);
            let remark = Row::new(Ink::Text, " ").join(remark).add(Ink::Text, " ");
            draw_row(buffer, theme, border, &remark);
        }
        return None;
    }
    let sign = prompt_sign(model);
    if let Some(find) = &model.find {
        let caret = Row::new(Ink::Focus, " find ").add(Ink::Text, find.typed.clone());
        let count = Row::new(Ink::Dim, format!("{} ", find.count()));
        let at = (caret.width() as u16).min(area.width.saturating_sub(1));
        let row = caret.and_right(count, area.width.into());
        draw_row(buffer, theme, area, &row);
        return Some(Position::new(area.x + at, area.y));
    }
    let used = (sign.width() as u16).min(area.width);
    draw_row(buffer, theme, area, &sign);
    let text = Rect {
        x: area.x + used,
        width: (area.width - used).saturating_sub(1),
        ..area
    };
    if text.is_empty() {
        return None;
    }
    if model.prompt.is_empty() && model.is_acting() {
        let key = model.keymap.name_in(Action::FocusChat, KeyContext::Acting);
        let key = key.unwrap_or_else(|| "any other letter".to_owned());
        let words = format!("letters act on the answer · {key} types");
        let words = Row::new(Ink::Warning, words).fit(text.width.into());
        draw_row(buffer, theme, text, &words);
        return None;
    }
    if model.prompt.is_empty() {
        let words = if model.is_busy() {
            "answering … further questions queue"
        } else {
            "ask, / for commands"
        };
        let words = Row::new(Ink::Dim, words).fit(text.width.into());
        draw_row(buffer, theme, text, &words);
        return Some(text.as_position());
    }
    let area = model.prompt.area();
    Widget::render(area, text, buffer);
    if let Some(place) = model.prompt.counter(text.height) {
        let place = Row::new(Ink::Dim, place);
        let width = (place.width() as u16).min(text.width);
        let border = Rect::new(text.right() - width, text.y - 1, width, 1);
        draw_row(buffer, theme, border, &place);
    }
    if let Some(edit) = model.editing.as_ref().filter(|_| model.notice.is_none()) {
        let key = model.keymap.name_of(Action::Cancel).unwrap_or_default();
        let words = format!(" editing question {} · {key} leaves ", edit.number);
        let words = Row::new(Ink::Warning, words);
        let width = (words.width() as u16).min(text.width);
        let border = Rect::new(text.x, text.y - 1, width, 1);
        draw_row(buffer, theme, border, &words);
    }
    let caret = area.screen_cursor();
    let (top, left) = area.scroll_offset();
    let x = text.x + (caret.col as u16).saturating_sub(left).min(text.width);
    let y = text.y + (caret.row as u16).saturating_sub(top).min(text.height - 1);
    Some(Position::new(x, y))
}

/// Draws all borders. Every line merges its signs with those of the cells it passes, so that any
/// arrangement gets the right corners and crossings. Those around the pane that has the keys stand out.
pub fn borders(model: &Model, places: &Arrangement, theme: &Theme, buffer: &mut Buffer) {
    let focused = places.pane(model.focus).map(|area| {
        // The border runs around the title row and, for the chat, around the prompt.
        let mut around = area;
        for &(pane, title) in &places.titles {
            if pane == model.focus && title.width == area.width {
                around = around.union(title);
            }
        }
        if let Some(prompt) = places.prompt.filter(|_| model.focus == Pane::Chat) {
            around = around.union(prompt);
        }
        around.outer(Margin::new(1, 1))
    });
    let mut draw = |x: u16, y: u16, sign: &str| {
        let at = Position::new(x, y);
        let lit = focused.is_some_and(|area| area.contains(at));
        let ink = if lit { Ink::Focus } else { Ink::Border };
        let style = theme.style(ink).remove_modifier(Modifier::BOLD);
        if let Some(cell) = buffer.cell_mut(at) {
            cell.merge_symbol(sign, MergeStrategy::Exact)
                .set_style(style);
        }
    };
    for &(y, first, last) in &places.across {
        line(first, last, ["╶", "─", "╴"], |x, sign| {
            draw(x, y, sign);
        });
    }
    for &(x, first, last) in &places.down {
        line(first, last, ["╷", "│", "╵"], |y, sign| {
            draw(x, y, sign);
        });
    }
}

/// Half a sign at each end of a line and whole ones between.
fn line(first: u16, last: u16, signs: [&str; 3], mut draw: impl FnMut(u16, &str)) {
    for at in (first..=last).filter(|_| first < last) {
        let sign = usize::from(at > first) + usize::from(at == last);
        draw(at, signs[sign]);
    }
}

// What depends on the size of the screen, worked out before drawing, so that drawing only reads.

/// Settles the panes, the list above the prompt and the window that lies above them.
pub fn settle(model: &mut Model) {
    let places = Arrangement::new(model);
    if let (Some(view), Some(area)) = (&mut model.reading, places.reading) {
        view.settle(area.as_size());
    }
    if let Some(area) = places.pane(Pane::Chat) {
        chat::settle(model, area.as_size());
    }
    menu::settle(model);
    if let Some(area) = places.pane(Pane::Audit) {
        audit::settle(model, area.as_size());
    }
    if let Some(area) = places.pane(Pane::Evidence) {
        evidence::settle(model, area.as_size());
    }
    if let Some(area) = places.pane(Pane::Path) {
        path::settle(model, area.as_size());
    }
    settle_window(model, &places);
}

fn settle_window(model: &mut Model, places: &Arrangement) {
    let window = model.overlay.as_ref();
    let view = window.map(|window| WindowView::new(model, window, places));
    if let (Some(window), Some(view)) = (&mut model.overlay, view) {
        let height = view.area.height.into();
        if window.shown.is_choice() {
            window.list.settle(view.count, height);
        } else {
            window.list.settle_view(view.count, height);
        }
    }
}

/// Lays out what may be seen next, once a frame is out.
pub fn lay_out_ahead(model: &mut Model) {
    if let Some(area) = Arrangement::new(model).pane(Pane::Chat) {
        chat::lay_out_neighbours(model, area.as_size());
    }
}
