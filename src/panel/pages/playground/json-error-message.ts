import type { TFunction } from 'i18next';
import type { JsonError } from './use-request-draft.ts';

/** Says what is wrong with the JSON text. */
export const jsonErrorMessage = (error: JsonError, t: TFunction): string =>
  error.kind === 'noObject' ? t('play.json.noObject') : t('play.json.broken', { message: error.message });
