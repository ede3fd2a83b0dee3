import type { Clock, ReportCacheSize } from '../kernel/index.ts';
import { DURATION_LIMITS, type EndedTasks, type OpenTasks, type Store, type TaskStatus } from '../store/ports/index.ts';
import { SETTLING_SECONDS } from './report-usage.ts';

const DAY_SECONDS = 86_400;
/**
 * How long figures are cached, so that a page that many keep open does not cost a query each time.
 */
const FRESH_MS = 10_000;
/** Cached figures, one entry per user and period. */
const MAX_CACHED = 500;
/** Usage rows that are aggregated in one transaction. */
const ROWS_AT_ONCE = 1000;

export type Ended = { succeeded: number; failed: number; spend: number };
export type ModelFigures = Ended & {
  pluginKey: string;
  model: string;
  /** Time from request to success; undefined when no duration is known. */
  p50Seconds: number | undefined;
  p95Seconds: number | undefined;
};
export type Figures = {
  /** Unix seconds: the start of the first day, and the time of reading. */
  from: number;
  readAt: number;
  open: { status: TaskStatus; tasks: number }[];
  /** All days, the oldest first. `running`: the day's requests that have not ended. */
  days: (Ended & { day: number; running: number })[];
  /** The most used model comes first. */
  models: ModelFigures[];
};

export type FigureReader = (filter: { days: number; userId?: number }) => Promise<Figures>;

/** Reads the figures of the last `days` days, today included, for one user or for all. */
export function createFigureReader(deps: {
  store: Store;
  clock: Clock;
  reportCacheSize?: ReportCacheSize;
}): FigureReader {
  const { store, clock } = deps;
  const cached = new Map<string, { until: number; figures: Promise<Figures> }>();
  deps.reportCacheSize?.('figures', () => cached.size);
  let aggregating: Promise<void> | undefined;

  async function aggregate(): Promise<void> {
    const before = clock.unix() - SETTLING_SECONDS;
    while (await store.transaction((tx) => tx.figures.addUpDays(before, ROWS_AT_ONCE)));
  }

  async function read({ days, userId }: { days: number; userId?: number }): Promise<Figures> {
    aggregating ??= aggregate().finally(() => {
      aggregating = undefined;
    });
    await aggregating;
    const readAt = clock.unix();
    const sinceDay = Math.floor(readAt / DAY_SECONDS) - days + 1;
    const own = userId === undefined ? {} : { userId };
    const [byDay, usage, open] = await Promise.all([
      store.figures.usageByDay({ sinceDay, ...own, by: 'day' }),
      store.figures.usageByDay({ sinceDay, ...own, by: 'model' }),
      store.figures.openTasks(own),
    ]);
    const ended = Map.groupBy(byDay, ({ day }) => day);
    return {
      from: sinceDay * DAY_SECONDS,
      readAt,
      open: byStatus(open),
      days: Array.from({ length: days }, (_, i) => describeDay(sinceDay + i, ended.get(sinceDay + i) ?? [], open)),
      models: byModel(usage),
    };
  }

  return (filter) => {
    const key = `${filter.userId ?? 'all'} ${filter.days}`;
    const now = clock.monotonicMs();
    const known = cached.get(key);
    if (known && known.until > now) return known.figures;
    const figures = read(filter);
    cached.delete(key);
    cached.set(key, { until: now + FRESH_MS, figures });
    // A failure is not cached.
    figures.catch(() => cached.delete(key));
    const [oldest] = cached.keys();
    if (cached.size > MAX_CACHED && oldest !== undefined) cached.delete(oldest);
    return figures;
  };
}

function sumEnded(usage: readonly EndedTasks[]): Ended {
  const sum = { succeeded: 0, failed: 0, spend: 0 };
  for (const { kind, tasks, quota } of usage) {
    if (kind === 'refund') sum.failed += tasks;
    else {
      sum.succeeded += tasks;
      sum.spend += quota;
    }
  }
  return sum;
}

function describeDay(day: number, ended: readonly EndedTasks[], open: readonly OpenTasks[]) {
  const running = open.filter((row) => row.day === day).reduce((sum, { tasks }) => sum + tasks, 0);
  return { day: day * DAY_SECONDS, running, ...sumEnded(ended) };
}

function byStatus(open: readonly OpenTasks[]): Figures['open'] {
  const counts = new Map<TaskStatus, number>();
  for (const { status, tasks } of open) counts.set(status, (counts.get(status) ?? 0) + tasks);
  return [...counts].map(([status, tasks]) => ({ status, tasks }));
}

function byModel(usage: readonly EndedTasks[]): ModelFigures[] {
  const models = Map.groupBy(usage, ({ pluginKey, model }) => `${pluginKey}\n${model}`);
  return [...models.values()]
    .map((rows) => {
      const { pluginKey = '', model = '' } = rows[0] ?? {};
      const p50Seconds = percentile(rows, 0.5);
      return { pluginKey, model, ...sumEnded(rows), p50Seconds, p95Seconds: percentile(rows, 0.95) };
    })
    .sort((a, b) => b.succeeded + b.failed - a.succeeded - a.failed || (a.model < b.model ? -1 : 1));
}

type EndedOfClass = { kind: 'settle' | 'refund'; duration: number; tasks: number };

/**
 * A percentile of the successes' durations in seconds, from their histogram. Within a class it
 * interpolates, so it is exact only to the class.
 */
export function percentile(usage: readonly EndedOfClass[], share: number): number | undefined {
  const counts = new Map<number, number>();
  let total = 0;
  for (const { kind, duration, tasks } of usage) {
    if (kind === 'refund' || duration < 0) continue;
    counts.set(duration, (counts.get(duration) ?? 0) + tasks);
    total += tasks;
  }
  let left = total * share;
  for (const [duration, tasks] of [...counts].sort(([a], [b]) => a - b)) {
    if (left > tasks) {
      left -= tasks;
      continue;
    }
    const low = DURATION_LIMITS[duration - 1] ?? 0;
    const high = DURATION_LIMITS[duration] ?? low;
    return Math.round((low + (high - low) * (left / tasks)) * 10) / 10;
  }
  return undefined;
}
