/** What the user has looked at: tasks that ended until then, and items of attention by name. */
export type Seen = { at: number; attention: readonly string[] };

const seenKey = (userId: number): string => `taskgate.notices.${userId}`;
const wishKey = 'taskgate.browserNotices';

/** At the first visit nothing is news but what needs attention. */
export function readSeen(userId: number): Seen {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(seenKey(userId)) ?? 'null');
    if (typeof stored === 'object' && stored !== null && 'at' in stored && 'attention' in stored) {
      const { at, attention } = stored;
      if (typeof at === 'number' && Array.isArray(attention)) return { at, attention: attention.map(String) };
    }
  } catch {
    // Storage is blocked or holds something else.
  }
  return { at: Math.floor(Date.now() / 1000), attention: [] };
}

export function writeSeen(userId: number, seen: Seen): void {
  write(seenKey(userId), JSON.stringify(seen));
}

/** The browser may show notices, and the user asked for them here. */
export function wantsBrowserNotices(): boolean {
  try {
    return canNotify() && Notification.permission === 'granted' && localStorage.getItem(wishKey) === 'on';
  } catch {
    return false;
  }
}

export const canNotify = (): boolean => 'Notification' in globalThis;

export const rememberBrowserNotices = (on: boolean): void => write(wishKey, on ? 'on' : 'off');

function write(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // The choice lasts until the page is closed.
  }
}
