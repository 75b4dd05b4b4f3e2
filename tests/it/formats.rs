//! Documents of every format: what is found in them is cited as people look it up.

mod damaged;
mod kinds;
mod reported;

use std::fs;

use kb_agent::kb::{KnowledgeBase, LinkTarget, SearchMode};
use serde_json::json;

use crate::kb::{Bench, update};
use crate::samples;

/// Documents of the formats: name; words that only it has; where these are; its title.
const DOCUMENTS: [&str; 19] = [
    "a.docx; bicycle form; § Commuting; Staff handbook",
    "b.pptx; submarine autumn; Roadmap slide 2; Welcome",
    "notes.pptx; mention lighthouse; Thanks slide 3; Welcome",
    "c.xlsx; Periscope; Costs rows 1-5; c",
    "d.ods; Anemometer; Stock rows 1-7; d",
    "e.odt; rhubarb dawn; § Watering; Garden",
    "f.epub; waterspout; § The storm; The voyage",
    "g.pdf; zeppelin budget; pp. 1-3; Yearly",
    "h.ipynb; seismograph magnitude; cell 2; Analysis",
    "i.html; pyrometer; § Cooling; Kiln manual",
    // Its name lies; its bytes do not.
    "q.docx; dirigible; pp. 1-2; Other",
    "j.csv; theodolite; rows 1-3; j",
    "k.eml; combine unload; ; The harvester",
    "l.json; chronometer; ; l",
    "m.rst; sextant; ; Top",
    "r.1; capstan verbose; ; box-pack(1)",
    "n.org; astrolabe; ; Plan",
    "o.txt; Mikroskop Keller; ; o",
    "p.md; gyroscope; ; Named",
];

/// The fields of each of them.
fn documents() -> [[&'static str; 4]; 19] {
    DOCUMENTS.map(|line| line.split("; ").collect::<Vec<_>>().try_into().unwrap())
}

fn bytes(name: &str) -> Vec<u8> {
    let pages = [
        "Annual report\nabout effec-\ntive work",
        "The zeppelin exceeded its budget",
        "End",
    ];
    let utf_16 = "\u{feff}Das Mikroskop steht im Keller.".encode_utf16();
    match name {
        "a.docx" => samples::docx(),
        "b.pptx" | "notes.pptx" => samples::pptx(),
        "c.xlsx" => samples::xlsx(),
        "d.ods" => samples::ods(),
        "e.odt" => samples::odt(),
        "f.epub" => samples::epub(),
        "g.pdf" => samples::pdf("Yearly", &pages),
        "h.ipynb" => samples::NOTEBOOK.into(),
        "i.html" => samples::PAGE.into(),
        "q.docx" => samples::pdf("Other", &["one", "A dirigible"]),
        "j.csv" => samples::RECORDS.into(),
        "k.eml" => mail(),
        "l.json" => packed_json(),
        "m.rst" => b"Top\n===\n\nSub\n---\n\nThe sextant.\n".to_vec(),
        "r.1" => PAGE_OF_MANUAL.into(),
        "n.org" => b"#+TITLE: Plan\n* One\nThe astrolabe.\n".to_vec(),
        "o.txt" => utf_16.flat_map(u16::to_le_bytes).collect(),
        "p.md" => b"---\ntitle: Named\n---\n# Head\n\nThe gyroscope.\n".to_vec(),
        _ => panic!("{name}"),
    }
}

/// Its name is in capitals in its head only, and no word stands without a mark beside it.
const PAGE_OF_MANUAL: &str = ".nh\n.TH \"BOX PACK\" \"1\" \"Jan 2017\"\n\n.SH NAME\nbox-pack \\- pack with the \\fBcapstan\\fP\n\n.SH OPTIONS\n.TP\n\\fB\\-\\-verbose\\fP[=false]\nSay more\\&.\n";

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
    for [name, ..] in documents() {
        bench.write(name, bytes(name));
    }
    bench
}

#[test]
fn every_format_is_found_and_cited_as_it_is_looked_up() {
    let bench = all();
    let base = bench.open();
    let report = update(&base);
    assert_eq!(report.skipped, []);
    for [name, query, place, title] in documents() {
        let hits = base.search(SearchMode::Hybrid, query, 3).unwrap();
        let hit = hits.iter().find(|hit| hit.source == name);
        let hit = hit.unwrap_or_else(|| panic!("{name}: {hits:?}"));
        let shown = hit.place.as_ref().map(ToString::to_string);
        assert_eq!(shown.unwrap_or_default(), place, "{name}");
        let mut documents = crate::support::documents(&base).into_iter();
        let document = documents.find(|document| document.source == name);
        assert_eq!(document.unwrap().title, title, "{name}");
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
    for (name, said) in table![
        "a.docx",
            "# Handbook\n\nWords before the sections.\n\n## Commuting\n\n1. Ask your lead\n2. Fill in the bicycle form\n\n| Vehicle | Allowance |\n| --- | --- |\n| Tricycle | 70 \\| month |\n\nSee [the policy](policy.md)\n";
        "b.pptx",
            "## Welcome\n\nFirst words\n\n## Roadmap\n\nThe submarine ships in autumn\n\n## Thanks\n\nLast words\n\n> **Notes:**\n> Mention the lighthouse.\n";
        "c.xlsx",
            "Name; Role\nName: Ada; Role: Lead\nBudget of the year\nProject; Owner; Amount\nProject: Atlas; Owner: Bo; Amount: 1200\nProject: Periscope; Owner: Cy; Amount: 340.5\n";
        "e.odt",
            "# Garden\n\nAll about plants.\n\n## Watering\n\n- Water the  rhubarb at dawn\n\n[the tools](tools.md)\n";
        "f.epub",
            "The voyage\n\n# Departure\n\nThey set sail.\n\n# The storm\n\nThey met a waterspout.\n";
        "g.pdf", "Annual report about effective work\nThe zeppelin exceeded its budget\nEnd\n";
        "h.ipynb",
            "# Analysis\n\nWe load data.\n\n```python\nimport seismograph\nprint(1)\n```\n\n```text\nmagnitude 7\n```\n";
        "i.html",
            "Kiln manual\n\n# Firing\n\nHeat slowly.\n\n## Cooling\n\nWait for the pyrometer. See [glazes](glaze.md).\n";
        "j.csv",
            "Name; Town; Note\nName: Ada; Town: Oslo; Note: two lines\nName: Bo; Town: Bergen; Note: Has a theodolite\n";
        "k.eml",
            "Subject: The harvester\nFrom: Zoë <zoe@example.org>\nTo: team@example.org\nDate: 2024-03-05T10:00:00Z\n\nIt arrives **Café** on Friday.\n\nAttachment: plan.txt\n\nUnload the combine first.\n";
        "m.rst", "# Top\n\n\n## Sub\n\n\nThe sextant.\n";
        "r.1",
            "\n# box-pack(1)\n\n## NAME\nbox-pack - pack with the capstan\n\n## OPTIONS\n\n- `--verbose[=false]`\n  Say more.\n";
    ] {
        assert_eq!(read(&base, &bench, name), said, "{name}");
    }
    let sheet = read(&base, &bench, "d.ods");
    // What repeats without end is bounded.
    assert!(sheet.len() < 1000, "{}", sheet.len());
}

#[test]
fn a_search_of_files_finds_what_pages_say_without_their_marks() {
    let bench = all();
    let base = bench.indexed();
    for (query, name, said) in [
        ("capstan", "r.1", "pack with the capstan"),
        ("sextant", "m.rst", "## Sub"),
    ] {
        let hits = base.search(SearchMode::Grep, query, 3).unwrap();
        assert_eq!(hits[0].source, name);
        assert!(hits[0].text.contains(said), "{}", hits[0].text);
    }
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
        let target = LinkTarget::Path(target.to_owned());
        let (_, links) = &base.links_of(&[name]).unwrap()[0];
        assert!(links.iter().any(|link| link.target == target), "{name}");
    }
}

#[test]
fn what_was_taken_apart_once_is_kept_and_what_is_kept_is_checked() {
    let bench = Bench::new(&[]);
    bench.write("a.docx", samples::docx());
    let base = bench.indexed();
    let texts = |bench: &Bench| -> Vec<std::path::PathBuf> {
        let below = |folder: std::path::PathBuf| {
            let entries = fs::read_dir(folder).unwrap().flatten();
            entries.map(|entry| entry.path())
        };
        let index = below(bench.home.path().to_owned()).next().unwrap();
        let of_texts = |path: &std::path::PathBuf| path.to_string_lossy().contains("/texts-");
        below(index).filter(of_texts).flat_map(below).collect()
    };
    let kept = texts(&bench);
    assert_eq!(kept.len(), 1);
    let said = read(&base, &bench, "a.docx");
    fs::write(&kept[0], "torn").unwrap();
    let again = read(&base, &bench, "a.docx");
    assert_eq!(again, said, "read from the document again");
    fs::remove_file(bench.docs.path().join("a.docx")).unwrap();
    update(&base);
    assert!(texts(&bench).is_empty(), "nobody needs it any more");
}
