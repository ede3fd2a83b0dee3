import { drawRates, type FaultRates, NO_FAULTS } from './faults.ts';
import type { Order } from './gateway.ts';
import { drawActs, drawFallback, drawFronts, drawQueue, type OperatorAct, type Queue } from './plan-queue.ts';
import { drawRelays, type Relays } from './plan-relays.ts';
import { CUSTOMERS, keyHashFor } from './prepared-world.ts';
import type { SeededRandom } from './random.ts';
import type { OrderFate } from './vendor.ts';

/** `ms`: how long the machine is suspended, or how far its clock steps. */
export type Disturbance = { atMs: number; machine: number; kind: 'kill' | 'stop' | 'suspend' | 'step'; ms: number };

export type PlannedOrder = Order & {
  user: string;
  atMs: number;
  fate: OrderFate;
  /** The client repeats what failed with its Idempotency-Key, whatever it was told. */
  insists: boolean;
  /** The client leaves before it has its answer, this long after it asked. */
  leavesMs: number | undefined;
  /** What the client does with its task, this long after it knows it. */
  removal: { kind: 'cancel' | 'delete'; afterMs: number } | undefined;
};

/** All that chance decides before a history begins. */
export type Plan = {
  machines: number;
  /** Nothing fails: what the rules say of order, shares and free slots holds to the second. */
  isCalm: boolean;
  /** Faults and disturbances end then. */
  healAtMs: number;
  rates: FaultRates;
  queue: Queue;
  orders: readonly PlannedOrder[];
  relays: Relays;
  disturbances: readonly Disturbance[];
  operator: readonly OperatorAct[];
};

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const STEPS_MS = [1 * SECOND, 31 * SECOND, 5 * MINUTE, 8 * HOUR] as const;
const SUSPENSIONS_MS = [5 * SECOND, 31 * SECOND, 3 * MINUTE] as const;

export function drawPlan(random: SeededRandom, dialect: 'sqlite' | 'postgres'): Plan {
  // Several nodes look for work each second, by a server: these histories are shorter.
  const machines = dialect === 'sqlite' ? 1 : random.pick([2, 2, 3, 4]);
  const waits = random.chance(0.6);
  const isCalm = waits && random.chance(0.4);
  const healAtMs = (dialect === 'sqlite' ? random.between(1, 5) : random.between(1, 2)) * MINUTE;
  const greedy = waits && random.chance(0.5) ? random.pick(CUSTOMERS).name : undefined;
  const queue = drawQueue(random, { waits, isCalm, isGreedy: greedy !== undefined });
  const bursts = waits ? Array.from({ length: random.between(1, 3) }, () => random.below(healAtMs)) : [];
  const drawn: Drawn = { withinMs: healAtMs, bursts, isCalm, greedy, stepMs: dialect === 'sqlite' ? 1 : INSTANT_MS };
  const orders = Array.from({ length: random.between(greedy ? 16 : 6, greedy ? 28 : waits ? 24 : 20) }, (_, index) =>
    drawOrder(random, index, drawn),
  );
  const disturbances = [
    ...drawSome(random, { kind: 'kill', most: random.pick([0, 0, 1, 4]), spans: [0] }),
    ...drawSome(random, { kind: 'stop', most: random.pick([0, 0, 1, 3]), spans: [0] }),
    ...drawSome(random, { kind: 'suspend', most: random.pick([0, 0, 0, 2]), spans: SUSPENSIONS_MS }),
    ...drawSome(random, { kind: 'step', most: random.pick([0, 0, 0, 2]), spans: STEPS_MS }),
  ].map((each) => ({ ...each, atMs: random.below(healAtMs), machine: random.below(machines) }));
  const rates = isCalm ? NO_FAULTS : drawRates(random);
  const operator = drawActs(random, queue, bursts);
  // They are drawn last, so that what is drawn before stays what it was.
  const fallback = waits ? drawFallback(random) : undefined;
  const asked = orders.map((order) => ({ ...order, allowFallback: fallback && random.chance(0.2) ? 'false' : null }));
  const relays = drawRelays(random, { withinMs: healAtMs, isCalm, machines });
  // What is moved to the front is checked where nothing else changes the order. Shares of users are
  // checked until then, so others have none.
  const fronts = isCalm && !queue.dead && !fallback && random.chance(0.5) ? drawFronts(random, bursts) : [];
  return {
    ...{ machines, isCalm, healAtMs, rates, operator: [...operator, ...fronts], orders: asked },
    ...{ queue: { ...queue, fallback }, relays },
    disturbances: isCalm ? [] : disturbances,
  };
}

function drawSome(
  random: SeededRandom,
  { kind, most, spans }: { kind: Disturbance['kind']; most: number; spans: readonly [number, ...number[]] },
): Pick<Disturbance, 'kind' | 'ms'>[] {
  const sign = (): number => (kind === 'step' && random.chance(0.5) ? -1 : 1);
  return Array.from({ length: random.between(0, most) }, () => ({ kind, ms: random.pick(spans) * sign() }));
}

/**
 * `greedy` orders half of all, before the others of a burst. `stepMs`: between those of a burst.
 */
type Drawn = {
  withinMs: number;
  bursts: readonly number[];
  isCalm: boolean;
  greedy: string | undefined;
  stepMs: number;
};
const GREEDY_MS = 500;
/** On several nodes many ask in the same instant: they meet before a limit is reached. */
const INSTANT_MS = 500;

function drawOrder(
  random: SeededRandom,
  index: number,
  { withinMs, bursts, isCalm, greedy, stepMs }: Drawn,
): PlannedOrder {
  const { name: someone } = random.pick(CUSTOMERS);
  const user = greedy !== undefined && random.chance(0.5) ? greedy : someone;
  const late = greedy === undefined || user === greedy ? 0 : GREEDY_MS;
  const within = user === greedy ? GREEDY_MS : 3 * SECOND - late;
  const isBatch = random.chance(greedy === undefined ? 0.3 : 0.15);
  const seconds = random.between(2, 12);
  const isKeyed = random.chance(0.5);
  const surface = isBatch ? 'generic' : random.pick(['generic', 'generic', 'video', 'native'] as const);
  const atMs = random.below(withinMs);
  const burst = bursts[random.below(Math.max(1, bursts.length))];
  const longest = bursts.length > 0 ? random.pick([10, 20, 20, 60]) : random.pick([15, 40, 40, 300]);
  return {
    name: `order-${index}`,
    surface,
    user,
    atMs:
      burst === undefined || random.chance(0.2)
        ? atMs
        : burst + late + Math.floor(random.below(within) / stepMs) * stepMs,
    pluginKey: isBatch ? 'demo-batch' : 'demo',
    model: isBatch ? 'demo-batch-video' : 'demo-video',
    seconds,
    keyHash: keyHashFor(user),
    idempotencyKey: isKeyed ? `key of order-${index}` : null,
    callback: random.chance(0.6),
    keep: random.chance(0.3),
    allowFallback: null,
    insists: random.chance(0.5),
    leavesMs: random.chance(surface === 'native' ? 0.3 : 0.03) ? random.between(1, 20) * SECOND : undefined,
    removal: random.chance(0.15)
      ? { kind: random.pick(['cancel', 'cancel', 'delete']), afterMs: random.below(random.pick([2, 30]) * SECOND) }
      : undefined,
    fate: {
      durationMs: random.chance(0.1) && !isBatch ? 0 : random.between(5, longest) * SECOND,
      end: random.chance(0.15) ? 'failed' : 'succeeded',
      usedSeconds: random.pick([seconds, seconds, seconds - 1, seconds + 1]),
      refused: !isCalm && random.chance(0.04),
    },
  };
}
