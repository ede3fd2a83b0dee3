/** Sign-in and binding by WeChat, with a WeChat server on loopback. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import type { Auth, AuthSettings, PanelPrincipal } from '../../src/auth/index.ts';
import { createMemoryCounters } from '../../src/store/index.ts';
import type { Store, UserRecord } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { startLivedTime } from '../support/lived-time.ts';
import { PNG, startWeChatServer, WECHAT_TOKEN, type WeChatMood, type WeChatServer } from '../support/wechat-server.ts';
import { addProtectedUser } from './authenticator-app.ts';
import {
  enterQuickly,
  expectSignInRow,
  ORIGIN,
  openAuth,
  openTestStore,
  originFor,
  overriding,
  testSettings,
} from './harness.ts';
import { refusal } from './refusal.ts';
import { createTestClock, type TestClock } from './test-clock.ts';

let people = 0;
function newPerson(): string {
  people += 1;
  return `oWx_${people}-openid`;
}

const TROUBLE: WeChatMood[] = ['garbage', 'html', 'broken', 'redirect', 'odd subject', 'endless'];

for (const dialect of RULE_DATABASES) {
  describe(`WeChat on ${dialect}`, () => {
    let store: Store;
    let stop: () => Promise<void>;
    let clock: TestClock;
    let auth: Auth;
    let server: WeChatServer;
    let settings: AuthSettings;

    beforeAll(async () => {
      ({ store, stop } = await openTestStore(dialect));
      server = startWeChatServer();
      clock = createTestClock();
      auth = openAuth(store, { clock, settings: () => settings });
      reset();
    });
    afterEach(() => {
      expect(server.complaints).toEqual([]);
      reset();
    });
    afterAll(async () => {
      await server.stop();
      await stop();
    });

    function reset(): void {
      settings = testSettings();
      settings.providers.wechat = { serverAddress: server.url, serverToken: WECHAT_TOKEN, qrCodeUrl: '' };
      server.mood = 'well';
      server.asked = [];
    }
    function codeFor(subject: string): string {
      const code = String(100_000 + server.codes.size);
      server.codes.set(code, subject);
      return code;
    }
    const enter = () => enterQuickly(store, clock);
    async function bound(): Promise<{ user: UserRecord; subject: string }> {
      const user = await addUser(store);
      const subject = newPerson();
      await store.identities.claim({ provider: 'wechat', subject, userId: user.id, createdAt: 1 });
      return { user, subject };
    }
    const beginLogin = async () => (await auth.wechat.beginSignIn()).flow_token;
    const logIn = async (code: string, flowToken?: string, origin = ORIGIN) =>
      (await auth.wechat.signIn({ code, flowToken: flowToken ?? (await beginLogin()), origin })).signIn;
    const beginBinding = async (principal: PanelPrincipal) => (await auth.wechat.beginBinding(principal)).flow_token;
    const bind = (principal: PanelPrincipal, flowToken: string, code: string) =>
      auth.wechat.bind(principal, { code, flowToken, origin: ORIGIN });
    const readOwner = async (subject: string) => (await store.identities.owner('wechat', subject))?.userId;

    describe('the picture to scan', () => {
      const show = (path: string) => {
        settings.providers.wechat = {
          ...settings.providers.wechat,
          qrCodeUrl: `${server.url}/pictures/${path}`,
        } as never;
        return auth.wechat.qrCode();
      };

      test('is fetched by the gateway once in ten minutes, with the type of its bytes', async () => {
        const before = server.pictures;
        const shown = await Promise.all([show('qr.png'), show('qr.png'), show('qr.png')]);
        expect(shown.map(({ mimeType }) => mimeType)).toEqual(['image/png', 'image/png', 'image/png']);
        expect(Buffer.from(shown[0]?.bytes ?? []).equals(PNG)).toBe(true);
        clock.advance(570);
        // A clock that is set back keeps nothing longer.
        clock.advance(-8 * 3600);
        await show('qr.png');
        expect(server.pictures - before).toBe(1);
        clock.advance(31);
        await show('qr.png');
        expect(server.pictures - before).toBe(2);
      });

      test.each(['page', 'vector.svg', 'moved', 'endless', 'missing'])(
        'stored cross-site scripting and server-side request forgery: %s is refused, and not fetched again at once',
        async (path) => {
          const before = server.pictures;
          await refusal(show(path), 'auth.provider_failed');
          await refusal(show(path), 'auth.provider_failed');
          expect(server.pictures - before).toBe(1);
          clock.advance(31);
          await refusal(show(path), 'auth.provider_failed');
          expect(server.pictures - before).toBe(2);
        },
      );

      test('is absent without an address, or while WeChat is off', async () => {
        await refusal(auth.wechat.qrCode(), 'auth.method_disabled');
        settings.providers.wechat = undefined;
        await refusal(auth.wechat.qrCode(), 'auth.method_disabled');
      });
    });

    describe('sign-in', () => {
      test('of the owner of the identity: a session by the method wechat', async () => {
        const { user, subject } = await bound();
        const ticket = await auth.wechat.beginSignIn();
        expect(ticket.expires_at).toBe(clock.unix() + 600);
        const login = await logIn(codeFor(subject), ticket.flow_token);
        if (login.kind !== 'session') throw new Error('a second factor was asked');
        expect(login.bundle.user.id).toBe(user.id);
        expect(login.bundle.session.login_method).toBe('wechat');
        await expectSignInRow(store, user, 'wechat');
      });

      test('asks for the second factor if there is one', async () => {
        const { user } = await addProtectedUser(auth, store, clock);
        const subject = newPerson();
        await store.identities.claim({ provider: 'wechat', subject, userId: user.id, createdAt: 1 });
        expect((await logIn(codeFor(subject))).kind).toBe('require_2fa');
      });

      test('creates no account while registration is closed, and keeps the flow for another code', async () => {
        const subject = newPerson();
        const flow = await beginLogin();
        await refusal(logIn(codeFor(subject), flow), 'auth.registration_disabled');
        expect(await readOwner(subject)).toBeUndefined();
        const known = await bound();
        expect((await logIn(codeFor(known.subject), flow)).kind).toBe('session');
      });

      test('creates an account with the registration grant while registration is open', async () => {
        settings.registration.enabled = true;
        settings.registration.quotaForNewUser = 1234;
        const subject = newPerson();
        const login = await logIn(codeFor(subject));
        if (login.kind !== 'session') throw new Error('a second factor was asked');
        expect(login.bundle.user).toMatchObject({
          username: expect.stringMatching(/^wechat_\d+$/),
          display_name: 'WeChat User',
          quota: 1234,
          has_password: false,
          bindings: [{ provider: 'wechat', subject }],
        });
        const again = await logIn(codeFor(subject));
        expect(again.kind === 'session' && again.bundle.user.id).toBe(login.bundle.user.id);
      });

      test('double registration: 20 concurrent first sign-ins of one person create one account', async () => {
        settings.registration.enabled = true;
        const subject = newPerson();
        const code = codeFor(subject);
        const all = await Promise.all(Array.from({ length: 20 }, () => logIn(code)));
        const ids = new Set(all.map((login) => login.kind === 'session' && login.bundle.user.id));
        expect([...ids]).toEqual([Number(await readOwner(subject))]);
      });

      test('a disabled user is refused', async () => {
        const { user, subject } = await bound();
        await store.users.administer(user.id, { status: 2 }, user.authVersion);
        await refusal(logIn(codeFor(subject)), 'auth.user_disabled');
      });

      test('login CSRF and flow confusion: without a login flow the server is not called and nobody signs in', async () => {
        const { subject } = await bound();
        const principal = await enter();
        const used = await beginLogin();
        await logIn(codeFor(subject), used);
        const expired = await beginLogin();
        clock.advance(600);
        server.asked = [];
        const binding = await beginBinding(principal);
        const passkey = (await auth.passkeys.signIn.begin()).flow_token;
        for (const flow of ['', 'A'.repeat(43), used, expired, binding, passkey]) {
          await refusal(logIn(codeFor(subject), flow), 'auth.flow_invalid');
        }
        expect(server.asked).toEqual([]);
      });

      test('flow replay: 20 concurrent sign-ins with one flow: one gets a session', async () => {
        const { user, subject } = await bound();
        const [flow, code] = [await beginLogin(), codeFor(subject)];
        const all = await Promise.allSettled(Array.from({ length: 20 }, () => logIn(code, flow)));
        expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
        expect(await store.sessions.countActive(user.id, clock.unix())).toBe(1);
      });

      test('a session limit keeps the flow unused', async () => {
        const { user, subject } = await bound();
        const strict = openAuth(store, { clock, settings: () => settings, config: { activeSessionLimit: 0 } });
        const flowToken = await beginLogin();
        const code = codeFor(subject);
        await refusal(strict.wechat.signIn({ code, flowToken, origin: ORIGIN }), 'auth.session_limit');
        const login = await logIn(code, flowToken);
        expect(login.kind === 'session' && login.bundle.user.id).toBe(user.id);
      });
    });

    describe('codes', () => {
      test('wrong codes, empty answers and malformed codes are refused alike; malformed ones are not forwarded', async () => {
        const flow = await beginLogin();
        server.codes.set('77', '');
        await refusal(logIn('000000', flow), 'auth.code_invalid');
        await refusal(logIn('77', flow), 'auth.code_invalid');
        server.asked = [];
        for (const code of ['', '1&x=2', '../user', 'ü', ' 1', 'a'.repeat(65), '1\0']) {
          await refusal(logIn(code, flow), 'auth.code_invalid');
        }
        expect(server.asked).toEqual([]);
      });

      test('code guessing from many addresses: a flow ends after five wrong codes, and all together after sixty a minute', async () => {
        // Its own node, whose minute begins here and does not end.
        const counters = createMemoryCounters();
        const windows = new Map<string, number>();
        const lasting = overriding(counters, {
          add(key, amount, windowSeconds) {
            windows.set(key, windowSeconds);
            return counters.add(key, amount, 60 * windowSeconds);
          },
        });
        auth = openAuth(store, { clock, settings: () => settings, counters: lasting });
        let addresses = 0;
        const elsewhere = () => {
          addresses += 1;
          return originFor(`203.0.113.${addresses}`);
        };
        const { subject } = await bound();
        const code = codeFor(subject);
        const principal = await enter();
        const binding = await beginBinding(principal);
        for (let i = 0; i < 5; i += 1) {
          const answer = { code: '999999', flowToken: binding, origin: elsewhere() };
          await refusal(auth.wechat.bind(principal, answer), 'auth.code_invalid');
        }
        await refusal(bind(principal, binding, code), 'auth.flow_invalid');
        // Many concurrent attempts count as five at most too.
        const contested = await beginLogin();
        server.asked = [];
        const all = await Promise.allSettled(Array.from({ length: 30 }, () => logIn('999999', contested, elsewhere())));
        expect(all.every(({ status }) => status === 'rejected')).toBe(true);
        expect(server.asked.length).toBe(5);
        await refusal(logIn(code, contested, elsewhere()), 'auth.flow_invalid');

        for (let i = 10; i < 60; i += 1) await refusal(logIn('999999', undefined, elsewhere()), 'auth.code_invalid');
        server.asked = [];
        const error = await refusal(logIn('999999', undefined, elsewhere()), 'auth.too_many_attempts');
        expect(windows.get('wechat-codes')).toBe(60);
        expect(error.retryAfterSeconds).toBeWithin(60, 60 * 60 + 1);
        expect(server.asked).toEqual([]);
        auth = openAuth(store, { clock, settings: () => settings });
        expect((await logIn(code)).kind).toBe('session');
      });

      test('code guessing: five wrong codes per flow, fifty per address over all flows', async () => {
        const origin = originFor(dialect === 'sqlite' ? '198.51.100.1' : '198.51.100.2');
        const flow = await beginLogin();
        for (let i = 0; i < 5; i += 1) await refusal(logIn('999999', flow, origin), 'auth.code_invalid');
        await refusal(logIn('999999', flow, origin), 'auth.flow_invalid');
        for (let i = 0; i < 45; i += 1) await refusal(logIn('999999', await beginLogin(), origin), 'auth.code_invalid');
        const { subject } = await bound();
        const code = codeFor(subject);
        server.asked = [];
        await refusal(logIn(code, await beginLogin(), origin), 'auth.too_many_attempts');
        expect(server.asked).toEqual([]);
        expect((await logIn(code)).kind).toBe('session');
      });
    });

    describe('a failing WeChat server', () => {
      test.each(TROUBLE)('%s: answers as a provider failure, and flow and code stay usable', async (mood) => {
        const { subject } = await bound();
        const [flow, code] = [await beginLogin(), codeFor(subject)];
        server.mood = mood;
        const error = await refusal(logIn(code, flow), 'auth.provider_failed');
        expect(error.kind).toBe('upstream_failed');
        expect(error.message).not.toContain(server.url);
        expect(error.message).not.toContain(code);
        expect(server.asked).toEqual([code]);
        server.mood = 'well';
        expect((await logIn(code, flow)).kind).toBe('session');
      });

      test('one that hangs times out after five seconds and delays no password sign-in', async () => {
        const { subject } = await bound();
        const user = await addUser(store);
        const [flow, code] = [await beginLogin(), codeFor(subject)];
        server.mood = 'hang';
        const started = performance.now();
        const lived = startLivedTime();
        let givenUp = 0;
        const waiting = Array.from({ length: 4 }, () =>
          refusal(logIn(code, flow), 'auth.provider_failed').finally(() => {
            givenUp += 1;
          }),
        );
        await auth.passwords.signIn({ username: user.username, password: 'correct horse battery', origin: ORIGIN });
        expect(givenUp).toBe(0);
        await Promise.all(waiting);
        expect(performance.now() - started).toBeGreaterThan(4900);
        expect(lived.stop()).toBeLessThan(15_000);
        server.mood = 'well';
        expect((await logIn(code, flow)).kind).toBe('session');
      });

      test('one that is unreachable', async () => {
        settings.providers.wechat = { serverAddress: 'http://127.0.0.1:9', serverToken: WECHAT_TOKEN, qrCodeUrl: '' };
        await refusal(logIn('123456'), 'auth.provider_failed');
      });

      test('one that refuses the token', async () => {
        settings.providers.wechat = { serverAddress: server.url, serverToken: 'another', qrCodeUrl: '' };
        await refusal(logIn('123456'), 'auth.provider_failed');
        expect(server.complaints).toEqual(['authorization']);
        server.complaints = [];
      });
    });

    describe('binding', () => {
      test('binds the identity to the user whose session began it', async () => {
        const principal = await enter();
        const subject = newPerson();
        const done = await bind(principal, await beginBinding(principal), codeFor(subject));
        expect(done).toEqual({ subject });
        expect(await readOwner(subject)).toBe(principal.user.id);
        const login = await logIn(codeFor(subject));
        expect(login.kind === 'session' && login.bundle.user.id).toBe(principal.user.id);
      });

      test('flow confusion: only the session that began it can use it, once, and no login flow', async () => {
        const [mine, theirs] = [await enter(), await enter()];
        const flow = await beginBinding(mine);
        const code = codeFor(newPerson());
        await refusal(bind(theirs, flow, code), 'auth.flow_invalid');
        await refusal(bind({ ...mine, sid: theirs.sid }, flow, code), 'auth.flow_invalid');
        await refusal(bind(mine, await beginLogin(), code), 'auth.flow_invalid');
        await refusal(bind({ kind: 'pat', user: mine.user, tokenHash: '' }, flow, code), 'auth.session_required');
        expect(server.asked).toEqual([]);
        await bind(mine, flow, code);
        await refusal(bind(mine, flow, codeFor(newPerson())), 'auth.flow_invalid');
      });

      test("identity theft: another user's identity stays theirs, and the flow can bind another one", async () => {
        const theirs = await bound();
        const principal = await enter();
        const flow = await beginBinding(principal);
        await refusal(bind(principal, flow, codeFor(theirs.subject)), 'auth.identity_taken');
        expect(await readOwner(theirs.subject)).toBe(theirs.user.id);
        await bind(principal, flow, codeFor(newPerson()));
        await refusal(auth.wechat.beginBinding(principal), 'auth.identity_taken');
      });

      test('identity theft: 50 users bind one identity at once: one owns it', async () => {
        const code = codeFor(newPerson());
        const flows = await Promise.all(
          Array.from({ length: 50 }, async () => {
            const principal = await enter();
            return { principal, flow: await beginBinding(principal) };
          }),
        );
        const all = await Promise.allSettled(flows.map(({ principal, flow }) => bind(principal, flow, code)));
        expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
        const codes = new Set(all.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : [])));
        expect([...codes]).toEqual(['auth.identity_taken']);
      });

      test('session fixation: a session that ended during the call binds nothing', async () => {
        const principal = await enter();
        const flow = await beginBinding(principal);
        await store.sessions.revoke(principal.sid, 'logout', clock.unix());
        const subject = newPerson();
        await refusal(bind(principal, flow, codeFor(subject)), 'auth.session_revoked');
        expect(await readOwner(subject)).toBeUndefined();
      });
    });

    test('while off or not set up nothing works, not even flows begun before', async () => {
      const { subject } = await bound();
      const principal = await enter();
      const [login, binding] = [await beginLogin(), await beginBinding(principal)];
      settings.providers.wechat = undefined;
      await refusal(auth.wechat.beginSignIn(), 'auth.method_disabled');
      await refusal(auth.wechat.beginBinding(principal), 'auth.method_disabled');
      await refusal(logIn(codeFor(subject), login), 'auth.method_disabled');
      await refusal(bind(principal, binding, codeFor(newPerson())), 'auth.method_disabled');
      expect(server.asked).toEqual([]);
    });
  });
}
