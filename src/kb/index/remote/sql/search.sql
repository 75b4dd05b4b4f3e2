-- The best $5 chunks for weighted terms, by BM25. Candidates are the chunks that hold one of the rarest terms,
-- which $4 chunks hold together; each row says how many hold each term, and what the more common terms
-- could add to a score at most, for a term gives at most 2.2 times its weight (MaxScore: Turtle and Flood 1995).
WITH asked AS MATERIALIZED (
    SELECT a.at, a.id, h.held, s.chunks,
        a.weight * ln(1 + (greatest(s.chunks - h.held, 0) + 0.5) / (h.held + 0.5)) AS value
    FROM spaces s CROSS JOIN unnest($2, $3) WITH ORDINALITY AS a(id, weight, at)
    LEFT JOIN terms t ON t.space = s.space AND t.id = a.id
    CROSS JOIN LATERAL (SELECT coalesce(t.held, 0) AS held) h WHERE s.space = $1),
ranked AS MATERIALIZED (
    SELECT id, value, sum(held) OVER w <= $4 OR row_number() OVER w = 1 AS finds
    FROM asked WHERE held > 0 WINDOW w AS (ORDER BY held, at)),
best AS MATERIALIZED (
    SELECT x.chunk, x.score FROM (
        SELECT c.chunk, -(c.gains <#> (
            SELECT ('{' || string_agg(id || ':' || value, ',' ORDER BY id) || '}/{term_ids}')::sparsevec
            FROM (SELECT id, sum(value) AS value FROM ranked GROUP BY id) q)) AS score
        FROM chunks c WHERE c.space = $1 AND c.terms && ARRAY(SELECT id FROM ranked WHERE finds)
            AND {filter} OFFSET 0) x
    ORDER BY x.score DESC, x.chunk LIMIT $5)
SELECT b.chunk, d.source, c.first, c.last, b.score, h.chunks, h.held, h.rest
FROM (SELECT max(chunks), array_agg(held ORDER BY at),
    (SELECT coalesce(2.2 * sum(value), 0) FROM ranked WHERE NOT finds) FROM asked) AS h(chunks, held, rest)
LEFT JOIN (best b JOIN chunks c ON c.space = $1 AND c.chunk = b.chunk
    JOIN documents d ON d.number = b.chunk >> 32) ON true
