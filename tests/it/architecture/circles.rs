//! No file may need, by way of others, a file that needs it: what two files need of each other belongs
//! in a third.
//!
//! A name that one module hands on for another is a need of that other, so a room's front file may hand
//! on what its files hold while they use each other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use syn::visit::{self, Visit};

/// The place of a module below the crate: `["kb", "search"]`.
type Module = Vec<String>;

/// What a file names.
#[derive(Default)]
struct Names {
    /// Names it takes in, and whether it hands them on: the path and what it is called here.
    used: Vec<(Vec<String>, String, bool)>,
    /// Paths in its code.
    paths: Vec<Vec<String>>,
    /// How many modules within the file the code stands in.
    within: usize,
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes = match item {
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            syn::Item::Use(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        let for_tests = |attribute: &syn::Attribute| match &attribute.meta {
            syn::Meta::List(list) if list.path.is_ident("cfg") => list.tokens.to_string() == "test",
            _ => false,
        };
        if !attributes.iter().any(for_tests) {
            let inner = usize::from(matches!(item, syn::Item::Mod(_)));
            self.within += inner;
            visit::visit_item(self, item);
            self.within -= inner;
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let hands_on = !matches!(item.vis, syn::Visibility::Inherited);
        self.take(&item.tree, Vec::new(), hands_on);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments = path.segments.iter();
        let path_here = self.of_file(segments.map(|part| part.ident.to_string()).collect());
        if path_here.len() > 1 {
            self.paths.push(path_here);
        }
        visit::visit_path(self, path);
    }

    fn visit_vis_restricted(&mut self, _: &'ast syn::VisRestricted) {}
}

impl Names {
    /// The path as the file itself would write it.
    fn of_file(&self, mut path: Vec<String>) -> Vec<String> {
        let up = path.iter().take_while(|part| *part == "super").count();
        path.drain(..up.min(self.within));
        path
    }

    fn used(&mut self, path: Vec<String>, called: String, hands_on: bool) {
        let path = self.of_file(path);
        if path.len() > 1 || self.within == 0 {
            self.used.push((path, called, hands_on));
        }
    }

    fn take(&mut self, tree: &syn::UseTree, mut path: Vec<String>, hands_on: bool) {
        match tree {
            syn::UseTree::Path(inner) => {
                path.push(inner.ident.to_string());
                self.take(&inner.tree, path, hands_on);
            }
            syn::UseTree::Group(group) => {
                for inner in &group.items {
                    self.take(inner, path.clone(), hands_on);
                }
            }
            syn::UseTree::Name(name) if name.ident == "self" => {
                let called = path.last().cloned().unwrap_or_default();
                self.used(path, called, hands_on);
            }
            syn::UseTree::Name(name) => {
                path.push(name.ident.to_string());
                self.used(path, name.ident.to_string(), hands_on);
            }
            syn::UseTree::Rename(rename) => {
                path.push(rename.ident.to_string());
                self.used(path, rename.rename.to_string(), hands_on);
            }
            syn::UseTree::Glob(_) => {}
        }
    }
}

/// The modules of a crate with what each names.
struct House(BTreeMap<Module, Names>);

impl House {
    fn read(root: &Path) -> Self {
        let mut modules = BTreeMap::new();
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|ending| ending == "rs") {
                    let inside = path.strip_prefix(root).unwrap().with_extension("");
                    let parts = inside
                        .iter()
                        .map(|part| part.to_string_lossy().into_owned());
                    let mut names = Names::default();
                    names
                        .visit_file(&syn::parse_file(&fs::read_to_string(&path).unwrap()).unwrap());
                    let module: Module = parts.filter(|part| part != "lib").collect();
                    // Made for fuzzing only, out of all of its room.
                    if module.last().is_none_or(|name| name != "fuzz") {
                        modules.insert(module, names);
                    }
                }
            }
        }
        Self(modules)
    }

    /// The module that a path of `from` ends in, and the name that it takes of that; nothing of other crates.
    fn find(&self, from: &Module, path: &[String]) -> Option<(Module, Option<String>)> {
        let (mut at, mut rest) = (from.clone(), path);
        match path.first()?.as_str() {
            "crate" => (at, rest) = (Module::new(), &path[1..]),
            "self" => rest = &path[1..],
            "super" => {
                while rest.first().is_some_and(|part| part == "super") {
                    at.pop();
                    rest = &rest[1..];
                }
            }
            first => {
                let below = [&at[..], &[first.to_owned()]].concat();
                let called =
                    |used: &&(Vec<String>, String, bool)| used.1 == first && used.0.len() > 1;
                if !self.0.contains_key(&below) {
                    let (whole, ..) = self.0[from].used.iter().find(called)?;
                    let here = [&from[..], &whole[..1]].concat();
                    let own = ["crate", "self", "super"].contains(&whole[0].as_str());
                    if !own && !self.0.contains_key(&here) {
                        return None;
                    }
                    let (module, None) = self.find(from, whole)? else {
                        return None;
                    };
                    (at, rest) = (module, &path[1..]);
                }
            }
        }
        while let Some(part) = rest.first() {
            let below = [&at[..], std::slice::from_ref(part)].concat();
            if !self.0.contains_key(&below) {
                break;
            }
            (at, rest) = (below, &rest[1..]);
        }
        Some((at, rest.first().cloned()))
    }

    /// Where a name is at home that a module hands on.
    fn home(&self, mut module: Module, mut name: String) -> Module {
        for _ in 0..self.0.len() {
            let Some(names) = self.0.get(&module) else {
                break;
            };
            let handed = names.used.iter().find(|used| used.2 && used.1 == name);
            let next = handed.and_then(|(path, ..)| self.find(&module, path));
            match next {
                Some((next, Some(taken))) if next != module => (module, name) = (next, taken),
                Some((next, None)) => return next,
                _ => break,
            }
        }
        module
    }

    /// The modules that each needs.
    fn needs(&self) -> BTreeMap<&Module, BTreeSet<Module>> {
        let needs = self.0.iter().map(|(module, names)| {
            let taken = names.used.iter().filter(|used| !used.2);
            let paths = taken.map(|(path, ..)| path).chain(&names.paths);
            let homes = paths.filter_map(|path| {
                match self.find(module, path)? {
                    (found, Some(name)) => Some(self.home(found, name)),
                    // A function may be called as the module that it is handed on from.
                    (mut found, None) => {
                        let name = found.pop()?;
                        let handed = &self.0.get(&found)?.used;
                        let is_handed = handed.iter().any(|used| used.2 && used.1 == name);
                        is_handed.then(|| self.home(found, name))
                    }
                }
            });
            (module, homes.filter(|home| home != module).collect())
        });
        needs.collect()
    }

    /// The modules that need each other, each circle once.
    fn circles(&self) -> BTreeSet<Vec<Module>> {
        let needs = self.needs();
        let reached: BTreeMap<&Module, BTreeSet<Module>> = needs
            .keys()
            .map(|module| {
                let mut reached = BTreeSet::new();
                let mut open = vec![(*module).clone()];
                while let Some(next) = open.pop() {
                    for other in needs.get(&next).into_iter().flatten() {
                        if reached.insert(other.clone()) {
                            open.push(other.clone());
                        }
                    }
                }
                (*module, reached)
            })
            .collect();
        let back =
            |one: &Module, other: &Module| reached.get(other).is_some_and(|all| all.contains(one));
        let circles = reached
            .iter()
            .filter(|(module, all)| all.contains(**module));
        circles
            .map(|(module, all)| {
                all.iter()
                    .filter(|other| back(module, other))
                    .cloned()
                    .collect()
            })
            .collect()
    }
}

/// A circle of the parts of one room: a part is a file with those below it.
fn circles_of_parts(house: &House) -> Vec<String> {
    let mut needs: BTreeMap<Module, BTreeMap<Module, BTreeSet<Module>>> = BTreeMap::new();
    for (module, others) in house.needs() {
        for other in others {
            let shared = module
                .iter()
                .zip(&other)
                .take_while(|(a, b)| a == b)
                .count();
            if shared < module.len() && shared < other.len() {
                let part = |module: &Module| module[..=shared].to_vec();
                let room = needs.entry(module[..shared].to_vec()).or_default();
                room.entry(part(module)).or_default().insert(part(&other));
            }
        }
    }
    let mut circles = Vec::new();
    for parts in needs.values() {
        for part in parts.keys() {
            let (mut reached, mut open) = (BTreeSet::new(), vec![part]);
            while let Some(next) = open.pop() {
                open.extend(
                    parts
                        .get(next)
                        .into_iter()
                        .flatten()
                        .filter(|other| reached.insert(*other)),
                );
            }
            if reached.contains(part) {
                circles.push(called(part));
            }
        }
    }
    circles
}

fn called(module: &Module) -> String {
    module.join("::")
}

#[test]
fn no_files_need_each_other_in_a_circle() {
    let house = House::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let circles = house.circles();
    let circles: Vec<String> = circles
        .iter()
        .map(|circle| circle.iter().map(called).collect::<Vec<_>>().join(", "))
        .collect();
    assert!(circles.is_empty(), "circles:\n{}", circles.join("\n"));
}

#[test]
fn no_parts_of_a_room_need_each_other_in_a_circle() {
    let house = House::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let circles = circles_of_parts(&house);
    assert!(
        circles.is_empty(),
        "parts in circles: {}",
        circles.join(", ")
    );
}

/// The checks above must be able to fail.
#[test]
fn a_circle_is_seen() {
    let house = |files: &[(&str, &str)]| {
        let read = |(module, code): &(&str, &str)| {
            let mut names = Names::default();
            names.visit_file(&syn::parse_file(code).unwrap());
            let module = module.split("::").filter(|part| !part.is_empty());
            (module.map(str::to_owned).collect(), names)
        };
        House(files.iter().map(read).collect())
    };
    let front = ("a", "mod b; mod c; pub use b::B; use self::c::f;");
    let circles =
        |b: &str, c: &str| house(&[("", "mod a;"), front, ("a::b", b), ("a::c", c)]).circles();
    assert!(circles("pub struct B;", "use super::B; pub fn f() {}").is_empty());
    assert!(
        circles(
            "pub(in super::super) struct B;",
            "use crate::a::B; pub fn f() {}"
        )
        .is_empty()
    );
    assert_eq!(
        circles(
            "use super::c::f; pub struct B;",
            "use super::B; pub fn f() {}"
        )
        .len(),
        1
    );
    assert_eq!(
        circles(
            "use super::c; pub struct B(c::F);",
            "pub struct F(super::b::B);"
        )
        .len(),
        1
    );
    assert_eq!(
        circles("pub struct B;", "use super::G; pub fn f() {}").len(),
        1
    );
    let user = ("a::h", "use super::f; pub fn h() { f::g(); super::f(); }");
    let named_as_its_file = house(&[
        ("", ""),
        ("a", "pub use f::f; mod h;"),
        ("a::f", "use super::h::h; pub fn f() {}"),
        user,
    ]);
    assert_eq!(named_as_its_file.circles().len(), 1);
    let inner =
        "pub struct B; mod inner { use super::B; pub fn g() -> super::B { super::super::c::f() } }";
    assert_eq!(circles(inner, "use super::B; pub fn f() {}").len(), 1);
    let own = "pub struct B; mod inner { use super::B; pub fn g() -> super::B { B } }";
    assert!(circles(own, "use super::B; pub fn f() {}").is_empty());
    let parts = house(&[
        ("", ""),
        ("a", ""),
        ("a::b", ""),
        ("a::b::c", "use crate::a::d::e::E;"),
        ("a::d", ""),
        ("a::d::e", "pub struct E;"),
        ("a::d::f", "use crate::a::b::g::G;"),
        ("a::b::g", "pub struct G;"),
    ]);
    assert!(parts.circles().is_empty());
    assert_eq!(circles_of_parts(&parts), ["a::b", "a::d"]);
    let tests = "pub struct B; #[cfg(test)] mod tests { use super::super::c::f; }";
    assert!(circles(tests, "use super::B; pub fn f() {}").is_empty());
}
