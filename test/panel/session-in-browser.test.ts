/** The session client's rules, with Chromium and the compiled binary together. */
import { describe, expect, test } from 'bun:test';
import type { BrowserContext, Page, Route } from 'playwright-core';
import { insecureHost, type WatchedPage } from '../support/browser.ts';
import { IS_FULL_RUN, testInFullRun } from '../support/full-run.ts';
import { ask, ROOT, setUp, signIn as signInByApi } from '../support/gateway.ts';
import { until } from '../support/until.ts';
import {
  accountMenu,
  alert,
  findAxeViolations,
  heading,
  password,
  readBrowserStorage,
  readCookies,
  signOut,
  usePanel,
  waitForNotice,
  waitForText,
} from './harness.ts';

/** An account whose sessions are all ended by a test, so that other accounts keep theirs. */
const ROAMER = { username: 'roamer', password };
const RENAMED = { username: 'renamed', password };
const ADA = { username: 'ada', password };

const { gateway, origin, open, openPooled, openAs, start } = usePanel(async (root) => {
  for (const account of [ROAMER, RENAMED, ADA]) await root.createUser(account);
});

const logIn = (account: typeof ROOT) => ask(`${origin()}/api/user/login`, { body: account });

/** From another device. */
async function revokeOthers(account: typeof ROOT): Promise<void> {
  const { access_token: token } = (await logIn(account)).body.data as { access_token: string };
  const ended = await ask(`${origin()}/api/user/sessions/revoke-others`, { method: 'POST', token });
  expect(ended.status).toBe(200);
}

const refresh = '**/api/user/auth/refresh';
const waitingNotice = (page: Page) => page.getByRole('status').getByText('Can’t reach the gateway');

async function enter(page: Page, at: string, account = ROOT): Promise<void> {
  await page.goto(`${at}/sign-in`);
  await page.getByLabel('Username or email').fill(account.username);
  await page.getByLabel('Password', { exact: true }).fill(account.password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await accountMenu(page, account.username).waitFor();
}

/** The page with the fewest requests. */
const quietPath = '/profile';
const openQuietPage = (page: Page) => waitForText(page, 'About you');

/** A page that is signed in by its cookie. */
async function openSignedIn(options: Parameters<typeof open>[0] = {}, account = ROOT): Promise<WatchedPage> {
  const watched = await openAs(account, quietPath, options);
  await accountMenu(watched.page, account.username).waitFor();
  await openQuietPage(watched.page);
  watched.apiCalls.length = 0;
  return watched;
}

/**
 * Another tab of the same browser, signed in by its cookie. Opened by the page, it shares its
 * process, which is cheaper.
 */
async function openTab(page: Page): Promise<Page> {
  const opened = page.waitForEvent('popup');
  await page.evaluate((path) => void window.open(path), quietPath);
  const tab = await opened;
  await accountMenu(tab).waitFor();
  return tab;
}

/** Navigates to a page that calls the API, without reloading the panel. */
const goToKeys = (page: Page) => page.getByRole('navigation').getByRole('link', { name: 'API keys' }).click();
const atKeys = (page: Page) => heading(page, 'API keys').waitFor();

/** Acts as if the access token had expired: rejects the next request of this page once. */
async function refuseOnce(page: Page): Promise<void> {
  let isRefused = false;
  await page.route(
    ({ pathname }) => pathname === '/api/token',
    (route: Route) => {
      if (isRefused) return route.fallback();
      isRefused = true;
      return route.fulfill({ status: 401, json: { success: false, code: 'AUTH_TOKEN_EXPIRED', message: 'Renew it.' } });
    },
  );
}

const readRefreshes = (calls: readonly string[]): number =>
  calls.filter((call) => call === 'POST /api/user/auth/refresh').length;

describe('the access token', () => {
  /** Records what a page stores or sends to other tabs. */
  async function listen(context: BrowserContext): Promise<string[]> {
    const noted: string[] = [];
    await context.exposeFunction('noteTold', (text: string) => noted.push(text));
    await context.addInitScript(() => {
      const { noteTold } = globalThis as unknown as { noteTold(text: string): void };
      if (typeof BroadcastChannel === 'function') {
        const post = BroadcastChannel.prototype.postMessage;
        BroadcastChannel.prototype.postMessage = function (message) {
          noteTold(JSON.stringify(message));
          post.call(this, message);
        };
      }
      const set = Storage.prototype.setItem;
      Storage.prototype.setItem = function (key, value) {
        noteTold(`${key}=${value}`);
        set.call(this, key, value);
      };
    });
    return noted;
  }

  test('token theft: the token is in memory only; tabs exchange session ids and events, nothing else', async () => {
    const { page, context } = await open();
    const noted = await listen(context);
    await enter(page, origin());
    await signOut(page);
    await heading(page, 'Sign in').waitFor();
    const read = () => noted.filter((text) => text.startsWith('{')).map((text) => JSON.parse(text) as object);
    await until('both are noted', () => read().length > 1);
    const events = read();
    expect(events.map((event) => Object.keys(event).sort())).toEqual([
      ['kind', 'sid'],
      ['kind', 'sid'],
    ]);
    expect(events).toMatchObject([{ kind: 'authenticated' }, { kind: 'signed_out' }]);
    expect(noted.join()).not.toMatch(/eyJ/);
    expect(await readBrowserStorage(page)).not.toMatch(/eyJ/);
  });

  testInFullRun('without BroadcastChannel tabs use storage events, and leave nothing in storage', async () => {
    const { page, context } = await open();
    await context.addInitScript(() => Reflect.deleteProperty(globalThis, 'BroadcastChannel'));
    const noted = await listen(context);
    await enter(page, origin());
    const tab = await openTab(page);
    await signOut(page);
    await heading(tab, 'Sign in').waitFor();
    await waitForText(tab, 'You signed out in another tab.');
    const read = () => noted.filter((text) => text.startsWith('taskgate:session='));
    await until('both are noted', () => read().length > 1);
    const events = read();
    expect(events.map((text) => Object.keys(JSON.parse(text.slice('taskgate:session='.length))).sort())).toEqual([
      ['kind', 'nonce', 'sid'],
      ['kind', 'nonce', 'sid'],
    ]);
    expect(noted.join()).not.toMatch(/eyJ/);
    expect(await page.evaluate(() => localStorage.getItem('taskgate:session'))).toBeNull();
  });

  testInFullRun('expires unnoticed: it is renewed shortly before, or after a 401', async () => {
    const { page, apiCalls } = await open();
    await page.clock.install();
    await enter(page, origin());
    const refusals: string[] = [];
    page.on('response', (response) => {
      if (response.status() === 401) refusals.push(response.url());
    });
    apiCalls.length = 0;
    await page.clock.fastForward('14:20');
    await goToKeys(page);
    await waitForText(page, 'No API keys yet');
    expect(readRefreshes(apiCalls)).toBe(1);
    expect(refusals).toEqual([]);

    const { page: other, apiCalls: calls } = await openSignedIn();
    await refuseOnce(other);
    await goToKeys(other);
    await waitForText(other, 'No API keys yet');
    expect(readRefreshes(calls)).toBe(1);
    expect(await alert(other).count()).toBe(0);
  });
});

testInFullRun('two gateways on one host: neither signs the other out', async () => {
  const other = await start();
  await setUp(other);
  const { page, context } = await openSignedIn();
  const beside = await context.newPage();
  // On the same host: only the ports differ, which cookies do not tell apart.
  await enter(beside, origin().replace(/:\d+$/, `:${other.port}`));
  await page.reload();
  await accountMenu(page).waitFor();
  const names = (await context.cookies(`${origin()}/api/user/auth/refresh`)).map(({ name }) => name);
  expect(names.filter((name) => /^svc_refresh_[0-9a-f]{6}$/.test(name))).toHaveLength(2);
  // Signing out there clears the hint that both share; the marker of this origin remains.
  await signOut(beside);
  await heading(beside, 'Sign in').waitFor();
  expect(await page.evaluate(() => document.cookie)).not.toContain('svc_has_session');
  await page.goto(`${origin()}/`);
  await accountMenu(page).waitFor();
  expect(JSON.parse(await readBrowserStorage(page))[0]).toMatchObject({ 'taskgate.signed_in': '1' });
  // The marker goes with the session: the sign-in page then asks no more.
  await signOut(page);
  await heading(page, 'Sign in').waitFor();
  expect(await page.evaluate(() => localStorage.getItem('taskgate.signed_in'))).toBeNull();
});

describe('cold start', () => {
  test('the sign-in page asks for a session only with the hint cookie', async () => {
    const { page, apiCalls } = await openPooled();
    await page.goto(`${origin()}/sign-in`);
    await heading(page, 'Sign in').waitFor();
    await page.waitForLoadState('networkidle');
    expect(readRefreshes(apiCalls)).toBe(0);
  });

  testInFullRun('a protected page always asks, with or without the hint', async () => {
    const { page, context, apiCalls } = await openSignedIn();
    await context.clearCookies({ name: 'svc_has_session' });
    await page.reload();
    await accountMenu(page).waitFor();
    await context.clearCookies();
    apiCalls.length = 0;
    await page.reload();
    await heading(page, 'Sign in').waitFor();
    expect(readRefreshes(apiCalls)).toBe(1);
  });

  testInFullRun.each([429, 503])('a %d does not sign out: the page shows it and retries by itself', async (status) => {
    const { page, context } = await openSignedIn();
    await page.route(refresh, (route) =>
      route.fulfill({
        status,
        headers: { 'retry-after': '1' },
        json: { success: false, code: 'AUTH_UNAVAILABLE', message: 'Later.' },
      }),
    );
    await page.reload();
    await heading(page, 'Something went wrong').waitFor();
    expect(await context.cookies(`${origin()}/api/user/auth/refresh`)).toHaveLength(2);
    await page.unroute(refresh);
    await accountMenu(page).waitFor();
  });
});

describe('several tabs', () => {
  const origins = [
    ['localhost', () => origin()],
    [insecureHost, () => `http://${insecureHost}:${gateway().port}`],
  ] as const;

  test.each(IS_FULL_RUN ? origins : origins.slice(0, 1))(
    'at http://%s: two tabs that renew at once and three that start at once stay signed in',
    async (_host, at) => {
      const { page } = await openSignedIn({ at: at() });
      const tab = await openTab(page);
      await openQuietPage(tab);
      for (const one of [page, tab]) await refuseOnce(one);
      await Promise.all([goToKeys(page), goToKeys(tab)]);
      await Promise.all([atKeys(page), atKeys(tab)]);
      const more = await Promise.all([page, page, page].map(openTab));
      await Promise.all([page, tab].map((one) => one.reload()));
      await Promise.all([page, tab].map((one) => accountMenu(one).waitFor()));
      expect(await page.evaluate(() => [isSecureContext, 'locks' in navigator])).toEqual(
        at() === origin() ? [true, true] : [false, false],
      );

      await signOut(tab);
      await Promise.all([page, tab, ...more].map((one) => heading(one, 'Sign in').waitFor()));
    },
  );

  testInFullRun('on a local network without TLS: signing in, copying, reloading, signing out', async () => {
    const at = `http://${insecureHost}:${gateway().port}`;
    const { page } = await openPooled({ at: at });
    await enter(page, at);
    await page.goto(`${at}/reference`);
    await page.getByRole('button', { name: 'Copy' }).first().click();
    await waitForNotice(page, 'Copied');
    await page.reload();
    await accountMenu(page).waitFor();
    await signOut(page);
    // The reference needs no session.
    await page.getByRole('link', { name: 'Sign in' }).waitFor();
    await page.goto(at);
    await heading(page, 'Sign in').waitFor();
  });

  testInFullRun(
    'another login of this browser is taken over after one mismatch and one request without the old session',
    async () => {
      const { page, context, apiCalls } = await openSignedIn();
      const login = await logIn(ADA);
      await context.addCookies(readCookies(login, origin()));
      await refuseOnce(page);
      const answers: number[] = [];
      page.on('response', (response) => {
        if (response.url().endsWith('/auth/refresh')) answers.push(response.status());
      });
      await goToKeys(page);
      // Root's data must not be shown to ada, so the page reloads.
      await accountMenu(page, 'ada').waitFor();
      expect(answers.slice(0, 2)).toEqual([409, 200]);
      expect(readRefreshes(apiCalls)).toBeGreaterThanOrEqual(2);
    },
  );
});

describe('network failures', () => {
  testInFullRun('a refresh while offline keeps the page, shows a notice and recovers by itself', async () => {
    const { page, context } = await openSignedIn();
    // The first answer ends the wait.
    const everything = '**/api/**';
    await page.route(everything, (route) => route.abort());
    await refuseOnce(page);
    await goToKeys(page);
    await atKeys(page);
    await waitingNotice(page).waitFor();
    expect(await accountMenu(page).isVisible()).toBe(true);
    expect(await findAxeViolations(page)).toEqual([]);
    await page.unroute(everything);
    await waitingNotice(page).waitFor({ state: 'detached' });
    await waitForText(page, 'No API keys yet');

    await context.setOffline(true);
    await waitForText(page, 'You’re offline.');
    await context.setOffline(false);
    await waitingNotice(page).waitFor({ state: 'detached' });
    await page.getByRole('navigation').getByRole('link', { name: 'Tasks' }).click();
    await heading(page, 'Tasks').waitFor();
  });

  testInFullRun.each([429, 500, 503])(
    'a refresh answered with %d signs nobody out; a later one succeeds',
    async (status) => {
      const { page } = await openSignedIn();
      await refuseOnce(page);
      await page.route(refresh, (route) =>
        route.fulfill({ status, json: { success: false, code: 'AUTH_UNAVAILABLE', message: 'Later.' } }),
      );
      const refused = page.waitForResponse((response) => response.url().endsWith('/auth/refresh'));
      await goToKeys(page);
      expect((await refused).status()).toBe(status);
      await atKeys(page);
      expect(await accountMenu(page).isVisible()).toBe(true);
      await page.unroute(refresh);
      await waitForText(page, 'No API keys yet');
    },
  );
});

describe('the end of a session', () => {
  testInFullRun('revoked from another device: the sign-in page says why and redirects back afterwards', async () => {
    const { page } = await openSignedIn({}, ROAMER);
    await revokeOthers(ROAMER);
    await goToKeys(page);
    await heading(page, 'Sign in').waitFor();
    await waitForText(page, 'You were signed out: this session was ended from another device');
    expect(await findAxeViolations(page)).toEqual([]);
    await page.getByLabel('Username or email').fill(ROAMER.username);
    await page.getByLabel('Password', { exact: true }).fill(ROAMER.password);
    await page.keyboard.press('Enter');
    await atKeys(page);
  });

  testInFullRun(
    'with unsaved changes: the page waits below the sign-in, and keeps what was typed for its user',
    async () => {
      const { page } = await openSignedIn({}, RENAMED);
      const typed = page.getByLabel('Display name');
      await typed.fill('Half a name');
      await revokeOthers(RENAMED);
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      const over = page.getByRole('dialog', { name: 'Sign in' });
      await over.getByText('Sign in as the same user to keep what you typed.').waitFor();
      expect(await findAxeViolations(page)).toEqual([]);
      // What is below cannot be used.
      await page.keyboard.press('Escape');
      await over.getByLabel('Username or email').fill(RENAMED.username);
      await over.getByLabel('Password', { exact: true }).fill(RENAMED.password);
      await page.keyboard.press('Enter');
      await over.waitFor({ state: 'detached' });
      expect(await typed.inputValue()).toBe('Half a name');
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await accountMenu(page, 'Half a name').waitFor();

      await typed.fill('Not for others');
      await revokeOthers(RENAMED);
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await over.getByLabel('Username or email').fill(ADA.username);
      await over.getByLabel('Password', { exact: true }).fill(ADA.password);
      await page.keyboard.press('Enter');
      await accountMenu(page, ADA.username).waitFor();
      await until('nothing of the other user is shown', async () => (await typed.inputValue()) !== 'Not for others');
    },
  );

  testInFullRun('signing out in another tab says that unsaved changes in this one are lost', async () => {
    const { page } = await openSignedIn({}, ADA);
    const opened = page.waitForEvent('popup');
    await page.evaluate((path) => void window.open(path), quietPath);
    const tab = await opened;
    await accountMenu(tab, ADA.username).waitFor();
    await tab.getByLabel('Display name').fill('Half a name');
    await signOut(page);
    await waitForText(tab, 'You signed out in another tab. Unsaved changes on the page were discarded.');
  });

  testInFullRun('revoked while the page was closed: the sign-in page says why', async () => {
    const { page } = await openSignedIn({}, ROAMER);
    await revokeOthers(ROAMER);
    await page.reload();
    await waitForText(page, 'You were signed out: this session was ended from another device');
  });

  testInFullRun('too many sessions: the sign-in page lists the remedies', async () => {
    const limited = await start({ env: { USER_SESSION_ACTIVE_LIMIT: '2' } });
    const administrator = await setUp(limited);
    await signInByApi(limited.url);
    const { page } = await openPooled({ at: limited.url });
    await page.goto(`${limited.url}/sign-in`);
    const attempt = async (): Promise<void> => {
      await page.getByLabel('Username or email').fill(ROOT.username);
      await page.getByLabel('Password', { exact: true }).fill(ROOT.password);
      await page.keyboard.press('Enter');
    };
    await attempt();
    await alert(page).getByText('This account is signed in on too many devices').waitFor();
    await alert(page).getByText('On a device that is signed in, open Security').waitFor();
    await alert(page).getByText('Ask an administrator for a new password').waitFor();
    expect(await findAxeViolations(page)).toEqual([]);
    const mail = { SMTPServer: '127.0.0.1', SMTPFrom: 'gate@example.org', SMTPStartTLSEnabled: 'false' };
    await administrator.call('PUT', '/api/option', {
      options: Object.entries(mail).map(([key, value]) => ({ key, value })),
    });
    await page.reload();
    await attempt();
    await alert(page).getByRole('link', { name: 'Reset your password by email' }).click();
    await heading(page, 'Forgot your password?').waitFor();

    await administrator.call('POST', '/api/user/sessions/revoke-others');
    await page.goto(`${limited.url}/sign-in`);
    await attempt();
    await accountMenu(page).waitFor();
  });

  test('signing out during a refresh: its answer restores no cookie', async () => {
    const { page, context } = await openSignedIn();
    await refuseOnce(page);
    const [answered, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await page.route(refresh, async (route) => {
      const response = await route.fetch();
      answered.resolve();
      await held.promise;
      await route.fulfill({ response });
    });
    await goToKeys(page);
    await answered.promise;
    await signOut(page);
    await until('the sign-out waits', () =>
      page.evaluate(async () => (await navigator.locks.query()).pending?.length === 1),
    );
    held.resolve();
    await heading(page, 'Sign in').waitFor();
    expect(await context.cookies(`${origin()}/api/user/auth/refresh`)).toEqual([]);
    await page.reload();
    await heading(page, 'Sign in').waitFor();
    expect(await page.getByText('You were signed out').count()).toBe(0);
  });

  test('a page restored from the back/forward cache shows nothing of a user who has signed out', async () => {
    const { page, context } = await openSignedIn();
    await context.clearCookies();
    // The tests' browser has no back/forward cache, so the event is dispatched by hand.
    await page.evaluate(() => dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true })));
    await heading(page, 'Sign in').waitFor();
  });

  testInFullRun('signing out after another login took the cookie ends that login', async () => {
    const { page, context } = await openSignedIn();
    const answer = await logIn(ROOT);
    await context.addCookies(readCookies(answer, origin()));
    await signOut(page);
    await heading(page, 'Sign in').waitFor();
    expect(await context.cookies(`${origin()}/api/user/auth/refresh`)).toEqual([]);
    const { access_token: token } = answer.body.data as { access_token: string };
    expect((await ask(`${origin()}/api/user/self`, { token })).status).toBe(401);
  });
});
