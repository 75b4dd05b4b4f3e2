//! The tools over a real index.

use std::sync::Arc;

use kb_agent::agent::ports::{ToolError, Toolbox};
use kb_agent::domain::{Evidence, TOOLS, ToolCall, ToolName};
use kb_agent::tools::KbToolbox;
use tokio_util::sync::CancellationToken;

use crate::kb::Bench;

fn toolbox(bench: &Bench) -> KbToolbox {
    KbToolbox::new(Arc::new(bench.indexed()))
}

async fn run(tools: &KbToolbox, json: &str) -> Result<Vec<Evidence>, ToolError> {
    let call: ToolCall = serde_json::from_str(json).unwrap();
    tools.run(&call, None).await
}

/// [`run`] of a call that goes well.
async fn found_by(tools: &KbToolbox, json: &str) -> Vec<Evidence> {
    run(tools, json).await.unwrap()
}

fn places(found: &[Evidence]) -> Vec<String> {
    found
        .iter()
        .map(|item| format!("{}:{}", item.source, item.lines))
        .collect()
}

fn numbered(lines: usize, special: &[(usize, &str)]) -> String {
    let line = |n| {
        special
            .iter()
            .find(|(at, _)| *at == n)
            .map_or(format!("filler {n}"), |(_, text)| (*text).to_owned())
    };
    (1..=lines).map(line).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn r12_grep_shows_ten_lines_around_and_merges_overlaps() {
    let bench = Bench::new(&[(
        "long.txt",
        &numbered(
            120,
            &[(20, "needle here"), (35, "Needle again"), (90, "a NEEDLE")],
        ),
    )]);
    let tools = toolbox(&bench);
    let found = grepped(&tools, "needle").await;
    assert_eq!(places(&found), ["long.txt:10-45", "long.txt:80-100"]);
    assert_eq!(found[1].text.lines().count(), 21);
    assert_eq!(found[1].text.lines().nth(10), Some("a NEEDLE"));
    assert!((found[0].score.value() - 1.0).abs() < 1e-9);
}

#[tokio::test]
async fn r12_grep_ranks_by_the_words_a_passage_holds() {
    let bench = Bench::new(&[
        ("a.md", "the threshold of rules\n"),
        ("b.md", "grading threshold: 0.7\n"),
        ("c.md", "PROJ-10 only\n"),
        ("d.md", "PROJ-103 only\n"),
        ("e.md", "call foo( now\n"),
    ]);
    let tools = toolbox(&bench);
    for (query, expected) in [
        (
            "What is the grading threshold?",
            vec!["b.md:1-1", "a.md:1-1"],
        ),
        ("proj-10", vec!["c.md:1-1"]),
        ("PROJ-103?", vec!["d.md:1-1"]),
        (r"PROJ-\\d{3}", vec!["d.md:1-1"]),
        ("foo(", vec!["e.md:1-1"]),
        ("[unclosed", vec![]),
        ("What about [PROJ-103]?", vec!["d.md:1-1"]),
        ("Where is (grading)?", vec!["b.md:1-1"]),
        ("only", vec!["c.md:1-1", "d.md:1-1"]),
    ] {
        let json = format!(r#"{{"tool":"grep_search","args":{{"query":"{query}"}}}}"#);
        let found = found_by(&tools, &json).await;
        assert_eq!(places(&found), expected, "{query}");
    }
    let half = grepped(&tools, "grading absent").await;
    assert!(half[0].score.value() < 0.6, "{}", half[0].score);
}

#[tokio::test]
async fn r12_grep_survives_any_pattern() {
    let bench = Bench::new(&[("a.md", &"a".repeat(2000))]);
    let tools = toolbox(&bench);
    for query in [
        "((((((((((a{1,1000}){1,1000}){1,1000}){1,1000}",
        "(a*)*$",
        "\\\\",
        "*",
        ".",
        "???",
        "\\u0000",
        "(?i)(?x)(",
        "^",
        "\\\\n",
        "\\\"",
    ] {
        let json = format!(r#"{{"tool":"grep_search","args":{{"query":"{query}"}}}}"#);
        let _ = run(&tools, &json).await;
    }
}

#[tokio::test]
async fn r12_an_endless_line_is_shown_in_part() {
    let line = "x ".repeat(60_000) + "needle" + &" 针".repeat(60_000);
    let bench = Bench::new(&[("min.js", &line)]);
    let tools = toolbox(&bench);
    for json in [
        r#"{"tool":"grep_search","args":{"query":"needle"}}"#,
        r#"{"tool":"hybrid_search","args":{"semantic_query":"needle"}}"#,
        r#"{"tool":"read_file","args":{"path":"min.js"}}"#,
    ] {
        let found = found_by(&tools, json).await;
        assert_eq!(found[0].lines.to_string(), "1-1");
        assert!(found[0].text.len() <= 40_000, "{json}");
        let shown = found[0].text.contains("needle");
        assert!(shown || found[0].tool == ToolName::ReadFile, "{json}");
    }
}

/// Where grep finds it, best first.
async fn grepped(tools: &KbToolbox, query: &str) -> Vec<Evidence> {
    let call = ToolCall::GrepSearch {
        query: query.to_owned(),
    };
    tools.run(&call, None).await.unwrap()
}

#[tokio::test]
async fn r12_grep_searches_files_that_are_too_large_for_the_index() {
    let bench = Bench::new(&[("small.md", "nothing of note\n")]);
    let lines = 160_000;
    let mut log = String::new();
    for n in 1..=lines {
        log += &format!(
            "2026-01-01T00:00:00 worker {n:06} finished one more piece of the job, code 0\n"
        );
        if n == 100_000 {
            log += "FATAL disk quota exceeded on node 7\n";
        }
    }
    assert!(log.len() > 12_000_000);
    bench.write("logs/worker.log", &log);
    let tools = toolbox(&bench);
    let found = grepped(&tools, "disk quota").await;
    assert_eq!(places(&found), ["logs/worker.log:99991-100011"]);
    let shown: Vec<&str> = found[0].text.lines().collect();
    assert_eq!(shown[10], "FATAL disk quota exceeded on node 7");
    assert!(shown[0].contains("worker 099991"), "{}", shown[0]);
    assert!(shown[20].contains("worker 100010"), "{}", shown[20]);
    // At both ends, and within a line that stands alone.
    let first = grepped(&tools, "000003").await;
    assert_eq!(places(&first), ["logs/worker.log:1-13"]);
    let last = grepped(&tools, "worker.160000.*code 0$").await;
    assert_eq!(places(&last), ["logs/worker.log:159991-160001"]);
    // Every line matches: the first passages, with as much as fits.
    let everywhere = grepped(&tools, "finished").await;
    assert_eq!(everywhere.len(), 10);
    assert_eq!(everywhere[0].lines.to_string(), "1-80");
    assert_eq!(everywhere[1].lines.to_string(), "81-160");
}

#[tokio::test]
async fn r12_grep_shows_what_it_finds_in_a_large_file_without_lines_or_in_utf_16() {
    let bench = Bench::new(&[("small.md", "nothing of note\n")]);
    let filler = "0123456789 ".repeat(1_000_000);
    bench.write("dump.json", format!("first\n{filler}needle {filler}\nlast"));
    // A log that broke off once and went on.
    let hole = "\0".repeat(100_000);
    let lines = "one more line\n".repeat(500_000);
    bench.write("broken.log", format!("{lines}{hole}\nnail {lines}{lines}"));
    let text = "Zeile\n".repeat(1_000_000) + "Grüße\nEnde\n";
    let units = std::iter::once(0xfeff).chain(text.encode_utf16());
    let utf_16: Vec<u8> = units.flat_map(u16::to_le_bytes).collect();
    bench.write("utf16.log", utf_16);
    let tools = toolbox(&bench);
    let found = grepped(&tools, "needle").await;
    // Too far from the lines around it.
    assert_eq!(places(&found), ["dump.json:2-2"]);
    assert!(found[0].text.contains(" needle ") && found[0].text.len() < 5000);
    let found = grepped(&tools, "nail").await;
    assert_eq!(places(&found), ["broken.log:499992-500012"]);
    assert_eq!(found[0].text.lines().nth(10), Some("nail one more line"));
    let found = grepped(&tools, "grüße").await;
    assert_eq!(places(&found), ["utf16.log:999991-1000002"]);
    assert_eq!(found[0].text.lines().nth(10), Some("Grüße"));
}

#[tokio::test]
async fn r12_grep_counts_lines_alike_whatever_ends_them() {
    let bench = Bench::new(&[
        ("crlf.txt", "one\r\ntwo needle\r\nthree\r\n"),
        ("no-end.txt", "one\ntwo\nthree needle"),
        ("mark.txt", "\u{feff}needle first\nsecond\n"),
    ]);
    let tools = toolbox(&bench);
    let found = grepped(&tools, "needle").await;
    assert_eq!(
        places(&found),
        ["crlf.txt:1-3", "mark.txt:1-2", "no-end.txt:1-3"]
    );
    assert_eq!(found[0].text, "one\ntwo needle\nthree");
    assert_eq!(found[1].text, "needle first\nsecond");
    for (query, expected) in [
        ("needle$", vec!["crlf.txt:1-3", "no-end.txt:1-3"]),
        ("^needle", vec!["mark.txt:1-2"]),
        ("^t.* needle$", vec!["crlf.txt:1-3", "no-end.txt:1-3"]),
        (r"^thr\S+.NEEDLE$", vec![]),
        (r"^THR\S+.needle$|^thr\S+.needle$", vec!["no-end.txt:1-3"]),
    ] {
        assert_eq!(places(&grepped(&tools, query).await), expected, "{query}");
    }
}

#[tokio::test]
async fn r12_grep_reads_other_encodings() {
    let bench = Bench::new(&[]);
    let text = "erste Zeile\nGrüße aus Köln\n知识库的索引\n";
    let units = std::iter::once(0xfeff).chain(text.encode_utf16());
    bench.write(
        "utf16.txt",
        units
            .clone()
            .flat_map(u16::to_le_bytes)
            .collect::<Vec<u8>>(),
    );
    bench.write(
        "utf16be.txt",
        units.flat_map(u16::to_be_bytes).collect::<Vec<u8>>(),
    );
    let unmarked = text.encode_utf16().flat_map(u16::to_le_bytes);
    bench.write("unmarked.txt", unmarked.collect::<Vec<u8>>());
    let (gbk, _, _) = encoding_rs::GBK
        .encode("本合同自双方签字盖章之日起生效,有效期为三年。\n知识库的索引每天更新。\n");
    bench.write("gbk.txt", gbk.as_ref());
    let tools = toolbox(&bench);
    let found = grepped(&tools, "köln").await;
    assert_eq!(
        places(&found),
        ["unmarked.txt:1-3", "utf16.txt:1-3", "utf16be.txt:1-3"]
    );
    let found = grepped(&tools, "知识库的索引").await;
    assert_eq!(
        places(&found),
        [
            "gbk.txt:1-2",
            "unmarked.txt:1-3",
            "utf16.txt:1-3",
            "utf16be.txt:1-3"
        ]
    );
    assert!(found[0].text.ends_with("每天更新。"), "{}", found[0].text);
}

#[tokio::test]
async fn r12_grep_shows_a_long_line_around_its_match() {
    let bench = Bench::new(&[]);
    let long = "0123456789 ".repeat(240_000) + "needle" + &" 0123456789".repeat(240_000);
    assert!(long.len() > 5_000_000);
    bench.write("data.json", format!("first\n{long}\nlast"));
    // Wide lines all over: what is shown stays within bounds, around the match.
    let wide = "wide ".repeat(700);
    let rows: Vec<String> = (1..=60)
        .map(|n| {
            if n == 30 {
                format!("haystack {wide}")
            } else {
                format!("row {n} {wide}")
            }
        })
        .collect();
    bench.write("wide.csv", rows.join("\n"));
    let tools = toolbox(&bench);
    let found = grepped(&tools, "needle").await;
    assert_eq!(places(&found), ["data.json:1-3"]);
    assert!(found[0].text.contains(" needle "));
    assert!(found[0].text.len() < 5000);
    let found = grepped(&tools, "haystack").await;
    assert_eq!(places(&found), ["wide.csv:25-35"]);
    assert!(found[0].text.len() <= 40_000);
    assert_eq!(found[0].text.lines().count(), 11);
}

#[tokio::test]
async fn r12_grep_finds_the_best_passage_among_very_many() {
    let bench = Bench::new(&[]);
    for n in 0..300 {
        bench.write(
            &format!("many/{n:03}.txt"),
            "common words here\n".repeat(200),
        );
    }
    let lines = numbered(9000, &[(8888, "common and rare")]).replace("filler", "common");
    bench.write("many/150.txt", lines);
    bench.write("one.txt", "a rare bird\n");
    let tools = toolbox(&bench);
    let found = grepped(&tools, "rare common").await;
    let best: Vec<String> = places(&found).into_iter().take(2).collect();
    assert_eq!(best[1], "one.txt:1-1");
    assert!(best[0].starts_with("many/150.txt:"), "{}", best[0]);
    assert!(found[0].text.contains("common and rare"));
    assert!(found[0].lines.start <= 8888 && found[0].lines.end >= 8888);
    // The rest only holds what all files hold: in the order of the files.
    assert_eq!(found[2].source, "many/000.txt");
    assert_eq!(
        places(&grepped(&tools, "rare common").await),
        places(&found)
    );
}

#[cfg(unix)]
#[tokio::test]
async fn r12_grep_keeps_to_what_belongs_to_the_base() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret.txt"), "needle outside\n").unwrap();
    let bench = Bench::new(&[
        ("a.txt", "needle\n"),
        ("sub/.gitignore", "*.tmp\n"),
        ("sub/b.tmp", "needle\n"),
        ("sub/b.txt", "needle\n"),
        (".hidden/c.txt", "needle\n"),
        (".d.txt", "needle\n"),
        (".ignore", "private\n"),
        ("private/e.txt", "needle\n"),
    ]);
    bench.write("binary.dat", b"needle\0\x01\x02".as_slice());
    bench.write(
        "late.dat",
        [vec![b'\n'; 300_000], b"needle\n\0\x01".to_vec()].concat(),
    );
    let link = |from: &str, to: &std::path::Path| {
        std::os::unix::fs::symlink(to, bench.docs.path().join(from)).unwrap();
    };
    link("out.txt", &outside.path().join("secret.txt"));
    link("out", outside.path());
    link("again.txt", &bench.docs.path().join("a.txt"));
    link("loop", bench.docs.path());
    let tools = toolbox(&bench);
    let found = grepped(&tools, "needle").await;
    assert_eq!(places(&found), ["a.txt:1-1", "sub/b.txt:1-1"]);
    // As the files are now, indexed or not.
    bench.write("new.txt", "a needle more\n");
    assert_eq!(grepped(&tools, "needle").await.len(), 3);
}

#[tokio::test]
async fn r12_vector_search_scores_by_cosine_and_drops_what_is_far() {
    let bench = Bench::new(&[
        ("near.txt", "alpha beta gamma delta"),
        ("half.txt", "alpha beta other things entirely"),
        ("far.txt", "nothing shared whatsoever"),
    ]);
    let tools = toolbox(&bench);
    let found = found_by(
        &tools,
        r#"{"tool":"vector_search","args":{"query":"alpha beta gamma delta"}}"#,
    )
    .await;
    assert_eq!(places(&found), ["near.txt:1-1", "half.txt:1-1"]);
    assert!(found[0].score.value() > 0.98);
    assert!(found.iter().all(|item| item.tool == ToolName::VectorSearch));
    let one = run(
        &tools,
        r#"{"tool":"vector_search","args":{"query":"alpha","k":1}}"#,
    )
    .await;
    assert_eq!(one.unwrap().len(), 1);
}

#[tokio::test]
async fn r12_hybrid_works_when_either_side_is_empty() {
    let bench = Bench::new(&[
        ("a.md", "# Routing\n\nThe routing plan decides the way.\n"),
        ("b.md", "# Gardens\n\nRoses and tulips.\n"),
    ]);
    // No vectors yet: the update is stopped before the first is made.
    let base = bench.open();
    let cancel = CancellationToken::new();
    base.update(
        &|progress| {
            if progress.phase == kb_agent::kb::Phase::Embedding {
                cancel.cancel();
            }
        },
        &cancel,
    )
    .unwrap();
    assert_eq!(base.status().pending, 2);
    let tools = KbToolbox::new(Arc::new(base));
    let json = r#"{"tool":"hybrid_search","args":{"semantic_query":"routing plan"}}"#;
    let found = found_by(&tools, json).await;
    assert_eq!(places(&found), ["a.md:1-3"]);
    assert!(found[0].score.value() > 0.3);
    // No common words: only stop words reach the lexical side.
    let bench = Bench::new(&[("a.md", "not the such\n")]);
    let tools = toolbox(&bench);
    let json = r#"{"tool":"hybrid_search","args":{"semantic_query":"not the such"}}"#;
    assert_eq!(places(&found_by(&tools, json).await), ["a.md:1-1"]);
}

#[tokio::test]
async fn r12_hybrid_shows_a_score_that_an_unrelated_base_cannot_reach() {
    let bench = Bench::new(&table![
        "a.md", "# Routing\n\nThe routing plan decides the way of a question.\n";
        "b.md", "# Gardens\n\nRoses and tulips want water in a dry summer.\n";
    ]);
    let tools = toolbox(&bench);
    let ask = |query: &str| {
        format!(r#"{{"tool":"hybrid_search","args":{{"semantic_query":"{query}"}}}}"#)
    };
    let related = found_by(&tools, &ask("routing plan question")).await;
    assert!(related[0].score.value() > 0.5, "{}", related[0].score);
    let unrelated = found_by(&tools, &ask("quantum chromodynamics lattice water")).await;
    assert!(
        unrelated.iter().all(|item| item.score.value() < 0.4),
        "{unrelated:?}"
    );
    let keyword =
        r#"{"tool":"hybrid_search","args":{"semantic_query":"","exact_keywords":["tulips"]}}"#;
    assert_eq!(found_by(&tools, keyword).await[0].source, "b.md");
}

#[tokio::test]
async fn r12_read_file_gives_lines_within_bounds_and_roots() {
    let bench = Bench::new(&[
        ("docs/a.txt", &numbered(1000, &[])),
        ("docs/b.md", "one\ntwo\n"),
        ("empty.md", ""),
    ]);
    bench.write("bin.dat", b"\0\0\0".as_slice());
    let tools = toolbox(&bench);
    let ask = |path: &str, rest: &str| {
        format!(r#"{{"tool":"read_file","args":{{"path":"{path}"{rest}}}}}"#)
    };
    let whole = found_by(&tools, &ask("docs/a.txt", "")).await;
    assert_eq!(places(&whole), ["docs/a.txt:1-400"]);
    let part = found_by(
        &tools,
        &ask("docs/a.txt", r#","start_line":5,"end_line":6"#),
    )
    .await;
    assert_eq!(part[0].text, "filler 5\nfiller 6");
    assert!((part[0].score.value() - 1.0).abs() < f64::EPSILON);
    let short = found_by(&tools, &ask("docs/b.md", r#","end_line":99"#)).await;
    assert_eq!(places(&short), ["docs/b.md:1-2"]);
    assert!(found_by(&tools, &ask("empty.md", "")).await.is_empty());
    for (path, rest) in [
        ("docs", ""),
        ("", ""),
        ("docs/b.md", r#","start_line":3"#),
        ("docs/b.md", r#","start_line":2,"end_line":1"#),
    ] {
        let error = run(&tools, &ask(path, rest)).await.unwrap_err();
        assert!(matches!(error, ToolError::BadArguments(_)), "{error}");
    }
    for path in ["../../etc/passwd", "/etc/passwd", "docs/../../x"] {
        let error = run(&tools, &ask(path, "")).await.unwrap_err();
        assert!(
            matches!(error, ToolError::OutsideRoots { .. }),
            "{path}: {error}"
        );
    }
    let error = run(&tools, &ask("bin.dat", "")).await.unwrap_err();
    assert!(error.to_string().contains("binary"), "{error}");
}

#[tokio::test]
async fn r12_local_file_qa_finds_files_by_name_glob_folder_and_topic() {
    let bench = Bench::new(&table![
        "audit-log.md", "# Audit log\n\nEvery event is one line of the log.\n";
        "nodes/plan.md", "# plan\n\nThe plan node picks tools.\n";
        "nodes/synthesize.md", "# synthesize\n\nWrites an answer line by line.\n";
        "gardens.txt", "roses and tulips\n";
    ]);
    let tools = toolbox(&bench);
    let ask = |query: &str, path: &str| {
        let path = if path.is_empty() {
            String::new()
        } else {
            format!(r#","path":"{path}""#)
        };
        format!(r#"{{"tool":"local_file_qa","args":{{"query":"{query}"{path}}}}}"#)
    };
    for (query, path, expected) in [
        ("what does audit-log say about an event", "", "audit-log.md"),
        ("which file describes tulips", "", "gardens.txt"),
        ("Which file describes the audit log?", "", "audit-log.md"),
        ("writes an answer", "nodes", "nodes/synthesize.md"),
        ("picks tools", "nodes/*.md", "nodes/plan.md"),
        ("what is in it", "gardens.txt", "gardens.txt"),
        ("roses", "*.txt", "gardens.txt"),
    ] {
        let found = found_by(&tools, &ask(query, path)).await;
        assert_eq!(
            found.first().map(|item| item.source.as_str()),
            Some(expected),
            "{query}"
        );
    }
    // A glob over everything narrows nothing; the query still tells what is looked for.
    let tulips = found_by(&tools, &ask("tulips", "*")).await;
    assert_eq!(places(&tulips), ["gardens.txt:1-1"]);
    let error = run(&tools, &ask("x", "absent/*.md")).await.unwrap_err();
    assert!(matches!(error, ToolError::NotFound { .. }), "{error}");
    let error = run(&tools, &ask("x", "/etc")).await.unwrap_err();
    assert!(matches!(error, ToolError::OutsideRoots { .. }), "{error}");
}

#[tokio::test]
async fn r12_local_file_qa_keeps_to_what_says_a_field_of_itself() {
    let bench = Bench::new(&table![
        "a.md", "---\ntype: bug\nstatus: Open\n---\n# A\n\nIt leaks.\n";
        "b.md", "# B\n\n- **Type**: Story\n- **Status**: Done\n\nThe door is open\n";
        "c.md", "# C\n\nType: Stories\nStatus: open\n";
        "list.md", "# Plan\n\n| Task | Status |\n|---|---|\n| roof | done |\n| door | open |\n";
        "todo.md", "# To do\n\n- [ ] call\n- [x] write\n";
    ]);
    let tools = toolbox(&bench);
    let ask = |query: &str, args: &str| {
        format!(r#"{{"tool":"local_file_qa","args":{{"query":"{query}",{args}}}}}"#)
    };
    for (query, args, expected) in table![
        "what is open", r#""value":"open""#, vec!["a.md:3-3", "c.md:1-4", "list.md:1-6"];
        "open bugs", r#""value":"open""#, vec!["a.md:3-3"];
        "done", r#""field":"status","value":"done|[x]""#, vec!["b.md:1-4", "list.md:1-5"];
        "left to do", r#""value":"[ ]""#, vec!["todo.md:1-3"];
        "open", r#""value":"open","path":"*.txt""#, vec![];
        "late", r#""value":"late""#, vec![];
    ] {
        let found = run(&tools, &ask(query, args)).await;
        let found = found.unwrap_or_default();
        assert_eq!(places(&found), expected, "{query} {args}");
    }
}

#[tokio::test]
async fn r12_local_file_qa_shows_how_the_documents_begin() {
    let mut files: Vec<(String, String)> = (0..45)
        .map(|at| {
            (
                format!("many/{at:02}.md"),
                format!("# Number {at}\n\nText.\n"),
            )
        })
        .collect();
    files.push(("zebra.md".to_owned(), "# Zebra\n\nStripes.\n".to_owned()));
    files.push((
        "overview.md".to_owned(),
        "# Overview\n\nAll of it.\n".to_owned(),
    ));
    files.push(("empty.md".to_owned(), String::new()));
    let files = files.iter().map(|(a, b)| (a.as_str(), b.as_str()));
    let files: Vec<(&str, &str)> = files.collect();
    let bench = Bench::new(&files);
    let tools = toolbox(&bench);
    let all = found_by(&tools, r#"{"tool":"local_file_qa","args":{"query":"*"}}"#).await;
    let sources: Vec<&str> = all.iter().map(|item| item.source.as_str()).collect();
    assert_eq!(
        sources[..4],
        ["overview.md", "zebra.md", "many/00.md", "many/01.md"]
    );
    // One more than is listed, which says that there are more.
    assert_eq!(sources.len(), 41);
    let some = r#"{"tool":"local_file_qa","args":{"query":"*","path":"many/0*.md"}}"#;
    assert_eq!(found_by(&tools, some).await.len(), 10);
}

#[tokio::test]
async fn r12_graph_related_follows_links_both_ways() {
    let bench = Bench::new(&table![
        "tickets/PROJ-101.md",
            "# PROJ-101: Short cut\n\nParent: PROJ-100\nBlocks: PROJ-105\nRelates to: ../fast-path.md\n";
        "tickets/PROJ-105.md", "# PROJ-105: Audit\n\nText.\n\nDepends on: PROJ-101\n";
        "fast-path.md", "# Fast path\n\nPlain.\n";
        "notes.md", "# Notes\n\nSee [[fast path]] for more.\n\n\n\n\nPROJ-999 is open.\n";
    ]);
    let tools = toolbox(&bench);
    let ask = |id: &str| format!(r#"{{"tool":"graph_related","args":{{"entity_id":"{id}"}}}}"#);
    let ticket = found_by(&tools, &ask("proj-101")).await;
    assert_eq!(
        places(&ticket),
        ["tickets/PROJ-101.md:3-5", "tickets/PROJ-105.md:5-5"]
    );
    assert!(ticket[0].text.contains("Blocks: PROJ-105"));
    assert_eq!(ticket[1].text, "Depends on: PROJ-101");
    let document = found_by(&tools, &ask("fast-path.md")).await;
    assert_eq!(
        places(&document),
        ["tickets/PROJ-101.md:5-5", "notes.md:3-3"]
    );
    let mentioned = found_by(&tools, &ask("PROJ-999")).await;
    assert_eq!(places(&mentioned), ["notes.md:8-8"]);
    for id in ["PROJ-9", "nowhere.md"] {
        let error = run(&tools, &ask(id)).await.unwrap_err();
        assert!(matches!(error, ToolError::NotFound { .. }), "{error}");
    }
}

async fn related(tools: &KbToolbox, entity: &str) -> Vec<Evidence> {
    let call = ToolCall::GraphRelated {
        entity_id: entity.to_owned(),
    };
    tools.run(&call, None).await.unwrap()
}

#[tokio::test]
async fn r12_graph_related_shows_the_kind_of_relation_where_it_is_written() {
    let bench = Bench::new(&table![
        "export/short-cut.md", "# PROJ-104: Short cut\n\nStatus: open\nBlocks: PROJ-101\n";
        "tickets/PROJ-101.md",
            "---\nparent: PROJ-100\nblocked_by:\n  - PROJ-104\n---\n# PROJ-101\n\n## Clones\n\nThese were made:\n\n\n\n\n- PROJ-107\n";
        "board.md",
            "# Board\n\n| Key | Is blocked by |\n|---|---|\n| PROJ-200 | PROJ-201 |\n| PROJ-202 | PROJ-101 |\n";
        "zh/任务.md", "# 任务\n\nPROJ-300 被阻塞于 PROJ-101。\n子任务：PROJ-301\n";
    ]);
    let tools = toolbox(&bench);
    let found = related(&tools, "PROJ-101").await;
    assert_eq!(
        places(&found),
        [
            "tickets/PROJ-101.md:2-4",
            "tickets/PROJ-101.md:8-15",
            "board.md:3-6",
            "export/short-cut.md:1-4",
            "zh/任务.md:3-3",
        ]
    );
    assert!(found[0].text.starts_with("parent: PROJ-100\nblocked_by:\n"));
    assert!(found[1].text.starts_with("## Clones\n") && found[1].text.ends_with("PROJ-107"));
    assert!(found[2].text.starts_with("| Key | Is blocked by |"));
    assert!(
        found[3].text.starts_with("# PROJ-104: Short cut")
            && found[3].text.ends_with("Blocks: PROJ-101")
    );
    assert!(
        found
            .iter()
            .all(|item| (item.score.value() - 1.0).abs() < 1e-9)
    );
    // The other way round.
    let other = related(&tools, "PROJ-107").await;
    assert_eq!(places(&other), ["tickets/PROJ-101.md:8-15"]);
    let child = related(&tools, "PROJ-301").await;
    assert_eq!(child[0].text, "子任务：PROJ-301");
}

#[tokio::test]
async fn r12_graph_related_knows_a_document_by_any_link_to_it() {
    let bench = Bench::new(&[
        ("guide/Getting Started.md", "# First steps\n\nText.\n"),
        ("a.md", "[x](guide/getting%20started.md#top)\n"),
        (
            "b.md",
            "See [the guide][g].\n\n[g]: <guide/Getting Started.md>\n",
        ),
        ("c.md", "[[Getting-Started]] or [[first steps|here]]\n"),
        ("d.org", "[[file:guide/Getting Started.md][guide]]\n"),
        ("e.rst", ":doc:`guide/Getting Started`\n"),
        ("f.md", "<a href=\"guide/Getting%20Started.md\">guide</a>\n"),
        ("g.md", "```\n[x](guide/Getting%20Started.md)\n```\n"),
        ("h.md", "[web](https://x.y/guide/Getting%20Started.md)\n"),
        ("guide/i.md", "Parent: [x](./Getting Started.md)\n"),
    ]);
    let tools = toolbox(&bench);
    let expected = [
        "guide/i.md:1-1",
        "a.md:1-1",
        "b.md:1-1",
        "c.md:1-1",
        "d.org:1-1",
        "e.rst:1-1",
        "f.md:1-1",
    ];
    for name in [
        "guide/Getting Started.md",
        "getting started",
        "First steps",
        "Gettin Started",
    ] {
        assert_eq!(places(&related(&tools, name).await), expected, "{name}");
    }
}

#[tokio::test]
async fn r12_local_file_qa_takes_a_name_as_people_give_it() {
    let bench = Bench::new(&[
        ("audit-log.md", "# Audit log\n\nEvery event is one line.\n"),
        ("docs/Release Notes.md", "# What is new\n\nFaster search.\n"),
        ("docs/deep/er/setup.txt", "install the program\n"),
        ("zh/常见问题.md", "# 常见问题\n\n如何重建索引？\n"),
        ("zh/工具.md", "# 工具\n\n六个工具。\n"),
        ("[draft].md", "# Draft\n\nNot done.\n"),
        ("report-2024.md", "# Report 2024\n\nNumbers.\n"),
    ]);
    bench.write("image.png", b"\x89PNG\0\0\0".as_slice());
    let tools = toolbox(&bench);
    let ask = |query: &str, path: Option<&str>| ToolCall::LocalFileQa {
        query: query.to_owned(),
        path: path.map(str::to_owned),
        field: None,
        value: None,
    };
    let sources = |found: &[Evidence]| {
        let mut sources: Vec<String> = found.iter().map(|item| item.source.clone()).collect();
        sources.sort();
        sources.dedup();
        sources
    };
    for (path, expected) in [
        ("docs/Release Notes.md", vec!["docs/Release Notes.md"]),
        ("release notes", vec!["docs/Release Notes.md"]),
        ("RELEASE-NOTES.MD", vec!["docs/Release Notes.md"]),
        ("docs/release notes", vec!["docs/Release Notes.md"]),
        ("what is new", vec!["docs/Release Notes.md"]),
        ("relaese notes.md", vec!["docs/Release Notes.md"]),
        ("audit-lok.md", vec!["audit-log.md"]),
        ("ZH/", vec!["zh/工具.md", "zh/常见问题.md"]),
        ("*.{txt,rst}", vec!["docs/deep/er/setup.txt"]),
        ("docs/**/*.txt", vec!["docs/deep/er/setup.txt"]),
        ("er/*.txt", vec!["docs/deep/er/setup.txt"]),
        ("常见问题", vec!["zh/常见问题.md"]),
        ("常见问提.md", vec!["zh/常见问题.md"]),
        ("[draft].md", vec!["[draft].md"]),
    ] {
        let found = tools
            .run(&ask("what does it say", Some(path)), None)
            .await
            .unwrap();
        assert_eq!(sources(&found), expected, "{path}");
    }
    for (query, expected) in [
        ("what does audit-lgo.md say", "audit-log.md"),
        ("what is in Release Notes.md?", "docs/Release Notes.md"),
        ("请看工具.md里有几个", "zh/工具.md"),
        ("看audit-log.md里的内容", "audit-log.md"),
    ] {
        let found = tools.run(&ask(query, None), None).await.unwrap();
        assert_eq!(sources(&found), [expected], "{query}");
    }
    for (path, said) in table![
        "report-2023.md", "report-2023.md is not in the knowledge base";
        "nothing like it", "nothing like it is not in the knowledge base";
        "image.png", "image.png: a picture";
        "*.pdf", "*.pdf is not in the knowledge base";
    ] {
        let error = tools.run(&ask("x", Some(path)), None).await.unwrap_err();
        assert_eq!(error.to_string(), said);
    }
    bench.write("fresh.md", "new\n");
    let error = tools
        .run(&ask("x", Some("fresh.md")), None)
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("not in the index yet"),
        "{error}"
    );
}

#[tokio::test]
async fn r13_bad_arguments_are_values_and_never_evidence() {
    let bench = Bench::new(&[("a.md", "text\n")]);
    let tools = toolbox(&bench);
    for json in [
        r#"{"tool":"vector_search","args":{"query":" "}}"#,
        r#"{"tool":"vector_search","args":{"query":"x","k":0}}"#,
        r#"{"tool":"grep_search","args":{"query":""}}"#,
        r#"{"tool":"hybrid_search","args":{"semantic_query":""}}"#,
        r#"{"tool":"local_file_qa","args":{"query":""}}"#,
        r#"{"tool":"graph_related","args":{"entity_id":""}}"#,
    ] {
        let error = run(&tools, json).await.unwrap_err();
        assert!(
            matches!(error, ToolError::BadArguments(_)),
            "{json}: {error}"
        );
        assert!(!error.to_string().contains('\n'));
    }
}

#[tokio::test]
async fn r14_evidence_names_its_tool_and_leaves_the_id_to_the_agent() {
    let bench = Bench::new(&[("a.md", "# A\n\nalpha beta\n")]);
    let tools = toolbox(&bench);
    for tool in ["vector_search", "grep_search", "local_file_qa"] {
        let json = format!(r#"{{"tool":"{tool}","args":{{"query":"alpha beta"}}}}"#);
        for item in found_by(&tools, &json).await {
            assert_eq!(item.tool.as_str(), tool);
            assert!(item.id.0.is_empty() && !item.low);
            assert!((0.0..=1.0).contains(&item.score.value()));
        }
    }
}

#[test]
fn r12_every_tool_is_described_with_arguments_that_parse() {
    for (tool, descriptor) in ToolName::ALL.into_iter().zip(&TOOLS) {
        assert_eq!(descriptor.name, tool);
        let (word, example) = (descriptor.word, descriptor.example);
        let json = format!(r#"{{"tool":"{word}","args":{example}}}"#);
        let call: ToolCall = serde_json::from_str(&json).unwrap();
        assert_eq!(call.tool(), tool);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn read_file_refuses_a_pipe_instead_of_waiting() {
    let bench = Bench::new(&[("a.md", "alpha\n")]);
    crate::workplace::pipe(&bench.docs.path().join("pipe.md"));
    let tools = toolbox(&bench);
    for json in [
        r#"{"tool":"read_file","args":{"path":"pipe.md"}}"#,
        r#"{"tool":"grep_search","args":{"query":"alpha"}}"#,
        r#"{"tool":"local_file_qa","args":{"query":"alpha","path":"pipe.md"}}"#,
    ] {
        match run(&tools, json).await {
            Ok(found) => assert!(found.iter().all(|item| item.source == "a.md"), "{json}"),
            Err(error) => assert!(error.to_string().contains("not a regular file"), "{error}"),
        }
    }
}

#[tokio::test]
async fn r12_a_heading_that_is_what_is_asked_comes_first() {
    let vault = "A vault holds vaults of vaults: vault, vault, vault.\n\n".repeat(4);
    let bench = Bench::new(&table![
        "a.md", &format!("# Storage\n\n{vault}");
        "b.md", &format!("# Backups of a vault\n\n{vault}");
        "glossary.md", "# Glossary\n\n## Key\n\nOpens it.\n\n## Vault\n\nWhere secrets are kept.\n";
        "plan.md", "---\ntitle: Plan\naliases: [Roadmap]\n---\nFirst the door.\n";
    ]);
    let tools = toolbox(&bench);
    for (query, place) in [
        ("What is a vault?", "glossary.md:7-9"),
        ("what is the roadmap", "plan.md:5-5"),
    ] {
        let call = format!(r#"{{"tool":"hybrid_search","args":{{"semantic_query":"{query}"}}}}"#);
        let found = found_by(&tools, &call).await;
        assert_eq!(places(&found)[0], place, "{query}");
    }
    let found = grepped(&tools, "secrets").await;
    assert_eq!(found[0].topic.title, "Glossary");
    assert_eq!(found[0].topic.headings, ["Glossary"]);
}

#[tokio::test]
async fn r12_hits_of_one_section_are_one_passage_of_whole_blocks() {
    let items = "- an item about kilns\n\n".repeat(5);
    let other = "Glazes have nothing to do with it.\n\n".repeat(60);
    let text = format!(
        "# Pots\n\n## Kilns\n\nKilns are of these kinds:\n\n{items}```sh\nfire kiln\n```\n\n## Glazes\n\n{other}"
    );
    let bench = Bench::new(&[("pots.md", &text)]);
    let tools = toolbox(&bench);
    let found = grepped(&tools, "kinds").await;
    assert_eq!(places(&found), ["pots.md:3-19"]);
    assert!(found[0].text.ends_with("```"), "{}", found[0].text);
    assert_eq!(found[0].topic.headings, ["Pots"]);
}

#[tokio::test]
async fn r12_read_file_knows_names_with_spaces() {
    let bench = Bench::new(&[
        ("Heron status.md", "# Heron\n\n## Risks\n\nRain.\n"),
        ("b.md", "# B\n"),
    ]);
    let tools = toolbox(&bench);
    for path in [
        "Heron status.md",
        "risks in Heron status.md",
        "status.md",
        "heron status.md",
    ] {
        let call = format!(r#"{{"tool":"read_file","args":{{"path":"{path}"}}}}"#);
        let found = found_by(&tools, &call).await;
        assert_eq!(places(&found), ["Heron status.md:1-5"], "{path}");
    }
    let call = r#"{"tool":"read_file","args":{"path":"missing.md"}}"#;
    assert!(run(&tools, call).await.is_err());
}
