-- Budgets of API keys and users: {"amount", "period"} as JSON; null: none.
alter table api_keys add column budget text default null;
alter table users add column budget text default null;
-- The sums that a reservation counts in, as a JSON array of their ids; its settlement and its refund
-- count in the same. Empty: in none.
alter table ledger_entries add column budgets text not null default '';
-- What was reserved and charged within one period of one budget.
create table budget_sums (
  id text primary key not null,
  -- Unix seconds; 0: the period has no end.
  ends_at bigint not null,
  spent bigint not null
);
create index budget_sums_ended on budget_sums (ends_at);
