-- The first $2 chunks of each document.
SELECT c.chunk, d.source, c.first, c.last, c.place, c.heading, c.body
    FROM unnest($1) WITH ORDINALITY AS a(source, at)
    JOIN documents_{space} d ON d.source = a.source
    JOIN chunks_{space} c ON c.chunk >= d.number << 32 AND c.chunk < (d.number << 32) + $2
    ORDER BY a.at, c.chunk
