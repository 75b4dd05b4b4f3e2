-- The schemas of other versions that this user may read. A view would run its functions with this user's rights.
SELECT n.nspname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname = 'spaces' AND c.relkind = 'r' AND n.nspname ~ '^kb_v[0-9]+_[0-9]+$' AND n.nspname <> $1
    AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT') ORDER BY 1
