/** Orders one certificate of an ACME authority. */
import type { axios, Client } from 'acme-client';
import { type Clock, deadlineSignal, isObject, removeHiddenCharacters } from '../../kernel/index.ts';
import type { Upstream } from '../../upstream/index.ts';
import type { AnswerChallenge } from './answer-http-challenges.ts';
import type { Certificate } from './watch-certificate.ts';

/** A chain of certificates takes some 10 KiB. */
const MAX_ANSWER_BYTES = 512 * 1024;
const CONNECT_MS = 10_000;
const ANSWER_MS = 30_000;
/** An authority takes seconds. After this time the whole order is tried again later. */
const MAX_ORDER_MS = 300_000;
const FIRST_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 10_000;
const REASON_CHARS = 300;

type Authorization = Awaited<ReturnType<Client['getAuthorizations']>>[number];
type AcmeOrder = Awaited<ReturnType<Client['createOrder']>>;
type Adapter = Extract<typeof axios.defaults.adapter, (...parameters: never[]) => unknown>;

type OrderDeps = { upstream: Upstream; clock: Clock; answer: AnswerChallenge; signal: AbortSignal };

type Order = {
  directoryUrl: string;
  /** PEM text. */
  accountKey: string;
  names: readonly string[];
  /** Empty: the account has none. */
  email: string;
};

/**
 * Orders a certificate by RFC 8555: account, order, a challenge for each name, signing request,
 * download. The key is new each time. One order runs at a time in a process, since the library has
 * one place for the way that its requests take.
 *
 * @throws in words what went wrong
 */
export async function orderCertificate(deps: OrderDeps, order: Order): Promise<Certificate> {
  const deadline = deadlineSignal(deps.clock, MAX_ORDER_MS, deps.signal);
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const stop = () =>
    reject(new OrderError(deps.signal.aborted ? 'the gateway stops' : 'the order was not done within five minutes'));
  deadline.signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([runOrder({ ...deps, signal: deadline.signal }, order), stopped]);
  } catch (error) {
    throw new Error(describeFailure(error));
  } finally {
    deadline.signal.removeEventListener('abort', stop);
    deadline.end();
  }
}

async function runOrder(deps: OrderDeps, { directoryUrl, accountKey, names, email }: Order): Promise<Certificate> {
  const [{ default: http }, { default: AcmeClient }, { default: acmeCrypto }] = await Promise.all([
    import('acme-client/src/axios.js'),
    import('acme-client/src/client.js'),
    import('acme-client/src/crypto/index.js'),
  ]);
  http.defaults.adapter = sendThroughUpstream(deps, directoryUrl);
  const client = new AcmeClient({ directoryUrl, accountKey });
  await client.createAccount({
    termsOfServiceAgreed: true,
    ...(email === '' ? {} : { contact: [`mailto:${email}`] }),
  });
  const identifiers = names.map((value) => ({ type: 'dns', value }));
  const opened = await client.createOrder({ identifiers });
  for (const authorization of await client.getAuthorizations(opened))
    await authorize(deps, { client, opened, authorization });
  const readOrder = () => client.getOrder(opened);

  const key = await acmeCrypto.createPrivateEcdsaKey('P-256');
  const [, request] = await acmeCrypto.createCsr({ altNames: [...names] }, key);
  // An authority may need a moment between the last proof and the order.
  const ready = await awaitStatus(deps, readOrder, ['pending', 'processing']);
  if (ready.status !== 'ready' && ready.status !== 'valid') throw refusal(ready);
  if (ready.status === 'ready') await client.finalizeOrder(ready, request);
  const issued = await awaitStatus(deps, readOrder, ['ready', 'processing']);
  if (issued.status !== 'valid') throw refusal(issued);
  const cert = await client.getCertificate(issued);
  return { cert, key: key.toString() };
}

/** Reads until the status is no longer one of `unready`; the order's deadline ends it. */
async function awaitStatus<T extends { status: string }>(
  { clock, signal }: OrderDeps,
  read: () => Promise<T>,
  unready: readonly string[],
): Promise<T> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
    const found = await read();
    if (!unready.includes(found.status)) return found;
    await clock.sleep(pauseMs, signal);
    signal.throwIfAborted();
  }
}

const refusal = ({ status, error }: { status: string; error?: unknown }): Error =>
  new Error(isObject(error) && typeof error.detail === 'string' ? error.detail : `its order is ${status}`);

type OpenAuthorization = { client: Client; opened: AcmeOrder; authorization: Authorization };

async function authorize(deps: OrderDeps, { client, opened, authorization }: OpenAuthorization): Promise<void> {
  if (authorization.status === 'valid') return;
  const name = authorization.identifier.value;
  const challenge = authorization.challenges.find(({ type }) => type === 'http-01');
  if (!challenge) throw new OrderError(`the authority does not offer http-01 for ${name}`);
  const keyAuthorization = await client.getChallengeKeyAuthorization(challenge);
  const withdraw = deps.answer({ token: challenge.token, keyAuthorization });
  try {
    await client.completeChallenge(challenge);
    const read = async (): Promise<Authorization> => {
      const [found] = await client.getAuthorizations({ ...opened, authorizations: [authorization.url] });
      return found as Authorization;
    };
    const { status, challenges } = await awaitStatus(deps, read, ['pending', 'processing']);
    if (status === 'valid') return;
    const failed = challenges.find(({ type }) => type === 'http-01');
    throw refusal({ status, ...(failed && 'error' in failed ? { error: failed.error } : {}) });
  } catch (error) {
    if (error instanceof OrderError) throw error;
    throw new OrderError(`the authority could not verify ${name}: ${readWords(error)}`);
  } finally {
    withdraw();
  }
}

/** The library's requests go out as all others do: checked addresses, proxies, timeouts, caps. */
function sendThroughUpstream({ upstream, signal }: OrderDeps, directoryUrl: string): Adapter {
  // The administrator named the authority; it may be in a private network. Nothing else may be.
  const privateHosts = [new URL(directoryUrl).host.toLowerCase()];
  // The operator chose the authority, which chooses its other addresses.
  const isKnownHost = () => true;
  return async (config) => {
    const { url = '', method = 'get', data } = config;
    if (!url.startsWith('https://')) throw new OrderError('the authority named an address without https');
    const hasBody = typeof data === 'string';
    const sent = await upstream.request({
      ...{ url, privateHosts, isKnownHost, signal, maxRedirects: 0, mayRepeat: false },
      method: method.toUpperCase(),
      body: hasBody ? { kind: 'text', text: data } : { kind: 'none' },
      headers: { ...(hasBody ? { 'content-type': 'application/jose+json' } : {}), 'user-agent': 'taskgate' },
      connectTimeoutMs: CONNECT_MS,
      headersTimeoutMs: ANSWER_MS,
      idleTimeoutMs: ANSWER_MS,
      maxResponseBytes: MAX_ANSWER_BYTES,
    });
    if (!sent.ok) throw new OrderError(`the authority cannot be reached: ${sent.error.message}`);
    const text = await sent.value.text();
    if (!text.ok) throw new OrderError(`the authority's answer broke off: ${text.error.message}`);
    const headers = Object.fromEntries(
      Object.entries(sent.value.headers).map(([name, values]) => [name, values?.[0] ?? '']),
    );
    return { data: text.value, status: sent.value.status, statusText: '', headers, config };
  };
}

/** Its message is ours; all others are the library's or the authority's. */
class OrderError extends Error {}

const describeFailure = (error: unknown): string =>
  error instanceof OrderError ? error.message : `the authority refused: ${readWords(error)}`;

function readWords(error: unknown): string {
  const words = error instanceof Error ? removeHiddenCharacters(error.message).trim() : '';
  return words === '' ? 'it gave no reason' : words.slice(0, REASON_CHARS);
}
