//! What a folder's `.env` may set, driven through the binary.
#![cfg(unix)]

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kb_agent::config::{Class, variables};
use serde_json::Value;

use crate::fault_server::{FaultServer, error};
use crate::support::Said;
use crate::terminal::Terminal;
use crate::workplace::{Workplace, one_line, text};

/// A folder that came from elsewhere, with a `.env`, and nothing trusted yet.
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
        fs::set_permissions(&env, Permissions::from_mode(0o600)).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
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

    fn run_well(&self, args: &[&str]) {
        let output = self.run(args);
        assert!(output.status.success(), "{}", text(&output.stderr));
    }

    fn env(&self) -> PathBuf {
        self.folder.join(".env")
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

#[test]
fn trust_a_foreign_env_sets_nothing_that_reaches_out() {
    let (listener, url) = Listener::start();
    for variable in variables().filter(|variable| variable.class == Class::Reach) {
        let name = variable.name;
        let value = if name.ends_with("_URL") {
            &url
        } else {
            "there"
        };
        let clone = Clone::with(&format!("{name}={value}\nKB_AGENT_THEME=mono\n"));
        let ask = || {
            let mut ask = clone.command(&["ask", "--kb", "docs", "what is alpha?"]);
            // In all other tests here the environment says these.
            ask.env_remove(name);
            ask
        };
        if name == "KB_AGENT_SOURCE" {
            // A flag wins over it, so that there is nothing to trust.
            assert!(ask().output().unwrap().status.success());
        } else {
            let parts = [name, "/clone/.env", "kb-agent trust", "--env-file .env"];
            refused(&ask().output().unwrap(), &parts);
        }
        assert!(!listener.was_reached(), "{name}");
        assert!(!clone.folder.join("there").exists(), "{name}");
    }
    let taste = Clone::with("KB_AGENT_MAX_ITERATIONS=2\nKB_AGENT_LLM_BASE_URL=\n");
    assert!(
        taste
            .run(&["ask", "--kb", "docs", "hello"])
            .status
            .success()
    );
}

#[test]
fn trust_is_given_once_by_path_and_taken_back() {
    let (listener, url) = Listener::start();
    let clone = Clone::with(&(endpoint_at(&url) + "KB_AGENT_LLM_API_KEY=sk-never-shown\n"));
    let ask = || clone.run(&["ask", "--kb", "docs", "hello"]);
    refused(&ask(), &["KB_AGENT_LLM_BASE_URL and KB_AGENT_LLM_API_KEY"]);
    assert!(!listener.was_reached());

    let said = clone.run(&["trust"]);
    let listing = text(&said.stdout);
    assert!(said.status.success(), "{}", text(&said.stderr));
    listing.must_hold(&format!("KB_AGENT_LLM_BASE_URL={url}"));
    listing.must_hold("KB_AGENT_LLM_API_KEY=[masked, 14 characters]");
    assert!(!listing.contains("KB_AGENT_LLM_RETRIES") && !listing.contains("never-shown"));
    let kept = clone.place.data().join("trusted.json");
    assert_eq!(kept.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!fs::read_to_string(&kept).unwrap().contains("never-shown"));

    let output = ask();
    assert_ne!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(listener.was_reached());
    // Another folder with the same file is another folder.
    let other = clone.place.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::copy(clone.env(), other.join(".env")).unwrap();
    let mut command = clone.command(&["ask", "hello"]);
    refused(
        &command.current_dir(&other).output().unwrap(),
        &["/other/.env"],
    );

    let folder = clone.folder.to_str().unwrap();
    clone.place.run_well(&["trust", "--remove", folder]);
    refused(&ask(), &["KB_AGENT_LLM_BASE_URL"]);
    assert!(!listener.was_reached());
    let again = clone.place.run(&["trust", "--remove", folder]);
    assert!(text(&again.stdout).contains("was not trusted"));
    // A folder that is gone for now is trusted no longer either.
    clone.run_well(&["trust"]);
    let away = clone.place.path().join("away");
    fs::rename(&clone.folder, &away).unwrap();
    clone.place.run_well(&["trust", "--remove", folder]);
    fs::rename(&away, &clone.folder).unwrap();
    refused(&ask(), &["KB_AGENT_LLM_BASE_URL"]);
    // Named, it is the user's own.
    let output = clone.run(&["ask", "--kb", "docs", "--env-file", ".env", "hello"]);
    assert_ne!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(listener.was_reached());
}

#[test]
fn trust_a_file_that_others_may_write_is_never_trusted() {
    let mode = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    let clone = Clone::with("KB_AGENT_LLM_BASE_URL=http://127.0.0.1:9/v1\n");
    clone.run_well(&["trust"]);
    for (path, bits) in [
        (clone.env(), 0o602),
        (clone.env(), 0o660),
        (clone.folder.clone(), 0o777),
    ] {
        mode(&path, bits);
        let line = format!("(mode {bits:o}); chmod go-w '{}'", path.display());
        for args in [&["ask", "hello"][..], &["trust"], &["index"]] {
            refused(&clone.run(args), &["KB_AGENT_LLM_BASE_URL", &line]);
        }
        mode(&clone.env(), 0o600);
        mode(&clone.folder, 0o700);
    }
    // Who is root can give a file away.
    let another = std::os::unix::fs::chown(clone.env(), Some(12_345), None);
    if another.is_ok() {
        refused(&clone.run(&["ask", "hello"]), &["belongs to another user"]);
    }
}

#[test]
fn trust_a_key_is_not_sent_where_only_a_folder_says() {
    let (listener, url) = Listener::start();
    let clone = Clone::with(&endpoint_at(&url));
    clone.run_well(&["trust"]);
    let with_key = |args: &[&str]| {
        let mut command = clone.command(args);
        command.env("KB_AGENT_LLM_API_KEY", "sk-of-the-shell");
        command.output().unwrap()
    };
    let ask = ["ask", "--kb", "docs", "hello"];
    refused(
        &with_key(&ask),
        &[
            "KB_AGENT_LLM_API_KEY would be sent to",
            &url,
            "/clone/.env",
            "kb-agent trust",
        ],
    );
    assert!(!listener.was_reached());
    let output = with_key(&["trust"]);
    let line = format!("KB_AGENT_LLM_API_KEY would be sent to {url}");
    assert!(
        text(&output.stdout).contains(&line),
        "{}",
        text(&output.stdout)
    );
    assert_ne!(with_key(&ask).status.code(), Some(2));
    assert!(listener.was_reached());
    // Agreed to was this address and no other.
    let elsewhere = url.replace("/v1", "/v2");
    fs::write(clone.env(), format!("KB_AGENT_LLM_BASE_URL={elsewhere}\n")).unwrap();
    refused(&with_key(&ask), &[&elsewhere]);
    assert!(!listener.was_reached());
}

#[test]
fn trust_documents_are_not_embedded_where_only_a_folder_says() {
    let (listener, url) = Listener::start();
    let clone = Clone::with(&format!(
        "KB_AGENT_EMBEDDING_BASE_URL={url}\nKB_AGENT_EMBEDDING_MODEL=m\n"
    ));
    clone
        .place
        .file("private/diary.md", "# Diary\n\nNot for others.\n");
    clone.run_well(&["trust"]);
    let index = ["index", "--kb", "../private"];
    refused(
        &clone.run(&index),
        &["all text in", "private", &url, "with the same options"],
    );
    assert!(!listener.was_reached());
    clone.run_well(&["trust", "--kb", "../private"]);
    let output = clone.run(&["doctor", "--kb", "../private"]);
    assert_ne!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(listener.was_reached());
    // Nor a collection that is measured on.
    refused(
        &clone.run(&["eval", "beir", "../measured"]),
        &["all text in", "measured"],
    );
}

#[test]
fn trust_passages_are_not_sent_where_only_a_folder_says() {
    let (listener, url) = Listener::start();
    let clone = Clone::with(&endpoint_at(&url));
    clone
        .place
        .file("private/diary.md", "# Diary\n\nNot for others.\n");
    clone.run_well(&["trust"]);
    let ask = ["ask", "--kb", "../private", "what does the diary say?"];
    refused(
        &clone.run(&ask),
        &[
            "passages of",
            "private",
            &url,
            "/clone/.env",
            "with the same options",
        ],
    );
    assert!(!listener.was_reached());
    clone.run_well(&["trust", "--kb", "../private"]);
    assert_ne!(clone.run(&ask).status.code(), Some(2));
    assert!(listener.was_reached());
}

#[test]
fn trust_documents_outside_the_folder_are_the_users_no_matter_who_names_them() {
    let (listener, url) = Listener::start();
    let clone = Clone::with("KB_AGENT_LLM_MODEL=m\n");
    let diary = clone.place.file("private/diary.md", "# Diary\n\nMine.\n");
    let private = diary.parent().unwrap().canonicalize().unwrap();
    clone.run_well(&["trust"]);
    let link = clone.folder.join("linked");
    std::os::unix::fs::symlink(&private, &link).unwrap();
    let server = |what: &str| {
        format!(
            "KB_AGENT_{what}_BASE_URL={url}\nKB_AGENT_{what}_MODEL=m\nKB_AGENT_LLM_RETRIES=0\n\
             KB_AGENT_LLM_TIMEOUT_SECS=1\n"
        )
    };
    let ask = ["ask", "what does the diary say?"];
    for (what, text_of) in [("EMBEDDING", "all text in"), ("LLM", "passages of")] {
        let named = [private.display().to_string(), "linked".to_owned()];
        for source in named.into_iter().chain(["docs:../private".to_owned()]) {
            let env = format!("KB_AGENT_SOURCE={source}\n{}", server(what));
            fs::write(clone.env(), env).unwrap();
            let parts = [text_of, private.to_str().unwrap(), &url, "/clone/.env"];
            refused(&clone.run(&ask), &parts);
            assert!(!listener.was_reached(), "{source} was sent");
        }
        // Its own go where it says.
        let env = format!("KB_AGENT_SOURCE=docs\n{}", server(what));
        fs::write(clone.env(), env).unwrap();
        assert_ne!(clone.run(&ask).status.code(), Some(2));
        assert!(listener.was_reached());
    }
    // What is agreed to is not what a link leads to later.
    let shared = clone.place.file("shared/a.md", "# Shared\n\nFor all.\n");
    let lead = |to: &Path| {
        fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(to, &link).unwrap();
    };
    lead(shared.parent().unwrap());
    let env = format!("KB_AGENT_SOURCE=linked\n{}", server("LLM"));
    fs::write(clone.env(), env).unwrap();
    clone.run_well(&["trust"]);
    assert_ne!(clone.run(&ask).status.code(), Some(2));
    assert!(listener.was_reached());
    lead(&private);
    refused(
        &clone.run(&ask),
        &["passages of", private.to_str().unwrap()],
    );
    assert!(!listener.was_reached());
}

#[test]
fn trust_no_key_of_this_machine_goes_to_a_proxy() {
    let (proxy, _) = Listener::start();
    let place = Workplace::holding([("kb/a.md", "# Alpha\n\nAlpha is the first letter.\n")]);
    for host in [
        "0.0.0.0",
        "127.0.0.2",
        "localhost",
        "gpu.localhost",
        "[::]",
        "[::1]",
        "[::ffff:127.0.0.1]",
    ] {
        for what in ["LLM", "EMBEDDING"] {
            let mut ask = place.command(&["ask", "--kb", "kb", "what is alpha?"]);
            ask.env(
                format!("KB_AGENT_{what}_BASE_URL"),
                format!("http://{host}:9/v1"),
            )
            .env(format!("KB_AGENT_{what}_API_KEY"), "sk-1")
            .env(format!("KB_AGENT_{what}_MODEL"), "m")
            .env("KB_AGENT_LLM_RETRIES", "0")
            .env("NO_PROXY", "");
            for variable in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
                ask.env(
                    variable,
                    format!("http://{}", proxy.0.local_addr().unwrap()),
                );
            }
            let output = ask.output().unwrap();
            let said = text(&output.stderr);
            assert!(!proxy.was_reached(), "{what} at {host}: {said}");
            assert_ne!(output.status.code(), Some(2), "{what} at {host}: {said}");
        }
    }
}

#[test]
fn trust_what_was_said_elsewhere_is_not_sent_where_only_a_folder_says() {
    let server = FaultServer::start(&[(
        "analyze_and_route",
        vec![error("400 Bad Request", "", "not this")],
    )]);
    for what in ["LLM", "EMBEDDING"] {
        let clone = Clone::with(&format!(
            "KB_AGENT_{what}_BASE_URL=http://{}/v1\nKB_AGENT_{what}_MODEL=m\nKB_AGENT_LLM_RETRIES=0\n",
            server.address()
        ));
        clone.run_well(&["trust"]);
        clone
            .place
            .file("private/diary.md", "# Heron\n\nThe heron sleeps at noon.\n");
        let mut terminal = Terminal::start(&clone.place.command(&["private"]), 140, 30);
        terminal.wait_for_text("1 doc");
        terminal.press_until("When does the heron sleep?\r", "saved 1");
        terminal.leave();

        for (given, is_sent) in [(&[][..], false), (&["--env-file", ".env"][..], true)] {
            let args = [&["--continue", "--kb", "docs"][..], given].concat();
            let mut terminal = Terminal::start(&clone.command(&args), 140, 30);
            let shown = terminal.wait_for_text("Resumed: ");
            assert!(shown.contains("When does the heron sleep?"), "{shown}");
            let is_said = shown.contains("What was said before is shown and not sent");
            assert_eq!(is_said, !is_sent, "{shown}");
            server.forget();
            let asked = || server.seen().into_iter().filter(|seen| seen.node() != "");
            if what == "LLM" {
                terminal.keys("And when does it wake?\r");
                terminal.wait_for("a request", |_| asked().count() > 0);
                let holds = asked().any(|seen| seen.body.contains("heron"));
                assert_eq!(holds, is_sent);
            }
            terminal.kill();
        }
    }
}

#[test]
fn trust_a_folder_includes_files_of_its_own() {
    let clone = Clone::with("KB_AGENT_INCLUDE=*.env\n");
    clone.place.file("clone/docs/its.env", "A=its\n");
    clone.place.file("private/mine.env", "A=mine\n");
    clone.run_well(&["trust"]);
    let left_out = |command: &mut Command| {
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let skipped = report["skipped"].as_array().unwrap().iter();
        let paths = skipped.map(|one| one["path"].as_str().unwrap().to_owned());
        paths.collect::<Vec<_>>()
    };
    let index = ["index", "--json", "--kb", "docs", "--kb", "../private"];
    let mut command = clone.command(&index);
    assert_eq!(left_out(&mut command), ["private/mine.env"]);
    // What the user says holds everywhere.
    command.env("KB_AGENT_INCLUDE", "*.env");
    assert!(left_out(&mut command).is_empty());
}

#[test]
fn trust_no_key_goes_unencrypted_to_another_machine() {
    let place = Workplace::holding([("kb/a.md", "a")]);
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

const QUESTION: &str = "Trust this folder with that, now and later? [y/N]";

/// What `doctor` says of one setting: value, origin and class.
fn setting(output: &Output, name: &str) -> (Value, String, String) {
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let all = report["settings"].as_array().unwrap();
    let one = all.iter().find(|one| one["name"] == name).unwrap();
    let part = |name: &str| one[name].as_str().unwrap().to_owned();
    (one["value"].clone(), part("origin"), part("class"))
}

#[test]
fn trust_doctor_shows_origin_and_class_and_what_is_held_back() {
    let (listener, url) = Listener::start();
    let clone = Clone::with(&format!(
        "KB_AGENT_LLM_BASE_URL={url}\nKB_AGENT_LLM_API_KEY=sk-never-shown\nKB_AGENT_THEME=mono\n"
    ));
    let output = clone.run(&["doctor", "--json", "--kb", "docs"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(!listener.was_reached());
    let file = clone.env().canonicalize().unwrap().display().to_string();
    for (name, value, origin, class) in table![
        "KB_AGENT_THEME", "mono", file.clone(), "taste";
        "KB_AGENT_LLM_BASE_URL", url.as_str(), format!("{file}, not trusted"), "reach";
        "KB_AGENT_LLM_API_KEY", "[masked, 14 characters]", format!("{file}, not trusted"), "reach";
        "KB_AGENT_MAX_ITERATIONS", "3", "default".to_owned(), "taste";
        "KB_AGENT_SOURCE", "docs", "--kb".to_owned(), "reach";
    ] {
        let expected = (Value::from(value), origin, class.to_owned());
        assert_eq!(setting(&output, name), expected, "{name}");
    }
    let said = text(&clone.run(&["doctor", "--kb", "docs"]).stdout);
    said.must_hold(&format!("KB_AGENT_THEME: mono ({file}; taste)"));
    assert!(said.contains("broken trust: "), "{said}");
    said.must_hold("→ look at that file, then run 'kb-agent trust'");
    let help = text(&clone.run(&["--help"]).stdout);
    let line = help
        .lines()
        .find(|line| line.contains("  KB_AGENT_AUDIT_LOG "))
        .unwrap();
    assert!(line.contains("reach"), "{line}");
}

#[test]
fn r26_the_files_are_asked_in_their_order() {
    let clone = Clone::with("KB_AGENT_MAX_ITERATIONS=2\nKB_AGENT_THEME=mono\nKB_AGENT_LOG=warn\n");
    let config = clone.place.path().join("config");
    clone.place.file(
        "config/.env",
        "KB_AGENT_MAX_ITERATIONS=4\nKB_AGENT_THEME=dark\nKB_AGENT_LLM_BASE_URL=http://127.0.0.1:9/v1\n\
         KB_AGENT_LOG=\n",
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
        let (found, from, _) = setting(output, name);
        assert_eq!(found, value, "{name}");
        assert!(from.ends_with(origin), "{name} is from {from}");
    };
    let beside = doctor(&[]);
    expect(&beside, "KB_AGENT_MAX_ITERATIONS", "7", "environment");
    expect(&beside, "KB_AGENT_THEME", "dark", "config/.env");
    expect(&beside, "KB_AGENT_LOG", "warn", "clone/.env");
    // The user's own file reaches out unasked.
    let url = "http://127.0.0.1:9/v1";
    expect(&beside, "KB_AGENT_LLM_BASE_URL", url, "config/.env");
    let named = doctor(&["--env-file", "my.env"]);
    expect(&named, "KB_AGENT_THEME", "light", "my.env");
    expect(&named, "KB_AGENT_LLM_BASE_URL", url, "config/.env");
    expect(&named, "KB_AGENT_LOG", "info", "default");
}

#[test]
fn trust_is_asked_for_on_a_terminal() {
    let (listener, url) = Listener::start();
    let clone = Clone::with(&(endpoint_at(&url) + "KB_AGENT_LLM_API_KEY=sk-never-shown\n"));
    let ask = clone.command(&["ask", "--kb", "docs", "hello"]);
    let graph = clone.command(&["graph"]);

    let mut terminal = Terminal::start(&ask, 140, 30);
    let shown = terminal.wait_for_text(QUESTION);
    shown.must_hold(&format!("KB_AGENT_LLM_BASE_URL={url}"));
    assert!(shown.contains("[masked, 14 characters]"), "{shown}");
    assert!(!listener.was_reached());
    terminal.press_until("n\r", "going on without it");
    assert_eq!(terminal.end(), 0, "it answers without an endpoint");
    assert!(!listener.was_reached());

    // The screen asks before it opens; what was refused is asked again.
    let screen = clone.command(&["--kb", "docs"]);
    let mut terminal = Terminal::start(&screen, 140, 30);
    terminal.wait_for_text(QUESTION);
    terminal.press_until("y\r", "Ask docs anything");
    terminal.keys("\u{3}\u{3}");
    terminal.end();
    assert!(clone.place.data().join("trusted.json").is_file());
    let terminal = Terminal::start(&graph, 140, 30);
    let shown = terminal.wait_for_text("synthesize");
    assert!(!shown.contains(QUESTION));
    terminal.end();
}

#[test]
fn trust_no_source_outside_the_folder_is_added_where_its_env_names_the_endpoint() {
    let (listener, url) = Listener::start();
    let clone = Clone::with(&format!(
        "KB_AGENT_LLM_BASE_URL={url}\nKB_AGENT_LLM_MODEL=m\n"
    ));
    clone
        .place
        .file("mine/letter.md", "# Letter\n\nDear landlord.\n");
    clone
        .place
        .file("clone/more/b.md", "# Beta\n\nThe second letter.\n");
    let typed = clone.place.file("lines", "/add ../mine\n/add more\n/kb\n");
    clone.run_well(&["trust"]);
    let mut command = clone.command(&["--plain", "docs"]);
    let output = command
        .stdin(fs::File::open(typed).unwrap())
        .output()
        .unwrap();
    let (said, complained) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{complained}");
    assert!(complained.contains("/mine is not added: "), "{complained}");
    assert!(complained.contains("--env-file .env"), "{complained}");
    said.must_hold("Added for this session: more, 1 document.");
    said.must_hold("/clone/more: 1 document");
    said.must_lack("/mine: ");
    assert!(!listener.was_reached());
}

#[test]
fn trust_an_authority_of_a_folder_vouches_for_no_server_that_gets_the_users_key() {
    let clone = Clone::with("KB_AGENT_LLM_CA=theirs.pem\n");
    let with_key = |args: &[&str]| {
        let mut command = clone.command(args);
        command
            .env("KB_AGENT_LLM_BASE_URL", "https://127.0.0.1:1/v1")
            .env("KB_AGENT_LLM_API_KEY", "sk-mine");
        command.output().unwrap()
    };
    let ask = ["ask", "--kb", "docs", "hello"];
    refused(&with_key(&ask), &["KB_AGENT_LLM_CA", "kb-agent trust"]);
    clone.run_well(&["trust"]);
    let parts = [
        "KB_AGENT_LLM_API_KEY would be sent to theirs.pem",
        "/clone/.env",
    ];
    refused(&with_key(&ask), &parts);
    assert!(with_key(&["trust"]).status.success());
    refused(
        &with_key(&ask),
        &["KB_AGENT_LLM_CA: theirs.pem: No such file"],
    );
}
