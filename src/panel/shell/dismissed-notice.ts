/** The notices that viewers of this browser have dismissed, by user. */
const storageKey = 'taskgate.dismissedNotice';
const maxUsers = 20;

function readAll(): Record<string, string> {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(storageKey) ?? '{}');
    return typeof stored === 'object' && stored !== null ? (stored as Record<string, string>) : {};
  } catch {
    // Blocked or broken: nothing was dismissed.
    return {};
  }
}

/** Whether the user has dismissed the notice with this very text. */
export const isNoticeDismissed = (user: number, notice: string): boolean => readAll()[`u${user}`] === notice;

export function dismissNotice(user: number, notice: string): void {
  const { [`u${user}`]: _, ...others } = readAll();
  const kept = [...Object.entries(others), [`u${user}`, notice] as const].slice(-maxUsers);
  try {
    localStorage.setItem(storageKey, JSON.stringify(Object.fromEntries(kept)));
  } catch {
    // Storage is blocked: it stays dismissed until the page is closed.
  }
}
