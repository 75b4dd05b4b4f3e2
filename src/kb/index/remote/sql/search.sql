-- Calls the function of lexical.sql, and adds the chunks with a name as rows of kind 4.
SELECT * FROM kb_lexical({space}, $1, $2, $3, $4, $5, $6, $7, $8, CASE WHEN $10 IS NOT NULL
    THEN ARRAY(SELECT number FROM documents_{space} WHERE source = ANY ($10)) END, $12, $13)
UNION ALL (SELECT 4, c.chunk, d.source, c.first, c.last, '{}'::int4[], '{}'::int2[], 0,
    NULL::int, NULL::text, NULL::bigint FROM chunks_{space} c
    JOIN documents_{space} d ON d.number = c.chunk >> 32
    WHERE c.names @> ARRAY[$9::text] AND ($10 IS NULL OR d.source = ANY ($10))
        AND ($12 IS NULL OR c.chunk = ANY ($12)) AND c.chunk <> ALL ($13)
    ORDER BY d.source, c.chunk LIMIT $11)
