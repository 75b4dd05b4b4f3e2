-- Twice as many as asked for by the index, as whose distances are of half precision, then exactly.
--
-- Vector by vector as they come nearer: those of other spaces are passed over at once (OFFSET 0
-- keeps the server from joining before it looks for near ones). Where all that it looks at are
-- others', each vector of the space is compared.
WITH near AS MATERIALIZED (
    SELECT c.chunk, c.first, c.last, v.v, v.scale FROM vectors v
    CROSS JOIN LATERAL (SELECT chunk, first, last FROM chunks c
        WHERE space = $1 AND key = v.key AND {filter} OFFSET 0) c
    WHERE v.model = {model} ORDER BY v.v::halfvec({dims}) <=> $2::text::halfvec({dims}) LIMIT 2 * $3)
SELECT v.chunk, (SELECT source FROM documents WHERE number = v.chunk >> 32), v.first, v.last,
    -(v.v::vector <#> $2::text::vector) * v.scale FROM (
    SELECT * FROM near WHERE NOT (SELECT count(*) FROM near) < $3
    UNION ALL (
        SELECT c.chunk, c.first, c.last, v.v, v.scale FROM chunks c
        JOIN vectors v ON v.model = {model} AND v.key = c.key
        WHERE (SELECT count(*) FROM near) < $3 AND c.space = $1 AND {filter}
        ORDER BY v.v <=> $2::text::halfvec LIMIT 2 * $3)) v
