//! What stands in kb-agent's places and is not its own stays as it is: it is neither removed nor
//! replaced, its rights stay, and no link leads anywhere.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::workplace::{Workplace, ended, one_line, pipe, text};

const PAGE: &str = "<h1>Light</h1><p>The lamp of the lighthouse.</p>";

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Every file below a folder with what it holds, without what a link leads to.
fn contents(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            found.extend(contents(&path));
        } else {
            let text = fs::read_to_string(&path).unwrap_or_default();
            found.push((path, text));
        }
    }
    found.sort();
    found
}

/// A base of one page that is kept as text, indexed.
fn indexed() -> Workplace {
    let place = Workplace::holding([("kb/page.html", PAGE)]);
    place.index();
    place
}

fn only_folder(folder: &Path, begins: &str) -> PathBuf {
    let entries = fs::read_dir(folder).unwrap().flatten();
    let mut paths = entries.map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().unwrap().to_string_lossy();
        path.is_dir() && name.starts_with(begins)
    });
    paths.next().unwrap()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    let made = Command::new("cp").arg("-a").arg(from).arg(to).status();
    assert!(made.unwrap().success());
}

#[test]
fn trust_diagnostics_remove_their_own_days_and_nothing_else() {
    let minutes = |place: &Workplace, folder: &str| {
        for n in 1..=9 {
            let name = format!("{folder}/kb-agent-meeting-{n}.log");
            place.file(&name, format!("minutes {n}"));
        }
        contents(&place.path().join(folder))
    };
    // Beside the diagnostics, of which seven days stay …
    let place = Workplace::empty();
    let mut expected = minutes(&place, "data/logs");
    place.file("data/logs/kb-agent.2026-01-0x.log", "of somebody");
    place.file("data/logs/kb-agent.2026-01-01.log.gz", "of somebody");
    for day in 1..=9 {
        place.file(&format!("data/logs/kb-agent.2001-01-0{day}.log"), "old");
    }
    place.run_well(&["ask", "hello"]);
    let logs = place.data().join("logs");
    expected.retain(|(path, held)| fs::read_to_string(path).is_ok_and(|now| now == *held));
    assert_eq!(expected.len(), 9, "the minutes stay");
    let own = |(path, _): &(PathBuf, String)| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with("kb-agent.") && path.extension().is_some_and(|end| end == "log")
    };
    let kept: Vec<_> = contents(&logs).into_iter().filter(own).collect();
    // Seven days, and the one whose day is none.
    assert_eq!(kept.len(), 8, "{kept:?}");
    assert!(!logs.join("kb-agent.2001-01-03.log").exists());
    assert!(logs.join("kb-agent.2001-01-09.log").exists());
    assert!(logs.join("kb-agent.2026-01-01.log.gz").exists());

    // … and behind a link.
    let place = Workplace::empty();
    let before = minutes(&place, "precious");
    fs::create_dir(place.data()).unwrap();
    symlink("../precious", place.data().join("logs")).unwrap();
    place.run_well(&["ask", "hello"]);
    assert_eq!(contents(&place.path().join("precious")), before);
}

#[test]
fn trust_no_link_or_pipe_is_taken_for_the_diagnostics_of_today() {
    let place = Workplace::empty();
    place.run_well(&["ask", "hello"]);
    let logs = place.data().join("logs");
    let today = fs::read_dir(&logs)
        .unwrap()
        .flatten()
        .next()
        .unwrap()
        .path();
    assert_eq!(mode(&today), 0o600);
    fs::remove_file(&today).unwrap();
    let diary = place.file("diary.txt", "dear diary");
    symlink(&diary, &today).unwrap();
    let verbose = ["-vv", "ask", "hello"];
    assert!(ended(place.command(&verbose)).status.success());
    assert_eq!(fs::read_to_string(&diary).unwrap(), "dear diary");
    fs::remove_file(&today).unwrap();
    pipe(&today);
    assert!(ended(place.command(&verbose)).status.success());
}

#[test]
fn trust_kept_texts_are_swept_by_their_names_and_through_no_link() {
    let place = indexed();
    let home = only_folder(&place.data().join("index"), "");
    let texts = only_folder(&home, "texts-");
    let ours = fs::read_dir(&texts)
        .unwrap()
        .flatten()
        .next()
        .unwrap()
        .path();
    let notes = texts.join("notes.md");
    fs::write(&notes, "mine").unwrap();
    fs::write(texts.join("Makefile"), "mine").unwrap();
    let changed = |what: &str| place.file("kb/page.html", format!("{PAGE}<p>{what}</p>"));
    changed("More of it.");
    let index = || place.run(&["index", "--kb", "kb"]);
    assert!(index().status.success());
    assert!(!ours.exists(), "what the page said before is not kept");
    assert_eq!(fs::read_to_string(&notes).unwrap(), "mine");
    assert!(texts.join("Makefile").exists());

    let diary = place.file("precious/a.md", "dear diary");
    let looks_like_ours = "0123456789abcdef0123456789abcdef";
    place.file(&format!("precious/{looks_like_ours}"), "dear diary");
    fs::remove_dir_all(&texts).unwrap();
    symlink(place.path().join("precious"), &texts).unwrap();
    changed("And more.");
    let output = index();
    assert_eq!(output.status.code(), Some(1));
    let line = one_line(&output);
    assert!(line.contains("is a link"), "{line}");
    assert_eq!(fs::read_to_string(&diary).unwrap(), "dear diary");
    assert_eq!(contents(&place.path().join("precious")).len(), 2);
}

#[test]
fn trust_an_index_made_anew_removes_only_its_own_files() {
    let place = indexed();
    let home = only_folder(&place.data().join("index"), "");
    let words = only_folder(&home, "v");
    let mut mine: Vec<PathBuf> = Vec::new();
    for folder in [&home, &words, &words.join("lexical")] {
        for name in [
            "notes.md",
            ".tmp",
            ".tmpfile",
            "documents-of-mine.bin",
            "vectors-from-school.rows",
            "sub/a.idx",
        ] {
            mine.push(folder.join(name));
        }
    }
    for path in &mine {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "mine").unwrap();
    }
    let meta = words.join("lexical/meta.json");
    for rebuild in [
        &["index", "--rebuild", "--kb", "kb"][..],
        &["index", "--kb", "kb"],
    ] {
        fs::write(&meta, "broken").unwrap();
        place.file("kb/more.md", format!("{rebuild:?}"));
        place.run_well(rebuild);
        for path in &mine {
            let now = fs::read_to_string(path).unwrap_or_default();
            assert_eq!(now, "mine", "{}", path.display());
        }
    }
    assert!(text(&place.run(&["search", "--kb", "kb", "lamp"]).stdout).contains("page.html"));
}

#[test]
fn trust_no_link_in_the_data_folder_is_followed() {
    let made = indexed();
    let home = only_folder(&made.data().join("index"), "");
    let words = only_folder(&home, "v");
    let ways = [
        made.data(),
        made.data().join("index"),
        home.clone(),
        words.clone(),
        words.join("lexical"),
        only_folder(&home, "texts-"),
    ];
    let precious = made.path().join("precious");
    for way in ways {
        let below = way.strip_prefix(made.path()).unwrap();
        let _ = fs::remove_dir_all(made.data());
        made.file("precious/thesis.md", "years of work");
        fs::create_dir_all(way.parent().unwrap()).unwrap();
        symlink(&precious, &way).unwrap();
        for command in [
            &["ask", "--kb", "kb", "lamp"][..],
            &["index", "--kb", "kb"],
            &["index", "--rebuild", "--kb", "kb"],
            &["doctor", "--kb", "kb"],
        ] {
            let output = ended(made.command(command));
            let said = text(&output.stderr) + &text(&output.stdout);
            let what = format!("{} of {command:?}: {said}", below.display());
            assert_eq!(output.status.code(), Some(1), "{what}");
            assert!(said.contains("is a link"), "{what}");
            let kept = contents(&precious);
            assert_eq!(kept.len(), 1, "{what}: {kept:?}");
        }
        assert!(way.is_symlink());
        fs::remove_file(&way).unwrap();
    }
}

#[test]
fn trust_a_collection_is_laid_out_for_its_owner_and_through_no_link() {
    let place = Workplace::holding([
        ("c/corpus.jsonl", "{\"_id\": \"d\", \"text\": \"lamp\"}\n"),
        ("c/queries.jsonl", "{\"_id\": \"q\", \"text\": \"lamp\"}\n"),
        ("c/qrels/test.tsv", "q\td\t1\n"),
    ]);
    let measure = || ended(place.command(&["eval", "beir", "c"]));
    let output = measure();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let eval = place.data().join("eval");
    let laid = only_folder(&eval, "");
    let shard = laid.join("documents/0000");
    for folder in [&eval, &laid, &laid.join("documents"), &shard] {
        assert_eq!(mode(folder), 0o700, "{}", folder.display());
    }
    assert_eq!(mode(&shard.join("0000000.md")), 0o600);
    for way in [&eval, &laid, &laid.join("documents"), &laid.join("index")] {
        let _ = fs::remove_dir_all(&eval);
        let precious = place.path().join("precious");
        let _ = fs::create_dir(&precious);
        fs::create_dir_all(way.parent().unwrap()).unwrap();
        symlink(&precious, way).unwrap();
        let output = measure();
        assert_eq!(output.status.code(), Some(1), "{}", way.display());
        let line = text(&output.stderr);
        assert!(line.contains("is a link"), "{line}");
        assert_eq!(fs::read_dir(&precious).unwrap().count(), 0, "{line}");
        fs::remove_file(way).unwrap();
    }
}

#[test]
fn trust_a_folder_that_is_not_known_to_be_ours_keeps_its_rights() {
    for (name, file) in [
        ("web", "index.html"),
        ("shows", "demonstration/a"),
        ("school", "evaluation.txt"),
        ("bank", "trustees"),
        ("site", "index/page.html"),
        ("machine", "logs/today.log"),
        ("music", "demo/song.wav"),
        ("office", "audit.jsonl"),
    ] {
        let place = Workplace::empty();
        place.file(&format!("{name}/{file}"), "");
        let folder = place.path().join(name);
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        let log = place.path().join("elsewhere.jsonl");
        let mut ask = place.command(&["ask", "--data-dir", name, "hello"]);
        ask.env("KB_AGENT_AUDIT_LOG", log);
        let output = ended(ask);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(mode(&folder), 0o755, "{name}");
    }
    // One of ours is closed.
    for command in [&["ask", "hello"][..], &["index"]] {
        let place = Workplace::empty();
        place.run_well(command);
        fs::set_permissions(place.data(), fs::Permissions::from_mode(0o755)).unwrap();
        place.run_well(&["ask", "hello"]);
        assert_eq!(mode(&place.data()), 0o700, "{command:?}");
    }
}

#[test]
fn ends_where_a_pipe_stands_in_the_place_of_an_index_file() {
    let place = indexed();
    place.file("kb/more.md", "# More\n\nThe lamp is lit at dusk.\n");
    place.index();
    place.run_well(&["ask", "--kb", "kb", "lamp"]);
    let index = place.data().join("index");
    let files: Vec<PathBuf> = contents(&index).into_iter().map(|(path, _)| path).collect();
    assert!(files.len() > 12, "{files:?}");
    for file in files {
        let below = file.strip_prefix(place.path()).unwrap();
        let shown = below.display();
        for command in ["ask", "doctor", "index", "rebuild"] {
            let copied = tempfile::tempdir().unwrap();
            copy(&place.data(), copied.path());
            let goal = copied.path().join(below);
            fs::remove_file(&goal).unwrap();
            pipe(&goal);
            let args: &[&str] = match command {
                "ask" => &["ask", "--kb", "kb", "what is lit at dusk?"],
                "doctor" => &["doctor", "--kb", "kb"],
                "index" => &["index", "--kb", "kb"],
                _ => &["index", "--rebuild", "--kb", "kb"],
            };
            let mut started = place.command(args);
            started.env("KB_AGENT_DATA_DIR", copied.path().join("data"));
            let output = ended(started);
            let said = text(&output.stderr);
            let code = output.status.code();
            let is_reported = code == Some(0) || said.contains("regular file");
            let is_reported = is_reported || (command == "doctor" && code == Some(1));
            assert!(is_reported, "{command} at {shown}: {code:?} {said}");
            let is_lock = file.extension().is_some_and(|end| end == "lock");
            if command == "rebuild" && !is_lock {
                assert_eq!(code, Some(0), "{shown}: {said}");
            }
        }
    }
}
