-- The document of each path, with the stamp of this machine, and whether it is a folder.
SELECT d.source, d.title, d.hash, d.bytes, d.modified, d.chunks,
    s.size, s.modified, s.changed, s.inode, s.reliable, d.day, d.tags, d.number IS NOT NULL,
        EXISTS (SELECT FROM documents_{space} f
            WHERE f.source >= p.path || '/' AND f.source < p.path || '0')
    FROM unnest($1) WITH ORDINALITY AS p(path, at)
    LEFT JOIN documents_{space} d ON d.source = p.path
    LEFT JOIN stamps_{space} s ON s.number = d.number AND s.machine = $2
    ORDER BY p.at
