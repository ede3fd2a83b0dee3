import { describe, expect, mock, test } from 'bun:test';
import * as fs from 'node:fs';
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import { fingerprintSecrets, loadSecrets, SECRETS_FILE } from '../../src/operations/secrets/load-secrets.ts';
import { migrateStore } from '../../src/store/index.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const unset = { sessionSecret: '', sessionSecretPrevious: [], cryptoSecret: '', cryptoSecretPrevious: [] };

test('secrets are created once with mode 0600 and reused', () => {
  const dir = temporaryFolder();
  const first = loadSecrets(unset, dir);
  expect(first.created).toBe(true);
  expect(first.session[0].length).toBeGreaterThanOrEqual(64);
  expect(first.crypto[0]).not.toBe(first.session[0]);
  expect(statSync(join(dir, SECRETS_FILE)).mode & 0o777).toBe(0o600);
  const second = loadSecrets(unset, dir);
  expect(second).toEqual({ ...first, created: false });
  expect(readdirSync(dir)).toEqual([SECRETS_FILE]);
});

test('a file system without hard links, such as exFAT, takes secrets and database all the same', async () => {
  const { linkSync } = fs;
  const without = () => {
    throw Object.assign(new Error('EPERM: operation not permitted, link'), { code: 'EPERM' });
  };
  await mock.module('node:fs', () => ({ ...fs, linkSync: without }));
  try {
    const dir = temporaryFolder();
    expect(loadSecrets(unset, dir).created).toBe(true);
    expect(loadSecrets(unset, dir).created).toBe(false);
    expect(statSync(join(dir, SECRETS_FILE)).mode & 0o777).toBe(0o600);
    const deps = { clock: systemClock, logger: silentLogger };
    await migrateStore({ databaseUrl: '', dataDir: dir, synchronous: 'NORMAL', ...deps });
    expect(readdirSync(dir).sort()).toEqual([SECRETS_FILE, 'taskgate.db', 'taskgate.lock']);
  } finally {
    await mock.module('node:fs', () => ({ ...fs, linkSync }));
  }
});

test('configured secrets override the file; if both are set no file is created', () => {
  const dir = temporaryFolder();
  const given = {
    ...unset,
    sessionSecret: 's'.repeat(32),
    cryptoSecret: 'c'.repeat(32),
    cryptoSecretPrevious: ['old'],
  };
  expect(loadSecrets(given, dir)).toMatchObject({ session: ['s'.repeat(32)], crypto: ['c'.repeat(32), 'old'] });
  expect(readdirSync(dir)).toEqual([]);
});

test('two processes that start at once share one pair', async () => {
  const dir = temporaryFolder();
  const script = `import { loadSecrets } from ${JSON.stringify(new URL('../../src/operations/secrets/load-secrets.ts', import.meta.url).pathname)};
    process.stdout.write(JSON.stringify(loadSecrets(${JSON.stringify(unset)}, ${JSON.stringify(dir)})));`;
  const runs = await Promise.all(
    [1, 2, 3].map(async () => {
      const child = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe', stderr: 'inherit' });
      return JSON.parse(await new Response(child.stdout).text()) as { session: string[]; created: boolean };
    }),
  );
  expect(new Set(runs.map((run) => run.session[0])).size).toBe(1);
  expect(runs.filter((run) => run.created)).toHaveLength(1);
});

describe('the file', () => {
  test('readable by others gives a warning', () => {
    const dir = temporaryFolder();
    loadSecrets(unset, dir);
    chmodSync(join(dir, SECRETS_FILE), 0o644);
    expect(loadSecrets(unset, dir).warnings).toEqual([expect.stringContaining('chmod 600')]);
  });
  test.each(['', '{', '[]', '{"session_secret":"x"}', '{"session_secret":"","crypto_secret":"x"}'])(
    'damaged as %j is refused and left alone',
    (content) => {
      const dir = temporaryFolder();
      writeFileSync(join(dir, SECRETS_FILE), content, { mode: 0o600 });
      expect(() => loadSecrets(unset, dir)).toThrow(/is damaged: restore it/);
      expect(readFileSync(join(dir, SECRETS_FILE), 'utf8')).toBe(content);
    },
  );
});

test('fingerprints show whether secrets are equal and reveal none', () => {
  const prints = fingerprintSecrets({ session: ['s1', 's0'], crypto: ['c1'] });
  expect(prints).toHaveLength(3);
  expect(
    fingerprintSecrets({ session: ['s0'], crypto: ['c2'] }).filter((print) => prints.includes(print)),
  ).toHaveLength(1);
  // The same text as session and as crypto secret does not match across kinds.
  expect(fingerprintSecrets({ session: ['c1'], crypto: ['s1'] }).filter((print) => prints.includes(print))).toEqual([]);
  expect(prints.join()).not.toContain('s1:');
});
