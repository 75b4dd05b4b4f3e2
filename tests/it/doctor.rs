//! `doctor`: each thing that can be wrong is found by the real binary, with what to do about it.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Output;

use serde_json::{Value, json};

use crate::fault_server::{Act, FaultServer, Seen, ending, error, piece, reply, says, stream};
use crate::support::Said;
use crate::terminal::Terminal;
use crate::workplace::{Workplace, one_line, refusing_url, text};

const KEY: &str = "sk-a-key-that-nobody-may-see";
const SCORES: &str = r#"{"scores": [0.9]}"#;
const ANSWER: &str = "At seven [1].";

/// What `doctor --json` said.
struct Report {
    output: Output,
    all: Value,
}

impl Report {
    fn by(output: Output) -> Self {
        let all = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|e| panic!("{e}: {}", text(&output.stdout)));
        Self { output, all }
    }

    fn checks(&self) -> &Vec<Value> {
        self.all["checks"].as_array().unwrap()
    }

    /// The checks of that name, in order.
    fn of(&self, area: &str, name: &str) -> Vec<&Value> {
        let checks = self.checks().iter();
        checks
            .filter(|check| check["area"] == area && check["name"] == name)
            .collect()
    }

    /// The only check of that name must be so and say so, and have something next only where it is
    /// told: `AREA / NAME: STATUS: DETAIL → NEXT`.
    #[track_caller]
    fn has(&self, expected: &str) {
        let (area, rest) = expected.split_once(" / ").unwrap();
        let (name, rest) = rest.split_once(": ").unwrap();
        let (status, rest) = rest.split_once(": ").unwrap();
        let (detail, next) = rest.split_once(" → ").unwrap_or((rest, ""));
        let found = self.of(area, name);
        assert_eq!(found.len(), 1, "{area}, {name}: {:#}", self.all["checks"]);
        assert_eq!(found[0]["status"], status, "{:#}", found[0]);
        let said = |field: &str| found[0][field].as_str().unwrap_or_default();
        assert!(said("detail").contains(detail), "{:#}", found[0]);
        if next.is_empty() {
            assert_eq!(found[0]["next"], Value::Null, "{:#}", found[0]);
        }
        assert!(said("next").contains(next), "{:#}", found[0]);
    }

    fn broken(&self) -> Vec<String> {
        let checks = self.checks().iter();
        checks
            .filter(|check| check["status"] == "broken")
            .map(|check| check["name"].as_str().unwrap().to_owned())
            .collect()
    }

    fn setting(&self, name: &str) -> (Value, String) {
        let settings = self.all["settings"].as_array().unwrap();
        let one = settings.iter().find(|one| one["name"] == name).unwrap();
        (
            one["value"].clone(),
            one["origin"].as_str().unwrap().to_owned(),
        )
    }

    fn code(&self) -> Option<i32> {
        self.output.status.code()
    }
}

fn place() -> Workplace {
    Workplace::holding([("kb/gate.md", "# Gate\n\nThe east gate opens at seven.\n")])
}

fn indexed() -> Workplace {
    let place = place();
    place.index();
    place
}

fn doctor(place: &Workplace, settings: &[(&str, &str)]) -> Report {
    let mut command = place.command(&["doctor", "--json", "--kb", "kb"]);
    command
        .env("LANG", "C.UTF-8")
        .envs(settings.iter().copied());
    Report::by(command.output().unwrap())
}

fn listing(models: &[&str]) -> Act {
    let models: Vec<_> = models.iter().map(|model| json!({"id": model})).collect();
    let body = json!({"object": "list", "data": models}).to_string();
    Act::Keep(reply("200 OK", "Content-Type: application/json\r\n", body))
}

fn well() -> FaultServer {
    serving(vec![says(SCORES)], vec![says(ANSWER)])
}

fn serving(judging: Vec<Act>, answering: Vec<Act>) -> FaultServer {
    FaultServer::start(&[
        ("", vec![listing(&["large", "small"])]),
        ("grade_evidence", judging),
        ("synthesize", answering),
    ])
}

fn examined(server: &FaultServer, settings: &[(&str, &str)]) -> Report {
    let url = server.base_url();
    let own = [
        ("KB_AGENT_LLM_BASE_URL", url.as_str()),
        ("KB_AGENT_LLM_MODEL", "large"),
        ("KB_AGENT_LLM_RETRIES", "0"),
    ];
    doctor(&place(), &[&own, settings].concat())
}

#[test]
fn all_is_well_with_a_server_an_index_and_a_folder_to_write_to() {
    let (place, server) = (indexed(), well());
    let url = server.base_url();
    let set = [
        ("KB_AGENT_LLM_BASE_URL", url.as_str()),
        ("KB_AGENT_LLM_MODEL", "large"),
    ];
    let report = doctor(&place, &set);
    assert_eq!((report.code(), &report.all["ok"]), (Some(0), &json!(true)));
    assert!(report.output.stderr.is_empty());
    for (area, name, detail) in table![
        "settings", "sources", "5 of 51 settings set; there is no .env here";
        "endpoint", "reach", "answers; its kind of server: other";
        "endpoint", "models", "2 models listed";
        "endpoint", "jobs", "large does analyze, plan, grade, answer";
        "endpoint", "structured", "large: held to a JSON schema (json_schema)";
        "endpoint", "stream", "10 tokens at ";
        "embedding", "vector", "built in: a vector of 384 numbers";
        "index", "contents", "1 document in 1 passage; format v";
        "index", "files", "up to date with the folders";
        "index", "meaning", "all of 1 passage embedded by all-MiniLM";
        "files", "read", "PDF, Word, PowerPoint";
        "files", "text of scans and pictures", "not recognised";
        "storage", "data folder", "can be written";
        "storage", "audit log", "is made by the first question";
        "terminal", "characters", "UTF-8, by LANG";
    ] {
        report.has(&format!("{area} / {name}: ok: {detail}"));
    }
    for (area, name) in [
        ("endpoint", "reach"),
        ("endpoint", "structured"),
        ("endpoint", "stream"),
        ("embedding", "vector"),
    ] {
        assert!(report.of(area, name)[0]["ms"].as_f64().unwrap() >= 0.0);
    }
    report.has("terminal / screen: note: not a terminal → run kb-agent doctor in the terminal that you use");
    // The very requests of a run, in the name of one.
    let seen = server.seen();
    let nodes: Vec<&str> = seen.iter().map(Seen::node).collect();
    assert_eq!(nodes, ["", "grade_evidence", "synthesize"]);
    assert!(seen[1].headers.contains_key("x-kb-agent-run"));
    let body: Value = serde_json::from_str(&seen[1].body).unwrap();
    assert_eq!(body["response_format"]["json_schema"]["name"], "grades");
    // Nothing was asked, so nothing is in the log.
    assert!(!place.audit_log().exists());
}

#[test]
fn without_an_endpoint_it_is_offline_and_that_is_fine() {
    let report = doctor(&place(), &[("KB_AGENT_LLM_MODEL", "large")]);
    assert_eq!(report.code(), Some(0));
    report.has("endpoint / mode: ok: offline, because KB_AGENT_LLM_BASE_URL is not set; that is fine → set KB_AGENT_LLM_BASE_URL");
    report.has("settings / idle: note: KB_AGENT_LLM_MODEL is set without effect → set KB_AGENT_LLM_BASE_URL, or remove KB_AGENT_LLM_MODEL");
    assert!(report.of("endpoint", "reach").is_empty());
}

#[test]
fn a_wrong_key_is_reported_as_a_question_would_tell_it() {
    let refuses = || error("401 Unauthorized", "", "Incorrect API key provided");
    let server = FaultServer::start(&[
        ("", vec![refuses()]),
        ("grade_evidence", vec![refuses()]),
        ("synthesize", vec![refuses()]),
    ]);
    let report = examined(&server, &[("KB_AGENT_LLM_API_KEY", KEY)]);
    assert_eq!(report.code(), Some(1));
    let line = format!(
        "{} does not accept the key (401): Incorrect API key provided",
        server.address()
    );
    report.has("endpoint / reach: ok: answers");
    report.has(&format!(
        "endpoint / models: note: {line} → check KB_AGENT_LLM_API_KEY"
    ));
    report.has(&format!(
        "endpoint / structured: broken: {line} → check KB_AGENT_LLM_API_KEY"
    ));
    assert_eq!(
        one_line(&report.output),
        "kb-agent: 2 things found broken, the first: endpoint, structured"
    );
    // Without a model of its own nothing can be asked at all.
    let url = server.base_url();
    let unnamed = doctor(&place(), &[("KB_AGENT_LLM_BASE_URL", &url)]);
    unnamed.has("endpoint / models: broken: asks for a key (401): Incorrect API key provided → set KB_AGENT_LLM_API_KEY");
    assert_eq!(unnamed.broken(), ["models"]);
}

#[test]
fn a_model_that_is_not_listed_is_reported_with_those_that_are_near() {
    let unknown = || error("404 Not Found", "", "model 'larger' not found");
    let server = serving(vec![unknown()], vec![says(ANSWER)]);
    let report = examined(&server, &[("KB_AGENT_LLM_MODEL_GRADE", "larger")]);
    let jobs = report.of("endpoint", "jobs");
    assert_eq!(
        (&jobs[1]["status"], &jobs[1]["detail"], &jobs[1]["next"]),
        (
            &json!("note"),
            &json!("larger does grade, and is none of the models listed (2)"),
            &json!("set KB_AGENT_LLM_MODEL_GRADE to one that chats, such as large"),
        )
    );
    assert_eq!(jobs[0]["detail"], "large does analyze, plan, answer");
    // Whether it is there all the same, only asking it can tell.
    let structured = report.of("endpoint", "structured");
    assert_eq!(structured[0]["status"], "broken");
    let detail = structured[0]["detail"].as_str().unwrap();
    assert!(detail.contains("does not know the model (404)"), "{detail}");
    assert_eq!(report.code(), Some(1));

    let latest = FaultServer::start(&[
        ("", vec![listing(&["large:latest"])]),
        ("grade_evidence", vec![says(SCORES)]),
        ("synthesize", vec![says(ANSWER)]),
    ]);
    examined(&latest, &[]).has("endpoint / jobs: ok: large does analyze");
}

#[test]
fn a_model_that_cannot_chat_is_marked_with_its_job() {
    let server = FaultServer::start(&[
        ("", vec![listing(&["bge-m3", "large"])]),
        ("plan", vec![says(SCORES)]),
        ("grade_evidence", vec![says(SCORES)]),
        ("synthesize", vec![says(ANSWER)]),
    ]);
    let report = examined(&server, &[("KB_AGENT_LLM_MODEL_PLAN", "bge-m3")]);
    let jobs = report.of("endpoint", "jobs");
    assert_eq!(
        (&jobs[1]["status"], &jobs[1]["detail"], &jobs[1]["next"]),
        (
            &json!("note"),
            &json!("bge-m3 does plan, and cannot chat by its name or kind"),
            &json!("set KB_AGENT_LLM_MODEL_PLAN to one that chats, such as large"),
        )
    );
    report.has("endpoint / models: ok: 2 models listed, 1 of them cannot chat");
    // What is found out where nothing is set is the first that chats.
    let url = server.base_url();
    let unset = doctor(&place(), &[("KB_AGENT_LLM_BASE_URL", url.as_str())]);
    unset.has("endpoint / jobs: ok: large does analyze, plan, grade, answer");
}

#[test]
fn every_model_that_judges_is_asked_once() {
    let server = FaultServer::start(&[
        ("", vec![listing(&["large", "small"])]),
        ("grade_evidence", vec![says(SCORES)]),
        ("analyze_and_route", vec![says("I would rather not.")]),
        ("synthesize", vec![says(ANSWER)]),
    ]);
    let report = examined(&server, &[("KB_AGENT_LLM_MODEL_GRADE", "small")]);
    let structured = report.of("endpoint", "structured");
    assert_eq!(structured.len(), 2);
    let detail = |at: usize| structured[at]["detail"].as_str().unwrap();
    assert!(detail(0).starts_with("small: held to a JSON schema"));
    assert!(detail(1).starts_with("large replied"), "{}", detail(1));
    assert!(detail(1).contains("the reply holds no list of numbers"));
    assert_eq!(structured[1]["status"], "note");
    assert_eq!(report.code(), Some(0));
}

#[test]
fn a_server_that_knows_json_objects_only_is_reported_with_what_it_refuses() {
    let no = error("400 Bad Request", "", "json_schema is not supported");
    let server = serving(vec![no, says(SCORES)], vec![says(ANSWER)]);
    let report = examined(&server, &[]);
    let line = format!(
        "held to a JSON object (json_object); {} refuses json_schema: done without",
        server.address()
    );
    report.has(&format!("endpoint / structured: ok: {line}"));
    assert_eq!(report.code(), Some(0));
}

#[test]
fn a_server_without_a_list_of_models_is_no_failure() {
    let server = FaultServer::start(&[
        ("", vec![error("404 Not Found", "", "no such path")]),
        ("grade_evidence", vec![says(SCORES)]),
        ("synthesize", vec![says(ANSWER)]),
    ]);
    let report = examined(&server, &[]);
    report.has("endpoint / models: ok: lists no models, which is fine");
    assert_eq!((report.code(), report.broken().len()), (Some(0), 0));
}

#[test]
fn a_server_that_is_down_or_silent_is_reported_and_the_rest_is_examined() {
    let down = refusing_url();
    let set = [("KB_AGENT_LLM_BASE_URL", down.as_str())];
    let report = doctor(&place(), &set);
    report.has("endpoint / reach: broken: connection refused → check that the server runs and KB_AGENT_LLM_BASE_URL; or unset KB_AGENT_LLM_BASE_URL, and answers are offline extracts");
    assert_eq!(report.code(), Some(1));
    assert_eq!(report.broken(), vec!["reach".to_owned()]);
    assert!(report.of("endpoint", "structured").is_empty());
    report.has("index / contents: note: no index yet → kb-agent index");
    assert!(!report.of("terminal", "screen").is_empty());

    let silent = FaultServer::start(&[("", vec![Act::Hang(Vec::new())])]);
    let report = examined(&silent, &[("KB_AGENT_LLM_TIMEOUT_SECS", "1")]);
    report.has("endpoint / reach: broken: sent nothing for 1 s → raise KB_AGENT_LLM_TIMEOUT_SECS");
}

#[test]
fn a_stream_that_breaks_is_reported_as_a_question_would_tell_it() {
    let half = stream(piece("At sev") + "data: {\"choices\":[{\"del");
    let report = examined(&serving(vec![says(SCORES)], vec![half]), &[]);
    report.has("endpoint / structured: ok: json_schema");
    report.has("endpoint / stream: broken: ended a reply in the middle → ask again");
    assert_eq!(report.code(), Some(1));
    // An end that no one announced is less than a break.
    let report = examined(
        &serving(vec![says(SCORES)], vec![stream(piece("At seven"))]),
        &[],
    );
    report
        .has("endpoint / stream: note: without saying that it was complete → see the server's log");
    assert_eq!(report.code(), Some(0));
}

#[test]
fn tokens_that_no_one_counts_are_said_to_be_estimated() {
    let end = ending();
    let uncounted: Vec<&str> = end.lines().filter(|line| !line.contains("usage")).collect();
    let body = format!("{}{}\n\n", piece(ANSWER), uncounted.join("\n"));
    let report = examined(&serving(vec![says(SCORES)], vec![stream(body)]), &[]);
    report.has("endpoint / stream: ok: estimated: the server counts none");
}

#[test]
fn no_key_and_no_password_is_ever_printed() {
    let echo = || {
        error(
            "401 Unauthorized",
            "",
            &format!("no such key: {KEY}\u{1b}[2J"),
        )
    };
    let server = FaultServer::start(&[
        ("", vec![listing(&[KEY])]),
        ("grade_evidence", vec![echo()]),
        ("synthesize", vec![echo()]),
    ]);
    let place = place();
    place.file(".env", format!("KB_AGENT_LLM_API_KEY={KEY}\n"));
    let url = format!("{}?token={KEY}", server.base_url());
    for args in [
        &["doctor", "--kb", "kb", "--env-file", ".env"][..],
        &["doctor", "--kb", "kb", "--env-file", ".env", "--json"],
    ] {
        let output = place
            .command(args)
            .env("KB_AGENT_LLM_BASE_URL", &url)
            .env("KB_AGENT_LLM_MODEL", "large")
            .env("KB_AGENT_LLM_APIKEY", KEY)
            .env("KB_AGENT_STORE_URL", format!("postgres://me:{KEY}@db/x"))
            .env(
                "KB_AGENT_EMBEDDING_BASE_URL",
                format!("http://me:{KEY}@host/v1"),
            )
            .output()
            .unwrap();
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(!said.contains(KEY), "{said}");
        assert!(!said.contains("a-key-that"), "{said}");
        assert!(!said.contains('\u{1b}'), "{said}");
        assert!(said.contains("[masked, 28 characters]"), "{said}");
        said.must_hold("did you mean KB_AGENT_LLM_API_KEY?");
        assert_eq!(output.status.code(), Some(2), "an address with a password");
    }
}

#[test]
fn a_misspelt_setting_is_reported_with_what_was_meant() {
    let report = doctor(&place(), &[("KB_AGENT_MAX_ITERATION", "5")]);
    report.has("settings / unknown: note: KB_AGENT_MAX_ITERATION is no setting of kb-agent: did you mean KB_AGENT_MAX_ITERATIONS? → rename KB_AGENT_MAX_ITERATION, or remove it");
    assert_eq!(report.code(), Some(0));
}

#[test]
fn r26_all_settings_that_cannot_be_used_are_reported_and_end_it_as_any_command() {
    let place = place();
    place.file(".env", "KB_AGENT_THEME=pink\nno equals sign\n");
    let down = refusing_url();
    let set = [
        ("KB_AGENT_MAX_ITERATIONS", "many"),
        ("KB_AGENT_LLM_API_KEY", "with a space"),
        ("KB_AGENT_LLM_BASE_URL", down.as_str()),
    ];
    let report = doctor(&place, &set);
    assert_eq!(report.code(), Some(2));
    assert!(one_line(&report.output).contains(".env cannot be read"));
    let values = report.of("settings", "value");
    let details = values.iter().map(|check| check["detail"].as_str().unwrap());
    let details: Vec<&str> = details.collect();
    for part in [
        "KB_AGENT_THEME is 'pink'",
        "KB_AGENT_MAX_ITERATIONS is 'many'",
        "API_KEY",
    ] {
        assert!(
            details.iter().any(|line| line.contains(part)),
            "{details:?}"
        );
    }
    // What needs them is not tried, and the rest is.
    report.has("endpoint / reach: note: not tried: KB_AGENT_LLM_API_KEY cannot be used → correct KB_AGENT_LLM_API_KEY");
    report.has("storage / data folder: ok: can be written");
    let (value, origin) = report.setting("KB_AGENT_THEME");
    assert_eq!(value, json!("pink"));
    assert!(origin.contains("/.env"), "{origin}");
}

#[test]
fn every_setting_says_where_it_is_from() {
    let place = place();
    let env = place.file(
        "my.env",
        "KB_AGENT_THEME=mono\nKB_AGENT_LOG=debug\nKB_AGENT_MAX_ITERATIONS=4\n",
    );
    let output = place
        .command(&[
            "doctor",
            "--json",
            "--env-file",
            "my.env",
            "--kb",
            "kb",
            "-v",
        ])
        .env("KB_AGENT_MAX_ITERATIONS", "7")
        .env("KB_AGENT_SOURCE", "elsewhere")
        .output()
        .unwrap();
    let report = Report::by(output);
    let file = env.canonicalize().unwrap().display().to_string();
    for (name, value, origin) in table![
        "KB_AGENT_SOURCE", json!("kb"), "--kb";
        "KB_AGENT_MAX_ITERATIONS", json!("7"), "environment";
        "KB_AGENT_THEME", json!("mono"), file.as_str();
        "KB_AGENT_LOG", json!("info,kb_agent=debug"), "-v";
        "KB_AGENT_LLM_RETRIES", json!("3"), "default";
        "KB_AGENT_LLM_TEMPERATURE_SYNTHESIZE", json!("0.2"), "default";
        "KB_AGENT_LLM_BASE_URL", Value::Null, "default";
    ] {
        assert_eq!(report.setting(name), (value, origin.to_owned()), "{name}");
    }
    let idle = report.of("settings", "idle");
    let lines = idle.iter().map(|check| check["detail"].as_str().unwrap());
    let lines: Vec<&str> = lines.collect();
    let outvoted = format!(
        "KB_AGENT_MAX_ITERATIONS is set without effect in {file}: the environment wins over it"
    );
    assert_eq!(
        lines,
        [
            "KB_AGENT_SOURCE is set without effect: --kb wins over it",
            &outvoted,
            "KB_AGENT_LOG is set without effect: -v wins over it"
        ]
    );
}

#[test]
fn a_base_without_an_index_is_not_broken_and_gets_none() {
    let place = place();
    let report = doctor(&place, &[]);
    report.has("index / contents: note: no index yet, of 1 file → run kb-agent index");
    assert_eq!(report.code(), Some(0));
    assert!(!place.data().join("index").exists());
    // Nor does the demo appear by being looked for.
    let output = place.run(&["doctor", "--json"]);
    let line = "the bundled demo will be searched";
    Report::by(output).has(&format!(
        "index / contents: note: {line} → run kb-agent index"
    ));
    assert!(!place.data().join("demo").exists());
}

/// The folder of the only index.
fn home(place: &Workplace) -> PathBuf {
    let mut homes = fs::read_dir(place.data().join("index")).unwrap();
    homes.next().unwrap().unwrap().path()
}

#[test]
fn an_index_of_another_version_and_a_damaged_one_are_reported() {
    let place = indexed();
    let home = home(&place);
    let formats = fs::read_dir(&home).unwrap().flatten();
    let format = formats
        .map(|entry| entry.path())
        .find(|path| path.is_dir())
        .unwrap();
    fs::rename(&format, home.join("v1-1")).unwrap();
    let report = doctor(&place, &[]);
    report.has("index / contents: note: of another version of kb-agent (format v1-1; this one uses v → run kb-agent index");
    assert_eq!(report.code(), Some(0));

    fs::rename(home.join("v1-1"), &format).unwrap();
    fs::write(format.join("lexical/meta.json"), "{").unwrap();
    let report = doctor(&place, &[]);
    report.has("index / contents: broken: it is damaged → --rebuild");
    assert_eq!(report.code(), Some(1));
}

#[test]
fn files_that_changed_since_and_files_left_out_are_counted() {
    let place = indexed();
    place.file("kb/new.md", "# New\n\nA new one.\n");
    place.file(
        "kb/gate.md",
        "# Gate\n\nThe east gate opens at eight, and not at seven.\n",
    );
    let report = doctor(&place, &[]);
    report.has("index / files: note: not up to date: 1 new, 1 changed → kb-agent index");

    place.file("kb/picture.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    place.index();
    let report = doctor(&place, &[]);
    report.has("index / files: ok: up to date with the folders; 1 file left out → kb-agent index lists what was left out");
}

#[test]
fn a_folder_that_is_not_there_is_reported() {
    let place = Workplace::empty();
    let report = doctor(&place, &[]);
    report.has("index / contents: broken: cannot open the knowledge base kb → existing folder");
    assert_eq!(report.code(), Some(1));
}

#[test]
fn a_data_folder_that_cannot_be_written_is_reported() {
    let place = place();
    place.file("occupied", "a file");
    let report = doctor(&place, &[("KB_AGENT_DATA_DIR", "occupied/data")]);
    report.has("storage / data folder: broken: the data folder occupied/data cannot be written → set KB_AGENT_DATA_DIR");
    report.has("storage / audit log: broken: cannot be opened → set KB_AGENT_AUDIT_LOG");
    assert_eq!(report.code(), Some(1));
}

fn vectors(dims: usize) -> Act {
    let body = json!({"data": [{"index": 0, "embedding": vec![1.0; dims]}]}).to_string();
    Act::Keep(reply("200 OK", "Content-Type: application/json\r\n", body))
}

#[test]
fn an_embedding_endpoint_is_asked_for_a_vector_that_must_fit_the_index() {
    let place = place();
    // One vector for the index, one for each examination.
    let server = FaultServer::start(&[("", vec![vectors(8), vectors(8), vectors(4)])]);
    let url = server.base_url();
    let set = [
        ("KB_AGENT_EMBEDDING_BASE_URL", url.as_str()),
        ("KB_AGENT_EMBEDDING_MODEL", "m"),
        ("KB_AGENT_EMBEDDING_API_KEY", KEY),
    ];
    let mut index = place.command(&["index", "--kb", "kb"]);
    assert!(index.envs(set).output().unwrap().status.success());
    let report = doctor(&place, &set);
    let line = format!("m at {}: a vector of 8 numbers came back", server.address());
    report.has(&format!("embedding / vector: ok: {line}"));
    report.has("index / meaning: ok: all of 1 passage embedded by m");
    let report = doctor(&place, &set);
    report.has("index / meaning: broken: m gives vectors of 4 numbers where the index holds 8 → kb-agent index embeds everything again");

    let down = refusing_url();
    let set = [("KB_AGENT_EMBEDDING_BASE_URL", down.as_str()), set[1]];
    let report = doctor(&place, &set);
    let next = "check that the server runs and KB_AGENT_EMBEDDING_BASE_URL";
    report.has(&format!(
        "embedding / vector: broken: connection refused → {next}"
    ));
    assert_eq!(report.code(), Some(1));
}

#[test]
fn the_object_has_the_fields_that_the_readme_names() {
    let report = doctor(&place(), &[]);
    let keys = |value: &Value| -> BTreeSet<String> {
        value.as_object().unwrap().keys().cloned().collect()
    };
    let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let top: BTreeSet<String> = set(&["checks", "ok", "settings", "summary", "version"]);
    assert_eq!(keys(&report.all), top);
    let (must, may) = (
        set(&["area", "detail", "name", "status"]),
        set(&["area", "detail", "ms", "name", "next", "status"]),
    );
    for check in report.checks() {
        let keys: BTreeSet<String> = keys(check);
        assert!(keys.is_superset(&must) && keys.is_subset(&may), "{check}");
        let needs_next = check["status"] != "ok";
        assert!(!needs_next || check["next"].is_string(), "{check}");
    }
    for one in report.all["settings"].as_array().unwrap() {
        assert_eq!(keys(one), set(&["name", "origin", "value"]));
    }
    assert_eq!(text(&report.output.stdout).lines().count(), 1);
}

#[test]
fn in_a_pipe_every_check_is_a_plain_line_and_the_last_says_what_to_do() {
    let down = refusing_url();
    let output = place()
        .command(&["doctor", "--kb", "kb"])
        .env("KB_AGENT_LLM_BASE_URL", &down)
        .output()
        .unwrap();
    let said = text(&output.stdout);
    assert!(!said.contains('\u{1b}'), "{said}");
    let broken = said.lines().filter(|line| line.contains("broken "));
    let broken: Vec<&str> = broken.collect();
    assert!(
        broken[0].starts_with("  broken reach: cannot reach 127.0.0.1"),
        "{said}"
    );
    said.must_hold("         → check that the server runs");
    let last = said.lines().last().unwrap();
    assert!(last.starts_with("1 broken, "), "{last}");
    last.must_hold("Next, for reach (endpoint): check that the server runs");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        one_line(&output),
        "kb-agent: 1 thing found broken, the first: endpoint, reach"
    );
}

#[cfg(unix)]
#[test]
fn on_a_narrow_terminal_it_fits_and_has_colours() {
    const COLUMNS: u16 = 60;
    let place = place();
    let mut command = place.command(&["doctor", "--kb", "kb", "--data-dir", "d"]);
    command.env("LANG", "C.UTF-8").env("HOME", "/h");
    let terminal = Terminal::start(&command, COLUMNS, 120);
    let said = terminal.wait_for_text("Nothing is broken");
    said.must_hold("60×120 cells, TERM is 'xterm-256color'");
    // What the terminal would have to cut would go on at its edge.
    let (checks, _) = said.split_once("Nothing is broken").unwrap();
    let headings = [
        "settings",
        "endpoint",
        "embedding",
        "index",
        "files",
        "storage",
        "terminal",
    ];
    for line in checks.lines().filter(|line| !line.is_empty()) {
        assert!(
            line.starts_with("  ") || headings.contains(&line),
            "{line:?} in {said}"
        );
    }
    let offline = "KB_AGENT_LLM_BASE_URL is not\n         set; that is fine";
    assert!(said.contains(offline), "{said}");
    terminal.wait_for("colours", |screen| {
        (0..120).any(|row| {
            let cell = screen.cell(row, 2);
            cell.is_some_and(|cell| cell.fgcolor() == vt100::Color::Idx(2))
        })
    });
    assert_eq!(terminal.end(), 0);
}

#[cfg(unix)]
#[test]
fn an_interruption_ends_it_at_once() {
    let server = FaultServer::start(&[("", vec![Act::Hang(Vec::new())])]);
    let place = place();
    let mut command = place.command(&["doctor", "--kb", "kb"]);
    command.env("KB_AGENT_LLM_BASE_URL", server.base_url());
    let mut terminal = Terminal::start(&command, 100, 60);
    terminal.wait_for_text("trying the endpoint");
    terminal.keys("\u{3}");
    assert_eq!(terminal.end(), 130);
}

#[test]
fn help_and_completions_know_it() {
    let place = Workplace::empty();
    assert!(text(&place.run(&["--help"]).stdout).contains("doctor"));
    for shell in ["bash", "zsh", "fish"] {
        let script = text(&place.run(&["completions", shell]).stdout);
        assert!(script.contains("doctor"), "{shell}");
    }
}
