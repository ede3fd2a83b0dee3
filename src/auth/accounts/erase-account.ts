import type { Repositories } from '../../store/ports/index.ts';

/**
 * Removes everything that an account is and owns, in the caller's transaction. Its anonymised row
 * stays for ledger, tasks and audit trail. Its name, address and identities become free for others.
 * Running tasks continue and settle. False when `auth_version` has advanced, and for root: the
 * transaction must roll back then. The caller ends the account's sessions.
 */
export async function eraseAccount(
  tx: Repositories,
  { id, authVersion }: { id: number; authVersion: number },
  at: number,
): Promise<boolean> {
  // Lock order: keys before their user, as reservations do. Otherwise the two could deadlock.
  await tx.apiKeys.deleteAll(id);
  if (!(await tx.users.softDelete(id, authVersion, at))) return false;
  await eraseBelongings(tx, id);
  return true;
}

/** Removes what requests from before the deletion have written about the account since then. */
export async function eraseLateWrites(tx: Repositories, userId: number): Promise<void> {
  await tx.apiKeys.deleteAll(userId);
  await eraseBelongings(tx, userId);
}

async function eraseBelongings(tx: Repositories, id: number): Promise<void> {
  await tx.identities.releaseAll(id);
  await tx.passkeys.deleteAll(id);
  await tx.twoFactor.delete(id);
  await tx.flows.deleteOfUser(id);
  await tx.taskViews.deleteAll(id);
  await tx.balanceAlerts.forget(id);
}
