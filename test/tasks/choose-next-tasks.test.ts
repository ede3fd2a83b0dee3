import { expect, test } from 'bun:test';
import type { ChannelRecord, WaitingCount } from '../../src/store/ports/index.ts';
import { chooseNextTasks, createTrialOrder, createUserShares } from '../../src/tasks/dispatch/choose-next-tasks.ts';
import { toAccount } from '../support/accounts.ts';

type Line = { name: string; priority: number; tasks: string[] };

/** Gives one slot after the other away. The first letter of a task is its user's. */
async function giveOneByOne(lines: readonly Line[], times: number): Promise<string> {
  const shares = createUserShares();
  const account = toAccount({ id: 1 } as ChannelRecord);
  const scope = { channelId: 1, credentialId: 1, pool: '#1', model: 'm' };
  let given = '';
  for (let time = 0; time < times; time += 1) {
    const plans = lines
      .filter(({ tasks }) => tasks.length > 0)
      .map(({ name, priority }) => ({
        ...{ waitingClass: { class: name, priority } as WaitingCount, account, scope, limit: 1 },
      }))
      .sort((a, b) => b.waitingClass.priority - a.waitingClass.priority);
    let free = 1;
    const { dequeuings: taken } = await chooseNextTasks(
      { shares, plans },
      {
        most: 64,
        heads: ({ class: wanted, priority: at }) =>
          (lines.find(({ name, priority }) => name === wanted && priority === at)?.tasks ?? [])
            .slice(0, 1)
            .map((taskId) => ({ taskId, userId: taskId.charCodeAt(0), sinceMs: Number(taskId.slice(1)), slots: 1 })),
        start: async () => (free-- > 0 ? 'begun' : 'full'),
      },
    );
    for (const { taskId } of taken) {
      given += taskId[0];
      for (const { tasks } of lines) if (tasks[0] === taskId) tasks.shift();
    }
  }
  return given;
}

const tasks = (user: string, count: number, since = 0) =>
  Array.from({ length: count }, (_, at) => `${user}${since + at}`);

test('a user who waits in two groups has one share of an account', async () => {
  const both = ['a0', 'b0', 'a1', 'b1', 'a2', 'b2', 'a3', 'b3'];
  const lines = [
    { name: 'default', priority: 0, tasks: both },
    { name: 'other', priority: 0, tasks: tasks('a', 4, 10) },
  ];
  expect(await giveOneByOne(lines, 8)).toMatch(/^(ab|ba){4}$/);
});

test('the user who has waited for longer goes first, and a greedy one is ahead by one at most', async () => {
  const lines = [
    { name: 'default', priority: 0, tasks: tasks('a', 6) },
    { name: 'other', priority: 0, tasks: tasks('b', 3, 100) },
  ];
  expect(await giveOneByOne(lines, 9)).toBe('abababaaa');
});

test('a higher priority goes first, whatever its users got', async () => {
  const lines = [
    { name: 'default', priority: 0, tasks: tasks('a', 2) },
    { name: 'other', priority: 1, tasks: tasks('b', 3, 100) },
  ];
  expect(await giveOneByOne(lines, 5)).toBe('bbbaa');
});

test('smaller tasks do not overtake one that needs several slots, unless another limit holds it back', async () => {
  const account = toAccount({ id: 1 } as ChannelRecord);
  const plan = (name: string, model: string) => ({
    ...{ waitingClass: { class: name, priority: 0 } as WaitingCount, account, limit: 3 },
    scope: { channelId: 1, credentialId: 1, pool: '#1', model },
  });
  const plans = [plan('large', 'l'), plan('small', 's')];
  const give = async (gathers: { pool: string; model: string }) => {
    const chosen = await chooseNextTasks(
      { shares: createUserShares(), plans },
      {
        most: 64,
        heads: ({ class: name }) =>
          name === 'large'
            ? [{ taskId: 'large', userId: 1, sinceMs: 0, slots: 3 }]
            : [1, 2].map((since) => ({ taskId: `small${since}`, userId: 2, sinceMs: since, slots: 1 })),
        start: async (_, { slots }) => (slots > 2 ? { gathers } : 'begun'),
      },
    );
    return { ...chosen, dequeuings: chosen.dequeuings.map(({ taskId }) => taskId) };
  };
  const [pool, model] = [
    { pool: '#1', model: '' },
    { pool: '#1', model: 'l' },
  ];
  expect(await give(pool)).toEqual({ dequeuings: [], gathered: [pool] });
  expect(await give(model)).toEqual({ dequeuings: ['small1', 'small2'], gathered: [model] });
});

test('each waiting task is the trial of a rest once before one is again', () => {
  const order = createTrialOrder();
  const heads = ['a', 'b', 'c'].map((taskId) => ({ taskId }));
  const tried = Array.from({ length: 7 }, () => {
    const [next] = order.sort(heads);
    order.note(next?.taskId ?? '');
    return next?.taskId;
  });
  expect(tried.join('')).toBe('abcabca');
});
