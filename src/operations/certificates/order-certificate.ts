import { type Clock, isObject, type Json, type JsonObject } from '../../kernel/index.ts';
import { type AcmeRequests, describeProblem, readObject, textOf } from './acme-requests.ts';
import { createSigningRequest, newKey, toPem } from './make-certificates.ts';
import type { AnswerChallenge, ChallengeType } from './types.ts';
import type { Certificate } from './watch-certificate.ts';

/** An authority takes seconds. After this long the whole order is tried again later. */
const ORDER_MS = 300_000;
const POLL_MS = 1000;
const MAX_POLL_MS = 30_000;

type OrderDeps = {
  requests: AcmeRequests;
  challengeType: ChallengeType;
  answer: AnswerChallenge;
  clock: Clock;
  signal: AbortSignal;
};

type Order = { directoryUrl: string; names: readonly string[]; email: string };

/**
 * Orders a certificate by RFC 8555: account, order, a challenge for each name, signing request,
 * download. The key is new each time.
 *
 * @throws in words what went wrong
 */
export async function orderCertificate(deps: OrderDeps, { directoryUrl, names, email }: Order): Promise<Certificate> {
  const { requests, clock } = deps;
  const deadlineMs = clock.monotonicMs() + ORDER_MS;
  const directory = await requests.get(directoryUrl);
  const account = await requests.post(textOf(directory.newAccount), {
    termsOfServiceAgreed: true,
    ...(email === '' ? {} : { contact: [`mailto:${email}`] }),
  });
  requests.useAccount(account.location);

  const identifiers = names.map((value) => ({ type: 'dns', value }));
  const opened = await requests.post(textOf(directory.newOrder), { identifiers });
  const order = readObject(opened.text);
  // One after the other: a listener answers one name at a time.
  for (const url of listOf(order.authorizations)) await authorize(deps, textOf(url), deadlineMs);

  // An authority may need a moment between the last proof and the order.
  await pollUntil(deps, { url: opened.location, wanted: ['ready', 'valid'], deadlineMs });
  const key = newKey();
  await requests.post(textOf(order.finalize), { csr: createSigningRequest(names, key).toString('base64url') });
  const ended = await pollUntil(deps, { url: opened.location, wanted: ['valid'], deadlineMs });
  const { text: cert } = await requests.post(textOf(ended.certificate));
  return { cert, key: toPem(key) };
}

async function authorize(deps: OrderDeps, url: string, deadlineMs: number): Promise<void> {
  const { requests, challengeType } = deps;
  const authorization = readObject((await requests.post(url)).text);
  if (authorization.status === 'valid') return;
  const name = textOf(isObject(authorization.identifier) ? authorization.identifier.value : undefined);
  const challenge = listOf(authorization.challenges).find((each) => isObject(each) && each.type === challengeType);
  if (!isObject(challenge)) throw new Error(`the authority does not offer ${challengeType} for ${name}`);
  const token = textOf(challenge.token);
  const withdraw = await deps.answer({ name, token, keyAuthorization: requests.keyAuthorization(token) });
  try {
    await requests.post(textOf(challenge.url), {});
    await pollUntil(deps, { url, wanted: ['valid'], deadlineMs });
  } finally {
    await withdraw();
  }
}

type Poll = { url: string; wanted: readonly string[]; deadlineMs: number };

/**
 * Reads an order or an authorization until its state is wanted.
 *
 * @throws when it is refused, or too late
 */
async function pollUntil(deps: OrderDeps, { url, wanted, deadlineMs }: Poll): Promise<JsonObject> {
  const { requests, clock, signal } = deps;
  for (;;) {
    const answer = await requests.post(url);
    const state = readObject(answer.text);
    const status = textOf(state.status);
    if (wanted.includes(status)) return state;
    if (!['pending', 'processing', 'ready'].includes(status)) throw new Error(describeFailure(state));
    if (clock.monotonicMs() > deadlineMs) throw new Error('the authority took too long');
    await clock.sleep(Math.min(Math.max(answer.retryAfterSeconds * 1000, POLL_MS), MAX_POLL_MS), signal);
    if (signal.aborted) throw new Error('the gateway stops');
  }
}

function describeFailure(state: JsonObject): string {
  const failed = listOf(state.challenges).find((each) => isObject(each) && each.error !== undefined);
  const name = isObject(state.identifier) ? ` ${String(state.identifier.value)}` : '';
  return `the authority could not verify${name}: ${describeProblem(isObject(failed) ? failed.error : state.error)}`;
}

const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : []);
