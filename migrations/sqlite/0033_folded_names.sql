-- Names and addresses ignore the case of A to Z alone. SQLite's indexes have done so since 0001; these have the names of
-- PostgreSQL's, where the collation of the database decided.
create unique index users_username_folded on users (lower(username));
create index users_email_folded on users (lower(email)) where email is not null;
