import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import type { AttentionItem, TaskSummary } from '../../api/types.ts';
import { useBrowserNotices } from '../../pages/notifications/browser-notices.tsx';
import { latestTasksPath } from '../../pages/tasks/read-task.ts';
import { roles, useRole } from '../../session/roles.ts';
import { useSession, useSessionSnapshot } from '../../session/session-context.tsx';
import { useApiQuery } from '../../session/use-api.ts';

const attentionMs = 60_000;
const tasksMs = 20_000;
const shown = 8;

export type Notices = {
  attention: readonly AttentionItem[];
  /** The user's own tasks that ended recently, newest first. */
  finished: readonly TaskSummary[];
  /** How many notices of both kinds are unread. */
  unread: number;
  /** The tone of the most serious unread notice. */
  worst: 'bad' | 'waiting' | 'good';
  /** Everything up to now has been looked at. */
  markSeen(): void;
};

/**
 * What the user may want to know: for administrators what needs attention, and their own tasks that
 * have ended. `onFinished` learns of tasks that end while the panel is open.
 */
export function useNotices(onFinished: (tasks: readonly TaskSummary[]) => void): Notices {
  const session = useSession();
  const userId = useSessionSnapshot().bundle?.user.id ?? 0;
  const isAdmin = useRole() >= roles.admin;
  const attention = useApiQuery<AttentionItem[]>('/api/attention', { enabled: isAdmin, refreshMs: attentionMs });
  const { data: tasks } = useQuery({
    queryKey: ['api', latestTasksPath],
    queryFn: () => session.send<{ items: readonly TaskSummary[] }>({ method: 'GET', path: latestTasksPath }),
    refetchInterval: tasksMs,
    // Browser notices are for tabs in the background.
    refetchIntervalInBackground: useBrowserNotices() === 'on',
  });
  const [seen, setSeen] = useState(() => readSeen(userId));
  const finished = (tasks?.items ?? [])
    .filter(({ finish_time: at }) => at > 0)
    .sort((a, b) => b.finish_time - a.finish_time)
    .slice(0, shown);

  const known = useRef<ReadonlySet<string> | null>(null);
  useEffect(() => {
    if (tasks === undefined) return;
    const ended = tasks.items.filter(({ finish_time: at }) => at > 0);
    const news = known.current === null ? [] : ended.filter(({ id }) => !known.current?.has(id));
    known.current = new Set(ended.map(({ id }) => id));
    if (news.length > 0) onFinished(news);
  }, [tasks, onFinished]);

  const items = attention.data ?? [];
  const toName = ({ code, target }: AttentionItem): string => `${code} ${target.id}`;
  const newItems = items.filter((item) => !seen.attention.includes(toName(item)));
  const newTasks = finished.filter(({ finish_time: at }) => at > seen.at);
  const isBad =
    newItems.some(({ severity }) => severity === 'error') || newTasks.some(({ status }) => status === 'FAILURE');
  return {
    attention: items,
    finished,
    unread: newItems.length + newTasks.length,
    worst: isBad ? 'bad' : newItems.length > 0 ? 'waiting' : 'good',
    markSeen: () => {
      const next = { at: finished[0]?.finish_time ?? seen.at, attention: items.map(toName) };
      writeSeen(userId, next);
      setSeen(next);
    },
  };
}

/** What the user has looked at: tasks that ended until then, and items of attention by name. */
type Seen = { at: number; attention: readonly string[] };

const seenKey = (userId: number): string => `taskgate.notices.${userId}`;

/** At the first visit nothing is news but what needs attention. */
function readSeen(userId: number): Seen {
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

function writeSeen(userId: number, seen: Seen): void {
  try {
    localStorage.setItem(seenKey(userId), JSON.stringify(seen));
  } catch {
    // What was seen is news again after the next load.
  }
}
