-- Grants all roles that may use `spaces` the same rights on new tables, which only their maker may use
-- at first. The owner of `spaces` may grant them to others later.
DO $shared$ DECLARE one record; BEGIN
FOR one IN SELECT pg_get_userbyid(a.grantee) AS role, bool_or(a.privilege_type = 'INSERT') AS writes,
        a.grantee = c.relowner AS passes_on
    FROM pg_class c, aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) a
    WHERE c.oid = 'spaces'::regclass AND a.grantee <> 0 GROUP BY 1, 3
LOOP
    EXECUTE format('GRANT %s ON {tables} TO %I %s', CASE WHEN one.writes
        THEN 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE' ELSE 'SELECT' END, one.role,
        CASE WHEN one.passes_on THEN 'WITH GRANT OPTION' END);
END LOOP; END $shared$;
