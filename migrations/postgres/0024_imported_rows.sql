-- What was imported from another gateway, by its id there, so that a second run takes nothing twice.
create table imported_rows (
  source varchar(64) not null,
  kind varchar(16) not null,
  source_id varchar(64) not null,
  target_id bigint not null,
  created_at bigint not null,
  primary key (source, kind, source_id)
);
