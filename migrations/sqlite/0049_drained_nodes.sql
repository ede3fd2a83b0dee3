-- The machine of a node, and whether an operator has taken the node out of service.
alter table nodes add column host text not null default '';
alter table nodes add column drained integer not null default 0;
