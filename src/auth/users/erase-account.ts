import type { Repositories } from '../../store/ports/index.ts';

/**
 * Takes away all that an account is and holds, in the caller's transaction; its row stays for
 * ledger, tasks and audit trail, named after nobody. Name, address and identities are free for
 * others. Running tasks go on and settle. False when `auth_version` has moved on, and for root: the
 * transaction must be undone then. The account's sessions are the caller's to end.
 */
export async function eraseAccount(
  tx: Repositories,
  { id, authVersion }: { id: number; authVersion: number },
  at: number,
): Promise<boolean> {
  // Keys before their user, as where money moves: a reservation at the same time and this would
  // wait for each other.
  await tx.apiKeys.deleteAll(id);
  if (!(await tx.users.softDelete(id, authVersion, at))) return false;
  await tx.identities.releaseAll(id);
  await tx.passkeys.deleteAll(id);
  await tx.twoFactor.delete(id);
  await tx.flows.deleteOfUser(id);
  return true;
}
