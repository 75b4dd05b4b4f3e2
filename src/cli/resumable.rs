use std::path::Path;

use crate::audit::Lookup;

/// The shortest name of a conversation in which something was asked.
pub(super) fn name_to_resume(log: &Path, session: &str) -> Option<String> {
    Lookup::of(log).ok()?.short_name(session)
}
