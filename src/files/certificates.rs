//! The certificates of authorities in a file.

use std::path::Path;

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::read_bounded;

/// The certificates of a whole system take a quarter of it.
const LARGEST: u64 = 1 << 20;

/// The certificates in a PEM file, of which there is at least one; else one line that names the file.
pub fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let shown = path.display();
    let bytes = read_bounded(path, LARGEST).map_err(|error| format!("{shown}: {error}"))?;
    let broken =
        |why: &dyn std::fmt::Display| format!("{shown} holds a broken certificate ({why})");
    let certificates = CertificateDer::pem_slice_iter(&bytes);
    let certificates: Vec<_> = certificates
        .collect::<Result<_, _>>()
        .map_err(|error| broken(&error))?;
    if certificates.is_empty() {
        return Err(format!("{shown} holds no certificate in PEM form"));
    }
    let mut roots = RootCertStore::empty();
    for certificate in &certificates {
        let added = roots.add(certificate.clone());
        added.map_err(|error| broken(&error))?;
    }
    Ok(certificates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_no_certificate_is_one_line_that_names_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.pem");
        let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        let other = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let cut = "-----BEGIN CERTIFICATE-----\nAAAA\n";
        for (contents, says) in [
            ("", "holds no certificate in PEM form"),
            ("0\u{82}not PEM", "holds no certificate in PEM form"),
            (key, "holds no certificate in PEM form"),
            (other, "holds a broken certificate ("),
            (cut, "holds a broken certificate ("),
        ] {
            std::fs::write(&path, contents).unwrap();
            let line = read_certificates(&path).unwrap_err();
            let named = format!("{} {says}", path.display());
            assert!(line.starts_with(&named) && !line.contains('\n'), "{line}");
        }
        let line = read_certificates(folder.path()).unwrap_err();
        assert!(line.ends_with(": it is not a regular file"), "{line}");
    }
}
