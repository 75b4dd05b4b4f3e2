//! Whatever is read as a setting, a table, a prompt or a list is a regular file of bounded size.
#![cfg(unix)]

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::workplace::{Workplace, ended, json_lines, one_line, pipe, text};

fn sparse(path: &Path, bytes: u64) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    File::create(path).unwrap().set_len(bytes).unwrap();
}

/// Exactly one line that names the file and says what is wrong with it.
fn refused(output: &Output, code: i32, file: &str, why: &str) {
    let line = one_line(output);
    assert!(line.contains(file) && line.contains(why), "{line}");
    assert_eq!(output.status.code(), Some(code), "{line}");
}

const NO_FILE: &str = "it is not a regular file";

#[test]
fn trust_settings_are_read_from_regular_files_of_bounded_size() {
    let place = Workplace::empty();
    let with = |file: &str| place.command(&["--env-file", file, "graph"]);
    refused(&ended(with("/dev/zero")), 2, "/dev/zero", NO_FILE);
    pipe(&place.path().join("pipe"));
    refused(&ended(with("pipe")), 2, "pipe", NO_FILE);
    sparse(&place.path().join("large"), 8 << 30);
    refused(
        &ended(with("large")),
        2,
        "large",
        "it is larger than 256 kB",
    );

    // People name this for nothing at all.
    assert!(ended(with("/dev/null")).status.success());

    let beside = place.path().join(".env");
    let graph = || place.command(&["graph"]);
    symlink("/dev/null", &beside).unwrap();
    assert!(ended(graph()).status.success());
    fs::remove_file(&beside).unwrap();
    pipe(&beside);
    refused(&ended(graph()), 2, ".env", NO_FILE);
    fs::remove_file(&beside).unwrap();
    symlink("/dev/zero", &beside).unwrap();
    refused(&ended(graph()), 2, ".env", NO_FILE);
    fs::remove_file(&beside).unwrap();
    sparse(&beside, 8 << 30);
    refused(&ended(graph()), 2, ".env", "it is larger than 256 kB");
    fs::remove_file(&beside).unwrap();
    // A Python environment is no settings file.
    fs::create_dir(&beside).unwrap();
    assert!(ended(graph()).status.success());
}

#[test]
fn trust_a_byte_order_mark_is_no_part_of_a_name() {
    let place = Workplace::holding([(".env", "\u{feff}KB_AGENT_THEME=pink\n")]);
    refused(&place.run(&["graph"]), 2, "KB_AGENT_THEME", "is 'pink'");
}

#[test]
fn trust_no_variable_is_put_into_a_setting() {
    let place = Workplace::empty();
    let secret = "s3cret-of-the-shell";
    place.file(
        ".env",
        "A=1\nKB_AGENT_THEME=${AWS_SECRET_ACCESS_KEY}$AWS_SECRET_ACCESS_KEY\n",
    );
    let mut command = place.command(&["graph"]);
    command.env("AWS_SECRET_ACCESS_KEY", secret);
    let output = ended(command);
    assert!(!text(&output.stderr).contains(secret));
    refused(
        &output,
        2,
        "KB_AGENT_THEME",
        "'${AWS_SECRET_ACCESS_KEY}$AWS",
    );

    let mut laughs = "A0=laugh\n".to_owned();
    for at in 1..60 {
        laughs.push_str(&format!("A{at}=${{A{0}}}${{A{0}}}\n", at - 1));
    }
    place.file(".env", laughs);
    assert!(ended(place.command(&["graph"])).status.success());
}

#[test]
fn trust_prompts_prices_and_servers_are_regular_files() {
    for name in ["prices.toml", "servers.toml", "prompts/plan.md"] {
        let place = Workplace::holding([("kb/a.md", "a")]);
        let config = place.path().join("config");
        let path = config.join(name);
        let ask = || {
            let mut ask = place.command(&["ask", "--kb", "kb", "hello"]);
            ask.env("KB_AGENT_LLM_BASE_URL", "http://127.0.0.1:9/v1")
                .env("KB_AGENT_CONFIG_DIR", &config);
            ask
        };
        pipe(&path);
        refused(&ended(ask()), 2, name, NO_FILE);
        fs::remove_file(&path).unwrap();
        symlink("/dev/zero", &path).unwrap();
        refused(&ended(ask()), 2, name, NO_FILE);
        fs::remove_file(&path).unwrap();
        sparse(&path, 8 << 30);
        refused(&ended(ask()), 2, name, "it is larger than 1 MB");
    }
}

#[test]
fn trust_what_is_measured_on_is_a_regular_file() {
    let place = Workplace::empty();
    pipe(&place.path().join("pipe"));
    sparse(&place.path().join("hole"), 8 << 30);
    let eval = |what: &str, file: &str| ended(place.command(&["eval", what, file]));
    for what in ["routing", "grading"] {
        refused(&eval(what, "/dev/zero"), 1, "/dev/zero", NO_FILE);
        refused(&eval(what, "pipe"), 1, "pipe", NO_FILE);
        refused(
            &eval(what, "hole"),
            1,
            "hole",
            "the line is longer than 64 MB",
        );
    }
    for name in ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"] {
        let place = Workplace::holding([
            ("c/corpus.jsonl", "{\"_id\": \"d\", \"text\": \"a\"}\n"),
            ("c/queries.jsonl", "{\"_id\": \"q\", \"text\": \"a\"}\n"),
            ("c/qrels/test.tsv", "q\td\t1\n"),
        ]);
        let path = place.path().join("c").join(name);
        fs::remove_file(&path).unwrap();
        symlink("/dev/zero", &path).unwrap();
        let output = ended(place.command(&["eval", "beir", "c"]));
        refused(&output, 1, name, NO_FILE);
    }
}

#[test]
fn trust_what_the_index_keeps_beside_itself_is_read_from_regular_files_of_bounded_size() {
    let place = Workplace::holding([
        (
            "kb/page.html",
            "<h1>Light</h1><p>The lamp of the lighthouse.</p>",
        ),
        ("kb/half.pdf", "%PDF-1.7\nhalf of it"),
    ]);
    let index = || {
        let output = ended(place.command(&["index", "--json", "--kb", "kb"]));
        assert!(output.status.success(), "{}", text(&output.stderr));
        json_lines(&output.stdout).remove(0)
    };
    assert_eq!(index()["documents"], 1);
    let home = fs::read_dir(place.data().join("index")).unwrap();
    let home = home.map(|entry| entry.unwrap().path()).next().unwrap();
    let texts = fs::read_dir(&home)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let texts = texts.filter(|path| path.to_string_lossy().contains("texts-"));
    let kept: Vec<PathBuf> = texts
        .flat_map(|folder| fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .chain([home.join("left-out")])
        .collect();
    assert!(kept.len() > 1, "{kept:?}");
    for put in [pipe as fn(&Path), |path| sparse(path, 1 << 40)] {
        for path in &kept {
            fs::remove_file(path).unwrap();
            put(path);
        }
        assert_eq!(index()["documents"], 1);
        let found = ended(place.command(&["search", "--tool", "grep", "--kb", "kb", "lamp"]));
        assert!(text(&found.stdout).contains("page.html"));
        assert!(home.join("left-out").metadata().unwrap().len() < 100);
    }
}
