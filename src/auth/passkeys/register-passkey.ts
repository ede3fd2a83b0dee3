import type { PublicKeyCredentialCreationOptionsJSON } from '@simplewebauthn/server';
import type { AppError, Clock } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import type { ChangeSecurity } from '../change-security.ts';
import type { AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';
import type { Flows } from '../flows/flows.ts';
import { type AllowedProofMethods, needsProof } from '../proofs/allowed-methods.ts';
import type { SecurityProofs } from '../proofs/security-proofs.ts';
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

export type PasskeyRegistration = {
  flowToken: string;
  credential: RegistrationCredential;
  /** Left out: "Passkey N". */
  name?: string;
  proof: string | undefined;
};

/** `bundle` is the answer's body. */
export type RegisteredPasskey = { bundle: RotationBundle; passkey: PasskeyView };

/**
 * A new passkey for the caller's own account, as a change of security. Both steps reject with
 * `auth.session_required`, `auth.method_disabled`, `auth.passkey_limit`, and with what is wrong
 * with the proof of the scope `passkey.register` where one is needed: when two-factor is on or a
 * usable passkey is there. The first passkey without two-factor needs none.
 */
export interface RegisterPasskey {
  begin(
    principal: PanelPrincipal,
    proof: string | undefined,
  ): Promise<Ceremony<PublicKeyCredentialCreationOptionsJSON>>;
  /**
   * Also rejects with `auth.validation_failed`, `auth.flow_invalid`, `auth.passkey_invalid`,
   * `auth.passkey_taken` and `auth.changed_meanwhile`. Whatever it rejects with, the flow stays as
   * it was.
   */
  finish(principal: PanelPrincipal, registration: PasskeyRegistration): Promise<RegisteredPasskey>;
}

/** Of one account. */
const MAX_PASSKEYS = 20;
const tooMany = (): AppError =>
  authErrors.passkey_limit({ message: `An account holds at most ${MAX_PASSKEYS} passkeys. Delete one first.` });

export function createRegisterPasskey(deps: {
  store: Store;
  clock: Clock;
  settings: () => AuthSettings;
  flows: Flows;
  proofs: SecurityProofs;
  allowedProofMethods: AllowedProofMethods;
  changeSecurity: ChangeSecurity;
}): RegisterPasskey {
  const { store, clock, settings, flows, proofs, allowedProofMethods, changeSecurity } = deps;

  async function requireProof(principal: PanelPrincipal, proof: string | undefined): Promise<void> {
    const needed = needsProof('passkey.register', await allowedProofMethods(principal, 'passkey.register'));
    if (needed) await proofs.require(principal, proof, 'passkey.register');
  }

  return {
    async begin(principal, proof) {
      const { user, sid } = requireSession(principal);
      const party = requireRelyingParty(settings());
      await requireProof(principal, proof);
      const passkeys = await store.passkeys.list(user.id);
      if (passkeys.length >= MAX_PASSKEYS) throw tooMany();
      const { generateRegistrationOptions } = await loadWebAuthn();
      const binding = { userId: user.id, sessionId: sid };
      return beginCeremony(deps, { purpose: 'passkey_register', binding }, ({ challenge, timeout }) =>
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
            // It must be found without a user name.
            residentKey: 'required',
            userVerification: party.userVerification,
            ...(party.attachment === '' ? {} : { authenticatorAttachment: party.attachment }),
          },
        }),
      );
    },

    async finish(principal, { flowToken, credential, name, proof }) {
      const { user, sid } = requireSession(principal);
      const party = requireRelyingParty(settings());
      await requireProof(principal, proof);
      const wantedName = name === undefined ? undefined : validatePasskeyName(name);

      const binding = { userId: user.id, sessionId: sid };
      const flow = await flows.find(store, flowToken, 'passkey_register', binding);
      const key = await checkRegistration(party, String(flow.payload.challenge), credential);
      if (!key.ok) throw authErrors.passkey_invalid({ cause: key.error });

      let made: PasskeyView | undefined;
      const bundle = await changeSecurity(principal, {
        reason: 'passkey_registered',
        async write(tx) {
          await flows.consume(tx, flowToken, 'passkey_register', binding);
          // Before the count, since it holds off every other change of the account until this one
          // is through.
          if (!(await tx.users.moveAuthVersion(user.id, user.authVersion))) return false;
          const others = await tx.passkeys.list(user.id);
          if (others.length >= MAX_PASSKEYS) throw tooMany();
          const passkey = await tx.passkeys.insert({
            ...key.value,
            userId: user.id,
            rpId: party.id,
            name: wantedName ?? nextPasskeyName(others),
            createdAt: clock.unix(),
          });
          if (!passkey) throw authErrors.passkey_taken();
          made = describePasskey(passkey, party.id);
          return true;
        },
      });
      if (!made) throw new Error('The passkey was not written.');
      return { bundle, passkey: made };
    },
  };
}
