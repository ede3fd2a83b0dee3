import type { Logger } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import { invalidField } from '../errors.ts';
import type { GuessLimit } from '../limits/limit-guesses.ts';
import { confirmPassword } from '../passwords/confirm-password.ts';
import type { PasswordHashes } from '../passwords/password-hashes.ts';
import { requireSession } from '../require-session.ts';
import type { SignIns } from '../sign-ins/record-sign-ins.ts';
import type { ConsumeCode } from '../two-factor/consume-code.ts';
import type { PanelPrincipal, RequestOrigin } from '../types.ts';
import { type AllowedProofMethods, wrongMethod } from './allowed-methods.ts';
import type { ProofBundle, ProofScope, SecurityProofs } from './security-proofs.ts';

/** What the caller confirms with; passkeys have a ceremony of their own. */
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
 * A Security Proof for a code or a password. Rejects with `auth.session_required` and
 * `security_proof.method_mismatch` before anything is looked at, `auth.validation_failed`,
 * `auth.password_invalid`, `auth.too_many_attempts`, or as `ConsumeCode` does.
 */
export function createProveIdentity(deps: {
  store: Store;
  logger: Logger;
  passwords: PasswordHashes;
  limitGuesses: GuessLimit;
  signIns: SignIns;
  consumeCode: ConsumeCode;
  proofs: SecurityProofs;
  allowedProofMethods: AllowedProofMethods;
}): (principal: PanelPrincipal, request: ProofRequest) => Promise<ProofBundle> {
  const { store, logger, consumeCode, proofs, allowedProofMethods } = deps;

  return async (principal, { method, code, password, scope, origin }) => {
    const session = requireSession(principal);
    const allowed = await allowedProofMethods(session, scope);
    if (!allowed.includes(method)) throw wrongMethod(allowed);

    if (method === 'password') {
      if (password === undefined) throw invalidField('password', 'is required with the method password.');
      await confirmPassword(deps, session.user, { password, param: 'password', origin });
    } else {
      if (code === undefined) throw invalidField('code', 'is required with the method 2fa.');
      const attempt = { userId: session.user.id, code, origin, accept: ['app', 'backup'] } as const;
      await consumeCode(attempt, (use) => store.transaction(use));
    }
    logger.info({ userId: session.user.id, sid: session.sid, method, scope }, 'security proof given');
    return proofs.issue(session, method, scope);
  };
}
