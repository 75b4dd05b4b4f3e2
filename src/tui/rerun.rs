//! A run begins again at a node of the run that is shown, with its state as it was or changed by hand.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::domain::NodeName;
use crate::protocol::Mode;
use crate::text::one_line;

use super::ask::ask;
use super::keymap::{Action, KeyContext};
use super::model::{Effect, Model, Overlay, TurnQuestion};
use super::pane_state::PathItem;
use super::panes::path;
use super::panes::rerun::{HEADER_ROWS, window};
use super::rerun_plan::{RerunPlan, STEP};
use super::window::type_up_to;

/// The longest instruction, in characters.
const LONGEST_INSTRUCTION: usize = 400;

/// Opens the window from which a run begins again at the node that is selected, or at the one whose
/// details are shown.
pub fn open(model: &mut Model) {
    let item = match model.shown_overlay() {
        Some(Overlay::Detail { item, .. }) => *item,
        _ => path::current(model),
    };
    if model.replay.is_some() {
        model.inform("Esc leaves the replay first.");
        return;
    }
    let PathItem::Node(node) = item else {
        model.inform("Choose a node to begin at.");
        return;
    };
    let Some(plan) = plan(model, node) else {
        return;
    };
    model.overlay = Some(window(Box::new(plan)));
    model.beneath = None;
}

fn plan(model: &mut Model, node: NodeName) -> Option<RerunPlan> {
    let Some((at, run)) = model.shown_at().zip(model.shown_run()) else {
        model.inform("Nothing was asked yet.");
        return None;
    };
    if run.finish.is_none() {
        model.inform("Still answering. Esc stops the run.");
        return None;
    }
    let (exchange, limits) = (run.exchange.clone(), run.limits);
    let events = model.turns.events_with_earlier(at);
    let plan = RerunPlan::new(&exchange, limits, events, node);
    if plan.is_none() {
        let words = match node {
            NodeName::AnalyzeAndRoute => {
                "Every run begins there: r asks the question again.".to_owned()
            }
            node => format!("The run did not reach {node}: there is no state to begin with."),
        };
        model.inform(&words);
    }
    plan
}

/// A key while the instruction is typed; false where none is, or the key means the same everywhere.
pub fn type_key(model: &mut Model, event: KeyEvent) -> bool {
    let Some(plan) = plan_of(model).filter(|plan| plan.is_typing) else {
        return false;
    };
    match event.code {
        KeyCode::Enter | KeyCode::Esc => plan.is_typing = false,
        KeyCode::Char('c') if event.modifiers.contains(KeyModifiers::CONTROL) => return false,
        _ => {
            let is_full = plan.instruction.chars().count() >= LONGEST_INSTRUCTION;
            let is_changed = type_up_to(&mut plan.instruction, event, LONGEST_INSTRUCTION);
            if is_full && !is_changed {
                inform_of_limit(model);
            }
        }
    }
    true
}

/// Takes pasted text into the instruction while that is typed; false where the window is not open.
pub fn paste(model: &mut Model, text: &str) -> bool {
    let Some(plan) = plan_of(model) else {
        return false;
    };
    if !plan.is_typing {
        let key = model.keymap.name_in(Action::Instruct, KeyContext::Rerun);
        let key = key.unwrap_or_default();
        model.inform(&format!("{key} begins an instruction; paste then."));
        return true;
    }
    let all = one_line(&format!("{}{text}", plan.instruction), usize::MAX);
    plan.instruction = all.chars().take(LONGEST_INSTRUCTION).collect();
    if plan.instruction.len() < all.len() {
        inform_of_limit(model);
    }
    true
}

fn inform_of_limit(model: &mut Model) {
    let words = format!("An instruction has at most {LONGEST_INSTRUCTION} characters.");
    model.inform(&words);
}

/// Selects the passage in this row of the window, and drops or restores it; false where the window is
/// not open.
pub fn click(model: &mut Model, row: usize) -> bool {
    let Some(plan) = plan_of(model) else {
        return false;
    };
    if let Some(at) = row.checked_sub(HEADER_ROWS)
        && at < plan.passages.len()
    {
        plan.toggle(at);
        if let Some(window) = &mut model.overlay {
            window.list.selected = row;
        }
    }
    true
}

fn plan_of(model: &mut Model) -> Option<&mut RerunPlan> {
    match &mut model.overlay.as_mut()?.shown {
        Overlay::Rerun(plan) => Some(plan),
        _ => None,
    }
}

/// An action in the window; false where it means the same as in any window.
pub fn act(model: &mut Model, action: Action) -> bool {
    let Some(window) = &mut model.overlay else {
        return false;
    };
    let Overlay::Rerun(plan) = &mut window.shown else {
        return false;
    };
    let last = HEADER_ROWS + plan.passages.len().saturating_sub(1);
    let at = window.list.selected.clamp(HEADER_ROWS, last) - HEADER_ROWS;
    let by = match action {
        Action::Unfold => {
            plan.toggle(at);
            return true;
        }
        Action::Reset => {
            plan.reset();
            return true;
        }
        Action::Instruct if model.mode == Mode::Offline => {
            model.inform("The built-in engine follows no instruction; a model does.");
            return true;
        }
        Action::Instruct if plan.from() == NodeName::ToolExec => {
            model.inform("No model is called in tool_exec.");
            return true;
        }
        Action::Instruct => {
            plan.is_typing = true;
            return true;
        }
        Action::Less => -STEP,
        Action::More => STEP,
        Action::MuchLess => -5 * STEP,
        Action::MuchMore => 5 * STEP,
        _ if window.list.act(action) => {
            window.list.selected = window.list.selected.clamp(HEADER_ROWS, last);
            if window.list.selected == HEADER_ROWS {
                // What stands above the passages comes into sight again.
                window.list.top = 0;
            }
            return true;
        }
        _ => return false,
    };
    if plan.goes_by_grades() {
        plan.move_grade(at, by);
    } else {
        model.inform("Grades decide in grade_evidence only; Space drops or restores a passage.");
    }
    true
}

/// Begins the run.
pub fn begin(model: &mut Model, plan: &RerunPlan) -> Option<Effect> {
    let request = plan.request();
    let mut question = TurnQuestion::new(request.query, request.route);
    question.place = request.place;
    question.rerun = Some(Box::new(plan.clone()));
    ask(model, question).1
}
