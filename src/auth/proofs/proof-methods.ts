import { type AppError, type Clock, type Sentence, sentence } from '../../kernel/index.ts';
import type { PasskeyRecord, Store, UserRecord } from '../../store/ports/index.ts';
import type { AuthSettings } from '../config.ts';
import { findRelyingParty } from '../credentials/relying-party.ts';
import { proofErrors } from '../errors.ts';
import { type PanelPrincipal, requireSession } from '../principals.ts';

/** What a Security Proof can be made for, and where it is required. */
export const PROOF_SCOPE = {
  /** `http/panel-api/gateway/channels.ts` and `channel-credentials.ts`. */
  channelKeyRead: 'channel.key.read',
  /** `passkeys/register-passkey.ts`. */
  passkeyRegister: 'passkey.register',
  /** `passkeys/manage-passkeys.ts`. */
  passkeyDelete: 'passkey.delete',
  /** `own-account/change-address.ts`. */
  accountEmail: 'account.email',
  /** `own-account/edit-own-account.ts`, and the export too. */
  accountDelete: 'account.delete',
  accountExport: 'account.export',
  /**
   * `http/panel-api`: `operation/options.ts` and `system.ts`, `gateway/marketplace.ts`,
   * `sign-in/oauth-providers.ts`.
   */
  settingsSecurity: 'settings.security',
} as const;
export type ProofScope = (typeof PROOF_SCOPE)[keyof typeof PROOF_SCOPE];
export const PROOF_SCOPES: readonly ProofScope[] = Object.values(PROOF_SCOPE);

/** How a person proves their identity. */
export type ProofMethod = '2fa' | 'passkey' | 'password';

/** The answer to a successful confirmation. `expires_at` is in Unix seconds. */
export type ProofBundle = { proof_token: string; expires_at: number; method: ProofMethod; scope: ProofScope };

/**
 * Scopes that allow a lasting takeover of the account or of others: the security settings of all,
 * and a new password through another email address. For these a password counts before a new
 * factor.
 */
const TAKEOVER_SCOPES: readonly ProofScope[] = [PROOF_SCOPE.settingsSecurity, PROOF_SCOPE.accountEmail];
const NEW_FACTOR_SECONDS = 24 * 60 * 60;

type FactorDeps = { store: Store; clock: Clock; settings: () => AuthSettings };
type Factors = { hasTwoFactor: boolean; passkeys: readonly PasskeyRecord[] };

/**
 * The factors by which this user may confirm `scope`. A session alone can add a first factor, so a
 * thief with a stolen session could confirm with a factor of their own: one that was added within a
 * day counts only where the account has no older one. A passkey counts while it can be used here:
 * browsers accept ceremonies under the present settings, and the passkey was made for the present
 * relying party.
 */
export async function findProofFactors(
  { store, clock, settings }: FactorDeps,
  user: UserRecord,
  scope: ProofScope,
): Promise<Factors> {
  const party = findRelyingParty(settings());
  const [twoFactor, stored] = await Promise.all([store.twoFactor.byUser(user.id), store.passkeys.list(user.id)]);
  const isOld = ({ createdAt }: { createdAt: number }) => createdAt <= clock.unix() - NEW_FACTOR_SECONDS;
  const app = twoFactor?.enabled === true ? twoFactor : undefined;
  const passkeys = stored.filter(({ rpId }) => party.ok && rpId === party.value.id);
  const old = { hasTwoFactor: app !== undefined && isOld(app), passkeys: passkeys.filter(isOld) };
  const hasOlder =
    old.hasTwoFactor || old.passkeys.length > 0 || (TAKEOVER_SCOPES.includes(scope) && user.passwordHash !== null);
  return hasOlder ? old : { hasTwoFactor: app !== undefined, passkeys };
}

/**
 * The methods by which this user may confirm: only the strongest that the account has, so that a
 * stolen password never replaces a second factor.
 */
export async function allowedProofMethods(
  ctx: FactorDeps,
  { user }: PanelPrincipal,
  scope: ProofScope,
): Promise<readonly ProofMethod[]> {
  const { hasTwoFactor, passkeys } = await findProofFactors(ctx, user, scope);
  const hasPasskey = passkeys.length > 0;
  if (hasTwoFactor) return hasPasskey ? ['2fa', 'passkey'] : ['2fa'];
  if (hasPasskey) return ['passkey'];
  return user.passwordHash === null ? [] : ['password'];
}

/**
 * Whether `scope` needs a proof of an account with these methods. Always, with two exceptions: the
 * first passkey of an account that has only a password, and an email address for an account that
 * has no method (one that signs in through a provider only).
 */
export function needsProof(scope: ProofScope, allowed: readonly ProofMethod[]): boolean {
  if (scope === PROOF_SCOPE.passkeyRegister) return allowed.includes('2fa') || allowed.includes('passkey');
  return scope !== PROOF_SCOPE.accountEmail || allowed.length > 0;
}

/** Says what to use, by the first of the methods that are allowed. */
const ADVICE = {
  '2fa': sentence('proofs.code'),
  passkey: sentence('proofs.passkey'),
  password: sentence('proofs.password'),
} as const satisfies Record<ProofMethod, Sentence>;

function advise([first, second]: readonly ProofMethod[]): Sentence {
  if (first === undefined) return sentence('proofs.none');
  return first === '2fa' && second === 'passkey' ? sentence('proofs.passkey_or_code') : ADVICE[first];
}

/** The error for a method that is not among `allowed`; it names what to use instead. */
export const wrongMethod = (allowed: readonly ProofMethod[]): AppError =>
  proofErrors.method_mismatch({
    message: advise(allowed),
    details: { methods: allowed },
  });

/** `needed` is false where the account needs no proof for the scope. */
export type ProofDescription = { needed: boolean; methods: readonly ProofMethod[] };

/**
 * What a dialog must know before it asks for a confirmation.
 *
 * @throws `auth.session_required`
 */
export async function describeProof(
  ctx: { store: Store; clock: Clock; settings: () => AuthSettings },
  principal: PanelPrincipal,
  scope: ProofScope,
): Promise<ProofDescription> {
  const methods = await allowedProofMethods(ctx, requireSession(principal), scope);
  return { needed: needsProof(scope, methods), methods };
}
