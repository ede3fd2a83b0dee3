import type { TFunction } from 'i18next';
import type { Format } from '../../ui/display/use-format.ts';

/** Where a task stands that waits. */
export type Place = { position: number | string; estimated_start_at: number | null };

/** A place up to this one is exact. */
export const exactPlaces = 1000;

/** An estimate that is nearer than this, or over, is no time to wait for. */
const soonSeconds = 5;

export const sayPlace = ({ position }: Pick<Place, 'position'>, t: TFunction, format: Format): string =>
  typeof position === 'number'
    ? t('queue.place', { place: format.number(position) })
    : t('queue.placeBeyond', { place: format.number(exactPlaces) });

/** "in 4 minutes"; null where nobody can tell. */
export function sayStart({ estimated_start_at: at }: Pick<Place, 'estimated_start_at'>, t: TFunction, format: Format) {
  if (at === null) return null;
  return at - Date.now() / 1000 < soonSeconds ? t('queue.soon') : format.ago(at);
}
