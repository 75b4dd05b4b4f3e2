-- Removes documents by their numbers.
WITH n AS (SELECT unnest($1) AS number),
a AS (DELETE FROM words_{space} w USING n
    WHERE w.chunk >= n.number << 32 AND w.chunk < (n.number + 1) << 32),
b AS (DELETE FROM chunks_{space} c USING n
    WHERE c.chunk >= n.number << 32 AND c.chunk < (n.number + 1) << 32),
c AS (DELETE FROM stamps_{space} s USING n WHERE s.number = n.number)
DELETE FROM documents_{space} d USING n WHERE d.number = n.number RETURNING d.number
