-- The last commit of the space $1, and the length of the vectors of the model $2.
SELECT s.space, s.generation, s.average::float8,
    (SELECT vector_dims(v) FROM vectors WHERE model = $2 LIMIT 1)
FROM (VALUES (1)) AS one LEFT JOIN spaces s ON s.name = $1
