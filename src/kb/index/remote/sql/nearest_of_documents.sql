-- Each vector of some documents compared with $1.
SELECT c.chunk, d.source, c.first, c.last, -(v.v::vector <#> $1::text::vector) * v.scale AS score FROM documents_{space} d
JOIN chunks_{space} c ON c.chunk >= d.number << 32 AND c.chunk < (d.number + 1) << 32
JOIN vectors_{model} v ON v.key = c.key WHERE d.source = ANY ($4) AND c.chunk <> ALL ($3)
ORDER BY score DESC, d.source, c.chunk LIMIT $2
