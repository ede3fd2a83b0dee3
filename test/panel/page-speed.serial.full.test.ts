import { expect, test } from 'bun:test';
import { ROOT } from '../support/gateway.ts';
import { quietMs } from '../support/quiet-time.ts';
import { accountMenu, usePanel } from './harness.ts';

const panel = usePanel();

test('a loaded panel shows a page and an answer in less than 100 ms each', async () => {
  const { page } = await panel.openAs(ROOT, '/');
  await accountMenu(page).waitFor();
  await page.waitForLoadState('networkidle');
  const read = () =>
    page.evaluate(async () => {
      await (await fetch('/', { headers: { accept: 'text/html' } })).text();
      await (await fetch('/api/status')).text();
    });
  expect(await quietMs(read, { limitMs: 200 })).toBeLessThan(200);
});
