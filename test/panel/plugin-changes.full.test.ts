/** Plugin changes whose file, usage or page has changed before the answer arrives. */
import { describe, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { pluginSource } from '../plugins/support.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { alert, findPageIssues, heading, usePanel, waitForNotice } from './harness.ts';
import { holdResponse } from './hold-response.ts';

const source = (key: string, version = '1.0.0', more: object = {}): string =>
  pluginSource({ key, name: `The ${key}`, version, models: [`${key}-1`], ...more });
/** A channel type that only one plugin can claim. */
const claim = (type: number) => ({ channelTypes: [type] });

const panel = usePanel(async (root) => {
  for (const text of [source('paper'), source('paper', '1.1.0'), source('lone', '1.0.0', claim(901))])
    await root.call('POST', '/api/plugin/task', { source: text });
});

async function visit(path: string): Promise<Page> {
  const page = await panel.sharedRootPage();
  await page.goto(`${panel.origin()}${path}`);
  return page;
}
const dialog = (page: Page) => page.getByRole('dialog');
const goTo = (page: Page, name: string) =>
  page.getByRole('navigation').getByRole('link', { name, exact: true }).click();

function file(text: string): string {
  const path = join(temporaryFolder(), 'plugin.js');
  writeFileSync(path, text);
  return path;
}

describe('an upload', () => {
  const choose = (page: Page, path: string) => dialog(page).locator('input[type="file"]').first().setInputFiles(path);
  const send = (page: Page) => dialog(page).getByRole('button', { name: 'Upload', exact: true }).click();
  const open = async (page: Page): Promise<void> => {
    await page.getByRole('button', { name: 'Upload plugin' }).click();
    await dialog(page).getByLabel('Note').waitFor();
  };

  test.each([
    ['plugin', 0],
    ['logo', 1],
  ])('of a %s that changed on disk: it can be chosen again', async (_what, place) => {
    const page = await visit('/plugins');
    await open(page);
    const input = dialog(page).locator('input[type="file"]').nth(place);
    await choose(page, file(source('again')));
    const path = file(source('again'));
    await input.setInputFiles(path);
    rmSync(path);
    await send(page);
    await alert(page).getByText('The browser can no longer read this file. Choose it again.').waitFor();
    // The browser raises no event if the file in the input is chosen again.
    expect(await input.evaluate((element: HTMLInputElement) => element.files?.length)).toBe(0);
    writeFileSync(path, source('again'));
    await input.setInputFiles(path);
    await alert(page).waitFor({ state: 'detached' });
  });

  test('in progress keeps its dialog open', async () => {
    const page = await visit('/plugins');
    await open(page);
    await choose(page, file(source('slow')));
    const storing = await holdResponse(page, '**/api/plugin/task', 'POST');
    await send(page);
    await storing.answered;
    for (const name of ['Cancel', 'Close']) {
      expect(await dialog(page).getByRole('button', { name, exact: true }).isDisabled()).toBe(true);
    }
    await page.keyboard.press('Escape');
    await page.mouse.click(5, 5);
    expect(await dialog(page).getByLabel('Note').isVisible()).toBe(true);
    await storing.release();
    await heading(page, 'The slow').waitFor();
    await dialog(page).waitFor({ state: 'detached' });
  });

  test('answered after its page was left does not navigate', async () => {
    const page = await visit('/profile');
    await goTo(page, 'Plugins');
    await open(page);
    await choose(page, file(source('left')));
    const storing = await holdResponse(page, '**/api/plugin/task', 'POST');
    await send(page);
    await storing.answered;
    await page.goBack();
    await heading(page, 'Profile').waitFor();
    await storing.release();
    expect(new URL(page.url()).pathname).toBe('/profile');
  });
});

test('an activation answered after its page was left does not navigate', async () => {
  const page = await visit('/plugins/paper/activate?version=1.1.0');
  await page.getByRole('button', { name: 'Activate 1.1.0' }).click();
  const activating = await holdResponse(page, '**/api/plugin/task/paper/activate', 'POST');
  await dialog(page).getByRole('button', { name: 'Activate' }).click();
  await activating.answered;
  await dialog(page).waitFor({ state: 'detached' });
  await goTo(page, 'Prices');
  await heading(page, 'Prices').waitFor();
  await activating.release();
  await waitForNotice(page, 'paper 1.1.0');
  expect(new URL(page.url()).pathname).toBe('/prices');
});

test('a plugin that came into use in the meantime is disabled after a confirmation', async () => {
  const page = await visit('/plugins/paper');
  const control = page.getByLabel('The paper enabled');
  await control.waitFor();
  const id = await panel
    .root()
    .createChannel('https://api.example.com', { task_plugin_key: 'paper', models: ['paper-1'] });
  await control.click({ force: true });
  await dialog(page).getByText('1 channel will stop:').waitFor();
  await dialog(page).getByRole('button', { name: 'Disable' }).click();
  await waitForNotice(page, 'The paper was disabled');
  expect((await panel.root().call<{ status: number }>('GET', `/api/channel/${id}`)).status).toBe(2);
});

test('deleting a version in use asks for confirmation only on its own page', async () => {
  await panel.root().createChannel('https://api.example.com', { task_plugin_key: 'lone', models: ['lone-1'] });
  const page = await visit('/plugins/lone?tab=versions');
  const remove = async (): Promise<void> => {
    await page.getByRole('button', { name: 'Delete version 1.0.0?' }).click();
    await dialog(page).getByRole('button', { name: 'Delete' }).click();
  };
  await remove();
  await dialog(page).getByText('Nothing can replace 1.0.0').waitFor();
  await dialog(page).getByRole('button', { name: 'Cancel' }).click();
  await dialog(page).waitFor({ state: 'detached' });

  const removing = await holdResponse(page, '**/api/plugin/task/lone/versions/1.0.0', 'DELETE');
  await remove();
  await removing.answered;
  await dialog(page).waitFor({ state: 'detached' });
  await goTo(page, 'Prices');
  await heading(page, 'Prices').waitFor();
  await removing.release();
  expect(await dialog(page).count()).toBe(0);
});

test('a plugin under a new key takes the place of the one that ships, and gives it back', async () => {
  const root = panel.root();
  const fields = { type: 61, key: 'vendor-key-0123456789', models: ['wan2.5-t2v-preview'] };
  const { id } = await root.call<{ id: number }>('POST', '/api/channel', {
    ...{ ...fields, name: 'Of Alibaba', task_plugin_key: 'ali' },
  });
  await root.call('PUT', '/api/price', { plugin_key: 'ali', model: 'wan2.5-t2v-preview', expression: '0.3' });
  const models = ['wan2.5-t2v-preview'];
  await root.call('POST', '/api/plugin/task', { source: pluginSource({ key: 'alibaba', name: 'Alibaba', models }) });
  const boundTo = async () =>
    (await root.call<{ task_plugin_key: string }>('GET', `/api/channel/${id}`)).task_plugin_key;

  const page = await visit('/plugins/alibaba');
  await page.getByRole('link', { name: 'See what would change' }).click();
  await heading(page, 'Move from Alibaba Wan to Alibaba').waitFor();
  await page.getByText('Moves 1 channel and 1 price.').waitFor();
  expect(await findPageIssues(page)).toEqual([]);
  await page.getByRole('link', { name: 'Cancel' }).click();
  await heading(page, 'Alibaba').waitFor();
  expect(await boundTo()).toBe('ali');
  await page.getByRole('link', { name: 'See what would change' }).click();
  await page.getByRole('button', { name: 'Move to Alibaba' }).click();
  await waitForNotice(page, 'Alibaba replaced Alibaba Wan');
  await heading(page, 'Alibaba').waitFor();
  expect(await boundTo()).toBe('alibaba');
  await page.getByRole('link', { name: 'See what would change' }).waitFor({ state: 'detached' });

  await page.goto(`${panel.origin()}/plugins/alibaba/move?to=ali`);
  await page.getByText(/^Moves 1 channel and/).waitFor();
  await page.getByRole('button', { name: 'Move to Alibaba Wan' }).click();
  await waitForNotice(page, 'Alibaba Wan replaced Alibaba');
  expect(await boundTo()).toBe('ali');
});
