import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server';
import { type AppError, type Clock, err, type Logger, ok, type Result, sentence } from '../../kernel/index.ts';
import { type PasskeyRecord, type Repositories, STATUS, type Store } from '../../store/ports/index.ts';
import type { AuthSettings } from '../config.ts';
import { type RelyingParty, requireRelyingParty } from '../credentials/relying-party.ts';
import { authErrors } from '../errors.ts';
import type { RequestOrigin } from '../principals.ts';
import { completeSignIn, type SignInDeps, type SignInResult } from '../sessions/complete-sign-in.ts';
import type { SignInAttempt } from '../sessions/record-sign-ins.ts';
import {
  type AssertionCredential,
  beginCeremony,
  type Ceremony,
  loadWebAuthn,
  userHandle,
} from './passkey-challenge.ts';

/** Dependencies of the operations in this file. */
type Deps = SignInDeps & {
  settings: () => AuthSettings;
};

export type PasskeySignIn = { flowToken: string; credential: AssertionCredential; origin: RequestOrigin };

/**
 * Begins a sign-in without a username: the authenticator names the user.
 *
 * @throws `auth.method_disabled`
 */
export async function beginPasskeySignIn(
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
 * Only a successful sign-in uses the flow up.
 *
 * @throws `auth.method_disabled`; `auth.flow_invalid`; `auth.invalid_credentials` alike for every
 * credential that cannot sign in, whatever the reason; a limit of session issuance.
 */
export const finishPasskeySignIn = (ctx: Deps, signIn: PasskeySignIn): Promise<SignInResult> =>
  ctx.signIns.watch(
    { method: 'passkey', origin: signIn.origin, identity: `passkey:${signIn.credential.id}` },
    (attempt) => checkAndComplete(ctx, signIn, attempt),
  );

async function checkAndComplete(
  ctx: Deps,
  { flowToken, credential, origin }: PasskeySignIn,
  attempt: SignInAttempt,
): Promise<SignInResult> {
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

  return completeSignIn(ctx, {
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

export type AssertedPasskey = {
  passkey: PasskeyRecord;
  /** The authenticator also verified the person, by PIN or biometrics, not by touch only. */
  userVerified: boolean;
  /**
   * Stores the use with its counter. False when the passkey was used or deleted since it was read:
   * the assertion is invalid then.
   */
  storeUse(tx: Repositories): Promise<boolean>;
};

export type PresentedAssertion = {
  challenge: string;
  credential: AssertionCredential;
  /** Whether the credential must name its user, as for a sign-in without a username. */
  needsHandle: boolean;
};

/** The passkey that signed `challenge`. The error is for the log: callers never get the reason. */
export async function checkAssertion(
  { store, clock, logger }: { store: Store; clock: Clock; logger: Logger },
  party: RelyingParty,
  { challenge, credential, needsHandle }: PresentedAssertion,
): Promise<Result<AssertedPasskey, unknown>> {
  const webAuthn = await loadWebAuthn();
  const { isoBase64URL } = webAuthn;
  const passkey = await store.passkeys.byCredentialId(credential.id);
  if (!passkey) return err('unknown credential');
  if (passkey.rpId !== party.id) return err('made for another relying party');
  try {
    const { clientDataJSON, userHandle: handle } = credential.response;
    if (handle ? handle !== isoBase64URL.fromBuffer(userHandle(passkey.userId)) : needsHandle) {
      return err("the user handle is not the owner's");
    }
    if (webAuthn.decodeClientDataJSON(clientDataJSON).crossOrigin) return err('the page was a frame of another site');
    const { verified, authenticationInfo } = await webAuthn.verifyAuthenticationResponse({
      response: {
        ...credential,
        response: { ...credential.response, userHandle: handle ?? undefined },
        clientExtensionResults: {},
      },
      expectedChallenge: challenge,
      expectedOrigin: [...party.origins],
      expectedRPID: party.id,
      requireUserVerification: party.userVerification === 'required',
      // The library would check the counter before the signature, so that anybody could trigger the
      // warning below. It gets counter 0 and checks nothing; we check after the signature.
      credential: { id: passkey.credentialId, publicKey: isoBase64URL.toBuffer(passkey.publicKey), counter: 0 },
    });
    if (!verified) return err('wrong signature');

    const { newCounter: counter, userVerified, credentialBackedUp: backedUp } = authenticationInfo;
    // Authenticators without a counter always report 0.
    if (counter <= passkey.counter && (counter > 0 || passkey.counter > 0)) {
      logger.warn(
        { userId: passkey.userId, passkeyId: passkey.id, expectedAbove: passkey.counter, counter },
        'a passkey was refused: its counter went backwards, so it may have been cloned',
      );
      return err('the counter went backwards');
    }
    const use = { expectedCounter: passkey.counter, counter, backedUp, at: clock.unix() };
    return ok({ passkey, userVerified, storeUse: (tx) => tx.passkeys.use(passkey.id, use) });
  } catch (error) {
    // The library throws for every invalid response.
    return err(error);
  }
}
