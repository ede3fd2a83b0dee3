import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Logger, silentLogger } from '../../src/kernel/index.ts';
import { get, loopback, type RawServer, reply, startRawServer, testUpstream } from './harness.ts';

let server: RawServer;
beforeAll(async () => {
  server = await startRawServer(({ socket }) => void socket.write(reply('ok')));
});
afterAll(() => server.stop());

async function expectRefused(
  url: string,
  changes: Parameters<typeof get>[1] = {},
  options: Parameters<typeof testUpstream>[0] = {},
) {
  const upstream = testUpstream(options);
  const before = server.connections;
  const result = await upstream.request(get(url, changes));
  await upstream.close();
  expect(result.ok).toBe(false);
  if (!result.ok) {
    expect({ url, ...result.error }).toMatchObject({ url, kind: 'refused', notSent: true });
    expect(result.error.message).not.toContain('://');
  }
  expect(server.connections).toBe(before);
}

describe('literal addresses that name this machine or its network', () => {
  const spellings = [
    '127.0.0.1',
    '127.1',
    '2130706433', // decimal
    '0x7f000001', // hexadecimal
    '0x7f.1',
    '017700000001', // octal
    '0177.0.0.1',
    '127.0.0.1.',
    '１２７.0.0.1', // full-width digits
    '[::1]',
    '[::ffff:127.0.0.1]', // IPv4-mapped
    '[::ffff:7f00:1]',
    '[::ffff:0:127.0.0.1]', // SIIT
    '[64:ff9b::127.0.0.1]', // NAT64
    '[2002:7f00:1::]', // 6to4
    '[2002:a9fe:a9fe::1]',
    '[::127.0.0.1]', // IPv4-compatible
    '[2001:0:7f00:1::]', // Teredo
    '0.0.0.0',
    '0',
    '[::]',
    '10.0.0.1',
    '172.16.0.1',
    '192.168.1.1',
    '100.64.0.1',
    '[fd00::1]',
    '[fe80::1]',
    '[fec0::1]',
    '169.254.169.254',
    '192.0.2.1',
    '198.18.0.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '[ff02::1]',
    '[64:ff9b:1::1]',
    '[2001:db8::1]',
  ];
  for (const host of spellings) {
    test(host, () => expectRefused(`http://${host}:${server.port}/`, { privateHosts: [] }));
  }

  test('an IPv6 zone id is not a URL', () =>
    expectRefused(`http://[fe80::1%25eth0]:${server.port}/`, { privateHosts: [] }));
});

describe('addresses that no permission opens', () => {
  for (const host of [
    '169.254.169.254', // AWS, Azure, Google Cloud, OpenStack
    '[::ffff:169.254.169.254]',
    '[64:ff9b::a9fe:a9fe]',
    '[2002:a9fe:a9fe::]',
    '[fe80::a9fe:a9fe]',
    '169.254.170.2', // Amazon ECS
    '100.100.100.200', // Alibaba Cloud
    '168.63.129.16', // Azure host agent
    '192.0.0.192', // Oracle Cloud Classic
    '[fd00:ec2::254]', // AWS
    '[fd20:ce::254]', // Google Cloud
    '0.0.0.0',
    '255.255.255.255',
    '224.0.0.251',
    '[ff02::fb]',
    '[::]',
  ]) {
    test(host, () => expectRefused(`http://${host}/latest/meta-data/`, {}, { allowPrivate: true }));
  }
});

describe('names', () => {
  test('DNS: a name that answers with a loopback address', () =>
    expectRefused(`http://inside.test:${server.port}/`, { privateHosts: [] }, { resolve: loopback }));

  test('DNS: localhost is a name like any other', () =>
    expectRefused(`http://localhost:${server.port}/`, { privateHosts: [] }));

  test('DNS: a public and a private answer together', () =>
    expectRefused(
      `http://mixed.test:${server.port}/`,
      { privateHosts: [] },
      {
        resolve: async () => [
          { address: '93.184.216.34', family: 4 },
          { address: '127.0.0.1', family: 4 },
        ],
      },
    ));

  test('DNS: an IPv4-mapped answer', () =>
    expectRefused(
      `http://mapped.test:${server.port}/`,
      { privateHosts: [] },
      {
        resolve: async () => [{ address: '::ffff:127.0.0.1', family: 6 }],
      },
    ));

  test.each(['::8.8.8.8', '::127.0.0.1'])(
    'DNS: the IPv4-compatible answer %s, with any IPv4 address in it',
    (address) =>
      expectRefused(
        'http://compatible.test/',
        {},
        { allowPrivate: true, resolve: async () => [{ address, family: 6 }] },
      ),
  );

  test('DNS: a metadata address behind the permitted base host', () =>
    expectRefused('http://base.test/', {}, { resolve: async () => [{ address: '169.254.169.254', family: 4 }] }));

  test('DNS: an answer with a zone id', () =>
    expectRefused('http://zone.test/', {}, { resolve: async () => [{ address: 'fe80::1%lo', family: 6 }] }));

  test('DNS rebinding: the address that was checked is the one connected to; a later answer is checked again', async () => {
    const answers = ['127.0.0.1', '169.254.169.254'];
    let lookups = 0;
    const upstream = testUpstream({
      resolve: async () => [{ address: answers[Math.min(lookups++, 1)] ?? '', family: 4 }],
    });
    const url = `http://rebinding.test:${server.port}/`;
    const before = server.connections;
    const first = await upstream.request(get(url));
    expect(first.ok).toBe(true);
    expect(lookups).toBe(1);
    if (first.ok) await first.value.text();
    // A POST on a path that gets its own connection resolves again, and meets the second answer.
    const second = await upstream.request(get(url, { method: 'POST' }));
    expect(second).toMatchObject({ ok: false, error: { kind: 'refused', notSent: true } });
    expect(lookups).toBe(2);
    expect(server.connections).toBe(before + 1);
    await upstream.close();
  });

  test('DNS rebinding: a connection opened with permission is not lent to a request without it', async () => {
    const upstream = testUpstream({ resolve: loopback });
    const url = `http://shared.test:${server.port}/`;
    const allowed = await upstream.request(get(url));
    if (allowed.ok) await allowed.value.text();
    expect(allowed.ok).toBe(true);
    const denied = await upstream.request(get(url, { privateHosts: [] }));
    expect(denied).toMatchObject({ ok: false, error: { kind: 'refused', notSent: true } });
    await upstream.close();
  });

  test('permission goes with host and port, not with the host alone', () =>
    expectRefused(`http://127.0.0.1:${server.port}/`, { privateHosts: ['127.0.0.1', `127.0.0.1:${server.port + 1}`] }));

  test('the base host may be private, and the lab switch opens private networks', async () => {
    for (const [options, changes] of [
      [{}, {}],
      [{ allowPrivate: true }, { privateHosts: [] }],
    ] as const) {
      const upstream = testUpstream(options);
      const result = await upstream.request(get(`${server.url}/`, changes));
      expect(result.ok && (await result.value.text())).toEqual({ ok: true, value: 'ok' });
      await upstream.close();
    }
  });

  test('a refused address is logged with its host, for the administrator', async () => {
    const lines: object[] = [];
    const logger: Logger = { ...silentLogger, warn: (fields) => void lines.push(fields) };
    await expectRefused('http://inside.test/secret-path', { privateHosts: [] }, { logger, resolve: loopback });
    expect(lines).toEqual([{ host: 'inside.test', address: '127.0.0.1' }]);
  });
});
