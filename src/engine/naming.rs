//! What a question names is looked for before it goes to the agent, which may take a while.

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;

use crate::agent::ScopedCommand;
use crate::agent::ports::{NarrowedTools, ToolError, Toolbox};
use crate::protocol::{Command, Update};
use crate::text::one_line;

/// A question, as long as it is not known what it names.
pub(super) struct ScopeLookup {
    command: Command,
    found: Pin<Box<dyn Future<Output = Result<Option<NarrowedTools>, ToolError>> + Send>>,
}

impl ScopeLookup {
    /// Begins to look; whatever names nothing is given back.
    pub(super) fn begin(command: Command, tools: &Arc<dyn Toolbox>) -> Result<Self, Command> {
        let (Command::Ask { query, .. } | Command::Race { query }) = &command else {
            return Err(command);
        };
        if !query.contains('@') {
            return Err(command);
        }
        let (tools, query) = (Arc::clone(tools), query.clone());
        let found = Box::pin(async move { tools.narrow(&query).await });
        Ok(Self { command, found })
    }

    /// The question as it is: the run looks for what it names.
    pub(super) fn unfinished(self) -> ScopedCommand {
        self.command.into()
    }
}

/// The question once it is known what it names, or why it is not asked; never comes while there is
/// none.
pub(super) async fn next_command(
    naming: &mut Option<ScopeLookup>,
) -> Result<ScopedCommand, Update> {
    let found = match naming {
        Some(naming) => naming.found.as_mut().await,
        None => pending().await,
    };
    let Some(ScopeLookup { command, .. }) = naming.take() else {
        return pending().await;
    };
    match (found, command) {
        (Ok(narrowed), command) => Ok(ScopedCommand { command, narrowed }),
        (Err(error), Command::Ask { query, .. } | Command::Race { query }) => {
            let reason = one_line(&error.to_string(), 400);
            Err(Update::NotAsked { query, reason })
        }
        (Err(_), command) => Ok(command.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use async_trait::async_trait;
    use tokio::sync::mpsc;

    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::agent::ports::{Ports, WaitSink};
    use crate::agent::{Agent, CurrentReasoner, Worker};
    use crate::domain::{Evidence, RoutingLimits, ToolCall};
    use crate::embed::{BuiltInModel, SentenceEmbedding};
    use crate::engine::adding::CurrentBase;
    use crate::engine::model_choice::ModelChooser;
    use crate::engine::paths::PathLister;
    use crate::engine::reading::{Receivers, dispatch};
    use crate::engine::statistics::StatisticsReader;
    use crate::kb::KnowledgeBase;
    use crate::protocol::EventBody;
    use crate::reasoner::offline::OfflineReasoner;

    const PATIENCE: Duration = Duration::from_mins(1);

    /// Counts how often it is asked what a question names, and finds it or hangs.
    struct Counting {
        asked: AtomicUsize,
        hangs: bool,
    }

    #[async_trait]
    impl Toolbox for Counting {
        async fn run(
            &self,
            _: &ToolCall,
            _: Option<&WaitSink>,
        ) -> Result<Vec<Evidence>, ToolError> {
            Ok(Vec::new())
        }

        async fn narrow(&self, question: &str) -> Result<Option<NarrowedTools>, ToolError> {
            self.asked.fetch_add(1, Ordering::SeqCst);
            if self.hangs {
                pending::<()>().await;
            }
            Ok(Some(NarrowedTools {
                tools: Arc::new(Self {
                    asked: AtomicUsize::new(0),
                    hangs: false,
                }),
                within: vec!["house/".to_owned()],
                query: question.replace("@house/ ", ""),
            }))
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
        let asked = AtomicUsize::new(0);
        let tools = Arc::new(Counting { asked, hangs });
        let (commands, received) = mpsc::channel(8);
        let (to_agent, agent) = mpsc::channel(8);
        let (updates, received_updates) = mpsc::channel(8);
        let to = Receivers {
            is_asked: CancellationToken::new(),
            agent: to_agent,
            sessions: mpsc::channel(1).0,
            index: mpsc::channel(1).0,
            statistics: StatisticsReader::new(home.path(), &updates),
            paths: PathLister::new(updates.clone()),
            tools: tools.clone(),
            models: ModelChooser::new(None, offline(), updates.clone()),
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

    fn offline() -> CurrentReasoner {
        let embedding = Arc::new(SentenceEmbedding::new(BuiltInModel::English));
        CurrentReasoner::new(Arc::new(OfflineReasoner::new(embedding)))
    }

    fn query() -> String {
        "@house/ what is the rent?".to_owned()
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_race_names_is_looked_for_once() {
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
        let race = Command::Race { query: query() };
        between.commands.send(race).await.unwrap();
        let (mut begun, mut ended) = (0, 0);
        while ended < 2 {
            let event = tokio::time::timeout(PATIENCE, received_events.recv()).await;
            match event.unwrap().unwrap().body {
                EventBody::RunStarted { within, .. } => {
                    assert_eq!(within, ["house/"]);
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
            retry_of: None,
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
