/** The page of models, and its answer with many of them. */
import { afterAll, expect, test } from 'bun:test';
import { rateColor, sortModels } from '../../src/panel/pages/models/read-model.ts';
import { testInFullRun } from '../support/full-run.ts';
import { ask, ROOT, startVendor, type VendorProcess } from '../support/gateway.ts';
import { quietMs } from '../support/quiet-time.ts';
import { findPageIssues, heading, password, screens, usePanel, waitForText } from './harness.ts';

let vendor: VendorProcess;
const panel = usePanel(async (root) => {
  vendor = await startVendor();
  await root.createChannel(vendor.url, { groups: ['default', 'half'] });
  await root.createChannel(vendor.url, { name: 'VIP', models: ['secret-model'], groups: ['vip'] });
  await root.call('PUT', '/api/option', { key: 'groups', value: '{"default": 1, "half": 0.5, "vip": 1}' });
  const price = (model: string, expression: string) =>
    root.call('PUT', '/api/price', { plugin_key: 'demo', model, expression });
  await price('demo-video', '0.02 * u("seconds")');
  await price('demo-video-pro', '(u("resolution") == "480p" ? 0.02 : 0.08) * u("seconds")');
  await price('secret-model', '1');
  await root.createChannel(vendor.url, { name: 'Odd', models: ['odd-model'], groups: ['default', 'half'] });
  await price('odd-model', 'max(0.1, 0.02 * u("seconds"))');
  await root.createUser({ username: 'half', group: 'half' });
});
afterAll(() => vendor?.stop());

test('a user sees the models of their group, with their price in words, and tries one', async () => {
  const { page } = await panel.openAs({ username: 'half', password }, '/models', { viewport: screens.desktop });
  await heading(page, 'Models').waitFor();
  await waitForText(page, '$0.01 / second');
  await waitForText(page, '$0.01–$0.04 / second');
  await waitForText(page, '480p: $0.01 · otherwise $0.04');
  await page.getByText('From text · 1–60 sec · 480p, 720p, 1080p').first().waitFor();
  expect(await page.getByText('secret-model').count()).toBe(0);
  // What is not a table is told by the plugin's examples; the expression is for administrators.
  await waitForText(page, '$0.05 for 4 sec at 720p');
  await waitForText(page, '$0.12 for 12 sec at 1080p');
  expect(await page.getByText('max(').count()).toBe(0);
  expect(await findPageIssues(page)).toEqual([]);
  await page.getByRole('button', { name: 'Code for demo-video', exact: true }).click();
  await page.getByRole('dialog').getByText(`${panel.origin()}/v1/videos`).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('link', { name: 'Try demo-video-pro' }).click();
  await heading(page, 'Playground').waitFor();
  expect(await page.getByRole('combobox', { name: 'Model' }).inputValue()).toBe('demo-video-pro');
});

test('models are compared in a list, which the address remembers with its order', async () => {
  const { page } = await panel.openAs({ username: 'half', password }, '/models', { viewport: screens.desktop });
  await page.getByRole('button', { name: 'Show as list' }).click();
  await page.waitForURL(/layout=list/);
  const row = page.getByRole('table', { name: 'Models' }).getByRole('row', { name: 'demo-video-pro' });
  await row.getByText('$0.01–$0.04 / second').waitFor();
  await row.getByText('480p: $0.01 · otherwise $0.04').waitFor();
  expect(await findPageIssues(page)).toEqual([]);
  await page.getByRole('button', { name: 'Success rate' }).click();
  await page.waitForURL(/sort=success/);
  await page.reload();
  await page.getByRole('columnheader', { name: 'Success rate' }).waitFor();
  await page.getByRole('button', { name: 'Code for demo-video', exact: true }).click();
  await page.getByRole('dialog').getByText(`${panel.origin()}/v1/videos`).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Show as cards' }).click();
  await page.getByRole('heading', { name: 'demo-video', exact: true }).waitFor();
});

test('the quickest models come first, or those that succeed most often; the others last', () => {
  const card = (model: string, usual_seconds: number | null, success_rate: number | null) =>
    ({ model, usual_seconds, success_rate }) as Parameters<typeof sortModels>[0][number];
  const models = [card('unknown', null, null), card('slow', 90, 1), card('quick', 2, 0.5)];
  const sort = (by: string) => sortModels(models, by).map(({ model }) => model);
  expect(sort('time')).toEqual(['quick', 'slow', 'unknown']);
  expect(sort('success')).toEqual(['slow', 'quick', 'unknown']);
  expect(sort('')).toEqual(['unknown', 'slow', 'quick']);
});

test('a success rate below nine of ten is coloured as a warning, below one of two as a failure', () => {
  expect([null, 1, 0.9].map(rateColor)).toEqual([undefined, undefined, undefined]);
  expect(rateColor(0.89)).toContain('yellow');
  expect(rateColor(0.49)).toContain('error');
});

testInFullRun('500 models are answered in less than 150 ms', async () => {
  const models = Array.from({ length: 500 }, (_, i) => `many-${i}`);
  await panel.root().createChannel(vendor.url, { name: 'Many', models });
  await panel.root().call('PUT', '/api/option', { key: 'billing.unpriced', value: 'everyone' });
  const { body } = await ask(`${panel.origin()}/api/user/login`, { body: ROOT });
  const token = (body.data as { access_token: string }).access_token;
  const read = async () => {
    const answer = await ask(`${panel.origin()}/api/model/catalog`, { token });
    expect((answer.body.data as { total: number }).total).toBe(503);
  };
  expect(await quietMs(read, { limitMs: 150 })).toBeLessThan(150);
});
