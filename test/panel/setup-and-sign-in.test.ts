import { describe, expect, test } from 'bun:test';
import { type TOTP, URI } from 'otpauth';
import type { Page } from 'playwright-core';
import { IS_FULL_RUN, testInFullRun } from '../support/full-run.ts';
import { type Gateway, ROOT, setUp } from '../support/gateway.ts';
import { until } from '../support/until.ts';
import {
  accountMenu,
  addSessionCookies,
  alert,
  findAxeViolations,
  findOverflow,
  heading,
  password,
  readBrowserStorage,
  screens,
  signOut,
  usePanel,
  waitForFocus,
  waitForText,
  waitForValue,
} from './harness.ts';
import { connect } from './page-pool.ts';

const panel = usePanel();

function setupPath(gateway: Gateway): string {
  const url = new URL(String(gateway.setupUrl));
  return `${url.pathname}${url.hash}`;
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const passwordField = (page: Page) => page.getByLabel('Password', { exact: true });

async function fillSignIn(page: Page, name: string, secret: string): Promise<void> {
  await page.getByLabel('Username or email').fill(name);
  await passwordField(page).fill(secret);
  await button(page, 'Sign in').click();
}

/** A page of the shared gateway. */
async function openSignIn(options: Parameters<typeof panel.openPooled>[0] = {}) {
  const watched = await panel.openPooled(options);
  await watched.page.goto(`${panel.origin()}/sign-in`);
  await watched.page.getByLabel('Username or email').waitFor();
  return watched;
}

/**
 * The page sees the task as running until the returned function is called: on a busy machine the
 * task may finish before the page looks.
 */
async function holdRunning(page: Page): Promise<() => Promise<void>> {
  const task = /\/api\/task\/task_\w+(\/events)?$/;
  await page.route(task, async (route) => {
    if (route.request().url().endsWith('/events')) return route.abort();
    const response = await route.fetch();
    const { data, ...answer } = (await response.json()) as { data: object };
    await route.fulfill({ response, json: { ...answer, data: { ...data, status: 'IN_PROGRESS', progress: '40%' } } });
  });
  return () => page.unroute(task);
}

describe('from the terminal’s link to a first video', () => {
  test('root account, demo channel, first task, panel; reload; sign-out', async () => {
    const gateway = await panel.start();
    const { page, context } = await panel.openPooled({ at: gateway.url });
    await page.goto(`${gateway.url}${setupPath(gateway)}`);
    await waitForText(page, 'Setup link found');
    expect(page.url()).toBe(`${gateway.url}/setup`);
    expect(await page.title()).toBe('Set up · Taskgate');
    await passwordField(page).fill(password);
    await button(page, 'Create account').click();
    await heading(page, 'Your gateway is ready').waitFor();
    expect(await findAxeViolations(page)).toEqual([]);

    const begun = performance.now();
    const letFinish = await holdRunning(page);
    const orders: (string | undefined)[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST' && request.url().endsWith('/api/task')) {
        orders.push(request.headers()['idempotency-key']);
      }
    });
    // A double click, faster than the button is off.
    await button(page, 'Create your first video').evaluate((element: HTMLButtonElement) => {
      element.click();
      element.click();
    });
    await heading(page, 'Your first task is running').waitFor();
    await page.getByRole('progressbar').waitFor();
    expect(await findAxeViolations(page)).toEqual([]);
    await letFinish();
    await heading(page, 'Your first video').waitFor();
    const video = page.locator('video');
    // Chromium without proprietary codecs still loads the bytes.
    const source = new URL(String(await video.getAttribute('src')), gateway.url);
    const answer = await fetch(source);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'video/mp4']);
    if (IS_FULL_RUN) expect(performance.now() - begun).toBeLessThan(60_000);
    expect(await findAxeViolations(page)).toEqual([]);

    expect(orders).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/)]);

    await page.getByRole('link', { name: 'Open the panel' }).click();
    await accountMenu(page).waitFor();
    expect(page.url()).toBe(`${gateway.url}/`);
    await page.reload();
    await accountMenu(page).waitFor();
    expect(await readBrowserStorage(page)).not.toMatch(/eyJ|refresh/);
    const cookies = await context.cookies(`${gateway.url}/api/user/auth/refresh`);
    expect(cookies.map((cookie) => [cookie.name, cookie.httpOnly, cookie.sameSite]).sort()).toEqual([
      ['svc_has_session', false, 'Strict'],
      [expect.stringMatching(/^svc_refresh_[0-9a-f]{6}$/), true, 'Strict'],
    ]);

    await signOut(page);
    await heading(page, 'Sign in').waitFor();
    expect(await context.cookies(`${gateway.url}/api/user/auth/refresh`)).toEqual([]);
    await page.goto(`${gateway.url}/`);
    await heading(page, 'Sign in').waitFor();
    await page.goto(`${gateway.url}${setupPath(gateway)}`);
    await heading(page, 'Already set up').waitFor();
  });

  testInFullRun('works with the keyboard alone', async () => {
    const gateway = await panel.start();
    const { page } = await panel.openPooled({ at: gateway.url });
    await page.goto(`${gateway.url}${setupPath(gateway)}`);
    await passwordField(page).waitFor();
    const tabTo = async (target: ReturnType<Page['locator']>): Promise<void> => {
      const hasFocus = () => target.evaluate((element) => element === document.activeElement);
      for (let presses = 0; presses < 12 && !(await hasFocus()); presses += 1) await page.keyboard.press('Tab');
      expect(await hasFocus()).toBe(true);
    };
    await tabTo(passwordField(page));
    await page.keyboard.type(password);
    await page.keyboard.press('Enter');
    await heading(page, 'Your gateway is ready').waitFor();
    await tabTo(page.getByRole('link', { name: 'Skip and open the panel' }));
    await page.keyboard.press('Enter');
    await accountMenu(page).waitFor();
  });

  testInFullRun(
    'every address redirects to the setup, which asks for the link and validates before sending',
    async () => {
      const gateway = await panel.start();
      const { page, apiCalls } = await panel.openPooled({ at: gateway.url });
      await page.goto(gateway.url);
      await heading(page, 'Create the root account').waitFor();
      await page.getByLabel('Setup link or code').fill('not-the-token');
      await page.getByLabel('Username').fill('two words');
      await passwordField(page).fill('short');
      await button(page, 'Create account').click();
      await waitForText(page, 'Use 1 to 32 letters');
      await waitForText(page, 'Use 8 characters or more.');
      await waitForFocus(page.getByLabel('Username'));
      expect(apiCalls).not.toContain('POST /api/setup');

      await page.getByLabel('Username').fill('root');
      await passwordField(page).fill(password);
      await button(page, 'Create account').click();
      await alert(page).getByText('This setup link is not valid.').waitFor();
      await page.getByLabel('Setup link or code').fill('');
      await button(page, 'Create account').click();
      await waitForText(page, 'Paste the link or code from the server log.');
      await page.getByLabel('Setup link or code').fill(String(gateway.setupUrl));
      // The account is created, but signing in fails: its owner signs in by hand.
      await page.route('**/api/user/auth/login', (route) => route.abort());
      await button(page, 'Create account').click();
      await heading(page, 'Your gateway is ready').waitFor();
      await page.unroute('**/api/user/auth/login');
      await page.getByRole('link', { name: 'Continue to sign-in' }).click();
      await waitForValue(page.getByLabel('Username or email'), 'root');
      await passwordField(page).fill(password);
      await page.keyboard.press('Enter');
      await accountMenu(page).waitFor();
    },
  );

  testInFullRun('a demo channel that cannot be created shows an error and can be skipped', async () => {
    const gateway = await panel.start();
    const { page } = await panel.openPooled({ at: gateway.url });
    await page.route('**/api/setup/demo-channel', (route) =>
      route.fulfill({ status: 409, json: { success: false, code: 'CHANNEL_DEMO_UNAVAILABLE', message: 'No.' } }),
    );
    await page.goto(`${gateway.url}${setupPath(gateway)}`);
    await passwordField(page).fill(password);
    await button(page, 'Create account').click();
    await button(page, 'Create your first video').click();
    await alert(page).getByText('The demo channel needs a single-node gateway').waitFor();
    await page.getByRole('link', { name: 'Skip and open the panel' }).click();
    await accountMenu(page).waitFor();
  });

  testInFullRun('desktop and phone, both colour schemes: no accessibility violation, no overflow', async () => {
    const gateway = await panel.start();
    const { page } = await panel.openPooled({ at: gateway.url });
    const inspect = async (): Promise<void> => {
      for (const [colorScheme, screen] of [
        ['dark', 'desktop'],
        ['light', 'phone'],
      ] as const) {
        await page.setViewportSize(screens[screen]);
        await page.emulateMedia({ colorScheme });
        expect([screen, await findAxeViolations(page)]).toEqual([screen, []]);
        expect(await findOverflow(page)).toBe(0);
      }
    };
    await page.goto(`${gateway.url}${setupPath(gateway)}`);
    await heading(page, 'Create the root account').waitFor();
    await button(page, 'Create account').click();
    await waitForText(page, 'Use 8 characters or more.');
    await inspect();
    await passwordField(page).fill(password);
    await button(page, 'Create account').click();
    await heading(page, 'Your gateway is ready').waitFor();
    await inspect();
    await button(page, 'Create your first video').click();
    await heading(page, 'Your first video').waitFor();
    await inspect();
  });
});

describe('signing in', () => {
  test('signing in redirects to the protected address, never to another origin', async () => {
    const { page } = await panel.openPooled();
    await page.goto(`${panel.origin()}/sign-in?redirect=${encodeURIComponent('//evil.example/')}`);
    await fillSignIn(page, 'root', password);
    await accountMenu(page).waitFor();
    expect(page.url()).toBe(`${panel.origin()}/`);
    await signOut(page);
    await heading(page, 'Sign in').waitFor();
    await page.goto(`${panel.origin()}/tasks?status=FAILURE`);
    await fillSignIn(page, 'root', password);
    await accountMenu(page).waitFor();
    expect(page.url()).toBe(`${panel.origin()}/tasks?status=FAILURE`);
  });

  testInFullRun('a wrong password shows an error; too many are rate-limited', async () => {
    await panel.root().createUser({ username: 'often' });
    const { page } = await openSignIn();
    await button(page, 'Sign in').click();
    await waitForText(page, 'Enter your username.');
    const answer = () => page.waitForResponse((response) => response.url().endsWith('/api/user/auth/login'));
    let status = 0;
    for (let tries = 0; tries < 8 && status !== 429; tries += 1) {
      const [response] = await Promise.all([answer(), fillSignIn(page, 'often', `wrong ${tries}`)]);
      status = response.status();
      if (tries === 0) await alert(page).getByText('Wrong username, email or password.').waitFor();
    }
    await alert(page)
      .getByText(/Too many failed attempts\. Try again in \d+ minutes?\./)
      .waitFor();
  });

  testInFullRun('an unreachable gateway shows a notice, and signing in works once it is back', async () => {
    const gateway = await panel.start();
    await setUp(gateway);
    const { page } = await panel.openPooled({ at: gateway.url });
    await page.goto(`${gateway.url}/sign-in`);
    await page.getByLabel('Username or email').waitFor();
    await page.waitForLoadState('networkidle');
    await gateway.stop();
    await fillSignIn(page, 'root', password);
    await alert(page).getByText('The gateway is not responding.').waitFor();
    await page.getByRole('status').getByText('Can’t reach the gateway').waitFor();
    await panel.start({ port: gateway.port, dataDir: gateway.dataDir });
    await page.getByRole('status').getByText('Can’t reach the gateway').waitFor({ state: 'detached' });
    expect(await passwordField(page).inputValue()).toBe(password);
    await button(page, 'Sign in').click();
    await accountMenu(page).waitFor();
  });

  testInFullRun("an unknown address shows the panel's not-found page", async () => {
    const { page } = await panel.openPooled();
    await page.goto(`${panel.origin()}/no/such/page`);
    await heading(page, 'Page not found').waitFor();
    expect(await findAxeViolations(page)).toEqual([]);
  });
});

describe('the second factor', () => {
  /** Sets up two-factor authentication and returns the secret's backup codes. */
  async function protect(name: string): Promise<string[]> {
    await panel.root().createUser({ username: name });
    const post = async (path: string, body: object, token?: string) => {
      const headers = { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) };
      const answer = await fetch(`${panel.origin()}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
      return ((await answer.json()) as { data: Record<string, unknown> }).data;
    };
    const token = String((await post('/api/user/login', { username: name, password })).access_token);
    const { qr_code_data, backup_codes } = await post('/api/user/2fa/setup', {}, token);
    const code = (URI.parse(String(qr_code_data)) as TOTP).generate();
    expect(await post('/api/user/2fa/enable', { code }, token)).toHaveProperty('access_token');
    return backup_codes as string[];
  }

  test('the page asks for a code, rejects a wrong one, and accepts a backup code once', async () => {
    const backupCodes = await protect('careful');
    const { page } = await openSignIn();
    await fillSignIn(page, 'careful', password);
    await heading(page, 'Enter your code').waitFor();
    const field = page.getByLabel('Code');
    await waitForFocus(field);
    expect(await findAxeViolations(page)).toEqual([]);
    expect(await readBrowserStorage(page)).not.toMatch(/flow/);

    await button(page, 'Continue').click();
    await waitForText(page, 'Enter a code.');
    await field.fill('AAAA-AAAA');
    await page.keyboard.press('Enter');
    await waitForText(page, 'This code is wrong or already used.');
    await field.fill(String(backupCodes[0]).toLowerCase());
    await page.keyboard.press('Enter');
    await accountMenu(page, 'careful').waitFor();
  });

  testInFullRun('the step can be left for another account; an expired step shows an error', async () => {
    await protect('cautious');
    const { page } = await openSignIn();
    await fillSignIn(page, 'cautious', password);
    await button(page, 'Use another account').click();
    await heading(page, 'Sign in').waitFor();

    await page.route('**/api/user/login/2fa', (route) => {
      route.fulfill({ status: 400, json: { success: false, code: 'AUTH_FLOW_INVALID', message: 'Start again.' } });
    });
    await fillSignIn(page, 'cautious', password);
    await page.getByLabel('Code').fill('123456');
    await page.keyboard.press('Enter');
    await waitForText(page, 'This request has expired or was already used.');
    await heading(page, 'Sign in').waitFor();
  });
});

describe('language and colour scheme', () => {
  testInFullRun('the choice of Chinese and of dark lasts', async () => {
    const { page } = await openSignIn({ colorScheme: 'light' });
    await button(page, 'Theme').click();
    await page.getByRole('menuitemradio', { name: 'Dark' }).click();
    await button(page, 'Language').click();
    await page.getByRole('menuitemradio', { name: '简体中文' }).click();
    await heading(page, '登录').waitFor();
    expect(await page.evaluate(() => document.documentElement.lang)).toBe('zh-CN');
    await page.reload();
    await heading(page, '登录').waitFor();
    expect(await page.evaluate(() => document.documentElement.dataset.mantineColorScheme)).toBe('dark');
  });

  testInFullRun('a browser that prefers Chinese starts in Chinese', async () => {
    const { page } = await panel.openPooled({ locale: 'zh-TW' });
    await page.goto(`${panel.origin()}/sign-in`);
    await heading(page, '登录').waitFor();
  });

  testInFullRun.each([
    ['light', 'desktop'],
    ['dark', 'desktop'],
    ['light', 'phone'],
    ['dark', 'phone'],
  ] as const)('sign-in, %s scheme, %s: no accessibility violation, no overflow', async (colorScheme, screen) => {
    const { page } = await openSignIn();
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(screens[screen]);
    await fillSignIn(page, 'nobody', 'wrong password');
    await alert(page).waitFor();
    expect(await findAxeViolations(page)).toEqual([]);
    expect(await findOverflow(page)).toBe(0);
  });
});

describe('bundle size and headers', () => {
  /** Bytes transferred, by file of the panel. */
  async function measureTransfer(page: Page, address: string, title: string): Promise<Map<string, number>> {
    const cdp = await connect(page);
    // Other pages are preloaded a second later, which a slow machine would count.
    const source = '((start) => { setTimeout = (work, ms) => (ms === 1000 ? 0 : start(work, ms)); })(setTimeout)';
    await cdp.send('Page.enable');
    await cdp.send('Page.addScriptToEvaluateOnNewDocument', { source });
    const sizes = new Map<string, number>();
    const paths = new Map<string, string>();
    await cdp.send('Network.enable');
    await cdp.send('Network.setCacheDisabled', { cacheDisabled: true });
    cdp.on('Network.requestWillBeSent', ({ requestId, request }) => {
      if (request.url.startsWith('http')) paths.set(requestId, new URL(request.url).pathname);
    });
    cdp.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      const path = paths.get(requestId);
      // Answers and logos are as large as what the gateway has.
      if (path !== undefined && !/^\/api\/|\.svg$/.test(path)) sizes.set(path, encodedDataLength);
    });
    await page.goto(address);
    await heading(page, title).waitFor();
    // Fonts come last: the browser requests them when there is text to render.
    await until('the font is there', () => [...sizes.keys()].some((path) => path.endsWith('.woff2')));
    return sizes;
  }

  const total = (sizes: Map<string, number>): number => [...sizes.values()].reduce((sum, size) => sum + size, 0);
  const biggest = (sizes: Map<string, number>): string =>
    [...sizes]
      .sort(([, a], [, b]) => b - a)
      .slice(0, 6)
      .map(([path, size]) => `${path} ${(size / 1024).toFixed(1)} KB`)
      .join(', ');

  test('the first loads of the sign-in page and of Home leave the console empty, and Home does not wait for figures', async () => {
    const { page } = await panel.openPooled();
    const complaints: string[] = [];
    page.on('console', (message) => void complaints.push(`${message.type()}: ${message.text()}`));
    page.on('response', (response) => {
      if (response.status() >= 400) complaints.push(`${response.status()} ${new URL(response.url()).pathname}`);
    });
    await page.goto(`${panel.origin()}/sign-in`);
    await heading(page, 'Sign in').waitFor();
    await addSessionCookies(page, panel.origin(), ROOT);
    const { promise: isSeen, resolve: answer } = Promise.withResolvers<void>();
    for (const path of ['stats', 'attention', 'task'])
      await page.route(`**/api/${path}**`, async (route) => {
        await isSeen;
        await route.continue();
      });
    await page.goto(`${panel.origin()}/`);
    await heading(page, 'Home').waitFor();
    const figures = page.waitForResponse('**/api/stats**');
    answer();
    await figures;
    expect(complaints).toEqual([]);
  });

  test('the sign-in page loads at most 250 KB', async () => {
    const { page } = await panel.openPooled();
    const sizes = await measureTransfer(page, `${panel.origin()}/sign-in`, 'Sign in');
    const kilobytes = Math.round(total(sizes) / 1024);
    expect(kilobytes, biggest(sizes)).toBeGreaterThan(150);
    expect(kilobytes, biggest(sizes)).toBeLessThanOrEqual(250);
  });

  testInFullRun('the home page loads at most 260 KB more than the sign-in page', async () => {
    const { page } = await panel.openPooled();
    const before = total(await measureTransfer(page, `${panel.origin()}/sign-in`, 'Sign in'));
    await addSessionCookies(page, panel.origin(), ROOT);
    const sizes = await measureTransfer(page, `${panel.origin()}/`, 'Home');
    expect(Math.round((total(sizes) - before) / 1024), biggest(sizes)).toBeLessThanOrEqual(260);
  });

  testInFullRun.each([
    ['/tasks', 'Tasks'],
    ['/playground', 'Playground'],
    ['/channels', 'Channels'],
    ['/plugins', 'Plugins'],
    ['/settings', 'Settings'],
  ])('the files of the first load of %s have at most 440 KB', async (path, title) => {
    const { page } = await panel.openPooled();
    await addSessionCookies(page, panel.origin(), ROOT);
    const sizes = await measureTransfer(page, `${panel.origin()}${path}`, title);
    expect(Math.round(total(sizes) / 1024), biggest(sizes)).toBeLessThanOrEqual(440);
  });

  test('no inline script, a new nonce per page, compressed and cached files', async () => {
    const load = async () => {
      const response = await fetch(`${panel.origin()}/sign-in`, { headers: { accept: 'text/html' } });
      return { policy: String(response.headers.get('content-security-policy')), html: await response.text() };
    };
    const [first, second] = [await load(), await load()];
    const readNonce = ({ html }: { html: string }) => /name="csp-nonce" content="([^"]+)"/.exec(html)?.[1] ?? '';
    expect(readNonce(first).length).toBeGreaterThanOrEqual(16);
    expect(readNonce(first)).not.toBe(readNonce(second));
    expect(first.policy).toContain(`'nonce-${readNonce(first)}'`);
    expect(first.policy).not.toContain('unsafe');
    expect(first.html.match(/<script\b(?![^>]*\bsrc=)/)).toBeNull();
    for (const [, path] of first.html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)) {
      const file = await fetch(`${panel.origin()}${path}`, { headers: { 'accept-encoding': 'br' } });
      expect([path, file.status, file.headers.get('cache-control')]).toEqual([
        path,
        200,
        'public, max-age=31536000, immutable',
      ]);
    }
  });
});
