import { explainBill } from '../../../billing/index.ts';
import type { Clock } from '../../../kernel/index.ts';
import type { HookCall } from '../../../plugins/index.ts';
import { hasEnded } from '../../../store/ports/index.ts';
import type { Services } from '../../composition/types.ts';
import { readTaskId } from './development-view.ts';

export type EndedTask = { id: string; status: string; bill: ReturnType<typeof explainBill> };

type EndWatchOptions = {
  clock: Clock;
  services: () => Services | undefined;
  print: ((ended: EndedTask) => void) | undefined;
};

const LOOK_MS = 300;
/** A submission that is refused has an id, and no task. */
const MOST_LOOKS_WITHOUT_TASK = 10;
/** From these calls on, a task can end: the vendor has answered, or is about to be asked. */
const BEGINS: ReadonlySet<string> = new Set(['parseSubmitResponse', 'buildQueryRequest']);

/** Reports each task once, when it has ended: how it ended and what it costs. */
export function createEndWatch({ clock, services, print }: EndWatchOptions) {
  const seen = new Set<string>();
  let isStopped = false;

  async function follow(id: string): Promise<void> {
    let missing = 0;
    while (!isStopped && missing < MOST_LOOKS_WITHOUT_TASK) {
      const found = await services()
        ?.tasks.detail(id, null)
        .catch(() => undefined);
      if (found) {
        const { status } = found.task;
        const bill = explainBill(found.task);
        if (hasEnded({ status }) && bill.settled !== null) return print?.({ id, status, bill });
      } else missing += 1;
      await clock.sleep(LOOK_MS);
    }
  }

  return {
    see({ hook, args }: HookCall): void {
      const id = print && BEGINS.has(hook) ? readTaskId(args) : null;
      if (id === null || seen.has(id)) return;
      seen.add(id);
      void follow(id);
    },
    stop(): void {
      isStopped = true;
    },
  };
}
