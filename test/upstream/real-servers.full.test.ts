/**
 * The HTTP client against servers that others wrote: every form of an answer, connections that they
 * close while we send, and a hundred thousand answers on connections that end by chance.
 */
import { afterAll, describe, expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import type { Upstream, UpstreamRequest } from '../../src/upstream/index.ts';
import { until } from '../support/until.ts';
import { get, loopback, post, testUpstream, trustedCertificates } from './harness.ts';
import * as servers from './real-servers/servers.ts';

const bodies = servers.writeEncodedBodies();
const closers: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closers.reverse()) await close();
});

/** What the servers in front pass requests on to: it keeps its connections. */
const node = await servers.nodeServer(bodies, 60_000);
const origin = 'missing' in node ? undefined : await node.serve(false);
if (origin) closers.push(origin.stop);

const ANSWERS = {
  plain: { status: 200, text: 'plain' },
  chunked: { status: 200, text: 'one two three' },
  trailers: { status: 200, text: 'one two' },
  extensions: { status: 200, text: 'one two' },
  interim: { status: 200, text: 'at last' },
  close: { status: 200, text: 'the last one' },
  old: { status: 200, text: 'until the end' },
  downgraded: { status: 200, text: 'plain' },
  nothing: { status: 204, text: '' },
  unchanged: { status: 304, text: '' },
  gzip: { status: 200, text: servers.ENCODED_TEXT },
  br: { status: 200, text: servers.ENCODED_TEXT },
  zstd: { status: 200, text: servers.ENCODED_TEXT },
  deflated: { status: 200, text: 'one two three' },
} as const;
type Form = keyof typeof ANSWERS;

const ENCODED: Form[] = ['gzip', 'br', 'zstd'];
/** Written by hand, a body for HEAD too, or by a server that sends trailers to HEAD. */
const RAW: Form[] = ['extensions', 'old', 'trailers'];
const EVERYWHERE: Form[] = ['plain', 'chunked', 'close', 'nothing', 'unchanged', ...ENCODED];

type Case = {
  name: string;
  server: servers.Server;
  forms: readonly Form[];
  /** Between two requests, around the time after which the server closes a connection. */
  pauseMs?: number;
  /** It closes connections by chance, and gets the hundred thousand. */
  closesByChance?: boolean;
};

const missing = { missing: 'there is no node for what stands behind it: install nodejs' };
const before = (make: (port: number) => Promise<servers.Server>) => (origin ? make(origin.port) : missing);
const CASES: Case[] = [
  {
    name: 'Node',
    server: await servers.nodeServer(bodies),
    forms: [...EVERYWHERE, 'trailers', 'extensions', 'interim', 'old'],
    closesByChance: true,
  },
  {
    name: 'Go',
    server: await servers.goServer(bodies),
    forms: [...EVERYWHERE, 'trailers', 'interim', 'old'],
    closesByChance: true,
  },
  // It keeps connections for whole seconds.
  { name: 'uvicorn', server: await servers.uvicornServer(bodies), forms: EVERYWHERE, pauseMs: 1000 },
  // This nginx takes an interim answer of what stands behind it for the last one.
  {
    name: 'nginx',
    server: await before(servers.nginxServer),
    forms: [...EVERYWHERE, 'trailers', 'extensions', 'old'],
  },
  {
    name: 'Caddy',
    server: await before(servers.caddyServer),
    forms: [...EVERYWHERE, 'trailers', 'extensions', 'interim', 'old'],
  },
  {
    name: 'Apache',
    server: await before(servers.apacheServer),
    forms: [...EVERYWHERE, 'trailers', 'extensions', 'interim', 'old', 'downgraded', 'deflated'],
  },
];

for (const { name, server, forms, pauseMs = servers.IDLE_MS, closesByChance = false } of CASES) {
  if ('missing' in server) {
    test.skip(`${name}: ${server.missing}`, () => {});
    continue;
  }

  describe(name, () => {
    test.each([
      ['plain', false],
      ['TLS', true],
    ] as const)('%s: answers of every form, and each of them leaves the next to its request', async (_, secure) => {
      await withServer(server.serve, secure, async (upstream, url) => {
        for (const form of forms) {
          for (const method of RAW.includes(form) ? ['GET', 'POST'] : ['GET', 'POST', 'HEAD']) {
            const asked = `${method} ${form}`;
            const { status, text } = ANSWERS[form];
            const body: UpstreamRequest['body'] =
              method === 'POST' ? { kind: 'text', text: 'x'.repeat(9000) } : { kind: 'none' };
            const answer = await readAtLast(upstream, get(`${url}/${form}`, { method, body }));
            expect([asked, answer]).toEqual([asked, { status, text: method === 'HEAD' ? '' : text }]);
            const next = await readAtLast(upstream, post(`${url}/echo/next-${asked.replace(' ', '-')}`, 'mine'));
            expect(next).toEqual({ status: 200, text: `next-${asked.replace(' ', '-')} mine` });
          }
        }
      });
    });

    test('connections that it closes while we send: polls arrive, and no submission is taken twice', async () => {
      await withServer(server.serve, false, async (upstream, url) => {
        // The pauses meet the moment in which it closes.
        const rounds = Math.ceil(6000 / pauseMs / 2);
        const orders = await sendMany(upstream, {
          url: `${url}/echo`,
          senders: 64,
          each: rounds,
          pause: () => pauseMs * (0.9 + 0.2 * Math.random()),
        });
        await expectOnce(upstream, url, orders);
      });
    });

    const many = closesByChance ? 100_000 : 20_000;
    test(`${many} small answers on kept connections: none lost, doubled or given to another request`, async () => {
      await withServer(server.serve, false, async (upstream, url) => {
        const path = closesByChance ? 'random' : 'echo';
        const orders = await sendMany(upstream, { url: `${url}/${path}`, senders: 50, each: many / 50 });
        await expectOnce(upstream, url, orders);
      });
    });
  });
}

async function withServer(
  serve: servers.Serve,
  secure: boolean,
  work: (upstream: Upstream, url: string) => Promise<void>,
): Promise<void> {
  const served = await serve(secure);
  const upstream = testUpstream({ trustedCertificates, resolve: loopback });
  const url = `${secure ? 'https' : 'http'}://localhost:${served.port}`;
  try {
    await until('it answers', async () => 'status' in (await read(upstream, get(`${url}/plain`))));
    await work(upstream, url);
  } finally {
    await upstream.close();
    await served.stop();
  }
}

type Read = { status: number; text: string } | { kind: string };

async function read(upstream: Upstream, request: UpstreamRequest): Promise<Read> {
  const answer = await upstream.request({ ...request, maxResponseBytes: 64 * 1024 * 1024 });
  if (!answer.ok) return { kind: answer.error.kind };
  const text = await answer.value.text();
  return text.ok ? { status: answer.value.status, text: text.value } : { kind: text.error.kind };
}

/**
 * The answer to a request that may be sent again: a busy machine pauses for longer than a server
 * keeps a connection, and the client sends no submission twice.
 */
async function readAtLast(upstream: Upstream, request: UpstreamRequest): Promise<Read> {
  for (let tries = 1; ; tries += 1) {
    const answer = await read(upstream, request);
    if (!('kind' in answer) || answer.kind !== 'broken' || tries === 5) return answer;
  }
}

type Order = { id: string; isSubmission: boolean; answer: Read };

/** Polls and submissions in turn, by senders beside each other. */
async function sendMany(
  upstream: Upstream,
  { url, senders, each, pause }: { url: string; senders: number; each: number; pause?: () => number },
): Promise<Order[]> {
  // Some servers pass them on to the same one behind them, which counts all.
  const group = randomUUID();
  const orders: Order[] = [];
  const send = async (sender: number) => {
    for (let nth = 0; nth < each; nth += 1) {
      if (pause) await Bun.sleep(pause());
      const id = `${group}-${sender}-${nth}`;
      const isSubmission = nth % 2 === 0;
      const request = isSubmission ? post(`${url}/${id}`, `of ${id}`) : get(`${url}/${id}`);
      orders.push({ id, isSubmission, answer: await read(upstream, request) });
    }
  };
  await Promise.all(Array.from({ length: senders }, (_, sender) => send(sender)));
  return orders;
}

async function expectOnce(upstream: Upstream, url: string, orders: readonly Order[]): Promise<void> {
  const counted = await read(upstream, get(`${url}/taken`));
  if (!('text' in counted)) throw new Error(`the server does not say what it took: ${counted.kind}`);
  const taken = JSON.parse(counted.text) as Record<string, number>;
  let doubtful = 0;
  const faults: string[] = [];
  for (const { id, isSubmission, answer } of orders) {
    const times = taken[id] ?? 0;
    const isOwn = 'text' in answer && answer.text === `${id} ${isSubmission ? `of ${id}` : ''}`;
    const isInDoubt = isSubmission && 'kind' in answer && answer.kind === 'broken';
    if (isInDoubt) doubtful += 1;
    if (!isOwn && !isInDoubt) faults.push(`${id}: ${JSON.stringify(answer)}`);
    if (isSubmission && (times > 1 || (isOwn && times !== 1))) faults.push(`${id} was taken ${times} times`);
  }
  expect(faults).toEqual([]);
  // A submission is in doubt where the server closed under it, which it does rarely.
  expect(doubtful / orders.length).toBeLessThan(0.1);
}
