import { explainBill } from '../../../billing/index.ts';
import type { DevelopedCall, DevelopmentView } from '../../../http/index.ts';
import { type Clock, isObject, type Json } from '../../../kernel/index.ts';
import { cleanExchange } from '../../../plugins/author/index.ts';
import type { HookCall, Manifest } from '../../../plugins/index.ts';
import type { Services } from '../../composition/types.ts';
import { shorten } from './describe-hook-call.ts';

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

/** Calls that are kept for the page. */
const MOST_CALLS = 300;
/** The page shows as much of a call as people read, and no images in Base64. */
const SHOWN = { maxText: 4000, maxItems: 100 };
const SHOWN_OF_LARGE = { maxText: 200, maxItems: 20 };
const MAX_CALL_LENGTH = 64 * 1024;

/** The latest hook calls, in the order in which they ended. */
function createCallLog(clock: Clock) {
  const calls: DevelopedCall[] = [];
  let latest = 0;
  let wake: (() => void)[] = [];

  const notify = (): void => {
    const woken = wake;
    wake = [];
    for (const one of woken) one();
  };

  return {
    add(call: HookCall): void {
      latest += 1;
      calls.push({ number: latest, at: clock.nowMs(), ...describe(call) });
      if (calls.length > MOST_CALLS) calls.shift();
      notify();
    },
    /** Ends all waits: something else than a call is new. */
    notify,
    latest: () => latest,
    after: (number: number): DevelopedCall[] => calls.filter((call) => call.number > number),
    /** The ids of the tasks of the calls, the newest first. */
    tasks: (): string[] => [...new Set(calls.flatMap(({ task }) => (task === null ? [] : [task])).reverse())],
    /** Resolves with the next news, or when the time is over. */
    async wait(ms: number): Promise<void> {
      let end = (): void => {};
      const news = new Promise<void>((resolve) => {
        end = resolve;
      });
      wake.push(end);
      await Promise.race([news, clock.sleep(ms)]);
      wake = wake.filter((one) => one !== end);
    },
  };
}

function describe({ hook, args, outcome, console, ms }: HookCall): Omit<DevelopedCall, 'number' | 'at'> {
  const show = (limits: typeof SHOWN) => ({
    request: args.map((value) => shorten(cleanExchange(value), limits)),
    answer: outcome.ok
      ? { value: shorten(cleanExchange(outcome.value ?? null), limits) }
      : { error: String(cleanExchange(outcome.message)), kind: outcome.kind },
  });
  const whole = show(SHOWN);
  const shown = JSON.stringify(whole).length > MAX_CALL_LENGTH ? show(SHOWN_OF_LARGE) : whole;
  const lines = console.map((line) => String(cleanExchange(line)));
  return { hook, ms: Math.round(ms * 100) / 100, task: readTaskId(args), ...shown, console: lines };
}

/** The gateway's id of the task that a call is for: in the context, or in the task beside it. */
export function readTaskId(args: readonly Json[]): string | null {
  for (const value of args) {
    if (!isObject(value)) continue;
    for (const name of ['publicTaskId', 'task_id', 'taskId'] as const) {
      const id = value[name];
      if (typeof id === 'string' && id.startsWith('task_')) return id;
    }
  }
  return null;
}
