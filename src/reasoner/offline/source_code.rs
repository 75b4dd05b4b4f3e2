//! Source code as something to quote: whole, in its lines, and by the names it defines.

/// Longer pieces are cut at an empty line, or here.
const LONGEST: usize = 60;

/// Endings of source files, and what a fence calls their language.
#[rustfmt::skip]
const LANGUAGES: &[(&str, &str)] = &[
    ("rs", "rust"), ("py", "python"), ("js", "javascript"), ("mjs", "javascript"), ("ts", "typescript"),
    ("tsx", "tsx"), ("jsx", "jsx"), ("go", "go"), ("java", "java"), ("kt", "kotlin"), ("c", "c"), ("h", "c"),
    ("cpp", "cpp"), ("cc", "cpp"), ("hpp", "cpp"), ("cs", "csharp"), ("rb", "ruby"), ("php", "php"),
    ("swift", "swift"), ("scala", "scala"), ("lua", "lua"), ("pl", "perl"), ("r", "r"), ("jl", "julia"),
    ("hs", "haskell"), ("ex", "elixir"), ("exs", "elixir"), ("erl", "erlang"), ("clj", "clojure"),
    ("sh", "sh"), ("bash", "sh"), ("zsh", "sh"), ("fish", "fish"), ("ps1", "powershell"), ("sql", "sql"),
    ("toml", "toml"), ("yaml", "yaml"), ("yml", "yaml"), ("ini", "ini"), ("css", "css"), ("proto", "proto"),
    ("tf", "hcl"), ("zig", "zig"), ("nim", "nim"), ("dart", "dart"), ("vue", "vue"),
];

/// Words before the name of what is defined.
#[rustfmt::skip]
const DEFINING: &[&str] = &[
    "fn", "def", "class", "struct", "enum", "trait", "interface", "function", "func", "type", "const", "static",
    "let", "var", "module", "mod", "macro_rules!", "impl", "record", "object", "fun", "sub", "table",
];

/// The language of a source file by its ending; none for prose.
pub(super) fn language_of(source: &str) -> Option<&'static str> {
    let name = source.rsplit('/').next()?;
    let (_, ending) = name.rsplit_once('.')?;
    let ending = ending.to_ascii_lowercase();
    let found = LANGUAGES.iter().find(|(known, _)| *known == ending);
    found.map(|(_, language)| *language)
}

/// What is defined together: cut before a line at the margin that follows an empty line.
pub(super) fn pieces(text: &str) -> Vec<String> {
    let mut found: Vec<Vec<&str>> = vec![Vec::new()];
    let mut after_empty = false;
    for line in text.lines() {
        let at_margin = line.starts_with(|c: char| !c.is_whitespace() && !"})]".contains(c));
        let length = found.last().map_or(0, Vec::len);
        let cut =
            after_empty && at_margin || length >= LONGEST && (after_empty || length >= 2 * LONGEST);
        if cut && length > 0 {
            found.push(Vec::new());
        }
        if let Some(piece) = found.last_mut() {
            piece.push(line);
        }
        after_empty = line.trim().is_empty();
    }
    let whole = |piece: Vec<&str>| piece.join("\n").trim_matches('\n').to_owned();
    let pieces = found.into_iter().map(whole);
    pieces.filter(|piece| !piece.trim().is_empty()).collect()
}

/// Whether lines that are set in are code and not a poem: most of them hold signs of code.
pub(super) fn looks_like_code(lines: &[String]) -> bool {
    let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    let lines: Vec<&&str> = lines.iter().filter(|line| !line.is_empty()).collect();
    let signs = |line: &&&&str| {
        line.contains([
            '{', '}', '[', ']', '=', '<', '>', '$', '|', '\\', ';', '─', '│', '►',
        ]) || line.contains("()")
            || line.contains("--")
            || line.contains("://")
            || line.contains('/') && !line.contains(". ")
            || line.starts_with(['#', '@', '%', '$'])
            || is_command(line)
    };
    !lines.is_empty() && 2 * lines.iter().filter(signs).count() >= lines.len()
}

/// The lines without the margin that all of them have.
pub(super) fn without_margin(lines: &[String]) -> String {
    let width = |line: &String| line.chars().take_while(|c| c.is_whitespace()).count();
    let filled = lines.iter().filter(|line| !line.trim().is_empty());
    let margin = filled.map(width).min().unwrap_or(0);
    let cut = |line: &String| line.chars().skip(margin).collect::<String>();
    lines.iter().map(cut).collect::<Vec<_>>().join("\n")
}

/// Whether the code defines one of these names.
pub(super) fn defines(code: &str, names: &[String]) -> bool {
    code.lines().any(|line| {
        let mut words = line.split(|c: char| c.is_whitespace() || "(<:={,;&".contains(c));
        let mut before = "";
        words.any(|word| {
            let defined = DEFINING.contains(&before) && names.iter().any(|name| name == word);
            if !word.is_empty() {
                before = word;
            }
            defined
        })
    })
}

/// `tar xf a.tgz`: a few small words without an end mark.
fn is_command(line: &str) -> bool {
    let words = line.split_whitespace().count();
    words <= 6
        && line.starts_with(|c: char| c.is_ascii_lowercase())
        && !line.ends_with(['.', ',', '!', '?', ';', ':'])
        && line.is_ascii()
        && line.contains(['-', '.', '_', '/', '"', '\''])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_found_by_name() {
        let name = |name: &str| vec![name.to_owned()];
        for (code, defined) in [
            ("pub async fn retry_all(", "retry_all"),
            ("def backoff(attempt):", "backoff"),
            ("class Queue<T> {", "Queue"),
            ("export const LIMIT = 5;", "LIMIT"),
            ("create table users (", "users"),
        ] {
            assert!(defines(code, &name(defined)), "{code}");
            assert!(!defines(code, &name("other")), "{code}");
        }
        assert!(!defines("x = backoff(1)", &name("backoff")));
    }

    #[test]
    fn a_long_piece_is_cut() {
        let long = "fn a() {\n".to_owned() + &"    let x = 1;\n".repeat(500) + "}";
        assert!(pieces(&long).len() > 3);
        assert!(pieces("").is_empty());
    }
}
