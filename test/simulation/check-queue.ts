import type { PlacedOrder } from './clients.ts';
import { answeredIds, type Facts, hasEnded, type Rule } from './facts.ts';
import type { QueueLook } from './history.ts';
import type { LimitInForce } from './operator.ts';
import { MINUTE, SECOND } from './plan.ts';
import { OTHER_MODEL } from './prepared-world.ts';
import type { BookedTask } from './read-books.ts';
import type { Arrival } from './vendor.ts';

/** What a request takes from its start to the vendor where nothing is slow. */
const TRANSIT_MS = 1 * SECOND;
/** Two requests that begin together may overtake each other on their way. */
const OVERTAKE_MS = 100;
/** What a request takes where machines are suspended and databases are slow. */
const LONG_TRANSIT_MS = 5 * MINUTE;
/** A request that itself waits does so for `TASK_SUBMIT_WAIT_SECONDS`. */
const ATTACHED_MS = 30 * SECOND;
/** Vendors are asked how jobs are every 15 s, and twice is enough to know. */
const KNOWN_AFTER_MS = 35 * SECOND;
/** A declared rate lets the next task start within a minute and its transit. */
const RATE_MS = 65 * SECOND;
/** The longest pause of a task that came back. */
const LONGEST_PAUSE_MS = MINUTE;
/** The longest rest and the longest abandoned slot of these histories, one after the other. */
const LONGEST_IDLE_MS = 28 * MINUTE;
/** By how many tasks one user may be ahead of another who waits too. */
const MOST_LEAD = 2;

/** What the specification says of tasks that wait. */
export const QUEUE_RULES: Record<string, Rule> = {
  'the vendor never sees more than is declared': ({ vendor, limits, plan }, say) => {
    const marginMs = plan.isCalm ? TRANSIT_MS : LONG_TRANSIT_MS;
    for (const { atMs, account, order, running } of vendor.arrivals) {
      const most = highest(limitsAt(limits, atMs, marginMs), 'maxRunning');
      if (running + 1 > most) say(`${order} came to ${account} at ${atMs / 1000} s as job ${running + 1} of ${most}`);
    }
    const isSlow = plan.rates.databaseDelay > 0 || plan.disturbances.some(({ kind }) => kind === 'suspend');
    if (isSlow) return;
    for (const [account, own] of Map.groupBy(vendor.arrivals, (arrival) => arrival.account)) {
      for (const { atMs } of own) {
        const within = own.filter((other) => other.atMs > atMs - MINUTE && other.atMs <= atMs).length;
        const most = highest(limitsBetween(limits, atMs - MINUTE - marginMs, atMs), 'maxPerMinute');
        if (within > most) say(`${within} of ${most} came to ${account} in the minute before ${atMs / 1000} s`);
      }
      for (const [index, { atMs: lastMs }] of own.entries()) {
        for (const [first, { atMs }] of own.slice(0, index).entries()) {
          const inForce = limitsBetween(limits, atMs - marginMs, lastMs);
          const most = highest(inForce, 'maxPerMinute');
          const burst = Math.max(1, ...inForce.map((limit) => limit.burst ?? 1));
          const starts = index - first + 1;
          if (most < Number.POSITIVE_INFINITY && lastMs - atMs < (starts - burst) * (MINUTE / most) - TRANSIT_MS)
            say(`${starts} came to ${account} from ${atMs / 1000} s to ${lastMs / 1000} s, at ${most} a minute`);
        }
      }
    }
  },

  'nobody waits while a slot is free': (history, say) => {
    const { plan, limits, queueLooks, vendor, endMs } = history;
    const { isCalm, healAtMs } = plan;
    const isRated = limits.some(({ limit }) => limit.maxPerMinute !== undefined);
    // What is learned is learned by model: where models share an account it rests longer.
    // A key that was refused rests for ten minutes, and longer each time.
    const isCertain = (limits.length > 0 || !plan.queue.isShared) && !plan.queue.dead;
    const boundMs = isCalm && isCertain ? KNOWN_AFTER_MS + (isRated ? RATE_MS : 0) : LONGEST_IDLE_MS;
    for (const model of MODELS) {
      for (const account of readAccounts(history, model)) {
        let sinceMs = isCalm ? 0 : healAtMs;
        for (const { atMs, waiting, running, isServed } of [...queueLooks, { ...NOTHING_WAITS, atMs: endMs }]) {
          const inForce = limitsAt(limits, atMs, isCalm ? TRANSIT_MS : LONG_TRANSIT_MS);
          const most = inForce.length > 0 ? Math.min(...inForce.map(({ maxRunning = 1 }) => maxRunning)) : 1;
          const isFree = (running[account] ?? 0) < most;
          const isWanted = waiting.some((task) => task.model === model && task.mayStart);
          const lastMs = Math.max(
            ...vendor.arrivals.filter((each) => isUse(each, { account, atMs })).map((a) => a.atMs),
          );
          if (!isFree || !isWanted || !isServed) sinceMs = atMs;
          else if (atMs - Math.max(sinceMs, lastMs) > boundMs) {
            say(`${waiting.length} tasks wait at ${atMs / 1000} s beside a free slot of ${account}`);
            sinceMs = Number.POSITIVE_INFINITY;
          }
        }
      }
    }
  },

  'nobody waits past the bound': ({ plan, queueLooks, orderFor }, say) => {
    const slackMs = plan.isCalm ? 15 * SECOND : 8 * MINUTE;
    const firstMs = new Map<string, number>();
    for (const { atMs, waiting } of queueLooks) {
      for (const { taskId } of waiting) {
        const sinceMs = firstMs.get(taskId) ?? atMs;
        firstMs.set(taskId, sinceMs);
        const order = orderFor({ taskId });
        const isShort = order !== undefined && isAttached(order);
        const boundMs = Math.min(plan.queue.maxWaitMs, isShort ? ATTACHED_MS : Number.POSITIVE_INFINITY);
        if (atMs - sinceMs > boundMs + slackMs && atMs - sinceMs < boundMs + slackMs + MINUTE)
          say(`${order?.name} waits at ${atMs / 1000} s since ${sinceMs / 1000} s`);
      }
    }
  },

  'shares are fair': (history, say) => {
    const { plan, limits, vendor, moves } = history;
    if (!isInOrder(plan) || limits.length === 0) return;
    const waits = findWaits(history).filter(({ order }) => order.user !== plan.queue.own?.user);
    for (const [model, tasks] of Map.groupBy(waits, ({ order }) => order.model)) {
      const untilMs = Math.min(...moves.map(({ atMs }) => atMs));
      const users = [...new Set(tasks.map(({ order }) => order.user))];
      for (const [user, other] of users.flatMap((one) => users.map((another) => [one, another] as const))) {
        if (user === other) continue;
        let lead = 0;
        for (const { atMs, order } of vendor.arrivals) {
          const waits = (who: string) =>
            tasks.some(
              (task) =>
                !task.isAttached && task.order.user === who && task.fromMs < atMs - TRANSIT_MS && task.untilMs >= atMs,
            );
          const sent = tasks.find((task) => task.order.name === order);
          if (!waits(user) || !waits(other) || atMs > untilMs) lead = 0;
          // One whose client waits goes before the others, and yet has had a turn of its user.
          else if (sent?.order.user === user) lead += sent.isAttached ? 0 : 1;
          else if (sent?.order.user === other) lead -= 1;
          if (lead > MOST_LEAD)
            say(`at ${atMs / 1000} s ${user} is ${lead} tasks of ${model} ahead of ${other}, who waits too`);
        }
      }
    }
  },

  'a task that is moved to the front goes next': (history, say) => {
    if (!isInOrder(history.plan)) return;
    const waits = findWaits(history).filter(
      ({ order, isAttached }) => !isAttached && order.user !== history.plan.queue.own?.user,
    );
    const moved = new Set(history.moves.map(({ taskId }) => taskId));
    for (const { taskId, atMs } of history.moves) {
      const own = waits.find((each) => each.task.taskId === taskId);
      if (!own?.job) continue;
      // What a vendor refuses comes back with a pause, in which others pass it.
      const isBack = history.vendor.arrivals.some(
        (each) => each.order === own.order.name && each.isFull && each.atMs > atMs - LONGEST_PAUSE_MS,
      );
      if (isBack) continue;
      for (const { task, order, fromMs, job } of waits) {
        const isOther =
          order.model === own.order.model && readGroup(order) === readGroup(own.order) && !moved.has(task.taskId);
        if (
          isOther &&
          job &&
          fromMs < atMs &&
          job.createdMs > atMs + TRANSIT_MS &&
          job.createdMs < own.job.createdMs - OVERTAKE_MS
        )
          say(`${own.order.name} was moved to the front at ${atMs / 1000} s, and ${order.name} was sent before it`);
      }
    }
  },

  'every slot is free at the end': ({ takenAtEnd }, say) => {
    for (const taken of takenAtEnd) say(taken);
  },

  'a task that was cancelled is not sent': ({ orders, vendor, books, lifetimes, plan }, say) => {
    for (const { name, removals } of orders) {
      for (const { taskId, answer, endMs, kind } of removals) {
        const task = books.tasks.find((each) => each.taskId === taskId);
        const job = [...vendor.jobs.values()].find(({ reference }) => reference === taskId);
        if (answer !== 'done' || !job || task?.status !== 'FAILURE' || !/canceled/i.test(task.failReason)) continue;
        const process = lifetimes.find((each) => each.name === job.by);
        // Its sender had died, or could not renew its lease: nobody knows what the vendor has.
        const mayBeInDoubt =
          (process?.endMs ?? 0) < Number.POSITIVE_INFINITY ||
          plan.rates.database + plan.rates.databaseDelay > 0 ||
          plan.disturbances.some((each) => each.kind === 'suspend');
        if (job.createdMs > endMs + TRANSIT_MS || !mayBeInDoubt)
          say(`${name} was sent at ${job.createdMs / 1000} s, and its ${kind} succeeded at ${endMs / 1000} s`);
      }
    }
  },

  'what waited and was not sent does not end as interrupted': ({ books, vendor, lifetimes, plan, orderFor }, say) => {
    // The death of a process leaves behind what it was about to send, and a request may be lost.
    const mayBeLost =
      plan.rates.requestLost > 0 ||
      plan.disturbances.some(({ kind }) => kind === 'suspend') ||
      lifetimes.some(({ endMs }) => endMs < plan.healAtMs + LONG_TRANSIT_MS);
    if (mayBeLost) return;
    for (const task of books.tasks) {
      if (task.waitingSince === 0 || !/interrupted/.test(task.failReason)) continue;
      const order = orderFor(task)?.name;
      if (!vendor.arrivals.some((arrival) => arrival.order === order)) say(`${order} ended as interrupted`);
    }
  },

  'nobody sees that a vendor is full': ({ plan, orders, books, orderFor }, say) => {
    if (!plan.isCalm) return;
    for (const { name, attempts, surface } of orders) {
      for (const { outcome } of attempts) {
        const code = typeof outcome === 'object' && 'code' in outcome ? outcome.code : '';
        const isKnown =
          /^billing\.|client_left|vendor_rejected/.test(code) ||
          (surface === 'native' && /wait_over|concurrency_limit/.test(code));
        if (code !== '' && !isKnown) say(`${name} was answered ${code}`);
      }
    }
    for (const task of books.tasks) {
      const order = orderFor(task);
      const isOwn = order?.fate.end === 'failed' || order?.surface === 'native' || /canceled/i.test(task.failReason);
      const waitedMs = (task.finishTime - task.waitingSince) * SECOND;
      if (/within \d+ minute/.test(task.failReason) && waitedMs >= plan.queue.maxWaitMs - SECOND) continue;
      if (task.status === 'FAILURE' && !isOwn) say(`${order?.name} failed: "${task.failReason}"`);
    }
  },
};

/**
 * Nothing but turns decides who goes next: nobody is moved up for a long wait, sent back, or served
 * by another model.
 */
const isInOrder = ({ isCalm, queue }: Facts['plan']): boolean =>
  isCalm && queue.maxWaitMs >= 60 * MINUTE && !queue.dead && !queue.fallback;

/** The accounts of the models that have one alone. */
const OTHERS: Readonly<Record<string, string>> = {
  'demo-batch-video': 'batch',
  [OTHER_MODEL.model]: OTHER_MODEL.channel,
};
const MODELS = ['demo-video', ...Object.keys(OTHERS)];
const NOTHING_WAITS: Omit<QueueLook, 'atMs'> = { waiting: [], running: {}, isServed: false };

const readAccounts = ({ plan }: Facts, model: string): string[] =>
  plan.queue.isShared ? ['one account'] : model === 'demo-video' ? ['first', 'second'] : [OTHERS[model] ?? ''];

const readGroup = ({ user }: PlacedOrder): string => (user === 'bob' ? 'half' : 'default');

/**
 * Such a task ends with the wait of its client, and is moved up within seconds. With an
 * Idempotency-Key it would go on without the client, and wait in the line as others do.
 */
const isAttached = ({ surface, idempotencyKey }: PlacedOrder): boolean =>
  surface === 'native' && idempotencyKey === null;

const isUse = (arrival: Arrival, { account, atMs }: { account: string; atMs: number }): boolean =>
  arrival.account === account && arrival.atMs <= atMs;

/** The limits that may hold: one that was declared after another was sure replaces it. */
function limitsBetween(limits: readonly LimitInForce[], fromMs: number, untilMs: number): LimitInForce['limit'][] {
  const begun = limits.filter((one) => one.fromMs <= untilMs);
  const isReplaced = (one: LimitInForce): boolean =>
    begun.some((other) => other !== one && other.fromMs >= one.sureMs && other.sureMs <= fromMs);
  return begun.filter((one) => !isReplaced(one)).map(({ limit }) => limit);
}

const limitsAt = (limits: readonly LimitInForce[], atMs: number, marginMs: number) =>
  limitsBetween(limits, atMs - marginMs, atMs);

const highest = (limits: readonly LimitInForce['limit'][], field: 'maxRunning' | 'maxPerMinute'): number =>
  Math.max(
    ...limits.map((limit) => limit[field] ?? Number.POSITIVE_INFINITY),
    limits.length > 0 ? 0 : Number.POSITIVE_INFINITY,
  );

/** A task that waited for a while, as far as its client can tell. */
type Wait = {
  task: BookedTask;
  order: PlacedOrder;
  isAttached: boolean;
  fromMs: number;
  untilMs: number;
  job: { createdMs: number } | undefined;
};

function findWaits({ books, orderFor, vendor, endMs }: Facts): Wait[] {
  const jobs = new Map([...vendor.jobs.values()].map((job) => [job.reference, job]));
  return books.tasks.flatMap((task) => {
    const order = orderFor(task);
    if (!order || task.waitingSince === 0) return [];
    const answer = order.attempts.find(() => answeredIds(order).has(task.taskId));
    const job = jobs.get(task.taskId);
    const removed = order.removals.find(({ taskId }) => taskId === task.taskId);
    const untilMs = job?.createdMs ?? removed?.beginMs ?? (hasEnded(task.status) ? 0 : endMs);
    return [{ task, order, isAttached: isAttached(order), fromMs: answer?.endMs ?? untilMs, untilMs, job }];
  });
}
