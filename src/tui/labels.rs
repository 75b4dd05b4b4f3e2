//! Judging: what the keys are on is good, or it is not.
//!
//! A mark is drawn at once and kept beside the log by the engine; where it cannot be kept, what stood
//! there before stands there again.

use crate::domain::{LabelTarget, LabelVerdict, other_routes};
use crate::protocol::{Command, LabelChange, RunId, RunLabels};

use super::fold::Exchange;
use super::ink::{Ink, Row};
use super::keymap::{Action, KeyContext};
use super::model::{Effect, Model};
use super::pane_state::Pane;

/// What a judging key is on.
struct JudgedItem {
    run: RunId,
    target: LabelTarget,
    /// What it is called in a line for the person.
    name: String,
    /// Where the keys are.
    place: KeyContext,
}

/// Judges what the keys are on.
pub fn judge(model: &mut Model, action: Action) -> Option<Effect> {
    if model.replay.is_some() {
        model.inform("Esc leaves the replay; what it shows can be judged then.");
        return None;
    }
    let judged = match judged_item(model) {
        Ok(judged) => judged,
        Err(why) => {
            model.inform(why);
            return None;
        }
    };
    let turn = model.turns.by_run_mut(&judged.run)?;
    let before = turn.labels().get(&judged.target);
    let before = before.unwrap_or(LabelVerdict::TakenBack);
    let taken = turn.exchange().complexity();
    let verdict = match (action, &judged.target, taken) {
        (Action::JudgeGood, ..) => before.after_good(),
        (_, LabelTarget::Route, Some(taken)) => before.after_bad_route(taken),
        _ => before.after_bad(),
    };
    turn.label(judged.target.clone(), verdict);
    let words = words(model, &judged, action, verdict);
    model.inform(&words);
    Some(Effect::Send(Command::Label(LabelChange {
        run: judged.run,
        target: judged.target,
        verdict,
        before,
    })))
}

/// Restores the previous label when the engine could not store the new one.
pub fn not_kept(model: &mut Model, change: LabelChange, reason: &str) {
    if let Some(turn) = model.turns.by_run_mut(&change.run) {
        turn.label(change.target, change.before);
    }
    model.warn(&format!("The label is not kept: {reason}"));
}

/// Sign and colour of a label; `None` where there is none.
pub fn mark(said: Option<LabelVerdict>) -> Option<(Ink, &'static str)> {
    match said? {
        LabelVerdict::Good => Some((Ink::Strong, "✓")),
        LabelVerdict::Bad { .. } => Some((Ink::Failed, "✗")),
        LabelVerdict::TakenBack => None,
    }
}

/// ` ✓`, or ` ✗ should be complex`: what is said of the route, behind its name.
pub fn route_mark(labels: &RunLabels) -> Row {
    let said = labels.get(&LabelTarget::Route);
    let Some((ink, sign)) = mark(said) else {
        return Row::default();
    };
    let row = Row::new(ink, format!(" {sign}"));
    match said {
        Some(said @ LabelVerdict::Bad { .. }) => row.add(ink, format!(" {}", said.in_words())),
        _ => row,
    }
}

/// `✓ judged good`, of an answer or a passage.
pub fn judged_row(labels: &RunLabels, target: &LabelTarget) -> Row {
    let said = labels.get(target);
    let (Some((ink, sign)), Some(said)) = (mark(said), said) else {
        return Row::default();
    };
    Row::new(ink, format!("{sign} judged {}", said.in_words()))
}

/// What the keys are on, or why nothing there can be judged.
fn judged_item(model: &Model) -> Result<JudgedItem, &'static str> {
    if let Some(view) = &model.reading {
        let found = view.found.as_ref();
        let (run, item) = found.ok_or("This document was opened by its name; no run found it.")?;
        let turn = model.turns.opened(run);
        let name = turn.and_then(|turn| turn.run.evidence.place(item));
        return Ok(JudgedItem {
            run: run.clone(),
            target: LabelTarget::Passage { id: item.clone() },
            name: name.unwrap_or_default(),
            place: KeyContext::Source,
        });
    }
    let run = model.shown_run().ok_or("Nothing was asked yet.")?;
    let id = run.id.clone();
    match model.focus {
        Pane::Chat => of_answer(run, place_of_answer(model)),
        Pane::Path if run.complexity().is_none() => Err("The route is not decided."),
        Pane::Path => Ok(JudgedItem {
            run: id,
            target: LabelTarget::Route,
            name: "The route".to_owned(),
            place: KeyContext::Path,
        }),
        Pane::Evidence => {
            // The selection is settled when it is drawn, and keys can come faster.
            let last = run.evidence.len().saturating_sub(1);
            let selected = model.evidence.list.selected.min(last);
            let item = run.evidence.rows().nth(selected);
            let item = item.ok_or("There is no passage to judge.")?;
            Ok(JudgedItem {
                run: id,
                name: item.place(),
                target: LabelTarget::Passage {
                    id: item.id.clone(),
                },
                place: KeyContext::Evidence,
            })
        }
        Pane::Audit => Err("Routes, passages and answers can be judged, in their panes."),
    }
}

fn of_answer(run: &Exchange, place: KeyContext) -> Result<JudgedItem, &'static str> {
    match &run.finish {
        None => Err("The run goes on; its answer can be judged when it has ended."),
        Some(finish) if finish.broke_off() => Err("There is no answer to judge."),
        Some(_) => Ok(JudgedItem {
            run: run.id.clone(),
            target: LabelTarget::Answer,
            name: "The answer".to_owned(),
            place,
        }),
    }
}

/// Where the keys are that judge an answer: letters are typed unless it is chosen.
fn place_of_answer(model: &Model) -> KeyContext {
    let places = [KeyContext::Acting, KeyContext::Chosen];
    let shown = model.places();
    let chosen = places.into_iter().find(|place| shown.contains(place));
    chosen.unwrap_or(KeyContext::Prompt)
}

/// What the key did, and what it does next.
fn words(model: &Model, judged: &JudgedItem, action: Action, verdict: LabelVerdict) -> String {
    let name = &judged.name;
    let key = model.keymap.name_in(action, judged.place);
    let key = key.unwrap_or_default();
    match verdict {
        LabelVerdict::TakenBack => format!("{name}: the label is taken back."),
        LabelVerdict::Bad {
            should_be: Some(said),
        } => {
            let taken = model.shown_run().and_then(|run| run.complexity());
            let others = taken.map(other_routes);
            let next = match others {
                Some([first, second]) if first == said => second.as_str(),
                _ => return format!("{name} should be {}; {key} takes it back.", said.as_str()),
            };
            format!("{name} should be {}; {key} again: {next}.", said.as_str())
        }
        said => format!("{name} is judged {}; {key} takes it back.", said.in_words()),
    }
}
