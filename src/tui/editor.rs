//! The person's own editor, as `$VISUAL` or `$EDITOR` names it.
//!
//! The variable holds words, not a script: they are split as a shell would, and started without
//! one. Each editor takes a line number in its own way; one that is not known gets the file alone.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use tokio::process::{Child, Command};

/// How long the end of an editor is waited for when the program ends.
const ENDS_WITHIN: Duration = Duration::from_millis(500);

/// A program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditorCommand {
    /// What to start.
    pub program: String,
    /// Arguments of the program, the file among them.
    pub arguments: Vec<OsString>,
}

/// Starts the editor of `$VISUAL` or `$EDITOR` with this file at this line, once `give_away` has
/// given the terminal back. An error is one line.
pub fn start(path: &Path, line: usize, give_away: impl FnOnce()) -> Result<Child, String> {
    let named = ["VISUAL", "EDITOR"].map(|name| env::var(name).unwrap_or_default());
    let variable = named.iter().find(|value| !value.trim().is_empty());
    let command = command(variable.map_or("", String::as_str), path, line)?;
    give_away();
    Command::new(&command.program)
        .args(&command.arguments)
        .spawn()
        .map_err(|error| format!("{} cannot be started: {error}", command.program))
}

/// Ends an editor that is still open when the program ends, or it would read the shell's keys.
pub async fn end(mut editor: Child) {
    #[cfg(unix)]
    {
        use rustix::process::{Pid, Signal, kill_process};
        let id = editor.id().and_then(|id| i32::try_from(id).ok());
        if let Some(pid) = id.and_then(Pid::from_raw) {
            // It may keep what was written in it, and set the terminal back.
            let _ = kill_process(pid, Signal::TERM);
        }
    }
    #[cfg(not(unix))]
    let _ = editor.start_kill();
    let _ = tokio::time::timeout(ENDS_WITHIN, editor.wait()).await;
}

/// What starts the editor of `variable` with this file at this line; an error is one line.
pub fn command(variable: &str, path: &Path, line: usize) -> Result<EditorCommand, String> {
    let Some(words) = shlex::split(variable) else {
        return Err(format!(
            "the editor cannot be started: a quote in {variable} is not closed; set VISUAL anew"
        ));
    };
    let mut words = words.into_iter();
    let Some(program) = words.next().filter(|program| !program.is_empty()) else {
        return Err("no editor is set; set VISUAL or EDITOR to one, such as 'vim'".to_owned());
    };
    let mut arguments: Vec<OsString> = words.map(Into::into).collect();
    let name = Path::new(&program).file_stem().unwrap_or_default();
    let at_line = || {
        let mut place = path.as_os_str().to_owned();
        place.push(format!(":{line}"));
        place
    };
    match name.to_string_lossy().as_ref() {
        "vi" | "vim" | "nvim" | "view" | "gvim" | "nano" | "rnano" | "pico" | "emacs"
        | "emacsclient" | "kak" | "micro" | "joe" | "jmacs" | "jed" | "mg" | "ne" | "mcedit"
        | "gedit" | "less" | "vis" | "nvi" | "elvis" | "zile" => {
            arguments.push(format!("+{line}").into());
            arguments.push(path.into());
        }
        "hx" | "helix" | "subl" | "zed" | "zeditor" => arguments.push(at_line()),
        "code" | "code-insiders" | "codium" | "vscodium" | "cursor" | "windsurf" => {
            arguments.push("--goto".into());
            arguments.push(at_line());
        }
        _ => arguments.push(path.into()),
    }
    Ok(EditorCommand { program, arguments })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(variable: &str) -> String {
        let command = command(variable, Path::new("/kb/a b.md"), 12).unwrap();
        let arguments = command.arguments.iter().map(|word| word.to_string_lossy());
        let words: Vec<_> = std::iter::once(command.program.as_str().into())
            .chain(arguments)
            .collect();
        words.join("|")
    }

    #[test]
    fn editors_are_given_the_line_as_they_take_it() {
        for (variable, words) in [
            ("vim", "vim|+12|/kb/a b.md"),
            ("/usr/bin/nvim -R", "/usr/bin/nvim|-R|+12|/kb/a b.md"),
            ("emacsclient -t", "emacsclient|-t|+12|/kb/a b.md"),
            ("hx", "hx|/kb/a b.md:12"),
            ("code --wait", "code|--wait|--goto|/kb/a b.md:12"),
            (
                "'/my tools/edit' \"a b\" c\\ d",
                "/my tools/edit|a b|c d|/kb/a b.md",
            ),
            ("vim; rm -rf $HOME `x`", "vim;|rm|-rf|$HOME|`x`|/kb/a b.md"),
        ] {
            assert_eq!(started(variable), words);
        }
    }

    #[test]
    fn what_is_no_editor_is_said_in_one_line() {
        for (variable, said) in [
            ("", "no editor is set"),
            ("  ", "no editor is set"),
            ("vim 'a", "not closed"),
        ] {
            let said_so = command(variable, Path::new("/kb/a.md"), 1).unwrap_err();
            assert!(
                said_so.contains(said) && !said_so.contains('\n'),
                "{said_so}"
            );
        }
    }
}
