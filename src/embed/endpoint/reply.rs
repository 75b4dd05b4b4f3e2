//! What servers answer to `/embeddings`, and what of it can be used.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;
use serde_json::Value;

/// The vectors of a reply in the order of the texts, each of length 1; else what is wrong.
pub fn vectors(body: &[u8], texts: usize) -> Result<Vec<Vec<f32>>, Unusable> {
    let start = body.iter().find(|byte| !byte.is_ascii_whitespace());
    if start == Some(&b'<') {
        return Err(Unusable::NotAReply("a web page"));
    }
    let value: Value =
        serde_json::from_slice(body).map_err(|_| Unusable::NotAReply("broken JSON"))?;
    if value.get("error").is_some_and(|error| !error.is_null()) {
        return Err(Unusable::Error(value));
    }
    let reply: EmbeddingReply =
        serde_json::from_value(value).map_err(|_| Unusable::NotAReply("other JSON"))?;
    let mut items = reply.data;
    if items.len() != texts {
        return Err(Unusable::Count(items.len()));
    }
    if items.iter().all(|item| item.index.is_some()) {
        items.sort_by_key(|item| item.index);
        if items
            .iter()
            .enumerate()
            .any(|(at, item)| item.index != Some(at))
        {
            return Err(Unusable::NotAReply("vectors whose numbering has gaps"));
        }
    }
    let vectors = items.into_iter().map(|item| item.embedding.read());
    let vectors: Vec<Vec<f32>> = vectors.collect::<Result<_, _>>()?;
    let dims = vectors.first().map_or(0, Vec::len);
    match vectors.iter().find(|vector| vector.len() != dims) {
        Some(other) => Err(Unusable::Mixed(dims, other.len())),
        None => Ok(vectors),
    }
}

/// Why a reply cannot be used.
#[derive(Debug, PartialEq)]
pub enum Unusable {
    /// It is not the protocol.
    NotAReply(&'static str),
    /// It is an error in the place of a reply.
    Error(Value),
    /// So many vectors came instead of as many as texts.
    Count(usize),
    /// Vectors of two lengths in one reply.
    Mixed(usize, usize),
    /// A vector is empty or holds what is no number.
    NotNumbers,
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
    fn read(self) -> Result<Vec<f32>, Unusable> {
        let vector: Option<Vec<f32>> = match self {
            Self::Numbers(numbers) => numbers.into_iter().collect(),
            Self::Base64(text) => decode(&text).and_then(|bytes| floats(&bytes)),
        };
        let vector = vector.ok_or(Unusable::NotNumbers)?;
        if vector.is_empty() || !vector.iter().all(|x| x.is_finite()) {
            return Err(Unusable::NotNumbers);
        }
        Ok(crate::embed::normalised(vector))
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

    use super::*;

    fn read(value: &Value, texts: usize) -> Result<Vec<Vec<f32>>, Unusable> {
        vectors(value.to_string().as_bytes(), texts)
    }

    #[test]
    fn vectors_come_in_the_order_of_the_texts_and_with_length_one() {
        let reply = json!({"data": [
            {"index": 1, "embedding": [0.0, 2.0]},
            {"index": 0, "embedding": [3.0, 4.0]},
        ]});
        assert_eq!(read(&reply, 2).unwrap(), [[0.6, 0.8], [0.0, 1.0]]);
        // 1.0 and -1.0, as `AACAPwAAgL8=`.
        let reply = json!({"data": [{"index": 0, "embedding": "AACAPwAAgL8="}]});
        let vector = read(&reply, 1).unwrap().remove(0);
        assert!((vector[0] - 0.5_f32.sqrt()).abs() < 1e-6 && vector[0] + vector[1] == 0.0);
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
        let one = |embedding: Value| json!({"data": [{"index": 0, "embedding": embedding}]});
        for (reply, why) in [
            (one(json!([])), Unusable::NotNumbers),
            (one(json!([1.0, null])), Unusable::NotNumbers),
            (one(json!([1e300])), Unusable::NotNumbers),
            (one(json!("AACAPw0")), Unusable::NotNumbers),
            (json!({"data": []}), Unusable::Count(0)),
            (json!({"object": "list"}), Unusable::NotAReply("other JSON")),
            (
                json!({"error": "no"}),
                Unusable::Error(json!({"error": "no"})),
            ),
        ] {
            assert_eq!(read(&reply, 1).unwrap_err(), why, "{reply}");
        }
        let mixed = json!({"data": [{"embedding": [1.0]}, {"embedding": [1.0, 0.0]}]});
        assert_eq!(read(&mixed, 2).unwrap_err(), Unusable::Mixed(1, 2));
        let twice =
            json!({"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]});
        assert!(matches!(read(&twice, 2), Err(Unusable::NotAReply(_))));
        assert_eq!(
            vectors(b" <html>", 1).unwrap_err(),
            Unusable::NotAReply("a web page")
        );
        assert_eq!(
            vectors(b"{\"data\": [NaN]}", 1).unwrap_err(),
            Unusable::NotAReply("broken JSON")
        );
    }
}
