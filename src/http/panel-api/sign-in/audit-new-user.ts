import type { RequestOrigin } from '../../../auth/index.ts';
import type { Account, RecordAudit } from '../record-audit.ts';

/** Enters the account that a sign-in at a provider made, where it made one. */
export async function auditNewUser(
  audit: RecordAudit,
  made: Account | undefined,
  { provider, origin }: { provider: string; origin: RequestOrigin },
): Promise<void> {
  if (!made) return;
  const { userId, username } = made;
  const detail = { username, provider };
  await audit({ registered: made, origin }, { action: 'user.register', target: `user:${userId}`, detail });
}
