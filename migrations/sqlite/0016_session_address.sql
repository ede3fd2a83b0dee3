-- The address that decided at a session's sign-in, as limits count it. Empty in rows from before.
alter table user_sessions add column address_key text not null default '';
