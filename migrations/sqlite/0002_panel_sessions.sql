-- Panel sessions: versions of a user's security state, login sessions, temporary authentication flows, owners of identities.

alter table users add column auth_version integer not null default 1;

-- Personal access tokens were kept in clear text; from here on only their SHA-256 in hex is.
update users set access_token = null where access_token = '';
update users set access_token = sha256_hex(access_token) where access_token is not null;

-- An earlier layout of this table had previous_refresh_hash as char(64), which pads; the rows are kept.
create table if not exists user_sessions (
  sid varchar(64) primary key not null,
  user_id integer not null references users (id),
  version integer not null default 1,
  user_auth_version integer not null,
  status varchar(16) not null,
  refresh_hash varchar(64) not null,
  previous_refresh_hash varchar(64),
  previous_valid_until integer not null default 0,
  login_method varchar(32) not null,
  ip varchar(64) not null,
  user_agent text not null,
  created_at integer not null,
  last_active_at integer not null,
  expires_at integer not null,
  revoked_at integer not null default 0,
  revoked_reason varchar(64) not null default ''
);
update user_sessions set previous_refresh_hash = rtrim(previous_refresh_hash) where previous_refresh_hash is not null;
create index if not exists user_sessions_active on user_sessions (user_id, status, expires_at);
create index if not exists user_sessions_issued on user_sessions (user_id, created_at);
create index if not exists user_sessions_expiry on user_sessions (expires_at);
create index if not exists user_sessions_revoked on user_sessions (status, revoked_at);

create table auth_flows (
  id integer primary key autoincrement,
  token_hash varchar(64) not null,
  purpose varchar(32) not null,
  provider varchar(64) not null default '',
  intent varchar(16) not null default '',
  user_id integer not null default 0,
  session_id varchar(64) not null default '',
  payload text not null default '',
  created_at integer not null,
  expires_at integer not null,
  consumed_at integer
);
create unique index auth_flows_token on auth_flows (token_hash);
create index auth_flows_expiry on auth_flows (expires_at);

create table external_identity_claims (
  id integer primary key autoincrement,
  provider varchar(32) not null,
  subject varchar(128) not null,
  user_id integer not null references users (id),
  created_at integer not null
);
create unique index external_identity_claims_subject on external_identity_claims (provider, subject);
create unique index external_identity_claims_user on external_identity_claims (provider, user_id);

-- A Telegram identity with two users has been refused before this runs. Of the other providers' identities the first user
-- keeps the claim, since that is whom the earlier layout signed in.
insert into external_identity_claims (provider, subject, user_id, created_at)
select provider, subject, min(user_id), min(created_at)
from (
  select 'telegram' as provider, telegram_id as subject, id as user_id, created_at from users
  union all select 'github', github_id, id, created_at from users
  union all select 'discord', discord_id, id, created_at from users
  union all select 'oidc', oidc_id, id, created_at from users
  union all select 'linuxdo', linux_do_id, id, created_at from users
  union all select 'wechat', wechat_id, id, created_at from users
) as identities
where subject is not null and subject <> ''
group by provider, subject;
