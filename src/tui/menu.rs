//! The list above the prompt: commands while a `/` is typed, and the words or paths that may follow
//! one; documents and folders while an `@` is.

use std::cmp::Reverse;
use std::mem;

use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use unicode_width::UnicodeWidthStr;

use crate::domain::{FilterName, Offers, filter_of, filters, mention_of};
use crate::protocol::{Command, KnowledgeContents};
use crate::text::{one_line, plural};

use super::ink::{Ink, Row, cut_path, pad};
use super::keymap::Action;
use super::layout::Arrangement;
use super::model::{Effect, Model};
use super::pane_state::{Menu, Pane};
use super::slash;
use super::slash::SlashCommand;
use super::theme::{Theme, clear, draw_row};

/// Rows of the list, where the screen has room for them.
const MOST_ROWS: u16 = 12;

/// One row of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MenuEntry {
    /// What is written once this is taken, or the name that is.
    text: String,
    /// What it is.
    kind: EntryKind,
    /// How the row begins.
    label: String,
    /// Description of the entry.
    note: String,
    /// Whether the text is complete, so that Enter runs it.
    pub complete: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryKind {
    /// All of the prompt.
    Command,
    /// A name in the question.
    Name,
    /// A filter in the question.
    Filter,
    /// What goes on what is typed, which can be run as it is.
    Path,
    /// The document that is to be opened.
    Document,
}

/// The rows for what is typed; none where there is nothing to choose, or the list was closed.
pub fn entries(model: &Model) -> Vec<MenuEntry> {
    let is_shown = model.focus == Pane::Chat && model.overlay.is_none() && model.reading.is_none();
    if !is_shown || model.menu.closed {
        return Vec::new();
    }
    let Some(line) = model.prompt.slash() else {
        let filters = model.menu.filters.iter();
        let filters = filters.map(|(text, note)| of_filter(text, note));
        let names = model.menu.names.iter();
        let names = names.map(|name| of_path(name, EntryKind::Name));
        return names.chain(filters).collect();
    };
    let Some((name, argument)) = line.split_once(char::is_whitespace) else {
        let of = |command: &&'static SlashCommand| of_command(command, &model.themes);
        return slash::matching(line).iter().map(of).collect();
    };
    match slash::action_of(name) {
        Some(Action::OpenDocument) => {
            let names = model.menu.names.iter();
            names
                .filter(|name| !name.ends_with('/'))
                .map(|name| of_path(name, EntryKind::Document))
                .collect()
        }
        Some(Action::Add) => {
            let paths = model.menu.paths.iter();
            paths.map(|path| of_path(path, EntryKind::Path)).collect()
        }
        _ => of_argument(name, argument.trim_start(), &model.themes),
    }
}

/// Whether there is something to choose from.
pub fn is_open(model: &Model) -> bool {
    !entries(model).is_empty()
}

fn of_command(command: &SlashCommand, themes: &[String]) -> MenuEntry {
    let complete = command.is_complete();
    let space = if complete { "" } else { " " };
    let arguments = command.choices(themes).join(" ");
    let note = match (complete, arguments.as_str()) {
        (_, "") => command.help.clone(),
        (true, words) => format!("{} [{words}]", command.help),
        (false, words) => format!("{}: {words}", command.help),
    };
    MenuEntry {
        text: format!("{}{space}", command.name),
        kind: EntryKind::Command,
        label: command.name.clone(),
        note,
        complete,
    }
}

/// A filter with a value that can be taken.
fn of_filter(text: &str, note: &str) -> MenuEntry {
    MenuEntry {
        text: text.to_owned(),
        kind: EntryKind::Filter,
        label: one_line(text, 200),
        note: note.to_owned(),
        complete: false,
    }
}

/// A document, a folder or another path.
fn of_path(path: &str, kind: EntryKind) -> MenuEntry {
    let is_name = kind == EntryKind::Name;
    let command = match kind {
        EntryKind::Path => slash::name_of(Action::Add),
        EntryKind::Document => slash::name_of(Action::OpenDocument),
        EntryKind::Name | EntryKind::Filter | EntryKind::Command => None,
    };
    let prefix = command.map_or_else(String::new, |name| format!("{name} "));
    let note = if path.ends_with('/') { "folder" } else { "" };
    MenuEntry {
        text: prefix + path,
        kind,
        label: one_line(path, 200),
        note: note.to_owned(),
        complete: !is_name,
    }
}

/// Paths that begin so are known now; a file that is typed already needs no offer.
pub fn listed(model: &mut Model, typed: &str, paths: Vec<String>) {
    if path_typed(&model.menu.text) == Some(typed) {
        model.menu.paths = paths;
        model.menu.paths.retain(|path| path != typed);
    }
}

fn document_typed(line: &str) -> Option<&str> {
    argument_typed(line, Action::OpenDocument)
}

fn path_typed(line: &str) -> Option<&str> {
    argument_typed(line, Action::Add)
}

/// What is typed after the command that does this.
fn argument_typed(line: &str, action: Action) -> Option<&str> {
    let (name, argument) = line.split_once(char::is_whitespace)?;
    (slash::action_of(name) == Some(action)).then(|| argument.trim_start())
}

fn of_argument(name: &str, argument: &str, themes: &[String]) -> Vec<MenuEntry> {
    let [command] = slash::matching(name)[..] else {
        return Vec::new();
    };
    let choices = command.choices(themes).into_iter();
    let begin = choices.filter(|choice| choice.starts_with(argument));
    begin
        .map(|choice| MenuEntry {
            text: format!("{} {choice}", command.name),
            kind: EntryKind::Command,
            label: choice.to_owned(),
            note: command.help.clone(),
            complete: true,
        })
        .collect()
}

/// Begins anew where the text is another; called after each message.
pub fn follow_text(model: &mut Model) -> Option<Effect> {
    let (name, filter) = match model.prompt.slash() {
        Some(line) => (document_typed(line), None),
        None => (model.prompt.mention(), model.prompt.filter()),
    };
    let filter = filter.filter(|_| name.is_none());
    let open = name.or(filter.map(|(typed, _)| typed));
    let typed = open.or(model.prompt.slash()).unwrap_or_default();
    // Every event of a run comes here, most while nothing is typed. Comparing the bytes of two empty
    // texts, which are nowhere in memory, took a tenth of an event's time (`cargo bench --bench screen`).
    let is_untouched = typed.is_empty() && model.menu.text.is_empty();
    if is_untouched || model.menu.text == typed {
        return None;
    }
    let names = name.map(|typed| matching_names(&model.contents.names, typed));
    let filters = filter.map(|(typed, filter)| matching_filters(&model.contents, filter, typed));
    let path = path_typed(typed);
    // They stand until it is known what else begins so.
    let mut paths = mem::take(&mut model.menu.paths);
    paths.retain(|known| path.is_some_and(|path| known.starts_with(path) && known != path));
    let asked = path.map(|path| Effect::Send(Command::ListPaths(path.to_owned())));
    model.menu = Menu {
        text: typed.to_owned(),
        names: names.unwrap_or_default(),
        filters: filters.unwrap_or_default(),
        paths,
        ..Menu::default()
    };
    asked
}

/// Keeps the selection within the list and in sight.
pub fn settle(model: &mut Model) {
    let count = entries(model).len();
    let height = area(model, count).map_or(0, |area| usize::from(area.height - 1));
    model.menu.list.settle(count, height);
}

/// The row that is selected.
pub fn selected(model: &Model) -> Option<MenuEntry> {
    let entries = entries(model);
    let last = entries.len().checked_sub(1)?;
    entries.into_iter().nth(model.menu.list.selected.min(last))
}

/// What opening the selected row does, where that is not to run it.
pub fn word_for_opening(model: &Model) -> Option<&'static str> {
    let entry = selected(model)?;
    if is_typed(model, &entry) {
        return Some("send");
    }
    (!entry.complete).then_some("take")
}

/// Whether this stands in the question already: a name, or a filter that says something without what is
/// offered.
fn is_typed(model: &Model, entry: &MenuEntry) -> bool {
    let typed = &model.menu.text;
    match entry.kind {
        EntryKind::Name => entry.label == typed.trim_start_matches(['@', '"']),
        EntryKind::Filter => {
            let is_chosen = model.menu.list.selected > 0;
            let filter = model.prompt.filter().filter(|_| !is_chosen);
            filter.is_some_and(|(_, filter)| filter.takes_any() && !typed.ends_with(':'))
        }
        EntryKind::Command | EntryKind::Path | EntryKind::Document => false,
    }
}

/// What a key does to the list; what is left is to run what the prompt then holds.
pub fn act(model: &mut Model, action: Action) -> Option<Submission> {
    let count = entries(model).len();
    let list = &mut model.menu.list;
    match action {
        // Round and round: the last command is one step above the first.
        Action::Up if list.selected == 0 => list.last(count),
        Action::Up => list.step(-1),
        Action::Down if list.selected + 1 >= count => list.first(),
        Action::Down => list.step(1),
        Action::PageUp => list.page(-1),
        Action::PageDown => {
            list.page(1);
            list.selected = list.selected.min(count.saturating_sub(1));
        }
        Action::Complete => take(model, false),
        Action::Open => {
            let entry = selected(model)?;
            if is_typed(model, &entry) {
                return Some(Submission::Question);
            }
            // The first of them is not chosen, only shown.
            if entry.kind == EntryKind::Path && model.menu.list.selected == 0 {
                return Some(Submission::Command);
            }
            take(model, true);
            return entry.complete.then_some(Submission::Command);
        }
        Action::Cancel => model.menu.closed = true,
        _ => {}
    }
    None
}

/// What the prompt holds, which is to be run.
#[derive(Debug)]
pub enum Submission {
    /// A command.
    Command,
    /// A question, whose last name was complete already.
    Question,
}

/// Writes what is selected; a name that is chosen for good ends with a space, and so does that of a
/// document, which has nothing below it.
fn take(model: &mut Model, is_chosen: bool) {
    let Some(entry) = selected(model) else {
        return;
    };
    match entry.kind {
        EntryKind::Command | EntryKind::Path | EntryKind::Document => {
            model.prompt.set(&entry.text);
            return;
        }
        EntryKind::Filter if is_chosen || !entry.label.ends_with('/') => {
            model.prompt.complete(&format!("{} ", entry.text));
            return;
        }
        EntryKind::Filter => {
            model.prompt.complete(&entry.text);
            return;
        }
        EntryKind::Name => {}
    }
    let text = mention_of(&entry.text).unwrap_or_default();
    if is_chosen || !entry.label.ends_with('/') {
        model.prompt.complete(&format!("{text} "));
    } else {
        // Without its closing quote there is more to type.
        let open = text.strip_suffix('"').unwrap_or(&text);
        model.prompt.complete(open);
    }
}

/// Where the list stands, its upper border included.
fn area(model: &Model, count: usize) -> Option<Rect> {
    let prompt = Arrangement::new(model).prompt.filter(|_| count > 0)?;
    let border = prompt.y.checked_sub(1)?;
    // The first line of the screen stays.
    let room = border.checked_sub(2).filter(|room| *room > 0)?;
    let height = (count as u16).min(room).min(MOST_ROWS) + 1;
    Some(Rect {
        y: border - height,
        height,
        ..prompt
    })
}

/// Which row is at this cell; the upper border is none.
pub fn row_at(model: &Model, position: Position) -> Option<usize> {
    let count = entries(model).len();
    let area = area(model, count).filter(|area| area.contains(position))?;
    let row = usize::from(position.y.checked_sub(area.y + 1)?);
    Some(model.menu.list.top + row).filter(|row| *row < count)
}

/// Whether this cell belongs to the list.
pub fn contains(model: &Model, position: Position) -> bool {
    let count = entries(model).len();
    area(model, count).is_some_and(|area| area.contains(position))
}

/// The frame goes on straight beside the list, whatever borders it lies on.
fn frame(model: &Model, area: Rect, buffer: &mut Buffer) {
    let last = model.size.width.saturating_sub(1);
    for (x, head) in [(0, "├"), (last, "┤")] {
        for y in area.top()..area.bottom() {
            let is_beside = x + 1 == area.x || x == area.right();
            if let Some(cell) = buffer.cell_mut((x, y)).filter(|_| is_beside) {
                cell.set_symbol(if y == area.y { head } else { "│" });
            }
        }
    }
}

/// Draws the list above the prompt.
pub fn draw(model: &Model, theme: &Theme, buffer: &mut Buffer) {
    let entries = entries(model);
    let Some(area) = area(model, entries.len()) else {
        return;
    };
    clear(area, buffer);
    frame(model, area, buffer);
    let width = usize::from(area.width);
    let is_name = |entry: &MenuEntry| {
        matches!(
            entry.kind,
            EntryKind::Name | EntryKind::Filter | EntryKind::Document
        )
    };
    let are_names = entries.iter().any(is_name);
    let (top, seen) = (model.menu.list.top, usize::from(area.height) - 1);
    let part = if entries.len() > seen {
        let last = (top + seen).min(entries.len());
        let are_best = are_names && entries.len() == MOST_NAMES;
        let more = if are_best { "the best " } else { "" };
        format!(" {}–{last} of {more}{} ", top + 1, entries.len())
    } else {
        String::new()
    };
    let rule = "─".repeat(width.saturating_sub(part.chars().count() + 2));
    let head = Row::new(Ink::Border, rule)
        .add(Ink::Dim, part)
        .add(Ink::Border, "──");
    draw_row(buffer, theme, area, &head);
    let labels = entries.iter().map(|entry| entry.label.width());
    let most = if are_names {
        width.saturating_sub(14)
    } else {
        width / 2
    };
    let column = labels.max().unwrap_or(0).min(most);
    let lines = area.rows().skip(1);
    for (at, (line, entry)) in lines.zip(entries.iter().skip(top)).enumerate() {
        let is_selected = top + at == model.menu.list.selected;
        let sign = if is_selected { " ▸ " } else { "   " };
        let row = Row::new(Ink::Focus, sign)
            .add(Ink::Key, pad(&cut_path(&entry.label, column), column))
            .add(Ink::Text, format!("  {}", entry.note));
        draw_row(buffer, theme, line, &row.fit(width));
        if is_selected {
            buffer.set_style(line, theme.style(Ink::Selected));
        }
    }
}

// Names of documents and folders that match what is typed after an `@`.

/// Names that are offered; more letters find the others.
const MOST_NAMES: usize = 200;

/// The names that match what is typed after an `@`, those first that match best; none where it is one
/// of them already.
fn matching_names(names: &[String], typed: &str) -> Vec<String> {
    let typed = typed.trim_start_matches(['@', '"']);
    let names = names.iter().map(String::as_str);
    let best: Vec<String> = best_first(names, typed).map(str::to_owned).collect();
    match best.first() {
        Some(name) if name == typed && !name.ends_with('/') => Vec::new(),
        _ => best,
    }
}

/// What may stand after the colon of a filter and matches what is typed there, the best first, each with what
/// it is; none where it is one of them already.
fn matching_filters(
    contents: &KnowledgeContents,
    filter: &FilterName,
    typed: &str,
) -> Vec<(String, String)> {
    let (kinds, values) = (&contents.kinds, &contents.filter_values);
    let offered: Vec<&str> = match filter.offers {
        Offers::Documents => contents.names.iter().map(String::as_str).collect(),
        Offers::Kinds => kinds.iter().map(|(kind, _)| kind.as_str()).collect(),
        Offers::Tags => values.tags.iter().map(|(tag, _)| tag.as_str()).collect(),
        Offers::Days => values.days.iter().map(|(day, _)| day.as_str()).collect(),
    };
    let counted = |known: &[(String, usize)], value: &str| {
        let found = known.iter().find(|(name, _)| name == value);
        found.map(|(_, count)| plural(*count, "document"))
    };
    let note = |value: &str| match filter.offers {
        Offers::Documents => value.ends_with('/').then(|| "folder".to_owned()),
        Offers::Kinds => counted(kinds, value),
        Offers::Tags => counted(&values.tags, value),
        Offers::Days => {
            let found = values.days.iter().find(|(day, _)| day == value);
            found.map(|(_, note)| (*note).to_owned())
        }
    };
    let value = typed.split_once(':').map_or("", |(_, value)| value);
    let value = value.trim_start_matches('"');
    let best = best_first(offered.into_iter(), value).filter_map(|value| {
        let text = filter_of(filter, value);
        // What would be read as words is not offered.
        let is_read = filters(&text).list.len() == 1;
        is_read.then(|| (text, note(value).unwrap_or_default()))
    });
    let best: Vec<(String, String)> = best.collect();
    match best.first() {
        Some((text, _)) if text.eq_ignore_ascii_case(typed) && !text.ends_with('/') => Vec::new(),
        _ => best,
    }
}

/// What matches what is typed, the best first.
fn best_first<'n>(
    names: impl Iterator<Item = &'n str>,
    typed: &str,
) -> impl Iterator<Item = &'n str> {
    let names: Vec<&str> = names.collect();
    let (ignore, smart) = (CaseMatching::Ignore, Normalization::Smart);
    let pattern = Pattern::new(typed, ignore, smart, AtomKind::Fuzzy);
    let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
    let mut buffer = Vec::new();
    let scored = names.iter().enumerate().filter_map(|(at, name)| {
        let score = pattern.score(Utf32Str::new(name, &mut buffer), &mut matcher)?;
        // Among equals the order of the names stands.
        Some((*name != typed, Reverse(score), at))
    });
    let mut scored: Vec<_> = scored.collect();
    scored.sort_unstable();
    let best = scored.into_iter().take(MOST_NAMES);
    best.map(move |(.., at)| names[at])
}

#[cfg(test)]
mod matching_tests {
    use super::*;

    fn names() -> Vec<String> {
        let folders = (0..30).map(|at| format!("folder {at}/"));
        let files = (0..600).map(|at| format!("folder {}/note-{at}.md", at % 30));
        folders.chain(files).collect()
    }

    #[test]
    fn the_best_names_are_offered_and_none_for_a_name_that_is_typed() {
        let names = names();
        assert_eq!(matching_names(&names, "@f").len(), MOST_NAMES);
        assert_eq!(matching_names(&names, "@fo 7")[0], "folder 7/");
        assert_eq!(
            matching_names(&names, "@note-599"),
            ["folder 29/note-599.md"]
        );
        assert!(matching_names(&names, "@folder 7/note-7.md").is_empty());
    }
}
