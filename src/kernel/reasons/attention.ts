/** What an administrator should look at. */
export const attentionReasons = {
  'attention.plugin_suspended':
    'The plugin "{{plugin}}" was stopped too often on this node and accepts no new tasks for a few minutes.',
  'attention.plugin_failed': 'The plugin "{{plugin}}" cannot run its installed version: {{fault}}',
  'attention.plugin_keeps_path':
    'The plugin "{{plugin}}" handles {{path}}, a path that a later release of the gateway claims for itself.',
  'attention.stage_submit': 'submissions',
  'attention.stage_poll': 'polls',
  'attention.stage_artifact': 'downloads',
  'attention.plugin_failing':
    'The plugin "{{plugin}}" {{version}}: {{failures}} of the last {{cases}} {{stage}} failed; with {{former}} it was {{formerFailures}} of {{formerCases}}.',
  'attention.plugin_failing_new':
    'The plugin "{{plugin}}" {{version}}: {{failures}} of the last {{cases}} {{stage}} failed; there are no figures of {{former}} to compare with.',
  'attention.plugin_rolled_back': '{{figures}} The gateway went back to version {{former}}.',
  'attention.credential_exposed':
    'The plugin "{{plugin}}" {{version}} sends the channel key outside headers: {{places}}.',
  'attention.plugin_revoked':
    'The marketplace "{{source}}" revoked version {{version}} of the plugin "{{plugin}}", which is active: {{reason}}',
  'attention.plugin_revoked_tasks':
    'The marketplace "{{source}}" revoked version {{version}} of the plugin "{{plugin}}", which unfinished tasks still use ({{count}}): {{reason}}',
  'attention.channel_all_failed': 'All {{count}} tasks on {{channel}} failed in the last 24 hours.',
  'attention.channel_failed': '{{failed}} of {{ended}} tasks on {{channel}} failed in the last 24 hours.',
  'attention.channel_idle': 'No task on {{channel}} ended in the last 24 hours.',
  'attention.channel_latest': '{{figures}} Latest reason: {{fault}}',
  'attention.channel_test_failed': '{{figures}} The latest test failed: {{fault}}',
  'attention.channel_key_ends': 'A key of {{channel}} ({{key}}) ends on {{date}} (UTC).',
  'attention.channel_key_unreadable': "Can't decrypt the key of {{channel}} with the current CRYPTO_SECRET.",
  'attention.channel_key_refused': 'Nothing is sent through {{channel}}: the vendor rejects its key.',
  'attention.channel_balance_empty':
    'Nothing is sent through {{channel}}: the vendor says that its account is used up.',
  'attention.channel_balance_low':
    'The balance at the vendor of {{channel}} is below its alert amount: {{usd}} USD left.',
  'attention.channel_resting': 'Nothing is sent through {{channel}} for a while: the vendor rejected it repeatedly.',
  'attention.channel_no_plugin': '{{channel}} needs the plugin "{{plugin}}", which is not active.',
  'attention.channel_no_type': '{{channel}} has the channel type {{type}}, which no active plugin serves.',
  'attention.channel_lost_models':
    'The plugin "{{plugin}}" {{version}} does not serve these models of {{channel}}: {{models}}.',
  'attention.polls_late': 'The latest poll is {{seconds}} s late: no node polls (UPDATE_TASK), or they cannot keep up.',
  'attention.queue_stalled':
    'Tasks have waited for {{seconds}} s although slots are free. The log of this node says why.',
  'attention.tasks_overdue': 'Tasks that have been running for more than {{hours}} hours: {{count}}.',
  'attention.webhooks_late': 'Webhooks that wait to be delivered: {{count}}, the oldest for {{hours}} hours.',
  'attention.relayed': 'Relayed models',
  'attention.model_unpriced_free': '{{plugin}}: models without a price, free for everyone: {{models}}.',
  'attention.model_unpriced_refused': '{{plugin}}: models without a price, blocked for users: {{models}}.',
  'attention.price_facts':
    'The price of {{price}} uses billing variables that are not declared: {{facts}}. Submissions are rejected.',
  'attention.price_unreadable': "The price of {{price}} can't be read, so submissions are rejected. {{fault}}",
  'attention.price_unused': 'Prices that apply to no model: {{prices}}.',
  'attention.address_mails': 'Links in emails and sign-in redirects point to {{address}}. Set ServerAddress.',
  'attention.address_local':
    'Links in results and emails point to {{address}}, so they only work on this machine. Set ServerAddress.',
  'attention.address_none':
    'Results have no links, and links in emails point to {{address}}. Set ServerAddress to the address where people reach the gateway.',
  'attention.setting_unsafe': '{{warning}}',
  'attention.proxy_not_listed':
    "{{address}} forwards requests but isn't in TRUSTED_PROXIES, so rate limits and IP allow-lists see one address for all its clients. If it is your proxy, set TRUSTED_PROXIES={{address}} (with Docker, the bridge's network).",
  'attention.results_blocked': 'Results cannot be kept: {{fault}}. Waiting: {{count}}; their tasks are not affected.',
  'attention.results_lost': 'Results of the last 7 days that could not be kept: {{count}}.',
  'attention.maintenance_on': 'New submissions get 503: {{message}}',
  'attention.retention_undecided':
    'All prompts and responses of old tasks are kept: turn on retention.enabled, or set its days to 0.',
  'attention.ledger_mismatch':
    'Balances that do not match their ledger entries: at least {{count}}. Run taskgate doctor.',
  'attention.node_gone': 'The node {{node}} has sent no heartbeat for {{seconds}} s and did not stop cleanly.',
  'attention.node_versions': 'The nodes run different versions: {{versions}}.',
  'attention.no_master': 'Every running node is a worker, so nothing is cleaned up: run one with NODE_ROLE=master.',
  'attention.disk_low': 'Only {{megabytes}} MB are free in {{path}}.',
  'attention.clock_back': 'The clock of this node was set back by {{seconds}} s.',
  'attention.clock_ahead':
    'The clock of this node was set ahead by {{seconds}} s, or its machine was suspended: nothing old is removed for an hour.',
  'attention.clock_behind_database':
    "The clock of this node is {{seconds}} s behind the database's: people who sign in here may get 401 on other nodes. Set both by NTP.",
  'attention.clock_before_database':
    "The clock of this node is {{seconds}} s ahead of the database's: people who sign in here may get 401 on other nodes. Set both by NTP.",
  'attention.backup_off':
    'Backups are off: if the database is lost, balances and tasks are lost with it. Set BACKUP_TO and turn on daily backups.',
  'attention.backup_never': 'No backup was made in the {{hours}} hours since daily backups were turned on.',
  'attention.backup_old': 'The latest backup is {{hours}} hours old.',
  'attention.backup_unsealed': 'Neither BACKUP_PASSPHRASE_FILE nor BACKUP_RECIPIENTS is set: backups lack the secrets.',
  'attention.alert_undelivered':
    'The alert {{alert}} was not delivered. Attempts: {{attempts}}, last response: {{answer}}.',
  'attention.job_unrecorded':
    'The vendor of channel {{channel}} runs the job "{{job}}" for the task {{task}}, which could not be recorded in time: nobody polls or bills it. Its id is noted, and recorded when the database can be written.',
  'attention.job_recorded_late':
    'The vendor of channel {{channel}} runs the job "{{job}}" for the task {{task}}, which could not be recorded in time: nobody polls or bills it. Its task names it now.',
  'attention.data_damaged': 'Findings of the weekly check of the data ({{count}}): {{detail}}',
} as const;
