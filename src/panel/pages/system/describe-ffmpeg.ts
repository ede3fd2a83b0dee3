import type { TFunction } from 'i18next';
import type { NodeReport } from '../../api/types.ts';
import type { Format } from '../../ui/display/use-format.ts';

/** Where this node's ffmpeg is and what it did, or why it is not used. */
export function describeFfmpeg(
  { state, path, fault, made, failed }: NodeReport['ffmpeg'],
  { t, format }: { t: TFunction; format: Pick<Format, 'number'> },
): string {
  if (fault !== null) return fault;
  if (path === null) return t('system.ffmpeg.absent');
  if (state === 'off') return t('system.ffmpeg.found', { path });
  return t('system.ffmpeg.counts', { path, made: format.number(made), failed: format.number(failed) });
}
