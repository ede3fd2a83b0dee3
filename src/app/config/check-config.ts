import ipaddr from 'ipaddr.js';
import { warnOfProtocol } from './collector-settings.ts';
import type { Config } from './config-variables.ts';

/**
 * Checks rules between variables, and warns of unsafe combinations. `set` holds the environment
 * names that were given, with valid values or not. `needsSecrets` false: a command runs that can do
 * without those of the gateway.
 */
export function checkConfig(
  config: Config,
  set: ReadonlySet<string>,
  { needsSecrets = true } = {},
): { config: Config; faults: string[]; warnings: string[] } {
  const faults: string[] = [];
  const warnings: string[] = [];

  if (config.cookieTrustedUrls.length > 0 && !config.cookieSecure) {
    faults.push(
      'SESSION_COOKIE_TRUSTED_URL: set without SESSION_COOKIE_SECURE=true; allowed: only together with it, since the origin check is off otherwise',
    );
  }
  if (set.has('TLS_CERT_FILE') !== set.has('TLS_KEY_FILE')) {
    const missing = set.has('TLS_KEY_FILE') ? 'TLS_CERT_FILE' : 'TLS_KEY_FILE';
    faults.push(`${missing}: not set; allowed: TLS_CERT_FILE and TLS_KEY_FILE together, or neither`);
  }
  if (config.acmeDomains.length > 0 && set.has('TLS_CERT_FILE')) {
    faults.push('ACME_DOMAIN: set with TLS_CERT_FILE; allowed: one of the two');
  }
  if (config.acmeDomains.length > 0 && config.databaseUrl !== '') {
    warnings.push(
      'ACME_DOMAIN is set with PostgreSQL: of several nodes, the authority must reach the one that asks; let a proxy end TLS for several',
    );
  }
  if (config.databasePoolUrl !== '' && config.databaseUrl === '') {
    faults.push('DATABASE_POOL_URL: set without DATABASE_URL; allowed: only together with it');
  }
  if (config.databaseUrl !== '' && needsSecrets) {
    for (const [env, value] of [
      ['SESSION_SECRET', config.sessionSecret],
      ['CRYPTO_SECRET', config.cryptoSecret],
    ] as const) {
      if (value !== '') continue;
      // Each node would create its own, and no node could read what another wrote.
      faults.push(
        `${env}: not set; with PostgreSQL it is required and must be the same on all nodes (openssl rand -hex 32)`,
      );
    }
  }
  const { resultsPlace: results } = config;
  if (results.kind === 's3') {
    for (const [env, value] of [
      ['RESULTS_S3_ACCESS_KEY_ID', config.resultsS3KeyId],
      ['RESULTS_S3_SECRET_ACCESS_KEY', config.resultsS3Secret],
    ] as const) {
      if (value === '') faults.push(`${env}: not set; required where RESULTS_URL names a bucket`);
    }
    const { protocol, hostname } = new URL(results.endpoint);
    if (protocol === 'http:' && !isLoopback(hostname)) {
      warnings.push('RESULTS_URL names an endpoint with http: kept results travel unencrypted');
    }
  }

  faults.push(...checkResultsOrigin(config));

  if (config.cookieSecure && config.cookieTrustedUrls.length === 0) {
    warnings.push(
      "SESSION_COOKIE_SECURE=true without SESSION_COOKIE_TRUSTED_URL: only the request's own origin may refresh and log out; behind a proxy that ends TLS, list the public origin",
    );
  }
  if (!config.cookieSecure && !isLoopback(config.host)) {
    warnings.push(
      `HOST=${config.host} is reachable from the network while SESSION_COOKIE_SECURE is not true: session cookies may travel unencrypted`,
    );
  }
  if (!set.has('TRUSTED_PROXIES')) {
    warnings.push(
      'TRUSTED_PROXIES is not set: other hosts of a private network can forge the addresses in logs and sessions, while limits and allow-lists of keys believe a proxy on this machine only; list your proxies, or set it to "none"',
    );
  }
  if (config.trustedProxies.some((proxy) => proxy.endsWith('/0'))) {
    warnings.push(
      'TRUSTED_PROXIES trusts every address: any client can forge its own, for limits and allow-lists too; list your proxies',
    );
  }
  if (config.upstreamAllowPrivate) {
    warnings.push('UPSTREAM_ALLOW_PRIVATE=true: plugins can reach private and loopback addresses');
  }
  if (config.redisUrl !== '' && config.databaseUrl === '') {
    warnings.push('REDIS_URL is set with SQLite: a single node needs no shared cache');
  }

  warnings.push(...warnOfProtocol(config));

  const retentionSeconds = config.sessionRevokedRetentionDays * 86_400;
  if (config.sessionIssuanceWindow <= retentionSeconds) return { config, faults, warnings };
  // Rows older than the retention are deleted: a longer window would miss them.
  warnings.push(
    `USER_SESSION_ISSUANCE_WINDOW_SECONDS=${config.sessionIssuanceWindow} is longer than the retention of revoked sessions; ${retentionSeconds} is used instead`,
  );
  return { config: { ...config, sessionIssuanceWindow: retentionSeconds }, faults, warnings };
}

/** The origin of results must not be one of the panel's. */
function checkResultsOrigin({ resultsOrigin, resultsPort, port, cookieTrustedUrls, trustedHosts }: Config): string[] {
  if (resultsOrigin === '') {
    return resultsPort === 0 ? [] : ['RESULTS_PORT: set without RESULTS_ORIGIN; allowed: only together with it'];
  }
  if (resultsPort !== 0 && resultsPort === port) {
    return ['RESULTS_PORT: the same as PORT; allowed: another port, or unset for a host name of its own'];
  }
  if (cookieTrustedUrls.includes(resultsOrigin)) {
    return ['RESULTS_ORIGIN: also in SESSION_COOKIE_TRUSTED_URL; allowed: an origin that the panel does not have'];
  }
  const { hostname } = new URL(resultsOrigin);
  const panelNames = ['localhost', ...trustedHosts, ...cookieTrustedUrls.map((url) => new URL(url).hostname)];
  if (resultsPort === 0 && (panelNames.includes(hostname) || ipaddr.isValid(hostname.replace(/^\[|\]$/g, '')))) {
    return [
      `RESULTS_ORIGIN: ${hostname} is an address of the panel; allowed: a host name of its own, or RESULTS_PORT for a listener of its own`,
    ];
  }
  return [];
}

/** Whether only this machine reaches the address. Any name but localhost counts as reachable. */
export function isLoopback(host: string): boolean {
  if (host.toLowerCase() === 'localhost') return true;
  return ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback';
}
