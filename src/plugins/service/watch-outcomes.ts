import { isDeepStrictEqual } from 'node:util';
import type { Clock, Logger } from '../../kernel/index.ts';
import type {
  ActivationRecord,
  FailureShare,
  FailureVerdict,
  OutcomeCount,
  PluginStage,
  Store,
} from '../../store/ports/index.ts';
import type { Registry } from '../registry/create-registry.ts';

/** How long after it has counted a node stores that, in ms. */
const STORE_EVERY_MS = 10_000;
/** Later failures are not blamed on the activation, in seconds. */
const WATCHED_SECONDS = 7 * 86_400;
/** Rows of a source that are read: enough for the last 200 cases of each stage. */
const READ_ROWS = 700;
/** Counts older than this many minutes are deleted. */
const KEPT_MINUTES = 14 * 24 * 60;

/** A call that ended for a plugin version. `failed`: for a reason that is the version's. */
export type PluginOutcome = { sourceHash: string; stage: PluginStage; failed: boolean };

/** A version that fails clearly more often than the one before it, or did until it was replaced. */
export type FailingVersion = Pick<ActivationRecord, 'key' | 'version' | 'formerVersion'> & {
  verdict: FailureVerdict;
  rolledBack: boolean;
};

/**
 * Counts outcomes in memory, adds them to the counts of all nodes every ten seconds, and compares
 * activated versions with the ones before them.
 */
export interface OutcomeWatch {
  count(outcome: PluginOutcome): void;
  start(): void;
  /** Stores what is counted. */
  stop(): Promise<void>;
  failing(): Promise<FailingVersion[]>;
  deleteOld(limit: number): Promise<number>;
}

export function createOutcomeWatch(deps: {
  store: Pick<Store, 'pluginOutcomes'>;
  clock: Clock;
  logger: Logger;
  registry: Pick<Registry, 'current'>;
  /** Goes back to the former version if that is wanted and possible. */
  rollBack: (activation: ActivationRecord, verdict: FailureVerdict) => Promise<void>;
  everyMs?: number;
}): OutcomeWatch {
  const { store, clock, logger, registry, rollBack, everyMs = STORE_EVERY_MS } = deps;
  let counted = new Map<string, OutcomeCount>();
  const stopping = new AbortController();
  let isStarted = false;
  /** Whether what is counted will be stored. Nothing counted, nothing to wake up for. */
  let isScheduled = false;
  let running: Promise<void> = Promise.resolve();

  const isServing = ({ key }: Pick<ActivationRecord, 'key'>, sourceHash: string): boolean =>
    registry.current().plugins.get(key)?.sourceHash === sourceHash;
  const watched = () => store.pluginOutcomes.activations(clock.unix() - WATCHED_SECONDS);

  async function storeCounts(): Promise<Set<string>> {
    const counts = [...counted.values()].sort(inOrder);
    counted = new Map();
    try {
      if (counts.length > 0) await store.pluginOutcomes.add(counts);
    } catch (error) {
      // At most a bucket for each source, stage and minute.
      for (const count of counts) add(count);
      throw error;
    }
    return new Set(counts.map(({ sourceHash }) => sourceHash));
  }

  async function compare(activation: ActivationRecord): Promise<void> {
    const [now, before] = await Promise.all([
      store.pluginOutcomes.latest(activation.sourceHash, READ_ROWS),
      store.pluginOutcomes.latest(activation.formerHash, READ_ROWS),
    ]);
    const { activatedAt } = activation;
    const verdict = compareFailures(now, before, { activatedAt, at: clock.unix() });
    if (!isDeepStrictEqual(verdict, activation.verdict)) await store.pluginOutcomes.setVerdict(activation, verdict);
    if (!verdict) return;
    if (!activation.verdict) {
      const { key, version, formerVersion } = activation;
      const fields = { task_plugin: 'failures', plugin: key, version, former: formerVersion, ...verdict };
      logger.warn(fields, 'an activated version fails more often than the one before it');
    }
    if (activation.rolledBackAt === 0) await rollBack(activation, verdict);
  }

  async function step(): Promise<void> {
    const sources = await storeCounts();
    if (sources.size === 0) return;
    for (const activation of await watched()) {
      const { sourceHash } = activation;
      if (sources.has(sourceHash) && isServing(activation, sourceHash)) await compare(activation);
    }
  }

  const attempt = (work: () => Promise<unknown>): Promise<void> =>
    work().then(
      () => undefined,
      (error) => logger.warn({ err: error }, 'outcomes of plugin calls could not be stored; trying again'),
    );

  function add({ cases, failures, ...bucket }: OutcomeCount): void {
    const name = `${bucket.sourceHash} ${bucket.stage} ${bucket.minute}`;
    const known = counted.get(name);
    if (known) {
      known.cases += cases;
      known.failures += failures;
    } else counted.set(name, { ...bucket, cases, failures });
    schedule();
  }

  function schedule(): void {
    if (isScheduled || !isStarted || stopping.signal.aborted) return;
    isScheduled = true;
    running = (async () => {
      await clock.sleep(everyMs, stopping.signal);
      if (!stopping.signal.aborted) await attempt(step);
      isScheduled = false;
      if (counted.size > 0) schedule();
    })();
  }

  return {
    count({ sourceHash, stage, failed }) {
      const minute = Math.floor(clock.unix() / 60);
      add({ sourceHash, stage, minute, cases: 1, failures: failed ? 1 : 0 });
    },
    start() {
      isStarted = true;
      if (counted.size > 0) schedule();
    },
    async stop() {
      stopping.abort();
      await running;
      await attempt(storeCounts);
    },
    async failing() {
      return (await watched()).flatMap(({ key, version, formerVersion, formerHash, sourceHash, ...rest }) => {
        const { verdict } = rest;
        const rolledBack = rest.rolledBackAt > 0 && isServing({ key }, formerHash);
        if (!verdict || !(rolledBack || isServing({ key }, sourceHash))) return [];
        return [{ key, version, formerVersion, verdict, rolledBack }];
      });
    },
    deleteOld: (limit) => store.pluginOutcomes.deleteBefore(Math.floor(clock.unix() / 60) - KEPT_MINUTES, limit),
  };
}

/** All nodes use the same order, so that two that store at once do not wait for each other. */
const inOrder = (one: OutcomeCount, other: OutcomeCount): number =>
  one.sourceHash.localeCompare(other.sourceHash) || one.stage.localeCompare(other.stage) || one.minute - other.minute;

/** Fewer cases say nothing. */
const LEAST_CASES = 20;
/** The new version is compared by its cases of this many minutes, or by its last 20. */
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

const toShare = ({ cases, failures }: FailureShare): number => (cases === 0 ? 0 : failures / cases);

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
    const [share, formerShare] = [toShare(latest), toShare(former)];
    const isClear = share >= LEAST_SHARE && share >= LEAST_RATIO * formerShare;
    if (latest.cases >= LEAST_CASES && isClear) return { stage, at, now: latest, before: former };
  }
  return null;
}
