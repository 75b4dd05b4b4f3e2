//! The bundled demo is laid out without touching what is not ours.

use std::fs;

use crate::support::Said;
use crate::workplace::{Workplace, demo_folder, one_line, text};

/// What a question in `place` ends with; the demo is laid out on the way.
fn ask(place: &Workplace, data: &str) -> std::process::Output {
    let mut command = place.command(&["ask", "hello"]);
    command.env("KB_AGENT_DATA_DIR", place.path().join(data));
    command.output().unwrap()
}

#[test]
fn trust_notes_put_beside_the_demo_stay() {
    let place = Workplace::empty();
    let old = place.file("data/demo-kb/of-an-earlier-version/note.md", "mine");
    place.run_well(&["ask", "hello"]);
    let demo = demo_folder(&place.data());
    assert_eq!(demo.file_name().unwrap(), "demo-kb");
    let names = |folder: &std::path::Path| -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    let laid_out = names(&demo);
    fs::create_dir(demo.join("folder")).unwrap();
    fs::write(demo.join("folder/note.md"), "mine").unwrap();
    fs::write(demo.join("rules.md"), "mine, written into a page").unwrap();
    fs::remove_file(demo.join("thresholds.md")).unwrap();
    place.run_well(&["ask", "hello"]);
    for kept in [old.as_path(), &demo.join("folder/note.md")] {
        assert_eq!(fs::read_to_string(kept).unwrap(), "mine");
    }
    let page = fs::read_to_string(demo.join("rules.md")).unwrap();
    assert_eq!(page, "mine, written into a page");
    fs::remove_dir_all(demo.join("folder")).unwrap();
    assert_eq!(names(&demo), laid_out, "what was missing is there again");
    let report = text(&place.run(&["doctor"]).stdout);
    report.must_hold("data/demo-kb holds another version's demo");
}

#[cfg(unix)]
#[test]
fn trust_links_on_the_demos_way_are_refused() {
    use std::os::unix::fs::symlink;
    let made = Workplace::empty();
    assert!(made.run(&["ask", "hello"]).status.success());
    let demo = demo_folder(&made.data());
    let below = demo.strip_prefix(made.data()).unwrap();
    let inner = fs::read_dir(&demo).unwrap().map(|entry| entry.unwrap());
    let file = inner.map(|entry| entry.path()).find(|path| path.is_file());
    let page = below.join(file.unwrap().file_name().unwrap());
    // Where earlier versions laid it out, and every step of the way of today.
    let mut ways: Vec<&std::path::Path> = page.ancestors().collect();
    ways.retain(|way| way.parent().is_some());
    assert_eq!(ways.len(), 4);
    for way in ways {
        let place = Workplace::empty();
        let precious = place.file("precious/thesis.md", "years of work");
        let link = place.path().join("x").join(way);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        let to = if way == page.as_path() {
            precious.clone()
        } else {
            place.path().join("precious")
        };
        symlink(to, &link).unwrap();
        let output = ask(&place, "x");
        let said = one_line(&output);
        assert_eq!(output.status.code(), Some(1), "{}: {said}", way.display());
        assert!(said.contains("is a link, which is not followed"), "{said}");
        assert_eq!(fs::read_to_string(&precious).unwrap(), "years of work");
        assert_eq!(
            fs::read_dir(place.path().join("precious")).unwrap().count(),
            1
        );
    }
    let place = Workplace::empty();
    let precious = place.file("precious/thesis.md", "years of work");
    fs::create_dir(place.path().join("x")).unwrap();
    symlink("../precious", place.path().join("x/demo-kb")).unwrap();
    assert!(ask(&place, "x").status.success());
    assert_eq!(fs::read_to_string(&precious).unwrap(), "years of work");
}
