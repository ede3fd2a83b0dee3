import { lookup as systemLookup } from 'node:dns/promises';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { err, ok, type Result, type Sentence, sentence } from '../kernel/index.ts';
import { checkAddress } from './check-address.ts';
import { errorCode } from './failures.ts';
import type { Resolve } from './open-connections.ts';

/** The most addresses that are tried, each with an equal share of the timeout. */
const MAX_ADDRESSES = 3;

const resolveBySystem: Resolve = (host) => systemLookup(host, { all: true });

/**
 * The addresses of a mail server. Private and loopback ones are allowed. Metadata services,
 * link-local and reserved ones never are, and one of them refuses the whole name.
 */
export async function resolveMailServer(
  host: string,
  timeoutMs: number,
  resolve: Resolve = resolveBySystem,
): Promise<Result<string[], Sentence & { permanent: boolean }>> {
  const found = isIP(host) === 0 ? await withTimeout(resolve(host), timeoutMs) : [{ address: host }];
  if (!Array.isArray(found)) {
    return err({ permanent: false, ...sentence('mail.dns', { code: found }) });
  }
  const addresses = found.map(({ address }) => address);
  if (addresses.some((address) => checkAddress(address) === 'forbidden')) {
    return err({
      permanent: true,
      ...sentence('mail.reserved'),
    });
  }
  return addresses.length === 0
    ? err({ permanent: false, ...sentence('mail.no_address') })
    : ok(addresses.slice(0, MAX_ADDRESSES));
}

/** The value, or the code of the failure. */
async function withTimeout<T>(work: Promise<T>, timeoutMs: number): Promise<T | string> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve('timeout'), timeoutMs);
  });
  try {
    return await Promise.race([work.catch(errorCode), timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** A TCP connection to the first address that accepts one. */
export async function openMailSocket(
  addresses: readonly string[],
  port: number,
  timeoutMs: number,
): Promise<Result<{ socket: Socket; address: string }, Sentence>> {
  let code = 'unknown';
  for (const address of addresses) {
    const opened = await openSocket(address, port, timeoutMs / addresses.length);
    if (opened.ok) return ok({ socket: opened.value, address });
    code = opened.error;
  }
  return err(sentence('mail.connect', { port, code }));
}

function openSocket(host: string, port: number, timeoutMs: number): Promise<Result<Socket, string>> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const settle = (result: Result<Socket, string>) => {
      clearTimeout(timer);
      socket.removeAllListeners('connect').removeAllListeners('error');
      // An error before the conversation starts shows there as an ended connection.
      socket.on('error', () => {});
      if (!result.ok) socket.destroy();
      resolve(result);
    };
    const timer = setTimeout(() => settle(err('timeout')), timeoutMs);
    socket.once('connect', () => settle(ok(socket)));
    socket.once('error', (error) => settle(err(errorCode(error))));
  });
}

/**
 * Whether a port begins with TLS, or with a greeting in clear, found by a connection of its own.
 */
export function mailPortBegins(
  { host, port }: { host: string; port: number },
  way: 'tls' | 'plain',
  timeoutMs: number,
): Promise<boolean> {
  return new Promise((resolve) => {
    // Nothing is sent there, so whose certificate it is does not matter.
    const socket: Socket =
      way === 'tls' ? connectTls({ host, port, rejectUnauthorized: false }) : connect({ host, port });
    const settle = (begins: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(begins);
    };
    const timer = setTimeout(() => settle(false), timeoutMs);
    if (way === 'tls') socket.once('secureConnect', () => settle(true));
    else socket.once('data', (chunk: Buffer) => settle(/^\d{3}[ -]/.test(chunk.toString('latin1'))));
    socket.on('error', () => settle(false));
    socket.once('close', () => settle(false));
  });
}
