//! The dispatcher of the screen's commands, and the documents and paths that it reads itself.
//!
//! The screen reads no file. It asks, beside its questions to the agent, and gets the lines around
//! the one it names: as the index reads them, bounded, and clean of what a terminal obeys.

use std::fs;
use std::future::{Future, pending};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::adding::{CurrentBase, expanded};
use super::indexing::IndexTask;
use super::knowledge::document_reader;
use super::sessions::Task;
use super::updates::{Latest, info, warning};
use super::why::{AskedPassage, explained};
use crate::agent::ScopedCommand;
use crate::agent::ports::{NarrowedTools, ToolError, Toolbox};
use crate::audit::history;
use crate::config::{Settings, set_in_own_file};
use crate::domain::{LineRange, PlaceUnit, ToolCall, may_be_limited, without_limits};
use crate::kb::{DocumentReader, Extraction, WholeDocument};
use crate::protocol::{
    Command, DocumentPart, DocumentText, ModelCommand, ModelUpdate, Timestamp, Update,
};
use crate::text::{one_line, sanitize};

/// What is said where a task about sessions finds no room.
const BUSY: &str = "the sessions are still being read; try again";
const MODELS_BUSY: &str = "the server is still being asked for its models; try again";

/// Who does what the screen wants.
pub(super) struct Receivers {
    pub(super) agent: mpsc::Sender<ScopedCommand>,
    /// Cancelled once a question is asked.
    pub(super) is_asked: CancellationToken,
    pub(super) sessions: mpsc::Sender<Task>,
    pub(super) index: mpsc::Sender<IndexTask>,
    pub(super) models: mpsc::Sender<ModelCommand>,
    /// Knows what a question may name.
    pub(super) tools: Arc<dyn Toolbox>,
    /// The audit log, which holds what can be explained and counted.
    pub(super) log: PathBuf,
    /// The folder of the user's own settings.
    pub(super) config_dir: Option<PathBuf>,
}

/// Passes commands on, or does them itself where only the newest of a kind is wanted, until the commands
/// end. The agent gets its commands in their order.
pub(super) async fn dispatch(
    mut commands: mpsc::Receiver<Command>,
    to: Receivers,
    updates: mpsc::Sender<Update>,
    knowledge: CurrentBase,
) {
    let [
        mut documents,
        mut explanations,
        mut statistics,
        mut paths,
        mut settings,
    ] = [(); 5].map(|()| Latest::new(&updates));
    let mut naming: Option<ScopeLookup> = None;
    'commands: loop {
        let command = tokio::select! {
            command = commands.recv() => command,
            named = next_command(&mut naming) => {
                match named {
                    Ok(asked) => if to.agent.send(asked).await.is_err() {
                        break;
                    },
                    Err(not_asked) => drop(updates.send(not_asked).await),
                }
                continue;
            }
        };
        let Some(command) = command else { break };
        match command {
            Command::ReadDocument { source, line } => {
                let base = knowledge.get();
                documents.start(move |cancel| {
                    document(source, line, |source| base.whole_document(source, cancel))
                });
            }
            Command::Explain { run, source, line } => {
                let (base, log) = (knowledge.get(), to.log.clone());
                let asked = AskedPassage {
                    run: run.0.to_string(),
                    file: source,
                    line: Some(line),
                };
                explanations.start(move |cancel| explained(&base, &log, asked, cancel));
            }
            Command::ReadStatistics => {
                let log = to.log.clone();
                statistics.start(move |cancel| {
                    let read = history(&log, cancel).map(Box::new);
                    Update::Statistics(read.map_err(|error| error.to_string()))
                });
            }
            Command::LeaveStatistics => statistics.stop(),
            Command::ListPaths(typed) => paths.start(move |_| {
                let paths = listed(&typed);
                Update::Paths { typed, paths }
            }),
            Command::Session(asked) => {
                let refusal = asked.refusal(BUSY).map(Update::Session);
                if to.sessions.try_send(Task::Command(asked)).is_err() {
                    let _ = updates.send(refusal.unwrap_or_else(|| info(BUSY))).await;
                }
            }
            Command::Label(change) => {
                if to.sessions.try_send(Task::Label(change.clone())).is_err() {
                    let reason = BUSY.to_owned();
                    let _ = updates.send(Update::NotLabelled { change, reason }).await;
                }
            }
            Command::AddSource(path) => {
                if to.index.send(IndexTask::Add(path)).await.is_err() {
                    break;
                }
            }
            Command::Index(asked) => {
                if to.index.send(IndexTask::Steer(asked)).await.is_err() {
                    break;
                }
            }
            Command::Model(asked) => ask_about_models(asked, &to.models, &updates).await,
            Command::KeepSettings(kept) => {
                let folder = to.config_dir.clone();
                settings.start(move |_| keep_settings(folder.as_deref(), &kept));
            }
            // Without an agent the screen is to know that nothing is taken any more.
            other => {
                if matches!(other, Command::Ask { .. }) {
                    to.is_asked.cancel();
                }
                if other == Command::Forget {
                    let _ = to.sessions.try_send(Task::Begin);
                }
                let before = naming.take().map(ScopeLookup::unfinished);
                let begun = ScopeLookup::begin(other, &to.tools);
                let now = begun.map(|begun| naming = Some(begun)).err();
                for asked in before.into_iter().chain(now.map(ScopedCommand::from)) {
                    if to.agent.send(asked).await.is_err() {
                        break 'commands;
                    }
                }
            }
        }
    }
    for job in [documents, explanations, statistics, paths, settings] {
        job.end().await;
    }
}

/// Passes a wish about models on, or says that there is no room for it.
async fn ask_about_models(
    asked: ModelCommand,
    models: &mpsc::Sender<ModelCommand>,
    updates: &mpsc::Sender<Update>,
) {
    let busy = match asked {
        ModelCommand::List => ModelUpdate::Listed(Err(MODELS_BUSY.to_owned())),
        ModelCommand::Choose(_) => ModelUpdate::NotChosen(MODELS_BUSY.to_owned()),
    };
    if models.try_send(asked).is_err() {
        let _ = updates.send(Update::Model(busy)).await;
    }
}

/// Reads documents for a screen that nothing else goes on behind, until its commands end: those of
/// the knowledge base that the settings name, which is looked at when the first is asked for.
pub(super) async fn read_documents(
    settings: Settings,
    mut commands: mpsc::Receiver<Command>,
    updates: mpsc::Sender<Update>,
) {
    let settings = Arc::new(settings);
    let opened: Arc<Mutex<Option<DocumentReader>>> = Arc::default();
    let [mut documents, mut kept_settings] = [(); 2].map(|()| Latest::new(&updates));
    while let Some(command) = commands.recv().await {
        match command {
            Command::ReadDocument { source, line } => {
                let (settings, opened) = (Arc::clone(&settings), Arc::clone(&opened));
                documents.start(move |cancel| {
                    let mut opened = opened.lock();
                    let reader = opened.take().map_or_else(|| document_reader(&settings), Ok);
                    let read = document(source, line, |source| match &reader {
                        Ok(reader) => reader.whole_document(source, cancel),
                        Err(error) => Err(ToolError::Failed(error.to_string())),
                    });
                    *opened = reader.ok();
                    read
                });
            }
            Command::Explain { source, run, .. } => {
                let (run, file) = (one_line(&run.0, 80), one_line(&source, 200));
                let lines = vec![format!(
                    "in a shell, `kb-agent why {run} {file}` tells this"
                )];
                if updates
                    .send(Update::Explained { source, lines })
                    .await
                    .is_err()
                {
                    break;
                }
            }
            Command::KeepSettings(kept) => {
                let settings = Arc::clone(&settings);
                kept_settings.start(move |_| keep_settings(settings.config_dir.as_deref(), &kept));
            }
            _ => {}
        }
    }
    documents.end().await;
    kept_settings.end().await;
}

/// Writes settings to the user's own `.env`, and says so.
fn keep_settings(folder: Option<&Path>, settings: &[(String, String)]) -> Update {
    let Some(folder) = folder else {
        return warning("No configuration folder is known; set KB_AGENT_CONFIG_DIR.");
    };
    let settings: Vec<(&str, &str)> = settings
        .iter()
        .map(|(name, value)| (&**name, &**value))
        .collect();
    let lines: Vec<String> = settings
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    match set_in_own_file(folder, &settings) {
        Ok(path) => info(format!(
            "From the next start on: {}, written to {}.",
            lines.join(", "),
            path.display()
        )),
        Err(error) => warning(error),
    }
}

fn document(
    source: String,
    line: usize,
    read: impl FnOnce(&str) -> Result<WholeDocument, ToolError>,
) -> Update {
    let part = match read(&source) {
        Ok(whole) => Ok(around(&whole, line)),
        Err(ToolError::NotFound { .. } | ToolError::OutsideRoots { .. }) => {
            let name = one_line(&source, 200);
            Err(format!(
                "{name} is not in this knowledge base: removed, renamed or left out since, or of \
                 another one"
            ))
        }
        Err(error) => Err(one_line(&format!("cannot be read: {error}"), 400)),
    };
    Update::Document(DocumentText { source, line, part })
}

/// Cuts out as many lines around `line` as may be sent, half of them before it.
fn around(whole: &WholeDocument, line: usize) -> DocumentPart {
    let text = &whole.extraction.text;
    let lines: Vec<&str> = text.lines().collect();
    let at = line.saturating_sub(1).min(lines.len().saturating_sub(1));
    let half = DocumentPart::MOST_BYTES / 2;
    let within = |budget: usize| {
        let mut left = budget;
        move |line: &&&str| {
            let cost = line.len().min(4 * DocumentPart::LONGEST_LINE) + 1;
            let fits = cost <= left;
            left = left.saturating_sub(cost);
            fits
        }
    };
    let before = lines[..at].iter().rev().take_while(within(half)).count();
    let after = lines[at..].iter().take_while(within(half)).count();
    let (first, end) = (at - before, at + after);
    DocumentPart {
        first: first + 1,
        lines: lines[first..end].iter().map(|line| clean(line)).collect(),
        total: lines.len(),
        places: places(&whole.extraction, first + 1, end),
        missing: whole
            .extraction
            .missing
            .iter()
            .map(|line| clean(line))
            .collect(),
        modified: whole.modified.map(Timestamp::from_system_time),
        path: whole.is_lines.then(|| whole.path.clone()),
    }
}

fn clean(line: &str) -> String {
    let short = line
        .char_indices()
        .nth(DocumentPart::LONGEST_LINE)
        .map_or(line, |(end, _)| &line[..end]);
    let mut clean = sanitize(short).replace('\n', " ");
    if short.len() < line.len() {
        clean.push('…');
    }
    clean
}

/// What begins among these lines. Rows are counted by their lines; only their sheet is named.
fn places(extraction: &Extraction, first: usize, last: usize) -> Vec<(usize, String)> {
    let mut sheet = None;
    let mut named = Vec::new();
    for mark in &extraction.places {
        let name = if mark.place.unit == PlaceUnit::Row {
            if sheet.as_ref() == Some(&mark.place.name) {
                continue;
            }
            sheet = Some(mark.place.name.clone());
            match &mark.place.name {
                Some(name) => format!("sheet {name}"),
                None => continue,
            }
        } else {
            mark.place.to_string()
        };
        let line = mark.line;
        if (LineRange {
            start: first,
            end: last,
        })
        .overlaps(LineRange {
            start: line,
            end: line,
        }) {
            named.push((line, one_line(&name, 80)));
        }
    }
    named
}

// What a question names is looked for before it goes to the agent, which may take a while.

/// A question, as long as it is not known what it names.
struct ScopeLookup {
    command: Command,
    found: Pin<Box<dyn Future<Output = Result<Option<NarrowedTools>, ToolError>> + Send>>,
}

impl ScopeLookup {
    /// Begins to look; whatever names nothing is given back.
    fn begin(command: Command, tools: &Arc<dyn Toolbox>) -> Result<Self, Command> {
        let (Command::Ask { query, .. } | Command::Race { query, .. }) = &command else {
            return Err(command);
        };
        let is_race = matches!(command, Command::Race { .. });
        if !is_race && !may_be_limited(query) {
            return Err(command);
        }
        let (tools, query) = (Arc::clone(tools), query.clone());
        let found = Box::pin(async move {
            let narrowed = tools.narrow(&query).await?;
            if is_race {
                // Else the run that comes first would load the embedding for both.
                let query = without_limits(&query);
                let _ = tools
                    .run(&ToolCall::VectorSearch { query, k: Some(1) }, None)
                    .await;
            }
            Ok(narrowed)
        });
        Ok(Self { command, found })
    }

    /// The question as it is: the run looks for what it names.
    fn unfinished(self) -> ScopedCommand {
        self.command.into()
    }
}

/// The question once it is known what it names, or why it is not asked; never comes while there is
/// none.
async fn next_command(naming: &mut Option<ScopeLookup>) -> Result<ScopedCommand, Update> {
    let found = match naming {
        Some(naming) => naming.found.as_mut().await,
        None => pending().await,
    };
    let Some(ScopeLookup { command, .. }) = naming.take() else {
        return pending().await;
    };
    match (found, command) {
        (Ok(narrowed), command) => Ok(ScopedCommand { command, narrowed }),
        (Err(error), Command::Ask { query, .. } | Command::Race { query, .. }) => {
            let reason = one_line(&error.to_string(), 400);
            Err(Update::NotAsked { query, reason })
        }
        (Err(_), command) => Ok(command.into()),
    }
}

// Folders and files of this machine, for the person who types a path.
//
// The screen reads no folder: it asks here. One that does not answer holds up nothing else, and only
// what was typed last is looked for.

/// So many are offered; more letters find the others.
const MOST: usize = 200;
/// So many entries of a folder are looked at.
const MOST_LOOKED_AT: usize = 20_000;

/// What a path that was begun may go on to.
fn listed(typed: &str) -> Vec<String> {
    let (folder, begun) = match typed.rfind('/') {
        Some(at) => typed.split_at(at + 1),
        None => ("", typed),
    };
    let place = match folder {
        "" => PathBuf::from("."),
        folder => expanded(folder),
    };
    let Ok(entries) = fs::read_dir(place) else {
        return Vec::new();
    };
    let entries = entries.take(MOST_LOOKED_AT).flatten();
    let mut paths: Vec<String> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let is_hidden = name.starts_with('.') && !begun.starts_with('.');
            let is_shown = !name.contains('\n') && sanitize(&name) == name;
            if is_hidden || !is_shown || !name.starts_with(begun) {
                return None;
            }
            Some(format!("{folder}{name}{}", end_of(&entry.path())?))
        })
        .collect();
    paths.sort_unstable();
    paths.truncate(MOST);
    paths
}

/// What the path of a folder or of a file ends with; nothing else is offered.
fn end_of(path: &Path) -> Option<&'static str> {
    let meta = path.metadata().ok()?;
    match (meta.is_dir(), meta.is_file()) {
        (true, _) => Some("/"),
        (_, true) => Some(""),
        _ => None,
    }
}

#[cfg(test)]
mod naming_tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use async_trait::async_trait;
    use tokio::sync::mpsc;

    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::agent::ports::{Ports, WaitSink};
    use crate::agent::{Agent, Worker};
    use crate::domain::{Evidence, RoutingLimits, ToolCall};
    use crate::embed::{BuiltInModel, SentenceEmbedding};
    use crate::kb::KnowledgeBase;
    use crate::protocol::{EventBody, QuestionPlace};
    use crate::reasoner::offline::OfflineReasoner;

    const PATIENCE: Duration = Duration::from_mins(1);

    /// Counts how often it is asked what a question names, and finds it or hangs; and how often it searches.
    struct Counting {
        asked: AtomicUsize,
        searched: AtomicUsize,
        hangs: bool,
    }

    #[async_trait]
    impl Toolbox for Counting {
        async fn run(
            &self,
            _: &ToolCall,
            _: Option<&WaitSink>,
        ) -> Result<Vec<Evidence>, ToolError> {
            self.searched.fetch_add(1, Ordering::SeqCst);
            Ok(Vec::new())
        }

        async fn narrow(&self, question: &str) -> Result<Option<NarrowedTools>, ToolError> {
            self.asked.fetch_add(1, Ordering::SeqCst);
            if self.hangs {
                pending::<()>().await;
            }
            let tools = Self::new(false);
            Ok(Some(NarrowedTools {
                within: vec!["house/".to_owned()],
                ..NarrowedTools::unlimited(Arc::new(tools), question.replace("@house/ ", ""))
            }))
        }
    }

    impl Counting {
        fn new(hangs: bool) -> Self {
            Self {
                asked: AtomicUsize::new(0),
                searched: AtomicUsize::new(0),
                hangs,
            }
        }
    }

    /// What goes on between the screen and the agent, and the ends of its channels.
    struct Between {
        tools: Arc<Counting>,
        commands: mpsc::Sender<Command>,
        agent: mpsc::Receiver<ScopedCommand>,
        _updates: mpsc::Receiver<Update>,
        _home: tempfile::TempDir,
    }

    fn begin(hangs: bool) -> Between {
        let home = tempfile::tempdir().unwrap();
        let roots = [home.path().to_owned()];
        let embedding = Arc::new(SentenceEmbedding::new(BuiltInModel::English));
        let index = home.path().join(".index");
        let base = KnowledgeBase::open(&roots, &index, embedding).unwrap();
        let tools = Arc::new(Counting::new(hangs));
        let (commands, received) = mpsc::channel(8);
        let (to_agent, agent) = mpsc::channel(8);
        let (updates, received_updates) = mpsc::channel(8);
        let to = Receivers {
            is_asked: CancellationToken::new(),
            agent: to_agent,
            sessions: mpsc::channel(1).0,
            index: mpsc::channel(1).0,
            log: home.path().to_owned(),
            config_dir: None,
            tools: tools.clone(),
            models: mpsc::channel(1).0,
        };
        let base = CurrentBase::new(Arc::new(base));
        tokio::spawn(dispatch(received, to, updates, base));
        Between {
            tools,
            commands,
            agent,
            _updates: received_updates,
            _home: home,
        }
    }

    fn query() -> String {
        "@house/ what is the rent?".to_owned()
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_race_names_is_looked_for_and_embedded_once_before_it_begins() {
        let between = begin(false);
        let agent = Agent {
            ports: Ports {
                reasoner: Arc::new(OfflineReasoner::new(Arc::new(SentenceEmbedding::new(
                    BuiltInModel::English,
                )))),
                tools: between.tools.clone(),
            },
            limits: RoutingLimits::default(),
            session: "s".to_owned(),
        };
        let (events, mut received_events) = mpsc::channel(64);
        tokio::spawn(Worker::new(agent, between.agent, events, WaitSink::new().0).run());
        let race = Command::Race {
            query: query(),
            place: QuestionPlace::default(),
        };
        between.commands.send(race).await.unwrap();
        let (mut begun, mut ended) = (0, 0);
        while ended < 2 {
            let event = tokio::time::timeout(PATIENCE, received_events.recv()).await;
            match event.unwrap().unwrap().body {
                EventBody::RunStarted { within, .. } => {
                    assert_eq!(within, ["house/"]);
                    assert_eq!(between.tools.searched.load(Ordering::SeqCst), 1);
                    begun += 1;
                }
                EventBody::RunFinished { .. } => ended += 1,
                _ => {}
            }
        }
        assert_eq!((begun, between.tools.asked.load(Ordering::SeqCst)), (2, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_is_stopped_though_what_it_names_is_still_looked_for() {
        let mut between = begin(true);
        let ask = Command::Ask {
            query: query(),
            route: None,
            place: QuestionPlace::default(),
        };
        for command in [ask.clone(), Command::Cancel] {
            between.commands.send(command).await.unwrap();
        }
        for command in [ask, Command::Cancel] {
            let passed = tokio::time::timeout(PATIENCE, between.agent.recv()).await;
            let passed = passed.unwrap().unwrap();
            assert_eq!(passed.command, command);
            assert!(passed.narrowed.is_none());
        }
    }
}

#[cfg(test)]
mod paths_tests {
    use super::*;

    #[test]
    fn ui_a_path_goes_on_to_folders_and_files_that_begin_so() {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["house", "hut"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
        }
        for file in ["hall.md", "ham\u{1b}[2J.md", ".hidden", "house/lease.md"] {
            fs::write(dir.path().join(file), "x").unwrap();
        }
        let root = format!("{}/", dir.path().to_str().unwrap());
        let names = |typed: &str| -> Vec<String> {
            let paths = listed(&format!("{root}{typed}")).into_iter();
            paths.map(|path| path[root.len()..].to_owned()).collect()
        };
        assert_eq!(names("h"), ["hall.md", "house/", "hut/"]);
        assert_eq!(names("house/"), ["house/lease.md"]);
        assert_eq!(names("."), [".hidden"]);
        assert_eq!(names("x"), [] as [&str; 0]);
        assert_eq!(listed("/no/such/folder/"), [] as [&str; 0]);
    }
}
