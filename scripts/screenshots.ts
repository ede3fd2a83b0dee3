import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Page } from 'playwright-core';
import { launchBrowser } from '../test/support/browser.ts';
import { type Filled, fillGateway } from '../test/support/fill-gateway.ts';
import { ROOT, setUp, startGateway, startVendor } from '../test/support/gateway.ts';
import { root } from './hash-inputs.ts';

const usage = `npm run screenshots [-- --only TEXT --language en|zh|ja|es|de|pt --out FOLDER]

Starts the built gateway with some life in it and writes a picture of every page of the panel, light and dark, 1440 and 390 wide, to
build/screenshots. --only takes the pages whose name has TEXT in it.`;

const widths = [1440, 390];
const schemes = ['light', 'dark'] as const;

type Shot = { name: string; path: string; anonymous?: true };

const shots = ({ tasks, userId, channelId, pluginVersion }: Filled): readonly Shot[] => [
  { name: 'sign-in', path: '/sign-in', anonymous: true },
  { name: 'sign-up', path: '/sign-up', anonymous: true },
  { name: 'forgot-password', path: '/forgot-password', anonymous: true },
  { name: 'home', path: '/' },
  { name: 'tasks', path: '/tasks?scope=all' },
  { name: 'models', path: '/models' },
  { name: 'task-finished', path: `/tasks/${tasks.finished}` },
  { name: 'task-failed', path: `/tasks/${tasks.failed}` },
  { name: 'task-running', path: `/tasks/${tasks.running}` },
  { name: 'playground', path: '/playground?plugin=demo&model=demo-video' },
  { name: 'keys', path: '/keys' },
  { name: 'key-rotate', path: '/keys/1/rotate' },
  { name: 'usage', path: '/usage' },
  { name: 'profile', path: '/profile' },
  { name: 'notifications', path: '/notifications' },
  { name: 'security', path: '/security' },
  { name: 'channels', path: '/channels' },
  { name: 'channel-new', path: '/channels/new' },
  { name: 'channel', path: `/channels/${channelId}` },
  { name: 'channel-settings', path: `/channels/${channelId}?tab=settings` },
  { name: 'plugins', path: '/plugins' },
  { name: 'plugin', path: '/plugins/demo' },
  { name: 'plugin-versions', path: '/plugins/demo?tab=versions' },
  { name: 'plugin-source', path: '/plugins/demo?tab=source' },
  { name: 'plugin-prices', path: '/plugins/demo?tab=prices' },
  { name: 'plugin-dryrun', path: '/plugins/demo?tab=dryrun' },
  { name: 'plugin-activate', path: `/plugins/demo/activate?version=${pluginVersion}` },
  { name: 'plugin-diff', path: `/plugins/demo/diff?version=${pluginVersion}` },
  { name: 'marketplace', path: '/marketplace' },
  { name: 'prices', path: '/prices' },
  { name: 'prices-of-plugin', path: '/prices/demo' },
  { name: 'users', path: '/users' },
  { name: 'user', path: `/users/${userId}` },
  { name: 'settings', path: '/settings' },
  { name: 'settings-branding', path: '/settings/branding' },
  { name: 'settings-retention', path: '/settings/retention' },
  { name: 'audit', path: '/audit' },
  { name: 'system', path: '/system' },
  { name: 'reference', path: '/reference' },
  { name: 'missing', path: '/no-such-page' },
];

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    language: { type: 'string' },
    out: { type: 'string' },
    help: { type: 'boolean' },
  },
});
if (values.help) {
  console.log(usage);
} else {
  const out = values.out ?? join(root, 'build/screenshots');
  mkdirSync(out, { recursive: true });
  await takeAll(out, values.only ?? '', values.language ?? 'en');
  console.log(`Pictures in ${out}`);
}

async function takeAll(out: string, only: string, language: string): Promise<void> {
  const vendor = await startVendor();
  const gateway = await startGateway();
  const browser = await launchBrowser();
  try {
    const filled = await fillGateway(gateway, await setUp(gateway), vendor);
    const wanted = shots(filled).filter(({ name }) => name.includes(only));
    for (const width of widths) {
      for (const scheme of schemes) {
        const context = await browser.newContext({
          locale: language === 'en' ? 'en-US' : language,
          viewport: { width, height: width > 600 ? 900 : 844 },
          colorScheme: scheme,
          reducedMotion: 'reduce',
        });
        const page = await context.newPage();
        const take = (shot: Shot) =>
          takeOne(page, `${gateway.url}${shot.path}`, join(out, `${shot.name}-${width}-${scheme}.png`));
        for (const shot of wanted.filter(({ anonymous }) => anonymous)) await take(shot);
        await signIn(page, gateway.url);
        for (const shot of wanted.filter(({ anonymous }) => !anonymous)) await take(shot);
        await context.close();
      }
    }
  } finally {
    await browser.close();
    await gateway.stop();
    await vendor.stop();
  }
}

async function takeOne(page: Page, url: string, file: string): Promise<void> {
  await page.goto(url);
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  // Grey placeholders stand in for what is on its way.
  await page.waitForFunction(() => document.querySelector('.mantine-Skeleton-root') === null);
  await page.waitForLoadState('load');
  await page.screenshot({ path: file, fullPage: true });
}

/** By the form's own fields, whatever the language calls them. */
async function signIn(page: Page, origin: string): Promise<void> {
  await page.goto(`${origin}/sign-in`);
  await page.locator('input[autocomplete^="username"]').fill(ROOT.username);
  await page.locator('input[type="password"]').fill(ROOT.password);
  await page.locator('form button[type="submit"]').click();
  await page.waitForURL(`${origin}/`);
}
