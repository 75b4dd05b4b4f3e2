-- Terms that begin like a word and are about as long, those that most chunks hold first, and those with the numbers $4.
(SELECT t.term, t.held FROM unnest($2, $3) AS a(initial, letters) JOIN terms t ON t.space = $1
    AND left(t.term, 1) = a.initial AND char_length(t.term) BETWEEN a.letters - 2 AND a.letters + 2
    AND t.held > 0 ORDER BY t.held DESC LIMIT 20000)
UNION SELECT term, held FROM terms WHERE space = $1 AND id = ANY ($4) AND held > 0
