-- What chunks of some documents say, and how many terms they have.
SELECT c.heading, c.body, w.len, c.chunk >> 32 FROM unnest($1) AS n(number)
JOIN chunks_{space} c ON c.chunk >= n.number << 32 AND c.chunk < (n.number + 1) << 32
JOIN words_{space} w USING (chunk) ORDER BY chunk
