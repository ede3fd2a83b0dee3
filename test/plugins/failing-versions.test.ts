/** An activated version that fails clearly more often than the one before it is rolled back. */
import { afterAll, describe, expect, test } from 'bun:test';
import type { PluginService } from '../../src/plugins/index.ts';
import { compareFailures } from '../../src/plugins/service/watch-outcomes.ts';
import type { OutcomeCount, PluginStage } from '../../src/store/ports/index.ts';
import { describeEachStore } from '../contract/each-store.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { compiledPlugins, makeService, pluginSource, startSandbox, until } from './support.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());

describe('a version fails clearly more often', () => {
  /** Minutes ago, cases and failures; the latest first. */
  type Counts = [ago: number, cases: number, failures: number][];
  const NOW = 1_000_000;
  const counts = (rows: Counts, stage: PluginStage = 'poll'): OutcomeCount[] =>
    rows.map(([ago, cases, failures]) => ({ sourceHash: 's', stage, minute: NOW - ago, cases, failures }));
  const rows: [name: string, now: Counts, before: Counts, [cases: number, failures: number] | null][] = [
    ['with half of 20 cases and a former version without failures', [[1, 20, 10]], [[60, 200, 0]], [20, 10]],
    ['also if the former version had no cases', [[1, 20, 10]], [], [20, 10]],
    ['not with 19 cases', [[1, 19, 19]], [[60, 200, 0]], null],
    ['not with less than a half', [[1, 21, 10]], [[60, 200, 0]], null],
    ['not with less than three times the former share', [[1, 20, 14]], [[60, 100, 24]], null],
    ['with three times the former share', [[1, 20, 15]], [[60, 100, 25]], [20, 15]],
    [
      'with few cases a minute: the last 20 count, however old',
      [
        [1, 5, 5],
        [40, 15, 5],
        [50, 90, 0],
      ],
      [],
      [20, 10],
    ],
    [
      'with many: those of 15 minutes count',
      [
        [1, 30, 30],
        [14, 30, 5],
        [16, 300, 0],
      ],
      [],
      [60, 35],
    ],
    [
      'not for what came before its activation',
      [
        [1, 10, 10],
        [200, 10, 10],
      ],
      [],
      null,
    ],
    [
      'of the former version the last 200 cases count',
      [[1, 20, 12]],
      [
        [60, 200, 30],
        [70, 500, 500],
      ],
      [20, 12],
    ],
  ];
  for (const [name, now, before, expected] of rows) {
    test(name, () => {
      const times = { activatedAt: (NOW - 100) * 60, at: NOW * 60 };
      const verdict = compareFailures(counts(now), counts(before), times);
      expect(verdict && [verdict.now.cases, verdict.now.failures]).toEqual(expected);
    });
  }

  test('in one stage, whatever the others do', () => {
    const times = { activatedAt: 0, at: NOW * 60 };
    const now = [...counts([[1, 500, 0]]), ...counts([[1, 20, 20]], 'artifact')];
    expect(compareFailures(now, [], times)).toMatchObject({ stage: 'artifact', now: { cases: 20 } });
  });
});

describeEachStore(
  'failing versions',
  (opened) => {
    const nodes: PluginService[] = [];
    const auto = { rollback: false };
    async function startNode(factory: readonly string[] = []): Promise<PluginService> {
      const node = makeService(await opened().openAnother(), sandbox, {
        factory: await compiledPlugins(sandbox, ...factory),
        autoRollback: () => auto.rollback,
        outcomesEveryMs: 20,
      });
      await node.start();
      nodes.push(node);
      return node;
    }
    const testWithNodes = (name: string, work: () => Promise<void>): void =>
      test(name, async () => {
        auto.rollback = false;
        try {
          await work();
        } finally {
          for (const node of nodes.splice(0)) await node.stop();
        }
      });
    const source = (key: string, version: string): string => pluginSource({ key, version, models: [key] });
    const fail = (node: PluginService, key: string, { cases = 10, failed = true } = {}): void => {
      const sourceHash = node.current().plugins.get(key)?.sourceHash ?? '';
      for (let n = 0; n < cases; n += 1) node.count({ sourceHash, stage: 'submit', failed });
    };
    const readVersion = (node: PluginService, key: string) => node.current().plugins.get(key)?.version;
    const audited = async (key: string) =>
      (
        await opened().store.logs.listAudit(
          { action: 'plugin.rollback', target: `plugin:${key}` },
          { page: 1, pageSize: 10 },
        )
      ).items;

    testWithNodes(
      'are told with both figures, counted on all nodes, and rolled back only if that is switched on',
      async () => {
        const one = await startNode();
        // A SQLite database has one node.
        const two = opened().databaseUrl === '' ? one : await startNode();
        await one.upload({ source: source('told', '1.0.0') });
        await one.upload({ source: source('told', '2.0.0') });
        await until(() => readVersion(two, 'told') === '1.0.0');
        fail(one, 'told', { cases: 50, failed: false });
        await one.activate('told', '2.0.0');
        await until(() => readVersion(two, 'told') === '2.0.0');
        fail(one, 'told', { cases: 12 });
        fail(two, 'told', { cases: 12 });
        const [told] = await until('the version is told', async () => {
          const failing = await two.failing();
          return failing[0]?.verdict.now.cases === 24 ? failing : undefined;
        });
        expect(told).toMatchObject({
          ...{ key: 'told', version: '2.0.0', formerVersion: '1.0.0', rolledBack: false },
          verdict: { stage: 'submit', now: { cases: 24, failures: 24 }, before: { cases: 50, failures: 0 } },
        });
        expect([readVersion(one, 'told'), await audited('told')]).toEqual(['2.0.0', []]);

        auto.rollback = true;
        fail(one, 'told');
        fail(two, 'told');
        await until(() => readVersion(one, 'told') === '1.0.0' && readVersion(two, 'told') === '1.0.0');
        const [row, ...others] = await until('the roll-back is audited', async () => {
          const rows = await audited('told');
          return rows.length > 0 ? rows : undefined;
        });
        expect([row?.userId, row?.authMethod, others]).toEqual([null, 'gateway', []]);
        expect(row?.detail).toMatchObject({ before: { version: '2.0.0' }, after: { version: '1.0.0' } });
        expect(await one.failing()).toMatchObject([{ version: '2.0.0', rolledBack: true }]);

        // Somebody wants it nevertheless: it is told, and not rolled back a second time.
        await one.activate('told', '2.0.0');
        await until(() => readVersion(two, 'told') === '2.0.0');
        expect(await one.failing()).toEqual([]);
        fail(two, 'told', { cases: 30 });
        await until('it is told again', async () => (await one.failing()).length === 1);
        fail(one, 'told', { cases: 30 });
        await one.stop();
        expect(readVersion(two, 'told')).toBe('2.0.0');
        expect(await audited('told')).toHaveLength(1);
      },
    );

    testWithNodes('go back to a plugin that ships, and never to a version that is gone', async () => {
      auto.rollback = true;
      const node = await startNode([source('ships', '1.0.0')]);
      const stored = await node.upload({ source: source('ships', '2.0.0') });
      if (!stored.plugin?.active) await node.activate('ships', '2.0.0');
      fail(node, 'ships', { cases: 25 });
      await until(() => readVersion(node, 'ships') === '1.0.0');
      expect((await node.detail('ships')).layer).toBe('factory');

      for (const version of ['1.0.0', '2.0.0']) await node.upload({ source: source('gone', version) });
      await node.activate('gone', '2.0.0');
      await node.deleteVersion('gone', '1.0.0');
      fail(node, 'gone', { cases: 25 });
      await until('it is told', async () => (await node.failing()).some(({ key }) => key === 'gone'));
      fail(node, 'gone', { cases: 25 });
      await until('it is counted', async () =>
        (await node.failing()).some(({ key, verdict }) => key === 'gone' && verdict.now.cases === 50),
      );
      expect([readVersion(node, 'gone'), await audited('gone')]).toEqual(['2.0.0', []]);
    });
  },
  { databases: RULE_DATABASES },
);
