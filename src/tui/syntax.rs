//! Source code by what its parts mean.
//!
//! The grammars are bat's, read when the first code is shown and not before. What a grammar says of a
//! part becomes one of our inks, so that the theme alone decides how it looks: contrast holds in
//! every theme, and where there are no colours none is missed.

use std::sync::LazyLock;

use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

use super::ink::{Ink, Row};

/// Longer lines are data; they stay plain.
const LONGEST_LINE: usize = 600;
/// Behind that many lines a text stays plain.
const MOST_LINES: usize = 2000;

static GRAMMARS: LazyLock<SyntaxSet> = LazyLock::new(two_face::syntax::extra_newlines);

/// The ink of what begins like this (`assets/scopes.txt`), the first that fits; what is not there has that
/// of what it is in.
static MEANINGS: LazyLock<Vec<(Scope, Ink)>> = LazyLock::new(|| {
    let lines = include_str!("../../assets/scopes.txt").lines();
    let read = |line: &str| {
        let (name, ink) = line.split_once(' ')?;
        Some((Scope::new(name).ok()?, Ink::from_name(ink)?))
    };
    lines.filter_map(read).collect()
});

/// A grammar.
#[derive(Clone, Copy)]
pub struct SyntaxLanguage(&'static SyntaxReference);

impl SyntaxLanguage {
    /// Finds the language by the word behind the fence of a code block.
    pub fn of_fence(word: &str) -> Option<Self> {
        let word = word.split([' ', ',', '{']).next().unwrap_or_default();
        (!word.is_empty()).then_some(())?;
        Self::unless_plain(GRAMMARS.find_syntax_by_token(word))
    }

    /// Finds the language by the name of a file, or by its first line.
    pub fn of_file(path: &str, first_line: &str) -> Option<Self> {
        let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
        let extension = name.rsplit_once('.').map(|(_, extension)| extension);
        let by_name = GRAMMARS.find_syntax_by_extension(name);
        let by_extension = || GRAMMARS.find_syntax_by_extension(&extension?.to_lowercase());
        let by_line = || {
            let is_short = first_line.len() <= LONGEST_LINE;
            is_short.then(|| GRAMMARS.find_syntax_by_first_line(first_line))?
        };
        Self::unless_plain(by_name.or_else(by_extension).or_else(by_line))
    }

    fn unless_plain(found: Option<&'static SyntaxReference>) -> Option<Self> {
        found
            .filter(|found| found.scope != GRAMMARS.find_syntax_plain_text().scope)
            .map(Self)
    }

    /// What reads code of this language from its first line on.
    pub fn lines(self) -> CodeLines {
        CodeLines {
            state: ParseState::new(self.0),
            scopes: ScopeStack::new(),
            read: 0,
        }
    }
}

impl std::fmt::Debug for SyntaxLanguage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.name)
    }
}

/// Reads code line by line: what a line means depends on those before it.
#[derive(Debug, Clone)]
pub struct CodeLines {
    state: ParseState,
    scopes: ScopeStack,
    read: usize,
}

impl CodeLines {
    /// The next line in its inks; what has none is drawn in `plain`.
    pub fn next_row(&mut self, line: &str, plain: Ink) -> Row {
        self.read += 1;
        if line.len() > LONGEST_LINE || self.read > MOST_LINES {
            return Row::new(plain, line);
        }
        let whole = format!("{line}\n");
        let Ok(changes) = self.state.parse_line(&whole, &GRAMMARS) else {
            return Row::new(plain, line);
        };
        let mut row = Row::default();
        let mut at = 0;
        for (end, change) in changes {
            let end = end.min(line.len());
            if let Some(piece) = line.get(at..end) {
                row.push(self.ink().unwrap_or(plain), piece);
                at = end;
            }
            if self.scopes.apply(&change).is_err() {
                self.scopes = ScopeStack::new();
            }
        }
        row.push(
            self.ink().unwrap_or(plain),
            line.get(at..).unwrap_or_default(),
        );
        row
    }

    fn ink(&self) -> Option<Ink> {
        self.scopes.as_slice().iter().rev().find_map(|scope| {
            let known = MEANINGS.iter().find(|(name, _)| name.is_prefix_of(*scope));
            known.map(|(_, ink)| *ink)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inks(language: &str, code: &str) -> Vec<(Ink, String)> {
        let mut lines = SyntaxLanguage::of_fence(language).unwrap().lines();
        let rows = code.lines().map(|line| lines.next_row(line, Ink::Text));
        rows.flat_map(|row| row.pieces)
            .map(|piece| (piece.ink, piece.text))
            .collect()
    }

    #[track_caller]
    fn has(found: &[(Ink, String)], ink: Ink, text: &str) {
        let holds = |(known, piece): &(Ink, String)| *known == ink && piece.contains(text);
        assert!(found.iter().any(holds), "{text} as {ink:?} in {found:?}");
    }

    #[test]
    fn code_has_the_inks_of_its_meaning() {
        let found = inks(
            "rust",
            "/* a\nb */ fn main() { let x: String = \"s\"; f(42) } // c",
        );
        has(&found, Ink::Comment, "b */");
        has(&found, Ink::Keyword, "fn");
        has(&found, Ink::FunctionName, "main");
        has(&found, Ink::TypeName, "String");
        has(&found, Ink::StringLiteral, "\"s\"");
        has(&found, Ink::Number, "42");
        has(&found, Ink::Comment, "// c");
        let found = inks("toml", "[server]\nport = 80 # why\nname = \"a\"");
        has(&found, Ink::Number, "80");
        has(&found, Ink::Comment, "# why");
        has(&found, Ink::StringLiteral, "a");
        let found = inks("md", "# Head\n\nsome `code`\n\n```rust\nlet a = 1;\n```\n");
        has(&found, Ink::Heading, "Head");
        has(&found, Ink::Keyword, "let");
        for language in [
            "py",
            "ts",
            "dockerfile",
            "yaml",
            "json",
            "sql",
            "sh",
            "go",
            "html",
        ] {
            assert!(SyntaxLanguage::of_fence(language).is_some(), "{language}");
        }
    }

    #[test]
    fn the_text_of_a_line_stays_what_it_was() {
        let code = "let a = \"日本 👩‍💻\"; // é\n\u{301}\n\tx\n<a href='b'>\"";
        for language in ["rust", "html", "yaml", "md", "sh"] {
            let mut lines = SyntaxLanguage::of_fence(language).unwrap().lines();
            for line in code.lines() {
                assert_eq!(lines.next_row(line, Ink::Code).text(), line);
            }
        }
    }

    #[test]
    fn what_is_no_code_stays_plain() {
        assert!(SyntaxLanguage::of_fence("").is_none());
        assert!(SyntaxLanguage::of_fence("no-such-language").is_none());
        assert!(SyntaxLanguage::of_file("notes/readme.txt", "Dear all,").is_none());
        assert!(SyntaxLanguage::of_file("bin/run", "#!/bin/sh").is_some());
        assert!(SyntaxLanguage::of_file("src/MAIN.RS", "").is_some());
        let long = "x = 1; ".repeat(200);
        let mut lines = SyntaxLanguage::of_fence("rust").unwrap().lines();
        assert_eq!(lines.next_row(&long, Ink::Text).pieces.len(), 1);
    }
}
