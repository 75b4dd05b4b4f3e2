-- Adds to how many chunks hold each term.
INSERT INTO terms_{space} AS t (term, held, slips)
SELECT term, held, slips FROM changed_terms ORDER BY term
ON CONFLICT (term) DO UPDATE SET held = t.held + excluded.held;
DELETE FROM terms_{space} t USING changed_terms c
WHERE c.held < 0 AND t.term = c.term AND t.held <= 0
