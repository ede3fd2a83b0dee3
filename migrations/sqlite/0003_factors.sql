-- Second factors and passkeys; what an owner may see of a personal access token; indexes of the hourly work.

create table passkeys (
  id integer primary key autoincrement,
  user_id integer not null references users (id),
  credential_id text not null,
  public_key text not null,
  rp_id text not null,
  name text not null,
  counter integer not null,
  transports text not null,
  backed_up integer not null,
  created_at integer not null,
  last_used_at integer not null default 0
);
create unique index passkeys_credential on passkeys (credential_id);
create index passkeys_user on passkeys (user_id, id);

create table two_factor (
  user_id integer primary key not null references users (id),
  secret_sealed text not null,
  enabled integer not null default 0,
  last_step integer not null default 0,
  failures integer not null default 0,
  locked_until integer not null default 0,
  created_at integer not null
);

create table backup_codes (
  id integer primary key autoincrement,
  user_id integer not null references users (id),
  code_hash varchar(64) not null,
  created_at integer not null,
  used_at integer
);
create unique index backup_codes_hash on backup_codes (user_id, code_hash);

-- Of tokens made before, neither is known.
alter table users add column access_token_prefix text not null default '';
alter table users add column access_token_created_at integer not null default 0;

create index user_sessions_created on user_sessions (created_at);
create index auth_flows_consumed on auth_flows (consumed_at) where consumed_at is not null;
