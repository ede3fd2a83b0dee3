import type { TFunction } from 'i18next';
import type { Option } from '../../api/types.ts';

/** Checks what can be checked in the browser; the gateway checks the rest. */
export function validateOption(t: TFunction, option: Option, value: string): string | null {
  switch (option.type) {
    case 'integer':
      return validateInteger(t, option, value);
    case 'url':
      return value === '' || (/^https?:\/\/[^\s/]+/i.test(value) && URL.canParse(value))
        ? null
        : t('settings.addressInvalid');
    case 'json':
      // The fields of its rows show what is wrong.
      return value === '' ? t('providers.missing') : null;
    default:
      return null;
  }
}

function validateInteger(t: TFunction, { min: low = 0, max: high = Number.MAX_SAFE_INTEGER }: Option, value: string) {
  if (value.startsWith('=')) return t('users.amountInvalid');
  if (!/^\d+$/.test(value)) return t('settings.wholeInvalid');
  const number = Number(value);
  return number >= low && number <= high ? null : t('settings.between', { low, high });
}
