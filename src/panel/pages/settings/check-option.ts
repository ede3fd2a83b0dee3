import type { TFunction } from 'i18next';
import type { Option } from '../../api/types.ts';

/** What can be told of a value before it is sent; the gateway knows the rest. */
export function checkOption(t: TFunction, { type }: Option, value: string): string | null {
  switch (type) {
    case 'integer':
      return /^\d+$/.test(value) ? null : t('settings.wholeInvalid');
    case 'url':
      return value === '' || (/^https?:\/\/[^\s/]+/i.test(value) && URL.canParse(value))
        ? null
        : t('settings.addressInvalid');
    case 'json':
      return isJson(value) ? null : t('settings.jsonInvalid');
    default:
      return null;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
