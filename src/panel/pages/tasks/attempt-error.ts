import type { TFunction } from 'i18next';

/** What went wrong with an attempt, by its code; a code that is not known is shown. */
export function attemptError(code: string, t: TFunction): string {
  const key = `task.webhooks.error.${code}`;
  const text = (t as (key: string) => string)(key);
  return text === key ? code : text;
}
