//! Names of files as words.

/// A document's file name without its extension.
pub fn stem(source: &str) -> &str {
    let name = source.rsplit('/').next().unwrap_or(source);
    without_extension(name)
}

/// With single spaces where a name has spaces, hyphens or underscores.
pub fn spaced(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    let parts = name.split(|c: char| c.is_whitespace() || matches!(c, '-' | '_'));
    for word in parts.filter(|word| !word.is_empty()) {
        if !plain.is_empty() {
            plain.push(' ');
        }
        plain.push_str(word);
    }
    plain
}

/// A path without what stands behind its last dot.
pub fn without_extension(path: &str) -> &str {
    match path.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() && !extension.contains('/') => {
            if stem.ends_with('/') { path } else { stem }
        }
        _ => path,
    }
}
