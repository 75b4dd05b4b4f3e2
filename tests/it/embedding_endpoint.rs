//! An `/embeddings` server instead of the built-in model: what is sent, what is made of the
//! answers, and what happens when there are none.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kb_agent::agent::ports::{BulkPriority, Embedder};
use kb_agent::embed::{EmbeddingData, EmbeddingEndpoint, EndpointEmbedder};
use kb_agent::kb::{KnowledgeBase, SearchMode};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::scripted_endpoint::offer_models;
use crate::support::Said;
use crate::workplace::{Workplace, events, json_lines, one_line, refusing_url, text};

const KEY: &str = "sk-embedding-secret";

/// A vector that depends on the text alone, not normalised.
fn vector(text: &str, dims: usize) -> Vec<f32> {
    let mut vector = vec![0.1; dims];
    for (at, byte) in text.bytes().enumerate() {
        vector[(usize::from(byte) + at % 3) % dims] += 1.0;
    }
    vector
}

fn texts_of(request: &Request) -> Vec<String> {
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    serde_json::from_value(body["input"].clone()).unwrap()
}

/// Vectors of `dims` numbers, listed last first: the index says what belongs to what.
fn embeddings(texts: &[String], dims: usize) -> ResponseTemplate {
    let data: Vec<Value> = texts
        .iter()
        .enumerate()
        .rev()
        .map(|(at, text)| json!({"index": at, "embedding": vector(text, dims)}))
        .collect();
    ResponseTemplate::new(200).set_body_json(json!({"object": "list", "data": data}))
}

async fn server(
    answer: impl Fn(&[String]) -> ResponseTemplate + Send + Sync + 'static,
) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/embeddings"))
        .respond_with(move |request: &Request| answer(&texts_of(request)))
        .mount(&server)
        .await;
    offer_models(&server, &["first", "second"]).await;
    server
}

fn embedder(base_url: &str, model: Option<&str>) -> EndpointEmbedder {
    EndpointEmbedder::new(&endpoint(base_url, model)).unwrap()
}

fn endpoint(base_url: &str, model: Option<&str>) -> EmbeddingEndpoint {
    EmbeddingEndpoint {
        base_url: base_url.to_owned(),
        api_key: Some(KEY.into()),
        model: model.map(str::to_owned),
        authorities: Vec::new(),
        query_prefix: None,
        passage_prefix: None,
        data: EmbeddingData::read(None).unwrap(),
    }
}

fn at(server: &MockServer) -> String {
    format!("{}/v1", server.uri())
}

async fn sizes(server: &MockServer) -> Vec<usize> {
    let requests = server.received_requests().await.unwrap();
    let mut sizes: Vec<usize> = requests
        .iter()
        .filter(|request| request.url.path().ends_with("/embeddings"))
        .map(|request| texts_of(request).len())
        .collect();
    sizes.sort_unstable();
    sizes
}

#[tokio::test(flavor = "multi_thread")]
async fn many_texts_go_in_bounded_requests_and_come_back_in_order() {
    let server = server(|texts| embeddings(texts, 8)).await;
    let embedder = embedder(&at(&server), Some("m"));
    let texts: Vec<String> = (0..130).map(|n| format!("text number {n}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = embedder.embed(&texts).unwrap();
    assert_eq!(vectors.len(), texts.len());
    for (text, found) in texts.iter().zip(&vectors) {
        let raw = vector(text, 8);
        let length = raw.iter().map(|x| x * x).sum::<f32>().sqrt();
        let expected = raw.iter().map(|x| x / length);
        assert!(
            found
                .iter()
                .zip(expected)
                .all(|(a, b)| (a - b).abs() < 1e-5)
        );
    }
    assert_eq!(sizes(&server).await, [2, 64, 64]);
    let requests = server.received_requests().await.unwrap();
    let first = &requests[0];
    assert_eq!(first.headers["authorization"], format!("Bearer {KEY}"));
    let body: Value = serde_json::from_slice(&first.body).unwrap();
    assert_eq!(body["model"], json!("m"));
    assert_eq!(body["encoding_format"], json!("float"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_server_is_asked_again_when_it_says_so() {
    let asked = AtomicUsize::new(0);
    let server = server(move |texts| match asked.fetch_add(1, Ordering::Relaxed) {
        0 => ResponseTemplate::new(429).insert_header("Retry-After", "0"),
        1 => ResponseTemplate::new(503).insert_header("Retry-After", "0"),
        _ => embeddings(texts, 4),
    })
    .await;
    let embedder = embedder(&at(&server), Some("m"));
    let vectors = embedder.embed_unless(&["a"], BulkPriority::Idle, &CancellationToken::new());
    assert_eq!(vectors.unwrap().unwrap().len(), 1);
    assert_eq!(sizes(&server).await.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_for_a_server_can_be_given_up() {
    let cancel = CancellationToken::new();
    let asked = cancel.clone();
    let server = server(move |texts| {
        asked.cancel();
        embeddings(texts, 4).set_delay(Duration::from_mins(10))
    })
    .await;
    let embedder = embedder(&at(&server), Some("m"));
    assert_eq!(
        embedder
            .embed_unless(&["a"], BulkPriority::Idle, &cancel)
            .unwrap(),
        None
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_large_is_sent_in_parts() {
    for status in [400, 413, 500] {
        let server = server(move |texts| {
            let longest = texts.iter().map(String::len).max().unwrap();
            if texts.len() > 16 || longest > 1000 {
                let body = json!({"error": {"message": "input is too large to process"}});
                return ResponseTemplate::new(status).set_body_json(body);
            }
            embeddings(texts, 4)
        })
        .await;
        let embedder = embedder(&at(&server), Some("m"));
        let long = "word ".repeat(600);
        let mut texts = vec!["short"; 40];
        texts.push(&long);
        assert_eq!(embedder.embed(&texts).unwrap().len(), 41, "{status}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_work_is_one_line_after_one_request() {
    let words = |message: &str| json!({"error": {"message": message}}).to_string();
    for (status, body, expected) in [
        (
            401,
            words(&format!("bad key {KEY}")),
            "does not accept the key (401): bad key [key]; check KB_AGENT_EMBEDDING_API_KEY",
        ),
        (403, String::new(), "check KB_AGENT_EMBEDDING_API_KEY"),
        (
            404,
            words("model 'm' not found"),
            "model 'm' not found; check KB_AGENT_EMBEDDING_BASE_URL and KB_AGENT_EMBEDDING_MODEL",
        ),
        (
            400,
            words("unknown model"),
            "unknown model; check KB_AGENT_EMBEDDING_MODEL",
        ),
        (
            200,
            "<html>hello</html>".to_owned(),
            "sent a web page instead of vectors; check KB_AGENT_EMBEDDING_BASE_URL (most end in /v1)",
        ),
        (200, words("no such thing"), "failed: no such thing"),
        (
            200,
            json!({"data": []}).to_string(),
            "gave 0 vectors for 2 texts",
        ),
        (
            200,
            json!({"data": [{"embedding": [1.0]}, {"embedding": [1.0, 2.0]}]}).to_string(),
            "gave vectors of 2 numbers after vectors of 1",
        ),
        (
            200,
            json!({"data": [{"embedding": [1.0]}, {"embedding": [null]}]}).to_string(),
            "a vector that holds no numbers",
        ),
    ] {
        let server =
            server(move |_| ResponseTemplate::new(status).set_body_string(body.clone())).await;
        let embedder = embedder(&at(&server), Some("m"));
        let cancel = CancellationToken::new();
        let error = embedder
            .embed_unless(&["a", "b"], BulkPriority::Idle, &cancel)
            .unwrap_err();
        let line = error.to_string();
        assert!(line.contains(expected), "{line}");
        line.must_begin_with("the embedding failed: 127.0.0.1:");
        assert!(!line.contains('\n') && !line.contains(KEY), "{line}");
        // Where it may be one of the texts that is refused, another one is tried.
        let is_of_texts = [403, 400].contains(&status) || expected.contains("no ");
        let asked: &[usize] = if is_of_texts { &[1, 2] } else { &[2] };
        assert_eq!(sizes(&server).await, asked, "{line}");
        // A question that follows does not wait for the same answer.
        assert_eq!(embedder.embed(&["q"]).unwrap_err(), error);
        assert_eq!(sizes(&server).await, asked, "{line}");
    }
}

/// The bodies of the requests for vectors, without what all have in common.
async fn bodies(server: &MockServer) -> Vec<Value> {
    let requests = server.received_requests().await.unwrap();
    let of_vectors = requests
        .iter()
        .filter(|request| request.url.path().ends_with("/embeddings"));
    of_vectors
        .map(|request| serde_json::from_slice(&request.body).unwrap())
        .collect()
}

fn refusal(status: u16, message: &str) -> ResponseTemplate {
    ResponseTemplate::new(status).set_body_json(json!({"error": {"message": message}}))
}

fn in_bulk(embedder: &EndpointEmbedder, texts: &[&str]) -> Vec<Vec<f32>> {
    let cancel = CancellationToken::new();
    let made = embedder.embed_unless(texts, BulkPriority::Idle, &cancel);
    made.unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn r26_a_known_model_reads_what_it_was_trained_with() {
    let server = server(|texts| embeddings(texts, 4)).await;
    for (model, query, passage, id) in table![
        "intfloat/multilingual-e5-small", "query: gate", "passage: The gate.",
            "endpoint:intfloat/multilingual-e5-small with passages after \"passage: \"";
        "Qwen3-Embedding-0.6B",
            "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:gate",
            "The gate.", "endpoint:Qwen3-Embedding-0.6B";
        "bge-m3", "gate", "The gate.", "endpoint:bge-m3";
    ] {
        let embedder = embedder(&at(&server), Some(model));
        assert_eq!(embedder.model_id(), id);
        embedder.embed(&["gate"]).unwrap();
        in_bulk(&embedder, &["The gate."]);
        let asked = bodies(&server).await;
        let asked: Vec<&Value> = asked.iter().rev().take(2).map(|it| &it["input"]).collect();
        assert_eq!(asked, [&json!([passage]), &json!([query])], "{model}");
    }
    // What the user says wins, and names other vectors.
    let own = EndpointEmbedder::new(&EmbeddingEndpoint {
        query_prefix: Some("ask\n".to_owned()),
        passage_prefix: Some(String::new()),
        ..endpoint(&at(&server), Some("nomic-embed-text"))
    })
    .unwrap();
    assert_eq!(own.model_id(), "endpoint:nomic-embed-text");
    own.embed(&["gate"]).unwrap();
    assert_eq!(
        bodies(&server).await.pop().unwrap()["input"],
        json!(["ask\ngate"])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn r26_a_server_is_told_what_a_text_is_where_it_asks_for_that() {
    let server = MockServer::start().await;
    let answer = |request: &Request| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        if body.get("encoding_format").is_some() {
            return refusal(
                400,
                "does not support parameters: {'encoding_format': 'float'}",
            );
        }
        let told = body["input_type"].as_str();
        if !told.is_some_and(|told| told.starts_with("search_")) {
            return refusal(422, "input_type: one of search_query, search_document");
        }
        embeddings(&texts_of(request), 4)
    };
    Mock::given(method("POST"))
        .respond_with(answer)
        .mount(&server)
        .await;
    let embedder = embedder(&at(&server), Some("embed-v4.0"));
    embedder.embed(&["gate"]).unwrap();
    assert_eq!(bodies(&server).await.len(), 3);
    in_bulk(&embedder, &["The gate."]);
    let asked = bodies(&server).await;
    let told: Vec<&Value> = asked.iter().map(|it| &it["input_type"]).collect();
    let (untold, query) = (&Value::Null, &json!("search_query"));
    assert_eq!(told, [untold, untold, query, &json!("search_document")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn r26_an_unwanted_input_type_is_given_up() {
    let server = MockServer::start().await;
    let answer = |request: &Request| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        match body.get("input_type") {
            Some(_) => refusal(400, "unknown field: input_type"),
            None => embeddings(&texts_of(request), 4),
        }
    };
    Mock::given(method("POST"))
        .respond_with(answer)
        .mount(&server)
        .await;
    let embedder = embedder(&at(&server), Some("nvidia/nv-embedqa-e5-v5"));
    for text in ["gate", "door"] {
        embedder.embed(&[text]).unwrap();
    }
    let asked = bodies(&server).await;
    let told = asked.iter().map(|it| it.get("input_type").is_some());
    let told: Vec<bool> = told.collect();
    assert_eq!(told.last(), Some(&false));
    assert!(told.len() <= 4, "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn r26_a_limit_of_texts_at_a_time_is_learned() {
    let server = server(|texts| match texts.len() {
        0..=10 => embeddings(texts, 4),
        _ => refusal(
            400,
            "* BatchEmbedContentsRequest.requests: at most 10 requests can be in one batch",
        ),
    })
    .await;
    let embedder = embedder(&at(&server), Some("m"));
    let texts: Vec<String> = (0..200).map(|n| format!("text number {n}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let made = in_bulk(&embedder, &texts);
    assert!(made.len() == 200 && made.iter().all(|vector| vector.len() == 4));
    let refused = sizes(&server)
        .await
        .iter()
        .filter(|size| **size > 10)
        .count();
    assert!(
        refused <= 6,
        "{refused} refused: each limit is met once, by two at a time"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn r26_a_text_that_is_always_refused_is_left_out_and_the_others_are_embedded() {
    let broken = |texts: &[String], vector: Value| {
        let data: Vec<Value> = texts
            .iter()
            .map(|text| json!({"embedding": if text.contains("poison") { vector.clone() } else { json!([1, 2]) }}))
            .collect();
        ResponseTemplate::new(200).set_body_json(json!({"data": data}))
    };
    for (name, says) in [
        ("400", "the text cannot be tokenised"),
        ("403", "does not accept the key (403)"),
        ("500", "failed (500)"),
        ("null", "a vector that holds no numbers"),
        ("NaN", "broken JSON"),
    ] {
        let server = server(move |texts| {
            let is_poisoned = texts.iter().any(|text| text.contains("poison"));
            match name {
                "null" => broken(texts, json!([1, null])),
                _ if !is_poisoned => embeddings(texts, 2),
                "NaN" => {
                    ResponseTemplate::new(200).set_body_string("{\"data\":[{\"embedding\":[NaN]}]}")
                }
                "500" => ResponseTemplate::new(500).insert_header("Retry-After", "0"),
                status => refusal(status.parse().unwrap(), "the text cannot be tokenised"),
            }
        })
        .await;
        let embedder = embedder(&at(&server), Some("m"));
        let mut texts = vec!["fine"; 20];
        texts[13] = "poison";
        let made = in_bulk(&embedder, &texts);
        let left_out: Vec<usize> = (0..20).filter(|at| made[*at].is_empty()).collect();
        assert_eq!((made.len(), left_out), (20, vec![13]), "{name}");
        let why = embedder.last_refusal().unwrap().to_string();
        assert!(why.contains(says), "{name}: {why}");
        // Who asks a question is told.
        let line = embedder.embed(&["poison"]).unwrap_err().to_string();
        assert!(line.contains(says), "{name}: {line}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_name_the_first_model_listed_is_used() {
    let server = server(|texts| embeddings(texts, 4)).await;
    let unnamed = embedder(&at(&server), None);
    assert_eq!(unnamed.model_id(), "endpoint:first");
    unnamed.embed(&["a"]).unwrap();
    let requests = server.received_requests().await.unwrap();
    let body: Value = serde_json::from_slice(&requests.last().unwrap().body).unwrap();
    assert_eq!(body["model"], "first");
    assert_eq!(embedder(&refusing_url(), None).model_id(), "endpoint:");
}

fn base(place: &Workplace, server: &str, model: &str) -> KnowledgeBase {
    let embedder = Arc::new(embedder(server, Some(model)));
    KnowledgeBase::open(
        &[place.path().join("kb")],
        &place.path().join("index"),
        embedder,
    )
    .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn vectors_of_two_models_or_lengths_are_never_mixed() {
    let dims = Arc::new(AtomicUsize::new(4));
    let answered = dims.clone();
    let server = server(move |texts| embeddings(texts, answered.load(Ordering::Relaxed))).await;
    let place = Workplace::holding([("kb/a.md", "# Gate\n\nThe gate opens at seven.\n")]);
    let cancel = CancellationToken::new();
    let at = at(&server);
    let one = base(&place, &at, "one");
    assert_eq!(one.update(&|_| (), &cancel).unwrap().embedded, 1);

    // Another model: a fresh set, and the old one is still there for who uses the old model.
    let two = base(&place, &at, "two");
    assert_eq!(two.status().pending, 1);
    assert_eq!(two.update(&|_| (), &cancel).unwrap().embedded, 1);
    assert_eq!(base(&place, &at, "one").status().pending, 0);

    // The same model, and the server answers another length from one day to the next: it is another
    // model behind the same name.
    dims.store(3, Ordering::Relaxed);
    place.file("kb/b.md", "# Door\n\nThe door is locked at nine.\n");
    let later = base(&place, &at, "one");
    later.update_words(&|_| (), &cancel).unwrap();
    let hits = later.search(SearchMode::Hybrid, "locked door", 3).unwrap();
    assert_eq!(hits[0].source, "b.md", "its words are found all the same");
    let line = later.embedding_trouble().unwrap().to_string();
    let says = "the model gives vectors of 3 numbers where the index holds vectors of 4; `kb-agent \
                index` embeds everything again";
    assert!(line.ends_with(says), "{line}");
    assert!(later.search(SearchMode::Vector, "locked door", 3).is_err());
    assert_eq!(later.update(&|_| (), &cancel).unwrap().embedded, 2);
    assert!(later.search(SearchMode::Vector, "locked door", 3).is_ok());
    assert_eq!(later.embedding_trouble(), None);
    assert_eq!(later.update(&|_| (), &cancel).unwrap().embedded, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn r26_a_swapped_model_is_one_sentence_at_a_search_and_mended_by_the_next_index() {
    let dims = Arc::new(AtomicUsize::new(8));
    let answered = dims.clone();
    let server = server(move |texts| embeddings(texts, answered.load(Ordering::Relaxed))).await;
    let place = small_base();
    let command = |args: &[&str]| with_endpoint(place.command(args), &at(&server));
    let index = ["index", "--kb", "kb", "--json"];
    let search = ["search", "--kb", "kb", "--json", "gate"];
    assert!(run(command(&index)).await.status.success());
    dims.store(6, Ordering::Relaxed);
    let found = run(command(&search)).await;
    assert_eq!(json_lines(&found.stdout)[0]["source"], "gate.md");
    let line = one_line(&found);
    line.must_hold("6 numbers where the index holds vectors of 8");
    line.must_hold("`kb-agent index` embeds everything again");
    let ask = run(command(&["ask", "--kb", "kb", "When does the gate open?"])).await;
    assert!(one_line(&ask).contains("`kb-agent index` embeds everything again"));
    // Nothing is waiting for a vector, and all are made anew.
    let report = run(command(&index)).await;
    assert_eq!(json_lines(&report.stdout)[0]["embedded"], 2);
    assert!(run(command(&search)).await.stderr.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn r26_a_refused_text_is_listed_by_the_index_and_found_by_its_words() {
    let server = server(|texts| {
        if texts.iter().any(|text| text.contains("nine")) {
            return refusal(400, "this text is not allowed");
        }
        embeddings(texts, 8)
    })
    .await;
    let place = small_base();
    let command = |args: &[&str]| with_endpoint(place.command(args), &at(&server));
    let json = run(command(&["index", "--kb", "kb", "--json"])).await;
    assert!(json.status.success(), "{}", text(&json.stderr));
    let report = &json_lines(&json.stdout)[0];
    assert_eq!(report["embedded"], 1);
    assert_eq!(report["unembedded"][0]["path"], "door.md");
    let plain = run(command(&["index", "--kb", "kb"])).await;
    let said = text(&plain.stdout);
    said.must_hold("found by its words only: door.md:1: 127.0.0.1:");
    said.must_hold("rejects the request (400): this text is not allowed");
    let found = run(command(&[
        "search",
        "--kb",
        "kb",
        "--json",
        "locked at nine",
    ]))
    .await;
    assert_eq!(json_lines(&found.stdout)[0]["source"], "door.md");

    // A process that stays does not ask for it again and again.
    let base = base(&place, &at(&server), "m");
    let cancel = CancellationToken::new();
    assert_eq!(base.update(&|_| (), &cancel).unwrap().unembedded.len(), 1);
    let asked = sizes(&server).await.len();
    assert_eq!((base.status().pending, base.status().words_only), (0, 1));
    assert_eq!(base.update(&|_| (), &cancel).unwrap().unembedded.len(), 1);
    assert_eq!(sizes(&server).await.len(), asked);
    place.file("kb/door.md", "# The door\n\nThe door is open.\n");
    assert!(base.update(&|_| (), &cancel).unwrap().unembedded.is_empty());
}

fn with_endpoint(mut command: Command, base_url: &str) -> Command {
    command
        .env("KB_AGENT_EMBEDDING_BASE_URL", base_url)
        .env("KB_AGENT_EMBEDDING_MODEL", "m")
        .env("KB_AGENT_EMBEDDING_API_KEY", KEY)
        .env("KB_AGENT_LOG", "trace");
    command
}

fn small_base() -> Workplace {
    let place = Workplace::empty();
    for (name, says) in [("gate", "opens at seven"), ("door", "is locked at nine")] {
        place.file(
            &format!("kb/{name}.md"),
            format!("# The {name}\n\nThe {name} {says}.\n"),
        );
    }
    place
}

/// Runs the binary beside the mocked server's runtime.
async fn run(command: Command) -> Output {
    let mut command = command;
    tokio::task::spawn_blocking(move || command.output().unwrap())
        .await
        .unwrap()
}

/// Everything below a folder that holds these bytes.
fn holding(folder: &Path, needle: &[u8], found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            holding(&path, needle, found);
        } else if std::fs::read(&path)
            .unwrap()
            .windows(needle.len())
            .any(|window| window == needle)
        {
            found.push(path.display().to_string());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_program_uses_the_endpoint_and_never_repeats_its_key() {
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = asked.clone();
    let server = server(move |texts| {
        seen.lock().extend_from_slice(texts);
        embeddings(texts, 16)
    })
    .await;
    let place = small_base();
    let index = run(with_endpoint(
        place.command(&["index", "--kb", "kb", "--json"]),
        &at(&server),
    ))
    .await;
    assert!(index.status.success(), "{}", text(&index.stderr));
    assert_eq!(json_lines(&index.stdout)[0]["embedded"], 2);
    let search = run(with_endpoint(
        place.command(&[
            "search", "--tool", "vector", "--kb", "kb", "--json", "the gate",
        ]),
        &at(&server),
    ))
    .await;
    assert!(search.stderr.is_empty(), "{}", text(&search.stderr));
    assert_eq!(json_lines(&search.stdout).len(), 2);
    let ask = run(with_endpoint(
        place.command(&["ask", "--kb", "kb", "When does the gate open?"]),
        &at(&server),
    ))
    .await;
    assert!(text(&ask.stdout).contains("seven"), "{}", text(&ask.stdout));
    let asked = asked.lock();
    assert!(asked.iter().any(|text| text == "the gate"), "{asked:?}");
    let mut leaks = Vec::new();
    holding(&place.data(), KEY.as_bytes(), &mut leaks);
    assert!(leaks.is_empty(), "the key is in {leaks:?}");
    for output in [&index, &search, &ask] {
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(!said.contains(KEY), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_down_costs_the_meaning_and_one_line() {
    let place = small_base();
    let down = refusing_url();
    let search = with_endpoint(
        place.command(&["search", "--kb", "kb", "--json", "gate"]),
        &down,
    );
    let search = run(search).await;
    assert!(search.status.success());
    let line = one_line(&search);
    line.must_hold(
        "connection refused; check that the server runs and KB_AGENT_EMBEDDING_BASE_URL",
    );
    line.must_end_with("passages are found by their words only");
    assert_eq!(json_lines(&search.stdout)[0]["source"], "gate.md");

    let ask = place.command(&["ask", "--kb", "kb", "When does the gate open?"]);
    let ask = run(with_endpoint(ask, &down)).await;
    assert!(text(&ask.stdout).contains("seven"), "{}", text(&ask.stdout));
    assert!(one_line(&ask).contains("connection refused"));
    let log = place.audit();
    let codes: Vec<&str> = events(&log, "warning")
        .iter()
        .map(|event| event["code"].as_str().unwrap())
        .collect();
    assert_eq!(codes, ["embedding_failed", "index_incomplete"]);

    let index = run(with_endpoint(
        place.command(&["index", "--kb", "kb"]),
        &down,
    ))
    .await;
    assert_eq!(index.status.code(), Some(1));
    assert!(text(&index.stderr).contains("connection refused"));

    // Everything is embedded, and then the server goes: only the question lacks its vector.
    let server = server(|texts| embeddings(texts, 16)).await;
    let index = place.command(&["index", "--kb", "kb"]);
    assert!(
        run(with_endpoint(index, &at(&server)))
            .await
            .status
            .success()
    );
    let search = place.command(&["search", "--kb", "kb", "--json", "gate"]);
    let search = run(with_endpoint(search, &down)).await;
    assert!(one_line(&search).contains("connection refused"));
    assert_eq!(json_lines(&search.stdout)[0]["source"], "gate.md");
}

#[test]
fn a_bad_endpoint_setting_is_one_line() {
    let place = small_base();
    let output = place
        .command(&["search", "--kb", "kb", "gate"])
        .env("KB_AGENT_EMBEDDING_BASE_URL", "localhost:8080")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(one_line(&output).contains("KB_AGENT_EMBEDDING_BASE_URL is 'localhost:8080'"));
    let output = place
        .command(&["search", "--tool", "grep", "--kb", "kb", "gate"])
        .env("KB_AGENT_EMBEDDING_MODEL", "m")
        .output()
        .unwrap();
    let vain =
        "KB_AGENT_EMBEDDING_MODEL is set without effect: KB_AGENT_EMBEDDING_BASE_URL is not set";
    assert!(one_line(&output).contains(vain));
}
