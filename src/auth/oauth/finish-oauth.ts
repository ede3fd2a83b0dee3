import { type SecretBox, sanitizeMessage } from '../../kernel/index.ts';
import type { FlowRecord, Repositories, Store } from '../../store/ports/index.ts';
import type { FlowBinding, Flows } from '../flows/flows.ts';
import type { CompleteLogin } from '../login/complete-login.ts';
import type { SessionPrincipal } from '../require-session.ts';
import type { SignInAttempt, SignIns } from '../sign-ins/record-sign-ins.ts';
import type { PanelPrincipal, RequestOrigin } from '../types.ts';
import type { BindIdentity } from '../users/bind-identity.ts';
import type { FindOrCreateUser, OwnerLogin } from './find-or-create-user.ts';
import type { FindProvider } from './find-provider.ts';
import { type FlowSecrets, openSecrets } from './flow-secrets.ts';
import { type ExternalIdentity, providerFailed } from './identity-provider.ts';

export type OAuthReturn = {
  /** Whoever asks, where somebody does. */
  principal: PanelPrincipal | undefined;
  provider: string;
  origin: RequestOrigin;
  /** What the provider sent back. */
  state: string;
  code: string | undefined;
  iss: string | undefined;
  error: string | undefined;
  errorDescription: string | undefined;
};

export type OAuthResult =
  | ({ action: 'login' } & OwnerLogin)
  | { action: 'bind'; principal: SessionPrincipal; subject: string };

/**
 * The second step. A flow that began in a session ends in that session alone, by the same user; one
 * that began in none makes a login. It is used up with what it is for, once the provider has said
 * who it is, or by an error that the provider reports. Rejects with `auth.flow_invalid`,
 * `auth.method_disabled`, `auth.provider_failed`, `auth.access_denied`; a login also as
 * `FindOrCreateUser` and with a limit of session issuance; a binding also as `BindIdentity`.
 */
export function createFinishOAuth(deps: {
  store: Store;
  secretBox: SecretBox;
  flows: Flows;
  findProvider: FindProvider;
  findOrCreateUser: FindOrCreateUser;
  bindIdentity: BindIdentity;
  completeLogin: CompleteLogin;
  signIns: SignIns;
}): (answer: OAuthReturn) => Promise<OAuthResult> {
  const { store, secretBox, flows, findProvider, findOrCreateUser, bindIdentity, completeLogin, signIns } = deps;

  /** The flow that `state` names, and what it is bound to. */
  async function findFlow({ principal, provider, state }: OAuthReturn) {
    const login: FlowBinding = { provider, intent: 'login' };
    if (principal?.kind === 'session') {
      const bind: FlowBinding = { provider, intent: 'bind', userId: principal.user.id, sessionId: principal.sid };
      const flow = await flows.find(store, state, 'oauth', bind).catch(() => undefined);
      if (flow) return { flow, binding: bind };
    }
    return { flow: await flows.find(store, state, 'oauth', login), binding: login };
  }

  async function bind(answer: OAuthReturn, binding: FlowBinding, { subject }: ExternalIdentity): Promise<OAuthResult> {
    const { provider, state, origin } = answer;
    const consume = (tx: Repositories) => flows.consume(tx, state, 'oauth', binding);
    const principal = await bindIdentity({ provider, subject, consume, origin });
    return { action: 'bind', principal, subject };
  }

  async function logIn(answer: OAuthReturn, identity: ExternalIdentity, secrets: FlowSecrets): Promise<OAuthResult> {
    const { provider, origin, state } = answer;
    const done = await findOrCreateUser({ provider, identity, affCode: secrets.affCode }, (proven) =>
      completeLogin({
        proven,
        method: `oauth:${provider}`,
        origin,
        twoFactors: false,
        within: async (tx) => void (await flows.consume(tx, state, 'oauth', { provider, intent: 'login' })),
      }),
    );
    return { action: 'login', ...done };
  }

  return async (answer) => {
    const { flow, binding } = await findFlow(answer);
    const attempt = { method: `oauth:${answer.provider}`, origin: answer.origin };
    // A binding is no sign-in.
    if (binding.intent === 'bind') return finish(answer, { flow, binding, attempt });
    return signIns.watch(attempt, (watched) => finish(answer, { flow, binding, attempt: watched }));
  };

  async function finish(
    answer: OAuthReturn,
    { flow, binding, attempt }: { flow: FlowRecord; binding: FlowBinding; attempt: SignInAttempt },
  ): Promise<OAuthResult> {
    if (answer.error !== undefined) {
      await flows.consume(store, answer.state, 'oauth', binding);
      throw reportedError(answer);
    }
    const provider = await findProvider(answer.provider);
    const secrets = openSecrets(secretBox, flow.payload);
    if (answer.code === undefined) throw providerFailed('The provider sent neither a code nor an error.');
    const { code, state, iss } = answer;
    const identity = await provider.identify({ ...secrets, code, state, iss });
    attempt.identity = `${answer.provider}:${identity.subject}`;
    return binding.intent === 'bind' ? bind(answer, binding, identity) : logIn(answer, identity, secrets);
  }
}

/**
 * RFC 6749 4.1.2.1. The description is somebody else's text: one short line of it, and never more
 * than text.
 */
function reportedError({ error = '', errorDescription = '' }: OAuthReturn) {
  const description = sanitizeMessage(errorDescription, 200);
  if (error === 'access_denied') {
    return providerFailed(
      `You did not agree to sign in at the provider.${description ? ` It says: ${description}` : ''}`,
    );
  }
  const code = /^[\w.-]{1,64}$/.test(error) ? error : 'an error';
  return providerFailed(`The provider reported ${code}.${description ? ` It says: ${description}` : ''}`);
}
