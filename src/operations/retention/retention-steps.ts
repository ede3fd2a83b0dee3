import { type Clock, isOver } from '../../kernel/index.ts';
import { addUpBatch, SETTLING_SECONDS } from '../../reports/index.ts';
import {
  type AgedTask,
  hasEnded,
  type Repositories,
  type RetentionProgress,
  type Store,
} from '../../store/ports/index.ts';
import { CONTENT_PARTS, type ContentPart, clearContent } from './strip-content.ts';

/** How long old rows are kept, in days; 0: without end. */
export type RetentionSettings = {
  /** While false, nothing is removed but notices, and what deleted accounts have left. */
  enabled: boolean;
  promptDays: number;
  requestDays: number;
  answerDays: number;
  taskDays: number;
  eventDays: number;
  usageDays: number;
  ledgerDays: number;
  webhookDays: number;
};

/**
 * One kind of old rows. `run` goes through about `limit` rows; `walked` 0 means that there are no
 * more for now.
 */
export type RetentionStep = {
  /** Names the rows in the log. */
  step: string;
  run(limit: number): Promise<{ walked: number; changed: number }>;
};

const DAY_SECONDS = 86_400;

type Deps = { store: Store; clock: Clock };

/**
 * What each batch works through: the steps of one run, from the settings as it starts. Steps that
 * need no setting: `erase-users.ts` and `erase-unstored.ts`.
 */
export async function retentionSteps(deps: Deps, settings: RetentionSettings): Promise<RetentionStep[]> {
  if (!settings.enabled) return [];
  const now = deps.clock.unix();
  const before = (days: number) => now - days * DAY_SECONDS;
  const { taskDays, eventDays, usageDays, ledgerDays } = settings;
  const steps = await contentSteps(deps, { settings, now });
  const walk = async (step: string, days: number, rest: Pick<Walk, 'visit' | 'isNeeded'>) => {
    const from = await deps.store.retention.progress(step);
    steps.push(walkTasks(deps.store, now, { step, names: [step], from, createdUntil: before(days), ...rest }));
  };
  if (eventDays > 0) {
    await walk('events', eventDays, {
      visit: (tx, tasks) => tx.retention.deleteEvents(tasks.map(({ taskId }) => taskId)),
    });
  }
  if (taskDays > 0) {
    await walk('tasks', taskDays, {
      // A kept result is found by its task, and has days of its own.
      isNeeded: ({ result }) => result !== undefined,
      visit: (tx, tasks) => tx.retention.deleteTasks(listIds(tasks)),
    });
    steps.push({
      step: 'batches',
      async run(limit) {
        const changed = await deps.store.batches.deleteOld(before(taskDays), limit);
        return { walked: changed, changed };
      },
    });
  }
  if (usageDays > 0) steps.push(usageStep(deps, before(usageDays)));
  if (ledgerDays > 0) steps.push(await ledgerStep(deps, before(ledgerDays)));
  return steps;
}

const listIds = (tasks: readonly AgedTask[]): number[] => tasks.map(({ id }) => id);

/** Parts with the same days that are equally far go in one walk: each row is written once. */
async function contentSteps(
  { store }: Deps,
  { settings, now }: { settings: RetentionSettings; now: number },
): Promise<RetentionStep[]> {
  const days: Record<ContentPart, number> = {
    prompt: settings.promptDays,
    // A request holds its prompt, so it never stays longer.
    request: shorter(settings.requestDays, settings.promptDays),
    answer: settings.answerDays,
  };
  const walks = new Map<string, { parts: ContentPart[]; walk: Pick<Walk, 'from' | 'createdUntil'> }>();
  for (const part of CONTENT_PARTS.filter((each) => days[each] > 0)) {
    const from = await store.retention.progress(part);
    const walk = { from, createdUntil: now - days[part] * DAY_SECONDS };
    const key = JSON.stringify(walk);
    walks.set(key, { walk, parts: [...(walks.get(key)?.parts ?? []), part] });
  }
  return [...walks.values()].map(({ parts, walk }) =>
    walkTasks(store, now, {
      ...walk,
      step: parts.map((part) => `${part}s`).join(', '),
      names: parts as [ContentPart, ...ContentPart[]],
      // Its result is still being copied by what the vendor answered.
      ...(parts.includes('answer') ? { isNeeded: ({ result }: AgedTask) => result === 'pending' } : {}),
      visit: (tx, tasks) => clearContent(tx, listIds(tasks), parts),
    }),
  );
}

const shorter = (a: number, b: number): number => (a === 0 || b === 0 ? a || b : Math.min(a, b));

/** The figures are closed first: what they hold is all that remains of these rows. */
function usageStep({ store, clock }: Deps, until: number): RetentionStep {
  let isAddedUp = false;
  return {
    step: 'usage',
    async run(limit) {
      if (!isAddedUp) {
        const before = clock.unix() - SETTLING_SECONDS;
        const isMore = await store.transaction((tx) => tx.figures.addUpDays(before, limit));
        isAddedUp = !(await addUpBatch({ store, clock }, limit)) && !isMore;
        return { walked: 1, changed: 0 };
      }
      const changed = await store.retention.deleteUsage(until, limit);
      return { walked: changed, changed };
    },
  };
}

async function ledgerStep({ store }: Deps, until: number): Promise<RetentionStep> {
  const from = await store.retention.progress('ledger');
  // Lines of tasks that were running then come first.
  let after = from.skipped > 0 ? from.skipped - 1 : from.position;
  let firstSkipped = 0;
  return {
    step: 'ledger',
    async run(limit) {
      return store.transaction(async (tx) => {
        const { walked, folded, last, skipped } = await tx.retention.foldLedger({ after, until, limit });
        if (walked > 0) {
          firstSkipped ||= skipped;
          after = last;
          await tx.retention.saveProgress('ledger', { position: last, skipped: firstSkipped, at: 0 });
        }
        return { walked, changed: folded };
      });
    },
  };
}

/** A task that ended this recently is left alone, however old it is: nobody may have seen it. */
const GRACE_SECONDS = 24 * 3600;
/** Skipped tasks are checked again in every run while the way there is this short, in rows. */
const SHORT_WAY = 100_000;
/** … and else after this time. */
const LOOK_AGAIN_SECONDS = 7 * 24 * 3600;

export type Walk = {
  step: string;
  /** Names of the stored progress: kinds that are equally far are gone through together. */
  names: readonly [string, ...string[]];
  from: RetentionProgress;
  /** Unix seconds: tasks made later are not old. */
  createdUntil: number;
  /** Tasks for which this is true are left for later too. */
  isNeeded?: (task: AgedTask) => boolean;
  /** Changes old tasks that have ended; resolves to how many it changed. */
  visit: (tx: Repositories, tasks: readonly AgedTask[]) => Promise<number>;
};

/**
 * Goes through the tasks in order of creation, and stores with each batch how far it has come. A
 * process that is killed loses nothing: the next one goes on behind the last batch. What runs, or
 * is needed otherwise, is skipped and checked again.
 */
function walkTasks(store: Pick<Store, 'transaction'>, now: number, walk: Walk): RetentionStep {
  const { names, from, createdUntil } = walk;
  let progress = findStart(from, now);
  const isOld = ({ createdAt }: AgedTask) => createdAt <= createdUntil;
  return {
    step: walk.step,
    async run(limit) {
      return store.transaction(async (tx) => {
        const page = await tx.retention.tasksAfter(progress.position, limit);
        // Ids follow the time, but a clock may have been wrong once.
        const walked = page.slice(0, page.findLastIndex(isOld) + 1);
        const last = walked.at(-1);
        if (!last) return { walked: 0, changed: 0 };
        const isFree = (task: AgedTask) =>
          isOld(task) && hasEnded(task) && task.finishTime <= now - GRACE_SECONDS && !walk.isNeeded?.(task);
        const skipped = walked.find((task) => !isFree(task))?.id ?? 0;
        const changed = await walk.visit(tx, walked.filter(isFree));
        const next = { ...progress, position: last.id, skipped: progress.skipped || skipped };
        for (const name of names) await tx.retention.saveProgress(name, next);
        progress = next;
        return { walked: walked.length, changed };
      });
    },
  };
}

/** The position where a run begins: behind the last one, or at what that one skipped. */
function findStart({ position, skipped, at }: RetentionProgress, now: number): RetentionProgress {
  const again =
    skipped > 0 &&
    (position - skipped <= SHORT_WAY || isOver(at + LOOK_AGAIN_SECONDS, { now, longest: LOOK_AGAIN_SECONDS }));
  return again ? { position: skipped - 1, skipped: 0, at: now } : { position, skipped, at };
}
