-- What was left of an account at its vendor, in millionths of a US dollar, when it was read, and why that failed.
alter table credentials add column balance_micros bigint default null;
alter table credentials add column balance_at bigint not null default 0;
alter table credentials add column balance_fault text default null;
