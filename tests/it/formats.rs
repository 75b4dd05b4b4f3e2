//! Documents of every format: what is found in them is cited as people look it up, and what
//! cannot be read is listed with its reason and harms nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::process::Stdio;
use std::time::Duration;

use kb_agent::kb::{KnowledgeBase, LinkTarget, SearchMode, UpdateReport};
use serde_json::{Value, json};

use crate::kb::{Bench, update};
use crate::samples;
use crate::workplace::{Workplace, json_lines, text};

/// A document of one format; words that only it has; where these are; its title.
type Sample = (
    &'static str,
    Vec<u8>,
    &'static str,
    &'static str,
    &'static str,
);

fn documents() -> Vec<Sample> {
    [office(), pages(), lines()].concat()
}

fn office() -> Vec<Sample> {
    vec![
        (
            "a.docx",
            samples::docx(),
            "bicycle form",
            "§ Commuting",
            "Staff handbook",
        ),
        (
            "b.pptx",
            samples::pptx(),
            "submarine autumn",
            "Roadmap slide 2",
            "Welcome",
        ),
        (
            "notes.pptx",
            samples::pptx(),
            "mention lighthouse",
            "Thanks slide 3",
            "Welcome",
        ),
        (
            "c.xlsx",
            samples::xlsx(),
            "Periscope",
            "Costs rows 1-5",
            "c",
        ),
        ("d.ods", samples::ods(), "Anemometer", "Stock rows 1-7", "d"),
        (
            "e.odt",
            samples::odt(),
            "rhubarb dawn",
            "§ Watering",
            "Garden",
        ),
        (
            "f.epub",
            samples::epub(),
            "waterspout",
            "§ The storm",
            "The voyage",
        ),
    ]
}

fn pages() -> Vec<Sample> {
    let pages = [
        "Annual report\nabout effec-\ntive work",
        "The zeppelin exceeded its budget",
        "End",
    ];
    vec![
        (
            "g.pdf",
            samples::pdf("Yearly", &pages),
            "zeppelin budget",
            "pp. 1-3",
            "Yearly",
        ),
        (
            "h.ipynb",
            samples::NOTEBOOK.into(),
            "seismograph magnitude",
            "cell 2",
            "Analysis",
        ),
        (
            "i.html",
            samples::PAGE.into(),
            "pyrometer",
            "§ Cooling",
            "Kiln manual",
        ),
        // Its name lies; its bytes do not.
        (
            "q.docx",
            samples::pdf("Other", &["one", "A dirigible"]),
            "dirigible",
            "pp. 1-2",
            "Other",
        ),
    ]
}

fn lines() -> Vec<Sample> {
    let utf_16: Vec<u8> = "\u{feff}Das Mikroskop steht im Keller."
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    vec![
        (
            "j.csv",
            samples::RECORDS.into(),
            "theodolite",
            "rows 1-3",
            "j",
        ),
        ("k.eml", mail(), "combine unload", "", "The harvester"),
        ("l.json", packed_json(), "chronometer", "", "l"),
        (
            "m.rst",
            b"Top\n===\n\nSub\n---\n\nThe sextant.\n".to_vec(),
            "sextant",
            "",
            "Top",
        ),
        (
            "n.org",
            b"#+TITLE: Plan\n* One\nThe astrolabe.\n".to_vec(),
            "astrolabe",
            "",
            "Plan",
        ),
        ("o.txt", utf_16, "Mikroskop Keller", "", "o"),
        (
            "p.md",
            b"---\ntitle: Named\n---\n# Head\n\nThe gyroscope.\n".to_vec(),
            "gyroscope",
            "",
            "Named",
        ),
    ]
}

fn mail() -> Vec<u8> {
    // Its text is Latin-1.
    samples::MAIL.chars().map(|c| c as u8).collect()
}

fn packed_json() -> Vec<u8> {
    let filler: Vec<u32> = (0..500).collect();
    serde_json::to_vec(&json!({"filler": filler, "item": {"name": "chronometer"}})).unwrap()
}

fn all() -> Bench {
    let bench = Bench::new(&[]);
    for (name, bytes, ..) in documents() {
        bench.write(name, bytes);
    }
    bench
}

#[test]
fn every_format_is_found_and_cited_as_it_is_looked_up() {
    let bench = all();
    let base = bench.open();
    let report = update(&base);
    assert_eq!(report.skipped, []);
    for (name, _, query, place, title) in documents() {
        let hits = base.search(SearchMode::Hybrid, query, 3).unwrap();
        let hit = hits
            .iter()
            .find(|hit| hit.source == name)
            .unwrap_or_else(|| panic!("{name}: {hits:?}"));
        let shown = hit
            .place
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default();
        assert_eq!(shown, place, "{name}");
        let documents = base.documents().unwrap();
        let document = documents
            .iter()
            .find(|document| document.source == name)
            .unwrap();
        assert_eq!(document.title, title, "{name}");
    }
}

fn read(base: &KnowledgeBase, bench: &Bench, name: &str) -> String {
    let path = fs::canonicalize(bench.docs.path().join(name)).unwrap();
    base.read(&path).unwrap().text
}

#[test]
fn what_a_document_says_is_what_is_read() {
    let bench = all();
    let base = bench.indexed();
    for (name, said) in [
        (
            "a.docx",
            "# Handbook\n\nWords before the sections.\n\n## Commuting\n\n1. Ask your lead\n2. Fill in the bicycle form\n\n| Vehicle | Allowance |\n| --- | --- |\n| Tricycle | 70 \\| month |\n\nSee [the policy](policy.md)\n",
        ),
        (
            "b.pptx",
            "# Welcome\n\n- First words\n\n# Roadmap\n\n- The submarine ships in autumn\n\n# Thanks\n\n- Last words\n\nNotes: Mention the lighthouse.\n",
        ),
        (
            "c.xlsx",
            "Name; Role\nName: Ada; Role: Lead\nBudget of the year\nProject; Owner; Amount\nProject: Atlas; Owner: Bo; Amount: 1200\nProject: Periscope; Owner: Cy; Amount: 340.5\n",
        ),
        (
            "e.odt",
            "# Garden\n\nAll about plants.\n\n## Watering\n\n- Water the  rhubarb at dawn\n\n[the tools](tools.md)\n",
        ),
        (
            "f.epub",
            "# Departure\n\nThey set sail.\n\n# The storm\n\nThey met a waterspout.\n",
        ),
        (
            "g.pdf",
            "Annual report\nabout effective\nwork\nThe zeppelin exceeded its budget\nEnd\n",
        ),
        (
            "h.ipynb",
            "# Analysis\n\nWe load data.\n\n```python\nimport seismograph\nprint(1)\n```\n\n```text\nmagnitude 7\n```\n",
        ),
        (
            "i.html",
            "# Firing\n\nHeat slowly.\n\n## Cooling\n\nWait for the pyrometer. See [glazes](glaze.md).\n",
        ),
        (
            "j.csv",
            "Name; Town; Note\nName: Ada; Town: Oslo; Note: two lines\nName: Bo; Town: Bergen; Note: Has a theodolite\n",
        ),
        (
            "k.eml",
            "Subject: The harvester\nFrom: Zoë <zoe@example.org>\nTo: team@example.org\nDate: 2024-03-05T10:00:00Z\n\nIt arrives **Café** on Friday.\n\nAttachment: plan.txt\n\nUnload the combine first.\n",
        ),
    ] {
        assert_eq!(read(&base, &bench, name), said, "{name}");
    }
    let sheet = read(&base, &bench, "d.ods");
    assert!(
        sheet.len() < 1000,
        "what repeats without end is bounded: {}",
        sheet.len()
    );
}

#[test]
fn links_in_documents_lead_on() {
    let bench = all();
    let base = bench.indexed();
    for (name, target) in [
        ("a.docx", "policy.md"),
        ("e.odt", "tools.md"),
        ("i.html", "glaze.md"),
    ] {
        let documents = base.documents().unwrap();
        let document = documents
            .iter()
            .find(|document| document.source == name)
            .unwrap();
        let target = LinkTarget::Path(target.to_owned());
        assert!(
            document.links().iter().any(|link| link.target == target),
            "{name}"
        );
    }
}

#[test]
fn what_was_taken_apart_once_is_kept_and_what_is_kept_is_checked() {
    let bench = Bench::new(&[]);
    bench.write("a.docx", samples::docx());
    let base = bench.indexed();
    let texts = |bench: &Bench| -> Vec<std::path::PathBuf> {
        let index = fs::read_dir(bench.home.path())
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path();
        fs::read_dir(index.join("texts"))
            .into_iter()
            .flat_map(|entries| entries.flatten().map(|entry| entry.path()))
            .collect()
    };
    let kept = texts(&bench);
    assert_eq!(kept.len(), 1);
    let said = read(&base, &bench, "a.docx");
    fs::write(&kept[0], "torn").unwrap();
    assert_eq!(
        read(&base, &bench, "a.docx"),
        said,
        "read from the document again"
    );
    fs::remove_file(bench.docs.path().join("a.docx")).unwrap();
    update(&base);
    assert_eq!(
        texts(&bench),
        [] as [std::path::PathBuf; 0],
        "nobody needs it any more"
    );
}

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
