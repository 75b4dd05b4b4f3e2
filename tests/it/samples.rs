//! Small real documents of every format, made here so that each byte of them is known.

use std::fmt::Write as _;
use std::io::{Cursor, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const W: &str = "http://schemas.openxmlformats.org/wordprocessingml/2006/main";
const R: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006/relationships";
const A: &str = "http://schemas.openxmlformats.org/drawingml/2006/main";
const P: &str = "http://schemas.openxmlformats.org/presentationml/2006/main";

/// An archive with these entries.
pub fn archive(entries: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in entries {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        zip.start_file(*name, options).unwrap();
        zip.write_all(content.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// What the main part of a package of Office is.
#[derive(Clone, Copy)]
pub enum Main {
    Document,
    Presentation,
    Workbook,
}

impl Main {
    fn content_type(self) -> String {
        let kind = match self {
            Self::Document => "wordprocessingml.document",
            Self::Presentation => "presentationml.presentation",
            Self::Workbook => "spreadsheetml.sheet",
        };
        format!("application/vnd.openxmlformats-officedocument.{kind}.main+xml")
    }
}

/// The list of content types and the relations of a package, `target` as the relation writes it.
fn package_head(main: Main, part: &str, target: &str) -> [(&'static str, String); 2] {
    [
        (
            "[Content_Types].xml",
            format!(
                "<Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\"><Default Extension=\"rels\" ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/><Default Extension=\"xml\" ContentType=\"application/xml\"/><Override PartName=\"/{part}\" ContentType=\"{}\"/></Types>",
                main.content_type()
            ),
        ),
        (
            "_rels/.rels",
            relations(&[
                ("rId1", "officeDocument", target),
                ("rId2", "metadata/core-properties", "docProps/core.xml"),
            ]),
        ),
    ]
}

/// The relations of a part: id, the last word of the type, target.
pub fn relations(relations: &[(&str, &str, &str)]) -> String {
    let mut xml =
        "<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\">"
            .to_owned();
    for (id, kind, target) in relations {
        let mode = if *kind == "hyperlink" {
            " TargetMode=\"External\""
        } else {
            ""
        };
        let namespace = if kind.starts_with("metadata") {
            PACKAGE
        } else {
            R
        };
        write!(
            xml,
            "<Relationship Id=\"{id}\" Type=\"{namespace}/{kind}\" Target=\"{target}\"{mode}/>"
        )
        .unwrap();
    }
    xml + "</Relationships>"
}

/// A package of Office whose main part is the first of `entries`.
pub fn package(main: Main, entries: &[(&str, &str)]) -> Vec<u8> {
    package_with_target(main, entries[0].0, entries)
}

/// [`package`] whose relation names its main part as `target`.
pub fn package_with_target(main: Main, target: &str, entries: &[(&str, &str)]) -> Vec<u8> {
    let head = package_head(main, entries[0].0, target);
    let head = head.iter().map(|(name, text)| (*name, text.as_str()));
    archive(&head.chain(entries.iter().copied()).collect::<Vec<_>>())
}

/// A package whose main part is zeros, many times larger than itself.
pub fn bomb(main: Main, part: &str, megabytes: usize) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for (name, content) in package_head(main, part, part) {
        zip.start_file(name, options).unwrap();
        zip.write_all(content.as_bytes()).unwrap();
    }
    zip.start_file(part, options).unwrap();
    let zeros = vec![0; 1024 * 1024];
    for _ in 0..megabytes {
        zip.write_all(&zeros).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// The same archive with every entry marked as encrypted.
pub fn locked(mut archive: Vec<u8>) -> Vec<u8> {
    for at in 0..archive.len() - 4 {
        match &archive[at..at + 4] {
            b"PK\x03\x04" => archive[at + 6] |= 1,
            b"PK\x01\x02" => archive[at + 8] |= 1,
            _ => {}
        }
    }
    archive
}

/// A Word document: headings, a numbered list, a table, a link.
pub fn docx() -> Vec<u8> {
    let p = |style: &str, text: &str| {
        format!(
            "<w:p><w:pPr><w:pStyle w:val=\"{style}\"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"
        )
    };
    let item = |text: &str| {
        format!(
            "<w:p><w:pPr><w:numPr><w:ilvl w:val=\"0\"/><w:numId w:val=\"1\"/></w:numPr></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"
        )
    };
    let cell = |text: &str| format!("<w:tc><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>");
    let body = [
        p("H1", "Handbook"),
        p("", "Words before the sections."),
        p("H2", "Commuting"),
        item("Ask your lead"),
        item("Fill in the bicycle form"),
        format!("<w:tbl><w:tr>{}{}</w:tr><w:tr>{}{}</w:tr></w:tbl>", cell("Vehicle"), cell("Allowance"), cell("Tricycle"), cell("70 | month")),
        "<w:p><w:r><w:t>See </w:t></w:r><w:hyperlink r:id=\"rId9\"><w:r><w:t>the policy</w:t></w:r></w:hyperlink><w:del><w:r><w:delText>gone</w:delText></w:r></w:del></w:p>".to_owned(),
    ]
    .concat();
    package(
        Main::Document,
        &table![
            "word/document.xml",
                &format!("<w:document xmlns:w=\"{W}\" xmlns:r=\"{R}\"><w:body>{body}</w:body></w:document>");
            "word/_rels/document.xml.rels",
                &relations(&[("rId9", "hyperlink", "policy.md"), ("rId1", "styles", "styles.xml"), ("rId2", "numbering", "numbering.xml")]);
            "word/styles.xml",
                &format!("<w:styles xmlns:w=\"{W}\"><w:style w:styleId=\"H1\"><w:name w:val=\"heading 1\"/></w:style><w:style w:styleId=\"H2\"><w:name w:val=\"Titre 2\"/><w:basedOn w:val=\"Base\"/></w:style><w:style w:styleId=\"Base\"><w:name w:val=\"b\"/><w:pPr><w:outlineLvl w:val=\"1\"/></w:pPr></w:style></w:styles>");
            "word/numbering.xml",
                &format!("<w:numbering xmlns:w=\"{W}\"><w:abstractNum w:abstractNumId=\"7\"><w:lvl w:ilvl=\"0\"><w:numFmt w:val=\"decimal\"/></w:lvl></w:abstractNum><w:num w:numId=\"1\"><w:abstractNumId w:val=\"7\"/></w:num></w:numbering>");
            "docProps/core.xml",
                "<cp:coreProperties xmlns:cp=\"http://schemas.openxmlformats.org/package/2006/metadata/core-properties\" xmlns:dc=\"http://purl.org/dc/elements/1.1/\"><dc:title>Staff handbook</dc:title></cp:coreProperties>";
        ],
    )
}

/// A shape of a slide that says a text.
pub fn shape(kind: &str, text: &str) -> String {
    format!(
        "<p:sp><p:nvSpPr><p:cNvPr id=\"2\" name=\"s\"/><p:cNvSpPr/><p:nvPr><p:ph {kind}/></p:nvPr></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"
    )
}

/// A slide of these shapes.
pub fn slide_of(shapes: &[String]) -> String {
    format!(
        "<p:sld xmlns:p=\"{P}\" xmlns:a=\"{A}\" xmlns:r=\"{R}\"><p:cSld><p:spTree><p:nvGrpSpPr/><p:grpSpPr/>{}</p:spTree></p:cSld></p:sld>",
        shapes.concat()
    )
}

/// Three slides; the third has notes.
pub fn pptx() -> Vec<u8> {
    let slide = |title: &str, text: &str| {
        slide_of(&[shape("type=\"title\"", title), shape("idx=\"1\"", text)])
    };
    let notes = format!(
        "<p:notes xmlns:p=\"{P}\" xmlns:a=\"{A}\"><p:cSld><p:spTree><p:sp><p:nvSpPr><p:cNvPr id=\"2\" name=\"s\"/><p:cNvSpPr/><p:nvPr><p:ph type=\"body\" idx=\"1\"/></p:nvPr></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/><a:p><a:r><a:t>Mention the lighthouse.</a:t></a:r></a:p></p:txBody></p:sp></p:spTree></p:cSld></p:notes>"
    );
    package(
        Main::Presentation,
        &table![
            "ppt/presentation.xml",
                &format!("<p:presentation xmlns:p=\"{P}\" xmlns:r=\"{R}\"><p:sldIdLst><p:sldId id=\"256\" r:id=\"a\"/><p:sldId id=\"257\" r:id=\"b\"/><p:sldId id=\"258\" r:id=\"c\"/></p:sldIdLst></p:presentation>");
            "ppt/_rels/presentation.xml.rels",
                &relations(&[("a", "slide", "slides/slide7.xml"), ("b", "slide", "slides/slide1.xml"), ("c", "slide", "slides/slide2.xml")]);
            "ppt/slides/slide7.xml", &slide("Welcome", "First words");
            "ppt/slides/slide1.xml", &slide("Roadmap", "The submarine ships in autumn");
            "ppt/slides/slide2.xml", &slide("Thanks", "Last words");
            "ppt/slides/_rels/slide2.xml.rels",
                &relations(&[("n", "notesSlide", "../notesSlides/notes1.xml")]);
            "ppt/notesSlides/notes1.xml", &notes;
        ],
    )
}

/// A workbook whose second sheet has a title above its header.
pub fn xlsx() -> Vec<u8> {
    let row = |number: usize, cells: &[&str]| {
        let mut xml = format!("<row r=\"{number}\">");
        for (column, text) in cells.iter().enumerate() {
            let at = char::from(b'A' + column as u8);
            match text.parse::<f64>() {
                Ok(value) => write!(xml, "<c r=\"{at}{number}\"><v>{value}</v></c>").unwrap(),
                Err(_) => write!(
                    xml,
                    "<c r=\"{at}{number}\" t=\"inlineStr\"><is><t>{text}</t></is></c>"
                )
                .unwrap(),
            }
        }
        xml + "</row>"
    };
    let sheet = |rows: &[String]| {
        format!(
            "<worksheet xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\"><sheetData>{}</sheetData></worksheet>",
            rows.concat()
        )
    };
    let first = sheet(&[row(1, &["Name", "Role"]), row(2, &["Ada", "Lead"])]);
    let second = sheet(&[
        row(1, &["Budget of the year"]),
        row(3, &["Project", "Owner", "Amount"]),
        row(4, &["Atlas", "Bo", "1200"]),
        row(5, &["Periscope", "Cy", "340.5"]),
    ]);
    package(
        Main::Workbook,
        &table![
            "xl/workbook.xml",
                &format!("<workbook xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\" xmlns:r=\"{R}\"><sheets><sheet name=\"Staff\" sheetId=\"1\" r:id=\"r1\"/><sheet name=\"Costs\" sheetId=\"2\" r:id=\"r2\"/></sheets></workbook>");
            "xl/_rels/workbook.xml.rels",
                &relations(&[("r1", "worksheet", "worksheets/sheet1.xml"), ("r2", "worksheet", "worksheets/sheet2.xml")]);
            "xl/worksheets/sheet1.xml", &first;
            "xl/worksheets/sheet2.xml", &second;
        ],
    )
}

const ODF: &str =
    "xmlns:office=\"o\" xmlns:text=\"t\" xmlns:table=\"b\" xmlns:xlink=\"x\" xmlns:draw=\"d\"";

/// A file of OpenDocument of that kind.
pub fn odf(kind: &str, body: &str) -> Vec<u8> {
    odf_with(kind, body, &[])
}

/// A file of OpenDocument of that kind with these files beside its contents.
pub fn odf_with(kind: &str, body: &str, beside: &[(&str, &str)]) -> Vec<u8> {
    let kind = format!("application/vnd.oasis.opendocument.{kind}");
    let content = format!(
        "<office:document-content {ODF}><office:body>{body}</office:body></office:document-content>"
    );
    let own = [("mimetype", kind.as_str()), ("content.xml", &content)];
    archive(&[&own, beside].concat())
}

/// A text with sections.
pub fn odt() -> Vec<u8> {
    odf(
        "text",
        "<office:text><text:h text:outline-level=\"1\">Garden</text:h><text:p>All about plants.</text:p><text:h text:outline-level=\"2\">Watering</text:h><text:list><text:list-item><text:p>Water the <text:s/>rhubarb at dawn</text:p></text:list-item></text:list><text:p><text:a xlink:href=\"tools.md\">the tools</text:a></text:p></office:text>",
    )
}

/// A sheet whose rows and cells repeat, some of them without end.
pub fn ods() -> Vec<u8> {
    let cell = |text: &str| format!("<table:table-cell><text:p>{text}</text:p></table:table-cell>");
    odf(
        "spreadsheet",
        &format!(
            "<office:spreadsheet><table:table table:name=\"Stock\"><table:table-row>{}{}</table:table-row><table:table-row table:number-rows-repeated=\"4\"><table:table-cell table:number-columns-repeated=\"2\"/></table:table-row><table:table-row>{}{}</table:table-row><table:table-row table:number-rows-repeated=\"1048000\"><table:table-cell table:number-columns-repeated=\"1000000000\"><text:p>x</text:p></table:table-cell></table:table-row></table:table></office:spreadsheet>",
            cell("Item"),
            cell("Count"),
            cell("Anemometer"),
            cell("12")
        ),
    )
}

/// A book of two chapters, stored in another order than it is read.
pub fn epub() -> Vec<u8> {
    let chapter = |title: &str, text: &str| {
        format!(
            "<?xml version=\"1.0\"?><html xmlns=\"http://www.w3.org/1999/xhtml\"><head><title/></head><body><h1>{title}</h1><p>{text}</p></body></html>"
        )
    };
    archive(&table![
        "mimetype", "application/epub+zip";
        "META-INF/container.xml",
            "<container><rootfiles><rootfile full-path=\"OEBPS/book.opf\"/></rootfiles></container>";
        "OEBPS/book.opf",
            "<package><metadata xmlns:dc=\"d\"><dc:title>The voyage</dc:title></metadata><manifest><item id=\"two\" href=\"b%20c.xhtml\" media-type=\"application/xhtml+xml\"/><item id=\"one\" href=\"a.xhtml\" media-type=\"application/xhtml+xml\"/></manifest><spine><itemref idref=\"one\"/><itemref idref=\"two\"/></spine></package>";
        "OEBPS/b c.xhtml", &chapter("The storm", "They met a waterspout.");
        "OEBPS/a.xhtml", &chapter("Departure", "They set sail.");
    ])
}

/// A PDF of these pages, a line a paragraph.
pub fn pdf(title: &str, pages: &[&str]) -> Vec<u8> {
    let kids: Vec<String> = (0..pages.len())
        .map(|n| format!("{} 0 R", 5 + 2 * n))
        .collect();
    let mut objects = vec![
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        format!(
            "<</Type/Pages/Count {}/Kids[{}]/MediaBox[0 0 595 842]>>",
            pages.len(),
            kids.join(" ")
        ),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_owned(),
        format!("<</Title({title})>>"),
    ];
    for (at, page) in pages.iter().enumerate() {
        let mut content = "BT /F1 12 Tf 72 760 Td 16 TL ".to_owned();
        for line in page.lines() {
            write!(content, "({line}) Tj T* ").unwrap();
        }
        content.push_str("ET");
        objects.push(format!(
            "<</Type/Page/Parent 2 0 R/Resources<</Font<</F1 3 0 R>>>>/Contents {} 0 R>>",
            6 + 2 * at
        ));
        objects.push(format!(
            "<</Length {}>>\nstream\n{content}\nendstream",
            content.len()
        ));
    }
    finished_pdf(&objects, "/Root 1 0 R/Info 4 0 R")
}

/// Objects numbered from 1, with the table that says where they are.
pub fn finished_pdf(objects: &[String], trailer: &str) -> Vec<u8> {
    let mut pdf = "%PDF-1.4\n".to_owned();
    let mut table = String::from("0000000000 65535 f \n");
    for (at, object) in objects.iter().enumerate() {
        writeln!(table, "{:010} 00000 n ", pdf.len()).unwrap();
        write!(pdf, "{} 0 obj\n{object}\nendobj\n", at + 1).unwrap();
    }
    let start = pdf.len();
    let size = objects.len() + 1;
    write!(
        pdf,
        "xref\n0 {size}\n{table}trailer\n<</Size {size}{trailer}>>\nstartxref\n{start}\n%%EOF\n"
    )
    .unwrap();
    pdf.into_bytes()
}

pub const NOTEBOOK: &str = r##"{"nbformat":4,"metadata":{"kernelspec":{"language":"python"}},"cells":[
{"cell_type":"markdown","source":["# Analysis\n","\n","We load data."]},
{"cell_type":"code","source":"import seismograph\nprint(1)","outputs":[{"output_type":"stream","text":["magnitude 7\n"]}]}]}"##;

pub const MAIL: &str = "From: =?utf-8?q?Zo=C3=AB?= <zoe@example.org>\r\nTo: team@example.org\r\nSubject: The harvester\r\nDate: Tue, 5 Mar 2024 10:00:00 +0000\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\nContent-Type: text/html; charset=iso-8859-1\r\n\r\n<p>It arrives <b>Caf\u{e9}</b> on Friday.</p>\r\n--x\r\nContent-Type: text/plain; name=plan.txt\r\nContent-Disposition: attachment; filename=plan.txt\r\n\r\nUnload the combine first.\r\n--x--\r\n";

pub const PAGE: &str = "<!doctype html><html><head><title>Kiln manual</title></head><body><nav>Menu</nav><h1>Firing</h1><p>Heat slowly.</p><h2>Cooling</h2><p>Wait for the pyrometer. See <a href=\"glaze.md\">glazes</a>.</p><script>var s=1</script></body></html>";

pub const RECORDS: &str = "Name;Town;Note\nAda;Oslo;\"two\nlines\"\nBo;Bergen;Has a theodolite\n";

/// A PDF of a page that is a picture, and of a page of text where there is one.
pub fn scan(second: Option<&str>) -> Vec<u8> {
    let stream = |dictionary: &str, content: &str| {
        let length = content.len();
        format!("<<{dictionary}/Length {length}>>\nstream\n{content}\nendstream")
    };
    let picture =
        "/Type/XObject/Subtype/Image/Width 1/Height 1/ColorSpace/DeviceGray/BitsPerComponent 8";
    let said = second.unwrap_or_default();
    let kids = if second.is_some() {
        "3 0 R 6 0 R"
    } else {
        "3 0 R"
    };
    let count = if second.is_some() { 2 } else { 1 };
    let objects = [
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        format!("<</Type/Pages/Count {count}/Kids[{kids}]/MediaBox[0 0 612 792]>>"),
        "<</Type/Page/Parent 2 0 R/Resources<</XObject<</X 5 0 R>>>>/Contents 4 0 R>>".to_owned(),
        stream("", "q 600 0 0 700 0 0 cm /X Do Q"),
        stream(picture, "x"),
        "<</Type/Page/Parent 2 0 R/Resources<</Font<</F1 8 0 R>>>>/Contents 7 0 R>>".to_owned(),
        stream("", &format!("BT /F1 12 Tf 72 700 Td ({said}) Tj ET")),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_owned(),
    ];
    finished_pdf(&objects, "/Root 1 0 R")
}
