import { type Clock, type Logger, sentence } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import type { AuthSettings } from '../config.ts';
import type { Authenticator } from '../credentials/authenticator.ts';
import type { BackupCodes } from '../credentials/backup-codes.ts';
import type { PasswordHashes } from '../credentials/password-hashes.ts';
import { authErrors, invalidField, proofErrors } from '../errors.ts';
import type { GuessLimit } from '../limits/limit-guesses.ts';
import { confirmPassword } from '../passwords/change-password.ts';
import { type PanelPrincipal, type RequestOrigin, requireSession, type SessionPrincipal } from '../principals.ts';
import type { SignIns } from '../sessions/record-sign-ins.ts';
import { createPanelJwt } from '../tokens/panel-jwt.ts';
import type { PurposeKeys } from '../tokens/session-keys.ts';
import { consumeCode } from '../two-factor/consume-code.ts';
import {
  allowedProofMethods,
  type ProofBundle,
  type ProofMethod,
  type ProofScope,
  wrongMethod,
} from './proof-methods.ts';

/** Dependencies of the operations in this file. */
export type ProofDeps = {
  store: Store;
  clock: Clock;
  logger: Logger;
  settings: () => AuthSettings;
  proofs: SecurityProofs;
  passwords: PasswordHashes;
  authenticator: Authenticator;
  backupCodes: BackupCodes;
  signIns: SignIns;
  limitGuesses: GuessLimit;
};

export interface SecurityProofs {
  /**
   * A proof for one scope, bound to the user, the session and the versions of both; valid for five
   * minutes.
   */
  issue(principal: SessionPrincipal, method: ProofMethod, scope: ProofScope): Promise<ProofBundle>;
  /**
   * Passes when `proof` (the `X-Security-Proof` header) was issued in this very session for
   * `scope`, by a method that the account allows now.
   *
   * @throws `auth.session_required` for a caller without a session, else `security_proof.required`,
   * `.expired`, `.invalid`, `.method_mismatch`, `.scope_mismatch`, in this order.
   */
  require(principal: PanelPrincipal, proof: string | undefined, scope: ProofScope): Promise<void>;
}

/** The value is that of new-api. */
const LIFETIME_SECONDS = 5 * 60;

export function createSecurityProofs(
  keys: PurposeKeys,
  clock: Clock,
  allowedMethods: (principal: PanelPrincipal, scope: ProofScope) => Promise<readonly ProofMethod[]>,
): SecurityProofs {
  const jwt = createPanelJwt('security_proof', keys, clock);

  return {
    async issue({ user, sid, sessionVersion }, method, scope) {
      const expiresAt = clock.unix() + LIFETIME_SECONDS;
      const subject = { userId: user.id, sid, userAuthVersion: user.authVersion, sessionVersion };
      const token = jwt.sign(subject, expiresAt, { method, scopes: [scope] });
      return { proof_token: token, expires_at: expiresAt, method, scope };
    },

    async require(principal, proof, scope) {
      // Proofs belong to sessions, so a proof sent with a personal access token is never valid.
      if (principal.kind !== 'session') throw sessionRequired(scope);
      if (proof === undefined || proof === '') throw proofRequired(scope);
      const result = await jwt.verify(proof);
      if (result.verdict === 'expired') throw proofErrors.expired();
      if (result.verdict === 'invalid') throw proofErrors.invalid();
      const { claims } = result;
      const own =
        claims.userId === principal.user.id &&
        claims.sid === principal.sid &&
        claims.userAuthVersion === principal.user.authVersion &&
        claims.sessionVersion === principal.sessionVersion;
      if (!own) throw proofErrors.invalid();
      const allowed = await allowedMethods(principal, scope);
      if (!allowed.some((method) => method === claims.extra.method)) throw wrongMethod(allowed);
      const { scopes } = claims.extra;
      if (!Array.isArray(scopes) || !scopes.includes(scope)) throw proofErrors.scope_mismatch();
    },
  };
}

const sessionRequired = (scope: ProofScope) =>
  authErrors.session_required({
    message: `This needs a signed-in browser session and a security proof of the scope ${scope}; a personal access token is not enough. Do it in the panel, or sign in with POST /api/user/login.`,
    details: { scope },
  });

const proofRequired = (scope: ProofScope) =>
  proofErrors.required({
    message: `Confirm it's you: POST /api/verify with the scope ${scope}, then send its proof_token in X-Security-Proof.`,
    details: { scope },
  });

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
  ctx: ProofDeps,
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
