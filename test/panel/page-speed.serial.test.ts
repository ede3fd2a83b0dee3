import { expect, test } from 'bun:test';
import { ROOT } from '../support/gateway.ts';
import { accountMenu, usePanel } from './harness.ts';

const panel = usePanel();

test('a loaded panel shows a page in less than 100 ms at the median', async () => {
  const { page } = await panel.openAs(ROOT, '/');
  await accountMenu(page).waitFor();
  await page.waitForLoadState('networkidle');
  const times: number[] = [];
  for (let round = 0; round < 12; round += 1) {
    times.push(
      await page.evaluate(async () => {
        const startedAt = performance.now();
        await (await fetch('/', { headers: { accept: 'text/html' } })).text();
        await (await fetch('/api/status')).text();
        return (performance.now() - startedAt) / 2;
      }),
    );
  }
  times.sort((a, b) => a - b);
  expect(times[6]).toBeLessThan(100);
});
