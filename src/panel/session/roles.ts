import type { TextKey } from '../i18n/texts.ts';
import { useSessionSnapshot } from './session-context.tsx';

/**
 * The signed-in user's role as the API counts it: 1 user, 10 administrator, 100 root; 0 for nobody.
 */
export function useRole(): number {
  return useSessionSnapshot().bundle?.user.role ?? 0;
}

/** What a role is called. */
export const roleText = (role: number): TextKey => {
  if (role >= 100) return 'role.root';
  return role >= 10 ? 'role.admin' : 'role.user';
};
