-- A replaced API key, which works until an end beside the one that replaced it.
alter table api_keys add column former_hash varchar(64) not null default '';
alter table api_keys add column former_prefix text not null default '';
alter table api_keys add column former_until integer not null default 0;
create unique index api_keys_former on api_keys (former_hash) where former_hash <> '';
