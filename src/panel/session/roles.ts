import type { TextKey } from '../i18n/texts.ts';
import { useSessionSnapshot } from './session-context.tsx';

/** Roles as the API counts them. Compare with `>=`: a role includes the rights of those below. */
export const roles = { user: 1, admin: 10, root: 100 } as const;

/** The signed-in user's role, one of `roles`; 0 while nobody is signed in. */
export function useRole(): number {
  return useSessionSnapshot().bundle?.user.role ?? 0;
}

/** The name of a role. */
export const roleTextKey = (role: number): TextKey => {
  if (role >= roles.root) return 'role.root';
  return role >= roles.admin ? 'role.admin' : 'role.user';
};
