/** Plugins, marketplace and prices in the browser, with the compiled binary. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { pluginSource } from '../plugins/support.ts';
import { launchBrowser, openPage, type WatchedPage } from '../support/browser.ts';
import { testInFullRun } from '../support/full-run.ts';
import { type Administrator, type Gateway, setUp, startGateway } from '../support/gateway.ts';
import { type MarketServer, publish, startMarket } from '../support/market-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import {
  alert,
  confirmWithPassword,
  findAxeViolations,
  findPageIssues,
  heading,
  screens,
  signInAsRoot,
  waitForNotice,
  waitForText,
} from './harness.ts';

const source = (version: string, more: object = {}): string =>
  pluginSource({ key: 'paper', name: 'Paper films', version, models: ['paper-1', 'paper-2'], ...more });

let browser: Browser;
let gateway: Gateway;
let admin: Administrator;
let market: MarketServer;
let watched: WatchedPage;
let page: Page;

beforeAll(async () => {
  market = startMarket();
  gateway = await startGateway({ env: { DEBUG: 'true' } });
  admin = await setUp(gateway);
  browser = await launchBrowser();
  watched = await openPage(browser, gateway.url, { viewport: screens.desktop });
  page = watched.page;
  await signInAsRoot(page, gateway.url);
});
afterAll(async () => {
  await browser.close();
  await gateway.stop();
  await market.stop();
  expect(watched.complaints).toEqual([]);
});

const visit = (path: string) => page.goto(`${gateway.url}${path}`);

function file(name: string, text: string): string {
  const path = join(temporaryFolder(), name);
  writeFileSync(path, text);
  return path;
}

async function upload(text: string): Promise<void> {
  await visit('/plugins');
  await page.getByRole('button', { name: 'Upload plugin' }).click();
  await page.locator('input[type="file"]').first().setInputFiles(file('plugin.js', text));
  await page.getByLabel('Note').fill('from the test');
  await page.getByRole('button', { name: 'Upload', exact: true }).click();
}

describe('plugins', () => {
  testInFullRun('factory plugins are listed with their metadata', async () => {
    await visit('/plugins');
    await heading(page, 'Plugins').waitFor();
    const row = page.getByRole('row', { name: /OpenAI Sora/ });
    await row.getByText('Built-in').waitFor();
    await row.getByRole('link', { name: 'Add channel' }).waitFor();
    await page.waitForFunction(() => {
      const pictures = [...document.querySelectorAll<HTMLImageElement>('td img, th img')];
      return pictures.length >= 9 && pictures.every(({ complete, naturalWidth }) => complete && naturalWidth > 0);
    });
    await page.getByRole('radiogroup', { name: 'Output type' }).getByText('Audio', { exact: true }).click();
    await row.waitFor({ state: 'detached' });
    await page.getByRole('row', { name: /ElevenLabs/ }).waitFor();
  });

  test('an upload without a file, an invalid one and a valid one', async () => {
    await visit('/plugins');
    await page.getByRole('button', { name: 'Upload plugin' }).click();
    expect(await page.getByRole('button', { name: 'Upload', exact: true }).isDisabled()).toBe(true);
    const gone = file('gone.js', source('9.9.9'));
    await page.locator('input[type="file"]').first().setInputFiles(gone);
    rmSync(gone);
    await page.getByRole('button', { name: 'Upload', exact: true }).click();
    await alert(page).getByText('The browser can no longer read this file.').waitFor();
    await page.keyboard.press('Escape');

    await upload('export const meta = { apiVersion: 1, key: "Paper films" };');
    await alert(page).getByText('plugin.js wasn’t installed.').waitFor();
    expect(await alert(page).getByRole('listitem').count()).toBeGreaterThan(2);
    expect(await page.getByLabel('Note').inputValue()).toBe('from the test');

    await upload(source('1.0.0'));
    await heading(page, 'Paper films').waitFor();
    await page
      .getByRole('row', { name: /1\.0\.0/ })
      .getByText('Active', { exact: true })
      .waitFor();
    await visit('/plugins');
    await page
      .getByRole('row', { name: /Paper films/ })
      .getByText('Pa', { exact: true })
      .waitFor();
  });

  test('a confirmed conflict does not apply to another file', async () => {
    // Only one plugin can claim a channel type.
    const claiming = (key: string) =>
      pluginSource({ key, name: `The ${key}`, models: [`${key}-1`], channelTypes: [901] });
    await admin.call('POST', '/api/plugin/task', { source: claiming('lone') });
    await upload(claiming('rival'));
    const dialog = page.getByRole('dialog');
    const consent = dialog.getByLabel('Store despite a conflict with another plugin');
    await consent.click({ force: true });
    await dialog
      .locator('input[type="file"]')
      .first()
      .setInputFiles(file('second.js', claiming('second')));
    expect(await consent.count()).toBe(0);
    expect(await alert(page).count()).toBe(0);
    const send = dialog.getByRole('button', { name: 'Upload', exact: true });
    await send.click();
    await consent.waitFor();
    expect(await consent.isChecked()).toBe(false);
    await consent.click({ force: true });
    await send.click();
    await heading(page, 'The second').waitFor();
  });

  test('a new version is reviewed side by side before activation', async () => {
    // It waits for its activation, so the upload leads to the review.
    await upload(source('1.1.0', { models: ['paper-1', 'paper-3'] }));
    await heading(page, 'Activate Paper films 1.1.0').waitFor();
    await waitForText(page, 'paper-3');
    await page.locator('.cm-mergeView').waitFor();
    await page.getByRole('button', { name: 'Activate 1.1.0' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Activate' }).click();
    // The heading of the review has the name, too.
    await page.waitForURL(`${gateway.url}/plugins/paper`);
    await waitForText(page, '1.1.0');
  });

  testInFullRun('models are restricted, at least one stays', async () => {
    await visit('/plugins/paper');
    const remove = (model: string) => page.locator('.mantine-Pill-root', { hasText: model }).locator('button').click();
    await remove('paper-3');
    await page.getByRole('button', { name: 'Save' }).click();
    await waitForNotice(page, 'Saved');
    await page.waitForFunction(() =>
      [...document.querySelectorAll('button')].some(({ textContent, disabled }) => textContent === 'Save' && disabled),
    );
    const all = await admin.call<{ key: string; narrowed_models: string[] | null }[]>('GET', '/api/plugin/task');
    expect(all.find(({ key }) => key === 'paper')?.narrowed_models).toEqual(['paper-1']);
    await remove('paper-1');
    await page.getByRole('button', { name: 'Save' }).click();
    await waitForText(page, 'Keep at least one model');
  });

  testInFullRun('a hook is called, and its error is shown', async () => {
    await visit('/plugins/paper?tab=dryrun');
    await page.getByLabel('Hook', { exact: true }).fill('buildQueryRequest');
    await page.getByRole('button', { name: 'Insert example' }).click();
    await page.getByRole('button', { name: 'Run hook' }).click();
    await waitForText(page, /^Result, after [0-9,]+(\.[0-9])? ms$/);
    await page.getByLabel('Hook', { exact: true }).fill('noSuchHook');
    await page.getByRole('button', { name: 'Run hook' }).click();
    await alert(page).waitFor();
  });

  test('a plugin in use is disabled after a confirmation', async () => {
    const id = await admin.createChannel('https://api.example.com', { task_plugin_key: 'paper', models: ['paper-1'] });
    await visit('/plugins/paper');
    const control = page.getByLabel('Paper films enabled');
    await control.click({ force: true });
    await page.getByRole('dialog').getByText('1 channel will stop:').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await control.isChecked()).toBe(true);
    await control.click({ force: true });
    await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click();
    await waitForNotice(page, 'Paper films was disabled');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await until('it can be switched again', () => control.isEnabled());
    expect((await admin.call<{ status: number }>('GET', `/api/channel/${id}`)).status).toBe(2);
    await control.click({ force: true });
    await waitForNotice(page, 'Paper films is live again');
    await admin.call('PUT', `/api/channel/${id}`, { status: 1 });
  });

  test('a version is deleted after a confirmation', async () => {
    await visit('/plugins/paper?tab=versions');
    await page.getByRole('button', { name: 'Delete version 1.0.0?' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await waitForNotice(page, 'Version 1.0.0 was deleted');
    await page.getByRole('row', { name: /1\.0\.0/ }).waitFor({ state: 'detached' });
  });
});

describe('prices', () => {
  test('are previewed while edited, validated at their field and saved', async () => {
    await visit('/prices');
    await page.getByRole('button', { name: 'Add price' }).click();
    await waitForText(page, 'Choose a model to set its price.');
    expect(await page.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true);
    await page.getByRole('dialog').getByLabel('Model', { exact: true }).fill('demo-video');
    const amount = page.getByRole('dialog').getByLabel('Price in USD', { exact: true });
    await amount.fill('0.2');
    await page.getByText('List price: $0.02 / second · Margin 90%').waitFor();
    await page.getByLabel('How demo-video is priced').selectOption('expression');
    const expression = page.getByLabel('Price in USD', { exact: true });
    await expression.fill('0.02 * u("seconds") * 5');
    await page.getByLabel('Video length (seconds)', { exact: true }).fill('10');
    await page.getByText('$1.00', { exact: true }).waitFor();
    await expression.fill('0.02 * window.seconds');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForFunction(() => document.querySelector('textarea[aria-invalid="true"]') !== null);
    await expression.fill('0.02 * u("seconds")');
    await page.getByRole('button', { name: 'Save' }).click();
    await waitForNotice(page, 'The price for demo-video was saved');
    await page
      .getByRole('row', { name: /demo-video/ })
      .getByText('$0.02 / second')
      .waitFor();
  });

  testInFullRun('a price that would replace another shows a warning', async () => {
    await visit('/prices');
    await page.getByRole('button', { name: 'Add price' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Model', { exact: true }).fill('demo-video');
    const warning = dialog.getByText('Replaces the existing price: $0.02 / second');
    await warning.waitFor();
    // The list of models closes.
    await dialog.getByLabel('Price in USD', { exact: true }).focus();
    await page.setViewportSize(screens.phone);
    expect(await warning.evaluate((text) => text.getBoundingClientRect().right)).toBeLessThan(screens.phone.width);
    expect(await findPageIssues(page)).toEqual([]);
    await dialog.getByLabel('Model', { exact: true }).fill('demo-video-2');
    await dialog.getByText('Replaces the existing price').waitFor({ state: 'detached' });
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'demo-video', exact: true }).click();
    await dialog.getByLabel('Price in USD', { exact: true }).waitFor();
    expect(await dialog.getByText('Replaces the existing price').count()).toBe(0);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
  });

  testInFullRun('offered models without a price come first', async () => {
    await visit('/prices');
    await page.getByRole('button', { name: 'Set price for paper-1' }).click();
    await page.getByRole('dialog').getByLabel('Price in USD', { exact: true }).fill('0.5');
    await page.getByRole('button', { name: 'Save' }).click();
    await waitForNotice(page, 'The price for paper-1 was saved');
    await page.getByRole('button', { name: 'Set price for paper-1' }).waitFor({ state: 'detached' });
  });

  testInFullRun('are deleted after a confirmation', async () => {
    await page.getByRole('button', { name: 'Actions for paper-1' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await waitForNotice(page, 'The price for paper-1 was deleted');
  });
});

describe('marketplace', () => {
  test('a source is added; a broken one shows its error', async () => {
    publish(market, '/good', {
      plugins: [
        {
          key: 'scissors',
          version: '1.0.0',
          source: pluginSource({ key: 'scissors', name: 'scissors', version: '1.0.0', models: ['cut-1'] }),
        },
      ],
    });
    await visit('/marketplace');
    await page.getByRole('button', { name: 'Sources' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Add source' }).waitFor();
    const remove = dialog.getByRole('button', { name: /^Remove row/ });
    while ((await remove.count()) > 0) await remove.first().click();
    await dialog.getByRole('button', { name: 'Add source' }).click();
    await dialog.getByLabel('Name').fill('good');
    await dialog.getByLabel('Index URL').fill('not an address');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await waitForText(page, 'Enter a URL such as');
    await dialog.getByLabel('Index URL').fill('https://name:word@example.com/index.json');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await confirmWithPassword(page);
    await dialog.getByRole('alert').waitFor();
    await dialog.getByLabel('Index URL').fill(`${market.url}/good/index.json`);
    await dialog.getByRole('button', { name: 'Add source' }).click();
    await dialog.getByLabel('Name').nth(1).fill('gone');
    await dialog.getByLabel('Index URL').nth(1).fill(`${market.url}/gone/index.json`);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await waitForText(page, 'scissors');
    await waitForText(page, /Nothing found at .*\(HTTP 404\)/);
    const search = page.getByRole('searchbox');
    await search.pressSequentially('no such film');
    await waitForText(page, 'No matches.');
    expect(await search.inputValue()).toBe('no such film');
  });

  test('sources added by another administrator are kept when these are saved', async () => {
    const path = '/api/plugin/task/marketplace/sources';
    const entry = (name: string) => ({ name, index_url: `${market.url}/${name}/index.json` });
    await admin.call('PUT', path, [entry('good'), entry('gone'), entry('other')]);
    await page.getByRole('button', { name: 'Sources' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Add source' }).waitFor();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    const stored = await admin.call<{ name: string }[]>('GET', path);
    expect(stored.map(({ name }) => name)).toEqual(['good', 'gone', 'other']);
  });

  testInFullRun('unknown plugins, installed or offered, show a not-found page with a link', async () => {
    await visit('/plugins/nothing');
    await waitForText(page, 'Plugin not found');
    await page.getByRole('link', { name: 'Browse Marketplace' }).click();
    await heading(page, 'Marketplace').waitFor();
    await visit('/marketplace/good/nothing');
    await waitForText(page, 'Plugin not available');
    expect(await findAxeViolations(page)).toEqual([]);
    await page.getByRole('main').getByRole('link', { name: 'Marketplace' }).last().click();
    await waitForText(page, /Nothing found at .*\(HTTP 404\)/);
  });

  test('a plugin is read, then installed', async () => {
    await visit('/marketplace');
    await page.getByRole('link', { name: 'scissors', exact: true }).click();
    await heading(page, 'scissors').waitFor();
    await page.locator('.cm-editor').waitFor();
    await page.getByRole('button', { name: 'Install 1.0.0' }).click();
    await waitForNotice(page, 'scissors 1.0.0 was installed');
    await waitForText(page, 'cut-1');
  });

  test('an update is compared with the active version and leads to its review', async () => {
    publish(market, '/good', {
      plugins: [
        {
          key: 'scissors',
          version: '1.0.0',
          source: pluginSource({ key: 'scissors', name: 'scissors', version: '1.0.0', models: ['cut-1'] }),
        },
        {
          key: 'scissors',
          version: '2.0.0',
          source: pluginSource({ key: 'scissors', name: 'scissors', version: '2.0.0', models: ['cut-2'] }),
        },
      ],
    });
    await visit('/marketplace');
    await page.getByRole('button', { name: 'Refresh' }).click();
    await waitForText(page, '2.0.0 available');
    await page.getByRole('link', { name: 'scissors', exact: true }).click();
    await page.locator('.cm-mergeView').waitFor();
    await page.getByRole('button', { name: 'Install 2.0.0' }).click();
    await heading(page, 'Activate scissors 2.0.0').waitFor();
  });
});

testInFullRun.each([
  ['/plugins', 'Plugins'],
  ['/plugins/paper', 'Paper films'],
  ['/plugins/paper?tab=versions', 'Paper films'],
  ['/plugins/paper?tab=source', 'Paper films'],
  ['/plugins/paper?tab=prices', 'Paper films'],
  ['/plugins/paper?tab=dryrun', 'Paper films'],
  ['/plugins/scissors/activate?version=2.0.0', 'Activate scissors 2.0.0'],
  ['/marketplace', 'Marketplace'],
  ['/marketplace/good/scissors', 'scissors'],
  ['/prices', 'Prices'],
  ['/plugins/no-such-plugin', 'Plugin'],
])(
  '%s has no accessibility violation and no overflow on desktop and phone, in both colour schemes',
  async (path, title) => {
    await visit(path);
    await heading(page, title).waitFor();
    expect(await findPageIssues(page)).toEqual([]);
  },
);
