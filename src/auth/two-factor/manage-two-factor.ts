import type { Clock, Logger } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import type { Authenticator } from '../credentials/authenticator.ts';
import type { BackupCodes } from '../credentials/backup-codes.ts';
import { authErrors } from '../errors.ts';
import type { GuessLimit } from '../limits/limit-guesses.ts';
import type { NotifyOwner } from '../mail/notify-owner.ts';
import { type PanelPrincipal, type RequestOrigin, requireSession } from '../principals.ts';
import { changeSecurity } from '../sessions/change-security.ts';
import type { RotationBundle } from '../sessions/describe-session.ts';
import type { SignIns } from '../sessions/record-sign-ins.ts';
import type { SessionRegistry } from '../sessions/session-registry.ts';
import type { SessionTokens } from '../tokens/access-tokens.ts';
import { consumeCode, isLocked, readCode } from './consume-code.ts';

/** Dependencies of the operations in this file. */
type Deps = {
  store: Store;
  clock: Clock;
  logger: Logger;
  tokens: SessionTokens;
  sessions: SessionRegistry;
  authenticator: Authenticator;
  backupCodes: BackupCodes;
  signIns: SignIns;
  limitGuesses: GuessLimit;
  notifyOwner: NotifyOwner;
};

/** Shown once: the secret for the app, and the backup codes to keep. */
export type TwoFactorSetup = {
  /** Base32, for apps without a camera. */
  secret: string;
  /** The text of the QR code: an `otpauth:` address. */
  qr_code_data: string;
  backup_codes: string[];
};

/**
 * Begins a set-up and replaces an unconfirmed one. Until it is enabled, sign-in asks for no code
 * and the backup codes do not work.
 *
 * @throws `auth.session_required` or `auth.two_factor_enabled`.
 */
export async function setUpTwoFactor(
  ctx: Pick<Deps, 'store' | 'clock' | 'authenticator' | 'backupCodes'>,
  principal: PanelPrincipal,
): Promise<TwoFactorSetup> {
  const { store, clock, authenticator, backupCodes } = ctx;
  const { user } = requireSession(principal);
  const { secret, secretSealed } = await authenticator.create();
  const codes = backupCodes.create();
  const now = clock.unix();
  await store.transaction(async (tx) => {
    const begun = await tx.twoFactor.begin({ userId: user.id, secretSealed, createdAt: now });
    if (!begun) throw authErrors.two_factor_enabled();
    await tx.twoFactor.replaceBackupCodes(user.id, backupCodes.digests(user.id, codes), now);
  });
  return { secret, qr_code_data: await authenticator.address(secret, user.username), backup_codes: codes };
}

/**
 * Confirms a set-up with a code of the app, through `changeSecurity`. Failures are not counted:
 * callers who see the set-up have its secret anyway.
 *
 * @throws `auth.session_required`, `auth.two_factor_not_begun`, `auth.two_factor_enabled`,
 * `auth.code_invalid`, `auth.two_factor_unreadable`, or `auth.changed_meanwhile`.
 */
export async function enableTwoFactor(
  ctx: Pick<Deps, 'store' | 'clock' | 'logger' | 'tokens' | 'sessions' | 'authenticator' | 'notifyOwner'>,
  principal: PanelPrincipal,
  code: string,
): Promise<RotationBundle> {
  const { store, clock, authenticator } = ctx;
  const { user } = requireSession(principal);
  const factor = await store.twoFactor.byUser(user.id);
  if (!factor) throw authErrors.two_factor_not_begun();
  if (factor.enabled) throw authErrors.two_factor_enabled();
  const typed = readCode(code);
  const step = typed?.kind === 'app' ? await authenticator.findStep(authenticator.open(factor), typed.text) : undefined;
  if (step === undefined) throw authErrors.code_invalid({ param: 'code' });

  return changeSecurity(ctx, principal, {
    reason: 'twofa_enabled',
    write: async (tx) =>
      (await tx.twoFactor.enable(user.id, factor.secretSealed, clock.unix())) &&
      // Uses the code up, so that it serves no sign-in afterwards.
      (await tx.twoFactor.useStep(user.id, step)) &&
      (await tx.users.moveAuthVersion(user.id, user.authVersion)),
  });
}

export type ConfirmedByCode = { code: string; origin: RequestOrigin };

/**
 * Removes the second factor and its backup codes through `changeSecurity`, confirmed by a code of
 * either kind.
 *
 * @throws `auth.session_required` before the code is checked, then what `consumeCode` and
 * `changeSecurity` throw.
 */
export async function disableTwoFactor(
  ctx: Deps,
  principal: PanelPrincipal,
  { code, origin }: ConfirmedByCode,
): Promise<RotationBundle> {
  const { user } = requireSession(principal);
  return consumeCode(ctx, { userId: user.id, code, origin, accept: ['app', 'backup'] }, (use) =>
    changeSecurity(ctx, principal, {
      reason: 'twofa_disabled',
      async write(tx) {
        await use(tx);
        return (await tx.twoFactor.delete(user.id)) && (await tx.users.moveAuthVersion(user.id, user.authVersion));
      },
    }),
  );
}

export type NewBackupCodes = RotationBundle & { backup_codes: string[] };

/**
 * Replaces all backup codes, through `changeSecurity`. Only a code of the app confirms it: someone
 * who found a sheet of backup codes must not be able to make new ones.
 *
 * @throws `auth.session_required` before the code is checked, then what `consumeCode` and
 * `changeSecurity` throw.
 */
export async function replaceBackupCodes(
  ctx: Deps,
  principal: PanelPrincipal,
  { code, origin }: ConfirmedByCode,
): Promise<NewBackupCodes> {
  const { clock, backupCodes } = ctx;
  const { user } = requireSession(principal);
  const codes = backupCodes.create();
  const bundle = await consumeCode(ctx, { userId: user.id, code, origin, accept: ['app'] }, (use) =>
    changeSecurity(ctx, principal, {
      reason: 'twofa_backup_codes_regenerated',
      async write(tx) {
        await use(tx);
        await tx.twoFactor.replaceBackupCodes(user.id, backupCodes.digests(user.id, codes), clock.unix());
        return tx.users.moveAuthVersion(user.id, user.authVersion);
      },
    }),
  );
  return { ...bundle, backup_codes: codes };
}

export type TwoFactorStatus = {
  enabled: boolean;
  /** Too many wrong codes: no code is checked for a while. */
  locked: boolean;
  /** Only while enabled. */
  backup_codes_remaining?: number;
};

export async function describeTwoFactor(
  { store, clock }: { store: Store; clock: Clock },
  { user }: PanelPrincipal,
): Promise<TwoFactorStatus> {
  const factor = await store.twoFactor.byUser(user.id);
  if (!factor?.enabled) return { enabled: false, locked: false };
  return {
    enabled: true,
    locked: isLocked(factor, clock.unix()),
    backup_codes_remaining: await store.twoFactor.countBackupCodes(user.id),
  };
}
