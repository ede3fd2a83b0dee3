-- The proxy of a channel's requests, sealed: an address with its credentials, or "direct". Null: the gateway's.
alter table channels add column proxy_sealed text default null;
-- Further headers of a channel's requests, sealed: a JSON object. Null: none.
alter table channels add column headers_sealed text default null;
-- Fields that relayed JSON bodies get where they lack them. Null: none.
alter table channels add column body_defaults text default null;
