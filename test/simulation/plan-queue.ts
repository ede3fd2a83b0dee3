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
  /** What one user may run at once, and what another may spend. */
  own: { user: string; maxRunning: number } | undefined;
  budget: { user: string; amount: number } | undefined;
  /** The channel `first` has a second key of its account. */
  hasSpare: boolean;
  /** Another model may serve after this long, or, null, once every key of the first one rests. */
  fallback: { afterMs: number | null } | undefined;
  /** A key that the vendor refuses for a while. */
  dead: { key: string; fromMs: number; untilMs: number } | undefined;
};

export const SPARE_KEY = 'vendor-key-of-first/spare';
const KEYS = [SPARE_KEY, 'vendor-key-of-first', 'vendor-key-of-second', 'vendor-key-of-batch'] as const;

/** What an administrator does. */
export type OperatorAct = { atMs: number } & (
  | { kind: 'limit'; limit: DeclaredLimit }
  | { kind: 'front' }
  /** Removes the second key of a channel. */
  | { kind: 'removal' }
);

const NOTHING_OWN = { own: undefined, budget: undefined, hasSpare: false, fallback: undefined, dead: undefined };

export function drawQueue(
  random: SeededRandom,
  { waits, isCalm, isGreedy }: { waits: boolean; isCalm: boolean; isGreedy: boolean },
): Queue {
  if (!waits)
    return {
      ...{ maxWaitMs: 0, vendorRuns: Number.POSITIVE_INFINITY, isShared: false, declared: undefined },
      ...NOTHING_OWN,
    };
  // Where one user orders much, others wait for long beside them.
  const vendorRuns = random.between(1, isGreedy ? 2 : 5);
  const isShort = random.chance(0.3);
  const hasSpare = random.chance(0.4);
  const fromMs = random.below(2 * MINUTE);
  return {
    maxWaitMs: isCalm ? (isShort ? 2 : 60) * MINUTE : random.pick([2 * MINUTE, 10 * MINUTE, 60 * MINUTE]),
    vendorRuns,
    isShared: random.chance(0.4),
    declared: random.chance(0.65) ? drawLimit(random, vendorRuns) : undefined,
    own: random.chance(0.25) ? { user: random.pick(LIMITED), maxRunning: random.between(1, 2) } : undefined,
    budget: random.chance(0.25) ? { user: random.pick(LIMITED), amount: random.between(8, 40) * 10_000 } : undefined,
    hasSpare,
    fallback: undefined,
    // A short wait may end before the vendor is asked again.
    dead:
      random.chance(0.3) && !(isCalm && isShort)
        ? {
            key: random.pick(hasSpare ? KEYS : (KEYS.slice(1) as [string, ...string[]])),
            fromMs,
            untilMs: fromMs + random.pick([20 * SECOND, 2 * MINUTE, 8 * MINUTE]),
          }
        : undefined,
  };
}

export const drawFallback = (random: SeededRandom): Queue['fallback'] =>
  random.chance(0.3) ? { afterMs: random.pick([null, 5 * SECOND, 30 * SECOND]) } : undefined;

/** Who may have a limit of their own. */
const LIMITED = ['ada', 'bob', 'dan'] as const;

/** Never above what the vendor runs. */
const drawLimit = (random: SeededRandom, vendorRuns: number): DeclaredLimit => ({
  maxRunning: random.between(1, vendorRuns),
  ...(random.chance(0.3) ? { maxPerMinute: random.between(3, 12), burst: random.between(1, 3) } : {}),
});

/** Moves to the front soon after a burst, while much still waits. */
export const drawFronts = (random: SeededRandom, bursts: readonly number[]): OperatorAct[] =>
  bursts.flatMap((atMs) => [6, 12, 20].map((s) => ({ atMs: atMs + s * SECOND + random.below(SECOND), kind: 'front' })));

/** `bursts`: when many orders come, after which something waits. */
export function drawActs(random: SeededRandom, queue: Queue, bursts: readonly number[]): OperatorAct[] {
  const [first, ...others] = bursts;
  if (first === undefined) return [];
  const soon = (): number => random.pick([first, ...others]) + random.below(40 * SECOND);
  const { declared, vendorRuns, hasSpare } = queue;
  const limits = Array.from({ length: declared ? random.pick([0, 0, 1, 2]) : 0 }, () => ({
    ...{ atMs: soon(), kind: 'limit' as const },
    limit: drawLimit(random, vendorRuns),
  }));
  const fronts = Array.from({ length: random.pick([0, 0, 1, 3]) }, () => ({
    ...{ atMs: soon(), kind: 'front' as const },
  }));
  const removals = hasSpare && random.chance(0.6) ? [{ atMs: soon(), kind: 'removal' as const }] : [];
  return [...limits, ...fronts, ...removals];
}
