-- Twice as many as asked for by the index, as whose distances are of half precision, then exactly.
--
-- Vector by vector as they come nearer: those of other spaces are passed over at once (OFFSET 0
-- keeps the server from joining before it looks for near ones). Where all that it looks at are
-- others', each vector of the space is compared.
WITH near AS MATERIALIZED (
    SELECT c.chunk, c.first, c.last, v.v, v.scale FROM vectors_{model} v
    CROSS JOIN LATERAL (
        SELECT chunk, first, last FROM chunks_{space} WHERE key = v.key AND chunk <> ALL ($3) OFFSET 0) c
    ORDER BY v.v <=> $1::text::halfvec LIMIT 2 * $2)
SELECT v.chunk, (SELECT source FROM documents_{space} WHERE number = v.chunk >> 32),
    v.first, v.last, -(v.v::vector <#> $1::text::vector) * v.scale FROM (
    SELECT * FROM near WHERE NOT (SELECT count(*) FROM near) < $2
    UNION ALL (
        SELECT c.chunk, c.first, c.last, v.v, v.scale FROM chunks_{space} c
        JOIN vectors_{model} v ON v.key = c.key
        WHERE (SELECT count(*) FROM near) < $2 AND c.chunk <> ALL ($3)
        ORDER BY v.v <=> $1::text::halfvec LIMIT 2 * $2)) v
