/** Days, storage and price of kept results by group, as administrators set them; and their end. */
import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { sha256Hex } from '../../src/kernel/index.ts';
import { type ArtifactGateway, startArtifactGateway, VENDOR_KEY } from '../http/v1/artifact-harness.ts';
import { type Administrator, ask, type Gateway, signIn, startGateway } from '../support/gateway.ts';
import { runCommand } from '../support/run-command.ts';
import { until } from '../support/until.ts';

const DAY = 86_400;
const FILE_BYTES = 2_000_000;
const LARGE_BYTES = 200_000_000;
const env = { UPSTREAM_ALLOW_PRIVATE: 'true', RESULTS_MIN_FREE_MB: '0', TRUSTED_PROXIES: '127.0.0.1' };

type Artifact = { content_url: string; kept?: string; kept_reason?: string; kept_until?: number; sha256?: string };
type Storage = { bytes: number; quota_bytes: number | null; days: number; usd_per_gb_day: number };
type Person = { id: number; panel: Administrator; key: string };

let world: ArtifactGateway;
let gateway: Gateway;
let plain: Person;
let vip: Person;
beforeAll(async () => {
  world = await startArtifactGateway(env);
  gateway = world.gateway;
  const options = {
    groups: '{"default":1,"vip":1}',
    'results.keep': 'all',
    'results.days': '{"default":2,"vip":0}',
    'results.quota_gb': '{"default":0.003,"vip":0}',
    'results.price_gb_day': '{"default":0,"vip":100}',
  };
  for (const [key, value] of Object.entries(options)) await world.admin.call('PUT', '/api/option', { key, value });
  await world.admin.call('PUT', '/api/price', { model: 'acme-1', expression: '0' });
  const channel = { name: 'vip', models: ['acme-1'], task_plugin_key: 'acme', key: VENDOR_KEY, groups: ['vip'] };
  await world.admin.createChannel(world.vendor.url, channel);
  plain = await addPerson('plain', 'default');
  vip = await addPerson('vip', 'vip');
});
afterAll(async () => {
  await gateway.stop();
  await world.vendor.stop();
});

async function addPerson(username: string, group: string): Promise<Person> {
  const id = await world.admin.createUser({ username, group, quota: 5_000_000 });
  const panel = await signIn(world.url, { username });
  return { id, panel, key: await panel.createKey() };
}

let files = 0;
async function make({ key }: Person, bytes = FILE_BYTES): Promise<string> {
  files += 1;
  world.vendor.files.set(`/${files}`, randomBytes(bytes));
  return world.finished({ content: { url: `/${files}` } }, 'acme', key);
}
const readArtifact = async ({ key }: Person, id: string): Promise<Artifact> => {
  const { body } = await ask(`${gateway.url}/v1/tasks/${id}/artifacts`, { token: key });
  return (body.artifacts as Artifact[])[0] ?? ({} as Artifact);
};
const kept = (person: Person, id: string) =>
  until('the result is kept', async () => {
    const found = await readArtifact(person, id);
    return found.kept === 'kept' && found;
  });
const readStorage = ({ panel }: Person) => panel.call<Storage>('GET', '/api/user/self/storage');
const pathFor = (sha256 = ''): string => join(gateway.dataDir, 'results', sha256.slice(0, 2), sha256);
const rows = (sql: string): Record<string, string | number>[] => {
  const database = new Database(join(gateway.dataDir, 'taskgate.db'), { readonly: true });
  try {
    return database.query(sql).all() as Record<string, string | number>[];
  } finally {
    database.close();
  }
};
/**
 * Stops, changes the database as time does, starts, and waits for the clean-up that comes with the
 * start: its last step on files removes one that no row knows.
 */
async function passTime(...changes: string[]): Promise<void> {
  const { dataDir, port } = gateway;
  await gateway.stop();
  const database = new Database(join(dataDir, 'taskgate.db'));
  for (const change of changes) database.run(change);
  database.close();
  const orphan = pathFor(newDigest());
  mkdirSync(dirname(orphan), { recursive: true });
  writeFileSync(orphan, 'left behind by a killed process');
  const yesterday = new Date(Date.now() - 1000 * DAY);
  utimesSync(orphan, yesterday, yesterday);
  gateway = await startGateway({ dataDir, port, env });
  await until('the clean-up has run', () => !existsSync(orphan));
}
const newDigest = (): string => sha256Hex(randomBytes(16));

describe('a group', () => {
  test('has its days, its storage and its price, and others have theirs', async () => {
    const [ofPlain, ofVip] = [await make(plain), await make(vip)];
    const [first, second] = [await kept(plain, ofPlain), await kept(vip, ofVip)];
    const inTwoDays = Math.floor(Date.now() / 1000) + 2 * DAY;
    expect(Math.abs((first.kept_until ?? 0) - inTwoDays)).toBeLessThan(60);
    expect(second.kept_until).toBeUndefined();
    expect(await readStorage(plain)).toMatchObject({ bytes: FILE_BYTES, quota_bytes: 3_000_000, days: 2 });
    expect(await readStorage(vip)).toMatchObject({
      bytes: FILE_BYTES,
      quota_bytes: null,
      days: 0,
      usd_per_gb_day: 100,
    });

    // The second file of the one does not fit, that of the other does.
    const [refused, taken] = [await make(plain), await make(vip)];
    await kept(vip, taken);
    const refusal = await until('its owner is told', async () => {
      const found = await readArtifact(plain, refused);
      return found.kept_reason !== undefined && found;
    });
    expect(refusal).toMatchObject({ kept: 'pending', kept_reason: expect.stringMatching(/account's storage/) });
    expect((await fetch(refusal.content_url)).status).toBe(200);
  });

  test('that pays for storage is charged once a day for what it keeps, the other is not', async () => {
    const charges = () =>
      rows(
        `select wallets.user_id, amount from ledger_entries join wallets on wallets.id = wallet_id where kind = 'storage'`,
      );
    const daily = -Math.round(((2 * FILE_BYTES) / 1e9) * 100 * 500_000);
    await passTime();
    // It is the step after those on files.
    await until('the day is charged', () => charges().length > 0);
    expect(charges()).toEqual([{ user_id: vip.id, amount: daily }]);
    await passTime();
    expect(charges()).toHaveLength(1);
    const { quota } = await vip.panel.call<{ quota: number }>('GET', '/api/user/self');
    expect(quota).toBe(5_000_000 + daily);
  });
});

describe('kept results', () => {
  test('end with their days and with their account, and their files an hour later', async () => {
    const made = { expired: await make(vip), stays: await make(vip) };
    const digests = {} as Record<keyof typeof made | 'erased', string>;
    for (const name of ['expired', 'stays'] as const) {
      digests[name] = (await kept(vip, made[name])).sha256 ?? '';
    }
    const erased = await addPerson('erased', 'vip');
    digests.erased = (await kept(erased, await make(erased))).sha256 ?? '';
    const link = (await readArtifact(vip, made.expired)).content_url;
    await world.admin.call('DELETE', `/api/user/${erased.id}`);
    await passTime(`update kept_results set kept_until = 1000 where task_id = '${made.expired}'`);
    const left = () => rows('select sha256 from kept_results').map(({ sha256 }) => String(sha256));
    await until(
      'the rows are gone',
      () => !left().some((one) => one !== digests.stays && Object.values(digests).includes(one)),
    );
    expect(left()).toContain(digests.stays);
    // The vendor still has the one whose days are over.
    expect((await fetch(link)).headers.get('etag')).not.toBe(`"${digests.expired}"`);
    await passTime(`update kept_files set changed_at = changed_at - ${DAY}`);
    for (const name of ['expired', 'erased'] as const) {
      expect([name, existsSync(pathFor(digests[name]))]).toEqual([name, false]);
    }
    expect(existsSync(pathFor(digests.stays))).toBe(true);
    const { out, code } = await runCommand(['doctor', '--results', '--verify', '--data-dir', gateway.dataDir]);
    expect([code, out]).toEqual([0, expect.stringMatching(/ok +results: \d+ files of kept results/)]);
  });

  test('of any size pass through no memory, neither when they are kept nor when they are served', async () => {
    const memory = (field: 'VmRSS' | 'VmHWM'): number => {
      const status = readFileSync(`/proc/${gateway.pid}/status`, 'utf8');
      return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]) * 1024;
    };
    /** How far the peak of `work` is above what was resident before. */
    const measurePeak = async (work: () => Promise<void>): Promise<number> => {
      writeFileSync(`/proc/${gateway.pid}/clear_refs`, '5');
      const before = memory('VmRSS');
      await work();
      return memory('VmHWM') - before;
    };
    let link = '';
    const keeping = await measurePeak(async () => {
      link = (await kept(vip, await make(vip, LARGE_BYTES))).content_url;
    });
    const serving = await measurePeak(async () => {
      const sizes = await Promise.all(
        Array.from({ length: 8 }, async () => {
          let bytes = 0;
          for await (const chunk of (await fetch(link)).body ?? []) bytes += chunk.byteLength;
          return bytes;
        }),
      );
      expect(sizes).toEqual(Array(8).fill(LARGE_BYTES));
    });
    // Eight downloads of 200 MB each.
    expect([keeping < LARGE_BYTES / 2, serving < LARGE_BYTES / 2]).toEqual([true, true]);
    process.stderr.write(`peak above the resident memory: ${keeping} bytes keeping, ${serving} bytes serving\n`);
  });
});
