/** The prices of all plugins as a sheet: edited, pasted, multiplied, replayed and saved. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Locator, Page } from 'playwright-core';
import { ask, startVendor, type VendorProcess } from '../support/gateway.ts';
import { until } from '../support/until.ts';
import { findPageIssues, screens, usePanel, waitForNotice, waitForValue } from './harness.ts';

let vendor: VendorProcess;
beforeAll(async () => {
  vendor = await startVendor();
});
afterAll(() => vendor.stop());

const panel = usePanel(async (root, gateway) => {
  await root.createChannel(vendor.url);
  await root.call('PUT', '/api/price', { plugin_key: 'demo', model: 'demo-video', expression: 'u("seconds") * 0.05' });
  // A bill for the replay.
  const token = await root.createKey();
  const body = { model: 'demo-video', prompt: 'a gull [duration=0]', seconds: 4 };
  const made = await ask(`${gateway.url}/v1/tasks/demo`, { token, body });
  const { id } = made.body as { id: string };
  await until('the task has ended', async () => {
    const read = await ask(`${gateway.url}/v1/tasks/${id}?wait=10`, { token });
    return (read.body as { status: string }).status === 'SUCCESS';
  });
});

async function openSheet(): Promise<Page> {
  const page = await panel.sharedRootPage();
  await page.goto(`${panel.origin()}/prices`);
  await page.getByRole('link', { name: 'Open price sheet' }).click();
  await row(page, 'demo-video').waitFor();
  return page;
}
const row = (page: Page, model: string) =>
  page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: new RegExp(`^${model}(?!-)`) }) });
const price = (page: Page, model: string) =>
  row(page, model).getByRole('textbox', { name: `Price of ${model} in US dollars`, exact: true });
const changes = (page: Page) => page.getByRole('region', { name: 'Price changes' });
const readPrice = async (model: string): Promise<string | undefined> => {
  const { items } = await panel.root().call<{ items: { model: string; expression: string }[] }>('GET', '/api/price');
  return items.find((each) => each.model === model)?.expression;
};

test('a price that is edited shows before and after, and is saved', async () => {
  const page = await openSheet();
  await price(page, 'demo-video').fill('0.06');
  await changes(page).getByText('New price for 1 model: +20%').click();
  await changes(page).getByText('demo-video $0.05 → $0.06 / second (+20%)').waitFor();
  expect(await changes(page).getByText('0.06 * u("seconds")').isVisible()).toBe(false);
  await changes(page).getByText('Show formula').click();
  await changes(page).getByText('0.06 * u("seconds")').waitFor();
  expect(await changes(page).getByText('u("seconds") * 0.05').count()).toBe(1);
  await row(page, 'demo-video').getByText('List $0.02', { exact: true }).waitFor();
  await row(page, 'demo-video').getByText('$0.05', { exact: true }).waitFor();
  expect(await row(page, 'demo-video').getByRole('cell').nth(3).textContent()).toBe('66.7%');
  await changes(page).getByRole('button', { name: 'Discard' }).click();
  await waitForValue(price(page, 'demo-video'), '$0.05');
  await price(page, 'demo-video').fill('0.06');
  await changes(page).getByRole('button', { name: 'Save prices' }).click();
  await waitForNotice(page, '1 model has a new price');
  await changes(page).waitFor({ state: 'detached' });
  expect(await readPrice('demo-video')).toBe('0.06 * u("seconds")');
});

test('prices typed in the tab of a plugin are not lost when another tab is opened', async () => {
  const page = await panel.sharedRootPage();
  await page.goto(`${panel.origin()}/plugins/demo?tab=prices`);
  await price(page, 'demo-video').fill('0.07');
  for (const tab of ['Versions', 'Overview']) {
    await page.getByRole('tab', { name: tab }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Keep editing' }).click();
    await waitForValue(price(page, 'demo-video'), '$0.07');
  }
  await changes(page).getByRole('button', { name: 'Discard' }).click();
});

test('a price is copied over those of other models only after a question', async () => {
  await panel.root().call('PUT', '/api/price', { plugin_key: 'demo', model: 'demo-video-pro', expression: '0.4' });
  const page = await panel.sharedRootPage();
  await page.goto(`${panel.origin()}/plugins/demo?tab=prices`);
  await price(page, 'demo-video').fill('0.07');
  const question = page.getByRole('dialog', { name: 'Copy to 1 other model' });
  for (const [answer, after] of [
    ['Cancel', '$0.40'],
    ['Copy price', '$0.07'],
  ] as const) {
    await page.getByRole('button', { name: 'Copy to 1 other model' }).click();
    await question.getByText('This replaces 1 price that is already set.').waitFor();
    await question.getByRole('button', { name: answer }).click();
    await question.waitFor({ state: 'detached' });
    await waitForValue(price(page, 'demo-video-pro'), after);
  }
  await changes(page).getByRole('button', { name: 'Discard' }).click();
});

test('list × 1.3 and +10 % change the chosen prices', async () => {
  const page = await openSheet();
  expect(await page.getByRole('button', { name: /^Apply/ }).count()).toBe(0);
  await page.getByRole('checkbox', { name: 'Select all' }).check();
  await page.getByText('2 selected').waitFor();
  await page.getByRole('button', { name: 'Apply: Set to list price ×' }).click();
  await waitForValue(price(page, 'demo-video'), '$0.026');
  const byResolution = row(page, 'demo-video-pro').getByRole('textbox');
  await waitForValue(byResolution.nth(0), '$0.026');
  await waitForValue(byResolution.nth(2), '$0.104');
  await page.getByRole('checkbox', { name: 'Select demo-video', exact: true }).uncheck();
  await page.getByRole('button', { name: 'Apply: Change by' }).click();
  await waitForValue(byResolution.nth(2), '$0.1144');
  await waitForValue(price(page, 'demo-video'), '$0.026');
  await changes(page).getByRole('button', { name: 'Discard' }).click();
});

const paste = (field: Locator, text: string) =>
  field.evaluate((element, data) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData('text', data);
    element.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
  }, text);

test('a column of a spreadsheet fills the prices from a row on', async () => {
  const page = await openSheet();
  // Both models have one amount each.
  await panel.root().call('PUT', '/api/price', { plugin_key: 'demo', model: 'demo-video-pro', expression: '0.4' });
  await page.reload();
  await price(page, 'demo-video-pro').waitFor();
  await paste(price(page, 'demo-video'), '$0.07\n0.5\n');
  await waitForValue(price(page, 'demo-video'), '$0.07');
  await waitForValue(price(page, 'demo-video-pro'), '$0.50');
  await changes(page).getByRole('button', { name: 'Save prices' }).waitFor();
  await changes(page).getByRole('button', { name: 'Discard' }).click();
});

test('several columns fill the amounts of a row, and it is said how many rows do not take theirs', async () => {
  const byResolution = '(u("resolution") == "480p" ? 0.02 : u("resolution") == "720p" ? 0.04 : 0.08) * u("seconds")';
  const body = { plugin_key: 'demo', model: 'demo-video-pro', expression: byResolution };
  await panel.root().call('PUT', '/api/price', body);
  const page = await openSheet();
  await page.reload();
  const amounts = row(page, 'demo-video-pro').getByRole('textbox');
  await waitForValue(amounts.nth(2), '$0.08');
  await paste(price(page, 'demo-video'), '0.09\t0.1\n0.1\t\t0.3\n0.4');
  await waitForValue(amounts.nth(0), '$0.10');
  await waitForValue(amounts.nth(1), '$0.04');
  await waitForValue(amounts.nth(2), '$0.30');
  // The first row has one amount, and there is no third row.
  await page.getByText('2 rows skipped: their values don’t fit the price fields.').waitFor();
  await waitForValue(price(page, 'demo-video'), '$0.06');
  await changes(page).getByRole('button', { name: 'Discard' }).click();
  expect(await page.getByText('2 rows skipped').count()).toBe(0);
  await panel.root().call('PUT', '/api/price', { ...body, expression: '0.4' });
});

test('the charges of the last 30 days are compared with prices that are not saved', async () => {
  const page = await openSheet();
  const before = await readPrice('demo-video');
  await price(page, 'demo-video').fill('0.1');
  await changes(page).getByRole('button', { name: 'Compare with last 30 days' }).click();
  await changes(page).getByText('Charges recalculated').waitFor();
  // The bill was made at $0.05: four seconds of it.
  await changes(page).getByText('$0.20 → $0.40').first().waitFor();
  await changes(page).getByText('1 user would pay more').waitFor();
  expect(await readPrice('demo-video')).toBe(before);
  await changes(page).getByRole('button', { name: 'Discard' }).click();
});

test('on a phone each model is a block: its price is in sight without scrolling sideways', async () => {
  const page = await openSheet();
  await price(page, 'demo-video').fill('0.08');
  await page.setViewportSize(screens.phone);
  const box = await price(page, 'demo-video').boundingBox();
  expect(box !== null && box.x >= 0 && box.x + box.width <= screens.phone.width).toBe(true);
  expect(await findPageIssues(page)).toEqual([]);

  // Folded, the changes leave the list in sight; Enter unfolds them.
  await page.setViewportSize(screens.phone);
  await page.getByRole('checkbox', { name: 'Select all' }).check();
  await page.getByRole('button', { name: 'Apply: Change by' }).click();
  const bar = await changes(page).boundingBox();
  expect(bar?.height).toBeLessThan(screens.phone.height / 5);
  expect(await changes(page).getByRole('listitem').first().isVisible()).toBe(false);
  await changes(page)
    .locator('summary', { hasText: /New prices for 2 models: \+/ })
    .press('Enter');
  await changes(page).getByRole('listitem').first().waitFor();
  expect(await findPageIssues(page)).toEqual([]);
  await changes(page).getByRole('button', { name: 'Discard' }).click();
});

test('on a phone the bar of changes covers no field that the keyboard reaches', async () => {
  const page = await openSheet();
  await page.setViewportSize(screens.phone);
  await page.getByRole('checkbox', { name: 'Select all' }).check();
  await price(page, 'demo-video').fill('0.09');
  await changes(page).waitFor();
  await page.evaluate(() => scrollTo(0, 0));
  await page.getByRole('checkbox', { name: 'Select all' }).focus();
  const reached = new Map<string, boolean>();
  for (let step = 0; step < 12 && !(await changes(page).locator(':focus').count()); step += 1) {
    await page.keyboard.press('Tab');
    const [name, isCovered] = await page.evaluate(() => {
      const { activeElement: focused } = document;
      const { left = 0, width = 0, bottom = 0 } = focused?.getBoundingClientRect() ?? {};
      const above = document.elementFromPoint(left + width / 2, bottom - 1);
      const bar = above?.closest('[aria-label="Price changes"]');
      return [focused?.getAttribute('aria-label') ?? '', bar != null && !bar.contains(focused)] as const;
    });
    reached.set(name, isCovered);
  }
  expect(reached.has('Price of demo-video in US dollars')).toBe(true);
  expect([...reached].filter(([, isCovered]) => isCovered)).toEqual([]);
  await changes(page).getByRole('button', { name: 'Discard' }).click();
});
