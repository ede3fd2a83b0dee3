/**
 * Somebody uploads a plugin of the same key as one that ships, while its tasks run: with fewer
 * models, other ids and other answers. No client sees a difference before the activation. After it,
 * what the factory plugin began ends by the factory plugin, also across a SIGKILL.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { RULE_DATABASES } from '../support/databases.ts';
import { ask } from '../support/gateway.ts';
import { testDatabaseUrl } from '../support/postgres.ts';
import { until } from '../support/until.ts';
import { download, type Factory, readExpected, type Seen, startFactory } from './harness.ts';
import type { Scenario, Vendor } from './vendor.ts';

/** What they make is there when its submission ends: no task of it runs. */
const AT_ONCE = ['minimax-music.js', 'seedream.js', 'qwen-image.js'];
const keys = readdirSync(new URL('../../src/plugins/factory/', import.meta.url))
  .filter((name) => name.endsWith('.js') && name !== 'demo.js' && !AT_ONCE.includes(name))
  .map((name) => name.slice(0, -'.js'.length));
const vendors: Vendor[] = [];
for (const key of keys) vendors.push(((await import(`./${key}.ts`)) as { vendor: Vendor }).vendor);

const competitor = (key: string): string => `export const meta = {
  apiVersion: 1, key: '${key}', name: 'Competitor', version: '99.0.0', author: { name: 'C' },
  models: ['competitor-of-${key}'], fetchMode: 'per_task',
};
export const buildSubmitRequest = (ctx) => ({ url: ctx.baseUrl + '/elsewhere', body: {} });
export const parseSubmitResponse = () => ({ taskId: 'elsewhere' });
export const buildQueryRequest = (ctx) => ({ url: ctx.baseUrl + '/elsewhere/' + ctx.taskId });
export const parseTaskResult = () => ({ status: 'FAILURE', reason: 'read by the competitor' });
export const listArtifacts = () => [];
export const buildContentRequest = (ctx) => ({ url: ctx.baseUrl + '/elsewhere' });
`;

/** Its vendor's first answer says that the job runs. */
const HELD = 'success';
const FINISHED = 'unknown-status';

type Look = { id: string; status: string; shown: unknown };
type Held = { vendor: Vendor; finished: Scenario; running: Scenario | undefined; release(): void };

/**
 * The vendor with two scenarios: one whose task ends, and one whose task runs until `release`. A
 * vendor that answers at once has no second one.
 */
function hold(vendor: Vendor): Held {
  const original = vendor.scenarios.find(({ name }) => name === HELD);
  const [running, ...later] = original?.poll?.answers ?? [];
  const succeeds = ({ outcome }: Scenario): boolean => outcome.artifacts !== undefined && outcome.status !== 'FAILURE';
  const finished = vendor.scenarios.find((each) => (running ? each.name === FINISHED : succeeds(each)));
  if (!finished) throw new Error(`${vendor.key} lacks the usual cases`);
  if (!running || !original)
    return { vendor: { ...vendor, scenarios: [finished] }, finished, running: undefined, release() {} };
  const answers = [running];
  const held = { ...original, poll: { ...original.poll, answers } };
  const release = () => void answers.splice(0, 1, ...later.slice(-1));
  return { vendor: { ...vendor, scenarios: [finished, held] }, finished, running: held, release };
}

for (const database of RULE_DATABASES) {
  describe(database, () => {
    let factory: Factory;
    const held = vendors.map(hold);
    const seen = new Map<string, { finished: Seen | undefined; before: Look[]; during: Look[] }>();
    const ends = new Map<string, Promise<Seen> | undefined>();
    let outcomes: unknown[] = [];

    /** What clients and the panel see of a plugin's tasks and models. */
    async function look(key: string): Promise<Look[]> {
      const { items } = await factory.admin.call<{ items: { task_id: string; status: string }[] }>(
        'GET',
        `/api/task?scope=all&platform=${key}`,
      );
      return Promise.all(
        items.map(async ({ task_id: id, status }) => {
          const token = factory.key;
          const video = await ask(`${factory.url}/v1/videos/${id}`, { token });
          const isDone = status === 'SUCCESS';
          return { id, status, shown: [video.body, isDone && (await download(factory.url, token, id))] };
        }),
      );
    }
    const models = async () => (await ask(`${factory.url}/v1/models`, { token: factory.key })).body.data;

    beforeAll(async () => {
      factory = await startFactory(database === 'postgres' ? { databaseUrl: await testDatabaseUrl() } : {});
      const playing = await Promise.all(held.map(async ({ vendor }) => ({ vendor, of: await factory.play(vendor) })));
      for (const { vendor, of } of playing) {
        const name = held.find((each) => each.vendor === vendor)?.finished.name ?? '';
        ends.set(vendor.key, of.get(HELD));
        seen.set(vendor.key, {
          finished: await of.get(name),
          before: [],
          during: [],
        });
      }
      for (const { running, vendor } of held) {
        if (!running) continue;
        const { key } = vendor;
        const tasks = () => look(key);
        await until(`a task of ${key} runs`, async () =>
          (await tasks()).some(({ status }) => ['QUEUED', 'IN_PROGRESS'].includes(status)),
        );
      }
      const offered = await models();
      for (const key of keys) {
        const { before = [], during = [] } = seen.get(key) ?? {};
        before.push(...(await look(key)));
        const { outcome } = await factory.admin.call<{ outcome: string }>('POST', '/api/plugin/task', {
          source: competitor(key),
        });
        outcomes = [...outcomes, outcome];
        during.push(...(await look(key)));
      }
      expect(await models()).toEqual(offered);
      for (const key of keys)
        await factory.admin.call('POST', `/api/plugin/task/${key}/activate`, { version: '99.0.0' });
      await factory.restart();
      for (const { release } of held) release();
      await Promise.allSettled(ends.values());
    });
    afterAll(() => factory?.stop());

    test('each competitor waits for its activation', () => {
      expect(outcomes).toEqual(keys.map(() => 'waits_for_activation'));
    });

    for (const { vendor, finished, running } of held) {
      test(`${vendor.key}: no client sees a difference, and what the factory plugin began ends by it`, async () => {
        const { key } = vendor;
        expect(seen.get(key)?.finished).toEqual(readExpected(finished));
        expect(seen.get(key)?.before).toHaveLength(running ? 2 : 1);
        expect(seen.get(key)?.during).toEqual(seen.get(key)?.before as Look[]);
        if (running) expect(await ends.get(key)).toEqual(readExpected(running));
        const first = seen.get(key)?.before.find(({ status }) => status === 'SUCCESS');
        expect((await look(key)).find(({ id }) => id === first?.id)).toEqual(first);
      });
    }
  });
}
