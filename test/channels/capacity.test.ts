import { beforeEach, describe, expect, test } from 'bun:test';
import {
  type CapacityService,
  createCapacity,
  type Dispatch,
  heldSlots,
  type RefusalKind,
} from '../../src/channels/index.ts';
import { type Clock, silentLogger } from '../../src/kernel/index.ts';
import type {
  CapacityKey,
  CapacityRecord,
  CapacityStore,
  ChannelRecord,
  RunningCount,
  Store,
} from '../../src/store/ports/index.ts';
import { toAccount, toAccounts } from '../support/accounts.ts';

/** A clock that stands still until it is moved, and then ends the sleeps that are over. */
function createStillClock() {
  let nowMs = 1_700_000_000_000;
  let sleeping: { at: number; wake: () => void }[] = [];
  const clock: Clock = {
    nowMs: () => nowMs,
    unix: () => Math.floor(nowMs / 1000),
    monotonicMs: () => nowMs,
    sleep: (ms) => new Promise((wake) => sleeping.push({ at: nowMs + ms, wake: () => wake() })),
  };
  return {
    ...clock,
    async pass(ms: number) {
      nowMs += ms;
      const over = sleeping.filter(({ at }) => at <= nowMs);
      sleeping = sleeping.filter(({ at }) => at > nowMs);
      for (const { wake } of over) wake();
      for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    },
  };
}

const channel = (change: Partial<ChannelRecord> = {}): ChannelRecord => ({
  ...{ id: 1, name: 'vendor', type: 61, baseUrl: 'https://vendor.example' },
  ...{ models: ['m'], groups: ['default'], priority: 0, weight: 1, modelMapping: {}, taskPluginKey: 'demo' },
  ...{ settings: {}, status: 1, usedQuota: 0, createdAt: 1, updatedAt: 1, limits: null, pool: '', spill: true },
  ...{ proxySealed: null, headersSealed: null, bodyDefaults: null },
  ...change,
});

describe('capacity', () => {
  let clock: ReturnType<typeof createStillClock>;
  let capacity: CapacityService;
  let channels: ChannelRecord[];
  /** What the database counts beside this node's own tasks. */
  let elsewhere: RunningCount[];
  let rows: CapacityRecord[];
  let sent = 0;
  const running = new Set<Dispatch>();
  let common: Omit<Parameters<typeof createCapacity>[0], 'accounts'>;

  beforeEach(async () => {
    clock = createStillClock();
    channels = [channel()];
    elsewhere = [];
    rows = [];
    running.clear();
    const stored: Partial<CapacityStore> = {
      all: async () => rows,
      running: async (except) => {
        const stored = [...running].filter(({ taskId }) => !except.includes(taskId)).length;
        return [
          ...elsewhere,
          {
            channelId: 1,
            credentialId: 1,
            model: 'm',
            accepted: stored,
            queued: 0,
            unpolled: 0,
            sending: 0,
            abandoned: 0,
          },
        ];
      },
      beginRest: async () => true,
      endRest: async () => true,
      wake: async () => 0,
      putCeiling: async () => true,
    };
    const credentials = { all: async () => [] };
    const store = {
      ...{ dialect: 'sqlite', capacity: stored, credentials, publish: async () => {}, subscribe: () => () => {} },
    };
    common = {
      ...{ store: store as unknown as Store, clock, logger: silentLogger, nodeId: 'node', syncFrequencyMs: 60_000 },
      random: { bytes: (length) => new Uint8Array(length), below: () => 0 },
    };
    capacity = createCapacity({ ...common, accounts: toAccounts(() => channels) });
    await capacity.start();
    return () => capacity.stop();
  });

  const scope = (model = 'm', id = 1) =>
    capacity.scope(toAccount(channels.find((one) => one.id === id) ?? channel()), model);
  const freeSlots = (model = 'm') => capacity.freeSlots(scope(model));
  const begin = (userId = 1, id = 1): Dispatch => {
    sent += 1;
    return capacity.begin(scope('m', id), { taskId: `task_${sent}`, slots: 1, userId });
  };
  const accept = (dispatch: Dispatch) => {
    running.add(dispatch);
    capacity.accepted(dispatch);
  };
  /** Sends all that have room and lets the vendor run this many. Returns how many it refused. */
  async function fill(limit: number, kind: RefusalKind = 'capacity'): Promise<number> {
    const sending = Array.from({ length: freeSlots() }, () => begin());
    let refused = 0;
    for (const dispatch of sending) {
      if (running.size < limit) accept(dispatch);
      else {
        refused += 1;
        capacity.refused(dispatch, { kind });
      }
    }
    await clock.pass(0);
    return refused;
  }
  /** As many tasks as it takes to be certain are sent one by one, and the vendor says "full". */
  async function refuse(times: number, refusal: { retryAfterMs?: number } = {}): Promise<void> {
    for (let time = 0; time < times; time++) {
      capacity.refused(begin(), { kind: 'capacity', ...refusal });
      await clock.pass(0);
    }
  }
  const finish = (count = 1) => {
    for (const { taskId, slots, scope: place } of [...running].slice(0, count)) {
      running.delete([...running].find((one) => one.taskId === taskId) as Dispatch);
      capacity.end(heldSlots({ taskId, slots, scope: place, userId: 1 }));
    }
  };
  const view = () => {
    const { restReason } = capacity.describe(channels[0] as ChannelRecord);
    const [model] = capacity.describe(channels[0] as ChannelRecord).models;
    return { ceiling: model?.limit ?? 0, reason: model?.limitReason ?? '', rest: restReason };
  };

  test('it starts at four at once and doubles with each full set of acceptances', async () => {
    expect(freeSlots()).toBe(4);
    for (const expected of [8, 16, 32]) {
      await fill(1000);
      expect(view().ceiling).toBe(expected);
    }
  });

  test('it doubles when the nodes together have all tasks accepted', async () => {
    elsewhere = [
      { channelId: 1, credentialId: 1, model: 'm', accepted: 3, queued: 0, unpolled: 0, sending: 0, abandoned: 0 },
    ];
    await capacity.recount();
    accept(begin());
    expect(view()).toMatchObject({ ceiling: 8, reason: 'grown' });
  });

  test('it does not grow while fewer are sent than it may run', async () => {
    for (let round = 0; round < 10; round++) {
      const dispatch = begin();
      accept(dispatch);
      finish();
    }
    expect(freeSlots()).toBe(4);
  });

  test.each([1, 2, 3, 5, 7, 20])('a vendor that runs %i at once is learned with few refusals', async (limit) => {
    let refused = 0;
    for (let second = 0; second < 50; second++) {
      refused += await fill(limit);
      await clock.pass(1000);
    }
    expect(view()).toMatchObject({ ceiling: limit, reason: 'refused' });
    expect(refused).toBeLessThan(2 * limit + 6);
    // Then each task that ends makes room for one, and nothing is refused.
    for (let turn = 0; turn < 5; turn++) {
      await clock.pass(6000);
      finish();
      expect(await fill(limit)).toBe(0);
    }
  });

  test.each([2, 5, 6, 20])(
    'a vendor that runs %i at once is learned although all end before that is known',
    async (limit) => {
      let refused = 0;
      for (let round = 0; round < 60; round++) {
        refused += await fill(limit);
        await clock.pass(6000);
        // Some ended at the vendor, so that it runs more than it may as far as the node knows.
        if (round < 3) for (let task = 0; task < 2 && freeSlots() > 0; task++) accept(begin());
        finish(running.size);
        await clock.pass(0);
      }
      expect(view().ceiling).toBeLessThanOrEqual(limit + 1);
      expect(refused).toBeLessThan(30);
    },
  );

  test.each([
    [2, 10],
    [5, 10],
    [5, 60],
  ])(
    'a vendor that answers with the result, and works for %i at once for %i s, is learned with few refusals',
    async (limit, JOB) => {
      const SECONDS = 60 * JOB;
      const asked: { dispatch: Dispatch; endsAt: number }[] = [];
      let [refused, done] = [0, 0];
      common.store.capacity.running = async (except) => {
        const sending = asked.filter(({ dispatch }) => !except.includes(dispatch.taskId)).length;
        const count = { accepted: 0, queued: 0, unpolled: sending, sending, abandoned: 0 };
        return [{ channelId: 1, credentialId: 1, model: 'm', ...count }];
      };
      for (let second = 0; second < SECONDS; second++) {
        while (asked[0] && asked[0].endsAt <= second) {
          const [{ dispatch }] = asked.splice(0, 1) as [(typeof asked)[number]];
          capacity.accepted(dispatch, { isDone: true });
          capacity.end(heldSlots(dispatch));
          done += 1;
        }
        for (const dispatch of Array.from({ length: freeSlots() }, () => begin())) {
          if (asked.length < limit) asked.push({ dispatch, endsAt: second + JOB });
          else {
            refused += 1;
            capacity.refused(dispatch, { kind: 'capacity' });
          }
        }
        await clock.pass(1000);
      }
      expect(view()).toMatchObject({ ceiling: limit, reason: 'refused' });
      expect(refused).toBeLessThan(30);
      expect(done).toBeGreaterThan((0.8 * limit * SECONDS) / JOB);
    },
  );

  test('four refusals at the same number of tasks say that it is full, however many come between', async () => {
    await fill(1000);
    finish(running.size);
    for (let round = 0; round < 4; round++) {
      for (let task = 0; task < 5; task++) accept(begin());
      await refuse(1);
      finish(running.size);
    }
    expect(view()).toMatchObject({ ceiling: 5, reason: 'refused' });
  });

  test('one refusal rests nobody: after it one task at a time is sent beyond those that run', async () => {
    await fill(1000);
    for (let task = 0; task < 2; task++) accept(begin());
    await refuse(1);
    expect(view()).toMatchObject({ ceiling: 8, rest: '' });
    expect(freeSlots()).toBe(1);
    finish();
    expect(freeSlots()).toBe(2);
    // Acceptances outweigh it.
    for (let task = 0; task < 5; task++) {
      accept(begin());
      finish();
    }
    expect(freeSlots()).toBe(8 - running.size);
  });

  test('one refusal with Retry-After lets nothing be sent beyond those that run, until then', async () => {
    for (let task = 0; task < 3; task++) accept(begin());
    await refuse(1, { retryAfterMs: 3000 });
    expect([freeSlots(), view().rest]).toEqual([0, '']);
    finish();
    expect(freeSlots()).toBe(1);
    accept(begin());
    await clock.pass(3000);
    expect(freeSlots()).toBe(1);
  });

  test('a model that runs nothing beside others of its account is full, and not too fast', async () => {
    accept(capacity.begin(scope('other'), { taskId: 'task_other', slots: 1, userId: 1 }));
    await refuse(4);
    expect(view()).toMatchObject({ ceiling: 4, rest: 'capacity' });
  });

  test.each([3, 60])(
    'a vendor that refuses 5%% at random, and is never full, runs as many tasks of %i s',
    async (seconds) => {
      const PEOPLE = 40;
      const PASSES = 400;
      let seed = 1;
      const random = () => {
        seed = (seed * 48_271) % 2_147_483_647;
        return seed / 2_147_483_647;
      };
      async function complete(refused: number): Promise<number> {
        const ends: number[] = [];
        let completed = 0;
        for (let second = 0; second < PASSES; second++) {
          while (ends.length > 0 && (ends[0] as number) <= second) {
            ends.shift();
            finish();
            completed += 1;
          }
          while (running.size < PEOPLE && freeSlots() > 0) {
            const dispatch = begin();
            if (random() < refused) {
              capacity.refused(dispatch, { kind: 'capacity' });
              await clock.pass(0);
            } else {
              accept(dispatch);
              ends.push(second + seconds);
            }
          }
          await clock.pass(1000);
        }
        finish(running.size);
        return completed;
      }
      const without = await complete(0);
      expect(await complete(0.05)).toBeGreaterThan(0.8 * without);
      expect(view().ceiling).toBeGreaterThanOrEqual(PEOPLE);
    },
  );

  test('refusals that arrive before the acceptances of their burst teach the same', async () => {
    const burst = Array.from({ length: 4 }, () => begin());
    capacity.refused(burst[3] as Dispatch, { kind: 'capacity' });
    capacity.refused(burst[2] as Dispatch, { kind: 'capacity' });
    await clock.pass(0);
    accept(burst[0] as Dispatch);
    accept(burst[1] as Dispatch);
    await refuse(2);
    expect(view()).toMatchObject({ ceiling: 2, reason: 'refused' });
  });

  test('a burst that is refused counts once, and its rest is not renewed by it', async () => {
    await fill(1000);
    const burst = Array.from({ length: 8 }, () => begin());
    for (const dispatch of burst.slice(0, 4)) capacity.refused(dispatch, { kind: 'capacity' });
    await clock.pass(4000);
    for (const dispatch of burst.slice(4)) capacity.refused(dispatch, { kind: 'capacity', retryAfterMs: 60_000 });
    await clock.pass(0);
    expect(view()).toMatchObject({ ceiling: 4, rest: 'capacity' });
    finish();
    expect(freeSlots()).toBe(0);
    await clock.pass(1000);
    expect(freeSlots()).toBe(1);
  });

  test('what a crash left behind holds up only an account that has refused before', async () => {
    elsewhere = [
      { channelId: 1, credentialId: 1, model: 'm', accepted: 0, queued: 0, unpolled: 0, sending: 0, abandoned: 4 },
    ];
    await capacity.recount();
    expect(freeSlots()).toBe(4);
    accept(begin());
    await refuse(4);
    finish();
    elsewhere = [];
    await clock.pass(6000);
    await capacity.recount();
    expect(view()).toMatchObject({ ceiling: 1, reason: 'refused' });
    expect(freeSlots()).toBe(1);
    elsewhere = [
      { channelId: 1, credentialId: 1, model: 'm', accepted: 0, queued: 0, unpolled: 0, sending: 0, abandoned: 1 },
    ];
    await capacity.recount();
    expect(freeSlots()).toBe(0);
  });

  test('tasks that other nodes have there count for the ceiling', async () => {
    accept(begin());
    elsewhere = [
      { channelId: 1, credentialId: 1, model: 'm', accepted: 6, queued: 0, unpolled: 0, sending: 0, abandoned: 0 },
    ];
    await refuse(4);
    expect(view().ceiling).toBe(7);
  });

  test.each([
    [7, 2],
    [2, 1],
  ])('of %d declared, one of three live nodes may relay %d', async (maxRunning, expected) => {
    const store = {
      dialect: 'postgres',
      capacity: { all: async () => [], running: async () => [] },
      credentials: { all: async () => [] },
      nodes: { alive: async () => ['node', 'b', 'c'].map((id) => ({ id })) },
      subscribe: () => () => {},
    } as unknown as Store;
    const node = createCapacity({
      ...{ store, clock, logger: silentLogger, nodeId: 'node', syncFrequencyMs: 60_000 },
      random: { bytes: (length) => new Uint8Array(length), below: () => 0 },
      accounts: toAccounts(() => [channel({ limits: { maxRunning } })]),
    });
    await node.start();
    expect(node.freeRelaySlots({ channelId: 1, credentialId: 1, pool: '#1', model: 'm' })).toBe(expected);
    node.stop();
  });

  describe('at the ceiling', () => {
    const LIMIT = 5;
    beforeEach(async () => {
      for (let second = 0; second < 20; second++) {
        await fill(LIMIT);
        await clock.pass(1000);
      }
    });

    test('a rise of one is tried after a minute, and each failure doubles the time, up to an hour', async () => {
      let limit = LIMIT;
      const tries: number[] = [];
      let sinceMs = 0;
      for (let second = 0; second < 4 * 3600; second++) {
        sinceMs += 1000;
        if ((await fill(limit)) > 0) {
          tries.push(Math.round(sinceMs / 60_000));
          sinceMs = 0;
        }
        await clock.pass(1000);
      }
      expect(tries.slice(0, 7)).toEqual([1, 2, 4, 8, 16, 32, 60]);
      expect(view().ceiling).toBe(LIMIT);
      limit = LIMIT + 1;
      for (let second = 0; second < 3660; second++) {
        await fill(limit);
        await clock.pass(1000);
      }
      expect(view()).toMatchObject({ ceiling: LIMIT + 1 });
    });

    test('a success proves the refusals false, and it grows again from where it stood before them', async () => {
      for (let second = 0; second < 65; second++) {
        await fill(1000);
        await clock.pass(1000);
      }
      expect(view().ceiling).toBeGreaterThan(LIMIT + 2);
    });

    test('one whose ceiling did not hold stays failed, although more seem to run for a moment after it', async () => {
      const waitForProbe = async (): Promise<number> => {
        let seconds = 0;
        for (; freeSlots() === 0; seconds++) await clock.pass(1000);
        return seconds;
      };
      expect(await waitForProbe()).toBeLessThan(65);
      // It is accepted since another has ended unnoticed, and so are two of those after it.
      accept(begin());
      const late = [begin(), begin()];
      finish();
      await refuse(4);
      expect(view()).toMatchObject({ ceiling: LIMIT, reason: 'refused' });
      for (const dispatch of late) accept(dispatch);
      expect(view().ceiling).toBe(LIMIT + 2);
      await clock.pass(6000);
      finish(3);
      accept(begin());
      await refuse(4);
      expect(view()).toMatchObject({ ceiling: LIMIT, reason: 'refused' });
      expect(await waitForProbe()).toBeGreaterThan(115);
    });

    test('a success of one that another node learned is the ceiling, and the next try comes after a minute', async () => {
      const noRest = { restingForMs: 0, restReason: '', restStep: 0, restGeneration: 9, trialTaskId: null };
      rows = [{ ...{ pool: 'other', model: 'm', ceiling: 7, ceilingReason: 'refused', changedAt: 0 }, ...noRest }];
      channels = [channel({ pool: 'other' })];
      await capacity.wake(channel());
      for (let second = 0; second < 130; second++) {
        await fill(1000);
        await clock.pass(1000);
      }
      expect(view()).toMatchObject({ ceiling: 9, reason: 'raised' });
      // It is taken back by one refusal: nothing else has shown yet that it holds.
      finish();
      capacity.refused(begin(), { kind: 'capacity' });
      expect(view()).toMatchObject({ ceiling: 8, reason: 'refused' });
    });

    test('a refusal at less than half of it rests only: somebody else uses the account', async () => {
      finish();
      expect(await fill(LIMIT)).toBe(0);
      finish(3);
      for (let second = 0; second < 3; second++) expect(await fill(2)).toBeGreaterThan(0);
      expect(view()).toMatchObject({ ceiling: LIMIT, rest: 'capacity' });
    });

    test('a refusal while nothing runs is about the rate, and leaves the ceiling as it is', async () => {
      finish(LIMIT);
      capacity.refused(begin(), { kind: 'capacity' });
      await clock.pass(0);
      expect(view()).toMatchObject({ ceiling: LIMIT, rest: 'rate' });
    });
  });

  describe('a rest', () => {
    /** How long nothing may be sent, to the second. */
    async function measureRest(): Promise<number> {
      let seconds = 0;
      for (; freeSlots() === 0 && seconds < 30_000; seconds++) await clock.pass(1000);
      return seconds;
    }

    test.each<[RefusalKind, number[]]>([
      ['rate', [5, 10, 20, 40, 80, 160, 320, 640, 900, 900]],
      ['vendor_busy', [5, 10, 20]],
      ['credential', [600, 1200, 2400, 4800, 9600, 19_200, 21_600]],
      ['balance', [1800, 3600, 7200]],
    ])('for %s doubles with each trial that fails, and an acceptance resets it', async (kind, seconds) => {
      for (const expected of seconds) {
        capacity.refused(begin(), { kind });
        expect(await measureRest()).toBe(expected);
        expect(freeSlots()).toBe(1);
      }
      accept(begin());
      expect(freeSlots()).toBeGreaterThan(1);
      capacity.refused(begin(), { kind });
      expect(await measureRest()).toBe(seconds[0] as number);
    });

    test('for fullness lasts as long as the vendor says, else five seconds', async () => {
      accept(begin());
      await refuse(4, { retryAfterMs: 42_000 });
      finish();
      expect(await measureRest()).toBe(42);
      accept(begin());
      await refuse(4);
      finish();
      expect(await measureRest()).toBe(5);
    });

    test.each<RefusalKind>(['content', 'request', 'in_doubt'])('begins with no %s', (kind) => {
      capacity.refused(begin(), { kind });
      expect(freeSlots()).toBeGreaterThan(1);
    });

    test('ends with one task as its trial; one refused for its content proves nothing, and the next tries', async () => {
      capacity.refused(begin(), { kind: 'rate' });
      await measureRest();
      const trial = begin();
      expect(freeSlots()).toBe(0);
      capacity.refused(trial, { kind: 'content' });
      expect(freeSlots()).toBe(1);
      const next = begin();
      capacity.end(heldSlots(next));
      expect(freeSlots()).toBe(1);
      accept(begin());
      expect(view().rest).toBe('');
    });

    test('is tried by the start after it, beside a declared limit too', async () => {
      for (const limits of [null, { maxRunning: 5 }]) {
        channels = [channel({ limits })];
        const first = begin();
        capacity.refused(first, { kind: 'rate' });
        await measureRest();
        expect(capacity.wantsTrial(scope())).toBe(true);
        const trial = begin();
        expect([first.isTrial, trial.isTrial, capacity.wantsTrial(scope())]).toEqual([false, true, false]);
        accept(trial);
        expect(begin().isTrial).toBe(false);
      }
    });

    test('is stored once the database answers, which gives its trial away', async () => {
      const stored: object[] = [];
      const faults = ['no connection', 'no connection'];
      common.store.capacity.beginRest = async (key, rest) => {
        if (faults.shift()) throw new Error('the database does not answer');
        stored.push({ ...key, ...rest });
        return true;
      };
      capacity.refused(begin(), { kind: 'balance' });
      await clock.pass(0);
      await clock.pass(1000);
      expect(stored).toEqual([]);
      await clock.pass(1000);
      expect(stored).toEqual([
        { pool: '#1/1', model: '', generation: 0, reason: 'balance', step: 1, forMs: 1_798_000 },
      ]);
      await clock.pass(10_000);
      expect(stored).toHaveLength(1);
    });

    test('begins with a bare 403 of a second user within minutes, and with none before', async () => {
      const forbid = (userId: number) => capacity.refused(begin(userId), { kind: 'forbidden' }).kind;
      expect([forbid(1), forbid(1)]).toEqual(['content', 'content']);
      accept(begin(2));
      expect(forbid(3)).toBe('content');
      await clock.pass(600_000);
      expect(forbid(4)).toBe('content');
      expect(view().rest).toBe('');
      expect(forbid(5)).toBe('credential');
      expect(view().rest).toBe('credential');
      expect(await measureRest()).toBe(600);
      // The trial of one user says enough.
      expect(forbid(6)).toBe('credential');
      expect(await measureRest()).toBe(1200);
      accept(begin(6));
      expect([view().rest, forbid(6)]).toEqual(['', 'content']);
    });

    test('is neither ended nor renewed by answers to requests from before it', async () => {
      const before = [begin(), begin(), begin()];
      capacity.refused(before[0] as Dispatch, { kind: 'rate' });
      accept(before[1] as Dispatch);
      await clock.pass(4000);
      capacity.refused(before[2] as Dispatch, { kind: 'balance' });
      capacity.refused(begin(), { kind: 'rate' });
      expect(view().rest).toBe('balance');
      await clock.pass(2000);
      expect(freeSlots()).toBe(0);
    });

    test('after it few are sent at once, and twice as many with each acceptance', async () => {
      await fill(1000);
      await fill(1000);
      finish(8);
      capacity.refused(begin(), { kind: 'rate' });
      await measureRest();
      accept(begin());
      expect(freeSlots()).toBe(2);
      for (const dispatch of [begin(), begin()]) accept(dispatch);
      expect(freeSlots()).toBe(8);
    });

    test('of a key is its channel, of a rate all channels of the pool', async () => {
      channels = [channel({ pool: 'shared' }), channel({ id: 2, pool: 'shared' })];
      const haveFreeSlots = () => [1, 2].map((id) => capacity.freeSlots(scope('m', id)) > 0);
      capacity.refused(begin(), { kind: 'credential' });
      expect(haveFreeSlots()).toEqual([false, true]);
      capacity.refused(begin(1, 2), { kind: 'rate' });
      expect(haveFreeSlots()).toEqual([false, false]);
      expect(capacity.freeSlots(scope('other', 2))).toBeGreaterThan(0);
    });

    describe('of one of three keys', () => {
      const KEYS = [1, 2, 3];
      let three: CapacityService;
      const place = (id: number) => three.scope(toAccount(channel(), { id }), 'm');
      const haveFreeSlots = () => KEYS.map((id) => three.freeSlots(place(id)) > 0);
      let tasks = 0;
      const send = (id: number, userId = 1) => {
        tasks += 1;
        return three.begin(place(id), { taskId: `key_${tasks}`, slots: 1, userId });
      };
      beforeEach(async () => {
        const accounts = KEYS.map((id) => toAccount(channel(), { id }));
        three = createCapacity({ ...common, accounts: () => accounts });
        await three.start();
        return () => three.stop();
      });

      test.each<RefusalKind>(['credential', 'balance'])(
        'for %s leaves the others, and ends with a trial',
        async (kind) => {
          three.refused(send(2), { kind });
          expect(haveFreeSlots()).toEqual([true, false, true]);
          const { credentials, restReason } = three.describe(channel());
          expect(restReason).toBe('');
          expect(credentials.map((one) => one.restReason)).toEqual(['', kind as 'credential', '']);
          expect(three.rests(channel(), 'm')).toBe(false);
          expect(three.begunRests().get(kind as 'credential')).toBe(1);
          await clock.pass(kind === 'credential' ? 600_000 : 1_800_000);
          expect(haveFreeSlots()).toEqual([true, true, true]);
          const trial = send(2);
          expect(haveFreeSlots()).toEqual([true, false, true]);
          three.accepted(trial);
          expect(haveFreeSlots()).toEqual([true, true, true]);
          expect(three.describe(channel()).credentials[1]?.restReason).toBe('');
        },
      );

      test('of none is counted for a full account', async () => {
        accept(begin());
        await refuse(4);
        expect([view().rest, capacity.rests(channel(), 'm')]).toEqual(['capacity', false]);
      });

      test('of each is a rest of the channel, until the first may be tried', async () => {
        for (const id of KEYS) three.refused(send(id), { kind: id === 3 ? 'credential' : 'balance' });
        expect(three.rests(channel(), 'm')).toBe(true);
        expect(three.describe(channel())).toMatchObject({ restReason: 'credential', restStep: 1 });
        expect(three.describe(channel()).restingSince).toBe(clock.unix());
      });

      test('begins with bare 403s of two users to that key, and those to different keys begin none', () => {
        expect(three.refused(send(1, 1), { kind: 'forbidden' }).kind).toBe('content');
        expect(three.refused(send(2, 2), { kind: 'forbidden' }).kind).toBe('content');
        expect(haveFreeSlots()).toEqual([true, true, true]);
        expect(three.refused(send(1, 2), { kind: 'forbidden' }).kind).toBe('credential');
        expect(haveFreeSlots()).toEqual([false, true, true]);
      });

      test('is not that of an outage, which is of the vendor', () => {
        for (const id of [1, 2, 3, 1, 2]) three.refused(send(id), { kind: 'in_doubt' });
        expect(haveFreeSlots()).toEqual([false, false, false]);
        expect(three.describe(channel()).restReason).toBe('outage');
      });
    });

    test('tells when it is over', async () => {
      const heard: CapacityKey[] = [];
      capacity.refused(begin(), { kind: 'rate' });
      capacity.onSlotsFreed((freed) => heard.push(freed));
      await clock.pass(4900);
      expect(heard).toEqual([]);
      await clock.pass(200);
      expect(heard).toEqual([{ pool: '#1', model: 'm' }]);
    });

    test('of an outage is renewed by its trial, for twice as long', async () => {
      for (const userId of [1, 2, 1, 2, 1]) capacity.refused(begin(userId), { kind: 'in_doubt' });
      expect(freeSlots()).toBe(0);
      await clock.pass(34_000);
      expect(freeSlots()).toBe(1);
      capacity.refused(begin(), { kind: 'in_doubt' });
      expect([freeSlots(), view().rest]).toEqual([0, 'outage']);
      await clock.pass(50_000);
      expect(freeSlots()).toBe(0);
      await clock.pass(20_000);
      expect(freeSlots()).toBe(1);
    });

    test.each<[string, number[], string]>([
      ['from two users', [1, 2, 1, 2, 1], 'outage'],
      ['from the only user', [1, 1, 1, 1, 1], 'outage'],
      ['of one user among others, whose request may be at fault', [1, 1, 1, 1, 1], ''],
    ])('begins after five failures of the last ten %s', async (name, users, rest) => {
      for (let index = 0; index < 5; index++) accept(begin(name.startsWith('of one') ? 7 : users[0]));
      for (const userId of users) capacity.refused(begin(userId), { kind: 'in_doubt' });
      expect(view().rest).toBe(rest as 'outage' | '');
    });
  });

  describe('a slot', () => {
    test('of a submission in doubt is held until the database says what became of it', async () => {
      capacity.refused(begin(), { kind: 'in_doubt' });
      expect(freeSlots()).toBe(3);
      await clock.pass(10_000);
      expect(freeSlots()).toBe(4);
    });

    test('of a sender that died is found free by a later count', async () => {
      begin();
      await clock.pass(30_000);
      expect(freeSlots()).toBe(3);
      for (let count = 0; count < 8; count++) await clock.pass(5000);
      expect(freeSlots()).toBe(4);
    });

    test('is free only while a vendor that queues by itself has begun all tasks but two', async () => {
      capacity = createCapacity({ ...common, accounts: toAccounts(() => channels), queues: () => true });
      for (const queued of [2, 3]) {
        elsewhere = [
          { channelId: 1, credentialId: 1, model: 'm', accepted: 3, queued, unpolled: 0, sending: 0, abandoned: 0 },
          {
            channelId: 1,
            credentialId: 1,
            model: 'other',
            accepted: 1,
            queued: 0,
            unpolled: 0,
            sending: 0,
            abandoned: 0,
          },
        ];
        await capacity.recount();
        expect([freeSlots() > 0, freeSlots('other') > 0]).toEqual([queued === 2, true]);
      }
    });

    test.each([1, 5, 40])('stays few at a vendor that queues by itself and runs %i at once', async (limit) => {
      const [SECONDS, JOB, FIRST_POLL] = [600, 20, 3];
      /** In the order of their acceptance; the vendor begins the first ones. */
      const jobs: { dispatch: Dispatch; sentAt: number; startedAt?: number }[] = [];
      let [second, done, mostQueued] = [0, 0, 0];
      common.store.capacity.running = async (except) => {
        const count = { accepted: 0, queued: 0, unpolled: 0 };
        for (const { dispatch, sentAt, startedAt } of jobs) {
          if (except.includes(dispatch.taskId)) continue;
          count.accepted += 1;
          if (second - sentAt < FIRST_POLL) count.unpolled += 1;
          else if (startedAt === undefined) count.queued += 1;
        }
        return [{ channelId: 1, credentialId: 1, model: 'm', ...count, sending: 0, abandoned: 0 }];
      };
      capacity.stop();
      capacity = createCapacity({ ...common, accounts: toAccounts(() => channels), queues: () => true });
      await capacity.start();
      for (; second < SECONDS; second++) {
        for (const job of jobs.filter(({ startedAt = second }) => second - startedAt >= JOB)) {
          jobs.splice(jobs.indexOf(job), 1);
          capacity.end(heldSlots(job.dispatch));
          done += 1;
        }
        for (let burst = freeSlots(); burst > 0 && jobs.length < 5000; burst = freeSlots()) {
          for (let task = 0; task < burst; task++) {
            const dispatch = begin();
            capacity.accepted(dispatch);
            jobs.push({ dispatch, sentAt: second });
          }
        }
        for (const job of jobs.slice(0, limit)) job.startedAt ??= second;
        mostQueued = Math.max(mostQueued, jobs.length - limit);
        await clock.pass(1000);
      }
      expect(mostQueued).toBeLessThanOrEqual(limit + 3);
      expect(done).toBeGreaterThan((0.75 * limit * SECONDS) / JOB);
    });

    test('of a declared rate is free at once by another rate', () => {
      for (const maxPerMinute of [1, 60]) {
        channels = [channel({ limits: { maxPerMinute } })];
        expect(freeSlots()).toBeGreaterThan(0);
        capacity.beginRelay(scope())();
        expect(capacity.freeRelaySlots(scope())).toBe(0);
      }
      channels = [channel({ limits: { maxPerMinute: 60, maxRunning: 3 } })];
      expect(freeSlots()).toBe(0);
      channels = [channel({ limits: { maxRunning: 3 } })];
      expect(freeSlots()).toBe(3);
    });

    test('of a task that takes several is free where they fit, or as the probe of a learned ceiling', async () => {
      const large = () => capacity.lacking(scope(), 2) === undefined;
      // Nothing has shown a limit yet.
      for (let task = 0; task < 3; task++) accept(begin());
      expect(large()).toBe(true);
      await refuse(4);
      expect(view()).toMatchObject({ ceiling: 3, reason: 'refused' });
      finish(3);
      await clock.pass(6000);
      accept(begin());
      await clock.pass(6000);
      accept(begin());
      expect([freeSlots(), large(), capacity.lacking(scope(), 1)]).toEqual([1, false, undefined]);
      for (let second = 0; second < 61; second++) {
        await clock.pass(1000);
        large();
      }
      expect(large()).toBe(true);
      const probe = capacity.begin(scope(), { taskId: 'task_large', slots: 2, userId: 1 });
      expect(probe.isProbe).toBe(true);
      accept(probe);
      expect(view().ceiling).toBe(4);
      finish(3);
      // One that is larger than all of it runs alone.
      expect([capacity.lacking(scope(), 9), large()]).toEqual([undefined, true]);
    });

    test('is taken by what is declared, for the pool and for a model', () => {
      channels = [channel({ limits: { maxRunning: 3, models: { m: { maxRunning: 2 } } } })];
      expect([freeSlots(), freeSlots('other')]).toEqual([2, 3]);
      begin();
      begin();
      expect([freeSlots(), freeSlots('other')]).toEqual([0, 1]);
      expect(capacity.needsLock(scope())).toBe(true);
      expect(capacity.declared(scope())).toEqual({ maxRunning: 2 });
    });
  });
});
