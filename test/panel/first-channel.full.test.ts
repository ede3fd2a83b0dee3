/** From a vendor's key to a first real task with a price. */
import { afterAll, expect, test } from 'bun:test';
import type { Locator } from 'playwright-core';
import { ROOT, startVendor, type VendorProcess } from '../support/gateway.ts';
import { findPageIssues, heading, screens, usePanel, waitForText } from './harness.ts';

let vendor: VendorProcess;
const panel = usePanel(async () => {
  vendor = await startVendor();
});
afterAll(() => vendor?.stop());

test('a channel is tested, priced and used within ten clicks', async () => {
  const { page } = await panel.openAs(ROOT, '/', { viewport: screens.desktop });
  let clicks = 0;
  const click = async (target: Locator): Promise<void> => {
    clicks += 1;
    await target.click();
  };
  await click(page.getByRole('link', { name: 'Channels', exact: true }));
  await click(page.getByRole('link', { name: 'Add channel' }).first());
  await click(page.getByRole('combobox', { name: 'Vendor' }));
  await click(page.getByRole('option', { name: /^Demo vendor/ }).first());
  const key = page.getByLabel(/^Key/);
  await key.waitFor();
  expect(await key.evaluate((element) => element === document.activeElement)).toBe(true);
  await page.keyboard.type('demo-key');
  await page.getByLabel('Base URL').fill(vendor.url);
  await click(page.getByRole('button', { name: 'Add channel' }));

  await waitForText(page, '2 models have no price.');
  const steps = page.getByRole('region', { name: /^Test/ });
  await steps.getByText('Key check').waitFor();
  await click(page.getByRole('link', { name: 'Set prices' }));
  await heading(page, 'Demo vendor prices').waitFor();
  await waitForText(page, 'List $0.02');
  expect(await findPageIssues(page)).toEqual([]);
  await click(page.getByRole('button', { name: 'Use list prices' }));
  await click(page.getByRole('button', { name: 'Save prices' }));
  await click(page.getByRole('link', { name: 'Open in Playground' }));
  await heading(page, 'Playground').waitFor();
  await page.getByLabel('Prompt').fill('a paper boat');
  await click(page.getByRole('button', { name: 'Run · $0.08' }));
  await page.getByRole('region', { name: 'demo-video' }).waitFor();
  expect(clicks).toBeLessThanOrEqual(10);

  const { items } = await panel.root().call<{ items: { model: string; expression: string }[] }>('GET', '/api/price');
  expect(items.map(({ model, expression }) => [model, expression])).toEqual([
    ['demo-video', '0.02 * u("seconds")'],
    ['demo-video-pro', '(u("resolution") == "480p" ? 0.02 : u("resolution") == "720p" ? 0.04 : 0.08) * u("seconds")'],
  ]);
});
