use std::ffi::OsStr;
use std::io::{Write, stderr};
use std::path::{Path, PathBuf};

use crate::audit::Lookup;
use crate::config::{Environment, StartSettings};
use crate::engine::{Conversation, Engine, EngineError, Resume};
use crate::protocol::RecordedSession;
use crate::text::sanitize;
use crate::tui::WalkStep;

/// How the program was started, as far as another start has to repeat it to go on with the same
/// conversation over the same knowledge base.
#[derive(Debug, Clone)]
pub(super) struct StartOptions {
    pub(super) restated: StartSettings,
    /// What is set to no effect by `.env` of the working folder or under a misspelt name, one line each.
    pub(super) notices: Vec<String>,
    /// `--env-file`.
    pub(super) env_file: Option<PathBuf>,
    /// `--plain`.
    pub(super) is_plain: bool,
    /// `--quiet`.
    pub(super) is_quiet: bool,
    /// Whether the knowledge base is named on the command line.
    pub(super) is_base_named: bool,
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
    pub(super) fn over_demo(self, environment: &Environment) -> Self {
        Self {
            restated: self.restated.over_demo(environment),
            ..self
        }
    }

    /// The same in lines.
    pub(super) fn in_lines(&self) -> Self {
        Self {
            is_plain: true,
            ..self.clone()
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
        let command = self.over(&left.sources).command(&name);
        let _ = writeln!(stderr(), "{before}resume: {command}");
    }

    /// The same over other sources, where there are some.
    fn over(&self, sources: &[PathBuf]) -> Self {
        let mut start = self.clone();
        if !sources.is_empty() {
            sources.clone_into(&mut start.restated.sources);
        }
        start
    }

    fn command(&self, conversation: &str) -> String {
        let mut words: Vec<String> = Vec::new();
        // Shells of Windows have no such words before a command.
        let variables = self.restated.variables.iter();
        for (name, value) in variables.filter(|_| !cfg!(windows)) {
            let value = if value.is_empty() {
                String::new()
            } else {
                quote_for_shell(OsStr::new(value))
            };
            words.push(format!("{name}={value}"));
        }
        words.push("kb-agent".to_owned());
        if self.is_quiet {
            words.push("--quiet".to_owned());
        } else if self.is_plain {
            words.push("--plain".to_owned());
        }
        words.extend(["-c".to_owned(), quote_for_shell(OsStr::new(conversation))]);
        let data_dir = self.restated.data_dir.iter();
        let env_file = self.env_file.iter();
        let sources = self.restated.sources.iter();
        let paths = data_dir
            .map(|path| ("--data-dir", path))
            .chain(env_file.map(|path| ("--env-file", path)))
            .chain(sources.map(|path| ("--kb", path)));
        for (option, path) in paths {
            // A value that looks like an option is taken for one unless it is tied to its own.
            let looks_like_option = path.as_os_str().as_encoded_bytes().starts_with(b"-");
            let between = if looks_like_option { "=" } else { " " };
            words.push(format!(
                "{option}{between}{}",
                quote_for_shell(path.as_os_str())
            ));
        }
        let mut line = words.join(" ");
        if cfg!(windows) {
            let names = self.restated.variables.iter().map(|(name, _)| *name);
            let names: Vec<&str> = names.collect();
            if !names.is_empty() {
                line.push_str(&format!("   (with {} as now)", names.join(", ")));
            }
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
            restated: StartSettings {
                variables: vec![
                    ("KB_AGENT_AUDIT_LOG", "my log".to_owned()),
                    ("KB_AGENT_SOURCE", String::new()),
                ],
                sources: vec![PathBuf::from("it's"), PathBuf::from("-x")],
                data_dir: Some(PathBuf::from("d")),
            },
            notices: Vec::new(),
            env_file: Some(PathBuf::from("$HOME")),
            is_plain: true,
            is_quiet: false,
            is_base_named: true,
        };
        let over = start.over(&[PathBuf::from("/a"), PathBuf::from("/b c")]);
        let command = over.command("0123abcd");
        assert!(command.ends_with(" --kb /a --kb '/b c'"), "{command}");
        let words = shlex::split(&start.over(&[]).command("0123abcd")).unwrap();
        let expected = "KB_AGENT_AUDIT_LOG=my log|KB_AGENT_SOURCE=|kb-agent|--plain|-c|0123abcd|\
                        --data-dir|d|--env-file|$HOME|--kb|it's|--kb=-x";
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
