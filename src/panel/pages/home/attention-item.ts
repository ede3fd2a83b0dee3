import type { TFunction } from 'i18next';
import { saySentence } from '../../api/say-sentence.ts';
import type { AttentionItem } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { roles } from '../../session/roles.ts';

/**
 * The names and figures of an attention item in the user's language. The gateway's own sentence
 * says more, to somebody who reads English; null where it says nothing that the title does not.
 */
export function attentionDetail(
  { code, message, reason, params }: AttentionItem,
  t: TFunction,
  language: string,
): string | null {
  const said = saySentence({ message, reason, params }, t);
  if (said !== null) return said;
  if (language === 'en') return message;
  // Nothing is said to have failed "0 of 0" times.
  const isFirst = code === 'plugin_failing' && params?.formerCases === 0;
  const key = isFirst ? 'home.attention.detail.plugin_failing_new' : `home.attention.detail.${code}`;
  const text = (t as (key: string, values: object) => string)(key satisfies string as TextKey, params ?? {});
  const isKnown = params !== undefined && Object.keys(params).length > 0 && text !== key;
  return isKnown ? text.replace(/[:：]\s*$/, '') : null;
}

type Item = Pick<AttentionItem, 'code' | 'target'>;

/** What the settings of a channel, and not its figures, mend. */
const inChannelSettings: readonly AttentionItem['code'][] = ['channel_key_unreadable', 'channel_unserved'];

/**
 * The page where the item can be changed, and the role that may open it; null for an environment
 * variable, which no page changes.
 */
export function targetPage({ code, target: { kind, id } }: Item): { to: string; role: number } | null {
  const name = encodeURIComponent(String(id ?? ''));
  switch (kind) {
    case 'plugin':
      return { to: `/plugins/${name}`, role: roles.root };
    case 'channel':
      return { to: `/channels/${name}${inChannelSettings.includes(code) ? '?tab=settings' : ''}`, role: roles.admin };
    case 'price':
      // Relayed models have no plugin whose table could be opened.
      return { to: id === null || id === '*' ? '/prices' : `/prices/${name}`, role: roles.root };
    case 'setting':
      if (id !== null && isVariable(String(id))) return null;
      return { to: id === null ? '/settings' : `/settings?q=${name}`, role: roles.root };
    case 'tasks':
      return {
        to: `/tasks?scope=all&status=${code === 'results_lost' ? 'SUCCESS' : 'IN_PROGRESS'}`,
        role: roles.admin,
      };
    case 'queue':
      return { to: '/queue', role: roles.admin };
    default:
      return { to: '/system', role: roles.root };
  }
}

/** Whether an environment variable is meant: options have small letters in their names. */
const isVariable = (name: string): boolean => name === name.toUpperCase();
