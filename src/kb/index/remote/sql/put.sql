-- Adds documents, their chunks, and how many chunks more hold each term, to the space $1.
WITH put AS (
    INSERT INTO documents (space, source, title, hash, chunks, links, link_keys, day, tags, machine, stamp)
    SELECT $1, d.* FROM json_to_recordset($2::json) AS d(source text, title text, hash bytea, chunks int,
        links text, link_keys text[], day int, tags text[], machine text, stamp bigint[])
    RETURNING number, source),
filled AS (
    INSERT INTO chunks (space, chunk, first, last, place, heading, body, key, names, terms, gains)
    SELECT $1, put.number << 32 | c.at, c.first, c.last, c.place, c.heading, c.body, c.key, c.names,
        c.terms, c.gains::sparsevec
    FROM put JOIN json_to_recordset($3::json) AS c(source text, at bigint, first int, last int, place text,
        heading text, body text, key bytea, names text[], terms int[], gains text) USING (source))
INSERT INTO terms AS t (space, id, term, held)
SELECT $1, n.* FROM json_to_recordset($4::json) AS n(id int, term text, held bigint)
ON CONFLICT (space, id) DO UPDATE SET held = t.held + excluded.held
