-- The spaces, and which of them are being changed. A lock of the server stands in two halves.
SELECT s.name, s.documents, s.chunks, s.generation, s.model_id, h.holds[1], h.holds[2] FROM {schema}.spaces s
CROSS JOIN LATERAL (SELECT ARRAY(SELECT EXISTS (SELECT FROM pg_locks l
    WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
    AND (l.classid::bigint << 32 | l.objid::bigint) = hashtextextended(concat_ws(E'\n', '{schema}', s.name, r.what), 0)
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))
    FROM unnest(ARRAY['documents', 'vectors']) WITH ORDINALITY AS r(what, at) ORDER BY r.at)) AS h(holds)
WHERE s.generation > 0 ORDER BY s.name
