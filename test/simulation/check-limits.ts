import type { Rule } from './facts.ts';
import { MINUTE, SECOND } from './plan.ts';
import { SPARE_KEY } from './plan-queue.ts';
import { OTHER_MODEL, vendorKeyFor } from './prepared-world.ts';

/** What a request takes to the vendor, or its answer back, where nothing is slow. */
const TRANSIT_MS = 1 * SECOND;
const LONG_TRANSIT_MS = 5 * MINUTE;
/** Other nodes know of a rest, or of a key that was removed. */
const TOLD_MS = 65 * SECOND;
/** A key that the vendor refuses rests for this long at first. */
const FIRST_REST_MS = 10 * MINUTE;

/** What the specification says of keys that die or are removed, and of limits of people. */
export const LIMIT_RULES: Record<string, Rule> = {
  'a key that the vendor refuses rests': ({ vendor, plan }, say) => {
    if (!plan.isCalm) return;
    const knownMs = plan.machines > 1 ? TOLD_MS : TRANSIT_MS;
    let restsFromMs = Number.NEGATIVE_INFINITY;
    for (const { atMs, key, order, isDead } of vendor.arrivals) {
      if (!isDead) continue;
      if (atMs >= restsFromMs + FIRST_REST_MS) restsFromMs = atMs;
      else if (atMs > restsFromMs + knownMs)
        say(`${order} came at ${atMs / 1000} s with ${key}, which was refused at ${restsFromMs / 1000} s`);
    }
  },

  'a key that was removed gets no new tasks': ({ vendor, plan, removedMs }, say) => {
    if (removedMs === undefined) return;
    const marginMs = plan.isCalm ? TRANSIT_MS : LONG_TRANSIT_MS;
    for (const { atMs, key, order } of vendor.arrivals)
      if (key === SPARE_KEY && atMs > removedMs + marginMs)
        say(`${order} came at ${atMs / 1000} s with a key that was removed at ${removedMs / 1000} s`);
  },

  'nobody runs more than their own limit': ({ vendor, plan, orders }, say) => {
    const { own } = plan.queue;
    if (!own || !plan.isCalm) return;
    const names = new Set(orders.filter(({ user }) => user === own.user).map(({ name }) => name));
    const jobs = [...vendor.jobs.values()].filter(({ order }) => names.has(order));
    for (const { createdMs, order } of jobs) {
      const running = jobs.filter((job) => job.createdMs <= createdMs && job.endsMs > createdMs).length;
      if (running > own.maxRunning)
        say(`${order} is job ${running} of ${own.user} at ${createdMs / 1000} s, who may run ${own.maxRunning}`);
    }
  },

  'another model serves only who allows it, and after their wait': ({ vendor, plan, orders, limits }, say) => {
    const { fallback, dead } = plan.queue;
    // A learned limit rests an account while it is full.
    const isFullAlone = plan.isCalm && !dead && limits.length > 0;
    for (const { key, order: name, createdMs } of vendor.jobs.values()) {
      const order = orders.find((each) => each.name === name);
      if (key !== vendorKeyFor(OTHER_MODEL.channel) || !order) continue;
      if (!fallback || order.allowFallback === 'false' || order.model !== 'demo-video')
        say(`${name} was made by ${OTHER_MODEL.model} at ${createdMs / 1000} s`);
      const waitedMs = createdMs - (order.attempts[0]?.beginMs ?? 0);
      if (isFullAlone && waitedMs < (fallback?.afterMs ?? Number.POSITIVE_INFINITY))
        say(`${name} was made by ${OTHER_MODEL.model} after ${waitedMs / 1000} s`);
    }
  },

  'who was told that a wait is over, or has left, buys nothing': ({ orders, jobsFor, plan }, say) => {
    for (const { name, surface, idempotencyKey, attempts } of orders) {
      if (surface !== 'native' || idempotencyKey !== null) continue;
      for (const [index, { outcome, beginMs, endMs }] of attempts.entries()) {
        const isOver = typeof outcome === 'object' && 'code' in outcome && outcome.code === 'tasks.wait_over';
        const isLeft = outcome === 'left' && plan.isCalm;
        if (!isOver && !isLeft) continue;
        // What was being sent when its client left goes on.
        const fromMs = isOver ? beginMs : endMs + TRANSIT_MS;
        const untilMs = attempts[index + 1]?.beginMs ?? Number.POSITIVE_INFINITY;
        const job = jobsFor(name).find(({ createdMs }) => createdMs > fromMs && createdMs < untilMs);
        if (job) say(`${name} was ${isOver ? 'told that its wait is over' : 'left alone'}, and bought ${job.id}`);
      }
    }
  },
};
