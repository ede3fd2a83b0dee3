import { createHash } from 'node:crypto';
import {
  type Clock,
  isObject,
  type JsonObject,
  type Logger,
  parseJson,
  randomToken,
  type SecretBox,
  sanitizeMessage,
  sentence,
} from '../../kernel/index.ts';
import type { FlowRecord, Store } from '../../store/ports/index.ts';
import type { AuthConfig, AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';
import type { NotifyOwner } from '../mail/notify-owner.ts';
import { type PanelPrincipal, type RequestOrigin, requireSession, type SessionPrincipal } from '../principals.ts';
import { rememberSession } from '../sessions/check-session.ts';
import { completeSignIn } from '../sessions/complete-sign-in.ts';
import type { SignInAttempt, SignIns } from '../sessions/record-sign-ins.ts';
import type { SessionTokens } from '../tokens/access-tokens.ts';
import type { FlowBinding, FlowKey, Flows, FlowTicket } from '../tokens/flows.ts';
import { bindIdentity, requireUnbound } from './bind-identity.ts';
import { findOrCreateUser, type OwnerSignIn } from './find-or-create-user.ts';
import type { FindProvider } from './find-provider.ts';
import { type ExternalIdentity, providerFailed } from './identity-provider.ts';

/** Dependencies of the operations in this file. */
type Deps = {
  store: Store;
  secretBox: SecretBox;
  settings: () => AuthSettings;
  flows: Flows;
  findProvider: FindProvider;
};

export type OAuthRequest = {
  /** The caller, if authenticated. */
  principal: PanelPrincipal | undefined;
  provider: string;
  intent: 'login' | 'bind';
  /** An affiliate code, for the account that a sign-in may create. */
  affCode: string;
};

export type OAuthTicket = FlowTicket & {
  /** Where to send the browser; the flow token is its `state`. */
  authorization_url: string;
};

/** RFC 7636 4.1: 43 to 128 characters; 32 bytes give 43. */
const VERIFIER_BYTES = 32;
const NONCE_BYTES = 32;

/**
 * The first step of a sign-in or binding at a provider.
 *
 * @throws `auth.method_disabled`, `auth.provider_failed`; for a binding also `auth.unauthorized`,
 * `auth.session_required`, or `auth.identity_taken` for a user who has an identity of this provider
 * already.
 */
export async function beginOAuth(
  ctx: Deps,
  { principal, provider: slug, intent, affCode }: OAuthRequest,
): Promise<OAuthTicket> {
  const { store, secretBox, settings, flows, findProvider } = ctx;
  const session = intent === 'bind' ? requireCaller(principal) : undefined;
  const provider = await findProvider(slug);
  if (session) await requireUnbound(store, session.user.id, slug);
  const codeVerifier = randomToken(VERIFIER_BYTES);
  const nonce = randomToken(NONCE_BYTES);
  // Each provider has its own redirect address, so that no provider's answer passes for another's.
  const redirectUri = `${settings().serverAddress}/oauth/${slug}`;
  const binding: FlowBinding = session
    ? { provider: slug, intent, userId: session.user.id, sessionId: session.sid }
    : { provider: slug, intent };
  const secrets = { codeVerifier, nonce, redirectUri, affCode: session ? '' : affCode };
  const payload = { ...sealSecrets(secretBox, secrets), ...(session ? rememberSession(session) : {}) };
  const ticket = await flows.begin(store, { purpose: 'oauth', binding, payload });
  const codeChallenge = createHash('sha256').update(codeVerifier).digest('base64url');
  const request = { redirectUri, state: ticket.flow_token, codeChallenge, nonce };
  return { ...ticket, authorization_url: await provider.authorizationUrl(request) };
}

function requireCaller(principal: PanelPrincipal | undefined) {
  if (!principal) throw authErrors.unauthorized();
  return requireSession(principal);
}

/** The secrets of an authorization request that the server keeps until the answer comes back. */
export type FlowSecrets = {
  /** PKCE */
  codeVerifier: string;
  nonce: string;
  /** As in the request: the token endpoint must get the same value. */
  redirectUri: string;
  /** The affiliate code for a new account; empty: none. */
  affCode: string;
};

/** Sealed for the flow's row, so that a reader of the database cannot complete a sign-in. */
const sealSecrets = (box: SecretBox, secrets: FlowSecrets): JsonObject => ({
  sealed: box.seal(JSON.stringify(secrets)),
});

/** @throws `auth.flow_invalid` when no `CRYPTO_SECRET` opens them. */
function openSecrets(box: SecretBox, payload: JsonObject): FlowSecrets {
  const opened = parseJson(box.open(String(payload.sealed)) ?? '');
  if (!isObject(opened)) throw authErrors.flow_invalid();
  const { codeVerifier, nonce, redirectUri, affCode } = opened;
  return {
    codeVerifier: String(codeVerifier),
    nonce: String(nonce),
    redirectUri: String(redirectUri),
    affCode: String(affCode),
  };
}

/** Dependencies of the operations in this file. */
type ReturnDeps = {
  store: Store;
  clock: Clock;
  logger: Logger;
  secretBox: SecretBox;
  config: AuthConfig;
  settings: () => AuthSettings;
  tokens: SessionTokens;
  flows: Flows;
  signIns: SignIns;
  notifyOwner: NotifyOwner;
  findProvider: FindProvider;
};

export type OAuthReturn = {
  /** The caller, if authenticated. */
  principal: PanelPrincipal | undefined;
  provider: string;
  origin: RequestOrigin;
  /** What the provider sent back. */
  state: string;
  code: string | undefined;
  iss: string | undefined;
  error: string | undefined;
  errorDescription: string | undefined;
  acceptLanguage?: string | undefined;
};

export type OAuthResult =
  | ({ action: 'login' } & OwnerSignIn)
  | { action: 'bind'; principal: SessionPrincipal; subject: string };

type FoundFlow = { flow: FlowRecord; key: FlowKey };

/**
 * The second step. A flow that began in a session ends in that session only, for the same user. A
 * flow that began without a session signs in. The flow is consumed together with its purpose, after
 * the provider has identified the person, or by an error that the provider reports.
 *
 * @throws `auth.flow_invalid`, `auth.method_disabled`, `auth.provider_failed`,
 * `auth.access_denied`; a sign-in also what `findOrCreateUser` throws and a limit of session
 * issuance; a binding also what `bindIdentity` throws.
 */
export async function finishOAuth(ctx: ReturnDeps, answer: OAuthReturn): Promise<OAuthResult> {
  const found = await findFlow(ctx, answer);
  const attempt = { method: `oauth:${answer.provider}`, origin: answer.origin };
  // A binding is not a sign-in, so it is not recorded as one.
  if (isBinding(found)) return identifyAndComplete(ctx, answer, { ...found, attempt });
  return ctx.signIns.watch(attempt, (watched) => identifyAndComplete(ctx, answer, { ...found, attempt: watched }));
}

/** The flow that `state` names. */
async function findFlow(
  { store, flows }: { store: Store; flows: Flows },
  { principal, provider, state }: OAuthReturn,
): Promise<FoundFlow> {
  const toFlowKey = (binding: FlowBinding): FlowKey => ({ token: state, purpose: 'oauth', binding });
  if (principal?.kind === 'session') {
    const key = toFlowKey({ provider, intent: 'bind', userId: principal.user.id, sessionId: principal.sid });
    const flow = await flows.find(store, key).catch(() => undefined);
    if (flow) return { flow, key };
  }
  const key = toFlowKey({ provider, intent: 'login' });
  return { flow: await flows.find(store, key), key };
}

const isBinding = ({ key }: FoundFlow): boolean => key.binding.intent === 'bind';

async function identifyAndComplete(
  ctx: ReturnDeps,
  answer: OAuthReturn,
  { attempt, ...found }: FoundFlow & { attempt: SignInAttempt },
): Promise<OAuthResult> {
  const { store, secretBox, flows, findProvider } = ctx;
  const { flow, key } = found;
  if (answer.error !== undefined) {
    await flows.consume(store, key);
    throw reportedError(answer);
  }
  const provider = await findProvider(answer.provider);
  const secrets = openSecrets(secretBox, flow.payload);
  if (answer.code === undefined) throw providerFailed(sentence('oauth.neither'));
  const { code, state, iss } = answer;
  const identity = await provider.identify({ ...secrets, code, state, iss });
  attempt.identity = `${answer.provider}:${identity.subject}`;
  return isBinding(found)
    ? bind(ctx, answer, { key, identity })
    : signIn(ctx, answer, { key, identity, affCode: secrets.affCode });
}

async function bind(
  ctx: Pick<ReturnDeps, 'store' | 'clock' | 'logger' | 'config' | 'flows' | 'notifyOwner'>,
  { provider, origin }: OAuthReturn,
  { key, identity: { subject } }: { key: FlowKey; identity: ExternalIdentity },
): Promise<OAuthResult> {
  const principal = await bindIdentity(ctx, {
    provider,
    subject,
    consume: (tx) => ctx.flows.consume(tx, key),
    origin,
  });
  return { action: 'bind', principal, subject };
}

async function signIn(
  ctx: Pick<
    ReturnDeps,
    'store' | 'clock' | 'logger' | 'config' | 'settings' | 'tokens' | 'flows' | 'signIns' | 'notifyOwner'
  >,
  { provider, origin, acceptLanguage }: OAuthReturn,
  { key, identity, affCode }: { key: FlowKey; identity: ExternalIdentity; affCode: string },
): Promise<OAuthResult> {
  const done = await findOrCreateUser(ctx, { provider, identity, affCode, acceptLanguage }, (proven) =>
    completeSignIn(ctx, {
      proven,
      method: `oauth:${provider}`,
      origin,
      twoFactors: false,
      within: async (tx) => void (await ctx.flows.consume(tx, key)),
    }),
  );
  return { action: 'login', ...done };
}

/**
 * RFC 6749 4.1.2.1. The description is text from outside: it is cut to one short line and shown as
 * plain text.
 */
function reportedError({ error = '', errorDescription = '' }: OAuthReturn) {
  const words = sanitizeMessage(errorDescription, 200);
  if (error === 'access_denied') {
    return providerFailed(words === '' ? sentence('oauth.declined') : sentence('oauth.declined_words', { words }));
  }
  const code = /^[\w.-]{1,64}$/.test(error) ? error : 'an error';
  if (words !== '') return providerFailed(sentence('oauth.reported_words', { code, words }));
  return providerFailed(code === error ? sentence('oauth.reported', { code }) : sentence('oauth.reported_error'));
}
