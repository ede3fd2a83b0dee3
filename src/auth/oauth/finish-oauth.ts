import { type Clock, type Logger, type SecretBox, sanitizeMessage, sentence } from '../../kernel/index.ts';
import type { FlowRecord, Store } from '../../store/ports/index.ts';
import type { AuthConfig, AuthSettings } from '../config.ts';
import type { NotifyOwner } from '../mail/notify-owner.ts';
import type { PanelPrincipal, RequestOrigin, SessionPrincipal } from '../principals.ts';
import { completeLogin } from '../sessions/complete-login.ts';
import type { SignInAttempt, SignIns } from '../sessions/record-sign-ins.ts';
import type { SessionTokens } from '../tokens/access-tokens.ts';
import type { FlowBinding, FlowKey, Flows } from '../tokens/flows.ts';
import { openSecrets } from './begin-oauth.ts';
import { bindIdentity } from './bind-identity.ts';
import { findOrCreateUser, type OwnerLogin } from './find-or-create-user.ts';
import type { FindProvider } from './find-provider.ts';
import { type ExternalIdentity, providerFailed } from './identity-provider.ts';

/** What the operations of this file use. */
type Deps = {
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
  | ({ action: 'login' } & OwnerLogin)
  | { action: 'bind'; principal: SessionPrincipal; subject: string };

type FoundFlow = { flow: FlowRecord; key: FlowKey };

/**
 * The second step. A flow that began in a session ends in that session only, for the same user. A
 * flow that began without a session makes a login. The flow is consumed together with its purpose,
 * after the provider has identified the person, or by an error that the provider reports.
 *
 * @throws `auth.flow_invalid`, `auth.method_disabled`, `auth.provider_failed`,
 * `auth.access_denied`; a login also what `findOrCreateUser` throws and a limit of session
 * issuance; a binding also what `bindIdentity` throws.
 */
export async function finishOAuth(ctx: Deps, answer: OAuthReturn): Promise<OAuthResult> {
  const found = await findFlow(ctx, answer);
  const attempt = { method: `oauth:${answer.provider}`, origin: answer.origin };
  // A binding is no sign-in, so it is not recorded as one.
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
  ctx: Deps,
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
    : logIn(ctx, answer, { key, identity, affCode: secrets.affCode });
}

async function bind(
  ctx: Pick<Deps, 'store' | 'clock' | 'logger' | 'config' | 'flows' | 'notifyOwner'>,
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

async function logIn(
  ctx: Pick<
    Deps,
    'store' | 'clock' | 'logger' | 'config' | 'settings' | 'tokens' | 'flows' | 'signIns' | 'notifyOwner'
  >,
  { provider, origin, acceptLanguage }: OAuthReturn,
  { key, identity, affCode }: { key: FlowKey; identity: ExternalIdentity; affCode: string },
): Promise<OAuthResult> {
  const done = await findOrCreateUser(ctx, { provider, identity, affCode, acceptLanguage }, (proven) =>
    completeLogin(ctx, {
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
