use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use parking_lot::Mutex;
use serde_json::json;

use super::catch_up::{UpdateStep, update};
use super::interruption::{LAST_STEP, interruptible};
use super::output::print_text;
use super::output::{CommandFailure, print_json, print_notice, print_notices, print_result};
use crate::config::Settings;
use crate::domain::Languages;
use crate::engine::{
    Upkeep, keep_up_to_date, open_knowledge, open_knowledge_for_rebuild, own_files,
};
use crate::kb::{KbError, KnowledgeBase, Phase, Progress, Skipped, UpdateReport, Watch};
use crate::text::{OrTrouble, one_line, plural, sanitize};

/// Arguments of `index`.
#[derive(Debug, Args)]
pub(super) struct Index {
    /// Start from nothing instead of updating
    #[arg(long)]
    rebuild: bool,
    /// Print one JSON object; with --watch one a line
    #[arg(long)]
    json: bool,
    /// Only there to say where they belong
    #[arg(hide = true)]
    paths: Vec<PathBuf>,
    /// Stay, and take up changes of the files as they are made, until Ctrl-C
    #[arg(long)]
    watch: bool,
}

impl Index {
    fn words(&self) -> UpdateStep {
        if self.rebuild {
            UpdateStep::Rebuild
        } else {
            UpdateStep::Lexical
        }
    }
}

/// Builds or updates the index and says what is in it.
pub(super) fn run(index: &Index, settings: &Settings) -> Result<(), CommandFailure> {
    if let Some(path) = index.paths.first() {
        let path = path.display();
        return Err(CommandFailure::usage(format!(
            "index takes its folders by --kb: kb-agent index --kb {path}"
        )));
    }
    if settings.store.is_some() && settings.sources.is_empty() {
        return Err(CommandFailure::usage(
            "name the folders to index in the store: --kb PATH, or KB_AGENT_SOURCE",
        ));
    }
    print_notices(&settings.without_effect);
    let knowledge = if index.rebuild {
        open_knowledge_for_rebuild(settings)?
    } else {
        open_knowledge(settings)?
    };
    let started = Instant::now();
    let knowledge = Arc::new(knowledge);
    if index.watch {
        return watch(index, settings, knowledge, started);
    }
    let (report, trouble) = interruptible(async |cancel| {
        let mut report = update(knowledge.clone(), index.words(), &cancel).await??;
        for pattern in knowledge.unused_patterns() {
            print_notice(&format!(
                "KB_AGENT_INCLUDE: '{}' fits no file; what .gitignore leaves out is read only where \
                 the file itself is named",
                one_line(&pattern, 100)
            ));
        }
        note_other_machines(&report);
        // The report lists them all, so that they are not new after it.
        let _ = knowledge.new_among(&report.skipped);
        let status = knowledge.status();
        if status.pending > 0 {
            print_notice(&format!(
                "the words of {} can be searched; embedding {}",
                plural(status.documents, "document"),
                plural(status.pending, "passage")
            ));
        }
        // Also where nothing is left to embed: what other models left may go then.
        let meaning = update(knowledge.clone(), UpdateStep::Dense, &cancel).await?;
        let trouble = meaning.map(|meaning| {
            report.embedded += meaning.embedded;
            report.unembedded = meaning.unembedded;
        });
        Ok((report, trouble.err()))
    })?;
    let name = knowledge.name();
    if let Some(choice) = knowledge.language_choice()
        && choice.languages == Languages::All
    {
        let (model, why) = (knowledge.model_id(), choice.reason());
        print_notice(&format!("the embedding is {model}: {why}"));
    }
    let took = started.elapsed();
    let mut line = as_json(name, &report, took);
    line["embedding"] = knowledge.model_id().into();
    let left_out: Vec<&Skipped> = report.skipped.iter().collect();
    print_result(index.json, &line, || {
        as_text(name, &report, &left_out, took)
    })?;
    trouble.map_or(Ok(()), |error| Err(error.into()))
}

/// What an update left to the machine that indexed it.
fn note_other_machines(report: &UpdateReport) {
    if report.of_other_machines == 0 {
        return;
    }
    print_notice(&format!(
        "{} of these folders came from another machine and {} not read here: kept; \
         `kb-agent index --rebuild` keeps only what is here",
        plural(report.of_other_machines, "document"),
        if report.of_other_machines == 1 {
            "is"
        } else {
            "are"
        }
    ));
}

/// One line for the index as it is, then one for each change, until it is interrupted.
fn watch(
    index: &Index,
    settings: &Settings,
    knowledge: Arc<KnowledgeBase>,
    started: Instant,
) -> Result<(), CommandFailure> {
    let mut output = WatchOutput {
        name: knowledge.name().to_owned(),
        json: index.json,
        reading: Some(started),
        ..WatchOutput::default()
    };
    let apart = own_files(settings);
    interruptible(async |cancel| {
        match update(knowledge.clone(), index.words(), &cancel).await? {
            Ok(report) => {
                note_other_machines(&report);
                output.words(&report, &knowledge)?;
            }
            // What another process is about to finish is reported when it is this one's turn.
            Err(KbError::Locked) if !index.rebuild => {}
            Err(error) => return Err(error.into()),
        }
        let watch = Arc::new(Watch::new());
        let (watched, output) = (watch.clone(), Mutex::new(output));
        let mut upkeep = tokio::task::spawn_blocking(move || {
            let tell = |upkeep: Upkeep| {
                // Work does not wait for who reads the lines; the next step makes up for a missed one.
                if let Upkeep::Step(Progress { phase, .. }) = &upkeep {
                    if let Some(mut output) = output.try_lock() {
                        output.start_of(*phase).get_or_insert_with(Instant::now);
                    }
                    return;
                }
                let mut output = output.lock();
                if let Err(error) = output.print(upkeep, &knowledge) {
                    // The reader is gone: there is nothing to stay for.
                    output.broken = Some(error);
                    watched.close();
                }
            };
            keep_up_to_date(&knowledge, &watched, &apart, &tell);
            output.into_inner().broken
        });
        let ended = tokio::select! {
            ended = &mut upkeep => ended,
            () = cancel.cancelled() => {
                watch.close();
                let _ = tokio::time::timeout(LAST_STEP, upkeep).await;
                return Err(CommandFailure::interrupted());
            }
        };
        match ended.trouble("watching broke off")? {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    })
}

/// What a watch says, on standard output.
#[derive(Default)]
struct WatchOutput {
    name: String,
    json: bool,
    /// When the reading and the embedding that are going on, perhaps side by side, began.
    reading: Option<Instant>,
    embedding: Option<Instant>,
    /// What the last line about words left out, and why.
    left_out: BTreeSet<(String, String)>,
    /// Whether there has been a line about words.
    has_reported: bool,
    is_following: bool,
    broken: Option<io::Error>,
}

impl WatchOutput {
    fn print(&mut self, upkeep: Upkeep, knowledge: &KnowledgeBase) -> io::Result<()> {
        match upkeep {
            Upkeep::Words(report) => return self.words(&report, knowledge),
            Upkeep::Meaning(embedded) => {
                let took = self.end(Phase::Embedding);
                if embedded > 0 {
                    return self.meaning(embedded, took, knowledge);
                }
            }
            Upkeep::Following if !self.is_following => {
                self.is_following = true;
                print_notice(
                    "another kb-agent keeps this index up to date; waiting to take its place",
                );
            }
            Upkeep::Trouble(error) if !matches!(error, KbError::Locked) => {
                print_notice(&error.to_string());
            }
            Upkeep::Notice(line) => print_notice(&line),
            Upkeep::Step(Progress { phase, .. }) => {
                self.start_of(phase).get_or_insert_with(Instant::now);
            }
            // Also one that failed is over.
            Upkeep::Idle => {
                self.end(Phase::Embedding);
            }
            // Who is locked out follows, and has said so.
            Upkeep::Following | Upkeep::Trouble(_) => {}
        }
        Ok(())
    }

    fn start_of(&mut self, phase: Phase) -> &mut Option<Instant> {
        match phase {
            Phase::Reading => &mut self.reading,
            Phase::Embedding => &mut self.embedding,
        }
    }

    /// Ends a pass, if one is going on, and says how long it took.
    fn end(&mut self, phase: Phase) -> Duration {
        let begun = self.start_of(phase).take();
        begun.map_or(Duration::ZERO, |begun| begun.elapsed())
    }

    /// An update that found nothing changed is not worth a line, but the first is, and one that
    /// found a file which cannot be read, or not any more.
    fn words(&mut self, report: &UpdateReport, base: &KnowledgeBase) -> io::Result<()> {
        let took = self.end(Phase::Reading);
        let changes = report.added + report.changed + report.moved + report.removed;
        let left_out = self.newly_left_out(report);
        let has_reported = std::mem::replace(&mut self.has_reported, true);
        if has_reported && changes == 0 && left_out.is_empty() {
            return Ok(());
        }
        if !self.json {
            return print_text(as_text(&self.name, report, &left_out, took));
        }
        let mut line = as_json(&self.name, report, took);
        line["ready"] = json!("words");
        line["pending"] = json!(base.status().pending);
        print_json(&line)
    }

    /// What the last line did not leave out, or not for that reason.
    fn newly_left_out<'r>(&mut self, report: &'r UpdateReport) -> Vec<&'r Skipped> {
        let named = |skipped: &Skipped| (skipped.path.clone(), skipped.reason.to_string());
        let now = report.skipped.iter().map(named).collect();
        let before = std::mem::replace(&mut self.left_out, now);
        let skipped = report.skipped.iter();
        skipped
            .filter(|skipped| !before.contains(&named(skipped)))
            .collect()
    }

    fn meaning(&self, embedded: usize, took: Duration, base: &KnowledgeBase) -> io::Result<()> {
        let status = base.status();
        let line = json!({
            "ready": "embeddings",
            "name": self.name,
            "documents": status.documents,
            "chunks": status.chunks,
            "embedded": embedded,
            "pending": status.pending,
            "ms": took.as_millis() as u64,
        });
        print_result(self.json, &line, || {
            format!(
                "{}: {} embedded in {:.1} s, {} to come\n",
                sanitize(&self.name),
                plural(embedded, "chunk"),
                took.as_secs_f64(),
                status.pending
            )
        })
    }
}

fn as_text(name: &str, report: &UpdateReport, left_out: &[&Skipped], took: Duration) -> String {
    let words_only = match report.words_only {
        0 => String::new(),
        count => format!(" ({count} found by words only)"),
    };
    let mut text = format!(
        "{}: {}, {}{words_only}; {} added, {} changed, {} moved, {} removed, {} unchanged; {} embedded in {:.1} s\n",
        sanitize(name),
        plural(report.documents, "document"),
        plural(report.chunks, "chunk"),
        report.added,
        report.changed,
        report.moved,
        report.removed,
        report.unchanged,
        report.embedded,
        took.as_secs_f64()
    );
    text.push_str(&left_out_as_text(left_out));
    for document in &report.missing_texts {
        for missing in &document.missing {
            text.push_str(&format!(
                "read in part: {}: {}\n",
                sanitize(&document.path),
                sanitize(missing)
            ));
        }
    }
    for refused in &report.unembedded {
        text.push_str(&format!(
            "found by its words only: {}:{}: {}\n",
            sanitize(&refused.path),
            refused.lines.start,
            sanitize(&refused.why)
        ));
    }
    text
}

/// A line for each file that is left out, and one for many of the same reason.
fn left_out_as_text(left_out: &[&Skipped]) -> String {
    /// More of one reason are counted.
    const MOST_OF_A_REASON: usize = 5;
    const NAMED: usize = 3;
    let mut reasons: BTreeMap<String, Vec<Cow<'_, str>>> = BTreeMap::new();
    for skipped in left_out {
        let paths = reasons.entry(skipped.reason.to_string()).or_default();
        paths.push(sanitize(&skipped.path));
    }
    let mut text = String::new();
    for (reason, paths) in &reasons {
        if paths.len() > MOST_OF_A_REASON {
            text.push_str(&format!(
                "skipped {} files: {reason}: {} and {} more (--json names all)\n",
                paths.len(),
                paths[..NAMED].join(", "),
                paths.len() - NAMED
            ));
            continue;
        }
        for path in paths {
            text.push_str(&format!("skipped {path}: {reason}\n"));
        }
    }
    text
}

fn as_json(name: &str, report: &UpdateReport, took: Duration) -> serde_json::Value {
    let skipped: Vec<_> = report
        .skipped
        .iter()
        .map(|skipped| json!({"path": skipped.path, "reason": skipped.reason.to_string()}))
        .collect();
    let in_part = report.missing_texts.iter();
    let in_part: Vec<_> = in_part
        .map(|document| json!({"path": document.path, "missing": document.missing}))
        .collect();
    let unembedded = report.unembedded.iter();
    let unembedded: Vec<_> = unembedded
        .map(|it| json!({"path": it.path, "line": it.lines.start, "why": it.why}))
        .collect();
    json!({
        "name": name,
        "documents": report.documents,
        "chunks": report.chunks,
        "words_only": report.words_only,
        "added": report.added,
        "changed": report.changed,
        "moved": report.moved,
        "removed": report.removed,
        "unchanged": report.unchanged,
        "of_other_machines": report.of_other_machines,
        "embedded": report.embedded,
        "skipped": skipped,
        "in_part": in_part,
        "unembedded": unembedded,
        "ms": took.as_millis() as u64,
    })
}
