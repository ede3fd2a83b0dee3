import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server';
import { type AppError, sentence } from '../../kernel/index.ts';
import { STATUS } from '../../store/ports/index.ts';
import type { AuthContext } from '../context.ts';
import { authErrors } from '../errors.ts';
import { completeLogin, type LoginResult } from '../login/complete-login.ts';
import type { SignInAttempt } from '../sign-ins/record-sign-ins.ts';
import type { RequestOrigin } from '../types.ts';
import { beginCeremony, type Ceremony } from './begin-ceremony.ts';
import { checkAssertion } from './check-assertion.ts';
import type { AssertionCredential } from './credentials.ts';
import { loadWebAuthn } from './load-webauthn.ts';
import { requireRelyingParty } from './relying-party.ts';

export type PasskeyLogin = { flowToken: string; credential: AssertionCredential; origin: RequestOrigin };

/**
 * Begins a login without a user name: the authenticator names the user.
 *
 * @throws `auth.method_disabled`
 */
export async function beginPasskeyLogin(ctx: AuthContext): Promise<Ceremony<PublicKeyCredentialRequestOptionsJSON>> {
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
export const finishPasskeyLogin = (ctx: AuthContext, login: PasskeyLogin): Promise<LoginResult> =>
  ctx.signIns.watch(
    { method: 'passkey', origin: login.origin, identity: `passkey:${login.credential.id}` },
    (attempt) => checkAndComplete(ctx, login, attempt),
  );

async function checkAndComplete(
  ctx: AuthContext,
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
      if (!(await storeUse(tx))) throw refused('the passkey was used or deleted meanwhile');
    },
  });
}

const refused = (cause: unknown): AppError =>
  authErrors.invalid_credentials({ message: sentence('auth.passkey_refused'), cause });
