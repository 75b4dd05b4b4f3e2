//! Documents as people reported them elsewhere, and others of their kinds: each is made here, and
//! read as the index reads it.

use std::fmt::Write as _;

use kb_agent::kb::FileText;

use crate::samples::{self, Main, package, package_with_target, relations};
use crate::support::Said;
use crate::workplace::Workplace;

const W: &str = "xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\" xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\"";
const S: &str = "xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\" xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\"";

/// What kb-agent sees of a file of that name, with these bytes.
pub fn file(name: &str, bytes: impl AsRef<[u8]>) -> FileText {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    FileText::read(&path, None, None).unwrap_or_else(|reason| panic!("{name}: {reason}"))
}

pub fn text(name: &str, bytes: impl AsRef<[u8]>) -> String {
    file(name, bytes).extraction.text
}

/// The place of the line that says these words.
pub fn place_of(file: &FileText, words: &str) -> String {
    let text = &file.extraction.text;
    let at = text.lines().position(|line| line.contains(words));
    let line = at.unwrap_or_else(|| panic!("{words}: {text}")) + 1;
    let lines = kb_agent::domain::LineRange {
        start: line,
        end: line,
    };
    let place = file.extraction.place(lines);
    place.map(|place| place.to_string()).unwrap_or_default()
}

/// A Word document of these blocks, with these further parts: name without its ending, XML.
fn docx(blocks: &[String], parts: &[(&str, String)]) -> Vec<u8> {
    let body = format!(
        "<w:document {W}><w:body>{}</w:body></w:document>",
        blocks.concat()
    );
    let names: Vec<(String, String)> = parts
        .iter()
        .map(|(name, xml)| (format!("word/{name}.xml"), xml.clone()))
        .collect();
    let targets: Vec<(String, String)> = parts
        .iter()
        .map(|(name, _)| (format!("r{name}"), format!("{name}.xml")))
        .collect();
    let links: Vec<(&str, &str, &str)> = parts
        .iter()
        .zip(&targets)
        .map(|((name, _), (id, target))| (id.as_str(), *name, target.as_str()))
        .collect();
    let links = relations(&links);
    let mut entries = vec![
        ("word/document.xml", body.as_str()),
        ("word/_rels/document.xml.rels", links.as_str()),
    ];
    entries.extend(
        names
            .iter()
            .map(|(name, xml)| (name.as_str(), xml.as_str())),
    );
    package(Main::Document, &entries)
}

/// A paragraph with these properties.
fn p(properties: &str, text: &str) -> String {
    format!("<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>")
}

fn styles() -> (&'static str, String) {
    let heading = |id: &str, name: &str, level: u8| {
        format!(
            "<w:style w:type=\"paragraph\" w:styleId=\"{id}\"><w:name w:val=\"{name}\"/><w:pPr><w:outlineLvl w:val=\"{level}\"/></w:pPr></w:style>"
        )
    };
    let xml = format!(
        "<w:styles {W}><w:style w:type=\"paragraph\" w:default=\"1\" w:styleId=\"Normal\"><w:name w:val=\"Normal\"/></w:style>{}{}<w:style w:type=\"paragraph\" w:styleId=\"House\"><w:name w:val=\"House chapter\"/><w:basedOn w:val=\"Heading1\"/></w:style></w:styles>",
        heading("Heading1", "heading 1", 0),
        heading("Heading2", "heading 2", 1),
    );
    ("styles", xml)
}

/// Numberings 1 (`1.`, `1.1`), 2 (`(a)`), 3 (bullets) and 4 (`Article I`).
fn numbering() -> (&'static str, String) {
    let level = |at: u8, format: &str, text: &str| {
        format!(
            "<w:lvl w:ilvl=\"{at}\"><w:start w:val=\"1\"/><w:numFmt w:val=\"{format}\"/><w:lvlText w:val=\"{text}\"/></w:lvl>"
        )
    };
    let numberings = [
        level(0, "decimal", "%1.") + &level(1, "decimal", "%1.%2"),
        level(0, "lowerLetter", "(%1)"),
        level(0, "bullet", "\u{2022}"),
        level(0, "upperRoman", "Article %1"),
    ];
    let mut xml = format!("<w:numbering {W}>");
    for (at, levels) in numberings.iter().enumerate() {
        write!(
            xml,
            "<w:abstractNum w:abstractNumId=\"{at}\">{levels}</w:abstractNum>"
        )
        .unwrap();
    }
    for at in 0..numberings.len() {
        let id = at + 1;
        write!(
            xml,
            "<w:num w:numId=\"{id}\"><w:abstractNumId w:val=\"{at}\"/></w:num>"
        )
        .unwrap();
    }
    ("numbering", xml + "</w:numbering>")
}

fn numbered(number: u8, level: u8) -> String {
    format!("<w:numPr><w:ilvl w:val=\"{level}\"/><w:numId w:val=\"{number}\"/></w:numPr>")
}

const H1: &str = "<w:pStyle w:val=\"Heading1\"/>";
const H2: &str = "<w:pStyle w:val=\"Heading2\"/>";

// 10: the main part has another name.

#[test]
fn a_word_file_is_read_whatever_its_main_part_is_called() {
    let styles = styles().1;
    let body = format!(
        "<w:document {W}><w:body>{}{}</w:body></w:document>",
        p(H1, "Deposits"),
        p("", "A deposit of 400 is due.")
    );
    let links = relations(&[("r1", "styles", "styles.xml")]);
    for (part, rels, target) in table![
        "word/document22.xml", "word/_rels/document22.xml.rels", "word/document22.xml";
        "word/document.xml", "word/_rels/document.xml.rels", "/word/document.xml";
        "word/document2.xml", "word/_rels/document2.xml.rels", "/word/document2.xml";
        "main.xml", "_rels/main.xml.rels", "main.xml";
    ] {
        let styles_part = match part {
            "main.xml" => "styles.xml",
            _ => "word/styles.xml",
        };
        let parts = [
            (part, body.as_str()),
            (rels, &links),
            (styles_part, &styles),
        ];
        let read = file(
            "a.docx",
            package_with_target(Main::Document, target, &parts),
        );
        assert_eq!(
            read.extraction.text, "# Deposits\n\nA deposit of 400 is due.\n",
            "{part}"
        );
        assert_eq!(place_of(&read, "400"), "§ Deposits", "{part}");
    }
}

#[test]
fn a_presentation_is_read_whatever_its_main_part_is_called() {
    let presentation = format!(
        "<p:presentation xmlns:p=\"http://schemas.openxmlformats.org/presentationml/2006/main\" {W}><p:sldIdLst><p:sldId id=\"256\" r:id=\"a\"/></p:sldIdLst></p:presentation>"
    );
    let slide = samples::slide_of(&[samples::shape("idx=\"1\"", "The ferry leaves at nine")]);
    let deck = package(
        Main::Presentation,
        &[
            ("ppt/presentation7.xml", &presentation),
            (
                "ppt/_rels/presentation7.xml.rels",
                &relations(&[("a", "slide", "slides/first.xml")]),
            ),
            ("ppt/slides/first.xml", &slide),
        ],
    );
    assert!(text("a.pptx", deck).contains("The ferry leaves at nine"));
}

// 11: what a paragraph was before is not what it is.

#[test]
fn a_tracked_change_of_format_does_not_undo_the_new_format() {
    let before = |properties: &str| {
        format!("<w:pPrChange w:id=\"1\" w:author=\"A\"><w:pPr>{properties}</w:pPr></w:pPrChange>")
    };
    let blocks = [
        p(
            &format!("{H1}{}", before("<w:pStyle w:val=\"Normal\"/>")),
            "Rollback",
        ),
        p(
            &format!("<w:pStyle w:val=\"Normal\"/>{}", before(H1)),
            "Stop the queue first.",
        ),
        p(&before(H2), "Then restore the copy."),
        p(&format!("{}{}", numbered(3, 0), before("")), "pumps"),
        p(&before(&numbered(3, 0)), "No item any more."),
    ];
    let read = file("a.docx", docx(&blocks, &[styles(), numbering()]));
    assert_eq!(
        read.extraction.text,
        "# Rollback\n\nStop the queue first.\n\nThen restore the copy.\n\n- pumps\n\nNo item any more.\n"
    );
    assert_eq!(place_of(&read, "restore"), "§ Rollback");
}

#[test]
fn of_tracked_changes_of_text_the_new_text_is_read() {
    let run = |text: &str| format!("<w:r><w:t xml:space=\"preserve\">{text}</w:t></w:r>");
    let gone = "<w:r><w:delText>thirty</w:delText></w:r>";
    let block = format!(
        "<w:p>{}<w:del w:id=\"1\">{gone}</w:del><w:ins w:id=\"2\">{}</w:ins>{}<w:moveFrom w:id=\"3\">{}</w:moveFrom></w:p><w:p><w:moveTo w:id=\"4\">{}</w:moveTo></w:p>",
        run("Notice is "),
        run("sixty"),
        run(" days."),
        run("In writing."),
        run("In writing."),
    );
    let said = text("a.docx", docx(&[block], &[styles()]));
    assert_eq!(said, "Notice is sixty days.\n\nIn writing.\n");
}

#[test]
fn a_style_of_the_house_that_is_based_on_a_heading_is_a_heading() {
    let blocks = [
        p("<w:pStyle w:val=\"House\"/>", "Travel"),
        p("", "Trains are paid for."),
        p("<w:outlineLvl w:val=\"1\"/>", "Abroad"),
        p("", "Flights are not."),
    ];
    let read = file("a.docx", docx(&blocks, &[styles()]));
    assert_eq!(place_of(&read, "Trains"), "§ Travel");
    assert_eq!(place_of(&read, "Flights"), "§ Abroad");
}

// 12: numbers that stand in no text, and comments.

/// A contract whose numbers stand in no text.
fn contract() -> Vec<u8> {
    let heading = |level: u8, text: &str| {
        p(
            &format!("{}{}", if level == 0 { H1 } else { H2 }, numbered(1, level)),
            text,
        )
    };
    let blocks = [
        heading(0, "Scope"),
        heading(0, "Fees"),
        heading(1, "Rates"),
        heading(0, "Liability"),
        heading(0, "Term"),
        heading(1, "Renewal"),
        heading(1, "Termination"),
        p("", "Either side may end it."),
        p(&numbered(2, 0), "by letter"),
        p(&numbered(2, 0), "by mail"),
        p(&numbered(4, 0), "Seat"),
        p(&numbered(4, 0), "Law"),
    ];
    docx(&blocks, &[styles(), numbering()])
}

#[test]
fn headings_and_clauses_have_the_numbers_that_word_shows() {
    let read = file("a.docx", contract());
    let said = &read.extraction.text;
    for line in [
        "# 1. Scope",
        "## 2.1 Rates",
        "# 4. Term",
        "## 4.2 Termination",
    ] {
        assert!(said.lines().any(|own| own == line), "{line}: {said}");
    }
    for words in [
        "(a) by letter",
        "(b) by mail",
        "Article I Seat",
        "Article II Law",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert_eq!(place_of(&read, "Either side"), "§ 4.2 Termination");
}

#[test]
fn a_clause_is_found_by_its_number() {
    let place = Workplace::empty();
    place.file("kb/contract.docx", contract());
    place.file(
        "kb/rates.md",
        "# Rates\n\nTraining costs 4.2 hours a week.\n",
    );
    let said = |question: &str| {
        let output = place.command(&["ask", "--kb", "kb", question]).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    let termination = said("What does clause 4.2 say?");
    termination.must_begin_with("Either side may end it.");
    termination.must_hold("[1] contract.docx:§ 4.2 Termination");
    let nothing = said("What does clause 9.9 say?");
    nothing.must_begin_with("Nothing in the knowledge base");
}

#[test]
fn two_headings_of_the_same_words_keep_their_own_numbers() {
    let blocks = [
        p(&format!("{H1}{}", numbered(1, 0)), "Costs"),
        p(&format!("{H2}{}", numbered(1, 1)), "Overview"),
        p(&format!("{H1}{}", numbered(1, 0)), "Dates"),
        p(&format!("{H2}{}", numbered(1, 1)), "Overview"),
    ];
    let said = text("a.docx", docx(&blocks, &[styles(), numbering()]));
    assert_eq!(
        said,
        "# 1. Costs\n\n## 1.1 Overview\n\n# 2. Dates\n\n## 2.1 Overview\n"
    );
}

#[test]
fn a_comment_stands_beside_what_it_is_about_with_its_author() {
    let about = format!(
        "<w:p><w:commentRangeStart w:id=\"0\"/><w:r><w:t>Termination takes effect at once.</w:t></w:r><w:commentRangeEnd w:id=\"0\"/><w:r><w:commentReference w:id=\"0\"/></w:r></w:p>{}",
        p("", "The seat is Oslo.")
    );
    let comments = format!(
        "<w:comments {W}><w:comment w:id=\"0\" w:author=\"Legal\"><w:p><w:r><w:t>legal says 30 days</w:t></w:r></w:p></w:comment></w:comments>"
    );
    let said = text(
        "a.docx",
        docx(&[about], &[styles(), ("comments", comments)]),
    );
    let at = |words: &str| {
        said.find(words)
            .unwrap_or_else(|| panic!("{words}: {said}"))
    };
    assert!(at("at once") < at("legal says 30 days"), "{said}");
    assert!(at("legal says 30 days") < at("The seat"), "{said}");
    assert!(said.contains("Legal"), "{said}");
}

#[test]
fn footnotes_and_text_boxes_are_read() {
    let block = "<w:p><w:r><w:t>It costs 12</w:t></w:r><w:r><w:footnoteReference w:id=\"2\"/></w:r></w:p><w:p><w:r><w:pict><v:shape xmlns:v=\"urn:schemas-microsoft-com:vml\"><v:textbox><w:txbxContent><w:p><w:r><w:t>Keep the valve shut</w:t></w:r></w:p></w:txbxContent></v:textbox></v:shape></w:pict></w:r></w:p>";
    let notes = format!(
        "<w:footnotes {W}><w:footnote w:id=\"2\"><w:p><w:r><w:t>without the tax</w:t></w:r></w:p></w:footnote></w:footnotes>"
    );
    let said = text(
        "a.docx",
        docx(&[block.to_owned()], &[styles(), ("footnotes", notes)]),
    );
    assert!(said.contains("without the tax"), "{said}");
    assert!(said.contains("Keep the valve shut"), "{said}");
}

// 14 and 15: sheets.

fn sheet(rows: &str) -> String {
    format!("<worksheet {S}><sheetData>{rows}</sheetData></worksheet>")
}

/// A workbook of one sheet, `Prices`: what stands after its rows, and the styles of its cells.
fn xlsx(rows: &str, after: &str) -> Vec<u8> {
    let styles = format!(
        "<styleSheet {S}><numFmts count=\"4\"><numFmt numFmtId=\"164\" formatCode=\"00000\"/><numFmt numFmtId=\"165\" formatCode=\"#,##0.00 &quot;EUR&quot;\"/><numFmt numFmtId=\"166\" formatCode=\"dd/mm/yyyy\"/><numFmt numFmtId=\"167\" formatCode=\"0.0%\"/></numFmts><fonts count=\"1\"><font/></fonts><fills count=\"1\"><fill/></fills><borders count=\"1\"><border/></borders><cellXfs count=\"7\"><xf numFmtId=\"0\"/><xf numFmtId=\"9\"/><xf numFmtId=\"164\"/><xf numFmtId=\"165\"/><xf numFmtId=\"166\"/><xf numFmtId=\"167\"/><xf numFmtId=\"46\"/></cellXfs></styleSheet>"
    );
    let sheet = format!("<worksheet {S}><sheetData>{rows}</sheetData>{after}</worksheet>");
    package(
        Main::Workbook,
        &table![
            "xl/workbook.xml",
                &format!("<workbook {S}><sheets><sheet name=\"Prices\" sheetId=\"1\" r:id=\"a\"/></sheets></workbook>");
            "xl/_rels/workbook.xml.rels",
                &relations(&[("a", "worksheet", "worksheets/sheet1.xml"), ("b", "styles", "styles.xml")]);
            "xl/worksheets/sheet1.xml", &sheet;
            "xl/styles.xml", &styles;
        ],
    )
}

fn word(at: &str, text: &str) -> String {
    format!("<c r=\"{at}\" t=\"inlineStr\"><is><t>{text}</t></is></c>")
}

fn number(at: &str, style: u8, value: &str) -> String {
    format!("<c r=\"{at}\" s=\"{style}\"><v>{value}</v></c>")
}

#[test]
fn a_merged_group_cell_belongs_to_all_its_rows() {
    let mut rows = format!(
        "<row r=\"1\">{}{}{}</row>",
        word("A1", "Region"),
        word("B1", "City"),
        word("C1", "Price")
    );
    for (row, region, city, price) in [
        (2, "Europe", "Paris", 10),
        (3, "", "Oslo", 11),
        (4, "", "Lyon", 12),
        (5, "", "Rome", 13),
        (6, "Asia", "Seoul", 14),
        (7, "", "Osaka", 15),
    ] {
        write!(
            rows,
            "<row r=\"{row}\">{}{}{}</row>",
            if region.is_empty() {
                format!("<c r=\"A{row}\"/>")
            } else {
                word(&format!("A{row}"), region)
            },
            word(&format!("B{row}"), city),
            number(&format!("C{row}"), 0, &price.to_string())
        )
        .unwrap();
    }
    let merged =
        "<mergeCells count=\"2\"><mergeCell ref=\"A2:A5\"/><mergeCell ref=\"A6:A7\"/></mergeCells>";
    let read = file("a.xlsx", xlsx(&rows, merged));
    let said = &read.extraction.text;
    said.must_hold("Region: Europe; City: Lyon; Price: 12\n");
    said.must_hold("Region: Europe; City: Paris; Price: 10\n");
    said.must_hold("Region: Asia; City: Osaka; Price: 15\n");
    assert_eq!(place_of(&read, "Lyon"), "Prices row 4");
}

#[test]
fn a_cell_merged_across_columns_is_said_once() {
    let rows = format!(
        "<row r=\"1\">{}{}</row><row r=\"2\">{}{}</row><row r=\"3\">{}</row>",
        word("A1", "Item"),
        word("B1", "Price"),
        word("A2", "Valve"),
        number("B2", 0, "7"),
        word("A3", "Summe 7")
    );
    let merged = "<mergeCells count=\"1\"><mergeCell ref=\"A3:E3\"/></mergeCells>";
    let said = text("a.xlsx", xlsx(&rows, merged));
    assert_eq!(said.matches("Summe").count(), 1, "{said}");
}

#[test]
fn a_merged_group_cell_of_opendocument_belongs_to_all_its_rows() {
    let cell = |text: &str| format!("<table:table-cell><text:p>{text}</text:p></table:table-cell>");
    let sheet = format!(
        "<office:spreadsheet><table:table table:name=\"Prices\"><table:table-row>{}{}</table:table-row><table:table-row><table:table-cell table:number-rows-spanned=\"2\" table:number-columns-spanned=\"1\"><text:p>Europe</text:p></table:table-cell>{}</table:table-row><table:table-row><table:covered-table-cell/>{}</table:table-row></table:table></office:spreadsheet>",
        cell("Region"),
        cell("City"),
        cell("Paris"),
        cell("Lyon")
    );
    let said = text("a.ods", samples::odf("spreadsheet", &sheet));
    assert!(said.contains("Region: Europe; City: Lyon"), "{said}");
}

#[test]
fn percents_codes_and_amounts_are_read_as_the_sheet_shows_them() {
    let rows = format!(
        "<row r=\"1\">{}{}{}{}{}{}</row><row r=\"2\">{}{}{}{}{}{}</row>",
        word("A1", "Rate"),
        word("B1", "Code"),
        word("C1", "Amount"),
        word("D1", "Due"),
        word("E1", "Growth"),
        word("F1", "Time"),
        number("A2", 1, "0.15"),
        number("B2", 2, "1234"),
        number("C2", 3, "1250.5"),
        number("D2", 4, "45413"),
        number("E2", 5, "0.125"),
        number("F2", 6, "1.5")
    );
    let said = text("a.xlsx", xlsx(&rows, ""));
    for words in [
        "Rate: 15%",
        "Code: 01234",
        "Due: 2024-05-01",
        "Growth: 12.5%",
        "Time: 36:00 h",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(said.contains("1,250.50") && said.contains("EUR"), "{said}");
}

#[test]
fn a_formula_whose_result_is_not_in_the_file_is_said_to_be_missing() {
    let rows = format!(
        "<row r=\"1\">{}{}</row><row r=\"2\">{}<c r=\"B2\"><f>A2*2</f></c></row><row r=\"3\">{}<c r=\"B3\"><f>A3*2</f><v>14</v></c></row>",
        word("A1", "Item count"),
        word("B1", "Sum"),
        number("A2", 0, "5"),
        number("A3", 0, "7")
    );
    let read = file("a.xlsx", xlsx(&rows, "")).extraction;
    assert!(read.text.contains("Sum: 14"), "{}", read.text);
    assert_eq!(read.missing.len(), 1, "{:?}", read.missing);
    for words in ["Prices", "1 formula", "B2"] {
        assert!(
            read.missing[0].contains(words),
            "{words}: {:?}",
            read.missing
        );
    }
}

#[test]
fn a_hidden_sheet_is_read_like_any_other() {
    let cell = |text: &str| sheet(&format!("<row r=\"1\">{}</row>", word("A1", text)));
    let book = package(
        Main::Workbook,
        &table![
            "xl/workbook.xml",
                &format!("<workbook {S}><sheets><sheet name=\"Shown\" sheetId=\"1\" r:id=\"a\"/><sheet name=\"Rates\" sheetId=\"2\" state=\"hidden\" r:id=\"b\"/></sheets></workbook>");
            "xl/_rels/workbook.xml.rels",
                &relations(&[("a", "worksheet", "worksheets/sheet1.xml"), ("b", "worksheet", "worksheets/sheet2.xml")]);
            "xl/worksheets/sheet1.xml", &cell("Overview");
            "xl/worksheets/sheet2.xml", &cell("Hourly rate 90");
        ],
    );
    let read = file("a.xlsx", book);
    assert_eq!(place_of(&read, "Hourly rate 90"), "Rates row 1");
}

// 16: pages.

#[test]
fn a_page_within_a_form_is_read() {
    let page = "<html><body><form id=\"aspnetForm\" method=\"post\"><input type=\"hidden\" name=\"__VIEWSTATE\" value=\"dDwtMTA\"/><h1>Opening hours</h1><p>We open at nine.</p><h2>Holidays</h2><p>Closed in July.</p><h2>Parking</h2><p>Behind the mill.</p><input type=\"submit\" value=\"Go\"></form></body></html>";
    let read = file("a.html", page);
    assert_eq!(place_of(&read, "Closed in July"), "§ Holidays");
    assert!(read.extraction.text.contains("We open at nine."));
    assert!(!read.extraction.text.contains("dDwtMTA"));
}

#[test]
fn questions_within_buttons_and_summaries_are_read_with_their_answers() {
    let page = "<html><body><h1>Help</h1><h3><button aria-expanded=\"false\">How do I reset the PIN?</button></h3><div>Hold both keys for three seconds.</div><details><summary>Where is the manual?</summary><p>In the lid.</p></details><button>Submit</button></body></html>";
    let read = file("a.html", page);
    let said = &read.extraction.text;
    assert_eq!(
        place_of(&read, "Hold both keys"),
        "§ How do I reset the PIN?"
    );
    said.must_hold("Where is the manual?");
    said.must_hold("In the lid.");
    assert!(!said.contains("Submit"), "{said}");
}

#[test]
fn fieldsets_legends_and_labels_that_hold_text_are_read() {
    let page = "<html><body><form><fieldset><legend>Return of goods</legend><p>Within a fortnight, in the box.</p></fieldset></form></body></html>";
    let said = text("a.html", page);
    said.must_hold("Return of goods");
    said.must_hold("Within a fortnight");
}

// 17: pictures as letters.

/// As a picture is written: 200 kB of letters.
fn picture() -> String {
    "iVBORw0KGgoAAAANSUhEUgAAbase64letters".repeat(5500)
}

#[test]
fn pictures_as_letters_within_markdown_are_not_text_and_lines_stay() {
    let data = format!("data:image/png;base64,{}", picture());
    let page = format!(
        "# Pump\n\nBefore ![the pump]({data}) after.\n\n![drawing][image1]\n\n<img alt=\"valve\" src=\"{data}\">\n\nThe last words.\n\n[image1]: <{data}>\n[image2]: {data}\n"
    );
    let read = file("a.md", &page).extraction;
    let said = &read.text;
    assert!(!said.contains("base64letters"), "{} bytes", said.len());
    assert!(said.len() < 2000, "{} bytes", said.len());
    for (line, words) in [(3, "the pump"), (3, "after."), (9, "The last words.")] {
        let own = said.lines().nth(line - 1).unwrap();
        assert!(own.contains(words), "{line}: {own}");
    }
}

#[test]
fn pictures_as_letters_within_pages_are_not_text() {
    let data = format!("data:image/png;base64,{}", picture());
    let svg = format!("data:image/svg+xml;base64,{}", picture());
    let page = format!(
        "<html><head><style>.a{{background:url({svg})}}</style></head><body style=\"background:url('{svg}')\"><h1>Pump</h1><p>Before <img alt=\"the pump\" src=\"{data}\"> after.</p><p style=\"background:url({svg})\">The last words.</p><a href=\"{data}\">as a file</a></body></html>"
    );
    let said = text("a.html", page);
    assert!(!said.contains("base64letters"), "{} bytes", said.len());
    for words in ["the pump", "after.", "The last words.", "as a file"] {
        assert!(said.contains(words), "{words}");
    }
}

#[test]
fn pictures_as_letters_within_notebooks_are_not_text() {
    let letters = picture();
    let notebook = serde_json::json!({"nbformat": 4, "metadata": {}, "cells": [
        {"cell_type": "markdown", "source": format!("Before ![x](attachment:a.png) and ![y](data:image/png;base64,{letters}) after"),
         "attachments": {"a.png": {"image/png": letters}}},
        {"cell_type": "code", "source": "plot()", "outputs": [{"output_type": "display_data", "data": {"image/png": letters, "text/plain": "<Figure>"}}]},
    ]});
    let said = text("a.ipynb", notebook.to_string());
    assert!(!said.contains("base64letters"), "{} bytes", said.len());
    assert!(said.contains("Before") && said.contains("after"), "{said}");
}

// 19: mail.

fn alternative(text: &str, page: &str) -> String {
    format!(
        "From: shop@example.org\r\nTo: me@example.org\r\nSubject: Your invoice\r\nDate: Tue, 5 Mar 2024 10:00:00 +0000\r\nMIME-Version: 1.0\r\nContent-Type: multipart/alternative; boundary=x\r\n\r\n--x\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n{text}\r\n--x\r\nContent-Type: text/html; charset=utf-8\r\n\r\n{page}\r\n--x--\r\n"
    )
}

#[test]
fn a_blank_text_part_does_not_hide_the_page_of_a_mail() {
    let page = "<html><body><h1>Invoice 48213</h1><p>Please pay the amount of 94 kroner until the end of the month to the account below.</p><table><tr><td>Pump</td><td>94</td></tr></table></body></html>";
    for blank in [
        "\r\n\r\n",
        " ",
        "\u{a0}\r\n",
        "Your reader cannot show HTML.",
    ] {
        let said = text("a.eml", alternative(blank, page));
        assert!(
            said.contains("48213") && said.contains("Pump"),
            "{blank:?}: {said}"
        );
    }
}

#[test]
fn a_mail_that_says_the_same_twice_is_read_once() {
    let said = text(
        "a.eml",
        alternative("Invoice 48213 is due.", "<p>Invoice 48213 is due.</p>"),
    );
    assert_eq!(said.matches("48213").count(), 1, "{said}");
}

// 22, 23 and 26: PDF.

/// A PDF of pages with one font, each with its own entries and its own content.
fn pdf(font: &[String], pages: &[(&str, &str)]) -> Vec<u8> {
    let first = 3 + font.len();
    let kids: Vec<String> = (0..pages.len())
        .map(|at| format!("{} 0 R", first + 2 * at))
        .collect();
    let mut objects = vec![
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        format!(
            "<</Type/Pages/Count {}/Kids[{}]/MediaBox[0 0 595 842]>>",
            pages.len(),
            kids.join(" ")
        ),
    ];
    objects.extend(font.iter().cloned());
    for (at, (entries, content)) in pages.iter().enumerate() {
        objects.push(format!(
            "<</Type/Page/Parent 2 0 R{entries}/Resources<</Font<</F1 3 0 R>>>>/Contents {} 0 R>>",
            first + 2 * at + 1
        ));
        objects.push(format!(
            "<</Length {}>>\nstream\n{content}\nendstream",
            content.len()
        ));
    }
    samples::finished_pdf(&objects, "/Root 1 0 R")
}

fn helvetica() -> Vec<String> {
    vec!["<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_owned()]
}

#[test]
fn words_and_lines_of_turned_pages_are_apart() {
    let upright = "BT /F1 12 Tf 1 0 0 1 72 700 Tm (Annual report) Tj ET BT /F1 12 Tf 1 0 0 1 72 680 Tm (of the harbour) Tj ET BT /F1 12 Tf 1 0 0 1 200 680 Tm (1200) Tj ET";
    let left = "BT /F1 12 Tf 0 1 -1 0 100 72 Tm (Annual report) Tj ET BT /F1 12 Tf 0 1 -1 0 120 72 Tm (of the harbour) Tj ET BT /F1 12 Tf 0 1 -1 0 120 200 Tm (1200) Tj ET";
    let over = "BT /F1 12 Tf -1 0 0 -1 500 100 Tm (Annual report) Tj ET BT /F1 12 Tf -1 0 0 -1 500 120 Tm (of the harbour) Tj ET BT /F1 12 Tf -1 0 0 -1 372 120 Tm (1200) Tj ET";
    for (entries, content) in [
        ("", upright),
        ("/Rotate 90", upright),
        ("/Rotate 180", upright),
        ("/Rotate 270", upright),
        ("", left),
        ("/Rotate 90", left),
        ("", over),
        ("/Rotate 180", over),
    ] {
        let said = text("a.pdf", pdf(&helvetica(), &[(entries, content)]));
        let is_word = |word: &&str| word.chars().any(char::is_alphanumeric);
        let words: Vec<&str> = said.split_whitespace().filter(is_word).collect();
        assert_eq!(words.len(), 6, "{entries} {content}: {said}");
        let words = words.join(" ");
        for line in ["Annual report", "of the harbour", "1200"] {
            assert!(words.contains(line), "{entries} {content}: {said}");
        }
    }
}

/// A composed font of 95 signs, each 500 wide, as `widths` says.
fn composed(widths: &str) -> Vec<String> {
    let map = "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def 1 begincodespacerange <0000> <FFFF> endcodespacerange 1 beginbfrange <0001> <005F> <0020> endbfrange endcmap end end";
    vec![
        "<</Type/Font/Subtype/Type0/BaseFont/Own/Encoding/Identity-H/DescendantFonts[4 0 R]/ToUnicode 6 0 R>>".to_owned(),
        format!("<</Type/Font/Subtype/CIDFontType2/BaseFont/Own/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>/FontDescriptor 5 0 R{widths}>>"),
        "<</Type/FontDescriptor/FontName/Own/Flags 4/FontBBox[0 0 1000 1000]/ItalicAngle 0/Ascent 800/Descent -200/CapHeight 700/StemV 80>>".to_owned(),
        format!("<</Length {}>>\nstream\n{map}\nendstream", map.len()),
    ]
}

#[test]
fn words_of_composed_fonts_are_apart_in_whatever_form_their_widths_are() {
    let hex = |text: &str| -> String {
        text.bytes().fold(String::new(), |hex, byte| {
            format!("{hex}{:04X}", byte - 0x1f)
        })
    };
    let list = format!("/W[1[{}]]", "500 ".repeat(95));
    for widths in ["/W[1 95 500]", &list, "/DW 500", "/DW 1000/W[1 95 500]"] {
        // The first word is 36 wide; the second begins 4 after it.
        let moved = format!(
            "BT /F1 12 Tf 72 700 Td <{}> Tj 40 0 Td <{}> Tj ET",
            hex("annual"),
            hex("report")
        );
        let spaced = format!(
            "BT /F1 12 Tf 72 700 Td [<{}> -333 <{}>] TJ ET",
            hex("annual"),
            hex("report")
        );
        for content in [moved, spaced] {
            let said = text("a.pdf", pdf(&composed(widths), &[("", &content)]));
            assert_eq!(said, "annual report\n", "{widths} {content}");
        }
    }
}

#[test]
fn heads_are_said_once_and_a_word_parted_by_the_end_of_a_page_is_whole() {
    let page = |at: usize, last: &str, first: &str| {
        let mut content =
            format!("BT /F1 9 Tf 1 0 0 1 72 810 Tm (ACME Confidential - Page {at} of 40) Tj ET ");
        let middle = format!("{} pumps of hall {} work.", at * 37, at * at);
        let lines = [first.to_owned(), middle, last.to_owned()];
        for (line, text) in lines.iter().enumerate() {
            write!(
                content,
                "BT /F1 12 Tf 1 0 0 1 72 {} Tm ({text}) Tj ET ",
                740 - 60 * line
            )
            .unwrap();
        }
        content
    };
    let contents: Vec<String> = (1..=40)
        .map(|at| match at {
            3 => page(at, "The valve needs a new configu-", "Third."),
            4 => page(at, "It ends here.", "ration before it is opened."),
            _ => page(at, "It ends.", "It begins."),
        })
        .collect();
    let pages = contents.iter().map(|content| ("", content.as_str()));
    let pages: Vec<(&str, &str)> = pages.collect();
    let read = file("a.pdf", pdf(&helvetica(), &pages));
    let said = &read.extraction.text;
    assert_eq!(said.matches("ACME").count(), 1, "{said}");
    let flat: Vec<&str> = said.split_whitespace().collect();
    let flat = flat.join(" ");
    flat.must_hold("needs a new configuration before it is opened.");
    let at = |words: &str| said.lines().position(|line| line.contains(words)).unwrap() + 1;
    let lines = kb_agent::domain::LineRange {
        start: at("needs a new"),
        end: at("before it is opened"),
    };
    assert_eq!(read.extraction.place(lines).unwrap().to_string(), "pp. 3-4");
}

#[test]
fn a_page_without_text_is_said_to_be_missing() {
    let picture = "q 400 0 0 400 72 300 cm BI /W 1 /H 1 /CS /G /BPC 8 ID x EI Q";
    let said = "BT /F1 12 Tf 72 700 Td (The first page speaks.) Tj ET";
    let end = "BT /F1 12 Tf 72 700 Td (The last one too.) Tj ET";
    let read = file(
        "a.pdf",
        pdf(&helvetica(), &[("", said), ("", picture), ("", end)]),
    )
    .extraction;
    assert_eq!(read.text, "The first page speaks.\n\nThe last one too.\n");
    assert_eq!(read.missing.len(), 1, "{:?}", read.missing);
    assert!(
        read.missing[0].contains("page 2 of 3"),
        "{:?}",
        read.missing
    );
    assert_eq!(read.places.last().unwrap().place.to_string(), "p. 3");
}

#[test]
fn a_workbook_is_read_whatever_its_main_part_is_called() {
    let book = package(
        Main::Workbook,
        &table![
            "xl/workbook2.xml",
                &format!("<workbook {S}><sheets><sheet name=\"Ships\" sheetId=\"1\" r:id=\"a\"/></sheets></workbook>");
            "xl/_rels/workbook2.xml.rels",
                &relations(&[("a", "worksheet", "/xl/worksheets/one.xml")]);
            "xl/worksheets/one.xml",
                &sheet("<row r=\"1\"><c r=\"A1\" t=\"inlineStr\"><is><t>Ferry</t></is></c></row>");
        ],
    );
    let book = file("a.xlsx", book);
    assert_eq!(place_of(&book, "Ferry"), "Ships row 1");
}

#[test]
fn a_cell_of_a_page_that_covers_rows_belongs_to_all_of_them() {
    let page = "<table><tr><th>Region</th><th>City</th></tr><tr><td rowspan=2>Europe</td><td>Paris</td></tr><tr><td>Lyon</td></tr></table>";
    let said = text("a.html", page);
    let lyon = said.lines().find(|line| line.contains("Lyon")).unwrap();
    let cells: Vec<&str> = lyon.split('|').map(str::trim).collect();
    assert_eq!(cells, ["", "Europe", "Lyon", ""]);
}

#[test]
fn the_number_of_a_slide_is_not_said() {
    let presentation = format!(
        "<p:presentation xmlns:p=\"http://schemas.openxmlformats.org/presentationml/2006/main\" {W}><p:sldIdLst><p:sldId id=\"256\" r:id=\"a\"/></p:sldIdLst></p:presentation>"
    );
    let number = samples::shape("type=\"sldNum\" idx=\"12\"", "").replace(
        "<a:r><a:t></a:t></a:r>",
        "<a:fld id=\"{B}\" type=\"slidenum\"><a:t>99</a:t></a:fld>",
    );
    let slide = samples::slide_of(&[samples::shape("idx=\"1\"", "The ferry"), number]);
    let deck = package(
        Main::Presentation,
        &[
            ("ppt/presentation.xml", &presentation),
            (
                "ppt/_rels/presentation.xml.rels",
                &relations(&[("a", "slide", "slides/first.xml")]),
            ),
            ("ppt/slides/first.xml", &slide),
        ],
    );
    let said = text("a.pptx", deck);
    assert!(!said.contains("99"), "{said}");
}

#[test]
fn a_line_of_a_message_that_begins_with_from_is_text() {
    let mailbox = "From a@x Tue Mar  5 10:00:00 2024\nFrom: a@x\nSubject: One\n\nHello\nFrom here it is text\n\nFrom b@x Tue Mar  5 10:00:00 2024\nFrom: b@x\nSubject: Two\n\nend\n";
    let read = file("a.mbox", mailbox);
    assert_eq!(place_of(&read, "From here it is text"), "message 1: One");
    assert_eq!(place_of(&read, "end"), "message 2: Two");
}

#[test]
fn rich_text_after_a_byte_order_mark_or_blank_line_is_rich_text() {
    for begin in [&b"\xef\xbb\xbf"[..], b"\n"] {
        let said = text("a.rtf", [begin, br"{\rtf1\ansi Hello there.\par}"].concat());
        assert_eq!(said.trim(), "Hello there.");
    }
}

#[test]
fn cues_of_subtitles_have_no_entities_and_no_style_sheet() {
    let vtt = "WEBVTT\n\nSTYLE\n::cue { color: red }\n\n00:05.000 --> 00:06.000\nThis &amp; that\n";
    let said = text("a.vtt", vtt);
    said.must_hold("This & that");
    said.must_lack("color");
}
