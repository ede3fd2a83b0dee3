-- What a text of the gateway says, as `{"reason": …, "params": …}`, so that it can be said in each
-- language; null for the words of people, and for rows of before.
alter table tasks add column fail_reason_sentence text default null;
alter table task_events add column detail_sentence text default null;
alter table usage_logs add column reason_sentence text default null;
alter table ledger_entries add column note_sentence text default null;
alter table kept_results add column reason_sentence text default null;
alter table backup_runs add column message_sentence text default null;
alter table channel_tests add column message_sentence text default null;
