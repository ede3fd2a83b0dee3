import { expect, test } from 'bun:test';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import { createCallbackFollower } from '../../src/tasks/polling/follow-callbacks.ts';
import { until } from '../support/until.ts';

test('flood: however often a vendor calls within a window, it is asked at once and again at its end', async () => {
  const asked: string[] = [];
  const windows: (() => void)[] = [];
  const follow = createCallbackFollower({
    store: { tasks: { makeDue: async (taskId) => asked.push(taskId) > 0 } },
    clock: { ...systemClock, sleep: () => new Promise((resolve) => windows.push(resolve)) },
    logger: silentLogger,
    wake: () => {},
  });
  for (let call = 0; call < 100; call += 1) follow('a');
  follow('b');
  await until('both windows are open', () => windows.length === 2);
  for (let call = 0; call < 100; call += 1) follow('a');
  expect(asked).toEqual(['a', 'b']);
  for (const end of windows.splice(0)) end();
  await until('both are asked again', () => asked.length === 4);
  expect(asked.slice(2).sort()).toEqual(['a', 'b']);
  follow('a');
  await until('the next window is open', () => windows.length === 1);
  expect(asked).toHaveLength(5);
});
