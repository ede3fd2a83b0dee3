import type { Clock } from '../../kernel/index.ts';
import type { PurposeKeys } from '../derive-keys.ts';
import { authErrors, proofErrors } from '../errors.ts';
import type { SessionPrincipal } from '../require-session.ts';
import { createPanelJwt } from '../tokens/panel-jwt.ts';
import type { PanelPrincipal } from '../types.ts';
import { wrongMethod } from './allowed-methods.ts';
import type { ProofBundle, ProofMethod, ProofScope } from './types.ts';

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

/** As in new-api. */
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
    message: `Confirm that it is you: POST /api/verify with the scope ${scope}, then send its proof_token in X-Security-Proof.`,
    details: { scope },
  });
