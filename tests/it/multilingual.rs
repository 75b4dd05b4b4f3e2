//! The embedding for languages other than English, against vectors of the package that its weights come from.

use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kb_agent::agent::ports::{BulkPriority, EmbedError, Embedder};
use kb_agent::domain::Languages;
use kb_agent::embed::{BuiltInModel, EmbedderByLanguage, SentenceEmbedding};
use kb_agent::kb::{KnowledgeBase, SearchMode};
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::support::cosine;
use crate::workplace::{Workplace, text};

#[derive(Deserialize)]
struct Reference {
    side: String,
    text: String,
    vector: Vec<f32>,
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
                .embed_unless(&text, BulkPriority::Normal, &CancellationToken::new())
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
        .embed_unless(&passages, BulkPriority::Normal, &CancellationToken::new())
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

const CHINESE: &str = "# 大门\n\n大门早上七点开，最后一位客人离开后关闭。门卫每天晚上检查一次。\n";
const ENGLISH: &str =
    "# Gate\n\nThe gate opens at seven in the morning and closes when the last guest has left.\n";
const GERMAN: &str = "# Tor\n\nDas Tor öffnet morgens um sieben und schließt, wenn der letzte Gast \
     das Haus verlassen hat. Der Wächter prüft es jeden Abend noch einmal.\n";

fn index(place: &Workplace, set: Option<&str>) -> Output {
    let mut command = place.command(&["index", "--json", "--kb", "kb"]);
    if let Some(set) = set {
        command.env("KB_AGENT_EMBEDDING", set);
    }
    command.output().unwrap()
}

fn report(output: &Output) -> Value {
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn r14_the_embedding_is_that_for_the_languages_of_the_base() {
    for (document, model) in [
        (ENGLISH, BuiltInModel::English),
        (CHINESE, BuiltInModel::Multilingual),
        (GERMAN, BuiltInModel::Multilingual),
    ] {
        let place = Workplace::empty();
        place.file("kb/gate.md", document);
        let indexed = index(&place, None);
        assert_eq!(report(&indexed)["embedding"], model.id(), "{document}");
        let is_said = text(&indexed.stderr).contains("is in other languages than English");
        assert_eq!(is_said, model == BuiltInModel::Multilingual, "{document}");
        let mut doctor = place.command(&["doctor", "--kb", "kb"]);
        let found = text(&doctor.output().unwrap().stdout);
        assert!(found.contains(model.id()), "{found}");
    }
}

#[test]
fn r14_a_setting_wins_and_the_base_turns_to_it() {
    let place = Workplace::holding([("kb/gate.md", ENGLISH)]);
    assert_eq!(report(&index(&place, None))["embedded"], 1);
    let turned = report(&index(&place, Some("multilingual")));
    assert_eq!(turned["embedding"], BuiltInModel::Multilingual.id());
    assert_eq!(turned["embedded"], 1);
    assert_eq!(turned["unchanged"], 1);
    assert_eq!(report(&index(&place, Some("multilingual")))["embedded"], 0);
    let wrong = index(&place, Some("klingon"));
    let line = "KB_AGENT_EMBEDDING is 'klingon': it must be auto, english or multilingual";
    assert!(
        text(&wrong.stderr).contains(line),
        "{}",
        text(&wrong.stderr)
    );
}

/// Gives one vector for everything, and cancels its token when it is called a second time.
struct OneVector {
    name: &'static str,
    calls: AtomicUsize,
    interrupts: CancellationToken,
}

impl OneVector {
    fn named(name: &'static str) -> Arc<Self> {
        Arc::new(Self {
            name,
            calls: AtomicUsize::new(0),
            interrupts: CancellationToken::new(),
        })
    }
}

impl Embedder for OneVector {
    fn model_id(&self) -> &str {
        self.name
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(texts.iter().map(|_| vec![1.0, 0.0]).collect())
    }

    fn embed_unless(
        &self,
        texts: &[&str],
        _: BulkPriority,
        cancel: &CancellationToken,
    ) -> Result<Option<Vec<Vec<f32>>>, EmbedError> {
        if self.calls.fetch_add(1, Ordering::Relaxed) > 0 {
            self.interrupts.cancel();
        }
        if cancel.is_cancelled() {
            return Ok(None);
        }
        self.embed(texts).map(Some)
    }
}

#[test]
fn r14_a_base_that_turns_is_searched_by_its_old_vectors_until_the_new_are_complete() {
    const DOCUMENTS: usize = 100;
    let place = Workplace::empty();
    for at in 0..DOCUMENTS {
        place.file(&format!("kb/{at}.md"), format!("# Gate {at}\n\n{ENGLISH}"));
    }
    let (old, new) = (OneVector::named("old"), OneVector::named("new"));
    let open = |set| {
        let embedder = EmbedderByLanguage::new(old.clone(), new.clone(), set, |_| true);
        let roots = [place.path().join("kb")];
        KnowledgeBase::open(&roots[..], &place.path().join("index"), Arc::new(embedder)).unwrap()
    };
    let cancel = CancellationToken::new();
    let first = open(None);
    first.update(&|_| {}, &cancel).unwrap();
    assert_eq!(first.model_id(), "old");
    drop(first);

    let base = open(Some(Languages::All));
    // The new one stops the update after its first batch.
    let begun = base
        .embed_pending(&|_| {}, &new.interrupts)
        .unwrap()
        .embedded;
    assert!((1..DOCUMENTS).contains(&begun), "{begun}");
    assert_eq!((base.model_id(), base.status().pending), ("old", 0));
    assert_eq!(base.search(SearchMode::Vector, "gate", 5).unwrap().len(), 5);

    let rest = base.embed_pending(&|_| {}, &cancel).unwrap().embedded;
    assert_eq!(base.model_id(), "new");
    assert_eq!(begun + rest, base.status().chunks);
    assert_eq!(base.search(SearchMode::Vector, "gate", 5).unwrap().len(), 5);
    drop(base);
    assert_eq!(open(Some(Languages::All)).model_id(), "new");
}
