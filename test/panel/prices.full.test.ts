/** Editing, paging and saving prices. */
import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { heading, usePanel, waitForCount, waitForNotice, waitForText } from './harness.ts';
import { holdResponse } from './hold-response.ts';

/** One more than fits on the first page of the list. */
const prices = 21;

const panel = usePanel(async (root) => {
  for (let number = 1; number <= prices; number += 1) {
    const model = `model-${String(number).padStart(2, '0')}`;
    await root.call('PUT', '/api/price', { plugin_key: '*', model, expression: '0.5' });
  }
});

async function visit(path: string): Promise<Page> {
  const page = await panel.sharedRootPage();
  await page.goto(`${panel.origin()}${path}`);
  return page;
}
const dialog = (page: Page) => page.getByRole('dialog');

async function writePrice(page: Page, expression: string): Promise<void> {
  await page.getByRole('button', { name: 'Add price' }).click();
  await dialog(page).getByLabel('Model', { exact: true }).fill('demo-video');
  // The quote is requested with complete input only.
  await dialog(page).getByLabel('Video length (seconds)', { exact: true }).waitFor();
  await dialog(page).getByLabel('How demo-video is priced').selectOption('expression');
  await dialog(page).getByLabel('Price in USD', { exact: true }).fill(expression);
}

test('the back button leaves the list after the last price of a page was deleted', async () => {
  const page = await visit('/plugins');
  await page.getByRole('navigation').getByRole('link', { name: 'Prices', exact: true }).click();
  await page.getByRole('button', { name: 'Page 2' }).click();
  await page.getByRole('button', { name: `Actions for model-${prices}` }).click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  await dialog(page).getByRole('button', { name: 'Delete price' }).click();
  await waitForNotice(page, 'was deleted');
  await dialog(page).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Actions for model-01' }).waitFor();
  await page.goBack();
  await heading(page, 'Plugins').waitFor();
});

test('the list is searched by model and plugin, and sorted by what a price says', async () => {
  const page = await visit('/prices');
  const rows = page.getByRole('table', { name: 'Prices' }).locator('tbody tr');
  await waitForCount(rows, 20);
  await page.getByRole('searchbox', { name: 'Search' }).fill('all 07');
  await waitForCount(rows, 1);
  expect(await rows.innerText()).toContain('model-07');
  await page.getByRole('searchbox', { name: 'Search' }).fill('nothing like it');
  await waitForText(page, 'No prices match this search.');
  await page.getByRole('button', { name: 'Clear search and filters' }).click();
  await waitForCount(rows, 20);
  await panel.root().call('PUT', '/api/price', { plugin_key: 'demo', model: 'demo-video-pro', expression: '0.1' });
  await page.goto(`${panel.origin()}/prices?sort=changed`);
  await rows.first().getByRole('button', { name: 'demo-video-pro', exact: true }).click();
  await dialog(page).getByRole('heading', { name: 'Edit price for demo-video-pro' }).waitFor();
});

test('a price being saved keeps its dialog open', async () => {
  const page = await visit('/prices');
  await writePrice(page, '0.25');
  const saving = await holdResponse(page, '**/api/price', 'PUT');
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await saving.answered;
  expect(await dialog(page).getByRole('button', { name: 'Cancel' }).isDisabled()).toBe(true);
  await page.keyboard.press('Escape');
  expect(await dialog(page).getByLabel('Price in USD', { exact: true }).isVisible()).toBe(true);
  await saving.release();
  await waitForNotice(page, 'The price for demo-video was saved');
  await dialog(page).waitFor({ state: 'detached' });
});

test('an error below a price leaves it in line with the field beside it', async () => {
  const page = await visit('/prices');
  await page.getByRole('button', { name: 'Add price' }).click();
  await dialog(page).getByRole('combobox', { name: 'Model' }).fill('demo-video');
  await page.keyboard.press('Enter');
  const fields = [dialog(page).getByLabel('How demo-video is priced'), dialog(page).getByLabel('Price in USD')];
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await dialog(page).getByText('Enter a price').first().waitFor();
  const [counted, amount] = await Promise.all(fields.map((field) => field.boundingBox()));
  expect(amount?.y).toBe(counted?.y);
});

test('a fact is the number typed, whatever the intermediate text was', async () => {
  const page = await visit('/prices');
  await writePrice(page, 'u("seconds")');
  const seconds = dialog(page).getByLabel('Video length (seconds)', { exact: true });
  await seconds.fill('10.5');
  await seconds.press('Backspace');
  await seconds.press('7');
  expect(await seconds.inputValue()).toBe('10.7');
  await waitForText(page, '$10.70');
  // What the price does not count changes nothing.
  expect(await dialog(page).getByLabel('Video resolution').count()).toBe(0);
  // A cleared field is not a number: the fact is missing.
  await seconds.fill('');
  expect(await seconds.inputValue()).toBe('');
  await dialog(page)
    .getByRole('status')
    .getByText(/seconds/)
    .waitFor();
  await seconds.pressSequentially('20');
  await waitForText(page, '$20.00');
});

test('the previous quote is marked stale until the new one arrives', async () => {
  const page = await visit('/prices');
  await writePrice(page, '0.5');
  const sum = dialog(page).getByText('$0.50', { exact: true });
  await sum.waitFor();
  const color = () => sum.evaluate((element) => getComputedStyle(element).color);
  const before = await color();
  const asking = await holdResponse(page, '**/api/price/quote', 'POST');
  await dialog(page).getByLabel('Price in USD', { exact: true }).fill('0.75');
  await asking.answered;
  expect(await color()).not.toBe(before);
  await asking.release();
  const next = dialog(page).getByText('$0.75', { exact: true });
  await next.waitFor();
  expect(await next.evaluate((element) => getComputedStyle(element).color)).toBe(before);
});
