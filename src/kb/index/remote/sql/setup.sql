-- Prepares a connection, and finds the versions of pgvector and of the server.
SELECT e.extversion, current_setting('server_version_num')::int,
    set_config('search_path', quote_ident($1) || coalesce(', ' || quote_ident(n.nspname), ''), false),
    set_config('statement_timeout', '120000', false), set_config('jit', 'off', false),
    set_config('hnsw.ef_search', '100', false), set_config('hnsw.iterative_scan', 'relaxed_order', false),
    set_config('client_min_messages', 'error', false),
    set_config('tcp_keepalives_idle', '30', false), set_config('tcp_keepalives_interval', '10', false),
    set_config('tcp_keepalives_count', '3', false)
FROM (VALUES (1)) AS one
LEFT JOIN pg_extension e ON e.extname = 'vector'
LEFT JOIN pg_namespace n ON n.oid = e.extnamespace
