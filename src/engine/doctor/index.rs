//! The index of the knowledge base that the settings name, read as it is.

use super::check::{Check, Report, off_thread};
use super::endpoint::Embedding;
use super::storage::megabytes;
use crate::config::Settings;
use crate::engine::knowledge::{demo_folder, other_demo_folders};
use crate::kb::{IndexState, Indexed, Inspection, Sources, inspect};
use crate::text::{Trouble, plural};

const WAIT: &str = "wait: another kb-agent is at it right now";
const MADE_BY_ITSELF: &str = "ask a question, or run kb-agent index: either makes it";

/// Whether the index is there, up to date and whole.
pub(super) async fn check(
    settings: &Settings,
    embedding: Option<Embedding>,
    report: &mut Report<'_>,
) {
    let demo = demo_folder(&settings.data_dir);
    for path in other_demo_folders(&settings.data_dir) {
        let line = format!("{} holds another version's demo", path.display());
        let next = "nothing, or remove it once no note of yours is in it";
        report.add(Check::note("demo", line, next));
    }
    let mut paths = settings.sources.clone();
    if paths.is_empty() && !demo.is_dir() {
        let line = "no index yet; no folder is named, so the bundled demo will be searched";
        return report.add(Check::note("contents", line, MADE_BY_ITSELF));
    }
    if paths.is_empty() {
        paths.push(demo);
    }
    let include = settings.include.clone();
    let sources = Sources { paths, include };
    let model = embedding.as_ref().map(|of| of.model.clone());
    let (model, home) = (model.unwrap_or_default(), settings.index_dir());
    let looking = off_thread(move |cancel| {
        inspect(sources, &home, &model, cancel).map_err(|error| error.trouble())
    });
    let place = |seen: &Inspection| {
        let line = format!("{} of '{}'", seen.home.display(), seen.name);
        Check::ok("place", line)
    };
    let looking = report.try_out("the index", "contents", looking, place);
    let Some(seen) = looking.await else {
        return;
    };
    report.add(contents(&seen));
    if let IndexState::Ready(indexed) = &seen.state {
        report.add(files(&seen, indexed));
        if let Some(embedding) = embedding {
            report.add(meaning(&seen, indexed, &embedding));
        }
    }
    if !seen.others.is_empty() {
        report.add(other_versions(&seen));
    }
    if seen.is_written || seen.is_embedded {
        let doing = if seen.is_written {
            "updates"
        } else {
            "embeds for"
        };
        let line = format!("another kb-agent {doing} it right now, which is fine");
        report.add(Check::ok("in use", line));
    }
}

fn contents(seen: &Inspection) -> Check {
    const NAME: &str = "contents";
    let format = &seen.format;
    match &seen.state {
        IndexState::Missing => {
            let line = format!("no index yet, of {}", plural(seen.files, "file"));
            Check::note(NAME, line, wait_or(seen.is_written, MADE_BY_ITSELF))
        }
        IndexState::OtherFormat(others) => {
            let others = others.join(", ");
            let line =
                format!("of another version of kb-agent (format {others}; this one uses {format})");
            Check::note(NAME, line, MADE_BY_ITSELF)
        }
        IndexState::Damaged(_) if seen.is_written => {
            Check::note(NAME, "it is being made anew by another kb-agent", WAIT)
        }
        IndexState::Damaged(why) => {
            let next = "kb-agent index --rebuild makes it anew";
            Check::broken(NAME, Trouble::new(format!("it is damaged: {why}"), next))
        }
        IndexState::Ready(indexed) => {
            let documents = plural(indexed.documents, "document");
            let chunks = plural(indexed.chunks, "passage");
            let mut line = format!("{documents} in {chunks}");
            if indexed.removed > 0 {
                let removed = plural(indexed.removed, "document");
                line += &format!(
                    "; {removed} removed since its list of documents was last written anew"
                );
            }
            Check::ok(NAME, line + "; format " + format + ", which is current")
        }
    }
}

fn files(seen: &Inspection, indexed: &Indexed) -> Check {
    const NAME: &str = "files";
    let left_out = match seen.left_out {
        0 => String::new(),
        count => format!("; {} left out", plural(count, "file")),
    };
    let differing: Vec<String> = [
        (indexed.new, "new"),
        (indexed.changed, "changed"),
        (indexed.vanished, "gone"),
    ]
    .iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, how)| format!("{count} {how}"))
    .collect();
    if !differing.is_empty() {
        let line = format!("not up to date: {}{left_out}", differing.join(", "));
        let next = "ask a question, or run kb-agent index: either takes them up";
        return Check::note(NAME, line, wait_or(seen.is_written, next));
    }
    let check = Check::ok(NAME, format!("up to date with the folders{left_out}"));
    match seen.left_out {
        0 => check,
        _ => check.hint("kb-agent index lists what was left out, and why"),
    }
}

fn meaning(seen: &Inspection, indexed: &Indexed, embedding: &Embedding) -> Check {
    const NAME: &str = "meaning";
    let model = embedding.model.trim_start_matches("endpoint:");
    if let (Some(here), Some(there)) = (embedding.dimensions, indexed.dimensions)
        && here != there
    {
        let line = format!("{model} gives vectors of {here} numbers where the index holds {there}");
        let next = "kb-agent index embeds everything again";
        return Check::broken(NAME, Trouble::new(line, next));
    }
    if let Some(why) = &seen.damaged_vectors
        && !seen.is_embedded
    {
        let line = format!("the vectors are damaged: {why}");
        let next = "kb-agent index makes what is missing anew; until then it is found by its words";
        return Check::broken(NAME, Trouble::new(line, next));
    }
    let (all, pending) = (indexed.chunks - indexed.words_only, indexed.pending);
    if pending == 0 {
        let line = format!("all of {} embedded by {model}", plural(all, "passage"));
        return Check::ok(NAME, line);
    }
    let done = all.saturating_sub(pending);
    let line = format!("{done} of {all} passages embedded by {model}");
    let who = wait_or(seen.is_embedded, "kb-agent index embeds the rest");
    let next = format!("{who}; until then they are found by their words");
    Check::note(NAME, line, next)
}

/// What may go, once the version that made it is not used any more.
fn other_versions(seen: &Inspection) -> Check {
    let (mut listed, mut places) = (Vec::new(), Vec::new());
    for other in &seen.others {
        listed.push(format!("{} ({})", other.name, megabytes(other.size)));
        places.push(format!("'{}'", seen.home.join(&other.name).display()));
    }
    let line = format!("of other versions of kb-agent: {}", listed.join(", "));
    let places = places.join(" ");
    let hint = format!("if no such version is used any more, they may go: rm -r {places}");
    Check::ok("other versions", line).hint(hint)
}

/// What to do, unless another process does it at this moment.
fn wait_or(is_busy: bool, next: &'static str) -> &'static str {
    if is_busy { WAIT } else { next }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn what_another_is_doing_is_not_asked_for_and_removed_documents_are_named() {
        let indexed = Indexed {
            documents: 3,
            chunks: 9,
            pending: 4,
            new: 1,
            removed: 2,
            ..Indexed::default()
        };
        let embedding = Embedding {
            model: "m".to_owned(),
            dimensions: Some(2),
        };
        for is_busy in [false, true] {
            let mut seen = Inspection {
                name: "docs".to_owned(),
                home: PathBuf::from("/data"),
                format: "v1".to_owned(),
                state: IndexState::Missing,
                is_written: is_busy,
                is_embedded: is_busy,
                files: 3,
                left_out: 0,
                others: Vec::new(),
                damaged_vectors: None,
            };
            let checks = [
                contents(&seen),
                files(&seen, &indexed),
                meaning(&seen, &indexed, &embedding),
            ];
            for next in checks.map(|check| check.next.unwrap()) {
                assert_eq!(next.starts_with(WAIT), is_busy, "{next}");
                assert_eq!(next.contains("kb-agent index"), !is_busy, "{next}");
            }
            seen.state = IndexState::Ready(indexed);
            let line = contents(&seen).detail;
            assert!(line.contains("; 2 documents removed since"), "{line}");
        }
    }
}
