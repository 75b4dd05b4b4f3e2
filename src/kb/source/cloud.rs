//! Files of cloud folders whose contents are not on this machine.
//!
//! What is known of them is kept, and none is asked for: reading one would load it.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

/// The file that a placeholder stands for: iCloud leaves `.report.pdf.icloud` for `report.pdf`.
pub(crate) fn placeholder_of(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let name = name.strip_prefix('.')?.strip_suffix(".icloud")?;
    (!name.is_empty()).then(|| path.with_file_name(name))
}

/// Whether a placeholder stands where this file was.
pub(crate) fn has_placeholder(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str);
    name.is_some_and(|name| path.with_file_name(format!(".{name}.icloud")).is_file())
}

/// Whether the system keeps only the name of this file and loads the rest when it is read.
pub(crate) fn is_dataless(meta: &Metadata) -> bool {
    #[cfg(target_os = "macos")]
    {
        use std::os::darwin::fs::MetadataExt;
        const SF_DATALESS: u32 = 0x4000_0000;
        meta.st_flags() & SF_DATALESS != 0
    }
    #[cfg(windows)]
    {
        use std::os::windows::fs::MetadataExt;
        const RECALL_ON_DATA_ACCESS: u32 = 0x0040_0000;
        meta.file_attributes() & RECALL_ON_DATA_ACCESS != 0
    }
    #[cfg(not(any(target_os = "macos", windows)))]
    {
        let _ = meta;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_names_its_file() {
        let of = |name: &str| placeholder_of(Path::new(name));
        assert_eq!(
            of("a/.report.pdf.icloud"),
            Some(PathBuf::from("a/report.pdf"))
        );
        assert_eq!(of("a/report.icloud"), None);
        assert_eq!(of("a/..icloud"), None);
    }
}
