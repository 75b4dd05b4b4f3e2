//! Processes that take documents apart, and what becomes of a document when one ends.
//!
//! A thread cannot be stopped, and one that asks for more memory than there is ends the program;
//! a process can be ended at any time and takes only itself along. Each has a share of the memory
//! that all of them have together. Most documents need little: they are tried with a small share,
//! and what breaks off over it is tried once more with a large one, while the others wait.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::child::{READER_ARGUMENT, Share};
use super::wire::{ExtractReply, ExtractRequest, Sending, write_document};
use crate::kb::extract::{Extraction, SkipReason};

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

    /// What the document says, or why that is not known; once `stop` is raised, the process that
    /// reads it is ended at once.
    pub fn read(
        &self,
        document: &DocumentFile<'_>,
        stop: &AtomicBool,
    ) -> Result<Extraction, SkipReason> {
        if document.size <= LARGE_DOCUMENT {
            match self.try_with(1, document, stop) {
                Err(SkipReason::TooMuchMemory(_)) => {}
                extracted => return extracted,
            }
        }
        self.try_with(LARGE_SHARES, document, stop)
    }

    fn try_with(
        &self,
        shares: usize,
        document: &DocumentFile<'_>,
        stop: &AtomicBool,
    ) -> Result<Extraction, SkipReason> {
        let _taken = self.take(shares, stop)?;
        let bytes = SMALL * shares as u64;
        let idle = if shares == 1 {
            self.state().idle.pop()
        } else {
            // It has the shares of those that are kept.
            let kept = std::mem::take(&mut self.state().idle);
            drop(kept);
            None
        };
        let mut reader = match idle {
            Some(reader) => reader,
            None => ReaderProcess::start(&self.program, Share { bytes }).map_err(|error| {
                SkipReason::NotNow(format!("no process for it could be started ({error})"))
            })?,
        };
        let answer = reader.ask(document, stop)?;
        let mut state = self.state();
        if shares == 1 && !answer.is_last && state.sessions > 0 {
            state.idle.push(reader);
        }
        answer.extracted
    }

    /// Waits until so many shares are free.
    fn take(&self, shares: usize, stop: &AtomicBool) -> Result<BorrowedReader<'_>, SkipReason> {
        let is_large = shares > 1;
        let mut state = self.state();
        state.large_waiting += usize::from(is_large);
        let is_free =
            |state: &PoolState| state.free >= shares && (is_large || state.large_waiting == 0);
        while !is_free(&state) && !stop.load(Ordering::Relaxed) {
            let waited = self.changed.wait_timeout(state, LOOK_UP);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.large_waiting -= usize::from(is_large);
        if stop.load(Ordering::Relaxed) {
            return Err(SkipReason::Stopped);
        }
        state.free -= shares;
        Ok(BorrowedReader {
            readers: self,
            shares,
        })
    }

    fn state(&self) -> std::sync::MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// While there is one, processes that are done are kept for the next document.
pub(crate) struct ReadingSession<'a>(Option<&'a Readers>);

impl<'a> ReadingSession<'a> {
    /// More documents are going to be asked for until this is dropped.
    pub(crate) fn begin(readers: Option<&'a Readers>) -> Self {
        if let Some(readers) = readers {
            readers.state().sessions += 1;
        }
        Self(readers)
    }
}

impl Drop for ReadingSession<'_> {
    fn drop(&mut self) {
        let Some(readers) = self.0 else { return };
        let mut state = readers.state();
        state.sessions -= 1;
        let idle = if state.sessions == 0 {
            std::mem::take(&mut state.idle)
        } else {
            Vec::new()
        };
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
        self.readers.state().free += self.shares;
        self.readers.changed.notify_all();
    }
}

/// One process.
#[derive(Debug)]
struct ReaderProcess {
    share: Share,
    process: Child,
    asks: BufWriter<ChildStdin>,
    answers: Receiver<ExtractReply>,
    last_words: Option<JoinHandle<Vec<u8>>>,
}

impl ReaderProcess {
    fn start(program: &Path, share: Share) -> io::Result<Self> {
        let mut command = Command::new(program);
        command
            .arg(READER_ARGUMENT)
            .arg(share.bytes.to_string())
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
            share,
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
        stop: &AtomicBool,
    ) -> Result<ExtractReply, SkipReason> {
        let request = ExtractRequest {
            name: document.name.to_owned(),
            size: document.size,
            seconds: (SECONDS + document.size / MEGABYTE).min(MAX_SECONDS),
        };
        let mut file = document.file;
        file.rewind()?;
        let sent = match request.write(&mut self.asks) {
            Ok(()) => write_document(&mut file, &mut self.asks, document.limit, || {
                !stop.load(Ordering::Relaxed)
            }),
            Err(_) => Err(Sending::To),
        };
        match sent {
            Ok(None) => {}
            Ok(Some(_)) if stop.load(Ordering::Relaxed) => return Err(SkipReason::Stopped),
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
                Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) => {
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
            return SkipReason::TooMuchMemory(self.share.bytes / MEGABYTE);
        }
        match status.and_then(ended_by) {
            Some(ReaderEnd::OutOfTime) => SkipReason::TooSlow(seconds),
            Some(ReaderEnd::FromOutside) => {
                SkipReason::NotNow("the process that read it was ended".to_owned())
            }
            None => SkipReason::BrokeOff,
        }
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

enum ReaderEnd {
    OutOfTime,
    FromOutside,
}

/// Which end says something about the document, and which about the machine.
#[cfg(unix)]
fn ended_by(status: ExitStatus) -> Option<ReaderEnd> {
    use std::os::unix::process::ExitStatusExt;

    use rustix::process::Signal;

    let signal = status.signal().and_then(Signal::from_named_raw)?;
    match signal {
        Signal::XCPU => Some(ReaderEnd::OutOfTime),
        Signal::KILL | Signal::TERM | Signal::INT | Signal::HUP | Signal::QUIT => {
            Some(ReaderEnd::FromOutside)
        }
        _ => None,
    }
}

#[cfg(not(unix))]
fn ended_by(_: ExitStatus) -> Option<ReaderEnd> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_shares_that_are_out_at_one_time_do_not_grow_with_the_cores() {
        let readers = Readers::new(PathBuf::new());
        let never = AtomicBool::new(false);
        let mut taken = Vec::new();
        while readers.state().free > 0 {
            taken.push(readers.take(1, &never).unwrap());
        }
        assert!(taken.len() as u64 * SMALL <= 384 * MEGABYTE);
        // One more waits until one is given back, and the large one for all of them.
        thread::scope(|scope| {
            let large =
                scope.spawn(|| readers.take(LARGE_SHARES, &never).map(|taken| taken.shares));
            while readers.state().large_waiting == 0 {
                thread::yield_now();
            }
            assert!(!large.is_finished());
            taken.clear();
            assert!(matches!(large.join().unwrap(), Ok(LARGE_SHARES)));
        });
        assert_eq!(readers.state().free, SHARES);
    }
}
