use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::check::{Check, broke_off};
use super::embedding::Embedding;
use super::examination::Examination;
use super::storage::megabytes;
use crate::config::Settings;
use crate::engine::demo;
use crate::kb::{IndexState, Indexed, Inspection, KbError, Sources, inspect};
use crate::text::plural;

const AREA: &str = "index";
const WAIT: &str = "wait: another kb-agent is at it right now";
const MADE_BY_ITSELF: &str = "ask a question, or run kb-agent index: either makes it";

/// The index of the knowledge base that the settings name.
pub(super) async fn check(
    settings: &Settings,
    embedding: Option<Embedding>,
    examination: &mut Examination<'_>,
) {
    let demo = demo::folder(&settings.data_dir);
    for path in demo::of_other_versions(&settings.data_dir) {
        examination.add(Check::note(
            AREA,
            "demo",
            format!("{} holds another version's demo", path.display()),
            "nothing, or remove it once no note of yours is in it",
        ));
    }
    let is_demo = settings.sources.is_empty();
    if is_demo && !demo.is_dir() {
        examination.add(Check::note(
            AREA,
            "contents",
            "no index yet; no folder is named, so the bundled demo will be searched",
            MADE_BY_ITSELF,
        ));
        return;
    }
    let roots = if is_demo {
        vec![demo]
    } else {
        settings.sources.clone()
    };
    examination.trying("the index");
    let begun = Instant::now();
    let model = embedding.as_ref().map(|of| of.model.clone());
    let sources = Sources {
        paths: roots,
        include: settings.include.clone(),
    };
    let inspected = look(sources, settings.index_dir(), model.unwrap_or_default()).await;
    let took = begun.elapsed();
    let seen = match inspected {
        Some(Ok(seen)) => seen,
        Some(Err(error)) => {
            examination.add(Check::failed(AREA, "contents", error.trouble()));
            return;
        }
        None => {
            examination.add(broke_off(AREA));
            return;
        }
    };
    let place = format!("{} of '{}'", seen.home.display(), seen.name);
    examination.add(Check::ok(AREA, "place", place));
    examination.add(contents(&seen).took(took));
    if let IndexState::Ready(indexed) = &seen.state {
        examination.add(files(&seen, indexed));
        if let Some(embedding) = &embedding {
            examination.add(meaning(&seen, indexed, embedding));
        }
    }
    if let Some(check) = other_versions(&seen) {
        examination.add(check);
    }
    if seen.is_written || seen.is_embedded {
        let doing = if seen.is_written {
            "updates"
        } else {
            "embeds for"
        };
        let line = format!("another kb-agent {doing} it right now, which is fine");
        examination.add(Check::ok(AREA, "in use", line));
    }
}

/// Beside everything else, and given up with it.
async fn look(
    sources: Sources,
    home: PathBuf,
    model: String,
) -> Option<Result<Inspection, KbError>> {
    struct Stopping(Arc<AtomicBool>);
    impl Drop for Stopping {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let stop = Stopping(Arc::default());
    let stopped = Arc::clone(&stop.0);
    let looking = tokio::task::spawn_blocking(move || inspect(sources, &home, &model, &stopped));
    looking.await.ok()
}

fn contents(seen: &Inspection) -> Check {
    const NAME: &str = "contents";
    let format = &seen.format;
    match &seen.state {
        IndexState::Missing => Check::note(
            AREA,
            NAME,
            format!("no index yet, of {}", plural(seen.files, "file")),
            if seen.is_written {
                WAIT
            } else {
                MADE_BY_ITSELF
            },
        ),
        IndexState::OtherFormat(others) => Check::note(
            AREA,
            NAME,
            format!(
                "of another version of kb-agent (format {}; this one uses {format})",
                others.join(", ")
            ),
            MADE_BY_ITSELF,
        ),
        IndexState::Damaged(_) if seen.is_written => Check::note(
            AREA,
            NAME,
            "it is being made anew by another kb-agent",
            WAIT,
        ),
        IndexState::Damaged(why) => Check::broken(
            AREA,
            NAME,
            format!("it is damaged: {why}"),
            "kb-agent index --rebuild makes it anew",
        ),
        IndexState::Ready(Indexed {
            documents, chunks, ..
        }) => Check::ok(
            AREA,
            NAME,
            format!(
                "{} in {}; format {format}, which is current",
                plural(*documents, "document"),
                plural(*chunks, "passage")
            ),
        ),
    }
}

fn files(seen: &Inspection, indexed: &Indexed) -> Check {
    const NAME: &str = "files";
    let left_out = match seen.left_out {
        0 => String::new(),
        count => format!("; {} left out", plural(count, "file")),
    };
    let differing = [
        (indexed.new, "new"),
        (indexed.changed, "changed"),
        (indexed.vanished, "gone"),
    ];
    let differing: Vec<String> = differing
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, how)| format!("{count} {how}"))
        .collect();
    if !differing.is_empty() {
        return Check::note(
            AREA,
            NAME,
            format!("not up to date: {}{left_out}", differing.join(", ")),
            if seen.is_written {
                WAIT
            } else {
                "ask a question, or run kb-agent index: either takes them up"
            },
        );
    }
    let line = format!("up to date with the folders{left_out}");
    match seen.left_out {
        0 => Check::ok(AREA, NAME, line),
        _ => Check::ok(AREA, NAME, line).hint("kb-agent index lists what was left out, and why"),
    }
}

/// What may go, once the version that made it is not used any more.
fn other_versions(seen: &Inspection) -> Option<Check> {
    if seen.others.is_empty() {
        return None;
    }
    let (mut listed, mut places) = (Vec::new(), Vec::new());
    for other in &seen.others {
        listed.push(format!("{} ({})", other.name, megabytes(other.size)));
        places.push(format!("'{}'", seen.home.join(&other.name).display()));
    }
    Some(
        Check::ok(
            AREA,
            "other versions",
            format!("of other versions of kb-agent: {}", listed.join(", ")),
        )
        .hint(format!(
            "if no such version is used any more, they may go: rm -r {}",
            places.join(" ")
        )),
    )
}

fn meaning(seen: &Inspection, indexed: &Indexed, embedding: &Embedding) -> Check {
    const NAME: &str = "meaning";
    let model = embedding.model.trim_start_matches("endpoint:");
    if let (Some(here), Some(there)) = (embedding.dimensions, indexed.dimensions)
        && here != there
    {
        return Check::broken(
            AREA,
            NAME,
            format!("{model} gives vectors of {here} numbers where the index holds {there}"),
            "kb-agent index embeds everything again",
        );
    }
    if let Some(why) = &seen.damaged_vectors
        && !seen.is_embedded
    {
        return Check::broken(
            AREA,
            NAME,
            format!("the vectors are damaged: {why}"),
            "kb-agent index makes what is missing anew; until then it is found by its words",
        );
    }
    let (all, pending) = (indexed.chunks - indexed.words_only, indexed.pending);
    if pending == 0 {
        let line = format!("all of {} embedded by {model}", plural(all, "passage"));
        return Check::ok(AREA, NAME, line);
    }
    Check::note(
        AREA,
        NAME,
        format!(
            "{} of {all} passages embedded by {model}",
            all.saturating_sub(pending)
        ),
        if seen.is_embedded {
            "wait: another kb-agent embeds the rest right now; until then they are found by their \
             words"
        } else {
            "kb-agent index embeds the rest; until then they are found by their words"
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_is_doing_is_not_asked_for() {
        let seen = |is_busy| Inspection {
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
        let indexed = Indexed {
            documents: 3,
            chunks: 9,
            pending: 4,
            new: 1,
            ..Indexed::default()
        };
        let embedding = Embedding {
            model: "m".to_owned(),
            dimensions: Some(2),
        };
        for is_busy in [false, true] {
            let seen = seen(is_busy);
            for check in [
                contents(&seen),
                files(&seen, &indexed),
                meaning(&seen, &indexed, &embedding),
            ] {
                let next = check.next.unwrap();
                assert_eq!(
                    next.starts_with("wait: another kb-agent"),
                    is_busy,
                    "{next}"
                );
                assert_eq!(next.contains("kb-agent index"), !is_busy, "{next}");
            }
        }
    }
}
