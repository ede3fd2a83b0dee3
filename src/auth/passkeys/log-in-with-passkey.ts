import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server';
import { type AppError, sentence } from '../../kernel/index.ts';
import { STATUS } from '../../store/ports/index.ts';
import type { AuthSettings } from '../config.ts';
import { requireRelyingParty } from '../credentials/relying-party.ts';
import { authErrors } from '../errors.ts';
import type { RequestOrigin } from '../principals.ts';
import { completeLogin, type LoginDeps, type LoginResult } from '../sessions/complete-login.ts';
import type { SignInAttempt } from '../sessions/record-sign-ins.ts';
import { type AssertionCredential, beginCeremony, type Ceremony, loadWebAuthn } from './ceremony.ts';
import { checkAssertion } from './check-assertion.ts';

/** What the operations of this file use. */
type Deps = LoginDeps & {
  settings: () => AuthSettings;
};

export type PasskeyLogin = { flowToken: string; credential: AssertionCredential; origin: RequestOrigin };

/**
 * Begins a login without a user name: the authenticator names the user.
 *
 * @throws `auth.method_disabled`
 */
export async function beginPasskeyLogin(
  ctx: Pick<Deps, 'store' | 'clock' | 'settings' | 'flows'>,
): Promise<Ceremony<PublicKeyCredentialRequestOptionsJSON>> {
  const party = requireRelyingParty(ctx.settings());
  const { generateAuthenticationOptions } = await loadWebAuthn();
  // No list of credentials: it would reveal who has an account.
  return beginCeremony(ctx, { purpose: 'passkey_login', binding: {} }, (ceremony) =>
    generateAuthenticationOptions({ ...ceremony, rpID: party.id, userVerification: party.userVerification }),
  );
}

/**
 * Only a successful login uses the flow up.
 *
 * @throws `auth.method_disabled`; `auth.flow_invalid`; `auth.invalid_credentials` alike for every
 * credential that cannot sign in, whatever the reason; a limit of session issuance.
 */
export const finishPasskeyLogin = (ctx: Deps, login: PasskeyLogin): Promise<LoginResult> =>
  ctx.signIns.watch(
    { method: 'passkey', origin: login.origin, identity: `passkey:${login.credential.id}` },
    (attempt) => checkAndComplete(ctx, login, attempt),
  );

async function checkAndComplete(
  ctx: Deps,
  { flowToken, credential, origin }: PasskeyLogin,
  attempt: SignInAttempt,
): Promise<LoginResult> {
  const { store, settings, flows } = ctx;
  const party = requireRelyingParty(settings());
  const key = { token: flowToken, purpose: 'passkey_login', binding: {} } as const;
  const flow = await flows.find(store, key);
  const challenge = String(flow.payload.challenge);
  const asserted = await checkAssertion(ctx, party, { challenge, credential, needsHandle: true });
  if (!asserted.ok) throw refused(asserted.error);
  const { passkey, userVerified, storeUse } = asserted.value;
  attempt.userId = passkey.userId;
  const user = await store.users.byId(passkey.userId);
  if (user?.status !== STATUS.enabled) throw refused('the owner is disabled or deleted');

  return completeLogin(ctx, {
    proven: user,
    method: 'passkey',
    origin,
    // The key is one factor; the PIN or fingerprint that unlocked it is the other.
    twoFactors: userVerified,
    async within(tx) {
      await flows.consume(tx, key);
      if (!(await storeUse(tx))) throw refused('another request used or deleted the passkey');
    },
  });
}

const refused = (cause: unknown): AppError =>
  authErrors.invalid_credentials({ message: sentence('auth.passkey_refused'), cause });
