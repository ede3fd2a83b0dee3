/** What a node holds in memory of the money of many, while balances are read and bills written. */
import { beforeEach, expect, test } from 'bun:test';
import { createMemoryHolds, type Hold, type MemoryHolds, type ReservedTask } from '../../src/billing/index.ts';
import type { HeldAmounts } from '../../src/store/ports/index.ts';
import { newTask } from '../contract/each-store.ts';

const { billing } = newTask();
const payer = (change: Partial<ReservedTask> = {}): ReservedTask => ({
  ...{ taskId: 'relay', userId: 1, walletId: 1, apiKeyId: 1, group: 'default', quota: 100, billing },
  ...change,
});

/** The only wallet, as the store has it: it is read when a hold asks, and answered later. */
let balance: number;
let answers: (() => void)[];
let readsFacts: boolean;
let bound: number;
let holds: MemoryHolds;

beforeEach(() => {
  [balance, answers, readsFacts, bound] = [100, [], false, 1000];
  holds = createMemoryHolds({
    readsFacts: () => readsFacts,
    canReserve({ quota, held }) {
      const fits = balance - (held?.wallet ?? 0) >= quota;
      return new Promise((resolve) => answers.push(() => resolve(fits)));
    },
    most: () => bound,
  });
});

const answer = (): void => {
  for (const one of answers.splice(0)) one();
};
async function take(change: Partial<ReservedTask> = {}): Promise<Hold | undefined> {
  const taken = holds.take(payer(change));
  answer();
  return taken;
}
const nothing: HeldAmounts = { wallet: 0, key: 0, user: 0, group: 0 };

test('a customer opens 1,000 requests at once on a balance for one: one is held', async () => {
  balance = 1;
  const taken = Array.from({ length: 1000 }, () => holds.take(payer({ quota: 1 })));
  answer();
  expect((await Promise.all(taken)).filter(Boolean)).toHaveLength(1);
});

test('a balance that was read before a bill was stored is not spent twice', async () => {
  const first = await take();
  first?.bill(100);
  // It reads the old balance; the bill is stored and the hold ends before it decides.
  const second = holds.take(payer());
  balance = 0;
  first?.end();
  answer();
  expect(await second).toBeUndefined();
  expect(holds.read(payer())).toEqual(nothing);
});

test('a balance that was read before a reservation was stored is not spent twice', async () => {
  const decided = holds.reserving(payer());
  const second = holds.take(payer());
  balance = 0;
  decided();
  answer();
  expect(await second).toBeUndefined();
});

test('a bill leaves free at once what it does not take, and counts until it is written', async () => {
  const hold = await take({ quota: 80 });
  expect(await take({ quota: 80 })).toBeUndefined();
  hold?.bill(5);
  expect(holds.read(payer())).toEqual({ wallet: 5, key: 5, user: 5, group: 5 });
  // A bill that could not be stored is written again.
  hold?.bill(5);
  expect(await take({ quota: 96 })).toBeUndefined();
  const next = await take({ quota: 95 });
  expect(next).toBeDefined();
  hold?.end();
  // It may cost more than its reservation.
  next?.bill(98);
  expect(holds.read(payer()).wallet).toBe(98);
  next?.bill(0);
  expect(holds.read(payer())).toEqual(nothing);
  // The bound counts whole reservations until their end.
  bound = 100;
  expect(await take({ quota: 6 })).toBeUndefined();
  next?.end();
  expect(await take({ quota: 100 })).toBeDefined();
});

test('a reservation in the store leaves alone what is held, until its bill is written', async () => {
  const hold = await take();
  expect(holds.read(payer())).toEqual({ wallet: 100, key: 100, user: 100, group: 100 });
  expect(holds.read(payer({ apiKeyId: 2 }))).toEqual({ wallet: 100, key: 0, user: 100, group: 100 });
  expect(holds.read(payer({ apiKeyId: null, group: 'vip' }))).toEqual({ wallet: 100, key: 0, user: 100, group: 0 });
  expect(holds.read(payer({ apiKeyId: 2, userId: 2 }))).toEqual({ ...nothing, wallet: 100 });
  expect(holds.read(payer({ apiKeyId: 2, walletId: 2 }))).toEqual({ ...nothing, user: 100, group: 100 });
  // Another transaction may have the balance before that of the bill.
  hold?.bill(100);
  expect(holds.read(payer()).wallet).toBe(100);
  hold?.end();
  expect(holds.read(payer())).toEqual(nothing);
  hold?.bill(100);
  hold?.end();
  expect(holds.read(payer())).toEqual(nothing);
});

test('a refused payer waits for bills that are being written, and asks again after one that was', async () => {
  const hold = await take({ quota: 60 });
  const refused = () => ({ ...payer(), held: holds.read(payer()) });
  const before = refused();
  expect(holds.settling(before)).toBeUndefined();
  hold?.bill(60);
  const settled = holds.settling(before);
  expect(holds.settling({ ...before, walletId: 2, userId: 2, apiKeyId: 2, held: nothing })).toBeUndefined();
  hold?.end();
  await settled;
  await holds.settling(before);
  expect(holds.settling(before)).toBeDefined();
  expect(holds.settling(refused())).toBeUndefined();
});

test('all together hold no more than the bound, also while it is lowered, and nothing without one', async () => {
  balance = 1_000_000;
  const held = [await take({ quota: 400 }), await take({ quota: 600, walletId: 2, userId: 2, apiKeyId: 2 })];
  expect(held.filter(Boolean)).toHaveLength(2);
  expect(await take({ quota: 1, walletId: 3, userId: 3, apiKeyId: 3 })).toBeUndefined();
  held[0]?.end();
  held[0]?.end();
  expect(await take({ quota: 401 })).toBeUndefined();
  bound = 700;
  expect(await take({ quota: 101 })).toBeUndefined();
  const last = await take({ quota: 100 });
  expect(last).toBeDefined();
  bound = 0;
  expect(await take({ quota: 0 })).toBeUndefined();
  held[1]?.end();
  last?.end();
  expect(holds.read(payer())).toEqual(nothing);
});

test('an estimate of zero does not bound a bill that reads usage; a free request is held', async () => {
  balance = 0;
  expect(await take({ quota: 0 })).toBeDefined();
  readsFacts = true;
  expect(await take({ quota: 0 })).toBeUndefined();
});

test('while nothing can be stored nothing is held: what is answered then could not be billed', async () => {
  holds.noteWrite(false);
  expect(await take()).toBeUndefined();
  holds.noteWrite(true);
  expect(await take()).toBeDefined();
});
