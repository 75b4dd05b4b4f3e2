//! Windows that only show: what is indexed, which engine answers.

use crate::protocol::{Mode, joined};
use crate::text::one_line;

use super::ink::{Ink, Row, grouped, grouped_plural, pad};
use super::model::Model;
use super::window::Page;
use super::wrap::wrap;

/// Columns before what a line says.
const LABEL: usize = 22;

/// What the window is called.
pub fn title(page: Page) -> &'static str {
    match page {
        Page::Index => "Index",
        Page::Sources => "Knowledge base",
        Page::Engine => "Engine",
    }
}

/// Lays out all rows of the page.
pub fn rows(model: &Model, page: Page, width: usize) -> Vec<Row> {
    let rows = match page {
        Page::Index => [index(model), left_out(model)].concat(),
        Page::Sources => sources(model),
        Page::Engine => engine(model),
    };
    let broken = |row: &Row| {
        let indent = Row::new(Ink::Text, " ".repeat(LABEL.min(width / 2)));
        wrap(row, &Row::default(), &indent, width)
    };
    rows.iter().flat_map(broken).collect()
}

fn line(label: &str, value: impl Into<String> + AsRef<str>) -> Row {
    Row::new(Ink::Dim, pad(label, LABEL)).add(Ink::Text, value)
}

fn heading(text: &str) -> [Row; 2] {
    [Row::default(), Row::new(Ink::Heading, text)]
}

fn index(model: &Model) -> Vec<Row> {
    let knowledge = &model.knowledge;
    let state = match (knowledge.indexing, knowledge.pending) {
        (true, 0) => "looking for changes".to_owned(),
        (true, pending) => format!("embedding, {} to come", grouped(pending as u64)),
        (false, 0) => "up to date".to_owned(),
        (false, pending) => format!("{} not embedded", grouped(pending as u64)),
    };
    vec![
        line("name", one_line(&knowledge.name, 200)),
        line("documents", grouped(knowledge.documents as u64)),
        line("chunks", grouped(knowledge.chunks as u64)),
        line("state", state),
        line(
            "watching",
            if knowledge.watching {
                "yes: saved files are searchable at once"
            } else {
                "no"
            },
        ),
    ]
}

/// The files that are not in the index, with their reasons.
fn left_out(model: &Model) -> Vec<Row> {
    let left_out = &model.contents.left_out;
    if left_out.count == 0 {
        return Vec::new();
    }
    let mut rows = heading("Left out").to_vec();
    rows.push(line("files", grouped(left_out.count as u64)));
    for (path, reason) in &left_out.files {
        let row = Row::new(Ink::Text, format!("{}: ", one_line(path, 400)));
        rows.push(row.add(Ink::Dim, one_line(reason, 400)));
    }
    let more = left_out.count.saturating_sub(left_out.files.len());
    if more > 0 {
        let words = format!(
            "and {} more; 'kb-agent index' lists all",
            grouped(more as u64)
        );
        rows.push(Row::new(Ink::Dim, words));
    }
    rows
}

/// The folders and files that the base is made of, with what each holds.
fn sources(model: &Model) -> Vec<Row> {
    let contents = &model.contents;
    let mut rows = index(model);
    if !contents.sources.is_empty() {
        rows.extend(heading("Sources"));
    }
    for source in &contents.sources {
        rows.push(Row::new(Ink::Text, one_line(&source.path, 400)));
        let held = format!(
            "{} · {}",
            grouped_plural(source.documents, "document"),
            grouped_plural(source.chunks, "chunk")
        );
        let mut row = line("", held);
        if source.is_added {
            row.push(Ink::Dim, " · added for this session");
        }
        rows.push(row);
    }
    if let Some(setting) = &contents.setting {
        rows.extend(heading("The same at the next start"));
        rows.push(Row::new(Ink::Text, one_line(setting, 4000)));
        let where_to = "in the environment, or as a line of .env";
        rows.push(Row::new(Ink::Dim, where_to));
    }
    rows
}

fn engine(model: &Model) -> Vec<Row> {
    let limits = model.shown_run().map_or(model.limits, |run| run.limits);
    let mut rows = match model.mode {
        Mode::Offline => vec![
            line("engine", "offline, built in"),
            line("answers", "extractive: quoted from the documents"),
        ],
        Mode::Llm => vec![line("engine", "chat endpoint")],
    };
    let by_model = model.models.by_model();
    let is_one = by_model.len() == 1;
    for (name, jobs) in &by_model {
        let label = if is_one {
            "model".to_owned()
        } else {
            joined(jobs)
        };
        rows.push(line(&label, one_line(name, 200)));
    }
    if model.mode == Mode::Llm {
        rows.push(line("", "/model chooses another one"));
    }
    if let Some(endpoint) = &model.endpoint {
        rows.push(line("endpoint", endpoint.clone()));
    }
    let route = model.route.map_or("auto", |route| route.as_str());
    rows.push(line("route", format!("{route} (/route)")));
    rows.extend(heading("Settings that route"));
    rows.push(line("gradings at most", limits.max_iterations.to_string()));
    rows.push(line(
        "vector threshold",
        format!("{:.2}", limits.vector_score_threshold),
    ));
    rows.push(line(
        "auto-approve up to",
        grouped_plural(limits.auto_approve_max_items, "item"),
    ));
    rows.push(Row::default());
    let words = "Engine, model and settings are set by KB_AGENT_… variables; 'kb-agent doctor' \
                 checks them.";
    rows.push(Row::new(Ink::Dim, words));
    rows
}
