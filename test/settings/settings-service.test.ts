/** The settings desk over both databases: what it takes, what it keeps secret, and who follows. */
import { afterEach, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findRelyingParty, rootHasOtherSignInMethod } from '../../src/auth/index.ts';
import { createSecretBox, type Logger, silentLogger, systemClock } from '../../src/kernel/index.ts';
import { authSettings } from '../../src/settings/auth-settings.ts';
import { OPTION_KEYS, type OptionKey, ruleOf } from '../../src/settings/catalogue/option-catalogue.ts';
import { describeRisks } from '../../src/settings/describe-risks.ts';
import { describeStatus } from '../../src/settings/describe-status.ts';
import { createLiveOptions, type LiveOptions } from '../../src/settings/live-options.ts';
import { configuredAddress, type NodeAddress } from '../../src/settings/public-address.ts';
import { readOptions } from '../../src/settings/read-options.ts';
import { createSettingsService } from '../../src/settings/settings-service.ts';
import type { OptionView, SettingsService } from '../../src/settings/types.ts';
import type { Store } from '../../src/store/ports/index.ts';
import { openAuth } from '../auth/harness.ts';
import { addUser, describeEachStore } from '../contract/each-store.ts';
import { openRaw } from '../contract/open-raw.ts';
import { until } from '../support/until.ts';

const SECRET = 'a crypto secret of the tests';
const HOURS = 3_600_000;
const NODE: NodeAddress = { trustedOrigin: '', listening: 'http://localhost:3000', isLoopback: true };

type Node = { desk: SettingsService; live: LiveOptions; status(): ReturnType<typeof describeStatus> };
type NodeOptions = { secrets?: [string, ...string[]]; syncFrequencyMs?: number; logger?: Logger };

const showStatus = (live: LiveOptions): ReturnType<typeof describeStatus> => {
  const auth = authSettings(live, NODE);
  return describeStatus(live, {
    auth,
    relyingParty: findRelyingParty(auth),
    address: configuredAddress(live, NODE),
  });
};

const running: LiveOptions[] = [];
afterEach(() => {
  for (const live of running.splice(0)) live.stop();
});

async function startNode(store: Store, options: NodeOptions = {}): Promise<Node> {
  const secretBox = createSecretBox(options.secrets ?? [SECRET]);
  const logger = options.logger ?? silentLogger;
  const live = createLiveOptions({ store, logger, secretBox, syncFrequencyMs: options.syncFrequencyMs ?? HOURS });
  running.push(live);
  await live.start();
  const desk = createSettingsService({
    store,
    secretBox,
    clock: systemClock,
    reload: () => live.reload(),
    rootHasOtherSignInMethod: (tx, changed) => rootHasOtherSignInMethod(tx, authSettings(changed, NODE)),
  });
  return { desk, live, status: () => showStatus(live) };
}

const refusalOf = (secret: string, key: string) =>
  `${secret} was entered for the former ${key} and is sent nowhere else: enter it again, or empty it, in the same change.`;

type Changes = Partial<Record<OptionKey, string>>;
const asList = (changes: Changes) => Object.entries(changes).map(([key, value]) => ({ key, value }));

/** A change that must be taken; gives what it changed. */
async function put(desk: SettingsService, changes: Changes) {
  const done = await desk.change(asList(changes));
  if (!done.ok) throw new Error(JSON.stringify(done.error));
  return done.value.changed;
}

/** A change that must be refused; gives the messages. */
async function refused(desk: SettingsService, changes: Changes): Promise<string[]> {
  const done = await desk.change(asList(changes));
  if (done.ok) throw new Error(`taken: ${JSON.stringify(changes)}`);
  return done.error.map(({ message }) => message);
}

const view = async (desk: SettingsService, key: OptionKey): Promise<OptionView | undefined> =>
  (await desk.list()).find((option) => option.key === key);

describeEachStore(
  'the settings desk',
  (opened) => {
    test('lists every option with its default and its group', async () => {
      const { desk, live } = await startNode(opened().store);
      const list = await desk.list();
      expect(list.map(({ key }) => key)).toEqual([...OPTION_KEYS]);
      for (const option of list) {
        const { type, default: initial } = ruleOf(option.key as OptionKey);
        expect(option).toMatchObject({ type, value: initial, default: initial, group: expect.stringMatching(/^\w+$/) });
        expect(option.secret === true).toBe(type === 'secret');
      }
      expect([live.flag('RegisterEnabled'), live.flag('PasswordLoginEnabled'), live.number('SMTPPort')]).toEqual([
        false,
        true,
        587,
      ]);
      expect(live.text('GitHubBaseUrl')).toBe('https://github.com');
    });

    test('typed values are there at once, texts in the store', async () => {
      const { store } = opened();
      const { desk, live } = await startNode(store);
      expect(
        await put(desk, { SMTPPort: '465', RegisterEnabled: 'true', EmailDomainWhitelist: 'a.example, b.example' }),
      ).toEqual([
        { key: 'SMTPPort', before: '587', after: '465' },
        { key: 'RegisterEnabled', before: 'false', after: 'true' },
        {
          key: 'EmailDomainWhitelist',
          before: ruleOf('EmailDomainWhitelist').default,
          after: 'a.example, b.example',
        },
      ]);
      expect([live.number('SMTPPort'), live.flag('RegisterEnabled'), live.list('EmailDomainWhitelist')]).toEqual([
        465,
        true,
        ['a.example', 'b.example'],
      ]);
      expect(await store.options.get('SMTPPort')).toBe('465');
      expect(await put(desk, { SMTPPort: '465' })).toEqual([]);
    });

    test('several at once: all or none, and each fault by its place', async () => {
      const { desk } = await startNode(opened().store);
      const done = await desk.change([
        { key: 'SystemName', value: 'Ours' },
        { key: 'SMTPPort', value: '0' },
        { key: 'Nothing', value: 'x' },
        { key: 'SystemName', value: 'Theirs' },
      ]);
      expect(done.ok ? [] : done.error.map(({ index, field }) => [index, field])).toEqual([
        [1, 'value'],
        [2, 'key'],
        [3, 'key'],
      ]);
      expect((await view(desk, 'SystemName'))?.value).toBe('Taskgate');
      await refused(desk, { SystemName: 'Ours', GitHubOAuthEnabled: 'true' });
      expect((await view(desk, 'SystemName'))?.value).toBe('Taskgate');
    });

    test('a stored value that is not allowed any more counts as none', async () => {
      const { store } = opened();
      await store.options.put('SMTPPort', 'many');
      await store.options.put('RegisterEnabled', 'perhaps');
      const { desk, live } = await startNode(store);
      expect([live.number('SMTPPort'), live.flag('RegisterEnabled')]).toEqual([587, false]);
      expect((await view(desk, 'SMTPPort'))?.value).toBe('587');
      await put(desk, { SMTPPort: '25' });
      expect(live.number('SMTPPort')).toBe(25);
    });

    test('stolen database: no secret is in it, nor in any answer or trail', async () => {
      const { store, databaseUrl, dataDir } = opened();
      const { desk, live } = await startNode(store);
      const secrets = OPTION_KEYS.filter((key) => ruleOf(key).type === 'secret');
      expect(secrets.length).toBe(8);
      const clear = (key: string) => `clear-text-of-${key}`;
      const changed = await put(desk, Object.fromEntries(secrets.map((key) => [key, clear(key)])) as Changes);
      expect(changed).toEqual(secrets.map((key) => ({ key, before: 'unset', after: 'set' })));
      expect(JSON.stringify(await desk.list())).not.toContain('clear-text');
      expect((await desk.list()).filter(({ secret }) => secret).map(({ value }) => value)).toEqual(
        secrets.map(() => '***'),
      );
      expect(live.secret('SMTPToken')).toBe(clear('SMTPToken'));

      const raw = openRaw({ databaseUrl, dataDir });
      const rows = await raw.rows('select * from options');
      await raw.close();
      expect(rows.length).toBeGreaterThanOrEqual(secrets.length);
      expect(JSON.stringify(rows)).not.toContain('clear-text');
      for (const file of databaseUrl ? [] : readdirSync(dataDir)) {
        const path = join(dataDir, file);
        if (file.startsWith('taskgate.db')) expect(readFileSync(path).includes('clear-text')).toBe(false);
      }
    });

    test('*** keeps a secret, nothing takes it away', async () => {
      const { store } = opened();
      const { desk, live } = await startNode(store);
      await put(desk, { SMTPToken: 'first' });
      const sealed = await store.options.get('SMTPToken');
      expect(await put(desk, { SMTPToken: '***', SystemName: 'Ours' })).toEqual([
        { key: 'SystemName', before: 'Taskgate', after: 'Ours' },
      ]);
      expect(await store.options.get('SMTPToken')).toBe(sealed as string);
      expect(await put(desk, { SMTPToken: 'second' })).toEqual([{ key: 'SMTPToken', before: 'set', after: 'set' }]);
      expect(live.secret('SMTPToken')).toBe('second');
      expect(await put(desk, { SMTPToken: '' })).toEqual([{ key: 'SMTPToken', before: 'set', after: 'unset' }]);
      expect([live.secret('SMTPToken'), (await view(desk, 'SMTPToken'))?.value]).toEqual(['', '']);
    });

    test('changed CRYPTO_SECRET: the secret must be entered again, its feature is off, all else goes on', async () => {
      const { store } = opened();
      const before = await startNode(store);
      const github = { GitHubClientId: 'id', GitHubClientSecret: 'clear', GitHubOAuthEnabled: 'true' };
      await put(before.desk, github);
      expect(before.status().github_oauth).toBe(true);

      const warnings: unknown[] = [];
      const logger = { ...silentLogger, warn: (fields: object, text: string) => void warnings.push([fields, text]) };
      const after = await startNode(store, { secrets: ['another crypto secret'], logger });
      expect(JSON.stringify(warnings)).toContain('GitHubClientSecret');
      expect(JSON.stringify(warnings)).not.toContain('clear');
      expect(await view(after.desk, 'GitHubClientSecret')).toMatchObject({ value: '***', unreadable: true });
      expect([after.live.secret('GitHubClientSecret'), after.status().github_oauth]).toEqual(['', false]);

      // What was broken before is no reason to refuse another change of the same provider.
      await put(after.desk, { GitHubClientId: 'other', SystemName: 'Ours' });
      await put(after.desk, { GitHubOAuthEnabled: 'false' });
      const [message] = await refused(after.desk, { GitHubOAuthEnabled: 'true' });
      expect(message).toContain('no CRYPTO_SECRET opens the stored GitHubClientSecret: enter it again');
      expect(await put(after.desk, { GitHubClientSecret: 'anew', GitHubOAuthEnabled: 'true' })).toEqual([
        { key: 'GitHubClientSecret', before: 'unreadable', after: 'set' },
        { key: 'GitHubOAuthEnabled', before: 'false', after: 'true' },
      ]);
      expect([(await view(after.desk, 'GitHubClientSecret'))?.unreadable, after.status().github_oauth]).toEqual([
        undefined,
        true,
      ]);

      const rotated = await startNode(store, { secrets: ['a third one', 'another crypto secret'] });
      expect(rotated.live.secret('GitHubClientSecret')).toBe('anew');
    });

    const NEEDS: [feature: OptionKey, given: Changes, status: string | undefined][] = [
      ['EmailVerificationEnabled', { SMTPServer: 'mail', SMTPFrom: 'gate@example.org' }, 'email_verification'],
      ['EmailDomainRestrictionEnabled', { EmailDomainWhitelist: 'example.org' }, undefined],
      ['TurnstileCheckEnabled', { TurnstileSiteKey: 'site', TurnstileSecretKey: 'key' }, 'turnstile_check'],
      ['GitHubOAuthEnabled', { GitHubClientId: 'id', GitHubClientSecret: 'key' }, 'github_oauth'],
      ['discord.enabled', { 'discord.client_id': 'id', 'discord.client_secret': 'key' }, 'discord_oauth'],
      ['LinuxDOOAuthEnabled', { LinuxDOClientId: 'id', LinuxDOClientSecret: 'key' }, 'linuxdo_oauth'],
      [
        'oidc.enabled',
        { 'oidc.client_id': 'id', 'oidc.client_secret': 'key', 'oidc.well_known': 'https://id.example/.well-known' },
        'oidc_enabled',
      ],
      ['TelegramOAuthEnabled', { TelegramBotName: 'gate_bot', TelegramBotToken: '1:key' }, 'telegram_oauth'],
      ['WeChatAuthEnabled', { WeChatServerAddress: 'https://wx.example', WeChatServerToken: 'key' }, 'wechat_login'],
    ];
    test.each(NEEDS)('%s needs what it needs, and keeps it', async (feature, given, status) => {
      const node = await startNode(opened().store);
      const { desk } = node;
      const told = () => (status === undefined ? undefined : (node.status() as Record<string, unknown>)[status]);
      const keys = Object.keys(given) as OptionKey[];
      await put(desk, Object.fromEntries(keys.map((key) => [key, ''])) as Changes);
      const all = keys.map((key) => `${key}`).join(' and ');
      expect(await refused(desk, { [feature]: 'true' })).toEqual([`Set ${all} before ${feature} is switched on.`]);
      for (const key of keys) {
        const others = Object.fromEntries(Object.entries({ ...given, [key]: '' })) as Changes;
        expect(await refused(desk, { ...others, [feature]: 'true' })).toEqual([
          `Set ${key} before ${feature} is switched on.`,
        ]);
      }
      if (status !== undefined) expect(told()).toBe(false);

      await put(desk, { ...given, [feature]: 'true' });
      if (status !== undefined) expect(told()).toBe(true);
      for (const key of keys) {
        const [message] = await refused(desk, { [key]: '' });
        expect(message).toBe(`${feature} is on and needs ${key}: switch it off first.`);
      }
      await put(desk, { ...(Object.fromEntries(keys.map((key) => [key, ''])) as Changes), [feature]: 'false' });
      if (status !== undefined) expect(told()).toBe(false);
    });

    test('mail: an account needs its password while codes are mailed; one TLS mode at a time', async () => {
      const { desk } = await startNode(opened().store);
      await put(desk, { SMTPServer: 'mail', SMTPFrom: 'gate@example.org', EmailVerificationEnabled: 'true' });
      expect(await refused(desk, { SMTPAccount: 'gate' })).toEqual([
        'EmailVerificationEnabled is on and needs SMTPToken: switch it off first.',
      ]);
      await put(desk, { SMTPAccount: 'gate', SMTPToken: 'key', SMTPSSLEnabled: 'true' });
      const [message] = await refused(desk, { SMTPStartTLSEnabled: 'true' });
      expect(message).toContain('exclude each other');
      await put(desk, { SMTPSSLEnabled: 'false', SMTPStartTLSEnabled: 'true', SMTPToken: 'again' });
    });

    test('registration is closed, not unchecked, when a check cannot take place', async () => {
      const { store } = opened();
      const before = await startNode(store);
      const given: Changes = { TurnstileSiteKey: 'site', TurnstileSecretKey: 'key', TurnstileCheckEnabled: 'true' };
      await put(before.desk, { RegisterEnabled: 'true', ...given });
      expect(before.status()).toMatchObject({ register_enabled: true, turnstile_check: true });
      const after = await startNode(store, { secrets: ['another crypto secret'] });
      expect(after.status()).toMatchObject({ register_enabled: false, turnstile_check: true });
      // A forgotten password has a challenge before it too: it is not left out.
      expect(authSettings(after.live, NODE).challenge).toBe('unusable');
    });

    test('registration that programs can use without end is worth a word', async () => {
      const { desk, live } = await startNode(opened().store);
      const risks = () => describeRisks(authSettings(live, NODE));
      expect(risks()).toEqual([]);
      await put(desk, { RegisterEnabled: 'true' });
      expect(risks()).toEqual([expect.stringContaining('neither TurnstileCheckEnabled nor EmailVerificationEnabled')]);
      await put(desk, { SMTPServer: 'mail', SMTPFrom: 'gate@example.org', EmailVerificationEnabled: 'true' });
      expect(risks()).toEqual([]);
    });

    test('root is not locked out: passwords go off only while there is another way in', async () => {
      const { store } = opened();
      const { desk, live } = await startNode(store);
      const LOCKED = [expect.stringContaining('Root could not sign in any more')];
      const root = await addUser(store, 0, { role: 100 });
      const other = await addUser(store);
      const addPasskey = (userId: number, rpId: string) =>
        store.passkeys.insert({
          userId,
          credentialId: `credential-${userId}-${rpId}`,
          publicKey: 'key',
          rpId,
          name: 'Key',
          counter: 0,
          transports: [],
          backedUp: false,
          createdAt: 1,
        });
      const off: Changes = { PasswordLoginEnabled: 'false' };
      expect(await refused(desk, off)).toEqual(LOCKED);
      await addPasskey(other.id, 'localhost');
      await addPasskey(root.id, 'elsewhere.example');
      expect(await refused(desk, off)).toEqual(LOCKED);

      // An address is an identity, but no way in.
      await store.identities.claim({ provider: 'email', subject: 'r@example.org', userId: root.id, createdAt: 1 });
      await store.identities.claim({ provider: 'github', subject: '42', userId: root.id, createdAt: 1 });
      expect(await refused(desk, off)).toEqual(LOCKED);
      const github: Changes = { GitHubClientId: 'id', GitHubClientSecret: 'key', GitHubOAuthEnabled: 'true' };
      await put(desk, { ...github, ...off });
      expect(live.flag('PasswordLoginEnabled')).toBe(false);
      expect(await refused(desk, { GitHubOAuthEnabled: 'false' })).toEqual(LOCKED);

      await addPasskey(root.id, 'localhost');
      await put(desk, { GitHubOAuthEnabled: 'false' });
      expect(await refused(desk, { 'passkey.enabled': 'false' })).toEqual(LOCKED);
      expect(await refused(desk, { ServerAddress: 'https://moved.example' })).toEqual(LOCKED);
      await put(desk, { PasswordLoginEnabled: 'true', 'passkey.enabled': 'false' });
    });

    test('root is not locked out by two changes at once: passwords here, the provider there', async () => {
      const { store } = opened();
      const { desk } = await startNode(store);
      const root = await addUser(store, 0, { role: 100 });
      const box = createSecretBox([SECRET]);
      const settingsOf = (stored: Awaited<ReturnType<Store['options']['all']>>) =>
        authSettings(readOptions(stored, box), NODE);
      // A node that no notice has reached yet.
      const { oauth } = openAuth(store, {
        settings: () => settingsOf([]),
        settingsIn: async (tx) => settingsOf(await tx.options.all()),
      });
      const { id, slug } = await oauth.providers.create({
        slug: 'acme',
        name: 'Acme',
        client_id: 'id',
        authorization_endpoint: 'https://acme.example/authorize',
        token_endpoint: 'https://acme.example/token',
        user_info_endpoint: 'https://acme.example/me',
      });
      await store.identities.claim({ provider: slug, subject: '42', userId: root.id, createdAt: 1 });

      await put(desk, { PasswordLoginEnabled: 'false' });
      await expect(oauth.providers.update(id, { enabled: false })).rejects.toMatchObject({ code: 'auth.last_way_in' });

      for (let round = 0; round < 5; round += 1) {
        await put(desk, { PasswordLoginEnabled: 'true' });
        await oauth.providers.update(id, { enabled: true });
        await Promise.allSettled([
          desk.change(asList({ PasswordLoginEnabled: 'false' })),
          oauth.providers.update(id, { enabled: false }),
        ]);
        const byPassword = settingsOf(await store.options.all()).passwordLogin;
        expect(byPassword || (await oauth.providers.get(id)).enabled).toBe(true);
      }
    });

    const HOSTS: [secret: OptionKey, address: OptionKey, here: string, there: string][] = [
      ['SMTPToken', 'SMTPServer', 'mail.example', 'mail.evil.example'],
      ['TurnstileSecretKey', 'TurnstileVerifyUrl', 'https://verify.example/a', 'https://evil.example/a'],
      ['GitHubClientSecret', 'GitHubBaseUrl', 'https://git.example', 'https://evil.example'],
      ['discord.client_secret', 'discord.base_url', 'https://chat.example', 'https://evil.example'],
      ['LinuxDOClientSecret', 'LinuxDOBaseUrl', 'https://do.example', 'https://do.example:444'],
      ['oidc.client_secret', 'oidc.well_known', 'https://id.example/.well-known', 'http://id.example/.well-known'],
      ['oidc.client_secret', 'oidc.token_endpoint', 'https://id.example/token', 'https://evil.example/token'],
      ['WeChatServerToken', 'WeChatServerAddress', 'https://wx.example', 'https://evil.example'],
    ];
    test.each(HOSTS)(
      'exfiltration: %s goes to no address for which nobody entered it (%s)',
      async (secret, address, here, there) => {
        const { desk, live } = await startNode(opened().store);
        await put(desk, { [secret]: 'clear', [address]: here });
        const refusal = refusalOf(secret, address);
        expect(await refused(desk, { [address]: there })).toEqual([refusal]);
        expect(await refused(desk, { [address]: there, [secret]: '***' })).toEqual([refusal]);
        // Not by way of none either.
        if (ruleOf(address).default === '') expect(await refused(desk, { [address]: '' })).toEqual([refusal]);
        expect(live.text(address as 'SMTPServer')).toBe(here);
        // A path of its own may be somebody else's.
        if (here.startsWith('https')) expect(await refused(desk, { [address]: `${here}/more` })).toEqual([refusal]);
        await put(desk, { [address]: there, [secret]: 'entered again' });
        await put(desk, { [address]: here, [secret]: '' });
      },
    );

    test('exfiltration: an endpoint of its own leads the secret of OpenID Connect elsewhere too', async () => {
      const { desk } = await startNode(opened().store);
      await put(desk, { 'oidc.client_secret': 'clear', 'oidc.well_known': 'https://id.example/.well-known' });
      expect(await refused(desk, { 'oidc.token_endpoint': 'https://evil.example/token' })).toHaveLength(1);
      await put(desk, { 'oidc.token_endpoint': 'https://id.example/token', 'oidc.client_secret': 'again' });
      // The access token that the secret buys is sent to this one, and the document names the keys
      // that vouch for people.
      expect(await refused(desk, { 'oidc.user_info_endpoint': 'https://evil.example/me' })).toHaveLength(1);
      expect(await refused(desk, { 'oidc.well_known': 'https://login.example/.well-known' })).toHaveLength(1);
      expect(await refused(desk, { 'oidc.token_endpoint': '' })).toHaveLength(1);
    });

    test.each<[OptionKey, string]>([
      ['SMTPPort', '2525'],
      ['SMTPSSLEnabled', 'true'],
      ['SMTPStartTLSEnabled', 'false'],
      ['SMTPInsecureSkipVerify', 'true'],
    ])(
      "exfiltration: %s %s does not send the mail server's password where nobody entered it for",
      async (key, value) => {
        const { desk, live } = await startNode(opened().store);
        const server = { SMTPServer: 'mail.example', SMTPPort: '587', SMTPStartTLSEnabled: 'true' };
        await put(desk, { ...server, SMTPToken: 'clear', SMTPAccount: 'gate' });
        const change = { [key]: value, ...(key === 'SMTPSSLEnabled' ? { SMTPStartTLSEnabled: 'false' } : {}) };
        expect(await refused(desk, change)).toEqual([refusalOf('SMTPToken', key)]);
        expect(await refused(desk, { ...change, SMTPToken: '***' })).toHaveLength(1);
        expect(authSettings(live, NODE).mail ?? null).toBeNull();
        expect([live.text('SMTPServer'), live.number('SMTPPort')]).toEqual(['mail.example', 587]);
        // The account and the sender name no other server.
        await put(desk, { SMTPAccount: 'other', SMTPFrom: 'gate@mail.example' });
        await put(desk, { ...change, SMTPToken: 'entered again' });
      },
    );

    test('another spelling of an address is the same address', async () => {
      const { desk } = await startNode(opened().store);
      await put(desk, { WeChatServerToken: 'clear', WeChatServerAddress: 'https://wx.example/a' });
      await put(desk, { WeChatServerAddress: 'https://WX.example:443/a/' });
    });

    test('account takeover: identities do not go to the people of another provider, unless root says so', async () => {
      const { store } = opened();
      const { desk } = await startNode(store);
      const [one, two] = [await addUser(store), await addUser(store)];
      const moves: [OptionKey, string, string][] = [
        ['GitHubBaseUrl', 'github', 'https://evil.example'],
        ['GitHubApiUrl', 'github', 'https://evil.example'],
        ['discord.base_url', 'discord', 'https://evil.example'],
        ['LinuxDOBaseUrl', 'linuxdo', 'https://evil.example'],
        ['oidc.well_known', 'oidc', 'https://evil.example/.well-known'],
        ['oidc.authorization_endpoint', 'oidc', 'https://evil.example/authorize'],
        ['oidc.token_endpoint', 'oidc', 'https://evil.example/token'],
        ['oidc.user_info_endpoint', 'oidc', 'https://evil.example/me'],
        ['WeChatServerAddress', 'wechat', 'https://evil.example'],
      ];
      for (const [key, provider, value] of moves) {
        const { default: initial } = ruleOf(key);
        await put(desk, { [key]: value });
        await put(desk, { [key]: initial });
        for (const { id } of [one, two]) {
          await store.identities.claim({ provider, subject: `${provider}-${id}`, userId: id, createdAt: 1 });
        }
        const [message] = await refused(desk, { [key]: value });
        expect(message).toStartWith(`2 identities are bound at ${provider}.`);
        await put(desk, { [key]: initial === '' ? '' : `${initial}/`, SystemName: key });
        expect((await desk.change([{ key, value }], { force: true })).ok).toBe(true);
        await store.identities.release(one.id, provider);
        await store.identities.release(two.id, provider);
      }
    });

    test('race: a provider is never on without its id, whichever of two nodes is first', async () => {
      const { store, openAnother } = opened();
      const nodes = [await startNode(store), await startNode(await openAnother())] as const;
      await put(nodes[0].desk, { GitHubClientSecret: 'key' });
      for (let round = 0; round < 15; round++) {
        await put(nodes[0].desk, { GitHubOAuthEnabled: 'false' });
        await put(nodes[0].desk, { GitHubClientId: 'id' });
        const done = await Promise.all([
          nodes[0].desk.change([{ key: 'GitHubOAuthEnabled', value: 'true' }]),
          nodes[1].desk.change([{ key: 'GitHubClientId', value: '' }]),
        ]);
        expect(done.filter(({ ok }) => ok).length).toBe(1);
        const [on, id] = await Promise.all([
          store.options.get('GitHubOAuthEnabled'),
          store.options.get('GitHubClientId'),
        ]);
        expect([on, id]).not.toEqual(['true', '']);
      }
    });
  },
  { fresh: 'test' },
);

describeEachStore('another node', (opened) => {
  test('follows at once when it is told, and by itself when it is not', async () => {
    const { store, databaseUrl, openAnother } = opened();
    const one = await startNode(store);
    const slow = await startNode(databaseUrl ? await openAnother() : store);
    await put(one.desk, { SystemName: 'Ours', SMTPToken: 'key' });
    await until(() => slow.live.text('SystemName') === 'Ours' && slow.live.secret('SMTPToken') === 'key');

    const quick = await startNode(await openAnother(), { syncFrequencyMs: 50 });
    await store.options.put('SystemName', 'Written by nobody');
    await until(() => quick.live.text('SystemName') === 'Written by nobody');
    expect(slow.live.text('SystemName')).toBe('Ours');
  });
});
