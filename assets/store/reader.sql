DO $$ DECLARE kept text; BEGIN
    SELECT string_agg(c.relname, ', ') INTO kept FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = '{schema}' AND c.relkind = 'r'
        AND has_table_privilege({literal}, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE');
    IF kept IS NOT NULL THEN
        RAISE EXCEPTION '% may still write %: take it out of the roles that may write', {literal}, kept;
    END IF;
END $$;
