//! Documents are taken apart where that can harm nothing: in a process of its own. First the processes and
//! their ends, then what is said to them, then what they do. Knows how a document is handed over, and nothing
//! of what is in it.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, Write};
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitCode, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{io, panic, process, thread};

use parking_lot::{Condvar, Mutex};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::format::{Reading, kind_of, reading};
use super::{
    Extraction, MAX_DOCUMENT_BYTES, MAX_ENCODED_BYTES, MAX_TEXT_BYTES, SNIFF_BYTES, SkipReason,
    decode,
};

// Processes that take documents apart, and what becomes of a document when one ends.
//
// A thread cannot be stopped, and one that asks for more memory than there is ends the program;
// a process can be ended at any time and takes only itself along. Each has a share of the memory
// that all of them have together. Most documents need little: they are tried with a small share,
// and what breaks off over it is tried once more with a large one, while the others wait.

const MEGABYTE: u64 = 1024 * 1024;
/// What most documents need, and more.
const SMALL: u64 = 128 * MEGABYTE;
/// How many small shares a large one is, which no document may be over.
const LARGE_SHARES: usize = 3;
/// How many small shares there are, whatever the number of cores: beside what the index itself
/// takes, 600 MB hold them.
const SHARES: usize = LARGE_SHARES;
/// What is larger than this needs more than the small share anyway.
const LARGE_DOCUMENT: u64 = 24 * MEGABYTE;

/// Seconds of a processor that any document may take, and a large one.
const SECONDS: u64 = 10;
const MAX_SECONDS: u64 = 30;
/// Factor on the time limit, because a second takes longer on a busy machine.
const BUSY: u64 = 4;
/// How often who waits looks whether to go on waiting.
const LOOK_UP: Duration = Duration::from_millis(20);
/// How long a process may take to end whose output has ended.
const ENDS_WITHIN: Duration = Duration::from_secs(1);
/// What a process says about its own end is the end of what it says.
const LAST_WORDS: usize = 1024;

/// Takes documents apart in processes of their own.
#[derive(Debug)]
pub(crate) struct Readers {
    program: PathBuf,
    state: Mutex<PoolState>,
    changed: Condvar,
}

#[derive(Debug)]
struct PoolState {
    /// Small shares that are not given out.
    free: usize,
    /// How many wait for a large share.
    large_waiting: usize,
    /// How many ask for one document after the other; while there are any, processes are kept.
    sessions: usize,
    idle: Vec<ReaderProcess>,
}

/// A document, as it is asked for.
pub(crate) struct DocumentFile<'a> {
    /// Where its bytes are.
    pub file: &'a File,
    /// Its name, without folders.
    pub name: &'a str,
    /// How large it is.
    pub size: u64,
    /// How large it may be.
    pub limit: u64,
}

impl Readers {
    /// `program` is this program.
    pub fn new(program: PathBuf) -> Self {
        Self {
            program,
            state: Mutex::new(PoolState {
                free: SHARES,
                large_waiting: 0,
                sessions: 0,
                idle: Vec::new(),
            }),
            changed: Condvar::new(),
        }
    }

    /// What the document says, or why that is not known; once `cancel` is cancelled, the process that
    /// reads it is ended at once.
    pub fn read(
        &self,
        document: &DocumentFile<'_>,
        cancel: &CancellationToken,
    ) -> Result<Extraction, SkipReason> {
        if document.size <= LARGE_DOCUMENT {
            match self.try_with(1, document, cancel) {
                Err(SkipReason::TooMuchMemory(_)) => {}
                extracted => return extracted,
            }
        }
        self.try_with(LARGE_SHARES, document, cancel)
    }

    fn try_with(
        &self,
        shares: usize,
        document: &DocumentFile<'_>,
        cancel: &CancellationToken,
    ) -> Result<Extraction, SkipReason> {
        let _taken = self.take(shares, cancel)?;
        let bytes = SMALL * shares as u64;
        // A large one has the shares of those that are kept, which end here.
        let mut kept = match shares {
            1 => self.state.lock().idle.pop().into_iter().collect(),
            _ => std::mem::take(&mut self.state.lock().idle),
        };
        let idle = kept.pop().filter(|_| shares == 1);
        drop(kept);
        let mut reader = match idle {
            Some(reader) => reader,
            None => ReaderProcess::start(&self.program, bytes).map_err(|error| {
                SkipReason::NotNow(format!("no process for it could be started ({error})"))
            })?,
        };
        let answer = reader.ask(document, cancel)?;
        let mut state = self.state.lock();
        if shares == 1 && !answer.is_last && state.sessions > 0 {
            state.idle.push(reader);
        }
        answer.extracted
    }

    /// Waits until so many shares are free.
    fn take(
        &self,
        shares: usize,
        cancel: &CancellationToken,
    ) -> Result<BorrowedReader<'_>, SkipReason> {
        let is_large = shares > 1;
        let mut state = self.state.lock();
        state.large_waiting += usize::from(is_large);
        let is_free =
            |state: &PoolState| state.free >= shares && (is_large || state.large_waiting == 0);
        while !is_free(&state) && !cancel.is_cancelled() {
            self.changed.wait_for(&mut state, LOOK_UP);
        }
        state.large_waiting -= usize::from(is_large);
        if cancel.is_cancelled() {
            return Err(SkipReason::Stopped);
        }
        state.free -= shares;
        Ok(BorrowedReader {
            readers: self,
            shares,
        })
    }
}

/// While there is one, processes that are done are kept for the next document.
pub(crate) struct ReadingSession<'a>(Option<&'a Readers>);

impl<'a> ReadingSession<'a> {
    /// More documents are going to be asked for until this is dropped.
    pub(crate) fn begin(readers: Option<&'a Readers>) -> Self {
        if let Some(readers) = readers {
            readers.state.lock().sessions += 1;
        }
        Self(readers)
    }
}

impl Drop for ReadingSession<'_> {
    fn drop(&mut self) {
        let Some(readers) = self.0 else { return };
        let mut state = readers.state.lock();
        state.sessions -= 1;
        let is_last = state.sessions == 0;
        let idle = is_last.then(|| std::mem::take(&mut state.idle));
        drop(state);
        // Their end is waited for, which must not happen while the state is locked.
        drop(idle);
    }
}

/// Shares that are in use.
struct BorrowedReader<'a> {
    readers: &'a Readers,
    shares: usize,
}

impl Drop for BorrowedReader<'_> {
    fn drop(&mut self) {
        self.readers.state.lock().free += self.shares;
        self.readers.changed.notify_all();
    }
}

/// One process.
#[derive(Debug)]
struct ReaderProcess {
    /// How much memory it may have.
    bytes: u64,
    process: Child,
    asks: BufWriter<ChildStdin>,
    answers: Receiver<ExtractReply>,
    last_words: Option<JoinHandle<Vec<u8>>>,
}

impl ReaderProcess {
    fn start(program: &Path, bytes: u64) -> io::Result<Self> {
        let mut command = Command::new(program);
        command
            .arg(READER_ARGUMENT)
            .arg(bytes.to_string())
            // No key of ours is its business, and no folder is kept from being removed.
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt;
            // Ctrl+C is for us: whether a document is still wanted is not the terminal's to say.
            command.arg0("kb-agent").process_group(0);
        }
        let mut process = command.spawn()?;
        let piped = (
            process.stdin.take(),
            process.stdout.take(),
            process.stderr.take(),
        );
        let (Some(asks), Some(output), Some(errors)) = piped else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let (tell, answers) = mpsc::channel();
        thread::Builder::new().spawn(move || {
            let mut output = BufReader::new(output);
            while let Ok(answer) = ExtractReply::read(&mut output)
                && tell.send(answer).is_ok()
            {}
        })?;
        let last_words = thread::Builder::new().spawn(move || end_of(errors))?;
        Ok(Self {
            bytes,
            process,
            asks: BufWriter::new(asks),
            answers,
            last_words: Some(last_words),
        })
    }

    /// Whatever is no answer ends it.
    fn ask(
        &mut self,
        document: &DocumentFile<'_>,
        cancel: &CancellationToken,
    ) -> Result<ExtractReply, SkipReason> {
        let request = ExtractRequest {
            name: document.name.to_owned(),
            size: document.size,
            seconds: (SECONDS + document.size / MEGABYTE).min(MAX_SECONDS),
        };
        let mut file = document.file;
        file.rewind()?;
        let sent = match request.write(&mut self.asks) {
            Ok(()) => write_document(&mut file, &mut self.asks, document.limit, cancel),
            Err(_) => Err(Sending::To),
        };
        match sent {
            Ok(None) => {}
            Ok(Some(_)) if cancel.is_cancelled() => return Err(SkipReason::Stopped),
            Ok(Some(size)) => return Err(SkipReason::TooLarge(size)),
            Err(Sending::From(error)) => return Err(error.into()),
            Err(Sending::To) => return Err(self.why_it_ended(request.seconds)),
        }
        let deadline = Instant::now() + Duration::from_secs(request.seconds * BUSY);
        loop {
            match self.answers.recv_timeout(LOOK_UP) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.why_it_ended(request.seconds));
                }
                Err(RecvTimeoutError::Timeout) if cancel.is_cancelled() => {
                    return Err(SkipReason::Stopped);
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() > deadline => {
                    // It was not given the time that a document may take, or it would have ended.
                    return Err(SkipReason::NotNow("the machine is too busy".to_owned()));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn why_it_ended(&mut self, seconds: u64) -> SkipReason {
        let status = self.end(ENDS_WITHIN);
        // One that goes on would keep what it says open for ever.
        let _ = self.process.kill();
        let said = self.last_words.take().and_then(|said| said.join().ok());
        let said = said.unwrap_or_default();
        let says = |words: &str| memchr::memmem::find(&said, words.as_bytes()).is_some();
        // What the standard library says before it ends a process for want of memory.
        if says("memory allocation of") || says("overflowed its stack") {
            return SkipReason::TooMuchMemory(self.bytes / MEGABYTE);
        }
        let reason = status.and_then(|status| reason_of_end(status, seconds));
        reason.unwrap_or(SkipReason::BrokeOff)
    }

    /// How the process ended; one that does not end by itself is ended.
    fn end(&mut self, within: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + within;
        while Instant::now() < deadline {
            match self.process.try_wait() {
                Ok(None) => thread::sleep(Duration::from_millis(1)),
                status => return status.ok().flatten(),
            }
        }
        None
    }
}

impl Drop for ReaderProcess {
    fn drop(&mut self) {
        // An error means that it has ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What the end of a process says about the document, or about the machine.
#[cfg(unix)]
fn reason_of_end(status: ExitStatus, seconds: u64) -> Option<SkipReason> {
    use rustix::process::Signal;
    use std::os::unix::process::ExitStatusExt;

    match status.signal().and_then(Signal::from_named_raw)? {
        Signal::XCPU => Some(SkipReason::TooSlow(seconds)),
        Signal::KILL | Signal::TERM | Signal::INT | Signal::HUP | Signal::QUIT => {
            let why = "the process that read it was ended";
            Some(SkipReason::NotNow(why.to_owned()))
        }
        _ => None,
    }
}

#[cfg(not(unix))]
fn reason_of_end(_: ExitStatus, _: u64) -> Option<SkipReason> {
    None
}

/// Reads to the end and keeps the end.
fn end_of(mut said: impl Read) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut piece = [0; LAST_WORDS];
    while let Ok(read) = said.read(&mut piece)
        && read > 0
    {
        kept.extend_from_slice(&piece[..read]);
        kept.drain(..kept.len().saturating_sub(LAST_WORDS));
    }
    kept
}

// What is said between the program and the process that takes documents apart for it.
//
// A request: what the document is called and how long it may take, then its bytes in pieces, of which
// an empty one is the last. The reply: what was made, and its text. Every length has a
// bound, also what the other side says it is: it has been reading what others wrote.

const MAX_REQUEST: usize = 64 * 1024;
const MAX_PIECE: usize = 64 * 1024;

/// Which document is to be taken apart.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ExtractRequest {
    /// The name of its file, without folders.
    pub name: String,
    /// How many bytes it has, as far as is known.
    pub size: u64,
    /// How many seconds of a processor it may take.
    pub seconds: u64,
}

/// What came of it.
pub(crate) struct ExtractReply {
    /// The text, or why there is none.
    pub extracted: Result<Extraction, SkipReason>,
    /// Whether who made it has grown too large to be asked again.
    pub is_last: bool,
}

impl ExtractRequest {
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        write_block(to, &serde_json::to_vec(self)?)
    }

    /// `None` when nothing more is asked.
    pub fn read(from: &mut impl Read) -> io::Result<Option<Self>> {
        match read_block(from, MAX_REQUEST) {
            Ok(request) => Ok(Some(serde_json::from_slice(&request)?)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Sends a document from where it lies, a piece at a time, until `cancel` is cancelled. What
/// is over `limit` is not sent: then this is how much that is at least.
pub(crate) fn write_document(
    from: &mut impl Read,
    to: &mut impl Write,
    limit: u64,
    cancel: &CancellationToken,
) -> Result<Option<u64>, Sending> {
    let mut piece = vec![0; MAX_PIECE];
    let mut sent = 0;
    loop {
        let read = match from.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read.map_err(Sending::From)?,
        };
        sent += read as u64;
        if sent > limit || cancel.is_cancelled() {
            return Ok(Some(sent));
        }
        write_block(to, &piece[..read]).map_err(|_| Sending::To)?;
        if read == 0 {
            to.flush().map_err(|_| Sending::To)?;
            return Ok(None);
        }
    }
}

/// Which side of a sending is broken.
pub(crate) enum Sending {
    From(io::Error),
    To,
}

/// Reads what [`write_document`] sent.
pub(crate) fn read_document(from: &mut impl Read, size: u64) -> io::Result<Vec<u8>> {
    let expected = size.min(MAX_DOCUMENT_BYTES) as usize;
    let mut document = Vec::with_capacity(expected);
    loop {
        let piece = read_block(from, MAX_PIECE)?;
        if piece.is_empty() {
            return Ok(document);
        }
        document.extend_from_slice(&piece);
        if document.len() as u64 > MAX_DOCUMENT_BYTES {
            return Err(too_long());
        }
    }
}

impl ExtractReply {
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        to.write_all(&[u8::from(self.is_last)])?;
        write_block(to, &Extraction::encode(&self.extracted)?)?;
        let text = self
            .extracted
            .as_ref()
            .map_or("", |document| &document.text);
        write_block(to, text.as_bytes())?;
        to.flush()
    }

    pub fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut is_last = [0];
        from.read_exact(&mut is_last)?;
        let extracted = read_block(from, MAX_ENCODED_BYTES)?;
        // The last line may have an end of its own.
        let text = read_block(from, MAX_TEXT_BYTES + 1)?;
        let broken = || io::Error::new(io::ErrorKind::InvalidData, "no answer");
        let text = String::from_utf8(text).map_err(|_| broken())?;
        Ok(Self {
            extracted: Extraction::decode(&extracted, text).ok_or_else(broken)?,
            is_last: is_last != [0],
        })
    }
}

fn write_block(to: &mut impl Write, block: &[u8]) -> io::Result<()> {
    to.write_all(&(block.len() as u64).to_le_bytes())?;
    to.write_all(block)
}

fn read_block(from: &mut impl Read, limit: usize) -> io::Result<Vec<u8>> {
    let mut length = [0; 8];
    from.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    if length > limit as u64 {
        return Err(too_long());
    }
    let mut block = Vec::with_capacity(length as usize);
    from.take(length).read_to_end(&mut block)?;
    if (block.len() as u64) < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(block)
}

fn too_long() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "too long")
}

// The process that takes documents apart: `kb-agent` itself, entered again.
//
// It reads documents from its standard input and writes what they say to its standard output,
// one after the other, and needs nothing else: no file, no setting, no terminal. What it may take
// is bounded before it reads anything. When the other side is gone, its input ends, and so does
// it, in the middle of a document too.

/// The first argument that makes the program this process; the second is that of its share.
pub const READER_ARGUMENT: &str = "--read-documents";

/// A process that still holds more than this after a document is not asked again.
const MAX_KEPT_BYTES: u64 = 32 * 1024 * 1024;

/// Takes apart what comes, until nothing more does. `share` is what the argument behind
/// [`READER_ARGUMENT`] says: how many bytes of memory it may have.
pub fn read_documents(share: Option<&str>) -> ExitCode {
    let Some(bytes) = share.and_then(|bytes| bytes.parse::<u64>().ok()) else {
        return ExitCode::from(2);
    };
    let Ok(mut answers) = own_output() else {
        return ExitCode::FAILURE;
    };
    limits::memory(bytes);
    // A panic is an outcome like any other.
    panic::set_hook(Box::new(|_| {}));
    let (hand_over, documents) = mpsc::sync_channel::<(ExtractRequest, Vec<u8>)>(0);
    let worker = thread::Builder::new()
        .name("document".to_owned())
        // Deep nesting needs a large stack.
        .stack_size((bytes / 4) as usize);
    let work = move || {
        documents
            .into_iter()
            .try_for_each(|(request, document)| answer(&request, document, &mut answers))
    };
    let Ok(_worker) = worker.spawn(work) else {
        return ExitCode::FAILURE;
    };
    let mut requests = BufReader::new(io::stdin().lock());
    // Goes on to read while a document is taken apart: the input may end.
    while let Ok(Some(request)) = ExtractRequest::read(&mut requests)
        && let Ok(document) = read_document(&mut requests, request.size)
        && hand_over.send((request, document)).is_ok()
    {}
    process::exit(0)
}

fn answer(request: &ExtractRequest, document: Vec<u8>, answers: &mut File) -> io::Result<()> {
    limits::time(request.seconds);
    let name = Path::new(&request.name);
    let extracted = panic::catch_unwind(AssertUnwindSafe(|| extract_bytes(name, document)));
    let extracted = extracted
        .unwrap_or_else(|_| Err(SkipReason::Damaged("it cannot be taken apart".to_owned())));
    let is_last = limits::used_memory().is_some_and(|held| held > MAX_KEPT_BYTES);
    ExtractReply { extracted, is_last }.write(answers)
}

pub(crate) fn extract_bytes(name: &Path, document: Vec<u8>) -> Result<Extraction, SkipReason> {
    let head = &document[..document.len().min(SNIFF_BYTES)];
    match reading(kind_of(name, head)) {
        Reading::Bytes(read) => read(name, document),
        Reading::Text(read) => read(name, &decode::decode(document)?),
        Reading::Lines(..) | Reading::Rewritten(_) | Reading::Not(_) => Err(SkipReason::Binary),
    }
}

/// The standard output for answers only: what a library prints goes nowhere.
fn own_output() -> io::Result<File> {
    io::stdout().flush()?;
    #[cfg(unix)]
    {
        let answers = rustix::io::dup(io::stdout())?;
        let nowhere = File::options().write(true).open("/dev/null")?;
        rustix::stdio::dup2_stdout(nowhere)?;
        Ok(answers.into())
    }
    #[cfg(not(unix))]
    {
        use std::os::windows::io::AsHandle;
        Ok(io::stdout().as_handle().try_clone_to_owned()?.into())
    }
}

#[cfg(unix)]
mod limits {
    //! What the system itself holds this process to.

    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    use rustix::time::{ClockId, clock_gettime};

    /// Address space that is only reserved, as allocators do, costs nothing.
    const RESERVED_BYTES: u64 = 1024 * 1024 * 1024;

    /// No more memory than that, no file, and no image of it when it breaks.
    pub fn memory(bytes: u64) {
        lower(Resource::Core, 0);
        lower(Resource::Fsize, 0);
        #[cfg(any(target_os = "linux", target_os = "android"))]
        {
            lower(Resource::Data, bytes);
            lower(Resource::As, bytes + RESERVED_BYTES);
        }
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        lower(Resource::Data, bytes);
    }

    /// Limits the processor time of this process, in seconds.
    pub fn time(seconds: u64) {
        let used = clock_gettime(ClockId::ProcessCPUTime).tv_sec;
        let limit = Rlimit {
            // The second that has begun counts for nothing.
            current: Some(u64::try_from(used).unwrap_or(0) + seconds + 1),
            maximum: getrlimit(Resource::Cpu).maximum,
        };
        let _ = setrlimit(Resource::Cpu, limit);
    }

    /// The memory that it holds now, where that can be known.
    pub fn used_memory() -> Option<u64> {
        let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
        let mut pages = statm.split(' ').skip(1).map(str::parse::<u64>);
        let (resident, shared) = (pages.next()?.ok()?, pages.next()?.ok()?);
        Some((resident - shared.min(resident)) * rustix::param::page_size() as u64)
    }

    fn lower(resource: Resource, bytes: u64) {
        let before = getrlimit(resource);
        let bytes = before.maximum.map_or(bytes, |maximum| bytes.min(maximum));
        let limit = Rlimit {
            current: Some(bytes),
            maximum: Some(bytes),
        };
        let _ = setrlimit(resource, limit);
    }
}

#[cfg(not(unix))]
mod limits {
    //! Only the other side's clock bounds this process here.

    pub fn memory(_: u64) {}

    pub fn time(_: u64) {}

    pub fn used_memory() -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_shares_that_are_out_at_one_time_do_not_grow_with_the_cores() {
        let readers = Readers::new(PathBuf::new());
        let cancel = CancellationToken::new();
        let mut taken = Vec::new();
        while readers.state.lock().free > 0 {
            taken.push(readers.take(1, &cancel).unwrap());
        }
        assert!(taken.len() as u64 * SMALL <= 384 * MEGABYTE);
        // One more waits until one is given back, and the large one for all of them.
        thread::scope(|scope| {
            let large = scope.spawn(|| {
                readers
                    .take(LARGE_SHARES, &cancel)
                    .map(|taken| taken.shares)
            });
            while readers.state.lock().large_waiting == 0 {
                thread::yield_now();
            }
            assert!(!large.is_finished());
            taken.clear();
            assert!(matches!(large.join().unwrap(), Ok(LARGE_SHARES)));
        });
        assert_eq!(readers.state.lock().free, SHARES);
    }
}

#[cfg(test)]
mod tests_of_wire {
    use super::*;

    #[test]
    fn a_document_arrives_whole_and_what_is_over_its_limit_does_not() {
        let document = vec![7; MAX_PIECE * 2 + 5];
        let mut sent = Vec::new();
        let size = document.len() as u64;
        let cancel = CancellationToken::new();
        let over = write_document(&mut document.as_slice(), &mut sent, size, &cancel);
        assert!(matches!(over, Ok(None)));
        assert_eq!(read_document(&mut sent.as_slice(), 3).unwrap(), document);
        let over = write_document(&mut document.as_slice(), &mut sent, size - 1, &cancel);
        assert!(matches!(over, Ok(Some(_))));
    }

    #[test]
    fn a_length_is_not_believed() {
        let mut lie = vec![0];
        lie.extend(u64::MAX.to_le_bytes());
        assert!(ExtractReply::read(&mut lie.as_slice()).is_err());
        let mut cut = vec![0];
        cut.extend(1_000_000_u64.to_le_bytes());
        cut.push(b'{');
        assert!(ExtractReply::read(&mut cut.as_slice()).is_err());
    }

    #[test]
    fn what_was_made_arrives() {
        let extracted = Err(SkipReason::Encrypted);
        let mut sent = Vec::new();
        let answer = ExtractReply {
            extracted: extracted.clone(),
            is_last: true,
        };
        answer.write(&mut sent).unwrap();
        let answer = ExtractReply::read(&mut sent.as_slice()).unwrap();
        assert_eq!((answer.extracted, answer.is_last), (extracted, true));
        let nothing: &[u8] = &[];
        assert!(ExtractRequest::read(&mut { nothing }).unwrap().is_none());
    }
}
