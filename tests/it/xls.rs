//! Workbooks of the old binary format, made here record by record: what is in them is read, and
//! what they claim about themselves is not believed.

use std::collections::BTreeMap;

use crate::kb::{Bench, update};

const SECTOR: usize = 512;
const END_OF_CHAIN: u32 = 0xffff_fffe;
const TABLE_SECTOR: u32 = 0xffff_fffd;

fn record(kind: u16, data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(data.len()).unwrap();
    [&kind.to_le_bytes()[..], &length.to_le_bytes(), data].concat()
}

/// Row and column, from 0, and the number of a style.
fn at(row: u16, column: u16, style: u16) -> Vec<u8> {
    [row, column, style].map(u16::to_le_bytes).concat()
}

fn number(row: u16, column: u16, style: u16, value: f64) -> Vec<u8> {
    record(
        0x0203,
        &[at(row, column, style), value.to_le_bytes().to_vec()].concat(),
    )
}

fn shared(row: u16, column: u16, text: u32) -> Vec<u8> {
    record(
        0x00fd,
        &[at(row, column, 0), text.to_le_bytes().to_vec()].concat(),
    )
}

fn formula(row: u16, column: u16, value: [u8; 8]) -> Vec<u8> {
    record(0x0006, &[&at(row, column, 0)[..], &value, &[0; 8]].concat())
}

/// A text of one byte a character.
fn narrow(text: &str) -> Vec<u8> {
    let length = u16::try_from(text.len()).unwrap();
    [&length.to_le_bytes()[..], &[0], text.as_bytes()].concat()
}

fn begin(of: u16) -> Vec<u8> {
    record(0x0809, &[0x0600, of, 0, 0].map(u16::to_le_bytes).concat())
}

fn end() -> Vec<u8> {
    record(0x000a, &[])
}

/// How many texts there are, twice: as used and as kept.
fn counts(texts: u32) -> Vec<u8> {
    [texts, texts].map(u32::to_le_bytes).concat()
}

fn shared_texts(texts: &[Vec<u8>]) -> Vec<u8> {
    let count = u32::try_from(texts.len()).unwrap();
    record(0x00fc, &[counts(count), texts.concat()].concat())
}

/// A whole workbook: what holds for all sheets, and each sheet with its cells.
fn workbook(globals: &[Vec<u8>], sheets: &[(&str, &[Vec<u8>])]) -> Vec<u8> {
    let sheets: Vec<(&str, Vec<u8>)> = sheets
        .iter()
        .map(|(name, cells)| (*name, [begin(0x10), cells.concat(), end()].concat()))
        .collect();
    let named = |name: &str, at: usize| {
        let at = u32::try_from(at).unwrap().to_le_bytes();
        let length = u8::try_from(name.len()).unwrap();
        record(
            0x0085,
            &[&at[..], &[0, 0, length, 0], name.as_bytes()].concat(),
        )
    };
    let listing: usize = sheets.iter().map(|(name, _)| named(name, 0).len()).sum();
    let globals = [begin(0x05), globals.concat()].concat();
    let mut place = globals.len() + listing + end().len();
    let mut stream = globals;
    for (name, sheet) in &sheets {
        stream.extend(named(name, place));
        place += sheet.len();
    }
    stream.extend(end());
    stream.extend(sheets.into_iter().flat_map(|(_, sheet)| sheet));
    compound("Workbook", &stream)
}

/// A compound file of one part: the directory, the part, the table of what comes after what.
fn compound(name: &str, part: &[u8]) -> Vec<u8> {
    let sectors = part.len().max(4096).div_ceil(SECTOR);
    let tables = (sectors + 1).div_ceil(SECTOR / 4 - 1);
    let mut header = vec![0; 76];
    header[..8].copy_from_slice(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1");
    header[26..34].copy_from_slice(&[3, 0, 0xfe, 0xff, 9, 0, 6, 0]);
    header[44..48].copy_from_slice(&u32::try_from(tables).unwrap().to_le_bytes());
    header[56..60].copy_from_slice(&4096_u32.to_le_bytes());
    header[60..64].copy_from_slice(&END_OF_CHAIN.to_le_bytes());
    header[68..72].copy_from_slice(&END_OF_CHAIN.to_le_bytes());
    for table in 0..109 {
        let place = if table < tables {
            1 + sectors + table
        } else {
            u32::MAX as usize
        };
        header.extend(u32::try_from(place).unwrap().to_le_bytes());
    }
    let entry = |name: &str, kind: u8, child: u32, start: u32, size: usize| {
        let mut entry: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let length = u16::try_from(entry.len() + 2).unwrap();
        entry.resize(64, 0);
        entry.extend(length.to_le_bytes());
        entry.extend([kind, 1]);
        for near in [u32::MAX, u32::MAX, child] {
            entry.extend(near.to_le_bytes());
        }
        entry.resize(116, 0);
        entry.extend(start.to_le_bytes());
        entry.extend((size as u64).to_le_bytes());
        entry
    };
    let mut file = header;
    file.extend(entry("Root Entry", 5, 1, END_OF_CHAIN, 0));
    file.extend(entry(name, 2, u32::MAX, 1, part.len().max(4096)));
    file.resize(2 * SECTOR, 0);
    file.extend(part);
    file.resize((2 + sectors) * SECTOR, 0);
    let mut table = vec![END_OF_CHAIN];
    table.extend((2..=u32::try_from(sectors).unwrap()).chain([END_OF_CHAIN]));
    table.extend(vec![TABLE_SECTOR; tables]);
    file.extend(table.into_iter().flat_map(u32::to_le_bytes));
    file.resize((2 + sectors + tables) * SECTOR, 0xff);
    file
}

/// Claims more rows and columns than there is memory for.
fn boundless() -> Vec<u8> {
    let rows = [0_u32, u32::MAX].map(u32::to_le_bytes).concat();
    let columns = [0_u16, u16::MAX, 0].map(u16::to_le_bytes).concat();
    record(0x0200, &[rows, columns].concat())
}

fn read(files: &[(&str, Vec<u8>)]) -> (BTreeMap<String, String>, Vec<(String, String)>) {
    let bench = Bench::new(&[("good.md", "# Good\n\nThe neighbour is found.\n")]);
    for (name, bytes) in files {
        bench.write(name, bytes);
    }
    let base = bench.open();
    let report = update(&base);
    let skipped = report.skipped.iter();
    let skipped: Vec<_> = skipped
        .map(|skipped| (skipped.path.clone(), skipped.reason.to_string()))
        .collect();
    let texts = files.iter().filter_map(|(name, _)| {
        let path = std::fs::canonicalize(bench.docs.path().join(name)).unwrap();
        Some(((*name).to_owned(), base.read(&path).ok()?.text))
    });
    (texts.collect(), skipped)
}

#[test]
fn what_the_cells_hold_is_read_as_excel_shows_it() {
    let continued = {
        let first = [
            &counts(3)[..],
            &narrow("Project"),
            &9_u16.to_le_bytes(),
            &[0],
            b"Peri",
        ]
        .concat();
        let wide: Vec<u8> = "söpé".encode_utf16().flat_map(u16::to_le_bytes).collect();
        // The second piece of a text says anew how wide its characters are.
        let second = [&[1][..], &wide, &[b'!', 0], &narrow("Owner")].concat();
        [record(0x00fc, &first), record(0x003c, &second)].concat()
    };
    let format = {
        let code = [&164_u16.to_le_bytes()[..], &narrow("dd/mm/yyyy")].concat();
        record(0x041e, &code)
    };
    let style = |format: u16| record(0x00e0, &[0, format, 0].map(u16::to_le_bytes).concat());
    let globals = [continued, format, style(0), style(164), style(46)];
    let said = [0, 0, 0, 0, 0, 0, 0xff, 0xff];
    let yes = [1, 0, 1, 0, 0, 0, 0xff, 0xff];
    let several = [
        &at(4, 0, 0)[..],
        &[2, 0x35, 0, 0],
        &[0, 0],
        &[3, 0x35, 0, 0],
        &[1, 0],
    ]
    .concat();
    let cells = [
        boundless(),
        shared(0, 0, 0),
        shared(0, 1, 2),
        shared(1, 0, 1),
        record(0x0204, &[at(1, 1, 0), narrow("Bo")].concat()),
        number(2, 0, 1, 45_413.0),
        number(2, 1, 2, 1.5),
        formula(3, 0, said),
        record(0x0207, &narrow("computed")),
        formula(3, 1, yes),
        formula(3, 2, 0.25_f64.to_le_bytes()),
        record(0x00bd, &several),
        record(0x0205, &[at(5, 0, 0), vec![7, 1]].concat()),
    ];
    let far = [number(0, 0, 0, 1.0), shared(65_535, 255, 1)];
    let book = workbook(
        &globals,
        &[("Costs", &cells), ("Far", &far), ("Further", &far)],
    );
    let (texts, skipped) = read(&[("a.xls", book)]);
    assert!(skipped.is_empty(), "{skipped:?}");
    assert_eq!(
        texts["a.xls"],
        "Project; Owner\nProject: Perisöpé!; Owner: Bo\nProject: 2024-05-01; Owner: 36:00 h\n\
         Project: computed; Owner: TRUE; 0.25\nProject: 3392; Owner: 33.92\nProject: #DIV/0!\n\
         1\nPerisöpé!\n1\nPerisöpé!\n"
    );
}

#[test]
fn workbooks_made_to_fill_the_memory_are_listed_and_harm_nothing() {
    let long = shared_texts(&[narrow(&"x".repeat(8000))]);
    let many: Vec<_> = (0..5000).map(|row| shared(row, 0, 0)).collect();
    let locked = workbook(&[record(0x002f, &[1, 0, 1, 0])], &[("A", &[])]);
    let within = {
        // All sheets but the first begin where the first does.
        let cells: Vec<_> = (0..200).map(|row| number(row, 0, 0, 1.0)).collect();
        let mut book = workbook(&[], &[("A", &cells), ("B", &[]), ("C", &[])]);
        let named = |name: u8| [0, 0, 1, 0, name];
        let place = |book: &[u8], name| book.windows(5).position(|w| w == named(name)).unwrap() - 4;
        let first = place(&book, b'A');
        let first = book[first..first + 4].to_vec();
        for name in [b'B', b'C'] {
            let at = place(&book, name);
            book[at..at + 4].copy_from_slice(&first);
        }
        book
    };
    let circle = {
        let mut book = workbook(&[], &[("A", &[number(0, 0, 0, 1.0)])]);
        let table = book.len() - SECTOR;
        // The directory is its own next sector.
        book[table..table + 4].copy_from_slice(&0_u32.to_le_bytes());
        book
    };
    let half = {
        let cells: Vec<_> = (0..900).map(|row| number(row, 0, 0, 1.0)).collect();
        let book = workbook(&[], &[("A", &cells)]);
        book[..book.len() / 2].to_vec()
    };
    let files = table![
        "circle.xls", circle, "damaged: corrupted stream: FAT chain cycle detected";
        "half.xls", half,
            "damaged: [workbook truncated: the Workbook stream is shorter than its declared size \u{2014} later sheets or cells are missing]";
        "locked.xls", locked, "protected by a password";
        "long.xls", workbook(&[long], &[("A", &many)]), "unpacks to too much: over 32 MB of text";
        "old.doc", compound("WordDocument", b""), "damaged: invalid FIB: unknown wIdent: 0x0000";
    ];
    let mut written = files.clone().map(|(name, bytes, _)| (name, bytes)).to_vec();
    written.push(("within.xls", within));
    let (texts, skipped) = read(&written);
    assert_eq!(
        texts["within.xls"].lines().count(),
        200,
        "what lies twice is read once"
    );
    let expected = files.map(|(name, _, reason)| (name.to_owned(), reason.to_owned()));
    assert_eq!(skipped, expected);
}
