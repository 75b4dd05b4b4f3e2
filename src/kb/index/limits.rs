//! How long a call to an index may take, and what a search keeps within.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::agent::ports::{Caller, WaitSink};
use crate::kb::error::KbError;

/// The longest wait for an answer of an index: an engine on another machine may never give one.
const LONGEST_CALL: Duration = Duration::from_mins(2);

/// The number of items in a piece, which take no noticeable time.
const PIECE: usize = 4096;

/// Ends a call to an index before its result: by a stop flag, and by a deadline.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits<'a> {
    stop: &'a AtomicBool,
    deadline: Option<Instant>,
}

impl<'a> Limits<'a> {
    /// Ends a call once `stop` is raised, and after two minutes at most.
    pub fn of_a_call(stop: &'a AtomicBool) -> Self {
        Self::until(stop, Instant::now().checked_add(LONGEST_CALL))
    }

    /// Ends a call once `stop` is raised or the deadline is reached.
    pub fn until(stop: &'a AtomicBool, deadline: Option<Instant>) -> Self {
        Self { stop, deadline }
    }

    /// The flag that ends the call at once.
    pub(super) fn stop(self) -> &'a AtomicBool {
        self.stop
    }

    /// [`KbError::Stopped`] once the stop is raised, [`KbError::TimedOut`] from the deadline on.
    pub fn check(self) -> Result<(), KbError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(KbError::Stopped);
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(KbError::TimedOut),
            _ => Ok(()),
        }
    }

    /// Calls `each` with the items a piece at a time, and checks the limits before each piece.
    pub fn in_pieces<T>(
        self,
        mut all: impl Iterator<Item = T>,
        mut each: impl FnMut(Vec<T>) -> Result<(), KbError>,
    ) -> Result<(), KbError> {
        loop {
            self.check()?;
            let piece: Vec<T> = all.by_ref().take(PIECE).collect();
            if piece.is_empty() {
                return Ok(());
            }
            each(piece)?;
        }
    }
}

/// The documents that a search is limited to, and its caller.
#[derive(Debug, Clone, Copy)]
pub struct Within<'a> {
    /// These documents; `None` for all.
    pub(crate) documents: Option<&'a HashSet<String>>,
    /// The search ends as [`KbError::Stopped`] soon after this is raised.
    pub(crate) stop: &'a AtomicBool,
    waits: Option<&'a WaitSink>,
}

impl<'a> Within<'a> {
    /// Searches all documents.
    pub fn all(caller: impl Into<Caller<'a>>) -> Self {
        let Caller { stop, waits } = caller.into();
        Self {
            documents: None,
            stop,
            waits,
        }
    }

    /// Searches only these documents.
    pub fn these(documents: &'a HashSet<String>, caller: impl Into<Caller<'a>>) -> Self {
        Self {
            documents: Some(documents),
            ..Self::all(caller)
        }
    }

    /// The caller that the search is for.
    pub(crate) fn caller(self) -> Caller<'a> {
        Caller {
            stop: self.stop,
            waits: self.waits,
        }
    }

    /// The limits of a call that begins now.
    pub(crate) fn limits(self) -> Limits<'a> {
        Limits::of_a_call(self.stop)
    }

    /// Returns an error once the search is to end.
    pub(crate) fn go_on(self) -> Result<(), KbError> {
        self.limits().check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_through_many_rows_is_stopped_after_a_piece() {
        let stop = AtomicBool::new(false);
        let all = (0..100 * PIECE).inspect(|at| {
            if *at == PIECE {
                stop.store(true, Ordering::Relaxed);
            }
        });
        let mut done = 0;
        let ended = Limits::until(&stop, None).in_pieces(all, |piece| {
            done += piece.len();
            Ok(())
        });
        assert!(matches!(ended, Err(KbError::Stopped)));
        assert_eq!(done, 2 * PIECE);
        let free = AtomicBool::new(false);
        let mut seen = Vec::new();
        let all = 0..PIECE + 1;
        let ended = Limits::until(&free, None).in_pieces(all.clone(), |piece| {
            seen.extend(piece);
            Ok(())
        });
        assert!(ended.is_ok());
        assert!(seen.into_iter().eq(all));
    }

    #[test]
    fn a_call_ends_at_its_deadline() {
        let free = AtomicBool::new(false);
        let over = Limits::until(&free, Some(Instant::now()));
        assert!(matches!(over.check(), Err(KbError::TimedOut)));
        assert!(Limits::of_a_call(&free).check().is_ok());
    }
}
