//! Settings written to the user's own `.env`.
//!
//! The file is the user's: the lines of the settings in question are replaced and no other is touched. What
//! was made is read back, by what reads the file at a start, before it takes the place of the old one.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::environment::{ENV, LARGEST, parse, sets};
use crate::files::{create_private_dir, read_text_bounded, write_atomic};
use crate::text::one_line;

/// Gives these settings these values in `.env` of the configuration folder, and returns the path of that
/// file, which is made where it is not there. The error is one line.
pub fn set_in_own_file(folder: &Path, settings: &[(&str, &str)]) -> Result<PathBuf, String> {
    let path = folder.join(ENV);
    // A link goes on leading to the file that it leads to.
    let file = path.canonicalize().unwrap_or_else(|_| path.clone());
    let failed = |why: &str| format!("{} is not written: {}", path.display(), one_line(why, 200));
    let before = match read_text_bounded(&file, LARGEST) {
        Ok(text) => text,
        Err(error) if error.is_missing() => String::new(),
        Err(error) => return Err(failed(&error.to_string())),
    };
    let after = with_settings(&before, settings);
    let said = parse(&path, &after).into_iter();
    let said = said.collect::<Result<HashMap<_, _>, _>>();
    let said = said.map_err(|error| failed(&error.to_string()))?;
    let is_said = |(name, value): &(&str, &str)| {
        let is_line = !value.contains(char::is_control);
        is_line && said.get(*name).is_some_and(|said| said == value)
    };
    if !settings.iter().all(is_said) {
        let names: Vec<&str> = settings.iter().map(|(name, _)| *name).collect();
        let why = format!(
            "a value cannot be written there; set {} by hand",
            names.join(" and ")
        );
        return Err(failed(&why));
    }
    let written = create_private_dir(folder).and_then(|()| write_atomic(&file, after.as_bytes()));
    written.map_err(|error| failed(&error.to_string()))?;
    Ok(path)
}

/// The text with these settings: in the place of the lines that set them, or else at its end.
fn with_settings(text: &str, settings: &[(&str, &str)]) -> String {
    let lines = text.split_inclusive('\n').map(str::to_owned);
    let mut lines: Vec<String> = lines.collect();
    for (name, value) in settings {
        let wanted = format!("{name}={}", quoted(value));
        let mut is_there = false;
        for line in lines.iter_mut().filter(|line| sets(line, name)) {
            is_there = true;
            let end = line.trim_end_matches(['\r', '\n']).len();
            line.replace_range(..end, &wanted);
        }
        if is_there {
            continue;
        }
        if let Some(last) = lines.last_mut().filter(|last| !last.ends_with('\n')) {
            last.push('\n');
        }
        lines.push(wanted + "\n");
    }
    lines.concat()
}

/// Puts a value in quotes where a bare one would be read otherwise.
fn quoted(value: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ":/._-+@".contains(c);
    if value.chars().all(is_plain) {
        return value.to_owned();
    }
    format!("'{value}'")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const NAMES: [(&str, &str); 2] = [("A_URL", "http://127.0.0.1:1/v1"), ("A_MODEL", "qwen3:8b")];

    #[test]
    fn local_servers_are_written_into_their_lines_and_no_other_line_changes() {
        for (before, after) in [
            ("", "A_URL=http://127.0.0.1:1/v1\nA_MODEL=qwen3:8b\n"),
            (
                "# mine\n\n# A_URL=old\nA_URL=\nB=1 # b\n export A_MODEL = 'x'\nA_MODELS=2",
                "# mine\n\n# A_URL=old\nA_URL=http://127.0.0.1:1/v1\nB=1 # b\nA_MODEL=qwen3:8b\nA_MODELS=2",
            ),
            (
                "B=1\r\nA_MODEL=\r\n",
                "B=1\r\nA_MODEL=qwen3:8b\r\nA_URL=http://127.0.0.1:1/v1\n",
            ),
            (
                "B=1",
                "B=1\nA_URL=http://127.0.0.1:1/v1\nA_MODEL=qwen3:8b\n",
            ),
        ] {
            let home = tempfile::tempdir().unwrap();
            let folder = home.path().join("config");
            fs::create_dir(&folder).unwrap();
            if !before.is_empty() {
                fs::write(folder.join(".env"), before).unwrap();
            }
            let path = set_in_own_file(&folder, &NAMES).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), after);
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
            }
        }
    }

    #[test]
    fn local_servers_with_names_that_no_line_can_hold_leave_the_file_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".env");
        fs::write(&path, "B=1\n").unwrap();
        for value in ["it's", "two\nB=2"] {
            let refused = set_in_own_file(folder.path(), &[("A_MODEL", value)]);
            assert!(refused.unwrap_err().contains("is not written"), "{value}");
            assert_eq!(fs::read_to_string(&path).unwrap(), "B=1\n");
        }
        for value in ["a model", "a $HOME b", "#a", "a\\b \"c\""] {
            set_in_own_file(folder.path(), &[("A_MODEL", value)]).unwrap();
        }
        fs::write(&path, "not a setting\n").unwrap();
        assert!(set_in_own_file(folder.path(), &NAMES).is_err());
    }
}
