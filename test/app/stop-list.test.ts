import { expect, test } from 'bun:test';
import { createShutdown } from '../../src/app/shutdown.ts';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';

test('stops in the opposite order, once, and past a step that fails', async () => {
  const order: string[] = [];
  const failures: object[] = [];
  const stops = createShutdown({ ...silentLogger, error: (fields) => void failures.push(fields) }, systemClock);
  stops.add('store', () => void order.push('store'));
  stops.add('sandbox', () => Promise.reject(new Error('broken')));
  stops.add('listener', async () => {
    await systemClock.sleep(1);
    order.push('listener');
  });
  await stops.run();
  await stops.run();
  expect(order).toEqual(['listener', 'store']);
  expect(failures).toEqual([expect.objectContaining({ step: 'sandbox' })]);
});
