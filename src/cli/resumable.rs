use std::ffi::OsStr;
use std::io::{Write, stderr};
use std::path::{Path, PathBuf};

use crate::audit::Lookup;
use crate::engine::{Conversation, Engine, EngineError, Resume};
use crate::protocol::RecordedSession;
use crate::text::sanitize;
use crate::tui::WalkStep;

/// How the program was started, as far as its command line says so.
#[derive(Debug, Clone, Default)]
pub(super) struct StartOptions {
    /// `--kb`, and the paths that stand without it.
    pub(super) sources: Vec<PathBuf>,
    /// `--data-dir`.
    pub(super) data_dir: Option<PathBuf>,
    /// What is set to no effect by `.env` of the working folder or under a misspelt name, one line each.
    pub(super) notices: Vec<String>,
    /// `--env-file`.
    pub(super) env_file: Option<PathBuf>,
    /// `--plain`.
    pub(super) is_plain: bool,
    /// `--quiet`.
    pub(super) is_quiet: bool,
}

/// A conversation as it was left.
#[derive(Debug, Default)]
pub(super) struct EndedConversation {
    /// Its id; empty where none was begun.
    pub(super) session: String,
    /// All folders and files that were searched at its end, where that was not what it began with.
    pub(super) sources: Vec<PathBuf>,
}

impl EndedConversation {
    /// Ends what goes on behind a screen.
    pub(super) async fn close(conversation: Conversation) -> Self {
        Self {
            sources: conversation.sources(),
            session: conversation.end().await,
        }
    }
}

impl StartOptions {
    /// The same over the bundled demo.
    pub(super) fn over_demo(self) -> Self {
        Self {
            sources: Vec::new(),
            ..self
        }
    }

    /// Says on standard error by which command a shell goes on with a conversation, where something
    /// was asked in it.
    pub(super) fn print_resume_command(&self, log: &Path, left: &EndedConversation) {
        let name = Lookup::open(log).ok();
        let Some(name) = name.and_then(|lookup| lookup.short_name(&left.session)) else {
            return;
        };
        // Among other lines it says whose it is.
        let before = if self.is_plain { "kb-agent: " } else { "" };
        let command = self.command(&name, &left.sources);
        let _ = writeln!(stderr(), "{before}resume: {command}");
    }

    /// The command that goes on with a conversation; other sources, where there are some, take the
    /// place of those that were given.
    fn command(&self, conversation: &str, sources: &[PathBuf]) -> String {
        let form = match (self.is_quiet, self.is_plain) {
            (true, _) => " --quiet",
            (false, true) => " --plain",
            (false, false) => "",
        };
        let name = quote_for_shell(OsStr::new(conversation));
        let mut line = format!("kb-agent{form} -c {name}");
        let sources = if sources.is_empty() {
            &self.sources[..]
        } else {
            sources
        };
        let data_dir = self.data_dir.iter().map(|path| ("--data-dir", path));
        let env_file = self.env_file.iter().map(|path| ("--env-file", path));
        let sources = sources.iter().map(|path| ("--kb", path));
        for (option, path) in data_dir.chain(env_file).chain(sources) {
            // A value that looks like an option is taken for one unless it is tied to its own.
            let looks_like_option = path.as_os_str().as_encoded_bytes().starts_with(b"-");
            let between = if looks_like_option { "=" } else { " " };
            let path = quote_for_shell(path.as_os_str());
            line.push_str(&format!(" {option}{between}{path}"));
        }
        line
    }
}

/// One word for a shell. What no terminal should be sent is spelled byte by byte.
pub(super) fn quote_for_shell(word: &OsStr) -> String {
    let text = word.to_str().filter(|text| {
        let is_plain = !text.chars().any(char::is_control);
        is_plain && sanitize(text) == **text
    });
    if cfg!(windows) {
        // No name of a file holds a quotation mark there.
        return format!("\"{}\"", sanitize(&word.to_string_lossy()));
    }
    if let Some(quoted) = text.and_then(|text| shlex::try_quote(text).ok()) {
        return quoted.into_owned();
    }
    let bytes = word.as_encoded_bytes().iter();
    let spelled = bytes.map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b' ' => {
            char::from(*byte).to_string()
        }
        byte => format!("\\x{byte:02x}"),
    });
    format!("$'{}'", spelled.collect::<String>())
}

/// What a conversation that begins with these questions is called in lists, where it is not called
/// by its first: those are the demo's.
pub(super) fn name_of(walk: &[WalkStep]) -> Option<&'static str> {
    (!walk.is_empty()).then_some("demo")
}

/// Has the engine go on with a recorded conversation, or begin one of that name.
pub(super) async fn take_up(
    engine: &mut Engine,
    resume: Option<Resume>,
    name: Option<&'static str>,
) -> Result<Option<RecordedSession>, EngineError> {
    if let Some(name) = name {
        engine.name_conversation(name).await;
    }
    match resume {
        Some(which) => engine.resume(which).await.map(Some),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_back_what_the_program_was_started_with() {
        let start = StartOptions {
            sources: vec![PathBuf::from("it's"), PathBuf::from("-x")],
            data_dir: Some(PathBuf::from("d")),
            env_file: Some(PathBuf::from("$HOME")),
            is_plain: true,
            ..StartOptions::default()
        };
        let others = [PathBuf::from("/a"), PathBuf::from("/b c")];
        let command = start.command("0123abcd", &others);
        assert!(command.ends_with(" --kb /a --kb '/b c'"), "{command}");
        let words = shlex::split(&start.command("0123abcd", &[])).unwrap();
        let expected =
            "kb-agent|--plain|-c|0123abcd|--data-dir|d|--env-file|$HOME|--kb|it's|--kb=-x";
        assert_eq!(words.join("|"), expected);
    }

    #[test]
    fn trust_no_control_character_of_a_path_reaches_the_terminal() {
        assert_eq!(
            quote_for_shell(OsStr::new("a\u{1b}[2J b")),
            "$'a\\x1b\\x5b2J b'"
        );
        assert_eq!(
            quote_for_shell(OsStr::new("a\u{202e}b")),
            "$'a\\xe2\\x80\\xaeb'"
        );
        assert_eq!(quote_for_shell(OsStr::new("日记")), "'日记'");
    }
}
