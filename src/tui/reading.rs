//! What the keys do while a document is read, and how it gets there.

use crate::protocol::{Command, DocumentText};
use crate::text::{nearest, one_line};

use super::focus::{quit, report};
use super::fold::EvidenceRow;
use super::keymap::Action;
use super::model::{Effect, Model, Overlay};
use super::source_view::SourceView;
use super::window::Window;
use super::{copy, labels};

/// Opens the document of the item that is selected in the evidence pane.
pub fn open_selected(model: &mut Model) -> Option<Effect> {
    let selected = model.evidence.list.selected;
    let run = model.shown_run()?;
    // The selection is settled when it is drawn, and keys can come faster.
    let last = run.evidence.len().saturating_sub(1);
    let item = run.evidence.rows().nth(selected.min(last))?;
    let view = SourceView::new(run, item);
    Some(open(model, view))
}

/// Opens the document of the citation that is selected in the chat.
pub fn open_citation(model: &mut Model) -> Option<Effect> {
    let selected = model.chat.citation;
    let turn = model.shown_turn().zip(selected);
    let (run, citation) =
        turn.and_then(|(turn, at)| Some((&turn.run, turn.run.citations.get(at)?)))?;
    let Some(item) = run.evidence.get(&citation.id) else {
        let words = format!("The passage of [{}] was not recorded.", citation.n);
        model.inform(&words);
        return None;
    };
    let view = SourceView::new(run, item);
    Some(open(model, view))
}

/// Opens the list of documents.
pub fn open_list(model: &mut Model) {
    let names = document_names(model);
    let mut window = Window::new(Overlay::Documents(names.clone()));
    window.set_texts(names);
    model.overlay = Some(window);
}

/// Opens the document of that name, or the only one with such a name.
pub fn open_named(model: &mut Model, name: &str) -> Option<Effect> {
    let name = name.trim_start_matches('@').trim_matches('"');
    let names = document_names(model);
    let is_end =
        |known: &&String| known.ends_with(name) && known[..known.len() - name.len()].ends_with('/');
    let found = match names.iter().find(|known| *known == name) {
        Some(exact) => vec![exact],
        None => names.iter().filter(is_end).collect(),
    };
    match found[..] {
        [only] => Some(open_document(model, only.clone())),
        [] => {
            let near = nearest(name, names.iter().map(String::as_str))
                .into_iter()
                .next();
            let near = near.map_or_else(String::new, |near| format!(" did you mean {near}?"));
            let name = one_line(name, 80);
            model.warn(&format!(
                "There is no document {name};{near} /docs lists all."
            ));
            None
        }
        _ => {
            let name = one_line(name, 80);
            model.warn(&format!(
                "{} documents are called {name}; say in which folder.",
                found.len()
            ));
            None
        }
    }
}

/// Opens a document from its first line.
pub fn open_document(model: &mut Model, name: String) -> Effect {
    open(model, SourceView::of_document(name))
}

fn document_names(model: &Model) -> Vec<String> {
    let names = model.contents.names.iter();
    names.filter(|name| !name.ends_with('/')).cloned().collect()
}

fn open(model: &mut Model, view: SourceView) -> Effect {
    let effect = read(&view, view.first_line());
    model.reading = Some(view);
    effect
}

/// Asks for the lines around this one.
fn read(view: &SourceView, line: usize) -> Effect {
    let source = view.file.clone();
    Effect::Send(Command::ReadDocument { source, line })
}

/// An action while a document is read.
pub fn act(model: &mut Model, action: Action) -> Option<Effect> {
    let view = model.reading.as_mut()?;
    match action {
        Action::Up => view.step(-1),
        Action::Down => view.step(1),
        Action::PageUp => view.page(-1),
        Action::PageDown => view.page(1),
        Action::First => view.first(),
        Action::Last => view.last(),
        Action::NextEvidence => return next(model, 1),
        Action::PreviousEvidence => return next(model, -1),
        Action::Copy => return copy_passage(model),
        Action::Edit => return edit(model),
        Action::JudgeGood | Action::JudgeBad => return labels::judge(model, action),
        Action::Why => return why(model),
        Action::Mouse => return Some(report(model, !model.mouse)),
        Action::Help => model.open(Overlay::Help),
        Action::Cancel => model.reading = None,
        Action::Quit => {
            model.reading = None;
            return quit(model);
        }
        _ => {}
    }
    more(model)
}

/// Asks for the lines that were scrolled to, where they are not here.
pub fn more(model: &mut Model) -> Option<Effect> {
    let view = model.reading.as_mut()?;
    let line = view.line_to_request();
    line.map(|line| read(view, line))
}

/// Takes a document, if it is the one that is awaited.
pub fn arrived(model: &mut Model, text: DocumentText) {
    if let Some(view) = &mut model.reading {
        view.take(text);
    }
}

/// Asks why the passage at the line that is seen was found or was not, or closes the answer.
fn why(model: &mut Model) -> Option<Effect> {
    let found = model.reading.as_ref()?.found.as_ref();
    // A document that was opened by its name is looked for in the run that the panes show.
    let run = found.map(|(run, _)| run.clone());
    let Some(run) = run.or_else(|| model.shown_run().map(|run| run.id.clone())) else {
        model.inform("Nothing was asked yet.");
        return None;
    };
    let view = model.reading.as_mut()?;
    let line = view.ask_why()?;
    let source = view.file.clone();
    Some(Effect::Send(Command::Explain { run, source, line }))
}

/// Takes why a passage was found or was not, if its document is the one that is read.
pub fn explained(model: &mut Model, source: &str, lines: &[String]) {
    if let Some(view) = model.reading.as_mut().filter(|view| view.file == source) {
        view.take_explanation(lines);
    }
}

/// The engine did not take the request.
pub fn refused(model: &mut Model) {
    if model.reading.as_ref().is_some_and(SourceView::is_awaited) {
        model.reading = None;
    }
    model.warn("The engine is busy and did not read the document; try again.");
}

/// The engine is gone, and with it what is awaited.
pub fn abandon(model: &mut Model) {
    if let Some(view) = model.reading.as_mut().filter(|view| view.is_awaited()) {
        view.fail("the engine stopped");
    }
}

/// The editor is closed: what it may have changed is read again.
pub fn edited(model: &mut Model, result: Result<(), String>) -> Option<Effect> {
    if let Err(reason) = result {
        model.warn(&reason);
        return None;
    }
    let view = model.reading.as_mut()?;
    let line = view.request_again();
    Some(read(view, line))
}

/// Shows the evidence that many rows further in its pane, and moves the pane's selection with it.
fn next(model: &mut Model, by: isize) -> Option<Effect> {
    let Some((found_by, item)) = model.reading.as_ref()?.found.as_ref() else {
        model.inform("This document was opened by its name, and has no other evidence.");
        return None;
    };
    let run = &model.turns.opened(found_by)?.run;
    let rows: Vec<&EvidenceRow> = run.evidence.rows().collect();
    let here = rows.iter().position(|row| row.id == *item).unwrap_or(0);
    let there = here.checked_add_signed(by).filter(|at| *at < rows.len());
    let Some(there) = there else {
        let end = if by > 0 { "last" } else { "first" };
        model.inform(&format!("That was the {end} evidence."));
        return None;
    };
    let (view, run_id) = (SourceView::new(run, rows[there]), run.id.clone());
    if model.shown_run().is_some_and(|shown| shown.id == run_id) {
        model.evidence.list.selected = there;
    }
    Some(open(model, view))
}

/// What the view's passage is called: file and place, clean.
fn place(model: &Model) -> Option<String> {
    let (run, item) = model.reading.as_ref()?.found.as_ref()?;
    model.turns.opened(run)?.run.evidence.place(item)
}

fn copy_passage(model: &mut Model) -> Option<Effect> {
    let passage = model.reading.as_ref().and_then(SourceView::passage);
    let (Some(place), Some((text, lines))) = (place(model), passage) else {
        model.inform("There is no passage to copy.");
        return None;
    };
    let text = format!("{place}\n\n{text}\n");
    copy::to_clipboard(model, &place, lines, text)
}

fn edit(model: &mut Model) -> Option<Effect> {
    let view = model.reading.as_ref()?;
    if let Some((path, line)) = view.in_file() {
        let path = path.to_owned();
        return Some(Effect::Edit { path, line });
    }
    let words = if view.range().is_some() {
        let name = one_line(&view.file, 80);
        format!("{name} is shown as extracted text; it has no lines that an editor could open.")
    } else {
        "There is no file to open.".to_owned()
    };
    model.inform(&words);
    None
}
