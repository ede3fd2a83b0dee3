import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server';
import type { AppError, Clock } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import type { AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';
import type { Flows } from '../flows/flows.ts';
import type { CompleteLogin, LoginResult } from '../login/complete-login.ts';
import { USER_ENABLED } from '../sessions/check-session.ts';
import type { SignInAttempt, SignIns } from '../sign-ins/record-sign-ins.ts';
import type { RequestOrigin } from '../types.ts';
import { beginCeremony, type Ceremony } from './begin-ceremony.ts';
import type { CheckAssertion } from './check-assertion.ts';
import type { AssertionCredential } from './credentials.ts';
import { loadWebAuthn } from './load-webauthn.ts';
import { requireRelyingParty } from './relying-party.ts';

export type PasskeyLogin = { flowToken: string; credential: AssertionCredential; origin: RequestOrigin };

/**
 * Login without a user name: the authenticator says who it is. Both steps reject with
 * `auth.method_disabled`.
 */
export interface LogInWithPasskey {
  begin(): Promise<Ceremony<PublicKeyCredentialRequestOptionsJSON>>;
  /**
   * Rejects with `auth.flow_invalid`; alike with `auth.invalid_credentials` for every credential
   * that signs nobody in, whatever the reason; and with a limit of session issuance. The flow is
   * used up by a login alone.
   */
  finish(login: PasskeyLogin): Promise<LoginResult>;
}

export function createLogInWithPasskey(deps: {
  store: Store;
  clock: Clock;
  settings: () => AuthSettings;
  flows: Flows;
  checkAssertion: CheckAssertion;
  completeLogin: CompleteLogin;
  signIns: SignIns;
}): LogInWithPasskey {
  const { store, settings, flows, checkAssertion, completeLogin, signIns } = deps;

  return {
    async begin() {
      const party = requireRelyingParty(settings());
      const { generateAuthenticationOptions } = await loadWebAuthn();
      // No list of credentials: it would tell who has an account.
      return beginCeremony(deps, { purpose: 'passkey_login', binding: {} }, (ceremony) =>
        generateAuthenticationOptions({ ...ceremony, rpID: party.id, userVerification: party.userVerification }),
      );
    },

    finish: (login) =>
      signIns.watch(
        { method: 'passkey', origin: login.origin, identity: `passkey:${login.credential.id}` },
        (attempt) => finish(login, attempt),
      ),
  };

  async function finish({ flowToken, credential, origin }: PasskeyLogin, attempt: SignInAttempt): Promise<LoginResult> {
    const party = requireRelyingParty(settings());
    const flow = await flows.find(store, flowToken, 'passkey_login', {});
    const asserted = await checkAssertion(party, String(flow.payload.challenge), credential, { needsHandle: true });
    if (!asserted.ok) throw refused(asserted.error);
    const { passkey, userVerified, noteUse } = asserted.value;
    attempt.userId = passkey.userId;
    const user = await store.users.byId(passkey.userId);
    if (user?.status !== USER_ENABLED) throw refused('the owner is disabled or gone');

    return completeLogin({
      proven: user,
      method: 'passkey',
      origin,
      // The key is one factor; the PIN or the finger that opened it is the other.
      twoFactors: userVerified,
      async within(tx) {
        await flows.consume(tx, flowToken, 'passkey_login', {});
        if (!(await noteUse(tx))) throw refused('the passkey was used or deleted meanwhile');
      },
    });
  }
}

const refused = (cause: unknown): AppError =>
  authErrors.invalid_credentials({ message: 'The passkey was not accepted.', cause });
