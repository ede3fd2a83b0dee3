/** What people read about channels, options, sources of plugins and mail. */
export const settingsReasons = {
  'channels.name_length': 'name must have 1 to {{max}} characters.',
  'channels.key_characters':
    'key has line breaks or characters that no HTTP header can carry. Copy it from the vendor once more.',
  'channels.key_length': "key must have 1 to {{max}} characters: it is the vendor's credential.",
  'channels.key_length_of': "key must have 1 to {{max}} characters: it is the vendor's credential, such as {{format}}.",
  'channels.address_length': 'base_url must have at most {{max}} characters.',
  'channels.address_absolute': 'base_url must be an absolute address such as https://api.example.com.',
  'channels.address_scheme': 'base_url must begin with http:// or https://.',
  'channels.address_credentials': 'base_url must not contain credentials; put them into key.',
  'channels.address_call':
    'base_url ends with the call {{call}}. Enter the address up to that: the calls are added to it.',
  'channels.header_twice': 'The header {{name}} is given twice, in different cases.',
  'channels.headers_max': 'A channel has at most {{max}} headers.',
  'channels.default_own': 'body_defaults must not have {{field}}: the gateway sets it itself.',
  'channels.defaults_length': 'body_defaults must have at most {{max}} characters.',
  'channels.address_query': 'base_url must not contain a query or a fragment.',
  'channels.list_empty': '{{field}} must name at least one entry.',
  'channels.key_missing': 'A channel needs a key: enter key, or one of credentials.',
  'channels.label_length': 'label must have at most {{max}} characters, and no hidden ones.',
  'channels.list_max': '{{field}} may have at most {{max}} entries.',
  'channels.list_empty_entry': '{{field}} must not contain an empty entry.',
  'channels.list_twice': '{{field}} names an entry twice.',
  'channels.mapping_names': 'model_mapping must map model names to model names.',
  'channels.mapping_cycle': 'model_mapping has a cycle at "{{model}}".',
  'channels.balance_script': 'settings.balance_script must be a text of at most {{max, bytes}}.',
  'channels.balance_alert': 'settings.balance_alert_usd must be a number from 0 to {{max}}.',
  'channels.grace_range': 'settings.not_found_grace_seconds must be a whole number of seconds from 0 to {{max}}.',
  'channels.limit_range':
    '{{field}} must be a whole number from 1 to {{max}}. Leave it out where the vendor has no such limit.',
  'channels.limit_burst': '{{field}} needs max_per_minute beside it, and must not be above it.',
  'channels.pool_name': 'pool must have at most {{max}} characters, no hidden ones, and must not begin with #.',
  'channels.plugin_needed': 'A channel of type 61 needs task_plugin_key.',
  'channels.plugin_missing': 'No plugin with the key "{{plugin}}" is installed.',
  'channels.plugin_unwanted': 'task_plugin_key belongs to channels of types 60 and 61 only.',
  'channels.plugin_of_vendor':
    'The plugin "{{plugin}}" addresses its vendor only: a channel of type 60 needs one whose upstreams name new_api.',
  'channels.plugin_keys': 'task_extend_plugin_keys must be a list of plugin keys.',
  'channels.type_unknown':
    'No plugin declares the channel type {{type}}. Use 61 with task_plugin_key, or 1 for a relay.',
  'channels.address_needed': 'base_url is needed: the plugin has no default address.',
  'channels.hidden_characters':
    '{{field}}: it must have no control characters, no invisible ones, and none that change the direction of text.',
  'settings.needed_by_feature': '{{feature}} is on and needs {{names}}: switch it off first.',
  'settings.feature_needs': 'Set {{names}} before {{feature}} is switched on.',
  'settings.feature_needs_secret':
    'Set {{names}} before {{feature}} is switched on (no CRYPTO_SECRET decrypts the stored {{secrets}}: enter it again).',
  'settings.one_tls_mode':
    'SMTPSSLEnabled (TLS from the first byte) and SMTPStartTLSEnabled exclude each other: switch the other one off.',
  'settings.secret_moved':
    '{{secret}} was entered for the former {{option}} and is sent nowhere else: enter it again, or empty it, in the same change.',
  'settings.root_locked_out':
    'Root could no longer sign in: with PasswordLoginEnabled off a root account needs a passkey or an identity at a provider that is switched on.',
  'settings.identities_bound':
    '{{identities}} bound at {{provider}}. With another {{option}} they may be those of other people: unbind them first, or send force: true if it is the same provider with the same ids.',
  'settings.registration_open':
    'RegisterEnabled is true with neither TurnstileCheckEnabled nor EmailVerificationEnabled: programs can create any number of accounts',
  'settings.registration_open_funded':
    'RegisterEnabled is true with neither TurnstileCheckEnabled nor EmailVerificationEnabled: programs can create any number of accounts, and spend the QuotaForNewUser of each',
  'settings.named_twice': '{{option}} is named twice: send it once.',
  'mail.resolved': '{{host}} resolves to {{addresses}}.',
  'mail.connected': 'Connected to {{address}}, port {{port}}.',
  'mail.connected_by': 'Connected to {{address}}, port {{port}}, through {{proxy}}.',
  'mail.greeting': 'The server speaks SMTP.',
  'mail.encrypted': 'The connection is encrypted.',
  'mail.encrypted_unchecked': 'The connection is encrypted; the certificate was not checked, as configured.',
  'mail.clear': 'The server offers no TLS: the mail is sent unencrypted.',
  'mail.password_kept':
    'The password was not sent: without TLS it would cross a public network unencrypted. Use a port with TLS, or turn on SMTPStartTLSEnabled.',
  'mail.no_login': 'The server offers no login here. Leave SMTPAccount empty, or use the submission port.',
  'mail.logged_in': 'The server accepted the account and password.',
  'mail.sent': 'The server accepted the mail.',
  'mail.said': '{{fault}} The server said: {{words}}',
  'mail.late': 'The mail server did not answer in time.',
  'mail.no_greeting': 'The server does not speak SMTP in this mode on this port, or closed the connection.',
  'mail.begins_tls':
    'This port begins with TLS, and the settings without: turn on SMTPSSLEnabled, or use the port for STARTTLS, mostly 587.',
  'mail.begins_plain':
    'This port begins without TLS, and the settings with it: turn off SMTPSSLEnabled and turn on SMTPStartTLSEnabled, or use the port for TLS, mostly 465.',
  'mail.name_refused':
    'The server refuses the name by which the gateway introduces itself. Set ServerAddress to a host name that is known in DNS.',
  'mail.connection_refused': 'The server refuses connections from here.',
  'mail.no_tls_because': 'The TLS connection failed. Reason: {{words}}.',
  'mail.no_tls': 'The TLS connection failed.',
  'mail.login_refused': 'The server rejected the account or password.',
  'mail.refused': 'The server rejected the mail.',
  'mail.dns': 'The name of the mail server could not be resolved ({{code}}).',
  'mail.reserved': 'The mail server has a reserved address, which is closed to the gateway.',
  'mail.no_address': 'The name of the mail server has no address.',
  'mail.connect': 'No connection to port {{port}} of the mail server could be made ({{code}}).',
  'mail.sender': 'The sender (SMTPFrom) is not a mail address.',
  'mail.recipient': 'The recipient is not a mail address.',
  'mail.subject': 'The subject has a line break or another control character.',
  'sources.list': 'The sources must be a list of at most {{max}} {name, index_url, public_key?}.',
  'sources.object': 'Source {{number}} must be an object {name, index_url, public_key?}.',
  'sources.field': 'Source {{number}} has an unknown field: it takes name, index_url and public_key.',
  'sources.name': 'The name of source {{number}} must be one line of 1 to {{max}} characters.',
  'sources.name_taken': 'The name of source {{number}} is taken by another source: give each source its own name.',
  'sources.key': 'The public_key of source {{number}} must be the last line of a minisign.pub file.',
  'sources.url': 'The index_url of source {{number}} {{fault}}.',
  'sources.url_missing': 'is missing',
  'sources.url_absolute':
    'must be an absolute http or https URL, or file:// and the absolute path of a folder under MARKETPLACE_DIR',
  'sources.url_length': 'must have at most {{max}} characters',
  'sources.url_credentials': 'must carry no credentials',
  'sources.url_fragment': 'must have no fragment',
  'mail.name': 'The name of the mail has other characters than letters and digits.',
} as const;
