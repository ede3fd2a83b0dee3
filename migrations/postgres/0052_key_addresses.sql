-- The address of a key's last request; empty: none since this column is there.
alter table api_keys add column last_used_ip text not null default '';
