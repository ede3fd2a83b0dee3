/**
 * Secure cookies and the origin check as Chromium sees them: the panel over HTTPS, and pages of
 * other sites that try to use its cookies.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { type Backdoor, openBackdoor } from '../support/backdoor.ts';
import { launchBrowser } from '../support/browser.ts';
import { type Gateway, ROOT, startGateway } from '../support/gateway.ts';
import { runCommand } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const certificate = (name: string) => new URL(`../upstream/certificates/${name}.pem`, import.meta.url).pathname;
const TLS = { TLS_CERT_FILE: certificate('server-cert'), TLS_KEY_FILE: certificate('server-key') };

let browser: Browser;
let gateway: Gateway;
let panel: string;
let db: Backdoor;

beforeAll(async () => {
  const dataDir = temporaryFolder();
  const argv = ['admin', 'create-root', '--username', ROOT.username, '--password-stdin', '--data-dir', dataDir];
  expect(await runCommand(argv, { stdin: ROOT.password })).toMatchObject({ code: 0 });
  [browser, gateway] = await Promise.all([
    launchBrowser(),
    startGateway({ dataDir, env: { ...TLS, SESSION_COOKIE_SECURE: 'true' } }),
  ]);
  panel = `https://localhost:${gateway.port}`;
  db = openBackdoor(gateway);
});
afterAll(async () => {
  await browser?.close();
  await db?.close();
  await gateway?.kill();
});

async function signedIn(): Promise<Page> {
  const context = await browser.newContext({ locale: 'en-US', ignoreHTTPSErrors: true });
  context.setDefaultTimeout(25_000);
  const page = await context.newPage();
  await page.goto(`${panel}/sign-in`);
  await page.getByLabel('Username or email').fill(ROOT.username);
  await page.getByLabel('Password', { exact: true }).fill(ROOT.password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await greeting(page);
  return page;
}

const greeting = (page: Page) => page.getByRole('button', { name: 'Account of root' }).waitFor();
const refreshCookie = async (page: Page) =>
  (await page.context().cookies(`${panel}/api/user/auth/refresh`)).find(({ httpOnly }) => httpOnly);
/** How many refreshes and logouts have been refused for their origin so far. */
const refusals = (): number =>
  [...gateway.log().matchAll(/"path":"\/api\/user\/auth\/(?:refresh|logout)","status":403/g)].length;
const readStatus = async (sid: string) =>
  (await db.run(`select status from user_sessions where sid = '${sid}'`))[0]?.status;

test('the panel signs in, survives a reload by its cookie alone, and signs out', async () => {
  const page = await signedIn();
  const first = await refreshCookie(page);
  expect(first).toMatchObject({
    name: expect.stringMatching(/^__Secure-svc_refresh_[0-9a-f]{6}$/),
    domain: 'localhost',
    path: '/api/user/auth',
    httpOnly: true,
    secure: true,
    sameSite: 'Strict',
  });
  const others = await page.context().cookies(panel);
  expect(others).toMatchObject([
    { name: 'svc_has_session', value: '1', path: '/', httpOnly: false, secure: true, sameSite: 'Strict' },
  ]);
  expect(others[0]?.expires).toBeCloseTo(first?.expires ?? 0, -1);
  expect(await page.evaluate(() => document.cookie)).toBe('svc_has_session=1');

  await page.reload();
  await greeting(page);
  const second = await refreshCookie(page);
  expect(second?.value).not.toBe(first?.value);
  expect(second?.value.split('.')[0]).toBe(first?.value.split('.')[0] ?? '');

  await page.getByRole('button', { name: /^Account of / }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.waitForURL(/sign-in/);
  expect(await page.context().cookies(`${panel}/api/user/auth/refresh`)).toEqual([]);
  expect(await readStatus(first?.value.split('.')[0] ?? '')).toBe('revoked');
  await page.context().close();
});

test.each([
  // Another port is another origin of the same site: SameSite sends the cookie, and only the origin
  // check refuses.
  ['another port of the same host', 'localhost'],
  ['another site', '127.0.0.1'],
])('cross-site request forgery from %s: refresh and logout are refused and nothing changes', async (_what, host) => {
  const page = await signedIn();
  const before = await refreshCookie(page);
  const sid = before?.value.split('.')[0] ?? '';
  const refused = refusals();
  const evil = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    tls: { cert: Bun.file(TLS.TLS_CERT_FILE), key: Bun.file(TLS.TLS_KEY_FILE) },
    fetch: () => new Response('<title>evil</title>', { headers: { 'content-type': 'text/html' } }),
  });
  try {
    const attack = await page.context().newPage();
    await attack.goto(`https://${host}:${evil.port}/`);
    for (const path of ['/api/user/auth/refresh', '/api/user/auth/logout']) {
      const read = await attack.evaluate(
        (url) =>
          fetch(url, { method: 'POST', credentials: 'include' }).then(
            (response) => response.status,
            () => 'unreadable',
          ),
        `${panel}${path}`,
      );
      expect(read).toBe('unreadable');
      await attack.evaluate(
        (url) => fetch(url, { method: 'POST', credentials: 'include', mode: 'no-cors', referrerPolicy: 'no-referrer' }),
        `${panel}${path}`,
      );
      await Promise.all([
        attack.waitForURL(`${panel}${path}`),
        attack.evaluate((url) => {
          const form = document.createElement('form');
          Object.assign(form, { method: 'post', action: url });
          document.body.append(form);
          form.submit();
        }, `${panel}${path}`),
      ]);
      expect(await attack.textContent('body')).toContain('AUTH_ORIGIN_FORBIDDEN');
      await attack.goto(`https://${host}:${evil.port}/`);
    }
    // All three kinds of request on both paths have arrived and were refused for their origin.
    await until('the log has them all', () => refusals() === refused + 6);
  } finally {
    await evil.stop(true);
  }
  expect((await refreshCookie(page))?.value).toBe(before?.value ?? '');
  expect(await readStatus(sid)).toBe('active');
  await page.reload();
  await greeting(page);
  await page.context().close();
});
