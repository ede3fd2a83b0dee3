/** All sign-in methods, with the compiled binary: the pages, and their requests to other sites. */

import { afterAll, describe, expect, test } from 'bun:test';
import { MantineProvider } from '@mantine/core';
import type { Page, Route } from 'playwright-core';
import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { MarkdownView } from '../../src/panel/ui/display/markdown-view.tsx';
import { insecureHost, type WatchedPage } from '../support/browser.ts';
import { type ChallengeServer, startChallengeServer } from '../support/challenge.ts';
import { testInFullRun } from '../support/full-run.ts';
import { type Administrator, ask } from '../support/gateway.ts';
import { startMailServer, type TestMailServer } from '../support/smtp.ts';
import { BOT, signWidget } from '../support/telegram-widget.ts';
import { startWeChatServer, WECHAT_TOKEN, type WeChatServer } from '../support/wechat-server.ts';
import {
  accountMenu,
  addVirtualAuthenticator,
  alert,
  findAxeViolations,
  findOverflow,
  heading,
  password,
  readBrowserStorage,
  screens,
  setOptions,
  signOut,
  usePanel,
  waitForFocus,
  waitForText,
} from './harness.ts';

const SECRET = 'secret-key-of-the-challenge';
let challenge: ChallengeServer;
let wechat: WeChatServer;
let mail: TestMailServer;
let telegramReturn: string;
const now = () => Math.floor(Date.now() / 1000);

const AGREEMENT = `# Terms

Be **kind**. See [the site](https://example.org/terms), [our prices](/models) or [nothing](javascript:alert(1)).

## Details

- <script>alert(1)</script>
- \`code\`
`;

const { gateway, origin, root, openPooled } = usePanel(async (administrator, { port }) => {
  challenge = await startChallengeServer(SECRET);
  wechat = startWeChatServer();
  mail = await startMailServer();
  await setOptions(administrator, {
    ServerAddress: `http://localhost:${port}`,
    'passkey.enabled': 'true',
    GitHubClientId: 'github-client',
    GitHubClientSecret: 'github-secret',
    GitHubOAuthEnabled: 'true',
    WeChatServerAddress: wechat.url,
    WeChatServerToken: WECHAT_TOKEN,
    WeChatAccountQRCodeImageURL: `${wechat.url}/pictures/qr.png`,
    WeChatAuthEnabled: 'true',
    TelegramBotToken: BOT.token,
    TelegramBotName: BOT.name,
    TelegramOAuthEnabled: 'true',
    RegisterEnabled: 'true',
    SMTPServer: '127.0.0.1',
    SMTPPort: String(mail.port),
    SMTPFrom: 'gate@example.org',
    SMTPStartTLSEnabled: 'false',
  });
  telegramReturn = await bindTelegram(administrator);
});

/** Binds root's account; returns the gateway's redirect. */
async function bindTelegram({ url, token }: Administrator): Promise<string> {
  const started = await ask(`${url}/api/oauth/telegram/bind/start`, { method: 'POST', token });
  const cookie = String(started.headers.get('set-cookie')).split(';')[0] ?? '';
  const { callback_url } = started.body.data as { callback_url: string };
  const bound = await fetch(`${url}${callback_url}?${signWidget({ id: 7001 }, now())}`, {
    headers: { cookie },
    redirect: 'manual',
  });
  expect(bound.headers.get('location')).toContain('telegram_bind=success');
  return String(bound.headers.get('location'));
}
afterAll(async () => {
  await Promise.all([challenge?.stop(), wechat?.stop(), mail?.stop()]);
});

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true });
const field = (page: Page, label: string) => page.getByLabel(label, { exact: true });

async function openSignIn(options: Parameters<typeof openPooled>[0] = {}): Promise<WatchedPage> {
  const watched = await openPooled(options);
  await watched.page.goto(`${options.at ?? origin()}/sign-in`);
  await heading(watched.page, 'Sign in').waitFor();
  return watched;
}

/** Ignores complaints about requests to the one site that the page may contact. */
function ignoreComplaints(watched: WatchedPage, site: string): void {
  const others = watched.complaints.filter((complaint) => !complaint.startsWith(`foreign request: ${site}`));
  expect(others.length).toBeLessThan(watched.complaints.length);
  watched.complaints.splice(0, watched.complaints.length, ...others);
}

describe('offered methods', () => {
  test('every enabled method, and no other', async () => {
    const { page } = await openSignIn();
    const names = await page.getByRole('main').getByRole('button').allInnerTexts();
    expect(names.filter((name) => name !== '')).toEqual([
      'Sign in',
      'Sign in with a passkey',
      'Continue with GitHub',
      'Continue with WeChat',
      'Continue with Telegram',
    ]);
  });

  testInFullRun('no password field while sign-in by password is off', async () => {
    await setOptions(root(), { PasswordLoginEnabled: 'false' });
    try {
      const { page } = await openSignIn();
      await button(page, 'Sign in with a passkey').waitFor();
      expect(await page.getByRole('textbox').count()).toBe(0);
      expect(await page.getByLabel('Password').count()).toBe(0);
    } finally {
      await setOptions(root(), { PasswordLoginEnabled: 'true' });
    }
  });

  testInFullRun.each(['127.0.0.1', insecureHost])(
    'passkeys at http://%s: the reason and the address where they work',
    async (host) => {
      const { page } = await openSignIn({ at: `http://${host}:${gateway().port}` });
      expect(await button(page, 'Sign in with a passkey').count()).toBe(0);
      expect(await page.getByRole('link', { name: origin() }).getAttribute('href')).toBe(`${origin()}/sign-in`);
    },
  );
});

describe('passkeys', () => {
  const owner = { username: 'pat', password: 'a password of Pat' };

  /** Adds a passkey for `owner` to the page's virtual authenticator, as the security page does. */
  async function addPasskey(page: Page): Promise<void> {
    await addVirtualAuthenticator(page);
    await page.evaluate(async (account) => {
      const post = async (path: string, body: object, token = '') => {
        const headers = {
          'content-type': 'application/json',
          ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
        };
        return (await (await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })).json()).data;
      };
      const { access_token } = await post('/api/user/login', account);
      const started = await post('/api/user/passkey/register/begin', {}, access_token);
      const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(started.options.publicKey);
      const credential = (await navigator.credentials.create({ publicKey })) as PublicKeyCredential;
      const body = { flow_token: started.flow_token, credential: credential.toJSON() };
      await post('/api/user/passkey/register/finish', body, access_token);
      await fetch('/api/user/auth/logout', { method: 'POST' });
    }, owner);
  }

  testInFullRun('one click signs in; a cancelled dialog and an unknown passkey show errors', async () => {
    await root().createUser(owner);
    const { page } = await openSignIn();
    await addPasskey(page);
    await button(page, 'Sign in with a passkey').click();
    await accountMenu(page, owner.username).waitFor();
    expect(await readBrowserStorage(page)).not.toMatch(/eyJ/);
    await signOut(page);
    await heading(page, 'Sign in').waitFor();

    await page.evaluate(() => {
      navigator.credentials.get = () => Promise.reject(new DOMException('given up', 'NotAllowedError'));
    });
    await button(page, 'Sign in with a passkey').click();
    await alert(page).waitFor();
    await page.route('**/api/user/passkey/login/begin', (route) =>
      route.fulfill({ status: 401, json: { success: false, code: 'AUTH_INVALID_CREDENTIALS', message: 'No.' } }),
    );
    await button(page, 'Sign in with a passkey').click();
    await alert(page).getByText('This passkey does not belong to any account here.').waitFor();
    expect(await findAxeViolations(page)).toEqual([]);
  });
});

describe('WeChat', () => {
  testInFullRun('the QR code, a wrong code, a right code', async () => {
    wechat.codes.set('246810', 'oWx_of-the-panel');
    const { page } = await openSignIn();
    await button(page, 'Continue with WeChat').click();
    await heading(page, 'Sign in with WeChat').waitFor();
    const picture = page.getByRole('img', { name: 'QR code of the WeChat account' });
    await picture.waitFor();
    await page.waitForFunction(
      () => (document.querySelector('main img') as HTMLImageElement | null)?.naturalWidth === 1,
    );
    const codeField = field(page, 'Code from WeChat');
    await waitForFocus(codeField);
    await button(page, 'Sign in').click();
    await waitForText(page, 'Enter a code.');
    await codeField.fill('111111');
    await page.keyboard.press('Enter');
    await alert(page).getByText('This code is wrong or expired.').waitFor();
    expect(await findAxeViolations(page)).toEqual([]);
    await codeField.fill('246810');
    await page.keyboard.press('Enter');
    await accountMenu(page, 'WeChat User').waitFor();
  });

  testInFullRun('a code typed before the flow has started is not lost', async () => {
    wechat.codes.set('135790', 'oWx_of-a-quick-one');
    const { page } = await openSignIn();
    const typed = Promise.withResolvers<void>();
    await page.route('**/api/oauth/wechat/state', async (route) => {
      await typed.promise;
      await route.continue();
    });
    await button(page, 'Continue with WeChat').click();
    await field(page, 'Code from WeChat').fill('135790');
    await page.keyboard.press('Enter');
    typed.resolve();
    await accountMenu(page, 'WeChat User').waitFor();
  });

  testInFullRun('without the QR code the form remains; another method is one click away', async () => {
    const { page } = await openSignIn();
    await page.route('**/api/oauth/wechat/qrcode', (route) => route.fulfill({ status: 502, json: {} }));
    await button(page, 'Continue with WeChat').click();
    await waitForText(page, 'Follow this gateway’s WeChat account');
    expect(await page.getByRole('main').getByRole('img').count()).toBe(0);
    await button(page, 'More sign-in options').click();
    await heading(page, 'Sign in').waitFor();
  });
});

describe('Telegram', () => {
  const site = 'https://telegram.org/';
  /**
   * Stands in for Telegram: its script inserts a link instead of the button, which leads to the
   * callback with signed data.
   */
  async function stand(page: Page, person: { id: number }): Promise<void> {
    await page.route(`${site}**`, (route: Route) =>
      route.fulfill({
        contentType: 'text/javascript',
        body: `(() => {
          const own = document.currentScript;
          const link = document.createElement('a');
          link.textContent = 'Log in as ' + own.getAttribute('data-telegram-login');
          link.href = own.getAttribute('data-auth-url') + '?${signWidget(person, now())}';
          own.after(link);
        })();`,
      }),
    );
  }

  testInFullRun('Telegram is not contacted before the click; a bound account signs in', async () => {
    const watched = await openSignIn();
    const { page } = watched;
    await stand(page, { id: 7001 });
    expect(watched.complaints).toEqual([]);
    await button(page, 'Continue with Telegram').click();
    await page.getByRole('link', { name: `Log in as ${BOT.name}` }).click();
    await accountMenu(page).waitFor();
    expect(new URL(page.url()).pathname).toBe('/');
    ignoreComplaints(watched, site);

    await page.goto(`${origin()}${telegramReturn}`);
    await heading(page, 'Telegram connected').waitFor();
    await page.goto(
      `${origin()}/oauth/telegram?telegram_bind=error&error_code=TELEGRAM_BIND_FLOW_INVALID&flow_token=x`,
    );
    await waitForText(page, 'This request has expired or was already used. Connect Telegram again in Security.');
  });

  testInFullRun('an unbound account is told what to do', async () => {
    const watched = await openSignIn();
    const { page } = watched;
    await stand(page, { id: 7002 });
    await button(page, 'Continue with Telegram').click();
    await page.getByRole('link', { name: `Log in as ${BOT.name}` }).click();
    await alert(page).getByText('not connected to any account here').waitFor();
    expect(await findAxeViolations(page)).toEqual([]);
    ignoreComplaints(watched, site);
  });

  test('login CSRF: a signed callback that this tab did not request signs nobody in', async () => {
    const { page, apiCalls } = await openSignIn();
    const returns = { '/abc': 'Sign-in didn’t finish', '': 'Telegram wasn’t connected' };
    for (const [state, refusal] of Object.entries(returns)) {
      await page.goto(`${origin()}/oauth/telegram${state}?${signWidget({ id: 7001 }, now())}`);
      await heading(page, refusal).waitFor();
    }
    expect(apiCalls.filter((call) => call.includes('telegram'))).toEqual([]);
  });

  testInFullRun('a button that fails to load shows an error and a retry', async () => {
    const watched = await openSignIn();
    const { page } = watched;
    await page.route(`${site}**`, (route: Route) => route.abort());
    await button(page, 'Continue with Telegram').click();
    await alert(page).getByText('Telegram’s button did not load.').waitFor();
    expect(await findAxeViolations(page)).toEqual([]);
    await page.unroute(`${site}**`);
    await stand(page, { id: 7003 });
    await button(page, 'Try again').click();
    await page.getByRole('link', { name: `Log in as ${BOT.name}` }).waitFor();
    ignoreComplaints(watched, site);
  });
});

describe('captcha', () => {
  const site = 'https://challenges.cloudflare.com/';

  /** Pages that always have the function. */
  const solvers = new WeakSet<Page>();

  /** Stands in for Turnstile: pressing its button issues a token. */
  async function stand(page: Page): Promise<void> {
    if (!solvers.has(page)) await page.exposeFunction('solveChallenge', () => challenge.solve());
    solvers.add(page);
    await page.route(`${site}**`, (route: Route) =>
      route.fulfill({
        contentType: 'text/javascript',
        body: `window.turnstile = {
          render(place, options) {
            const button = document.createElement('button');
            button.type = 'button';
            button.textContent = 'I am a person';
            button.onclick = async () => {
              button.disabled = true;
              options.callback(await solveChallenge());
              requestAnimationFrame(() => setTimeout(() => { button.dataset.passed = ''; }));
            };
            place.append(button);
            return options.sitekey;
          },
          reset() {
            for (const button of document.querySelectorAll('main button[data-passed]')) {
              button.disabled = false;
              delete button.dataset.passed;
            }
          },
          remove() {},
        };`,
      }),
    );
  }
  /** Waits until the page has received the token. */
  const solve = async (page: Page) => {
    await button(page, 'I am a person').click();
    await page.locator('main button[data-passed]').waitFor();
  };

  async function withCaptcha(work: () => Promise<void>): Promise<void> {
    await setOptions(root(), {
      TurnstileSiteKey: 'site-key',
      TurnstileSecretKey: SECRET,
      TurnstileVerifyUrl: challenge.url,
      TurnstileCheckEnabled: 'true',
      EmailVerificationEnabled: 'true',
    });
    try {
      await work();
    } finally {
      await setOptions(root(), { TurnstileCheckEnabled: 'false', EmailVerificationEnabled: 'false' });
    }
  }

  testInFullRun('a mailed code and an account need a token each; nothing is sent without', () =>
    withCaptcha(async () => {
      const watched = await openPooled();
      const { page, apiCalls } = watched;
      await stand(page);
      await page.goto(`${origin()}/sign-up`);
      await field(page, 'Username').fill('grace');
      await field(page, 'Password').fill(password);
      await field(page, 'Email').fill('grace@example.net');
      await button(page, 'Send code').click();
      await alert(page).getByText('Complete the bot check first.').waitFor();
      expect(apiCalls).not.toContain('POST /api/verification');
      expect(await findAxeViolations(page)).toEqual([]);
      await solve(page);
      await button(page, 'Send code').click();
      const { text } = await mail.next(({ recipients }) => recipients.includes('grace@example.net'));
      await field(page, 'Verification code').fill(/^ {4}(\d{8})\r?$/m.exec(text)?.[1] ?? '');
      await button(page, 'Create account').click();
      await alert(page).getByText('Complete the bot check first.').waitFor();
      await solve(page);
      await button(page, 'Create account').click();
      await page.getByRole('button', { name: /^Account of / }).waitFor();
      ignoreComplaints(watched, site);
    }),
  );

  testInFullRun('a forgotten password; a rejected token is requested again', () =>
    withCaptcha(async () => {
      const watched = await openPooled();
      const { page } = watched;
      await stand(page);
      await page.goto(`${origin()}/forgot-password`);
      await field(page, 'Email').fill('nobody@example.net');
      challenge.misbehave((response) => response.writeHead(500).end());
      await solve(page);
      await button(page, 'Send link').click();
      await alert(page).getByText('The bot check failed.').waitFor();
      challenge.misbehave(undefined);
      await solve(page);
      await button(page, 'Send link').click();
      await heading(page, 'Check your inbox').waitFor();
      ignoreComplaints(watched, site);
    }),
  );

  testInFullRun('a script that fails to load shows an error', () =>
    withCaptcha(async () => {
      const watched = await openPooled();
      const { page } = watched;
      await page.route(`${site}**`, (route: Route) => route.abort());
      await page.goto(`${origin()}/forgot-password`);
      await alert(page).getByText('The bot check did not load.').waitFor();
      expect(await findAxeViolations(page)).toEqual([]);
      await page.unroute(`${site}**`);
      await stand(page);
      await button(page, 'Try again').click();
      await button(page, 'I am a person').waitFor();
      ignoreComplaints(watched, site);
    }),
  );
});

describe('legal texts', () => {
  async function withTexts(work: () => Promise<void>): Promise<void> {
    await setOptions(root(), { 'legal.user_agreement': AGREEMENT, 'legal.privacy_policy': 'We keep nothing.' });
    try {
      await work();
    } finally {
      await setOptions(root(), { 'legal.user_agreement': '', 'legal.privacy_policy': '' });
    }
  }

  test('XSS: registration needs consent; the texts are shown, and nothing in them runs', () =>
    withTexts(async () => {
      const { page } = await openSignIn();
      await waitForText(page, 'By continuing, you agree to the Terms of service and Privacy policy.');
      await page.goto(`${origin()}/sign-up`);
      await field(page, 'Username').fill('lin');
      await field(page, 'Password').fill(password);
      await button(page, 'Create account').click();
      await waitForText(page, 'Accept to create an account.');
      const consent = page.getByRole('checkbox');
      await waitForFocus(consent);
      expect(await findAxeViolations(page)).toEqual([]);
      await page.keyboard.press('Space');
      await button(page, 'Create account').click();
      await page.getByRole('button', { name: /^Account of / }).waitFor();

      await page.goto(`${origin()}/user-agreement`);
      await heading(page, 'Terms of service').waitFor();
      await page.getByRole('heading', { level: 2, name: 'Details' }).waitFor();
      const links = page.getByRole('main').getByRole('link').filter({ hasNotText: 'Back' });
      expect(await links.allTextContents()).toEqual(['the site', 'our prices']);
      await waitForText(page, '<script>alert(1)</script>');
      expect(await findAxeViolations(page)).toEqual([]);
      await page.goto(`${origin()}/privacy-policy`);
      await waitForText(page, 'We keep nothing.');
    }));

  testInFullRun('a gateway without legal texts shows a notice', async () => {
    const { page } = await openPooled();
    await page.goto(`${origin()}/privacy-policy`);
    await waitForText(page, 'This gateway has no such document.');
    expect(await findAxeViolations(page)).toEqual([]);
  });

  test('script injection: HTML of a text is shown as text, and other schemes are not links', () => {
    const render = (source: string) =>
      renderToStaticMarkup(createElement(MantineProvider, null, createElement(MarkdownView, { source })));
    for (const source of [
      '[x](javascript:alert(1))',
      '[x](data:text/html,x)',
      '[x](//evil.example)',
      '[x](/&#47;evil.example)',
      '[x](/\\\\evil.example)',
      '[x](/&#92;evil.example)',
      '[x](/&#9;/evil.example)',
      '[x](/&#10;/evil.example)',
      '[x](/models&#92;..&#92;evil)',
      '[x](&#32;//evil.example)',
      '[x](models)',
      '[x][y]\n\n[y]: javascript:alert(1)',
      '<javascript:alert(1)>',
      '<b onclick=x>',
      '<script>alert(1)</script>',
      '![x](https://evil.example/pixel.png)',
    ]) {
      expect(render(source)).not.toMatch(/<a |<img|<script|<b |onclick="/);
    }
    expect(render('[x](https://example.org/a)')).toContain('href="https://example.org/a"');
    expect(render('[x](/models?search=a#b)')).toContain('href="/models?search=a#b"');
    expect(render('1. c\n2. d\n\n> quoted')).toMatch(/<ol.*<li.*c.*<li.*d.*<blockquote/s);
    const before = process.cpuUsage();
    for (const piece of ['*', '[', '_', '`', '(', '**a', '[a](', '> ', '- ']) render(piece.repeat(2000));
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(4000);
  });

  test.each([
    ['# Terms\n\n## A\n\n## B\n\n### C', ['2 A', '2 B', '3 C']],
    ['## A\n\n#### B\n\n## C', ['2 A', '3 B', '2 C']],
    ['Before\n\n# A\n\n## B', ['2 A', '3 B']],
  ])('a page with a title leaves out the title of the text %j, and skips no level', (source, expected) => {
    const view = createElement(MarkdownView, { source, isTitled: true });
    const html = renderToStaticMarkup(createElement(MantineProvider, null, view));
    const headings = [...html.matchAll(/<h(\d)[^>]*>([^<]*)/g)].map(([, level, text]) => `${level} ${text}`);
    expect(headings).toEqual(expected);
  });
});

testInFullRun.each([
  ['light', 'desktop'],
  ['dark', 'phone'],
] as const)('%s scheme, %s: no accessibility violation, no overflow', async (colorScheme, screen) => {
  const { page } = await openSignIn({ colorScheme, viewport: screens[screen] });
  const inspect = async (): Promise<void> => {
    expect(await findAxeViolations(page)).toEqual([]);
    expect(await findOverflow(page)).toBe(0);
  };
  await button(page, 'Continue with Telegram').waitFor();
  await inspect();
  await button(page, 'Continue with WeChat').click();
  await page.getByRole('img', { name: 'QR code of the WeChat account' }).waitFor();
  await inspect();
});
