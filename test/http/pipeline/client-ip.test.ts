import { describe, expect, test } from 'bun:test';
import { createClientAddresses, isLoopback } from '../../../src/http/pipeline/client-ip.ts';
import { AppError, systemClock } from '../../../src/kernel/index.ts';
import { at } from '../../support/deciding-ip.ts';
import { call, openKit } from '../kit-harness.ts';

/** Reads the client's address behind these proxies. */
function createClientIp(trusted: readonly string[]) {
  const addresses = createClientAddresses({ trustedProxies: trusted, decidingProxies: trusted, clock: systemClock });
  return (peer: string, chain: string | null): string => addresses.read(peer, chain).ip;
}

/** The specification's default list. */
const DEFAULT = ['127.0.0.0/8', '::1', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'];

describe('the client’s address', () => {
  const rows: [name: string, trusted: string[], peer: string, chain: string | null, client: string][] = [
    ['a direct client', DEFAULT, '203.0.113.9', null, '203.0.113.9'],
    ['forged X-Forwarded-For of a direct client', DEFAULT, '203.0.113.9', '127.0.0.1', '203.0.113.9'],
    ['behind one proxy', DEFAULT, '10.0.0.2', '203.0.113.9', '203.0.113.9'],
    ['forged entry to the left of the proxy’s', DEFAULT, '10.0.0.2', '1.2.3.4, 203.0.113.9', '203.0.113.9'],
    ['behind two proxies', DEFAULT, '10.0.0.2', '1.2.3.4, 203.0.113.9, 192.168.1.1', '203.0.113.9'],
    ['all trusted', DEFAULT, '10.0.0.2', '10.0.0.4, 10.0.0.3', '10.0.0.4'],
    ['garbage ends the reading', DEFAULT, '10.0.0.2', '203.0.113.9, unknown, 10.0.0.3', '10.0.0.3'],
    ['garbage next to the peer', DEFAULT, '10.0.0.2', '203.0.113.9, <script>', '10.0.0.2'],
    ['an empty header', DEFAULT, '10.0.0.2', '', '10.0.0.2'],
    ['a port', DEFAULT, '10.0.0.2', '203.0.113.9:4711', '203.0.113.9'],
    ['IPv6 with a port', DEFAULT, '::1', '[2001:db8::7]:4711', '2001:db8::7'],
    ['IPv6', DEFAULT, 'fd00::1', '2001:db8:0:0::7', '2001:db8::7'],
    ['IPv4 in IPv6 form', DEFAULT, '::ffff:10.0.0.2', '::ffff:203.0.113.9', '203.0.113.9'],
    ['a decimal address', DEFAULT, '10.0.0.2', '3405803785', '10.0.0.2'],
    ['a short address', DEFAULT, '10.0.0.2', '127.1', '10.0.0.2'],
    ['no proxy is trusted', [], '127.0.0.1', '203.0.113.9', '127.0.0.1'],
    ['one address alone is trusted', ['198.51.100.7'], '198.51.100.7', '203.0.113.9', '203.0.113.9'],
    ['its neighbour is not', ['198.51.100.7'], '198.51.100.8', '203.0.113.9', '198.51.100.8'],
    ['a load balancer that must be named', DEFAULT, '100.64.0.1', '203.0.113.9', '100.64.0.1'],
    ['every hop trusted: the leftmost', DEFAULT, '127.0.0.1', '192.168.0.9, 10.0.0.4, 172.16.0.3', '192.168.0.9'],
    ['every hop trusted, one named twice', DEFAULT, '10.0.0.2', '10.0.0.2, 10.0.0.2', '10.0.0.2'],
    ['garbage to the left of the answer is never reached', DEFAULT, '10.0.0.2', '<script>, 203.0.113.9', '203.0.113.9'],
    ['an empty hop ends the reading', DEFAULT, '10.0.0.2', '203.0.113.9, , 10.0.0.3', '10.0.0.3'],
    ['a trailing comma hides no address', DEFAULT, '10.0.0.2', '203.0.113.9,', '10.0.0.2'],
    ['no blanks', DEFAULT, '10.0.0.2', '1.2.3.4,203.0.113.9,10.0.0.3', '203.0.113.9'],
    ['a name', DEFAULT, '10.0.0.2', 'localhost', '10.0.0.2'],
    ['an obfuscated node', DEFAULT, '10.0.0.2', '_hidden, 10.0.0.3', '10.0.0.3'],
    ['quotes', DEFAULT, '10.0.0.2', '"203.0.113.9"', '10.0.0.2'],
    ['an octal address', DEFAULT, '10.0.0.2', '0177.0.0.1', '10.0.0.2'],
    ['a hexadecimal address', DEFAULT, '10.0.0.2', '0x7f.0.0.1', '10.0.0.2'],
    ['an address out of range', DEFAULT, '10.0.0.2', '256.1.1.1', '10.0.0.2'],
    ['an open bracket', DEFAULT, '10.0.0.2', '[2001:db8::7', '10.0.0.2'],
    ['brackets without a port', DEFAULT, '10.0.0.2', '[2001:db8::7]', '2001:db8::7'],
    ['a mapped hop that is trusted', DEFAULT, '::ffff:127.0.0.1', '203.0.113.9, ::ffff:10.0.0.3', '203.0.113.9'],
    ['a mapped peer in hexadecimal form', DEFAULT, '::ffff:7f00:1', '203.0.113.9', '203.0.113.9'],
    ['a mapped peer that is not trusted', DEFAULT, '::ffff:203.0.113.1', '10.0.0.1', '203.0.113.1'],
    ['a unique local peer', DEFAULT, 'fd12::1', '203.0.113.9', '203.0.113.9'],
    ['the IPv6 loopback', DEFAULT, '::1', '203.0.113.9', '203.0.113.9'],
    ['just outside 172.16.0.0/12', DEFAULT, '172.32.0.1', '203.0.113.9', '172.32.0.1'],
    ['a peer that is not an address', DEFAULT, '', '203.0.113.9', ''],
    ['a list replaces the default: loopback', ['198.51.100.0/24'], '127.0.0.1', '203.0.113.9', '127.0.0.1'],
    ['a list replaces the default: private', ['198.51.100.0/24'], '10.0.0.1', '203.0.113.9', '10.0.0.1'],
    ['an IPv6 range', ['2001:db8::/32'], '2001:db8:5::1', '203.0.113.9', '203.0.113.9'],
    ['link-local is not in the default', DEFAULT, '169.254.1.1', '203.0.113.9', '169.254.1.1'],
  ];
  test.each(rows)('%s', (_name, trusted, peer, chain, client) => {
    expect(createClientIp(trusted)(peer, chain)).toBe(client);
  });

  test('two headers count as one chain', async () => {
    const app = openKit({ config: { trustedProxies: ['10.0.0.0/8'] } });
    const headers = new Headers([
      ['x-forwarded-for', '1.2.3.4'],
      ['x-forwarded-for', '203.0.113.9'],
    ]);
    const answer = await app.handle(new Request('http://gateway.local/api/open', { headers }), {
      address: '10.0.0.2',
      keepOpen: () => () => {},
    });
    expect(await answer.json()).toMatchObject({ data: { ip: '203.0.113.9' } });
  });

  test('a hop of a later header ends the reading before an earlier header', async () => {
    const app = openKit({ config: { trustedProxies: ['10.0.0.0/8'] } });
    const headers = new Headers([
      ['x-forwarded-for', '203.0.113.9'],
      ['x-forwarded-for', 'unknown, 10.0.0.3'],
    ]);
    const answer = await app.handle(new Request('http://gateway.local/api/open', { headers }), {
      address: '10.0.0.2',
      keepOpen: () => () => {},
    });
    expect(await answer.json()).toMatchObject({ data: { ip: '10.0.0.3' } });
  });

  test('other forwarding headers are ignored', async () => {
    const app = openKit({ config: { trustedProxies: ['10.0.0.0/8'] } });
    const answer = await call(app, {
      path: '/api/open',
      peer: '10.0.0.2',
      headers: {
        'x-real-ip': '1.2.3.4',
        forwarded: 'for=1.2.3.4',
        'cf-connecting-ip': '1.2.3.4',
        'true-client-ip': '1.2.3.4',
        'x-client-ip': '1.2.3.4',
        'x-forwarded': '1.2.3.4',
      },
    });
    expect(answer.json.data.ip).toBe('10.0.0.2');
  });
});

test('a flood of forwarded addresses: only the last 16 hops are read', () => {
  const read = createClientIp(['127.0.0.1', '10.0.0.0/8']);
  const proxies = (count: number) => Array.from({ length: count }, (_, i) => `10.0.0.${i + 1}`).join(', ');
  expect(read('127.0.0.1', `203.0.113.9, ${proxies(15)}`)).toBe('203.0.113.9');
  expect(read('127.0.0.1', `203.0.113.9, ${proxies(16)}`)).toBe('10.0.0.1');
  expect(read('127.0.0.1', `203.0.113.9,${'10.0.0.7,'.repeat(1800)}10.0.0.8`)).toBe('10.0.0.7');
  expect(read('127.0.0.1', `203.0.113.9, ${'1'.repeat(16_000)}`)).toBe('127.0.0.1');
  for (const chain of [',', ',,', ',203.0.113.9', '203.0.113.9,'])
    expect(read('127.0.0.1', chain)).toBe(createClientIp(['127.0.0.1'])('127.0.0.1', chain));
  expect(read('127.0.0.1', ',203.0.113.9')).toBe('203.0.113.9');
});

describe('the address that limits use while TRUSTED_PROXIES is unset', () => {
  const addresses = (now = () => 0) =>
    createClientAddresses({
      trustedProxies: DEFAULT,
      decidingProxies: ['127.0.0.0/8', '::1/128'],
      clock: { ...systemClock, monotonicMs: () => now() * 1000 },
    });
  const rows: [name: string, peer: string, chain: string | null, shown: string, decides: string][] = [
    ['forged entry in front of a LAN client', '127.0.0.1', '8.8.8.8, 192.168.1.5', '8.8.8.8', '192.168.1.5'],
    ['a LAN client that forges', '192.168.1.5', '8.8.8.8', '8.8.8.8', '192.168.1.5'],
    ['a client behind a proxy on this machine', '127.0.0.1', '203.0.113.9', '203.0.113.9', '203.0.113.9'],
    ['two proxies on this machine', '::1', '203.0.113.9, 127.0.0.2', '203.0.113.9', '203.0.113.9'],
    ['a container behind a bridge', '172.17.0.1', '203.0.113.9', '203.0.113.9', '172.17.0.1'],
    ['a direct client', '203.0.113.9', '127.0.0.1', '203.0.113.9', '203.0.113.9'],
    ['a process on this machine', '127.0.0.1', null, '127.0.0.1', '127.0.0.1'],
  ];
  test.each(rows)('%s', (_name, peer, chain, ip, decidingIp) => {
    expect(addresses().read(peer, chain)).toEqual({ ip, decidingIp: at(decidingIp) });
  });

  test('a proxy trusted only for the displayed address is reported for an hour', () => {
    let now = 0;
    const read = addresses(() => now);
    read.read('192.168.1.5', null);
    expect(read.hasProxy()).toBe(false);
    read.read('127.0.0.1', '203.0.113.9');
    expect(read.hasProxy()).toBe(true);
    read.read('203.0.113.7', '203.0.113.9');
    expect(read.unlistedProxy()).toBeUndefined();
    read.read('172.17.0.1', '203.0.113.9');
    expect(read.unlistedProxy()).toBe('172.17.0.1');
    now = 3600;
    expect(read.unlistedProxy()).toBeUndefined();
  });

  test('limits and API keys get the deciding address, handlers get both', async () => {
    const asked: string[] = [];
    const note = (what: string) => async (ip: string) => void asked.push(`${what} ${ip}`);
    const app = openKit({
      config: { trustedProxies: DEFAULT, decidingProxies: ['127.0.0.1'] },
      limits: { api: note('api'), critical: note('critical') },
      auth: {
        authenticatePanel: () => Promise.reject(new Error('not asked')),
        async authenticateApiKey(_authorization, { origin: { ip, decidingIp } }) {
          asked.push(`key ${decidingIp}, shown ${ip}`);
          throw new AppError('auth.api_key_ip_not_allowed', 'forbidden', { message: 'Not from there.' });
        },
      },
    });
    const forged = { peer: '192.168.1.5', headers: { 'x-forwarded-for': '8.8.8.8' } };
    const open = await call(app, { path: '/api/open', ...forged });
    expect(open.json.data).toMatchObject({ ip: '8.8.8.8', decides: '192.168.1.5' });
    await call(app, { path: '/api/guess', method: 'POST', ...forged });
    await call(app, { path: '/v1/things/1', as: 'sk-good', ...forged });
    expect([...new Set(asked)]).toEqual(['api 192.168.1.5', 'critical 192.168.1.5', 'key 192.168.1.5, shown 8.8.8.8']);
    expect(app.addresses.unlistedProxy()).toBe('192.168.1.5');
  });
});

test.each([
  ['127.0.0.1', true],
  ['127.9.9.9', true],
  ['::1', true],
  ['::ffff:127.0.0.1', true],
  ['10.0.0.1', false],
  ['', false],
])('%s is loopback: %p', (address, loopback) => {
  expect(isLoopback(address)).toBe(loopback);
});
