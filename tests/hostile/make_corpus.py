#!/usr/bin/env python3
"""Writes files that were made to break what reads them, beside a few good ones.

    make_corpus.py FOLDER [--large]

Standard library only, the same bytes every time. What is merely long is an eightieth as long
without `--large`. The good files hold the word `lighthouse` and a
word of their own, the first of their name: `good/lantern.docx` says `lantern`.
"""

import io
import json
import os
import random
import struct
import sys
import zipfile
import zlib

MB = 1024 * 1024
ROOT = sys.argv[1]
LARGE = "--large" in sys.argv


def put(name, content):
    """One file; text is written as UTF-8."""
    path = os.path.join(ROOT, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)


def many(count):
    return count if LARGE else count // 80


def noise(size, seed=7):
    return random.Random(seed).randbytes(size)


# --- PDF ------------------------------------------------------------------------------------------


def stream(content, entries="", packed=True):
    if packed:
        content = zlib.compress(content, 9)
        entries += "/Filter/FlateDecode"
    return f"<</Length {len(content)}{entries}>>\nstream\n".encode() + content + b"\nendstream"


def pdf(objects, trailer="/Root 1 0 R"):
    """Objects from 1 on, with a table that says where they are."""
    out = bytearray(b"%PDF-1.5\n")
    at = []
    for number, content in enumerate(objects, 1):
        at.append(len(out))
        content = content.encode() if isinstance(content, str) else content
        out += f"{number} 0 obj\n".encode() + content + b"\nendobj\n"
    table = len(out)
    out += f"xref\n0 {len(at) + 1}\n0000000000 65535 f \n".encode()
    for offset in at:
        out += f"{offset:010} 00000 n \n".encode()
    out += f"trailer\n<</Size {len(at) + 1}{trailer}>>\nstartxref\n{table}\n%%EOF".encode()
    return bytes(out)


FONT = "/Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>>>"


def page(content, resources=FONT, more=(), entries="", attributes=""):
    return pdf(
        [
            "<</Type/Catalog/Pages 2 0 R>>",
            "<</Type/Pages/Kids[3 0 R]/Count 1>>",
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R{attributes}"
            f"/Resources<<{resources}>>>>",
            stream(content, entries) if isinstance(content, bytes) else content,
            *more,
        ]
    )


def said(text):
    return f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET\n".encode()


def composite(cmap, widths="/W[0[500]]"):
    """A font whose characters another part names."""
    font = (
        "/Font<</F1<</Type/Font/Subtype/Type0/BaseFont/A/Encoding/Identity-H/ToUnicode 5 0 R"
        f"/DescendantFonts[<</Type/Font/Subtype/CIDFontType2/CIDSystemInfo<<>>{widths}>>]>>>>"
    )
    return page(b"BT /F1 9 Tf <0001> Tj ET", font, [stream(cmap)])


def ranges(kind, lines):
    return (
        b"/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <0000> <FFFFFFFF> "
        b"endcodespacerange " + f"{len(lines)} begin{kind} ".encode() + b" ".join(lines)
        + f" end{kind} endcmap".encode()
    )


def pdfs():
    yield "q", page(b"q " * 8_000_000)
    yield "bt", page(b"BT ET " * 2_600_000)
    yield "tm", page(b"BT /F1 9 Tf " + b"1 0 0 1 9 9 Tm (a) Tj " * 400_000 + b"ET")
    yield "cm", page(b"1 0 0 1 1 1 cm " * 1_000_000)
    yield "tj-array", page(b"BT /F1 9 Tf [" + b"(a) -9 " * 1_500_000 + b"] TJ ET")
    yield "deep-array", page(b"BT [" + b"[" * 200_000 + b"] TJ ET")
    yield "deep-object", pdf(["[" * 100_000 + "]" * 100_000, "<<" * 50_000])
    yield "deep-dictionary", pdf(["<</A" * 100_000 + " 1" + ">>" * 100_000])
    yield "columns", page(said("x"), entries="/DecodeParms<</Predictor 12/Columns 2147483647>>")
    yield "columns-negative", page(said("x"), entries="/DecodeParms<</Predictor 15/Columns -9>>")
    yield "colors", page(
        said("x"), entries="/DecodeParms<</Predictor 12/Colors 65535/BitsPerComponent 65535>>"
    )
    yield "cmap-range", composite(ranges("bfrange", [b"<00000000> <FFFFFFFF> <0000>"]))
    yield "cmap-ranges", composite(ranges("bfrange", [b"<0000> <FFFF> <0000>"] * 20))
    yield "cmap-chars", composite(ranges("bfchar", [b"<00> <" + b"00" * 9_000_000 + b">"]))
    yield "widths", composite(ranges("bfchar", [b"<01> <0041>"]), "/W[0 2147483647 500]")
    xref = stream(bytes(15), "/Type/XRef/Size 5/W[1 100000000000 1]/Root 1 0 R")
    yield "xref-widths", b"%PDF-1.5\n1 0 obj\n" + xref + b"\nendobj\nstartxref\n9\n%%EOF"
    xref = stream(bytes(15), "/Type/XRef/Size 4294967295/W[1 1 1]/Index[0 4294967295]/Root 1 0 R")
    yield "xref-index", b"%PDF-1.5\n1 0 obj\n" + xref + b"\nendobj\nstartxref\n9\n%%EOF"
    yield "xref-circle", b"%PDF-1.5\nxref\n0 1\n0000000000 65535 f \ntrailer\n<</Size 1/Prev 9>>\nstartxref\n9\n%%EOF"
    yield "pages-circle", pdf(["<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[2 0 R]/Count 1>>"])
    yield "kids", pdf(
        ["<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[" + "3 0 R " * 50_000 + "]/Count 1>>",
         f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<<{FONT}>>>>",
         stream(said("a"))]
    )
    yield "objects", pdf(
        ["<</Type/Catalog/Pages 2 0 R>>",
         stream(b"".join(f"{n} 0 ".encode() for n in range(2_000_000)),
                "/Type/ObjStm/N 2147483647/First 2147483647")]
    )
    bomb = zlib.compress(bytes(400 * MB), 9)
    yield "bomb", page(f"<</Length {len(bomb)}/Filter/FlateDecode>>\nstream\n".encode() + bomb + b"\nendstream")
    twice = zlib.compress(bomb, 9)
    yield "bomb-in-bomb", page(
        f"<</Length {len(twice)}/Filter[/FlateDecode/FlateDecode]>>\nstream\n".encode()
        + twice + b"\nendstream"
    )
    hexed = b"41" * (2 * MB)
    yield "many-filters", page(
        f"<</Length {len(hexed)}/Filter[{'/ASCIIHexDecode' * 5000}]>>\nstream\n".encode()
        + hexed + b"\nendstream"
    )
    form = stream(b"/X Do " * 10_000, "/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 5 0 R>>>>")
    yield "forms", page(b"/X Do", FONT + "/XObject<</X 5 0 R>>", [form])
    yield "truncated", page(said("half a page") * 9)[:300]
    yield "length", page(b"BT ET").replace(b"/Length 1", b"/Length 99999999999999999991", 1)
    yield "noise", b"%PDF-1.7\n" + noise(300_000)
    yield "type1", page(
        b"BT /F1 9 Tf (a) Tj ET",
        "/Font<</F1<</Type/Font/Subtype/Type1/BaseFont/A/FontDescriptor<</FontFile 5 0 R/Flags 4>>>>>>",
        [stream(b"%!PS-AdobeFont-1.0\n" + b"{" * 300_000 + b"eexec", "/Length1 300027")],
    )
    yield "cff", page(
        b"BT /F1 9 Tf (a) Tj ET",
        "/Font<</F1<</Type/Font/Subtype/Type1/BaseFont/A/FontDescriptor<</FontFile3 5 0 R/Flags 4>>>>>>",
        [stream(b"\x01\x00\x04\x04" + b"\xff" * 4000, "/Subtype/Type1C")],
    )
    yield "differences", page(
        b"BT /F1 9 Tf (a) Tj ET",
        "/Font<</F1<</Type/Font/Subtype/Type1/BaseFont/A/FirstChar -2147483648/LastChar 2147483647"
        "/Widths[" + "1 " * 50_000 + "]/Encoding<</Differences[2147483647/a 300/b -5/c]>>>>>>",
    )
    yield "function", page(
        b"/C cs 1 sc",
        FONT + "/ColorSpace<</C[/Separation/A/DeviceRGB<</FunctionType 0/Domain[0 1]/Range[0 1]"
        "/Size[2147483647]/BitsPerSample 32>>]>>",
    )


# --- archives -------------------------------------------------------------------------------------


def archive(entries, method=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as made:
        for name, content in entries:
            made.writestr(zipfile.ZipInfo(name), content, method)
    return out.getvalue()


PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def relations(*all):
    inner = "".join(
        f'<Relationship Id="r{at}" Type="{OFFICE}/{kind}" Target="{target}"/>'
        for at, (kind, target) in enumerate(all)
    )
    return f'<Relationships xmlns="{PACKAGE}">{inner}</Relationships>'


def head(kind, part):
    """What every package has: the types of its parts, and which part is the main one."""
    main = f"application/vnd.openxmlformats-officedocument.{kind}.main+xml"
    types = "http://schemas.openxmlformats.org/package/2006/content-types"
    return [
        ("[Content_Types].xml", f'<Types xmlns="{types}"><Override PartName="/{part}" ContentType="{main}"/></Types>'),
        ("_rels/.rels", relations(("officeDocument", part))),
    ]


def xlsx(sheet="", strings="<sst/>", sheets=1, styles=None, workbook=""):
    names = "".join(f'<sheet name="S{n}" sheetId="{n + 1}" r:id="r0"/>' for n in range(sheets))
    parts = [("worksheet", "worksheets/sheet1.xml"), ("sharedStrings", "sharedStrings.xml")]
    parts += [("styles", "styles.xml")] if styles else []
    entries = head("spreadsheetml.sheet", "xl/workbook.xml") + [
        ("xl/workbook.xml",
         f'{workbook}<workbook xmlns="{SHEET}" xmlns:r="{OFFICE}"><sheets>{names}</sheets></workbook>'),
        ("xl/_rels/workbook.xml.rels", relations(*parts)),
        ("xl/worksheets/sheet1.xml", f'<worksheet xmlns="{SHEET}">{sheet}</worksheet>'),
        ("xl/sharedStrings.xml", strings),
    ]
    return archive(entries + ([("xl/styles.xml", styles)] if styles else []))


def rows(*cells):
    return f'<sheetData><row r="1">{"".join(cells)}</row></sheetData>'


def sst(count, *texts):
    inner = "".join(f"<si><t>{text}</t></si>" for text in texts)
    return f'<sst xmlns="{SHEET}" count="1" uniqueCount="{count}">{inner}</sst>'


ENTITIES = (
    '<!DOCTYPE x [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(20))
    + "]>"
)
FAR = '<c r="XFD1048576"><v>1</v></c>'


def workbooks():
    yield "strings.xlsx", xlsx(rows('<c r="A1" t="s"><v>0</v></c>'), sst(4294967295, "a"))
    yield "strings-negative.xlsx", xlsx(rows('<c r="A1" t="s"><v>0</v></c>'), sst(-1, "a"))
    yield "string-index.xlsx", xlsx(rows('<c r="A1" t="s"><v>99999999999</v></c>'), sst(1, "a"))
    yield "dimension.xlsx", xlsx('<dimension ref="A1:XFD1048576"/>' + rows(FAR))
    yield "dimension-lies.xlsx", xlsx('<dimension ref="ZZZZZZ99999999999:A1"/>' + rows(FAR))
    yield "reference.xlsx", xlsx(rows('<c r="' + "Z" * 5000 + '99999999999999"><v>1</v></c>'))
    yield "same-string.xlsx", xlsx(
        "<sheetData>" + "".join(f'<row r="{n}"><c r="A{n}" t="s"><v>0</v></c></row>' for n in range(1, 60_000))
        + "</sheetData>", sst(1, "long " * 20_000)
    )
    yield "cells.xlsx", xlsx("<sheetData><row>" + "<c><v>1</v></c>" * 3_000_000 + "</row></sheetData>")
    yield "sheets.xlsx", xlsx(rows(FAR), sheets=60_000)
    yield "merged.xlsx", xlsx(
        rows(FAR) + "<mergeCells>" + '<mergeCell ref="A1:XFD1048576"/>' * 200_000 + "</mergeCells>"
    )
    yield "entities.xlsx", xlsx(rows('<c r="A1" t="inlineStr"><is><t>x</t></is></c>'),
                                ENTITIES + sst(1, "&u;"), workbook=ENTITIES)
    yield "formats.xlsx", xlsx(rows('<c r="A1" s="4294967295"><v>1</v></c>'), styles=(
        f'<styleSheet xmlns="{SHEET}"><numFmts count="4294967295">'
        + "".join(f'<numFmt numFmtId="{n}" formatCode="{"[" * 200}"/>' for n in range(20_000))
        + '</numFmts><cellXfs count="4294967295"><xf numFmtId="1"/></cellXfs></styleSheet>'))
    yield "truncated.xlsx", xlsx(rows(FAR))[:-200]
    yield "deep.xlsx", xlsx("<a>" * 500_000)
    yield "values.xlsx", xlsx(rows('<c r="A1" t="d"><v>-99999-99-99</v></c>', '<c r="B1" t="b"><v>x</v></c>',
                                   '<c r="C1"><v>1e999999</v></c>', '<c r="D1"><f>' + "(" * 90_000 + "</f></c>"))
    yield "binary.xlsb", archive([("xl/workbook.bin", noise(3000))])


WORD_HEAD = head("wordprocessingml.document", "word/document.xml")


def docx(body, begin=""):
    return archive(WORD_HEAD + [
                    ("word/document.xml",
                     f'{begin}<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>')])


def paragraph(text):
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


ODS = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
)


def ods(table, kind="spreadsheet"):
    return archive([
        ("mimetype", f"application/vnd.oasis.opendocument.{kind}"),
        ("content.xml", f"<office:document-content {ODS}><office:body><office:{kind}>{table}"
                        f"</office:{kind}></office:body></office:document-content>"),
    ])


def documents():
    yield "entities.docx", docx(paragraph("&u;"), ENTITIES)
    yield "deep.docx", docx("<w:p>" * 400_000)
    yield "tables.docx", docx("<w:tbl><w:tr><w:tc>" * 60_000 + paragraph("x"))
    yield "cells.docx", docx(
        "<w:tbl>" + "<w:tr/>" * 20_000 + "<w:tr>" + "<w:tc/>" * 20_000 + "</w:tr></w:tbl>" + paragraph("x"))
    yield "runs.docx", docx("<w:p>" + "<w:r><w:t>a</w:t></w:r>" * 900_000 + "</w:p>")
    yield "attributes.docx", docx("<w:p " + " ".join(f'a{n}="1"' for n in range(300_000)) + "/>" + paragraph("x"))
    yield "bomb.docx", archive(WORD_HEAD + [("word/document.xml", bytes(64 * MB))])
    yield "overlapping.docx", overlapping()
    yield "encrypted.docx", bytes(marked(docx(paragraph("x"))))
    yield "truncated.docx", docx(paragraph("half"))[:-60]
    yield "names.docx", archive(WORD_HEAD + [("../../../../etc/cron.d/kb", "x"), ("word/document.xml", paragraph("x"))])
    yield "entries.docx", archive([(f"a{n}", "") for n in range(30_000)])
    yield "nested.zip", nested()
    yield "size.docx", lying(docx(paragraph("x")))
    yield "method.docx", docx(paragraph("x")).replace(b"\x08\x00", b"\x63\x00")
    yield "repeated.ods", ods(
        '<table:table><table:table-row table:number-rows-repeated="2147483647">'
        '<table:table-cell table:number-columns-repeated="2147483647"><text:p>a</text:p>'
        "</table:table-cell></table:table-row></table:table>")
    yield "repeated-within.ods", ods(
        "<table:table>" + '<table:table-row table:number-rows-repeated="99999">'
        '<table:table-cell table:number-columns-repeated="99999"><text:p>ab</text:p></table:table-cell>'
        "</table:table-row>" * 9 + "</table:table>")
    yield "spaces.odt", ods('<text:p>a<text:s text:c="4294967295"/>b</text:p>', "text")
    yield "deep.odt", ods("<text:list><text:list-item>" * 200_000, "text")
    yield "deep.odp", ods("<draw:g>" * 300_000, "presentation")
    yield "slides.pptx", archive(head("presentationml.presentation", "ppt/presentation.xml") + [
        ("ppt/presentation.xml", "<p>" + '<p:sldId r:id="r0"/>' * 500_000 + "</p>"),
        ("ppt/_rels/presentation.xml.rels", relations(("slide", "slides/slide1.xml"))),
        ("ppt/slides/slide1.xml", "<a:t>again and again</a:t>" * 2000)])
    yield "chapters.epub", archive([
        ("mimetype", "application/epub+zip"),
        ("META-INF/container.xml", '<rootfile full-path="b.opf"/>'),
        ("b.opf", "<p>" + "".join(f'<item id="i{n}" media-type="x/html" href="c"/><itemref idref="i{n}"/>'
                                  for n in range(3000)) + "</p>"),
        ("c", "<p>" + "words " * 20_000 + "</p>")])
    yield "deep.epub", archive([
        ("mimetype", "application/epub+zip"),
        ("META-INF/container.xml", '<rootfile full-path="b.opf"/>'),
        ("b.opf", '<p><item id="i" media-type="x/html" href="c"/><itemref idref="i"/></p>'),
        ("c", "<b><i><table>" * 150_000)])


def marked(made):
    """Every entry says that it is encrypted."""
    made = bytearray(made)
    for at in range(len(made) - 4):
        if made[at:at + 4] == b"PK\x03\x04":
            made[at + 6] |= 1
        if made[at:at + 4] == b"PK\x01\x02":
            made[at + 8] |= 1
    return made


def lying(made):
    """Every entry says that it unpacks to four gigabytes."""
    made = bytearray(made)
    for at in range(len(made) - 30):
        if made[at:at + 4] == b"PK\x01\x02":
            made[at + 24:at + 28] = b"\xfe\xff\xff\xff"
        if made[at:at + 4] == b"PK\x03\x04":
            made[at + 22:at + 26] = b"\xfe\xff\xff\xff"
    return bytes(made)


def overlapping():
    """A thousand names for one packed part."""
    packed = zlib.compress(bytes(20 * MB), 9)[2:-4]
    crc = zlib.crc32(bytes(20 * MB))
    name = b"word/document.xml"
    local = struct.pack("<IHHHHHIIIHH", 0x04034B50, 20, 0, 8, 0, 0, crc, len(packed), 20 * MB, len(name), 0)
    body = local + name + packed
    table = b""
    for n in range(1000):
        called = name if n == 0 else b"xl/%d" % n
        table += struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 20, 20, 0, 8, 0, 0, crc, len(packed),
                             20 * MB, len(called), 0, 0, 0, 0, 0, 0) + called
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 1000, 1000, len(table), len(body), 0)
    return body + table + end


def nested():
    inner = bytes(1000)
    for depth in range(60):
        inner = archive([(f"{depth}.zip", inner)])
    return inner


# --- old formats of Office ------------------------------------------------------------------------


def compound(sectors, header=None, table=None):
    """A compound file of sectors of 512 bytes, the first of which is its table."""
    head = bytearray(512)
    head[:8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
    head[24:34] = struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6)
    head[44:76] = struct.pack("<IIIIIIII", 1, 1, 0, 4096, 0xFFFFFFFE, 0, 0xFFFFFFFE, 0)
    head[76:512] = struct.pack("<I", 0) + b"\xff" * 432
    for at, value in (header or {}).items():
        head[at:at + 4] = struct.pack("<I", value)
    links = table or [0xFFFFFFFD, 0xFFFFFFFE] + list(range(3, 2 + len(sectors))) + [0xFFFFFFFE]
    links += [0xFFFFFFFF] * (128 - len(links))
    return bytes(head) + struct.pack("<128I", *links[:128]) + b"".join(s.ljust(512, b"\0") for s in sectors)


def entry(name, kind, child, start, size):
    called = name.encode("utf-16-le")
    return (called.ljust(64, b"\0") + struct.pack("<HBBIII", len(called) + 2, kind, 1, 0xFFFFFFFF, 0xFFFFFFFF, child)
            + bytes(36) + struct.pack("<IQ", start, size))


def book(records, size=None, **more):
    content = b"".join(struct.pack("<HH", kind, len(data)) + data for kind, data in records)
    content = content.ljust(4096, b"\0")
    folder = entry("Root Entry", 5, 1, 0xFFFFFFFE, 0) + entry("Workbook", 2, 0xFFFFFFFF, 2, size or len(content))
    sectors = [folder] + [content[at:at + 512] for at in range(0, len(content), 512)]
    return compound(sectors, **more)


BOF = (0x809, struct.pack("<HHHHII", 0x600, 5, 0, 0, 0, 0))
PAGE = (0x809, struct.pack("<HHHHII", 0x600, 16, 0, 0, 0, 0))
EOF = (0x0A, b"")


def old_office():
    yield "noise.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + noise(60_000)
    yield "strings.xls", book([BOF, (0xFC, struct.pack("<II", 0xFFFFFFFF, 0xFFFFFFFF) + b"\xff\xff\x01"), EOF])
    yield "far.xls", book([BOF, (0x85, struct.pack("<IBBBB", 60, 0, 0, 1, 0) + b"S"), EOF, PAGE,
                           (0x203, struct.pack("<HHHd", 65535, 65535, 0, 1.0)), EOF])
    yield "offset.xls", book([BOF, (0x85, struct.pack("<IBBBB", 0xFFFFFFFF, 0, 0, 255, 1) + b"S"), EOF])
    yield "size.xls", book([BOF, EOF], size=2**62)
    yield "circle.xls", book([BOF, EOF], table=[0xFFFFFFFD, 0xFFFFFFFE, 3, 2])
    yield "own-folder.xls", book([BOF, EOF], table=[0xFFFFFFFD, 1, 2])
    yield "sectors.xls", book([BOF, EOF], header={30: 0x00060040, 44: 0xFFFFFFFF, 72: 0xFFFFFFFF})
    yield "old.doc", compound([entry("Root Entry", 5, 1, 0, 0) + entry("WordDocument", 2, 0xFFFFFFFF, 0, 0)])
    yield "rich.rtf", "{\\rtf1" + "{" * 500_000


# --- text -----------------------------------------------------------------------------------------


def texts():
    yield "deep.json", "[" * many(5_000_000)
    yield "deep-objects.json", '{"a":' * many(1_500_000)
    yield "numbers.json", "[" + "1," * many(4_000_000) + "1]"
    yield "brackets.json", "[" + "[]," * many(3_000_000) + "[]]"
    yield "string.json", '["' + "\\u0000" * many(1_600_000) + '"]'
    yield "spaces.json", "[" + "," * many(9_000_000) + "]"
    yield "escapes.json", '["' + "\\" * many(9_000_001) + '"]'
    yield "deep.ipynb", '{"cells":' + "[" * many(4_000_000)
    yield "cells.ipynb", '{"cells":[' + "{}," * many(3_000_000) + "{}]}"
    # A map of one entry takes a hundred times its bytes.
    yield "maps.ipynb", '{"cells":[' + '{"":0},' * 1_300_000 + "0]}"
    yield "sources.ipynb", json.dumps(
        {"cells": [{"cell_type": "code", "source": ["x\n"] * many(700_000), "outputs": []}] * 2})[:9 * MB]
    yield "outputs.ipynb", '{"cells":[{"cell_type":"code","source":"x","outputs":[' + (
        '{"output_type":"stream","text":"' + "y\\n" * 40 + '"},') * many(60_000) + "{}]}]}"
    yield "fences.ipynb", json.dumps({"cells": [{"cell_type": "markdown", "source": "```\n" * many(1_500_000)}]})
    yield "numbers.ipynb", '{"cells":[' + "1e999," * many(1_500_000) + "0]}"
    yield "columns.csv", "," * many(10_000_000)
    yield "wide.csv", ",".join(f"c{n}" for n in range(many(900_000))) + "\n" + "1," * many(900_000)
    yield "rows.csv", "a\n" * many(5_000_000)
    yield "cells.csv", "a,b\n" * many(2_500_000)
    yield "quote.csv", '"' + "a,b\n" * many(2_400_000)
    yield "quotes.csv", '"' * many(10_000_000)
    yield "uneven.csv", "".join("x," * (n % 500) + "\n" for n in range(many(18_000)))
    yield "separators.csv", ",;\t|" * many(2_500_000)
    yield "tabs.tsv", "\t" * many(10_000_000)
    yield "breaks.tsv", "\r" * many(9_000_000) + "\n\r\t" * many(200_000)
    yield "cells.tsv", "a\tb\tc\n" * many(1_600_000)
    yield "header.eml", "Subject: " + "x" * many(9_000_000) + "\n\nbody"
    yield "headers.eml", "Subject: x\n" + "X-A: b\n" * many(1_400_000) + "\nbody"
    yield "received.eml", "Subject: x\n" + "Received: from a by b; Mon, 1 Jan 2024 00:00:00 +0000\n" * many(150_000) + "\nb"
    yield "people.eml", "Subject: x\nTo: " + "a@b.c," * many(1_500_000) + "\n\nbody"
    yield "comments.eml", "Subject: x\nFrom: " + "(" * many(5_000_000) + "\n\nbody"
    yield "groups.eml", "Subject: x\nTo: " + "a:" * many(4_000_000) + "\n\nbody"
    yield "words.eml", "Subject: " + "=?utf-8?B?YQ==?= " * many(500_000) + "\n\nbody"
    yield "references.eml", "Subject: x\nReferences: " + "<a@b> " * many(1_500_000) + "\n\nbody"
    yield "parts.eml", "Subject: x\nContent-Type: multipart/mixed; boundary=b\n\n" + "--b\n\nx\n" * many(1_000_000)
    nested_parts = "".join(
        f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(many(100_000)))
    yield "nested.eml", "Subject: x\n" + nested_parts
    yield "messages.eml", "Subject: x\n" + "Content-Type: message/rfc822\n\n" * many(200_000)
    yield "same-boundary.eml", "Subject: x\n" + "Content-Type: multipart/mixed; boundary=b\n\n--b\n" * many(100_000)
    yield "packed.eml", ("Subject: x\nContent-Transfer-Encoding: quoted-printable\n\n" + "=\n" * many(4_000_000))
    yield "charset.eml", "Subject: x\nContent-Type: text/plain; charset=utf-7\n\n" + "+AAA" * many(2_000_000)
    yield "html.eml", "Subject: x\nContent-Type: text/html\n\n" + "<b><i>" * many(1_500_000)
    yield "deep.html", "<div>" * many(1_900_000)
    yield "formatting.html", "<p>" + "<b><i><u><s>" * many(300_000) + "<p>x" * many(300_000)
    yield "tables.html", "<table><tr><td>" * many(600_000)
    yield "wide.html", "<html><table>" + "<tr></tr>" * many(50_000) + "<tr>" + "<td>" * many(1_000_000)
    yield "attributes.html", "<html><a " + "a " * many(4_000_000) + ">x"
    yield "comment.html", "<html><!--" * many(900_000)
    yield "lists.html", "<html>" + "<ul><li>" * many(100_000) + "x"
    yield "entities.xhtml", '<?xml version="1.0"?>' + ENTITIES + "<html>&u;</html>"
    yield "slashes.xhtml", "<?xml?><html>" + "<a" * many(3_000_000)
    yield "headings.html", "<html>" + "<h1>a" * many(1_500_000)
    yield "ids.md", " ".join(f"PROJ-{n}" for n in range(400_000 if LARGE else 100_000))
    yield "links.md", "[a](" * many(1_500_000)
    yield "open-links.md", "[" * many(5_000_000)
    yield "wiki.md", "[[" * many(2_500_000)
    yield "headings.md", "# a\n" * many(1_500_000)
    yield "setext.rst", "a\n=\n" * many(1_500_000)
    yield "literals.rst", "``a `b `c_ " * many(900_000)
    yield "items.1", ".RS\n.TP\na\n" * many(900_000)
    yield "words.1", ".TH A 1\n" + "[(" * many(5_000_000)
    yield "line.md", "word " * many(2_000_000)
    yield "letter.txt", "x" * many(10_000_000)
    yield "marks.txt", "a" + "\u0301" * many(2_000_000)
    yield "table.md", "|a" * many(3_000_000) + "\n" + "|-" * many(1_000_000)
    yield "lists.md", "- " * many(3_000_000)
    yield "quotes.md", "> " * many(3_000_000)
    yield "fences.md", "```\n" * many(1_500_000)
    yield "stars.md", "*" * many(5_000_000)
    yield "front.md", "---\n" + "title: x\n" * many(1_000_000)
    yield "stars.org", "*" * many(5_000_000) + " x\n" + "* a\n" * many(500_000)
    yield "code.rs", "{" * many(5_000_000)
    yield "breaks.txt", "\n" * many(10_000_000)
    yield "controls.txt", "\x1b[2J" * 1000 + "words between " * 9_000
    yield "utf16.txt", b"\xff\xfe" + b"\x00\xd8" * many(3_000_000)
    yield "utf7.txt", b"\x2b\x2f\x76\x38" + noise(200_000)
    yield "high.txt", b"\xff" * many(5_000_000)
    yield "nul.txt", b"words\0" * many(500_000)
    yield "escapes.txt", b"\x1b$B" * many(3_000_000)
    yield "vectors.svg", "<svg>" + "<g>" * many(1_000_000)
    yield "laughs.xml", '<?xml version="1.0"?>' + ENTITIES + "<x>&u;</x>"


# --- what is no file, and odd names ---------------------------------------------------------------


def odd_ones():
    folder = os.path.join(ROOT, "odd")
    os.makedirs(folder, exist_ok=True)
    for name in ("pipe.md", "pipe.pdf", "pipe.xlsx"):
        os.mkfifo(os.path.join(folder, name))
    os.symlink(".", os.path.join(folder, "circle"))
    os.symlink("loop-b.md", os.path.join(folder, "loop-a.md"))
    os.symlink("loop-a.md", os.path.join(folder, "loop-b.md"))
    os.symlink("/etc/passwd", os.path.join(folder, "passwd.md"))
    os.symlink("/dev/zero", os.path.join(folder, "zero.pdf"))
    for name in (b"bell\x07.md", b"line\nbreak.md", b"escape\x1b[2J.md", b"not-utf8-\xff.md"):
        with open(os.path.join(os.fsencode(folder), name), "wb") as file:
            file.write(b"words")
    put("odd/" + "n" * 240 + ".md", "a long name\n")
    put("odd/{a,{b,[c.md", "braces\n")
    deep = "odd/" + "/".join(["d"] * 300)
    put(deep + "/bottom.md", "far below\n")
    with open(os.path.join(folder, "sparse.pdf"), "wb") as file:
        file.write(b"%PDF-1.5\n")
        file.truncate(8 << 30)
    with open(os.path.join(folder, "sparse.txt"), "wb") as file:
        file.truncate(8 << 30)
    with open(os.path.join(folder, "sparse.xlsx"), "wb") as file:
        file.write(b"PK\x03\x04")
        file.truncate(64 * MB)
    # A rule that hides nothing of what is good.
    put("long-rules/.gitignore", "\n".join(f"*.none{n}" for n in range(2_200_000)))
    put("long-rules/beside.md", "beside the rules\n")
    put("rules/beside.md", "beside the rules\n")
    os.mkfifo(os.path.join(ROOT, "rules", ".ignore"))


# --- good ones ------------------------------------------------------------------------------------


def good():
    text = "The lighthouse keeper lit the {}."
    yield "lantern.docx", docx(paragraph(text.format("lantern")))
    yield "candle.pdf", page(said(text.format("candle")))
    yield "torch.xlsx", xlsx(rows(
        f'<c r="A1" t="inlineStr"><is><t>{text.format("torch")}</t></is></c>'))
    yield "chandelier.md", "# Light\n\n" + text.format("chandelier") + "\n"
    yield "beacon.csv", "Where,What\nnorth," + text.format("beacon") + "\nsouth,nothing\n"
    yield "ember.html", f"<html><body><h1>Light</h1><p>{text.format('ember')}</p></body></html>"
    yield "bonfire.eml", f"From: a@example.org\nSubject: Light\n\n{text.format('bonfire')}\n"
    yield "lamp.ipynb", json.dumps({"cells": [{"cell_type": "markdown", "source": text.format("lamp")}]})
    yield "furnace.json", json.dumps({"says": text.format("furnace"), "more": "x" * 2000})
    yield "match.ods", ods("<table:table><table:table-row><table:table-cell><text:p>"
                           + text.format("match") + "</text:p></table:table-cell></table:table-row></table:table>")


def main():
    for name, content in pdfs():
        put(f"pdf/{name}.pdf", content)
    for maker, folder in ((workbooks, "books"), (documents, "office"), (old_office, "old"), (texts, "text")):
        for name, content in maker():
            put(f"{folder}/{name}", content)
    odd_ones()
    for name, content in good():
        put(f"good/{name}", content)


main()
