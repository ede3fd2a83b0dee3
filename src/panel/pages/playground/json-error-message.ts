import type { TFunction } from 'i18next';
import type { JsonFault } from './use-request-draft.ts';

/** What is wrong with the JSON that was typed. */
export const describeFault = (fault: JsonFault, t: TFunction): string =>
  fault.kind === 'noObject' ? t('play.json.noObject') : t('play.json.broken', { message: fault.message });
