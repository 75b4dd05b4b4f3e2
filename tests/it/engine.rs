//! The public interface for one answer, as another program would use it.

use kb_agent::config::{Environment, Overrides, Settings};
use kb_agent::domain::Outcome;
use kb_agent::engine::{Conversation, Engine, EngineError, Opening, channels};
use kb_agent::protocol::{Command, EventBody, QuestionPlace, Update};
use tokio_util::sync::CancellationToken;

use crate::support::{check_stream, question_of};
use crate::workplace::{Workplace, free_address};

pub async fn engine(place: &Workplace, endpoint: &str) -> Result<Engine, EngineError> {
    engine_with(place, endpoint, &[]).await
}

/// The same with further settings.
pub async fn engine_with(
    place: &Workplace,
    endpoint: &str,
    settings: &[(&str, &str)],
) -> Result<Engine, EngineError> {
    Engine::open(&settings_of(place, endpoint, settings)).await
}

fn settings_of(place: &Workplace, endpoint: &str, settings: &[(&str, &str)]) -> Settings {
    place.file(
        "kb/gate.md",
        "# The gate\n\nThe gate opens at seven and closes at nine.\n",
    );
    let data = place.data();
    let own = [
        ("KB_AGENT_DATA_DIR", data.to_str().unwrap()),
        ("KB_AGENT_CONFIG_DIR", data.to_str().unwrap()),
        ("KB_AGENT_LLM_BASE_URL", endpoint),
    ];
    let environment = Environment::from_pairs(own.iter().chain(settings).copied());
    let overrides = Overrides {
        sources: vec![place.path().join("kb")],
        ..Overrides::default()
    };
    Settings::resolve(&environment, overrides).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_before_the_index_is_open_is_answered_after() {
    let place = Workplace::empty();
    let settings = settings_of(&place, "", &[]);
    let opening = Opening::begin(&settings).await.unwrap();
    let ((commands, mut updates), ends) = channels();
    let ask = Command::Ask {
        query: "When does the gate open?".to_owned(),
        route: None,
        place: QuestionPlace::default(),
    };
    commands.send(ask).await.unwrap();
    let engine = opening.finish().await.unwrap();
    let conversation = Conversation::start(ends, engine).unwrap();
    let outcome = loop {
        if let Update::Event(event) = updates.recv().await.unwrap()
            && let EventBody::RunFinished { outcome, .. } = event.body
        {
            break outcome;
        }
    };
    assert!(outcome.is_complete(), "{outcome:?}");
    drop((commands, updates));
    conversation.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r27_answer_query_is_the_whole_interface_and_the_stream_says_the_same() {
    let place = Workplace::empty();
    let engine = engine(&place, "").await.unwrap();
    engine
        .knowledge()
        .update(&|_| (), &CancellationToken::new())
        .unwrap();
    let query = "When does the gate open?";
    let answer = engine.answer_query(query).await.unwrap();
    assert_eq!(answer.outcome, Outcome::Answered);
    assert!(answer.text.contains("seven"), "{}", answer.text);
    assert_eq!(answer.citations[0].source, "gate.md");

    let question = question_of(query);
    let mut run = engine
        .stream(question, CancellationToken::new())
        .await
        .unwrap();
    let mut events = Vec::new();
    while let Some(event) = run.next_event().await {
        events.push(event);
    }
    check_stream(&events);
    let end = events.last().map(|event| event.body.clone());
    assert_eq!(run.answer(end).await.unwrap(), answer);
    let text = events.iter().find_map(|event| match &event.body {
        EventBody::AnswerFinished { text, .. } => Some(text),
        _ => None,
    });
    assert_eq!(text, Some(&answer.text));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_refuses_stops_the_question_and_not_the_engine() {
    let place = Workplace::empty();
    let address = free_address();
    let url = format!("http://{address}/v1");
    let engine = engine(&place, &url).await.unwrap();
    let error = engine.answer_query("hello").await.unwrap_err();
    let line = error.to_string();
    assert_eq!(line.lines().count(), 1);
    assert!(line.contains(&address), "{line}");
}
