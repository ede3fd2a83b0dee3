-- Every way in: affiliate codes, codes sent by mail, custom providers, and addresses as identities that have one owner.

alter table users add column aff_code varchar(32);
alter table users add column inviter_id integer not null default 0;
alter table users add column remark text not null default '';
create unique index users_aff_code on users (aff_code) where aff_code is not null;
create index users_inviter on users (inviter_id) where inviter_id <> 0;

alter table auth_flows add column secret_hash varchar(64) not null default '';
alter table auth_flows add column tries integer not null default 0;
create index auth_flows_user on auth_flows (user_id) where user_id <> 0;

create table oauth_providers (
  id integer primary key autoincrement,
  slug varchar(32) not null,
  name text not null,
  icon text not null,
  enabled integer not null,
  client_id text not null,
  client_secret_sealed text not null,
  authorization_endpoint text not null,
  token_endpoint text not null,
  user_info_endpoint text not null,
  well_known text not null,
  scopes text not null,
  user_id_field text not null,
  username_field text not null,
  display_name_field text not null,
  email_field text not null,
  auth_style integer not null,
  access_policy text not null,
  access_denied_message text not null,
  created_at integer not null,
  updated_at integer not null
);
create unique index oauth_providers_slug on oauth_providers (slug);

create index external_identity_claims_owner on external_identity_claims (user_id);

-- Migration 0002 gave identities to deleted users too. They lose them to the first user who is there and has the same one; all
-- other identities have their owner already.
delete from external_identity_claims where user_id in (select id from users where deleted_at <> 0);
insert into external_identity_claims (provider, subject, user_id, created_at)
select provider, subject, min(user_id), min(created_at)
from (
  select 'telegram' as provider, telegram_id as subject, id as user_id, created_at from users where deleted_at = 0
  union all select 'github', github_id, id, created_at from users where deleted_at = 0
  union all select 'discord', discord_id, id, created_at from users where deleted_at = 0
  union all select 'oidc', oidc_id, id, created_at from users where deleted_at = 0
  union all select 'linuxdo', linux_do_id, id, created_at from users where deleted_at = 0
  union all select 'wechat', wechat_id, id, created_at from users where deleted_at = 0
) as identities
where subject is not null and subject <> ''
group by provider, subject
on conflict do nothing;

-- Addresses were not unique: the first user who is there owns his, whose spelling ignores case. A longer one is no identity.
insert into external_identity_claims (provider, subject, user_id, created_at)
select 'email', lower(email), min(id), min(created_at)
from users
where deleted_at = 0 and email is not null and email <> '' and length(lower(email)) <= 128
group by lower(email)
on conflict do nothing;
