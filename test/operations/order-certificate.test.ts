/** Orders at a stand-in authority, what is sent to it, and how a certificate is kept. */
import { afterAll, describe, expect, test } from 'bun:test';
import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type Clock, silentLogger, systemClock } from '../../src/kernel/index.ts';
import { listenForHttpChallenges } from '../../src/operations/certificates/answer-http-challenges.ts';
import { orderCertificate } from '../../src/operations/certificates/order-certificate.ts';
import { createSelfSigned, renewCertificates } from '../../src/operations/certificates/renew-certificate.ts';
import { createUpstream } from '../../src/upstream/index.ts';
import { makeCertificate } from '../support/make-certificate.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const folder = temporaryFolder();
const own = makeCertificate(folder, 'authority');
const read = (path: string) => readFileSync(path, 'utf8');
const accountKey = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString();

type Faults = { newOrder?: string; orderStatus?: string; slowOrders?: number; isGone?: boolean };

/** One order for one name. A real authority stands in `test/binary/acme.full.test.ts`. */
function startAuthority(httpPort: () => number, faults: Faults) {
  const seen: string[] = [];
  let challenge: { status: string; error?: object } = { status: 'pending' };
  let csr = '';
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    tls: { cert: read(own.cert), key: read(own.key) },
    async fetch(request) {
      const { pathname, origin } = new URL(request.url);
      const answer = (body: unknown, status = 200, headers: Record<string, string> = {}) =>
        new Response(typeof body === 'string' ? body : JSON.stringify(body), {
          status,
          headers: { 'replay-nonce': crypto.randomUUID(), ...headers },
        });
      if (request.method === 'HEAD') return answer('');
      if (pathname === '/dir') {
        const newOrder = faults.newOrder ?? `${origin}/order`;
        return answer({ newNonce: `${origin}/nonce`, newAccount: `${origin}/account`, newOrder });
      }
      seen.push(pathname);
      const body = (await request.json()) as { payload: string };
      const payload = body.payload === '' ? undefined : JSON.parse(Buffer.from(body.payload, 'base64url').toString());
      const proofs = () => ({ type: 'http-01', url: `${origin}/challenge`, token: 'token-1', ...challenge });
      const order = { authorizations: [`${origin}/authorization`], finalize: `${origin}/finalize` };
      switch (pathname) {
        case '/account':
          return answer({ contact: payload.contact }, 201, { location: `${origin}/account/1` });
        case '/order':
          return answer({ ...order, status: 'pending' }, 201, { location: `${origin}/order/1` });
        case '/authorization':
          if (faults.isGone && seen.includes('/challenge')) return answer({ detail: 'no such authorization' }, 404);
          return answer({
            status: challenge.status,
            identifier: { type: 'dns', value: 'gate.test' },
            challenges: [proofs()],
          });
        case '/challenge': {
          if (payload === undefined) return answer(proofs());
          const proof = await fetch(`http://127.0.0.1:${httpPort()}/.well-known/acme-challenge/token-1`);
          challenge = (await proof.text()).startsWith('token-1.')
            ? { status: 'valid' }
            : { status: 'invalid', error: { detail: `read ${proof.status}\u202e` } };
          return answer(proofs());
        }
        case '/finalize':
          csr = payload.csr;
          return answer({ ...order, status: 'processing' });
        case '/order/1':
          if (csr === '') return answer({ ...order, status: faults.orderStatus ?? 'ready' });
          // Some authorities say so for a moment after the order is complete.
          if (seen.filter((path) => path === '/order/1').length <= 1 + (faults.slowOrders ?? 0))
            return answer({ ...order, status: 'ready' });
          return answer({ ...order, status: 'valid', certificate: `${origin}/certificate` });
        default:
          return answer('the chain');
      }
    },
  });
  return { url: `https://localhost:${server.port}/dir`, seen, csr: () => csr, stop: () => server.stop(true) };
}

const upstream = createUpstream({
  allowPrivate: false,
  clock: systemClock,
  logger: silentLogger,
  trustedCertificates: [read(own.cert)],
});
afterAll(() => upstream.close());

async function order({
  isAnswered = true,
  signal = new AbortController().signal,
  clock = systemClock,
  ...faults
}: Faults & { isAnswered?: boolean; signal?: AbortSignal; clock?: Clock } = {}) {
  const http = listenForHttpChallenges({ host: '127.0.0.1', port: 0, names: ['gate.test'] });
  const authority = startAuthority(() => http.port, faults);
  const answer = isAnswered ? http.answer : () => () => undefined;
  try {
    const ordered = { directoryUrl: authority.url, accountKey, names: ['gate.test', 'www.gate.test'] };
    const certificate = await orderCertificate(
      { upstream, clock, answer, signal },
      { ...ordered, email: 'root@gate.test' },
    );
    return { certificate, authority };
  } finally {
    await Promise.all([authority.stop(), http.stop()]);
  }
}

describe('an order', () => {
  test('proves the name and asks for all names', async () => {
    const { certificate, authority } = await order();
    expect(certificate.cert).toBe('the chain');
    expect(authority.seen).toEqual(
      [
        ...['account', 'order', 'authorization', 'challenge', 'authorization'],
        ...['order/1', 'finalize', 'order/1', 'certificate'],
      ].map((name) => `/${name}`),
    );
    const path = join(folder, 'request.der');
    writeFileSync(path, Buffer.from(authority.csr(), 'base64url'));
    const shown = Bun.spawnSync(['openssl', 'req', '-inform', 'DER', '-in', path, '-noout', '-text', '-verify']);
    expect(shown.exitCode).toBe(0);
    expect(shown.stdout.toString()).toContain('DNS:gate.test, DNS:www.gate.test');
  });

  test('tells in the words of the authority why a name was not verified', async () => {
    await expect(order({ isAnswered: false })).rejects.toThrow('the authority could not verify gate.test: read 404');
  });

  test.each([
    ['http://localhost/order', 'the authority named an address without https'],
    ['https://127.0.0.1:1/order', 'the authority cannot be reached'],
  ])('does not go to %s, which the authority names as its own', async (newOrder, words) => {
    await expect(order({ newOrder })).rejects.toThrow(words);
  });

  test('is not polled again where the answer is a refusal', async () => {
    const pauses: number[] = [];
    const clock: Clock = {
      ...systemClock,
      sleep(ms, signal) {
        if (ms < 60_000) pauses.push(ms);
        return systemClock.sleep(ms, signal);
      },
    };
    await expect(order({ isGone: true, clock })).rejects.toThrow('could not verify gate.test: no such authorization');
    expect(pauses).toEqual([]);
  });

  test('whose authority says ready for a while after it is complete is waited for', async () => {
    const { certificate } = await order({ slowOrders: 1 });
    expect(certificate.cert).toBe('the chain');
  });

  test('is given up after five minutes', async () => {
    let now = 0;
    const clock: Clock = {
      ...systemClock,
      async sleep(ms, signal) {
        const end = now + ms;
        while (now < end && !signal?.aborted) {
          await new Promise((resolve) => setTimeout(resolve, 1));
          if (ms < 60_000) now += 1000;
        }
      },
    };
    await expect(order({ orderStatus: 'processing', clock })).rejects.toThrow('not done within five minutes');
    expect(now).toBeLessThan(320_000);
  });

  test('ends at once with the gateway, while the authority is still at work', async () => {
    const stopping = new AbortController();
    setTimeout(() => stopping.abort(), 300);
    await expect(order({ orderStatus: 'processing', signal: stopping.signal })).rejects.toThrow('the gateway stops');
  });
});

test('the certificate that signs itself is for all names', async () => {
  const { cert, key } = await createSelfSigned(['gate.test', 'www.gate.test'], { nowMs: Date.now(), days: 7 });
  const certificate = new X509Certificate(cert);
  expect(certificate.checkPrivateKey(createPrivateKey(key))).toBe(true);
  expect(certificate.subjectAltName).toBe('DNS:gate.test, DNS:www.gate.test');
  expect(certificate.subject).toBe('CN=Taskgate\\, self-signed');
});

describe('a kept certificate', () => {
  test('is renewed when a third of its time or 30 days are left, and tried again later and later', async () => {
    const startMs = Date.parse('2030-01-01T00:00:00Z');
    let nowMs = startMs;
    let isAway = false;
    const orders: number[] = [];
    const slept: number[] = [];
    let wake: (() => void) | undefined;
    const clock: Clock = {
      ...systemClock,
      nowMs: () => nowMs,
      async sleep(ms, signal) {
        slept.push(ms);
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        signal?.addEventListener('abort', () => resolve());
        await promise;
        nowMs += ms;
      },
    };
    const served: string[] = [];
    const kept = renewCertificates({
      names: ['gate.test'],
      files: { accountKey: async () => '', read: async () => undefined, write: async () => undefined },
      async order() {
        orders.push(nowMs);
        if (isAway) throw new Error('away');
        return createSelfSigned(['gate.test'], { nowMs, days: 89 });
      },
      ...{ clock, logger: silentLogger, serve: ({ cert }: { cert: string }) => served.push(cert) },
    });
    /** Lets the loop sleep once more, and waits until it does. */
    const next = async () => {
      const count = slept.length;
      wake?.();
      await until('the loop sleeps', () => slept.length > count);
    };
    await kept.first();
    kept.start();
    await until('the loop sleeps', () => slept.length > 0);
    expect(served.length).toBe(1);
    nowMs = startMs + 58 * 86_400_000;
    await next();
    expect(orders.length).toBe(1);
    isAway = true;
    nowMs = startMs + 59 * 86_400_000;
    await next();
    await next();
    await next();
    expect(kept.fault()?.message).toContain('(away)');
    const [once = 0, twice = 0, thrice = 0] = slept.slice(-3);
    expect(once).toBeGreaterThan(60_000);
    expect(twice).toBeGreaterThan(once);
    expect(thrice).toBeGreaterThan(twice);
    isAway = false;
    await next();
    expect(kept.fault()).toBeUndefined();
    expect(served.length).toBe(2);
    await kept.stop();
  });

  test('that cannot be stored is served, told, and stored later without another order', async () => {
    let isFull = true;
    let orders = 0;
    const stored: string[] = [];
    const wakes: (() => void)[] = [];
    const clock: Clock = {
      ...systemClock,
      sleep: (_, signal) =>
        new Promise((resolve) => {
          wakes.push(resolve);
          signal?.addEventListener('abort', () => resolve());
        }),
    };
    const kept = renewCertificates({
      names: ['gate.test'],
      files: {
        accountKey: async () => '',
        read: async () => undefined,
        async write({ cert }) {
          if (isFull) throw Object.assign(new Error('no space in /data/acme'), { code: 'ENOSPC' });
          stored.push(cert);
        },
      },
      async order() {
        orders += 1;
        return createSelfSigned(['gate.test'], { nowMs: Date.now(), days: 89 });
      },
      ...{ clock, logger: silentLogger, serve: () => undefined },
    });
    await kept.first();
    kept.start();
    await until('it was tried', () => wakes.length === 1);
    expect(kept.fault()?.message).toContain('is in use but could not be stored (ENOSPC)');
    isFull = false;
    wakes[0]?.();
    await until('it was tried again', () => wakes.length === 2);
    expect([kept.fault(), orders, stored.length]).toEqual([undefined, 1, 1]);
    await kept.stop();
  });
});

test.each([
  'GET / HTTP/1.0\r\n\r\n',
  'GET /.well-known/acme-challenge/token HTTP/1.0\r\n\r\n',
  'GET / HTTP/1.1\r\nHost: [\r\n\r\n',
  'GET / HTTP/1.1\r\nHost: gate.test:99999\r\n\r\n',
  'GET / HTTP/1.1\r\nHost: gate.test@evil.test\r\n\r\n',
])('the listener for challenges refuses %j, which has no address', async (head) => {
  const http = listenForHttpChallenges({ host: '127.0.0.1', port: 0, names: ['gate.test'] });
  const socket = connect(http.port, '127.0.0.1', () => void socket.write(head));
  try {
    const answer = await new Promise<string>((resolve) => void socket.once('data', (data) => resolve(String(data))));
    expect(answer).toStartWith('HTTP/1.1 400 ');
  } finally {
    socket.destroy();
    await http.stop();
  }
});

test('where another program has the port for challenges, the error names that port, not that of the gateway', async () => {
  const other = listenForHttpChallenges({ host: '127.0.0.1', port: 0, names: ['gate.test'] });
  try {
    expect(() => listenForHttpChallenges({ host: '127.0.0.1', port: other.port, names: ['gate.test'] })).toThrow(
      `port ${other.port} on 127.0.0.1, where ACME verifies the names, is in use`,
    );
  } finally {
    await other.stop();
  }
});
