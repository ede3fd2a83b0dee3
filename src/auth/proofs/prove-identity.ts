import { sentence } from '../../kernel/index.ts';
import type { AuthContext } from '../context.ts';
import { invalidField } from '../errors.ts';
import { confirmPassword } from '../passwords/confirm-password.ts';
import { requireSession } from '../require-session.ts';
import { consumeCode } from '../two-factor/consume-code.ts';
import type { PanelPrincipal, RequestOrigin } from '../types.ts';
import { allowedProofMethods, wrongMethod } from './allowed-methods.ts';
import type { ProofBundle, ProofScope } from './types.ts';

/** A confirmation by code or password; passkeys have a ceremony of their own. */
export type ProofRequest = {
  method: '2fa' | 'password';
  /** With `2fa`: a code of the app or a backup code. */
  code?: string | undefined;
  /** With `password`. */
  password?: string | undefined;
  scope: ProofScope;
  origin: RequestOrigin;
};

/**
 * Issues a Security Proof for a code or a password.
 *
 * @throws `auth.session_required` and `security_proof.method_mismatch` before code or password is
 * checked, `auth.validation_failed`, `auth.password_invalid`, `auth.too_many_attempts`, and what
 * `consumeCode` throws.
 */
export async function proveIdentity(
  ctx: AuthContext,
  principal: PanelPrincipal,
  { method, code, password, scope, origin }: ProofRequest,
): Promise<ProofBundle> {
  const { store, logger, proofs } = ctx;
  const session = requireSession(principal);
  const allowed = await allowedProofMethods(ctx, session, scope);
  if (!allowed.includes(method)) throw wrongMethod(allowed);

  if (method === 'password') {
    if (password === undefined) throw invalidField('password', sentence('auth.password_required'));
    await confirmPassword(ctx, session.user, { password, param: 'password', origin });
  } else {
    if (code === undefined) throw invalidField('code', sentence('auth.code_required'));
    const attempt = { userId: session.user.id, code, origin, accept: ['app', 'backup'] } as const;
    await consumeCode(ctx, attempt, (use) => store.transaction(use));
  }
  logger.info({ userId: session.user.id, sid: session.sid, method, scope }, 'security proof issued');
  return proofs.issue(session, method, scope);
}
