import type { FailureShare, FailureVerdict, OutcomeCount, PluginStage } from '../../store/ports/index.ts';

/** Fewer cases say nothing. */
const LEAST_CASES = 20;
/** The new version is compared by its cases of so many minutes, or by its last 20. */
const WINDOW_MINUTES = 15;
/** The former version is compared by its last cases. */
const FORMER_CASES = 200;
const LEAST_SHARE = 0.5;
const LEAST_RATIO = 3;

const STAGES: readonly PluginStage[] = ['submit', 'poll', 'artifact'];

/** Adds up counts, the latest first, until `enough` says so before one is added. */
function addUp(
  counts: readonly OutcomeCount[],
  enough: (sum: FailureShare, next: OutcomeCount) => boolean,
): FailureShare {
  const sum = { cases: 0, failures: 0 };
  for (const count of counts) {
    if (enough(sum, count)) break;
    sum.cases += count.cases;
    sum.failures += count.failures;
  }
  return sum;
}

const shareOf = ({ cases, failures }: FailureShare): number => (cases === 0 ? 0 : failures / cases);

/**
 * The stage in which a version fails clearly more often than the one before it: half of its cases
 * at least, and three times the former share. `now` and `before` are their counts, the latest
 * first. A version that had no cases counts as one without failures.
 */
export function compareFailures(
  now: readonly OutcomeCount[],
  before: readonly OutcomeCount[],
  { activatedAt, at }: { activatedAt: number; at: number },
): FailureVerdict | null {
  const since = Math.floor(activatedAt / 60);
  const windowBegin = Math.floor(at / 60) - WINDOW_MINUTES;
  for (const stage of STAGES) {
    const isOwn = (count: OutcomeCount): boolean => count.stage === stage;
    const latest = addUp(
      now.filter((count) => isOwn(count) && count.minute >= since),
      (sum, { minute }) => minute < windowBegin && sum.cases >= LEAST_CASES,
    );
    const former = addUp(before.filter(isOwn), (sum) => sum.cases >= FORMER_CASES);
    const [share, formerShare] = [shareOf(latest), shareOf(former)];
    const isClear = share >= LEAST_SHARE && share >= LEAST_RATIO * formerShare;
    if (latest.cases >= LEAST_CASES && isClear) return { stage, at, now: latest, before: former };
  }
  return null;
}
