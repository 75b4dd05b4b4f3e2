-- What finds terms, words that are misspelt and references. Made when all of a first load is there:
-- that is quicker than to grow them with it, and until then they are looked through.
CREATE INDEX IF NOT EXISTS terms_{space}_slips ON terms_{space} USING gin (slips)
    WITH (fastupdate = off);
CREATE INDEX IF NOT EXISTS chunks_{space}_names ON chunks_{space} USING gin (names);
CREATE INDEX IF NOT EXISTS documents_{space}_links ON documents_{space} USING gin (link_keys);
CREATE INDEX IF NOT EXISTS words_{space}_terms ON words_{space} USING gin (terms)
    WITH (fastupdate = off);
