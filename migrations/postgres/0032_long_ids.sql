-- The vendor's id where object_id is its digest: ids may be longer than an index takes.
alter table relay_objects add column full_id text not null default '';
