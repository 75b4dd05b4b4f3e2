-- Whether some session holds the lock $1.
SELECT EXISTS (SELECT FROM pg_locks
    WHERE locktype = 'advisory' AND granted AND objsubid = 1
    AND classid = (($1 >> 32) & 4294967295)::oid AND objid = ($1 & 4294967295)::oid
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
