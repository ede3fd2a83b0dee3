import { requireSession } from '../require-session.ts';
import type { PanelPrincipal } from '../types.ts';
import { type AllowedProofMethods, needsProof, type ProofMethod } from './allowed-methods.ts';
import type { ProofScope } from './security-proofs.ts';

/**
 * `needed` is false where the account does what the scope is for without a proof; `methods` are the
 * ways to make one.
 */
export type ProofDescription = { needed: boolean; methods: readonly ProofMethod[] };

/** What a dialog must know before it asks. Rejects with `auth.session_required`. */
export function createDescribeProof({
  allowedProofMethods,
}: {
  allowedProofMethods: AllowedProofMethods;
}): (principal: PanelPrincipal, scope: ProofScope) => Promise<ProofDescription> {
  return async (principal, scope) => {
    const methods = await allowedProofMethods(requireSession(principal), scope);
    return { needed: needsProof(scope, methods), methods };
  };
}
