/**
 * Settings in the browser: search, saving together, errors, warnings and tests; and custom
 * providers.
 */
import { afterAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { rowsOptions } from '../../src/panel/pages/settings/rows-options.ts';
import { testInFullRun } from '../support/full-run.ts';
import { ask } from '../support/gateway.ts';
import { type IdentityProvider, startIdentityProvider } from '../support/identity-provider.ts';
import { until } from '../support/until.ts';
import { bindIdentity } from './bind-identity.ts';
import {
  confirmWithPassword,
  findPageIssues,
  heading,
  password,
  setOptions,
  usePanel,
  waitForFocus,
  waitForNotice,
  waitForText,
  waitForValue,
} from './harness.ts';

type Option = { key: string; value: string; group: string; type: string };

let provider: IdentityProvider;
const { origin, gateway, root, sharedRootPage } = usePanel(async () => {
  provider = await startIdentityProvider();
});
afterAll(() => provider?.stop());

async function visit(path: string): Promise<Page> {
  const page = await sharedRootPage();
  await page.goto(`${origin()}${path}`);
  return page;
}

const save = (page: Page) => page.getByRole('button', { name: 'Save changes' }).click();
const stored = async (key: string): Promise<string | undefined> =>
  (await root().call<Option[]>('GET', '/api/option')).find((option) => option.key === key)?.value;

test('every JSON option is edited as rows, and its stored value survives them', async () => {
  const options = (await root().call<Option[]>('GET', '/api/option')).filter(({ type }) => type === 'json');
  expect(Object.keys(rowsOptions).sort()).toEqual(options.map(({ key }) => key).sort());
  for (const { key, value } of options) {
    const format = rowsOptions[key];
    expect(JSON.parse(format?.serialize(format.parse(value)) ?? '')).toEqual(JSON.parse(value));
  }
});

describe('search', () => {
  testInFullRun('finds an option by a word of its help, and opens its field', async () => {
    const page = await visit('/settings');
    await page.getByRole('heading', { level: 2, name: 'General' }).waitFor();
    const search = page.getByRole('searchbox', { name: 'Search settings' });
    await search.fill('starttls');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Encryption' }).click();
    await page.getByRole('heading', { level: 2, name: 'Email' }).waitFor();
    await waitForFocus(page.getByRole('combobox', { name: 'Encryption' }));

    await page.goto(`${origin()}/settings?q=no-such-setting`);
    await waitForText(page, 'No setting matches “no-such-setting”.');
  });

  testInFullRun.each(['gateway', 'sign_in', 'mail', 'passkey', 'limits', 'billing', 'plugins', 'legal'])(
    'the group %s has no accessibility violation and no overflow',
    async (group) => {
      const page = await visit(`/settings/${group}`);
      await page.getByRole('heading', { level: 2 }).first().waitFor();
      expect(await findPageIssues(page)).toEqual([]);
    },
  );
});

describe('changing settings', () => {
  test('changes are counted, can be discarded, and are saved together', async () => {
    const page = await visit('/settings/gateway');
    const name = page.getByLabel('Gateway name');
    await name.fill('House of films');
    await waitForText(page, 'One unsaved change');
    await page.getByLabel('Address for results').fill('https://files.example.org');
    await waitForText(page, '2 unsaved changes');
    await page.getByRole('button', { name: 'Discard' }).click();
    expect(await name.inputValue()).toBe('Taskgate');

    await name.fill('House of films');
    await page.getByLabel('Public address').fill('nowhere');
    await save(page);
    await waitForText(page, 'Enter a URL such as https://example.org.');
    expect(await stored('SystemName')).toBe('Taskgate');
    await page.getByLabel('Public address').fill('https://gate.example.org');
    await save(page);
    await confirmWithPassword(page);
    await waitForNotice(page, 'Settings saved.');
    expect([await stored('SystemName'), await stored('ServerAddress')]).toEqual([
      'House of films',
      'https://gate.example.org',
    ]);
    await setOptions(root(), { ServerAddress: '' });
  });

  testInFullRun("the gateway's errors show at their option, and nothing is saved", async () => {
    const page = await visit('/settings/mail');
    await page.getByLabel('Mail server').fill('mail.example.org');
    await page.getByLabel('Sender', { exact: true }).fill('not an address');
    await page.getByLabel('Port', { exact: true }).fill('99999');
    await save(page);
    await waitForText(page, 'Enter a whole number from 1 to 65,535.');
    await page.getByLabel('Port', { exact: true }).fill('2525');
    await save(page);
    await confirmWithPassword(page);
    await waitForText(page, /The value of SMTPFrom must be/);
    expect(await page.getByLabel('Mail server').inputValue()).toBe('mail.example.org');
    expect(await stored('SMTPServer')).toBe('');
    expect(await findPageIssues(page)).toEqual([]);
    await page.getByRole('button', { name: 'Discard' }).click();
  });

  testInFullRun('the gateway is closed for maintenance and opened again', async () => {
    const page = await visit('/settings/maintenance');
    const closed = page.getByRole('switch', { name: 'Maintenance mode' });
    for (const is of ['true', 'false']) {
      await closed.setChecked(is === 'true', { force: true });
      await save(page);
      await waitForNotice(page, 'Settings saved.');
      expect(await stored('maintenance.enabled')).toBe(is);
    }
  });

  test('leaving asks before changes are lost', async () => {
    const page = await visit('/settings/legal');
    await page.getByLabel('Terms of service').fill('Be kind.');
    await page.getByRole('link', { name: 'Email', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Discard changes?' });
    await dialog.getByRole('button', { name: 'Keep editing' }).click();
    expect(await page.getByLabel('Terms of service').inputValue()).toBe('Be kind.');
    await page.getByRole('link', { name: 'Email', exact: true }).click();
    await dialog.getByRole('button', { name: 'Discard' }).click();
    await page.getByRole('heading', { level: 2, name: 'Email' }).waitFor();
  });

  testInFullRun('the encryption of mail is one field of two options that exclude each other', async () => {
    const page = await visit('/settings/mail');
    const encryption = page.getByRole('combobox', { name: 'Encryption' });
    for (const [choice, values] of [
      ['Implicit TLS', ['true', 'false']],
      ['Require STARTTLS', ['false', 'true']],
      ['STARTTLS if the server offers it', ['false', 'false']],
    ] as const) {
      await encryption.click();
      await page.getByRole('option', { name: choice }).click();
      await save(page);
      await page.getByText('Settings saved.').or(page.getByRole('dialog')).first().waitFor();
      if (await page.getByRole('dialog').isVisible()) await confirmWithPassword(page);
      await until(async () => {
        const found = [await stored('SMTPSSLEnabled'), await stored('SMTPStartTLSEnabled')];
        return found.join() === values.join();
      });
    }
  });

  testInFullRun('a provider shows its callback URL, and the menu which providers are on', async () => {
    const page = await visit('/settings/github');
    await waitForText(page, 'Set this as the callback URL (redirect URL) of your app at GitHub.');
    await waitForText(page, `${origin()}/oauth/github`);
    const menu = page.getByRole('navigation', { name: 'Sections' });
    await menu.getByRole('link', { name: 'Discord' }).click();
    await waitForText(page, `${origin()}/oauth/discord`);
    await menu.getByRole('link', { name: 'General' }).click();
    await menu.getByRole('link', { name: 'Discord' }).waitFor({ state: 'hidden' });
  });

  testInFullRun('the list of settings has its end in view in a low window', async () => {
    const page = await visit('/settings/gateway');
    await page.setViewportSize({ width: 1280, height: 600 });
    const last = page.getByRole('link', { name: 'Backups' });
    await last.scrollIntoViewIfNeeded();
    const box = await last.boundingBox();
    expect((box?.y ?? Infinity) + (box?.height ?? 0)).toBeLessThanOrEqual(600);
    await page.getByRole('searchbox', { name: 'Search settings' }).waitFor();
  });

  testInFullRun('a field cannot be changed while what it is for is off', async () => {
    const page = await visit('/settings/sign_in');
    const domains = page.locator('#option-EmailDomainWhitelist input:not([type="hidden"])').first();
    expect(await domains.isDisabled()).toBe(true);
    await page.getByRole('switch', { name: 'Restrict email domains' }).click();
    expect(await domains.isEnabled()).toBe(true);
    await page.getByRole('button', { name: 'Discard' }).click();

    await page.goto(`${origin()}/settings/retention`);
    const prompts = page.getByRole('textbox', { name: 'Prompts' });
    expect(await prompts.isEnabled()).toBe(true);
    await page.getByRole('switch', { name: 'Delete old data' }).click();
    expect(await prompts.isEnabled()).toBe(false);
    expect(await page.getByRole('textbox', { name: 'Webhook deliveries' }).isEnabled()).toBe(true);
    await page.getByRole('button', { name: 'Discard' }).click();

    // Storage is still charged for, so its price is not out of use.
    await page.goto(`${origin()}/settings/results`);
    await waitForText(page, 'Nothing new is kept.');
    expect(await field(page, 'results.price_gb_day', ['All groups', '$ / GB / day']).isEnabled()).toBe(true);
    await page.getByRole('switch', { name: 'Keep input files' }).click();
    await page.getByText('Nothing new is kept.').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Discard' }).click();
  });

  testInFullRun('thousands are in groups while nobody types, and a number that is tabbed to is replaced', async () => {
    const page = await visit('/settings/queue');
    const [all, each] = [page.getByLabel('Maximum waiting tasks'), page.getByLabel('Maximum per user')];
    expect([await all.inputValue(), await each.inputValue()]).toEqual(['100,000', '1,000']);
    await all.focus();
    await waitForValue(all, '100000');
    await page.keyboard.press('End');
    await page.keyboard.press('Backspace');
    expect(await all.inputValue()).toBe('10000');
    await page.keyboard.press('Tab');
    await waitForFocus(each);
    await waitForValue(all, '10,000');
    await page.keyboard.type('2500');
    expect(await each.inputValue()).toBe('2500');
    await each.blur();
    await waitForValue(each, '2,500');
    await page.getByRole('button', { name: 'Discard' }).click();
    await waitForValue(all, '100,000');

    await page.goto(`${origin()}/settings/mail`);
    await page.getByLabel('Port', { exact: true }).fill('2525');
    await page.getByLabel('Mail server').focus();
    await waitForValue(page.getByLabel('Port', { exact: true }), '2525');
    await page.getByRole('button', { name: 'Discard' }).click();
  });

  testInFullRun('an unsafe value shows a warning before it is saved', async () => {
    const page = await visit('/settings/sign_in');
    await page.getByRole('switch', { name: 'Allow sign-up' }).click();
    await save(page);
    const dialog = page.getByRole('dialog', { name: 'Save a risky setting?' });
    await dialog.getByText(/bots can create accounts without limit/).waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    expect(await stored('RegisterEnabled')).toBe('false');
    await save(page);
    await dialog.getByRole('button', { name: 'Save anyway' }).click();
    await confirmWithPassword(page);
    await waitForNotice(page, 'Settings saved.');
    expect(await stored('RegisterEnabled')).toBe('true');
  });

  test('a secret is write-only and can be removed', async () => {
    const page = await visit('/settings/github');
    await page.getByLabel('Client secret').fill('a-secret-of-github');
    await save(page);
    await confirmWithPassword(page);
    await waitForText(page, 'Saved. Type a new one to replace it.');
    await waitForValue(page.getByLabel('Client secret'), '');
    expect(await stored('GitHubClientSecret')).toBe('***');
    await page.getByRole('button', { name: 'Remove' }).click();
    await waitForText(page, 'Will be removed when you save.');
    // Confirmed a moment ago, so it is not asked again.
    await save(page);
    await waitForText(page, 'Not set.');
    expect(await stored('GitHubClientSecret')).toBe('');
  });

  test('cancelling the Security Proof keeps the input, and nothing is saved', async () => {
    const page = await visit('/settings/passkey');
    await page.getByLabel('Name in dialogs').fill('House');
    await save(page);
    const dialog = page.getByRole('dialog', { name: 'Confirm it’s you' });
    await dialog.getByLabel('Password', { exact: true }).waitFor();
    expect(await findPageIssues(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await page.getByLabel('Name in dialogs').inputValue()).toBe('House');
    expect(await stored('passkey.rp_display_name')).toBe('');
    await page.getByRole('button', { name: 'Discard' }).click();
  });

  const field = (page: Page, key: string, [row, label]: [row: string, label: string]) =>
    page.locator(`[id="option-${key}"]`).getByRole('group', { name: row }).getByLabel(label, { exact: true });

  test('groups are edited as rows, and the first invalid field gets the focus', async () => {
    const page = await visit('/settings/billing');
    expect(await page.getByRole('button', { name: 'Remove row 1' }).count()).toBe(0);
    await page.locator('#option-groups').getByRole('button', { name: 'Add a group' }).click();
    const name = field(page, 'groups', ['Row 2', 'Group']);
    await waitForFocus(name);
    await field(page, 'groups', ['Row 2', 'Ratio']).fill('0.8');
    await waitForText(page, '20% off');
    await save(page);
    await waitForText(page, 'Required.');
    await waitForFocus(name);
    await name.fill('default');
    await waitForText(page, 'Already in the list.');
    expect(await findPageIssues(page)).toEqual([]);
    await name.fill('vip');
    await save(page);
    await waitForNotice(page, 'Settings saved.');
    expect(await stored('groups')).toBe('{"default":1,"vip":0.8}');
  });

  testInFullRun('limits by group are numbers in fields, stored as JSON', async () => {
    const page = await visit('/settings/results');
    await field(page, 'results.days', ['All groups', 'Days']).fill('30');
    await page.locator('[id="option-results.days"]').getByRole('button', { name: 'Add retention' }).click();
    await field(page, 'results.days', ['Row 2', 'Group']).fill('vip');
    const days = field(page, 'results.days', ['Row 2', 'Days']);
    await days.fill('40000');
    await save(page);
    await waitForText(page, 'Enter a whole number from 0 to 36,500.');
    await waitForFocus(days);
    await days.fill('365');
    await field(page, 'results.price_gb_day', ['All groups', '$ / GB / day']).fill('0.05');
    expect(await findPageIssues(page)).toEqual([]);
    await save(page);
    await waitForNotice(page, 'Settings saved.');
    expect([await stored('results.days'), await stored('results.price_gb_day')]).toEqual([
      '{"default":30,"vip":365}',
      '{"default":0.05}',
    ]);
    // An empty field says what 0 means.
    const others = field(page, 'results.days', ['All other groups', 'Days']);
    await others.fill('');
    expect(await others.getAttribute('placeholder')).toBe('Forever');
    await save(page);
    await until(async () => (await stored('results.days')) === '{"default":0,"vip":365}');

    await page.goto(`${origin()}/settings/limits`);
    await page.getByRole('switch', { name: 'Limit submissions per user' }).click();
    await page
      .locator('#option-ModelRequestRateLimitGroup')
      .getByRole('button', { name: 'Add submission limit' })
      .click();
    await field(page, 'ModelRequestRateLimitGroup', ['Row 1', 'Group']).fill('vip');
    await field(page, 'ModelRequestRateLimitGroup', ['Row 1', 'Successful']).fill('5000');
    expect(await findPageIssues(page)).toEqual([]);
    await save(page);
    await waitForNotice(page, 'Settings saved.');
    expect(await stored('ModelRequestRateLimitGroup')).toBe('{"vip":[0,5000]}');
  });

  testInFullRun('marketplace sources are edited as rows; a row added and removed is not a change', async () => {
    const page = await visit('/settings/plugins');
    const key = 'task_plugin.marketplace_sources';
    const before = (await stored(key)) ?? '';
    await page.getByRole('button', { name: 'Add source' }).click();
    await field(page, key, ['Row 3', 'Name']).fill('Ours');
    await waitForText(page, 'One unsaved change');
    await page.getByRole('button', { name: 'Remove row 3' }).click();
    await page.getByText('One unsaved change').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Add source' }).click();
    await field(page, key, ['Row 3', 'Name']).fill('Ours');
    await field(page, key, ['Row 3', 'Index URL']).fill('https://plugins.example.com/index.json');
    expect(await findPageIssues(page)).toEqual([]);
    await save(page);
    await confirmWithPassword(page);
    await waitForNotice(page, 'Settings saved.');
    const added = { name: 'Ours', index_url: 'https://plugins.example.com/index.json' };
    expect(JSON.parse((await stored(key)) ?? '')).toEqual([...JSON.parse(before), added]);
    await setOptions(root(), { [key]: before });
  });

  test('amounts are dollars in the panel and quota in the API', async () => {
    const page = await visit('/settings/sign_in');
    await page.getByLabel('Initial balance').fill('1.5');
    await save(page);
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await waitForNotice(page, 'Settings saved.');
    expect(await stored('QuotaForNewUser')).toBe('750000');
  });
});

async function askDelete(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'More', exact: true }).click();
  await page.getByRole('menuitem', { name: 'Delete provider' }).click();
}

describe('provider options with bound identities', () => {
  /** Creates an account with an identity at the provider; returns its id. */
  async function connect(username: string, slug: string): Promise<number> {
    const id = await root().createUser({ username });
    const { body } = await ask(`${gateway().url}/api/user/login`, { body: { username, password } });
    await bindIdentity(gateway().url, {
      token: (body.data as { access_token: string }).access_token,
      idp: provider,
      provider: slug,
    });
    return id;
  }

  testInFullRun('an option is saved after root confirms that the identities stay the same', async () => {
    const addresses = await root().call<Option[]>('GET', '/api/option');
    const before = addresses.filter(({ key }) => key === 'ServerAddress' || key.startsWith('GitHub'));
    await setOptions(root(), {
      ServerAddress: origin(),
      ...Object.fromEntries(Object.entries(provider.options()).filter(([key]) => key.startsWith('GitHub'))),
    });
    const bea = await connect('bea', 'github');
    const page = await visit('/settings/github');
    await page.getByLabel('GitHub URL').fill(`${provider.base}/moved`);
    await page.getByLabel('Client secret').fill('entered again for the new address');
    await save(page);
    await confirmWithPassword(page);
    await waitForText(page, 'It is the same provider with the same users');
    await waitForText(page, 'Users are connected through this provider: see the notice.');
    expect(await findPageIssues(page)).toEqual([]);
    expect(await stored('GitHubBaseUrl')).toBe(`${provider.base}/github`);
    await page.getByRole('button', { name: 'Save and keep everyone connected' }).click();
    await waitForNotice(page, 'Settings saved.');
    expect(await stored('GitHubBaseUrl')).toBe(`${provider.base}/moved`);
    await root().call('DELETE', `/api/user/${bea}/bindings/github`);
    await setOptions(root(), Object.fromEntries(before.map(({ key, value }) => [key, value])));
  });

  testInFullRun('so is a custom provider', async () => {
    await setOptions(root(), { ServerAddress: origin() });
    const { id } = await root().call<{ id: number }>('POST', '/api/custom-oauth-provider', {
      slug: 'club',
      name: 'Club login',
      ...provider.addedProvider(),
    });
    const carl = await connect('carl', 'club');
    const page = await visit(`/settings/providers/${id}`);
    await page.getByRole('textbox', { name: 'User ID' }).fill('data.user.login');
    const saveIt = page.getByRole('button', { name: 'Save' });
    await saveIt.click();
    await confirmWithPassword(page);
    const same = page.getByRole('switch', { name: 'It is the same provider with the same users' });
    await same.waitFor();
    await waitForText(page, 'Users are connected through this provider: see the notice.');
    expect(await saveIt.isDisabled()).toBe(true);
    await same.click();
    await saveIt.click();
    await same.waitFor({ state: 'detached' });
    await waitForNotice(page, 'Saved');
    const path = `/api/custom-oauth-provider/${id}`;
    expect(await root().call<object>('GET', path)).toMatchObject({ user_id_field: 'data.user.login' });
    await askDelete(page);
    await waitForText(page, '1 account is connected to it. Disconnect it first, or turn sign-in off here.');
    expect(await page.getByRole('dialog').count()).toBe(0);
    await root().call('DELETE', `/api/user/${carl}/bindings/club`);
    await page.reload();
    await askDelete(page);
    await waitForText(page, 'No account is connected to it.');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete provider' }).click();
    await confirmWithPassword(page);
    await page.waitForURL(`${origin()}/settings/providers`);
    await setOptions(root(), { ServerAddress: '' });
  });
});

testInFullRun('a provider that does not exist shows a not-found page with a link to the list', async () => {
  const page = await visit('/settings/providers/99999');
  await page.getByRole('alert').getByText('Provider not found').waitFor();
  await page.getByRole('link', { name: 'All providers' }).click();
  await waitForText(page, 'No custom providers');
});

describe('testing settings', () => {
  testInFullRun('OpenID Connect is tested in place, with its steps', async () => {
    await setOptions(root(), {
      'oidc.client_id': 'panel',
      'oidc.client_secret': 'a-secret-of-oidc',
      'oidc.well_known': provider.wellKnown,
    });
    const page = await visit('/settings/oidc');
    await page.getByLabel('Button label').fill('House login');
    expect(await page.getByRole('button', { name: 'Run test' }).isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Discard' }).click();
    await page.getByRole('button', { name: 'Run test' }).click();
    await confirmWithPassword(page);
    await page.getByText(/Test passed|Test failed/).waitFor();
    expect(await page.getByRole('img', { name: 'Passed' }).count()).toBeGreaterThan(0);
  });

  testInFullRun('mail without a server shows what is missing', async () => {
    const page = await visit('/settings/mail');
    await page.getByRole('button', { name: 'Send test email' }).click();
    await confirmWithPassword(page);
    await waitForText(page, 'Test failed');
    await waitForText(page, /Set SMTPServer, SMTPFrom first/);
    expect(await findPageIssues(page)).toEqual([]);
  });
});

describe('custom providers', () => {
  testInFullRun('are discovered by issuer, created, disabled and deleted', async () => {
    const page = await visit('/settings/providers');
    await waitForText(page, 'No custom providers');
    await page.getByRole('link', { name: 'Add provider' }).click();
    const create = page.getByRole('button', { name: 'Create provider' });
    await create.click();
    await waitForText(page, 'Required.');
    await waitForText(page, 'Enter an issuer or discovery URL, or override all three endpoints.');
    expect(await findPageIssues(page)).toEqual([]);

    await page.getByLabel('Issuer or discovery URL').fill(provider.issuer);
    await page.getByRole('button', { name: 'Load endpoints' }).click();
    await waitForText(page, /Its endpoints are loaded/);
    expect(await page.getByLabel('Token endpoint').inputValue()).toStartWith(provider.issuer);
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('House login');
    await page.getByLabel('Slug').fill('github');
    await page.getByLabel('Client ID').fill('panel');
    await page.getByLabel('Client secret').fill('a-secret');
    await create.click();
    await confirmWithPassword(page);
    await waitForText(page, 'This name belongs to another sign-in method.');
    await page.getByLabel('Slug').fill('house');
    await create.click();
    await heading(page, 'House login').waitFor();
    await waitForText(page, `${origin()}/oauth/house`);

    await page.getByRole('switch', { name: 'Sign-in enabled' }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    const created = await until('it is switched off', async () => {
      const [stored] = await root().call<{ enabled: boolean }[]>('GET', '/api/custom-oauth-provider');
      return stored?.enabled === false && stored;
    });
    expect(created).toMatchObject({ slug: 'house', client_secret: '***' });

    await askDelete(page);
    await page.getByRole('dialog').getByRole('button', { name: 'Delete provider' }).click();
    await waitForText(page, 'No custom providers');
  });
});
