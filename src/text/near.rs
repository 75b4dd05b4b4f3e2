use std::collections::HashSet;

/// More suggestions than these are a list and no help.
const MOST: usize = 3;

/// The names that somebody may have meant who wrote `wanted`, the likeliest first: those that hold
/// all of its words (`qwen3` for `qwen3:8b`), then those that a few letters tell apart.
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = wanted.to_lowercase();
    let words = words(&wanted);
    let tolerance = (wanted.chars().count() / 3).max(1);
    let mut near: Vec<(bool, usize, &str)> = known
        .into_iter()
        .filter_map(|name| {
            let lower = name.to_lowercase();
            let has_words = !words.is_empty() && words.is_subset(&self::words(&lower));
            let distance = distance(&wanted, &lower);
            (has_words || distance <= tolerance).then_some((!has_words, distance, name))
        })
        .collect();
    near.sort_unstable();
    near.dedup();
    near.into_iter()
        .take(MOST)
        .map(|(_, _, name)| name)
        .collect()
}

fn words(name: &str) -> HashSet<&str> {
    name.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect()
}

/// Letters put in, left out, changed, or swapped with their neighbour (Damerau 1964; no letter is
/// moved twice).
pub fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let changed = above[j] + usize::from(a[i] != b[j]);
            let mut least = changed.min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant_comes_first_and_nothing_else_comes() {
        let models = ["qwen2", "qwen3:8b", "qwen3:14b", "llama3.2:3b", "mistral"];
        assert_eq!(nearest("qwen3", models)[0], "qwen3:8b");
        assert_eq!(nearest("mistrall", models), ["mistral"]);
        assert_eq!(nearest("gpt-4o", ["openai/gpt-4o"]), ["openai/gpt-4o"]);
        assert_eq!(nearest("claude", models), [""; 0]);
        assert_eq!(nearest("", models), [""; 0]);
        let settings = ["LLM_API_KEY", "LLM_BASE_URL", "LOG"];
        for (wrote, meant) in [
            ("LLM_KEY", "LLM_API_KEY"),
            ("LLM_URL", "LLM_BASE_URL"),
            ("LLM_APIKEY", "LLM_API_KEY"),
        ] {
            assert_eq!(nearest(wrote, settings)[0], meant);
        }
    }

    #[test]
    fn letters_are_counted() {
        for (a, b, apart) in [
            ("", "", 0),
            ("", "ab", 2),
            ("kitten", "sitting", 3),
            ("aks", "ask", 1),
            ("graeding", "grading", 1),
            ("indxe", "index", 1),
            ("abc", "cab", 2),
        ] {
            assert_eq!(distance(a, b), apart);
            assert_eq!(distance(b, a), apart);
        }
    }
}
