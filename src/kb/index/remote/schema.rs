//! What is kept on the server, and under which names.
//!
//! One schema for each version of format and tokenizer, so that another version finds none of it; in
//! it the tables of each space, named by its number. What a query must do in one round trip is a
//! function there (`lexical.sql`).

use tokio_postgres::Row;

use crate::kb::error::KbError;
use crate::kb::index::port::Result;
use crate::kb::index::tokens;
use crate::text::Trouble;

/// Raised when what is on the server changes its shape, or when the same files would be read or cut into
/// other chunks.
const FORMAT: u32 = 6;

/// Numbers of terms are below this.
pub(super) const TERM_IDS: u32 = 1_000_000_000;

/// The schema of this version.
pub(crate) fn name() -> String {
    format!("kb_v{FORMAT}_{}", tokens::VERSION)
}

/// The channel that tells of commits.
pub(super) fn channel() -> String {
    format!("{}_commits", name())
}

/// Prepares a connection, and says what it has found: the version of pgvector, whether the schema
/// is there.
pub(super) const SETUP: &str = include_str!("sql/setup.sql");

const OLDEST_SERVER: i32 = 150_000;
const OLDEST_VECTOR: (u32, u32) = (0, 7);

/// Checks that the versions that [`SETUP`] has found are new enough.
pub(super) fn check(rows: &[Row], store: &str) -> Result<()> {
    let versions = rows.first().and_then(|row| {
        let vector: Option<String> = row.try_get(8).ok()?;
        Some((row.try_get::<_, i32>(9).ok()?, vector))
    });
    let is_old = |vector: &str| {
        let mut parts = vector.split('.').map_while(|part| part.parse().ok());
        (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) < OLDEST_VECTOR
    };
    let (what, next) = match versions {
        None => (
            format!("{store} is no PostgreSQL"),
            "see to KB_AGENT_STORE_URL",
        ),
        Some((server, _)) if server < OLDEST_SERVER => (
            format!("the store {store} is PostgreSQL {}", server / 10_000),
            "use PostgreSQL 15 or newer",
        ),
        Some((_, None)) => (
            format!("the store {store} lacks the extension pgvector"),
            "run CREATE EXTENSION vector there as its owner, or `kb-agent store init`",
        ),
        Some((_, Some(vector))) if is_old(&vector) => (
            format!("the store {store} has pgvector {vector}"),
            "use pgvector 0.7 or newer",
        ),
        Some(_) => return Ok(()),
    };
    Err(KbError::Store(Trouble::new(what, next)))
}

/// Makes what is not there yet; needs the right to create in the database.
pub(super) fn make() -> String {
    let tables = include_str!("sql/tables.sql");
    let search = include_str!("sql/lexical.sql").replace("kb_lexical", "{schema}.kb_lexical");
    format!("{tables}{search}").replace("{schema}", &name())
}

/// The script that makes what this version keeps, and lets these roles read it, or read and write it.
pub(crate) fn setup_script(readers: &[String], writers: &[String]) -> String {
    let grant = |what, on_schema, on_tables, on_sequences: &str| {
        include_str!("../../../../assets/store/role.sql")
            .replace("{on_sequences}", on_sequences)
            .replace("{schema}", &name())
            .replace("{what}", what)
            .replace("{on_schema}", on_schema)
            .replace("{on_tables}", on_tables)
    };
    // The role last: its name may hold anything.
    let let_write = |role: &String| {
        let all = "SELECT, INSERT, UPDATE, DELETE, TRUNCATE";
        let sequences = "GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {role};\n";
        grant("read and write", "USAGE, CREATE", all, sequences)
            .replace("{role}", &quote_identifier(role))
    };
    let let_read = |role: &String| {
        // The owner cannot take back what a writer granted on tables of its own.
        let check = include_str!("../../../../assets/store/reader.sql");
        let check = check.replace("{schema}", &name());
        grant("read", "USAGE", "SELECT", "").replace("{role}", &quote_identifier(role))
            + &check.replace("{literal}", &quote_literal(role))
    };
    let writers = writers.iter().map(let_write);
    let readers = readers.iter().map(let_read);
    let roles: String = writers.chain(readers).collect();
    format!("BEGIN;\n{}{roles}COMMIT;\n", make())
}

/// Quotes a name for PostgreSQL.
fn quote_identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Quotes a text for PostgreSQL, whatever its settings say of backslashes. A dollar sign is written as its code: two
/// of them would end a block.
fn quote_literal(text: &str) -> String {
    let text = text.replace('\\', r"\\").replace('\'', "''");
    format!("E'{}'", text.replace('$', r"\x24"))
}

/// A statement over the tables of a space, which it calls `…_{space}`.
pub(super) fn of_space(statement: &str, space: i32) -> String {
    statement.replace("{space}", &space.to_string())
}

/// The tables of a space, without the indexes of [`make_space_indexes`].
pub(super) fn make_space(space: i32) -> String {
    let tables =
        of_space(include_str!("sql/space.sql"), space).replace("{term_ids}", &TERM_IDS.to_string());
    tables + &grant_like_spaces(&tables_of(space).join(", "))
}

/// What finds terms, words that are misspelt and references.
pub(super) fn make_space_indexes(space: i32) -> String {
    of_space(include_str!("sql/indexes.sql"), space)
}

/// Whether the last of them is there.
pub(super) fn has_space_indexes(space: i32) -> String {
    format!("SELECT to_regclass('words_{space}_terms') IS NOT NULL")
}

/// The tables of a space.
///
/// In the order in which a search takes them, so that removing them never waits crosswise.
const TABLES: [&str; 5] = ["terms", "words", "chunks", "documents", "stamps"];

fn tables_of(space: i32) -> [String; TABLES.len()] {
    TABLES.map(|table| format!("{table}_{space}"))
}

fn grant_like_spaces(tables: &str) -> String {
    include_str!("sql/grant.sql").replace("{tables}", tables)
}

/// Updates the server's statistics after many rows were added.
pub(super) fn analyze_space(space: i32) -> String {
    format!("ANALYZE {};", tables_of(space).join(", "))
}

/// Removes what [`make_space`] made.
pub(super) fn drop_space(space: i32) -> String {
    let drop = |table| format!("DROP TABLE IF EXISTS {table};");
    tables_of(space).map(drop).concat()
}

/// The vectors of a model: the whole numbers that the embedded engine has too, which half precision
/// holds exactly, and what they are multiplied by.
pub(super) fn make_vectors(model: i32, dimensions: usize) -> String {
    let table = format!(
        "CREATE TABLE IF NOT EXISTS vectors_{model} (
    key bytea PRIMARY KEY, v halfvec({dimensions}) NOT NULL, scale real NOT NULL);"
    );
    table + &grant_like_spaces(&format!("vectors_{model}"))
}

/// Makes the index that finds near vectors without comparing each.
pub(super) fn make_vector_index(model: i32) -> String {
    format!(
        "CREATE INDEX IF NOT EXISTS vectors_{model}_near ON vectors_{model}
    USING hnsw (v halfvec_cosine_ops) WITH (m = 16, ef_construction = 100);"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_the_name_of_a_role_is_nothing_but_a_name() {
        let role = "a\"'$$; DROP TABLE x; -- {schema}\n".to_owned();
        let script = setup_script(std::slice::from_ref(&role), &[]);
        let as_name = "\"a\"\"'$$; DROP TABLE x; -- {schema}\n\"";
        let as_text = "E'a\"''\\x24\\x24; DROP TABLE x; -- {schema}\n'";
        assert_eq!(script.matches(as_name).count(), 5);
        assert_eq!(script.matches(as_text).count(), 2);
        let rest = script.replace(as_name, "").replace(as_text, "");
        assert!(!rest.contains("DROP TABLE x"), "{script}");
        for name in ["{role}", "{schema}", "{what}", "{on_schema}", "{on_tables}"] {
            assert!(!rest.contains(name), "{name}: {script}");
        }
    }
}
