import type { TFunction } from 'i18next';
import { sayServerText } from '../../api/say-server-text.ts';
import type { AttentionItem } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';

/**
 * The names and figures of an attention item in the user's language. The gateway's own sentence
 * says more, to somebody who reads English; null where it says nothing that the title does not.
 */
export function attentionDetail(
  { code, message, params }: AttentionItem,
  t: TFunction,
  language: string,
): string | null {
  const said = sayServerText(message, t);
  if (said !== null) return said;
  if (language === 'en') return message;
  // Nothing is said to have failed "0 of 0" times.
  const isFirst = code === 'plugin_failing' && params?.formerCases === 0;
  const key = isFirst ? 'home.attention.detail.plugin_failing_new' : `home.attention.detail.${code}`;
  const text = (t as (key: string, values: object) => string)(key satisfies string as TextKey, params ?? {});
  const isKnown = params !== undefined && Object.keys(params).length > 0 && text !== key;
  return isKnown ? text.replace(/[:：]\s*$/, '') : null;
}
