use std::collections::HashSet;

use strsim::osa_distance;

/// More suggestions than these are a list and no help.
const MOST: usize = 3;

/// The names that may have been meant by `wanted`, the likeliest first: those that hold
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
            let distance = osa_distance(&wanted, &lower);
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
}
