/**
 * Accounts in the browser: search, creation, changes, disabling and deletion, within the operator's
 * role.
 */
import { afterAll, describe, expect, test } from 'bun:test';
import { TOTP } from 'otpauth';
import type { Page } from 'playwright-core';
import { SoftwareAuthenticator } from '../auth/software-authenticator.ts';
import { IS_FULL_RUN, testInFullRun } from '../support/full-run.ts';
import { Administrator, ask, signIn } from '../support/gateway.ts';
import { type IdentityProvider, startIdentityProvider } from '../support/identity-provider.ts';
import { until } from '../support/until.ts';
import { bindIdentity } from './bind-identity.ts';
import {
  accountMenu,
  alert,
  findPageIssues,
  heading,
  password,
  screens,
  usePanel,
  waitForNotice,
  waitForRows,
  waitForText,
  waitForValue,
} from './harness.ts';
import { speak } from './speak.ts';

let provider: IdentityProvider;
afterAll(() => provider?.stop());
const ids = new Map<string, number>();
const idFor = (name: string): number => ids.get(name) ?? 0;

const panel = usePanel(async (admin) => {
  const make = async (username: string, more: object = {}) => {
    ids.set(username, await admin.createUser({ username, ...more }));
  };
  await make('ada', { role: 10 });
  await make('grace', { role: 10, display_name: 'Grace Hopper' });
  await make('ulf', { quota: 5_000_000, email: 'ulf@example.org', remark: 'Pays by invoice' });
  await make('vera');
  for (let number = 1; number <= 22; number += 1) await make(`person${number}`);
  await admin.call('PUT', '/api/option', { key: 'groups', value: '{"default":1,"vip":0.8}' });
});
const { origin, root, gateway, sharedRootPage } = panel;

async function openAsRoot(path: string): Promise<Page> {
  const page = await sharedRootPage();
  await page.goto(`${origin()}${path}`);
  return page;
}

async function openAs(username: string, path: string): Promise<Page> {
  const { page } = await panel.openAs({ username, password }, path, { viewport: screens.desktop });
  await accountMenu(page, username).waitFor();
  return page;
}

const account = (name: string) => root().call('GET', `/api/user/${idFor(name)}`);
const canSignIn = async (username: string, secret = password): Promise<boolean> => {
  const answer = await fetch(`${gateway().url}/api/user/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username, password: secret }),
  });
  return answer.status === 200;
};

describe('the list', () => {
  test('is searched, filtered and paged, with the filters in the URL', async () => {
    const page = await openAsRoot('/users');
    await waitForText(page, '1–20 of 27');
    await page.getByRole('button', { name: 'Page 2' }).click();
    await waitForText(page, '21–27 of 27');
    expect(page.url()).toContain('page=2');

    await page.getByLabel('Search', { exact: true }).fill('ULF@');
    await waitForRows(page, 1);
    await page.getByRole('link', { name: 'ulf' }).waitFor();
    expect(page.url()).toEndWith('/users?keyword=ULF%40');
    await page.getByLabel('Search', { exact: true }).fill('nobody at all');
    await waitForText(page, 'No matches');
    await page.getByRole('button', { name: 'Clear search and filters' }).click();
    await waitForText(page, '1–20 of 27');
    expect(await page.getByLabel('Search', { exact: true }).inputValue()).toBe('');

    await page.goto(`${origin()}/users?role=10&sort=username.asc`);
    await waitForRows(page, 2);
    expect(await page.getByRole('row').allInnerTexts()).toEqual([
      expect.stringContaining('User'),
      expect.stringContaining('ada'),
      expect.stringContaining('Grace Hopper'),
    ]);
    expect(await findPageIssues(page)).toEqual([]);
  });

  testInFullRun('the statements of last month are one row an account that matches', async () => {
    const page = await openAsRoot('/users?role=10');
    await page.getByRole('button', { name: 'Export' }).click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: /^Statements of \d{4}-\d\d, CSV$/ }).click(),
    ]);
    const rows = (await Bun.file(await download.path()).text()).trimEnd().split('\r\n');
    expect(rows).toEqual([
      expect.stringContaining('opening_usd'),
      expect.stringContaining('grace'),
      expect.stringContaining('ada'),
    ]);
  });

  testInFullRun('Escape asks before it loses what was typed into a dialog', async () => {
    const page = await openAsRoot('/users');
    await page.getByRole('button', { name: 'Add user' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add user' });
    await dialog.getByLabel('Username').fill('somebody');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog', { name: 'Discard changes?' }).getByRole('button', { name: 'Discard' }).click();
    await dialog.waitFor({ state: 'hidden' });
  });

  test('a new account: invalid input, a taken name, and one that is created', async () => {
    const page = await openAsRoot('/users');
    await page.getByRole('button', { name: 'Add user' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add user' });
    const create = dialog.getByRole('button', { name: 'Add user' });
    await create.click();
    await waitForText(page, 'Use 1 to 32 letters, digits, dots, underscores or hyphens.');
    await waitForText(page, 'Use 8 characters or more.');
    expect(await findPageIssues(page)).toEqual([]);

    await dialog.getByLabel('Username').fill('ada');
    await dialog.getByLabel(/^Password/).fill(password);
    await dialog.getByLabel('Initial balance').fill('2.5');
    await create.click();
    await dialog.getByText(/taken/).first().waitFor();
    expect(await dialog.getByLabel('Initial balance').inputValue()).toBe('$2.50');
    await dialog.getByLabel('Username').fill('nina');
    await dialog.getByRole('button', { name: 'Generate password' }).click();
    await dialog.getByText('Copy it now. It won’t be shown again.').waitFor();
    const generated = await dialog.getByLabel(/^Password/).inputValue();
    expect(generated).toMatch(/^([a-km-np-z2-9]{4}-){4}[a-km-np-z2-9]{4}$/);
    await dialog.getByRole('button', { name: 'Copy', exact: true }).click();
    await dialog.getByRole('button', { name: 'Copied' }).waitFor();
    await create.click();
    await heading(page, 'nina').waitFor();
    await page.getByText('$2.50', { exact: true }).waitFor();
    expect(await canSignIn('nina', generated)).toBe(true);
  });
});

describe('an account', () => {
  testInFullRun(
    'what a user spent last week is three clicks from home; tasks, keys and balance are tabs beside it',
    async () => {
      const page = await openAsRoot('/');
      await page.getByRole('link', { name: 'Users', exact: true }).click();
      await page.getByRole('link', { name: 'person22', exact: true }).click();
      await page.getByRole('tab', { name: 'Spend' }).click();
      await waitForValue(page.getByRole('combobox', { name: 'Period' }), 'Last 7 days');
      await page.getByRole('tabpanel', { name: 'Spend' }).locator('dl').getByText('Spent', { exact: true }).waitFor();
      await page.getByRole('tab', { name: 'Tasks' }).click();
      await waitForText(page, 'No tasks yet');
      await page.getByRole('tab', { name: 'API keys' }).click();
      await waitForText(page, 'No API keys');
      await page.getByRole('tab', { name: 'Statement' }).click();
      await waitForText(page, /^No changes in /);
      expect(page.url()).toEndWith('?tab=balance');
      await page.getByRole('button', { name: 'All time' }).click();
      await waitForText(page, 'No changes yet');
      await waitForText(page, 'Opening balance');
      expect(await findPageIssues(page)).toEqual([]);
    },
  );

  testInFullRun('its fields are changed, and an error shows at its field', async () => {
    const page = await openAsRoot(`/users/${idFor('ulf')}`);
    expect(await page.getByLabel('Note').inputValue()).toBe('Pays by invoice');
    await page.getByLabel('Email').fill('no address');
    await page.getByLabel('Display name').fill('Ulf Larsson');
    const save = page.getByRole('button', { name: 'Save' });
    await save.click();
    await page.locator('[aria-invalid="true"]').waitFor();
    expect(await page.getByLabel('Display name').inputValue()).toBe('Ulf Larsson');
    await page.getByLabel('Email').fill('');
    await page.getByRole('combobox', { name: 'Group' }).click();
    await page.getByRole('option', { name: 'vip (price × 0.8)' }).click();
    await save.click();
    await heading(page, 'Ulf Larsson').waitFor();
    expect(await account('ulf')).toMatchObject({ display_name: 'Ulf Larsson', group: 'vip', email: null });
    // The bar covers half of a link that is scrolled below it.
    await page.evaluate(() => scrollTo(0, 0));
    expect(await findPageIssues(page)).toEqual([]);
  });

  test('its balance is added to, subtracted from and set, with a preview of the result', async () => {
    const page = await openAsRoot(`/users/${idFor('vera')}`);
    const change = async ({
      mode,
      label,
      amount,
      preview,
    }: Record<'mode' | 'label' | 'amount' | 'preview', string>) => {
      await page.getByRole('button', { name: 'Change balance' }).click();
      const dialog = page.getByRole('dialog', { name: 'Change vera’s balance' });
      await dialog.getByText(mode, { exact: true }).click();
      expect(await dialog.getByRole('button', { name: 'Change balance' }).isDisabled()).toBe(true);
      await dialog.getByLabel(label).fill(amount);
      await dialog.getByText(preview).waitFor();
      await dialog.getByRole('button', { name: /\$\d+\.\d\d$/ }).click();
      await dialog.waitFor({ state: 'hidden' });
    };
    await change({ mode: 'Add', label: 'Amount', amount: '12.5', preview: 'New balance: $12.50' });
    expect(await account('vera')).toMatchObject({ quota: 6_250_000 });
    await change({ mode: 'Subtract', label: 'Amount', amount: '20', preview: 'New balance: -$7.50' });
    await change({ mode: 'Set', label: 'New balance', amount: '3', preview: 'New balance: $3.00' });
    expect(await account('vera')).toMatchObject({ quota: 1_500_000 });
  });

  const pastedAmounts: [string, string, string, number][] = [
    ['de', '1.234,50', '1.234,50\u00a0$', 1234.5],
    ['en', '12,5', '$12.50', 12.5],
    ['en', '1.234,50', '$1,234.50', 1234.5],
    ['en', '1,234', '$1,234.00', 1234],
    ['de', '1,234', '1,2340\u00a0$', 1.234],
    ['de', '12.5', '12,50\u00a0$', 12.5],
  ];
  test.each(IS_FULL_RUN ? pastedAmounts : pastedAmounts.slice(0, 1))(
    'in %s a pasted %s is added as the preview says: %s',
    async (language, pasted, amount, dollars) => {
      const t = await speak(language);
      const none = { action: 'add_quota', mode: 'override', value: 0 };
      await root().call('POST', '/api/user/manage', { id: idFor('vera'), ...none });
      const page = await openAsRoot(`/users/${idFor('vera')}`);
      await page.evaluate((tag) => localStorage.setItem('taskgate.language', tag), language);
      await page.reload();
      await page.getByRole('button', { name: t('users.changeBalance') }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel(t('users.amount')).focus();
      // As a paste does it: the whole text in one input event.
      await page.keyboard.insertText(pasted);
      await dialog.getByText(t('users.balancePreview', { amount })).waitFor();
      await dialog.getByRole('button', { name: t('users.balance.addAmount', { amount }) }).click();
      await dialog.waitFor({ state: 'hidden' });
      await page.evaluate(() => localStorage.removeItem('taskgate.language'));
      expect(await account('vera')).toMatchObject({ quota: dollars * 500_000 });
    },
  );

  testInFullRun('what can be read as different numbers is refused, and nothing is added', async () => {
    const page = await openAsRoot(`/users/${idFor('vera')}`);
    await page.getByRole('button', { name: 'Change balance' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Amount').focus();
    await page.keyboard.insertText('1,23,456');
    await dialog.getByText('This can be read as different numbers. Write it like 1234.5.').waitFor();
    await dialog.getByText(/^Current balance: /).waitFor();
    const { quota } = await account('vera');
    expect(await dialog.getByRole('button', { name: 'Change balance' }).isDisabled()).toBe(true);
    expect(await account('vera')).toMatchObject({ quota });
    await page.keyboard.press('Escape');
  });

  test('it is disabled, enabled, promoted and demoted, each after a confirmation', async () => {
    const page = await openAsRoot(`/users/${idFor('vera')}`);
    const answer = async (title: string, action: string) => {
      const dialog = page.getByRole('dialog', { name: title });
      expect(await dialog.innerText()).toMatch(/session|signed out|sign in/i);
      await dialog.getByRole('button', { name: action }).click();
      await dialog.waitFor({ state: 'hidden' });
    };
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Disable account' }).click();
    await answer('Disable “vera”?', 'Disable account');
    await waitForText(page, 'Disabled');
    expect(await canSignIn('vera')).toBe(false);
    await page.goto(`${origin()}/users?keyword=vera`);
    await page.getByRole('row', { name: 'vera' }).getByText('Disabled').waitFor();
    await page.goBack();
    await page.getByRole('button', { name: 'Enable account' }).click();
    await answer('Enable “vera”?', 'Enable account');
    await page.getByRole('button', { name: 'Enable account' }).waitFor({ state: 'detached' });

    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Make administrator' }).click();
    await answer('Make “vera” an administrator?', 'Make administrator');
    await page.getByText('Administrator', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Make regular user' }).click();
    await answer('Remove administrator rights from “vera”?', 'Make regular user');
    await page.getByText('Administrator', { exact: true }).waitFor({ state: 'detached' });
    expect(await account('vera')).toMatchObject({ role: 1, status: 1 });
  });

  testInFullRun('its API key shows who used it last, and is disabled, enabled and ended from its menu', async () => {
    const { url } = gateway();
    const owner = await signIn(url, { username: 'person3' });
    const key = await owner.createKey({ name: 'Leaked' });
    const use = (headers = {}) => ask(`${url}/v1/models`, { token: key, headers });
    expect((await use({ 'x-forwarded-for': '2001:db8::7' })).status).toBe(200);
    await until('its last use is stored', async () => {
      const path = `/api/user/${idFor('person3')}/keys`;
      const { items } = await root().call<{ items: { last_used_ip: string }[] }>('GET', path);
      return items[0]?.last_used_ip === '2001:db8::7';
    });
    const page = await openAsRoot(`/users/${idFor('person3')}`);
    await page.getByRole('tab', { name: 'API keys' }).click();
    await waitForText(page, '2001:db8::7');
    expect(await findPageIssues(page)).toEqual([]);
    const choose = async (name: string) => {
      await page.getByRole('button', { name: 'Actions for Leaked' }).click();
      await page.getByRole('menuitem', { name }).click();
    };
    await choose('Disable');
    await waitForNotice(page, '“Leaked” was disabled.');
    expect((await use()).status).toBe(401);
    await choose('Enable');
    await waitForNotice(page, '“Leaked” was enabled.');
    expect((await use()).status).toBe(200);
    await choose('Delete');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete key' }).click();
    await waitForText(page, 'No API keys');
    expect((await use()).status).toBe(401);
    // Its owner stays signed in.
    expect(await owner.quota()).toBeGreaterThanOrEqual(0);
  });

  testInFullRun('root sees its sessions, ends them, and sets a new password', async () => {
    expect(await canSignIn('person1')).toBe(true);
    expect(await canSignIn('person1')).toBe(true);
    const page = await openAsRoot(`/users/${idFor('person1')}`);
    await page.locator('[aria-label^="Sign out "]').first().click();
    await page.waitForFunction(() => document.querySelectorAll('[aria-label^="Sign out "]').length === 1);
    await page.getByRole('button', { name: 'Change password' }).click();
    const dialog = page.getByRole('dialog', { name: 'New password for person1' });
    await dialog.getByLabel(/^New password/).fill('short');
    await dialog.getByRole('button', { name: 'Set password' }).click();
    await dialog.getByText('Use 8 characters or more.').waitFor();
    await dialog.getByLabel(/^New password/).fill('another long password');
    await dialog.getByRole('button', { name: 'Set password' }).click();
    await dialog.waitFor({ state: 'hidden' });
    await waitForText(page, 'Not signed in anywhere.');
    expect(await canSignIn('person1')).toBe(false);
  });

  testInFullRun('it is deleted once its name is typed', async () => {
    const page = await openAsRoot(`/users/${idFor('person2')}`);
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Delete account' }).click();
    const dialog = page.getByRole('dialog', { name: 'Permanently delete “person2”?' });
    const remove = dialog.getByRole('button', { name: 'Delete account' });
    expect(await remove.isDisabled()).toBe(true);
    await dialog.getByLabel('Type person2 to confirm').fill('person2');
    await remove.click();
    await waitForText(page, 'Deleted');
    expect(await canSignIn('person2')).toBe(false);
  });
});

describe('lost sign-in methods', () => {
  const signIn = async (username: string) => {
    const { body } = await ask(`${gateway().url}/api/user/login`, { body: { username, password } });
    return body.data as { access_token?: string; require_2fa?: boolean };
  };

  /**
   * Creates an account with an access token, an identity, a passkey and an authenticator app, each
   * as its own page does.
   */
  async function addSignInMethods(username: string): Promise<{ scriptToken: string }> {
    ids.set(username, await root().createUser({ username }));
    provider = await startIdentityProvider();
    const house = { slug: 'house', name: 'House login', ...provider.addedProvider() };
    await root().call('POST', '/api/custom-oauth-provider', house);
    await root().call('PUT', '/api/option', { key: 'ServerAddress', value: origin() });

    let owner = new Administrator(gateway().url, (await signIn(username)).access_token ?? '');
    const { token: scriptToken } = await owner.call<{ token: string }>('POST', '/api/user/token');
    await bindIdentity(gateway().url, { token: owner.token, idp: provider, provider: 'house' });

    type Begun = { flow_token: string; options: { publicKey: Parameters<SoftwareAuthenticator['create']>[0] } };
    const started = await owner.call<Begun>('POST', '/api/user/passkey/register/begin');
    const device = new SoftwareAuthenticator({ origin: origin(), rpId: 'localhost' });
    const registered = await owner.call<{ access_token: string }>('POST', '/api/user/passkey/register/finish', {
      flow_token: started.flow_token,
      credential: device.create(started.options.publicKey),
    });
    owner = new Administrator(gateway().url, registered.access_token);
    const { secret } = await owner.call<{ secret: string }>('POST', '/api/user/2fa/setup');
    await owner.call('POST', '/api/user/2fa/enable', { code: new TOTP({ secret }).generate() });
    return { scriptToken };
  }

  /** `confirm` names the dialog's button where it differs from the row's. */
  type Removal = { line: string; button: string; title: string; confirm?: string };

  testInFullRun('are reset one by one, each after a confirmation', async () => {
    const { scriptToken } = await addSignInMethods('iris');
    expect((await signIn('iris')).require_2fa).toBe(true);
    const page = await openAsRoot(`/users/${idFor('iris')}`);
    await heading(page, 'iris').waitFor();
    expect(await findPageIssues(page)).toEqual([]);
    const factors = page.getByRole('region', { name: 'Sign-in', exact: true });
    const resetMethod = async ({ line, button, title, confirm = button }: Removal) => {
      const resetButton = factors.getByRole('listitem').filter({ hasText: line }).getByRole('button', { name: button });
      const dialog = page.getByRole('dialog', { name: title });
      await resetButton.click();
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      await dialog.waitFor({ state: 'hidden' });
      await resetButton.click();
      await dialog.getByRole('button', { name: confirm, exact: true }).click();
      await resetButton.waitFor({ state: 'detached' });
    };

    await resetMethod({
      line: 'Two-factor authentication',
      button: 'Turn off',
      title: 'Turn off two-factor authentication for “iris”?',
    });
    expect((await signIn('iris')).access_token).toBeString();
    await factors.getByText('1 passkey', { exact: true }).waitFor();
    await resetMethod({ line: 'Passkeys', button: 'Delete all', title: 'Delete all passkeys of “iris”?' });
    await resetMethod({
      line: 'house',
      button: 'Disconnect house',
      title: 'Disconnect house from “iris”?',
      confirm: 'Disconnect',
    });
    const usesToken = async () => (await ask(`${gateway().url}/api/user/self`, { token: scriptToken })).status;
    expect(await usesToken()).toBe(200);
    await resetMethod({
      line: 'Personal access token',
      button: 'Revoke',
      title: 'Revoke the access token of “iris”?',
    });
    expect(await usesToken()).toBe(401);
    expect(await account('iris')).toMatchObject({
      two_factor: false,
      passkeys: 0,
      bindings: [],
      has_access_token: false,
      has_password: true,
    });
  });

  testInFullRun('a method removed in the meantime shows an error where it was requested', async () => {
    ids.set('jon', await root().createUser({ username: 'jon' }));
    const { access_token: token } = await signIn('jon');
    await ask(`${gateway().url}/api/user/token`, { method: 'POST', token: token ?? '' });
    const page = await openAsRoot(`/users/${idFor('jon')}`);
    const revoke = page.getByRole('button', { name: 'Revoke', exact: true });
    await revoke.waitFor();
    await root().call('POST', '/api/user/manage', { id: idFor('jon'), action: 'delete' });
    await revoke.click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await alert(page).getByText('This account has been deleted.').waitFor();
  });
});

testInFullRun('an account that does not exist shows a not-found page with a link to the list', async () => {
  const page = await openAsRoot('/users/nobody');
  for (const id of ['nobody', '99999', '99999999999999999999', '1%2Fsessions']) {
    await page.goto(`${origin()}/users/${id}`);
    await alert(page).getByText('User not found').waitFor();
  }
  expect(await findPageIssues(page)).toEqual([]);
  await page.getByRole('link', { name: 'All users' }).click();
  await waitForText(page, '1–20 of');
});

describe('roles', () => {
  test('administrators see actions for users, none for administrators and root', async () => {
    const page = await openAs('ada', `/users/${idFor('ulf')}`);
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem').first().waitFor();
    expect(await page.getByRole('menuitem').allInnerTexts()).toEqual(['Disable account', 'Delete account']);
    expect(await page.getByText('Sessions').count()).toBe(0);

    await page.goto(`${origin()}/users/${idFor('grace')}`);
    await alert(page).getByText('You can’t manage this account').waitFor();
    await page.goto(`${origin()}/users/${idFor('ada')}`);
    await waitForText(page, 'This is your own account.');
    expect(await page.getByRole('button', { name: /Disable|Change balance|Save/ }).count()).toBe(0);
  });

  testInFullRun('users see the not-found page', async () => {
    const page = await openAs('person3', '/users');
    await heading(page, 'Page not found').waitFor();
  });
});

test('double booking: after a lost answer, adding the same amount again in a new dialog counts once', async () => {
  const id = await root().createUser({ username: 'booked' });
  const page = await openAsRoot(`/users/${id}`);
  await heading(page, 'booked').waitFor();
  const change = page.getByRole('button', { name: 'Change balance', exact: true });
  await change.waitFor();
  const add = async (): Promise<void> => {
    await change.click();
    await page.getByRole('dialog').getByLabel('Amount').fill('10');
    await page.getByRole('dialog').getByRole('button', { name: 'Add $10.00' }).click();
  };
  const quota = async (): Promise<number> => (await root().call<{ quota: number }>('GET', `/api/user/${id}`)).quota;
  const [changes, reads] = ['**/api/user/manage', `**/api/user/${id}`];
  await page.route(changes, async (route) => {
    await route.fetch();
    await route.abort();
  });
  await page.route(reads, (route) => route.abort());
  await add();
  await page.getByRole('dialog').getByRole('alert').waitFor();
  await page.unroute(changes);
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  const answered = page.waitForResponse(changes);
  await add();
  await answered;
  await page.unroute(reads);
  await waitForNotice(page, 'The balance of “booked” was changed.');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  expect(await quota()).toBe(5_000_000);
  // After a known outcome, the same change is a new one.
  await add();
  await waitForNotice(page, 'The balance of “booked” was changed.');
  expect(await quota()).toBe(10_000_000);
});
