
-- The next role may {what}, and no more than that. The first three statements alone take it back; what a
-- role made itself it keeps.
REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM {role};
REVOKE ALL ON ALL SEQUENCES IN SCHEMA {schema} FROM {role};
REVOKE ALL ON SCHEMA {schema} FROM {role};
GRANT {on_schema} ON SCHEMA {schema} TO {role};
GRANT {on_tables} ON ALL TABLES IN SCHEMA {schema} TO {role};
{on_sequences}
