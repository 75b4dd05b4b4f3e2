
-- The next role may {what}, and no more than that. The first three statements alone take it back.
REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM {role};
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA {schema} FROM {role};
REVOKE ALL ON SCHEMA {schema} FROM {role};
GRANT USAGE ON SCHEMA {schema} TO {role};
GRANT {on_tables} ON ALL TABLES IN SCHEMA {schema} TO {role};
{rest}
