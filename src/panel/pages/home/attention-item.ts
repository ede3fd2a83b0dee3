import type { AttentionItem } from '../../api/types.ts';
import { roles } from '../../session/roles.ts';

type Item = Pick<AttentionItem, 'code' | 'target'>;

/** What the settings of a channel, and not its figures, mend. */
const inChannelSettings: readonly AttentionItem['code'][] = [
  'channel_key_ends',
  'channel_key_unreadable',
  'channel_unserved',
];

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
