-- Users are warned of a low balance. A row for each who chose something or was warned.
create table balance_alerts (
  user_id bigint primary key,
  -- Quota; null: the operator's default, 0: no warning.
  threshold bigint,
  mail boolean not null default true,
  webhook_url text,
  webhook_secret_sealed text,
  -- When the user was warned, and below what; told_at 0: the next crossing is reported.
  told_at bigint not null default 0,
  told_threshold bigint not null default 0
);
-- The operator's notices are those of no user.
create index webhook_outbox_operator on webhook_outbox (id) where user_id = 0;
