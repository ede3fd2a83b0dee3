import { afterAll, afterEach, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { readFieldErrors } from '../../src/panel/api/api-error.ts';
import { affiliateQuery, readAffiliateCode, readResetLink } from '../../src/panel/pages/accounts/link-parameters.ts';
import { insecureHost, type WatchedPage } from '../support/browser.ts';
import { IS_FULL_RUN, testInFullRun } from '../support/full-run.ts';
import { ask } from '../support/gateway.ts';
import { type ReceivedMail, startMailServer, type TestMailServer } from '../support/smtp.ts';
import {
  accountMenu,
  alert,
  findAxeViolations,
  findOverflow,
  heading,
  readBrowserStorage,
  screens,
  setOptions,
  usePanel,
  waitForFocus,
  waitForText,
  waitForValue,
} from './harness.ts';

let mail: TestMailServer;
/** Registration and password reset, on a gateway that registers accounts and sends mail. */
const { gateway, origin, root, open, openPooled, start } = usePanel(async (administrator, { port }) => {
  mail = await startMailServer();
  await setOptions(administrator, {
    ServerAddress: `http://localhost:${port}`,
    SMTPServer: '127.0.0.1',
    SMTPPort: String(mail.port),
    SMTPFrom: 'gate@example.org',
    SMTPStartTLSEnabled: 'false',
    RegisterEnabled: 'true',
    EmailVerificationEnabled: 'true',
  });
});
afterAll(() => mail?.stop());

let restore: () => Promise<unknown> = async () => {};
afterEach(async () => {
  await restore();
  restore = async () => {};
});

/** Restored at the end of the test. */
async function change(options: Record<string, string>): Promise<void> {
  const before = await root().call<{ key: string; value: unknown }[]>('GET', '/api/option');
  const former = before.filter(({ key }) => key in options).map(({ key, value }) => [key, String(value)]);
  restore = () => setOptions(root(), Object.fromEntries(former));
  await setOptions(root(), options);
}

const PASSWORD = 'a password of somebody';
const NEW_PASSWORD = 'another password of somebody';

const codeIn = ({ text }: ReceivedMail): string => /^ {4}(\d{8})\r?$/m.exec(text)?.[1] ?? '';
const linkIn = ({ text }: ReceivedMail): string => /https?:\S+\/user\/reset\?\S+/.exec(text)?.[0] ?? '';

const mailTo = (address: string) => mail.next(({ recipients }) => recipients.includes(address));

let clients = 0;
/**
 * Plays the proxy in front of the gateway: each client gets its own IP address, since one address
 * may request two codes in thirty seconds.
 */
const fromNewIp = () => {
  clients += 1;
  return { 'x-forwarded-for': `203.0.113.${clients}` };
};
async function openHere(options: Parameters<typeof open>[0] = {}): Promise<WatchedPage> {
  const watched = await openPooled(options);
  await watched.page.setExtraHTTPHeaders(fromNewIp());
  return watched;
}

/** Registers an account through the API, with an address that contains its name. */
async function register(username: string): Promise<void> {
  const { url } = gateway();
  const [headers, email] = [fromNewIp(), `${username}@example.net`];
  expect((await ask(`${url}/api/verification`, { body: { email }, headers })).status).toBe(200);
  const verification_code = codeIn(await mailTo(email));
  const body = { username, password: PASSWORD, email, verification_code };
  expect((await ask(`${url}/api/user/register`, { body, headers })).status).toBe(200);
}

const field = (page: Page, label: string) => page.getByLabel(label, { exact: true });
const press = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).click();
const hasFocus = (page: Page, label: string) => waitForFocus(field(page, label));

/** `name` is what the form suggests, `account` the name in the account menu afterwards. */
type SignIn = { name: string; password: string; account: string };

async function expectSignIn(page: Page, { name, password, account }: SignIn): Promise<void> {
  await heading(page, 'Sign in').waitFor();
  await waitForValue(field(page, 'Username or email'), name);
  await field(page, 'Password').fill(password);
  await page.keyboard.press('Enter');
  await accountMenu(page, account).waitFor();
}

describe('signing up', () => {
  testInFullRun('mailed code, account, sign-in; the affiliate code reaches the gateway', async () => {
    await change({ QuotaForInvitee: '500000', QuotaForNewUser: '500000' });
    const aff = await root().call<string>('GET', '/api/user/aff');
    const { page } = await openHere();
    await page.goto(`${origin()}/sign-in?aff=${aff}`);
    await page.getByRole('link', { name: 'Sign up' }).click();
    await heading(page, 'Create your account').waitFor();
    expect(await page.title()).toBe('Sign up · Taskgate');
    await waitForText(page, 'New accounts start with $1.00. Invited accounts get $1.00 more.');
    await hasFocus(page, 'Username');
    await field(page, 'Username').fill('ada');
    await field(page, 'Password').fill(PASSWORD);
    await field(page, 'Email').fill('ada@example.net');
    await press(page, 'Send code');
    await waitForText(page, 'A code was sent to ada@example.net.');
    await hasFocus(page, 'Verification code');
    await field(page, 'Verification code').fill(codeIn(await mailTo('ada@example.net')));
    await page.keyboard.press('Enter');
    await accountMenu(page, 'ada').waitFor();
    expect(await readBrowserStorage(page)).not.toContain(PASSWORD);
    const login = await ask(`${origin()}/api/user/login`, { body: { username: 'ada', password: PASSWORD } });
    expect(login.body.data).toMatchObject({ user: { quota: 1_000_000 } });
  });

  testInFullRun('errors show at their field, and the input stays', async () => {
    await register('bea');
    const { page } = await openHere();
    await page.goto(`${origin()}/sign-up`);
    await press(page, 'Create account');
    await waitForText(page, 'Use 1 to 32 letters, digits, dots, underscores or hyphens.');
    await waitForText(page, 'Use 8 characters or more.');
    await waitForText(page, 'Enter an email address, such as you@example.org.');
    await waitForText(page, 'Enter the code from the email.');
    await hasFocus(page, 'Username');

    const before = mail.mails.length;
    await field(page, 'Email').fill('bob@nowhere');
    await press(page, 'Send code');
    await hasFocus(page, 'Email');
    expect(mail.mails).toHaveLength(before);

    await field(page, 'Username').fill('BEA');
    await field(page, 'Password').fill('password1');
    await field(page, 'Email').fill('bob@example.net');
    await press(page, 'Send code');
    const code = codeIn(await mailTo('bob@example.net'));
    await field(page, 'Verification code').fill('00000000');
    await press(page, 'Create account');
    await waitForText(page, /one of the most common passwords/);
    await hasFocus(page, 'Password');
    expect(await field(page, 'Password').inputValue()).toBe('password1');
    await field(page, 'Password').fill(PASSWORD);
    await press(page, 'Create account');
    await waitForText(page, 'This code is wrong, expired, or was tried too often.');
    await hasFocus(page, 'Verification code');
    await field(page, 'Verification code').fill(code);
    expect(await page.getByText('This code is wrong').count()).toBe(0);
    await press(page, 'Create account');
    await waitForText(page, 'This username is taken.');
    expect(await alert(page).count()).toBe(0);
    await field(page, 'Username').fill('bob');
    await press(page, 'Create account');
    await accountMenu(page, 'bob').waitFor();
  });

  testInFullRun('a domain that is not allowed shows an error at the address', async () => {
    await change({ EmailDomainWhitelist: 'example.com', EmailDomainRestrictionEnabled: 'true' });
    const { page } = await openHere();
    await page.goto(`${origin()}/sign-up`);
    await field(page, 'Email').fill('ada@example.net');
    await press(page, 'Send code');
    await waitForText(page, 'This gateway does not accept addresses from this domain.');
    await hasFocus(page, 'Email');
  });

  testInFullRun('another code is sent after thirty seconds and replaces the previous one', async () => {
    const { page } = await open({ extraHTTPHeaders: fromNewIp() });
    await page.clock.install();
    await page.goto(`${origin()}/sign-up`);
    await field(page, 'Email').fill('cleo@example.net');
    await press(page, 'Send code');
    const former = codeIn(await mailTo('cleo@example.net'));
    const again = page.getByRole('button', { name: /^Resend/ });
    await again.waitFor();
    expect(await again.isDisabled()).toBe(true);
    for (let seconds = 0; seconds < 31; seconds += 1) await page.clock.runFor(1000);
    await page.getByRole('button', { name: 'Resend', exact: true }).click();
    const code = codeIn(await mailTo('cleo@example.net'));
    await field(page, 'Username').fill('cleo');
    await field(page, 'Password').fill(PASSWORD);
    await field(page, 'Verification code').fill(former);
    await press(page, 'Create account');
    await waitForText(page, 'This code is wrong, expired, or was tried too often.');
    await field(page, 'Verification code').fill(code);
    await press(page, 'Create account');
    await accountMenu(page, 'cleo').waitFor();
  });

  testInFullRun('without email verification a name and a password are enough, over plain HTTP too', async () => {
    await change({ EmailVerificationEnabled: 'false', SMTPServer: '' });
    const at = `http://${insecureHost}:${gateway().port}`;
    const { page } = await openHere({ at });
    await page.goto(`${at}/sign-in`);
    await page.getByRole('link', { name: 'Sign up' }).waitFor();
    await page.getByRole('link', { name: 'Sign up' }).click();
    await field(page, 'Username').fill('dora');
    await field(page, 'Password').fill(PASSWORD);
    expect(await page.getByLabel('Email').count()).toBe(0);
    await page.keyboard.press('Enter');
    await accountMenu(page, 'dora').waitFor();
  });

  testInFullRun(
    'closed registration has no link and a notice; closed while the form is open shows an error',
    async () => {
      await change({ RegisterEnabled: 'false', EmailVerificationEnabled: 'false', SMTPServer: '' });
      const { page } = await openHere();
      await page.goto(`${origin()}/sign-in`);
      await heading(page, 'Sign in').waitFor();
      await page.waitForLoadState('networkidle');
      expect(await page.getByRole('link').allInnerTexts()).toEqual(['Forgot password?']);
      await page.goto(`${origin()}/sign-up`);
      await heading(page, 'Sign-up is closed').waitFor();

      await setOptions(root(), { RegisterEnabled: 'true' });
      await page.reload();
      await field(page, 'Username').fill('emma');
      await field(page, 'Password').fill(PASSWORD);
      await setOptions(root(), { RegisterEnabled: 'false' });
      await press(page, 'Create account');
      await heading(page, 'Sign-up is closed').waitFor();
    },
  );

  testInFullRun('before the setup the page redirects to it', async () => {
    const fresh = await start();
    const { page } = await openPooled({ at: fresh.url });
    await page.goto(`${fresh.url}/sign-up`);
    await heading(page, 'Create the root account').waitFor();
  });
});

describe('a forgotten password', () => {
  test('requested, mailed, changed, signed in; the token is stored nowhere and the link works once', async () => {
    await register('fay');
    const { page, apiCalls } = await openHere();
    await page.goto(`${origin()}/sign-in`);
    await page.getByRole('link', { name: 'Forgot password?' }).click();
    await heading(page, 'Forgot your password?').waitFor();
    await hasFocus(page, 'Email');
    await field(page, 'Email').fill('fay');
    await press(page, 'Send link');
    await waitForText(page, 'Enter an email address, such as you@example.org.');
    expect(apiCalls).not.toContain('POST /api/reset_password');
    await field(page, 'Email').fill('fay@example.net');
    await page.keyboard.press('Enter');
    await heading(page, 'Check your inbox').waitFor();

    const link = linkIn(await mailTo('fay@example.net'));
    const token = String(new URL(link).searchParams.get('token'));
    expect(token.length).toBeGreaterThan(30);
    await page.goto(link);
    await heading(page, 'Choose a new password').waitFor();
    expect(page.url()).toBe(`${origin()}/user/reset`);
    expect(await readBrowserStorage(page)).not.toContain(token);
    expect(await page.content()).not.toContain(token);
    await hasFocus(page, 'New password');
    await field(page, 'New password').fill('short');
    await page.keyboard.press('Enter');
    await waitForText(page, 'Use 8 characters or more.');
    await field(page, 'New password').fill('password1');
    await page.keyboard.press('Enter');
    await waitForText(page, /one of the most common passwords/);
    await field(page, 'New password').fill(NEW_PASSWORD);
    await page.keyboard.press('Enter');
    await heading(page, 'Password changed').waitFor();
    await page.getByRole('link', { name: 'Continue to sign-in' }).click();
    await expectSignIn(page, { name: 'fay@example.net', password: NEW_PASSWORD, account: 'fay' });

    await page.goto(link);
    await field(page, 'New password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await heading(page, 'This link no longer works').waitFor();
    await page.getByRole('link', { name: 'Request a new link' }).click();
    await waitForValue(field(page, 'Email'), 'fay@example.net');
  });

  testInFullRun('account enumeration: an unknown address gets the same confirmation', async () => {
    await register('gil');
    const { page } = await openHere();
    const texts: string[] = [];
    for (const email of ['gil@example.net', 'nobody@example.net']) {
      await page.goto(`${origin()}/forgot-password`);
      await field(page, 'Email').fill(email);
      await press(page, 'Send link');
      await heading(page, 'Check your inbox').waitFor();
      texts.push((await page.getByRole('main').innerText()).replace(email, ''));
    }
    expect(texts[0]).toBe(String(texts[1]));
    await press(page, 'Didn’t get it? Send again');
    await waitForValue(field(page, 'Email'), 'nobody@example.net');
  });

  const deadLinks = [
    '?email=nobody&token=abc',
    '',
    '?email=ada%40example.net',
    '?token=abc',
    '?email=a%40b.cd&token=%00',
  ];
  test.each(IS_FULL_RUN ? deadLinks : deadLinks.slice(0, 1))(
    'an invalid link ending in %p offers a new one',
    async (search) => {
      const { page } = await openHere();
      await page.goto(`${origin()}/user/reset${search}`);
      const passwordField = field(page, 'New password');
      await passwordField.or(heading(page, 'This link no longer works')).waitFor();
      if (await passwordField.isVisible()) {
        await passwordField.fill(NEW_PASSWORD);
        await page.keyboard.press('Enter');
      }
      await heading(page, 'This link no longer works').waitFor();
      expect(page.url()).toBe(`${origin()}/user/reset`);
      await page.getByRole('link', { name: 'Request a new link' }).click();
      await heading(page, 'Forgot your password?').waitFor();
    },
  );

  testInFullRun('a gateway without mail says so', async () => {
    await change({ SMTPServer: '', EmailVerificationEnabled: 'false' });
    const { page } = await openHere();
    await page.goto(`${origin()}/forgot-password`);
    await waitForText(page, 'Ask your administrator to reset your password.');
    await page.getByRole('button', { name: 'Locked out of the root account?' }).click();
    await waitForText(page, 'taskgate admin reset-password');
    expect(await page.getByLabel('Email').count()).toBe(0);
  });
});

testInFullRun('are translated to Chinese', async () => {
  const { page } = await openHere({ locale: 'zh-CN' });
  for (const [path, name] of [
    ['/sign-up', '创建账号'],
    ['/forgot-password', '忘记密码？'],
    ['/user/reset?email=a%40b.cd&token=x', '设置新密码'],
    ['/user/reset', '该链接已无法使用'],
  ] as const) {
    await page.goto(`${origin()}${path}`);
    await heading(page, name).waitFor();
  }
});

testInFullRun.each([
  ['light', 'desktop'],
  ['dark', 'phone'],
] as const)('%s scheme, %s: no accessibility violation and no overflow on any page', async (colorScheme, screen) => {
  const { page } = await openHere({ colorScheme, viewport: screens[screen] });
  const inspect = async (): Promise<void> => {
    expect(await findAxeViolations(page)).toEqual([]);
    expect(await findOverflow(page)).toBe(0);
  };
  const long = `${'a'.repeat(60)}@${'b'.repeat(40)}.example.net`;
  await page.goto(`${origin()}/sign-in`);
  await page.getByRole('link', { name: 'Sign up' }).waitFor();
  await inspect();
  await page.goto(`${origin()}/sign-up`);
  await heading(page, 'Create your account').waitFor();
  await inspect();
  await press(page, 'Create account');
  await field(page, 'Email').fill(long);
  await press(page, 'Send code');
  await page.getByRole('button', { name: /^Resend in/ }).waitFor();
  await inspect();
  await page.goto(`${origin()}/forgot-password`);
  await press(page, 'Send link');
  await inspect();
  await field(page, 'Email').fill(long);
  await press(page, 'Send link');
  await heading(page, 'Check your inbox').waitFor();
  await inspect();
  await page.goto(`${origin()}/user/reset?email=${encodeURIComponent(long)}&token=x`);
  await field(page, 'New password').fill('short');
  await page.keyboard.press('Enter');
  await inspect();
  await field(page, 'New password').fill(NEW_PASSWORD);
  await page.keyboard.press('Enter');
  await heading(page, 'This link no longer works').waitFor();
  await inspect();
});

describe('parsing', () => {
  test.each([
    [{ field: 'password', rule: 'longer' }, { password: 'longer' }],
    [{ errors: [{ field: 'email', rule: 'required', message: 'missing' }, 7, { field: 3 }] }, { email: 'missing' }],
    [{ field: 'expression' }, { expression: 'as a whole' }],
    [{ limit_bytes: 5 }, {}],
    [undefined, {}],
    ['text', {}],
  ])('field errors of %p', (details, expected) => {
    const found = [...readFieldErrors(details, { message: 'as a whole' })];
    expect(Object.fromEntries(found.map(([field, { message }]) => [field, message]))).toEqual(expected);
  });

  test('a mailed link', () => {
    expect(readResetLink('?email=ada%2Bx%40example.net&token=a-_b')).toEqual({
      email: 'ada+x@example.net',
      token: 'a-_b',
    });
    expect(readResetLink('')).toEqual({ email: '', token: '' });
  });

  test('an affiliate code', () => {
    expect(affiliateQuery(new URLSearchParams('aff=Ab3&x=1'))).toBe('?aff=Ab3');
    expect(affiliateQuery(new URLSearchParams('x=1'))).toBe('');
    expect(readAffiliateCode(new URLSearchParams({ aff: 'x'.repeat(65) }))).toBe('');
  });
});
