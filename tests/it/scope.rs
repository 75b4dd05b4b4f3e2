//! Questions that are kept within a part of the knowledge base: `@house/`, `@lease.md`.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use kb_agent::agent::Agent;
use kb_agent::agent::ports::{NarrowedTools, Ports, ToolError, Toolbox, WaitSink};
use kb_agent::domain::{Evidence, Outcome, RoutingLimits, ToolCall};
use kb_agent::embed::{BuiltInModel, SentenceEmbedding};
use kb_agent::engine::Conversation;
use kb_agent::kb::KnowledgeBase;
use kb_agent::protocol::{Command, EventBody, QuestionPlace, Update};
use kb_agent::reasoner::offline::OfflineReasoner;
use kb_agent::tools::KbToolbox;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::engine::engine;
use crate::kb_toolbox::{calls, sources, toolbox};
use crate::support::question_of;
use crate::terminal::Terminal;
use crate::workplace::{Workplace, events, json_lines, one_line};

const PATIENCE: Duration = Duration::from_mins(1);

/// Two folders that say something about the same.
fn place() -> Workplace {
    let place = Workplace::empty();
    for (name, content) in table![
        "house/lease.md", "# Lease\n\nThe rent of the house is 900 a month. See PROJ-7.\n";
        "house/keys.md", "# Keys\n\nThe rent includes two keys. See PROJ-7.\n";
        "garden/plot.md", "# Plot\n\nThe rent of the garden plot is 40 a month. See PROJ-7.\n";
        "garden/my tools.md", "# Tools\n\nThe rent of the tools is 5 a day. See PROJ-7.\n";
    ] {
        place.file(&format!("kb/{name}"), content);
    }
    place
}

async fn narrowed(tools: &KbToolbox, question: &str) -> Result<NarrowedTools, ToolError> {
    tools.narrow(question).await.map(Option::unwrap)
}

#[tokio::test(flavor = "multi_thread")]
async fn ui_a_scope_holds_for_every_tool() {
    let place = place();
    let all = toolbox(&place);
    let house = narrowed(&all, "what is the rent @house/").await.unwrap();
    assert_eq!(house.within, ["house/"]);
    assert_eq!(house.query, "what is the rent");
    let both = narrowed(&all, "@lease.md and @\"garden/my tools.md\": the rent?")
        .await
        .unwrap();
    for call in calls() {
        let everywhere = all.run(&call, None).await.unwrap();
        let everywhere = sources(&everywhere);
        let is_in_house = |source: &&str| source.starts_with("house/");
        assert!(
            !everywhere.iter().all(is_in_house),
            "{call:?}: {everywhere:?}"
        );
        let found = house.tools.run(&call, None).await.unwrap();
        let found = sources(&found);
        assert!(
            !found.is_empty() && found.iter().all(is_in_house),
            "{call:?}: {found:?}"
        );
        let found = both.tools.run(&call, None).await.unwrap();
        let found = sources(&found);
        let named = ["garden/my tools.md", "house/lease.md"];
        assert!(!found.is_empty(), "{call:?}");
        assert!(
            found.iter().all(|source| named.contains(source)),
            "{call:?}: {found:?}"
        );
    }
    for call in [
        ToolCall::ReadFile {
            path: "garden/plot.md".to_owned(),
            start_line: None,
            end_line: None,
        },
        ToolCall::LocalFileQa {
            query: "rent".to_owned(),
            path: Some("garden".to_owned()),
            field: None,
            value: None,
        },
    ] {
        assert!(all.run(&call, None).await.is_ok());
        let error = house.tools.run(&call, None).await.unwrap_err();
        assert!(error.to_string().contains("outside house/"), "{error}");
    }
    let inside = ToolCall::ReadFile {
        path: "house/lease.md".to_owned(),
        start_line: None,
        end_line: None,
    };
    assert_eq!(house.tools.run(&inside, None).await.unwrap().len(), 1);
    assert!(
        all.narrow("mail bob@example.org about @Override")
            .await
            .unwrap()
            .is_none()
    );
}

#[test]
fn ui_ask_keeps_within_what_the_question_names() {
    let place = place();
    for (question, within) in [
        ("What is the rent? @garden/", "garden/"),
        ("Compare @lease.md with @keys.md", "house/"),
    ] {
        let output = place.run_well(&["ask", "--json", "--kb", "kb", question]);
        let emitted = json_lines(&output.stdout);
        let begun = &events(&emitted, "run_started")[0];
        assert_eq!(begun["query"], question);
        assert!(!begun["within"].as_array().unwrap().is_empty());
        let added = events(&emitted, "evidence_added");
        let items = added
            .iter()
            .flat_map(|event| event["items"].as_array().unwrap());
        let sources: Vec<&str> = items.map(|item| item["source"].as_str().unwrap()).collect();
        assert!(!sources.is_empty(), "{question}");
        let garden = within == "garden/";
        assert!(
            sources.iter().all(|s| s.starts_with("garden/") == garden),
            "{sources:?}"
        );
    }
    let emitted = json_lines(
        &place
            .run(&["ask", "--json", "--kb", "kb", "What is the rent?"])
            .stdout,
    );
    assert!(events(&emitted, "run_started")[0].get("within").is_none());
}

#[test]
fn ui_a_scope_that_names_nothing_is_one_line_before_the_run() {
    let place = place();
    place.index();
    for (question, said) in [
        (
            "What is the rent? @hose/",
            "@hose/ names nothing in the knowledge base",
        ),
        ("@house/", "say what to look for, too"),
    ] {
        let output = place.run(&["ask", "--kb", "kb", question]);
        assert_eq!(output.status.code(), Some(1));
        let line = one_line(&output);
        assert!(line.contains(said), "{line}");
    }
    assert!(!place.audit_log().exists() || events(&place.audit(), "run_started").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn ui_a_scope_follows_races_and_retries() {
    let place = place();
    let engine = engine(&place, "").await.unwrap();
    engine
        .knowledge()
        .update(&|_| (), &CancellationToken::new())
        .unwrap();
    let (conversation, commands, mut updates) = Conversation::begin(engine).unwrap();
    let query = "What is the rent? @garden/".to_owned();
    let race = Command::Race {
        query: query.clone(),
        place: QuestionPlace::default(),
    };
    commands.send(race).await.unwrap();
    let (mut first, mut ended, mut begun) = (None, 0, 0);
    let watched = async {
        while ended < 3 {
            let Update::Event(event) = updates.recv().await.unwrap() else {
                continue;
            };
            match event.body {
                EventBody::RunStarted {
                    within,
                    query: asked,
                    ..
                } => {
                    begun += 1;
                    first.get_or_insert(event.run);
                    assert_eq!((within, asked), (vec!["garden/".to_owned()], query.clone()));
                }
                EventBody::EvidenceAdded { items } => {
                    assert!(items.iter().all(|item| item.source.starts_with("garden/")));
                }
                EventBody::RunFinished { .. } => {
                    ended += 1;
                    if ended == 2 {
                        let again = Command::Ask {
                            query: query.clone(),
                            route: None,
                            place: QuestionPlace {
                                retry_of: first.clone(),
                                ..QuestionPlace::default()
                            },
                        };
                        commands.send(again).await.unwrap();
                    }
                }
                _ => {}
            }
        }
    };
    tokio::time::timeout(PATIENCE, watched).await.unwrap();
    assert_eq!(begun, 3);
    let lost = Command::Ask {
        query: "What is the rent? @hose/".to_owned(),
        route: None,
        place: QuestionPlace::default(),
    };
    commands.send(lost).await.unwrap();
    let refused = async {
        loop {
            match updates.recv().await.unwrap() {
                Update::NotAsked { query, reason } => return (query, reason),
                Update::Event(event) => panic!("{event:?}"),
                _ => {}
            }
        }
    };
    let (query, reason) = tokio::time::timeout(PATIENCE, refused).await.unwrap();
    assert_eq!(query, "What is the rent? @hose/");
    assert!(reason.contains("@hose/ names nothing"), "{reason}");
    drop((commands, updates));
    conversation.end().await;
}

#[test]
fn ui_a_name_after_an_at_is_completed_and_kept_within() {
    let place = place();
    let mut terminal = Terminal::start(&place.command(&["kb"]), 120, 40);
    terminal.wait_for_text("4 Markdown");
    terminal.press_until("what is the rent @gar", "▸ garden/");
    terminal.press_until("\t", "@garden/");
    terminal.press_until("plo", "▸ garden/plot.md");
    terminal.press_until("\r", "> what is the rent @garden/plot.md");
    let screen = terminal.press_until("\r", "saved 1");
    assert!(screen.contains("within garden/plot.md"), "{screen}");
    assert!(screen.contains("40 a month"), "{screen}");
    assert!(!screen.contains("900"), "{screen}");
    let screen = terminal.press_until("rent @attic/\r", "@attic/ names nothing");
    assert!(screen.contains("> rent @attic/"), "{screen}");
    terminal.leave();
    let log = place.audit();
    let begun = events(&log, "run_started");
    assert_eq!(begun.len(), 1);
    assert_eq!(begun[0]["within"][0], "garden/plot.md");
}

#[tokio::test(flavor = "multi_thread")]
async fn ui_a_scope_is_known_before_its_files_are_read() {
    let place = place();
    let roots = [place.path().join("kb")];
    let embedding = Arc::new(SentenceEmbedding::new(BuiltInModel::English));
    let base = KnowledgeBase::open(&roots, &place.path().join("index"), embedding).unwrap();
    let tools = KbToolbox::new(Arc::new(base));
    let grep = ToolCall::GrepSearch {
        query: "rent".to_owned(),
    };
    for (name, within) in [
        ("house/", &["house/keys.md", "house/lease.md"][..]),
        ("lease.md", &["house/lease.md"]),
        ("plot", &["garden/plot.md"]),
        ("garden/*", &["garden/my tools.md", "garden/plot.md"]),
    ] {
        let question = format!("what is the rent @\"{name}\"");
        let house = narrowed(&tools, &question).await.unwrap();
        let found = house.tools.run(&grep, None).await.unwrap();
        assert_eq!(sources(&found), within, "{name}");
    }
    // The index knows some of them, as it does when a long reading was stopped.
    drop(tools);
    drop(toolbox(&place));
    place.file("kb/house/attic.md", "# Attic\n\nThe rent is 100 a month.\n");
    let embedding = Arc::new(SentenceEmbedding::new(BuiltInModel::English));
    let base = KnowledgeBase::open(&roots, &place.path().join("index"), embedding).unwrap();
    let tools = KbToolbox::new(Arc::new(base));
    let house = narrowed(&tools, "what is the rent @house/").await.unwrap();
    let found = house.tools.run(&grep, None).await.unwrap();
    let all = ["house/attic.md", "house/keys.md", "house/lease.md"];
    assert_eq!(sources(&found), all);
    let lost = narrowed(&tools, "what is the rent @hose/").await;
    let error = lost.map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("@hose/ names nothing"), "{error}");
}

/// What it does when it is asked what a question names.
enum Names {
    Hang,
    Panic,
}

#[async_trait]
impl Toolbox for Names {
    async fn run(&self, _: &ToolCall, _: Option<&WaitSink>) -> Result<Vec<Evidence>, ToolError> {
        Ok(Vec::new())
    }

    async fn narrow(&self, _: &str) -> Result<Option<NarrowedTools>, ToolError> {
        match self {
            Self::Hang => std::future::pending().await,
            Self::Panic => panic!("an odd name"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn ui_a_run_ends_though_no_one_finds_what_it_names() {
    for (names, outcome) in [
        (Names::Hang, Outcome::Cancelled),
        (Names::Panic, Outcome::Failed),
    ] {
        let agent = Agent {
            ports: Ports {
                reasoner: Arc::new(OfflineReasoner::new(Arc::new(SentenceEmbedding::new(
                    BuiltInModel::English,
                )))),
                tools: Arc::new(names),
            },
            limits: RoutingLimits::default(),
            session: "s".to_owned(),
        };
        let question = question_of("What is the rent? @house/");
        let (events, mut received) = mpsc::channel(64);
        let cancel = CancellationToken::new();
        let stop = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            cancel.cancel();
        };
        let answered = agent.answer(question, events, cancel.clone());
        let answered = tokio::time::timeout(PATIENCE, answered);
        let (answer, ()) = tokio::join!(answered, stop);
        assert!(answer.unwrap().is_none());
        let mut last = None;
        while let Some(event) = received.recv().await {
            last = Some(event.body);
        }
        let Some(EventBody::RunFinished { outcome: ended, .. }) = last else {
            panic!("{last:?}");
        };
        assert_eq!(ended, outcome);
    }
}
