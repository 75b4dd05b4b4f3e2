//! One numbering of evidence from the prompt to the answer, and answers that say what went wrong.

use std::sync::Arc;

use async_trait::async_trait;

use kb_agent::agent::ports::{Reasoner, ToolError, Toolbox, WaitSink};
use kb_agent::domain::{
    Complexity, Evidence, LineRange, NodeName, Outcome, RoutingLimits, ToolCall, ToolName,
};
use kb_agent::embed::{BuiltInModel, SentenceEmbedding};
use kb_agent::protocol::EventBody;
use kb_agent::reasoner::offline::OfflineReasoner;
use serde_json::json;

use crate::fault_server::{Act, FaultServer, piece, says, stream};
use crate::llm_jobs::reasoner_at;
use crate::scripted_endpoint::{Reply, ScriptedEndpoint};
use crate::support::{
    Finished, Said, Script, ScriptedReasoner, ScriptedTools, hybrid, item, plan_for, question_of,
    run,
};
use crate::workplace::{Workplace, json_lines, text};

fn passage(source: &str, start: usize, end: usize) -> Evidence {
    Evidence {
        source: source.to_owned(),
        lines: LineRange { start, end },
        text: format!("what {source} says in lines {start} to {end}"),
        ..item(start, ToolName::HybridSearch, 0.5)
    }
}

fn numbered(finished: &Finished) -> Vec<(usize, String)> {
    let bodies = finished.bodies().into_iter();
    let numbered_events = bodies.filter_map(|body| match body {
        EventBody::EvidenceNumbered { items } => Some(items),
        _ => None,
    });
    let numbered_events: Vec<_> = numbered_events.collect();
    assert_eq!(numbered_events.len(), 1, "once a run");
    numbered_events[0]
        .iter()
        .map(|item| (item.n, item.id.0.clone()))
        .collect()
}

/// Two rounds: the first finds three passages, the second one that joins two of them and one more.
fn two_rounds() -> ScriptedTools {
    ScriptedTools {
        items: vec![
            (
                "one",
                vec![
                    passage("a.md", 1, 4),
                    passage("b.md", 1, 4),
                    passage("a.md", 9, 12),
                ],
            ),
            ("two", vec![passage("a.md", 3, 10), passage("c.md", 1, 2)]),
        ],
        ..ScriptedTools::default()
    }
}

#[tokio::test]
async fn shown_numbers_are_reported_before_the_answer_and_citations_follow_the_text() {
    let script = Script {
        analyses: vec![(plan_for(Complexity::Complex), None)],
        plans: vec![vec![hybrid("one")], vec![hybrid("two")]],
        grades: vec![Ok(vec![0.5; 3]), Ok(vec![0.9; 3])],
        answer: vec!["C says [3]", ", B [1]", ", both [3, 1]."],
        ..Script::default()
    };
    let reasoner = ScriptedReasoner::new(script);
    let finished = run(
        reasoner,
        Arc::new(two_rounds()),
        RoutingLimits {
            auto_approve_max_items: 0,
            ..RoutingLimits::default()
        },
        question_of("which?"),
    )
    .await;
    let names = finished.names();
    let numbered_at = names
        .iter()
        .position(|name| *name == "evidence_numbered")
        .unwrap();
    let first = names
        .iter()
        .position(|name| *name == "answer_delta")
        .unwrap();
    assert_eq!(names[numbered_at - 1], "node_entered");
    assert!(numbered_at < first);
    let numbered = numbered(&finished);
    assert_eq!(numbered.len(), 3, "what grew together is one: {numbered:?}");
    let citations = &finished.answer.as_ref().unwrap().citations;
    let cited: Vec<_> = citations.iter().map(|c| (c.n, c.id.0.clone())).collect();
    assert_eq!(cited, [numbered[2].clone(), numbered[0].clone()]);
}

#[tokio::test]
async fn shown_numbers_are_those_that_the_model_is_sent() {
    let endpoint = ScriptedEndpoint::start().await;
    let plan =
        r#"{"complexity": "complex", "query_type": "conceptual", "sub_questions": ["a?", "b?"]}"#;
    let call = |query: &str| {
        json!([{"tool": "hybrid_search", "args": {"semantic_query": query}}]).to_string()
    };
    endpoint
        .stream(NodeName::AnalyzeAndRoute, plan)
        .stream(NodeName::Plan, &call("one"))
        .stream(NodeName::Plan, &call("two"))
        .say(NodeName::GradeEvidence, Reply::plain("[0.5, 0.5, 0.5]"))
        .say(NodeName::GradeEvidence, Reply::plain("[0.9, 0.1, 0.8]"))
        .stream(NodeName::Synthesize, "So it is [2], not [1].");
    let limits = RoutingLimits {
        auto_approve_max_items: 0,
        ..RoutingLimits::default()
    };
    let reasoner = Arc::new(reasoner_at(&endpoint).await);
    let finished = run(
        reasoner,
        Arc::new(two_rounds()),
        limits,
        question_of("which?"),
    )
    .await;
    assert_eq!(finished.outcome(), Outcome::Answered);

    let requests = endpoint.requests().await;
    let sent = requests
        .iter()
        .rfind(|request| request.node == "synthesize")
        .unwrap();
    let prompt = sent.message("user");
    let in_prompt: Vec<_> = prompt
        .lines()
        .filter_map(|line| {
            let (n, place) = line.strip_prefix('[')?.split_once("] ")?;
            let (source, lines) = place.split_once(':')?;
            let n: usize = n.parse().ok()?;
            Some((n, source.to_owned(), lines.to_owned()))
        })
        .collect();
    assert_eq!(in_prompt.len(), 2, "{prompt}");

    let place_of = |id: &str| {
        let mut place = None;
        for body in finished.bodies() {
            if let EventBody::EvidenceAdded { items } = body {
                let known = items.iter().find(|item| item.id.0 == id);
                place = known
                    .map(|item| (item.source.clone(), item.lines.to_string()))
                    .or(place);
            }
        }
        place.unwrap()
    };
    let shown_numbers: Vec<_> = numbered(&finished)
        .into_iter()
        .map(|(n, id)| {
            let (source, lines) = place_of(&id);
            (n, source, lines)
        })
        .collect();
    assert_eq!(shown_numbers, in_prompt);
    let citations = &finished.answer.as_ref().unwrap().citations;
    let cited: Vec<_> = citations
        .iter()
        .map(|c| (c.n, c.source.clone(), c.lines.to_string()))
        .collect();
    assert_eq!(cited, [in_prompt[1].clone(), in_prompt[0].clone()]);
}

/// Tools of which the first calls break, and the others find nothing.
struct Breaking {
    error: ToolError,
    breaks: usize,
    called: std::sync::atomic::AtomicUsize,
}

impl Breaking {
    fn all(error: ToolError) -> Arc<dyn Toolbox> {
        Self::first(usize::MAX, error)
    }

    fn first(breaks: usize, error: ToolError) -> Arc<dyn Toolbox> {
        Arc::new(Self {
            error,
            breaks,
            called: std::sync::atomic::AtomicUsize::default(),
        })
    }
}

#[async_trait]
impl Toolbox for Breaking {
    async fn run(&self, _: &ToolCall, _: Option<&WaitSink>) -> Result<Vec<Evidence>, ToolError> {
        let before = self
            .called
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        if before < self.breaks {
            Err(self.error.clone())
        } else {
            Ok(Vec::new())
        }
    }
}

/// Both thinking engines, the endpoint one scripted to plan two searches a round.
async fn engines() -> Vec<(Arc<dyn Reasoner>, Option<ScriptedEndpoint>)> {
    let offline = Arc::new(OfflineReasoner::new(Arc::new(SentenceEmbedding::new(
        BuiltInModel::English,
    ))));
    let endpoint = ScriptedEndpoint::start().await;
    let plan =
        r#"{"complexity": "complex", "query_type": "conceptual", "sub_questions": ["a?", "b?"]}"#;
    for round in 0..3 {
        let calls = json!([
            {"tool": "hybrid_search", "args": {"semantic_query": format!("a{round}")}},
            {"tool": "grep_search", "args": {"query": format!("b{round}")}},
        ]);
        endpoint.stream(NodeName::Plan, &calls.to_string());
    }
    endpoint
        .stream(NodeName::AnalyzeAndRoute, plan)
        .stream(NodeName::Synthesize, "It is so.");
    let llm = Arc::new(reasoner_at(&endpoint).await);
    vec![(offline, None), (llm, Some(endpoint))]
}

#[tokio::test(flavor = "multi_thread")]
async fn shown_r13_r23_a_search_that_broke_is_not_called_an_empty_base() {
    for question in [
        "Compare the index pipeline with the query engine",
        "What is the default chunk size?",
    ] {
        for (reasoner, _endpoint) in engines().await {
            let what = format!("{:?}: {question}", reasoner.identity().mode);
            let broken = ToolError::Failed("the index is damaged".to_owned());
            let tools = Breaking::all(broken);
            let finished = run(
                reasoner,
                tools,
                RoutingLimits::default(),
                question_of(question),
            )
            .await;
            assert_eq!(finished.outcome(), Outcome::Failed, "{what}");
            assert!(finished.answer.is_none(), "{what}");
            assert!(!finished.names().contains(&"answer_delta"), "{what}");
            let Some(EventBody::RunFinished { error, .. }) = finished.bodies().last().copied()
            else {
                panic!("no end");
            };
            let error = error.as_deref().unwrap();
            assert!(error.starts_with("the search failed"), "{what}: {error}");
            assert!(error.contains("the index is damaged"), "{what}: {error}");
            assert!(!error.contains('\n'), "{what}: {error}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn shown_r23_what_was_not_found_says_which_searches_failed() {
    let question = "Compare the index pipeline with the query engine";
    for (reasoner, _endpoint) in engines().await {
        let what = format!("{:?}", reasoner.identity().mode);
        let broken = ToolError::Failed("the index is damaged".to_owned());
        let tools = Breaking::first(1, broken);
        let finished = run(
            reasoner,
            tools,
            RoutingLimits::default(),
            question_of(question),
        )
        .await;
        assert_eq!(finished.outcome(), Outcome::NotFound, "{what}");
        let said = finished.text();
        assert!(said.starts_with("Nothing was found"), "{what}: {said}");
        assert!(
            said.contains("1 of ") && said.contains("the index is damaged"),
            "{what}: {said}"
        );
        assert!(finished.warnings().contains(&"search_failed"), "{what}");
    }
    // What is not there was looked up: nothing broke, and the reason is reported.
    for (reasoner, _endpoint) in engines().await {
        let missing = ToolError::NotFound {
            what: "plan.md".to_owned(),
        };
        let tools = Breaking::all(missing);
        let finished = run(
            reasoner,
            tools,
            RoutingLimits::default(),
            question_of(question),
        )
        .await;
        assert_eq!(finished.outcome(), Outcome::NotFound);
        let said = finished.text();
        said.must_hold("plan.md is not in the knowledge base");
    }
}

fn place() -> Workplace {
    let place = Workplace::with_gate();
    place.index();
    place
}

/// A simple question whose answer is cut off, as `ask` with these flags shows it.
fn ask_cut_off(flags: &[&str], answer: &str) -> (std::process::Output, String) {
    let place = place();
    let cut =
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n";
    let plan = r#"{"complexity": "simple", "query_type": "conceptual", "suggested_tools": ["hybrid_search"]}"#;
    let calls = r#"[{"tool": "hybrid_search", "args": {"semantic_query": "threshold gate"}}, {"tool": "no_such"}]"#;
    let script: Vec<(&'static str, Vec<Act>)> = vec![
        ("analyze_and_route", vec![says(plan)]),
        ("plan", vec![says(calls)]),
        ("synthesize", vec![stream(piece(answer) + cut)]),
    ];
    let server = FaultServer::start(&script);
    let mut command = place.command(&["ask", "--kb", "kb"]);
    command
        .args(flags)
        .arg("What is the threshold?")
        .envs(server.settings());
    (command.output().unwrap(), server.address().to_owned())
}

#[test]
fn shown_ask_says_what_went_wrong_on_a_line_of_its_own() {
    let (output, address) = ask_cut_off(&[], "It is seven [1] and");
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    stdout.must_begin_with("It is seven [1] and\n\n[1] gate.md:");
    let footer = stdout.lines().last().unwrap();
    assert!(footer.contains(" · 2 warnings · "), "{footer}");
    let lines: Vec<&str> = stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{stderr}");
    assert!(lines[0].contains("no_such"), "{stderr}");
    let cut =
        format!("kb-agent: {address} stopped at its token limit; the answer may be incomplete");
    assert_eq!(lines[1], cut);
}

#[test]
fn shown_ask_ends_the_line_of_the_answer_before_it_warns() {
    // Both on one terminal, as a person sees them.
    let place = place();
    let cut =
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n";
    let chat = r#"{"complexity": "chitchat", "query_type": "chitchat", "reply": null}"#;
    let server = FaultServer::start(&[
        ("analyze_and_route", vec![says(chat)]),
        ("synthesize", vec![stream(piece("Hello") + cut)]),
    ]);
    let log = place.path().join("both");
    let both = std::fs::File::create(&log).unwrap();
    let status = place
        .command(&["ask", "--kb", "kb", "hello"])
        .envs(server.settings())
        .stdout(both.try_clone().unwrap())
        .stderr(both)
        .status()
        .unwrap();
    assert!(status.success());
    let seen = std::fs::read_to_string(log).unwrap();
    let begins = format!(
        "Hello\nkb-agent: {} stopped at its token limit",
        server.address()
    );
    assert!(seen.starts_with(&begins), "{seen}");
}

#[test]
fn shown_ask_json_numbers_the_evidence_and_checks_what_follows_a_stray_backtick() {
    let answer = "The `threshold is seven [1], not eight [7].";
    let (output, _) = ask_cut_off(&["--json"], answer);
    let events = json_lines(&output.stdout);
    let of = |name: &str| {
        events
            .iter()
            .find(|event| event["event"] == name)
            .unwrap()
            .clone()
    };
    let numbered = of("evidence_numbered");
    assert_eq!(numbered["items"][0]["n"], 1);
    let finished = of("answer_finished");
    assert_eq!(finished["text"], "The `threshold is seven [1], not eight.");
    assert_eq!(finished["citations"][0]["n"], 1);
    assert_eq!(finished["citations"][0]["id"], numbered["items"][0]["id"]);
    assert_eq!(finished["citations"].as_array().unwrap().len(), 1);
}
