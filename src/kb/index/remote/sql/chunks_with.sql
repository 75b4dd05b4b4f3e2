-- The chunks that hold all of these terms, of some documents where some are named.
SELECT w.chunk FROM words_{space} w WHERE w.terms @> $1
    AND ($2 IS NULL OR w.chunk >> 32 = ANY (
        ARRAY(SELECT number FROM documents_{space} WHERE source = ANY ($2))))
