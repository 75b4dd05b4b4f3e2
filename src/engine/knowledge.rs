use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use include_dir::{Dir, File, include_dir};
use tokio_util::sync::CancellationToken;

use super::EngineError;
use crate::agent::ports::Embedder;
use crate::config::Settings;
use crate::domain::Languages;
use crate::embed::{
    BuiltInModel, EmbedderByLanguage, EmbeddingData, EmbeddingEndpoint, EndpointEmbedder,
    JudgeEmbedder, Precomputed, SentenceEmbedding,
};
use crate::files;
use crate::files::wait_for;
use crate::kb::{
    Changes, DocumentReader, KbError, KnowledgeBase, LanguageChoice, Progress, Sources,
    StoreAccess, StoreAdministration, TextRecognition, UpdateReport,
};
use crate::reasoner::offline;
use crate::text::OrTrouble;

/// Opens the knowledge base that the settings name, the bundled demo when they name none, with
/// the embedding that they name. Blocks while an embedding endpoint is asked for its model.
pub fn open_knowledge(settings: &Settings) -> Result<KnowledgeBase, EngineError> {
    open_with(settings, &BuiltInModels::new(), &[])
}

/// A base over other folders than those that the settings name, with their embedding; in the store
/// that they name, in that space.
pub fn open_knowledge_at(
    settings: &Settings,
    roots: &[PathBuf],
    home: &Path,
    space: &str,
) -> Result<KnowledgeBase, EngineError> {
    let embedder = embedder(settings, &BuiltInModels::new())?;
    let access = access(settings).map(|access| StoreAccess {
        space: Some(space.to_owned()),
        ..access
    });
    open_over(settings, roots.into(), home, access, embedder)
}

/// The same for a caller that is going to rebuild it: a damaged index does not stand in the way.
pub fn open_knowledge_for_rebuild(settings: &Settings) -> Result<KnowledgeBase, EngineError> {
    if settings.store.is_some() {
        // What is broken there, opening does not meet.
        return open_knowledge(settings);
    }
    let embedder = of_passages(settings, embedder(settings, &BuiltInModels::new())?);
    let (sources, home) = (sources(settings)?, settings.index_dir());
    let base = KnowledgeBase::open_for_rebuild(sources, &home, embedder)?;
    Ok(reading_as_set(settings, base))
}

/// How the text of scans and pictures is recognised, if it is.
pub fn recognition(settings: &Settings) -> Option<TextRecognition> {
    let languages = settings.ocr.clone();
    languages.map(|languages| TextRecognition { languages })
}

/// The documents of that base alone: nothing is embedded and no index is opened. Blocks.
pub fn document_reader(settings: &Settings) -> Result<DocumentReader, EngineError> {
    let (sources, home) = (sources(settings)?, settings.index_dir());
    let reader = DocumentReader::open(sources, &home, settings.own_program.as_deref())?;
    Ok(reader)
}

/// The same without blocking, for a caller that has the built-in model anyway.
pub(super) async fn open_beside(
    settings: &Settings,
    built_in: BuiltInModels,
) -> Result<KnowledgeBase, EngineError> {
    let settings = settings.clone();
    tokio::task::spawn_blocking(move || open_with(&settings, &built_in, &[]))
        .await
        .trouble("opening the index broke off")?
}

/// The one place that decides what embeds chunks and questions.
pub(super) fn embedder(
    settings: &Settings,
    built_in: &BuiltInModels,
) -> Result<Arc<dyn Embedder>, EngineError> {
    let Some(endpoint) = &settings.embedding else {
        return Ok(Arc::new(built_in.for_base(settings.embedding_languages)));
    };
    let embedder = EndpointEmbedder::new(&EmbeddingEndpoint {
        base_url: endpoint.base_url.clone(),
        api_key: endpoint.api_key.clone(),
        model: endpoint.model.clone(),
        authorities: endpoint.authorities.clone(),
        query_prefix: endpoint.query_prefix.clone(),
        passage_prefix: endpoint.passage_prefix.clone(),
        data: embedding_data(settings.config_dir.as_deref())?,
    });
    Ok(Arc::new(embedder.map_err(KbError::from)?))
}

/// What embeds the base that the settings name, and why that does where there is a choice. Opens no index.
pub(super) fn embedder_of_base(
    settings: &Settings,
) -> Result<(Arc<dyn Embedder>, Option<LanguageChoice>), EngineError> {
    let embedder = embedder(settings, &BuiltInModels::new())?;
    let Some(choice) = embedder.choice().filter(|_| !is_demo(settings)) else {
        return Ok((embedder, None));
    };
    let made = LanguageChoice::of_base(sources(settings)?, &settings.index_dir());
    if let Some(made) = made {
        choice.choose(made.languages);
    }
    Ok((embedder, made))
}

/// What is known of embedding models, with the user's own file before it.
fn embedding_data(folder: Option<&Path>) -> Result<EmbeddingData, EngineError> {
    EmbeddingData::read(folder).map_err(|line| EngineError::Setting(line.into()))
}

fn open_over(
    settings: &Settings,
    sources: Sources,
    home: &Path,
    access: Option<StoreAccess>,
    embedder: Arc<dyn Embedder>,
) -> Result<KnowledgeBase, EngineError> {
    let base = match access {
        Some(access) => KnowledgeBase::open_shared(sources, home, embedder, &access)?,
        None => KnowledgeBase::open(sources, home, embedder)?,
    };
    Ok(reading_as_set(settings, base))
}

/// The base with the settings that say how its files are read.
fn reading_as_set(settings: &Settings, base: KnowledgeBase) -> KnowledgeBase {
    base.reading_by(settings.own_program.as_deref())
        .recognising(recognition(settings))
}

/// The base over the folders that the settings name with the index in the data folder, whatever store
/// they name.
pub fn open_local_knowledge(settings: &Settings) -> Result<KnowledgeBase, EngineError> {
    let local = Settings {
        store: None,
        ..settings.clone()
    };
    open_knowledge(&local)
}

/// The store that the settings name, to be looked after; `None` where they name none.
pub fn store_administration(
    settings: &Settings,
) -> Result<Option<StoreAdministration>, EngineError> {
    let store = access(settings).map(|access| StoreAdministration::new(&access));
    Ok(store.transpose()?)
}

/// How the store that the settings name is reached.
pub(super) fn access(settings: &Settings) -> Option<StoreAccess> {
    let store = settings.store.as_ref()?;
    Some(StoreAccess {
        url: store.url.clone(),
        password: store.password.clone(),
        ca: store.ca.clone(),
        space: None,
    })
}

/// The base that the settings name, with more folders and files.
pub(super) fn open_with(
    settings: &Settings,
    built_in: &BuiltInModels,
    more: &[PathBuf],
) -> Result<KnowledgeBase, EngineError> {
    let embedder = of_passages(settings, embedder(settings, built_in)?);
    let mut sources = sources(settings)?;
    sources.paths.extend_from_slice(more);
    let home = settings.index_dir();
    open_over(settings, sources, &home, access(settings), embedder)
}

/// The passages of the demo have their vectors already.
fn of_passages(settings: &Settings, embedder: Arc<dyn Embedder>) -> Arc<dyn Embedder> {
    if !is_demo(settings) {
        return embedder;
    }
    Arc::new(Precomputed::new(embedder, DEMO_VECTORS))
}

/// Whether the bundled demo is what is searched.
pub(super) fn is_demo(settings: &Settings) -> bool {
    settings.sources.is_empty() && settings.store.is_none()
}

fn sources(settings: &Settings) -> Result<Sources, EngineError> {
    Ok(Sources {
        paths: roots(settings)?,
        include: settings.include.clone(),
    })
}

fn roots(settings: &Settings) -> Result<Vec<PathBuf>, EngineError> {
    if !is_demo(settings) {
        return Ok(settings.sources.clone());
    }
    match lay_out_demo(&settings.data_dir) {
        Ok(folder) => Ok(vec![folder]),
        Err(source) => Err(EngineError::DataDir {
            path: settings.data_dir.clone(),
            source,
        }),
    }
}

/// How long another process may hold the index before that is worth a word: a start that finds
/// nothing to do holds it for a moment only.
const PATIENCE: Duration = Duration::from_secs(3);

/// The fast half of an update: the words can be searched; blocks. Waits a moment while another
/// process does the same, and then is [`KbError::Locked`]: what is there can be searched all the
/// same.
pub fn update_words(
    knowledge: &KnowledgeBase,
    progress: &(dyn Fn(Progress) + Sync),
    cancel: &CancellationToken,
) -> Result<UpdateReport, KbError> {
    update_changed(knowledge, &Changes::Everything, progress, cancel)
}

/// [`update_words`] where it is known what has changed.
pub fn update_changed(
    knowledge: &KnowledgeBase,
    changes: &Changes,
    progress: &(dyn Fn(Progress) + Sync),
    cancel: &CancellationToken,
) -> Result<UpdateReport, KbError> {
    patiently(cancel, || {
        knowledge.update_changed(changes, progress, cancel)
    })
}

/// The slow half: what has no vector yet is embedded.
pub fn embed_pending(
    knowledge: &KnowledgeBase,
    progress: &(dyn Fn(Progress) + Sync),
    cancel: &CancellationToken,
) -> Result<UpdateReport, KbError> {
    patiently(cancel, || knowledge.embed_pending(progress, cancel))
}

/// [`embed_pending`] that ends after some of it once `pause` is cancelled.
pub fn embed_some(
    knowledge: &KnowledgeBase,
    progress: &(dyn Fn(Progress) + Sync),
    pause: &CancellationToken,
    cancel: &CancellationToken,
) -> Result<UpdateReport, KbError> {
    patiently(pause, || knowledge.embed_some(progress, pause, cancel))
}

fn patiently(
    cancel: &CancellationToken,
    update: impl Fn() -> Result<UpdateReport, KbError>,
) -> Result<UpdateReport, KbError> {
    let updated = wait_for(PATIENCE, || match update() {
        Err(KbError::Locked) if !cancel.is_cancelled() => Ok(None),
        result => result.map(Some),
    })?;
    updated.ok_or(KbError::Locked)
}

// The demo knowledge base that the binary carries.
//
// It is laid out in a folder named by the hash of what is in it, so that another version has
// another folder and nothing is ever cleaned: what a person put beside it, or wrote into one of
// its files, stays.

/// The folder of all versions, and the demo's own name.
const DEMO_HOME: &str = "demo";
const DEMO_NAME: &str = "demo-kb";

static DEMO: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/assets/demo-kb");

/// The vectors of all passages of the demo, so that the first answers need not wait for them.
pub(super) static DEMO_VECTORS: &[u8] = include_bytes!("../../assets/embedding/demo-kb.vectors");

/// One question for each route, true of the demo knowledge base. None is for the rule `high_vector_score`: without
/// a model no search is one by meaning alone.
pub const SAMPLES: &[(&str, &str)] = &[
    ("chitchat", "hello"),
    ("simple", "What are the four rules?"),
    ("complex · rule", "Compare rules.md with thresholds.md"),
    (
        "complex · graded",
        "What is the difference between REFINE and RE_RETRIEVE?",
    ),
    ("refine", "Compare the glossary with the overview"),
    (
        "re-retrieve",
        "What is the capital of France, and how does it compare with Berlin?",
    ),
    (
        "not found",
        "How do I bake bread, and how long does it rise?",
    ),
    (
        "few_context",
        "How do few_context and high_vector_score differ? @rules.md",
    ),
];

/// Where this version's demo belongs, below the data folder. Its last part is what people see.
pub(super) fn demo_folder(data_dir: &Path) -> PathBuf {
    data_dir.join(DEMO_HOME).join(demo_hash()).join(DEMO_NAME)
}

/// Lays the demo out below the data folder, so that it is read like any files, and says
/// where. Only what is missing is written; no link is followed on the way.
pub(super) fn lay_out_demo(data_dir: &Path) -> io::Result<PathBuf> {
    files::create_private_dir(data_dir)?;
    let mut at = data_dir.to_owned();
    for part in [DEMO_HOME, &demo_hash(), DEMO_NAME] {
        at.push(part);
        make_folder(&at)?;
    }
    for file in files_of(&DEMO) {
        let mut inner = at.clone();
        for part in file.path().parent().into_iter().flatten() {
            inner.push(part);
            make_folder(&inner)?;
        }
        let path = at.join(file.path());
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                files::write_atomic(&path, file.contents())?;
            }
            Err(error) => return Err(error),
            Ok(meta) if meta.is_file() => {}
            Ok(_) => return Err(in_the_way(&path, "file")),
        }
    }
    Ok(at)
}

/// What other versions laid out; a person may have put notes there, so that it is only named.
pub(super) fn other_demo_folders(data_dir: &Path) -> Vec<PathBuf> {
    let home = data_dir.join(DEMO_HOME);
    let own = demo_hash();
    let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir());
    let mut others = vec![data_dir.join(DEMO_NAME)];
    if is_folder(&home)
        && let Ok(entries) = fs::read_dir(&home)
    {
        let names = entries.flatten().map(|entry| entry.file_name());
        others.extend(
            names
                .filter(|name| *name != *own)
                .map(|name| home.join(name)),
        );
    }
    others.retain(|path| is_folder(path));
    others.sort_unstable();
    others
}

fn make_folder(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => files::create_private_dir(path),
        Err(error) => Err(error),
        Ok(meta) if meta.is_dir() => Ok(()),
        Ok(_) => Err(in_the_way(path, "folder")),
    }
}

fn in_the_way(path: &Path, wanted: &str) -> io::Error {
    let is_link = path.is_symlink();
    let what = if is_link {
        "is a link, which is not followed"
    } else {
        "stands in the way"
    };
    io::Error::other(format!(
        "{} {what}: the demo's {wanted} belongs there",
        path.display()
    ))
}

/// Hashes names and contents of the demo's files, to tell whether a folder holds this version's
/// demo.
fn demo_hash() -> String {
    let mut hasher = blake3::Hasher::new();
    for file in files_of(&DEMO) {
        for part in [file.path().as_os_str().as_encoded_bytes(), file.contents()] {
            hasher
                .update(&(part.len() as u64).to_le_bytes())
                .update(part);
        }
    }
    hasher.finalize().to_hex()[..12].to_owned()
}

fn files_of(dir: &'static Dir<'static>) -> Vec<&'static File<'static>> {
    let mut files: Vec<&File<'_>> = dir.files().collect();
    files.extend(dir.dirs().flat_map(files_of));
    files.sort_unstable_by_key(|file| file.path());
    files
}

// The embedding models of the binary, shared by all that uses them: loaded once, when the first text comes.

/// Both models, cheap to clone.
#[derive(Clone)]
pub(super) struct BuiltInModels {
    english: Arc<dyn Embedder>,
    multilingual: Arc<dyn Embedder>,
}

impl BuiltInModels {
    /// Loads nothing yet.
    pub(super) fn new() -> Self {
        let model = |model| Arc::new(SentenceEmbedding::new(model));
        Self {
            english: model(BuiltInModel::English),
            multilingual: model(BuiltInModel::Multilingual),
        }
    }

    /// An embedding for a base, which chooses between the models unless the user did.
    pub(super) fn for_base(&self, set: Option<Languages>) -> EmbedderByLanguage {
        let (english, multilingual) = (self.english.clone(), self.multilingual.clone());
        EmbedderByLanguage::new(english, multilingual, set, offline::is_english)
    }

    /// An embedding for the judge, which takes for each question the model that reads it.
    pub(super) fn judge(&self) -> Arc<JudgeEmbedder> {
        let (english, multilingual) = (self.english.clone(), self.multilingual.clone());
        Arc::new(JudgeEmbedder::new(english, multilingual))
    }
}
