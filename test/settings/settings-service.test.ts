/** The settings service on both databases: what it accepts and keeps secret, and other nodes. */
import { afterEach, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findRelyingParty, rootHasOtherSignInMethod } from '../../src/auth/index.ts';
import { createSecretBox, type Logger, silentLogger, systemClock } from '../../src/kernel/index.ts';
import { authSettings } from '../../src/settings/auth-settings.ts';
import { OPTION_KEYS, type OptionKey, ruleFor } from '../../src/settings/catalogue/option-catalogue.ts';
import { describeStatus } from '../../src/settings/describe-status.ts';
import { createLiveOptions, type LiveOptions } from '../../src/settings/live-options.ts';
import { configuredAddress, type NodeAddress } from '../../src/settings/public-address.ts';
import { readOptions } from '../../src/settings/read-options.ts';
import { describeRisks } from '../../src/settings/risk-log.ts';
import { createSettingsService } from '../../src/settings/settings-service.ts';
import type { OptionView, SettingsService } from '../../src/settings/types.ts';
import type { Store } from '../../src/store/ports/index.ts';
import { openAuth } from '../auth/harness.ts';
import { describeEachStore } from '../contract/each-store.ts';
import { openRaw } from '../contract/open-raw.ts';
import { addUser } from '../support/add-user.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { until } from '../support/until.ts';

const SECRET = 'a crypto secret of the tests';
const HOURS = 3_600_000;
const NODE: NodeAddress = { trustedOrigin: '', listening: 'http://localhost:3000', isLoopback: true };

type Node = { service: SettingsService; live: LiveOptions; status(): ReturnType<typeof describeStatus> };
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
  const service = createSettingsService({
    store,
    secretBox,
    clock: systemClock,
    reload: () => live.reload(),
    rootHasOtherSignInMethod: (tx, changed) =>
      rootHasOtherSignInMethod(tx, { settings: authSettings(changed, NODE), secretBox }),
  });
  return { service, live, status: () => showStatus(live) };
}

const catchRefusal = (secret: string, key: string) =>
  `${secret} was entered for the former ${key} and is sent nowhere else: enter it again, or empty it, in the same change.`;

type Changes = Partial<Record<OptionKey, string>>;
const asList = (changes: Changes) => Object.entries(changes).map(([key, value]) => ({ key, value }));

/** Makes a change that must succeed; returns what it changed. */
async function put(service: SettingsService, changes: Changes) {
  const done = await service.change(asList(changes));
  if (!done.ok) throw new Error(JSON.stringify(done.error));
  return done.value.changed;
}

/** Makes a change that must be refused; returns the messages. */
async function refused(service: SettingsService, changes: Changes): Promise<string[]> {
  const done = await service.change(asList(changes));
  if (done.ok) throw new Error(`accepted: ${JSON.stringify(changes)}`);
  return done.error.map(({ message }) => message);
}

const view = async (service: SettingsService, key: OptionKey): Promise<OptionView | undefined> =>
  (await service.list()).find((option) => option.key === key);

describeEachStore(
  'the settings service',
  (opened) => {
    test('lists every option with its default and its group', async () => {
      const { service, live } = await startNode(opened().store);
      const list = await service.list();
      expect(list.map(({ key }) => key)).toEqual([...OPTION_KEYS]);
      for (const option of list) {
        const { type, default: initial } = ruleFor(option.key as OptionKey);
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

    test('a change is readable as a typed value at once and is stored as text', async () => {
      const { store } = opened();
      const { service, live } = await startNode(store);
      expect(
        await put(service, { SMTPPort: '465', RegisterEnabled: 'true', EmailDomainWhitelist: 'a.example, b.example' }),
      ).toEqual([
        { key: 'SMTPPort', before: '587', after: '465' },
        { key: 'RegisterEnabled', before: 'false', after: 'true' },
        {
          key: 'EmailDomainWhitelist',
          before: ruleFor('EmailDomainWhitelist').default,
          after: 'a.example, b.example',
        },
      ]);
      expect([live.number('SMTPPort'), live.flag('RegisterEnabled'), live.list('EmailDomainWhitelist')]).toEqual([
        465,
        true,
        ['a.example', 'b.example'],
      ]);
      expect(await store.options.get('SMTPPort')).toBe('465');
      expect(await put(service, { SMTPPort: '465' })).toEqual([]);
    });

    test('several changes apply all or none, and each fault names its index', async () => {
      const { service } = await startNode(opened().store);
      const done = await service.change([
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
      expect((await view(service, 'SystemName'))?.value).toBe('Taskgate');
      await refused(service, { SystemName: 'Ours', GitHubOAuthEnabled: 'true' });
      expect((await view(service, 'SystemName'))?.value).toBe('Taskgate');
    });

    test('a stored value that is no longer allowed counts as not set', async () => {
      const { store } = opened();
      await store.options.put('SMTPPort', 'many');
      await store.options.put('RegisterEnabled', 'perhaps');
      const { service, live } = await startNode(store);
      expect([live.number('SMTPPort'), live.flag('RegisterEnabled')]).toEqual([587, false]);
      expect((await view(service, 'SMTPPort'))?.value).toBe('587');
      await put(service, { SMTPPort: '25' });
      expect(live.number('SMTPPort')).toBe(25);
    });

    test('stolen database: no secret is readable in it, in an answer or in the audit log', async () => {
      const { store, databaseUrl, dataDir } = opened();
      const { service, live } = await startNode(store);
      const secrets = OPTION_KEYS.filter((key) => ruleFor(key).type === 'secret');
      expect(secrets.length).toBe(9);
      const isSigning = (key: string) => key === 'alerts.webhook_secret';
      const clear = (key: string) =>
        isSigning(key)
          ? `whsec_${Buffer.from('clear-text-that-signs-webhooks').toString('base64')}`
          : `clear-text-of-${key}`;
      const changed = await put(service, Object.fromEntries(secrets.map((key) => [key, clear(key)])) as Changes);
      expect(changed).toEqual(secrets.map((key) => ({ key, before: 'unset', after: 'set' })));
      expect(JSON.stringify(await service.list())).not.toContain('clear-text');
      expect((await service.list()).filter(({ secret }) => secret).map(({ value }) => value)).toEqual(
        secrets.map(() => '***'),
      );
      expect(live.secret('SMTPToken')).toBe(clear('SMTPToken'));

      const raw = openRaw({ databaseUrl, dataDir });
      const rows = await raw.rows('select * from options');
      await raw.close();
      expect(rows.length).toBeGreaterThanOrEqual(secrets.length);
      expect(JSON.stringify(rows)).not.toContain('clear-text');
      expect(JSON.stringify(rows)).not.toContain(clear('alerts.webhook_secret'));
      for (const file of databaseUrl ? [] : readdirSync(dataDir)) {
        const path = join(dataDir, file);
        if (file.startsWith('taskgate.db')) expect(readFileSync(path).includes('clear-text')).toBe(false);
      }
    });

    test('*** keeps a secret, an empty value removes it', async () => {
      const { store } = opened();
      const { service, live } = await startNode(store);
      await put(service, { SMTPToken: 'first' });
      const sealed = await store.options.get('SMTPToken');
      expect(await put(service, { SMTPToken: '***', SystemName: 'Ours' })).toEqual([
        { key: 'SystemName', before: 'Taskgate', after: 'Ours' },
      ]);
      expect(await store.options.get('SMTPToken')).toBe(sealed as string);
      expect(await put(service, { SMTPToken: 'second' })).toEqual([{ key: 'SMTPToken', before: 'set', after: 'set' }]);
      expect(live.secret('SMTPToken')).toBe('second');
      expect(await put(service, { SMTPToken: '' })).toEqual([{ key: 'SMTPToken', before: 'set', after: 'unset' }]);
      expect([live.secret('SMTPToken'), (await view(service, 'SMTPToken'))?.value]).toEqual(['', '']);
    });

    test('changed CRYPTO_SECRET: the secret must be entered again and its feature is off, all else works', async () => {
      const { store } = opened();
      const before = await startNode(store);
      const github = { GitHubClientId: 'id', GitHubClientSecret: 'clear', GitHubOAuthEnabled: 'true' };
      await put(before.service, github);
      expect(before.status().github_oauth).toBe(true);

      const warnings: unknown[] = [];
      const logger = { ...silentLogger, warn: (fields: object, text: string) => void warnings.push([fields, text]) };
      const after = await startNode(store, { secrets: ['another crypto secret'], logger });
      expect(JSON.stringify(warnings)).toContain('GitHubClientSecret');
      expect(JSON.stringify(warnings)).not.toContain('clear');
      expect(await view(after.service, 'GitHubClientSecret')).toMatchObject({ value: '***', unreadable: true });
      expect([after.live.secret('GitHubClientSecret'), after.status().github_oauth]).toEqual(['', false]);

      // What was missing before does not block another change of the same provider.
      await put(after.service, { GitHubClientId: 'other', SystemName: 'Ours' });
      await put(after.service, { GitHubOAuthEnabled: 'false' });
      const [message] = await refused(after.service, { GitHubOAuthEnabled: 'true' });
      expect(message).toContain('No CRYPTO_SECRET decrypts the stored GitHubClientSecret: enter it again');
      expect(await put(after.service, { GitHubClientSecret: 'replaced', GitHubOAuthEnabled: 'true' })).toEqual([
        { key: 'GitHubClientSecret', before: 'unreadable', after: 'set' },
        { key: 'GitHubOAuthEnabled', before: 'false', after: 'true' },
      ]);
      expect([(await view(after.service, 'GitHubClientSecret'))?.unreadable, after.status().github_oauth]).toEqual([
        undefined,
        true,
      ]);

      const rotated = await startNode(store, { secrets: ['a third one', 'another crypto secret'] });
      expect(rotated.live.secret('GitHubClientSecret')).toBe('replaced');
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
    test.each(NEEDS)(
      '%s cannot be switched on without its requirements, nor lose them while on',
      async (feature, given, status) => {
        const node = await startNode(opened().store);
        const { service } = node;
        const shown = () => (status === undefined ? undefined : (node.status() as Record<string, unknown>)[status]);
        const keys = Object.keys(given) as OptionKey[];
        await put(service, Object.fromEntries(keys.map((key) => [key, ''])) as Changes);
        const all = keys.map((key) => `${key}`).join(' and ');
        expect(await refused(service, { [feature]: 'true' })).toEqual([`Set ${all} before you turn on ${feature}.`]);
        for (const key of keys) {
          const others = Object.fromEntries(Object.entries({ ...given, [key]: '' })) as Changes;
          expect(await refused(service, { ...others, [feature]: 'true' })).toEqual([
            `Set ${key} before you turn on ${feature}.`,
          ]);
        }
        if (status !== undefined) expect(shown()).toBe(false);

        await put(service, { ...given, [feature]: 'true' });
        if (status !== undefined) expect(shown()).toBe(true);
        for (const key of keys) {
          const [message] = await refused(service, { [key]: '' });
          expect(message).toBe(`${feature} needs ${key}. Turn it off first.`);
        }
        await put(service, { ...(Object.fromEntries(keys.map((key) => [key, ''])) as Changes), [feature]: 'false' });
        if (status !== undefined) expect(shown()).toBe(false);
      },
    );

    test('mail: an account needs a password while codes are mailed, and the TLS modes exclude each other', async () => {
      const { service } = await startNode(opened().store);
      await put(service, { SMTPServer: 'mail', SMTPFrom: 'gate@example.org', EmailVerificationEnabled: 'true' });
      expect(await refused(service, { SMTPAccount: 'gate' })).toEqual([
        'EmailVerificationEnabled needs SMTPToken. Turn it off first.',
      ]);
      await put(service, { SMTPAccount: 'gate', SMTPToken: 'key', SMTPSSLEnabled: 'true' });
      const [message] = await refused(service, { SMTPStartTLSEnabled: 'true' });
      expect(message).toContain("can't be used together");
      await put(service, { SMTPSSLEnabled: 'false', SMTPStartTLSEnabled: 'true', SMTPToken: 'again' });
    });

    test('registration closes when its challenge is on but cannot work', async () => {
      const { store } = opened();
      const before = await startNode(store);
      const given: Changes = { TurnstileSiteKey: 'site', TurnstileSecretKey: 'key', TurnstileCheckEnabled: 'true' };
      await put(before.service, { RegisterEnabled: 'true', ...given });
      expect(before.status()).toMatchObject({ register_enabled: true, turnstile_check: true });
      const after = await startNode(store, { secrets: ['another crypto secret'] });
      expect(after.status()).toMatchObject({ register_enabled: false, turnstile_check: true });
      // Resetting a password needs the challenge too: it is not skipped.
      expect(authSettings(after.live, NODE).challenge).toBe('unusable');
    });

    test('open registration without challenge or mailed code is a risk', async () => {
      const { service, live } = await startNode(opened().store);
      const risks = () => describeRisks(authSettings(live, NODE));
      expect(risks()).toEqual([]);
      await put(service, { RegisterEnabled: 'true' });
      expect(risks()).toEqual([
        expect.objectContaining({
          setting: 'RegisterEnabled',
          message: expect.stringContaining('neither TurnstileCheckEnabled nor EmailVerificationEnabled'),
        }),
      ]);
      await put(service, { QuotaForNewUser: '500' });
      expect(risks()).toEqual([
        expect.objectContaining({ message: expect.stringContaining('spend the QuotaForNewUser of each') }),
      ]);
      await put(service, { SMTPServer: 'mail', SMTPFrom: 'gate@example.org', EmailVerificationEnabled: 'true' });
      expect(risks()).toEqual([]);
    });

    test('root lockout: passwords can be switched off only while root has another sign-in method', async () => {
      const { store } = opened();
      const { service, live } = await startNode(store);
      const LOCKED = [expect.stringContaining('Root could no longer sign in')];
      const root = await addUser(store, { role: 100 });
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
      expect(await refused(service, off)).toEqual(LOCKED);
      await addPasskey(other.id, 'localhost');
      await addPasskey(root.id, 'elsewhere.example');
      expect(await refused(service, off)).toEqual(LOCKED);

      // An email address is an identity, but not a sign-in method.
      await store.identities.claim({ provider: 'email', subject: 'r@example.org', userId: root.id, createdAt: 1 });
      await store.identities.claim({ provider: 'github', subject: '42', userId: root.id, createdAt: 1 });
      expect(await refused(service, off)).toEqual(LOCKED);
      const github: Changes = { GitHubClientId: 'id', GitHubClientSecret: 'key', GitHubOAuthEnabled: 'true' };
      await put(service, { ...github, ...off });
      expect(live.flag('PasswordLoginEnabled')).toBe(false);
      expect(await refused(service, { GitHubOAuthEnabled: 'false' })).toEqual(LOCKED);

      await addPasskey(root.id, 'localhost');
      await put(service, { GitHubOAuthEnabled: 'false' });
      expect(await refused(service, { 'passkey.enabled': 'false' })).toEqual(LOCKED);
      expect(await refused(service, { ServerAddress: 'https://moved.example' })).toEqual(LOCKED);
      await put(service, { PasswordLoginEnabled: 'true', 'passkey.enabled': 'false' });
    });

    test('root lockout race: switching off passwords and the last provider at once fails for one of them', async () => {
      const { store } = opened();
      const { service } = await startNode(store);
      const root = await addUser(store, { role: 100 });
      const box = createSecretBox([SECRET]);
      const readSettings = (stored: Awaited<ReturnType<Store['options']['all']>>) =>
        authSettings(readOptions(stored, box), NODE);
      // A node whose replica of the options is out of date.
      const { oauth } = openAuth(store, {
        settings: () => readSettings([]),
        settingsIn: async (tx) => readSettings(await tx.options.all()),
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

      await put(service, { PasswordLoginEnabled: 'false' });
      await expect(oauth.providers.update(id, { enabled: false })).rejects.toMatchObject({ code: 'auth.last_way_in' });

      for (let round = 0; round < 5; round += 1) {
        await put(service, { PasswordLoginEnabled: 'true' });
        await oauth.providers.update(id, { enabled: true });
        await Promise.allSettled([
          service.change(asList({ PasswordLoginEnabled: 'false' })),
          oauth.providers.update(id, { enabled: false }),
        ]);
        const byPassword = readSettings(await store.options.all()).passwordSignIn;
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
      'exfiltration: %s is not sent to a changed address until it is entered again (%s)',
      async (secret, address, here, there) => {
        const { service, live } = await startNode(opened().store);
        await put(service, { [secret]: 'clear', [address]: here });
        const refusal = catchRefusal(secret, address);
        expect(await refused(service, { [address]: there })).toEqual([refusal]);
        expect(await refused(service, { [address]: there, [secret]: '***' })).toEqual([refusal]);
        // Emptying the address first does not help either.
        if (ruleFor(address).default === '') expect(await refused(service, { [address]: '' })).toEqual([refusal]);
        expect(live.text(address as 'SMTPServer')).toBe(here);
        // Another path may belong to somebody else.
        if (here.startsWith('https')) expect(await refused(service, { [address]: `${here}/more` })).toEqual([refusal]);
        await put(service, { [address]: there, [secret]: 'entered again' });
        await put(service, { [address]: here, [secret]: '' });
      },
    );

    test('exfiltration: a changed OpenID Connect endpoint needs the client secret again', async () => {
      const { service } = await startNode(opened().store);
      await put(service, { 'oidc.client_secret': 'clear', 'oidc.well_known': 'https://id.example/.well-known' });
      expect(await refused(service, { 'oidc.token_endpoint': 'https://evil.example/token' })).toHaveLength(1);
      await put(service, { 'oidc.token_endpoint': 'https://id.example/token', 'oidc.client_secret': 'again' });
      // The user info endpoint receives the access token, and the discovery document names the keys
      // that sign identities.
      expect(await refused(service, { 'oidc.user_info_endpoint': 'https://evil.example/me' })).toHaveLength(1);
      expect(await refused(service, { 'oidc.well_known': 'https://login.example/.well-known' })).toHaveLength(1);
      expect(await refused(service, { 'oidc.token_endpoint': '' })).toHaveLength(1);
    });

    test.each<[OptionKey, string]>([
      ['SMTPPort', '2525'],
      ['SMTPSSLEnabled', 'true'],
      ['SMTPStartTLSEnabled', 'false'],
      ['SMTPInsecureSkipVerify', 'true'],
    ])('exfiltration: %s %s does not send the mail password to another server or without TLS', async (key, value) => {
      const { service, live } = await startNode(opened().store);
      const server = { SMTPServer: 'mail.example', SMTPPort: '587', SMTPStartTLSEnabled: 'true' };
      await put(service, { ...server, SMTPToken: 'clear', SMTPAccount: 'gate' });
      const change = { [key]: value, ...(key === 'SMTPSSLEnabled' ? { SMTPStartTLSEnabled: 'false' } : {}) };
      expect(await refused(service, change)).toEqual([catchRefusal('SMTPToken', key)]);
      expect(await refused(service, { ...change, SMTPToken: '***' })).toHaveLength(1);
      expect(authSettings(live, NODE).mail ?? null).toBeNull();
      expect([live.text('SMTPServer'), live.number('SMTPPort')]).toEqual(['mail.example', 587]);
      // A changed account or sender sends the password nowhere else.
      await put(service, { SMTPAccount: 'other', SMTPFrom: 'gate@mail.example' });
      await put(service, { ...change, SMTPToken: 'entered again' });
    });

    test('another spelling of the same address does not count as a change of address', async () => {
      const { service } = await startNode(opened().store);
      await put(service, { WeChatServerToken: 'clear', WeChatServerAddress: 'https://wx.example/a' });
      await put(service, { WeChatServerAddress: 'https://WX.example:443/a/' });
    });

    test('account takeover: a provider with bound identities moves to another address only with force', async () => {
      const { store } = opened();
      const { service } = await startNode(store);
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
        const { default: initial } = ruleFor(key);
        await put(service, { [key]: value });
        await put(service, { [key]: initial });
        for (const { id } of [one, two]) {
          await store.identities.claim({ provider, subject: `${provider}-${id}`, userId: id, createdAt: 1 });
        }
        const [message] = await refused(service, { [key]: value });
        expect(message).toStartWith(`2 identities are bound at ${provider}.`);
        await put(service, { [key]: initial === '' ? '' : `${initial}/`, SystemName: key });
        expect((await service.change([{ key, value }], { force: true })).ok).toBe(true);
        await store.identities.release(one.id, provider);
        await store.identities.release(two.id, provider);
      }
    });

    test('race: with concurrent changes on two nodes a provider is never on without its client id', async () => {
      const { store, openAnother } = opened();
      const nodes = [await startNode(store), await startNode(await openAnother())] as const;
      await put(nodes[0].service, { GitHubClientSecret: 'key' });
      for (let round = 0; round < 15; round++) {
        await put(nodes[0].service, { GitHubOAuthEnabled: 'false' });
        await put(nodes[0].service, { GitHubClientId: 'id' });
        const done = await Promise.all([
          nodes[0].service.change([{ key: 'GitHubOAuthEnabled', value: 'true' }]),
          nodes[1].service.change([{ key: 'GitHubClientId', value: '' }]),
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
  { fresh: 'test', databases: RULE_DATABASES },
);

describeEachStore('another node', (opened) => {
  test('follows a published change at once, and finds an unpublished one at the next sync', async () => {
    const { store, databaseUrl, openAnother } = opened();
    const one = await startNode(store);
    const slow = await startNode(databaseUrl ? await openAnother() : store);
    await put(one.service, { SystemName: 'Ours', SMTPToken: 'key' });
    await until(() => slow.live.text('SystemName') === 'Ours' && slow.live.secret('SMTPToken') === 'key');

    const quick = await startNode(await openAnother(), { syncFrequencyMs: 50 });
    await store.options.put('SystemName', 'Written by nobody');
    await until(() => quick.live.text('SystemName') === 'Written by nobody');
    expect(slow.live.text('SystemName')).toBe('Ours');
  });
});
