import type { PublicKeyCredentialCreationOptionsJSON } from '@simplewebauthn/server';
import { type AppError, type Clock, err, type Logger, ok, type Result, sentence } from '../../kernel/index.ts';
import type { NewPasskey, Store } from '../../store/ports/index.ts';
import type { AuthSettings } from '../config.ts';
import { type RelyingParty, requireRelyingParty } from '../credentials/relying-party.ts';
import { authErrors } from '../errors.ts';
import type { NotifyOwner } from '../mail/notify-owner.ts';
import { type PanelPrincipal, requireSession } from '../principals.ts';
import { allowedProofMethods, needsProof, PROOF_SCOPE } from '../proofs/proof-methods.ts';
import type { SecurityProofs } from '../proofs/security-proofs.ts';
import { changeSecurity } from '../sessions/change-security.ts';
import type { RotationBundle } from '../sessions/describe-session.ts';
import type { SessionRegistry } from '../sessions/session-registry.ts';
import type { SessionTokens } from '../tokens/access-tokens.ts';
import type { Flows } from '../tokens/flows.ts';
import { nextPasskeyName, validatePasskeyName } from './manage-passkeys.ts';
import {
  beginCeremony,
  type Ceremony,
  describeCredential,
  describePasskey,
  loadWebAuthn,
  type PasskeyView,
  type RegistrationCredential,
  userHandle,
} from './passkey-challenge.ts';

/** Dependencies of the operations in this file. */
type Deps = {
  store: Store;
  clock: Clock;
  logger: Logger;
  settings: () => AuthSettings;
  tokens: SessionTokens;
  sessions: SessionRegistry;
  proofs: SecurityProofs;
  flows: Flows;
  notifyOwner: NotifyOwner;
};

/*
 * Adds a passkey to the caller's own account, through `changeSecurity`. Both steps reject with
 * `auth.session_required`, `auth.method_disabled`, `auth.passkey_limit`, and with an error of the
 * proof of the scope `passkey.register` where one is needed: when two-factor is enabled or a usable
 * passkey exists. The first passkey of an account without two-factor needs none.
 */

export type PasskeyRegistration = {
  flowToken: string;
  credential: RegistrationCredential;
  /** Default: "Passkey N". */
  name?: string;
  proof: string | undefined;
};

/** `bundle` is the answer's body. */
export type RegisteredPasskey = { bundle: RotationBundle; passkey: PasskeyView };

/** Per account. */
const MAX_PASSKEYS = 20;
const tooMany = (): AppError =>
  authErrors.passkey_limit({ message: sentence('auth.passkeys_max', { max: MAX_PASSKEYS }) });

export async function beginPasskeyRegistration(
  ctx: Pick<Deps, 'store' | 'clock' | 'settings' | 'proofs' | 'flows'>,
  principal: PanelPrincipal,
  proof: string | undefined,
): Promise<Ceremony<PublicKeyCredentialCreationOptionsJSON>> {
  const { store, settings } = ctx;
  const { user, sid } = requireSession(principal);
  const party = requireRelyingParty(settings());
  await requireProof(ctx, principal, proof);
  const passkeys = await store.passkeys.list(user.id);
  if (passkeys.length >= MAX_PASSKEYS) throw tooMany();
  const { generateRegistrationOptions } = await loadWebAuthn();
  const binding = { userId: user.id, sessionId: sid };
  return beginCeremony(ctx, { purpose: 'passkey_register', binding }, ({ challenge, timeout }) =>
    generateRegistrationOptions({
      challenge,
      timeout,
      rpID: party.id,
      rpName: party.name,
      userID: userHandle(user.id),
      userName: user.username,
      userDisplayName: user.displayName || user.username,
      attestationType: 'none',
      supportedAlgorithmIDs: ALGORITHMS,
      excludeCredentials: passkeys.map(describeCredential),
      authenticatorSelection: {
        // Discoverable, for a sign-in without a username.
        residentKey: 'required',
        userVerification: party.userVerification,
        ...(party.attachment === '' ? {} : { authenticatorAttachment: party.attachment }),
      },
    }),
  );
}

/**
 * Every error leaves the flow unused.
 *
 * @throws also `auth.validation_failed`, `auth.flow_invalid`, `auth.passkey_invalid`,
 * `auth.passkey_taken` and `auth.changed_meanwhile`.
 */
export async function finishPasskeyRegistration(
  ctx: Deps,
  principal: PanelPrincipal,
  { flowToken, credential, name, proof }: PasskeyRegistration,
): Promise<RegisteredPasskey> {
  const { store, clock, settings, flows } = ctx;
  const { user, sid } = requireSession(principal);
  const party = requireRelyingParty(settings());
  await requireProof(ctx, principal, proof);
  const requestedName = name === undefined ? undefined : validatePasskeyName(name);

  const binding = { userId: user.id, sessionId: sid };
  const flowKey = { token: flowToken, purpose: 'passkey_register', binding } as const;
  const flow = await flows.find(store, flowKey);
  const key = await checkRegistration(party, String(flow.payload.challenge), credential);
  if (!key.ok) throw authErrors.passkey_invalid({ cause: key.error });

  let created: PasskeyView | undefined;
  const bundle = await changeSecurity(ctx, principal, {
    reason: 'passkey_registered',
    async write(tx) {
      await flows.consume(tx, flowKey);
      // This comes before the count: it locks the user's row, so that every other change of the
      // account waits.
      if (!(await tx.users.moveAuthVersion(user.id, user.authVersion))) return false;
      const others = await tx.passkeys.list(user.id);
      if (others.length >= MAX_PASSKEYS) throw tooMany();
      const passkey = await tx.passkeys.insert({
        ...key.value,
        userId: user.id,
        rpId: party.id,
        name: requestedName ?? nextPasskeyName(others),
        createdAt: clock.unix(),
      });
      if (!passkey) throw authErrors.passkey_taken();
      created = describePasskey(passkey, party.id);
      return true;
    },
  });
  if (!created) throw new Error('The passkey was not written.');
  return { bundle, passkey: created };
}

async function requireProof(
  ctx: Pick<Deps, 'store' | 'clock' | 'settings' | 'proofs'>,
  principal: PanelPrincipal,
  proof: string | undefined,
): Promise<void> {
  const scope = PROOF_SCOPE.passkeyRegister;
  const needed = needsProof(scope, await allowedProofMethods(ctx, principal, scope));
  if (needed) await ctx.proofs.require(principal, proof, scope);
}

/** EdDSA, ES256, RS256 (COSE): the algorithms that WebAuthn recommends. */
const ALGORITHMS = [-8, -7, -257];

type RegisteredKey = Pick<NewPasskey, 'credentialId' | 'publicKey' | 'counter' | 'transports' | 'backedUp'>;

/** The new passkey of a finished registration. The error is for the log. */
async function checkRegistration(
  party: RelyingParty,
  challenge: string,
  credential: RegistrationCredential,
): Promise<Result<RegisteredKey, unknown>> {
  const webAuthn = await loadWebAuthn();
  const { isoBase64URL, isoCBOR } = webAuthn;

  // We request no attestation and drop an unrequested one unread: to verify it, we would have to
  // fetch the URLs that its certificates name.
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
