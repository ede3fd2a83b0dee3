/** The Caddyfile that is shipped, in a real Caddy with its own authority, before two nodes. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram } from '../support/find-program.ts';
import { freePort } from '../support/free-port.ts';
import { type Administrator, type Gateway, ROOT, setUp, startGateway, startVendor } from '../support/gateway.ts';
import { waitForEnd } from '../support/main-job.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const REQUESTS = 10_000;
const CLIENTS = 16;
const program = findProgram(['caddy']);
const CADDYFILE = new URL('../../ops/container/Caddyfile', import.meta.url);

/** Over one connection a client, kept alive, as browsers and SDKs do. */
const tls = { rejectUnauthorized: false };

describe.skipIf(program === null)('Caddy before two nodes', () => {
  let nodes: Gateway[];
  let vendor: Awaited<ReturnType<typeof startVendor>>;
  let admin: Administrator;
  let key: string;
  let caddy: ReturnType<typeof Bun.spawn>;
  let url: string;
  let databaseUrl: string;

  const start = (port?: number) =>
    startGateway({
      databaseUrl,
      env: {
        ...{ SHUTDOWN_DRAIN_SECONDS: '5', TRUSTED_PROXIES: '127.0.0.1', CRITICAL_RATE_LIMIT: '1000000' },
        ...{ GLOBAL_API_RATE_LIMIT: '1000000', LOG_LEVEL: 'warn' },
      },
      ...(port === undefined ? {} : { port }),
    });
  const send = (path: string, init: RequestInit = {}) =>
    fetch(`${url}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...init.headers },
      tls,
    });
  const order = (prompt: string) =>
    send('/v1/tasks/demo', { method: 'POST', body: JSON.stringify({ model: 'demo-video', prompt }) });

  beforeAll(async () => {
    databaseUrl = await migratedDatabaseUrl();
    nodes = [await start(), await start()];
    vendor = await startVendor();
    admin = await setUp(nodes[0] as Gateway);
    await admin.createChannel(vendor.url);
    key = await admin.createKey();
    const folder = temporaryFolder();
    const port = await freePort();
    const config = readFileSync(CADDYFILE, 'utf8').replace(
      'node-1:3000 node-2:3000',
      nodes.map((node) => `127.0.0.1:${node.port}`).join(' '),
    );
    // Nothing of the machine is asked for or changed.
    const global = '{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n}\n';
    writeFileSync(join(folder, 'Caddyfile'), `${global}${config}`);
    const env = { PUBLIC_NAME: `localhost:${port}`, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
    url = `https://localhost:${port}`;
    caddy = Bun.spawn([program ?? 'caddy', 'run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile'], {
      ...{ env, stdout: 'ignore', stderr: 'ignore' },
    });
    await until('Caddy has found a ready node', () =>
      send('/readyz').then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
  });
  afterAll(async () => {
    caddy?.kill();
    await Promise.all((nodes ?? []).map((node) => node.stop()));
    await vendor?.stop();
  });

  test('hands files, ranges and streams through as they are', async () => {
    const { id } = (await (await order('a cat [instant] [bytes=3000000]')).json()) as { id: string };
    await waitForEnd(nodes[0]?.url ?? '', key, id);
    const direct = await fetch(`${nodes[0]?.url}/v1/videos/${id}/content`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const whole = new Uint8Array(await direct.arrayBuffer());
    expect(whole.length).toBeGreaterThan(2_500_000);
    const through = await send(`/v1/videos/${id}/content`);
    expect(Bun.hash(await through.arrayBuffer())).toBe(Bun.hash(whole));
    const part = await send(`/v1/videos/${id}/content`, { headers: { range: 'bytes=1000-1999' } });
    expect(part.status).toBe(206);
    expect(new Uint8Array(await part.arrayBuffer())).toEqual(whole.slice(1000, 2000));

    const streamed = await send('/v1/responses', {
      method: 'POST',
      body: JSON.stringify({ model: 'demo-video', input: 'a cat [duration=3]', stream: true }),
    });
    expect(streamed.headers.get('content-type')).toStartWith('text/event-stream');
    const reader = (streamed.body as ReadableStream<Uint8Array>).getReader();
    const began = performance.now();
    const first = new TextDecoder().decode((await reader.read()).value);
    expect(first).toContain('event: response.created');
    // The first event has come before the task could end.
    expect(performance.now() - began).toBeLessThan(2500);
    let rest = '';
    for (let read = await reader.read(); !read.done; read = await reader.read())
      rest += new TextDecoder().decode(read.value);
    expect(rest).toContain('event: response.completed');
  });

  test('leaves limits of bodies to the gateway', async () => {
    const large = JSON.stringify({ model: 'demo-video', prompt: 'x'.repeat(900_000) });
    expect((await send('/v1/tasks/demo', { method: 'POST', body: large })).status).toBeLessThan(413);
    const refused = await send('/api/user/login', {
      ...{ method: 'POST', body: JSON.stringify({ username: 'x'.repeat(100_000), password: 'x' }) },
    });
    expect([refused.status, ((await refused.json()) as { success: boolean }).success]).toEqual([413, false]);
    const form = new FormData();
    form.set('model', 'demo-video');
    form.set('prompt', 'a cat [instant]');
    form.set('input_reference', new File([new Uint8Array(8_000_000)], 'frame.png', { type: 'image/png' }));
    const uploaded = await fetch(`${url}/v1/videos`, {
      ...{ method: 'POST', body: form, headers: { authorization: `Bearer ${key}` }, tls },
    });
    expect([uploaded.status, uploaded.headers.get('x-request-id')]).not.toEqual([413, null]);
    expect(uploaded.headers.get('x-request-id')).toBeTruthy();
  });

  test('forged X-Forwarded-For: the address of a client is the one that Caddy saw', async () => {
    const login = await send('/api/user/login', {
      ...{ method: 'POST', body: JSON.stringify(ROOT), headers: { 'x-forwarded-for': '203.0.113.66' } },
    });
    const token = ((await login.json()) as { data: { access_token: string } }).data.access_token;
    const sessions = (await (
      await send('/api/user/sessions', { headers: { authorization: `Bearer ${token}` } })
    ).json()) as { data: { current: boolean; ip: string }[] };
    expect(sessions.data.find(({ current }) => current)?.ip).toMatch(/^(127\.0\.0\.1|::1)$/);
  });

  test('a rolling restart loses none of 10,000 requests, and no order is placed twice', async () => {
    const outcomes = new Map<string, number>();
    const orders = new Set<string>();
    let sent = 0;
    let isRestarted = false;
    const client = async () => {
      while (sent < REQUESTS || !isRestarted) {
        sent += 1;
        const isOrder = sent % 50 === 0;
        const answer = await (isOrder ? order('a cat [instant]') : send('/v1/models'));
        const text = await answer.text();
        const outcome = `${isOrder ? 'order' : 'read'} ${answer.status}`;
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
        if (isOrder && answer.ok) orders.add((JSON.parse(text) as { id: string }).id);
      }
    };
    const ordered = async () => Number((await vendor.stats()).references);
    const before = await ordered();
    const clients = Array.from({ length: CLIENTS }, client);
    for (const [index, { port }] of nodes.entries()) {
      expect(await nodes[index]?.stop()).toBe(0);
      nodes[index] = await start(port);
      // Caddy looks every two seconds.
      const ready = nodes[index] as Gateway;
      await until('Caddy asks it again', async () => (await fetch(`${ready.url}/readyz`)).ok);
      const soon = sent + 2000;
      await until('requests have gone on', () => sent > soon);
    }
    isRestarted = true;
    await Promise.all(clients);
    expect([...outcomes.keys()].sort()).toEqual(['order 200', 'read 200']);
    expect(sent).toBeGreaterThanOrEqual(REQUESTS);
    expect((await ordered()) - before).toBe(orders.size);
  });
});
