-- Removes documents of the space $1, and counts their chunks out of the terms.
WITH gone AS (DELETE FROM documents WHERE space = $1 AND source = ANY ($2) RETURNING number),
cut AS (DELETE FROM chunks c USING gone WHERE c.space = $1
    AND c.chunk >= gone.number << 32 AND c.chunk < (gone.number + 1) << 32 RETURNING c.terms),
fewer AS (UPDATE terms t SET held = t.held - f.held
    FROM (SELECT id, count(*) AS held FROM cut, unnest(cut.terms) AS id GROUP BY id) f
    WHERE t.space = $1 AND t.id = f.id)
SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM cut)
