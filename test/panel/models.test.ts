/** The page of models, and its answer with many of them. */
import { afterAll, expect, test } from 'bun:test';
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
