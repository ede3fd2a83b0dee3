import { lookup as systemLookup } from 'node:dns/promises';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import {
  type Certificate,
  connect as connectTls,
  createSecureContext,
  getCACertificates,
  type TLSSocket,
  type ConnectionOptions as TlsOptions,
} from 'node:tls';
import { err, type Logger, ok, type Result, type Sentence, sentence } from '../kernel/index.ts';
import { checkAddress, isInRanges } from './check-address.ts';
import { AddressRefused, errorCode } from './failures.ts';
import { alternateFamilies, connectFirst, type ResolvedAddress } from './happy-eyeballs.ts';
import { openTunnel, ProxyFailure } from './open-tunnel.ts';
import { describeProxy, looksLocal, type Network, type ProxyServer, unbracket } from './proxies.ts';
import type { NetworkStep } from './types.ts';

/** All addresses of a name in the order to try them; rejects when there is none. */
export type Resolve = (host: string) => Promise<ResolvedAddress[]>;

export const resolveBySystem: Resolve = (host) => systemLookup(host, { all: true });

export type DialOptions = {
  logger: Logger;
  network: Network;
  resolve?: Resolve | undefined;
  trustedCertificates?: readonly string[] | undefined;
  /** Canonical CIDRs whose private addresses every request may reach. */
  privateRanges?: readonly string[] | undefined;
};

/** The target of a connection, and which addresses it may reach. */
export type NetworkPath = {
  url: URL;
  secure: boolean;
  /** The target may be private or loopback. */
  mayBePrivate: boolean;
  /** An administrator chose the host: a proxy may be asked for its name. */
  isKnown: boolean;
  proxy?: ProxyServer | undefined;
  onStep?: ((step: NetworkStep) => void) | undefined;
};

/**
 * Opens a connection to a host, ready for the first byte. `onConnected`: the host is reached, and
 * only TLS is left. Rejects when `signal` ends it.
 */
export type Dial = (path: NetworkPath, signal: AbortSignal, onConnected: () => void) => Promise<Socket>;

const TCP_KEEP_ALIVE_MS = 1000;
/** A proxy that takes names is not kept waiting for a resolver that does not answer. */
const RESOLVE_BEFORE_PROXY_MS = 1000;
/** With the dot at its end. SOCKS would read the rest of a longer name as a port and more. */
const MAX_NAME_LENGTH = 254;

/**
 * Creates what opens connections. An address is checked right before it is connected to, and no
 * name is looked up a second time.
 */
export function createDial(options: DialOptions): Dial {
  const { logger, network, resolve = resolveBySystem, privateRanges = [] } = options;
  const trust = createTrust(options);

  /**
   * One forbidden address among several refuses the name: an honest vendor does not mix them, a DNS
   * rebinding attacker does.
   */
  async function resolveChecked(host: string, isAllowed: (address: string) => boolean): Promise<ResolvedAddress[]> {
    const resolved = await resolve(host);
    const refusedAddress = resolved.find(({ address }) => !isAllowed(address));
    if (refusedAddress) {
      logger.warn({ host, address: refusedAddress.address }, 'outbound address refused');
      throw new AddressRefused(REFUSED_MESSAGE);
    }
    if (resolved.length === 0) throw Object.assign(new Error('no address'), { code: 'ENOTFOUND' });
    return resolved;
  }

  /**
   * What a proxy is asked to connect to. A stranger's name that resolves here is replaced by the
   * address that was checked: at the proxy it may lead to another.
   */
  async function findDestination(
    { url, isKnown, mayBePrivate }: NetworkPath,
    { scheme }: ProxyServer,
  ): Promise<string> {
    const host = unbracket(url.hostname);
    if (isIP(host) !== 0) return host;
    const takesNames = scheme !== 'socks5';
    const resolving = resolveChecked(host, (address) => isAllowed(address, mayBePrivate, privateRanges));
    const found = await (takesNames ? withTimeout(resolving, RESOLVE_BEFORE_PROXY_MS) : toResult(resolving));
    if (found.ok) {
      if (isKnown && takesNames) return host;
      return (found.value.find(({ family }) => family === 4) ?? found.value[0])?.address ?? host;
    }
    if (found.error instanceof AddressRefused || !takesNames) throw found.error;
    const isName = host.length <= MAX_NAME_LENGTH;
    if (isName && (isKnown || (network.proxyResolves && !looksLocal(host)))) return host;
    throw new ProxyFailure(sentence('upstream.proxy_name', { code: errorCode(found.error) }));
  }

  async function connectToProxy(proxy: ProxyServer, signal: AbortSignal): Promise<Socket> {
    const { host, port } = proxy;
    const isOpen = (address: string) => checkAddress(address) !== 'forbidden';
    if (isIP(host) !== 0 && !isOpen(host)) throw new ProxyFailure(sentence('upstream.proxy_address'));
    const addresses =
      isIP(host) === 0 ? await toResult(resolveChecked(host, isOpen)) : ok([{ address: host, family: 0 }]);
    if (!addresses.ok) {
      const code = errorCode(addresses.error);
      const isRefused = addresses.error instanceof AddressRefused;
      throw new ProxyFailure(isRefused ? sentence('upstream.proxy_address') : sentence('upstream.proxy_dns', { code }));
    }
    const open = (address: string) => openSocket(address, { host, port, secure: proxy.scheme === 'https' });
    const connected = await toResult(connectFirst(alternateFamilies(addresses.value), open, signal));
    if (!connected.ok) {
      throw new ProxyFailure(sentence('upstream.proxy_connect', { code: errorCode(connected.error) }));
    }
    if (proxy.scheme !== 'https') return connected.value;
    const secured = await toResult(handshake(connected.value as TLSSocket, signal));
    if (!secured.ok) throw new ProxyFailure(sentence('upstream.proxy_tls', { code: errorCode(secured.error) }));
    return secured.value;
  }

  function openSocket(
    address: string,
    { host, port, secure }: { host: string; port: number; secure: boolean },
  ): Socket {
    const target = {
      host: address,
      port,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: TCP_KEEP_ALIVE_MS,
    };
    return secure ? connectTls({ ...target, ...trust(host) }) : connectTcp(target);
  }

  return async (path, signal, onConnected) => {
    const { url, secure, mayBePrivate, proxy, onStep } = path;
    const host = unbracket(url.hostname);
    const port = Number(url.port) || (secure ? 443 : 80);
    onStep?.({ at: 'begin', proxy: proxy && describeProxy(proxy) });
    if (proxy === undefined) {
      const addresses =
        isIP(host) === 0
          ? alternateFamilies(await resolveChecked(host, (address) => isAllowed(address, mayBePrivate, privateRanges)))
          : [host];
      if (isIP(host) === 0) onStep?.({ at: 'name', host, addresses });
      const socket = await connectFirst(addresses, (address) => openSocket(address, { host, port, secure }), signal);
      onConnected();
      onStep?.({ at: 'connected' });
      return secure ? handshake(socket as TLSSocket, signal, onStep) : socket;
    }
    const destination = await findDestination(path, proxy);
    if (isIP(host) === 0) onStep?.({ at: 'name', host, addresses: isIP(destination) === 0 ? [] : [destination] });
    const socket = await connectToProxy(proxy, signal);
    onStep?.({ at: 'proxy' });
    const giveUp = () => socket.destroy();
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      await openTunnel(socket, proxy, { host: destination, port });
      onConnected();
      onStep?.({ at: 'connected' });
      return secure ? await handshake(connectTls({ socket, host, ...trust(host) }), signal, onStep) : socket;
    } catch (error) {
      socket.destroy();
      throw error;
    } finally {
      signal.removeEventListener('abort', giveUp);
    }
  };
}

/** The options of TLS towards a host. */
function createTrust({ trustedCertificates, network }: DialOptions): (host: string) => TlsOptions {
  const { authorities } = network;
  let context: ReturnType<typeof createSecureContext> | undefined;
  return (host) => {
    if (trustedCertificates || authorities.length > 0) {
      // Read once: it takes milliseconds.
      context ??= createSecureContext({
        ca: [...(trustedCertificates ?? getCACertificates('default')), ...authorities],
        minVersion: 'TLSv1.2',
      });
    }
    return {
      // RFC 6066: an address is not a server name. The certificate is checked for the host anyway.
      ...(isIP(host) === 0 && { servername: host }),
      ALPNProtocols: ['http/1.1'],
      rejectUnauthorized: true,
      minVersion: 'TLSv1.2',
      ...(context && { secureContext: context }),
    };
  };
}

/** Waits until the TLS of a connected socket is ready. */
function handshake(socket: TLSSocket, signal: AbortSignal, onStep?: (step: NetworkStep) => void): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const settle = (error?: unknown) => {
      socket.removeListener('close', onClose);
      signal.removeEventListener('abort', onAbort);
      if (error === undefined) resolve(socket);
      else reject(error);
    };
    let fault: unknown = new Error('the connection was closed');
    const onClose = () => settle(fault);
    const onAbort = () => {
      socket.destroy();
      settle(signal.reason);
    };
    socket.once('secureConnect', () => {
      settle();
      if (!onStep) return;
      const { issuer, valid_to: until } = socket.getPeerCertificate();
      onStep({ at: 'tls', authority: nameAuthority(issuer), until: new Date(until).toISOString().slice(0, 10) });
    });
    socket.on('error', (error) => {
      fault = error;
      // Bun closes a socket that failed its check only later.
      socket.destroy();
    });
    socket.once('close', onClose);
    signal.addEventListener('abort', onAbort, { once: true });
    if (socket.destroyed) onClose();
  });
}

const nameAuthority = ({ O: organisation, CN: name }: Certificate): string =>
  [organisation, name].flat().filter(Boolean).join(', ');

const toResult = <T>(work: Promise<T>): Promise<Result<T, unknown>> => work.then(ok, err);

function withTimeout<T>(work: Promise<T>, ms: number): Promise<Result<T, unknown>> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(err({ code: 'ETIMEDOUT' })), ms);
    void toResult(work).then((result) => {
      clearTimeout(timer);
      resolve(result);
    });
  });
}

const REFUSED_MESSAGE = sentence('upstream.address');

/**
 * Why a literal address as host is refused; `undefined` if it is allowed or a name. Literal
 * addresses are never looked up.
 */
export function refusedLiteral(
  hostname: string,
  mayBePrivate: boolean,
  privateRanges: readonly string[] = [],
): Sentence | undefined {
  const address = unbracket(hostname);
  if (isIP(address) === 0 && !hostname.startsWith('[')) return undefined;
  return isAllowed(address, mayBePrivate, privateRanges) ? undefined : REFUSED_MESSAGE;
}

function isAllowed(address: string, mayBePrivate: boolean, privateRanges: readonly string[]): boolean {
  const verdict = checkAddress(address);
  return verdict === 'public' || (verdict === 'private' && (mayBePrivate || isInRanges(address, privateRanges)));
}
