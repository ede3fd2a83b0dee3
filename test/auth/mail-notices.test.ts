/** Emails that tell the owner of an account of new devices and of changes to what protects it. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Auth, AuthSettings, DecidingIp, PanelPrincipal, RequestOrigin } from '../../src/auth/index.ts';
import { nameDevice } from '../../src/auth/mail/notify-owner.ts';
import type { NoticeSubject } from '../../src/auth/mail/types.ts';
import type { Store, UserRecord } from '../../src/store/ports/index.ts';
import type { Mail, SendMail } from '../../src/upstream/index.ts';
import { addUser } from '../support/add-user.ts';
import { PASSWORD } from '../support/cheap-hash.ts';
import { ALICE, type IdentityProvider, startIdentityProvider } from '../support/identity-provider.ts';
import { startLivedTime } from '../support/lived-time.ts';
import { BOT, signWidget } from '../support/telegram-widget.ts';
import { until } from '../support/until.ts';
import { startWeChatServer, WECHAT_TOKEN, type WeChatServer } from '../support/wechat-server.ts';
import { createApp, readPrincipal } from './authenticator-app.ts';
import { openAuth, openTestStore, originFor, signIn } from './harness.ts';
import { codeIn, type Mailbox, mailSettings, newPerson, openMailAuth, tokenIn } from './mail-harness.ts';
import { type Caller, goThere } from './oauth-harness.ts';
import { newAuthenticator } from './passkeys-harness.ts';
import { createTestClock, type TestClock } from './test-clock.ts';

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36';
const NEW_PASSWORD = 'another long password';
const HOME = originFor('198.51.100.1', FIREFOX);

describe('mails to the owner of an account', () => {
  let store: Store;
  let stop: () => Promise<void>;
  let idp: IdentityProvider;
  let wechat: WeChatServer;
  let clock: TestClock;
  let settings: AuthSettings;
  let auth: Auth;
  let mailbox: Mailbox;
  let root: PanelPrincipal;
  let user: UserRecord;

  beforeAll(async () => {
    ({ store, stop } = await openTestStore('sqlite'));
    idp = await startIdentityProvider();
    wechat = startWeChatServer();
    root = { kind: 'pat', user: await addUser(store, { role: 100 }), tokenHash: '' };
  });
  afterAll(async () => {
    await idp.stop();
    await wechat.stop();
    await stop();
  });
  beforeEach(async () => {
    clock = createTestClock();
    settings = mailSettings();
    const providers = {
      ...idp.settings(),
      telegram: { botName: BOT.name, botToken: BOT.token },
      wechat: { serverAddress: wechat.url, serverToken: WECHAT_TOKEN, qrCodeUrl: '' },
    };
    settings.providers = { ...settings.providers, ...providers };
    ({ auth, mailbox } = openMailAuth(store, { settings: () => settings, clock: { ...clock, sleep: async () => {} } }));
    const { email } = newPerson();
    user = await addUser(store, { email });
    await store.identities.claim({ provider: 'email', subject: email, userId: user.id, createdAt: 1 });
  });

  const enter = async (origin = HOME): Promise<PanelPrincipal> => ({
    ...(await readPrincipal(auth, await signIn(auth, user, origin))),
    origin,
  });
  const address = () => user.email ?? '';
  async function prove(me: PanelPrincipal): Promise<string> {
    const request = { method: 'password', password: PASSWORD, scope: 'account.email', origin: HOME } as const;
    return (await auth.proofs.prove(me, request)).proof_token;
  }
  const renewed = async (token: string): Promise<PanelPrincipal> => ({
    ...(await auth.authenticatePanel(`Bearer ${token}`)),
    origin: HOME,
  });
  async function switchTwoFactorOn(me: PanelPrincipal) {
    const { secret } = await auth.twoFactor.setUp(me);
    const app = createApp(secret, clock);
    const { access_token } = await auth.twoFactor.enable(me, app.code(-1));
    return { app, me: await renewed(access_token) };
  }
  async function addPasskey(me: PanelPrincipal) {
    const { options, flow_token: flowToken } = await auth.passkeys.registration.begin(me, undefined);
    const authenticator = newAuthenticator({ origin: 'https://gate.example.org', rpId: 'gate.example.org' });
    const credential = authenticator.create(options.publicKey);
    const { bundle } = await auth.passkeys.registration.finish(me, { flowToken, credential, proof: undefined });
    return { authenticator, me: await renewed(bundle.access_token) };
  }
  async function bindTelegram(me: PanelPrincipal): Promise<void> {
    const { flow_token: token } = await auth.telegram.binding.begin(me);
    await auth.telegram.binding.finish(token, signWidget({ id: String(user.id) }, clock.unix()), HOME);
  }
  async function changeAddress(me: PanelPrincipal): Promise<void> {
    const { email } = newPerson();
    await auth.mail.address.sendCode(me, { email, origin: HOME });
    const code = codeIn(await mailbox.next(email));
    await auth.mail.address.bind(me, { email, code, proof: await prove(me) });
  }

  type Row = [about: NoticeSubject, how: string, says: string, act: (me: PanelPrincipal) => Promise<unknown>];
  const own: Row[] = [
    [
      'password_changed',
      'by themselves',
      'password',
      (me) => auth.passwords.change(me, { currentPassword: PASSWORD, newPassword: NEW_PASSWORD, origin: HOME }),
    ],
    [
      'password_reset',
      'by a mailed link',
      'link sent to this address',
      async () => {
        await auth.passwords.byMail.request({ email: address(), origin: HOME });
        const token = tokenIn(await mailbox.next(address()));
        await auth.passwords.byMail.finish({ email: address(), token, password: NEW_PASSWORD, origin: HOME });
      },
    ],
    ['two_factor_enabled', 'by themselves', 'now asks for a code', switchTwoFactorOn],
    [
      'two_factor_disabled',
      'by themselves',
      'no longer asks for a code',
      async (first) => {
        const { app, me } = await switchTwoFactorOn(first);
        await auth.twoFactor.disable(me, { code: app.code(), origin: HOME });
      },
    ],
    [
      'backup_codes_replaced',
      'by themselves',
      'New backup codes',
      async (first) => {
        const { app, me } = await switchTwoFactorOn(first);
        await auth.twoFactor.replaceBackupCodes(me, { code: app.code(), origin: HOME });
      },
    ],
    ['passkey_added', 'by themselves', 'A passkey was added', addPasskey],
    [
      'passkey_removed',
      'by themselves',
      'passkeys were removed',
      async (first) => {
        const { authenticator, me } = await addPasskey(first);
        const { options, flow_token: flowToken } = await auth.passkeys.confirmation.begin(me, 'passkey.delete');
        const credential = authenticator.get(options.publicKey);
        const { proof_token: proof } = await auth.passkeys.confirmation.finish(me, { flowToken, credential });
        await auth.passkeys.delete(me, { proof });
      },
    ],
    ['identity_bound', 'at Telegram', 'Telegram', bindTelegram],
    [
      'identity_bound',
      'at WeChat',
      'WeChat',
      async (me) => {
        wechat.codes.set('123456', `wx-${user.id}`);
        const { flow_token: flowToken } = await auth.wechat.beginBinding(me);
        await auth.wechat.bind(me, { code: '123456', flowToken, origin: HOME });
      },
    ],
    [
      'identity_bound',
      'at GitHub',
      'GitHub',
      async (me) => {
        idp.state.person = { ...ALICE, id: String(user.id) };
        const caller = { principal: async () => me } as Caller;
        const { query } = await goThere(auth, idp, { provider: 'github', caller });
        const { state = '', code } = query;
        const none = { iss: undefined, error: undefined, errorDescription: undefined };
        await auth.oauth.finish({ principal: me, provider: 'github', origin: HOME, state, code, ...none });
      },
    ],
    [
      'identity_unbound',
      'by themselves',
      'Telegram',
      async (me) => {
        await bindTelegram(me);
        await auth.oauth.bindings.unbind(me, 'telegram');
      },
    ],
    ['address_changed', 'by themselves, to the former address', 'a different email address', changeAddress],
    [
      'address_removed',
      'by themselves, to the former address',
      'removed from your account',
      async (me) => auth.mail.address.unbind(me, { proof: await prove(me) }),
    ],
    ['personal_token_made', 'by themselves', 'access token was created', (me) => auth.personalTokens.create(me)],
  ];
  const byAdministrator: Row[] = [
    ['password_changed', '', 'password', () => auth.administration.edit(root, user.id, { password: NEW_PASSWORD })],
    ['address_changed', '', 'a different email', () => auth.administration.edit(root, user.id, newPerson())],
    [
      'address_removed',
      '',
      'removed from your account',
      () => auth.administration.edit(root, user.id, { email: null }),
    ],
    [
      'address_removed',
      'as a binding',
      'removed from your account',
      () => auth.administration.reset.binding(root, user.id, 'email'),
    ],
    [
      'two_factor_disabled',
      '',
      'no longer asks',
      async (me) => {
        await switchTwoFactorOn(me);
        await auth.administration.reset.twoFactor(root, user.id);
      },
    ],
    [
      'passkey_removed',
      '',
      'passkeys were removed',
      async (me) => {
        await addPasskey(me);
        await auth.administration.reset.passkeys(root, user.id);
      },
    ],
    [
      'identity_unbound',
      '',
      'Telegram',
      async (me) => {
        await bindTelegram(me);
        await auth.administration.reset.binding(root, user.id, 'telegram');
      },
    ],
    [
      'personal_token_removed',
      '',
      'was deleted',
      async (me) => {
        await auth.personalTokens.create(me);
        await auth.administration.reset.personalToken(root, user.id);
      },
    ],
  ];
  /** The first email with the expected text; skips the emails before it. */
  async function mailThatSays(text: string): Promise<Mail> {
    const found = () => mailbox.mails.find((mail) => mail.to === address() && mail.text.includes(text));
    await until(() => found() !== undefined);
    return found() as Mail;
  }

  test.each(own)('%s %s: device, time and address, and no secret', async (_about, _how, says, act) => {
    const done = await act(await enter());
    const { text } = await mailThatSays(says);
    expect(text).toContain(user.username);
    expect(text).toContain('Device: Firefox (Linux)');
    expect(text).toContain('IP address: 198.51.100.1');
    expect(text).toContain(`Time: ${new Date(clock.nowMs()).toISOString().slice(0, 16).replace('T', ' ')} UTC`);
    for (const secret of [NEW_PASSWORD, PASSWORD, (done as { token?: string } | undefined)?.token]) {
      if (secret) expect(text).not.toContain(secret);
    }
  });

  test.each(byAdministrator)(
    '%s by an administrator %s: the mail names no address of theirs',
    async (_about, _how, says, act) => {
      await act({ ...(await enter()), origin: HOME });
      await mailThatSays(says);
      const notices = mailbox.mails.filter(({ text }) => text.includes('An administrator did this.'));
      expect(notices.map(({ to }) => to)).toEqual([address()]);
      expect(notices[0]?.text).toContain(says);
      expect(notices[0]?.text).not.toContain('IP address:');
    },
  );

  test.each([
    [false, 'Your password was changed'],
    [true, 'this email address were removed'],
  ])('the command that resets a password (all factors: %p) tells the owner', async (resetFactors, says) => {
    await auth.passwords.reset({ username: user.username, password: NEW_PASSWORD, resetFactors });
    expect((await mailThatSays(says)).text).toContain('done on the server itself');
  });

  describe('a sign-in on a new device', () => {
    const newDevices = () => mailbox.mails.filter(({ subject }) => subject.startsWith('New sign-in'));
    /**
     * Emails are sent in order: after the notice of a change, no earlier mail is pending.
     */
    async function settled(): Promise<number> {
      const before = mailbox.mails.length;
      await auth.administration.reset.personalToken(root, user.id);
      await store.users.setAccessToken(user.id, { prefix: 'p', createdAt: 1, hash: `h${user.id}${before}` });
      await auth.administration.reset.personalToken(root, user.id);
      await until(() => mailbox.mails.length > before && mailbox.mails.at(-1)?.text.includes('token') === true);
      return newDevices().length;
    }

    test('is mailed; the first device of an account and a known one are not', async () => {
      await signIn(auth, user, HOME);
      await signIn(auth, user, { ...HOME, userAgent: FIREFOX.replaceAll('140', '141') });
      expect(await settled()).toBe(0);
      await signIn(auth, user, { ...HOME, userAgent: CHROME });
      expect(await settled()).toBe(1);
      await signIn(auth, user, originFor('198.51.100.2', FIREFOX));
      expect(await settled()).toBe(2);
      const [chrome, elsewhere] = newDevices();
      expect(chrome?.text).toContain('Device: Chrome (Windows)');
      expect(elsewhere?.text).toContain('IP address: 198.51.100.2');
      // Ended sessions count too, as long as their rows exist.
      await store.sessions.revokeAll({ userId: user.id, exceptSid: null, reason: 'logout', now: clock.unix() });
      await signIn(auth, user, { ...HOME, userAgent: CHROME });
      expect(await settled()).toBe(2);
    });

    test('a forged address in front of a known one does not hide it, and the email calls it uncertain', async () => {
      await signIn(auth, user, HOME);
      const forged: RequestOrigin = { ip: HOME.ip, decidingIp: '203.0.113.66' as DecidingIp, userAgent: FIREFOX };
      await signIn(auth, user, forged);
      expect(await settled()).toBe(1);
      expect(newDevices()[0]?.text).toContain('IP address: 198.51.100.1 (reported by 203.0.113.66, may be wrong)');
    });

    test('after an upgrade: older sessions without the deciding address count by the shown one', async () => {
      const signedIn = await signIn(auth, user, HOME);
      const row = await store.sessions.bySid(signedIn.bundle.session.sid);
      if (!row) throw new Error('there is no session');
      const other = await addUser(store, { email: address().replace('person', 'upgraded') });
      await store.users.recordSignIn(other.id, 1);
      await store.sessions.insert({ ...row, sid: `old-${other.id}`, userId: other.id, addressKey: '' });
      await signIn(auth, other, HOME);
      expect(await settled()).toBe(0);
    });

    test('phishing: the client’s own description is not text of the mail', async () => {
      await signIn(auth, user, HOME);
      await signIn(auth, user, { ...HOME, userAgent: 'Call www.evil.example/1.0 now' });
      expect(await settled()).toBe(1);
      expect(newDevices()[0]?.text).not.toContain('evil');
      expect(nameDevice('curl/8.5')).toBe('');
    });

    test('mail bombing: five an hour, the fifth says so, and changes are still mailed', async () => {
      await signIn(auth, user, HOME);
      for (let i = 0; i < 8; i += 1) await signIn(auth, user, originFor(`203.0.113.${i + 1}`, FIREFOX));
      expect(await settled()).toBe(5);
      expect(newDevices().map(({ text }) => text.includes('No more are sent for an hour'))).toEqual([
        ...Array(4).fill(false),
        true,
      ]);
    });
  });

  test('in the language of the user', async () => {
    const { email } = newPerson();
    user = await addUser(store, { email, language: 'zh' });
    await auth.personalTokens.create(await enter());
    expect((await mailThatSays('个人访问令牌')).text).toContain('IP 地址：198.51.100.1');
  });

  test('without mail settings or an address nothing is mailed, and everything else works', async () => {
    const me = await enter();
    settings = { ...settings, mail: undefined };
    await auth.personalTokens.create(me);
    settings = mailSettings();
    user = await addUser(store);
    await auth.personalTokens.create(await enter());
    await enter(originFor('203.0.113.1', CHROME));
    await auth.mail.stop(10_000);
    expect(mailbox.mails).toEqual([]);
  });

  test.each<[string, SendMail]>([
    ['hangs', () => new Promise(() => {})],
    ['refuses', async () => ({ steps: [], failure: { step: 'connect', permanent: true, reply: 0 } })],
    ['breaks', () => Promise.reject(new Error('no'))],
  ])('a mail server that %s delays and fails no sign-in', async (_how, sendMail) => {
    const node = openAuth(store, { settings: () => mailSettings(), sendMail });
    await signIn(node, user, HOME);
    const lived = startLivedTime();
    for (let i = 0; i < 5; i += 1) await signIn(node, user, originFor(`203.0.113.${i + 1}`, CHROME));
    expect(lived.stop()).toBeLessThan(5000);
  });
});
