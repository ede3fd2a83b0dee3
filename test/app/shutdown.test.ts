import { expect, test } from 'bun:test';
import { createShutdown } from '../../src/app/composition/shutdown.ts';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';

test('a shutdown runs its steps once, in the opposite order, and continues after a failed step', async () => {
  const order: string[] = [];
  const failures: object[] = [];
  const shutdown = createShutdown({ ...silentLogger, error: (fields) => void failures.push(fields) }, systemClock);
  shutdown.add('store', () => void order.push('store'));
  shutdown.add('sandbox', () => Promise.reject(new Error('broken')));
  shutdown.add('listener', async () => {
    await systemClock.sleep(1);
    order.push('listener');
  });
  await shutdown.run();
  await shutdown.run();
  expect(order).toEqual(['listener', 'store']);
  expect(failures).toEqual([expect.objectContaining({ step: 'sandbox' })]);
});
