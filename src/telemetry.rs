//! Finished runs as OpenTelemetry traces, for whatever collects them. The engine sends each run when it ends,
//! and the command line writes or sends recorded ones.
//!
//! `spans` makes the trace of a run from its recorded events, and from nothing else: what is sent when a
//! run ends and what `export --format otlp` prints later are the same. `sender` sends. Without a collector
//! nothing here is built.

mod sender;
mod spans;

pub use sender::{RunBuffer, TraceSender};
pub use spans::{TraceDetail, TraceForm, trace_request};
