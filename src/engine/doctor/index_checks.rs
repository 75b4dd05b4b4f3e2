use super::check::Check;
use super::endpoint_checks::Embedding;
use super::report::{Report, off_thread};
use super::storage_checks::megabytes;
use crate::config::Settings;
use crate::engine::knowledge::{demo_folder, other_demo_folders};
use crate::kb::{IndexState, Indexed, Inspection, Sources, inspect};
use crate::text::plural;

const WAIT: &str = "wait: another kb-agent is at it right now";
const MADE_BY_ITSELF: &str = "ask a question, or run kb-agent index: either makes it";

/// The index of the knowledge base that the settings name.
pub(super) async fn check(
    settings: &Settings,
    embedding: Option<Embedding>,
    report: &mut Report<'_>,
) -> Result<(), Check> {
    report.area = "index";
    let demo = demo_folder(&settings.data_dir);
    for path in other_demo_folders(&settings.data_dir) {
        let line = format!("{} holds another version's demo", path.display());
        let next = "nothing, or remove it once no note of yours is in it";
        report.add(Check::note("demo", line, next));
    }
    let is_demo = settings.sources.is_empty();
    if is_demo && !demo.is_dir() {
        let line = "no index yet; no folder is named, so the bundled demo will be searched";
        return Err(Check::note("contents", line, MADE_BY_ITSELF));
    }
    let sources = Sources {
        paths: if is_demo {
            vec![demo]
        } else {
            settings.sources.clone()
        },
        include: settings.include.clone(),
    };
    let model = embedding.as_ref().map(|of| of.model.clone());
    let (model, home) = (model.unwrap_or_default(), settings.index_dir());
    let looking = off_thread(move |cancel| {
        inspect(sources, &home, &model, cancel).map_err(|error| error.trouble())
    });
    let looking = report.try_out("the index", "contents", looking, |seen| {
        Check::ok(
            "place",
            format!("{} of '{}'", seen.home.display(), seen.name),
        )
    });
    let Some(seen) = looking.await else {
        return Ok(());
    };
    report.add(contents(&seen));
    if let IndexState::Ready(indexed) = &seen.state {
        report.add(files(&seen, indexed));
        if let Some(embedding) = embedding {
            report.add(meaning(&seen, indexed, &embedding));
        }
    }
    if let Some(others) = other_versions(&seen) {
        report.add(others);
    }
    let doing = match (seen.is_written, seen.is_embedded) {
        (true, _) => "updates",
        (false, true) => "embeds for",
        (false, false) => return Ok(()),
    };
    let line = format!("another kb-agent {doing} it right now, which is fine");
    Err(Check::ok("in use", line))
}

fn contents(seen: &Inspection) -> Check {
    const NAME: &str = "contents";
    let format = &seen.format;
    let by_itself = if seen.is_written {
        WAIT
    } else {
        MADE_BY_ITSELF
    };
    match &seen.state {
        IndexState::Missing => {
            let line = format!("no index yet, of {}", plural(seen.files, "file"));
            Check::note(NAME, line, by_itself)
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
            Check::broken(NAME, format!("it is damaged: {why}"), next)
        }
        IndexState::Ready(indexed) => {
            let documents = plural(indexed.documents, "document");
            let chunks = plural(indexed.chunks, "passage");
            let removed = match indexed.removed {
                0 => String::new(),
                count => format!(
                    "; {} removed since its list of documents was last written anew",
                    plural(count, "document")
                ),
            };
            let line =
                format!("{documents} in {chunks}{removed}; format {format}, which is current");
            Check::ok(NAME, line)
        }
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
    let differing = differing.iter().filter(|(count, _)| *count > 0);
    let differing: Vec<String> = differing
        .map(|(count, how)| format!("{count} {how}"))
        .collect();
    if !differing.is_empty() {
        let line = format!("not up to date: {}{left_out}", differing.join(", "));
        let next = "ask a question, or run kb-agent index: either takes them up";
        return Check::note(NAME, line, if seen.is_written { WAIT } else { next });
    }
    let line = format!("up to date with the folders{left_out}");
    match seen.left_out {
        0 => Check::ok(NAME, line),
        _ => Check::ok(NAME, line).hint("kb-agent index lists what was left out, and why"),
    }
}

/// What may go, once the version that made it is not used any more.
fn other_versions(seen: &Inspection) -> Option<Check> {
    if seen.others.is_empty() {
        return None;
    }
    let listed = seen.others.iter();
    let listed = listed.map(|other| format!("{} ({})", other.name, megabytes(other.size)));
    let places = seen.others.iter();
    let places = places.map(|other| format!("'{}'", seen.home.join(&other.name).display()));
    let (listed, places): (Vec<_>, Vec<_>) = (listed.collect(), places.collect());
    let line = format!("of other versions of kb-agent: {}", listed.join(", "));
    let may_go = "if no such version is used any more, they may go: rm -r";
    let hint = format!("{may_go} {}", places.join(" "));
    Some(Check::ok("other versions", line).hint(hint))
}

fn meaning(seen: &Inspection, indexed: &Indexed, embedding: &Embedding) -> Check {
    const NAME: &str = "meaning";
    let model = embedding.model.trim_start_matches("endpoint:");
    if let (Some(here), Some(there)) = (embedding.dimensions, indexed.dimensions)
        && here != there
    {
        let line = format!("{model} gives vectors of {here} numbers where the index holds {there}");
        return Check::broken(NAME, line, "kb-agent index embeds everything again");
    }
    if let Some(why) = &seen.damaged_vectors
        && !seen.is_embedded
    {
        let next = "kb-agent index makes what is missing anew; until then it is found by its words";
        return Check::broken(NAME, format!("the vectors are damaged: {why}"), next);
    }
    let (all, pending) = (indexed.chunks - indexed.words_only, indexed.pending);
    if pending == 0 {
        let line = format!("all of {} embedded by {model}", plural(all, "passage"));
        return Check::ok(NAME, line);
    }
    let who = if seen.is_embedded {
        "wait: another kb-agent embeds the rest right now"
    } else {
        "kb-agent index embeds the rest"
    };
    let done = all.saturating_sub(pending);
    let line = format!("{done} of {all} passages embedded by {model}");
    Check::note(
        NAME,
        line,
        format!("{who}; until then they are found by their words"),
    )
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn removed_documents_are_named_where_there_are_some() {
        let line = |removed| {
            let indexed = Indexed {
                documents: 3,
                chunks: 9,
                removed,
                ..Indexed::default()
            };
            let seen = Inspection {
                name: "docs".to_owned(),
                home: PathBuf::from("/data"),
                format: "v1".to_owned(),
                state: IndexState::Ready(indexed),
                is_written: false,
                is_embedded: false,
                files: 3,
                left_out: 0,
                others: Vec::new(),
                damaged_vectors: None,
            };
            contents(&seen).detail
        };
        assert!(!line(0).contains("removed"), "{}", line(0));
        let two = line(2);
        assert!(
            two.contains(
                "; 2 documents removed since its list of documents was last written anew;"
            ),
            "{two}"
        );
    }

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
