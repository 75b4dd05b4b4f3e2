//! Documents that are not what they should be: listed with their reason, without harm to the rest.

use std::collections::BTreeMap;
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use kb_agent::kb::{SearchMode, UpdateReport};
use serde_json::{Value, json};

use super::reported::file;
use super::{documents, read};
use crate::kb::{Bench, update};
use crate::samples::{self, Main};
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
    for [name, ..] in documents() {
        let bytes = super::bytes(name);
        let extension = name.rsplit('.').next().unwrap();
        if matches!(extension, "txt" | "md" | "rst" | "1" | "org" | "json")
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
        // Of half a PDF, the pages that are there are read.
        if !matches!(extension, "csv" | "html" | "eml" | "pdf") {
            bench.write(&format!("half.{extension}"), &bytes[..bytes.len() / 2]);
            expected.push((format!("half.{extension}"), "damaged"));
        }
    }
    for (name, bytes, reason) in table![
        "locked.docx", samples::locked(samples::docx()), "password";
        "bomb.docx", samples::bomb(Main::Document, "word/document.xml", 24), "unpacks to too much";
        "bomb.xlsx", samples::bomb(Main::Workbook, "xl/workbook.xml", 24), "unpacks to too much";
        "files.zip", samples::archive(&[("../../etc/passwd", "root")]), "an archive: unpack it";
        "old.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 then nothing".to_vec(), "damaged";
        "scan.pdf", samples::pdf("", &["", ""]), "its pages are empty or drawings";
        "locked.pdf", locked_pdf(), "password";
        "not.eml", b"just some words\n".to_vec(), "not a mail";
        "not.ipynb", b"[1, 2]".to_vec(), "damaged";
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
fn half_a_pdf_is_read_and_said_to_be_half() {
    let whole = samples::pdf("Yearly", &["Annual report", "The zeppelin", "The end"]);
    let read = file("half.pdf", &whole[..whole.len() / 2]).extraction;
    assert!(read.text.contains("Annual report"), "{}", read.text);
    assert!(!read.missing.is_empty());
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
    assert_eq!(
        read(&base, &bench, "circle.pdf"),
        "before the circle\nbefore the circle\n"
    );
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

/// Files whose readers are new, made so that a careless reader would not end, overflow its stack
/// or fill the memory.
fn hostile() -> Vec<(&'static str, Vec<u8>)> {
    let nested = |open: &str, close: &str, count: usize| {
        [open.repeat(count), "core".to_owned(), close.repeat(count)].concat()
    };
    let boundary = |depth: usize| {
        let mut mail = "From: a@b\r\nSubject: deep\r\n".to_owned();
        for at in 0..depth {
            mail += &format!("Content-Type: multipart/mixed; boundary=b{at}\r\n\r\n--b{at}\r\n");
        }
        mail + "Content-Type: text/plain\r\n\r\ncore\r\n"
    };
    let compound = |rest: &[u8]| [&b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"[..], rest].concat();
    let mut header = compound(&[0; 504]);
    header[26..34].copy_from_slice(&[3, 0, 0xfe, 0xff, 9, 0, 6, 0]);
    // As many sectors of tables as can be said.
    header[44..48].copy_from_slice(&[0xff; 4]);
    header[72..76].copy_from_slice(&[0xff; 4]);
    vec![
        ("groups.rtf", nested("{\\rtf1 ", "}", 300_000).into_bytes()),
        (
            "open.rtf",
            format!("{{\\rtf1 {}", "{".repeat(1_000_000)).into_bytes(),
        ),
        ("long.rtf", b"{\\rtf1\\bin2147483647 words}".to_vec()),
        (
            "number.rtf",
            format!("{{\\rtf1\\fs{} w}}", "9".repeat(100_000)).into_bytes(),
        ),
        (
            "words.rtf",
            format!("{{\\rtf1 {}}}", "\\b".repeat(700_000)).into_bytes(),
        ),
        ("starts.mbox", "From a\n".repeat(500_000).into_bytes()),
        (
            "heads.mbox",
            format!("From a\nFrom: a\nSubject: {}\n\nx\n", "s".repeat(3_000_000)).into_bytes(),
        ),
        ("deep.eml", boundary(20_000).into_bytes()),
        ("deep.mht", boundary(20_000).into_bytes()),
        ("begin.ics", "BEGIN:VEVENT\n".repeat(500_000).into_bytes()),
        (
            "folded.ics",
            format!(
                "BEGIN:VEVENT\nSUMMARY:x\n{}END:VEVENT\n",
                " y\n".repeat(1_000_000)
            )
            .into_bytes(),
        ),
        (
            "quotes.vcf",
            format!("BEGIN:VCARD\nFN;{}:x\nEND:VCARD\n", "\"".repeat(2_000_000)).into_bytes(),
        ),
        (
            "tags.srt",
            format!(
                "1\n00:00:01,000 --> 00:00:02,000\n{}\n",
                "<".repeat(3_000_000)
            )
            .into_bytes(),
        ),
        (
            "links.org",
            format!("* A\n{}\n", "[[id:".repeat(600_000)).into_bytes(),
        ),
        ("tables.doc", header.clone()),
        ("tables.ppt", header.clone()),
        ("tables.msg", header),
        ("noise.msg", compound(&b"\x01\xff\x00\x02".repeat(50_000))),
    ]
}

#[test]
fn files_of_the_newer_formats_that_are_made_to_harm_are_read_or_listed() {
    let place = Workplace::holding([("kb/good.md", "# Good\n\nThe neighbour is found.\n")]);
    for (name, bytes) in hostile() {
        place.file(&format!("kb/{name}"), bytes);
    }
    let begun = Instant::now();
    let (report, peak) = indexed(&place);
    assert!(peak < 400, "{peak} MB");
    assert!(
        begun.elapsed() < Duration::from_mins(2),
        "{:?}",
        begun.elapsed()
    );
    let listed = report["skipped"].as_array().unwrap();
    for skipped in listed {
        let reason = skipped["reason"].as_str().unwrap();
        assert!(!reason.contains("broke off"), "{skipped}");
    }
    let read = report["documents"].as_u64().unwrap();
    assert_eq!(
        read + listed.len() as u64,
        1 + hostile().len() as u64,
        "{report}"
    );
}

/// What `index` says about the folder `kb`, and the most memory that it had, in megabytes.
fn indexed(place: &Workplace) -> (Value, u64) {
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
    (
        serde_json::from_slice(&fs::read(&output).unwrap()).unwrap(),
        peak,
    )
}

#[test]
fn the_command_lists_what_it_leaves_out_and_stays_small() {
    let place = Workplace::holding([("kb/good.md", "# Good\n\nThe neighbour is found.\n")]);
    place.file("kb/slides.pptx", samples::pptx());
    place.file(
        "kb/bomb.docx",
        samples::bomb(Main::Document, "word/document.xml", 64),
    );
    place.file(
        "kb/app.min.js",
        "function a(b){return b+1};".repeat(200_000),
    );
    place.file(
        "kb/huge.log",
        "2024-03-05 10:00:00 INFO nothing happened\n".repeat(300_000),
    );
    let (report, peak) = indexed(&place);
    assert!(peak < 400, "{peak} MB");
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
