import type { Socket } from 'node:net';

export type ResolvedAddress = { address: string; family: number };

/** RFC 8305 8: how long one address may take before the next is tried beside it. */
const NEXT_ADDRESS_MS = 200;
/** The most addresses of one name that are tried. */
const MAX_ADDRESSES = 8;

/**
 * Connects to several addresses of a name, and returns the socket that connects first ("happy
 * eyeballs", RFC 8305). Addresses are tried in their order, each a little later than the one before
 * it, or as soon as that has failed; the other sockets are closed.
 */
export function connectFirst(
  addresses: readonly string[],
  open: (address: string) => Socket,
  signal: AbortSignal,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const attempts = new Set<Socket>();
    let next = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let fault: unknown;
    let isSettled = false;
    const settle = (winner?: Socket) => {
      isSettled = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      for (const socket of attempts) if (socket !== winner) socket.destroy();
    };
    const onAbort = () => {
      settle();
      reject(signal.reason);
    };
    const tryNext = () => {
      clearTimeout(timer);
      const address = addresses[next];
      if (address === undefined) return;
      next += 1;
      const socket = open(address);
      attempts.add(socket);
      socket.once('connect', () => {
        if (isSettled) return;
        settle(socket);
        resolve(socket);
      });
      socket.on('error', (error) => {
        fault ??= error;
      });
      socket.once('close', () => {
        attempts.delete(socket);
        if (isSettled) return;
        if (next < addresses.length) tryNext();
        else if (attempts.size === 0) {
          settle();
          reject(fault);
        }
      });
      if (next < addresses.length) timer = setTimeout(tryNext, NEXT_ADDRESS_MS);
    };
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    tryNext();
  });
}

/** RFC 8305 4: the families in turn, beginning with that of the first address. */
export function alternateFamilies(resolved: readonly ResolvedAddress[]): string[] {
  const first = resolved.filter(({ family }) => family === resolved[0]?.family);
  const others = resolved.filter(({ family }) => family !== resolved[0]?.family);
  return resolved
    .flatMap((_, index) => [first[index], others[index]])
    .flatMap((each) => (each ? [each.address] : []))
    .slice(0, MAX_ADDRESSES);
}
