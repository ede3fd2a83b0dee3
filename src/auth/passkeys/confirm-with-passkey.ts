import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server';
import type { AppError, Clock, Logger } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import type { AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';
import type { Flows } from '../flows/flows.ts';
import { isOldEnough } from '../proofs/allowed-methods.ts';
import { PROOF_SCOPES, type ProofBundle, type ProofScope, type SecurityProofs } from '../proofs/security-proofs.ts';
import { requireSession, type SessionPrincipal } from '../require-session.ts';
import type { SignIns } from '../sign-ins/record-sign-ins.ts';
import { localOrigin, type PanelPrincipal } from '../types.ts';
import { beginCeremony, type Ceremony } from './begin-ceremony.ts';
import type { CheckAssertion } from './check-assertion.ts';
import type { AssertionCredential } from './credentials.ts';
import { describeCredential } from './describe-passkey.ts';
import { loadWebAuthn } from './load-webauthn.ts';
import { requireRelyingParty } from './relying-party.ts';

/**
 * A Security Proof by one of the caller's own passkeys. Both steps reject with
 * `auth.session_required` or `auth.method_disabled`.
 */
export interface ConfirmWithPasskey {
  /** Rejects with `auth.passkey_not_found` when the caller has none that can be used here. */
  begin(principal: PanelPrincipal, scope: ProofScope): Promise<Ceremony<PublicKeyCredentialRequestOptionsJSON>>;
  /**
   * Rejects with `auth.flow_invalid`, or with `auth.passkey_invalid`, which leaves the flow unused.
   */
  finish(principal: PanelPrincipal, confirmation: Confirmation): Promise<ProofBundle>;
}

type Confirmation = { flowToken: string; credential: AssertionCredential };

export function createConfirmWithPasskey(deps: {
  store: Store;
  clock: Clock;
  logger: Logger;
  settings: () => AuthSettings;
  flows: Flows;
  proofs: SecurityProofs;
  checkAssertion: CheckAssertion;
  signIns: SignIns;
}): ConfirmWithPasskey {
  const { store, clock, logger, settings, flows, proofs, checkAssertion, signIns } = deps;

  return {
    async begin(principal, scope) {
      const { user, sid } = requireSession(principal);
      const party = requireRelyingParty(settings());
      const usable = (await store.passkeys.list(user.id)).filter(
        ({ rpId, createdAt }) =>
          rpId === party.id && isOldEnough({ user, scope, addedAt: createdAt, now: clock.unix() }),
      );
      if (usable.length === 0) {
        throw authErrors.passkey_not_found({ message: 'You have no passkey that can be used here.' });
      }
      const { generateAuthenticationOptions } = await loadWebAuthn();
      const flow = {
        purpose: 'passkey_step_up',
        binding: { userId: user.id, sessionId: sid },
        payload: { scope },
      } as const;
      return beginCeremony(deps, flow, (ceremony) =>
        generateAuthenticationOptions({
          ...ceremony,
          rpID: party.id,
          userVerification: party.userVerification,
          allowCredentials: usable.map(describeCredential),
        }),
      );
    },

    async finish(principal, confirmation) {
      const session = requireSession(principal);
      const { user, origin = localOrigin('') } = session;
      const attempt = { method: 'passkey', origin, userId: user.id, confirms: true } as const;
      return signIns.watch(attempt, () => finish(session, confirmation));
    },
  };

  async function finish(session: SessionPrincipal, { flowToken, credential }: Confirmation): Promise<ProofBundle> {
    const { user, sid } = session;
    const party = requireRelyingParty(settings());
    const binding = { userId: user.id, sessionId: sid };
    const flow = await flows.find(store, flowToken, 'passkey_step_up', binding);
    const scope = PROOF_SCOPES.find((known) => known === flow.payload.scope);
    if (!scope) throw authErrors.flow_invalid();
    const asserted = await checkAssertion(party, String(flow.payload.challenge), credential, { needsHandle: false });
    if (!asserted.ok) throw refused(asserted.error);
    const { passkey, noteUse } = asserted.value;
    if (passkey.userId !== user.id) throw refused("the passkey is another user's");
    if (!isOldEnough({ user, scope, addedAt: passkey.createdAt, now: clock.unix() })) {
      throw refused('the passkey was added too recently for this scope');
    }

    await store.transaction(async (tx) => {
      await flows.consume(tx, flowToken, 'passkey_step_up', binding);
      if (!(await noteUse(tx))) throw refused('the passkey was used or deleted meanwhile');
    });
    logger.info({ userId: user.id, sid, method: 'passkey', scope }, 'security proof given');
    return proofs.issue(session, 'passkey', scope);
  }
}

const refused = (cause: unknown): AppError => authErrors.passkey_invalid({ cause });
