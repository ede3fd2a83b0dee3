import type { Repositories, SessionRecord, UserRecord } from '../../store/ports/index.ts';
import { addressKey } from '../limits/address-key.ts';
import { isSameFamily } from '../sessions/name-device.ts';
import type { DecidingIp } from '../types.ts';

/** Only the latest rows are compared: a device that appears only in older ones counts as new. */
const MAX_ROWS = 500;

/**
 * Whether no other stored session of the account, open or ended, has both the address key and the
 * user agent family of this one. The first sign-in of an account never counts as a new device.
 * `user` is the record from before this sign-in.
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

/** Rows written before address keys were stored only have the displayed address. */
const keyOf = (row: { ip: string; addressKey: string }): string => row.addressKey || addressKey(row.ip as DecidingIp);
