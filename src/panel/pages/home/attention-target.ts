import type { AttentionItem } from '../../api/types.ts';
import { roles } from '../../session/roles.ts';
import { optionTexts } from '../settings/option-texts.ts';

/**
 * The page that shows the target, and the role that may open it; null for an environment variable,
 * which no page changes.
 */
export function targetPage({ kind, id }: AttentionItem['target']): { to: string; role: number } | null {
  const name = encodeURIComponent(String(id ?? ''));
  switch (kind) {
    case 'plugin':
      return { to: `/plugins/${name}`, role: roles.root };
    case 'channel':
      return { to: `/channels/${name}`, role: roles.admin };
    case 'price':
      return { to: '/prices', role: roles.root };
    case 'setting':
      if (id !== null && !Object.hasOwn(optionTexts, id)) return null;
      return { to: id === null ? '/settings' : `/settings?q=${name}`, role: roles.root };
    case 'tasks':
      return { to: '/tasks?scope=all&status=IN_PROGRESS', role: roles.admin };
    default:
      return { to: '/system', role: roles.root };
  }
}
