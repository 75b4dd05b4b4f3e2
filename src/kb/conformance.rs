//! What every engine of the index must keep: the one in the data folder and one in memory that stands
//! for an engine on another machine (`index::tests`) go through the same.

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::fs;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    use tokio_util::sync::CancellationToken;

    use super::super::budget::ByteBudget;
    use super::super::chunk::chunk;
    use super::super::error::KbError;
    use super::super::extract::Extraction;
    use super::super::index::phrases::PhraseFilter;
    use super::super::index::tests::{FakeStore, Server};
    use super::super::index::tokens;
    use super::super::index::{
        ChunkId, ChunkKey, Counts, Damage, DocumentFacts, EmbeddedStore, FetchOptions, Limits,
        LocalStamp, Match, NameQuery, NewDocument, Reader, Store, Within,
    };
    use super::super::index::{Purpose, RemoteStore, StoreAccess, StoreAddress, StoreServer};
    use super::super::links::{LinkTargets, links};
    use super::super::metadata::document_metadata;
    use super::super::search::{HybridQuery, chunk_filter, hybrid};
    use super::super::source::{Roots, TextCache};
    use super::super::update::{Changes, Job, SkippedFiles, UpdateReport};
    use crate::agent::ports::{BulkPriority, EmbedError, Embedder};
    use crate::domain::{Condition, Day};

    fn words_and_meaning(job: &Job<'_>) -> Result<UpdateReport, KbError> {
        let mut report = job.read_changes(&Changes::Everything)?;
        report.embedded = job.embed_pending()?;
        Ok(report)
    }

    /// How often each letter stands in a text, as a share, so that vectors are of length one.
    struct Letters;

    impl Embedder for Letters {
        fn model_id(&self) -> &'static str {
            "letters"
        }

        fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
            let count = |text: &&str| {
                let mut counts = [0.0; 26];
                for letter in text.bytes().filter(u8::is_ascii_lowercase) {
                    counts[usize::from(letter - b'a')] += 1.0;
                }
                let length = counts.iter().map(|n| n * n).sum::<f32>().sqrt().max(1.0);
                counts.iter().map(|n| n / length).collect()
            };
            Ok(texts.iter().map(count).collect())
        }
    }

    /// An index that two processes have open.
    struct Engine {
        name: &'static str,
        one: Box<dyn Store>,
        other: Box<dyn Store>,
        _home: tempfile::TempDir,
    }

    /// The server of the environment.
    fn server(database: &str) -> Arc<StoreServer> {
        let set = |name: &str| std::env::var(name).unwrap();
        let url = set("KB_AGENT_TEST_STORE_URL");
        let (base, _) = url.rsplit_once('/').unwrap();
        let access = StoreAccess {
            url: format!("{base}/{database}?sslmode=require").into(),
            password: Some(set("KB_AGENT_TEST_STORE_PASSWORD").into()),
            ca: Some(set("KB_AGENT_TEST_STORE_CA").into()),
            space: None,
        };
        StoreServer::new(StoreAddress::parse(&access).unwrap()).unwrap()
    }

    /// A database of its own, for spaces of one share their vectors.
    fn remote_engine() -> Engine {
        let (one, other) = remote_stores();
        Engine {
            name: "remote",
            one: Box::new(one),
            other: Box::new(other),
            _home: tempfile::tempdir().unwrap(),
        }
    }

    fn remote_stores() -> (RemoteStore, RemoteStore) {
        let database = format!("test_{}", uuid::Uuid::now_v7().simple());
        let statement = format!("CREATE DATABASE {database}");
        let all = server("postgres");
        let mut connection = all.open(Purpose::Writing, limits()).unwrap();
        connection.execute(statement, limits()).unwrap();
        server(&database).prepare(limits()).unwrap();
        let open = |machine: &str| {
            let of = (machine.to_owned(), vec![String::new()]);
            RemoteStore::new(server(&database), "notes".to_owned(), of, "letters")
        };
        (open("one"), open("two"))
    }

    #[test]
    #[cfg_attr(
        not(feature = "store-server-tests"),
        ignore = "needs a PostgreSQL server: see CONTRIBUTING.md"
    )]
    fn a_search_of_a_server_takes_five_round_trips_and_one_for_unknown_words() {
        let (store, _) = remote_stores();
        let machine = Machine::new(&NOTES);
        machine.update(&store).unwrap();
        for (query, most) in [("kiln at night", 5), ("when does the kiln fire", 6)] {
            let before = store.round_trips();
            assert_eq!(hybrid_hits(&store, query)[0], "notes/kiln.md");
            let taken = store.round_trips() - before;
            assert!(taken <= most, "{query}: {taken}");
        }
    }

    #[test]
    #[cfg_attr(
        not(feature = "store-server-tests"),
        ignore = "needs a PostgreSQL server: see CONTRIBUTING.md"
    )]
    fn a_server_finds_what_the_embedded_engine_finds() {
        let many = many_notes();
        let german = [
            (
                "de1.md",
                "# Haus\n\nDie Häuser der Stadt wurden von Herrn Müller nach dem Brand gebaut.\n",
            ),
            (
                "de2.md",
                "# Brände\n\nIm alten Haus brannte es nachts, und Frau Mueller rief die Feuerwehr.\n",
            ),
            (
                "de3.md",
                "# Öfen\n\nIn den Häusern der Töpfer standen große Öfen aus gebranntem Ton.\n",
            ),
        ];
        let many = many.iter().map(|(a, b)| (a.as_str(), b.as_str()));
        let many: Vec<(&str, &str)> = many.chain(german).collect();
        let [embedded, _] = local_engines();
        let (remote, _) = remote_stores();
        for store in [embedded.one.as_ref(), &remote] {
            put(store, &many);
            let mut batch = store.begin(false, limits()).unwrap();
            batch.remove("007.md", limits()).unwrap();
            batch.remove("de3.md", limits()).unwrap();
            batch
                .put_document(incoming("008.md", "glaze night\n"), limits())
                .unwrap();
            batch.finish(limits()).unwrap();
            store.refresh("letters", limits()).unwrap();
        }
        let cancel = CancellationToken::new();
        let mut shared = Vec::new();
        for query in [
            "glaze",
            "kiln at night",
            "PROJ-7 fire",
            "note 3 clay plan",
            "glaez nigth",
            "unheard",
            "Haus",
            "Hausbrand bei Müllers",
            "Ofen",
            "Häuzer",
        ] {
            let [a, b] = [embedded.one.as_ref(), &remote as &dyn Store].map(|store| {
                store
                    .reader()
                    .lexical(query, None, 50, Within::all(&cancel))
                    .unwrap()
            });
            assert_eq!(a.corrections, b.corrections, "{query}");
            assert!((a.full.unwrap() - b.full.unwrap()).abs() < 1e-9, "{query}");
            assert_eq!(a.matches.len(), b.matches.len(), "{query}");
            // Each of its best ten scores like one of the other's: of equals any may be first.
            let Some(last) = a.matches.iter().take(10).next_back() else {
                continue;
            };
            let score = last.score * 0.98;
            let first = b.matches.iter().take(10);
            shared.extend(first.map(|b| {
                let same = a.matches.iter().find(|a| a.source == b.source);
                same.is_some_and(|a| a.score >= score)
            }));
        }
        let agreeing = shared.iter().filter(|is_shared| **is_shared).count();
        assert!(
            agreeing * 10 >= shared.len() * 9,
            "{agreeing} of {}",
            shared.len()
        );
        let names = [embedded.one.as_ref(), &remote as &dyn Store].map(|store| {
            let key = tokens::name_key("what is note 4");
            let found = store
                .reader()
                .lexical("kiln", key.as_deref(), 1, Within::all(&cancel));
            let named = found.unwrap().named.into_iter();
            named
                .map(|found| (found.source, found.lines))
                .collect::<Vec<_>>()
        });
        assert_eq!(names[0], names[1]);
        assert!(!names[0].is_empty());
        for store in [embedded.one.as_ref(), &remote] {
            embed(store);
        }
        for query in ["glaze", "kiln at night", "plan the clay"] {
            let asked = Letters.embed(&[query]).unwrap().remove(0);
            let [a, b] = [embedded.one.as_ref(), &remote as &dyn Store].map(|store| {
                let reader = store.reader();
                reader.semantic(&asked, 50, Within::all(&cancel)).unwrap()
            });
            assert_eq!(a.len(), b.len(), "{query}");
            for (x, y) in a.iter().zip(&b) {
                assert!(
                    (x.score / y.score - 1.0).abs() < 1e-6,
                    "{query}: {x:?} {y:?}"
                );
            }
        }
    }

    #[test]
    #[cfg_attr(
        not(feature = "store-server-tests"),
        ignore = "needs a PostgreSQL server: see CONTRIBUTING.md"
    )]
    fn a_document_that_waits_to_be_sent_holds_no_memory() {
        let (store, _) = remote_stores();
        let (cancel, budget) = (CancellationToken::new(), ByteBudget::new(100));
        let mut batch = store.begin(false, limits()).unwrap();
        let mut small = incoming("a.md", "The kiln fires at night.\n");
        small.reservation = budget.reserve(60, &cancel).unwrap();
        batch.put_document(small, limits()).unwrap();
        // One that is larger than all room there is waits until nothing else is reserved.
        let large = budget.reserve(1, &cancel).unwrap();
        assert!(large.resized(200, &cancel).is_some());
    }

    #[test]
    #[cfg_attr(
        not(feature = "store-server-tests"),
        ignore = "needs a PostgreSQL server: see CONTRIBUTING.md"
    )]
    fn a_server_knows_which_chunks_lack_a_vector_of_another_model() {
        let (store, _) = remote_stores();
        put(&store, &NOTES);
        embed(&store);
        assert_eq!(store.reader().pending_count(limits()).unwrap(), 0);
        store.refresh("other letters", limits()).unwrap();
        let page = store.reader().pending(None, 1000, limits()).unwrap();
        let (_, key) = page.chunks[0];
        let made = Letters.embed(&["kiln"]).unwrap().remove(0);
        let mut vectors = store.begin_vectors(limits()).unwrap();
        vectors.put_vectors(&[(key, made)], limits()).unwrap();
        drop(vectors);
        store.refresh("other letters", limits()).unwrap();
        let pending = store.reader().pending_count(limits()).unwrap();
        assert_eq!(pending, page.chunks.len() - 1);
    }

    /// Notes of few words, in many lengths.
    fn many_notes() -> Vec<(String, String)> {
        let notes = (0..300).map(|n| {
            let words = ["glaze", "kiln", "fire", "clay", "plan", "night", "PROJ-7"];
            let text = (0..=n % 40).map(|at| words[(n * 31 + at * at * 7) % words.len()]);
            let text: Vec<&str> = text.collect();
            (
                format!("{n:03}.md"),
                format!("# Note {}\n\n{}\n", n % 9, text.join(" ")),
            )
        });
        notes.collect()
    }

    /// The engines, with the server where there is one.
    fn engines() -> Vec<Engine> {
        let mut engines: Vec<Engine> = local_engines().into();
        let is_named = std::env::var_os("KB_AGENT_TEST_STORE_URL").is_some();
        if is_named || cfg!(feature = "store-server-tests") {
            engines.push(remote_engine());
        }
        engines
    }

    fn local_engines() -> [Engine; 2] {
        let home = tempfile::tempdir().unwrap();
        let open = || Box::new(EmbeddedStore::open(home.path(), "letters").unwrap());
        let (one, other) = (open(), open());
        let server = Arc::new(Server::default());
        [
            Engine {
                name: "embedded",
                one,
                other,
                _home: home,
            },
            Engine {
                name: "fake",
                one: Box::new(FakeStore::new(&server, 1)),
                other: Box::new(FakeStore::new(&server, 2)),
                _home: tempfile::tempdir().unwrap(),
            },
        ]
    }

    fn limits() -> Limits<'static> {
        Limits::without_cancel()
    }

    fn incoming(source: &str, text: &str) -> NewDocument {
        let document = Extraction::of_text(source, text.to_owned());
        let (title, chunks) = chunk(source, &document);
        let chunks = chunks.into_iter();
        let cancel = CancellationToken::new();
        NewDocument {
            source: source.to_owned(),
            title,
            hash: *blake3::hash(text.as_bytes()).as_bytes(),
            stamp: LocalStamp::default(),
            metadata: document_metadata(&document),
            links: links(source, text, &cancel).unwrap(),
            chunks: chunks
                .map(|chunk| (ChunkKey::from_text(&chunk.heading, &chunk.text), chunk))
                .collect(),
            reservation: ByteBudget::new(1 << 20).reserve(1, &cancel).unwrap(),
        }
    }

    fn put(store: &dyn Store, documents: &[(&str, &str)]) {
        let mut batch = store.begin(false, limits()).unwrap();
        for (source, text) in documents {
            batch
                .put_document(incoming(source, text), limits())
                .unwrap();
        }
        batch.finish(limits()).unwrap();
    }

    fn embed(store: &dyn Store) {
        let mut vectors = store.begin_vectors(limits()).unwrap();
        let reader = store.reader();
        let page = reader.pending(None, 1000, limits()).unwrap();
        let chunks: Vec<ChunkId> = page.chunks.iter().map(|(id, _)| *id).collect();
        for ((_, key), fetched) in page.chunks.iter().zip(fetch(reader.as_ref(), &chunks)) {
            let made = Letters.embed(&[&fetched.unwrap()]).unwrap().remove(0);
            vectors.put_vectors(&[(*key, made)], limits()).unwrap();
        }
        vectors.complete(limits()).unwrap();
        drop(vectors);
        store.refresh("letters", limits()).unwrap();
    }

    fn fetch(reader: &dyn Reader, chunks: &[ChunkId]) -> Vec<Option<String>> {
        let fetched = reader
            .fetch(chunks, FetchOptions::PASSAGES, limits())
            .unwrap();
        let text = fetched.into_iter().map(|one| Some(one?.passage?.text));
        text.collect()
    }

    fn found(reader: &dyn Reader, query: &str) -> Vec<String> {
        let cancel = CancellationToken::new();
        let found = reader
            .lexical(query, None, 10, Within::all(&cancel))
            .unwrap();
        found.matches.into_iter().map(|one| one.source).collect()
    }

    fn names(reader: &dyn Reader) -> Vec<String> {
        let page = reader.page(None, 1000, limits()).unwrap();
        page.iter()
            .map(|document| document.source.clone())
            .collect()
    }

    const NOTES: [(&str, &str); 3] = [
        (
            "a.md",
            "# Alpha\n\nThe glaze is blue. See [kiln](notes/kiln.md).\n",
        ),
        ("notes/kiln.md", "# Kiln\n\nIt fires at night.\n"),
        ("notes/plan.md", "# Plan\n\nPROJ-7 blocks the kiln.\n"),
    ];

    #[test]
    fn what_is_committed_is_there_for_every_process() {
        for engine in engines() {
            put(engine.one.as_ref(), &NOTES);
            engine.other.refresh("letters", limits()).unwrap();
            for store in [&engine.one, &engine.other] {
                let reader = store.reader();
                let counts = reader.counts(limits()).unwrap();
                assert_eq!((counts.documents, counts.chunks), (3, 3), "{}", engine.name);
                assert_eq!(names(reader.as_ref()), NOTES.map(|(source, _)| source));
                assert_eq!(found(reader.as_ref(), "glaze"), ["a.md"]);
                assert!(reader.generation() > 0);
                // One page after the other.
                let first = reader.page(None, 2, limits()).unwrap();
                let rest = reader.page(Some(&first[1].source), 2, limits()).unwrap();
                assert_eq!((first.len(), rest.len()), (2, 1));
                assert_eq!(rest[0].title, "Plan");
            }
            let before = engine.one.reader().generation();
            put(engine.one.as_ref(), &[("b.md", "more glaze\n")]);
            assert!(engine.one.reader().generation() > before, "{}", engine.name);
        }
    }

    #[test]
    fn names_links_and_openings_are_asked_for_where_they_are_kept() {
        for engine in engines() {
            put(engine.one.as_ref(), &NOTES);
            let reader = engine.one.reader();
            let find = |query: NameQuery<'_>| reader.find(&query, limits()).unwrap().sources;
            assert_eq!(find(NameQuery::Remembered("kiln")), ["notes/kiln.md"]);
            assert_eq!(find(NameQuery::Remembered("klin.md")), ["notes/kiln.md"]);
            assert_eq!(find(NameQuery::Given("notes/")).len(), 2);
            assert_eq!(find(NameQuery::Under("notes")).len(), 2);
            assert_eq!(find(NameQuery::Under("")).len(), 3);
            assert_eq!(find(NameQuery::MentionedIn("what says kiln.md?")).len(), 1);
            let words = HashSet::from(["plan".to_owned(), "the".to_owned()]);
            assert_eq!(find(NameQuery::NamedBy(&words)), ["notes/plan.md"]);

            let own = reader.links_of(&["a.md"], limits()).unwrap();
            assert_eq!((own.len(), own[0].1.len()), (1, 1), "{}", engine.name);
            let targets = LinkTargets {
                paths: HashSet::from(["notes/kiln.md".to_owned()]),
                ..LinkTargets::default()
            };
            let leading = reader.links_to(&targets, limits()).unwrap();
            assert_eq!((leading.len(), leading[0].0.as_str()), (1, "a.md"));

            let contents = reader
                .look_up(&["notes", "a.md", "gone"], limits())
                .unwrap();
            let contents = contents.iter();
            let contents: Vec<_> = contents
                .map(|one| (one.document.is_some(), one.is_folder))
                .collect();
            assert_eq!(contents, [(false, true), (true, false), (false, false)]);

            let openings = reader.openings(&["notes/plan.md", "gone", "a.md"], 1, limits());
            let openings = openings.unwrap().into_iter().map(|one| one.source);
            assert_eq!(openings.collect::<Vec<_>>(), ["notes/plan.md", "a.md"]);
        }
    }

    #[test]
    fn a_search_is_limited_where_it_is_made() {
        let notes = [
            (
                "a.md",
                "---\ndate: 2026-01-12\ntags: [pots, Clay/red]\n---\n# Alpha\n\nThe blue glaze of a pot.\n",
            ),
            ("b.md", "# B\n\nA glaze, blue, and a draft of it. #pots\n"),
            ("c.md", "# C\n\nThe glaze of a kiln.\n"),
        ];
        for engine in engines() {
            let name = engine.name;
            let store = engine.one.as_ref();
            put(store, &notes);
            embed(store);
            let reader = store.reader();
            let that = |is_wanted: &dyn Fn(&DocumentFacts<'_>) -> bool| {
                let mut is_wanted = |facts: &DocumentFacts<'_>| is_wanted(facts);
                reader.documents_that(&mut is_wanted, limits()).unwrap()
            };
            let day = Day::first_of("2026-01-12").unwrap();
            assert_eq!(that(&|facts| facts.day == day), ["a.md"], "{name}");
            let has = |tag: &'static str| {
                move |facts: &DocumentFacts<'_>| facts.tags.iter().any(|t| t == tag)
            };
            assert_eq!(that(&has("pots")), ["a.md", "b.md"], "{name}");
            assert_eq!(that(&has("clay/red")), ["a.md"], "{name}");

            let only_b = HashSet::from(["b.md".to_owned(), "c.md".to_owned()]);
            let holding = |terms: &[&str], within| {
                let mut found = reader.chunks_with(terms, within).unwrap();
                found.sort_unstable();
                found
            };
            let cancel = &CancellationToken::new();
            let all = Within::all(cancel);
            let blue = holding(&["blue", "glaze"], all);
            assert_eq!(blue.len(), 2, "{name}");
            assert_eq!(
                holding(&["blue"], Within::these(&only_b, cancel)),
                blue[1..]
            );
            assert!(holding(&["blue", "kiln"], all).is_empty());

            let phrase_filter = |conditions: &[Condition]| PhraseFilter::new(conditions.iter());
            for (asked, sources) in [
                (
                    phrase_filter(&[Condition::Phrase("Blue  glaze".to_owned())]),
                    &["a.md"][..],
                ),
                (
                    phrase_filter(&[Condition::Without("drafts".to_owned())]),
                    &["a.md", "c.md"],
                ),
                (
                    phrase_filter(&[
                        Condition::Phrase("glaze".to_owned()),
                        Condition::Without("of a pot".to_owned()),
                    ]),
                    &["b.md", "c.md"],
                ),
                (
                    phrase_filter(&[Condition::Phrase("glaze kiln".to_owned())]),
                    &[],
                ),
            ] {
                let filter = chunk_filter(reader.as_ref(), all.saying(&asked)).unwrap();
                let within = all.with_chunks(filter.as_ref());
                let sorted = |found: Vec<Match>| {
                    let mut found: Vec<String> = found.into_iter().map(|one| one.source).collect();
                    found.sort();
                    found.dedup();
                    found
                };
                let found = reader.lexical("glaze", Some("alpha"), 10, within).unwrap();
                assert_eq!(sorted(found.matches), sources, "{name}: {asked:?}");
                assert_eq!(!found.named.is_empty(), sources.contains(&"a.md"));
                let vector = Letters.embed(&["glaze"]).unwrap().remove(0);
                let found = reader.semantic(&vector, 10, within).unwrap();
                assert_eq!(sorted(found), sources, "{name}: {asked:?}");
                let within = Within::these(&only_b, cancel).with_chunks(filter.as_ref());
                let left: Vec<&str> = sources
                    .iter()
                    .copied()
                    .filter(|one| *one != "a.md")
                    .collect();
                let found = reader.semantic(&vector, 10, within).unwrap();
                assert_eq!(sorted(found), left, "{name}: {asked:?}");
            }
        }
    }

    #[test]
    fn a_batch_that_is_dropped_leaves_nothing_and_one_writes_at_a_time() {
        for engine in engines() {
            put(engine.one.as_ref(), &NOTES);
            let mut batch = engine.one.begin(false, limits()).unwrap();
            batch
                .put_document(incoming("b.md", "glaze\n"), limits())
                .unwrap();
            batch.remove("a.md", limits()).unwrap();
            let second = engine.other.begin(false, limits()).map(drop);
            assert!(matches!(second, Err(KbError::Locked)), "{}", engine.name);
            // Vectors come beside it, from one process.
            let vectors = engine.other.begin_vectors(limits()).unwrap();
            let second = engine.one.begin_vectors(limits()).map(drop);
            assert!(matches!(second, Err(KbError::Locked)), "{}", engine.name);
            drop((batch, vectors));
            engine.other.refresh("letters", limits()).unwrap();
            for store in [&engine.one, &engine.other] {
                assert_eq!(found(store.reader().as_ref(), "glaze"), ["a.md"]);
            }
            // From nothing.
            let mut batch = engine.other.begin(true, limits()).unwrap();
            assert!(batch.previous_reader().is_none());
            batch
                .put_document(incoming("b.md", "glaze\n"), limits())
                .unwrap();
            batch.finish(limits()).unwrap();
            assert_eq!(names(engine.other.reader().as_ref()), ["b.md"]);
        }
    }

    #[test]
    fn a_chunk_keeps_its_name_until_its_document_says_something_else() {
        for engine in engines() {
            put(engine.one.as_ref(), &NOTES);
            let reader = engine.one.reader();
            let id_of = |query: &str| {
                let cancel = CancellationToken::new();
                let found = reader
                    .lexical(query, None, 1, Within::all(&cancel))
                    .unwrap();
                found.matches[0].chunk
            };
            let (glaze, kiln) = (id_of("glaze"), id_of("fires"));
            put(
                engine.one.as_ref(),
                &[("a.md", "# Alpha\n\nThe glaze is red.\n")],
            );
            let now = fetch(engine.one.reader().as_ref(), &[glaze, kiln]);
            assert!(now[0].is_none(), "{}: {now:?}", engine.name);
            assert!(now[1].as_ref().unwrap().contains("fires"));
        }
    }

    #[test]
    fn what_is_pending_comes_by_page_and_each_text_once() {
        for engine in engines() {
            let many: Vec<(String, String)> = (0..7)
                .map(|n| (format!("{n}.md"), format!("text {} {n}\n", "x".repeat(n))))
                .chain([("same.md".to_owned(), "text  0\n".to_owned())])
                .collect();
            let many: Vec<(&str, &str)> =
                many.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
            put(engine.one.as_ref(), &many);
            let reader = engine.one.reader();
            assert_eq!(
                reader.pending_count(limits()).unwrap(),
                7,
                "{}",
                engine.name
            );
            let (mut keys, mut cursor) = (HashSet::new(), None);
            loop {
                let page = reader.pending(cursor, 3, limits()).unwrap();
                assert!(page.chunks.len() <= 3);
                keys.extend(page.chunks.into_iter().map(|(_, key)| key));
                cursor = page.next;
                if cursor.is_none() {
                    break;
                }
            }
            assert_eq!(keys.len(), 7, "{}", engine.name);
            embed(engine.one.as_ref());
            let reader = engine.one.reader();
            assert_eq!(reader.pending_count(limits()).unwrap(), 0);
            let vector = Letters.embed(&["text xxxxxx"]).unwrap().remove(0);
            let cancel = CancellationToken::new();
            let nearest = reader.semantic(&vector, 8, Within::all(&cancel)).unwrap();
            assert_eq!((nearest.len(), nearest[0].source.as_str()), (8, "6.md"));
            let wanted = FetchOptions {
                passages: false,
                cosine_with: Some(&vector),
            };
            let fetched = reader.fetch(&[nearest[0].chunk], wanted, limits()).unwrap();
            let fetched = fetched[0].clone().unwrap();
            assert!((fetched.cosine.unwrap() - nearest[0].score).abs() < 1e-6);
            assert!(fetched.passage.is_none());
            // Of several, each its own, whatever their order.
            let mixed: Vec<_> = nearest.iter().rev().chain(&nearest[..1]).collect();
            let chunks: Vec<ChunkId> = mixed.iter().map(|found| found.chunk).collect();
            let fetched = reader.fetch(&chunks, wanted, limits()).unwrap();
            for (found, fetched) in mixed.iter().zip(fetched) {
                let cosine = fetched.unwrap().cosine.unwrap();
                assert!((cosine - found.score).abs() < 1e-6, "{}", found.source);
            }
            let key = *keys.iter().next().unwrap();
            let kept = reader.vectors(&[key, ChunkKey::from_text("", "other")], limits());
            let kept: Vec<bool> = kept.unwrap().iter().map(Option::is_some).collect();
            assert_eq!(kept, [true, false]);
        }
    }

    #[test]
    fn what_is_found_by_its_words_only_is_never_pending() {
        for engine in engines() {
            let store = engine.one.as_ref();
            let counted = |chunks, words_only| Counts {
                documents: chunks,
                chunks,
                words_only,
            };
            let lock = || {
                let mut lock = incoming("Cargo.lock", "name = kiln\n");
                lock.chunks
                    .iter_mut()
                    .for_each(|(key, _)| *key = ChunkKey::WORDS_ONLY);
                lock
            };
            let mut batch = store.begin(false, limits()).unwrap();
            batch.put_document(lock(), limits()).unwrap();
            batch.finish(limits()).unwrap();
            let reader = store.reader();
            assert_eq!(reader.pending_count(limits()).unwrap(), 0);
            assert_eq!(reader.counts(limits()).unwrap(), counted(1, 1));
            put(store, &[("a.md", "the kiln fires\n")]);
            embed(store);
            let reader = store.reader();
            assert_eq!(reader.pending_count(limits()).unwrap(), 0);
            assert_eq!(reader.counts(limits()).unwrap(), counted(2, 1));
            assert_eq!(found(reader.as_ref(), "kiln").len(), 2, "{}", engine.name);
            let vector = Letters.embed(&["kiln"]).unwrap().remove(0);
            let cancel = CancellationToken::new();
            let nearest = reader.semantic(&vector, 8, Within::all(&cancel)).unwrap();
            assert_eq!(nearest.len(), 1, "{}", engine.name);
            put(store, &[("Cargo.lock", "now it is prose\n")]);
            let reader = store.reader();
            assert_eq!(reader.pending_count(limits()).unwrap(), 1);
            assert_eq!(reader.counts(limits()).unwrap(), counted(2, 0));
        }
    }

    #[test]
    fn the_pages_of_one_caller_are_not_moved_by_those_of_another() {
        for engine in engines() {
            let store = engine.one.as_ref();
            let many: Vec<String> = (0..6).map(|n| format!("{n}.md")).collect();
            let many: Vec<(&str, &str)> = many.iter().map(|a| (a.as_str(), a.as_str())).collect();
            put(store, &many);
            let reader = store.reader();
            let first = reader.pending(None, 2, limits()).unwrap();
            let mut vectors = store.begin_vectors(limits()).unwrap();
            let made: Vec<(ChunkKey, Vec<f32>)> = first
                .chunks
                .iter()
                .map(|(_, key)| (*key, vec![1.0; 26]))
                .collect();
            vectors.put_vectors(&made, limits()).unwrap();
            let other = store.reader().pending(None, 10, limits()).unwrap();
            assert_eq!(
                (other.chunks.len(), other.next),
                (4, None),
                "{}",
                engine.name
            );
            let rest = reader.pending(first.next, 10, limits()).unwrap();
            assert_eq!(rest.chunks, other.chunks, "{}", engine.name);
        }
    }

    #[test]
    fn the_texts_without_a_vector_follow_every_change() {
        let home = tempfile::tempdir().unwrap();
        let open = || EmbeddedStore::open(home.path(), "letters").unwrap();
        let store = open();
        let mut random = fastrand::Rng::with_seed(11);
        for step in 0..60 {
            let source = format!("{}.md", random.u32(0..8));
            // Few texts, so that documents share some.
            let text = format!("text {}\n", "x".repeat(random.usize(0..10)));
            match random.u32(0..6) {
                0 => embed(&store),
                1 => {
                    let mut vectors = store.begin_vectors(limits()).unwrap();
                    vectors.clear(limits()).unwrap();
                }
                2 => {
                    let mut batch = store.begin(false, limits()).unwrap();
                    batch.remove(&source, limits()).unwrap();
                    batch.finish(limits()).unwrap();
                }
                _ => put(&store, &[(&source, &text)]),
            }
            let pending = |store: &EmbeddedStore| {
                let reader = store.reader();
                let page = reader.pending(None, 100, limits()).unwrap();
                let count = reader.pending_count(limits()).unwrap();
                assert_eq!(page.chunks.len(), count, "step {step}");
                page.chunks
            };
            assert_eq!(pending(&store), pending(&open()), "step {step}");
        }
    }

    #[test]
    fn what_cannot_be_read_for_its_checksum_is_no_healthy_index() {
        let home = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(home.path(), "letters").unwrap();
        put(&store, &NOTES);
        assert_eq!(
            store.damage("letters", limits()).unwrap(),
            Damage::default()
        );
        let lexical = home.path().join(EmbeddedStore::format()).join("lexical");
        let mut files = fs::read_dir(lexical)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let texts = files
            .find(|path| path.extension().is_some_and(|end| end == "store"))
            .unwrap();
        fs::remove_file(&texts).unwrap();
        fs::create_dir(&texts).unwrap();
        let seen = store.damage("letters", limits());
        assert!(matches!(seen, Err(KbError::Io { .. })), "{seen:?}");
    }

    #[test]
    fn prose_is_embedded_before_code_and_the_new_before_the_old() {
        let home = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(home.path(), "letters").unwrap();
        let mut batch = store.begin(false, limits()).unwrap();
        for (source, year) in [
            ("a.rs", 2),
            ("b.md", 1),
            ("c.md", 3),
            ("d.csv", 4),
            ("e.md", 3),
        ] {
            let mut document = incoming(source, &format!("text of {source}\n"));
            document.stamp.stamp.modified = year;
            batch.put_document(document, limits()).unwrap();
        }
        batch.finish(limits()).unwrap();
        let reader = store.reader();
        let page = reader.pending(None, 10, limits()).unwrap();
        let chunks: Vec<ChunkId> = page.chunks.iter().map(|(id, _)| *id).collect();
        let texts: Vec<Option<String>> = fetch(reader.as_ref(), &chunks);
        let texts: Vec<String> = texts.into_iter().flatten().collect();
        let order = ["c.md", "e.md", "b.md", "d.csv", "a.rs"].map(|name| format!("text of {name}"));
        assert_eq!(texts, order);
    }

    #[test]
    fn every_call_ends_at_a_stop_and_at_its_deadline() {
        for engine in engines() {
            put(engine.one.as_ref(), &NOTES);
            let cancel = CancellationToken::new();
            cancel.cancel();
            let late = Some(Instant::now());
            for (limits, is_late) in [
                (Limits::of_a_call(&cancel), false),
                (limits().until(late), true),
            ] {
                let (store, reader) = (engine.one.as_ref(), engine.one.reader());
                let calls: [(&str, Result<(), KbError>); 17] = [
                    ("refresh", store.refresh("letters", limits)),
                    ("begin", store.begin(false, limits).map(drop)),
                    ("begin_vectors", store.begin_vectors(limits).map(drop)),
                    (
                        "lease",
                        store.lease("a", Duration::from_mins(1), limits).map(drop),
                    ),
                    ("counts", reader.counts(limits).map(drop)),
                    ("page", reader.page(None, 1, limits).map(drop)),
                    ("look_up", reader.look_up(&["a.md"], limits).map(drop)),
                    ("find", reader.find(&NameQuery::Under(""), limits).map(drop)),
                    ("links_of", reader.links_of(&["a.md"], limits).map(drop)),
                    ("links_to", {
                        reader.links_to(&LinkTargets::default(), limits).map(drop)
                    }),
                    (
                        "documents_that",
                        reader.documents_that(&mut |_| true, limits).map(drop),
                    ),
                    ("openings", reader.openings(&["a.md"], 1, limits).map(drop)),
                    ("vectors", reader.vectors(&[], limits).map(drop)),
                    ("pending", reader.pending(None, 1, limits).map(drop)),
                    ("pending_count", reader.pending_count(limits).map(drop)),
                    ("put", {
                        let mut batch = store.begin(false, self::limits()).unwrap();
                        batch.put_document(incoming("b.md", "b\n"), limits)
                    }),
                    ("put_vectors", {
                        let mut batch = store.begin_vectors(self::limits()).unwrap();
                        batch.put_vectors(&[], limits)
                    }),
                ];
                for (name, ended) in calls {
                    let is_right = match &ended {
                        Err(KbError::Stopped) => !is_late,
                        Err(KbError::TimedOut) => is_late,
                        _ => false,
                    };
                    assert!(is_right, "{} {name}: {ended:?}", engine.name);
                }
            }
            let search = engine
                .one
                .reader()
                .lexical("glaze", None, 1, Within::all(&cancel));
            assert!(matches!(search, Err(KbError::Stopped)), "{}", engine.name);
        }
    }

    #[test]
    fn one_leads_until_it_gives_that_back() {
        for engine in engines() {
            let lease = |store: &dyn Store, name: &str| {
                let time = Duration::from_mins(1);
                store.lease(name, time, limits()).unwrap()
            };
            let first = lease(engine.one.as_ref(), "upkeep").unwrap();
            assert!(
                lease(engine.other.as_ref(), "upkeep").is_none(),
                "{}",
                engine.name
            );
            assert!(lease(engine.other.as_ref(), "another").is_some());
            assert!(first.renew().unwrap());
            drop(first);
            assert!(
                lease(engine.other.as_ref(), "upkeep").is_some(),
                "{}",
                engine.name
            );
        }
    }

    #[test]
    fn a_leadership_that_is_not_renewed_in_time_is_another_s() {
        let server = Arc::new(Server::default());
        let (one, other) = (FakeStore::new(&server, 1), FakeStore::new(&server, 2));
        let time = Duration::from_mins(1);
        let first = one.lease("upkeep", time, limits()).unwrap().unwrap();
        server.pass(time / 2);
        assert!(first.renew().unwrap());
        server.pass(time / 2);
        assert!(other.lease("upkeep", time, limits()).unwrap().is_none());
        server.pass(time);
        let second = other.lease("upkeep", time, limits()).unwrap().unwrap();
        assert!(!first.renew().unwrap());
        drop(first);
        assert!(second.renew().unwrap(), "what was lost is not given back");
    }

    /// A folder of documents and what brings an index up to date with it.
    struct Machine {
        docs: tempfile::TempDir,
        _home: tempfile::TempDir,
        roots: Roots,
        texts: TextCache,
        skipped_files: SkippedFiles,
        refused: parking_lot::Mutex<crate::kb::update::RefusedChunks>,
        budget: ByteBudget,
        cancel: CancellationToken,
    }

    impl Machine {
        fn new(documents: &[(&str, &str)]) -> Self {
            let docs = tempfile::tempdir().unwrap();
            for (name, text) in documents {
                let path = docs.path().join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            let home = tempfile::tempdir().unwrap();
            Self {
                roots: Roots::open(&[docs.path().to_owned()]).unwrap(),
                texts: TextCache::open(home.path()),
                skipped_files: SkippedFiles::default(),
                refused: parking_lot::Mutex::default(),
                budget: ByteBudget::default(),
                cancel: CancellationToken::new(),
                docs,
                _home: home,
            }
        }

        fn job<'a>(&'a self, store: &'a dyn Store) -> Job<'a> {
            Job {
                roots: &self.roots,
                store,
                texts: &self.texts,
                embedder: &Letters,
                skipped_files: &self.skipped_files,
                refused: &self.refused,
                budget: &self.budget,
                progress: &|_| {},
                cancel: &self.cancel,
                priority: BulkPriority::Idle,
                pause: None,
            }
        }

        fn update(&self, store: &dyn Store) -> Result<UpdateReport, KbError> {
            store.refresh("letters", limits())?;
            words_and_meaning(&self.job(store))
        }
    }

    fn hybrid_hits(store: &dyn Store, query: &str) -> Vec<String> {
        let cancel = CancellationToken::new();
        let asked = HybridQuery {
            query,
            keywords: &[],
            k: 5,
            within: Within::all(&cancel),
        };
        let (hits, _) = hybrid(store.reader().as_ref(), &Letters, &asked).unwrap();
        hits.into_iter().map(|hit| hit.source).collect()
    }

    #[test]
    fn a_search_and_a_saved_file_cost_a_few_calls() {
        let server = Arc::new(Server::default());
        let store = FakeStore::new(&server, 1);
        let machine = Machine::new(&NOTES);
        machine.update(&store).unwrap();
        server.calls();
        assert_eq!(
            hybrid_hits(&store, "when does the kiln fire")[0],
            "notes/kiln.md"
        );
        let search = server.calls();
        assert!(search.len() <= 4, "{search:?}");

        let file = machine.docs.path().canonicalize().unwrap().join("a.md");
        fs::write(&file, "# Alpha\n\nThe glaze is green now.\n").unwrap();
        store.refresh("letters", limits()).unwrap();
        let report = machine
            .job(&store)
            .read_changes(&Changes::Files(vec![file]))
            .unwrap();
        assert_eq!((report.changed, report.unchanged), (1, 2));
        let saved = server.calls();
        assert!(saved.len() <= 6, "{saved:?}");
        assert_eq!(found(store.reader().as_ref(), "green"), ["a.md"]);
    }

    #[test]
    fn another_machine_s_stamps_are_not_its_own() {
        let server = Arc::new(Server::default());
        let (one, other) = (FakeStore::new(&server, 1), FakeStore::new(&server, 2));
        Machine::new(&NOTES).update(&one).unwrap();
        // The same documents elsewhere: they are read, say the same and are not put again.
        let elsewhere = Machine::new(&NOTES);
        server.calls();
        let report = elsewhere.update(&other).unwrap();
        assert_eq!((report.unchanged, report.changed, report.added), (3, 0, 0));
        assert!(!server.calls().contains(&"put"));
        let page = other.reader().page(None, 10, limits()).unwrap();
        assert!(page.iter().all(|document| document.stamp.is_some()));
        assert_eq!(page.len(), 3);
    }

    #[test]
    fn two_writers_and_failures_at_random_leave_what_the_files_say() {
        for seed in 0..20 {
            let server = Arc::new(Server::default());
            let machine = Machine::new(&NOTES);
            let stores = [FakeStore::new(&server, 1), FakeStore::new(&server, 2)];
            let own = [SkippedFiles::default(), SkippedFiles::default()];
            let failed = AtomicBool::new(false);
            server.fail(150, seed);
            for (turn, text) in ["one", "two", "three"].into_iter().enumerate() {
                let name = format!("turn{turn}.md");
                fs::write(
                    machine.docs.path().join(&name),
                    format!("# {text}\n\nkiln\n"),
                )
                .unwrap();
                fs::write(machine.docs.path().join("a.md"), format!("glaze {text}\n")).unwrap();
                std::thread::scope(|scope| {
                    for (store, skipped_files) in stores.iter().zip(&own) {
                        let (machine, failed) = (&machine, &failed);
                        scope.spawn(move || {
                            let job = || Job {
                                skipped_files,
                                ..machine.job(store)
                            };
                            for _ in 0..200 {
                                let refreshed = store.refresh("letters", limits());
                                match refreshed.and_then(|()| words_and_meaning(&job())) {
                                    Ok(_) => return,
                                    Err(KbError::Locked | KbError::Store(_)) => {
                                        failed.store(true, Ordering::Relaxed);
                                        std::thread::yield_now();
                                    }
                                    Err(error) => panic!("{error}"),
                                }
                            }
                        });
                    }
                });
            }
            server.fail(0, 0);
            machine.update(&stores[0]).unwrap();
            let reader = stores[0].reader();
            let expected = [
                "a.md",
                "notes/kiln.md",
                "notes/plan.md",
                "turn0.md",
                "turn1.md",
                "turn2.md",
            ];
            assert_eq!(names(reader.as_ref()), expected, "seed {seed}");
            assert_eq!(found(reader.as_ref(), "three").len(), 2, "seed {seed}");
            assert!(found(reader.as_ref(), "two").len() == 1, "seed {seed}");
            assert_eq!(reader.pending_count(limits()).unwrap(), 0, "seed {seed}");
            assert!(
                failed.load(Ordering::Relaxed),
                "seed {seed}: nothing failed"
            );
        }
    }
}
