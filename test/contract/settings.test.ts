import { expect, test } from 'bun:test';
import type { NewChannel } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { describeEachStore } from './each-store.ts';
import { runRaw } from './open-raw.ts';

const channel = (change: Partial<NewChannel> = {}): Required<NewChannel> => ({
  name: 'vendor',
  type: 61,
  baseUrl: 'https://vendor.example',
  models: ['m1', 'm2'],
  groups: ['default'],
  priority: 0,
  weight: 1,
  modelMapping: { z: '1', a: '2' },
  taskPluginKey: 'demo',
  settings: { retry_on_5xx: true, odd: 'a\u0000b' },
  status: 1,
  createdAt: 1,
  updatedAt: 1,
  limits: { maxRunning: 5, models: { m: { maxPerMinute: 3 } } },
  pool: 'shared',
  spill: false,
  proxySealed: 'v1.d.e.f',
  headersSealed: 'v1.g.h.i',
  bodyDefaults: { max_tokens: 4096, z: 1, a: [null] },
  ...change,
});

describeEachStore('channels, prices, options, nodes and logs', (opened) => {
  test('a channel is read as stored, the order of its JSON keys included', async () => {
    const { channels } = opened().store;
    const row = await channels.insert(channel());
    expect<unknown>(row).toEqual({ ...channel(), id: row.id, usedQuota: 0 });
    expect(Object.keys((await channels.byId(row.id))?.modelMapping ?? {})).toEqual(['z', 'a']);
    expect(await channels.update(row.id, { models: ['m3'], taskPluginKey: null, updatedAt: 2 })).toEqual({
      ...row,
      models: ['m3'],
      taskPluginKey: null,
      updatedAt: 2,
    });
    expect(await channels.update(row.id, {})).toMatchObject({ models: ['m3'] });
    await Promise.all(Array.from({ length: 10 }, () => channels.addUsedQuota(row.id, 3)));
    expect((await channels.byId(row.id))?.usedQuota).toBe(30);
    const other = await channels.insert(channel({ name: 'second' }));
    expect((await channels.all()).map(({ id }) => id)).toEqual([row.id, other.id]);
    expect(await channels.list({ page: 2, pageSize: 1 })).toEqual({ total: 2, hasMore: false, items: [other] });
    expect(await channels.delete(row.id, 3)).toBe(true);
    expect(await channels.delete(row.id, 3)).toBe(false);
    expect(await channels.update(row.id, { name: 'gone' })).toBeUndefined();
  });

  test('a price is replaced and deleted by plugin and model', async () => {
    const { prices } = opened().store;
    await prices.put({ pluginKey: '*', model: 'm', expression: '1', updatedAt: 1 });
    await prices.put({ pluginKey: 'demo', model: 'm', expression: '2', updatedAt: 1 });
    await prices.put({ pluginKey: '*', model: 'm', expression: 'u("seconds") * 0.1', updatedAt: 2 });
    expect(await prices.all()).toEqual([
      { pluginKey: '*', model: 'm', expression: 'u("seconds") * 0.1', updatedAt: 2 },
      { pluginKey: 'demo', model: 'm', expression: '2', updatedAt: 1 },
    ]);
    expect(await prices.delete('*', 'm')).toBe(true);
    expect(await prices.delete('*', 'm')).toBe(false);
  });

  test('of 50 concurrent set-ups one writes the option', async () => {
    const { options } = opened().store;
    const won = await Promise.all(Array.from({ length: 50 }, (_, i) => options.putIfAbsent('setup', `${i}`)));
    expect(won.filter(Boolean)).toHaveLength(1);
    expect(await options.get('setup')).toBe(`${won.indexOf(true)}`);
    await options.put('setup', 'done');
    expect(await options.all()).toEqual([{ key: 'setup', value: 'done' }]);
    expect(await options.get('absent')).toBeUndefined();
  });

  test('of 50 concurrent changes of the same value one is written', async () => {
    const { options } = opened().store;
    expect(await options.replace('serial', '1', '2')).toBe(false);
    await options.put('serial', '1');
    const won = await Promise.all(Array.from({ length: 50 }, (_, i) => options.replace('serial', '1', `by ${i}`)));
    expect(won.filter(Boolean)).toHaveLength(1);
    expect(await options.get('serial')).toBe(`by ${won.indexOf(true)}`);
  });

  test('a node counts as alive while its heartbeat is recent', async () => {
    const { nodes } = opened().store;
    const node = { id: 'n1', role: 'master', version: '1.0.0', startedAt: 5, fingerprints: ['a'] };
    await nodes.heartbeat(node);
    await nodes.heartbeat({ ...node, fingerprints: ['a', 'b'] });
    expect(await nodes.alive(1000)).toMatchObject([{ ...node, fingerprints: ['a', 'b'] }]);
    for (const [silentSeconds, isAlive] of [
      [500, true],
      [2000, false],
      // Two clocks may differ a little; one of hours ahead was written before a clock was set back.
      [-30, true],
      [-8 * 3600, false],
    ] as const) {
      const at = Math.floor((await opened().store.clock.nowMs()) / 1000) - silentSeconds;
      await runRaw(opened(), `update nodes set heartbeat_at = ${at}`);
      expect((await nodes.alive(1000)).length).toBe(isAlive ? 1 : 0);
    }
    await nodes.remove('n1');
    expect(await nodes.alive(86_400)).toEqual([]);
  });

  test('one node at a time is taken out of service, and never the last one', async () => {
    const { nodes } = opened().store;
    const beat = (id: string) =>
      nodes.heartbeat({ id, role: 'master', version: '1.0.0', startedAt: 5, fingerprints: [], host: `host ${id}` });
    await beat('n1');
    expect([await nodes.drain('n1', 35), await nodes.drain('n2', 35)]).toEqual(['alone', 'unknown']);
    await beat('n2');
    await beat('n3');
    const verdicts = await Promise.all(['n1', 'n2', 'n3'].map((id) => nodes.drain(id, 35)));
    expect(verdicts.toSorted()).toEqual(['busy', 'busy', 'drained']);
    const drained = ['n1', 'n2', 'n3'][verdicts.indexOf('drained')] as string;
    await beat(drained);
    expect((await nodes.alive(1000)).filter((node) => node.drained)).toMatchObject([
      { id: drained, host: `host ${drained}` },
    ]);
    expect([await nodes.resume(drained), await nodes.resume(drained)]).toEqual([true, false]);
    // A node that was killed while it was out of service is in nobody's way.
    expect(await nodes.drain(drained, 35)).toBe('drained');
    await runRaw(opened(), `update nodes set heartbeat_at = heartbeat_at - 60 where id = '${drained}'`);
    expect(await nodes.drain(drained === 'n1' ? 'n2' : 'n1', 35)).toBe('drained');
    for (const id of ['n1', 'n2', 'n3']) await nodes.remove(id);
  });

  test('usage and audit rows are listed, the newest first', async () => {
    const { store } = opened();
    const user = await addUser(store);
    const usage = {
      userId: user.id,
      walletId: user.walletId,
      apiKeyId: 3,
      taskId: 't',
      channelId: 1,
      pluginKey: 'demo',
      model: 'm',
      kind: 'settle' as const,
      quota: 5,
      detail: { seconds: 4 },
      createdAt: 1,
    };
    await store.logs.addUsage(usage);
    await store.logs.addUsage({ ...usage, apiKeyId: null, kind: 'refund' });
    const all = await store.logs.listUsage({ userId: user.id }, { page: 1, pageSize: 10 });
    expect(all.items.map(({ kind }) => kind)).toEqual(['refund', 'settle']);
    expect((await store.logs.listUsage({ apiKeyId: 3 }, { page: 1, pageSize: 10 })).items).toMatchObject([usage]);
    expect((await store.logs.listUsage({ userId: 999_999 }, { page: 1, pageSize: 10 })).total).toBe(0);

    const hour = 3600;
    await store.logs.addUsage({ ...usage, model: 'n', quota: 7, createdAt: 24 * hour });
    await store.logs.addUsage({ ...usage, model: 'n', quota: 11, createdAt: 47 * hour });
    const ofN = { userId: user.id, model: 'n' };
    const quotas = async (filter: object) =>
      (await store.logs.listUsage({ ...ofN, ...filter }, { page: 1, pageSize: 10 })).items.map(({ quota }) => quota);
    expect(await quotas({})).toEqual([11, 7]);
    expect(await quotas({ since: 24 * hour + 1 })).toEqual([11]);
    expect(await quotas({ until: 24 * hour })).toEqual([7]);

    // Rows of tasks that end together are one statement, which keeps their order and any text.
    const reasonSentence = { reason: 'tasks.vendor_lost', params: { status: 404 } };
    await store.logs.addUsageRows([
      { ...usage, model: 'a\0b', quota: Number.MAX_SAFE_INTEGER, detail: { said: 'a\0b' }, walletId: null },
      { ...usage, model: 'later', kind: 'refund', reasonSentence, seconds: 12 },
    ]);
    await store.logs.addUsageRows([]);
    expect((await store.logs.listUsage({ userId: user.id }, { page: 1, pageSize: 2 })).items).toMatchObject([
      { ...usage, model: 'later', kind: 'refund', reasonSentence, seconds: 12 },
      {
        ...{ ...usage, model: 'a\uFFFDb', quota: Number.MAX_SAFE_INTEGER, detail: { said: 'a\0b' }, walletId: null },
        ...{ reasonSentence: null, seconds: -1 },
      },
    ]);

    const audit = {
      userId: null,
      username: 'system',
      authMethod: 'cli',
      ip: '',
      action: 'user.create' as const,
      target: '1',
      detail: { after: { name: 'x' } },
      createdAt: 1,
    };
    await store.logs.addAudit(audit);
    await store.logs.addAudit({
      ...audit,
      userId: user.id,
      username: 'Ada_1',
      action: 'channel.create',
      target: 'channel:1',
      createdAt: 5,
    });
    const page = { page: 1, pageSize: 10 };
    const audits = await store.logs.listAudit({}, page);
    expect(audits.items.map(({ action }) => action)).toEqual(['channel.create', 'user.create']);
    expect(audits.items[1]).toMatchObject(audit);

    const found: [Parameters<typeof store.logs.listAudit>[0], string[]][] = [
      [{ user: 'aDA_' }, ['channel.create']],
      [{ user: 'a%1' }, []],
      [{ user: 'adaX1' }, []],
      [{ action: 'user' }, ['user.create']],
      [{ action: 'create' }, []],
      [{ target: 'channel:1' }, ['channel.create']],
      [{ target: 'channel' }, []],
      [{ since: 5 }, ['channel.create']],
      [{ until: 4 }, ['user.create']],
      [{ since: 1, until: 5 }, ['channel.create', 'user.create']],
      [{ since: 2, until: 4 }, []],
    ];
    for (const [filter, actions] of found) {
      const { total, items } = await store.logs.listAudit(filter, page);
      expect([filter, total, items.map(({ action }) => action)]).toEqual([filter, actions.length, actions]);
    }
  });
});
