import type { RequestOrigin } from '../../../auth/index.ts';
import type { Account, RecordAudit } from '../record-audit.ts';

/**
 * Writes the audit row of an account that a sign-in at a provider created; nothing if it did not.
 */
export async function auditNewUser(
  audit: RecordAudit,
  created: Account | undefined,
  { provider, origin }: { provider: string; origin: RequestOrigin },
): Promise<void> {
  if (!created) return;
  const { userId, username } = created;
  const detail = { username, provider };
  await audit({ registered: created, origin }, { action: 'user.register', target: `user:${userId}`, detail });
}
