import type { AuthContext } from '../context.ts';
import { requireSession } from '../require-session.ts';
import type { PanelPrincipal } from '../types.ts';
import { allowedProofMethods, needsProof } from './allowed-methods.ts';
import type { ProofMethod, ProofScope } from './types.ts';

/** `needed` is false where the account needs no proof for the scope. */
export type ProofDescription = { needed: boolean; methods: readonly ProofMethod[] };

/**
 * What a dialog must know before it asks for a confirmation.
 *
 * @throws `auth.session_required`
 */
export async function describeProof(
  ctx: AuthContext,
  principal: PanelPrincipal,
  scope: ProofScope,
): Promise<ProofDescription> {
  const methods = await allowedProofMethods(ctx, requireSession(principal), scope);
  return { needed: needsProof(scope, methods), methods };
}
