//! The process that takes documents apart: `kb-agent` itself, entered again.
//!
//! It reads documents from its standard input and writes what they say to its standard output,
//! one after the other, and needs nothing else: no file, no setting, no terminal. What it may take
//! is bounded before it reads anything. When the other side is gone, its input ends, and so does
//! it, in the middle of a document too.

use std::fs::File;
use std::io::{self, BufReader, Write};
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::process::{self, ExitCode};
use std::sync::mpsc;
use std::thread;

use super::wire::{ExtractReply, ExtractRequest, read_document};
use crate::kb::extract::format::{Reading, kind_of, reading};
use crate::kb::extract::text::decode;
use crate::kb::extract::{Extraction, SNIFF_BYTES, SkipReason};

/// The first argument that makes the program this process; the second is that of its share.
pub const READER_ARGUMENT: &str = "--read-documents";

/// A process that still holds more than this after a document is not asked again.
const MAX_KEPT_BYTES: u64 = 32 * 1024 * 1024;

/// How much memory such a process may have, with what of it is for the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    pub bytes: u64,
}

impl Share {
    /// Deep nesting needs a large stack.
    fn stack(self) -> usize {
        (self.bytes / 4) as usize
    }
}

/// Takes apart what comes, until nothing more does. `share` is what the argument behind
/// [`READER_ARGUMENT`] says: how many bytes of memory it may have.
pub fn read_documents(share: Option<&str>) -> ExitCode {
    let Some(share) = share.and_then(|bytes| bytes.parse().ok()) else {
        return ExitCode::from(2);
    };
    let share = Share { bytes: share };
    let Ok(mut answers) = own_output() else {
        return ExitCode::FAILURE;
    };
    limits::memory(share);
    // A panic is an outcome like any other.
    panic::set_hook(Box::new(|_| {}));
    let (hand_over, documents) = mpsc::sync_channel::<(ExtractRequest, Vec<u8>)>(0);
    let worker = thread::Builder::new()
        .name("document".to_owned())
        .stack_size(share.stack());
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
        Reading::Lines(..) | Reading::Not(_) => Err(SkipReason::Binary),
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

    use super::Share;

    /// Address space that is only reserved, as allocators do, costs nothing.
    const RESERVED_BYTES: u64 = 1024 * 1024 * 1024;

    /// No more memory than that, no file, and no image of it when it breaks.
    pub fn memory(share: Share) {
        lower(Resource::Core, 0);
        lower(Resource::Fsize, 0);
        #[cfg(any(target_os = "linux", target_os = "android"))]
        {
            lower(Resource::Data, share.bytes);
            lower(Resource::As, share.bytes + RESERVED_BYTES);
        }
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        lower(Resource::Data, share.bytes);
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

    use super::Share;

    pub fn memory(_: Share) {}

    pub fn time(_: u64) {}

    pub fn used_memory() -> Option<u64> {
        None
    }
}
