/** Parts of a page are asked for with the page's own question, and once. */
import { afterAll, beforeAll, expect } from 'bun:test';
import { testInFullRun } from '../support/full-run.ts';
import { ROOT, startVendor, type VendorProcess } from '../support/gateway.ts';
import { submit, waitForEnd } from '../support/main-job.ts';
import { accountMenu, heading, password, usePanel } from './harness.ts';

let vendor: VendorProcess;
const panel = usePanel(async (root) => {
  vendor = await startVendor();
  await root.createChannel(vendor.url, { name: 'Main' });
  await root.createUser({ username: 'nina' });
});
afterAll(() => vendor?.stop());

// Home has no parts before the first task.
beforeAll(async () => {
  const key = await panel.root().createKey({ name: 'tests' });
  const { body } = await submit(panel.gateway().url, key, { prompt: 'a boat [duration=0.2]', seconds: 5 });
  await waitForEnd(panel.gateway().url, key, String(body.id));
});

testInFullRun.each([
  ['/', 'Home', '/api/stats', ['by=channel', 'by=user', 'status=SUCCESS']],
  ['/?scope=own', 'Home', '/api/stats', ['status=SUCCESS', '/api/user/self/balance-alert']],
  ['/usage', 'Usage', '/api/usage', ['/api/user/self/balance-alert', '/api/user/self/storage']],
  ['/models', 'Models', '/api/model/catalog', ['/api/model/results']],
  ['/channels/1', 'Main', '/api/channel/1', ['/api/channel/1/history', 'channel_id=1']],
  ['/system', 'System', '/api/node', ['/api/node/history', '/api/backup']],
  [
    '/security',
    'Security',
    '/api/user/self',
    ['/2fa/status', '/passkey', '/oauth/bindings', '/user/sessions', '/user/token'],
  ],
] as const)('%s asks for its parts before it has its answer', async (path, title, own, parts) => {
  const { page } = await panel.openAs(ROOT, '/profile');
  await accountMenu(page).waitFor();
  const asked: string[] = [];
  let hasChanged = false;
  page.on('request', (request) => {
    const { pathname, search } = new URL(request.url());
    // Tasks are read once more when the page has made a preview of one.
    hasChanged ||= request.method() !== 'GET' && pathname.startsWith('/api/task');
    if (pathname.startsWith('/api/') && !hasChanged) asked.push(`${pathname}${search}`);
  });
  const { promise: areAsked, resolve: answer } = Promise.withResolvers<void>();
  await page.route(
    ({ pathname }) => pathname === own,
    async (route) => {
      await areAsked;
      await route.continue();
    },
  );
  const requests = Promise.all(parts.map((part) => page.waitForRequest((request) => request.url().includes(part))));
  await page.goto(`${panel.origin()}${path}`);
  await requests;
  answer();
  await heading(page, title).waitFor();
  await page.waitForLoadState('networkidle');
  expect(asked.filter((each, index) => asked.indexOf(each) < index)).toEqual([]);
});

testInFullRun('a user asks for nothing that only administrators see', async () => {
  const { page } = await panel.openAs({ username: 'nina', password }, '/profile');
  await accountMenu(page, 'nina').waitFor();
  const asked: string[] = [];
  page.on('request', (request) => void asked.push(request.url()));
  await page.goto(`${panel.origin()}/`);
  await heading(page, 'Home').waitFor();
  await page.waitForLoadState('networkidle');
  expect(asked.filter((url) => /\/api\/(attention|channel)|scope=all|by=(user|channel)/.test(url))).toEqual([]);
});
