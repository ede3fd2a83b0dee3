import type { AppError, Clock } from '../../kernel/index.ts';
import type { Store, UserRecord } from '../../store/ports/index.ts';
import type { AuthSettings } from '../config.ts';
import { proofErrors } from '../errors.ts';
import { findRelyingParty } from '../passkeys/relying-party.ts';
import type { PanelPrincipal } from '../types.ts';
import type { ProofScope } from './security-proofs.ts';

export type ProofMethod = '2fa' | 'passkey' | 'password';

/**
 * The ways in which this user may prove that it is they: the strongest that the account has, so
 * that a password which somebody read never stands in for a second factor. A passkey counts while
 * it can be used here: browsers take part in ceremonies under the present settings, and it was made
 * for the present relying party.
 */
export type AllowedProofMethods = (principal: PanelPrincipal, scope: ProofScope) => Promise<readonly ProofMethod[]>;

/**
 * What takes an account over for good, or others with it: the settings of all, and a new password
 * through another mail address. A session alone adds a first factor, so somebody with a stolen
 * session could prove themselves by their own: for these scopes a factor counts a day after it was
 * added, and until then the factors that were there before, else the password.
 */
const TAKE_OVER_SCOPES: readonly ProofScope[] = ['settings.security', 'account.email'];
const NEW_FACTOR_SECONDS = 24 * 60 * 60;

type FactorUse = { user: UserRecord; scope: ProofScope; addedAt: number; now: number };

/**
 * Whether a factor that was added at `addedAt` proves its owner. Accounts without a password have
 * nothing else, so it does.
 */
export const isOldEnough = ({ user, scope, addedAt, now }: FactorUse): boolean =>
  !TAKE_OVER_SCOPES.includes(scope) || user.passwordHash === null || addedAt <= now - NEW_FACTOR_SECONDS;

export function createAllowedProofMethods(deps: {
  store: Store;
  clock: Clock;
  settings: () => AuthSettings;
}): AllowedProofMethods {
  const { store, clock, settings } = deps;
  return async ({ user }, scope) => {
    const party = findRelyingParty(settings());
    const [twoFactor, passkeys] = await Promise.all([store.twoFactor.byUser(user.id), store.passkeys.list(user.id)]);
    const counts = ({ createdAt }: { createdAt: number }) =>
      isOldEnough({ user, scope, addedAt: createdAt, now: clock.unix() });
    const hasTwoFactor = twoFactor?.enabled === true && counts(twoFactor);
    const hasPasskey = party.ok && passkeys.some((passkey) => passkey.rpId === party.value.id && counts(passkey));
    if (hasTwoFactor) return hasPasskey ? ['2fa', 'passkey'] : ['2fa'];
    if (hasPasskey) return ['passkey'];
    return user.passwordHash === null ? [] : ['password'];
  };
}

/**
 * Whether an account must prove itself for `scope`: always, except that the first passkey is let in
 * beside a password alone, and that an account with nothing to prove itself by (one of a provider
 * alone) gets an address.
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
