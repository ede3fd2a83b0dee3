import { afterEach, describe, expect, test } from 'bun:test';
import { hostname } from 'node:os';
import { type Clock, newUuid, silentLogger, systemClock } from '../../src/kernel/index.ts';
import { announceNode, type NodePresence } from '../../src/operations/nodes/announce-node.ts';
import { createNodeControl } from '../../src/operations/nodes/drain-node.ts';
import { fingerprintSecrets } from '../../src/operations/secrets/load-secrets.ts';
import { openStore } from '../../src/store/index.ts';
import type { Store } from '../../src/store/ports/index.ts';
import { runRaw } from '../contract/open-raw.ts';
import { startGateway } from '../support/gateway.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { runBeside } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function open(databaseUrl: string): Promise<Store> {
  const store = await openStore({
    databaseUrl,
    dataDir: temporaryFolder(),
    synchronous: 'NORMAL',
    clock: systemClock,
    logger: silentLogger,
  });
  ends.push(() => store.close());
  return store;
}

async function announce(
  store: Store,
  [session, crypto]: readonly [session: readonly string[], crypto: readonly string[]],
  clock: Clock = systemClock,
): Promise<NodePresence> {
  const secrets = { session: session as [string], crypto: crypto as [string] };
  const node = await announceNode({
    store,
    clock,
    logger: silentLogger,
    id: newUuid(),
    role: 'master',
    version: '0.0.0',
    fingerprints: fingerprintSecrets(secrets),
  });
  ends.push(() => node.stop());
  return node;
}

describe('nodes on one PostgreSQL', () => {
  test('nodes with the same secrets run side by side', async () => {
    const store = await open(await migratedDatabaseUrl());
    await announce(store, [['s'], ['c']]);
    await announce(store, [['s'], ['c']]);
    expect(await store.nodes.alive(60)).toHaveLength(2);
  });

  test.each([
    ['SESSION_SECRET', ['other'], ['c']],
    ['CRYPTO_SECRET', ['s'], ['other']],
  ] as const)('a differing %s is refused by name', async (name, session, crypto) => {
    const store = await open(await migratedDatabaseUrl());
    await announce(store, [['s'], ['c']]);
    await expect(announce(store, [session, crypto])).rejects.toThrow(`${name} differs`);
    expect(await store.nodes.alive(60)).toHaveLength(1);
  });

  test('a rotation works: either node names the former secret', async () => {
    const store = await open(await migratedDatabaseUrl());
    await announce(store, [['s1'], ['c1']]);
    await announce(store, [
      ['s2', 's1'],
      ['c2', 'c1'],
    ]);
    await announce(store, [['s1'], ['c1', 'c2']]);
    expect(await store.nodes.alive(60)).toHaveLength(3);
  });

  test('without a master a worker warns once, after nodes that start together have written their rows', async () => {
    const store = await open(await migratedDatabaseUrl());
    const lines: string[] = [];
    let now = 1_000_000;
    const wake: (() => void)[] = [];
    const clock = {
      ...systemClock,
      monotonicMs: () => now * 1000,
      sleep: (_ms: number, signal?: AbortSignal) =>
        new Promise<void>((resolve) => {
          wake.push(resolve);
          if (signal?.aborted) resolve();
          signal?.addEventListener('abort', () => resolve());
        }),
    };
    const logger = { ...silentLogger, warn: (_fields: object, message: string) => void lines.push(message) };
    const secrets = { session: ['s'], crypto: ['c'] } as { session: [string]; crypto: [string] };
    const worker = await announceNode({
      ...{ store, clock, logger, id: newUuid(), role: 'worker', version: '0' },
      fingerprints: fingerprintSecrets(secrets),
    });
    ends.push(() => worker.stop());
    const beat = async (seconds: number, role?: string) => {
      now += seconds;
      if (role) {
        await store.nodes.heartbeat({ id: 'other', role, version: '0', startedAt: 1, fingerprints: [] });
      }
      const sleeping = wake.length;
      wake.at(-1)?.();
      await until('the beat is over', () => wake.length > sleeping);
      return lines.length;
    };
    expect(await beat(10)).toBe(0);
    expect(await beat(40, 'master')).toBe(0);
    expect(await beat(40, 'worker')).toBe(1);
    expect(lines[0]).toContain('run one with NODE_ROLE=master');
    expect(await beat(40)).toBe(1);
  });

  test('a node that is taken out of service says so, and serves when no other is left', async () => {
    const store = await open(await migratedDatabaseUrl());
    const control = createNodeControl({ store });
    let wake = (): void => {};
    const clock = {
      ...systemClock,
      sleep: (_ms: number, signal?: AbortSignal) =>
        new Promise<void>((resolve) => {
          wake = resolve;
          if (signal?.aborted) resolve();
          signal?.addEventListener('abort', () => resolve());
        }),
    };
    const node = await announce(store, [['s'], ['c']], clock);
    const [own] = await store.nodes.alive(60);
    const name = own?.id ?? '';
    const follows = (isDrained: boolean) =>
      until(`drained is ${isDrained}`, () => {
        wake();
        return node.isDrained() === isDrained;
      });
    await expect(control.drain(name)).rejects.toThrow('No other node would be left');
    const other = await announce(store, [['s'], ['c']]);
    await expect(control.drain(hostname())).rejects.toThrow('Give the id of one');
    await expect(control.drain('nowhere')).rejects.toThrow('No running node');
    await control.drain(name);
    await follows(true);
    await control.resume(name);
    await follows(false);
    await expect(control.resume(name)).rejects.toThrow('already in service');
    await control.drain(name);
    await follows(true);
    await other.stop();
    await follows(false);
  });

  test('a node that stopped, or whose heartbeat is old, does not block a start', async () => {
    const databaseUrl = await migratedDatabaseUrl();
    const store = await open(databaseUrl);
    await (await announce(store, [['s1'], ['c1']])).stop();
    const dead = { id: newUuid(), role: 'master', version: '0', startedAt: 1, fingerprints: ['session:x', 'crypto:x'] };
    await store.nodes.heartbeat(dead);
    await runRaw({ databaseUrl, dataDir: '' }, 'update nodes set heartbeat_at = heartbeat_at - 36');
    await announce(store, [['s2'], ['c2']]);
  });
});

test('on SQLite a row left by a crash does not block a start', async () => {
  const store = await open('');
  const crashed = {
    id: newUuid(),
    role: 'master',
    version: '0',
    startedAt: 1,
    fingerprints: ['session:x', 'crypto:x'],
  };
  await store.nodes.heartbeat(crashed);
  await announce(store, [['s'], ['c']]);
});

test('a gateway on PostgreSQL starts, refuses a node with other secrets, passes doctor, and stops', async () => {
  const gateway = await startGateway({ databaseUrl: await migratedDatabaseUrl() });
  ends.push(() => gateway.kill());
  expect(gateway.announcement.created).toEqual([]);
  const stranger = await runBeside(gateway, ['serve', '--port', '0'], {
    env: { CRYPTO_SECRET: 'a-secret-that-nobody-else-has-here' },
  });
  expect(stranger.code).toBe(1);
  expect(stranger.err).toContain('CRYPTO_SECRET differs');
  expect(stranger.err).not.toContain('a-secret-that-nobody');
  const doctor = await runBeside(gateway, ['doctor']);
  expect([doctor.code, doctor.out]).toEqual([0, expect.stringContaining(`running: ${nodeFor(gateway.log())}`)]);
  expect(await gateway.stop()).toBe(0);
});

const nodeFor = (log: string): string => /"node":"([0-9a-f-]{36})"/.exec(log)?.[1] ?? 'unknown';
