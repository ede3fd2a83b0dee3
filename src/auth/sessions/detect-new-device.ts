import { parseUserAgent } from '../../kernel/index.ts';
import type { Repositories, SessionRecord, UserRecord } from '../../store/ports/index.ts';
import { addressKey } from '../limits/limit-requests.ts';
import type { DecidingIp } from '../principals.ts';

/** Only the latest rows are compared: a device that appears only in older ones counts as new. */
const MAX_ROWS = 500;

/**
 * Whether no other stored session of the account, open or ended, has both the address key and the
 * user agent family of this one: then the account's owner gets a mail. The first sign-in of an
 * account never counts as a new device. `user` is the record from before this sign-in.
 */
export async function isNewDevice(
  tx: Repositories,
  { user, session }: { user: UserRecord; session: SessionRecord },
): Promise<boolean> {
  if (user.lastLoginAt === 0) return false;
  const rows = await tx.sessions.ofAddress(user.id, session.addressKey, MAX_ROWS);
  return !rows.some(
    (row) =>
      row.sid !== session.sid &&
      readAddressKey(row) === session.addressKey &&
      readFamily(row.userAgent) === readFamily(session.userAgent),
  );
}

/** Rows written before address keys were stored only have the displayed address. */
const readAddressKey = (row: { ip: string; addressKey: string }): string =>
  row.addressKey || addressKey(row.ip as DecidingIp);

/** Browser and system, or of another program the name before the version. */
function readFamily(userAgent: string): string {
  const device = parseUserAgent(userAgent);
  return device ? `${device.browser} ${device.system}` : (userAgent.split('/')[0] ?? '');
}
