-- The best chunks for the words of a query, in one call. Rows of kind
--   0  chunk: chunks of the space, held: their tokens
--   1  word: which term was asked for (from 1), held: how many chunks hold it
--   2  term and held: a term of the space that may stand for one that it does not have
--   3  a chunk with what its exact score is made of
--
-- Candidates are the chunks that hold one of the rarest terms, as many terms as it takes until no chunk
-- without them can come among the best k (MaxScore: Turtle and Flood 1995): a term gives at most 2.2
-- times its idf. Where that would be more than `cap` candidates, the most common terms only score and
-- find none.
CREATE OR REPLACE FUNCTION kb_lexical(
    in_space int, asked text[], ids int[], weights float8[],
    slip_of int[], slips_asked int[], begin_of int[], begins text[],
    k int, within_documents bigint[], only_chunks bigint[], without_chunks bigint[])
RETURNS TABLE (kind int, chunk bigint, source text, first int, last int, terms int[], freqs int2[],
               len int, word int, term text, held bigint)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    chunks_alive bigint; tokens_alive bigint; cap bigint;
    freq bigint[]; idf float8[]; unknown int[]; ranked int[];
    query text; need int; total bigint; rest float8; kth float8; amount int;
    best bigint[]; scores float8[]; candidates int[]; last_need int;
    filter text := CASE WHEN within_documents IS NULL THEN '' ELSE ' AND w.chunk >> 32 = ANY ($4)' END
        || CASE WHEN only_chunks IS NULL THEN '' ELSE ' AND w.chunk = ANY ($5)' END
        || CASE WHEN cardinality(without_chunks) = 0 THEN '' ELSE ' AND w.chunk <> ALL ($6)' END;
BEGIN
    SELECT s.chunks, s.tokens INTO chunks_alive, tokens_alive FROM spaces s WHERE s.space = in_space;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the space is gone' USING ERRCODE = 'undefined_table';
    END IF;
    kind := 0; chunk := chunks_alive; held := tokens_alive;
    RETURN NEXT;
    EXECUTE format('SELECT array_agg(coalesce(t.held, 0) ORDER BY a.at)
        FROM unnest($1) WITH ORDINALITY AS a(term, at) LEFT JOIN terms_%s t USING (term)', in_space)
        INTO freq USING asked;
    IF freq IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY SELECT 1, NULL::bigint, NULL, NULL::int, NULL::int, NULL::int[], NULL::int2[],
        NULL::int, f.at::int, NULL, f.held FROM unnest(freq) WITH ORDINALITY AS f(held, at);
    unknown := ARRAY(SELECT u FROM generate_subscripts(freq, 1) u WHERE freq[u] = 0 ORDER BY u);
    unknown := ARRAY(SELECT u FROM unnest(unknown) u WHERE u = ANY (slip_of || begin_of) ORDER BY u LIMIT 32);
    IF cardinality(unknown) > 0 THEN
        RETURN QUERY EXECUTE format('SELECT 2, NULL::bigint, NULL, NULL::int, NULL::int, NULL::int[],
                NULL::int2[], NULL::int, NULL::int, t.term, t.held FROM terms_%1$s t
            WHERE t.held > 0 AND t.slips && $1
            UNION SELECT 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, t.term, t.held
            FROM terms_%1$s t WHERE t.held > 0 AND t.term = ANY ($2)', in_space)
            USING ARRAY(SELECT x.slip FROM unnest(slip_of, slips_asked) x(u, slip) WHERE x.u = ANY (unknown)),
                  ARRAY(SELECT x.term FROM unnest(begin_of, begins) x(u, term) WHERE x.u = ANY (unknown));
    END IF;
    idf := ARRAY(SELECT ln(1 + (greatest(chunks_alive - f, 0) + 0.5) / (f + 0.5))
        FROM unnest(freq) WITH ORDINALITY x(f, at) ORDER BY at);
    ranked := ARRAY(SELECT u FROM generate_subscripts(freq, 1) u WHERE freq[u] > 0 ORDER BY freq[u], u);
    IF cardinality(ranked) = 0 THEN
        RETURN;
    END IF;
    SELECT '{' || string_agg(id || ':' || value, ',' ORDER BY id) || '}/1000000000' INTO query
        FROM (SELECT ids[u] AS id, sum(idf[u] * weights[u]) AS value FROM unnest(ranked) u GROUP BY 1) x;
    cap := greatest(20000, chunks_alive * 8 / 100);
    amount := k + 16;
    need := 0; total := 0; last_need := 0;
    WHILE need < cardinality(ranked) AND (need = 0 OR total + freq[ranked[need + 1]] <= 2000) LOOP
        need := need + 1; total := total + freq[ranked[need]];
    END LOOP;
    LOOP
        candidates := ARRAY(SELECT ids[u] FROM unnest(ranked[1:need]) u);
        EXECUTE format('SELECT array_agg(x.chunk), array_agg(x.score) FROM (
                SELECT y.chunk, y.score FROM (
                    SELECT w.chunk, -(w.gains <#> $1::sparsevec) AS score FROM words_%s w
                    WHERE w.terms && $2 %s OFFSET 0) y
                ORDER BY y.score DESC, y.chunk LIMIT $3) x', in_space, filter)
            INTO best, scores USING query, candidates, amount, within_documents, only_chunks, without_chunks;
        kth := coalesce(scores[k], 0);
        last_need := need;
        WHILE need < cardinality(ranked) LOOP
            rest := (SELECT sum(2.2 * idf[u] * weights[u]) FROM unnest(ranked[need + 1:]) u);
            EXIT WHEN rest <= kth;
            EXIT WHEN total + freq[ranked[need + 1]] > cap;
            need := need + 1; total := total + freq[ranked[need]];
        END LOOP;
        IF need = last_need THEN
            -- What scores like the last of them comes along, so that equals are cut in an order of our own.
            EXIT WHEN best IS NULL OR cardinality(best) < amount OR amount >= 4096
                OR scores[amount] < kth * (1 - 1e-5);
            amount := least(4 * amount, 4096);
        END IF;
    END LOOP;
    IF best IS NOT NULL THEN
        RETURN QUERY EXECUTE format('SELECT 3, w.chunk, d.source, c.first, c.last, w.terms, w.freqs, w.len,
                NULL::int, NULL::text, NULL::bigint
            FROM unnest($1) AS f(chunk) JOIN words_%1$s w USING (chunk) JOIN chunks_%1$s c USING (chunk)
            JOIN documents_%1$s d ON d.number = w.chunk >> 32', in_space) USING best;
    END IF;
END $$;
