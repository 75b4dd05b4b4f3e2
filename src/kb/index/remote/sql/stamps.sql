-- Notes how files look on the machine $1.
WITH n AS (SELECT d.number, a.* FROM unnest($2, $3, $4, $5, $6, $7)
    AS a(source, size, modified, changed, inode, reliable)
    JOIN documents_{space} d USING (source)),
seen AS (UPDATE documents_{space} d SET bytes = n.size, modified = n.modified FROM n
    WHERE d.number = n.number AND (d.bytes, d.modified) <> (n.size, n.modified))
INSERT INTO stamps_{space} (number, machine, size, modified, changed, inode, reliable)
SELECT n.number, $1, n.size, n.modified, n.changed, n.inode, n.reliable FROM n
ON CONFLICT (number, machine) DO UPDATE SET size = excluded.size,
    modified = excluded.modified, changed = excluded.changed, inode = excluded.inode,
    reliable = excluded.reliable
