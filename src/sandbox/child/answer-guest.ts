/**
 * Answers what plugins call of the host: hashes, signatures, tokens, UUIDs, the console.
 * `guest-source.ts` is the other side, inside the guest.
 */
import { createHash, createHmac, randomUUID } from 'node:crypto';
import { decodeBytes, digestData, hmacData, limitText, toBuffer } from './digest-data.ts';
import { encodeRfc3986 } from './signatures/read-signing-input.ts';
import { signAliyunRpc, signAliyunV3 } from './signatures/sign-aliyun.ts';
import { signAwsV4 } from './signatures/sign-aws.ts';
import { signTencentTc3, signVolcV4 } from './signatures/sign-tencent-volc.ts';

/** The running call, as far as the host function needs it. `consoleLeft` is -1 once cut. */
export type GuestCall = {
  console: string[];
  consoleLeft: number;
  consoleBytes: number;
  /** Set for fixtures: time, random numbers and UUIDs are then derived from it. */
  unixNow: number | undefined;
  uuids: number;
  /** Unix time in milliseconds. */
  nowMs(): number;
  nextSeed(unixNow: number | undefined): Seed;
  /** The guest got an answer, or left a line, that an equal call may not get or leave. */
  varies: boolean;
};

const hmacHex = (message: string, secret: string): string => createHmac('sha256', secret).update(message).digest('hex');

const base64Url = (text: string): string => Buffer.from(text, 'utf8').toString('base64url');

/** Sorts the keys of objects at every depth, so that equal claims give equal tokens. */
function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, member]) => [key, sortKeys(member)]),
  );
}

function signJwt(claims: unknown, secret: string): string {
  const body = `${base64Url('{"alg":"HS256","typ":"JWT"}')}.${base64Url(JSON.stringify(sortKeys(claims)))}`;
  return `${body}.${createHmac('sha256', secret).update(body).digest('base64url')}`;
}

function decodeBase64Url(text: string): string {
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1)
    throw new Error('base64URLDecode: the input is not base64url');
  return Buffer.from(text, 'base64url').toString('utf8');
}

/** A version 4 UUID: random, or for a fixture the n-th that is derived from its time. */
function createUuid(call: GuestCall): string {
  if (call.unixNow === undefined) return randomUUID();
  const hex = createHash('sha256')
    .update(`${call.unixNow}:${call.uuids++}`)
    .digest('hex');
  const variant = '89ab'.charAt(Number.parseInt(hex.charAt(16), 16) & 3);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

function recordConsole(call: GuestCall, line: string): void {
  if (call.consoleLeft < 0) return;
  const bytes = Buffer.byteLength(line) + 1;
  if (bytes <= call.consoleLeft) call.console.push(line);
  else call.console.push(`[console output over the limit of ${call.consoleBytes} bytes was cut]`);
  call.consoleLeft = bytes <= call.consoleLeft ? call.consoleLeft - bytes : -1;
}

/**
 * The only host function of a guest. Takes a name and its arguments as JSON; returns `v` and the
 * result as JSON, or `e` and an error message. Never throws, because an exception would carry
 * objects of the host into the guest.
 */
export function answerGuest(call: GuestCall, name: string, json: string): string {
  try {
    const args: unknown = JSON.parse(json);
    if (name === 'console') {
      call.varies = true;
      recordConsole(call, String(args));
      return 'vnull';
    }
    return `v${JSON.stringify(answerCall(call, name, Array.isArray(args) ? args : []))}`;
  } catch (error) {
    // It may be an error of this process: a stack that ends here today and later tomorrow.
    call.varies = true;
    return `e${error instanceof Error ? error.message : 'the call failed'}`;
  }
}

function answerCall(call: GuestCall, name: string, args: readonly unknown[]): unknown {
  switch (name) {
    case 'seed':
      call.varies = true;
      return Array.from(call.nextSeed(call.unixNow));
    case 'clock':
      return [readClock(call), call.unixNow !== undefined];
    case 'uuid':
      return freshUuid(call);
    case 'volcSignV4':
    case 'awsSignV4':
    case 'tencentSignTC3':
    case 'aliyunSignV3':
    case 'aliyunSignRPC':
      return SIGNERS[name](args[0], {
        unixNow: () => Math.floor(readClock(call) / 1000),
        nonce: () => freshUuid(call).replaceAll('-', ''),
      });
    default:
      return computeValue(name, args);
  }
}

/** A signature varies only where the plugin leaves its time or nonce to the host. */
const SIGNERS = {
  volcSignV4: (input: unknown, { unixNow }: Fresh) => signVolcV4(input, unixNow),
  awsSignV4: (input: unknown, { unixNow }: Fresh) => signAwsV4(input, unixNow),
  tencentSignTC3: (input: unknown, { unixNow }: Fresh) => signTencentTc3(input, unixNow),
  aliyunSignV3: signAliyunV3,
  aliyunSignRPC: signAliyunRpc,
} as const;
type Fresh = { unixNow(): number; nonce(): string };

function freshUuid(call: GuestCall): string {
  call.varies = true;
  return createUuid(call);
}

function readClock(call: GuestCall): number {
  call.varies = true;
  return call.unixNow === undefined ? call.nowMs() : call.unixNow * 1000;
}

/** The functions of the guest's `utils` whose result depends on their arguments alone. */
function computeValue(name: string, [first, second, third, fourth]: readonly unknown[]): unknown {
  switch (name) {
    case 'sha256':
    case 'sha1':
    case 'md5':
      return digestData(name, first, second);
    case 'hmac':
      return hmacData({ algorithm: first, encoding: second, key: third, message: fourth });
    case 'bytes':
      return decodeBytes(first, second);
    case 'urlEncodeRFC3986':
      return encodeRfc3986(limitText(name, first));
    case 'hmacSHA256':
      return hmacHex(String(first), String(second));
    case 'jwtSignHS256':
      return signJwt(first, String(second));
    case 'base64':
      return toBuffer(first).toString('base64');
    case 'base64URL':
      return toBuffer(first).toString('base64url');
    case 'base64URLDecode':
      return decodeBase64Url(String(first));
    default:
      throw new Error(`there is no function ${name}`);
  }
}

/** The state of `Math.random`: words of 32 bits with a sign. */
export type Seed = ArrayLike<number>;

/** 32-bit words of a state of `Math.random`. */
const SEED_WORDS = 4;
/** Words that are asked of the system at once; it takes as long as for one call. */
const WORDS_AT_ONCE = 1024;
/** Numbers that the generator of a fixture drops first: similar seeds would give similar ones. */
const DROPPED = 12;

/**
 * Gives the state of `Math.random` at the start of a call: from the system's random numbers, or
 * for a fixture from its time in seconds.
 */
export function createSeeds(): (unixNow: number | undefined) => Seed {
  const words = new Int32Array(WORDS_AT_ONCE);
  let at = words.length;
  return (unixNow) => {
    if (unixNow !== undefined) return fixtureSeed(unixNow);
    if (at === words.length) {
      crypto.getRandomValues(words);
      at = 0;
    }
    at += SEED_WORDS;
    return words.subarray(at - SEED_WORDS, at);
  };
}

/** This is the generator of `guestSource`. */
function fixtureSeed(unixNow: number): number[] {
  let [s0, s1, s2, s3] = [unixNow | 0, Math.floor(unixNow / 2 ** 32) | 0, 1, 1];
  for (let i = 0; i < DROPPED; i++) {
    const t = (((s0 + s1) | 0) + s3) | 0;
    s3 = (s3 + 1) | 0;
    s0 = s1 ^ (s1 >>> 9);
    s1 = (s2 + (s2 << 3)) | 0;
    s2 = (((s2 << 21) | (s2 >>> 11)) + t) | 0;
  }
  return [s0, s1, s2, s3];
}
