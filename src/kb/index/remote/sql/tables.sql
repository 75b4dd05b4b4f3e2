CREATE EXTENSION IF NOT EXISTS vector;
CREATE SCHEMA IF NOT EXISTS {schema};
CREATE TABLE IF NOT EXISTS {schema}.spaces (
    space int PRIMARY KEY GENERATED ALWAYS AS IDENTITY, name text UNIQUE,
    generation bigint NOT NULL DEFAULT 0, documents bigint NOT NULL DEFAULT 0,
    chunks bigint NOT NULL DEFAULT 0, tokens bigint NOT NULL DEFAULT 0, average real,
    next_number bigint NOT NULL DEFAULT 0, model int);
CREATE TABLE IF NOT EXISTS {schema}.models (
    model int PRIMARY KEY GENERATED ALWAYS AS IDENTITY, id text NOT NULL UNIQUE, dimensions int NOT NULL);
CREATE TABLE IF NOT EXISTS {schema}.leases (
    name text PRIMARY KEY, holder text NOT NULL, until timestamptz NOT NULL);
