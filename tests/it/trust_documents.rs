//! Documents that would end the program, take all memory or never end: each costs a process of its
//! own and nothing else.

#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::Value;

use crate::samples;
use crate::workplace::{Workplace, signal, text};

/// A workbook whose shared strings claim to be more than any memory holds.
fn lying_workbook() -> Vec<u8> {
    const RELATIONS: &str = "http://schemas.openxmlformats.org/package/2006/relationships";
    const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    const SHEET: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    let relations = |all: &[(&str, &str)]| {
        let mut xml = format!("<Relationships xmlns=\"{RELATIONS}\">");
        for (at, (kind, target)) in all.iter().enumerate() {
            xml += &format!(
                "<Relationship Id=\"r{at}\" Type=\"{OFFICE}/{kind}\" Target=\"{target}\"/>"
            );
        }
        xml + "</Relationships>"
    };
    samples::archive(&table![
        "_rels/.rels", &relations(&[("officeDocument", "xl/workbook.xml")]);
        "xl/workbook.xml",
            &format!("<workbook xmlns=\"{SHEET}\" xmlns:r=\"{OFFICE}\"><sheets><sheet name=\"S\" sheetId=\"1\" r:id=\"r0\"/></sheets></workbook>");
        "xl/_rels/workbook.xml.rels",
            &relations(&[("worksheet", "worksheets/sheet1.xml"), ("sharedStrings", "sharedStrings.xml")]);
        "xl/worksheets/sheet1.xml",
            &format!("<worksheet xmlns=\"{SHEET}\"><sheetData><row r=\"1\"><c r=\"A1\" t=\"s\"><v>0</v></c></row></sheetData></worksheet>");
        "xl/sharedStrings.xml",
            &format!("<sst xmlns=\"{SHEET}\" count=\"1\" uniqueCount=\"4294967295\"><si><t>a</t></si></sst>");
    ])
}

/// A PDF whose table of contents has a column as wide as a disk.
fn lying_pdf() -> Vec<u8> {
    let mut pdf = b"%PDF-1.5\n1 0 obj\n<</Length 15/Type/XRef/Size 5/W[1 100000000000 1]\
        /Root 1 0 R>>\nstream\n"
        .to_vec();
    pdf.extend([1; 15]);
    pdf.extend(b"\nendstream\nendobj\nstartxref\n9\n%%EOF");
    pdf
}

/// A notebook of ten megabytes that takes a gigabyte: each of its cells is a map of one entry.
fn growing_notebook() -> String {
    let cells = "{\"\":0},".repeat(1_300_000);
    format!("{{\"cells\":[{cells}0]}}")
}

/// A PDF of a few kilobytes whose page is eight million operators, each keeping a state.
fn busy_pdf() -> Vec<u8> {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&b"q ".repeat(8_000_000)).unwrap();
    let packed = packed.finish().unwrap();
    let mut pdf = b"%PDF-1.5\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n\
        2 0 obj\n<</Type/Pages/Kids[3 0 R]/Count 1>>\nendobj\n\
        3 0 obj\n<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<<>>>>\nendobj\n"
        .to_vec();
    let begins = pdf.len();
    pdf.extend(
        format!(
            "4 0 obj\n<</Length {}/Filter/FlateDecode>>\nstream\n",
            packed.len()
        )
        .bytes(),
    );
    pdf.extend(packed);
    pdf.extend(b"\nendstream\nendobj\n");
    let table = pdf.len();
    let known = String::from_utf8_lossy(&pdf[..begins]).into_owned();
    let at = |object: &str| known.find(object).unwrap();
    pdf.extend(b"xref\n0 5\n0000000000 65535 f \n");
    for offset in [at("1 0 obj"), at("2 0 obj"), at("3 0 obj"), begins] {
        pdf.extend(format!("{offset:010} 00000 n \n").bytes());
    }
    pdf.extend(format!("trailer\n<</Size 5/Root 1 0 R>>\nstartxref\n{table}\n%%EOF").bytes());
    pdf
}

fn reasons(report: &[u8]) -> BTreeMap<String, String> {
    let report: Value = serde_json::from_slice(report).unwrap();
    let skipped = report["skipped"].as_array().unwrap().iter();
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    skipped
        .map(|skipped| (word(&skipped["path"]), word(&skipped["reason"])))
        .collect()
}

#[test]
fn trust_a_document_that_asks_for_all_memory_costs_itself() {
    let place = Workplace::holding([("kb/good.md", "# Good\n\nThe neighbour is found.\n")]);
    place.file("kb/slides.pptx", samples::pptx());
    place.file("kb/sst.xlsx", lying_workbook());
    place.file("kb/w.pdf", lying_pdf());
    place.file("kb/maps.ipynb", growing_notebook());
    let indexed = place.run_well(&["index", "--json", "--kb", "kb"]);
    let reasons = reasons(&indexed.stdout);
    assert_eq!(reasons.len(), 2, "{reasons:?}");
    // What a workbook or a PDF claims is not believed; what a notebook needs is not given.
    let reason = "takes more than 384 MB of memory to read";
    assert_eq!(reasons["maps.ipynb"], reason);
    assert!(reasons["w.pdf"].starts_with("damaged"), "{reasons:?}");
    for (query, source) in [
        ("neighbour", "good.md"),
        ("submarine in autumn", "slides.pptx"),
    ] {
        for tool in ["hybrid", "grep"] {
            let found = place.run_well(&["search", "--tool", tool, "--kb", "kb", query]);
            assert!(text(&found.stdout).contains(source), "{tool}: {query}");
        }
    }
}

/// The processes that this one has started.
fn children(parent: u32) -> Vec<u32> {
    let of_parent = |process: &u32| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let parent_of = stat.rsplit(')').next()?.split_whitespace().nth(1)?;
        (parent_of == parent.to_string()).then_some(())
    };
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|process| of_parent(process).is_some())
        .collect()
}

/// Whether it is there, and has not merely not been waited for.
fn is_at_work(process: u32) -> bool {
    fs::read_to_string(format!("/proc/{process}/stat")).is_ok_and(|stat| {
        let state = stat
            .rsplit(") ")
            .next()
            .and_then(|rest| rest.chars().next());
        state.is_some_and(|state| state != 'Z')
    })
}

fn until(what: &str, limit: Duration, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + limit;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

/// `index` while it is at work on a document that takes long, and the process that reads it.
fn at_work(place: &Workplace) -> (Child, u32) {
    place.file("kb/busy.pdf", busy_pdf());
    let mut index = place
        .command(&["index", "--kb", "kb"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut reader = None;
    until("no process reads it", Duration::from_secs(30), || {
        assert!(index.try_wait().unwrap().is_none(), "index has ended");
        reader = children(index.id()).first().copied();
        // It has begun: the document is in its memory.
        let status = reader.and_then(|reader| {
            let read = fs::read_to_string(format!("/proc/{reader}/io")).ok()?;
            let bytes = read.lines().find_map(|line| line.strip_prefix("rchar: "))?;
            bytes.parse::<u64>().ok()
        });
        status.is_some_and(|read| read > 15_000)
    });
    (index, reader.unwrap())
}

/// A busy machine takes its time; what does not end at all takes longer.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn ends_what_reads_a_document_when_the_program_is_interrupted_or_killed() {
    for name in ["INT", "KILL"] {
        let place = Workplace::empty();
        let (mut index, reader) = at_work(&place);
        signal(name, index.id());
        until(name, PATIENCE, || index.try_wait().unwrap().is_some());
        until("it reads on", PATIENCE, || !is_at_work(reader));
        // What was interrupted is no fault of the document's.
        let texts = place.data().join("index");
        let kept = walk(&texts)
            .into_iter()
            .filter(|path| path.contains("/texts"));
        assert_eq!(kept.count(), 0);
    }
}

fn walk(folder: &std::path::Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| {
            if path.is_dir() {
                walk(&path)
            } else {
                vec![path.to_string_lossy().into_owned()]
            }
        })
        .collect()
}

#[test]
fn trust_what_reads_documents_knows_no_secret_and_is_no_command() {
    let place = Workplace::empty();
    place.file("kb/busy.pdf", busy_pdf());
    let mut index = place
        .command(&["index", "--kb", "kb"])
        .env("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut reader = None;
    until("no process reads it", Duration::from_secs(30), || {
        reader = children(index.id()).first().copied();
        let line =
            reader.map(|reader| fs::read(format!("/proc/{reader}/cmdline")).unwrap_or_default());
        // Before that it is a copy of its parent.
        line.is_some_and(|line| text(&line).contains("--read-documents"))
    });
    let environment = fs::read(format!("/proc/{}/environ", reader.unwrap())).unwrap();
    assert!(environment.is_empty(), "{}", text(&environment));
    index.kill().unwrap();
    index.wait().unwrap();
    // Called by hand, it says nothing and waits for nothing.
    let by_hand = place.run(&["--read-documents"]);
    assert_eq!(by_hand.status.code(), Some(2));
    let by_hand = place.run(&["--read-documents", "134217728"]);
    assert!(by_hand.status.success());
    assert!(by_hand.stdout.is_empty() && by_hand.stderr.is_empty());
}
