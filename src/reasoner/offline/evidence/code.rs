//! Source code as something to quote: whole and in its lines.

use super::units::{Unit, UnitKind};

/// Longer pieces are cut at an empty line, or at twice this.
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

/// The pieces of a source file; `None` of anything else.
pub(super) fn units(ending: &str, text: &str) -> Option<Vec<Unit>> {
    let (_, language) = LANGUAGES.iter().find(|(known, _)| *known == ending)?;
    let pieces = pieces(text).into_iter().enumerate();
    let unit =
        |(at, piece): (usize, String)| Unit::new(fenced(&piece, language), UnitKind::Code, "", at);
    Some(pieces.map(unit).collect())
}

/// Code between fences that it does not hold itself.
pub(super) fn fenced(code: &str, language: &str) -> String {
    let code = code.trim_matches('\n').trim_end();
    let fence = if code.contains("```") { "````" } else { "```" };
    format!("{fence}{language}\n{code}\n{fence}")
}

/// What is defined together: cut before a line at the margin that follows an empty line.
fn pieces(text: &str) -> Vec<String> {
    let mut found: Vec<Vec<&str>> = vec![Vec::new()];
    let mut after_empty = false;
    for line in text.lines() {
        let at_margin = line.starts_with(|c: char| !c.is_whitespace() && !"})]".contains(c));
        let length = found.last().map_or(0, Vec::len);
        let long = length >= LONGEST && (after_empty || length >= 2 * LONGEST);
        if length > 0 && (after_empty && at_margin || long) {
            found.push(Vec::new());
        }
        if let Some(piece) = found.last_mut() {
            piece.push(line);
        }
        after_empty = line.trim().is_empty();
    }
    let pieces = found.into_iter().map(|piece| piece.join("\n"));
    pieces
        .filter(|piece| piece.chars().any(char::is_alphanumeric))
        .collect()
}

/// Whether lines that are set in are code and not a poem: most of them hold signs of code.
pub(super) fn looks_like_code(text: &str) -> bool {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let (mut all, mut code) = (0, 0);
    for line in lines {
        let signs = line.contains([
            '{', '}', '[', ']', '=', '<', '>', '$', '|', '\\', ';', '─', '│', '►',
        ]) || ["()", "--", "://"].iter().any(|sign| line.contains(sign))
            || line.contains('/') && !line.contains(". ")
            || line.starts_with(['#', '@', '%'])
            || is_command(line);
        all += 1;
        code += usize::from(signs);
    }
    all > 0 && 2 * code >= all
}

/// `tar xf a.tgz`: a few small words without an end mark.
fn is_command(line: &str) -> bool {
    line.split_whitespace().count() <= 6
        && line.starts_with(|c: char| c.is_ascii_lowercase())
        && !line.ends_with(['.', ',', '!', '?', ';', ':'])
        && line.is_ascii()
        && line.contains(['-', '.', '_', '/', '"', '\''])
}
