import type { Repositories, SessionRecord, UserRecord } from '../../store/ports/index.ts';
import { addressKey } from '../limits/address-key.ts';
import { isSameFamily } from '../sessions/name-device.ts';
import type { DecidingIp } from '../types.ts';

/** The latest rows that are looked at: a device that stands only in older ones counts as new. */
const MAX_ROWS = 500;

/**
 * Whether no other session of the account that is still stored, open or ended, has both the address
 * key and the user agent's family of this one. The first sign-in of an account is on no new device.
 * `user` is as they were before this sign-in.
 */
export async function isNewDevice(
  tx: Repositories,
  { user, session }: { user: UserRecord; session: SessionRecord },
): Promise<boolean> {
  if (user.lastLoginAt === 0) return false;
  const rows = await tx.sessions.ofAddress(user.id, session.addressKey, MAX_ROWS);
  return !rows.some(
    (row) =>
      row.sid !== session.sid && keyOf(row) === session.addressKey && isSameFamily(row.userAgent, session.userAgent),
  );
}

/** Rows from before the key was kept have the address that was shown. */
const keyOf = (row: { ip: string; addressKey: string }): string => row.addressKey || addressKey(row.ip as DecidingIp);
