-- Pictures of results: rows of kind 'preview' whose key is 'preview:' and that of their artifact.
alter table kept_results add column width integer not null default 0;
alter table kept_results add column height integer not null default 0;
create index kept_results_previews on kept_results (user_id, kept_at, bytes) where kind = 'preview';
