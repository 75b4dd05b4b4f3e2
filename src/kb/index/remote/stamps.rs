//! How files look on the machines that have read them.

use tokio_postgres::types::Type;

use super::server::{Connection, TypedValue};
use crate::kb::error::KbError;
use crate::kb::index::document::LocalStamp;
use crate::kb::index::limits::Limits;

/// Notes how these documents' files look on a machine.
pub(super) fn note_stamps(
    connection: &mut Connection,
    (space, machine): (i32, &String),
    stamps: &[(String, LocalStamp)],
    limits: Limits<'_>,
) -> Result<(), KbError> {
    let sources: Vec<&String> = stamps.iter().map(|(source, _)| source).collect();
    let column = |of: fn(&LocalStamp) -> u64| -> Vec<i64> {
        let numbers = stamps.iter().map(|(_, local)| of(local).cast_signed());
        numbers.collect()
    };
    let sizes = column(|local| local.stamp.size);
    let modified = column(|local| local.stamp.modified);
    let changed = column(|local| local.stamp.changed);
    let inodes = column(|local| local.stamp.inode);
    let reliable = stamps.iter().map(|(_, local)| local.mtime_is_reliable);
    let reliable: Vec<bool> = reliable.collect();
    let noted = format!(
        "WITH n AS (SELECT d.number, a.* FROM unnest($2, $3, $4, $5, $6, $7)
            AS a(source, size, modified, changed, inode, reliable)
            JOIN documents_{space} d USING (source)),
        seen AS (UPDATE documents_{space} d SET bytes = n.size, modified = n.modified FROM n
            WHERE d.number = n.number AND (d.bytes, d.modified) <> (n.size, n.modified))
        INSERT INTO stamps_{space} (number, machine, size, modified, changed, inode, reliable)
        SELECT n.number, $1, n.size, n.modified, n.changed, n.inode, n.reliable FROM n
        ON CONFLICT (number, machine) DO UPDATE SET size = excluded.size,
            modified = excluded.modified, changed = excluded.changed, inode = excluded.inode,
            reliable = excluded.reliable"
    );
    let values: [TypedValue<'_>; 7] = [
        (machine, Type::TEXT),
        (&sources, Type::TEXT_ARRAY),
        (&sizes, Type::INT8_ARRAY),
        (&modified, Type::INT8_ARRAY),
        (&changed, Type::INT8_ARRAY),
        (&inodes, Type::INT8_ARRAY),
        (&reliable, Type::BOOL_ARRAY),
    ];
    connection.rows(limits, &noted, &values).map(drop)
}
