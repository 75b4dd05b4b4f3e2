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

    /// A check of that name must be so and say so, and have something next only where it is told:
    /// `AREA / NAME: STATUS: DETAIL → NEXT`.
    #[track_caller]
    fn has(&self, expected: &str) {
        let (area, rest) = expected.split_once(" / ").unwrap();
        let (name, rest) = rest.split_once(": ").unwrap();
        let (status, rest) = rest.split_once(": ").unwrap();
        let (detail, next) = rest.split_once(" → ").unwrap_or((rest, ""));
        let is_it = |check: &&Value| {
            let told = check["next"].as_str().unwrap_or_default();
            check["status"] == status
                && check["detail"].as_str().unwrap().contains(detail)
                && told.contains(next)
                && (told.is_empty() || !next.is_empty())
        };
        let found = self.of(area, name);
        assert!(found.iter().any(is_it), "{expected}: {found:#?}");
    }

    fn broken(&self) -> usize {
        let checks = self.checks().iter();
        checks.filter(|check| check["status"] == "broken").count()
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

/// A server that lists its models and replies so to every judgement, and to a question.
fn serving(listed: Act, judging: Vec<Act>, answering: Act) -> FaultServer {
    FaultServer::start(&[
        ("", vec![listed]),
        ("grade_evidence", judging.clone()),
        ("analyze_and_route", vec![says("I would rather not.")]),
        ("plan", judging),
        ("synthesize", vec![answering]),
    ])
}

#[test]
fn all_is_well_with_a_server_an_index_and_a_folder_to_write_to() {
    let place = indexed();
    let listed = listing(&["large", "small"]);
    let server = serving(listed, vec![says(SCORES)], says(ANSWER));
    let url = server.base_url();
    let set = [
        ("KB_AGENT_LLM_BASE_URL", url.as_str()),
        ("KB_AGENT_LLM_MODEL", "large"),
    ];
    let report = doctor(&place, &set);
    assert_eq!((report.code(), &report.all["ok"]), (Some(0), &json!(true)));
    assert!(report.output.stderr.is_empty());
    for (area, name, detail) in table![
        "settings", "sources", "5 of 54 settings set; there is no .env here";
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
    has_the_fields_of_the_readme(&report);
}

fn has_the_fields_of_the_readme(report: &Report) {
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
fn without_an_endpoint_it_is_offline_and_that_is_fine() {
    let set = [
        ("KB_AGENT_LLM_MODEL", "large"),
        ("KB_AGENT_MAX_ITERATION", "5"),
    ];
    let report = doctor(&place(), &set);
    assert_eq!(report.code(), Some(0));
    report.has("endpoint / mode: ok: offline, because KB_AGENT_LLM_BASE_URL is not set; that is fine → set KB_AGENT_LLM_BASE_URL");
    report.has("settings / idle: note: KB_AGENT_LLM_MODEL is set without effect → set KB_AGENT_LLM_BASE_URL, or remove KB_AGENT_LLM_MODEL");
    report.has("settings / unknown: note: KB_AGENT_MAX_ITERATION is no setting of kb-agent: did you mean KB_AGENT_MAX_ITERATIONS? → rename KB_AGENT_MAX_ITERATION, or remove it");
    assert!(report.of("endpoint", "reach").is_empty());
}

#[test]
fn what_a_server_does_wrong_is_reported_as_a_question_would_tell_it() {
    let refuses = || error("401 Unauthorized", "", "Incorrect API key provided");
    let unknown = || error("404 Not Found", "", "model 'larger' not found");
    let no_schema = || error("400 Bad Request", "", "json_schema is not supported");
    let two = || listing(&["large", "small"]);
    let half = stream(piece("At sev") + "data: {\"choices\":[{\"del");
    let end = ending();
    let uncounted: Vec<&str> = end.lines().filter(|line| !line.contains("usage")).collect();
    let uncounted = stream(format!("{}{}\n\n", piece(ANSWER), uncounted.join("\n")));
    let (scores, answer) = (|| vec![says(SCORES)], || says(ANSWER));
    // What the server does, a setting, how many things are broken, and what is said.
    let cases: [(FaultServer, &str, usize, &[&str]); 13] = table![
        serving(refuses(), vec![refuses()], refuses()), "API_KEY=sk-a-key-that-nobody-may-see", 2, &[
            "endpoint / reach: ok: answers",
            "endpoint / models: note: does not accept the key (401): Incorrect API key provided → check KB_AGENT_LLM_API_KEY",
            "endpoint / structured: broken: does not accept the key (401): Incorrect API key provided → check KB_AGENT_LLM_API_KEY",
        ];
        // Without a model of its own nothing can be asked at all.
        serving(refuses(), scores(), answer()), "MODEL=", 1, &[
            "endpoint / models: broken: asks for a key (401): Incorrect API key provided → set KB_AGENT_LLM_API_KEY",
        ];
        // Whether a model that is not listed is there all the same, only asking it can tell.
        serving(two(), vec![unknown()], answer()), "MODEL_GRADE=larger", 1, &[
            "endpoint / jobs: ok: large does analyze, plan, answer",
            "endpoint / jobs: note: larger does grade, and is none of the models listed (2) → set KB_AGENT_LLM_MODEL_GRADE to one that chats, such as large",
            "endpoint / structured: broken: does not know the model (404) → check KB_AGENT_LLM_MODEL",
        ];
        serving(listing(&["large:latest"]), scores(), answer()), "RETRIES=0", 0, &[
            "endpoint / jobs: ok: large does analyze",
        ];
        serving(listing(&["bge-m3", "large"]), scores(), answer()), "MODEL_PLAN=bge-m3", 0, &[
            "endpoint / jobs: note: bge-m3 does plan, and cannot chat by its name or kind → set KB_AGENT_LLM_MODEL_PLAN to one that chats, such as large",
        ];
        // What is found out where nothing is set is the first that chats.
        serving(listing(&["bge-m3", "large"]), scores(), answer()), "MODEL=", 0, &[
            "endpoint / jobs: ok: large does analyze, plan, grade, answer",
        ];
        // Every model that judges is asked once.
        serving(two(), scores(), answer()), "MODEL_GRADE=small", 0, &[
            "endpoint / structured: ok: small: held to a JSON schema",
            "endpoint / structured: note: large replied, held to a JSON schema (json_schema), and the reply holds no list of numbers → choose another model",
        ];
        serving(two(), vec![no_schema(), says(SCORES)], answer()), "RETRIES=0", 0, &[
            "endpoint / structured: ok: refuses json_schema: done without",
        ];
        serving(error("404 Not Found", "", "no such path"), scores(), answer()), "RETRIES=0", 0, &[
            "endpoint / models: ok: lists no models, which is fine",
        ];
        serving(Act::Hang(Vec::new()), scores(), answer()), "TIMEOUT_SECS=1", 1, &[
            "endpoint / reach: broken: sent nothing for 1 s → raise KB_AGENT_LLM_TIMEOUT_SECS",
        ];
        serving(two(), scores(), half), "RETRIES=0", 1, &[
            "endpoint / structured: ok: json_schema",
            "endpoint / stream: broken: ended a reply in the middle → ask again",
        ];
        // An end that no one announced is less than a break.
        serving(two(), scores(), stream(piece("At seven"))), "RETRIES=0", 0, &[
            "endpoint / stream: note: without saying that it was complete → see the server's log",
        ];
        serving(two(), scores(), uncounted), "RETRIES=0", 0, &[
            "endpoint / stream: ok: estimated: the server counts none",
        ];
    ];
    let place = place();
    for (server, setting, broken, said) in cases {
        let (name, value) = setting.split_once('=').unwrap();
        let (name, url) = (format!("KB_AGENT_LLM_{name}"), server.base_url());
        let mut set = vec![
            ("KB_AGENT_LLM_BASE_URL", url.as_str()),
            ("KB_AGENT_LLM_RETRIES", "0"),
            ("KB_AGENT_LLM_MODEL", "large"),
            (name.as_str(), value),
        ];
        set.retain(|(_, value)| !value.is_empty());
        if value.is_empty() {
            set.retain(|(other, _)| *other != name);
        }
        let report = doctor(&place, &set);
        for line in said {
            report.has(line);
        }
        assert_eq!(
            report.broken(),
            broken,
            "{said:?}: {:#}",
            report.all["checks"]
        );
        assert_eq!(report.code(), Some(i32::from(broken > 0)));
    }
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

/// The folder of the only index.
fn home(place: &Workplace) -> PathBuf {
    let mut homes = fs::read_dir(place.data().join("index")).unwrap();
    homes.next().unwrap().unwrap().path()
}

#[test]
fn the_index_and_what_it_lacks_are_reported_and_nothing_is_made() {
    let place = place();
    let report = doctor(&place, &[]);
    report.has("index / contents: note: no index yet, of 1 file → run kb-agent index");
    assert_eq!(report.code(), Some(0));
    assert!(!place.data().join("index").exists());
    // Nor does the demo appear by being looked for.
    let report = Report::by(place.run(&["doctor", "--json"]));
    report.has("index / contents: note: the bundled demo will be searched → run kb-agent index");
    assert!(!place.data().join("demo").exists());

    place.index();
    place.file("kb/new.md", "# New\n\nA new one.\n");
    let gate = "# Gate\n\nThe east gate opens at eight, and not at seven.\n";
    place.file("kb/gate.md", gate);
    doctor(&place, &[])
        .has("index / files: note: not up to date: 1 new, 1 changed → kb-agent index");
    place.file("kb/picture.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    place.index();
    doctor(&place, &[]).has("index / files: ok: up to date with the folders; 1 file left out → kb-agent index lists what was left out");

    let home = home(&place);
    let formats = fs::read_dir(&home).unwrap().flatten();
    let mut formats = formats.map(|entry| entry.path());
    let is_index = |path: &PathBuf| path.join("lexical").is_dir();
    let format = formats.find(is_index).unwrap();
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
fn what_is_down_not_there_or_not_to_be_written_is_reported_and_the_rest_is_examined() {
    let place = Workplace::empty();
    place.file("occupied", "a file");
    let down = refusing_url();
    let report = doctor(
        &place,
        &[
            ("KB_AGENT_DATA_DIR", "occupied/data"),
            ("KB_AGENT_LLM_BASE_URL", &down),
        ],
    );
    for line in [
        "endpoint / reach: broken: connection refused → check that the server runs and KB_AGENT_LLM_BASE_URL; or unset KB_AGENT_LLM_BASE_URL, and answers are offline extracts",
        "index / contents: broken: cannot open the knowledge base kb → existing folder",
        "storage / data folder: broken: the data folder occupied/data cannot be written → set KB_AGENT_DATA_DIR",
        "storage / audit log: broken: cannot be opened → set KB_AGENT_AUDIT_LOG",
        "terminal / screen: note: not a terminal → run kb-agent doctor",
    ] {
        report.has(line);
    }
    assert!(report.of("endpoint", "structured").is_empty());
    assert_eq!(
        one_line(&report.output),
        "kb-agent: 4 things found broken, the first: endpoint, reach"
    );
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
