import type { WaitingCount, WaitingRecord } from '../../store/ports/index.ts';
import { countOwnerConcurrency } from '../state/owner-limits.ts';
import type { TaskDeps } from '../types.ts';

/** Tasks of one user that are released at a time. */
const MAX_RELEASED = 64;

/**
 * Puts tasks back into their queues whose owners are below their limits again: one of their tasks
 * has ended, or the limit was changed. It puts back no more of each key and class than may run
 * beside those that wait there already. It may put back too many in all, since it locks nothing:
 * the dispatcher counts again before it begins them. Returns how many.
 */
export async function releaseParked(
  { store, limits }: Pick<TaskDeps, 'store' | 'limits'>,
  classes: readonly WaitingCount[],
): Promise<number> {
  if (classes.every(({ parked }) => parked === 0)) return 0;
  const groups = new Map(classes.map(({ class: name, group }) => [name, group]));
  const parked = (await store.waiting.parked()).map(({ most, ...row }) => {
    const group = groups.get(row.class) ?? '';
    return { ...row, group, most: { ...most, group: limits.waiting(group).maxRunning } };
  });
  const users = Map.groupBy(parked, ({ userId }) => userId);
  const own = countOwnerConcurrency(await store.waiting.running([...users.keys()], { locks: false }));
  const nameQueue = (row: Pick<WaitingRecord, 'userId' | 'apiKeyId' | 'class'>): string =>
    `${row.userId} ${row.apiKeyId} ${row.class}`;
  const unparked = await store.waiting.unparked([...users.keys()]);
  const waiting = new Map(unparked.map((row) => [nameQueue(row), row.tasks]));
  const left = (row: (typeof parked)[number]): number => own.left(row, row.most) - (waiting.get(nameQueue(row)) ?? 0);
  const released: string[] = [];
  for (const [userId, rows] of users) {
    const open = rows.filter((row) => left(row) > 0);
    if (open.length === 0) continue;
    const heads = await store.waiting.parkedHeads({
      userId,
      keys: open.map(({ apiKeyId }) => apiKeyId ?? 0),
      classes: open.map((row) => row.class),
      limit: Math.min(MAX_RELEASED, Math.max(...open.map(left))),
    });
    for (const head of heads) {
      const row = open.find((each) => each.apiKeyId === head.apiKeyId && each.class === head.class);
      if (!row || left(row) <= 0) continue;
      own.add(row);
      released.push(head.taskId);
    }
  }
  return store.waiting.release(released);
}
