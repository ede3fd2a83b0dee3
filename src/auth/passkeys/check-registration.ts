import { err, ok, type Result } from '../../kernel/index.ts';
import type { NewPasskey } from '../../store/ports/index.ts';
import type { RegistrationCredential } from './credentials.ts';
import { loadWebAuthn } from './load-webauthn.ts';
import type { RelyingParty } from './relying-party.ts';

/** EdDSA, ES256, RS256 (COSE): the algorithms that WebAuthn recommends. */
export const ALGORITHMS = [-8, -7, -257];

type RegisteredKey = Pick<NewPasskey, 'credentialId' | 'publicKey' | 'counter' | 'transports' | 'backedUp'>;

/** The new passkey of a finished registration. The error is for the log. */
export async function checkRegistration(
  party: RelyingParty,
  challenge: string,
  credential: RegistrationCredential,
): Promise<Result<RegisteredKey, unknown>> {
  const webAuthn = await loadWebAuthn();
  const { isoBase64URL, isoCBOR } = webAuthn;

  // We request no attestation and drop an unrequested one unread: verifying it would mean to fetch
  // the URLs that its certificates name.
  const withoutAttestation = (attestationObject: string): string => {
    const authData = webAuthn.decodeAttestationObject(isoBase64URL.toBuffer(attestationObject)).get('authData');
    const none = new Map<string, string | Uint8Array | Map<string, string>>([['fmt', 'none']]);
    none.set('attStmt', new Map()).set('authData', authData);
    return isoBase64URL.fromBuffer(isoCBOR.encode(none));
  };

  try {
    const { clientDataJSON, attestationObject } = credential.response;
    if (webAuthn.decodeClientDataJSON(clientDataJSON).crossOrigin) return err('the page was a frame of another site');
    const outcome = await webAuthn.verifyRegistrationResponse({
      response: {
        ...credential,
        response: { clientDataJSON, attestationObject: withoutAttestation(attestationObject) },
        clientExtensionResults: {},
      },
      expectedChallenge: challenge,
      expectedOrigin: [...party.origins],
      expectedRPID: party.id,
      requireUserVerification: party.userVerification === 'required',
      supportedAlgorithmIDs: ALGORITHMS,
    });
    if (!outcome.verified) return err('not verified');
    const { credential: key, credentialBackedUp } = outcome.registrationInfo;
    return ok({
      credentialId: key.id,
      publicKey: isoBase64URL.fromBuffer(key.publicKey),
      counter: key.counter,
      transports: (credential.response.transports ?? []).filter(isTransport),
      backedUp: credentialBackedUp,
    });
  } catch (error) {
    // The library throws for every invalid response.
    return err(error);
  }
}

/** The transports that WebAuthn defines; anything else from a client is not stored. */
const isTransport = (value: string): boolean =>
  ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb'].includes(value);
