import { type Clock, err, type Logger, ok, type Result } from '../../kernel/index.ts';
import type { PasskeyRecord, Repositories, Store } from '../../store/ports/index.ts';
import type { RelyingParty } from '../credentials/relying-party.ts';
import { type AssertionCredential, loadWebAuthn, userHandle } from './ceremony.ts';

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
  /** Whether the credential must name its user, as for a login without a user name. */
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
