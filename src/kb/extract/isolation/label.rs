//! An extraction as bytes: a label for everything but its text, which stands beside it as it is.

use serde::{Deserialize, Serialize};

use crate::domain::{Place, PlaceUnit};
use crate::kb::extract::{Extraction, Mark, SkipReason, TextLayout};

/// The places of a document are most of its label.
pub(in crate::kb) const MAX_LABEL_BYTES: usize = 96 * 1024 * 1024;

/// What is kept or sent of an extraction beside its text.
///
/// A workbook has a place for each row, and all of a sheet have one name: it is written once.
#[derive(Serialize, Deserialize)]
struct Label {
    title: Option<String>,
    shape: TextLayout,
    missing: Vec<String>,
    names: Vec<String>,
    /// Line, unit, which of the names, first, last.
    places: Vec<(usize, PlaceUnit, Option<usize>, usize, usize)>,
}

/// The label of what was made, on one line.
pub(in crate::kb) fn label(made: &Result<Extraction, SkipReason>) -> serde_json::Result<Vec<u8>> {
    let document = match made {
        Ok(document) => document,
        Err(reason) => return serde_json::to_vec(&Err::<Label, _>(reason)),
    };
    let mut names: Vec<String> = Vec::new();
    let mut places = Vec::with_capacity(document.places.len());
    for Mark { line, place } in &document.places {
        if let Some(name) = &place.name
            && names.last() != Some(name)
        {
            names.push(name.clone());
        }
        let name = place.name.as_ref().map(|_| names.len() - 1);
        places.push((*line, place.unit, name, place.start, place.end));
    }
    serde_json::to_vec(&Ok::<_, SkipReason>(Label {
        title: document.title.clone(),
        shape: document.shape,
        missing: document.missing.clone(),
        names,
        places,
    }))
}

/// What [`label`] was made of, with its text again; `None` when it is no such label.
pub(in crate::kb) fn labelled(
    label: &[u8],
    text: String,
) -> Option<Result<Extraction, SkipReason>> {
    let label: Result<Label, SkipReason> = serde_json::from_slice(label).ok()?;
    let label = match label {
        Ok(label) => label,
        Err(reason) => return Some(Err(reason)),
    };
    let mut places = Vec::with_capacity(label.places.len());
    for (line, unit, name, start, end) in label.places {
        let name = match name {
            Some(at) => Some(label.names.get(at)?.clone()),
            None => None,
        };
        let place = Place {
            unit,
            name,
            start,
            end,
        };
        places.push(Mark { line, place });
    }
    // Lines are looked up by halving.
    places
        .is_sorted_by_key(|mark| mark.line)
        .then_some(Ok(Extraction {
            text,
            title: label.title,
            shape: label.shape,
            places,
            missing: label.missing,
        }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(line: usize, name: Option<&str>) -> Mark {
        Mark {
            line,
            place: Place {
                unit: PlaceUnit::Row,
                name: name.map(str::to_owned),
                start: line * 2,
                end: line * 3,
            },
        }
    }

    #[test]
    fn what_is_labelled_comes_back() {
        let document = Extraction {
            text: "a\nb\nc\n".to_owned(),
            title: Some("A title\nof two lines".to_owned()),
            shape: TextLayout::Rows,
            places: vec![row(1, Some("A")), row(2, Some("A")), row(3, None)],
            missing: vec!["page 2 cannot be read".to_owned()],
        };
        for made in [Ok(document), Err(SkipReason::Damaged("its end".to_owned()))] {
            let text = made.as_ref().map_or("", |document| &document.text);
            let label = label(&made).unwrap();
            assert!(!label.contains(&b'\n'));
            assert_eq!(labelled(&label, text.to_owned()), Some(made));
        }
    }

    #[test]
    fn places_that_would_be_looked_up_wrongly_are_refused() {
        let document = Extraction {
            text: String::new(),
            title: None,
            shape: TextLayout::Rows,
            places: vec![row(2, None), row(1, None)],
            missing: Vec::new(),
        };
        let label = label(&Ok(document)).unwrap();
        assert_eq!(labelled(&label, String::new()), None);
    }
}
