//! Finished runs as OpenTelemetry traces, for whatever collects them.
//!
//! `spans` makes the trace of a run from its recorded events, and from nothing else: what is sent when a
//! run ends and what `export --format otlp` prints later are the same. `sender` sends. Without a collector
//! nothing here is built.

mod sender;
mod spans;

pub use sender::{RunBuffer, TraceSender};
pub use spans::{TraceDetail, trace_request};
