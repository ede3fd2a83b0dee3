import { drawRates, type FaultRates } from './faults.ts';
import type { Order } from './gateway.ts';
import { keyHashOf, USERS } from './prepared-world.ts';
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
};

/** All that chance decides before a history begins. */
export type Plan = {
  machines: number;
  /** Faults and disturbances end then. */
  healAtMs: number;
  rates: FaultRates;
  orders: readonly PlannedOrder[];
  disturbances: readonly Disturbance[];
};

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const STEPS_MS = [1 * SECOND, 31 * SECOND, 5 * MINUTE, 8 * HOUR] as const;
const SUSPENSIONS_MS = [5 * SECOND, 31 * SECOND, 3 * MINUTE] as const;

export function drawPlan(random: SeededRandom, dialect: 'sqlite' | 'postgres'): Plan {
  // Several nodes look for work each second, by a server: these histories are shorter.
  const machines = dialect === 'sqlite' ? 1 : random.pick([2, 2, 3, 4]);
  const healAtMs = (dialect === 'sqlite' ? random.between(1, 5) : random.between(1, 2)) * MINUTE;
  const orders = Array.from({ length: random.between(6, 20) }, (_, index) => drawOrder(random, index, healAtMs));
  const disturbances = [
    ...drawSome(random, { kind: 'kill', most: random.pick([0, 0, 1, 4]), spans: [0] }),
    ...drawSome(random, { kind: 'stop', most: random.pick([0, 0, 1, 3]), spans: [0] }),
    ...drawSome(random, { kind: 'suspend', most: random.pick([0, 0, 0, 2]), spans: SUSPENSIONS_MS }),
    ...drawSome(random, { kind: 'step', most: random.pick([0, 0, 0, 2]), spans: STEPS_MS }),
  ].map((each) => ({ ...each, atMs: random.below(healAtMs), machine: random.below(machines) }));
  return { machines, healAtMs, rates: drawRates(random), orders, disturbances };
}

function drawSome(
  random: SeededRandom,
  { kind, most, spans }: { kind: Disturbance['kind']; most: number; spans: readonly [number, ...number[]] },
): Pick<Disturbance, 'kind' | 'ms'>[] {
  const sign = (): number => (kind === 'step' && random.chance(0.5) ? -1 : 1);
  return Array.from({ length: random.between(0, most) }, () => ({ kind, ms: random.pick(spans) * sign() }));
}

function drawOrder(random: SeededRandom, index: number, withinMs: number): PlannedOrder {
  const { name: user } = random.pick(USERS);
  const isBatch = random.chance(0.3);
  const seconds = random.between(2, 12);
  const isKeyed = random.chance(0.5);
  return {
    name: `order-${index}`,
    user,
    atMs: random.below(withinMs),
    pluginKey: isBatch ? 'demo-batch' : 'demo',
    model: isBatch ? 'demo-batch-video' : 'demo-video',
    seconds,
    keyHash: keyHashOf(user),
    idempotencyKey: isKeyed ? `key of order-${index}` : null,
    callback: random.chance(0.6),
    keep: random.chance(0.3),
    insists: random.chance(0.5),
    fate: {
      durationMs: random.chance(0.1) && !isBatch ? 0 : random.between(5, random.pick([15, 40, 40, 300])) * SECOND,
      end: random.chance(0.15) ? 'failed' : 'succeeded',
      usedSeconds: random.pick([seconds, seconds, seconds - 1, seconds + 1]),
      refused: random.chance(0.04),
    },
  };
}
