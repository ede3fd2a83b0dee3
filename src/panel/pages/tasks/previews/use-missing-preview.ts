import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { Session } from '../../../session/session.ts';
import { useSession } from '../../../session/session-context.tsx';

/** The page comes first; after this it is not waited for an idle moment any longer. */
const idleMs = 3000;

/** Tasks that this page has tried: what cannot be drawn is not loaded again and again. */
const tried = new Set<string>();
/** The previews whose attempt has ended. */
const ended = new Set<string>();
/** One at a time, whatever the number of rows. */
let last: Promise<unknown> = Promise.resolve();

/**
 * Lets this browser draw the previews of a finished task that has none, when it is idle. The
 * gateway takes the first one, from any person who may see the task. True until it has been tried.
 */
export function useMissingPreview(taskId: string, isMissing: boolean): boolean {
  const session = useSession();
  const queries = useQueryClient();
  const [, setEnded] = useState(false);
  useEffect(() => {
    if (!isMissing || tried.has(taskId) || savesData()) return;
    tried.add(taskId);
    last = last
      .then(idle)
      .then(() => offer(session, queries, taskId))
      .catch(() => undefined)
      .then(() => {
        ended.add(taskId);
        setEnded(true);
      });
  }, [taskId, isMissing, session, queries]);
  return isMissing && !ended.has(taskId) && !savesData();
}

async function offer(session: Session, queries: QueryClient, taskId: string): Promise<void> {
  const { offerPreviews } = await import('./offer-previews.ts');
  if (!(await offerPreviews(session, taskId))) return;
  await queries.invalidateQueries({
    predicate: ({ queryKey: [kind, path] }) =>
      kind === 'api' && /^\/api\/(?:task|model\/results)(?:\?|\/|$)/.test(String(path)),
  });
}

const idle = (): Promise<void> =>
  new Promise((resolve) => {
    if (typeof requestIdleCallback === 'function') requestIdleCallback(() => resolve(), { timeout: idleMs });
    else setTimeout(resolve, idleMs);
  });

const savesData = (): boolean =>
  (navigator as Navigator & { connection?: { saveData?: boolean } }).connection?.saveData === true;
