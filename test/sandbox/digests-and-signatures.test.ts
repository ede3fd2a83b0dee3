import { afterAll, describe, expect, test } from 'bun:test';
import { catchFailure, hook, MEBIBYTE, plugin, readResult, startSandbox } from './start-sandbox.ts';

const sandbox = startSandbox({ memoryBytes: 64 * MEBIBYTE });
afterAll(() => sandbox.close());

const runner = plugin(`
const { hmac, sha256, bytes, base64 } = utils;
export function run(name, args) { return utils[name].apply(null, args) }
export function describeBytes(name, args) { return { kind: Object.prototype.toString.call(utils[name](...args)), list: Array.from(utils[name](...args)) } }
export function keyed(algorithm, key, message) { return hmac(algorithm, bytes(key, 'hex'), bytes(message, 'hex')) }
export function chain() { 
  const inner = hmac({ algorithm: 'sha1', encoding: 'bytes' }, 'a', 'b');
  return [base64(hmac({ algorithm: 'sha1', encoding: 'bytes' }, inner, 'c')), hmac({ algorithm: 'sha1', encoding: 'base64' }, inner, 'c')];
}
export function sameOfLists() { return [sha256([97, 98, 99]), sha256(new Uint8Array([97, 98, 99])), sha256('abc')] }
export function hashBytes(size) { return sha256(new Uint8Array(size)) }
export function grown(name, text, times) { return utils[name](text.repeat(times)) }
export function spoofed() {
  const odd = Object.create(Uint8Array.prototype, { length: { value: 3 } });
  Object.defineProperty(Uint8Array.prototype.__proto__, Symbol.toStringTag, { get: () => 'Uint8Array' });
  Object.defineProperty(Uint8Array.prototype.__proto__, 'length', { get: () => 1e9 });
  const results = [sha256(new Uint8Array([97, 98, 99]))];
  try { sha256(odd) } catch (error) { results.push(error.message) }
  return results;
}
`);
const run = (name: string, ...args: unknown[]) => readResult(sandbox, runner, hook('run', [name, args]));
const refusal = async (name: string, ...args: unknown[]) =>
  (await catchFailure(sandbox.call(runner, hook('run', [name, args])))).message;

/** A message of fifty bytes that are not UTF-8. */
const FIFTY_DD = '0xdd, 50 times';

describe('digests give published answers', () => {
  test.each([
    ['sha256', 'abc', 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'],
    ['sha256', '', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
    [
      'sha256',
      'abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq',
      '248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1',
    ],
    ['sha1', 'abc', 'a9993e364706816aba3e25717850c26c9cd0d89d'],
    ['sha1', 'abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq', '84983e441c3bd26ebaae4aa1f95129e5e54670f1'],
    ['md5', 'abc', '900150983cd24fb0d6963f7d28e17f72'],
    ['md5', 'message digest', 'f96b697d7cb7938d525a2f31aaf161d0'],
  ])('%s of %j (FIPS 180-2, RFC 1321)', async (name, message, digest) => {
    expect(await run(name, message)).toBe(digest);
    expect(await run(name, message, 'base64')).toBe(Buffer.from(digest, 'hex').toString('base64'));
  });

  test.each([
    ['md5', '4a656665', 'what do ya want for nothing?', '750c783e6ab0b503eaa86e310a5db738'],
    ['sha1', '4a656665', 'what do ya want for nothing?', 'effcdf6ae5eb2fa2d27416d5f184df9c259a7c79'],
    ['sha1', 'aa'.repeat(20), FIFTY_DD, '125d7342b9ac11cd91a39af48aa17b4f63f175d3'],
    [
      'sha256',
      '4a656665',
      'what do ya want for nothing?',
      '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    ],
    ['sha256', 'aa'.repeat(20), FIFTY_DD, '773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe'],
    [
      'sha256',
      'aa'.repeat(131),
      'Test Using Larger Than Block-Size Key - Hash Key First',
      '60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54',
    ],
    [
      'sha512',
      '4a656665',
      'what do ya want for nothing?',
      '164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737',
    ],
  ])('HMAC %s with the key %s (RFC 2202, RFC 4231)', async (algorithm, key, message, digest) => {
    const hex = message === FIFTY_DD ? 'dd'.repeat(50) : Buffer.from(message).toString('hex');
    expect(await readResult(sandbox, runner, hook('keyed', [algorithm, key, hex]))).toBe(digest);
  });

  test('bytes are a Uint8Array, or a list of numbers', async () => {
    expect(await readResult(sandbox, runner, hook('describeBytes', ['bytes', ['aGk=', 'base64']]))).toEqual({
      kind: '[object Uint8Array]',
      list: [104, 105],
    });
    expect(await readResult(sandbox, runner, hook('describeBytes', ['sha1', ['abc', 'bytes']]))).toMatchObject({
      list: [...Buffer.from('a9993e364706816aba3e25717850c26c9cd0d89d', 'hex')],
    });
    const inner = new Bun.CryptoHasher('sha1', 'a').update('b').digest();
    const outer = new Bun.CryptoHasher('sha1', inner).update('c').digest('base64');
    expect(await readResult(sandbox, runner, hook('chain'))).toEqual([outer, outer]);
    const [first, ...others] = (await readResult(sandbox, runner, hook('sameOfLists'))) as string[];
    expect(others).toEqual([String(first), String(first)]);
  });

  test('what is not data, encoding or algorithm is refused in words', async () => {
    expect(await refusal('sha256', null)).toBe('sha256: give a string or bytes');
    expect(await refusal('hmac', 'sha256', null, 'm')).toBe('hmac: give a string or bytes as key, not null');
    expect(await refusal('hmac', 'sha256', 'k', 1)).toBe('hmac: give a string or bytes as message, not number');
    expect(await refusal('md5', [256])).toBe('md5: bytes are whole numbers from 0 to 255');
    expect(await refusal('hmac', 'crc', 'k', 'm')).toBe(
      'hmac: the algorithm must be one of md5, sha1, sha256, sha384, sha512',
    );
    expect(await refusal('sha1', 'a', 'latin1')).toBe(
      'sha1: the encoding must be one of hex, base64, base64url, bytes',
    );
    for (const [text, encoding] of [
      ['zz', 'hex'],
      ['abc', 'hex'],
      ['a-b_', 'base64'],
      ['a+b/', 'base64url'],
      ['Y', 'base64'],
    ])
      expect(await refusal('bytes', text, encoding)).toBe(`bytes: the text is not ${encoding}`);
  });

  test('urlEncodeRFC3986 keeps unreserved characters only (RFC 3986, 2.3)', async () => {
    expect(await run('urlEncodeRFC3986', "aZ0-._~ !'()*/?é✓\ud800")).toBe(
      'aZ0-._~%20%21%27%28%29%2A%2F%3F%C3%A9%E2%9C%93%EF%BF%BD',
    );
  });
});

describe('bounds', () => {
  test('huge bytes and texts are refused by their size, before any work', async () => {
    expect(await readResult(sandbox, runner, hook('hashBytes', [MEBIBYTE]))).toHaveLength(64);
    const refused = async (name: string, args: unknown[]) =>
      (await catchFailure(sandbox.call(runner, hook(name, args)))).message;
    expect(await refused('hashBytes', [MEBIBYTE + 1])).toBe('sha256: the bytes are over the limit of 1048576');
    expect(await refused('grown', ['urlEncodeRFC3986', '✓', MEBIBYTE + 1])).toContain('longer than the limit');
    expect(await refused('grown', ['bytes', '✓', MEBIBYTE / 2])).toContain('over the limit');
  });

  test('a forged typed array is not bytes, and a replaced getter decides nothing', async () => {
    expect(await readResult(sandbox, runner, hook('spoofed'))).toEqual([
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
      'sha256: give a string or bytes',
    ]);
  });
});

/** The credentials and time of AWS's published test suite. */
const AWS = {
  url: 'https://example.amazonaws.com/',
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  service: 'service',
  timestamp: Date.UTC(2015, 7, 30, 12, 36) / 1000,
};

describe('signatures are those that the vendors publish', () => {
  test.each([
    ['get-vanilla', {}, 'host;x-amz-date', '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
    [
      'post-vanilla',
      { method: 'post' },
      'host;x-amz-date',
      '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b',
    ],
    [
      'get-vanilla-query-order-key-case',
      { url: 'https://example.amazonaws.com/?Param2=value2&Param1=value1' },
      'host;x-amz-date',
      'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
    ],
    [
      'get-vanilla-utf8-query',
      { url: 'https://example.amazonaws.com/?ሴ=bar' },
      'host;x-amz-date',
      '2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04',
    ],
    [
      'post-header-key-sort',
      { method: 'POST', headers: { 'My-Header1': ' value1 ' } },
      'host;my-header1;x-amz-date',
      'c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c',
    ],
    [
      'get-utf8',
      { url: 'https://example.amazonaws.com/ሴ', pathEncoding: 'once' },
      'host;x-amz-date',
      '8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85',
    ],
    [
      "IAM's example",
      {
        url: 'https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08',
        service: 'iam',
        headers: { 'Content-Type': 'application/x-www-form-urlencoded; charset=utf-8' },
      },
      'content-type;host;x-amz-date',
      '5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7',
    ],
  ])('AWS SigV4: %s', async (_, request, names, signature) => {
    const service = 'service' in request ? request.service : 'service';
    expect(await run('awsSignV4', { ...AWS, ...request })).toEqual({
      Authorization: `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/${service}/aws4_request, SignedHeaders=${names}, Signature=${signature}`,
      'X-Amz-Date': '20150830T123600Z',
    });
  });

  test("AWS SigV4: S3's example, which signs the body's digest", async () => {
    const signed = await run('awsSignV4', {
      url: 'https://examplebucket.s3.amazonaws.com/test.txt',
      headers: { Range: 'bytes=0-9' },
      accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
      secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
      service: 's3',
      timestamp: Date.UTC(2013, 4, 24) / 1000,
    });
    expect(signed).toEqual({
      Authorization:
        'AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, ' +
        'SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, ' +
        'Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
      'X-Amz-Date': '20130524T000000Z',
      'X-Amz-Content-Sha256': 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    });
  });

  test('AWS SigV4 signs a session token and a body that is not read, and needs a service', async () => {
    const signed = await run('awsSignV4', {
      ...AWS,
      sessionToken: 'token',
      headers: { 'X-Amz-Content-Sha256': 'UNSIGNED-PAYLOAD' },
    });
    expect(signed).toMatchObject({
      Authorization: expect.stringContaining(
        'SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,',
      ),
      'X-Amz-Security-Token': 'token',
    });
    expect(await refusal('awsSignV4', { url: 'https://a.b/' })).toBe('awsSignV4: name the service, such as "s3"');
  });

  const tencent = {
    url: 'https://cvm.tencentcloudapi.com/',
    body: '{"Limit": 1, "Filters": [{"Values": ["\\u672a\\u547d\\u540d"], "Name": "instance-name"}]}',
    timestamp: 1551113065,
  };
  test.each([
    [
      { secretId: 'AKID', secretKey: '*'.repeat(32), action: 'DescribeInstances' },
      'content-type;host;x-tc-action',
      '10b1a37a7301a02ca19a647ad722d5e43b4b3cff309d421d85b46093f6ab6c4f',
    ],
    [
      { secretId: 'AKID', secretKey: 'Gu5t9xGARNpq86cd98joQYCN3*******' },
      'content-type;host',
      '2230eefd229f582d8b1b891af7107b91597240707d778ab3738f756258d7652c',
    ],
  ])("Tencent TC3: the vendor's example %#", async (request, names, signature) => {
    const signed = await run('tencentSignTC3', { ...tencent, ...request, version: '2017-03-12' });
    expect(signed).toMatchObject({
      Authorization: `TC3-HMAC-SHA256 Credential=AKID/2019-02-25/cvm/tc3_request, SignedHeaders=${names}, Signature=${signature}`,
      'Content-Type': 'application/json; charset=utf-8',
      'X-TC-Timestamp': '1551113065',
      'X-TC-Version': '2017-03-12',
    });
  });

  test("Aliyun V3: the vendor's example", async () => {
    const signed = await run('aliyunSignV3', {
      url: 'https://ecs.cn-shanghai.aliyuncs.com/?RegionId=cn-shanghai&ImageId=win2019_1809_x64_dtc_zh-cn_40G_alibase_20230811.vhd',
      accessKeyId: 'YourAccessKeyId',
      accessKeySecret: 'YourAccessKeySecret',
      action: 'RunInstances',
      version: '2014-05-26',
      nonce: '3156853299f313e23d1673dc12e1703d',
      timestamp: Date.UTC(2023, 9, 26, 10, 22, 32) / 1000,
    });
    expect(signed).toMatchObject({
      Authorization:
        'ACS3-HMAC-SHA256 Credential=YourAccessKeyId,' +
        'SignedHeaders=host;x-acs-action;x-acs-content-sha256;x-acs-date;x-acs-signature-nonce;x-acs-version,' +
        'Signature=06563a9e1b43f5dfe96b81484da74bceab24a1d853912eee15083a6f0f3283c0',
      'x-acs-date': '2023-10-26T10:22:32Z',
    });
    expect(signed).not.toHaveProperty('x-acs-security-token');
  });

  test("Aliyun RPC: the vendor's example", async () => {
    expect(
      await run('aliyunSignRPC', {
        method: 'GET',
        params: { RegionId: 'cn-beijing' },
        accessKeyId: 'testid',
        accessKeySecret: 'testsecret',
        action: 'DescribeDedicatedHosts',
        version: '2014-05-26',
        nonce: 'edb2b34af0af9a6d14deaf7c1a5315eb',
        timestamp: Date.UTC(2023, 2, 13, 8, 34, 30) / 1000,
      }),
    ).toMatchObject({
      RegionId: 'cn-beijing',
      Timestamp: '2023-03-13T08:34:30Z',
      Signature: '9NaGiOspFP5UPcwX8Iwt2YJXXuk=',
    });
  });

  test('a nonce that the plugin leaves out is new in every call', async () => {
    const nonces = new Set<unknown>();
    for (let i = 0; i < 3; i++) {
      const signed = (await run('aliyunSignV3', { url: 'https://a.b/', timestamp: 5 })) as Record<string, string>;
      nonces.add(signed['x-acs-signature-nonce']);
    }
    expect(nonces.size).toBe(3);
  });
});
