//! "And the second one?": an item of the answer before, by its place.

/// What the question calls the item, and which it is.
struct Place {
    words: String,
    index: Index,
}

#[derive(Clone, Copy)]
enum Index {
    At(usize),
    Last,
}

/// A longer item is called by its name alone.
const LONGEST: usize = 160;

/// Numbers of a question that counts its things are no part of their name.
#[rustfmt::skip]
const COUNTS: &[&str] = &["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

/// The question with the item's name in the place of its number; none where no item is meant.
pub(super) fn by_place(
    query: &str,
    answer: &str,
    topic: impl FnOnce() -> String,
) -> Option<String> {
    let place = place_zh(query).or_else(|| place(query))?;
    let items = items(answer);
    let item = match place.index {
        Index::At(at) => items.get(at)?,
        Index::Last => items.last()?,
    };
    let name = name_of(item);
    let rest = query.replacen(&place.words, "", 1);
    let rest = rest.trim_matches(|c: char| !c.is_alphanumeric());
    let chinese = crate::text::is_chinese(query);
    Some(if chinese {
        let rest = rest
            .trim_start_matches(['那', '么', '，'])
            .trim_end_matches('呢');
        let asked = if rest.is_empty() { "是什么" } else { rest };
        format!("{} {name} {asked}？", without_counts_zh(&topic()))
    } else if rest.split_whitespace().count() > 2 {
        query.replacen(&place.words, &name, 1)
    } else {
        // A semicolon would part it into two questions.
        let item = item.replace(['`', '*'], "").replace(';', ",");
        let item = item.trim_end_matches(['.', ':', ' ']);
        let length = item.chars().count();
        // The item's own words find where it was said.
        if (name.chars().count() + 8..=LONGEST).contains(&length) {
            format!("What is {name}: {item}?")
        } else {
            format!("What is {name} of {}?", without_counts(&topic()))
        }
    })
}

fn place(query: &str) -> Option<Place> {
    let words: Vec<&str> = query.split_whitespace().collect();
    let bare = |word: &str| {
        word.trim_matches(|c: char| !c.is_alphanumeric())
            .to_lowercase()
    };
    let ordinals = [
        ("first", "1st"),
        ("second", "2nd"),
        ("third", "3rd"),
        ("fourth", "4th"),
        ("fifth", "5th"),
        ("sixth", "6th"),
        ("seventh", "7th"),
        ("eighth", "8th"),
        ("ninth", "9th"),
        ("tenth", "10th"),
    ];
    words.windows(2).enumerate().find_map(|(at, pair)| {
        let ordinal = bare(pair[1]);
        let index = ordinals
            .iter()
            .position(|(word, short)| ordinal == *word || ordinal == *short)
            .map(Index::At)
            .or_else(|| (ordinal == "last").then_some(Index::Last))
            .filter(|_| bare(pair[0]) == "the")?;
        let next = words.get(at + 2).map_or(String::new(), |word| bare(word));
        let one = ["one", "item", "point", "step", "entry", "option"].contains(&next.as_str());
        // "What is the second rule?" may well stand alone; "and the second?" does not.
        if !one && (words.len() > at + 2 || words.len() > 5) {
            return None;
        }
        let end = if one { at + 3 } else { at + 2 };
        let words = words[at..end].join(" ");
        let words = words.trim_end_matches(['?', '.', '!']).to_owned();
        Some(Place { words, index })
    })
}

fn place_zh(query: &str) -> Option<Place> {
    if query.chars().count() > 16 {
        return None;
    }
    let chars: Vec<char> = query.chars().collect();
    if let Some(at) = query.find("最后一") {
        let words: String = query[at..].chars().take(4).collect();
        let index = Index::Last;
        return Some(Place { words, index });
    }
    let at = chars.iter().position(|c| *c == '第')?;
    let number = *chars.get(at + 1)?;
    let index = "一二三四五六七八九十"
        .chars()
        .position(|c| c == number)
        .or_else(|| {
            number
                .to_digit(10)
                .and_then(|n| usize::try_from(n).ok()?.checked_sub(1))
        })?;
    let measured = chars
        .get(at + 2)
        .is_some_and(|c| "个条种项点步".contains(*c));
    // What follows the measure word would be a noun: 第二条规则 stands alone.
    let alone = chars
        .get(at + 3)
        .is_none_or(|c| "呢是怎有会能？?".contains(*c));
    (measured && alone).then(|| Place {
        words: chars[at..at + 3].iter().collect(),
        index: Index::At(index),
    })
}

/// The items of a list, the rows of a table, or the sentences where there is neither.
fn items(answer: &str) -> Vec<String> {
    let mut listed = Vec::new();
    let mut rows = Vec::new();
    let mut fenced = false;
    for line in answer.lines().map(str::trim) {
        if line.starts_with("```") || line.starts_with("~~~") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        let digits = line.chars().take_while(char::is_ascii_digit).count();
        if let Some(item) = line.strip_prefix("- ") {
            listed.push(item.to_owned());
        } else if let Some(item) = line[digits..].strip_prefix(". ").filter(|_| digits > 0) {
            listed.push(item.to_owned());
        } else if line.starts_with('|') {
            let first = line.trim_matches('|').split('|').next();
            rows.push(first.unwrap_or_default().trim().to_owned());
        }
    }
    if !listed.is_empty() {
        return listed;
    }
    if rows.len() > 2 {
        return rows.split_off(2);
    }
    super::ends::sentences(answer)
}

/// What an item is called: its key, its code or its first words.
fn name_of(item: &str) -> String {
    let marked = |mark: &str| {
        let (before, rest) = item.split_once(mark)?;
        let (name, _) = rest.split_once(mark)?;
        (before.chars().count() < 30 && !name.is_empty()).then(|| name.to_owned())
    };
    if let Some(name) = marked("**").or_else(|| marked("`")) {
        return name;
    }
    if let Some((key, rest)) = item.split_once([':', '：'])
        && key.chars().count() <= 40
    {
        // "key: z; does: zoom" is a row, and its name is what the first column holds.
        let first = rest.split_once("; ").map(|(first, _)| first.trim());
        return first.unwrap_or(key.trim()).to_owned();
    }
    if crate::text::is_chinese(item) {
        return item.chars().take(20).collect();
    }
    let words: Vec<&str> = item.split_whitespace().take(8).collect();
    words.join(" ").trim_end_matches('.').to_owned()
}

fn without_counts(topic: &str) -> String {
    let words = topic.split_whitespace();
    let words = words.filter(|word| !COUNTS.contains(&word.to_lowercase().as_str()));
    words.collect::<Vec<_>>().join(" ")
}

fn without_counts_zh(topic: &str) -> String {
    let mut chars = topic.chars();
    let counted = chars
        .next()
        .is_some_and(|c| "两三四五六七八九十".contains(c))
        && chars.next().is_some_and(|c| "条个种类步项".contains(c));
    if counted {
        chars.collect()
    } else {
        topic.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r05_an_item_is_meant_by_its_place() {
        let list = "- `read_file`: opens a file\n- **Grep**: finds words\n- takes a long walk in the woods, slowly and alone";
        for (query, resolved) in [
            (
                "and the second one?",
                Some("What is Grep: Grep: finds words?"),
            ),
            (
                "what does the first one do?",
                Some("what does read_file do?"),
            ),
            (
                "the last?",
                Some(
                    "What is takes a long walk in the woods, slowly: takes a long walk in the woods, slowly and alone?",
                ),
            ),
            ("and the fourth one?", None),
            ("What is the second rule?", None),
            ("which comes first?", None),
        ] {
            assert_eq!(
                by_place(query, list, || "three tools".to_owned()).as_deref(),
                resolved,
                "{query}"
            );
        }
        let table = "| 名称 | 值 |\n| --- | --- |\n| 甲 | 1 |\n| 乙 | 2 |";
        for (query, resolved) in [
            ("那第二个呢？", Some("规则 乙 是什么？")),
            ("最后一个呢", Some("规则 乙 是什么？")),
            ("第一条怎么用？", Some("规则 甲 怎么用？")),
            ("第三个呢？", None),
            ("第二条规则是什么？", None),
        ] {
            assert_eq!(
                by_place(query, table, || "四条规则".to_owned()).as_deref(),
                resolved,
                "{query}"
            );
        }
        assert!(by_place("the second one", "", String::new).is_none());
    }
}
