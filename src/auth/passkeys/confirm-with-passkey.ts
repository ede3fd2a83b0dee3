import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server';
import { type AppError, type Clock, type Logger, sentence } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import type { AuthSettings } from '../config.ts';
import { requireRelyingParty } from '../credentials/relying-party.ts';
import { authErrors } from '../errors.ts';
import { localOrigin, type PanelPrincipal, requireSession, type SessionPrincipal } from '../principals.ts';
import { findProofFactors, PROOF_SCOPES, type ProofBundle, type ProofScope } from '../proofs/proof-methods.ts';
import type { SecurityProofs } from '../proofs/security-proofs.ts';
import type { SignIns } from '../sessions/record-sign-ins.ts';
import type { Flows } from '../tokens/flows.ts';
import {
  type AssertionCredential,
  beginCeremony,
  type Ceremony,
  describeCredential,
  loadWebAuthn,
} from './passkey-challenge.ts';
import { checkAssertion } from './sign-in-with-passkey.ts';

/** Dependencies of the operations in this file. */
type Deps = {
  store: Store;
  clock: Clock;
  logger: Logger;
  settings: () => AuthSettings;
  proofs: SecurityProofs;
  flows: Flows;
  signIns: SignIns;
};

export type PasskeyConfirmation = { flowToken: string; credential: AssertionCredential };

/**
 * Begins the confirmation by one of the caller's own passkeys.
 *
 * @throws `auth.session_required`, `auth.method_disabled`, or `auth.passkey_not_found` when the
 * caller has no passkey that can be used here.
 */
export async function beginPasskeyConfirmation(
  ctx: Pick<Deps, 'store' | 'clock' | 'settings' | 'flows'>,
  principal: PanelPrincipal,
  scope: ProofScope,
): Promise<Ceremony<PublicKeyCredentialRequestOptionsJSON>> {
  const { user, sid } = requireSession(principal);
  const party = requireRelyingParty(ctx.settings());
  const { passkeys: usable } = await findProofFactors(ctx, user, scope);
  if (usable.length === 0) {
    throw authErrors.passkey_not_found({ message: sentence('auth.no_usable_passkey') });
  }
  const { generateAuthenticationOptions } = await loadWebAuthn();
  const flow = {
    purpose: 'passkey_step_up',
    binding: { userId: user.id, sessionId: sid },
    payload: { scope },
  } as const;
  return beginCeremony(ctx, flow, (ceremony) =>
    generateAuthenticationOptions({
      ...ceremony,
      rpID: party.id,
      userVerification: party.userVerification,
      allowCredentials: usable.map(describeCredential),
    }),
  );
}

/**
 * Issues a Security Proof for the passkey.
 *
 * @throws `auth.session_required`, `auth.method_disabled`, `auth.flow_invalid`, or
 * `auth.passkey_invalid`, which leaves the flow unused.
 */
export async function finishPasskeyConfirmation(
  ctx: Deps,
  principal: PanelPrincipal,
  confirmation: PasskeyConfirmation,
): Promise<ProofBundle> {
  const session = requireSession(principal);
  const { user, origin = localOrigin('') } = session;
  const attempt = { method: 'passkey', origin, userId: user.id, confirms: true } as const;
  return ctx.signIns.watch(attempt, () => finish(ctx, session, confirmation));
}

async function finish(
  ctx: Pick<Deps, 'store' | 'clock' | 'logger' | 'settings' | 'proofs' | 'flows'>,
  session: SessionPrincipal,
  { flowToken, credential }: PasskeyConfirmation,
): Promise<ProofBundle> {
  const { store, logger, settings, flows, proofs } = ctx;
  const { user, sid } = session;
  const party = requireRelyingParty(settings());
  const binding = { userId: user.id, sessionId: sid };
  const key = { token: flowToken, purpose: 'passkey_step_up', binding } as const;
  const flow = await flows.find(store, key);
  const scope = PROOF_SCOPES.find((known) => known === flow.payload.scope);
  if (!scope) throw authErrors.flow_invalid();
  const challenge = String(flow.payload.challenge);
  const asserted = await checkAssertion(ctx, party, { challenge, credential, needsHandle: false });
  if (!asserted.ok) throw refused(asserted.error);
  const { passkey, storeUse } = asserted.value;
  if (passkey.userId !== user.id) throw refused("the passkey is another user's");
  const counting = await findProofFactors(ctx, user, scope);
  if (!counting.passkeys.some(({ id }) => id === passkey.id)) {
    throw refused('the passkey was added too recently for this scope');
  }

  await store.transaction(async (tx) => {
    await flows.consume(tx, key);
    if (!(await storeUse(tx))) throw refused('another request used or deleted the passkey');
  });
  logger.info({ userId: user.id, sid, method: 'passkey', scope }, 'security proof issued');
  return proofs.issue(session, 'passkey', scope);
}

const refused = (cause: unknown): AppError => authErrors.passkey_invalid({ cause });
