/** What people read about the database, disks, backups and stored files. */
export const operationsReasons = {
  'backup.stopped': 'it was stopped',
  'backup.failed_code': 'the backup failed ({{code}})',
  'backup.warnings': '{{first}}; {{rest}}',
  'backup.no_secrets': 'the secrets are not in it: without them stored credentials cannot be read',
  'backup.result_absent': '1 file of a kept result was not there',
  'backup.results_absent': '{{count}} files of kept results were not there',
  'backup.died': 'its process ended',
  'backup.process': 'its process ended with {{code}}',
  'backup.write': 'the backup could not be written to {{place}}: {{fault}}',
  'backup.result_write': 'a kept result could not be written to {{place}}: {{fault}}',
  'backup.space': '{{folder}} needs {{needed}} MB of free space for the copy of the database, and has {{free}} MB',
  'backup.other_bytes': 'the backup location returns different bytes than were written',
  'backup.not_mounted':
    '{{place}} holds none of the backups that were made there: mount its disk, or start over with "taskgate backup create --accept-folder"',
  'backup.results_place':
    'the gateway has its kept results in {{place}}, where backups would keep their copies: choose another place for BACKUP_TO',
  'backup.pg_dump': 'pg_dump failed: {{words}}',
  'backup.pg_restore': 'pg_restore failed: {{words}}',
  'backup.program_missing':
    "{{program}} is not installed: install the client programs of PostgreSQL, of the server's version or a later one",
  'backup.not_as_manifest': 'the backup {{id}} does not hold what its manifest says',
  'backup.damaged': 'the backup {{id}} is damaged: {{file}} is not what its manifest says',
  'backup.no_s3_keys': 'BACKUP_S3_ACCESS_KEY_ID and BACKUP_S3_SECRET_ACCESS_KEY are not set; a bucket needs both',
  'backup.unreadable_place': 'The backup location cannot be read: {{fault}}.',
  'backup.no_place': 'No backup location is set: set BACKUP_TO.',
  'backup.latest_failed': 'The latest backup failed: {{fault}}.',
  'backup.latest_not_pruned': 'The latest backup was made, but old ones could not be removed: {{fault}}.',
  'backup.two_schemas':
    'the tables are in the schemas {{schemas}}, of which a backup holds one: move them into one with "alter table … set schema …"',
  'backup.schema_name': 'the schema of the tables has a control character in its name: rename it',
  'backup.two_gateways': 'the backup {{id}} holds the tables of {{count}} gateways: it cannot be restored',
  'backup.undeletable': 'A file of the backup location cannot be deleted: {{fault}}.',
  'backup.result_removed': 'the kept result {{sha}} was removed from {{place}} while the backup was made',
  'place.bytes': 'it has more than {{max, bytes}}',
  'place.low': 'less than {{min, bytes}} is free after {{bytes, bytes}} were written',
  'place.folder_unmarked': 'the folder of results has no marker: its mount may be missing',
  'place.folder_foreign': 'the folder of results belongs to another database',
  'place.folder_empty': 'the folder of results has none of the kept files: its mount may be missing',
  'place.bucket_foreign': 'the bucket of results belongs to another database',
  'place.bucket_unmarkable': 'the bucket of results cannot be marked',
  'place.folder_full': 'the folder is full ({{code}})',
  'place.folder_unwritable': 'the folder cannot be written ({{code}})',
  'place.bucket_silent': 'the bucket does not respond ({{code}})',
  'place.bucket_full': 'the bucket is full ({{code}})',
  'place.bucket_size': 'the bucket rejects files of this size ({{code}})',
  'place.bucket_away': 'the bucket is not available ({{code}})',
  'place.bucket_refuses': 'the bucket rejects the request ({{code}})',
  'place.bucket_page':
    'the bucket answers with a web page ({{code}}): its endpoint is not that of the S3 API, but perhaps that of a console or a sign-in page',
  'place.bucket_list': 'the bucket returned an invalid file list',
  'place.bucket_ranges': 'the bucket ignores byte ranges',
  'place.bucket_broke_off': "the bucket's response was cut off ({{code}})",
  'disk.data': 'The disk of the data directory {{fault}}.',
  'disk.uploads': 'The disk of the folder of uploads {{fault}}.',
  'disk.full': 'is full',
  'disk.quota': 'is full: its quota is used up',
  'disk.read_only': 'is read-only',
  'disk.unwritable': 'cannot be written ({{code}})',
  'backup.database_damaged': 'the database in the backup is damaged: {{words}}',
  'backup.balances': '{{count}} or more balances do not match the ledger: run taskgate doctor',
  'backup.audit': 'the audit log was altered: run taskgate doctor',
  'backup.lacks': 'the backup {{id}} lacks its file {{file}}',
  'backup.manifest': 'the manifest of the backup {{id}} is damaged',
  'backup.disk_full': 'the disk is full: the database needs {{needed}} MB',
  'backup.result_missing': 'the kept result {{sha}} is missing in {{place}}',
  'backup.result_size': 'the kept result {{sha}} in {{place}} has another size',
  'backup.result_damaged': 'the kept result {{sha}} in {{place}} is damaged',
  'backup.other_results': 'the backup {{id}} lists other results',
  'demo.one_process':
    'The built-in demo vendor keeps its jobs in one process, and a gateway on PostgreSQL may have several. Start taskgate demo-vendor and create a channel for it.',
  'demo.disabled': 'The demo plugin is not enabled: enable it first.',
  'backup.newer':
    'the backup {{id}} was made by the newer version {{version}}: use that version of taskgate, or a later one',
  'store.disk_full':
    'The disk that holds the data directory is full. Free some space; the gateway resumes automatically.',
  'store.read_only': 'The database file cannot be written. Check the permissions of the data directory and its files.',
  'store.cannot_open': 'The database file cannot be opened. Check that the data directory exists and is writable.',
  'store.permissions': 'The database file cannot be opened. Check the permissions of the data directory and its files.',
  'store.disk_failed': 'Reading or writing the data directory failed. Check the disk, its free space and its quota.',
  'store.damaged': 'The database file is damaged. Move the data directory away and run "taskgate backup restore".',
  'store.no_database':
    'The database file is damaged or not a database. Move the data directory away and run "taskgate backup restore".',
  'store.busy': 'Another process has locked the database file for too long. Try again later.',
  'store.postgres_away':
    'PostgreSQL cannot be reached. Check that it is running and that DATABASE_URL names its host and port.',
  'store.postgres_sign_in': 'PostgreSQL rejected the sign-in. Check the user and the password in DATABASE_URL.',
  'store.postgres_missing': 'PostgreSQL has no database with the name in DATABASE_URL. Create it first.',
  'store.postgres_read_only': 'PostgreSQL is read-only. DATABASE_URL must name the primary server.',
  'store.postgres_full': "PostgreSQL's disk is full. Free some space; the gateway resumes automatically.",
  'store.postgres_connections': 'PostgreSQL has no connections left. Raise max_connections or run fewer nodes.',
  'store.flush_failed':
    'The database failed while saving. Check whether your change was made before you repeat it, and check the disk, its free space and its quota.',
} as const;

/** What operators read about variables of the environment, and about the TLS certificate. */
export const configReasons = {
  'config.acme_shared':
    'ACME_DOMAIN is set and several nodes may share this database. The certificate authority must reach the node that asks for the certificate. With several nodes, let a proxy terminate TLS.',
  'config.backup_http':
    'BACKUP_TO uses HTTP, so backups travel unencrypted, including prompts, email addresses and results.',
  'config.results_http': 'RESULTS_URL uses HTTP, so stored results travel unencrypted.',
  'config.origins_unset':
    "SESSION_COOKIE_TRUSTED_URL is not set. Behind a proxy that terminates TLS, list the public origin, or sessions can't be renewed.",
  'config.host_exposed':
    "The gateway listens on the network (HOST={{host}}), but session cookies aren't limited to HTTPS. Set SESSION_COOKIE_SECURE=true behind HTTPS.",
  'config.proxies_unset':
    'TRUSTED_PROXIES is not set, so others in your private network can forge the client addresses in logs and sessions. List your proxies, or set it to "none".',
  'config.proxies_all':
    'TRUSTED_PROXIES trusts every address, so any client can forge its own, even for rate limits and IP allow-lists. List only your proxies.',
  'config.upstream_private': 'UPSTREAM_ALLOW_PRIVATE=true lets plugins reach private addresses and this machine.',
  'config.redis_unneeded':
    'REDIS_URL is set, but a gateway on SQLite is a single node and needs no shared cache. Remove it.',
  'config.window_shortened':
    'USER_SESSION_ISSUANCE_WINDOW_SECONDS is {{seconds}}, longer than ended sessions are kept. {{used}} is used instead.',
  'config.traces_json': '{{name}} is {{protocol}}, but traces are sent as http/json.',
  'config.traces_json_port':
    "{{name}} is {{protocol}}, but traces are sent as http/json. Enter the collector's address for HTTP, usually with port 4318.",
  'config.value_refused': "{{name}} is {{value}}, which isn't allowed. {{used}} is used instead. Allowed: {{allowed}}",
  'config.allowed_whole': 'a whole number from {{min}} to {{max}}',
  'config.allowed_whole_or_off': '0, or a whole number from {{min}} to {{max}}',
  'config.allowed_share': 'a number from 0 to 1',
  'config.misspelt': "{{name}} isn't a setting and is ignored. Did you mean {{near}}?",
  'certificate.files_refused':
    'The files of the TLS certificate have changed and cannot be used ({{fault}}). The previous certificate is used until they are fixed.',
  'certificate.not_renewed':
    'The TLS certificate for {{names}} could not be renewed ({{fault}}). The previous one is used, or one that browsers refuse if there was none. The gateway tries again within six hours.',
  'certificate.not_stored':
    'The new TLS certificate for {{names}} is in use but could not be stored ({{code}}). The gateway tries again within six hours.',
  'certificate.challenge_unsupported':
    'ACME_CHALLENGE=tls-alpn-01 is no longer supported, so the TLS certificate is not renewed. Open port 80 to the gateway (ACME_HTTP_PORT) and remove ACME_CHALLENGE, or let a proxy terminate TLS.',
} as const;
