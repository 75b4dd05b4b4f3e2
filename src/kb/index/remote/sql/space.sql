-- The tables of a space, without the indexes of indexes.sql.
CREATE TABLE documents_{space} (
    number bigint PRIMARY KEY, source text COLLATE "C" NOT NULL UNIQUE, title text NOT NULL,
    hash bytea NOT NULL, bytes bigint NOT NULL, modified bigint NOT NULL, chunks int NOT NULL,
    links text NOT NULL, link_keys text[] NOT NULL, day int, tags text[] NOT NULL);
CREATE TABLE stamps_{space} (
    number bigint, machine text, size bigint NOT NULL, modified bigint NOT NULL,
    changed bigint NOT NULL, inode bigint NOT NULL, reliable boolean NOT NULL,
    PRIMARY KEY (number, machine));
CREATE TABLE chunks_{space} (
    chunk bigint PRIMARY KEY, first int NOT NULL, last int NOT NULL, place text,
    heading text NOT NULL, body text NOT NULL, key bytea NOT NULL, names text[] NOT NULL);
CREATE INDEX chunks_{space}_key ON chunks_{space} (key);
CREATE TABLE words_{space} (
    chunk bigint PRIMARY KEY, len int NOT NULL, terms int4[] NOT NULL, freqs int2[] NOT NULL,
    gains sparsevec({term_ids}) NOT NULL);
ALTER TABLE words_{space} ALTER gains SET STORAGE MAIN;
CREATE TABLE terms_{space} (
    term text COLLATE "C" PRIMARY KEY, held bigint NOT NULL, slips int4[] NOT NULL);
