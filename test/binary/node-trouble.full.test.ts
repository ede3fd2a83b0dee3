/**
 * Nodes of one database that get into trouble: places of results of their own, a database that
 * hangs.
 */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { sha256Hex } from '../../src/kernel/index.ts';
import {
  type Administrator,
  type Answer,
  ask,
  type Gateway,
  setUp,
  startGateway,
  startVendor,
  type VendorProcess,
} from '../support/gateway.ts';
import { startHoldingProxy } from '../support/holding-proxy.ts';
import { submit, waitForEnd } from '../support/main-job.ts';
import { testDatabaseUrl, withOwnTimeouts } from '../support/postgres.ts';
import { until } from '../support/until.ts';

let vendor: VendorProcess;
let gateways: Gateway[] = [];
beforeAll(async () => {
  vendor = await startVendor();
});
afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway.kill();
});
afterAll(() => vendor?.stop());

async function start(databaseUrl: string): Promise<Gateway> {
  const gateway = await startGateway({
    databaseUrl,
    env: { TASK_POLL_INTERVAL_SECONDS: '1', RESULTS_MIN_FREE_MB: '0' },
  });
  gateways = [...gateways, gateway];
  return gateway;
}

test('a node whose results are not shared says so in its log and to administrators, and serves from the vendor', async () => {
  const databaseUrl = await testDatabaseUrl();
  const first = await start(databaseUrl);
  const root = await setUp(first);
  await root.createChannel(vendor.url);
  await root.call('PUT', '/api/option', { key: 'results.keep', value: 'all' });
  const key = await root.createKey();
  const { body } = await submit(first.url, key, {});
  const id = String(body.id);
  expect((await waitForEnd(first.url, key, id)).status).toBe('SUCCESS');
  type Artifacts = { artifacts: { content_url: string; kept?: string; sha256?: string }[] };
  const artifact = await until('the result is kept', async () => {
    const { body: listed } = await ask(`${first.url}/v1/tasks/${id}/artifacts`, { token: key });
    const [found] = (listed as Artifacts).artifacts;
    return found?.kept === 'kept' && found;
  });

  const second = await start(databaseUrl);
  await second.logged('give all nodes the same RESULTS_URL');
  const line = second
    .log()
    .split('\n')
    .find((each) => each.includes('RESULTS_URL'));
  expect(JSON.parse(line ?? '')).toMatchObject({ level: 'error', fault: expect.stringContaining('has no marker') });
  const blocked = async ({ url }: Gateway) => {
    const answer = await ask(`${url}/api/attention`, { token: root.token });
    const items = (answer.body as { data: { code: string; params: object }[] }).data;
    return items.find(({ code }) => code === 'results_blocked');
  };
  expect(await blocked(first)).toBeUndefined();
  expect(await blocked(second)).toMatchObject({
    severity: 'error',
    params: { fault: { reason: 'place.folder_unmarked' } },
  });

  const { pathname, search } = new URL(artifact.content_url);
  for (const { url } of [first, second]) {
    const served = await fetch(`${url}${pathname}${search}`);
    expect([served.status, sha256Hex(await served.bytes())]).toEqual([200, artifact.sha256 ?? '']);
  }
});

test('a database that hangs is answered with 503 and Retry-After until it answers again', async () => {
  const databaseUrl = new URL(withOwnTimeouts(await testDatabaseUrl()));
  const proxy = await startHoldingProxy({ host: databaseUrl.hostname, port: Number(databaseUrl.port || 5432) });
  databaseUrl.host = new URL(proxy.url).host;
  const gateway = await start(databaseUrl.href);
  const root: Administrator = await setUp(gateway);
  await root.createChannel(vendor.url);
  const key = await root.createKey();
  expect((await submit(gateway.url, key, {})).status).toBe(200);

  proxy.mode = 'hold_answers';
  const begun = performance.now();
  const soon = (asked: Promise<Answer>) => Promise.race([asked.catch(() => undefined), Bun.sleep(3000)]);
  for (const [what, look] of [
    ['reads', () => ask(`${gateway.url}/v1/models`, { token: key })],
    ['submissions', () => submit(gateway.url, key, {})],
    ['readiness', () => ask(`${gateway.url}/readyz`)],
  ] as const) {
    const refused = await until(`${what} are refused`, async () => {
      const answer = await soon(look());
      return answer?.status === 503 && answer;
    });
    if (what !== 'readiness') expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    else expect(refused.body).toMatchObject({ checks: { database: 'failed' } });
  }
  // Requests that waited for a statement's whole time were answered after 54 s.
  expect(performance.now() - begun).toBeLessThan(30_000);
  // A server that lets nobody in for longer than a connection may take hangs as before.
  for (const until = performance.now() + 8000; performance.now() < until; await Bun.sleep(250)) {
    expect((await soon(ask(`${gateway.url}/v1/models`, { token: key })))?.status).toBe(503);
  }
  proxy.release();
  await until('it serves again', async () => (await soon(submit(gateway.url, key, {})))?.status === 200);
  await until('it is ready again', async () => (await soon(ask(`${gateway.url}/readyz`)))?.status === 200);
  await gateway.kill();
  await proxy.stop();
});
