import type { AppError } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import type { AuthSettings } from '../config.ts';
import { proofErrors } from '../errors.ts';
import { findRelyingParty } from '../passkeys/relying-party.ts';
import type { PanelPrincipal } from '../types.ts';
import type { ProofScope } from './security-proofs.ts';

export type ProofMethod = '2fa' | 'passkey' | 'password';

/**
 * The ways in which this user may prove that it is he, for every scope alike: the strongest that the account has, so that a
 * password which somebody read never stands in for a second factor. A passkey counts while it can be used here: browsers take part
 * in ceremonies under the present settings, and it was made for the present relying party.
 */
export type AllowedProofMethods = (principal: PanelPrincipal) => Promise<readonly ProofMethod[]>;

export function createAllowedProofMethods(deps: { store: Store; settings: () => AuthSettings }): AllowedProofMethods {
  const { store, settings } = deps;
  return async ({ user }) => {
    const party = findRelyingParty(settings());
    const [twoFactor, passkeys] = await Promise.all([store.twoFactor.byUser(user.id), store.passkeys.list(user.id)]);
    const hasPasskey = party.ok && passkeys.some((passkey) => passkey.rpId === party.value.id);
    if (twoFactor?.enabled) return hasPasskey ? ['2fa', 'passkey'] : ['2fa'];
    if (hasPasskey) return ['passkey'];
    return user.passwordHash === null ? [] : ['password'];
  };
}

/**
 * Whether an account must prove itself for `scope`: always, except that the first passkey is let in beside a password alone, and that an
 * account with nothing to prove itself by (one of a provider alone) gets an address.
 */
export function needsProof(scope: ProofScope, allowed: readonly ProofMethod[]): boolean {
  if (scope === 'passkey.register') return allowed.includes('2fa') || allowed.includes('passkey');
  return scope !== 'account.email' || allowed.length > 0;
}

const NAMES: Record<ProofMethod, string> = {
  '2fa': 'a code of your authenticator app or a backup code',
  passkey: 'a passkey',
  password: 'your password',
};

/** The refusal of a method that is not among `allowed`; it names what to use. */
export const wrongMethod = (allowed: readonly ProofMethod[]): AppError =>
  proofErrors.method_mismatch({
    message:
      allowed.length > 0
        ? `Confirm that it is you with ${allowed.map((method) => NAMES[method]).join(', or with ')}.`
        : 'This account has nothing to confirm with that it is you. Set up an authenticator app first.',
    details: { methods: allowed },
  });
