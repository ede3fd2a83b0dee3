import { isUnreadableKey } from '../../channels/index.ts';
import type { AppError } from '../../kernel/index.ts';
import type { ChannelRecord } from '../../store/ports/index.ts';
import type { TaskDeps } from '../types.ts';

/**
 * A channel whose key no CRYPTO_SECRET can decrypt is skipped; another channel may serve. Returns
 * that error, to be thrown when no other channel is left; undefined for any other `error`.
 */
export function skipUnreadableChannel(
  { logger }: Pick<TaskDeps, 'logger'>,
  channel: ChannelRecord,
  error: unknown,
): AppError | undefined {
  if (!isUnreadableKey(error)) return undefined;
  logger.debug({ channel_id: channel.id }, 'channel skipped: no CRYPTO_SECRET decrypts its key; enter the key again');
  return error;
}
