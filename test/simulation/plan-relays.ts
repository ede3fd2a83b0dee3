import {
  CHATTER,
  CUSTOMERS,
  keyHashFor,
  RELAY_ACCOUNTS,
  RELAY_MODELS,
  RELAY_PRICES,
  ratioFor,
} from './prepared-world.ts';
import type { SeededRandom } from './random.ts';

const SECOND = 1000;

/** How the vendor answers a relayed request. */
type AnswerFate = {
  /** How long it works before its answer begins. */
  workMs: number;
  /** How many pieces of text come, or images. */
  pieces: number;
  /** The time between two pieces of a stream. */
  everyMs: number;
  /** What it says that it used. `too much`: more than the request can have cost. */
  tells: 'usage' | 'usage twice' | 'nothing' | 'too much';
  used: number;
  /**
   * The connection breaks after this many events of a stream, or within an answer that is not
   * streamed.
   */
  breaksAfter: number | undefined;
  refused: boolean;
};

/** A request that is passed on to a vendor of the same API. */
export type PlannedRelay = {
  name: string;
  user: string;
  keyHash: string;
  atMs: number;
  model: (typeof RELAY_MODELS)[number];
  /** `followed`: its client does not wait, and asks for the task. */
  way: 'whole' | 'stream' | 'followed';
  /** The most tokens of the answer; undefined: as many as the channel says. */
  maxTokens: number | undefined;
  /** Images that it asks for. */
  images: number;
  idempotencyKey: string | null;
  /** The client repeats what failed with its Idempotency-Key, whatever it was told. */
  insists: boolean;
  /** How long after its request the client leaves. */
  leavesMs: number | undefined;
  fate: AnswerFate;
};

export type Relays = {
  requests: readonly PlannedRelay[];
  /** How many may be open at once in an account. */
  mostOpen: number | undefined;
  /** What the API key of one user may spend. */
  ofKey: { user: string; amount: number } | undefined;
  /** Quota that a node may reserve in memory alone; 0: none. */
  mostHeld: number;
};

const NO_RELAYS: Relays = { requests: [], mostOpen: undefined, ofKey: undefined, mostHeld: 0 };

/** Histories in which clients chat and draw. */
const SHARE = 0.3;

export function drawRelays(
  random: SeededRandom,
  { withinMs, isCalm, machines }: { withinMs: number; isCalm: boolean; machines: number },
): Relays {
  if (!random.chance(SHARE)) return NO_RELAYS;
  const burstMs = random.below(withinMs);
  const requests = Array.from({ length: random.between(3, 10) }, (_, index) => {
    const atMs = random.chance(0.5) ? burstMs + random.below(4 * SECOND) : random.below(withinMs);
    return { name: `relay-${index}`, atMs, ...drawRelay(random, { index, isCalm }) };
  });
  const mostOpen = random.chance(0.3) ? random.between(1, 3) : undefined;
  const ofKey = random.chance(0.3)
    ? { user: random.pick(CUSTOMERS).name, amount: random.between(3, 20) * 10_000 }
    : undefined;
  const mostHeld = random.chance(machines === 1 ? 0.4 : 0.7) ? random.pick([10_000, 30_000, 30_000]) : 0;
  const chats = mostHeld > 0 ? drawChats(random, { from: requests.length, withinMs, isCalm }) : [];
  return { requests: [...requests, ...chats], mostOpen, ofKey, mostHeld };
}

/** Chats of one user with all nodes at once: their balance covers all of them, or only some. */
function drawChats(
  random: SeededRandom,
  { from, withinMs, isCalm }: { from: number; withinMs: number; isCalm: boolean },
): PlannedRelay[] {
  const isCovered = random.chance(0.5);
  const fromMs = random.below(withinMs);
  const lastsMs = random.pick([5, 60, 60]) * SECOND;
  // A repeat of a few is covered as well.
  let left = 0.8 * CHATTER.balance;
  return Array.from({ length: random.between(12, 30) }, (_, index): PlannedRelay => {
    const relay = drawRelay(random, { index, isCalm });
    return {
      ...{ ...relay, name: `relay-${from + index}`, atMs: fromMs + index * random.below(lastsMs / 15) },
      ...{ user: CHATTER.name, keyHash: keyHashFor(CHATTER.name), idempotencyKey: null },
      model: index === 0 ? 'chat-flat' : random.pick(['chat', 'chat', 'chat-flat'] as const),
      way: relay.way === 'followed' ? 'whole' : relay.way,
    };
  }).filter((relay) => {
    if (!isCovered) return true;
    const cost = estimateRelay(relay);
    if (cost > left) return false;
    left -= cost;
    return true;
  });
}

/** What is reserved for it. `account`: that it is made with; absent: whichever reserves most. */
export function estimateRelay(
  { user, model, maxTokens, images }: Pick<PlannedRelay, 'user' | 'model' | 'maxTokens' | 'images'>,
  account?: string,
): number {
  const most = account === undefined ? Math.max(...Object.values(RELAY_ACCOUNTS)) : RELAY_ACCOUNTS[account];
  const count = { chat: maxTokens ?? most ?? Number.NaN, 'chat-flat': 1, draw: images }[model];
  return Math.round(count * RELAY_PRICES[model] * ratioFor(user));
}

function drawRelay(
  random: SeededRandom,
  { index, isCalm }: { index: number; isCalm: boolean },
): Omit<PlannedRelay, 'name' | 'atMs'> {
  const { name: user } = random.pick(CUSTOMERS);
  const model = random.pick(RELAY_MODELS);
  const draws = model === 'draw';
  const images = random.between(1, 3);
  const maxTokens = random.chance(0.6) ? random.between(20, 60) : undefined;
  const pieces = random.between(random.chance(0.2) ? 0 : 1, draws ? images : 12);
  const tells = random.pick(['usage', 'usage', 'usage', 'usage twice', 'nothing', 'too much'] as const);
  return {
    ...{ user, keyHash: keyHashFor(user), model, maxTokens, images },
    way: draws
      ? random.pick(['whole', 'followed', 'followed'] as const)
      : random.pick(['whole', 'stream', 'stream'] as const),
    idempotencyKey: random.chance(0.5) ? `key of relay-${index}` : null,
    insists: random.chance(0.5),
    leavesMs: random.chance(0.15) ? random.between(1, 20) * SECOND : undefined,
    fate: {
      workMs: random.between(0, random.pick(draws ? [10, 60, isCalm ? 60 : 150] : [1, 5, 30])) * SECOND,
      pieces,
      everyMs: random.pick([50, 400, 3000]),
      // Without a limit of the request no report is beyond it.
      tells: tells === 'too much' && maxTokens === undefined ? 'usage' : tells,
      used: random.between(pieces, 20),
      breaksAfter: !isCalm && random.chance(0.2) ? random.below(pieces + 3) : undefined,
      refused: !isCalm && random.chance(0.05),
    },
  };
}
