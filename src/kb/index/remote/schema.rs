//! What is kept on the server, and under which names: one schema for each version of format and tokenizer, so
//! that another version finds none of it. `store init` makes all of it; indexers write rows and nothing else.

use tokio_postgres::Row;

use crate::kb::error::KbError;
use crate::kb::index::port::Result;
use crate::kb::index::tokens;
use crate::text::Trouble;

/// Raised when what is on the server changes its shape, or when the same files would be read or cut into
/// other chunks.
const FORMAT: u32 = 7;
/// Numbers of terms are from 1 to this.
pub(super) const TERM_IDS: u32 = 1_000_000_000;
/// Prepares a connection.
pub(super) const SETUP: &str = include_str!("sql/setup.sql");
/// Held while what is kept on the server is made or put in order; any number does.
const PREPARING: i64 = 0x6b62_6167_656e_7401;
const OLDEST_SERVER: i32 = 150_000;
const OLDEST_VECTOR: (u32, u32) = (0, 7);

/// The schema of this version.
pub(crate) fn name() -> String {
    format!("kb_v{FORMAT}_{}", tokens::VERSION)
}

/// Checks that the versions that [`SETUP`] has found are new enough.
pub(super) fn check(rows: &[Row], store: &str) -> Result<()> {
    let found = rows.first().map(|row| (row.get(0), row.get(1)));
    let (vector, server): (Option<String>, i32) = found.unwrap_or_default();
    let numbers = vector.iter().flat_map(|vector| vector.split('.'));
    let mut numbers = numbers.map_while(|number| number.parse::<u32>().ok());
    let held = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if server >= OLDEST_SERVER && held >= OLDEST_VECTOR {
        return Ok(());
    }
    let with = vector.map_or_else(
        || "lacks the extension pgvector".to_owned(),
        |vector| format!("has pgvector {vector}"),
    );
    Err(KbError::Store(Trouble::new(
        format!("the store {store}, PostgreSQL {}, {with}", server / 10_000),
        "use PostgreSQL 15 and pgvector 0.7 or newer; `kb-agent store init` makes the extension",
    )))
}

/// The script that makes what this version keeps, as far as it is missing, and lets these roles read it, or
/// read and write it.
pub(crate) fn setup_script(readers: &[String], writers: &[String]) -> String {
    let tables = include_str!("sql/tables.sql")
        .replace("{term_ids}", &TERM_IDS.to_string())
        .replace("{preparing}", &PREPARING.to_string());
    let grant = |what, on_tables, rest: &str| {
        include_str!("../../../../assets/store/role.sql")
            .replace("{what}", what)
            .replace("{on_tables}", on_tables)
            .replace("{rest}", rest)
            .replace("{schema}", &name())
    };
    // The role last: its name may hold anything.
    let let_write = |role: &String| {
        let rest = "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA {schema} TO {role};\n";
        grant("read and write", "SELECT, INSERT, UPDATE, DELETE", rest)
            .replace("{role}", &quote_identifier(role))
    };
    let let_read = |role: &String| {
        let check = include_str!("../../../../assets/store/reader.sql");
        let check = check.replace("{schema}", &name());
        grant("read", "SELECT", "").replace("{role}", &quote_identifier(role))
            + &check.replace("{literal}", &quote_literal(role))
    };
    let writers = writers.iter().map(let_write);
    let readers = readers.iter().map(let_read);
    let roles: String = writers.chain(readers).collect();
    let tables = tables.replace("{schema}", &name());
    format!("BEGIN;\n{tables}{roles}COMMIT;\n")
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
        for name in ["{role}", "{schema}", "{what}", "{rest}", "{on_tables}"] {
            assert!(!rest.contains(name), "{name}: {script}");
        }
    }
}
