import { type Clock, err, type Logger, ok, type Result } from '../../kernel/index.ts';
import type { PasskeyRecord, Repositories, Store } from '../../store/ports/index.ts';
import { type AssertionCredential, userHandle } from './credentials.ts';
import { loadWebAuthn } from './load-webauthn.ts';
import type { RelyingParty } from './relying-party.ts';

export type AssertedPasskey = {
  passkey: PasskeyRecord;
  /** The authenticator also recognised the person, by PIN or body, not the touch alone. */
  userVerified: boolean;
  /**
   * Notes the use with its counter. False when the passkey was used or deleted since it was read:
   * the assertion is then void.
   */
  noteUse(tx: Repositories): Promise<boolean>;
};

/**
 * The passkey that signed `challenge`, or why there is none. The reason is for the log: a caller is
 * never told. `needsHandle`: the credential must name its user, as one that is found without a user
 * name has to.
 */
export type CheckAssertion = (
  party: RelyingParty,
  challenge: string,
  credential: AssertionCredential,
  rule: { needsHandle: boolean },
) => Promise<Result<AssertedPasskey, unknown>>;

export function createCheckAssertion(deps: { store: Store; clock: Clock; logger: Logger }): CheckAssertion {
  const { store, clock, logger } = deps;

  return async (party, challenge, credential, { needsHandle }) => {
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
        // The library would judge the counter before the signature, and anybody could raise the
        // alarm below: it is told none.
        credential: { id: passkey.credentialId, publicKey: isoBase64URL.toBuffer(passkey.publicKey), counter: 0 },
      });
      if (!verified) return err('wrong signature');

      const { newCounter: counter, userVerified, credentialBackedUp: backedUp } = authenticationInfo;
      // Authenticators that do not count always say 0.
      if (counter <= passkey.counter && (counter > 0 || passkey.counter > 0)) {
        logger.warn(
          { userId: passkey.userId, passkeyId: passkey.id, expectedAbove: passkey.counter, counter },
          'a passkey was refused: its counter went backwards, so it may have been cloned',
        );
        return err('the counter went backwards');
      }
      const use = { expectedCounter: passkey.counter, counter, backedUp, at: clock.unix() };
      return ok({ passkey, userVerified, noteUse: (tx) => tx.passkeys.use(passkey.id, use) });
    } catch (error) {
      // The library throws on whatever does not fit.
      return err(error);
    }
  };
}
