//! The events page, read from the types that are written to the log.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::rc::Rc;

use heck::{ToKebabCase, ToSnakeCase};
use syn::{Attribute, Expr, Fields, GenericArgument, Item, Lit, LitStr, Meta, PathArguments, Type};

/// Heading and introduction of the page.
const HEAD: &str = "# Events

Everything that happens to a question is an event. `kb-agent ask --json` and `kb-agent replay --json RUN` print
events, and the audit log keeps them, one JSON object a line. Every event has:

- `schema`: version of the format, 1. A change of meaning raises it; new fields do not.
- `ts`: time, RFC 3339, UTC, milliseconds
- `run`: unique, sortable id of the run
- `seq`: 0, 1, 2 … without gaps in `ask --json`; increasing in the log
- `event`: the kind, a heading below
- the fields of that kind; `?` marks those that may be missing

Ignore fields that you do not know, such as `prev` and `noted` in older logs. The log leaves `answer_delta` and
`waiting` out. A run that starts always ends with `run_finished`; after a kill the next start closes it as `failed`
with the error `interrupted`.
";

/// Types that are written by code of their own.
const WRITTEN_AS: [(&str, &str); 2] = [("Timestamp", "string"), ("GradedBy", "string")];

/// Everything that the page is made of.
struct Types {
    items: BTreeMap<String, Rc<Item>>,
    /// Types to be explained below, in the order in which they are met.
    named: Vec<String>,
}

/// What serde is told about a type, a variant or a field.
#[derive(Default)]
struct Serde {
    rename: Option<String>,
    rename_all: Option<String>,
    tag: Option<String>,
    content: Option<String>,
    is_flat: bool,
    may_miss: bool,
}

pub(super) fn page() -> String {
    let mut types = Types {
        items: BTreeMap::new(),
        named: Vec::new(),
    };
    for room in ["src/protocol.rs", "src/protocol", "src/domain"] {
        types.read(&Path::new(env!("CARGO_MANIFEST_DIR")).join(room));
    }
    let mut page = HEAD.to_owned();
    let events = Rc::clone(&types.items["EventBody"]);
    let Item::Enum(events) = &*events else {
        panic!("EventBody is no enum");
    };
    for variant in &events.variants {
        let name = variant.ident.to_string().to_snake_case();
        let rows = types.rows(&variant.fields);
        page.push_str(&format!(
            "\n## `{name}`\n\n{}\n\n{}",
            doc(&variant.attrs),
            table(&rows)
        ));
    }
    let mut at = 0;
    while let Some(name) = types.named.get(at).cloned() {
        page.push_str(&types.explained(&name));
        at += 1;
    }
    page
}

impl Types {
    fn read(&mut self, path: &Path) {
        if path.is_dir() {
            let mut files: Vec<_> = fs::read_dir(path)
                .unwrap()
                .map(|one| one.unwrap().path())
                .collect();
            files.sort();
            for file in &files {
                self.read(file);
            }
            return;
        }
        for item in syn::parse_file(&fs::read_to_string(path).unwrap())
            .unwrap()
            .items
        {
            let name = match &item {
                Item::Struct(one) => one.ident.to_string(),
                Item::Enum(one) => one.ident.to_string(),
                _ => continue,
            };
            self.items.insert(name, Rc::new(item));
        }
    }

    /// A row of the table for each field: name, type, meaning.
    fn rows(&mut self, fields: &Fields) -> Vec<[String; 3]> {
        let mut rows = Vec::new();
        for field in fields {
            let serde = serde(&field.attrs);
            let (is_optional, kind) = self.kind(&field.ty);
            if serde.is_flat {
                rows.extend(self.flat_rows(&field.ty));
                continue;
            }
            let name = serde
                .rename
                .unwrap_or_else(|| field.ident.as_ref().unwrap().to_string());
            let mark = if serde.may_miss { "?" } else { "" };
            let kind = if is_optional && !serde.may_miss {
                format!("{kind} or null")
            } else {
                kind
            };
            rows.push([format!("`{name}`{mark}"), kind, doc(&field.attrs)]);
        }
        rows
    }

    /// The rows of a type whose fields stand among those of another.
    fn flat_rows(&mut self, ty: &Type) -> Vec<[String; 3]> {
        let name = last_name(ty);
        let item = Rc::clone(&self.items[&name]);
        match &*item {
            Item::Struct(one) => {
                self.named.retain(|known| *known != name);
                self.rows(&one.fields)
            }
            Item::Enum(one) => {
                let serde = serde(&one.attrs);
                let mut names = vec![format!("`{}`", serde.tag.unwrap())];
                names.extend(serde.content.map(|content| format!("`{content}`")));
                let kind = self.kind(ty).1;
                vec![[names.join(", "), kind, doc(&one.attrs)]]
            }
            _ => Vec::new(),
        }
    }

    /// Whether the type may be null, and what it is in JSON.
    fn kind(&mut self, ty: &Type) -> (bool, String) {
        let name = last_name(ty);
        let inner = |types: &mut Self| types.kind(argument(ty).unwrap()).1;
        let kind = match name.as_str() {
            "Option" => return (true, inner(self)),
            "Vec" => format!("list of {}", inner(self)),
            "String" | "str" => "string".to_owned(),
            "Arc" | "Box" => inner(self),
            "bool" => "boolean".to_owned(),
            "u8" | "u16" | "u32" | "u64" | "usize" | "f32" | "f64" => "number".to_owned(),
            _ => self.named_kind(&name),
        };
        (false, kind)
    }

    fn named_kind(&mut self, name: &str) -> String {
        if let Some((_, kind)) = WRITTEN_AS.iter().find(|(known, _)| *known == name) {
            return (*kind).to_owned();
        }
        let item = self.items.get(name).cloned();
        if let Some(Item::Struct(one)) = item.as_deref()
            && let Fields::Unnamed(only) = &one.fields
        {
            return self.kind(&only.unnamed[0].ty).1;
        }
        assert!(item.is_some(), "the type {name} is in neither room");
        if !self.named.iter().any(|known| known == name) {
            self.named.push(name.to_owned());
        }
        format!("[{name}](#{})", name.to_lowercase())
    }

    /// The section of a type that fields have.
    fn explained(&mut self, name: &str) -> String {
        let item = Rc::clone(&self.items[name]);
        match &*item {
            Item::Struct(one) => {
                let rows = self.rows(&one.fields);
                format!("\n## {name}\n\n{}\n\n{}", doc(&one.attrs), table(&rows))
            }
            Item::Enum(one) => {
                let container = serde(&one.attrs);
                let mut text = format!("\n## {name}\n\n{}\n\n", doc(&one.attrs));
                for variant in &one.variants {
                    let ident = variant.ident.to_string();
                    let word = serde(&variant.attrs).rename.unwrap_or_else(|| {
                        match container.rename_all.as_deref() {
                            Some("kebab-case") => ident.to_kebab_case(),
                            Some("lowercase") => ident.to_lowercase(),
                            Some("snake_case") => ident.to_snake_case(),
                            _ => ident.clone(),
                        }
                    });
                    text.push_str(&format!("- `{word}`: {}\n", doc(&variant.attrs)));
                    for [name, kind, meaning] in self.rows(&variant.fields) {
                        text.push_str(&format!("  - {name} ({kind}): {meaning}\n"));
                    }
                }
                text
            }
            _ => String::new(),
        }
    }
}

fn table(rows: &[[String; 3]]) -> String {
    let mut text = "| field | type | meaning |\n|---|---|---|\n".to_owned();
    for [name, kind, meaning] in rows {
        text.push_str(&format!(
            "| {name} | {kind} | {} |\n",
            meaning.replace('|', "\\|")
        ));
    }
    text
}

/// The documentation on one line, without links that only rustdoc follows.
fn doc(attrs: &[Attribute]) -> String {
    let lines = attrs.iter().filter_map(|attr| match &attr.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(value) => match &value.lit {
                Lit::Str(text) => Some(text.value().trim().to_owned()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    let text = lines.collect::<Vec<_>>().join(" ");
    let text = text.split("  ").next().unwrap_or_default().trim();
    text.replace("[`", "`").replace("`]", "`")
}

fn serde(attrs: &[Attribute]) -> Serde {
    let mut told = Serde::default();
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("serde")) {
        attr.parse_nested_meta(|meta| {
            let value = meta
                .value()
                .ok()
                .map(syn::parse::ParseBuffer::parse::<LitStr>);
            let value = value.and_then(Result::ok).map(|text| text.value());
            if meta.path.is_ident("rename") {
                told.rename = value;
            } else if meta.path.is_ident("rename_all") {
                told.rename_all = value;
            } else if meta.path.is_ident("tag") {
                told.tag = value;
            } else if meta.path.is_ident("content") {
                told.content = value;
            } else if meta.path.is_ident("flatten") {
                told.is_flat = true;
            } else if meta.path.is_ident("skip_serializing_if") {
                told.may_miss = true;
            }
            Ok(())
        })
        .unwrap();
    }
    told
}

fn last_name(ty: &Type) -> String {
    let Type::Path(path) = ty else {
        panic!("a field is of a type without a name");
    };
    path.path.segments.last().unwrap().ident.to_string()
}

fn argument(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    let PathArguments::AngleBracketed(given) = &path.path.segments.last()?.arguments else {
        return None;
    };
    given.args.iter().find_map(|one| match one {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}
