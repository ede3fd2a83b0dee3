import type { TFunction } from 'i18next';
import type { Format } from '../../ui/display/use-format.ts';

/** Where a waiting task stands. */
export type QueuePosition = {
  position: number | string;
  waits_for: 'capacity' | 'own_limit';
  estimated_start_at: number | null;
};

/** A position up to this one is exact. */
export const exactPositions = 1000;

/** An estimate nearer than this, or past, is said to be "any moment". */
const soonSeconds = 5;

export function formatPosition(
  { position, waits_for }: Omit<QueuePosition, 'estimated_start_at'>,
  t: TFunction,
  format: Format,
) {
  if (waits_for === 'own_limit') return t('queue.ownLimit');
  return typeof position === 'number'
    ? t('queue.place', { place: format.number(position) })
    : t('queue.placeBeyond', { place: format.number(exactPositions) });
}

/** "in 4 minutes"; null where nobody can tell. */
export function formatStart(
  { estimated_start_at: at }: Pick<QueuePosition, 'estimated_start_at'>,
  t: TFunction,
  format: Format,
) {
  if (at === null) return null;
  return at - Date.now() / 1000 < soonSeconds ? t('queue.soon') : format.ago(at);
}

/** Says how long a task has waited. */
export const formatWait = (since: number, format: Format): string =>
  formatDuration(Math.max(0, Math.round(Date.now() / 1000 - since)), format);

/** A duration in whole seconds or minutes. */
export const formatDuration = (seconds: number, format: Format): string =>
  format.duration(seconds < 90 ? seconds : Math.round(seconds / 60) * 60);
