import { drawImage, PIECE, type RelayArrival } from './chat-vendor.ts';
import { type Facts, mayBeHeld, type Rule, sum } from './facts.ts';
import { estimateRelay } from './plan-relays.ts';
import { RELAY_ACCOUNTS, RELAY_PRICES, ratioFor } from './prepared-world.ts';
import type { BookedRelay } from './read-books.ts';
import { nameAttempt, type PlacedRelay, type RelayAttempt } from './relay-clients.ts';

/** How long a bill may take to be stored. */
const LONGEST_BILL_MS = 60_000;

/** What the specification says of requests that are passed on to a vendor of the same API. */
export const RELAY_RULES: Record<string, Rule> = {
  'a relayed request is billed once by what was used, or refunded': (facts, say) => {
    for (const row of facts.books.relays) {
      const { relay, answer } = findAttempt(facts, row);
      const lines = facts.books.lines.filter(({ taskId }) => taskId === row.relayId);
      const charged = -sum(lines.map(({ amount }) => amount));
      const isBilled = row.status === 'BILLED';
      const bill = isBilled && relay && answer ? priceAnswer(relay, answer) : 0;
      if (!relay || row.user !== relay.user)
        say(`${row.relayId} is of ${row.user}, and ${relay?.name} of ${relay?.user}`);
      if (row.status === 'OPEN') say(`${relay?.name} is open at the end, with ${charged} reserved`);
      if (isBilled && !answer) say(`${relay?.name} was charged ${charged}, and nobody answered it`);
      if (row.status !== 'OPEN' && (charged !== bill || row.quota !== bill))
        say(`${relay?.name} is ${row.status}, says ${row.quota}, was charged ${charged}, and costs ${bill}`);
    }
  },

  'an answer that came is billed': (facts, say) => {
    /** By the process that forgot it. */
    const forgotten = new Map<string, number>();
    for (const relay of facts.relays) {
      for (const [index, attempt] of relay.attempts.entries()) {
        const answer = findAnswer(facts, { relay, attempt });
        const row = findRow(facts, { relay, index });
        if (!answer || row?.status === 'BILLED') continue;
        if (!row && !mayBeHeld(facts, relay)) say(`${relay.name} was answered, and nothing was reserved for it`);
        else if (answer.end && !mayBeUnbilled(facts, answer))
          say(`${relay.name} was answered at ${answer.end.atMs / 1000} s, and is ${row?.status}`);
        else if (!row && facts.plan.rates.database === 0)
          forgotten.set(answer.by, (forgotten.get(answer.by) ?? 0) + estimateRelay(relay, answer.account));
      }
    }
    for (const [process, quota] of forgotten)
      if (quota > facts.plan.relays.mostHeld) say(`${process} forgot ${quota} of ${facts.plan.relays.mostHeld}`);
  },

  'who has an answer has paid for it, and who has none has not': (facts, say) => {
    for (const relay of facts.relays) {
      for (const [index, attempt] of relay.attempts.entries()) {
        const { outcome } = attempt;
        const row = findRow(facts, { relay, index });
        if (typeof outcome === 'string') continue;
        if ('code' in outcome) {
          if (row?.status === 'BILLED') say(`${relay.name} was told ${outcome.code}, and charged ${row.quota}`);
          continue;
        }
        if (outcome.replayed || outcome.status !== 200) continue;
        const answer = findAnswer(facts, { relay, attempt });
        const isBilledFirst = !mayBeHeld(facts, relay) && (relay.way !== 'stream' || relay.model === 'chat-flat');
        if (row?.status !== 'BILLED' && (isBilledFirst || !answer || !mayBeUnbilled(facts, answer)))
          say(`${relay.name} was answered, and is ${row?.status}`);
        if (outcome.isWhole && countResults(relay, outcome.text) !== (answer?.readPieces ?? 0))
          say(`${relay.name} got ${JSON.stringify(outcome.text)}, of ${answer?.readPieces} pieces`);
      }
    }
  },

  'a relayed request is made once': (facts, say) => {
    for (const relay of facts.relays) {
      const done = arrivalsFor(facts, relay).filter(({ isDone }) => isDone);
      if (relay.idempotencyKey !== null && done.length > 1)
        say(`${relay.name} has an Idempotency-Key and was made ${done.map(({ by, atMs }) => `by ${by} at ${atMs}`)}`);
      for (const attempt of relay.attempts) {
        const { outcome, beginMs } = attempt;
        const own = done.filter(({ atMs }) => findAsking(relay, atMs) === attempt);
        if (own.length > 1) say(`${relay.name} was made ${own.length} times for the request at ${beginMs / 1000} s`);
        const mayRepeat = typeof outcome === 'object' && 'code' in outcome && outcome.shouldRetry === true;
        if (mayRepeat && own.length > 0) say(`${relay.name} was made, and its client was told to repeat it`);
      }
    }
  },

  'a request that is followed ends with its result, or refunded': ({ relays, books }, say) => {
    for (const { name, user, taskId, looks, fate } of relays) {
      if (taskId === undefined) continue;
      const row = books.relays.find(({ relayId }) => relayId === taskId);
      const states = [...new Set(looks.map(({ status }) => status))].filter((status) => ENDED.has(status));
      const images = looks.at(-1)?.images;
      if (row?.user !== user) say(`${name} is followed as ${taskId}, which is ${JSON.stringify(row)}`);
      if (states.join() !== (row?.status === 'BILLED' ? 'SUCCESS' : 'FAILURE'))
        say(`${name} is ${row?.status}, and was shown as ${looks.map(({ status }) => status)}`);
      if (row?.status === 'BILLED' && images !== fate.pieces)
        say(`${name} was charged ${row.quota} for ${fate.pieces} images, and its client got ${images}`);
    }
  },

  'no more requests are open at once than may be': (facts, say) => {
    const { plan, relays, arrivals } = facts;
    // Each of several nodes has a share.
    if (!plan.isCalm || plan.machines > 1) return;
    const { own } = plan.queue;
    const ofOwn = new Set(relays.filter(({ user }) => user === own?.user).map(({ name }) => name));
    const open = (atMs: number, isCounted: (arrival: RelayArrival) => boolean): number =>
      arrivals.filter((each) => isCounted(each) && each.atMs <= atMs && each.untilMs > atMs).length;
    for (const { order, account, atMs } of arrivals) {
      const inAccount = open(atMs, (each) => each.account === account);
      if (inAccount > (plan.relays.mostOpen ?? Number.POSITIVE_INFINITY))
        say(`${order} is request ${inAccount} of ${account} at ${atMs / 1000} s`);
      const ofUser = open(atMs, (each) => ofOwn.has(each.order));
      if (own && ofUser > own.maxRunning) say(`${own.user} has ${ofUser} requests open at ${atMs / 1000} s`);
    }
  },
};

const ENDED: ReadonlySet<string> = new Set(['SUCCESS', 'FAILURE']);

const arrivalsFor = ({ arrivals }: Facts, { name }: PlacedRelay): RelayArrival[] =>
  arrivals.filter(({ order }) => order === name);

const findRow = ({ books }: Facts, { relay, index }: { relay: PlacedRelay; index: number }): BookedRelay | undefined =>
  books.relays.find(({ requestId }) => requestId === nameAttempt(relay, index));

/** The attempt that was under way: each begins when the one before has ended. */
const findAsking = ({ attempts }: PlacedRelay, atMs: number): RelayAttempt | undefined =>
  attempts.findLast(({ beginMs }) => beginMs <= atMs);

function findAttempt(
  facts: Facts,
  { requestId }: BookedRelay,
): { relay: PlacedRelay | undefined; answer: RelayArrival | undefined } {
  for (const relay of facts.relays) {
    const attempt = relay.attempts.find((_, index) => nameAttempt(relay, index) === requestId);
    if (attempt) return { relay, answer: findAnswer(facts, { relay, attempt }) };
  }
  return { relay: undefined, answer: undefined };
}

/** What the gateway got whole or, of a stream, began to get. */
const findAnswer = (
  facts: Facts,
  { relay, attempt }: { relay: PlacedRelay; attempt: RelayAttempt },
): RelayArrival | undefined =>
  arrivalsFor(facts, relay).find(
    ({ answer, isReceived, end, atMs }) =>
      isReceived && (answer === 'stream' || end?.how === 'ended') && findAsking(relay, atMs) === attempt,
  );

/** What the answer costs that the gateway has read. */
function priceAnswer({ user, model, maxTokens, fate }: PlacedRelay, answer: RelayArrival): number {
  const bill = (count: number): number => Math.round(count * RELAY_PRICES[model] * ratioFor(user));
  const { readPieces, hasReadUsage } = answer;
  if (model === 'chat-flat') return bill(1);
  if (model === 'draw') return bill(readPieces);
  const reserved = maxTokens ?? RELAY_ACCOUNTS[answer.account] ?? Number.NaN;
  if (answer.answer === 'stream' && !hasReadUsage) return bill(readPieces);
  if (fate.tells === 'nothing') return bill(readPieces === 0 ? 0 : reserved);
  return bill(fate.tells === 'too much' ? reserved : fate.used);
}

/** Why the specification lets a request be refunded although its answer had come. */
function mayBeUnbilled({ plan, lifetimes }: Facts, { by, end, atMs }: RelayArrival): boolean {
  const process = lifetimes.find(({ name }) => name === by);
  return (
    plan.rates.database + plan.rates.databaseDelay > 0 ||
    plan.disturbances.some(({ kind }) => kind === 'suspend') ||
    (process?.endMs ?? 0) < (end?.atMs ?? atMs) + LONGEST_BILL_MS
  );
}

function countResults({ name, model, fate }: PlacedRelay, text: string): number {
  if (model !== 'draw') return text.split(PIECE).length - 1;
  return Array.from({ length: fate.pieces }, (_, index) => drawImage(name, index)).filter((image) =>
    text.includes(image),
  ).length;
}
