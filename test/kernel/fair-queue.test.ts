import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { createFairQueue } from '../../src/kernel/index.ts';

type Work = { owner: string; queue: string; id: number; cost: number };
type Running = { work: Work; endsAt: number };

const QUANTUM = 5;
const MAX_COST = 40;
const arbitraryWork = fc.record({
  owner: fc.constantFrom('a', 'b', 'c', 'd'),
  queue: fc.constantFrom('x', 'y'),
  cost: fc.integer({ min: 1, max: MAX_COST }),
  // The tick at which it is pushed.
  at: fc.integer({ min: 0, max: 200 }),
});

/**
 * Runs jobs on `slots` slots, each for as many ticks as it costs, and calls `check` at each start.
 */
function simulate(
  arrivals: readonly (Omit<Work, 'id'> & { at: number })[],
  slots: number,
  check: (started: Work, held: Map<string, number>, waiting: readonly Work[]) => void,
): Work[] {
  const pending = arrivals.map((work, id) => ({ ...work, id })).sort((a, b) => a.at - b.at || a.id - b.id);
  let running: Running[] = [];
  const held = (owner: string) => running.filter(({ work }) => work.owner === owner).length;
  const queue = createFairQueue<Work>({
    quantum: QUANTUM,
    estimateCost: ({ cost }) => cost,
    chooseQueue: ({ queue }) => queue,
    holdsShare: (owner) => held(owner) >= slots / 2,
  });
  const waiting: Work[] = [];
  const order: Work[] = [];
  for (let now = 0; order.length < arrivals.length; now++) {
    running = running.filter(({ endsAt }) => endsAt > now);
    for (let next = pending[0]; next && next.at <= now; next = pending[0]) {
      pending.shift();
      queue.push(next);
      waiting.push(next);
    }
    for (;;) {
      const taken = queue.take(() => (running.length < slots ? true : undefined));
      if (!taken) break;
      waiting.splice(waiting.indexOf(taken.job), 1);
      const owners = new Map(['a', 'b', 'c', 'd'].map((owner) => [owner, held(owner)]));
      check(taken.job, owners, waiting);
      running.push({ work: taken.job, endsAt: now + taken.job.cost });
      order.push(taken.job);
    }
    // Work-conserving: a slot stays free only when no job waits.
    expect(running.length === slots || queue.size === 0).toBe(true);
    expect(queue.size).toBe(waiting.length);
  }
  return order;
}

const works = fc.array(arbitraryWork, { maxLength: 80 });
const slotCounts = fc.integer({ min: 1, max: 6 });

test('every job runs once, no slot stays free while jobs wait, and each queue of an owner keeps its order', () => {
  fc.assert(
    fc.property(works, slotCounts, (arrivals, slots) => {
      const order = simulate(arrivals, slots, () => {});
      expect(new Set(order.map(({ id }) => id)).size).toBe(arrivals.length);
      const last = new Map<string, Work & { at: number }>();
      for (const work of order as (Work & { at: number })[]) {
        const key = `${work.owner} ${work.queue}`;
        const former = last.get(key);
        if (former) expect(former.at < work.at || (former.at === work.at && former.id < work.id)).toBe(true);
        last.set(key, work);
      }
    }),
  );
});

test('an owner who holds half of the slots gets no more while an owner who holds less waits', () => {
  fc.assert(
    fc.property(works, slotCounts, (arrivals, slots) => {
      simulate(arrivals, slots, (started, held, waiting) => {
        const share = slots / 2;
        if ((held.get(started.owner) ?? 0) < share) return;
        for (const { owner } of waiting) expect(held.get(owner)).toBeGreaterThanOrEqual(share);
      });
    }),
  );
});

test('each waiting owner is served within a bounded number of rounds', () => {
  fc.assert(
    fc.property(works, (arrivals) => {
      // Between two services of a waiting owner, each other owner spends at most a round's credit
      // and one job more. An owner in debt for a costly job waits until it has paid.
      const rounds = Math.ceil(MAX_COST / QUANTUM) + 1;
      const bound = 3 * rounds * (QUANTUM + MAX_COST);
      const passed = new Map<string, number>();
      simulate(arrivals, 1, (started, _, waiting) => {
        passed.set(started.owner, 0);
        const owners = new Set(waiting.map(({ owner }) => owner));
        for (const owner of passed.keys()) if (!owners.has(owner)) passed.set(owner, 0);
        for (const owner of owners) {
          if (owner === started.owner) continue;
          const sum = (passed.get(owner) ?? 0) + started.cost;
          passed.set(owner, sum);
          expect(sum).toBeLessThanOrEqual(bound);
        }
      });
    }),
  );
});

test('owners who always wait get equal service, whatever their jobs cost', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: MAX_COST }), fc.integer({ min: 1, max: MAX_COST }), (one, other) => {
      const queue = createFairQueue<Work>({
        quantum: QUANTUM,
        estimateCost: ({ cost }) => cost,
        chooseQueue: ({ queue }) => queue,
        holdsShare: () => false,
      });
      for (let id = 0; id < 500; id++) {
        queue.push({ owner: 'a', queue: 'x', id, cost: one });
        queue.push({ owner: 'b', queue: 'x', id, cost: other });
      }
      const spent = { a: 0, b: 0 };
      for (let turn = 0; turn < 400; turn++) {
        const work = queue.take(() => true)?.job;
        if (work) spent[work.owner as 'a' | 'b'] += work.cost;
        expect(Math.abs(spent.a - spent.b)).toBeLessThanOrEqual(2 * (QUANTUM + MAX_COST));
      }
    }),
  );
});

test('extra cost is charged afterwards, and a job that is put back is taken first again', () => {
  const queue = createFairQueue<Work>({
    quantum: QUANTUM,
    estimateCost: () => 1,
    chooseQueue: ({ queue }) => queue,
    holdsShare: () => false,
  });
  const work = (owner: string, id: number): Work => ({ owner, queue: 'x', id, cost: 1 });
  for (let id = 0; id < 40; id++) for (const owner of ['a', 'b']) queue.push(work(owner, id));
  const first = queue.take(() => true)?.job as Work;
  queue.pushFront(first);
  expect(queue.take(() => true)?.job).toBe(first);
  queue.charge(first.owner, 3 * QUANTUM);
  const next = Array.from({ length: 3 * QUANTUM }, () => queue.take(() => true)?.job.owner);
  expect(next.filter((owner) => owner === first.owner).length).toBeLessThanOrEqual(QUANTUM);
});
