/** What operators read about variables of the environment, and about the TLS certificate. */
export const configReasons = {
  'config.acme_shared':
    'ACME_DOMAIN is set with PostgreSQL: of several nodes, the authority must reach the one that asks; let a proxy end TLS for several',
  'config.results_http': 'RESULTS_URL names an endpoint with http: kept results travel unencrypted',
  'config.origins_unset':
    "SESSION_COOKIE_SECURE=true without SESSION_COOKIE_TRUSTED_URL: only the request's own origin may refresh and log out; behind a proxy that ends TLS, list the public origin",
  'config.host_exposed':
    'HOST={{host}} is reachable from the network while SESSION_COOKIE_SECURE is not true: session cookies may travel unencrypted',
  'config.proxies_unset':
    'TRUSTED_PROXIES is not set: other hosts of a private network can forge the addresses in logs and sessions, while limits and allow-lists of keys believe a proxy on this machine only; list your proxies, or set it to "none"',
  'config.proxies_all':
    'TRUSTED_PROXIES trusts every address: any client can forge its own, for limits and allow-lists too; list your proxies',
  'config.upstream_private': 'UPSTREAM_ALLOW_PRIVATE=true: plugins can reach private and loopback addresses',
  'config.redis_unneeded': 'REDIS_URL is set with SQLite: a single node needs no shared cache',
  'config.window_shortened':
    'USER_SESSION_ISSUANCE_WINDOW_SECONDS={{seconds}} is longer than the retention of revoked sessions; {{used}} is used instead',
  'config.traces_json': '{{name}}={{protocol}}: traces are sent as http/json instead',
  'config.traces_json_port':
    "{{name}}={{protocol}}: traces are sent as http/json instead; name the collector's address for HTTP, usually with port 4318",
  'config.value_refused': '{{name}}: read {{value}}; allowed: {{allowed}}; {{used}} is used instead',
  'config.allowed_whole': 'a whole number from {{min}} to {{max}}',
  'config.allowed_whole_or_off': '0, or a whole number from {{min}} to {{max}}',
  'config.allowed_share': 'a number from 0 to 1',
  'config.misspelt': '{{name}} is no setting and is ignored; is it {{near}}?',
  'certificate.files_refused':
    'The files of the TLS certificate have changed and cannot be used ({{fault}}). The previous certificate is used until they are fixed.',
  'certificate.not_renewed':
    'The TLS certificate for {{names}} could not be renewed ({{fault}}). The previous one is used, or one that browsers refuse if there was none. The gateway tries again within six hours.',
  'certificate.not_stored':
    'The new TLS certificate for {{names}} is in use but could not be stored ({{code}}). The gateway tries again within six hours.',
  'certificate.challenge_unsupported':
    'ACME_CHALLENGE=tls-alpn-01 is no longer supported, so the TLS certificate is not renewed. Open port 80 to the gateway (ACME_HTTP_PORT) and remove ACME_CHALLENGE, or let a proxy end TLS.',
} as const;
