-- The vector under each key.
SELECT v.v::real[], v.scale FROM unnest($1) WITH ORDINALITY AS a(key, at)
    LEFT JOIN vectors_{model} v ON v.key = a.key ORDER BY a.at
