//! Documents that are not what they should be: listed with their reason, without harm to the rest.

use std::collections::BTreeMap;
use std::fs;
use std::process::Stdio;
use std::time::Duration;

use kb_agent::kb::{SearchMode, UpdateReport};
use serde_json::{Value, json};

use super::{documents, read};
use crate::kb::{Bench, update};
use crate::samples;
use crate::workplace::{Workplace, json_lines, text};

fn reasons(report: &UpdateReport) -> BTreeMap<String, String> {
    report
        .skipped
        .iter()
        .map(|skipped| (skipped.path.clone(), skipped.reason.to_string()))
        .collect()
}

#[test]
fn documents_that_are_not_what_they_should_be_are_listed_and_harm_nothing() {
    let bench = Bench::new(&[("good.md", "# Good\n\nThe neighbour is found.\n")]);
    let mut state = 11_u32;
    let noise: Vec<u8> = (0..3000)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .collect();
    let mut expected: Vec<(String, &str)> = Vec::new();
    for (name, bytes, ..) in documents() {
        let extension = name.rsplit('.').next().unwrap();
        if matches!(extension, "txt" | "md" | "rst" | "org" | "json")
            || matches!(name, "q.docx" | "notes.pptx")
        {
            continue;
        }
        bench.write(&format!("empty.{extension}"), "");
        expected.push((
            format!("empty.{extension}"),
            "no text in it: the file is empty",
        ));
        bench.write(&format!("noise.{extension}"), &noise);
        let reason = if extension == "eml" {
            "not a mail"
        } else {
            "binary file"
        };
        expected.push((format!("noise.{extension}"), reason));
        if !matches!(extension, "csv" | "html" | "eml") {
            bench.write(&format!("half.{extension}"), &bytes[..bytes.len() / 2]);
            expected.push((format!("half.{extension}"), "damaged"));
        }
    }
    for (name, bytes, reason) in [
        ("locked.docx", samples::locked(samples::docx()), "password"),
        (
            "bomb.docx",
            samples::bomb("word/document.xml", 24),
            "unpacks to too much",
        ),
        (
            "bomb.xlsx",
            samples::bomb("xl/workbook.xml", 24),
            "unpacks to too much",
        ),
        (
            "files.zip",
            samples::archive(&[("../../etc/passwd", "root")]),
            "an archive: unpack it",
        ),
        (
            "old.doc",
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 then nothing".to_vec(),
            "damaged",
        ),
        (
            "letter.rtf",
            b"{\\rtf1 words}".to_vec(),
            "save it as DOCX or PDF",
        ),
        (
            "scan.pdf",
            samples::pdf("", &["", ""]),
            "its pages are pictures",
        ),
        ("locked.pdf", locked_pdf(), "password"),
        ("not.eml", b"just some words\n".to_vec(), "not a mail"),
        ("not.ipynb", b"[1, 2]".to_vec(), "damaged"),
    ] {
        bench.write(name, bytes);
        expected.push((name.to_owned(), reason));
    }
    let base = bench.open();
    let reasons = reasons(&update(&base));
    for (name, reason) in &expected {
        let given = reasons
            .get(name)
            .unwrap_or_else(|| panic!("{name} is not listed"));
        assert!(given.contains(reason), "{name}: {given}");
    }
    assert_eq!(reasons.len(), expected.len(), "{reasons:#?}");
    let hits = base.search(SearchMode::Hybrid, "neighbour", 3).unwrap();
    assert_eq!(hits[0].source, "good.md");
}

fn locked_pdf() -> Vec<u8> {
    let objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Count 0/Kids[]>>",
        "<</Filter/Standard/V 1/R 2/P -4/O<00>/U<00>>>",
    ];
    let objects: Vec<String> = objects.iter().map(|object| (*object).to_owned()).collect();
    samples::finished_pdf(&objects, "/Root 1 0 R/Encrypt 3 0 R/ID[<00><00>]")
}

#[test]
fn a_pdf_that_draws_itself_ends() {
    let content = "BT /F1 12 Tf 72 700 Td (before the circle) Tj ET /X Do";
    let form = "q /X Do Q";
    let objects: Vec<String> = [
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        "<</Type/Pages/Count 2/Kids[3 0 R 7 0 R]>>".to_owned(),
        "<</Type/Page/Parent 2 0 R/Resources<</Font<</F1 6 0 R>>/XObject<</X 5 0 R>>>>/Contents 4 0 R>>".to_owned(),
        format!("<</Length {}>>\nstream\n{content}\nendstream", content.len()),
        format!("<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 5 0 R>>>>/Length {}>>\nstream\n{form}\nendstream", form.len()),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_owned(),
        // Its own parent.
        "<</Type/Page/Parent 7 0 R/Contents 4 0 R>>".to_owned(),
    ]
    .into();
    let bench = Bench::new(&[]);
    bench.write("circle.pdf", samples::finished_pdf(&objects, "/Root 1 0 R"));
    let base = bench.indexed();
    assert_eq!(read(&base, &bench, "circle.pdf"), "before the circle\n");
}

#[test]
fn pages_that_would_break_a_browser_are_read() {
    let bench = Bench::new(&[]);
    let nested = "<div>".repeat(100_000) + "innermost word" + &"</div>".repeat(100_000);
    bench.write("nested.html", nested);
    bench.write(
        "deep.json",
        "[".repeat(20_000) + "\"bottom\"" + &"]".repeat(20_000),
    );
    bench.write("deep.ipynb", "[".repeat(100_000));
    let base = bench.open();
    let report = update(&base);
    assert_eq!(read(&base, &bench, "nested.html"), "innermost word\n");
    assert!(read(&base, &bench, "deep.json").contains("\"bottom\""));
    assert_eq!(report.skipped.len(), 1);
    assert!(
        report.skipped[0]
            .reason
            .to_string()
            .starts_with("damaged: it is not a notebook")
    );
}

#[test]
fn the_command_lists_what_it_leaves_out_and_stays_small() {
    let place = Workplace::empty();
    place.file("kb/good.md", "# Good\n\nThe neighbour is found.\n");
    place.file("kb/slides.pptx", samples::pptx());
    place.file("kb/bomb.docx", samples::bomb("word/document.xml", 64));
    place.file(
        "kb/app.min.js",
        "function a(b){return b+1};".repeat(200_000),
    );
    place.file(
        "kb/huge.log",
        "2024-03-05 10:00:00 INFO nothing happened\n".repeat(300_000),
    );
    let output = place.file("out.json", "");
    let mut child = place
        .command(&["index", "--json", "--kb", "kb"])
        .stdout(fs::File::create(&output).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut peak = 0;
    let status = loop {
        // Only looks how large it is; the wait for its end is what ends the loop.
        peak = peak.max(peak_megabytes(child.id()));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        std::thread::park_timeout(Duration::from_millis(5));
    };
    assert!(status.success());
    assert!(peak < 400, "{peak} MB");
    let report: Value = serde_json::from_slice(&fs::read(&output).unwrap()).unwrap();
    let skipped: BTreeMap<&str, &str> = report["skipped"]
        .as_array()
        .unwrap()
        .iter()
        .map(|skipped| {
            (
                skipped["path"].as_str().unwrap(),
                skipped["reason"].as_str().unwrap(),
            )
        })
        .collect();
    assert!(
        skipped["bomb.docx"].contains("unpacks to too much"),
        "{skipped:?}"
    );
    assert!(skipped["huge.log"].contains("too large"), "{skipped:?}");
    assert!(report["chunks"].as_u64().unwrap() < 20, "{report}");
    let found = place.run(&[
        "search",
        "--json",
        "-k",
        "1",
        "--kb",
        "kb",
        "submarine in autumn",
    ]);
    let hit = &json_lines(&found.stdout)[0];
    assert_eq!(hit["source"], "slides.pptx", "{}", text(&found.stdout));
    assert_eq!(
        hit["place"],
        json!({"unit": "slide", "name": "Roadmap", "start": 2, "end": 2})
    );
}

/// The most memory a process has had so far; 0 where the system does not tell.
fn peak_megabytes(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let kilobytes = status.lines().find_map(|line| {
        line.strip_prefix("VmHWM:")?
            .split_whitespace()
            .next()?
            .parse::<u64>()
            .ok()
    });
    kilobytes.unwrap_or(0) / 1024
}
