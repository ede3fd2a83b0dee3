import type { PublicKeyCredentialCreationOptionsJSON } from '@simplewebauthn/server';
import { type AppError, sentence } from '../../kernel/index.ts';
import { changeSecurity } from '../change-security.ts';
import type { AuthContext } from '../context.ts';
import { authErrors } from '../errors.ts';
import { allowedProofMethods, needsProof } from '../proofs/allowed-methods.ts';
import { PROOF_SCOPE } from '../proofs/types.ts';
import { requireSession } from '../require-session.ts';
import type { RotationBundle } from '../sessions/describe-session.ts';
import type { PanelPrincipal } from '../types.ts';
import { beginCeremony, type Ceremony } from './begin-ceremony.ts';
import { ALGORITHMS, checkRegistration } from './check-registration.ts';
import { type RegistrationCredential, userHandle } from './credentials.ts';
import { describeCredential, describePasskey, type PasskeyView } from './describe-passkey.ts';
import { loadWebAuthn } from './load-webauthn.ts';
import { nextPasskeyName, validatePasskeyName } from './name-passkey.ts';
import { requireRelyingParty } from './relying-party.ts';

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
  ctx: AuthContext,
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
        // Discoverable, for a login without a user name.
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
  ctx: AuthContext,
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
      // Before the count: it locks the user's row, so that every other change of the account waits.
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

async function requireProof(ctx: AuthContext, principal: PanelPrincipal, proof: string | undefined): Promise<void> {
  const scope = PROOF_SCOPE.passkeyRegister;
  const needed = needsProof(scope, await allowedProofMethods(ctx, principal, scope));
  if (needed) await ctx.proofs.require(principal, proof, scope);
}
