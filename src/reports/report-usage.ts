import { type CleanUpStep, type Clock, createZoneClock } from '../kernel/index.ts';
import type { Store, UsageDimension, UsageShare, UsageSum, UsageSumFilter } from '../store/ports/index.ts';

const DAY = 86_400;
const HOUR = 3600;
/** Points of a chart: more than a screen can show apart. */
const MAX_POINTS = 200;
/** Shorter periods are shown by hour. */
const MAX_DAYS_BY_HOUR = 3;
/** Rows of a breakdown; the rest is summed up. */
const MAX_SHARES = 100;

export type UsagePeriod = {
  /** Days of the zone's calendar since 1970, both included. */
  fromDay: number;
  toDay: number;
  /** A name of the time zone database. */
  zone: string;
};
export type UsageQuestion = {
  period: UsagePeriod;
  by: UsageDimension;
  /** How many of the first shares come with points of their own. */
  series?: number;
  only: Pick<UsageSumFilter, 'userId' | 'apiKeyId' | 'channelId' | 'pluginKey' | 'model'>;
};

export type UsageReport = {
  /**
   * The zone whose days these are: UTC where the period begins before the quarters of an hour that
   * are kept.
   */
  zone: string;
  /** Unix seconds; `until` is exclusive. */
  from: number;
  until: number;
  /** What a point stands for: an hour, or this many days. */
  unit: 'hour' | 'day';
  daysPerPoint: number;
  totals: UsageSum;
  /** At most 200, the oldest first, without gaps. `at`: Unix seconds of its begin. */
  points: (UsageSum & { at: number })[];
  /**
   * The highest spend first. `name` is undefined for a model, and where the row is gone; `points`
   * are those of the report, for the first shares where they were asked for.
   */
  shares: (UsageShare & { name: string | undefined; points: UsageSum[] | undefined })[];
  /** How many further shares there are, and what they come to. */
  others: UsageSum & { shares: number };
};
export type UsageReader = (question: UsageQuestion) => Promise<UsageReport>;

/** Reads what was used in a period, over time and by user, key, channel or model. */
export function createUsageReader(deps: { store: Store; clock: Clock }, addUp = createUsageAdder(deps)): UsageReader {
  const { store, clock } = deps;

  async function keptFrom(): Promise<number> {
    return Math.max(quartersKeptFrom(clock.unix()), await store.usage.quartersFrom());
  }

  return async ({ period, by, series = 0, only }) => {
    await addUp();
    const { starts, ...frame } = chooseFrame(period, await keptFrom());
    const from = starts[0] ?? 0;
    const until = starts.at(-1) ?? from;
    const filter: UsageSumFilter = { unit: frame.reads, from, until, ...only };
    const [times, { total, shares }] = await Promise.all([
      store.usage.byTime(filter),
      store.usage.byDimension(filter, by, MAX_SHARES),
    ]);
    const totals = nothing();
    for (const sum of times) add(totals, sum);
    const [names, parts] = await Promise.all([
      by === 'model' ? new Map<number, string>() : store.usage.names(by, listIds(shares)),
      Promise.all(shares.slice(0, series).map((share) => store.usage.byTime({ ...filter, ...narrowTo(by, share) }))),
    ]);
    return {
      zone: frame.zone,
      from,
      until,
      unit: frame.unit,
      daysPerPoint: frame.daysPerPoint,
      totals,
      points: spread(times, starts).map((sum, index) => ({ at: starts[index] ?? until, ...sum })),
      shares: shares.map((share, index) => ({
        ...share,
        name: names.get(share.id),
        points: parts[index] && spread(parts[index], starts),
      })),
      others: { shares: total - shares.length, ...rest(totals, shares) },
    };
  };
}

const nothing = (): UsageSum => ({ succeeded: 0, failed: 0, spend: 0 });

/** Adds sums, the oldest first, to the points that begin at `starts`; the last start is the end. */
function spread(sums: readonly (UsageSum & { start: number })[], starts: readonly number[]): UsageSum[] {
  const points = starts.slice(0, -1).map(nothing);
  let next = 0;
  for (const sum of sums) {
    while (next + 1 < points.length && sum.start >= (starts[next + 1] ?? Number.POSITIVE_INFINITY)) next += 1;
    add(points[next], sum);
  }
  return points;
}

function narrowTo(by: UsageDimension, { id, pluginKey, model }: UsageShare): UsageQuestion['only'] {
  if (by === 'model') return { pluginKey, model };
  if (by === 'user') return { userId: id };
  return by === 'key' ? { apiKeyId: id } : { channelId: id };
}

function add(to: UsageSum | undefined, { succeeded, failed, spend }: UsageSum): void {
  if (!to) return;
  to.succeeded += succeeded;
  to.failed += failed;
  to.spend += spend;
}

/** What the shares leave of the totals. A task may end between the two queries. */
function rest(totals: UsageSum, shares: readonly UsageSum[]): UsageSum {
  const shown = nothing();
  for (const share of shares) add(shown, share);
  return {
    succeeded: Math.max(0, totals.succeeded - shown.succeeded),
    failed: Math.max(0, totals.failed - shown.failed),
    spend: Math.max(0, totals.spend - shown.spend),
  };
}

const listIds = (shares: readonly UsageShare[]): number[] => shares.flatMap(({ id }) => (id > 0 ? id : []));

/** Which sums a period is read from, and where its points begin; the last start is its end. */
function chooseFrame({ fromDay, toDay, zone }: UsagePeriod, keptFrom: number) {
  const days = toDay - fromDay + 1;
  const inZone = createZoneClock(zone);
  const from = inZone.dayStart(fromDay);
  const isKept = from >= keptFrom;
  if (isKept && days <= MAX_DAYS_BY_HOUR) {
    const until = inZone.dayStart(toDay + 1);
    return { zone, reads: 'quarter' as const, unit: 'hour' as const, daysPerPoint: 0, starts: steps(from, until) };
  }
  const daysPerPoint = Math.ceil(days / MAX_POINTS);
  const toStart = isKept ? inZone.dayStart : (day: number): number => day * DAY;
  const starts: number[] = [];
  for (let day = fromDay; day <= toDay; day += daysPerPoint) starts.push(toStart(day));
  starts.push(toStart(toDay + 1));
  const isUtc = starts.every((start) => start % DAY === 0);
  return {
    zone: isKept ? zone : 'UTC',
    reads: isUtc ? ('day' as const) : ('quarter' as const),
    unit: 'day' as const,
    daysPerPoint,
    starts,
  };
}

function steps(from: number, until: number): number[] {
  const starts: number[] = [];
  for (let at = from; at < until; at += HOUR) starts.push(at);
  return [...starts, until];
}

/**
 * Usage younger than this is not aggregated yet: a transaction of another node, whose clock may
 * differ, may still be running.
 */
export const SETTLING_SECONDS = 120;
/**
 * How long quarters of an hour are kept: a month of any calendar, in any time zone, and some days.
 */
const KEPT_SECONDS = 35 * 86_400;
/** Usage rows that are aggregated in one transaction. */
const ROWS_AT_ONCE = 1000;

type Deps = { store: Store; clock: Clock };

/** Quarters from here on are kept. A day's start, in UTC. */
const quartersKeptFrom = (now: number): number => now - (now % 86_400) - KEPT_SECONDS;

/** Adds some usage rows to the sums by quarter and day. True when there may be more. */
export const addUpBatch = ({ store, clock }: Deps, limit: number): Promise<boolean> => {
  const now = clock.unix();
  return store.transaction((tx) =>
    tx.usage.addUp({ before: now - SETTLING_SECONDS, keptFrom: quartersKeptFrom(now) }, limit),
  );
};

/** Adds up what is due; concurrent callers share one run. */
export function createUsageAdder(deps: Deps): () => Promise<void> {
  let adding: Promise<void> | undefined;
  async function addUp(): Promise<void> {
    while (await addUpBatch(deps, ROWS_AT_ONCE));
  }
  return () => {
    adding ??= addUp().finally(() => {
      adding = undefined;
    });
    return adding;
  };
}

/** Adds up the last hour's usage, so that a first look need not, and deletes old quarters. */
export const quarterCleanUp = ({ store, clock }: Deps, addUp: () => Promise<void>): CleanUpStep => ({
  step: 'figures by quarter of an hour',
  async deleteBatch() {
    await addUp();
    return store.usage.deleteOld(quartersKeptFrom(clock.unix()));
  },
});
