-- Each vector of some chunks compared with $1; of some documents where some are named.
SELECT c.chunk, d.source, c.first, c.last, -(v.v::vector <#> $1::text::vector) * v.scale AS score
FROM unnest($4) AS a(chunk) JOIN chunks_{space} c USING (chunk)
JOIN documents_{space} d ON d.number = c.chunk >> 32
JOIN vectors_{model} v ON v.key = c.key WHERE c.chunk <> ALL ($3)
    AND ($5 IS NULL OR d.source = ANY ($5))
ORDER BY score DESC, d.source, c.chunk LIMIT $2
