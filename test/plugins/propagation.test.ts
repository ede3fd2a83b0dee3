import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import type { PluginService } from '../../src/plugins/index.ts';
import { openStore } from '../../src/store/index.ts';
import type { Store } from '../../src/store/ports/index.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { makeService, pluginSource, startSandbox, until } from './support.ts';

/** Longer than any test, so nodes learn of changes only by notifications. */
const NEVER_MS = 3_600_000;

const sandbox = startSandbox();
const dataDir = temporaryFolder();
let databaseUrl: string;
const ends: (() => Promise<void>)[] = [];

beforeAll(async () => {
  databaseUrl = await migratedDatabaseUrl();
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});
afterAll(async () => {
  await sandbox.close();
  rmSync(dataDir, { recursive: true, force: true });
});

/**
 * A node with connections of its own to the one database. `hears` false: it gets no notifications.
 */
async function startNode({ hears = true, syncFrequencyMs = NEVER_MS } = {}): Promise<PluginService> {
  const common = { clock: systemClock, logger: silentLogger };
  const store = await openStore({ databaseUrl, dataDir, synchronous: 'NORMAL', ...common });
  ends.push(() => store.close());
  const deaf: Store = { ...store, subscribe: () => () => {} };
  const node = makeService(hears ? store : deaf, sandbox, { factory: [], syncFrequencyMs });
  await node.start();
  ends.push(() => node.stop());
  return node;
}

const serving = (node: PluginService, key: string) => node.current().plugins.get(key)?.version;
const version = (key: string, number: string) => ({ source: pluginSource({ key, version: number }) });

test('every change on one node is notified to the others at once', async () => {
  const [first, second, third] = [await startNode(), await startNode(), await startNode()];
  const agreed = (value: string | undefined) =>
    until(() => [second, third].every((node) => serving(node, 'told') === value));
  await first.upload(version('told', '1.0.0'));
  await agreed('1.0.0');
  await second.upload(version('told', '2.0.0'));
  await second.activate('told', '2.0.0');
  await until(() => serving(first, 'told') === '2.0.0');
  await agreed('2.0.0');
  await third.activate('told', '1.0.0');
  await until(() => serving(first, 'told') === '1.0.0');
  await first.setEnabled('told', false);
  await agreed(undefined);
  await first.setEnabled('told', true);
  await agreed('1.0.0');
  await first.deleteVersion('told', '1.0.0');
  await agreed('2.0.0');
  const revisions = [first, second, third].map((node) => node.runtimeStatus().databaseRevision);
  expect(new Set(revisions).size).toBe(1);
});

test('a node without notifications reads a change within its sync interval', async () => {
  const [first, second] = [await startNode(), await startNode({ hears: false, syncFrequencyMs: 50 })];
  await first.upload(version('lost', '1.0.0'));
  await until(() => serving(second, 'lost') === '1.0.0');
  await first.upload(version('lost', '2.0.0'));
  await first.activate('lost', '2.0.0');
  await until(() => serving(second, 'lost') === '2.0.0');
  expect(second.runtimeStatus().databaseRevision).toBe(first.runtimeStatus().databaseRevision);
});

test('nodes that change one plugin at the same moment end with the same version', async () => {
  const [first, second] = [await startNode(), await startNode()];
  for (const number of ['1.0.0', '2.0.0', '3.0.0']) await first.upload(version('raced', number));
  await Promise.all(
    Array.from({ length: 6 }, (_, round) => [
      first.activate('raced', `${(round % 3) + 1}.0.0`),
      second.activate('raced', `${((round + 1) % 3) + 1}.0.0`),
    ]).flat(),
  );
  await until(
    () =>
      first.runtimeStatus().databaseRevision === second.runtimeStatus().databaseRevision &&
      serving(first, 'raced') === serving(second, 'raced'),
  );
  const active = (await first.versions('raced')).filter((row) => row.active).map((row) => row.version);
  expect(active).toEqual([serving(first, 'raced') ?? '']);
});
