//! What a folder's `.env` may set, and where keys go, driven through the binary.
#![cfg(unix)]

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Output};

use kb_agent::config::settings;
use serde_json::Value;

use crate::support::Said;
use crate::terminal::Terminal;
use crate::workplace::{Workplace, one_line, text};

/// A folder that came from elsewhere, with a `.env`.
struct Clone {
    place: Workplace,
    folder: PathBuf,
}

impl Clone {
    fn with(env: &str) -> Self {
        let place =
            Workplace::holding([("clone/docs/a.md", "# Alpha\n\nAlpha is the first letter.\n")]);
        let env = place.file("clone/.env", env);
        let folder = env.parent().unwrap().to_owned();
        Self { place, folder }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.place.command(args);
        command.current_dir(&self.folder);
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }
}

/// Somebody who waits to be sent something.
struct Listener(TcpListener);

impl Listener {
    fn start() -> (Self, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        (Self(listener), url)
    }

    /// Whether anybody connected since this was last asked.
    fn was_reached(&self) -> bool {
        let mut reached = false;
        while self.0.accept().is_ok() {
            reached = true;
        }
        reached
    }
}

/// Refused before anything was done, in one line that holds these parts.
fn refused(output: &Output, parts: &[&str]) {
    let line = one_line(output);
    assert_eq!(output.status.code(), Some(2), "{line}");
    for part in parts {
        assert!(line.contains(part), "{part} is missing: {line}");
    }
    assert!(output.stdout.is_empty());
}

/// An endpoint for answers that is given up soon.
fn endpoint_at(url: &str) -> String {
    format!("KB_AGENT_LLM_BASE_URL={url}\nKB_AGENT_LLM_RETRIES=0\nKB_AGENT_LLM_TIMEOUT_SECS=1\n")
}

/// What `doctor` says of one setting: value and origin.
fn setting(output: &Output, name: &str) -> (Value, String) {
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let all = report["settings"].as_array().unwrap();
    let one = all.iter().find(|one| one["name"] == name).unwrap();
    let origin = one["origin"].as_str().unwrap();
    (one["value"].clone(), origin.to_owned())
}

/// The lines on standard error that say what the folder's `.env` sets in vain.
fn ignored(output: &Output) -> Vec<String> {
    let said = text(&output.stderr);
    let lines = said
        .lines()
        .filter(|line| line.contains("/clone/.env sets "));
    lines.map(str::to_owned).collect()
}

#[test]
fn trust_a_foreign_env_sets_the_screen_and_routing_alone() {
    let (listener, url) = Listener::start();
    let barred = settings().filter(|setting| !setting.folder);
    let barred: Vec<&str> = barred.map(|setting| setting.name).collect();
    let lines = barred.iter().map(|name| {
        let is_address = name.ends_with("_URL");
        let value = if is_address { url.as_str() } else { "there" };
        format!("{name}={value}\n")
    });
    let env = lines.collect::<String>() + "KB_AGENT_MAX_ITERATIONS=2\n";
    let clone = Clone::with(&env);
    let output = clone.run(&["ask", "--kb", "docs", "what is alpha?"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let said = ignored(&output);
    assert_eq!(said.len(), 1, "{}", text(&output.stderr));
    said[0].must_hold("kb-agent/.env or the environment, or give that file with --env-file");
    // A flag says the first, and the environment of all tests the others.
    let otherwise = [
        "KB_AGENT_SOURCE",
        "KB_AGENT_DATA_DIR",
        "KB_AGENT_LLM_DISCOVER",
    ];
    for name in &barred {
        assert_eq!(said[0].contains(name), !otherwise.contains(name), "{name}");
    }
    said[0].must_lack("KB_AGENT_MAX_ITERATIONS");

    let output = clone.run(&["doctor", "--json", "--kb", "docs"]);
    let file = clone.folder.join(".env").canonicalize().unwrap();
    let file = file.display().to_string();
    let (value, origin) = setting(&output, "KB_AGENT_MAX_ITERATIONS");
    assert_eq!((value, origin), (Value::from("2"), file));
    let (value, origin) = setting(&output, "KB_AGENT_LLM_BASE_URL");
    assert_eq!((value, origin.as_str()), (Value::Null, "default"));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut checks = report["checks"].as_array().unwrap().iter();
    let check = checks.find(|check| check["name"] == "ignored").unwrap();
    assert_eq!(check["status"], "note", "{check}");
    let help = text(&clone.run(&["--help"]).stdout);
    let is_marked = |name: &str| {
        let mut lines = help.lines();
        let line = lines.find(|line| line.contains(&format!("  {name} ")));
        line.unwrap().contains(" folder ")
    };
    assert!(is_marked("KB_AGENT_MOUSE") && !is_marked("KB_AGENT_LLM_MODEL"));
    assert!(!listener.was_reached());
    assert!(!clone.folder.join("there").exists());

    // Named, it is the user's own.
    let clone = Clone::with(&endpoint_at(&url));
    let screen = Terminal::start(&clone.command(&["--kb", "docs"]), 140, 30);
    screen.wait_for("what is ignored", |screen| {
        screen.alternate_screen() && screen.contents().contains("KB_AGENT_LLM_BASE_URL")
    });
    screen.wait_for_text("1 doc");
    screen.leave();
    assert!(!listener.was_reached());
    let output = clone.run(&["ask", "--kb", "docs", "--env-file", ".env", "hello"]);
    assert_ne!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(ignored(&output).is_empty(), "{}", text(&output.stderr));
    assert!(listener.was_reached());
}

#[test]
fn r26_the_files_are_asked_in_their_order() {
    let clone = Clone::with("KB_AGENT_MAX_ITERATIONS=2\nKB_AGENT_THEME=mono\nKB_AGENT_MOUSE=off\n");
    let config = clone.place.path().join("config");
    clone.place.file(
        "config/.env",
        "KB_AGENT_MAX_ITERATIONS=4\nKB_AGENT_THEME=dark\nKB_AGENT_LLM_BASE_URL=http://127.0.0.1:9/v1\n\
         KB_AGENT_MOUSE=\n",
    );
    clone.place.file("clone/my.env", "KB_AGENT_THEME=light\n");
    let doctor = |args: &[&str]| {
        let args = [&["doctor", "--json", "--kb", "docs"], args].concat();
        let mut command = clone.command(&args);
        command
            .env("KB_AGENT_CONFIG_DIR", &config)
            .env("KB_AGENT_MAX_ITERATIONS", "7");
        command.output().unwrap()
    };
    let expect = |output: &Output, name: &str, value: &str, origin: &str| {
        let (found, from) = setting(output, name);
        assert_eq!(found, value, "{name}");
        assert!(from.ends_with(origin), "{name} is from {from}");
    };
    let beside = doctor(&[]);
    expect(&beside, "KB_AGENT_MAX_ITERATIONS", "7", "environment");
    expect(&beside, "KB_AGENT_THEME", "dark", "config/.env");
    expect(&beside, "KB_AGENT_MOUSE", "off", "clone/.env");
    let url = "http://127.0.0.1:9/v1";
    expect(&beside, "KB_AGENT_LLM_BASE_URL", url, "config/.env");
    let named = doctor(&["--env-file", "my.env"]);
    expect(&named, "KB_AGENT_THEME", "light", "my.env");
    expect(&named, "KB_AGENT_LLM_BASE_URL", url, "config/.env");
    expect(&named, "KB_AGENT_MOUSE", "on", "default");
}

#[test]
fn r26_names_that_are_no_setting_are_one_line_on_every_command() {
    let place = Workplace::holding([("kb/a.md", "a")]);
    for arguments in [
        &["graph"][..],
        &["search", "--kb", "kb", "a"],
        &["ask", "--kb", "kb", "hello"],
    ] {
        let mut command = place.command(arguments);
        command
            .env("KB_AGENT_FOO", "1")
            .env("KB_AGENT_BAR", "2")
            .env("KB_AGENT_TEST_X", "3");
        let output = command.output().unwrap();
        assert!(output.status.success());
        one_line(&output).must_hold("KB_AGENT_BAR and 1 more name are no settings of kb-agent");
    }
}

#[test]
fn trust_no_key_goes_unencrypted_to_another_machine() {
    let place = Workplace::holding([("kb/a.md", "a")]);
    let headers = place
        .command(&["graph"])
        .env("KB_AGENT_OTLP_ENDPOINT", "http://gpu.invalid:4318")
        .env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=x")
        .output()
        .unwrap();
    refused(
        &headers,
        &["OTEL_EXPORTER_OTLP_HEADERS would go unencrypted to gpu.invalid"],
    );
    for (what, ending) in [("LLM", "hello"), ("EMBEDDING", "what is alpha?")] {
        let command = |url: &str| {
            let mut command = place.command(&["ask", "--kb", "kb", ending]);
            command
                .env(format!("KB_AGENT_{what}_BASE_URL"), url)
                .env(format!("KB_AGENT_{what}_API_KEY"), "sk-1")
                .env(format!("KB_AGENT_{what}_MODEL"), "m")
                .env("KB_AGENT_LLM_RETRIES", "0");
            command
        };
        let key = format!("KB_AGENT_{what}_API_KEY would go unencrypted to gpu.invalid");
        let parts = [key.as_str(), "set KB_AGENT_PLAIN_HTTP_HOSTS=gpu.invalid"];
        refused(
            &command("http://gpu.invalid:8000/v1").output().unwrap(),
            &parts,
        );
        let mut other = command("http://gpu.invalid:8000/v1");
        other.env("KB_AGENT_PLAIN_HTTP_HOSTS", "other.invalid");
        refused(&other.output().unwrap(), &parts);
        for (url, hosts) in [
            ("https://gpu.invalid:8000/v1", ""),
            ("http://gpu.invalid:8000/v1", "other.invalid, GPU.invalid"),
            ("http://localhost:9/v1", ""),
            ("http://127.0.0.2:9/v1", ""),
            ("http://[::1]:9/v1", ""),
        ] {
            // Looked at only: nothing is sent anywhere.
            let mut command = command(url);
            command.env("KB_AGENT_PLAIN_HTTP_HOSTS", hosts);
            let mut graph = place.command(&["graph"]);
            for (name, value) in command.get_envs() {
                graph.env(name, value.unwrap());
            }
            let output = graph.output().unwrap();
            assert!(output.status.success(), "{url}: {}", text(&output.stderr));
        }
    }
}
