//! The embedding for languages other than English, against vectors of the package that its weights come from.

use kb_agent::agent::ports::{BulkPriority, Embedder};
use kb_agent::embed::{BuiltInModel, SentenceEmbedding};
use serde::Deserialize;
use std::sync::atomic::AtomicBool;

#[derive(Deserialize)]
struct Reference {
    side: String,
    text: String,
    vector: Vec<f32>,
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

#[test]
fn r14_vectors_of_other_languages_are_those_of_the_published_model() {
    let embedding = SentenceEmbedding::new(BuiltInModel::Multilingual);
    let mut languages = 0;
    for line in include_str!("../multilingual/vectors.jsonl").lines() {
        let reference: Reference = serde_json::from_str(line).unwrap();
        let text = [reference.text.as_str()];
        let made = match reference.side.as_str() {
            "query" => embedding.embed(&text).unwrap(),
            _ => embedding
                .embed_unless(&text, BulkPriority::Normal, &AtomicBool::new(false))
                .unwrap()
                .unwrap(),
        };
        let near = cosine(&made[0], &reference.vector);
        assert!(near >= 0.995, "{near}: {}", reference.text);
        languages += 1;
    }
    assert_eq!(languages, 12);
}

#[test]
fn r14_a_question_is_near_its_answer_in_its_own_language() {
    let embedding = SentenceEmbedding::new(BuiltInModel::Multilingual);
    let passages = [
        "大门早上七点开，最后一位客人离开后关闭。",
        "Die Rechnung ist innerhalb von dreißig Tagen zu bezahlen.",
        "Собака лает, караван идёт.",
    ];
    let passages = embedding
        .embed_unless(&passages, BulkPriority::Normal, &AtomicBool::new(false))
        .unwrap()
        .unwrap();
    for (question, answer) in [
        ("几点开门？", 0),
        ("Wann muss ich zahlen?", 1),
        ("Какое животное шумит?", 2),
    ] {
        let asked = &embedding.embed(&[question]).unwrap()[0];
        let nearest = (0..passages.len())
            .max_by(|a, b| cosine(asked, &passages[*a]).total_cmp(&cosine(asked, &passages[*b])));
        assert_eq!(nearest, Some(answer), "{question}");
    }
}
