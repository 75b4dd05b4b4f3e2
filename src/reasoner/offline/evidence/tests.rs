use super::*;
use crate::domain::{EvidenceId, LineRange, Measured, Score, ToolName, Topic};

fn read(source: &str, text: &str) -> Passage {
    Passage::read(&Evidence {
        id: EvidenceId("e1".to_owned()),
        source: source.to_owned(),
        lines: LineRange {
            start: 1,
            end: text.lines().count().max(1),
        },
        place: None,
        tool: ToolName::HybridSearch,
        score: Score::ZERO,
        measured: Measured::default(),
        text: text.to_owned(),
        topic: Topic::default(),
        low: false,
    })
}

fn texts(source: &str, text: &str) -> Vec<String> {
    read(source, text)
        .units
        .into_iter()
        .map(|unit| unit.text)
        .collect()
}

#[test]
fn r23_a_passage_becomes_units() {
    let text = "# Rules\n\nThe [rules](a.md) come **first**. See e.g. [[rules]],\nversion 1.2 of `it`.\n\n\
                - one thing\n  and more\n- [x] two\n\n| name | default | note |\n|---|---|---|\n| A | 1 | x\\|y |\n| B | | |\n\n\
                ```\nlet a = 1;\n```\n## Next\n规则按顺序检查，\n第一条生效。完全没有证据时不检查规则。\n\nStatus: done\nType: story";
    let passage = read("a.md", text);
    assert_eq!(passage.title, "Rules");
    assert_eq!(
        texts("a.md", text),
        [
            "The rules come **first**.",
            "See e.g. rules, version 1.2 of `it`.",
            "one thing and more",
            "☑ two",
            "name: A; default: 1; note: x|y",
            "name: B",
            "```\nlet a = 1;\n```",
            "规则按顺序检查，第一条生效。",
            "完全没有证据时不检查规则。",
            "Status: done",
            "Type: story",
        ]
    );
    let row = passage.units[4].row.as_ref().unwrap();
    assert_eq!(row.0, ["name", "default", "note"]);
    assert_eq!(row.1, ["A", "1", "x|y"]);
    assert_eq!(passage.units[7].heading, "Next");
    let blocks: Vec<usize> = passage.units.iter().map(|unit| unit.block).collect();
    assert!(
        blocks.is_sorted() && blocks[0] == blocks[1] && blocks[1] < blocks[2],
        "{blocks:?}"
    );
}

#[test]
fn r23_a_row_of_dashes_in_a_table_is_a_row() {
    let text = "| key | does |\n|---|---|\n| a | opens |\n| - | - |\n| --- | --- |\n| b | shuts |";
    let rows = [
        "key: a; does: opens",
        "key: -; does: -",
        "key: ---; does: ---",
        "key: b; does: shuts",
    ];
    assert_eq!(texts("a.md", text), rows);
}

#[test]
fn r23_rows_whose_head_is_elsewhere_keep_their_cells() {
    let units = read("a.md", "| A | 1 |\n| B | |").units;
    assert_eq!(units[0].text, "A; 1");
    assert_eq!(units[1].text, "B");
    assert_eq!(
        units[0].row,
        Some((Vec::new(), vec!["A".to_owned(), "1".to_owned()]))
    );
    assert_eq!(texts("a.md", "|---|---|\n| A | 1 |"), ["A; 1"]);
}

#[test]
fn r23_code_keeps_its_lines_however_it_is_set() {
    let text = "# Use\n\nRun this:\n\n    export A=1\n    run --fast\n\nThen wait.\n\n\
                - an item\n\n  that goes on\n\nTitle\n-----\n    Words set in as a poem is,\n    that are no code.\n\n\
                ````md\n```\nx\n```\n````\n3. third\n4. fourth\n";
    assert_eq!(
        texts("a.md", text),
        [
            "Run this:",
            "```\nexport A=1\nrun --fast\n```",
            "Then wait.",
            "an item",
            "that goes on",
            "Words set in as a poem is, that are no code.",
            "````md\n```\nx\n```\n````",
            "third",
            "fourth",
        ]
    );
    assert_eq!(
        read("a.md", text).units.last().and_then(|unit| unit.number),
        Some(4)
    );
}

#[test]
fn r23_lists_of_other_marks_and_definitions_are_items() {
    let found = read("a.txt", "下列步骤：\n1、打开阀门\n2、等待\n• done");
    let items: Vec<_> = found
        .units
        .iter()
        .map(|unit| (unit.text.as_str(), unit.number))
        .collect();
    let expected = [
        ("下列步骤：", None),
        ("打开阀门", Some(1)),
        ("等待", Some(2)),
        ("done", None),
    ];
    assert_eq!(items, expected);
    assert_eq!(texts("a.md", "Otter\n: A pump.\n"), ["Otter: A pump."]);
}

#[test]
fn r23_a_source_file_is_quoted_in_pieces_that_belong_together() {
    let text =
        "import os\n\nLIMIT = 5\n\n\ndef a():\n    x = 1\n\n    return x\n\n\ndef b():\n    pass";
    assert_eq!(
        texts("src/a.py", text),
        [
            "```python\nimport os\n```",
            "```python\nLIMIT = 5\n```",
            "```python\ndef a():\n    x = 1\n\n    return x\n```",
            "```python\ndef b():\n    pass\n```",
        ]
    );
    let long = "fn a() {\n".to_owned() + &"    let x = 1;\n".repeat(500) + "}";
    assert!(texts("a.rs", &long).len() > 3);
}

#[test]
fn r23_sheets_and_records_are_rows() {
    let sheet = "item; shop; price\nitem: seeds; shop: Green; Mart; price: 12.50\nitem: hose; price: 39.90\n";
    let found = texts("a/Costs.CSV", sheet);
    assert_eq!(
        found,
        [
            "item: seeds; shop: Green; Mart; price: 12.50",
            "item: hose; price: 39.90"
        ]
    );
    let json = "{\n  \"owner\": \"Bo \\\"the\\\" Li\",\n  \"plants\": [\n    {\n      \"name\": \"fern\",\n      \
                \"light\": [\n        \"low\", \"mid\"\n      ],\n      \"ml\": 200\n    },\n    {\n      \
                \"name\": \"cactus\"\n    }\n  ],\n  \"pump\": {\n    \"watts\": 5\n  }\n}";
    let found = read("a/b.json", json).units;
    let told: Vec<_> = found
        .iter()
        .map(|unit| (unit.heading.as_str(), unit.text.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            ("", "owner: Bo \"the\" Li"),
            ("plants", "name: fern; light: low, mid; ml: 200"),
            ("plants", "name: cactus"),
            ("", "pump; watts: 5"),
        ]
    );
    let cut = "\"ml\": 200\n},\n{\n\"name\": \"cactus\",\n\"ml\": 20\n}\n]";
    assert_eq!(texts("b.jsonl", cut), ["ml: 200", "name: cactus", "ml: 20"]);
}

#[test]
fn r23_titles_come_from_the_text_or_else_the_name() {
    let long = "A line that is surely longer than sixty characters follows the title of it.";
    for (source, text, title) in [
        ("notes/v1.2.final.md", "Just text.", "v1.2.final"),
        ("a.md", "# Otter pump\n\nText.", "Otter pump"),
        ("a.md", "Text.\n\n# Later\n\nMore.", "a"),
        (
            "a.md",
            "---\ntitle: \"The pump\"\nowner: Bo\n---\n\nText.",
            "The pump",
        ),
        ("a.org", "#+TITLE: Pumps\n* TODO First\nText.", "Pumps"),
        ("README", "Text.", "README"),
        ("", &format!("Ed Wood (film)\n{long}"), "Ed Wood (film)"),
    ] {
        assert_eq!(read(source, text).title, title, "{text}");
    }
    assert_eq!(
        texts("a.md", "---\ntitle: x\nowner: Bo\n---\nText."),
        ["title: x", "owner: Bo", "Text."]
    );
    let outline = read("a.rst", "Pumps\n~~~~~\n\nText.").units;
    assert_eq!(
        (outline[0].heading.as_str(), outline[0].text.as_str()),
        ("Pumps", "Text.")
    );
}

#[test]
fn r23_broken_markup_is_text() {
    for text in [
        "[",
        "![",
        "[a](",
        "[[a",
        "|",
        "```",
        "- ",
        "\u{0}",
        "1. ",
        "#",
        "“。”",
        "---\n---",
        "<",
        ": x",
    ] {
        let _ = (
            texts("a.md", text),
            texts("a.rs", text),
            texts("a.json", text),
            texts("a.org", text),
        );
    }
    assert_eq!(
        texts("a.md", "Call it <name> or a * b_c."),
        ["Call it <name> or a * b_c."]
    );
    assert_eq!(
        texts("a.md", "See ![a picture](p.png) here."),
        ["See  here."]
    );
}
