import { describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig } from '../../src/app/config/config.ts';
import { VARIABLES } from '../../src/app/config/config-variables.ts';
import { configurationDocument, describeConfig } from '../../src/app/config/describe-config.ts';
import { libpqVariables } from '../../src/store/index.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const folder = temporaryFolder();
const pem = join(folder, 'cert.pem');
writeFileSync(pem, '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n');
const noPem = join(folder, 'note.txt');
writeFileSync(noPem, 'hello');

const SECRET = 'a-secret-of-thirty-two-characters';
/** The warnings in words, as the log has them. */
const valid = (environment: Record<string, string>) => {
  const reading = readConfig(environment);
  if (!reading.ok) throw new Error(reading.faults.join('\n'));
  return { ...reading, warnings: reading.warnings.map(({ message }) => message) };
};
const faults = (environment: Record<string, string>) => {
  const reading = readConfig(environment);
  return reading.ok ? [] : reading.faults;
};

describe('misspelt variables', () => {
  test.each([
    ['SESION_SECRET', 'SESSION_SECRET'],
    ['DATABASE_URI', 'DATABASE_URL'],
    ['TRUSTED_PROXYS', 'TRUSTED_PROXIES'],
    ['BACKUP_PASPHRASE_FILE', 'BACKUP_PASSPHRASE_FILE'],
  ])('%s warns of %s, without its value', (wrong, right) => {
    const { warnings } = valid({ [wrong]: 'a-value-to-hide' });
    expect(warnings).toContain(`${wrong} isn't a setting and is ignored. Did you mean ${right}?`);
    expect(warnings.join()).not.toContain('a-value-to-hide');
  });

  test.each(['PATH', 'HOSTNAME', 'SSL_CERT_FILE', 'CRYPTO_SECRET_FILE', 'LC_ALL', 'INVOCATION_ID'])(
    '%s belongs to somebody else or is right',
    (name) => {
      const { warnings } = valid({ [name]: name === 'CRYPTO_SECRET_FILE' ? '' : 'x' });
      expect(warnings.join()).not.toContain("isn't a setting");
    },
  );
});

describe('DATA_DIR', () => {
  test.each(['~', '~/taskgate', '"/data"', "'/data'", 'postgres://gate:its-password@db.lan/gate', 's3://bucket'])(
    '%s would be a new folder of that very name',
    (value) => {
      const found = faults({ DATA_DIR: value });
      expect(found).toEqual([expect.stringContaining('DATA_DIR: read ')]);
      expect(found.join()).not.toContain('its-password');
    },
  );

  test.each(['./~/taskgate', './"data"', 'data', '/srv/~x', '~x', 'C:\\gate', ' /srv/gate '])('%s is one', (value) => {
    expect(valid({ DATA_DIR: value }).config.dataDir).toBe(value.trim());
  });
});

describe('defaults', () => {
  test('an empty environment is valid and has the documented defaults', () => {
    const { config } = valid({});
    expect(config).toMatchObject({
      host: '127.0.0.1',
      port: 3000,
      dataDir: './data',
      databaseUrl: '',
      nodeRole: 'master',
      syncFrequency: 60,
      sessionActiveLimit: 50,
      sessionIssuanceLimit: 100,
      sessionIssuanceWindow: 86_400,
      sessionRevokedRetentionDays: 7,
      sessionHourlyAlert: 5000,
      criticalLimit: 600,
      criticalLimitSeconds: 1200,
      apiLimit: 3000,
      apiLimitSeconds: 180,
      pollIntervalSeconds: 15,
      pollChannelConcurrency: 16,
      pollMaxFailures: 20,
      taskTimeoutMinutes: 1440,
      maxFileMb: 64,
      cookieSecure: false,
      sqliteSynchronous: 'FULL',
    });
  });

  test('an empty variable counts as unset', () => {
    expect(valid({ PORT: '', HOST: '  ' }).config).toMatchObject({ port: 3000, host: '127.0.0.1' });
  });

  test('a flag overrides its variable and is named in the message', () => {
    const override = { port: { flag: '--port', value: '4000' } };
    const reading = readConfig({ PORT: '5000' }, override);
    expect(reading.ok && reading.config.port).toBe(4000);
    const bad = readConfig({}, { port: { flag: '--port', value: 'x' } });
    expect(!bad.ok && bad.faults).toEqual(['--port: read "x"; allowed: a whole number from 0 to 65535']);
  });
});

describe('an invalid value stops the start: the message has key, value read and allowed values', () => {
  const rows: [environment: Record<string, string>, ...parts: string[]][] = [
    [{ PORT: 'abc' }, 'PORT: read "abc"', 'a whole number from 0 to 65535'],
    [{ PORT: '65536' }, 'PORT: read "65536"'],
    [{ PORT: '3e3' }, 'PORT'],
    [{ PORT: '-1' }, 'PORT'],
    [{ HOST: 'http://x' }, 'HOST: read "http://x"', 'without scheme and port'],
    [{ HOST: '0.0.0.0:80' }, 'HOST'],
    [{ NODE_ROLE: 'boss' }, 'NODE_ROLE: read "boss"', 'master, worker'],
    [{ LOG_LEVEL: 'loud' }, 'LOG_LEVEL: read "loud"', 'debug, info, warn, error, silent'],
    [{ LOG_FORMAT: 'xml' }, 'LOG_FORMAT', 'auto, json, pretty'],
    [{ DEBUG: 'yes' }, 'DEBUG: read "yes"', 'true or false'],
    [{ METRICS_TOKEN: 'short' }, 'METRICS_TOKEN: read a value of 5 characters (not shown)'],
    [{ DATABASE_URL: 'mysql://root:hunter2@h/db' }, 'DATABASE_URL', '(not shown)', 'postgres://'],
    [{ DATABASE_URL: 'postgres' }, 'DATABASE_URL'],
    [{ REDIS_URL: 'http://h' }, 'REDIS_URL', 'redis://'],
    [{ SQLITE_SYNCHRONOUS: 'OFF' }, 'SQLITE_SYNCHRONOUS: read "OFF"', 'FULL, NORMAL'],
    [{ SESSION_SECRET: 'hunter2' }, 'SESSION_SECRET', 'at least 16 characters'],
    [{ CRYPTO_SECRET: 'hunter2' }, 'CRYPTO_SECRET', 'at least 16 characters'],
    [{ CRYPTO_SECRET_PREVIOUS: `${SECRET},` }, 'CRYPTO_SECRET_PREVIOUS', 'an entry is empty'],
    [{ SESSION_COOKIE_SECURE: '1' }, 'SESSION_COOKIE_SECURE: read "1"', 'true or false'],
    [{ TRUSTED_PROXIES: 'none, 10.0.0.1' }, 'TRUSTED_PROXIES', '"none" cannot be mixed'],
    [{ TRUSTED_PROXIES: '10.0.0.0/33' }, 'TRUSTED_PROXIES', '"10.0.0.0/33" is neither an address nor a CIDR'],
    [{ TRUSTED_PROXIES: '10/8' }, 'TRUSTED_PROXIES', '"10/8" is neither an address'],
    [{ TRUSTED_PROXIES: '010.0.0.1' }, 'TRUSTED_PROXIES'],
    [{ TRUSTED_PROXIES: 'proxy.example.com' }, 'TRUSTED_PROXIES'],
    [{ TRUSTED_PROXIES: ',' }, 'TRUSTED_PROXIES', 'the list is empty'],
    [{ TLS_CERT_FILE: join(folder, 'absent.pem'), TLS_KEY_FILE: pem }, 'TLS_CERT_FILE', 'ENOENT'],
    [{ TLS_CERT_FILE: noPem, TLS_KEY_FILE: pem }, 'TLS_CERT_FILE', 'not a PEM file'],
    [{ TLS_CERT_FILE: pem }, 'TLS_KEY_FILE: not set', 'together, or neither'],
    [{ TLS_KEY_FILE: pem }, 'TLS_CERT_FILE: not set'],
    [
      { ACME_DOMAIN: 'gate.example.com', ACME_EMAIL: 'ada@example.com', TLS_CERT_FILE: pem, TLS_KEY_FILE: pem },
      'ACME_DOMAIN: set with TLS_CERT_FILE',
      'one of the two',
    ],
    [
      { ACME_DOMAIN: 'gate.example.com', ACME_EMAIL: 'ada@example.com', PORT: '80' },
      'ACME_HTTP_PORT: 80, the same as PORT',
    ],
    [
      {
        ...{ ACME_DOMAIN: 'gate.example.com', ACME_HTTP_PORT: '8080', RESULTS_PORT: '8080' },
        RESULTS_ORIGIN: 'https://files.example.com:8080',
      },
      'ACME_HTTP_PORT: 8080, the same as RESULTS_PORT',
    ],
    [{ DATABASE_POOL_URL: 'postgres://pool/gate' }, 'DATABASE_POOL_URL: set without DATABASE_URL'],
    [{ UPDATE_TASK: 'on' }, 'UPDATE_TASK'],
    [{ TASK_POLL_INTERVAL_SECONDS: '0' }, 'TASK_POLL_INTERVAL_SECONDS'],
    [{ TASK_POLL_CHANNEL_CONCURRENCY: '0' }, 'TASK_POLL_CHANNEL_CONCURRENCY'],
    [{ TASK_POLL_MAX_FAILURES: 'many' }, 'TASK_POLL_MAX_FAILURES'],
    [{ TASK_TIMEOUT_MINUTES: '1.5' }, 'TASK_TIMEOUT_MINUTES'],
    [{ MAX_FILE_DOWNLOAD_MB: '0' }, 'MAX_FILE_DOWNLOAD_MB'],
    [{ RESULTS_URL: 'results' }, 'RESULTS_URL: read a value of 7 characters (not shown)', 'it is neither'],
    [{ RESULTS_URL: join(folder, 'absent') }, 'RESULTS_URL', 'ENOENT'],
    [{ RESULTS_URL: 's3://key:hunter2@bucket' }, 'RESULTS_URL', 'RESULTS_S3_SECRET_ACCESS_KEY'],
    [{ RESULTS_URL: 's3://B/' }, 'RESULTS_URL', 'BUCKET has 3 to 63'],
    [{ RESULTS_URL: 's3://bucket/a/../b' }, 'RESULTS_URL', 'PREFIX has'],
    [{ RESULTS_URL: 's3://bucket?color=red' }, 'RESULTS_URL', 'parameters are endpoint, region, path_style, sse'],
    [{ RESULTS_URL: 's3://bucket?sse=AES256&sse=AES256' }, 'RESULTS_URL', 'twice'],
    [{ RESULTS_URL: 's3://bucket?endpoint=https://u:hunter2@h' }, 'RESULTS_URL', 'endpoint is https://HOST'],
    [{ RESULTS_URL: 's3://bucket?endpoint=ftp://h' }, 'RESULTS_URL', 'endpoint is https://HOST'],
    [{ RESULTS_URL: 's3://bucket?endpoint=http://10.0.0.1:9000&path_style=false' }, 'RESULTS_URL', 'IP address'],
    [{ RESULTS_URL: 's3://bucket?path_style=1' }, 'RESULTS_URL', 'path_style is true or false'],
    [{ RESULTS_URL: 's3://bucket?sse=none' }, 'RESULTS_URL', 'sse is AES256 or aws:kms'],
    [{ RESULTS_URL: 's3://bucket', RESULTS_S3_ACCESS_KEY_ID: 'k' }, 'RESULTS_S3_SECRET_ACCESS_KEY: not set'],
    [{ CRITICAL_RATE_LIMIT: '0' }, 'CRITICAL_RATE_LIMIT'],
    [{ GLOBAL_API_RATE_LIMIT: '0' }, 'GLOBAL_API_RATE_LIMIT'],
    [{ GLOBAL_API_RATE_LIMIT_DURATION: '3m' }, 'GLOBAL_API_RATE_LIMIT_DURATION'],
    [{ SANDBOX_MEMORY_MB: '4' }, 'SANDBOX_MEMORY_MB', 'from 16 to 1024'],
    [{ UPSTREAM_ALLOW_PRIVATE: 'maybe' }, 'UPSTREAM_ALLOW_PRIVATE'],
  ];
  test.each(rows)('%j', (environment, ...parts) => {
    const found = faults(environment);
    expect(found).toHaveLength(1);
    for (const part of parts) expect(found[0]).toContain(part);
    expect(found.join()).not.toContain('hunter2');
  });

  test('all faults are reported at once', () => {
    const found = faults({ PORT: 'x', NODE_ROLE: 'x', TASK_POLL_INTERVAL_SECONDS: 'x' });
    expect(found.map((fault) => fault.split(':')[0])).toEqual(['PORT', 'NODE_ROLE', 'TASK_POLL_INTERVAL_SECONDS']);
  });
});

describe('the origin of results', () => {
  const secure = { SESSION_COOKIE_SECURE: 'true', SESSION_COOKIE_TRUSTED_URL: 'https://a.example' };
  test.each<[Record<string, string>, string]>([
    [{ RESULTS_ORIGIN: 'https://r.example/' }, 'an exact origin'],
    [{ RESULTS_ORIGIN: 'ftp://r.example' }, 'an exact origin'],
    [{ RESULTS_PORT: '3001' }, 'without RESULTS_ORIGIN'],
    [{ RESULTS_ORIGIN: 'http://r.example', RESULTS_PORT: '3000' }, 'the same as PORT'],
    [{ RESULTS_ORIGIN: 'http://localhost:3000' }, 'is an address of the panel'],
    [{ RESULTS_ORIGIN: 'http://127.0.0.1:3000' }, 'is an address of the panel'],
    [{ RESULTS_ORIGIN: 'http://gate.lan', TRUSTED_HOSTS: 'gate.lan' }, 'is an address of the panel'],
    [{ ...secure, RESULTS_ORIGIN: 'https://a.example:8443' }, 'is an address of the panel'],
    [{ ...secure, RESULTS_ORIGIN: 'https://a.example', RESULTS_PORT: '3001' }, 'also in SESSION_COOKIE_TRUSTED_URL'],
  ])('%o is refused: it is not apart from the panel', (env, part) => {
    expect(faults(env)).toEqual([expect.stringContaining(part)]);
  });

  test('a host name or a port of its own is accepted', () => {
    expect(faults({ ...secure, RESULTS_ORIGIN: 'https://results.example' })).toEqual([]);
    expect(faults({ RESULTS_ORIGIN: 'http://localhost:3001', RESULTS_PORT: '3001' })).toEqual([]);
  });
});

describe('session cookie origins', () => {
  const secure = (value: string) => ({ SESSION_COOKIE_SECURE: 'true', SESSION_COOKIE_TRUSTED_URL: value });
  const refused: [value: string, part: string][] = [
    ['https://a.example/', 'write "https://a.example" without the slash'],
    ['http://a.example', 'is not https'],
    ['https://*.example.com', 'wildcards are not accepted'],
    ['https://a.example/path', 'more than scheme, host and port'],
    ['https://a.example?x=1', 'more than scheme, host and port'],
    ['https://user:pw@a.example', 'user info is not accepted'],
    ['https://a.example,,https://b.example', 'an entry is empty'],
    ['a.example', 'is not an origin'],
  ];
  test.each(refused)('refuses %s', (value, part) => {
    expect(faults(secure(value))).toEqual([expect.stringContaining(part)]);
  });

  test('accepts exact origins and normalises them', () => {
    const { config } = valid(secure('https://A.example:443, https://b.example:8443,https://[::1]:4443'));
    expect(config.cookieTrustedUrls).toEqual(['https://a.example', 'https://b.example:8443', 'https://[::1]:4443']);
  });

  test('is refused without the secure mode', () => {
    const [fault, ...rest] = faults({ SESSION_COOKIE_TRUSTED_URL: 'https://a.example' });
    expect(fault).toContain('SESSION_COOKIE_TRUSTED_URL: set without SESSION_COOKIE_SECURE=true');
    expect(rest).toEqual([]);
  });
});

describe('trusted proxies', () => {
  test('unset trusts loopback and private ranges, with a warning', () => {
    const { config, warnings } = valid({ TRUSTED_PROXIES: '   ' });
    expect(config.trustedProxies).toEqual([
      '127.0.0.0/8',
      '::1/128',
      '10.0.0.0/8',
      '172.16.0.0/12',
      '192.168.0.0/16',
      'fc00::/7',
    ]);
    expect(warnings.join()).toContain('TRUSTED_PROXIES is not set');
  });
  test('"none", in upper or lower case, trusts no proxy', () => {
    expect(valid({ TRUSTED_PROXIES: 'None' }).config.trustedProxies).toEqual([]);
  });
  test('a list replaces the default; blank items are skipped', () => {
    const { config, warnings } = valid({ TRUSTED_PROXIES: '203.0.113.7, ,2001:db8::/32' });
    expect(config.trustedProxies).toEqual(['203.0.113.7/32', '2001:db8::/32']);
    expect(warnings).toEqual([]);
  });
});

describe('keys with a fallback', () => {
  test.each([
    ['SYNC_FREQUENCY', 'syncFrequency', 60],
    ['USER_SESSION_ACTIVE_LIMIT', 'sessionActiveLimit', 50],
    ['USER_SESSION_ISSUANCE_LIMIT', 'sessionIssuanceLimit', 100],
    ['USER_SESSION_ISSUANCE_WINDOW_SECONDS', 'sessionIssuanceWindow', 86_400],
    ['USER_SESSION_REVOKED_RETENTION_DAYS', 'sessionRevokedRetentionDays', 7],
    ['USER_SESSION_HOURLY_ALERT_THRESHOLD', 'sessionHourlyAlert', 5000],
  ] as const)('%s takes its default and warns', (env, name, fallback) => {
    for (const bad of ['0', '-5', 'abc', '1.5']) {
      const { config, warnings } = valid({ [env]: bad });
      expect(config[name]).toBe(fallback);
      expect(warnings).toContainEqual(expect.stringContaining(`${env} is "${bad}", which isn't allowed`));
    }
  });

  test('an idle time-out shorter than the life of an access token is off, with a warning', () => {
    const env = 'USER_SESSION_IDLE_TIMEOUT_MINUTES';
    expect(valid({}).config.sessionIdleMinutes).toBe(0);
    for (const good of ['0', '15', '43200'])
      expect(valid({ [env]: good }).config.sessionIdleMinutes).toBe(Number(good));
    for (const bad of ['14', '-1', 'abc', '15.5', '43201']) {
      const { config, warnings } = valid({ [env]: bad });
      expect(config.sessionIdleMinutes).toBe(0);
      expect(warnings).toContainEqual(expect.stringContaining(`${env} is "${bad}", which isn't allowed`));
    }
  });

  test('the issuance window is clamped to the retention, with a warning', () => {
    const { config, warnings } = valid({
      USER_SESSION_ISSUANCE_WINDOW_SECONDS: '900000',
      USER_SESSION_REVOKED_RETENTION_DAYS: '2',
    });
    expect(config.sessionIssuanceWindow).toBe(172_800);
    expect(warnings.join()).toContain('172800 is used instead');
  });
});

test.each([
  ['UPGRADE_URL', 'http://u:hunter2@example.com/releases'],
  ['RESULTS_URL', 's3://bucket?endpoint=https://u:hunter2@example.com'],
  ['BACKUP_TO', 's3://bucket?endpoint=https://u:hunter2@example.com'],
  ['REDIS_URL', 'http://u:hunter2@localhost'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://u:hunter2@localhost/a b'],
])('a refused address of %s is not repeated with its password', (env, value) => {
  const found = faults({ [env]: value });
  expect(found).not.toEqual([]);
  expect(found.join()).not.toContain('hunter2');
});

describe('the address of PostgreSQL', () => {
  const LIBPQ = {
    ...{ PGHOST: 'elsewhere', PGPORT: '999', PGUSER: 'other', PGPASSWORD: 'secret', PGDATABASE: 'wrong' },
    ...{ PGSSLMODE: 'require', PGOPTIONS: '-c search_path=x', PGAPPNAME: 'app', PGSERVICE: 'service' },
  };
  const addressFor = (address: string, environment: Record<string, string> = LIBPQ): URL => {
    const reading = readConfig({ DATABASE_URL: address, ...environment }, {}, { needsSecrets: false });
    if (!reading.ok) throw new Error(reading.faults.join());
    return new URL(reading.config.databaseUrl);
  };

  test('what it says wins over the variables of libpq, which fill what it leaves out', () => {
    const full = 'postgres://me:mine@db.lan:5433/gate?sslmode=disable&options=-c%20a%3Db&application_name=mine';
    const said = addressFor(full);
    expect(said.href).toBe(addressFor(full, {}).href);
    expect([said.host, said.username, said.password, said.pathname]).toEqual(['db.lan:5433', 'me', 'mine', '/gate']);
    expect(said.searchParams.get('sslmode')).toBe('disable');
    const filled = addressFor('postgres:///');
    expect([filled.host, filled.username, filled.password, filled.pathname]).toEqual([
      ...['elsewhere:999', 'other', 'secret', '/wrong'],
    ]);
    expect(filled.searchParams.get('options')).toBe('-c search_path=x');
    expect(addressFor('postgres://me@db.lan', {}).pathname).toBe('/me');
  });

  test('its programs get the same: host, user, database, TLS and options', () => {
    const variables = libpqVariables(addressFor('postgres://me@[::1]/a%2Fb?sslmode=prefer&schema=x').href);
    expect(variables).toEqual({
      ...{ PGHOST: '::1', PGPORT: '999', PGUSER: 'me', PGPASSWORD: 'secret', PGDATABASE: 'a/b' },
      ...{ PGSSLMODE: 'prefer', PGOPTIONS: '-c search_path=x' },
    });
    const socket = libpqVariables(addressFor('postgres://me@localhost/gate?host=/run/postgresql', {}).href);
    expect(socket).toMatchObject({ PGHOST: '/run/postgresql', PGPORT: '5432', PGDATABASE: 'gate' });
    expect(libpqVariables(addressFor('postgres://localhost/?dbname=gate&user=me', {}).href)).toMatchObject({
      ...{ PGUSER: 'me', PGDATABASE: 'gate' },
    });
  });

  test.each([
    ['?sslmode=no-verify', 'require encrypts without checking the certificate'],
    ['?sslmode=on', 'its sslmode is none of disable'],
    ['?sslrootcert=/nowhere/ca.crt', 'the file of its sslrootcert cannot be read: ENOENT'],
    ['?channel_binding=yes', 'its channel_binding is none of'],
    ['?connect_timeout=never', 'its connect_timeout is not 0 to 3600 seconds'],
    ['?port=99999', 'its port is not 1 to 65535'],
    ['?host=one,two', 'it lists several hosts'],
    ['%', 'a % in it begins no escape'],
  ])('%s is refused with what to do', (query, sentence) => {
    const found = faults({
      DATABASE_URL: `postgres://u:hunter2@localhost/db${query}`,
      SESSION_SECRET: SECRET,
      CRYPTO_SECRET: SECRET,
    });
    expect(found).toEqual([expect.stringContaining(`DATABASE_URL: `)]);
    expect(found[0]).toContain(sentence);
    expect(found[0]).not.toContain('hunter2');
  });
});

test('a database of Redis that is not a number does not become 0', () => {
  for (const url of ['redis://h/main', 'redis://h/1x', 'redis://h?db=main']) {
    expect(faults({ REDIS_URL: url })).toEqual([expect.stringContaining('its path is not a number of a database')]);
  }
  for (const url of ['redis://h', 'redis://h/', 'redis://h/7', 'rediss://u:p@h:6380/15', 'redis://h?db=3']) {
    expect(faults({ REDIS_URL: url })).toEqual([]);
  }
});

describe('secrets on PostgreSQL', () => {
  const url = 'postgres://u:hunter2@localhost/db';
  test('unset secrets stop the start: the message names both keys, never the password', () => {
    const found = faults({ DATABASE_URL: url });
    expect(found.map((fault) => fault.split(':')[0])).toEqual(['SESSION_SECRET', 'CRYPTO_SECRET']);
    expect(found.join()).not.toContain('hunter2');
  });
  test('set secrets are accepted', () => {
    expect(faults({ DATABASE_URL: url, SESSION_SECRET: SECRET, CRYPTO_SECRET: SECRET })).toEqual([]);
  });
});

describe('the storage for kept results', () => {
  const placeFor = (value: string) => {
    const keys = { RESULTS_S3_ACCESS_KEY_ID: 'k', RESULTS_S3_SECRET_ACCESS_KEY: 's' };
    return valid({ RESULTS_URL: value, ...keys }).config.resultsLocation;
  };
  const aws = { kind: 's3', bucket: 'bucket', prefix: '', region: 'us-east-1', pathStyle: false, sse: '' } as const;

  test('is a folder, or a bucket of AWS or of a server of one’s own', () => {
    expect(valid({}).config.resultsLocation).toEqual({ kind: 'folder', path: '' });
    expect(placeFor(folder)).toEqual({ kind: 'folder', path: folder });
    expect(placeFor('s3://bucket')).toEqual({ ...aws, endpoint: 'https://s3.us-east-1.amazonaws.com' });
    expect(placeFor('s3://my.bucket/a/b/?region=eu-west-1')).toMatchObject({ prefix: 'a/b', pathStyle: true });
    const own = placeFor('s3://bucket/kept?endpoint=http://minio:9000&sse=AES256');
    expect(own).toEqual({ ...aws, prefix: 'kept', endpoint: 'http://minio:9000', pathStyle: true, sse: 'AES256' });
  });
});

describe('unsafe combinations warn', () => {
  const rows: [environment: Record<string, string>, part: string][] = [
    [{ HOST: '0.0.0.0' }, 'listens on the network (HOST=0.0.0.0)'],
    [{ HOST: '192.168.1.5' }, 'listens on the network'],
    [{ SESSION_COOKIE_SECURE: 'true' }, 'SESSION_COOKIE_TRUSTED_URL is not set'],
    [{ UPSTREAM_ALLOW_PRIVATE: 'true' }, 'UPSTREAM_ALLOW_PRIVATE=true'],
    [
      {
        ...{ RESULTS_URL: 's3://bucket?endpoint=http://minio', RESULTS_S3_ACCESS_KEY_ID: 'k' },
        RESULTS_S3_SECRET_ACCESS_KEY: 's',
      },
      'stored results travel unencrypted',
    ],
    [{ BACKUP_TO: 's3://bucket?endpoint=http://nas:9000' }, 'backups travel unencrypted'],
  ];
  test.each(rows)('%j', (environment, part) => {
    expect(valid({ TRUSTED_PROXIES: 'none', ...environment }).warnings).toEqual([expect.stringContaining(part)]);
  });
  test.each(['127.0.0.1', 'localhost', '::1', '127.9.9.9'])('HOST=%s alone does not warn', (host) => {
    expect(valid({ TRUSTED_PROXIES: 'none', HOST: host }).warnings).toEqual([]);
  });
});

describe('documentation', () => {
  const names = Object.values(VARIABLES).map((variable) => variable.env);
  test('the help lists every variable once', () => {
    const lines = describeConfig().split('\n');
    for (const name of names) expect(lines.filter((line) => line.trim() === name)).toHaveLength(1);
    expect(new Set(names).size).toBe(names.length);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
  });
  test('docs/configuration.md is up to date', () => {
    const path = new URL('../../docs/configuration.md', import.meta.url);
    expect(readFileSync(path, 'utf8')).toBe(configurationDocument());
  });
  test('every default passes its own rule', () => {
    for (const { env, kind, default: value } of Object.values(VARIABLES)) {
      if (typeof value === 'number' || typeof value === 'boolean')
        expect([env, kind.parse(String(value)).ok]).toEqual([env, true]);
    }
  });
});
