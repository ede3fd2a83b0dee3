import { explainBill } from '../../../billing/index.ts';
import type { DevelopmentView } from '../../../http/index.ts';
import type { Clock } from '../../../kernel/index.ts';
import type { Manifest } from '../../../plugins/index.ts';
import type { Services } from '../../composition/types.ts';
import { createCallLog } from './call-log.ts';

/** How long a request of the page waits for news; shorter while a task runs that may change. */
const WAIT_MS = 15_000;
const WAIT_FOR_TASK_MS = 1000;
/** Calls come in groups, and the bill of a task is written after its last call. */
const SETTLE_MS = 200;

/** What the page shows: the calls, the bills of their tasks, and the fixture's mismatches. */
export function createDevelopmentView(clock: Clock, services: () => Services | undefined) {
  const log = createCallLog(clock);
  let plugin = { key: '', version: '' };
  let mismatches: DevelopmentView['mismatches'] = null;

  async function tasks(): Promise<DevelopmentView['tasks']> {
    const found: DevelopmentView['tasks'] = [];
    for (const id of log.tasks()) {
      // A submission that is refused has an id, and no task.
      const task = await services()
        ?.tasks.detail(id, null)
        .catch(() => undefined);
      if (task) found.push({ id, status: task.task.status, bill: explainBill(task.task) });
    }
    return found;
  }

  return {
    log,
    show(manifest: Manifest): void {
      plugin = { key: manifest.key, version: manifest.version };
    },
    showMismatches(found: DevelopmentView['mismatches']): void {
      mismatches = found;
      log.notify();
    },
    async view(after: number | undefined): Promise<DevelopmentView> {
      if (after !== undefined && log.latest() <= after) {
        const isRunning = (await tasks()).some(({ bill }) => bill.settled === null);
        if (log.latest() <= after) await log.wait(isRunning ? WAIT_FOR_TASK_MS : WAIT_MS);
        await clock.sleep(SETTLE_MS);
      }
      const calls = log.after(after ?? 0);
      return { plugin, calls, latest: log.latest(), tasks: await tasks(), mismatches };
    },
  };
}
