/**
 * Signed marketplaces under attack, over real HTTP: what is tampered, swapped, stripped, rolled
 * back, expired, revoked or forged is refused or told, by two nodes on one database.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import {
  createMarketplace,
  generateSigningKey,
  type Marketplace,
  type MarketSource,
  type PinMarketKey,
  type PluginService,
  type SigningKey,
} from '../../src/plugins/index.ts';
import { createMarketMemory } from '../../src/plugins/marketplace/market-memory.ts';
import { type HandOverStep, signHandOver, writeHandOvers } from '../../src/plugins/signing/rotate-signing-key.ts';
import { signData } from '../../src/plugins/signing/signature.ts';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { createUpstream } from '../../src/upstream/index.ts';
import { newTask } from '../contract/each-store.ts';
import { type MarketServer, sha256, startMarket } from '../support/market-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import {
  makeService,
  type OpenedStore,
  openTestStore,
  pluginSource,
  pluginWorker,
  refusal,
  startSandbox,
} from './support.ts';

const upstream = createUpstream({ allowPrivate: false, clock: systemClock, logger: silentLogger });
const now = systemClock.unix();
const [known, other, third] = [generateSigningKey(), generateSigningKey(), generateSigningKey()];
const code = (version: string) => pluginSource({ key: 'paper', version, models: ['paper-1'] });

const scratch = temporaryFolder();
let market: MarketServer;
let sandbox: Sandbox;
let opened: OpenedStore;
let plugins: PluginService;
/** Each test has a source of its own, since what is known of one stays in the database. */
let folder: string;
let source: MarketSource;
let pinned: { key: string; reason: string }[];

beforeAll(async () => {
  market = startMarket();
  sandbox = startSandbox();
  opened = await openTestStore('sqlite');
  plugins = makeService(opened.store, sandbox);
  await plugins.start();
});
afterAll(async () => {
  await plugins?.stop();
  await opened?.close();
  await sandbox?.close();
  await upstream.close();
  await market?.stop();
  rmSync(scratch, { recursive: true, force: true });
});
let folders = 0;
beforeEach(() => {
  folders += 1;
  folder = `/market-${folders}`;
  source = { name: 'Ours', indexUrl: `${market.url}${folder}/index.json` };
  pinned = [];
});

/** As the gateway pins: only while the source has the key that it had. */
const pin: PinMarketKey = async (from, key, reason) => {
  if (from.publicKey !== source.publicKey) return false;
  source = { ...source, publicKey: key.text };
  pinned.push({ key: key.id, reason });
  return true;
};
const open = (): Marketplace =>
  createMarketplace({
    plugins,
    store: opened.store,
    upstream,
    sources: () => [source],
    pin,
    shippedSources: [],
    mirrorDir: scratch,
    clock: systemClock,
    logger: silentLogger,
    worker: pluginWorker,
  });

type Published = {
  key?: SigningKey;
  serial?: number;
  expiresAt?: number;
  declares?: SigningKey;
  version?: object;
};

/** Publishes an index with one plugin, and its signature by `key`; gives the index's text. */
function publish({
  key = known,
  serial = 10,
  expiresAt = now + 3600,
  declares = key,
  version = {},
}: Published): string {
  const text = JSON.stringify({
    indexVersion: 1,
    name: 'Market',
    serial,
    expires_at: expiresAt,
    public_key: declares.publicKey.text,
    plugins: [
      {
        key: 'paper',
        name: 'Paper',
        latest: '1.0.0',
        versions: [{ version: '1.0.0', path: 'paper.js', sha256: sha256(code('1.0.0')), kind: 'task', ...version }],
      },
    ],
  });
  put('index.json', text);
  put('index.json.minisig', signData(key, Buffer.from(text), `serial ${serial}`));
  put('paper.js', code('1.0.0'));
  return text;
}
const put = (path: string, text: string): unknown => market.files.set(`${folder}/${path}`, text);
const handOver = (...steps: HandOverStep[]): unknown => put('index.json.handover', writeHandOvers(steps));

/** What a node that has no cached index says of the source. */
async function look() {
  const [offer] = await open().list({ refresh: true });
  if (!offer) throw new Error('there is no source');
  return offer;
}
const offered = async (): Promise<string[]> => (await look()).plugins.map(({ key }) => key);
const install = () => open().install({ source: 'Ours', key: 'paper', version: '1.0.0' });
/** The source is refused for this reason, and nothing can be installed from it. */
async function expectRefused(reason: string, seen: SigningKey | undefined): Promise<void> {
  const { trust, error, plugins: shown } = await look();
  expect(trust).toMatchObject({ state: 'refused', reason, known: { id: known.publicKey.id } });
  expect(shown).toEqual([]);
  const names = `The known key is ${known.publicKey.id} (${known.publicKey.text}); seen: ${seen ? seen.publicKey.id : 'none'}`;
  expect(error?.message).toContain(names);
  const refused = await refusal(install());
  expect([refused.code, refused.details]).toMatchObject([
    'plugins.market_untrusted',
    { reason, known_key: known.publicKey.text },
  ]);
  expect(source.publicKey).toBe(known.publicKey.text);
}

describe('a signed source', () => {
  test('is pinned at its first use to the key that the index names and is signed with', async () => {
    publish({});
    expect(await look()).toMatchObject({
      trust: { state: 'signed', key: { id: known.publicKey.id }, serial: 10, expiresAt: now + 3600 },
      isExpired: false,
      plugins: [{ key: 'paper' }],
    });
    expect(pinned).toEqual([{ key: known.publicKey.id, reason: 'first_use' }]);
    expect((await install()).plugin).toMatchObject({ key: 'paper', version: '1.0.0' });
    publish({ serial: 11 });
    expect(await offered()).toEqual(['paper']);
    expect(pinned).toHaveLength(1);
  });

  test('can be pinned before its first use, also if the index names no key', async () => {
    source.publicKey = known.publicKey.text;
    const text = publish({}).replace(/"public_key":"[^"]*",/, '');
    put('index.json', text);
    put('index.json.minisig', signData(known, Buffer.from(text), ''));
    expect((await look()).trust).toMatchObject({ state: 'signed', key: { id: known.publicKey.id } });
  });

  test('a source without key and signature works, and is shown as unsigned', async () => {
    put('index.json', JSON.stringify({ indexVersion: 1, plugins: [] }));
    expect(await look()).toMatchObject({ trust: { state: 'unsigned' }, name: '' });
    expect(market.asked.some((path) => path === `${folder}/index.json.minisig`)).toBe(false);
  });

  test('a signature that cannot be read at the moment is a failure, not a change of the key', async () => {
    publish({});
    market.files.set(`${folder}/index.json.minisig`, () => new Response('busy', { status: 503 }));
    const { trust, error } = await look();
    expect([trust, error?.message]).toEqual([
      undefined,
      'The signature cannot be read. The marketplace responded with HTTP 503.',
    ]);
  });
});

describe('attacks on a pinned source are refused, with both keys named', () => {
  beforeEach(async () => {
    publish({});
    expect(await offered()).toEqual(['paper']);
  });

  test('tampered index: the signature is of other bytes', async () => {
    const text = publish({});
    put('index.json', text.replace('"name":"Paper"', '"name":"Paperr"'));
    await expectRefused('tampered', known);
  });

  test('tampered signature: a trusted comment that was changed, or a signature of another file', async () => {
    publish({});
    const signature = String(market.files.get(`${folder}/index.json.minisig`));
    put('index.json.minisig', signature.replace('serial 10', 'serial 11'));
    await expectRefused('tampered', known);
    put('index.json.minisig', signData(known, Buffer.from('something else'), 'serial 10'));
    await expectRefused('tampered', known);
  });

  test('tampered file: it does not have the hash that is signed', async () => {
    put('paper.js', `${code('1.0.0')}\n// changed`);
    expect((await refusal(install())).code).toBe('plugins.market_mismatch');
  });

  test('swapped key: another key signs, also one that takes the id of the known one', async () => {
    publish({ key: other });
    await expectRefused('key_changed', other);
    expect((await look()).trust).toMatchObject({ seen: { text: other.publicKey.text } });
    publish({ key: other, declares: known });
    await expectRefused('key_changed', other);
    const impostor = withId(generateSigningKey(), known);
    publish({ key: impostor });
    expect((await look()).trust).toMatchObject({
      reason: 'key_changed',
      known: { text: known.publicKey.text },
      seen: { text: impostor.publicKey.text },
    });
  });

  test('missing signature after the pin: also if the index no longer names a key', async () => {
    market.files.delete(`${folder}/index.json.minisig`);
    await expectRefused('signature_missing', undefined);
    put('index.json', JSON.stringify({ indexVersion: 1, plugins: [] }));
    await expectRefused('signature_missing', undefined);
    put('index.json.minisig', 'not a signature');
    await expectRefused('signature_missing', undefined);
  });

  test('roll-back to an older serial: also on another node, and after a restart', async () => {
    const old = publish({ serial: 10 });
    const signature = String(market.files.get(`${folder}/index.json.minisig`));
    publish({ serial: 12 });
    expect(await offered()).toEqual(['paper']);
    put('index.json', old);
    put('index.json.minisig', signature);
    await expectRefused('rolled_back', known);
    publish({ serial: 12 });
    expect(await offered()).toEqual(['paper']);
  });

  test('an index without serial or end is refused though it is signed', async () => {
    // JSON has no NaN: both become null.
    for (const part of [{ serial: Number.NaN }, { expiresAt: Number.NaN }]) {
      publish(part);
      await expectRefused('undated', known);
    }
  });

  test('expired: an index that is frozen at an old state is told', async () => {
    publish({ serial: 13, expiresAt: now - 1 });
    expect(await look()).toMatchObject({ trust: { state: 'signed' }, isExpired: true, plugins: [{ key: 'paper' }] });
  });
});

describe('a folder, and several nodes', () => {
  test('a mirror in a folder follows the same rules: pinned, and refused once it is tampered', async () => {
    const index = publish({});
    const files = ['index.json', 'index.json.minisig', 'paper.js'];
    for (const name of files) writeFileSync(join(scratch, name), String(market.files.get(`${folder}/${name}`)));
    source = { name: 'Ours', indexUrl: pathToFileURL(scratch).href };
    expect((await look()).trust).toMatchObject({ state: 'signed', key: { id: known.publicKey.id } });
    expect(source.publicKey).toBe(known.publicKey.text);
    writeFileSync(join(scratch, 'index.json'), index.replace('"Paper"', '"Paperr"'));
    await expectRefused('tampered', known);
    rmSync(join(scratch, 'index.json.minisig'));
    await expectRefused('signature_missing', undefined);
  });

  test('nodes that see different serials at once remember the highest', async () => {
    const memory = createMarketMemory(opened.store.options);
    const serials = Array.from({ length: 8 }, (_, at) => 100 + ((at * 5) % 8));
    const seen = await Promise.all(serials.map((serial) => memory.advance(source, known.publicKey.text, serial)));
    expect(seen[serials.indexOf(107)]).toBe(true);
    expect(await memory.highestSerial(source, known.publicKey.text)).toBe(107);
    expect(await memory.advance(source, known.publicKey.text, 106)).toBe(false);
    // Another key of the source counts by itself.
    expect(await memory.advance(source, other.publicKey.text, 1)).toBe(true);
  });
});

describe('a hand-over', () => {
  beforeEach(async () => {
    publish({});
    expect(await offered()).toEqual(['paper']);
    pinned = [];
  });

  test('that both keys have signed moves the pin, over several steps too', async () => {
    handOver(signHandOver(known, other, 20), signHandOver(other, third, 30));
    publish({ key: third, serial: 31 });
    expect(await look()).toMatchObject({ trust: { state: 'signed', key: { id: third.publicKey.id }, serial: 31 } });
    expect(pinned).toEqual([{ key: third.publicKey.id, reason: 'hand_over' }]);
  });

  test('forged by the new key alone is refused', async () => {
    const right = signHandOver(known, other, 20);
    publish({ key: other, serial: 21 });
    const forged: HandOverStep[] = [
      signHandOver(other, other, 20),
      { ...right, from_signature: right.to_signature },
      { ...right, from_signature: signData(withId(other, known), Buffer.from(right.statement), '') },
      { ...right, statement: right.statement.replace('20', '21') },
      { ...right, statement: JSON.stringify({ from: known.publicKey.text, to: other.publicKey.text, serial: 20 }) },
    ];
    for (const step of forged) {
      handOver(step);
      await expectRefused('key_changed', other);
    }
  });

  test('forged by the old key alone, to a key that somebody else has, is refused', async () => {
    const right = signHandOver(known, other, 20);
    handOver({ ...right, to_signature: right.from_signature });
    publish({ key: other, serial: 21 });
    await expectRefused('key_changed', other);
  });

  test('replayed after newer indexes of the old key is refused', async () => {
    publish({ serial: 25 });
    expect(await offered()).toEqual(['paper']);
    handOver(signHandOver(known, other, 20));
    publish({ key: other, serial: 30 });
    await expectRefused('key_changed', other);
  });

  test('with an index that is older than the hand-over is refused', async () => {
    handOver(signHandOver(known, other, 20));
    publish({ key: other, serial: 19 });
    await expectRefused('rolled_back', other);
  });

  test('back and forth cannot be replayed: the first step is older than the way back', async () => {
    const [there, back] = [signHandOver(known, other, 20), signHandOver(other, known, 30)];
    handOver(there);
    publish({ key: other, serial: 20 });
    expect(await offered()).toEqual(['paper']);
    handOver(there, back);
    publish({ serial: 30 });
    expect(await offered()).toEqual(['paper']);
    handOver(there);
    publish({ key: other, serial: 40 });
    await expectRefused('key_changed', other);
  });
});

describe('a revoked version', () => {
  const revoked = { revoked: { reason: 'It sends keys away.' } };

  test('is not offered, and its installation is refused with the reason', async () => {
    publish({ version: revoked });
    expect(await look()).toMatchObject({
      plugins: [],
      revoked: [{ key: 'paper', version: '1.0.0', reason: 'It sends keys away.' }],
    });
    const refused = await refusal(install());
    expect([refused.code, refused.message]).toEqual([
      'plugins.market_revoked',
      'The publisher has revoked paper@1.0.0: "It sends keys away."',
    ]);
  });

  test('that serves is told, by its hash, until the revocation is taken back', async () => {
    publish({});
    await install();
    expect(await open().revokedInUse()).toEqual([]);
    publish({ serial: 11, version: revoked });
    await look();
    expect(await open().revokedInUse()).toMatchObject([{ source: 'Ours', key: 'paper', version: '1.0.0' }]);
    publish({ serial: 12, version: { ...revoked, sha256: sha256('another source') } });
    await look();
    expect(await open().revokedInUse()).toEqual([]);
    publish({ serial: 13 });
    await look();
    expect(await open().revokedInUse()).toEqual([]);
  });

  test('is told on a node where nobody has looked at the marketplace', async () => {
    publish({});
    await install();
    publish({ serial: 11, version: revoked });
    const node = open();
    expect(await node.revokedInUse()).toEqual([]);
    // The source is signed, so the node reads it by itself.
    await node.list({ refresh: false });
    expect(await node.revokedInUse()).toHaveLength(1);
    market.files.clear();
    expect(await open().revokedInUse()).toHaveLength(1);
  });

  test('that serves no longer is told while unfinished tasks are polled by it', async () => {
    publish({ version: revoked });
    await look();
    await plugins.upload({ source: code('1.1.0'), enabled: true });
    await plugins.activate('paper', '1.1.0');
    expect(await open().revokedInUse()).toEqual([]);
    const sourceHash = sha256(code('1.0.0'));
    await opened.store.tasks.insert(newTask({ platform: 'paper', sourceHash }));
    expect(await open().revokedInUse()).toMatchObject([
      { key: 'paper', version: '1.0.0', serves: false, unfinishedTasks: 1 },
    ]);
  });
});

/** A key under the id of another one: ids are not proofs. */
function withId(key: SigningKey, { id, publicKey }: SigningKey): SigningKey {
  const bytes = Buffer.from(key.publicKey.text, 'base64');
  bytes.set(id, 2);
  return { ...key, id, publicKey: { id: publicKey.id, text: bytes.toString('base64') } };
}
