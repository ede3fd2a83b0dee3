import { channelErrors } from '../../channels/index.ts';
import { AppError } from '../../kernel/index.ts';
import type { ChannelRecord } from '../../store/ports/index.ts';
import type { TaskDeps } from '../types.ts';

const UNREADABLE = channelErrors.key_unreadable().code;

/**
 * A channel whose key no CRYPTO_SECRET can decrypt is skipped; another channel may serve. Returns
 * that error, to be thrown when no other channel is left; undefined for any other `error`.
 */
export function skipUnreadableChannel(
  { logger }: Pick<TaskDeps, 'logger'>,
  channel: ChannelRecord,
  error: unknown,
): AppError | undefined {
  if (!(error instanceof AppError) || error.code !== UNREADABLE) return undefined;
  logger.error({ channel_id: channel.id }, 'channel skipped: no CRYPTO_SECRET decrypts its key; enter the key again');
  return error;
}
