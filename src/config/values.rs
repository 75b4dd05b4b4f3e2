//! Values of settings, checked.

use std::path::Path;
use std::str::FromStr;

use rustls::pki_types::CertificateDer;
use secrecy::SecretString;

use super::Environment;
use super::error::SettingError;
use super::variable::Variable;
use crate::files::read_certificates;
use crate::text::one_line;

/// A value is quoted up to this length.
pub(super) const VALUE_CHARS: usize = 80;
/// What is wrong with a file is told up to this length, its path included.
const FILE_CHARS: usize = 400;

pub(super) fn number<T>(
    environment: &Environment,
    variable: Variable,
    allowed: std::ops::RangeInclusive<T>,
) -> Result<Option<T>, SettingError>
where
    T: FromStr + PartialOrd,
{
    let Some(text) = environment.get(variable.name) else {
        return Ok(None);
    };
    match text.parse::<T>() {
        Ok(value) if allowed.contains(&value) => Ok(Some(value)),
        _ => Err(refused(variable, text)),
    }
}

pub(super) fn secret(
    environment: &Environment,
    variable: Variable,
) -> Result<Option<SecretString>, SettingError> {
    match environment.get(variable.name) {
        None => Ok(None),
        Some(text) if text.bytes().all(|b| b.is_ascii_graphic()) => Ok(Some(text.into())),
        Some(_) => Err(SettingError::Secret {
            name: variable.name,
            allowed: variable.allowed,
        }),
    }
}

/// The authorities that a file names; without the setting none.
pub(super) fn authorities(
    environment: &Environment,
    variable: Variable,
) -> Result<Vec<CertificateDer<'static>>, SettingError> {
    let Some(path) = environment.get(variable.name) else {
        return Ok(Vec::new());
    };
    read_certificates(Path::new(path)).map_err(|why| SettingError::Certificates {
        name: variable.name,
        why: one_line(&why, FILE_CHARS),
    })
}

pub(super) fn refused(variable: Variable, value: &str) -> SettingError {
    SettingError::Value {
        name: variable.name,
        value: one_line(value, VALUE_CHARS),
        allowed: variable.allowed,
    }
}
