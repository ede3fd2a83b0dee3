import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { createFairQueue } from '../../src/kernel/index.ts';

type Work = { owner: string; lane: string; id: number; cost: number };
type Running = { work: Work; endsAt: number };

const QUANTUM = 5;
const MAX_COST = 40;
const arbitraryWork = fc.record({
  owner: fc.constantFrom('a', 'b', 'c', 'd'),
  lane: fc.constantFrom('x', 'y'),
  cost: fc.integer({ min: 1, max: MAX_COST }),
  // When it is pushed.
  at: fc.integer({ min: 0, max: 200 }),
});

/**
 * Runs works on `slots` slots, each for as long as it costs, and lets `check` look at each start.
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
    costOf: ({ cost }) => cost,
    hasShare: (owner) => held(owner) >= slots / 2,
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
    // Work-conserving: a free slot stays free only when nobody waits.
    expect(running.length === slots || queue.size === 0).toBe(true);
    expect(queue.size).toBe(waiting.length);
  }
  return order;
}

const works = fc.array(arbitraryWork, { maxLength: 80 });
const slotCounts = fc.integer({ min: 1, max: 6 });

test('all is made once, no slot is free while anybody waits, and each lane of an owner keeps its order', () => {
  fc.assert(
    fc.property(works, slotCounts, (arrivals, slots) => {
      const order = simulate(arrivals, slots, () => {});
      expect(new Set(order.map(({ id }) => id)).size).toBe(arrivals.length);
      const last = new Map<string, Work & { at: number }>();
      for (const work of order as (Work & { at: number })[]) {
        const key = `${work.owner} ${work.lane}`;
        const former = last.get(key);
        if (former) expect(former.at < work.at || (former.at === work.at && former.id < work.id)).toBe(true);
        last.set(key, work);
      }
    }),
  );
});

test('who holds half of the slots gets no other while somebody waits who holds less', () => {
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

test('each owner who waits is served within a bounded number of turns', () => {
  fc.assert(
    fc.property(works, (arrivals) => {
      // Between two services of an owner who waits, each other one spends a round's credit and one
      // work over it at the most; an owner in debt for a costly work waits as many rounds as that
      // takes.
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

test('owners who always wait get the same, whatever their works cost', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: MAX_COST }), fc.integer({ min: 1, max: MAX_COST }), (one, other) => {
      const queue = createFairQueue<Work>({ quantum: QUANTUM, costOf: ({ cost }) => cost, hasShare: () => false });
      for (let id = 0; id < 500; id++) {
        queue.push({ owner: 'a', lane: 'x', id, cost: one });
        queue.push({ owner: 'b', lane: 'x', id, cost: other });
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

test('what turns out to cost more is paid later, and what is put back is first again', () => {
  const queue = createFairQueue<Work>({ quantum: QUANTUM, costOf: () => 1, hasShare: () => false });
  const work = (owner: string, id: number): Work => ({ owner, lane: 'x', id, cost: 1 });
  for (let id = 0; id < 40; id++) for (const owner of ['a', 'b']) queue.push(work(owner, id));
  const first = queue.take(() => true)?.job as Work;
  queue.pushFront(first);
  expect(queue.take(() => true)?.job).toBe(first);
  queue.charge(first.owner, 3 * QUANTUM);
  const next = Array.from({ length: 3 * QUANTUM }, () => queue.take(() => true)?.job.owner);
  expect(next.filter((owner) => owner === first.owner).length).toBeLessThanOrEqual(QUANTUM);
});
