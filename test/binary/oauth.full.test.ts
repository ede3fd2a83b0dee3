/**
 * Sign-in and binding through providers on the compiled binary: over HTTP as a script would, and
 * with Chromium on the panel's pages.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { launchBrowser, openPage } from '../support/browser.ts';
import { type Administrator, ask, type Gateway, ROOT, setUp, startGateway } from '../support/gateway.ts';
import { ALICE, CLIENT, type IdentityProvider, startIdentityProvider } from '../support/identity-provider.ts';
import { proofHeader } from '../support/security-proof.ts';

let gateway: Gateway;
let root: Administrator;
let idp: IdentityProvider;
let people = 100;

beforeAll(async () => {
  idp = await startIdentityProvider();
  gateway = await startGateway();
  root = await setUp(gateway);
  const options = Object.entries({
    ServerAddress: gateway.url,
    RegisterEnabled: 'true',
    ...idp.options(),
    'oidc.display_name': 'Our login',
  }).map(([key, value]) => ({ key, value }));
  await root.call('PUT', '/api/option', { options });
  await root.call('POST', '/api/custom-oauth-provider', {
    slug: 'acme',
    name: 'Acme',
    ...idp.addedProvider(),
  });
});
afterAll(async () => {
  await gateway.stop();
  await idp.stop();
});
beforeEach(() => {
  idp.reset();
  people += 1;
  idp.state.person = { ...ALICE, id: String(people), login: `dora-${people}`, email: `dora-${people}@example.org` };
});

type Data = Record<string, unknown>;
type Ticket = { flow_token: string; expires_at: number; authorization_url: string };

async function begin(provider: string, token?: string): Promise<Ticket> {
  const answer = await ask(`${gateway.url}/api/oauth/state`, {
    body: { provider, intent: token ? 'bind' : 'login' },
    ...(token ? { token } : {}),
  });
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  return answer.body.data as Ticket;
}
const finish = (
  provider: string,
  query: Record<string, string>,
  more: { token?: string; headers?: Record<string, string> } = {},
) => ask(`${gateway.url}/api/oauth/${provider}?${new URLSearchParams(query)}`, more);

async function logIn(provider: string) {
  const { query } = await idp.agree((await begin(provider)).authorization_url);
  return finish(provider, query);
}
const passwordSession = async () => {
  const answer = await ask(`${gateway.url}/api/user/login`, { body: ROOT });
  return (answer.body.data as { access_token: string }).access_token;
};

describe('over HTTP', () => {
  test.each(['github', 'discord', 'linuxdo', 'oidc', 'acme'])(
    '%s: the unified result with its cookies; then binding, listing, unbinding',
    async (provider) => {
      const answer = await logIn(provider);
      expect(answer.status).toBe(200);
      expect(answer.body.data).toMatchObject({
        token_type: 'Bearer',
        user: { username: `dora-${people}`, has_password: false },
        session: { login_method: `oauth:${provider}`, current: true },
      });
      expect(answer.headers.getSetCookie().map((cookie) => cookie.split('=')[0])).toEqual([
        expect.stringMatching(/^svc_refresh_[0-9a-f]{6}$/),
        'svc_has_session',
      ]);

      idp.state.person = { ...idp.state.person, id: `${people}77` };
      const token = await passwordSession();
      const ticket = await begin(provider, token);
      const { query } = await idp.agree(ticket.authorization_url);
      const bound = await finish(provider, query, { token });
      expect([bound.status, bound.body.data]).toEqual([200, { action: 'bind' }]);
      expect(bound.headers.getSetCookie()).toEqual([]);
      const list = await root.call<Data[]>('GET', '/api/user/oauth/bindings');
      expect(list).toMatchObject([{ provider_slug: provider, provider_user_id: `${people}77` }]);
      const gone = await ask(`${gateway.url}/api/user/oauth/bindings/${provider}`, { method: 'DELETE', token });
      expect(gone.status).toBe(200);
      const audit = await root.call<{ items: Data[] }>('GET', '/api/audit?page_size=20');
      const changes = audit.items.filter(({ action }) => !String(action).startsWith('auth.'));
      expect(changes.slice(0, 3).map(({ action }) => action)).toEqual([
        'user.identity.unbind',
        'user.identity.bind',
        'user.register',
      ]);
      const name = `dora-${people}`;
      expect(changes[2]).toMatchObject({ username: name, auth_method: 'registration' });
      expect(changes[2]?.detail).toEqual({ username: name, provider });
      expect(idp.complaints).toEqual([]);
    },
  );

  test('replayed, foreign, denied and broken callbacks are refused', async () => {
    const code = async (answer: Promise<{ status: number; body: Data }>) => {
      const { status, body } = await answer;
      return [status, body.code];
    };
    const first = await idp.agree((await begin('github')).authorization_url);
    expect(await code(finish('discord', first.query))).toEqual([400, 'AUTH_FLOW_INVALID']);
    expect((await finish('github', first.query)).status).toBe(200);
    expect(await code(finish('github', first.query))).toEqual([400, 'AUTH_FLOW_INVALID']);

    const second = await begin('github');
    const denied = { state: second.flow_token, error: 'access_denied', error_description: 'The user said no' };
    expect(await code(finish('github', denied))).toEqual([502, 'AUTH_PROVIDER_FAILED']);
    expect(await code(finish('github', denied))).toEqual([400, 'AUTH_FLOW_INVALID']);

    const token = await passwordSession();
    const other = await passwordSession();
    const third = await idp.agree((await begin('github', token)).authorization_url);
    expect(await code(finish('github', third.query, { token: other }))).toEqual([400, 'AUTH_FLOW_INVALID']);
    expect(await code(finish('github', third.query))).toEqual([400, 'AUTH_FLOW_INVALID']);

    for (const token of [
      { claims: { aud: 'x' } },
      { claims: { iss: 'https://x.example' } },
      { claims: { nonce: 'x' } },
      { sign: 'none' },
    ] as const) {
      idp.state.token = token;
      expect(await code(logIn('oidc'))).toEqual([502, 'AUTH_PROVIDER_FAILED']);
    }
    idp.state.token = {};
    idp.faults.set('oidc/token', 'hang');
    const hanging = logIn('oidc');
    expect((await ask(`${gateway.url}/api/status`)).status).toBe(200);
    expect((await logIn('discord')).status).toBe(200);
    expect(await code(hanging)).toEqual([502, 'AUTH_PROVIDER_FAILED']);
  });

  test('callers: a broken access token is refused, an unknown credential counts as none, a personal access token binds nothing', async () => {
    const state = (token: string | undefined, intent: string) =>
      ask(`${gateway.url}/api/oauth/state`, { body: { provider: 'github', intent }, ...(token ? { token } : {}) });
    const token = await passwordSession();
    const broken = `${token.slice(0, -3)}AAA`;
    for (const intent of ['login', 'bind']) {
      expect((await state(broken, intent)).body.code).toBe('AUTH_UNAUTHORIZED');
    }
    expect((await state('who-knows', 'login')).status).toBe(200);
    expect((await state('who-knows', 'bind')).body.code).toBe('AUTH_UNAUTHORIZED');
    expect((await state(undefined, 'bind')).status).toBe(401);
    const pat = await root.call<{ token: string }>('POST', '/api/user/token');
    expect([(await state(pat.token, 'bind')).status, (await state(pat.token, 'bind')).body.code]).toEqual([
      403,
      'AUTH_SESSION_REQUIRED',
    ]);
    expect((await finish('github', { state: 'x', code: 'y' }, { token: broken })).status).toBe(401);
  });

  test('ASVS 7.6.2: login CSRF: a navigation to the callback signs nobody in', async () => {
    const { query } = await idp.agree((await begin('github')).authorization_url);
    const links: Record<string, string>[] = [
      { accept: 'text/html,application/xhtml+xml' },
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
      { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' },
      { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate' },
      { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' },
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' },
    ];
    for (const headers of links) {
      const answer = await finish('github', query, { headers });
      expect([answer.status, answer.body.code, answer.headers.getSetCookie()]).toEqual([
        403,
        'AUTH_ORIGIN_FORBIDDEN',
        [],
      ]);
    }
    const script = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors', accept: '*/*' };
    expect((await finish('github', query, { headers: script })).status).toBe(200);
  });

  test('account takeover: a provider with bound users is not pointed elsewhere without confirmation', async () => {
    await logIn('github');
    await logIn('acme');
    const headers = await proofHeader({ url: gateway.url, token: root.token, password: ROOT.password });
    const put = async (path: string, change: object) => {
      const secrets = path === '/api/option' ? {} : { client_secret: CLIENT.secret };
      const request = { method: 'PUT', token: root.token, headers, body: { ...change, ...secrets } };
      const { status, body: answer } = await ask(`${gateway.url}${path}`, request);
      return [status, answer.code, answer.message];
    };
    const option = {
      options: [
        { key: 'GitHubApiUrl', value: `${idp.base}/elsewhere` },
        { key: 'GitHubClientSecret', value: CLIENT.secret },
      ],
    };
    expect(await put('/api/option', option)).toEqual([
      400,
      'VALIDATION_FAILED',
      expect.stringMatching(/^\d+ identit(y is|ies are) bound at github\./),
    ]);
    const [acme] = await root.call<{ id: number }[]>('GET', '/api/custom-oauth-provider');
    const path = `/api/custom-oauth-provider/${acme?.id}`;
    const change = { user_info_endpoint: `${idp.base}/elsewhere` };
    expect((await put(path, change)).slice(0, 2)).toEqual([409, 'AUTH_PROVIDER_IN_USE']);
    expect((await put(path, { ...change, force: true }))[0]).toBe(200);
    expect((await put(path, { user_info_endpoint: `${idp.base}/custom/me`, force: true }))[0]).toBe(200);
  });

  test('no secret appears in answers or in the log', async () => {
    const { query } = await idp.agree((await begin('oidc')).authorization_url);
    await finish('oidc', query);
    const shown = JSON.stringify([
      await root.call('GET', '/api/option'),
      await root.call('GET', '/api/custom-oauth-provider'),
      await root.call('GET', '/api/audit?page_size=100'),
      (await ask(`${gateway.url}/api/status`)).body,
    ]);
    expect(shown).toContain('acme');
    for (const text of [shown, gateway.log()]) {
      for (const secret of [CLIENT.secret, String(query.code), String(query.state)]) expect(text).not.toContain(secret);
    }
  });
});

describe('with Chromium', () => {
  let browser: Browser;
  const opened: { close(): Promise<void> }[] = [];
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser.close());
  afterEach(async () => {
    for (const context of opened.splice(0)) await context.close();
  });

  async function open(): Promise<{ page: Page; apiCalls: string[]; complaints: string[] }> {
    const watched = await openPage(browser, gateway.url);
    opened.push(watched.context);
    return watched;
  }
  async function signIn(page: Page): Promise<void> {
    await page.goto(`${gateway.url}/sign-in`);
    await page.getByLabel('Username or email').fill(ROOT.username);
    await page.getByLabel('Password', { exact: true }).fill(ROOT.password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('heading', { name: 'Home' }).waitFor();
  }
  /** Breaches of our own pages' policy; going to the provider is not a breach. */
  const breaches = (complaints: string[]) => complaints.filter((line) => !line.startsWith('foreign request'));

  test('a button leads to the provider and back into the panel', async () => {
    const { page, complaints } = await open();
    await page.goto(`${gateway.url}/sign-in`);
    for (const name of ['GitHub', 'Discord', 'LinuxDO', 'Acme']) {
      await page.getByRole('button', { name: `Continue with ${name}` }).waitFor();
    }
    await page.getByRole('button', { name: 'Continue with Our login' }).click();
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    expect(new URL(page.url()).search).toBe('');
    await page.reload();
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    expect(breaches(complaints)).toEqual([]);
  });

  test('ASVS 7.6.2: login CSRF: an answer to a sign-in that this tab did not begin is not even sent', async () => {
    const { query } = await idp.agree((await begin('github')).authorization_url);
    const { page, apiCalls } = await open();
    await page.goto(`${gateway.url}/oauth/github?${new URLSearchParams(query)}`);
    await page.getByText('wasn’t started in this tab, or it has expired').waitFor();
    expect(apiCalls.filter((call) => call.includes('/api/oauth/'))).toEqual([]);
    await page.goto(`${gateway.url}/api/oauth/github?${new URLSearchParams(query)}`);
    expect(await page.content()).toContain('AUTH_ORIGIN_FORBIDDEN');
    expect(await page.context().cookies()).toEqual([]);
  });

  test('a popup binds: only the opener calls the API, with its own token; then the identity is unbound', async () => {
    const { page, complaints } = await open();
    await signIn(page);
    await page.goto(`${gateway.url}/security`);
    const callers: string[] = [];
    page.context().on('request', (request) => {
      if (request.url().includes('/api/oauth/github?')) {
        callers.push(
          `${request.frame().page() === page ? 'opener' : 'popup'} ${request.headers().authorization?.slice(0, 7)}`,
        );
      }
    });
    await page.getByRole('button', { name: 'Connect GitHub' }).click();
    await page.getByRole('button', { name: 'Disconnect GitHub' }).waitFor();
    expect(callers).toEqual(['opener Bearer ']);
    expect(page.context().pages()).toHaveLength(1);
    const [binding] = await root.call<Data[]>('GET', '/api/user/oauth/bindings');
    expect(binding).toMatchObject({ provider_slug: 'github', provider_user_id: String(people) });
    await page.getByRole('button', { name: 'Disconnect GitHub' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Disconnect' }).click();
    await page.getByRole('button', { name: 'Connect GitHub' }).waitFor();
    expect(breaches(complaints)).toEqual([]);
  });

  test('forged messages from another window or with another state change nothing', async () => {
    const { page } = await open();
    await signIn(page);
    await page.goto(`${gateway.url}/security`);
    idp.faults.set('github/login/oauth/authorize', 'hang');
    const popup = page.waitForEvent('popup');
    await page.getByRole('button', { name: 'Connect GitHub' }).click();
    const window = await popup;
    const { query } = await idp.agree((await begin('discord')).authorization_url);
    await page.evaluate(
      (text) => {
        globalThis.postMessage({ kind: 'taskgate:oauth', provider: 'github', query: text }, location.origin);
      },
      `?${new URLSearchParams(query)}`,
    );
    await window.close();
    await page.getByText('Nothing changed').waitFor();
    expect(await root.call<Data[]>('GET', '/api/user/oauth/bindings')).toEqual([]);
  });

  test('a popup that is closed before its address is known is reported', async () => {
    const { page, complaints } = await open();
    await signIn(page);
    await page.goto(`${gateway.url}/security`);
    const [asked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await page.route('**/api/oauth/state', async (route) => {
      asked.resolve();
      await held.promise;
      await route.continue();
    });
    const popup = page.waitForEvent('popup');
    await page.getByRole('button', { name: 'Connect GitHub' }).click();
    await asked.promise;
    await (await popup).close();
    held.resolve();
    await page.getByText('Nothing changed').waitFor();
    expect(breaches(complaints)).toEqual([]);
  });
});
