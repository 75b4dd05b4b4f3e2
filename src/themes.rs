//! The themes that come with the program: every file of `assets/themes`, named as the setting names it.

use include_dir::{Dir, include_dir};

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/assets/themes");

/// The names of the themes, in order of the alphabet.
pub fn theme_names() -> impl Iterator<Item = &'static str> {
    let stems = FILES.files().map(|file| file.path().file_stem());
    stems.filter_map(|stem| stem?.to_str())
}

/// The file of a theme.
pub fn theme_source(name: &str) -> Option<&'static str> {
    FILES.get_file(format!("{name}.toml"))?.contents_utf8()
}
