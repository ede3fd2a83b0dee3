/** Who may see whose usage, and which periods there are. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { PanelPrincipal } from '../../../src/auth/index.ts';
import { usageRoutes } from '../../../src/http/panel-api/operation/usage.ts';
import { readUsageFilter } from '../../../src/http/panel-api/operation/usage-log.ts';
import { systemClock } from '../../../src/kernel/index.ts';
import { createUsageReader } from '../../../src/reports/report-usage.ts';
import { ROLE, type Store, type UsageLogRecord } from '../../../src/store/ports/index.ts';
import { openTestStore } from '../../auth/harness.ts';
import { addUser } from '../../support/add-user.ts';
import { call, openKit } from '../kit-harness.ts';

let opened: Awaited<ReturnType<typeof openTestStore>>;
let store: Store;
let app: ReturnType<typeof openKit>;

beforeAll(async () => {
  opened = await openTestStore('sqlite');
  store = opened.store;
  const reports = { usage: createUsageReader({ store, clock: systemClock }) };
  app = openKit({ routes: (kit) => usageRoutes(kit, { reports, clock: systemClock }) as never });
  // The harness signs in a user with the id 1 and an administrator with the id 2.
  for (const username of ['anna', 'admin']) await addUser(store, { username });
  const now = systemClock.unix();
  const add = (userId: number, quota: number, change: Partial<UsageLogRecord> = {}) =>
    store.logs.addUsage({
      ...{
        userId,
        walletId: userId,
        apiKeyId: null,
        taskId: 't',
        channelId: 4,
        pluginKey: 'demo',
        model: 'm',
        kind: 'settle',
      },
      ...{ quota, detail: {}, createdAt: now },
      ...change,
    });
  await add(1, 100);
  await add(1, 20, { kind: 'refund' });
  await add(2, 7000, { model: 'n' });
});
afterAll(() => opened.stop());

test("users see their own usage by key and model; administrators everybody's, or one user's", async () => {
  const shares = async (as: string, query: string) => {
    const { status, json } = await call(app, { path: `/api/usage?${query}`, as });
    expect(status).toBe(200);
    return json.data.shares.map(({ id, name, model, spend }: Record<string, unknown>) => [id, name, model, spend]);
  };
  expect(await shares('user', '')).toEqual([[0, null, 'm', 100]]);
  expect(await shares('user', 'by=key&scope=own')).toEqual([[0, null, '', 100]]);
  expect(await shares('admin', '')).toEqual([[0, null, 'n', 7000]]);
  expect(await shares('admin', 'scope=all&by=user')).toEqual([
    [2, 'admin', '', 7000],
    [1, 'anna', '', 100],
  ]);
  expect(await shares('admin', 'scope=all&by=channel')).toEqual([[4, null, '', 7100]]);
  for (const one of ['user_id=1', 'user=1']) {
    expect(await shares('admin', `${one}&by=model`)).toEqual([[0, null, 'm', 100]]);
  }
  for (const one of ['channel_id=4&api_key_id=0', 'channel=4&key=0']) {
    expect(await shares('admin', `scope=all&${one}&plugin=demo&model=n`)).toEqual([[0, null, 'n', 7000]]);
    expect(await shares('admin', `scope=all&${one.replace('4', '5')}`)).toEqual([]);
  }
});

test('the answer has the totals, seven days without gaps, and what the shares leave', async () => {
  const { json } = await call(app, { path: '/api/usage?zone=Asia%2FKolkata', as: 'user' });
  const { totals, points, others, zone, unit } = json.data;
  expect(totals).toEqual({ succeeded: 1, failed: 1, spend: 100, success_rate: 0.5 });
  expect([points.length, points.at(-1).spend, zone, unit]).toEqual([7, 100, 'Asia/Kolkata', 'day']);
  expect(others).toEqual({ shares: 0, succeeded: 0, failed: 0, spend: 0 });
});

for (const [query, as, expected] of [
  ['scope=all', 'user', 403],
  ['user=2', 'user', 403],
  ['user_id=2', 'user', 403],
  ['channel_id=4', 'user', 403],
  // Their own id as well: the parameter is for administrators.
  ['user=1', 'user', 403],
  ['channel=4', 'user', 403],
  ['by=user', 'user', 403],
  ['by=channel', 'user', 403],
  ['zone=Mars%2FOlympus', 'user', 400],
  ['zone=%2B05%3A30', 'user', 400],
  ['from=2026-02-30', 'user', 400],
  ['from=2026-02-02&to=2026-02-01', 'user', 400],
  ['from=2000-01-01&to=2026-01-01', 'user', 400],
  ['by=plugin', 'user', 400],
  ['days=7', 'user', 400],
  ['user=abc', 'admin', 400],
] as const) {
  test(`${query} is refused with ${expected} for ${as}`, async () => {
    expect((await call(app, { path: `/api/usage?${query}`, as })).status).toBe(expected);
  });
}

test('a filter that is wrong is named by the word that was sent, the present or the former one', async () => {
  const admin = { kind: 'pat', user: { id: 2, role: ROLE.admin }, tokenHash: '' } as PanelPrincipal;
  const readField = (work: () => unknown) => {
    try {
      return work();
    } catch (error) {
      return (error as { details: { errors: { field: string }[] } }).details.errors[0]?.field;
    }
  };
  for (const field of ['user_id', 'user', 'channel_id', 'channel', 'api_key_id', 'api_key'] as const) {
    expect(readField(() => readUsageFilter(admin, { [field]: 'x' }))).toBe(field);
  }
  expect(readUsageFilter(admin, { user_id: '1', channel: '4', api_key_id: '', api_key: '7' })).toEqual({
    ...{ userId: 1, channelId: 4, apiKeyId: 7 },
  });
  for (const field of ['user_id', 'user', 'channel_id', 'channel', 'api_key_id', 'key']) {
    const { json } = await call(app, { path: `/api/usage?${field}=x`, as: 'admin' });
    expect(json.details.errors[0].field).toBe(field);
  }
});
