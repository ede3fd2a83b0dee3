import { afterAll, describe, expect, test } from 'bun:test';
import { type Clock, systemClock } from '../../src/kernel/index.ts';
import { catchFailure, hook, plugin, readResult, startSandbox } from './start-sandbox.ts';

/** A clock of another day, to distinguish the host's time from the child's own. */
const nowMs = Date.UTC(2031, 4, 6, 7, 8, 9, 123);
const clock: Clock = { ...systemClock, nowMs: () => nowMs };
const sandbox = startSandbox({}, clock);
afterAll(() => sandbox.close());

const runner = plugin(`
export function run(name, args) { return utils[name].apply(null, args) }
export function clone(value) { const copy = utils.json.clone(value); copy.own = true; return [value.own === undefined, copy] }
export function cloneMade(code) { return utils.json.clone(new Function('return ' + code)()) }
export function names() { return [Object.keys(utils), Object.keys(console)] }
export function dates() {
  const now = new Date();
  return {
    now: Date.now(), made: now.getTime(), text: Date(), iso: now.toISOString(), unix: utils.unixNow(), zone: now.getTimezoneOffset(),
    parsed: Date.parse('2024-01-02T03:04:05Z'), utc: Date.UTC(2024, 0, 2), local: new Date(2024, 0, 2).toISOString(),
    same: now instanceof Date && now.constructor === Date && Date.prototype.constructor === Date, name: Date.name,
  }
}
export function passes() { const began = Date.now(); for (let i = 0; i < 2e6 && Date.now() - began < 5; i++); return Date.now() - began }
export function randoms() { return [Math.random(), Math.random(), utils.uuid(), utils.uuid(), utils.unixNow(), Date.now(), new Date().toISOString()] }
`);
const run = (name: string, ...args: unknown[]) => readResult(sandbox, runner, hook('run', [name, args]));

describe('utils give known answers', () => {
  test('there are no other utils', async () => {
    expect(await readResult(sandbox, runner, hook('names'))).toEqual([
      [
        ...['hasCapability', 'json'],
        ...['unixNow', 'uuid', 'hmacSHA256', 'jwtSignHS256', 'base64', 'base64URL', 'base64URLDecode', 'volcSignV4'],
        ...['sha256', 'sha1', 'md5', 'hmac', 'bytes', 'urlEncodeRFC3986'],
        ...['awsSignV4', 'tencentSignTC3', 'aliyunSignV3', 'aliyunSignRPC'],
      ],
      ['log'],
    ]);
  });

  test('json.clone copies plain JSON, and no more of it than its limits allow', async () => {
    const value = JSON.parse('{"a":[1,{"b":null}],"__proto__":{"c":0},"d":false}');
    const [isApart, copy] = (await readResult(sandbox, runner, hook('clone', [value]))) as [boolean, object];
    expect([isApart, JSON.stringify(copy)]).toEqual([true, JSON.stringify({ ...value, own: true })]);
    const refused = [
      'undefined',
      '() => 1',
      '1n',
      'new Date()',
      '[,1]',
      'NaN',
      '{ get a() { return 1 } }',
      '[undefined]',
    ];
    const large = ['"é".repeat(524288)', 'Array(32768).fill(0)', `${'['.repeat(33)}${']'.repeat(33)}`];
    const cycle = '(() => { const a = []; a.push(a); return a })()';
    for (const code of [...refused, ...large, cycle])
      expect((await catchFailure(sandbox.call(runner, hook('cloneMade', [code])))).message).toStartWith('json.clone: ');
    for (const code of ['"é".repeat(524000)', 'Array(32767).fill(0)', `${'['.repeat(32)}${']'.repeat(32)}`])
      await readResult(sandbox, runner, hook('cloneMade', [code]));
  });

  test('hasCapability knows what this host carries out', async () => {
    const names = ['json-clone@1', 'duration-auto@1', 'json-order@1', 'json-clone@2', 'submit-sse-delta@1'];
    expect(await Promise.all(names.map((name) => run('hasCapability', name)))).toEqual([true, true, true, false, true]);
  });

  test('hmacSHA256 is lower-case hex, message first (RFC 4231, case 2)', async () => {
    expect(await run('hmacSHA256', 'what do ya want for nothing?', 'Jefe')).toBe(
      '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    );
  });

  test('jwtSignHS256 sorts the claims', async () => {
    expect(await run('jwtSignHS256', { nbf: 1699999995, iss: 'ak', exp: 1700001800 }, 'sk')).toBe(
      'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJleHAiOjE3MDAwMDE4MDAsImlzcyI6ImFrIiwibmJmIjoxNjk5OTk5OTk1fQ.h2Ib2cfDM6pOpdPWBmbO7GDw67oBqBvAPTDCgWpgtek',
    );
  });

  test('base64 is padded, base64URL is not; both take UTF-8', async () => {
    expect(await run('base64', 'héllo ✓?>')).toBe('aMOpbGxvIOKckz8+');
    expect(await run('base64', 'a')).toBe('YQ==');
    expect(await run('base64URL', 'héllo ✓?>')).toBe('aMOpbGxvIOKckz8-');
    expect(await run('base64URL', 'a')).toBe('YQ');
  });

  test('base64URLDecode gives back the text and throws on bad input', async () => {
    expect(await run('base64URLDecode', 'aMOpbGxvIOKckz8-')).toBe('héllo ✓?>');
    for (const bad of ['a+b=', 'YQ==', 'Y', 'a b']) {
      const failure = await catchFailure(sandbox.call(runner, hook('run', ['base64URLDecode', [bad]])));
      expect(failure).toMatchObject({ kind: 'thrown', message: 'base64URLDecode: the input is not base64url' });
    }
  });

  test('volcSignV4 signs, with names in both spellings', async () => {
    const request = {
      method: 'POST',
      url: 'https://visual.volcengineapi.com?Action=CVSync2AsyncSubmitTask&Version=2022-08-31',
      headers: { 'Content-Type': ' application/json ' },
      body: '{"req_key":"jimeng"}',
      accessKey: 'AKTEST',
      secretKey: 'SKTEST',
      timestamp: 1_700_000_000,
    };
    const signed = {
      Authorization:
        'HMAC-SHA256 Credential=AKTEST/20231114/cn-north-1/cv/request, SignedHeaders=content-type;host;x-content-sha256;x-date, ' +
        'Signature=9c2894f17136ee896c079af17fde8c70e7d1d79cdb0d9ab2ac342395ec40ba9d',
      'X-Date': '20231114T221320Z',
      'X-Content-Sha256': 'ac1e5f7c04bca375341fd55c8dbec29386651167b88e031482d0380c3bab010f',
    };
    expect(await run('volcSignV4', request)).toEqual(signed);
    const { url, timestamp, ...rest } = request;
    const capitalised = Object.fromEntries(
      Object.entries(rest).map(([name, value]) => [`${name.charAt(0).toUpperCase()}${name.slice(1)}`, value]),
    );
    expect(await run('volcSignV4', { ...capitalised, URL: url, Timestamp: timestamp })).toEqual(signed);
  });

  test('volcSignV4 sorts and encodes the query as forms do, and signs the port', async () => {
    const url = 'https://api.example:8443/a%20b?z=%E4%BD%A0&b=x%20y*%7E&a=1&a=2';
    expect(
      await run('volcSignV4', {
        method: 'get',
        url,
        accessKey: 'ak',
        secretKey: 'sk',
        region: 'us-east-1',
        service: 'imagex',
        timestamp: 1_700_000_000,
      }),
    ).toMatchObject({
      Authorization: expect.stringContaining(
        'Signature=00bf89b6dc514b8c877360599679a452a1e55e7511e2cb9e755341dc3cd740ae',
      ),
    });
  });

  test("volcSignV4 uses the host's time by default, and refuses a URL without host", async () => {
    expect(await run('volcSignV4', { url: 'https://a.example/', timestamp: 0 })).toMatchObject({
      'X-Date': '20310506T070809Z',
    });
    for (const url of ['', '/path', 'mailto:a@b']) {
      const failure = await catchFailure(sandbox.call(runner, hook('run', ['volcSignV4', [{ url }]])));
      expect(failure.message).toBe('volcSignV4: the url has no host');
    }
  });

  test('uuid is a version 4 UUID', async () => {
    expect(await run('uuid')).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });
});

describe('time and randomness', () => {
  test("Date and unixNow read the host's clock, in UTC", async () => {
    const dates = (await readResult(sandbox, runner, hook('dates'))) as Record<string, number | string | boolean>;
    for (const name of ['now', 'made']) expect(Number(dates[name]) - nowMs).toBeWithin(0, 45_000);
    expect(dates).toMatchObject({
      iso: expect.stringMatching(/^2031-05-06T07:08:/),
      text: expect.stringContaining('May 06 2031 07:08:'),
      zone: 0,
      parsed: Date.UTC(2024, 0, 2, 3, 4, 5),
      utc: Date.UTC(2024, 0, 2),
      local: '2024-01-02T00:00:00.000Z',
      same: true,
      name: 'Date',
    });
    expect(Number(dates.unix) - nowMs / 1000).toBeWithin(-1, 45);
  });

  test('time passes within a call', async () => {
    expect(await readResult(sandbox, runner, hook('passes'))).toBeGreaterThanOrEqual(5);
  });

  test('random numbers differ from call to call and lie in [0, 1)', async () => {
    const seen = new Set<number>();
    for (let i = 0; i < 50; i++) {
      const [a, b] = (await readResult(sandbox, runner, hook('randoms'))) as [number, number];
      for (const value of [a, b]) expect(value >= 0 && value < 1).toBe(true);
      seen.add(a).add(b);
    }
    expect(seen.size).toBe(100);
  });

  test("a fixture's unixNow freezes clock, random numbers and UUIDs", async () => {
    const first = await readResult(sandbox, runner, hook('randoms', [], { unixNow: 1_700_000_000 }));
    const second = await readResult(sandbox, runner, hook('randoms', [], { unixNow: 1_700_000_000 }));
    const other = (await readResult(sandbox, runner, hook('randoms', [], { unixNow: 1_700_000_001 }))) as unknown[];
    expect(second).toEqual(first);
    const [a, b, u, v, unix, ms, iso] = first as unknown[];
    expect([unix, ms, iso]).toEqual([1_700_000_000, 1_700_000_000_000, '2023-11-14T22:13:20.000Z']);
    expect(a).not.toBe(b);
    expect(u).not.toBe(v);
    expect(u).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(other[0]).not.toBe(a);
  });

  test.each([
    [1_700_000_000, [0.008179450710002256, 0.15774687880830285]],
    [5_000_000_000, [0.11552603736573586, 0.9150091804509539]],
    [0, [0.30262999374688815, 0.676694366206368]],
  ])('the random numbers of a fixture at %i never change: recorded results hold them', async (unixNow, numbers) => {
    expect(((await readResult(sandbox, runner, hook('randoms', [], { unixNow }))) as unknown[]).slice(0, 2)).toEqual(
      numbers,
    );
  });
});
