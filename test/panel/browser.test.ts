import { describe, expect, test } from 'bun:test';
import { type TOTP, URI } from 'otpauth';
import type { Page } from 'playwright-core';
import { insecureHost } from '../support/browser.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import {
  alert,
  findBarriers,
  findOverflow,
  heading,
  password,
  screens,
  see,
  signOut,
  stored,
  usePanel,
} from './harness.ts';

const { start, startSetUp, open, gateways } = usePanel();

function setupPath(gateway: Gateway): string {
  const url = new URL(String(gateway.setupUrl));
  return `${url.pathname}${url.hash}`;
}

async function fillSignIn(page: Page, name: string, secret: string): Promise<void> {
  await page.getByLabel('User name or e-mail').fill(name);
  await page.getByLabel('Password', { exact: true }).fill(secret);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

async function signIn(page: Page, origin: string): Promise<void> {
  await page.goto(`${origin}/sign-in`);
  await fillSignIn(page, 'root', password);
  await heading(page, 'Hello, root').waitFor();
}

describe('from the terminal’s link to signing out', () => {
  test('set-up, sign-in, home, reload, sign-out', async () => {
    const gateway = await start();
    const { page, context } = await open(gateway.url);

    await page.goto(`${gateway.url}${setupPath(gateway)}`);
    await see(page, 'Set-up link found');
    expect(page.url()).toBe(`${gateway.url}/setup`);
    expect(await page.title()).toBe('Set up · Taskgate');
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Create account' }).click();
    await heading(page, 'The gateway is yours').waitFor();

    await page.getByRole('link', { name: 'Continue to sign-in' }).click();
    await heading(page, 'Sign in').waitFor();
    expect(await page.getByLabel('User name or e-mail').inputValue()).toBe('root');
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.keyboard.press('Enter');
    await heading(page, 'Hello, root').waitFor();
    await see(page, '$200.00');
    await see(page, new RegExp(`http://(localhost|127\\.0\\.0\\.1):${gateway.port}/v1`));

    await page.reload();
    await heading(page, 'Hello, root').waitFor();
    expect(await stored(page)).not.toMatch(/eyJ|refresh/);
    const cookies = await context.cookies(`${gateway.url}/api/user/auth/refresh`);
    expect(cookies.map((cookie) => [cookie.name, cookie.httpOnly, cookie.sameSite]).sort()).toEqual([
      ['svc_has_session', false, 'Strict'],
      ['svc_refresh', true, 'Strict'],
    ]);

    await signOut(page);
    await heading(page, 'Sign in').waitFor();
    expect(await context.cookies(`${gateway.url}/api/user/auth/refresh`)).toEqual([]);
    await page.goto(`${gateway.url}/`);
    await heading(page, 'Sign in').waitFor();
  });

  test('the keyboard alone is enough', async () => {
    const gateway = await start();
    const { page } = await open(gateway.url);
    await page.goto(`${gateway.url}${setupPath(gateway)}`);
    const passwordField = page.getByLabel('Password', { exact: true });
    await passwordField.waitFor();
    const focused = () => passwordField.evaluate((field) => field === document.activeElement);
    for (let presses = 0; presses < 10 && !(await focused()); presses += 1) await page.keyboard.press('Tab');
    await page.keyboard.type(password);
    await page.keyboard.press('Enter');
    await heading(page, 'The gateway is yours').waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await heading(page, 'Sign in').waitFor();
    await page.keyboard.type(password);
    await page.keyboard.press('Enter');
    await heading(page, 'Hello, root').waitFor();
  });

  test('over plain HTTP on a local network: no Web Locks, no clipboard interface, all the same', async () => {
    const gateway = await startSetUp();
    const origin = `http://${insecureHost}:${gateway.port}`;
    const { page } = await open(origin);
    await signIn(page, origin);
    expect(await page.evaluate(() => [isSecureContext, 'locks' in navigator, 'clipboard' in navigator])).toEqual([
      false,
      false,
      false,
    ]);
    await page.reload();
    await heading(page, 'Hello, root').waitFor();
    await page.getByRole('button', { name: 'Copy' }).click();
    await page.getByText('Copied').waitFor({ state: 'attached' });
    await signOut(page);
    await heading(page, 'Sign in').waitFor();
  });

  test('a protected address leads there after signing in, another origin never', async () => {
    const gateway = await startSetUp();
    const { page } = await open(gateway.url);
    await page.goto(`${gateway.url}/sign-in?redirect=${encodeURIComponent('//evil.example/')}`);
    await fillSignIn(page, 'root', password);
    await heading(page, 'Hello, root').waitFor();
    expect(page.url()).toBe(`${gateway.url}/`);
  });
});

describe('the second factor', () => {
  /** Turns it on for root; gives the authenticator and the backup codes. */
  async function enable(gateway: Gateway): Promise<{ app: TOTP; backupCodes: string[] }> {
    const post = async (path: string, body: object, token?: string) => {
      const headers = { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) };
      const answer = await fetch(`${gateway.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
      return ((await answer.json()) as { data: Record<string, unknown> }).data;
    };
    const { access_token } = await post('/api/user/login', { username: 'root', password });
    const token = String(access_token);
    const { qr_code_data, backup_codes } = await post('/api/user/2fa/setup', {}, token);
    const app = URI.parse(String(qr_code_data)) as TOTP;
    expect(await post('/api/user/2fa/enable', { code: app.generate() }, token)).toHaveProperty('access_token');
    return { app, backupCodes: backup_codes as string[] };
  }

  test('the page asks for a code, says when it is wrong, and takes a backup code once', async () => {
    const gateway = await startSetUp();
    const { backupCodes } = await enable(gateway);
    const { page } = await open(gateway.url);
    await page.goto(`${gateway.url}/sign-in`);
    await fillSignIn(page, 'root', password);
    await heading(page, 'Enter your code').waitFor();
    const field = page.getByLabel('Code');
    expect(await field.evaluate((element) => element === document.activeElement)).toBe(true);
    expect(await findBarriers(page)).toEqual([]);
    expect(await stored(page)).not.toMatch(/flow/);

    await page.getByRole('button', { name: 'Continue' }).click();
    await see(page, 'Enter a code.');
    await field.fill('AAAA-AAAA');
    await page.keyboard.press('Enter');
    await see(page, 'This code is wrong or was used already.');
    await field.fill(String(backupCodes[0]).toLowerCase());
    await page.keyboard.press('Enter');
    await heading(page, 'Hello, root').waitFor();
  });

  test('back to another account; a used-up step says so', async () => {
    const gateway = await startSetUp();
    await enable(gateway);
    const { page } = await open(gateway.url);
    await page.goto(`${gateway.url}/sign-in`);
    await fillSignIn(page, 'root', password);
    await page.getByRole('button', { name: 'Use another account' }).click();
    await heading(page, 'Sign in').waitFor();

    await page.route('**/api/user/login/2fa', (route) => {
      route.fulfill({ status: 400, json: { success: false, code: 'AUTH_FLOW_INVALID', message: 'Begin again.' } });
    });
    await fillSignIn(page, 'root', password);
    await page.getByLabel('Code').fill('123456');
    await page.keyboard.press('Enter');
    await see(page, 'That took too long or was used already.');
    await heading(page, 'Sign in').waitFor();
  });
});

describe('sessions', () => {
  test('without the hint cookie the sign-in page does not ask for a session', async () => {
    const gateway = await startSetUp();
    const { page, apiCalls } = await open(gateway.url);
    await page.goto(`${gateway.url}/sign-in`);
    await heading(page, 'Sign in').waitFor();
    await page.waitForLoadState('networkidle');
    expect(apiCalls).not.toContain('POST /api/user/auth/refresh');
  });

  test('two tabs: signing out in one signs out the other', async () => {
    const gateway = await startSetUp();
    const { page, context } = await open(gateway.url);
    await signIn(page, gateway.url);
    const second = await context.newPage();
    await second.goto(gateway.url);
    await heading(second, 'Hello, root').waitFor();
    await signOut(page);
    await heading(second, 'Sign in').waitFor();
  });

  test('five tabs that start at once all stay signed in', async () => {
    const gateway = await startSetUp();
    const { page, context } = await open(gateway.url);
    await signIn(page, gateway.url);
    const tabs = await Promise.all(Array.from({ length: 5 }, () => context.newPage()));
    await Promise.all(tabs.map((tab) => tab.goto(gateway.url)));
    await Promise.all(tabs.map((tab) => heading(tab, 'Hello, root').waitFor()));
    await page.reload();
    await heading(page, 'Hello, root').waitFor();
  });

  test('a session that was ended elsewhere leads to the sign-in page', async () => {
    const gateway = await startSetUp();
    const { page, context } = await open(gateway.url);
    await signIn(page, gateway.url);
    const cookies = await context.cookies(`${gateway.url}/api/user/auth/refresh`);
    const ended = await fetch(`${gateway.url}/api/user/auth/logout`, {
      method: 'POST',
      headers: { cookie: cookies.map(({ name, value }) => `${name}=${value}`).join('; ') },
    });
    expect(ended.status).toBe(200);
    await page.reload();
    await heading(page, 'Sign in').waitFor();
  });
});

describe('bad input and trouble', () => {
  test('a first start leads from any address to the set-up, which asks for the link', async () => {
    const gateway = await start();
    const { page } = await open(gateway.url);
    await page.goto(gateway.url);
    await heading(page, 'Create the root account').waitFor();
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Create account' }).click();
    await see(page, 'Paste the link or the code from the terminal.');

    await page.getByLabel('Set-up link or code').fill('not-the-token');
    await page.getByRole('button', { name: 'Create account' }).click();
    await alert(page).getByText('This set-up link is not valid.').waitFor();

    await page.getByLabel('Set-up link or code').fill(String(gateway.setupUrl));
    await page.getByRole('button', { name: 'Create account' }).click();
    await heading(page, 'The gateway is yours').waitFor();
  });

  test('names and passwords outside of the rules are told before anything is sent', async () => {
    const gateway = await start();
    const { page, apiCalls } = await open(gateway.url);
    await page.goto(`${gateway.url}${setupPath(gateway)}`);
    await page.getByLabel('User name').fill('two words');
    await page.getByLabel('Password', { exact: true }).fill('short');
    await page.getByRole('button', { name: 'Create account' }).click();
    await see(page, 'Use 1 to 32 letters');
    await see(page, 'Use 8 characters or more.');
    expect(await page.getByLabel('User name').evaluate((field) => field === document.activeElement)).toBe(true);
    expect(apiCalls).not.toContain('POST /api/setup');
  });

  test('a link that is used up says so', async () => {
    const gateway = await startSetUp();
    const { page } = await open(gateway.url);
    await page.goto(`${gateway.url}${setupPath(gateway)}`);
    await heading(page, 'Already set up').waitFor();
  });

  test('a wrong password, then too many of them', async () => {
    const gateway = await startSetUp();
    const { page } = await open(gateway.url);
    await page.goto(`${gateway.url}/sign-in`);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await see(page, 'Enter your user name.');
    await fillSignIn(page, 'nobody', 'wrong password');
    await alert(page).getByText('User name or password is wrong.').waitFor();
    const answer = () => page.waitForResponse((response) => response.url().endsWith('/api/user/login'));
    let status = 0;
    for (let tries = 0; tries < 8 && status !== 429; tries += 1) {
      const [response] = await Promise.all([answer(), fillSignIn(page, 'root', `wrong ${tries}`)]);
      status = response.status();
    }
    await alert(page)
      .getByText(/Too many failed attempts\. Try again in \d+ minutes?\./)
      .waitFor();
  });

  test('a gateway that is away says so, and signing in works when it is back', async () => {
    const gateway = await startSetUp();
    const { page } = await open(gateway.url);
    await page.goto(`${gateway.url}/sign-in`);
    await page.getByLabel('User name or e-mail').waitFor();
    await page.waitForLoadState('networkidle');
    await gateway.stop();
    await fillSignIn(page, 'root', password);
    await alert(page).getByText('The gateway does not answer.').waitFor();
    gateways.push(await startGateway({ port: gateway.port, dataDir: gateway.dataDir }));
    await page.getByRole('button', { name: 'Sign in' }).click();
    await heading(page, 'Hello, root').waitFor();
  });

  test('an unknown address is a page of the panel', async () => {
    const gateway = await startSetUp();
    const { page } = await open(gateway.url);
    await page.goto(`${gateway.url}/no/such/page`);
    await heading(page, 'Nothing at this address').waitFor();
  });
});

describe('reading it', () => {
  test('Chinese is a choice that lasts', async () => {
    const gateway = await startSetUp();
    const { page } = await open(gateway.url);
    await page.goto(`${gateway.url}/sign-in`);
    await page.getByRole('button', { name: 'Language' }).click();
    await page.getByRole('menuitemradio', { name: '简体中文' }).click();
    await heading(page, '登录').waitFor();
    expect(await page.evaluate(() => document.documentElement.lang)).toBe('zh-CN');
    await page.reload();
    await heading(page, '登录').waitFor();
  });

  test('a browser that prefers Chinese starts in Chinese', async () => {
    const gateway = await startSetUp();
    const { page } = await open(gateway.url, { locale: 'zh-TW' });
    await page.goto(`${gateway.url}/sign-in`);
    await heading(page, '登录').waitFor();
  });

  test('dark is a choice that lasts', async () => {
    const gateway = await startSetUp();
    const { page } = await open(gateway.url, { colorScheme: 'light' });
    await page.goto(`${gateway.url}/sign-in`);
    await page.getByRole('button', { name: 'Colour scheme' }).click();
    await page.getByRole('menuitemradio', { name: 'Dark' }).click();
    const scheme = () => page.evaluate(() => document.documentElement.dataset.mantineColorScheme);
    expect(await scheme()).toBe('dark');
    await page.reload();
    await heading(page, 'Sign in').waitFor();
    expect(await scheme()).toBe('dark');
  });

  test.each([
    ['light', 'desk'],
    ['dark', 'desk'],
    ['light', 'phone'],
    ['dark', 'phone'],
  ] as const)('%s, on a %s: no barriers on any page, nothing wider than the screen', async (colorScheme, screen) => {
    const gateway = await start();
    const { page } = await open(gateway.url, {
      colorScheme,
      reducedMotion: 'reduce',
      viewport: screens[screen],
    });
    const inspect = async (): Promise<void> => {
      expect(await findBarriers(page)).toEqual([]);
      expect(await findOverflow(page)).toBe(0);
    };
    await page.goto(`${gateway.url}${setupPath(gateway)}`);
    await heading(page, 'Create the root account').waitFor();
    await page.getByRole('button', { name: 'Create account' }).click();
    await see(page, 'Use 8 characters or more.');
    await inspect();
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Create account' }).click();
    await heading(page, 'The gateway is yours').waitFor();
    await inspect();
    await page.goto(`${gateway.url}/sign-in`);
    await fillSignIn(page, 'root', 'wrong password');
    await alert(page).waitFor();
    await page.getByRole('button', { name: 'Lost the root password?' }).click();
    await inspect();
    await fillSignIn(page, 'root', password);
    await heading(page, 'Hello, root').waitFor();
    await see(page, /Version/);
    await inspect();
    await page.goto(`${gateway.url}/no/such/page`);
    await heading(page, 'Nothing at this address').waitFor();
    await inspect();
  });
});

test('what the server sends for the page: no inline script, a nonce of its own each time, compressed and cached files', async () => {
  const gateway = await start();
  const load = async () => {
    const response = await fetch(`${gateway.url}/sign-in`, { headers: { accept: 'text/html' } });
    return { policy: String(response.headers.get('content-security-policy')), html: await response.text() };
  };
  const [first, second] = [await load(), await load()];
  const nonceOf = ({ html }: { html: string }) => /name="csp-nonce" content="([^"]+)"/.exec(html)?.[1] ?? '';
  expect(nonceOf(first).length).toBeGreaterThanOrEqual(16);
  expect(nonceOf(first)).not.toBe(nonceOf(second));
  expect(first.policy).toContain(`'nonce-${nonceOf(first)}'`);
  expect(first.policy).not.toContain('unsafe');
  expect(first.html.match(/<script\b(?![^>]*\bsrc=)/)).toBeNull();
  for (const [, path] of first.html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)) {
    const file = await fetch(`${gateway.url}${path}`, { headers: { 'accept-encoding': 'br' } });
    expect([path, file.status, file.headers.get('cache-control')]).toEqual([
      path,
      200,
      'public, max-age=31536000, immutable',
    ]);
  }
});
