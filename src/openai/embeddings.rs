//! What servers answer to `/embeddings`, and what of it can be used.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;
use serde_json::Value;

use super::fault::{Failure, FailureKind, Fault, Site};

/// The vectors of a reply in the order of the texts, all of one length. A fault that is
/// [`Fault::Unsupported`] may be that of one of the texts; one of [`Fault::Split`] names how many
/// were taken.
pub fn vectors(site: &Site, body: &[u8], texts: usize) -> Result<Vec<Vec<f32>>, Failure> {
    let of_a_text = |failure: Failure| Failure {
        fault: Fault::Unsupported,
        ..failure
    };
    let start = body.iter().find(|byte| !byte.is_ascii_whitespace());
    if start == Some(&b'<') {
        return Err(site.not_a_reply("a web page"));
    }
    // A number that is none makes broken JSON.
    let value: Value =
        serde_json::from_slice(body).map_err(|_| of_a_text(site.not_a_reply("broken JSON")))?;
    if value.get("error").is_some_and(|error| !error.is_null()) {
        let failure = site.error_object(&value);
        return Err(match failure.fault {
            Fault::Fatal => of_a_text(failure),
            _ => failure,
        });
    }
    let reply = EmbeddingReply::deserialize(value).map_err(|_| site.not_a_reply("other JSON"))?;
    let mut items = reply.data;
    let unusable = |fault, what: String| {
        let next = format!("check {}", site.address.variables.model());
        site.failure(FailureKind::Protocol, fault, &what, next)
    };
    if items.len() != texts {
        // Some servers take several texts for one.
        let taken = u32::try_from(items.len()).ok();
        let taken = taken.filter(|taken| *taken > 0 && items.len() < texts);
        let fault = taken.map_or(Fault::Fatal, Fault::Split);
        let what = format!("gave {} vectors for {texts} texts", items.len());
        return Err(unusable(fault, what));
    }
    if items.iter().all(|item| item.index.is_some()) {
        items.sort_by_key(|item| item.index);
        if (0..).zip(&items).any(|(at, item)| item.index != Some(at)) {
            return Err(site.not_a_reply("vectors whose numbering has gaps"));
        }
    }
    let vectors: Option<Vec<_>> = items
        .into_iter()
        .map(|item| item.embedding.read())
        .collect();
    let no_numbers = || {
        unusable(
            Fault::Unsupported,
            "gave a vector that holds no numbers".into(),
        )
    };
    let vectors = vectors.ok_or_else(no_numbers)?;
    let dims = vectors.first().map_or(0, Vec::len);
    match vectors.iter().find(|vector| vector.len() != dims) {
        Some(other) => Err(unusable(Fault::Fatal, mixed(dims, other.len()))),
        None => Ok(vectors),
    }
}

/// What is said of vectors of two lengths.
pub fn mixed(expected: usize, found: usize) -> String {
    format!("gave vectors of {found} numbers after vectors of {expected}")
}

#[derive(Deserialize)]
struct EmbeddingReply {
    data: Vec<EmbeddingItem>,
}

#[derive(Deserialize)]
struct EmbeddingItem {
    index: Option<usize>,
    embedding: EncodedVector,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum EncodedVector {
    /// `null` is what some servers make of a number that is none.
    Numbers(Vec<Option<f32>>),
    /// Little-endian 32-bit numbers, which some servers send without being asked.
    Base64(String),
}

impl EncodedVector {
    /// The numbers; none where one of them is none, or there are none.
    fn read(self) -> Option<Vec<f32>> {
        let vector = match self {
            Self::Numbers(numbers) => numbers.into_iter().collect(),
            Self::Base64(text) => decode(&text).and_then(|bytes| floats(&bytes)),
        };
        vector
            .filter(|vector: &Vec<f32>| !vector.is_empty() && vector.iter().all(|x| x.is_finite()))
    }
}

fn floats(bytes: &[u8]) -> Option<Vec<f32>> {
    let (numbers, rest) = bytes.as_chunks::<4>();
    rest.is_empty()
        .then(|| numbers.iter().map(|raw| f32::from_le_bytes(*raw)).collect())
}

/// Base64 with the standard alphabet, RFC 4648, which some servers do not pad.
fn decode(text: &str) -> Option<Vec<u8>> {
    const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let standard = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
    standard.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Address, LLM, Purpose, Wordings};
    use super::*;

    fn read(body: &[u8], texts: usize) -> Result<Vec<Vec<f32>>, Failure> {
        let site = Site {
            address: Address::new("http://h/v1", None, &LLM).unwrap(),
            purpose: Purpose::Embedding,
            wordings: Wordings::with_user_rows(None).unwrap().into(),
        };
        vectors(&site, body, texts)
    }

    #[test]
    fn vectors_come_in_the_order_of_the_texts() {
        let reply = json!({"data": [
            {"index": 1, "embedding": [0.0, 2.0]},
            {"index": 0, "embedding": [3.0, 4.0]},
        ]});
        let reply = reply.to_string();
        assert_eq!(read(reply.as_bytes(), 2).unwrap(), [[3.0, 4.0], [0.0, 2.0]]);
        let reply = json!({"data": [{"index": 0, "embedding": "AACAPwAAgL8="}]});
        let reply = reply.to_string();
        assert_eq!(read(reply.as_bytes(), 1).unwrap(), [[1.0, -1.0]]);
    }

    #[test]
    fn base64_is_read_as_the_standard_says() {
        for (text, bytes) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYg", "foob"),
            ("Zm9vYmE=", "fooba"),
            ("Zm9vYmFy", "foobar"),
        ] {
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()));
        }
        assert_eq!(decode("Zm9v-_"), None);
    }

    #[test]
    fn what_cannot_be_used_is_distinguished() {
        let one =
            |embedding: Value| json!({"data": [{"index": 0, "embedding": embedding}]}).to_string();
        let (no_numbers, of_a_text) = ("gave a vector that holds no numbers", Fault::Unsupported);
        let twice =
            json!({"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]});
        let mixed = json!({"data": [{"embedding": [1.0]}, {"embedding": [1.0, 0.0]}]});
        let taken = Fault::Split(1);
        for (reply, texts, fault, why) in [
            (one(json!([])), 1, of_a_text, no_numbers),
            (one(json!([1.0, null])), 1, of_a_text, no_numbers),
            (one(json!([1e300])), 1, of_a_text, no_numbers),
            (one(json!("AACAPw0")), 1, of_a_text, no_numbers),
            (
                "{\"data\": [NaN]}".to_owned(),
                1,
                of_a_text,
                "sent broken JSON instead of vectors",
            ),
            ("{\"error\": \"no\"}".to_owned(), 1, of_a_text, "failed: no"),
            (
                "{\"data\": []}".to_owned(),
                1,
                Fault::Fatal,
                "gave 0 vectors for 1 texts",
            ),
            (one(json!([1.0])), 2, taken, "gave 1 vectors for 2 texts"),
            (
                "{\"object\": \"list\"}".to_owned(),
                1,
                Fault::Fatal,
                "sent other JSON instead of vectors",
            ),
            (
                " <html>".to_owned(),
                1,
                Fault::Fatal,
                "sent a web page instead of vectors",
            ),
            (
                mixed.to_string(),
                2,
                Fault::Fatal,
                "gave vectors of 2 numbers after vectors of 1",
            ),
            (
                twice.to_string(),
                2,
                Fault::Fatal,
                "sent vectors whose numbering has gaps instead of vectors",
            ),
        ] {
            let failure = read(reply.as_bytes(), texts).unwrap_err();
            let what = failure.trouble.what.replacen("h ", "", 1);
            assert_eq!((what.as_str(), failure.fault), (why, fault), "{reply}");
        }
    }
}
