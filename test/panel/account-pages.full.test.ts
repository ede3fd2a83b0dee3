/** The account pages: profile, security, sessions and the Security Proof dialog. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { TOTP } from 'otpauth';
import type { Page } from 'playwright-core';
import { insecureHost } from '../support/browser.ts';
import { testInFullRun } from '../support/full-run.ts';
import { type Administrator, ask, ROOT } from '../support/gateway.ts';
import { type ReceivedMail, startMailServer, type TestMailServer } from '../support/smtp.ts';
import { BOT, signWidget } from '../support/telegram-widget.ts';
import { until } from '../support/until.ts';
import { startWeChatServer, WECHAT_TOKEN, type WeChatServer } from '../support/wechat-server.ts';
import {
  accountMenu,
  addSessionCookies,
  addVirtualAuthenticator,
  alert,
  confirmWithPassword,
  findAxeViolations,
  findOverflow,
  findPageIssues,
  heading,
  password,
  screens,
  setOptions,
  usePanel,
  waitForFocus,
  waitForNotice,
  waitForText,
  waitForValue,
} from './harness.ts';

let mail: TestMailServer;
let wechat: WeChatServer;
beforeAll(async () => {
  mail = await startMailServer();
  wechat = startWeChatServer();
});
afterAll(() => Promise.all([mail.stop(), wechat.stop()]));

const panel = usePanel(async (root, gateway) => {
  await setOptions(root, {
    ServerAddress: `http://localhost:${gateway.port}`,
    RegisterEnabled: 'true',
    SMTPServer: '127.0.0.1',
    SMTPPort: String(mail.port),
    SMTPFrom: 'gate@example.org',
    SMTPStartTLSEnabled: 'false',
    WeChatServerAddress: wechat.url,
    WeChatServerToken: WECHAT_TOKEN,
    WeChatAccountQRCodeImageURL: `${wechat.url}/pictures/qr.png`,
    WeChatAuthEnabled: 'true',
    TelegramBotToken: BOT.token,
    TelegramBotName: BOT.name,
    TelegramOAuthEnabled: 'true',
  });
});

const field = (page: Page, label: string) => page.getByLabel(label, { exact: true });
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const dialog = (page: Page) => page.getByRole('dialog');
const block = (page: Page, name: string) => page.getByRole('region', { name, exact: true });

async function openAs(username: string, path: string, name: string): Promise<Page> {
  await panel.root().createUser({ username });
  const { page } = await panel.openAs({ username, password }, path, { viewport: screens.desktop });
  await heading(page, name).waitFor();
  return page;
}

/** Signs in from a second device, beside the browser. */
async function signInElsewhere(
  username: string,
  secret = password,
  userAgent = 'curl/8.5',
): Promise<Administrator['token']> {
  const answer = await ask(`${panel.origin()}/api/user/login`, {
    body: { username, password: secret },
    headers: { 'user-agent': userAgent },
  });
  return (answer.body.data as { access_token: string }).access_token;
}

const isTokenValid = async (token: string): Promise<boolean> =>
  (await ask(`${panel.origin()}/api/user/self`, { token })).status === 200;

const submitPassword = async (page: Page, secret = password): Promise<void> => {
  await dialog(page).getByLabel('Password', { exact: true }).fill(secret);
  await dialog(page).getByRole('button', { name: 'Confirm' }).click();
};

const codeIn = ({ text }: ReceivedMail): string => /^ {4}(\d{8})\r?$/m.exec(text)?.[1] ?? '';
const mailTo = (address: string) => mail.next(({ recipients }) => recipients.includes(address));

describe('password', () => {
  test('errors show at the field; a successful change ends the other sessions', async () => {
    const page = await openAs('pia', '/security', 'Security');
    const elsewhere = await signInElsewhere('pia');
    const next = 'another password entirely';
    await button(page, 'Change password').click();
    await waitForFocus(field(page, 'Current password'));
    await button(page, 'Change password').click();
    await waitForText(page, 'Enter your current password.');
    await field(page, 'Current password').fill('not my password');
    await field(page, 'New password').fill('short');
    await button(page, 'Change password').click();
    await waitForText(page, 'Use 8 characters or more.');
    await field(page, 'New password').fill(next);
    await button(page, 'Change password').click();
    await waitForText(page, 'That is not your current password.');
    await waitForFocus(field(page, 'Current password'));
    expect(await field(page, 'New password').inputValue()).toBe(next);
    await field(page, 'Current password').fill(password);
    await button(page, 'Change password').click();
    await waitForNotice(page, 'Password changed. All other devices were signed out.');
    await field(page, 'Current password').waitFor({ state: 'detached' });
    expect(await isTokenValid(elsewhere)).toBe(false);
    // The session continues with the answer's access token, without a refresh.
    await page.getByRole('link', { name: 'Profile' }).first().click();
    await heading(page, 'Profile').waitFor();
    await waitForText(page, 'About you');
  });
});

describe('sessions', () => {
  test('show device and address; one is ended, then all others', async () => {
    const page = await openAs('sol', '/security', 'Security');
    const phone = await signInElsewhere(
      'sol',
      password,
      'Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19.0 Safari/604.1',
    );
    const script = await signInElsewhere('sol');
    await page.reload();
    const list = page.getByRole('list', { name: 'Active sessions' });
    await list.getByText('Safari on iOS').waitFor();
    const own = list.getByRole('listitem').filter({ hasText: 'This device' });
    expect(await own.count()).toBe(1);
    expect(await own.innerText()).toMatch(/Chrome on Linux[\s\S]*127\.0\.0\.1/);
    expect(await own.getByRole('button').count()).toBe(0);
    await list.getByRole('button', { name: /^Sign out Safari on iOS/ }).click();
    await waitForNotice(page, 'Device signed out.');
    await list.getByText('Safari on iOS').waitFor({ state: 'detached' });
    expect([await isTokenValid(phone), await isTokenValid(script)]).toEqual([false, true]);

    await button(page, 'Sign out everywhere else').click();
    await dialog(page).getByRole('button', { name: 'Cancel' }).click();
    await dialog(page).waitFor({ state: 'detached' });
    expect(await isTokenValid(script)).toBe(true);
    await button(page, 'Sign out everywhere else').click();
    await dialog(page).getByRole('button', { name: 'Sign out everywhere else' }).click();
    await waitForNotice(page, 'All other devices were signed out.');
    expect(await isTokenValid(script)).toBe(false);
    await button(page, 'Sign out everywhere else').waitFor({ state: 'detached' });
  });

  /** From another device, whose own session is the only one left. */
  async function revokeFromElsewhere(username: string): Promise<void> {
    const other = await signInElsewhere(username);
    const { body } = await ask(`${panel.origin()}/api/user/sessions`, { token: other });
    const { sid } = (body.data as { sid: string; current: boolean }[]).find(({ current }) => !current) ?? { sid: '' };
    await ask(`${panel.origin()}/api/user/sessions/${sid}`, { method: 'DELETE', token: other });
  }

  test('a session revoked from another device redirects this page to the sign-in', async () => {
    const page = await openAs('rex', '/security', 'Security');
    await revokeFromElsewhere('rex');
    // A part of the page that is still loading may already have redirected: then the link is gone.
    await page.evaluate(() => document.querySelector<HTMLElement>('nav a[href="/keys"]')?.click());
    await heading(page, 'Sign in').waitFor();
  });

  testInFullRun('a session revoked while the page loads redirects without a click', async () => {
    const page = await openAs('rea', '/profile', 'Profile');
    const [asked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await page.route('**/api/user/sessions', async (route) => {
      asked.resolve();
      await held.promise;
      await route.continue();
    });
    await page.getByRole('link', { name: 'Security' }).click();
    await asked.promise;
    await revokeFromElsewhere('rea');
    held.resolve();
    await heading(page, 'Sign in').waitFor();
  });
});

describe('authenticator app', () => {
  test('set-up, backup codes shown once and renewed, Security Proof by code, disabling', async () => {
    const page = await openAs('toto', '/security', 'Security');
    const area = block(page, 'Two-factor authentication');
    const elsewhere = await signInElsewhere('toto');
    await area.getByRole('button', { name: 'Set up' }).click();
    await area.getByRole('img', { name: 'QR code for the authenticator app' }).waitFor();
    expect(await findAxeViolations(page)).toEqual([]);
    const app = new TOTP({ secret: (await area.locator('code').innerText()).replaceAll(' ', '') });
    await area.getByRole('button', { name: 'Turn on' }).click();
    await area.getByText('Enter a code.').waitFor();
    await area.getByLabel('Enter the code shown in the app').fill('000000');
    await area.getByRole('button', { name: 'Turn on' }).click();
    await waitForText(page, 'Wrong code.');
    await area.getByLabel('Enter the code shown in the app').fill(app.generate());
    await area.getByRole('button', { name: 'Turn on' }).click();
    await area.getByText('Your backup codes (shown only once)').waitFor();
    const codes = (await area.locator('code').innerText()).trim().split(/\s+/);
    expect(codes.length).toBeGreaterThan(3);
    const download = page.waitForEvent('download');
    await area.getByRole('button', { name: 'Download' }).click();
    expect((await download).suggestedFilename()).toBe('taskgate-backup-codes.txt');
    await area.getByRole('button', { name: 'I’ve saved them' }).click();
    await area.getByText(`${codes.length} backup codes left`).waitFor();
    expect(await isTokenValid(elsewhere)).toBe(false);

    // Security Proofs now take a code: a wrong one fails, a backup code passes, and the proof is
    // reused.
    await page.goto(`${panel.origin()}/profile`);
    await button(page, 'Delete account').click();
    await dialog(page).getByLabel('Type toto to confirm').fill('toto');
    await dialog(page).getByRole('button', { name: 'Delete account' }).click();
    await dialog(page).getByRole('heading', { name: 'Confirm it’s you' }).waitFor();
    expect(await findAxeViolations(page)).toEqual([]);
    await dialog(page).getByRole('button', { name: 'Confirm' }).click();
    await dialog(page).getByText('Enter a code.').waitFor();
    await dialog(page).getByLabel('Code', { exact: true }).fill('000000');
    await dialog(page).getByRole('button', { name: 'Confirm' }).click();
    await dialog(page)
      .getByText(/This code is wrong/)
      .waitFor();
    await page.keyboard.press('Escape');
    await dialog(page).waitFor({ state: 'detached' });
    expect(await stillSignsIn('toto')).toBe(true);
    await button(page, 'Add email').click();
    await field(page, 'New email').fill('toto@example.net');
    await button(page, 'Send code').click();
    await field(page, 'Verification code').fill(codeIn(await mailTo('toto@example.net')));
    await button(page, 'Confirm email').click();
    // An authenticator app added today cannot confirm a change of the email address.
    await confirmWithPassword(page);
    await block(page, 'Email').getByText('toto@example.net', { exact: true }).waitFor();

    await page.goto(`${panel.origin()}/security`);
    await area.getByRole('button', { name: 'New backup codes' }).click();
    await dialog(page)
      .getByLabel('Code', { exact: true })
      .fill(codes[0] ?? '');
    await dialog(page).getByRole('button', { name: 'Create codes' }).click();
    // These dialogs accept codes of the app only.
    await dialog(page).getByText('This code is wrong').waitFor();
    await dialog(page).getByRole('button', { name: 'Cancel' }).click();
    await area.getByRole('button', { name: 'Turn off' }).click();
    await dialog(page)
      .getByLabel('Code', { exact: true })
      .fill(codes[1] ?? '');
    await dialog(page).getByRole('button', { name: 'Turn off' }).click();
    await area.getByText('Off', { exact: true }).waitFor();
  });

  /** Whether the account exists: its password is accepted, whatever step follows. */
  const stillSignsIn = async (username: string): Promise<boolean> =>
    (await ask(`${panel.origin()}/api/user/login`, { body: { username, password } })).status === 200;
});

describe('passkeys', () => {
  testInFullRun('are added with a name, renamed, used for a Security Proof, deleted', async () => {
    const page = await openAs('kim', '/security', 'Security');
    await addVirtualAuthenticator(page);
    await button(page, 'Add passkey').click();
    await button(page, 'Cancel').click();
    await waitForFocus(button(page, 'Add passkey'));
    await button(page, 'Add passkey').click();
    expect(await field(page, 'Passkey name').inputValue()).toBe('Chrome on Linux');
    await field(page, 'Passkey name').fill(' ');
    await button(page, 'Add passkey').click();
    await waitForText(page, 'Enter a name.');
    await field(page, 'Passkey name').fill('Laptop');
    await button(page, 'Add passkey').click();
    const list = page.getByRole('list', { name: 'Passkeys' });
    await list.getByText('Laptop', { exact: true }).waitFor();

    await button(page, 'Rename Laptop').click();
    await button(page, 'Cancel').click();
    await waitForFocus(button(page, 'Rename Laptop'));
    await button(page, 'Rename Laptop').click();
    await field(page, 'Passkey name').fill('Laptop at home');
    await button(page, 'Save').click();
    await list.getByText('Laptop at home', { exact: true }).waitFor();
    expect(await findAxeViolations(page)).toEqual([]);

    // The device already holds a passkey; the browser says so only after the Security Proof.
    await button(page, 'Add passkey').click();
    await button(page, 'Add passkey').click();
    await dialog(page).getByRole('button', { name: 'Use passkey' }).click();
    await alert(page).getByText('already has a passkey for this account').waitFor();
    await dialog(page).waitFor({ state: 'detached' });
    await button(page, 'Cancel').click();

    await button(page, 'Delete Laptop at home').click();
    await dialog(page).getByRole('button', { name: 'Delete' }).click();
    await dialog(page).getByRole('button', { name: 'Use passkey' }).click();
    await waitForNotice(page, '“Laptop at home” was deleted.');
    await list.waitFor({ state: 'detached' });
  });

  testInFullRun('an unsupported browser shows the reason', async () => {
    await panel.root().createUser({ username: 'lan' });
    const at = `http://${insecureHost}:${panel.gateway().port}`;
    const { page } = await panel.openAs({ username: 'lan', password }, '/security', { at });
    await waitForText(page, `Passkeys for this gateway work only at ${panel.origin()}. Open the panel there.`);
    expect(await button(page, 'Add passkey').count()).toBe(0);
  });
});

describe('connected accounts', () => {
  testInFullRun('WeChat: a wrong code, a right code, disconnecting', async () => {
    wechat.codes.set('135790', 'oWx_of-wen');
    const page = await openAs('wen', '/security', 'Security');
    await button(page, 'Connect WeChat').click();
    await dialog(page).getByRole('img', { name: 'QR code of the WeChat official account' }).waitFor();
    expect(await findAxeViolations(page)).toEqual([]);
    await dialog(page).getByLabel('Code', { exact: true }).fill('000000');
    await dialog(page).getByRole('button', { name: 'Connect' }).click();
    await dialog(page).getByText('This code is wrong or already used.').waitFor();
    await dialog(page).getByLabel('Code', { exact: true }).fill('135790');
    await dialog(page).getByRole('button', { name: 'Connect' }).click();
    await button(page, 'Disconnect WeChat').click();
    await dialog(page).getByRole('button', { name: 'Disconnect' }).click();
    await button(page, 'Connect WeChat').waitFor();
  });

  test('the last sign-in method cannot be removed; the first password comes by email', async () => {
    wechat.codes.set('246810', 'oWx_of-somebody-new');
    const { page } = await panel.openPooled({ viewport: screens.desktop });
    await page.goto(`${panel.origin()}/sign-in?redirect=/security`);
    await button(page, 'Continue with WeChat').click();
    await field(page, 'Code from WeChat').fill('246810');
    await page.keyboard.press('Enter');
    await heading(page, 'Security').waitFor();
    await waitForText(page, 'Add an email address first.');
    await button(page, 'Disconnect WeChat').click();
    await dialog(page).getByRole('button', { name: 'Disconnect' }).click();
    await alert(page).getByText('This is your only way to sign in.').waitFor();
    // The account has no method to confirm with: the dialog says what to set up.
    await page.goto(`${panel.origin()}/profile`);
    await button(page, 'Delete account').click();
    const typed = dialog(page).getByRole('textbox');
    await typed.fill(/Type (\S+) to confirm/.exec(await dialog(page).innerText())?.[1] ?? '');
    await dialog(page).getByRole('button', { name: 'Delete account' }).click();
    await dialog(page).getByText('This account has no way to confirm.').waitFor();
    await dialog(page).getByRole('link', { name: 'Open Security' }).click();
    await heading(page, 'Security').waitFor();
  });

  testInFullRun('Telegram is not contacted before the click; its button returns to the panel', async () => {
    await panel.root().createUser({ username: 'tel' });
    const watched = await panel.openAs({ username: 'tel', password }, '/security', { viewport: screens.desktop });
    const { page } = watched;
    const site = 'https://telegram.org/';
    await page.route(`${site}**`, (route) =>
      route.fulfill({
        contentType: 'text/javascript',
        body: `(() => {
          const own = document.currentScript;
          const link = document.createElement('a');
          link.textContent = 'Log in as ' + own.getAttribute('data-telegram-login');
          link.href = own.getAttribute('data-auth-url') + '?${signWidget({ id: 9009 }, Math.floor(Date.now() / 1000))}';
          own.after(link);
        })();`,
      }),
    );
    await heading(page, 'Security').waitFor();
    expect(watched.complaints).toEqual([]);
    await button(page, 'Connect Telegram').click();
    await dialog(page)
      .getByRole('link', { name: `Log in as ${BOT.name}` })
      .click();
    await heading(page, 'Telegram connected').waitFor();
    await page.goto(`${panel.origin()}/security`);
    await button(page, 'Disconnect Telegram').waitFor();
    expect(watched.complaints.splice(0).filter((complaint) => !complaint.includes(site))).toEqual([]);
  });
});

describe('personal access token', () => {
  test('is shown once, replaced, and revoked', async () => {
    const page = await openAs('pat', '/security', 'Security');
    const area = block(page, 'Personal access token');
    await area.getByRole('button', { name: 'Create token' }).click();
    const token = await area.locator('code').innerText();
    expect(token).toMatch(/^tgp_/);
    expect(await isTokenValid(token)).toBe(true);
    await area.getByRole('button', { name: 'Replace token' }).click();
    await dialog(page).getByRole('button', { name: 'Replace token' }).click();
    await until('another token is shown', async () => (await area.locator('code').innerText()) !== token);
    expect(await isTokenValid(token)).toBe(false);
    await page.reload();
    await area.getByText(/^tgp_.{4}…, created/).waitFor();
    expect(await area.locator('code').count()).toBe(0);
    await area.getByRole('button', { name: 'Revoke' }).click();
    await dialog(page).getByRole('button', { name: 'Revoke' }).click();
    await area.getByRole('button', { name: 'Create token' }).waitFor();
  });
});

describe('notifications', () => {
  testInFullRun('an event is a row: its emails are turned on there, amount and webhook in its dialog', async () => {
    await panel.root().createUser({ username: 'nel', email: 'nel@example.org' });
    const { page } = await panel.openAs({ username: 'nel', password }, '/notifications', { viewport: screens.desktop });
    const row = page.getByRole('row', { name: /^Low balance/ });
    const emails = row.getByRole('switch', { name: 'Low balance: Email' });
    await row.getByText('Off', { exact: true }).waitFor();
    await emails.press('Space');
    await row.getByText(/^Alert below \$5\.00/).waitFor();
    await until('it is on', () => emails.isChecked());
    expect(await findPageIssues(page)).toEqual([]);

    await button(page, 'Edit: Low balance, Alert below').click();
    await waitForValue(field(page, 'Alert below'), '$5.00');
    await field(page, 'Alert below').fill('7');
    await field(page, 'Webhook URL').fill('https://hooks.example.org/balance');
    await dialog(page).getByRole('button', { name: 'Save' }).click();
    // The secret that signs it is shown once; the dialog stays until it is read.
    await dialog(page).getByRole('button', { name: 'Copy', exact: true }).waitFor();
    await dialog(page).getByRole('button', { name: 'Close', exact: true }).last().click();
    await row.getByText(/^Alert below \$7\.00/).waitFor();
    await row.getByText('On', { exact: true }).waitFor();

    await button(page, 'Edit: Low balance, Webhook').click();
    await dialog(page).getByRole('button', { name: 'Rotate secret' }).waitFor();
    expect(await findPageIssues(page)).toEqual([]);
    await dialog(page).getByRole('switch', { name: 'Alert me when my balance is low' }).press('Space');
    await dialog(page).getByRole('button', { name: 'Save' }).click();
    await until('it is off', async () => !(await emails.isChecked()));
    await button(page, 'Set up: Low balance, Webhook').waitFor();
    await page.setViewportSize(screens.phone);
    expect(await findPageIssues(page)).toEqual([]);
  });

  testInFullRun('only the cause that applies is given where no email can come', async () => {
    await panel.root().createUser({ username: 'nea' });
    const { page } = await panel.openAs({ username: 'nea', password }, '/notifications', { viewport: screens.desktop });
    const row = page.getByRole('row', { name: /^Low balance/ });
    await row.getByText('Your account has no email address.').waitFor();
    await row.getByRole('link', { name: 'Add one' }).click();
    await page.waitForURL(`${panel.origin()}/profile`);
  });
});

describe('profile', () => {
  testInFullRun('display name and language are saved, and the menu shows the name', async () => {
    const page = await openAs('nam', '/profile', 'Profile');
    await field(page, 'Display name').fill('x'.repeat(65));
    await button(page, 'Save').click();
    await waitForText(page, 'Use 64 characters or fewer.');
    await field(page, 'Display name').fill('Nam Ng');
    // Users who chose none get English emails.
    await waitForValue(page.getByRole('combobox', { name: 'Email language' }), 'English');
    await page.getByRole('combobox', { name: 'Email language' }).click();
    await page.getByRole('option', { name: '简体中文' }).click();
    await button(page, 'Save').click();
    await accountMenu(page, 'Nam Ng').waitFor();
    await page.reload();
    expect(await field(page, 'Display name').inputValue()).toBe('Nam Ng');
    expect(await page.getByRole('combobox', { name: 'Email language' }).inputValue()).toBe('简体中文');
    // A failure says nothing of what is typed after it.
    await page.route('**/api/user/self', (route) => route.abort(), { times: 1 });
    await field(page, 'Display name').fill('Nam');
    await button(page, 'Save').click();
    await alert(page).waitFor();
    await field(page, 'Display name').fill('Nam N.');
    await alert(page).waitFor({ state: 'detached' });
    // Input typed while the request runs is not saved by it.
    await page.route('**/api/user/self', async (route) => {
      if (route.request().method() === 'PUT') await field(page, 'Display name').fill('Nam Nguyen');
      await route.continue();
    });
    await field(page, 'Display name').fill('Nam N');
    await button(page, 'Save').click();
    await accountMenu(page, 'Nam N').waitFor();
    await waitForNotice(page, 'Saved');
    expect(await field(page, 'Display name').inputValue()).toBe('Nam Nguyen');
    await page.unroute('**/api/user/self');
    const link = await block(page, 'Invite').locator('code').innerText();
    expect(link).toMatch(new RegExp(`^${panel.origin()}/sign-up\\?aff=\\w+$`));
    // Only root can set an address that works elsewhere.
    await block(page, 'Invite').getByText('this only works on this machine').waitFor();
    expect(await page.getByRole('link', { name: 'Set the public address first' }).count()).toBe(0);
  });

  testInFullRun('an address is confirmed by a mailed code and the password, and removed the same way', async () => {
    const page = await openAs('eva', '/profile', 'Profile');
    await button(page, 'Add email').click();
    await button(page, 'Cancel').click();
    await waitForFocus(button(page, 'Add email'));
    await button(page, 'Add email').click();
    await field(page, 'New email').fill('nowhere');
    await button(page, 'Send code').click();
    await waitForText(page, 'Enter an email address');
    await field(page, 'New email').fill('eva@example.net');
    await button(page, 'Send code').click();
    await waitForText(page, 'A code was sent to eva@example.net.');
    const code = codeIn(await mailTo('eva@example.net'));
    await field(page, 'Verification code').fill('00000000');
    await button(page, 'Confirm email').click();
    await submitPassword(page, 'not my password');
    await dialog(page).getByText('That is not your current password.').waitFor();
    await submitPassword(page);
    await waitForText(page, 'This code is wrong');
    await field(page, 'Verification code').fill(code);
    // The proof is reused, so nothing is asked again.
    await button(page, 'Confirm email').click();
    await block(page, 'Email').getByText('eva@example.net', { exact: true }).waitFor();
    await button(page, 'Remove').click();
    await dialog(page).getByRole('button', { name: 'Remove email' }).click();
    await waitForText(page, 'No email');
  });

  test('password guessing in the proof dialog is locked out, and the dialog says for how long', async () => {
    const page = await openAs('gus', '/profile', 'Profile');
    const token = await signInElsewhere('gus');
    for (let guess = 0; guess < 5; guess += 1) {
      const body = { method: 'password', password: `guess ${guess} of five`, scope: 'account.delete' };
      await ask(`${panel.origin()}/api/verify`, { token, body });
    }
    await button(page, 'Delete account').click();
    await dialog(page).getByLabel('Type gus to confirm').fill('gus');
    await dialog(page).getByRole('button', { name: 'Delete account' }).click();
    await submitPassword(page);
    await dialog(page)
      .getByText(/Too many failed attempts\. Try again in \d+ minutes\./)
      .waitFor();
    await dialog(page).getByRole('button', { name: 'Cancel' }).click();
    await waitForFocus(button(page, 'Delete account'));
  });

  test('deleting the account requires its name and a Security Proof; root cannot be deleted', async () => {
    const page = await openAs('del', '/profile', 'Profile');
    await button(page, 'Delete account').click();
    expect(await dialog(page).getByRole('button', { name: 'Delete account' }).isDisabled()).toBe(true);
    await dialog(page).getByLabel('Type del to confirm').fill('del');
    await dialog(page).getByRole('button', { name: 'Delete account' }).click();
    await submitPassword(page);
    await heading(page, 'Sign in').waitFor();
    expect((await ask(`${panel.origin()}/api/user/login`, { body: { username: 'del', password } })).status).toBe(401);
    await addSessionCookies(page, panel.origin(), ROOT);
    await page.goto(`${panel.origin()}/profile`);
    await waitForText(page, 'About you');
    expect(await button(page, 'Delete account').count()).toBe(0);
  });
});

describe('the app frame', () => {
  testInFullRun('an unknown address keeps the navigation', async () => {
    const page = await openAs('nav', '/no/such/page', 'Page not found');
    expect(await page.getByRole('navigation', { name: 'Main navigation' }).count()).toBe(1);
    expect(await findAxeViolations(page)).toEqual([]);
    // Pages above the user's role look like unknown addresses.
    await page.goto(`${panel.origin()}/system`);
    await heading(page, 'Page not found').waitFor();
    await page.getByRole('link', { name: 'Go to Home' }).click();
    await accountMenu(page, 'nav').click();
    await page.getByRole('menuitem', { name: 'Security' }).click();
    await heading(page, 'Security').waitFor();
  });

  testInFullRun('on a phone the navigation is a drawer, and pages fit in both colour schemes', async () => {
    await panel.root().createUser({ username: 'fon' });
    const { page } = await panel.openAs({ username: 'fon', password }, '/', { viewport: screens.phone });
    await accountMenu(page, 'fon').waitFor();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      for (const [path, name] of [
        ['/profile', 'Profile'],
        ['/security', 'Security'],
      ] as const) {
        await page.getByRole('button', { name: 'Open navigation' }).click();
        await dialog(page).getByRole('link', { name }).click();
        await heading(page, name).waitFor();
        expect(new URL(page.url()).pathname).toBe(path);
        await dialog(page).waitFor({ state: 'detached' });
        await page.getByRole('region').nth(1).waitFor();
        expect(await findOverflow(page)).toBe(0);
        expect(await findAxeViolations(page)).toEqual([]);
      }
    }
  });
});
