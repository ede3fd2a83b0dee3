import { createHash, createHmac, randomUUID } from 'node:crypto';
import { signVolcV4 } from './sign-volc.ts';

/** What the guest's host function needs to know of the call that is running. */
export type GuestCall = {
  console: string[];
  consoleLeft: number;
  consoleBytes: number;
  /** Set for fixtures: UUIDs then follow from it. */
  unixNow: number | undefined;
  uuids: number;
};

const hmacHex = (message: string, secret: string): string => createHmac('sha256', secret).update(message).digest('hex');

const base64Url = (text: string): string => Buffer.from(text, 'utf8').toString('base64url');

/** Objects with their keys in order, at every depth: equal claims give equal tokens. */
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
    throw new Error('base64URLDecode: the input is no base64url');
  return Buffer.from(text, 'base64url').toString('utf8');
}

/** A version 4 UUID: random, or for a fixture the n-th that follows from its time. */
function makeUuid(call: GuestCall): string {
  if (call.unixNow === undefined) return randomUUID();
  const hex = createHash('sha256')
    .update(`${call.unixNow}:${call.uuids++}`)
    .digest('hex');
  const variant = '89ab'.charAt(Number.parseInt(hex.charAt(16), 16) & 3);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

function keepConsole(call: GuestCall, line: string): void {
  if (call.consoleLeft < 0) return;
  const bytes = Buffer.byteLength(line) + 1;
  if (bytes <= call.consoleLeft) call.console.push(line);
  else call.console.push(`[console output over the limit of ${call.consoleBytes} bytes was cut]`);
  call.consoleLeft = bytes <= call.consoleLeft ? call.consoleLeft - bytes : -1;
}

/**
 * The guest's one door: a name and its arguments as JSON in, `v` and JSON or `e` and a message out.
 * Never throws, for an exception would carry the host's own objects into the guest.
 */
export function answerGuest(call: GuestCall, name: string, json: string): string {
  try {
    const given: unknown = JSON.parse(json);
    if (name === 'console') {
      keepConsole(call, String(given));
      return 'vnull';
    }
    const [first, second] = Array.isArray(given) ? (given as unknown[]) : [];
    return `v${JSON.stringify(run(call, name, first, second))}`;
  } catch (error) {
    return `e${error instanceof Error ? error.message : 'the call failed'}`;
  }
}

function run(call: GuestCall, name: string, first: unknown, second: unknown): unknown {
  switch (name) {
    case 'uuid':
      return makeUuid(call);
    case 'hmacSHA256':
      return hmacHex(String(first), String(second));
    case 'jwtSignHS256':
      return signJwt(first, String(second));
    case 'base64':
      return Buffer.from(String(first), 'utf8').toString('base64');
    case 'base64URL':
      return base64Url(String(first));
    case 'base64URLDecode':
      return decodeBase64Url(String(first));
    case 'volcSignV4':
      return signVolcV4(first, Number(second));
    default:
      throw new Error(`no such function: ${name}`);
  }
}
