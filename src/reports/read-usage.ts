import { type Clock, createZoneClock } from '../kernel/index.ts';
import type { Store, UsageDimension, UsageShare, UsageSum, UsageSumFilter } from '../store/ports/index.ts';
import { createUsageAdder, quartersKeptFrom } from './add-up-usage.ts';

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
  /** What a point stands for: an hour, or so many days. */
  unit: 'hour' | 'day';
  daysPerPoint: number;
  totals: UsageSum;
  /** At most 200, the oldest first, without gaps. `at`: Unix seconds of its begin. */
  points: (UsageSum & { at: number })[];
  /** The highest spend first. `name` is undefined for a model, and where the row is gone. */
  shares: (UsageShare & { name: string | undefined })[];
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

  return async ({ period, by, only }) => {
    await addUp();
    const { starts, ...frame } = chooseFrame(period, await keptFrom());
    const from = starts[0] ?? 0;
    const until = starts.at(-1) ?? from;
    const filter: UsageSumFilter = { unit: frame.reads, from, until, ...only };
    const [times, { total, shares }] = await Promise.all([
      store.usage.byTime(filter),
      store.usage.byDimension(filter, by, MAX_SHARES),
    ]);
    const points = starts.slice(0, -1).map((at) => ({ at, ...nothing() }));
    let next = 0;
    const totals = nothing();
    for (const sum of times) {
      while (next + 1 < points.length && sum.start >= (starts[next + 1] ?? until)) next += 1;
      add(points[next], sum);
      add(totals, sum);
    }
    const names = by === 'model' ? new Map<number, string>() : await store.usage.names(by, listIds(shares));
    return {
      zone: frame.zone,
      from,
      until,
      unit: frame.unit,
      daysPerPoint: frame.daysPerPoint,
      totals,
      points,
      shares: shares.map((share) => ({ ...share, name: names.get(share.id) })),
      others: { shares: total - shares.length, ...rest(totals, shares) },
    };
  };
}

const nothing = (): UsageSum => ({ succeeded: 0, failed: 0, spend: 0 });

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
