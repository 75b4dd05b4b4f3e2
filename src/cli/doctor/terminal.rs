use std::env;
use std::io::{IsTerminal, stdin, stdout};

use crate::engine::doctor::Check;
use crate::text::one_line;
use crate::tui::{ColorDepth, LEAST};

/// The terminal that this runs in, as the screen will find it.
pub(super) fn checks() -> Vec<Check> {
    let mut checks = Vec::new();
    if stdin().is_terminal() && stdout().is_terminal() {
        checks.push(screen(crossterm::terminal::size().ok(), &variable("TERM")));
        checks.push(colours(&variable("COLORTERM"), &variable("TERM")));
    } else {
        checks.push(Check::note(
            "screen",
            "this is not a terminal, so that the screen could not be checked",
            "run kb-agent doctor in the terminal that you use",
        ));
    }
    if cfg!(unix) {
        let names = ["LC_ALL", "LC_CTYPE", "LANG"];
        let set = names.map(|name| (name, variable(name)));
        checks.push(locale(&set));
    }
    let checks = checks.into_iter();
    checks.map(|check| check.in_area("terminal")).collect()
}

/// Empty when it is not set.
fn variable(name: &str) -> String {
    env::var_os(name).map_or_else(String::new, |value| one_line(&value.to_string_lossy(), 60))
}

fn screen(size: Option<(u16, u16)>, term: &str) -> Check {
    const NAME: &str = "screen";
    if cfg!(unix) && (term.is_empty() || term == "dumb") {
        let value = if term.is_empty() { "not set" } else { "'dumb'" };
        return Check::note(
            NAME,
            format!("TERM is {value}: the screen cannot be drawn"),
            "set TERM to what your terminal is, such as xterm-256color, or use kb-agent ask",
        );
    }
    let Some((columns, rows)) = size else {
        return Check::note(
            NAME,
            "the terminal does not tell its size",
            "use kb-agent ask, or another terminal",
        );
    };
    let line = format!("{columns}×{rows} cells, TERM is '{term}'");
    if columns < LEAST.0 || rows < LEAST.1 {
        let next = format!("make it at least {}×{}", LEAST.0, LEAST.1);
        return Check::note(NAME, format!("{line}: too small for the screen"), next);
    }
    Check::ok(NAME, line)
}

fn colours(colorterm: &str, term: &str) -> Check {
    let line = if variable("NO_COLOR").is_empty() {
        match ColorDepth::from_variables(colorterm, term) {
            ColorDepth::True => "all",
            ColorDepth::Indexed => "256, by what COLORTERM and TERM say",
            ColorDepth::Sixteen => "sixteen, by what COLORTERM and TERM say",
            ColorDepth::None => "none, by what TERM says",
        }
    } else {
        "none, because NO_COLOR is set"
    };
    Check::ok("colours", line)
}

/// The first that is set counts.
fn locale(set: &[(&str, String)]) -> Check {
    const NAME: &str = "characters";
    let (name, value) = match set.iter().find(|(_, value)| !value.is_empty()) {
        Some((name, value)) => (*name, value.as_str()),
        None => ("LANG", ""),
    };
    let plain = value.to_lowercase().replace('-', "");
    if plain.contains("utf8") {
        return Check::ok(NAME, format!("UTF-8, by {name}"));
    }
    let locale = if value.is_empty() {
        "no locale is set".to_owned()
    } else {
        format!("{name} is '{value}', which is not UTF-8")
    };
    Check::note(
        NAME,
        format!("{locale}: borders and other scripts may look wrong"),
        format!("export {name}=C.UTF-8"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::doctor::Status;

    #[cfg(unix)]
    #[test]
    fn what_the_screen_cannot_live_with_is_reported() {
        let status = |size, term| screen(size, term).status;
        assert_eq!(status(Some((80, 24)), "xterm"), Status::Ok);
        assert_eq!(status(Some(LEAST), "xterm"), Status::Ok);
        assert_eq!(status(Some((LEAST.0 - 1, 24)), "xterm"), Status::Note);
        assert_eq!(status(Some((80, LEAST.1 - 1)), "xterm"), Status::Note);
        assert_eq!(status(Some((80, 24)), "dumb"), Status::Note);
        assert_eq!(status(Some((80, 24)), ""), Status::Note);
        assert_eq!(status(None, "xterm"), Status::Note);
    }

    #[test]
    fn the_first_locale_that_is_set_counts() {
        let of = |all: &str, lang: &str| {
            locale(&[("LC_ALL", all.to_owned()), ("LANG", lang.to_owned())])
        };
        assert_eq!(of("", "de_DE.UTF-8").detail, "UTF-8, by LANG");
        assert_eq!(of("C.utf8", "C").status, Status::Ok);
        let other = of("C", "en_US.UTF-8");
        assert_eq!(other.next.as_deref(), Some("export LC_ALL=C.UTF-8"));
        assert_eq!(of("", "").next.as_deref(), Some("export LANG=C.UTF-8"));
    }
}
