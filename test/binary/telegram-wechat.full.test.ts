/**
 * Sign-in and binding by Telegram and WeChat, from end to end on the executable; where there are
 * two nodes, every step on another one.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { TOTP } from 'otpauth';
import { type Backdoor, insertUser, openBackdoor } from '../support/backdoor.ts';
import { IS_FULL_RUN, RACERS } from '../support/full-run.ts';
import { type Administrator, type Answer, ask, type Gateway, ROOT, setUp, startGateway } from '../support/gateway.ts';
import { startLivedTime } from '../support/lived-time.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { BOT, signWidget } from '../support/telegram-widget.ts';
import { until } from '../support/until.ts';
import { startWeChatServer, WECHAT_TOKEN, type WeChatMood, type WeChatServer } from '../support/wechat-server.ts';

type Person = { id: number; username: string; token: string; sid: string };

const nowSeconds = (): number => Math.floor(performance.timeOrigin / 1000 + performance.now() / 1000);
const data = <T = Record<string, unknown>>({ body }: Answer): T => body.data as T;

for (const [database, count] of [
  ['SQLite', 1],
  ...(IS_FULL_RUN ? [['two nodes on PostgreSQL', 2] as const] : []),
] as const) {
  describe(`on ${database}`, () => {
    const nodes: Gateway[] = [];
    let wechat: WeChatServer;
    let backdoor: Backdoor;
    let admin: Administrator;
    let turn = 0;
    let made = 0;
    /** What must not be in a log. */
    const secrets = new Set<string>([BOT.token, WECHAT_TOKEN]);

    beforeAll(async () => {
      wechat = startWeChatServer();
      const databaseUrl = count === 2 ? await migratedDatabaseUrl() : '';
      for (let i = 0; i < count; i += 1) {
        nodes.push(
          await startGateway({
            databaseUrl,
            env: { LOG_LEVEL: 'debug', DEBUG: 'true', CRITICAL_RATE_LIMIT: '100000', GLOBAL_API_RATE_LIMIT: '100000' },
          }),
        );
      }
      admin = await setUp(nodes[0] as Gateway);
      backdoor = openBackdoor(nodes[0] as Gateway);
    });
    afterAll(async () => {
      await backdoor?.close();
      for (const node of nodes) await node.stop();
      await wechat?.stop();
    });

    /** The nodes in turn. */
    function url(): string {
      turn += 1;
      return (nodes[turn % nodes.length] as Gateway).url;
    }
    const get = (path: string, query: URLSearchParams | string = '', headers: Record<string, string> = {}) =>
      ask(`${url()}${path}?${query}`, { headers });

    async function setOptions(options: Record<string, string>, shown: Record<string, unknown>): Promise<void> {
      await admin.call('PUT', '/api/option', {
        options: Object.entries(options).map(([key, value]) => ({ key, value })),
      });
      for (const node of nodes) {
        await until('the node knows the options', async () => {
          const status = data(await ask(`${node.url}/api/status`));
          return Object.entries(shown).every(([name, value]) => status[name] === value);
        });
      }
    }

    /** Somebody with a password, signed in. */
    async function enter(): Promise<Person> {
      made += 1;
      const username = `person-${made}`;
      await insertUser(backdoor, username);
      return signIn(username);
    }
    async function signIn(username: string): Promise<Person> {
      return readPerson(await ask(`${url()}/api/user/login`, { body: { username, password: ROOT.password } }));
    }
    function readPerson(login: Answer): Person {
      expect([login.status, login.body.code]).toEqual([200, undefined]);
      const { access_token, user, session } = data<{
        access_token: string;
        user: { id: number; username: string };
        session: { sid: string };
      }>(login);
      return { ...user, token: access_token, sid: session.sid };
    }
    const newTelegramId = (): number => {
      made += 1;
      return 900_000 + made;
    };
    /** Another assertion each time, also within one second. */
    function widget(id: number, shift = 0): URLSearchParams {
      made += 1;
      const query = signWidget({ id, username: `ada${made}` }, nowSeconds() + shift);
      secrets.add(query.get('hash') ?? '');
      return query;
    }
    async function startBinding({ token }: Person): Promise<{ flow_token: string; callback_url: string }> {
      const started = await ask(`${url()}/api/oauth/telegram/bind/start`, { method: 'POST', token });
      expect(started.status).toBe(200);
      const ticket = data<{ flow_token: string; callback_url: string; expires_at: number }>(started);
      expect(ticket.callback_url).toBe(`/api/oauth/telegram/bind/${ticket.flow_token}`);
      expect(Math.abs(ticket.expires_at - nowSeconds() - 300)).toBeLessThan(10);
      const [cookie = '', ...others] = started.headers.getSetCookie();
      expect(others).toEqual([]);
      const [pair, ...attributes] = cookie.split('; ');
      expect(pair).toBe(bindCookie(ticket.flow_token));
      const maxAge = Number(attributes.find((attribute) => attribute.startsWith('Max-Age='))?.slice('Max-Age='.length));
      expect(Math.abs(maxAge - 300)).toBeLessThan(10);
      expect(attributes).toEqual([`Max-Age=${maxAge}`, 'Path=/api/oauth/telegram/bind', 'HttpOnly', 'SameSite=Lax']);
      secrets.add(ticket.flow_token);
      return ticket;
    }
    /** The cookie of the browser that began the binding of this flow. */
    const bindCookie = (flowToken: string): string =>
      `svc_telegram_bind=${createHash('sha256').update(flowToken).digest('base64url')}`;
    /**
     * What the browser gets when the widget returns: the outcome and nothing else. It is the
     * browser that began the binding, unless other cookies are given. Only success clears the
     * cookie.
     */
    async function comeBack(callbackUrl: string, query: URLSearchParams | string, cookies?: string): Promise<string> {
      const flowToken = decodeURIComponent(callbackUrl.split('/').at(-1) ?? '');
      const cookie = cookies ?? bindCookie(flowToken);
      const response = await fetch(`${url()}${callbackUrl}?${query}`, { redirect: 'manual', headers: { cookie } });
      expect([response.status, await response.text()]).toEqual([302, '']);
      const location = response.headers.get('location') ?? '';
      expect(location).toStartWith('/oauth/telegram?');
      const parameters = new URLSearchParams(location.slice('/oauth/telegram?'.length));
      expect(parameters.get('flow_token')).toBe(flowToken);
      const outcome = parameters.get('telegram_bind') === 'success' ? 'success' : (parameters.get('error_code') ?? '');
      const cleared = 'svc_telegram_bind=; Max-Age=0; Path=/api/oauth/telegram/bind; HttpOnly; SameSite=Lax';
      expect(response.headers.getSetCookie()).toEqual(outcome === 'success' ? [cleared] : []);
      return outcome;
    }
    async function bindTelegram(person: Person, id: number): Promise<void> {
      expect(await comeBack((await startBinding(person)).callback_url, widget(id))).toBe('success');
    }
    const telegramLogin = (query: URLSearchParams | string, headers?: Record<string, string>) =>
      get('/api/oauth/telegram/login', query, headers);
    const outcome = ({ status, body }: Answer) => [status, body.code];

    async function wechatFlow(): Promise<string> {
      const begun = await ask(`${url()}/api/oauth/wechat/state`, { method: 'POST' });
      expect(begun.status).toBe(200);
      const { flow_token } = data<{ flow_token: string }>(begun);
      secrets.add(flow_token);
      return flow_token;
    }
    async function wechatLogin(code: string, flow?: string, headers?: Record<string, string>): Promise<Answer> {
      secrets.add(code);
      return get('/api/oauth/wechat', new URLSearchParams({ code, state: flow ?? (await wechatFlow()) }), headers);
    }
    async function wechatBindFlow({ token }: Person): Promise<string> {
      const begun = await ask(`${url()}/api/oauth/wechat/bind/start`, { method: 'POST', token });
      expect(begun.status).toBe(200);
      return data<{ flow_token: string }>(begun).flow_token;
    }
    const wechatBind = ({ token }: Person, code: string, flow: string) =>
      ask(`${url()}/api/oauth/wechat/bind`, { token, body: { code, flow_token: flow } });
    /** Expires all flows that are under way. */
    const letFlowsExpire = () =>
      backdoor.run(`update auth_flows set expires_at = ${nowSeconds() - 1} where consumed_at is null`);
    const trial = (what: string) =>
      admin.call<{ ok: boolean; steps: { name: string; ok: boolean }[] }>('POST', '/api/option/test', { what });
    const newCode = (subject: string): string => {
      made += 1;
      const code = `code-${made}-of-wechat`;
      wechat.codes.set(code, subject);
      return code;
    };

    test('off until they are set up, and no other provider serves their fixed paths', async () => {
      const person = await enter();
      const headers = { authorization: `Bearer ${person.token}` };
      for (const [method, path, body] of [
        ['GET', `/api/oauth/telegram/login?${widget(1)}`],
        ['POST', '/api/oauth/telegram/bind/start'],
        ['POST', '/api/oauth/wechat/state'],
        ['GET', '/api/oauth/wechat?code=1&state=2'],
        ['POST', '/api/oauth/wechat/bind/start'],
        ['POST', '/api/oauth/wechat/bind', { code: '1', flow_token: '2' }],
      ] as const) {
        const answer = await ask(`${url()}${path}`, { method, headers, ...(body ? { body } : {}) });
        expect([path, ...outcome(answer)]).toEqual([path, 403, 'AUTH_METHOD_DISABLED']);
      }
      expect(await comeBack('/api/oauth/telegram/bind/x', widget(1))).toBe('TELEGRAM_BIND_DISABLED');
      // Answered by WeChat's own route, which needs its parameters.
      expect(outcome(await get('/api/oauth/wechat'))).toEqual([400, 'VALIDATION_FAILED']);
      expect(outcome(await ask(`${url()}/api/oauth/wechat`, { method: 'POST' }))).toEqual([405, 'METHOD_NOT_ALLOWED']);

      await setOptions(
        {
          TelegramBotName: BOT.name,
          TelegramBotToken: BOT.token,
          TelegramOAuthEnabled: 'true',
          WeChatServerAddress: `${wechat.url}/`,
          WeChatServerToken: WECHAT_TOKEN,
          WeChatAuthEnabled: 'true',
        },
        { telegram_oauth: true, telegram_bot_name: BOT.name, wechat_login: true },
      );
    });

    test('trials check the bot’s token and ask the WeChat server; their errors hold no secret', async () => {
      const good = [await trial('telegram'), await trial('wechat')];
      expect(good.map(({ ok, steps }) => [ok, steps.map(({ name }) => name)])).toEqual([
        [true, ['token', 'name']],
        [true, ['connect', 'answer']],
      ]);
      wechat.mood = 'html';
      const broken = await trial('wechat');
      wechat.mood = 'well';
      expect([broken.ok, broken.steps.at(-1)?.name]).toEqual([false, 'answer']);
      await setOptions({ TelegramBotToken: 'not a token', WeChatServerToken: 'another' }, {});
      const bad = [await trial('telegram'), await trial('wechat')];
      wechat.complaints.length = 0;
      await setOptions({ TelegramBotToken: BOT.token, WeChatServerToken: WECHAT_TOKEN }, {});
      expect(bad.map(({ ok, steps }) => [ok, steps.at(-1)?.name])).toEqual([
        [false, 'token'],
        [false, 'token'],
      ]);
      for (const secret of [BOT.token, WECHAT_TOKEN]) expect(JSON.stringify([good, broken, bad])).not.toContain(secret);
    });

    describe('Telegram', () => {
      test('binding on one node, sign-in on another, with cookies and an audit row', async () => {
        const person = await enter();
        const id = newTelegramId();
        await bindTelegram(person, id);
        const login = await telegramLogin(widget(id));
        expect(readPerson(login).id).toBe(person.id);
        expect(data<{ session: { login_method: string } }>(login).session.login_method).toBe('telegram');
        expect(login.headers.getSetCookie().some((cookie) => cookie.startsWith('svc_refresh_'))).toBe(true);
        const self = data(await ask(`${url()}/api/user/self`, { token: person.token }));
        expect(self.bindings).toEqual([{ provider: 'telegram', subject: String(id) }]);
        const { items } = await admin.call<{ items: Record<string, unknown>[] }>('GET', '/api/audit?page_size=5');
        expect(items.find(({ action }) => action === 'user.identity.bind')).toMatchObject({
          username: person.username,
          auth_method: 'session',
          target: `user:${person.id}`,
          detail: { after: { provider: 'telegram', subject: String(id) } },
        });
      });

      test('sign-in refuses what is unbound, tampered with, repeated, incomplete, too old, too new and replayed', async () => {
        const person = await enter();
        const id = newTelegramId();
        await bindTelegram(person, id);
        const forged: [string, string][] = [
          ['tampered', String(widget(id)).replace('username=ada', 'username=eve')],
          ['repeated', `${widget(id)}&username=ada`],
          ['unsigned', String(widget(id)).replace(/&hash=.*/, '')],
          ['another bot’s', String(signWidget({ id }, nowSeconds(), { botToken: '1:another' }))],
          ['too old', String(widget(id, -310))],
          ['too new', String(widget(id, 130))],
          ['nothing', ''],
        ];
        for (const [what, query] of forged) {
          expect([what, ...outcome(await telegramLogin(query))]).toEqual([what, 401, 'AUTH_INVALID_CREDENTIALS']);
        }
        expect(outcome(await telegramLogin(widget(newTelegramId())))).toEqual([403, 'AUTH_IDENTITY_UNBOUND']);
        const query = widget(id);
        readPerson(await telegramLogin(query));
        for (const _ of nodes) {
          expect(outcome(await telegramLogin(query))).toEqual([403, 'AUTH_ASSERTION_REPLAYED']);
        }
      });

      test(`assertion replay: of ${RACERS} at once over all nodes one signs in`, async () => {
        const person = await enter();
        const id = newTelegramId();
        await bindTelegram(person, id);
        const query = widget(id);
        const all = await Promise.all(Array.from({ length: RACERS }, () => telegramLogin(query)));
        expect(all.filter(({ status }) => status === 200)).toHaveLength(1);
        expect(new Set(all.map(({ body }) => body.code))).toEqual(new Set([undefined, 'AUTH_ASSERTION_REPLAYED']));
      });

      test('login CSRF: a link signs no visitor in', async () => {
        const person = await enter();
        const id = newTelegramId();
        await bindTelegram(person, id);
        const query = widget(id);
        const links: Record<string, string>[] = [
          { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
          { accept: 'text/html,application/xhtml+xml' },
        ];
        for (const headers of links) {
          const answer = await telegramLogin(query, headers);
          expect(outcome(answer)).toEqual([403, 'AUTH_ORIGIN_FORBIDDEN']);
          expect(answer.headers.getSetCookie()).toEqual([]);
        }
        readPerson(await telegramLogin(query, { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' }));
      });

      test('the second factor is required', async () => {
        const person = await enter();
        const id = newTelegramId();
        await bindTelegram(person, id);
        const call = (path: string, body?: unknown) =>
          ask(`${nodes[0]?.url}${path}`, { method: 'POST', token: person.token, ...(body ? { body } : {}) });
        const { secret, backup_codes } = data<{ secret: string; backup_codes: string[] }>(
          await call('/api/user/2fa/setup'),
        );
        expect((await call('/api/user/2fa/enable', { code: new TOTP({ secret }).generate() })).status).toBe(200);
        const first = data<{ require_2fa: true; flow_token: string }>(await telegramLogin(widget(id)));
        expect(first.require_2fa).toBe(true);
        const body = { flow_token: first.flow_token, code: backup_codes[0] };
        expect(readPerson(await ask(`${url()}/api/user/login/2fa`, { body })).id).toBe(person.id);
      });

      test('binding reports what was wrong, and a refusal leaves the flow usable', async () => {
        const person = await enter();
        const { flow_token, callback_url } = await startBinding(person);
        const id = newTelegramId();
        expect(await comeBack(callback_url, `${widget(id)}&id=1`)).toBe('TELEGRAM_BIND_INVALID_REQUEST');
        expect(await comeBack(callback_url, '')).toBe('TELEGRAM_BIND_INVALID_REQUEST');
        expect(await comeBack(`${callback_url}x`, widget(id))).toBe('TELEGRAM_BIND_FLOW_INVALID');
        expect(await comeBack('/api/oauth/telegram/bind/%0d%0aset-cookie:x=y', widget(id))).toBe(
          'TELEGRAM_BIND_FLOW_INVALID',
        );
        // A flow of another purpose.
        expect(await comeBack(`/api/oauth/telegram/bind/${await wechatFlow()}`, widget(id))).toBe(
          'TELEGRAM_BIND_FLOW_INVALID',
        );
        const other = await enter();
        const taken = newTelegramId();
        await bindTelegram(other, taken);
        expect(await comeBack(callback_url, widget(taken))).toBe('TELEGRAM_BIND_ALREADY_BOUND');
        const used = widget(taken);
        readPerson(await telegramLogin(used));
        expect(await comeBack(callback_url, used)).toBe('TELEGRAM_BIND_ALREADY_BOUND');

        await backdoor.run('alter table external_identity_claims rename to claims_away');
        expect(await comeBack(callback_url, widget(id))).toBe('TELEGRAM_BIND_INTERNAL_ERROR');
        await backdoor.run('alter table claims_away rename to external_identity_claims');

        expect(await comeBack(callback_url, widget(id))).toBe('success');
        expect(await comeBack(callback_url, widget(id))).toBe('TELEGRAM_BIND_FLOW_INVALID');
        const again = await ask(`${url()}/api/oauth/telegram/bind/start`, { method: 'POST', token: person.token });
        expect(outcome(again)).toEqual([409, 'AUTH_IDENTITY_TAKEN']);
        expect(flow_token).toHaveLength(43);
      });

      test('an expired flow binds nothing', async () => {
        const person = await enter();
        const late = await startBinding(person);
        await letFlowsExpire();
        const query = widget(newTelegramId());
        expect(await comeBack(late.callback_url, query)).toBe('TELEGRAM_BIND_FLOW_INVALID');
        expect(await comeBack((await startBinding(person)).callback_url, query)).toBe('success');
      });

      test('bind CSRF: leading a victim through the widget to an attacker’s callback binds nothing', async () => {
        const [attacker, victim] = [await enter(), await enter()];
        const { flow_token, callback_url } = await startBinding(attacker);
        const victims = await startBinding(victim);
        const id = newTelegramId();
        const query = widget(id);
        const browsers = [
          '',
          'svc_telegram_bind=',
          `svc_telegram_bind=${flow_token}`,
          'svc_telegram_bind=%7B%7D',
          // The victim is about to bind their own account in this browser.
          bindCookie(victims.flow_token),
        ];
        for (const cookies of browsers) {
          expect([cookies, await comeBack(callback_url, query, cookies)]).toEqual([
            cookies,
            'TELEGRAM_BIND_SESSION_INVALID',
          ]);
        }
        expect(await backdoor.run(`select 1 from external_identity_claims where subject = '${id}'`)).toEqual([]);
        // Nothing was used up: the victim's own binding accepts this answer, and the attacker's
        // flow still works in their browser.
        expect(await comeBack(victims.callback_url, query)).toBe('success');
        expect(readPerson(await telegramLogin(widget(id))).id).toBe(victim.id);
        expect(await comeBack(callback_url, widget(newTelegramId()))).toBe('success');
      });

      test('binding checks its session again: ended, user disabled, user deleted', async () => {
        const gone = await enter();
        const afterLogout = await startBinding(gone);
        const ended = await ask(`${url()}/api/user/sessions/${gone.sid}`, { method: 'DELETE', token: gone.token });
        expect(ended.status).toBe(200);
        // Another session of the same user does not make up for it.
        await signIn(gone.username);
        const id = newTelegramId();
        expect(await comeBack(afterLogout.callback_url, widget(id))).toBe('TELEGRAM_BIND_SESSION_INVALID');

        for (const [set, code] of [
          ['status = 2', 'TELEGRAM_BIND_USER_DISABLED'],
          ['deleted_at = 1', 'TELEGRAM_BIND_USER_DELETED'],
        ] as const) {
          const person = await enter();
          const { callback_url } = await startBinding(person);
          await backdoor.run(`update users set ${set} where id = ${person.id}`);
          expect(await comeBack(callback_url, widget(id))).toBe(code);
        }
        expect(await backdoor.run(`select 1 from external_identity_claims where subject = '${id}'`)).toEqual([]);
      });

      test('a binding needs a session: a personal access token or none is refused', async () => {
        const person = await enter();
        const pat = data<{ token: string }>(
          await ask(`${url()}/api/user/token`, { method: 'POST', token: person.token }),
        );
        const start = (headers: Record<string, string>) =>
          ask(`${url()}/api/oauth/telegram/bind/start`, { method: 'POST', headers });
        expect(outcome(await start({ authorization: pat.token }))).toEqual([403, 'AUTH_SESSION_REQUIRED']);
        expect(outcome(await start({}))).toEqual([401, 'AUTH_UNAUTHORIZED']);
      });
    });

    describe('WeChat', () => {
      test('binding, then sign-in, over all nodes; a flow of another session binds nothing', async () => {
        const [person, other] = [await enter(), await enter()];
        const subject = `openid-${person.id}`;
        const flow = await wechatBindFlow(person);
        expect(outcome(await wechatBind(other, newCode(subject), flow))).toEqual([400, 'AUTH_FLOW_INVALID']);
        expect(outcome(await wechatBind(person, 'wrong-code-of-wechat', flow))).toEqual([400, 'AUTH_CODE_INVALID']);
        expect((await wechatBind(person, newCode(subject), flow)).status).toBe(200);
        expect(outcome(await wechatBind(person, newCode(subject), flow))).toEqual([400, 'AUTH_FLOW_INVALID']);
        const login = await wechatLogin(newCode(subject));
        expect(readPerson(login).id).toBe(person.id);
        expect(data<{ session: { login_method: string } }>(login).session.login_method).toBe('wechat');

        const theirs = await wechatBind(other, newCode(subject), await wechatBindFlow(other));
        expect(outcome(theirs)).toEqual([409, 'AUTH_IDENTITY_TAKEN']);
        const { items } = await admin.call<{ items: Record<string, unknown>[] }>('GET', '/api/audit?page_size=20');
        expect(items.find(({ action }) => action === 'user.identity.bind')).toMatchObject({
          detail: { after: { provider: 'wechat', subject } },
        });
      });

      test('login CSRF and replay: no flow, a made-up one, a used one, a link', async () => {
        const person = await enter();
        const subject = `openid-${person.id}`;
        expect((await wechatBind(person, newCode(subject), await wechatBindFlow(person))).status).toBe(200);
        const flow = await wechatFlow();
        const link = await wechatLogin(newCode(subject), flow, { 'sec-fetch-site': 'cross-site' });
        expect(outcome(link)).toEqual([403, 'AUTH_ORIGIN_FORBIDDEN']);
        readPerson(await wechatLogin(newCode(subject), flow));
        for (const state of [flow, '', 'A'.repeat(43)]) {
          expect(outcome(await wechatLogin(newCode(subject), state))).toEqual([400, 'AUTH_FLOW_INVALID']);
        }
        expect(outcome(await get('/api/oauth/wechat', `code=${newCode(subject)}`))).toEqual([400, 'VALIDATION_FAILED']);
      });

      test('an expired flow, and one of another provider or purpose, signs nobody in and binds nothing', async () => {
        const person = await enter();
        const subject = `openid-${person.id}`;
        const flows = { login: await wechatFlow(), binding: await wechatBindFlow(person) };
        await letFlowsExpire();
        const code = newCode(subject);
        const { flow_token: telegrams } = await startBinding(person);
        const refused = [
          await wechatBind(person, code, flows.binding),
          await wechatBind(person, code, await wechatFlow()),
          await wechatBind(person, code, telegrams),
          await wechatLogin(code, flows.login),
          await wechatLogin(code, telegrams),
          await wechatLogin(code, await wechatBindFlow(person)),
        ];
        expect(refused.map(outcome)).toEqual(refused.map(() => [400, 'AUTH_FLOW_INVALID']));
        // The WeChat server was not even asked for the code.
        expect(wechat.asked).not.toContain(code);
        expect((await wechatBind(person, code, await wechatBindFlow(person))).status).toBe(200);
        expect(readPerson(await wechatLogin(code)).id).toBe(person.id);
      });

      test('every failure of the WeChat server is a failed provider; the flow can be used when it is back', async () => {
        const person = await enter();
        const subject = `openid-${person.id}`;
        expect((await wechatBind(person, newCode(subject), await wechatBindFlow(person))).status).toBe(200);
        const flow = await wechatFlow();
        const moods: WeChatMood[] = ['garbage', 'html', 'broken', 'redirect', 'odd subject', 'endless', 'hang'];
        for (const mood of moods) {
          wechat.mood = mood;
          const lived = startLivedTime();
          const answer = await wechatLogin(newCode(subject), flow);
          expect([mood, ...outcome(answer)]).toEqual([mood, 502, 'AUTH_PROVIDER_FAILED']);
          expect(JSON.stringify(answer.body)).not.toContain(wechat.url);
          expect(lived.stop()).toBeLessThan(15_000);
        }
        wechat.mood = 'well';
        expect(outcome(await wechatLogin('wrong-code-of-wechat', flow))).toEqual([400, 'AUTH_CODE_INVALID']);
        readPerson(await wechatLogin(newCode(subject), flow));
      });

      test(`new accounts need open registration; of ${RACERS} who bind one identity at once one owns it`, async () => {
        const code = newCode('openid-of-a-new-user');
        expect(outcome(await wechatLogin(code))).toEqual([403, 'AUTH_REGISTRATION_DISABLED']);
        await setOptions({ RegisterEnabled: 'true' }, { register_enabled: true });
        const newUser = readPerson(await wechatLogin(code));
        expect(newUser.username).toMatch(/^wechat_\d+$/);
        expect(readPerson(await wechatLogin(code)).id).toBe(newUser.id);
        const { items } = await admin.call<{ items: Record<string, unknown>[] }>('GET', '/api/audit?page_size=5');
        expect(items.filter(({ action }) => action === 'user.register')).toMatchObject([
          { username: newUser.username, detail: { provider: 'wechat' } },
        ]);

        const people: Person[] = [];
        for (let i = 0; i < RACERS; i += 1)
          people.push(readPerson(await wechatLogin(newCode(`openid-of-new-user-${i}`))));
        await setOptions({ RegisterEnabled: 'false' }, { register_enabled: false });
        const flows = [];
        for (const person of people) flows.push(await startBinding(person));
        const id = newTelegramId();
        const all = await Promise.all(flows.map(({ callback_url }) => comeBack(callback_url, widget(id))));
        expect(all.filter((one) => one === 'success')).toHaveLength(1);
        expect(new Set(all)).toEqual(new Set(['success', 'TELEGRAM_BIND_ALREADY_BOUND']));
        const owner = readPerson(await telegramLogin(widget(id)));
        expect(owner.id).toBe(people[all.indexOf('success')]?.id as number);

        // The same people, without their WeChat identities.
        await backdoor.run(`delete from external_identity_claims where provider = 'wechat'`);
        const bindings = [];
        for (const person of people) bindings.push({ person, flow: await wechatBindFlow(person) });
        const contested = Array.from({ length: RACERS }, () => newCode('openid-of-one'));
        const answers = await Promise.all(
          bindings.map(({ person, flow }, i) => wechatBind(person, contested[i] as string, flow)),
        );
        expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
        expect(new Set(answers.map(({ body }) => body.code))).toEqual(new Set([undefined, 'AUTH_IDENTITY_TAKEN']));
        const winner = people[answers.findIndex(({ status }) => status === 200)]?.id as number;
        expect(readPerson(await wechatLogin(newCode('openid-of-one'))).id).toBe(winner);
      });
    });

    test('no flow token, code, hash or bot token is in a log; requests to the WeChat server have the right form', async () => {
      expect(wechat.complaints).toEqual([]);
      const [odd] = [...secrets].slice(-1);
      await ask(`${url()}/api/oauth/telegram/bind/${odd}`, { method: 'POST' });
      await ask(`${url()}/api/oauth/telegram/bind/${odd}/more`);
      for (const node of nodes) await node.stop();
      for (const node of nodes) {
        const lines = node.log().split('\n');
        expect(lines.some((line) => line.includes('/api/oauth/telegram/bind/'))).toBe(true);
        for (const secret of secrets) {
          expect([secret, lines.find((line) => line.includes(secret))]).toEqual([secret, undefined]);
        }
      }
    });
  });
}
