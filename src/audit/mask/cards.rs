use std::ops::Range;

/// Digits of the first group, at least.
const FIRST_GROUP: usize = 4;
/// Digits of a card, at least.
const FEWEST: usize = 13;

/// The card numbers in a text: digits that stand together or in the groups that cards have, with a
/// valid check digit (Luhn, ISO/IEC 7812) and the first digits of a network.
pub(super) fn cards(text: &str) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    let bytes = text.as_bytes();
    // Such a group covers every fourth byte; most text has none.
    let may_have_group = bytes
        .chunks_exact(FIRST_GROUP)
        .any(|four| four[FIRST_GROUP - 1].is_ascii_digit());
    if !may_have_group || bytes.iter().filter(|byte| byte.is_ascii_digit()).count() < FEWEST {
        return Vec::new();
    }
    let mut at = 0;
    while at < bytes.len() {
        let digits = bytes[at..]
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .count();
        if digits > 0 {
            groups.push(at..at + digits);
        }
        at += digits.max(1);
    }
    let mut found: Vec<Range<usize>> = Vec::new();
    for first in 0..groups.len() {
        for last in first..groups.len().min(first + 5) {
            let joined = |pair: &[Range<usize>]| {
                pair[1].start - pair[0].end == 1 && b" -.".contains(&bytes[pair[0].end])
            };
            let window = &groups[first..=last];
            if !window.windows(2).all(joined) {
                break;
            }
            let sizes: Vec<usize> = window.iter().map(Range::len).collect();
            let is_grouped = matches!(
                sizes.as_slice(),
                [13..=19] | [4, 4, 4, 4] | [4, 4, 4, 4, 3] | [4, 6, 4 | 5]
            );
            let range = groups[first].start..groups[last].end;
            let digits: Vec<u8> = text[range.clone()]
                .bytes()
                .filter(u8::is_ascii_digit)
                .collect();
            if is_grouped && is_card(&digits) {
                found.push(range);
            }
        }
    }
    found
}

fn is_card(digits: &[u8]) -> bool {
    let of_network = match digits.len() {
        13 => digits[0] == b'4',
        14 => digits.starts_with(b"30") || digits.starts_with(b"36") || digits.starts_with(b"38"),
        15 => digits.starts_with(b"34") || digits.starts_with(b"37"),
        16..=19 => (b'2'..=b'6').contains(&digits[0]),
        _ => false,
    };
    let sum: u32 = digits
        .iter()
        .rev()
        .map(|digit| u32::from(digit - b'0'))
        .enumerate()
        .map(|(at, digit)| match (at % 2, digit) {
            (0, digit) => digit,
            (_, digit) if digit > 4 => digit * 2 - 9,
            (_, digit) => digit * 2,
        })
        .sum();
    of_network && digits.iter().any(|digit| *digit != digits[0]) && sum.is_multiple_of(10)
}
