//! The real binary on the command line: results on stdout, one line on stderr, exit codes.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use crate::support::Said;
use crate::workplace::{Workplace, events, free_address, json_lines, one_line, text};

#[test]
fn r26_a_bad_setting_is_one_line_and_exit_2() {
    let place = Workplace::empty();
    let output = place
        .command(&["ask", "hello"])
        .env("KB_AGENT_MAX_ITERATIONS", "many")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        one_line(&output),
        "kb-agent: KB_AGENT_MAX_ITERATIONS is 'many': it must be a whole number from 1 to 10"
    );
    assert!(output.stdout.is_empty());
}

#[test]
fn r26_help_names_every_setting_with_its_default() {
    let help = text(&Workplace::empty().run(&["--help"]).stdout);
    // The terminal's width breaks lines, and long names of folders.
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, help) = help.split_once("Settings, in order of precedence").unwrap();
    for variable in kb_agent::config::settings() {
        let name = variable.name;
        let (_, of_help) = help.split_once(&format!(" {name} ")).expect(name);
        let (of_help, _) = of_help.split_once(']').unwrap();
        let default = variable.while_unset();
        assert!(
            of_help.ends_with(&format!("[default: {default}")),
            "{name}: {of_help}"
        );
    }
}

#[test]
fn help_prints_commands_topics_and_pages() {
    let place = Workplace::empty();
    let all = text(&place.run(&["help"]).stdout);
    assert!(all.contains("Topics (kb-agent help TOPIC):"), "{all}");
    assert!(all.contains("own-files") && all.contains("  ask "), "{all}");
    let page = text(&place.run(&["help", "settings"]).stdout);
    assert_eq!(page, include_str!("../../docs/settings.md"));
    let nested = text(&place.run(&["help", "eval", "beir"]).stdout);
    assert_eq!(nested, text(&place.run(&["eval", "beir", "--help"]).stdout));
    let wrong = place.run(&["help", "setings"]);
    assert_eq!(wrong.status.code(), Some(2));
    let said = text(&wrong.stderr);
    said.must_hold("did you mean 'kb-agent help settings'?");
}

#[test]
fn the_manual_has_a_page_for_every_command() {
    let place = Workplace::empty();
    fs::create_dir(place.path().join("man")).unwrap();
    place.run_well(&["man", place.path().join("man").to_str().unwrap()]);
    let page = fs::read_to_string(place.path().join("man/kb-agent.1")).unwrap();
    page.must_hold("SYNOPSIS");
    page.must_hold("kb\\-agent\\-ask(1)");
    assert!(place.path().join("man/kb-agent-eval-beir.1").exists());
}

#[test]
fn r26_a_pattern_that_includes_nothing_is_said_once() {
    let place = Workplace::holding([
        ("kb/a.md", "# A\n\nOne lighthouse.\n"),
        ("kb/ops.env", "PORT=1\n"),
    ]);
    let patterns = std::env::join_paths(["*.env", "*.kdbx"]).unwrap();
    let mut command = place.command(&["index", "--kb", "kb"]);
    let output = command.env("KB_AGENT_INCLUDE", patterns).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let lines = said.lines().filter(|line| line.contains("INCLUDE"));
    let lines: Vec<&str> = lines.collect();
    assert_eq!(lines.len(), 1, "{said}");
    assert!(lines[0].contains("'*.kdbx' fits no file"), "{said}");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn r26_the_environment_wins_over_the_env_file() {
    let place = Workplace::holding([(".env", "KB_AGENT_MAX_ITERATIONS=99\n")]);
    let from_file = place.run(&["graph", "last"]);
    assert_eq!(from_file.status.code(), Some(2));
    assert!(one_line(&from_file).contains("'99'"));
    let from_environment = place
        .command(&["graph"])
        .env("KB_AGENT_MAX_ITERATIONS", "2")
        .output()
        .unwrap();
    assert!(from_environment.status.success());
}

#[test]
fn r26_a_broken_env_file_is_one_line_without_its_content() {
    let place = Workplace::holding([("my.env", "KB_AGENT_LLM_API_KEY = 'sk-secret\n")]);
    let output = place.run(&["--env-file", "my.env", "graph"]);
    assert_eq!(output.status.code(), Some(2));
    let line = one_line(&output);
    line.must_hold("my.env");
    line.must_lack("sk-secret");
    let missing = place.run(&["--env-file", "none.env", "graph"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(one_line(&missing).contains("none.env"));
}

#[test]
fn bad_usage_is_exit_2() {
    let place = Workplace::empty();
    for args in [
        &["ask"][..],
        &["ask", "--route", "shortest", "q"],
        &["search", "-k", "0", "q"],
        &["ask", ""],
        &["ask", "  \n "],
        &["ask", "--frobnicate", "q"],
        &["completions", "tcl"],
    ] {
        let output = place.run(args);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{args:?}: {}",
            text(&output.stderr)
        );
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_question_comes_from_standard_input() {
    let demo = Workplace::with_demo();
    let ask = |input: &[u8]| {
        let mut child = demo
            .command(&["ask", "--json", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        child.wait_with_output().unwrap()
    };
    let output = ask("你好\n".as_bytes());
    assert!(output.status.success());
    assert_eq!(json_lines(&output.stdout)[0]["query"], "你好");
    let invalid = ask(b"\xff\xfe");
    assert_eq!(invalid.status.code(), Some(2));
    assert!(one_line(&invalid).contains("UTF-8"));
    let novel = ask(&vec![b'x'; 65 << 10]);
    assert_eq!(novel.status.code(), Some(2));
    assert!(one_line(&novel).contains("longer than 64 kB"));
}

#[test]
fn an_answer_for_people_says_that_it_is_offline_and_where_it_is_from() {
    let demo = Workplace::with_demo();
    let output = demo.run_well(&["ask", "What is corrective grading?"]);
    let answer = text(&output.stdout);
    assert!(answer.contains("[1]"), "{answer}");
    assert!(answer.contains(".md:"), "{answer}");
    let footer = answer.lines().last().unwrap();
    footer.must_hold("offline, extractive · simple · 3 steps, 1 saved");
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
}

#[test]
fn an_unreadable_or_missing_folder_is_one_line() {
    let place = Workplace::empty();
    let output = place.run(&["ask", "--kb", "no/such/folder", "q"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(one_line(&output).contains("no/such/folder"));
}

#[test]
fn an_empty_knowledge_base_is_said_and_found_nothing_in() {
    let place = Workplace::empty();
    fs::create_dir(place.path().join("empty")).unwrap();
    let output = place.run(&["ask", "--kb", "empty", "What is the threshold?"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(one_line(&output).contains("the knowledge base is empty"));
    assert!(text(&output.stdout).contains("Nothing was found in the knowledge base."));
}

#[test]
fn files_that_cannot_be_read_are_one_line_and_stop_nothing() {
    let place = Workplace::holding([(
        "kb/good.md",
        "# Thresholds\n\nThe threshold of the gate is seven.\n",
    )]);
    place.file("kb/picture.md", b"\x89PNG\x00\x00\x00binary");
    place.file("kb/odd.txt", [0xff, 0xfe, 0xfd].repeat(200));
    let output = place.run(&["ask", "--kb", "kb", "What is the threshold of the gate?"]);
    assert!(output.status.success());
    let line = one_line(&output);
    assert!(line.contains("2 files were left out"), "{line}");
    assert!(text(&output.stdout).contains("seven"));
    let index = place.run(&["index", "--kb", "kb", "--json"]);
    let report = &json_lines(&index.stdout)[0];
    assert_eq!(report["documents"], 1);
    assert_eq!(report["skipped"].as_array().unwrap().len(), 2);
    assert_eq!(report["embedded"], 0, "nothing is embedded twice");
}

#[test]
fn a_lock_file_is_found_by_its_words_and_counts_nowhere_as_to_be_embedded() {
    let place = Workplace::holding([
        ("kb/note.md", "# Gate\n\nThe gate opens at seven.\n"),
        ("kb/Cargo.lock", "[[package]]\nname = \"turnstile\"\n"),
    ]);
    let index = place.run(&["index", "--kb", "kb", "--json"]);
    assert!(one_line(&index).ends_with("embedding 1 passage"));
    let report = &json_lines(&index.stdout)[0];
    let counts = ["documents", "chunks", "words_only", "embedded"].map(|name| &report[name]);
    assert_eq!(counts, [2, 2, 1, 1]);
    let search = place.run(&["search", "--kb", "kb", "--json", "turnstile"]);
    assert!(search.stderr.is_empty(), "{}", text(&search.stderr));
    assert_eq!(json_lines(&search.stdout)[0]["source"], "Cargo.lock");
    let index = place.run(&["index", "--kb", "kb"]);
    assert!(index.stderr.is_empty(), "{}", text(&index.stderr));
    let said = text(&index.stdout);
    assert!(said.contains("2 chunks (1 found by words only);"), "{said}");
    let doctor = text(&place.run(&["doctor", "--kb", "kb"]).stdout);
    assert!(doctor.contains("all of 1 passage embedded"), "{doctor}");
}

#[test]
fn a_data_folder_that_cannot_be_made_is_one_line() {
    let place = Workplace::empty();
    let file = place.file("file", "not a folder");
    let output = place.run(&["--data-dir", file.to_str().unwrap(), "ask", "q"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(one_line(&output).contains("KB_AGENT_DATA_DIR"));
}

#[test]
fn search_prints_hits_as_evidence_with_ranks() {
    let demo = Workplace::with_demo();
    for tool in ["hybrid", "vector", "grep"] {
        let output = demo.run(&["search", "--tool", tool, "-k", "3", "--json", "audit log"]);
        assert!(output.status.success());
        let hits = json_lines(&output.stdout);
        assert!((1..=3).contains(&hits.len()), "{tool}: {}", hits.len());
        for (at, hit) in hits.iter().enumerate() {
            assert_eq!(hit["rank"], at + 1);
            assert_eq!(hit["tool"], format!("{tool}_search"));
            for field in ["id", "source", "start_line", "end_line", "score", "excerpt"] {
                assert!(!hit[field].is_null(), "{tool}: no {field} in {hit}");
            }
            let score = hit["score"].as_f64().unwrap();
            assert!((0.0..=1.0).contains(&score));
        }
    }
    let people = demo.run(&["search", "audit", "log"]);
    assert!(text(&people.stdout).contains("audit-log.md:"));
}

#[test]
fn grep_says_how_it_read_what_is_no_pattern_and_no_word() {
    let place = Workplace::holding([
        ("kb/code.md", "# Code\n\nlet x = list[0]; // what???\n"),
        ("kb/log.md", "# Log\n\nERROR in the gate.\n"),
    ]);
    let search = |query: &str| {
        let output = place.run(&["search", "--tool", "grep", "--json", "--kb", "kb", query]);
        assert_eq!(output.status.code(), Some(0), "{query}");
        let found: Vec<String> = json_lines(&output.stdout)
            .iter()
            .map(|hit| hit["source"].as_str().unwrap().to_owned())
            .collect();
        // Embedding and indexing have lines of their own.
        let said = text(&output.stderr);
        let of_query = said.lines().filter(|line| line.contains("searched "));
        (found, of_query.map(str::to_owned).collect::<Vec<_>>())
    };
    search("gate");
    let literal = "is no valid regular expression: searched as literal text";
    for (query, source, said) in table![
        "[", "code.md", format!("'[' {literal}");
        "list[", "code.md", format!("'list[' {literal}");
        "???", "code.md", "'???' holds no word: searched as literal text".to_owned();
        r"ERROR \d+", "log.md",
            r"no line matches 'ERROR \d+' as it stands: searched by its words".to_owned();
    ] {
        let (found, notes) = search(query);
        assert_eq!(found, [source], "{query}");
        assert_eq!(notes, [format!("kb-agent: {said}")]);
    }
    for query in [r"list\[\d\]", "gate"] {
        let (found, notes) = search(query);
        assert_eq!((found.len(), notes.len()), (1, 0), "{query}");
    }
}

#[test]
fn graph_shows_the_topology_and_a_run() {
    let demo = Workplace::with_demo();
    let topology = text(&demo.run(&["graph"]).stdout);
    for node in [
        "analyze_and_route",
        "plan",
        "tool_exec",
        "grade_evidence",
        "synthesize",
    ] {
        assert!(topology.contains(node));
    }
    let mermaid = text(&demo.run(&["graph", "--mermaid"]).stdout);
    assert!(mermaid.starts_with("flowchart TD\n"));
    assert!(mermaid.contains("grade_evidence -->|\"REFINE\"| plan"));

    let run = demo.ask(&["hello"])[0]["run"].as_str().unwrap().to_owned();
    let path = text(&demo.run(&["graph", &run[run.len() - 8..]]).stdout);
    path.must_hold("hello");
    path.must_hold("chitchat ─► synthesize");
    let drawn = text(&demo.run(&["graph", "--mermaid", "last"]).stdout);
    assert!(drawn.contains("linkStyle 0,1,9 "), "{drawn}");
    let missing = demo.run(&["graph", "ffffffff"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(one_line(&missing).contains("'ffffffff'"));
}

#[test]
fn a_run_is_drawn_in_columns_and_what_a_node_came_to_stands_under_it() {
    let demo = Workplace::with_demo();
    demo.ask(&["What are the four rules?"]);
    let drawn = text(&demo.run(&["graph", "last"]).stdout);
    let lines: Vec<&str> = drawn.lines().skip(2).collect();
    let starts = |line: &&str, with: &str| line.trim_start().starts_with(with);
    let order = [
        "analyze_and_route",
        "complex 0.",
        "simple ─► plan",
        "plan",
        "tool_exec",
        "fast path: simple_skip_grading",
        "simple ─► synthesize",
        "synthesize",
        "answered",
    ];
    assert_eq!(lines.len(), order.len(), "{drawn}");
    for (line, start) in lines.iter().zip(order) {
        assert!(starts(line, start), "{start}: {drawn}");
    }
    let columns = lines.iter().filter_map(|line| line.find(" ms  "));
    let columns: Vec<usize> = columns.collect();
    assert_eq!(columns.len(), 4, "{drawn}");
    assert!(columns.iter().all(|at| *at == columns[0]), "{drawn}");
}

#[test]
fn a_run_that_failed_is_drawn_to_where_it_failed() {
    let demo = Workplace::with_demo();
    let address = free_address();
    let ask = |model: &str| {
        let mut ask = demo.command(&["ask", "--json", "hello"]);
        ask.env("KB_AGENT_LLM_BASE_URL", format!("http://{address}/v1"))
            .env("KB_AGENT_LLM_MODEL", model);
        let output = ask.output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        (
            json_lines(&output.stdout),
            text(&demo.run(&["graph", "last"]).stdout),
        )
    };
    // Whose name could not be found out was asked nothing: the run ends before its first node.
    let (emitted, drawn) = ask("");
    let names: Vec<_> = emitted.iter().filter_map(|e| e["event"].as_str()).collect();
    assert_eq!(names, ["run_started", "run_finished"]);
    assert_eq!(emitted[1]["path"], serde_json::json!([]));
    assert_eq!(emitted[1]["outcome"], "failed");
    let lines: Vec<&str> = drawn.lines().skip(2).collect();
    assert_eq!(lines.len(), 2, "{drawn}");
    assert!(lines[0].starts_with("failed  0 calls, "), "{drawn}");

    let (_, drawn) = ask("m");
    let lines: Vec<&str> = drawn.lines().skip(2).collect();
    let [node, end, why] = lines[..] else {
        panic!("{drawn}");
    };
    let words: Vec<&str> = node.split_whitespace().collect();
    assert_eq!(words, ["analyze_and_route", "failed"]);
    assert!(end.starts_with("failed  1 call, "), "{drawn}");
    let refused = format!("cannot reach {address}: connection refused; ");
    assert!(why.trim_start().starts_with(&refused), "{drawn}");
}

#[test]
fn a_misspelt_command_is_distinguished_from_a_folder() {
    let place = Workplace::empty();
    for (args, meant) in [
        (&["aks", "hi"][..], "ask"),
        (&["indxe"], "index"),
        (&["serach", "--json", "rules"], "search"),
        (&["doctr"], "doctor"),
        (&["Ask", "hi"], "ask"),
    ] {
        let output = place.run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert_eq!(
            one_line(&output),
            format!(
                "kb-agent: there is no folder or file '{}'; did you mean the command \
                 'kb-agent {meant}'?",
                args[0]
            )
        );
    }
    // What is there is opened, what is spelt as a path is one, and other words are no commands.
    place.file("aks/a.md", "text\n");
    for path in ["aks", "./aks", "./indxe", "notes"] {
        let output = place.run(&[path]);
        let said = text(&output.stderr);
        assert!(!said.contains("did you mean"), "{path}: {said}");
    }
}

#[test]
fn completions_are_printed_for_each_shell() {
    let place = Workplace::empty();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = place.run(&["completions", shell]);
        assert!(output.status.success());
        assert!(text(&output.stdout).contains("kb-agent"));
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let demo = Workplace::with_demo();
    let mut child = demo
        .command(&["ask", "--json", "Compare vector_search with grep_search"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
    let log = demo.place().audit();
    assert_eq!(
        events(&log, "run_finished").len(),
        1,
        "the run is closed all the same"
    );
}

#[test]
fn a_folder_behind_index_is_reported_where_it_belongs() {
    let place = Workplace::holding([("kb/a.md", "# A\n\nText.\n")]);
    let output = place.run(&["index", "kb"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        one_line(&output),
        "kb-agent: index takes its folders by --kb: kb-agent index --kb kb"
    );
    let help = place.run(&["index", "--help"]);
    assert!(!text(&help.stdout).contains("PATHS"), "it is no argument");
}

#[test]
fn what_is_left_out_is_said_when_it_is_news() {
    let place = Workplace::holding([("kb/good.md", "# Gate\n\nThe gate opens at seven.\n")]);
    place.file("kb/picture.md", b"\x89PNG\x00\x00\x00binary");
    let search = || place.run(&["search", "--tool", "grep", "--kb", "kb", "gate"]);
    assert!(one_line(&search()).contains("1 file was left out, the first: picture.md"));
    assert!(search().stderr.is_empty(), "reported once");
    place.file("kb/other.md", b"\x89PNG\x00\x00\x00binary");
    assert!(one_line(&search()).contains("1 file was left out, the first: other.md"));
    // The list is always whole, and what it names is not new after it.
    place.file("kb/third.md", b"\x89PNG\x00\x00\x00binary");
    let index = place.run(&["index", "--kb", "kb"]);
    let listed = text(&index.stdout);
    assert!(listed.starts_with("kb: 1 document, 1 chunk; "), "{listed}");
    assert_eq!(listed.matches("skipped ").count(), 3, "{listed}");
    assert!(search().stderr.is_empty());
}

#[test]
fn a_large_log_says_how_large_it_is_and_is_searched_where_it_lies() {
    let place = Workplace::empty();
    let filler = "2024-03-05 INFO nothing happened\n".repeat(10 * 1024 * 1024 / 33 + 1);
    place.file(
        "kb/huge.log",
        filler + "2024-03-06 ERROR the pump stopped\n",
    );
    let index = place.run(&["index", "--kb", "kb"]);
    text(&index.stdout).must_hold("skipped huge.log: too large for the index (10.1 MB; the limit is 10 MB); grep_search still reads it");
    let found = place.run(&[
        "search",
        "--tool",
        "grep",
        "--json",
        "--kb",
        "kb",
        "pump stopped",
    ]);
    assert_eq!(json_lines(&found.stdout)[0]["source"], "huge.log");
}

#[test]
fn a_dead_embedding_endpoint_costs_one_line_and_no_answer() {
    let place = Workplace::holding([("kb/gate.md", "# Gate\n\nThe gate opens at seven.\n")]);
    let run = |args: &[&str]| {
        let mut command = place.command(args);
        command
            .env("KB_AGENT_SOURCE", "kb")
            .env("KB_AGENT_EMBEDDING_BASE_URL", "http://127.0.0.1:9/v1")
            .env("KB_AGENT_EMBEDDING_MODEL", "m");
        command.output().unwrap()
    };
    for args in [
        &["ask", "When does the gate open?"][..],
        &["search", "gate"],
        &["search", "--tool", "vector", "gate"],
    ] {
        let output = run(args);
        assert!(output.status.success(), "{args:?}");
        let line = one_line(&output);
        assert!(line.contains("cannot reach 127.0.0.1:9"), "{line}");
        line.must_end_with("passages are found by their words only");
        assert!(text(&output.stdout).contains("seven"), "{args:?}");
    }
    let index = run(&["index", "--json"]);
    assert_eq!(index.status.code(), Some(1));
    let said = text(&index.stderr);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 2, "{said}");
    assert!(lines[0].contains("the words of 1 document can be searched; embedding 1 passage"));
    assert!(lines[1].contains("cannot reach 127.0.0.1:9"), "{said}");
    // What was done is reported all the same.
    assert_eq!(json_lines(&index.stdout)[0]["documents"], 1);
}
