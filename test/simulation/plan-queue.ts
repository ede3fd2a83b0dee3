import type { DeclaredLimit } from '../../src/store/ports/index.ts';
import type { SeededRandom } from './random.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** What accounts run, and how long tasks wait for it. */
export type Queue = {
  /** 0: clients see that a vendor is full. */
  maxWaitMs: number;
  /** What the vendor runs at once in an account; beyond it answers 429. */
  vendorRuns: number;
  /** One account, and one pool, behind all channels. */
  isShared: boolean;
  /** What the operator declares of each account at the beginning; undefined: it is learned. */
  declared: DeclaredLimit | undefined;
};

/** What an administrator does. */
export type OperatorAct = { atMs: number } & ({ kind: 'limit'; limit: DeclaredLimit } | { kind: 'front' });

export function drawQueue(random: SeededRandom, { waits, isCalm }: { waits: boolean; isCalm: boolean }): Queue {
  if (!waits) return { maxWaitMs: 0, vendorRuns: Number.POSITIVE_INFINITY, isShared: false, declared: undefined };
  const vendorRuns = random.between(1, 5);
  return {
    maxWaitMs: isCalm ? 60 * MINUTE : random.pick([2 * MINUTE, 10 * MINUTE, 60 * MINUTE]),
    vendorRuns,
    isShared: random.chance(0.4),
    declared: random.chance(0.65) ? drawLimit(random, vendorRuns) : undefined,
  };
}

/** Never above what the vendor runs. */
const drawLimit = (random: SeededRandom, vendorRuns: number): DeclaredLimit => ({
  maxRunning: random.between(1, vendorRuns),
  ...(random.chance(0.2) ? { maxPerMinute: random.between(4, 20), burst: random.between(1, 3) } : {}),
});

/** `bursts`: when many orders come, after which something waits. */
export function drawActs(random: SeededRandom, queue: Queue, bursts: readonly number[]): OperatorAct[] {
  const [first, ...others] = bursts;
  if (first === undefined) return [];
  const soon = (): number => random.pick([first, ...others]) + random.below(40 * SECOND);
  const { declared, vendorRuns } = queue;
  const limits = Array.from({ length: declared ? random.pick([0, 0, 1, 2]) : 0 }, () => ({
    ...{ atMs: soon(), kind: 'limit' as const },
    limit: drawLimit(random, vendorRuns),
  }));
  const fronts = Array.from({ length: random.pick([0, 0, 1, 3]) }, () => ({
    ...{ atMs: soon(), kind: 'front' as const },
  }));
  return [...limits, ...fronts];
}
