import type { Auth, AuthConfig, AuthSettings } from '../../src/auth/index.ts';
import type { Clock, Logger } from '../../src/kernel/index.ts';
import type { Store, UserRecord } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import type { IdentityProvider } from '../support/identity-provider.ts';
import { bearer, ORIGIN, openAuth, signIn, testSettings } from './harness.ts';

export type Changes = {
  registration?: Partial<AuthSettings['registration']>;
  providers?: Partial<AuthSettings['providers']>;
  passwordLogin?: boolean;
};

/** Settings with every provider that `idp` plays switched on, and registration open. */
const providerSettings = (idp: IdentityProvider, change: Changes = {}): AuthSettings => {
  const base = testSettings();
  return {
    ...base,
    passwordSignIn: change.passwordLogin ?? true,
    registration: { ...base.registration, enabled: true, ...change.registration },
    providers: { ...base.providers, ...idp.settings(), ...change.providers },
  };
};

/** One node of a gateway whose providers `idp` plays. */
export const openNode = (
  store: Store,
  idp: IdentityProvider,
  options: { clock?: Clock; logger?: Logger; config?: Partial<AuthConfig>; change?: Changes } = {},
): Auth => {
  const { change, ...rest } = options;
  return openAuth(store, { ...rest, settings: () => providerSettings(idp, change) });
};

export type Caller = Awaited<ReturnType<typeof signedIn>>;

/** A user with a session. */
export async function signedIn(auth: Auth, store: Store, user?: UserRecord) {
  const person = user ?? (await addUser(store));
  const session = await signIn(auth, person);
  return { user: person, session, principal: () => auth.authenticatePanel(bearer(session)) };
}

type Query = Record<string, string | undefined>;

/** Presents what the provider sent to the redirect address. */
export async function present(
  auth: Auth,
  provider: string,
  { query, caller }: { query: Query; caller?: Caller | undefined },
) {
  return auth.oauth.finish({
    principal: await caller?.principal(),
    provider,
    origin: ORIGIN,
    state: query.state ?? '',
    code: query.code,
    iss: query.iss,
    error: query.error,
    errorDescription: query.error_description,
    acceptLanguage: 'pt-BR,en;q=0.5',
  });
}

/** Begins, lets the person consent at the provider, and gives what comes back. */
export async function goThere(
  auth: Auth,
  idp: IdentityProvider,
  { provider, ...options }: { provider: string; caller?: Caller; affCode?: string },
) {
  const begun = await auth.oauth.begin({
    principal: await options.caller?.principal(),
    provider,
    intent: options.caller ? 'bind' : 'login',
    affCode: options.affCode ?? '',
  });
  return { ...begun, ...(await idp.agree(begun.authorization_url)) };
}

/** A complete login; fails when a second factor is due. */
export async function logInAt(
  auth: Auth,
  idp: IdentityProvider,
  { provider, affCode = '' }: { provider: string; affCode?: string },
) {
  const { query } = await goThere(auth, idp, { provider, affCode });
  const done = await present(auth, provider, { query });
  if (done.action !== 'login' || done.signIn.kind !== 'session') throw new Error('no session came of it');
  return done.signIn;
}

/** A complete binding. */
export async function bindAt(
  auth: Auth,
  idp: IdentityProvider,
  { provider, caller }: { provider: string; caller: Caller },
) {
  const { query } = await goThere(auth, idp, { provider, caller });
  return present(auth, provider, { query, caller });
}
