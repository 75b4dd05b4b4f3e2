-- What is kept: five tables for all spaces, and two functions for what only their owner may do.
-- One at a time: two that make the same at once would get in each other's way.
DO $$ BEGIN PERFORM pg_advisory_xact_lock({preparing}); END $$;
CREATE EXTENSION IF NOT EXISTS vector;
CREATE SCHEMA IF NOT EXISTS {schema};
DO $$ BEGIN
    PERFORM set_config('search_path', format('{schema}, %I, pg_temp', n.nspname), true)
    FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector';
END $$;
CREATE TABLE IF NOT EXISTS spaces (
    space int PRIMARY KEY GENERATED ALWAYS AS IDENTITY, name text NOT NULL UNIQUE,
    generation bigint NOT NULL DEFAULT 0, documents bigint NOT NULL DEFAULT 0,
    chunks bigint NOT NULL DEFAULT 0, average real, model int, model_id text);
-- `stamp` is how the file looked on the machine that read it last: size, modified, changed, inode, and
-- whether a later change shows in these.
CREATE TABLE IF NOT EXISTS documents (
    number bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, space int NOT NULL,
    source text COLLATE "C" NOT NULL, title text NOT NULL, hash bytea NOT NULL, chunks int NOT NULL,
    links text NOT NULL, link_keys text[] NOT NULL, day int, tags text[] NOT NULL,
    machine text NOT NULL, stamp bigint[] NOT NULL, UNIQUE (space, source));
CREATE INDEX IF NOT EXISTS documents_links ON documents USING gin (link_keys);
-- `terms` are numbers of terms of one space. `gains` are the parts of BM25 that do not depend on other chunks.
CREATE TABLE IF NOT EXISTS chunks (
    space int, chunk bigint, first int NOT NULL, last int NOT NULL, place text, heading text NOT NULL,
    body text NOT NULL, key bytea NOT NULL, names text[] NOT NULL, terms int[] NOT NULL,
    gains sparsevec({term_ids}) NOT NULL, PRIMARY KEY (space, chunk));
ALTER TABLE chunks ALTER gains SET STORAGE MAIN;
CREATE INDEX IF NOT EXISTS chunks_key ON chunks (space, key);
CREATE INDEX IF NOT EXISTS chunks_names ON chunks USING gin (names);
-- What waits to be sorted in is looked through by each search: little.
CREATE INDEX IF NOT EXISTS chunks_terms ON chunks USING gin (terms) WITH (gin_pending_list_limit = 1024);
CREATE TABLE IF NOT EXISTS terms (
    space int, id int, term text COLLATE "C" NOT NULL, held bigint NOT NULL, PRIMARY KEY (space, id))
    WITH (fillfactor = 70);
CREATE INDEX IF NOT EXISTS terms_near ON terms (space, left(term, 1), char_length(term));
-- The whole numbers that the embedded engine has too, which half precision holds exactly, and what they are
-- multiplied by.
CREATE TABLE IF NOT EXISTS vectors (
    model int, key bytea, v halfvec NOT NULL, scale real NOT NULL, PRIMARY KEY (model, key));

CREATE OR REPLACE FUNCTION analyze_words() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
BEGIN
    PERFORM gin_clean_pending_list('chunks_terms');
    ANALYZE documents, chunks, terms;
END $$;

-- Removes vectors that no space uses, and makes the index over those of a model. An index is quicker made than
-- grown, so it is made when all vectors of a first load are there; few vectors need none. Dropping an index keeps
-- all searches waiting until the end, and so comes last. Nothing is looked up where others may make functions: the
-- schema of pgvector is not on the path.
CREATE OR REPLACE FUNCTION keep_vectors(of_model int, dimensions int) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
DECLARE unused int[]; one int; of_vector name := (SELECT n.nspname FROM pg_extension e
    JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector');
BEGIN
    PERFORM pg_advisory_xact_lock({preparing});
    unused := ARRAY(
        WITH RECURSIVE models AS (SELECT min(model) AS model FROM vectors UNION ALL
            SELECT (SELECT min(v.model) FROM vectors v WHERE v.model > m.model) FROM models m
            WHERE m.model IS NOT NULL)
        SELECT m.model FROM models m WHERE m.model IS NOT NULL
            AND NOT EXISTS (SELECT FROM spaces s WHERE s.model = m.model));
    DELETE FROM vectors WHERE model = ANY (unused);
    IF (SELECT reltuples FROM pg_class WHERE oid = 'vectors'::regclass)
        > greatest(1000, 1.5 * (SELECT sum(chunks) FROM spaces WHERE model IS NOT NULL))
    THEN
        DELETE FROM vectors v WHERE NOT EXISTS (SELECT FROM spaces s JOIN chunks c USING (space)
            WHERE s.model = v.model AND c.key = v.key);
        ANALYZE vectors;
    END IF;
    IF dimensions <= 4000 AND to_regclass(format('vectors_of_%s', of_model)) IS NULL
        AND EXISTS (SELECT FROM vectors WHERE model = of_model OFFSET 10000)
    THEN
        EXECUTE format('CREATE INDEX vectors_of_%1$s ON vectors USING hnsw
            ((v::%3$I.halfvec(%2$s)) %3$I.halfvec_cosine_ops)
            WITH (m = 16, ef_construction = 100) WHERE model = %1$s', of_model, dimensions, of_vector);
        ANALYZE vectors;
    END IF;
    FOREACH one IN ARRAY unused LOOP
        EXECUTE format('DROP INDEX IF EXISTS vectors_of_%s', one);
    END LOOP;
END $$;
REVOKE ALL ON FUNCTION analyze_words(), keep_vectors(int, int) FROM PUBLIC;
