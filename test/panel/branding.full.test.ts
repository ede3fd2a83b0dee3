/**
 * The operator's logo from bad and good files, the accent in charts, and what a real Chromium says
 * of installing the panel.
 */
import { afterAll, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { readContrast } from '../../src/panel/theme/accent-shades.ts';
import { findProgram } from '../support/find-program.ts';
import { ROOT, startVendor, type VendorProcess } from '../support/gateway.ts';
import { makePng } from '../support/still-images.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import { heading, password, usePanel, waitForText } from './harness.ts';

let vendor: VendorProcess;
const panel = usePanel(
  async (root) => {
    vendor = await startVendor();
    await root.createChannel(vendor.url);
    await root.call('PUT', '/api/price', {
      plugin_key: 'demo',
      model: 'demo-video',
      expression: '0.02 * u("seconds")',
    });
  },
  { TASK_POLL_INTERVAL_SECONDS: '1' },
);
afterAll(() => vendor?.stop());

const set = (key: string, value: string) => panel.root().call('PUT', '/api/option', { key, value });
const readLogo = async (): Promise<string> => {
  const options = await panel.root().call<{ key: string; value: string }[]>('GET', '/api/option');
  return options.find(({ key }) => key === 'branding.logo')?.value ?? '';
};
const writeFile = (name: string, content: string | Buffer): string => {
  const path = join(temporaryFolder(), name);
  writeFileSync(path, content);
  return path;
};
const choose = (page: Page, path: string) => page.locator('input[type="file"]').setInputFiles(path);
const logo = (page: Page) => page.getByRole('img', { name: 'Logo' });

const EVIL = `<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64" onload="parent.evil = 1">
<script>window.evil = 1; fetch('/api/user/self')</script><rect width="64" height="64" fill="red"/></svg>`;

test('stored XSS by a logo: the script of an SVG never runs, and only its pixels are kept', async () => {
  const { page, apiCalls } = await panel.openAs(ROOT, '/settings/branding');
  await heading(page, 'Settings').waitFor();
  const asked = apiCalls.length;
  await choose(page, writeFile('evil.svg', EVIL));
  await logo(page).waitFor();
  expect(await logo(page).getAttribute('src')).toStartWith('data:image/png;base64,');
  await page.getByRole('button', { name: /^Save/ }).first().click();
  await until('the logo is kept', async () => (await readLogo()).startsWith('data:image/png;base64,'));
  await page.reload();
  await logo(page).first().waitFor();
  expect(await page.evaluate(() => 'evil' in globalThis)).toBe(false);
  expect(apiCalls.slice(asked).filter((call) => call === 'GET /api/user/self').length).toBeLessThan(3);

  const kept = await readLogo();
  for (const value of [
    `data:image/svg+xml;base64,${Buffer.from(EVIL).toString('base64')}`,
    `data:image/png;base64,${Buffer.from(EVIL).toString('base64')}`,
    `data:image/png;base64,${makePng({ width: 600, height: 600 }).toString('base64')}`,
    'https://example.com/logo.png',
  ]) {
    await expect(set('branding.logo', value)).rejects.toThrow();
  }
  expect(await readLogo()).toBe(kept);
});

test('a logo that is too large is made smaller, and what is not an image says so', async () => {
  const { page } = await panel.openAs(ROOT, '/settings/branding');
  await heading(page, 'Settings').waitFor();
  await choose(page, writeFile('notes.png', 'these are my notes'));
  await waitForText(page, 'This image could not be read.');
  await choose(page, writeFile('large.png', makePng({ width: 3000, height: 2000 })));
  await page.getByText('This image could not be read.').waitFor({ state: 'detached' });
  const before = await readLogo();
  await page.getByRole('button', { name: /^Save/ }).first().click();
  await until('the logo is another', async () => (await readLogo()) !== before);
  expect((await readLogo()).length).toBeLessThan(64 * 1024);
  await set('branding.logo', '');
});

test('an empty balance shows the operator’s words on Home and in the playground', async () => {
  await set('branding.balance_hint', 'Write to **cash**@example.com, room 4.');
  await panel.root().createUser({ username: 'poor', quota: 0 });
  const { page } = await panel.openAs({ username: 'poor', password }, '/');
  await waitForText(page, /room 4/);
  await page.goto(`${panel.origin()}/playground?model=demo-video`);
  await waitForText(page, /too low\. Write to .*room 4/);
});

const rgb = (text: string): string =>
  `#${(text.match(/\d+/g) ?? [])
    .slice(0, 3)
    .map((part) => Number(part).toString(16).padStart(2, '0'))
    .join('')}`;

test('bars of a chart are told from the page in both schemes, whatever the accent is', async () => {
  const task = await panel.root().call<{ id: string }>('POST', '/api/task', {
    plugin_key: 'demo',
    body: { model: 'demo-video', prompt: 'a kite [duration=0.2]' },
  });
  await until('the task has ended', async () => {
    const { status } = await panel.root().call<{ status: string }>('GET', `/api/task/${task.id}`);
    return status === 'SUCCESS';
  });
  for (const accent of ['#ffcc00', '#001133']) {
    await set('branding.accent', accent);
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page } = await panel.openAs(ROOT, '/', { colorScheme });
      const bar = page.locator('.recharts-bar-rectangle path').first();
      await bar.waitFor();
      const [fill, surface] = await until('the bar has its colour', async () => {
        const colours = await bar.evaluate((element) => [
          getComputedStyle(element).fill,
          getComputedStyle(document.body).backgroundColor,
        ]);
        // One that has just been replaced has none.
        return colours[0] !== '' && colours;
      });
      const contrast = readContrast(rgb(fill ?? ''), rgb(surface ?? ''));
      expect([accent, colorScheme, contrast >= 3]).toEqual([accent, colorScheme, true]);
    }
  }
  await set('branding.accent', '');
});

// Chromium without a window finds nothing wrong with any page, so the whole one is asked.
const executablePath = findProgram(['chromium', 'chromium-browser', 'google-chrome']);

test.skipIf(executablePath === null)('a real Chromium finds the panel installable, with either icon', async () => {
  const context = await chromium.launchPersistentContext(temporaryFolder(), {
    ...(executablePath === null ? {} : { executablePath }),
    args: ['--headless=new', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'],
    timeout: 120_000,
  });
  try {
    const png = `data:image/png;base64,${makePng({ width: 256, height: 256 }).toString('base64')}`;
    for (const value of ['', png]) {
      await set('branding.logo', value);
      const page = await context.newPage();
      await page.goto(`http://localhost:${new URL(panel.origin()).port}/sign-in`);
      const cdp = await context.newCDPSession(page);
      const { errors } = await cdp.send('Page.getAppManifest');
      expect(errors).toEqual([]);
      const { installabilityErrors } = await cdp.send('Page.getInstallabilityErrors');
      expect(installabilityErrors).toEqual([]);
      await page.close();
    }
  } finally {
    await context.close();
    await set('branding.logo', '');
  }
});
