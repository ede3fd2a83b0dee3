import { useSessionSnapshot } from './session-context.tsx';

/** The signed-in user's role as the API counts it: 1 user, 10 administrator, 100 root; 0 for nobody. */
export function useRole(): number {
  return useSessionSnapshot().bundle?.user.role ?? 0;
}
