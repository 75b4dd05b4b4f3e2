-- Each vector of some chunks, or of the chunks of some documents, compared with $2. The two conditions on a chunk
-- say the same: the server takes that which finds fewer.
SELECT c.chunk, d.source, c.first, c.last, -(v.v::vector <#> $2::text::vector) * v.scale AS score
FROM documents d JOIN chunks c ON c.space = $1 AND c.chunk >> 32 = d.number
    AND c.chunk >= d.number << 32 AND c.chunk < (d.number + 1) << 32
JOIN vectors v ON v.model = {model} AND v.key = c.key
WHERE d.space = $1 AND ($4 IS NULL OR d.source = ANY ($4))
    AND ($5 IS NULL OR c.chunk = ANY ($5)) AND c.chunk <> ALL ($6)
ORDER BY score DESC, d.source, c.chunk LIMIT $3
