import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { err, ok, type Result, type Sentence, SentenceError, sentence, toSentence } from '../../kernel/index.ts';
import { checkAddress } from '../check-address.ts';
import { type Dial, type Resolve, resolveBySystem } from '../dial.ts';
import { errorCode } from '../failures.ts';
import type { ProxyServer } from '../proxies.ts';

/** The most addresses that are tried, each with an equal share of the timeout. */
const MAX_ADDRESSES = 3;

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

/** Opens a connection to one address of a mail server. */
export type ConnectMail = (address: string, port: number, timeoutMs: number) => Promise<Result<Socket, Sentence>>;

/** Connections through a proxy, which may be asked for the name. */
export function connectMailThrough(proxy: ProxyServer, dial: Dial): ConnectMail {
  return async (address, port, timeoutMs) => {
    const url = new URL(`http://${isIP(address) === 6 ? `[${address}]` : address}:${port}`);
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      const way = { url, secure: false, mayBePrivate: true, isKnown: true, proxy };
      const socket = await dial(way, signal, () => {});
      return ok(withoutErrors(socket));
    } catch (error) {
      const code = signal.aborted ? 'timeout' : errorCode(error);
      return err(error instanceof SentenceError ? toSentence(error) : sentence('mail.connect', { port, code }));
    }
  };
}

/** A TCP connection to the first address that accepts one. */
export async function openMailSocket(
  addresses: readonly string[],
  port: number,
  { timeoutMs, connect = connectDirectly }: { timeoutMs: number; connect?: ConnectMail | undefined },
): Promise<Result<{ socket: Socket; address: string }, Sentence>> {
  let fault = sentence('mail.connect', { port, code: 'unknown' });
  for (const address of addresses) {
    const opened = await connect(address, port, timeoutMs / addresses.length);
    if (opened.ok) return ok({ socket: opened.value, address });
    fault = opened.error;
  }
  return err(fault);
}

export const connectDirectly: ConnectMail = (host, port, timeoutMs) =>
  new Promise((resolve) => {
    const socket = connectTcp({ host, port });
    const settle = (code?: string) => {
      clearTimeout(timer);
      socket.removeAllListeners('connect').removeAllListeners('error');
      if (code === undefined) return resolve(ok(withoutErrors(socket)));
      withoutErrors(socket).destroy();
      resolve(err(sentence('mail.connect', { port, code })));
    };
    const timer = setTimeout(() => settle('timeout'), timeoutMs);
    socket.once('connect', () => settle());
    socket.once('error', (error) => settle(errorCode(error)));
  });

/** An error before the conversation starts shows there as an ended connection. */
const withoutErrors = (socket: Socket): Socket => socket.on('error', () => {});
