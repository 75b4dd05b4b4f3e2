//! Which forms draw which, and which of them would never come to an end.

use std::collections::{BTreeMap, HashMap, HashSet};

use pdf_extract::{Dictionary, Document, Object, ObjectId};

/// Forms within forms.
const MAX_FORMS: usize = 30;
/// Forms that a form or a page draws, counted with those that they draw.
pub(super) const MAX_DRAWN: usize = 10_000;
/// Names of forms, over all forms: many may share one long list of them.
pub(super) const MAX_NAMES: usize = 1_000_000;

/// What the names of the drawing content lead to.
pub(super) struct Form {
    /// How often it draws anything.
    pub draws: usize,
    pub drawn: Vec<ObjectId>,
}

/// Every stream that some dictionary of forms refers to: it is drawn whatever it says it is.
pub(super) fn referred(pdf: &Document) -> HashSet<ObjectId> {
    let mut found = HashSet::new();
    let mut seen = HashSet::new();
    let mut open: Vec<&Object> = pdf.objects.values().collect();
    while let Some(object) = open.pop() {
        let dict = match object {
            Object::Array(array) => {
                open.extend(array);
                continue;
            }
            Object::Dictionary(dict) => dict,
            Object::Stream(stream) => &stream.dict,
            _ => continue,
        };
        open.extend(dict.iter().map(|(_, value)| value));
        let names = dict.get(b"XObject");
        if let Ok(Object::Reference(id)) = names
            && !seen.insert(*id)
        {
            continue;
        }
        if let Some(names) = names.ok().and_then(|names| dictionary(pdf, names)) {
            found.extend(targets(pdf, names));
        }
    }
    found
}

/// What the names of a form may draw; `None` when it has no names of its own.
pub(super) fn drawn(pdf: &Document, form: &Dictionary) -> Option<Vec<ObjectId>> {
    let names = dictionary(pdf, form.get(b"Resources").ok()?)?;
    let objects = names.get(b"XObject").ok();
    let objects = objects.and_then(|objects| dictionary(pdf, objects));
    Some(objects.map_or_else(Vec::new, |objects| {
        targets(pdf, objects).take(MAX_NAMES + 1).collect()
    }))
}

fn dictionary<'a>(pdf: &'a Document, object: &'a Object) -> Option<&'a Dictionary> {
    let (_, object) = pdf.dereference(object).ok()?;
    object.as_dict().ok()
}

fn targets<'a>(pdf: &'a Document, names: &'a Dictionary) -> impl Iterator<Item = ObjectId> + 'a {
    names
        .iter()
        .filter_map(|(_, object)| pdf.dereference(object).ok()?.0)
}

/// The forms that close a circle, go too deep, or draw too much.
pub(super) fn excessive(forms: &BTreeMap<ObjectId, Form>) -> Vec<ObjectId> {
    let mut users: HashMap<ObjectId, Vec<ObjectId>> = HashMap::new();
    let mut waits: HashMap<ObjectId, usize> = HashMap::new();
    let mut ready = Vec::new();
    for (id, form) in forms {
        let drawn = form.drawn.iter().filter(|drawn| forms.contains_key(drawn));
        let mut count = 0;
        for drawn in drawn {
            users.entry(*drawn).or_default().push(*id);
            count += 1;
        }
        waits.insert(*id, count);
        if count == 0 {
            ready.push(*id);
        }
    }
    // How many forms are within each, and how many are drawn when it is.
    let mut done: HashMap<ObjectId, (usize, usize)> = HashMap::new();
    let mut cut = Vec::new();
    for first in forms.keys() {
        loop {
            // Where all others wait for each other, one is cut.
            let stuck = ready.is_empty();
            let Some(id) = ready
                .pop()
                .or(Some(*first).filter(|id| !done.contains_key(id)))
            else {
                break;
            };
            let Some(form) = forms.get(&id).filter(|_| !done.contains_key(&id)) else {
                continue;
            };
            let within = form.drawn.iter().filter_map(|drawn| done.get(drawn));
            let (height, most) = within.fold((0, 0), |(height, most), (h, m)| {
                (height.max(h + 1), most.max(*m))
            });
            let all = form.draws.saturating_mul(most + 1);
            let fits = !stuck && height <= MAX_FORMS && all <= MAX_DRAWN;
            if !fits {
                cut.push(id);
            }
            done.insert(id, if fits { (height, all) } else { (0, 0) });
            for user in users.get(&id).into_iter().flatten() {
                if let Some(left) = waits.get_mut(user) {
                    *left -= 1;
                    if *left == 0 {
                        ready.push(*user);
                    }
                }
            }
        }
    }
    cut
}
