-- Space, generation, model and dimensions.
SELECT s.space, s.generation, m.model, m.dimensions
FROM (VALUES (1)) AS one
LEFT JOIN spaces s ON s.name = $1
LEFT JOIN models m ON m.id = $2
