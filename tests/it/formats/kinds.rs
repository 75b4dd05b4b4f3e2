//! Formats that people keep beside office files: what is read of each, and where that is.

use serde_json::{Value, json};

use super::reported::{file, place_of, text};
use crate::samples;
use crate::support::Said;
use crate::workplace::{self, Workplace, one_line};

#[test]
fn rich_text_is_read_paragraph_by_paragraph_with_its_signs() {
    let letter = br"{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\fswiss Arial;}{\f1 Courier;}}{\colortbl;\red255\green0\blue0;}{\info{\title The letter}{\author Ann}}{\*\generator Riched20;}\f0\fs24 Dear J\'fcrgen,\par \b The harvester\b0  costs 1\u8239 ?200 \u8364?.\par {\cf1 Second\tab column}\par{\pict\pngblip 89504e470d0a1a0a}\line Yours}";
    let read = file("a.rtf", letter).extraction;
    let said = &read.text;
    for words in [
        "Dear J\u{fc}rgen,",
        "The harvester costs",
        "\u{20ac}",
        "Second",
        "Yours",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    for unsaid in ["Arial", "Riched20", "89504e", "par"] {
        assert!(!said.contains(unsaid), "{unsaid}: {said}");
    }
    let line = |words: &str| said.lines().position(|line| line.contains(words));
    assert!(
        line("Dear") < line("harvester") && line("harvester") < line("Second"),
        "{said}"
    );
    assert_eq!(read.title.as_deref(), Some("The letter"));
}

const MAILBOX: &str = "From ann@example.org Tue Mar  5 10:00:00 2024\nFrom: Ann <ann@example.org>\nTo: bo@example.org\nSubject: The kiln\nDate: Tue, 5 Mar 2024 10:00:00 +0000\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\nVGhlIHB5cm9tZXRlciBpcyBicm9rZW4u\n\nFrom bo@example.org Tue Mar  5 11:00:00 2024\nFrom: Bo <bo@example.org>\nSubject: Re: The kiln\nDate: Tue, 5 Mar 2024 11:00:00 +0000\nMIME-Version: 1.0\nContent-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: quoted-printable\n\nOrder a new thermo=\ncouple, caf=E9 brown.\n\nFrom cy@example.org Tue Mar  5 12:00:00 2024\nFrom: Cy <cy@example.org>\nSubject: Delivery\nDate: Tue, 5 Mar 2024 12:00:00 +0000\n\nIt comes on Friday.\n>From then on it is warm.\n";

#[test]
fn each_message_of_a_mailbox_is_a_place_of_its_own_and_decoded() {
    for name in ["inbox.mbox", "Inbox"] {
        let read = file(name, MAILBOX);
        for (words, place) in [
            ("The pyrometer is broken.", "message 1: The kiln"),
            (
                "Order a new thermocouple, caf\u{e9} brown.",
                "message 2: Re: The kiln",
            ),
            ("It comes on Friday.", "message 3: Delivery"),
            ("From then on it is warm.", "message 3: Delivery"),
        ] {
            assert_eq!(place_of(&read, words), place, "{name}");
        }
        read.extraction.text.must_lack(">From");
        read.extraction.text.must_lack("VGhl");
    }
    let crlf = file("a.mbox", MAILBOX.replace('\n', "\r\n"));
    assert_eq!(
        place_of(&crlf, "It comes on Friday."),
        "message 3: Delivery"
    );
}

#[test]
fn a_saved_web_page_is_its_page() {
    let page = "From: <Saved by Blink>\r\nSnapshot-Content-Location: https://example.org/kiln\r\nSubject: Kiln\r\nMIME-Version: 1.0\r\nContent-Type: multipart/related; type=\"text/html\"; boundary=\"x\"\r\n\r\n--x\r\nContent-Type: text/html\r\nContent-Transfer-Encoding: quoted-printable\r\nContent-Location: https://example.org/kiln\r\n\r\n<html><head><title>Kiln=20manual</title></head><body><h1>Cooling</h1><p>Wait for the pyro=\r\nmeter.</p></body></html>\r\n--x\r\nContent-Type: text/css\r\nContent-Location: https://example.org/a.css\r\n\r\nbody { color: red }\r\n--x\r\nContent-Type: image/png\r\nContent-Transfer-Encoding: base64\r\n\r\niVBORw0KGgo=\r\n--x--\r\n";
    for name in ["a.mht", "a.mhtml"] {
        let read = file(name, page);
        assert_eq!(place_of(&read, "Wait for the pyrometer."), "\u{a7} Cooling");
        assert_eq!(read.extraction.title.as_deref(), Some("Kiln manual"));
        for unsaid in ["color: red", "iVBOR", "boundary"] {
            assert!(!read.extraction.text.contains(unsaid), "{unsaid}");
        }
    }
}

#[test]
fn a_message_of_apple_mail_is_its_message() {
    let message = "From: Ann <ann@example.org>\nSubject: The kiln\nDate: Tue, 5 Mar 2024 10:00:00 +0000\nContent-Type: text/plain\n\nThe pyrometer is broken.\n";
    let list = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n<plist version=\"1.0\"><dict><key>flags</key><integer>8590195713</integer></dict></plist>\n";
    let read = file("1.emlx", format!("{}\n{message}{list}", message.len())).extraction;
    assert_eq!(read.title.as_deref(), Some("The kiln"));
    assert_eq!(
        read.text,
        "Subject: The kiln\nFrom: Ann <ann@example.org>\nDate: 2024-03-05T10:00:00Z\n\nThe pyrometer is broken.\n"
    );
}

#[test]
fn each_event_of_a_calendar_is_a_section_that_says_when_and_where() {
    let calendar = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nX-WR-CALNAME:Workshop\r\nBEGIN:VTIMEZONE\r\nTZID:Europe/Oslo\r\nEND:VTIMEZONE\r\nBEGIN:VEVENT\r\nUID:1f0c@example.org\r\nSUMMARY:Kiln inspection\r\nDTSTART;TZID=Europe/Oslo:20240501T093000\r\nLOCATION:Hall 3\\, north\r\nDESCRIPTION:Bring the pyro\r\n meter\\nand gloves\r\nBEGIN:VALARM\r\nDESCRIPTION:Reminder\r\nEND:VALARM\r\nEND:VEVENT\r\nBEGIN:VTODO\r\nSUMMARY:Order clay\r\nDUE;VALUE=DATE:20240510\r\nEND:VTODO\r\nEND:VCALENDAR\r\n";
    let read = file("a.ics", calendar);
    let said = &read.extraction.text;
    for (words, place) in [
        ("Start: 2024-05-01 09:30", "\u{a7} Kiln inspection"),
        ("Location: Hall 3, north", "\u{a7} Kiln inspection"),
        ("Bring the pyrometer", "\u{a7} Kiln inspection"),
        ("Due: 2024-05-10", "\u{a7} Order clay"),
    ] {
        assert_eq!(place_of(&read, words), place);
    }
    assert_eq!(read.extraction.title.as_deref(), Some("Workshop"));
    said.must_lack("Reminder");
    said.must_lack("1f0c");
}

#[test]
fn each_contact_is_a_section_that_says_how_to_reach_them() {
    let contacts = "BEGIN:VCARD\r\nVERSION:3.0\r\nN:Berg;Ann;;;\r\nFN:Ann Berg\r\nORG:Harbour Works;Pumps\r\nitem1.EMAIL;type=INTERNET:ann@example.org\r\nTEL;TYPE=CELL:+47 555 01 23\r\nADR;TYPE=WORK:;;Quay 7;Oslo;;0150;Norway\r\nPHOTO;ENCODING=b;TYPE=JPEG:/9j/4AAQSkZJRgABAQ\r\n AAAQABAAD\r\nEND:VCARD\r\nBEGIN:VCARD\r\nFN:Bo Dahl\r\nTEL:+47 555 04 56\r\nEND:VCARD\r\n";
    let read = file("a.vcf", contacts);
    for (words, place) in [
        ("ann@example.org", "\u{a7} Ann Berg"),
        ("+47 555 01 23", "\u{a7} Ann Berg"),
        ("Quay 7, Oslo, 0150, Norway", "\u{a7} Ann Berg"),
        ("+47 555 04 56", "\u{a7} Bo Dahl"),
    ] {
        assert_eq!(place_of(&read, words), place);
    }
    read.extraction.text.must_lack("9j/4AA");
}

#[test]
fn escapes_and_quoted_values_of_calendars_and_contacts_are_read() {
    let said = text(
        "a.ics",
        "BEGIN:VEVENT\nSUMMARY:Copy\nDESCRIPTION:from C:\\\\new\\, then\\nshut\\; go\nEND:VEVENT\n",
    );
    said.must_hold("Description: from C:\\new, then\nshut; go");
    let contact = "BEGIN:VCARD\nVERSION:2.1\nN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCller;J=C3=BCrgen;;;\nADR;WORK;ENCODING=QUOTED-PRINTABLE:;;Quay=207;Os=\nlo;;;\nEND:VCARD\nBEGIN:VCARD\nN:Berg;Ann;;;\nFN:Dr Ann Berg\nTEL:1\nEND:VCARD\n";
    let read = file("a.vcf", contact);
    assert_eq!(
        place_of(&read, "Quay 7, Oslo"),
        "\u{a7} J\u{fc}rgen M\u{fc}ller"
    );
    assert_eq!(place_of(&read, "Telephone: 1"), "\u{a7} Dr Ann Berg");
}

#[test]
fn a_page_is_read_in_the_encoding_that_it_says() {
    let page =
        |label: &str| format!("<html><head><meta charset={label}></head><body><p>Caf").into_bytes();
    let latin = [page("\"iso-8859-1\""), b"\xe9 north</p>".to_vec()].concat();
    assert_eq!(text("a.html", latin), "Caf\u{e9} north\n");
    let greek = [page("windows-1253"), b"\xe1</p>".to_vec()].concat();
    assert_eq!(text("a.html", greek), "Caf\u{3b1}\n");
    let right = [page("iso-8859-1"), "\u{e9}</p>".as_bytes().to_vec()].concat();
    assert_eq!(
        text("a.html", right),
        "Caf\u{e9}\n",
        "UTF-8 is surer than what it says"
    );
}

#[test]
fn of_what_cells_of_notebooks_print_the_last_state_is_read_and_tables_are() {
    let bar: String = (0..=2000)
        .flat_map(|at| ["\r".to_owned(), at.to_string(), "/2000".to_owned()])
        .collect();
    let notebook = json!({"nbformat": 4, "metadata": {}, "cells": [{"cell_type": "code", "source": "run()", "outputs": [
        {"output_type": "stream", "text": format!("{bar}\ndone\n")},
        {"output_type": "stream", "text": "\u{1b}[0;32mgreen\u{1b}[0m words\r\n"},
        {"output_type": "error", "ename": "ValueError", "evalue": "\u{1b}[31mbad\u{1b}[0m value"},
        {"output_type": "execute_result", "data": {"text/html": "<table><tr><th>City</th></tr><tr><td>Lyon</td></tr></table>"}},
        {"output_type": "execute_result", "data": {"text/html": ["<p>Oslo", "</p>"], "text/plain": "<IPython.core.display.HTML object>"}},
        {"output_type": "display_data", "data": {"text/markdown": "**Rome**"}},
    ]}]});
    let said = text("a.ipynb", notebook.to_string());
    for words in [
        "\n2000/2000\ndone\n",
        "\ngreen words\n",
        "ValueError: bad value",
        "Lyon",
        "Oslo",
        "Rome",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    said.must_lack("1999");
    said.must_lack("[0");
    said.must_lack("IPython");
}

#[test]
fn subtitles_keep_their_lines_and_say_when() {
    let srt = "1\r\n00:01:02,500 --> 00:01:04,000\r\n<i>We ship on 3 May.</i>\r\n\r\n2\r\n00:01:05,000 --> 00:01:07,000\r\nAt <font color=\"#ff0000\">noon</font>.\r\n";
    let said = text("a.srt", srt);
    let lines: Vec<&str> = said.lines().map(str::trim_end).collect();
    assert_eq!(
        lines,
        [
            "",
            "[00:01:02]",
            "We ship on 3 May.",
            "",
            "",
            "[00:01:05]",
            "At noon."
        ]
    );
    let vtt =
        "WEBVTT\n\nintro\n00:05.000 --> 00:06.000 align:start\n<v Ann>Open the <c.loud>valve</c>\n";
    let said = text("a.vtt", vtt);
    assert_eq!(said.lines().count(), vtt.lines().count());
    assert!(said.contains("[00:05]\nAnn: Open the valve"), "{said}");
}

#[test]
fn ids_of_org_are_no_words_and_links_say_their_text() {
    let org = "#+TITLE: Operations\n* Backup plan\n:PROPERTIES:\n:ID: 6f1c2d3e-0000-4aaa-8bbb-123456789abc\n:END:\nEvery night at two.\n* See also\nThe [[id:6f1c2d3e-0000-4aaa-8bbb-123456789abc][Backup plan]] and [[file:a.org][the pumps]].\n";
    let read = file("a.org", org).extraction;
    assert!(!read.text.contains("6f1c2d3e"), "{}", read.text);
    assert_eq!(read.text.lines().nth(5), Some("Every night at two."));
    assert!(read.text.contains("The Backup plan and"), "{}", read.text);
    assert_eq!(read.title.as_deref(), Some("Operations"));
}

fn keys(object: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = object
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    keys.sort_unstable();
    keys
}

#[test]
fn read_prints_what_is_seen_of_a_file_as_json() {
    let place = Workplace::empty();
    place.file("slides.pptx", samples::pptx());
    place.file(
        "note.md",
        "---\ntitle: Early access\naliases: [EA, Early]\nstatus: open\n---\n# Head\n\nWords.\n",
    );
    let read = |name: &str| -> Value {
        let output = place.run(&["read", "--json", name]);
        assert!(
            output.status.success(),
            "{}",
            workplace::text(&output.stderr)
        );
        let lines = workplace::json_lines(&output.stdout);
        assert_eq!(lines.len(), 1);
        lines[0].clone()
    };
    let slides = read("slides.pptx");
    assert_eq!(
        keys(&slides),
        ["fields", "missing", "places", "text", "title"]
    );
    assert_eq!(slides["title"], "Welcome");
    assert_eq!(slides["missing"], json!([]));
    let places = slides["places"].as_array().unwrap();
    assert_eq!(places.len(), 3);
    assert_eq!(
        keys(&places[1]),
        ["end", "from_line", "name", "start", "to_line", "unit"]
    );
    assert_eq!(places[1]["unit"], "slide");
    assert_eq!(places[1]["name"], "Roadmap");
    let lines: Vec<&str> = slides["text"].as_str().unwrap().lines().collect();
    let line = |at: &str| usize::try_from(places[1][at].as_u64().unwrap()).unwrap();
    let own = lines[line("from_line") - 1..line("to_line")].join("\n");
    own.must_hold("submarine");
    own.must_lack("Welcome");
    assert_eq!(
        places[2]["to_line"].as_u64().unwrap(),
        lines.len() as u64,
        "the last place goes on to the end"
    );

    let note = read("note.md");
    assert_eq!(note["title"], "Early access");
    assert_eq!(note["fields"]["aliases"], json!(["EA", "Early"]));
    assert_eq!(note["fields"]["status"], "open");
    assert_eq!(note["places"], json!([]));
}

#[test]
fn read_says_in_one_line_why_a_file_is_not_read() {
    let place = Workplace::empty();
    place.file("torn.docx", &samples::docx()[..300]);
    place.file("noise.bin", [0, 1, 2, 255, 254, 0]);
    for (name, why) in [
        ("torn.docx", "damaged"),
        ("noise.bin", "binary file"),
        ("absent.md", "cannot be read"),
    ] {
        for arguments in [&["read", name][..], &["read", "--json", name]] {
            let output = place.run(arguments);
            assert_eq!(output.status.code(), Some(1), "{name}");
            assert!(output.stdout.is_empty(), "{name}");
            let line = one_line(&output);
            assert!(line.contains(name) && line.contains(why), "{line}");
        }
    }
}

#[test]
fn read_names_places_and_what_is_missing_for_people() {
    let place = Workplace::empty();
    place.file("scan.pdf", samples::pdf("", &["Said", ""]));
    place.file("slides.pptx", samples::pptx());
    let output = place.run(&["read", "slides.pptx"]);
    assert!(output.status.success());
    let said = workplace::text(&output.stdout);
    assert!(said.contains("[Roadmap slide 2]\n"), "{said}");
    let said = workplace::text(&place.run(&["read", "scan.pdf"]).stdout);
    assert!(said.contains("[p. 1]\nSaid\n"), "{said}");
}

#[test]
fn r11_output_that_is_left_out_of_a_notebook_is_listed() {
    let printed = "a line of words\n".repeat(1_200);
    let notebook = json!({"nbformat": 4, "metadata": {}, "cells": [{"cell_type": "code", "source": "run()", "outputs": [
        {"output_type": "stream", "text": printed},
    ]}]});
    let read = file("a.ipynb", notebook.to_string());
    assert_eq!(
        read.extraction.text.matches("a line of words").count(),
        1_000
    );
    assert_eq!(read.extraction.missing, ["cell 1: 200 lines of its output"]);
}

#[test]
fn r11_attachments_that_are_not_read_are_listed() {
    let mail = "From: a@example.org\nSubject: Plan\nBcc: c@example.org\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/plain\n\nSee below.\n--x\nContent-Type: application/pdf\nContent-Disposition: attachment; filename=plan.pdf\nContent-Transfer-Encoding: base64\n\nJVBERi0=\n--x--\n";
    let read = file("a.eml", mail);
    read.extraction.text.must_hold("Bcc: c@example.org");
    let missing = "attachment plan.pdf: save it into the folder to have it read";
    assert_eq!(read.extraction.missing, [missing]);
}

#[test]
fn r11_rich_text_that_is_cut_off_is_read_as_far_as_it_goes() {
    let read = file("a.rtf", "{\\rtf1 {\\b First} words.\\par Second {\\i par");
    read.extraction.text.must_hold("First words.");
    read.extraction.text.must_hold("Second par");
    assert_eq!(read.extraction.missing, ["its end: the file is cut off"]);
}

#[test]
fn comments_and_charts_of_opendocument_are_read_where_they_stand() {
    let comment = "<office:annotation><dc:creator>Legal</dc:creator><dc:date>2031-01-01</dc:date><text:p>thirty days</text:p></office:annotation>";
    let body = format!(
        "<office:text><text:p>Termination{comment} is at once.</text:p><text:p><draw:frame><draw:object xlink:href=\"./Object 1\"/></draw:frame></text:p><text:p>After it.</text:p></office:text>"
    );
    let row = |cells: [&str; 2]| {
        let cells = cells
            .map(|cell| format!("<table:table-cell><text:p>{cell}</text:p></table:table-cell>"));
        format!("<table:table-row>{}</table:table-row>", cells.concat())
    };
    let chart = format!(
        "<office:document-content><office:body><office:chart><table:table>{}{}</table:table></office:chart></office:body></office:document-content>",
        row(["City", "Price"]),
        row(["Oslo", "9.1"])
    );
    let said = text(
        "a.odt",
        samples::odf_with("text", &body, &[("Object 1/content.xml", &chart)]),
    );
    said.must_hold("Termination [Comment (Legal): thirty days] is at once.");
    let at = |words: &str| {
        said.find(words)
            .unwrap_or_else(|| panic!("{words}: {said}"))
    };
    assert!(at("| Oslo | 9.1 |") < at("After it."), "{said}");
}
