-- Secrets of webhooks that were replaced sign along for a while: all of them, not only the last. [{"sealed", "until": Unix seconds}], the latest first.
alter table api_keys add column webhook_formers text not null default '[]';
update api_keys set webhook_formers = json_array(json_object('sealed', webhook_former_sealed, 'until', webhook_former_until))
  where webhook_former_sealed is not null;
alter table api_keys drop column webhook_former_sealed;
alter table api_keys drop column webhook_former_until;
