-- The documents after $1, with the stamps of this machine.
SELECT d.source, d.title, d.hash, d.bytes, d.modified, d.chunks,
    s.size, s.modified, s.changed, s.inode, s.reliable, d.day, d.tags FROM documents_{space} d
    LEFT JOIN stamps_{space} s ON s.number = d.number AND s.machine = $3
    WHERE d.source > $1 AND (NOT $4 OR d.source = ANY ($5)
        OR EXISTS (SELECT FROM unnest($6, $7) AS own(begins, ends)
            WHERE d.source >= own.begins AND d.source < own.ends))
    ORDER BY d.source LIMIT $2
