import ipaddr from 'ipaddr.js';
import { sentence } from '../../kernel/index.ts';
import type { SettingWarning } from '../../settings/index.ts';
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
): { config: Config; faults: string[]; warnings: SettingWarning[] } {
  const faults: string[] = [];
  const warnings: SettingWarning[] = [];

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
    warnings.push({ ...doubtful('ACME_DOMAIN'), ...sentence('config.acme_shared') });
  }
  faults.push(...checkAcmePort(config));
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
  const { resultsLocation: results } = config;
  if (results.kind === 's3') {
    for (const [env, value] of [
      ['RESULTS_S3_ACCESS_KEY_ID', config.resultsS3KeyId],
      ['RESULTS_S3_SECRET_ACCESS_KEY', config.resultsS3Secret],
    ] as const) {
      if (value === '') faults.push(`${env}: not set; required where RESULTS_URL names a bucket`);
    }
    if (isUnencrypted(results)) warnings.push({ ...unsafe('RESULTS_URL'), ...sentence('config.results_http') });
  }
  if (isUnencrypted(config.backupTo)) warnings.push({ ...unsafe('BACKUP_TO'), ...sentence('config.backup_http') });

  faults.push(...checkResultsOrigin(config));

  if (config.cookieSecure && config.cookieTrustedUrls.length === 0) {
    warnings.push({ ...doubtful('SESSION_COOKIE_TRUSTED_URL'), ...sentence('config.origins_unset') });
  }
  if (!config.cookieSecure && !isLoopback(config.host)) {
    warnings.push({ ...unsafe('HOST'), ...sentence('config.host_exposed', { host: config.host }) });
  }
  if (!set.has('TRUSTED_PROXIES')) {
    warnings.push({ ...unsafe('TRUSTED_PROXIES'), ...sentence('config.proxies_unset') });
  }
  if (config.trustedProxies.some((proxy) => proxy.endsWith('/0'))) {
    warnings.push({ ...unsafe('TRUSTED_PROXIES'), ...sentence('config.proxies_all') });
  }
  if (config.upstreamAllowPrivate) {
    warnings.push({ ...unsafe('UPSTREAM_ALLOW_PRIVATE'), ...sentence('config.upstream_private') });
  }
  if (config.redisUrl !== '' && config.databaseUrl === '') {
    warnings.push({ ...doubtful('REDIS_URL'), ...sentence('config.redis_unneeded') });
  }

  warnings.push(...warnOfProtocol(config));

  const retentionSeconds = config.sessionRevokedRetentionDays * 86_400;
  if (config.sessionIssuanceWindow <= retentionSeconds) return { config, faults, warnings };
  // Rows older than the retention are deleted: a longer window would miss them.
  warnings.push({
    ...doubtful('USER_SESSION_ISSUANCE_WINDOW_SECONDS'),
    ...sentence('config.window_shortened', { seconds: config.sessionIssuanceWindow, used: retentionSeconds }),
  });
  return { config: { ...config, sessionIssuanceWindow: retentionSeconds }, faults, warnings };
}

/** Whether what goes to a bucket can be read on its way. */
function isUnencrypted(place: Config['backupTo']): boolean {
  if (place.kind !== 's3') return false;
  const { protocol, hostname } = new URL(place.endpoint);
  return protocol === 'http:' && !isLoopback(hostname);
}

const unsafe = (setting: string) => ({ setting, code: 'setting_unsafe' as const });
const doubtful = (setting: string) => ({ setting, code: 'setting_doubtful' as const });

/** One port serves HTTPS, another one answers the authority without TLS. */
function checkAcmePort({ acmeDomains, acmeChallenge, acmeHttpPort, port, resultsPort }: Config): string[] {
  if (acmeDomains.length === 0 || acmeChallenge !== 'http-01') return [];
  const taken = acmeHttpPort === port ? 'PORT' : acmeHttpPort === resultsPort ? 'RESULTS_PORT' : undefined;
  if (taken === undefined) return [];
  return [
    `ACME_HTTP_PORT: ${acmeHttpPort}, the same as ${taken}; allowed: another port than that of HTTPS, such as ${taken}=443 with ACME_HTTP_PORT=80`,
  ];
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
