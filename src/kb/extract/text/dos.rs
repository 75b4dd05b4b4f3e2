//! The encodings of DOS in western Europe, which detectors made for the web do not know: code page
//! 437 with its frames, and 850 with more letters instead of some of them.
//!
//! Their letters lie where Windows has quotes and dashes, and their frames where Windows has
//! letters. So text in them gives itself away: by words that read under Windows have a quote in
//! the middle, and by frames. Either must be clear, and next to nothing may speak against it; what
//! is in doubt stays what a detector takes it for.

/// How many words with a sign in the middle are no slip any more.
const TORN: usize = 2;
/// What speaks for it, for each thing that speaks against it.
const AGAINST: usize = 10;
/// A line of so many equal strokes needs no corner.
const RULE: usize = 8;
/// A line of so many equal strokes from a corner on is a frame.
const STROKES: usize = 3;

/// From 0x80 on.
const CODE_PAGE_437: &str = "\
    ÇüéâäàåçêëèïîìÄÅ\
    ÉæÆôöòûùÿÖÜ¢£¥₧ƒ\
    áíóúñÑªº¿⌐¬½¼¡«»\
    ░▒▓│┤╡╢╖╕╣║╗╝╜╛┐\
    └┴┬├─┼╞╟╚╔╩╦╠═╬╧\
    ╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀\
    αßΓπΣσµτΦΘΩδ∞φε∩\
    ≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";
/// From 0x80 on.
const CODE_PAGE_850: &str = "\
    ÇüéâäàåçêëèïîìÄÅ\
    ÉæÆôöòûùÿÖÜø£Ø×ƒ\
    áíóúñÑªº¿®¬½¼¡«»\
    ░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐\
    └┴┬├─┼ãÃ╚╔╩╦╠═╬¤\
    ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀\
    ÓßÔÒõÕµþÞÚÛÙýÝ¯´\
    \u{ad}±‗¾¶§÷¸°¨·¹³²■\u{a0}";

/// As much is looked at.
const SAMPLE: usize = 256 * 1024;

/// The text, if these bytes are clearly in one of the two.
pub(in crate::kb::extract) fn decode(bytes: &[u8]) -> Option<String> {
    // An end of file that programs of that time wrote into it.
    let bytes = bytes.strip_suffix(b"\x1a").unwrap_or(bytes);
    let pages = [CODE_PAGE_437, CODE_PAGE_850].map(|page| page.chars().collect::<Vec<char>>());
    let sample = &bytes[..bytes.len().min(SAMPLE)];
    let readings = pages.each_ref().map(|page| {
        let text: Vec<char> = read(sample, page).collect();
        CodePageGuess::of(&text, sample)
    });
    // The two agree in most; where they do not, the one that fits better is meant.
    let at = usize::from(readings[1].strange < readings[0].strange);
    readings[at]
        .is_clear()
        .then(|| read(bytes, &pages[at]).collect())
}

fn read(bytes: &[u8], page: &[char]) -> impl Iterator<Item = char> {
    bytes.iter().map(|&byte| match byte.checked_sub(0x80) {
        Some(high) => page[usize::from(high)],
        None => char::from(byte),
    })
}

/// What speaks for bytes being what they were read as, and what against it.
#[derive(Debug, Default)]
struct CodePageGuess {
    /// Letters that fit into their words, and strokes.
    fitting: usize,
    /// Letters within words that Windows would read as a quote, a dash or nothing.
    torn: usize,
    /// Lines that are drawn.
    lines: usize,
    /// Letters of another case or script than their word, signs within words, and strokes that do
    /// not meet.
    strange: usize,
}

impl CodePageGuess {
    fn of(text: &[char], bytes: &[u8]) -> Self {
        let mut reading = Self {
            lines: lines(text),
            ..Self::default()
        };
        for (at, &c) in text.iter().enumerate().filter(|(_, c)| !c.is_ascii()) {
            let before = at.checked_sub(1).map(|before| text[before]);
            let after = text.get(at + 1).copied();
            let letter = |c: Option<char>| c.filter(|c| is_letter(*c));
            let (left, right) = (letter(before), letter(after));
            let is_within = left.is_some() && right.is_some();
            let is_strange = if let Some(arms) = arms(c) {
                let next = after.and_then(self::arms);
                is_within || next.is_some_and(|next| next.left != arms.right)
            } else if is_letter(c) {
                let is_drawn = [before, after]
                    .into_iter()
                    .flatten()
                    .any(|c| arms(c).is_some());
                let is_alone = left.is_none() && right.is_none();
                let is_ascii = |c: Option<char>| c.is_some_and(|c| c.is_ascii());
                let is_torn = is_within && (is_ascii(left) || is_ascii(right));
                reading.torn += usize::from(is_torn && is_sign_in_windows(bytes[at]));
                is_drawn && is_alone || !is_cased(left, c, right)
            } else if c.is_alphabetic() {
                left.is_some() || right.is_some()
            } else {
                is_within
            };
            reading.strange += usize::from(is_strange);
            reading.fitting += usize::from(!is_strange && (is_letter(c) || arms(c).is_some()));
        }
        reading
    }

    fn is_clear(&self) -> bool {
        (self.torn >= TORN || self.lines > 0) && self.strange * AGAINST <= self.fitting
    }
}

/// A Latin letter.
fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic() || matches!(c, 'À'..='ö' | 'ø'..='ÿ') && c != '×' || c == 'ı'
}

/// Whether small and capital letters stand as they do in words.
fn is_cased(left: Option<char>, c: char, right: Option<char>) -> bool {
    let rises = |a: char, b: char| a.is_lowercase() && b.is_uppercase();
    !(left.is_some_and(|left| rises(left, c)) || right.is_some_and(|right| rises(c, right)))
}

/// Whether every Windows encoding of European languages has a sign or nothing there; less the
/// dashes, the dots and the apostrophes that stand within words.
fn is_sign_in_windows(byte: u8) -> bool {
    matches!(byte, 0x81..=0x84 | 0x86..=0x89 | 0x8b | 0x90 | 0x93..=0x95 | 0x98 | 0x99 | 0x9b | 0xa2 | 0xa4)
}

/// Where a stroke goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Arms {
    left: bool,
    right: bool,
}

fn arms(c: char) -> Option<Arms> {
    let (left, right) = match c {
        '│' | '║' => (false, false),
        '┌' | '└' | '├' | '╒' | '╓' | '╔' | '╘' | '╙' | '╚' | '╞' | '╟' | '╠' => {
            (false, true)
        }
        '┐' | '┘' | '┤' | '╕' | '╖' | '╗' | '╛' | '╜' | '╝' | '╡' | '╢' | '╣' => {
            (true, false)
        }
        '\u{2500}'..='\u{256c}' => (true, true),
        _ => return None,
    };
    Some(Arms { left, right })
}

/// Level lines: some strokes that a corner begins or ends, or many; or many blocks.
fn lines(text: &[char]) -> usize {
    let runs = text.chunk_by(|a, b| a == b);
    let runs: Vec<(char, usize)> = runs.map(|run| (run[0], run.len())).collect();
    let is_corner = |at: Option<usize>| {
        let run = at.and_then(|at| runs.get(at));
        run.is_some_and(|(c, _)| arms(*c).is_some())
    };
    let is_line = |&(at, &(c, length)): &(usize, &(char, usize))| {
        let has_corner = is_corner(at.checked_sub(1)) || is_corner(Some(at + 1));
        let is_level = matches!(c, '─' | '═');
        let is_block = matches!(c, '\u{2580}'..='\u{259f}');
        is_level && length >= STROKES && has_corner || (is_level || is_block) && length >= RULE
    };
    runs.iter().enumerate().filter(is_line).count()
}

#[cfg(test)]
mod tests {
    use encoding_rs::Encoding;

    use super::*;

    fn encoded(text: &str, page: &str) -> Vec<u8> {
        let page: Vec<char> = page.chars().collect();
        assert_eq!(page.len(), 128);
        let byte = |c: char| match page.iter().position(|known| *known == c) {
            Some(at) => 0x80 + at as u8,
            None => u8::try_from(c).unwrap(),
        };
        text.chars().map(byte).collect()
    }

    #[test]
    fn words_with_letters_where_windows_has_quotes_are_read() {
        for text in [
            "Für größere Änderungen müssen die Schlüssel der Geräte geprüft werden.\r\n",
            "Le garçon a été très gêné, où est la fenêtre de l'hôtel ?\r\n",
            "El niño comió una piña en la cigüeña del año pasado, ¿qué más?\r\n",
            "ÄNDERUNGEN FÜR DIE BEHÖRDE, GEPRÜFT IN KÖLN\r\n",
        ] {
            for page in [CODE_PAGE_437, CODE_PAGE_850] {
                assert_eq!(decode(&encoded(text, page)).as_deref(), Some(text));
            }
        }
        let ended = [&encoded("Schlüssel für Geräte", CODE_PAGE_437)[..], b"\x1a"].concat();
        assert_eq!(decode(&ended).as_deref(), Some("Schlüssel für Geräte"));
    }

    #[test]
    fn what_the_two_have_not_in_common_is_decided_by_what_is_around_it() {
        for (text, page) in [
            (
                "Smørrebrød på øen, det er også en æblekage værd.",
                CODE_PAGE_850,
            ),
            (
                "A manhã não é São João: às três a irmã também põe o coração à mão.",
                CODE_PAGE_850,
            ),
            (
                "╒═══════╤═══╕\r\n│ Größe │ 3 │\r\n╞═══════╪═══╡\r\n│ für α │ 4 │\r\n╘═══════╧═══╛",
                CODE_PAGE_437,
            ),
        ] {
            assert_eq!(decode(&encoded(text, page)).as_deref(), Some(text));
        }
    }

    #[test]
    fn frames_are_read_without_any_letter() {
        for text in [
            "┌────────┬────┐\r\n│ Name   │ No │\r\n├────────┼────┤\r\n│ Pump   │ 17 │\r\n└────────┴────┘\r\n",
            "╔════════╗\r\n║ README ║\r\n╚════════╝\r\n",
            "Chapter 1\r\n──────────────────\r\nplain text follows\r\n",
            "▄▄▄▄▄▄▄▄▄▄▄▄\r\n█  README  █\r\n▀▀▀▀▀▀▀▀▀▀▀▀\r\n░░▒▒▓▓\r\n",
        ] {
            assert_eq!(decode(&encoded(text, CODE_PAGE_437)).as_deref(), Some(text));
        }
    }

    #[test]
    fn everything_else_is_left_to_the_detector() {
        for (name, text) in [
            (
                "windows-1252",
                "Déjà vu au café : le garçon a été très gêné, où est l’été ?",
            ),
            (
                "windows-1252",
                "„Größe“ – so heißt’s; “quoted” words… O’Neill’s don’t, rock‘n‘roll",
            ),
            ("windows-1252", "ÄÖÜ äöüß · Übergrößenträger für Äpfel"),
            (
                "windows-1252",
                "Hawai‘i, O‘ahu and Moloka‘i are islands; on Kaua‘i they say “aloha” and “mahalo”.",
            ),
            (
                "windows-1250",
                "Zażółć gęślą jaźń, příliš žluťoučký kůň; „cytat” – šťastný",
            ),
            (
                "windows-1251",
                "Договор вступает в силу с момента подписания, „так“ и “так”.",
            ),
            (
                "koi8-r",
                "Договор вступает в силу с момента подписания обеими сторонами.",
            ),
            (
                "ibm866",
                "Договор вступает в силу с момента подписания обеими сторонами.",
            ),
            (
                "macintosh",
                "Größe für Käse; été à l’hôtel, où le garçon rêve; niño piña",
            ),
            (
                "gbk",
                "本合同自双方签字盖章之日起生效,有效期为三年。哪哪都有哪哪,哪哪哪哪。",
            ),
            (
                "big5",
                "本合約自雙方簽字蓋章之日起生效,有效期為三年。知識庫的索引每天更新。",
            ),
            (
                "shift_jis",
                "データベースは毎日更新されます。アイウエオカキクケコサシスセソタチツテト",
            ),
            ("shift_jis", "ﾃﾞｰﾀﾍﾞｰｽ ﾊ ﾏｲﾆﾁ ｺｳｼﾝ ｻﾚﾏｽ"),
            (
                "euc-jp",
                "この契約は署名の日から三年間有効です。データベースは毎日更新されます。",
            ),
            (
                "euc-kr",
                "이 계약은 서명일로부터 3년간 유효합니다. 데이터베이스는 매일 갱신됩니다.",
            ),
        ] {
            let (bytes, _, lossy) = Encoding::for_label(name.as_bytes()).unwrap().encode(text);
            assert!(!lossy, "{name}");
            assert_eq!(decode(&bytes), None, "{name}: {text}");
        }
    }
}
