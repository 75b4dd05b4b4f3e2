-- Versions, lag, whether the schema $1 is there, may be read and written.
SELECT current_setting('server_version'),
    (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
    CASE WHEN pg_is_in_recovery() THEN coalesce((extract(epoch FROM
        clock_timestamp() - pg_last_xact_replay_timestamp()) * 1000)::bigint, 0) END,
    c.oid IS NOT NULL,
    has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT'),
    has_table_privilege(c.oid, 'INSERT')
    FROM (VALUES (1)) AS one LEFT JOIN pg_namespace n ON n.nspname = $1
    LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = 'spaces'
