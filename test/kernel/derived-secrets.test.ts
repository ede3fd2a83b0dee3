import { describe, expect, test } from 'bun:test';
import { createRedactor, listKeySecrets, listRequestSecrets, redactSecrets } from '../../src/kernel/index.ts';

const AK = 'AKLTaccess0001';
const SK = 'c2VjcmV0c2VjcmV0';
const KEY = `${AK}|${SK}`;
const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('what a plugin commonly makes of the key is gone from texts', () => {
  test.each<[string, string]>([
    ['the key', KEY],
    ['its first half', AK],
    ['its second half', SK],
    ['the halves in another order', `${SK}:${AK}`],
    ['Base64', base64(KEY)],
    ['Base64 of a half', base64(SK)],
    ['Base64 for addresses', Buffer.from(KEY).toString('base64url')],
    ['hexadecimal', Buffer.from(SK).toString('hex')],
    ['hexadecimal in capitals', Buffer.from(SK).toString('hex').toUpperCase()],
    ['HTTP Basic with both halves', base64(`${AK}:${SK}`)],
    ['HTTP Basic with an empty password', base64(`${KEY}:`)],
    ['a part of an address', encodeURIComponent(KEY)],
  ])('%s', (_name, made) => {
    const clean = redactSecrets(`The header was Bearer ${made}, sorry`, listKeySecrets(KEY));
    expect(clean).toMatch(/^The header was Bearer \[redacted\].{0,12}, sorry$/);
    for (const piece of [AK, SK, made]) expect(clean).not.toContain(piece);
  });

  test.each([[':'], [','], [';'], [' '], ['|']])('halves parted by "%s"', (by) => {
    expect(redactSecrets(`${SK} of ${AK}`, listKeySecrets(`${AK}${by}${SK}`))).toBe('[redacted] of [redacted]');
  });

  test('of a service account its secret members, and none of its ordinary words', () => {
    const account = JSON.stringify({
      type: 'service_account',
      client_email: 'a@b.example',
      private_key: 'MIIE0123456789',
    });
    const said = 'service_account a@b.example has MIIE0123456789';
    expect(redactSecrets(said, listKeySecrets(account))).toBe('service_account a@b.example has [redacted]');
  });

  const jwtHeader = Buffer.from('{"alg":"HS256","typ":"JWT"}').toString('base64url');
  test.each([
    ['a region', `${AK}|${SK}|cn-north-1`, 'no quota in cn-north-1'],
    ['an address', `${KEY}|https://api.vendor.example/v1`, 'ask https://api.vendor.example/v1'],
    ['a host', `${KEY}|api.vendor.example`, 'ask api.vendor.example'],
    ['the header of a JWT', `${jwtHeader}.eyJpc3MiOiJhYmMifQ.c2lnbmF0dXJlLW9mLWl0`, `not ${jwtHeader}`],
  ])('%s beside a key stays', (_name, key, said) => {
    for (const certain of [false, true]) {
      const clean = createRedactor(listKeySecrets(key, { certain }));
      // An end of a text that begins like the key counts as the key.
      expect(clean(`${said}, sorry`)).toBe(`${said}, sorry`);
      expect(clean(`${key}!`)).toBe('[redacted]!');
    }
  });

  test('where hooks read again, only long and mixed parts are gone, and no short key', () => {
    const long = 'c2VjcmV0c2VjcmV0c2VjcmV0';
    const key = `my-account|onlylettersonlyletters|${long}`;
    const clean = createRedactor(listKeySecrets(key, { certain: true }));
    expect(clean(`my-account onlylettersonlyletters ${long}, ${base64(long)}, ${base64(key)}!`)).toBe(
      'my-account onlylettersonlyletters [redacted], [redacted], [redacted]==!',
    );
    expect(listKeySecrets('ollama', { certain: true })).toEqual([]);
    const account = JSON.stringify({ private_key: `-----BEGIN\n${long}\n`, token_uri: 'https://o.example/token' });
    const kept = listKeySecrets(account, { certain: true });
    expect(kept).toContain(`-----BEGIN\n${long}\n`);
    expect(kept).not.toContain('https://o.example/token');
  });

  test('short parts and parts between dots stay words', () => {
    const said = 'user at api.vendor.example failed';
    expect(redactSecrets(said, listKeySecrets('user|api.vendor.example.0123456789'))).toBe(said);
  });
});

describe('what a request carries as a credential is gone from texts', () => {
  const jwt = 'eyJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJhYmMifQ.c2lnbmF0dXJlLW9mLWl0';
  test.each<[string, object, string[]]>([
    ['a bearer token', { Authorization: `Bearer ${jwt}` }, [jwt]],
    ['a token without a scheme', { authorization: jwt }, [jwt]],
    [
      'a signature in parts',
      {
        Authorization: `HMAC-SHA256 Credential=${AK}/20260101/cn/cv/request, SignedHeaders=content-type;host, Signature=0123456789abcdef`,
      },
      [`${AK}/20260101/cn/cv/request`, AK, '0123456789abcdef'],
    ],
    ['a header of its own', { 'X-Signature': 'sig-01234' }, ['sig-01234']],
    ['a header whose name says nothing', { 'X-Vendor': 'f3a9c1d2e4b5a697' }, ['f3a9c1d2e4b5a697']],
    ['a cookie', { Cookie: 'session=abcdefgh1234' }, ['abcdefgh1234']],
  ])('%s', (_name, headers, made) => {
    const secrets = listRequestSecrets({ url: 'https://vendor.example/v1', headers });
    for (const one of made) expect(redactSecrets(`got ${one}!`, secrets)).toBe('got [redacted]!');
    const innocent = 'HMAC-SHA256 content-type application/json host vendor.example SignedHeaders Bearer';
    expect(redactSecrets(innocent, secrets)).toBe(innocent);
  });

  test('parameters of the address and members of the body that are named like one', () => {
    const url =
      'https://vendor.example/v1/a?access_token=tok-0123456789&sign=abcdef0123&model=kling-v2-master&key=k-01234567';
    const body = { kind: 'json', value: { auth: { client_secret: 'client-secret-0001' }, prompt: 'a word' } };
    const form = { kind: 'text', text: 'api_key=form-key-00000001&prompt=x' };
    const parts = { kind: 'multipart', parts: [{ name: 'token', value: 'part-token-000001' }] };
    const found = [body, form, parts].flatMap((one) => listRequestSecrets({ url, headers: {}, body: one }));
    expect([...new Set(found)].sort()).toEqual(
      [
        'abcdef0123',
        'client-secret-0001',
        'form-key-00000001',
        'k-01234567',
        'part-token-000001',
        'tok-0123456789',
      ].sort(),
    );
  });

  test('headers that are plainly harmless, ids in the path, and words stay', () => {
    const headers = {
      'Content-Type': 'application/json',
      Accept: 'application/json;version=0123456789',
      'X-Task': 'job-0123456789abcdef',
      'X-Mode': 'asynchronous',
      'X-DashScope-Async': 'enable0000000000000',
    };
    const body = { token: 'a word', metadata: { signature: 'Best regards, Bob 1' } };
    expect(listRequestSecrets({ url: 'https://v.example/jobs/job-0123456789abcdef', headers, body })).toEqual([]);
  });

  test('where hooks read again, only headers count whose names leave no doubt', () => {
    const described = {
      url: 'https://v.example/jobs?task_token=T-0123456789abcdef&signature=0123456789abcdef',
      headers: { 'X-Project': 'project-0123456789', 'X-Task-Token': 'T-0123456789abcdef', 'X-Api-Key': 'abcdefgh' },
      body: { task_token: 'T-0123456789abcdef' },
    };
    expect(listRequestSecrets(described, { certain: true })).toEqual(['abcdefgh']);
  });
});

test('slow redaction: hundreds of secrets in a text of a mebibyte, and endless parts of a key, cost no more than a moment', () => {
  const secrets = Array.from({ length: 60 }, (_, at) => `secret-${at}-${'x'.repeat(40)}`);
  const text = 'secret-'.repeat(150_000);
  const before = process.cpuUsage();
  expect(redactSecrets(text, secrets)).toBe(text);
  listKeySecrets('a|'.repeat(100_000));
  listRequestSecrets({
    url: `https://v.example/?${'key=a&'.repeat(10_000)}`,
    headers: { authorization: '=,'.repeat(50_000) },
  });
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(1000);
});
