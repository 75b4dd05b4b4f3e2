//! The embedded sentence embedding against its references, and Chinese in it.
//!
//! A line of `embed/reference.txt` holds a text, its vector by the published f32 weights
//! (sentence-transformers 6.2) and its vector by the embedded 8-bit weights in another runtime
//! (the reference evaluator of onnx 1.23). The second tells a mistake in tokenizing, running or
//! pooling from what the smaller weights cost. Numbers are kept in 8 bits: .0001 of cosine.

use crate::support::cosine;

use kb_agent::agent::ports::{Embedder, TokensWanted};
use kb_agent::domain::Languages;
use kb_agent::embed::{BuiltInModel, DIMENSIONS, SentenceEmbedding};
use tokio_util::sync::CancellationToken;

struct Reference {
    text: &'static str,
    published: Vec<f32>,
    embedded: Vec<f32>,
}

fn references() -> Vec<Reference> {
    include_str!("embed/reference.txt")
        .lines()
        .map(|line| {
            let mut fields = line.split('\t');
            let text = fields.next().unwrap();
            let published = numbers(fields.next().unwrap());
            let embedded = numbers(fields.next().unwrap());
            Reference {
                text,
                published,
                embedded,
            }
        })
        .collect()
}

fn numbers(hex: &str) -> Vec<f32> {
    (0..hex.len())
        .step_by(2)
        .map(|at| {
            f32::from(
                u8::from_str_radix(&hex[at..at + 2], 16)
                    .unwrap()
                    .cast_signed(),
            )
        })
        .collect()
}

#[test]
fn r12_vectors_are_those_of_the_references() {
    let references = references();
    let texts: Vec<&str> = references.iter().map(|r| r.text).collect();
    let vectors = SentenceEmbedding::new(BuiltInModel::English)
        .embed(&texts)
        .unwrap();
    for (reference, vector) in references.iter().zip(&vectors) {
        let text = reference.text;
        assert_eq!(vector.len(), DIMENSIONS);
        let length: f32 = vector.iter().map(|x| x * x).sum();
        assert!((length - 1.0).abs() < 1e-4, "{text}: length {length}");
        let same_weights = cosine(&reference.embedded, vector);
        assert!(same_weights >= 0.998, "{text}: {same_weights}");
        // Measured: .9829 to .9950; what 7 bits a weight and 8 bits an activation cost.
        let published = cosine(&reference.published, vector);
        assert!(published >= 0.98, "{text}: {published}");
    }
    for (a, b, expected) in [(0, 1, 0.595), (0, 2, -0.012)] {
        let got = cosine(&vectors[a], &vectors[b]);
        assert!(
            (got - expected).abs() < 0.03,
            "{a} {b}: {got} for {expected}"
        );
    }
}

#[test]
fn r12_chinese_is_near_what_it_means() {
    let embedding = SentenceEmbedding::new(BuiltInModel::Multilingual);
    let vectors = |texts: &[&str]| embedding.embed(texts).unwrap();
    let asked = vectors(&["怎样删除一条记录？", "会议室在哪里？", "今天天气真好"]);
    let vectors_of = vectors(&[
        "How to delete a record",
        "Where the meeting room is",
        "The weather is fine today",
        "删掉记录的方法",
        "开会的房间在三楼",
        "外面是晴天",
    ]);
    for (at, question) in asked.iter().enumerate() {
        for (first, last) in [(0, 3), (3, 6)] {
            let near = |other: usize| cosine(question, &vectors_of[other]);
            let best = (first..last).max_by(|a, b| near(*a).total_cmp(&near(*b)));
            assert_eq!(best, Some(first + at), "{at}");
        }
    }
}

#[test]
fn r12_a_vector_does_not_depend_on_its_neighbours() {
    let embedding = SentenceEmbedding::new(BuiltInModel::English);
    let long = "a much longer neighbour with other numbers inside ".repeat(30);
    let texts = ["short", &long, "什么是快速路径？", "", "short"];
    let together = embedding.embed(&texts).unwrap();
    for (text, vector) in texts.iter().zip(&together) {
        assert_eq!(&embedding.embed(&[text]).unwrap()[0], vector, "{text}");
    }
    assert_eq!(together[0], together[4]);
}

#[test]
fn r12_any_text_has_a_vector() {
    let embedding = SentenceEmbedding::new(BuiltInModel::English);
    let huge = "x".repeat(100_000) + &" word".repeat(20_000);
    for text in ["", " \n\t", "\0\u{200b}", "😀😀😀", huge.as_str()] {
        let vector = embedding.embed(&[text]).unwrap().remove(0);
        assert!(vector.iter().all(|x| x.is_finite()));
    }
    assert!(embedding.embed(&[]).unwrap().is_empty());
    assert_eq!(embedding.model_id(), BuiltInModel::English.id());
}

#[test]
fn r17_the_tokens_of_a_text_have_vectors_in_its_context() {
    let embedding = SentenceEmbedding::new(BuiltInModel::English);
    let cancel = CancellationToken::new();
    let tokens = |texts: &[&str], most| {
        let languages = Languages::English;
        let wanted = TokensWanted { most, languages };
        let made = embedding.embed_tokens(texts, wanted, (&cancel).into());
        made.unwrap().unwrap()
    };
    let made = tokens(&["The gate opens.", "A rusty gate", "法师"], 64);
    // Without the marks at both ends, and without 师, which the vocabulary lacks.
    let lengths: Vec<usize> = made.iter().map(|text| text.tokens.len()).collect();
    assert_eq!(lengths, [4, 3, 1]);
    for text in &made {
        assert_eq!(text.vectors.len(), text.tokens.len());
        for vector in &text.vectors {
            assert!((cosine(vector, vector) - 1.0).abs() < 1e-3);
        }
    }
    let (gate, other) = (&made[0].vectors[1], &made[1].vectors);
    let nearest =
        (0..3).max_by(|a, b| cosine(gate, &other[*a]).total_cmp(&cosine(gate, &other[*b])));
    assert_eq!(nearest, Some(2), "the same word");
    assert_eq!(tokens(&["The gate opens."], 4)[0].tokens.len(), 2);
    assert!(tokens(&["😀"], 64)[0].tokens.is_empty());
}
