/** What the user has looked at: tasks that ended until then, and items of attention by name. */
type Seen = { at: number; attention: readonly string[] };

const seenKey = (userId: number): string => `taskgate.notices.${userId}`;

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
  try {
    localStorage.setItem(seenKey(userId), JSON.stringify(seen));
  } catch {
    // What was seen is news again after the next load.
  }
}
