//! A place for the real binary to work in: a data folder of its own, no setting from outside.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::frozen_demo;

/// A temporary folder with a data folder in it.
pub struct Workplace {
    root: TempDir,
}

/// A workplace whose data folder holds the index of the frozen demo pages, made once.
fn indexed_demo() -> &'static Path {
    static DEMO: OnceLock<TempDir> = OnceLock::new();
    DEMO.get_or_init(|| {
        let made = Workplace::empty();
        drop(frozen_demo::indexed(&made.data().join("index")));
        made.root
    })
    .path()
}

/// Where conversations over the demo are exported to, by all tests.
pub fn exports() -> PathBuf {
    indexed_demo().join("data/exports")
}

/// Where the demo was laid out below a data folder: its folder is named by its contents.
pub fn demo_folder(data: &Path) -> PathBuf {
    let laid_out = fs::read_dir(data.join("demo")).unwrap();
    let mut folders = laid_out.map(|entry| entry.unwrap().path().join("demo-kb"));
    folders.next().unwrap()
}

impl Workplace {
    /// With nothing indexed.
    pub fn empty() -> Self {
        Self {
            root: TempDir::new().unwrap(),
        }
    }

    /// With the frozen demo pages indexed, so that no test waits for the embedding.
    pub fn with_demo() -> Demo {
        Demo { own: Self::empty() }
    }

    pub fn path(&self) -> &Path {
        self.root.path()
    }

    pub fn data(&self) -> PathBuf {
        self.path().join("data")
    }

    pub fn audit_log(&self) -> PathBuf {
        self.data().join("audit.jsonl")
    }

    /// Writes a file below this place, with the folders it needs.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// The binary with these arguments, working here and knowing nothing of the outside.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kb-agent"));
        command
            .args(args)
            .current_dir(self.path())
            .env_clear()
            .env("TZ", "UTC")
            .env("HOME", self.path())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("KB_AGENT_DATA_DIR", self.data())
            // Who runs the tests may run a model server, too.
            .env("KB_AGENT_LLM_DISCOVER", "0")
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// [`Self::run`], which must go well.
    #[track_caller]
    pub fn run_well(&self, args: &[&str]) -> Output {
        successful(self.run(args))
    }

    /// Indexes the folder `kb`, so that no run has anything to say about the index.
    pub fn index(&self) {
        self.run_well(&["index", "--kb", "kb"]);
    }

    /// With these texts as files.
    pub fn holding<const N: usize>(files: [(&str, &str); N]) -> Self {
        let place = Self::empty();
        for (name, content) in files {
            place.file(name, content);
        }
        place
    }

    /// With one short document in `kb`, where what is searched does not matter.
    pub fn with_gate() -> Self {
        Self::holding([(
            "kb/gate.md",
            "# Gate\n\nThe threshold of the gate is seven.\n",
        )])
    }

    /// The audit log, one object a line.
    pub fn audit(&self) -> Vec<Value> {
        json_lines(&fs::read(self.audit_log()).unwrap())
    }
}

/// A place of its own for audit log and settings, over the shared, indexed demo.
pub struct Demo {
    own: Workplace,
}

impl Demo {
    /// Runs it with these lines as its standard input.
    pub fn piped(&self, args: &[&str], lines: &str) -> Output {
        let mut command = self.command(args);
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = pipes.stderr(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(lines.as_bytes()).unwrap();
        drop(input);
        child.wait_with_output().unwrap()
    }

    pub fn place(&self) -> &Workplace {
        &self.own
    }

    /// The binary over the indexed demo; its audit log is this place's own.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = self.own.command(args);
        command
            .env("KB_AGENT_SOURCE", frozen_demo::pages())
            .env("KB_AGENT_DATA_DIR", indexed_demo().join("data"))
            .env("KB_AGENT_AUDIT_LOG", self.own.audit_log());
        command
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// [`Self::run`], which must go well.
    #[track_caller]
    pub fn run_well(&self, args: &[&str]) -> Output {
        successful(self.run(args))
    }

    /// The events of one question.
    pub fn ask(&self, args: &[&str]) -> Vec<Value> {
        json_lines(&self.run_well(&[&["ask", "--json"], args].concat()).stdout)
    }
}

#[track_caller]
fn successful(output: Output) -> Output {
    assert!(output.status.success(), "{}", text(&output.stderr));
    output
}

/// Where nobody listens: the port was just given back.
pub fn free_address() -> String {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    gone.local_addr().unwrap().to_string()
}

/// The base URL of a server that is not there.
pub fn refusing_url() -> String {
    format!("http://{}/v1", free_address())
}

/// Items of the list of [`long_list`].
const LONG_LIST: usize = 500;

/// A document with a list that is longer than a passage.
pub fn long_list() -> String {
    let item = |n: usize| format!("- part number {n} of the workshop\n");
    let list: String = (1..=LONG_LIST).map(item).collect();
    format!("# Parts\n\nThe workshop has these parts:\n\n{list}")
}

/// Asserts that what `ask --json` quotes first of [`long_list`] says how many of its items are left out.
#[track_caller]
pub fn assert_tells_of_long_list(asked: &Output) {
    let events = json_lines(&asked.stdout);
    let finished = events.iter().find(|it| it["event"] == "answer_finished");
    let answer = finished.unwrap()["text"].as_str().unwrap();
    let (quoted, _) = answer.split_once(" more [").expect(answer);
    let (quoted, left_out) = quoted.rsplit_once("… ").expect(answer);
    let shown = quoted.lines().filter(|line| line.starts_with("- "));
    let left_out: usize = left_out.parse().expect(answer);
    assert!(left_out < LONG_LIST, "{answer}");
    assert_eq!(shown.count() + left_out, LONG_LIST, "{answer}");
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

pub fn json_lines(bytes: &[u8]) -> Vec<Value> {
    text(bytes)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect()
}

/// Exactly one line on standard error, and what it says.
pub fn one_line(output: &Output) -> String {
    let stderr = text(&output.stderr);
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    stderr.trim_end().to_owned()
}

pub fn events<'a>(all: &'a [Value], name: &str) -> Vec<&'a Value> {
    all.iter().filter(|event| event["event"] == name).collect()
}

/// What the program said, which ends in time: a pipe in a file's place would keep it for ever, and
/// a device would take the memory of the machine.
pub fn ended(mut command: Command) -> Output {
    const PATIENCE: Duration = Duration::from_secs(20);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > PATIENCE {
            child.kill().unwrap();
            let _ = child.wait();
            panic!("it did not end: {command:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}

/// Sends a signal to a program.
#[cfg(unix)]
pub fn signal(name: &str, process: u32) {
    let mut kill = Command::new("kill");
    let sent = kill.args(["-s", name, &process.to_string()]).status();
    assert!(sent.unwrap().success(), "{name}");
}

/// Makes a pipe that no one writes to.
#[cfg(unix)]
pub fn pipe(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}
