import { channelErrors } from '../../channels/index.ts';
import { AppError } from '../../kernel/index.ts';
import type { ChannelRecord } from '../../store/ports/index.ts';
import type { TaskDeps } from '../types.ts';

const UNREADABLE = channelErrors.key_unreadable().code;

/**
 * A channel whose key no CRYPTO_SECRET opens serves nobody, but another one may. Gives that
 * trouble, for where there is no other; undefined for every other `error`.
 */
export function skipUnreadableChannel(
  { logger }: Pick<TaskDeps, 'logger'>,
  channel: ChannelRecord,
  error: unknown,
): AppError | undefined {
  if (!(error instanceof AppError) || error.code !== UNREADABLE) return undefined;
  logger.error({ channel_id: channel.id }, 'the key of a channel cannot be read; the channel is passed over');
  return error;
}
