/** The sample of new-api's own making becomes accounts, keys, channels, prices and options here. */
import { expect, test } from 'bun:test';
import { SQL } from 'bun';
import { describeReport, type ImportReport } from '../../src/importing/report.ts';
import { sha256Hex } from '../../src/kernel/index.ts';
import type { Store } from '../../src/store/ports/index.ts';
import { describeEachStore } from '../contract/each-store.ts';
import { addUser } from '../support/add-user.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { copySample, FRANKS_SECRET, SAMPLE_KEYS, sampleFile } from '../support/new-api-source.ts';
import { testDatabaseUrl } from '../support/postgres.ts';
import { importFrom, secretBox } from './import-from.ts';

const codes = ({ remarks }: ImportReport, kind: string): string[] =>
  remarks.filter((remark) => remark.kind === kind).map(({ id, effect, code }) => `${id} ${effect} ${code}`);
const ledger = (store: Store) => store.ledger.imbalances(10);
const clean = { wallets: [], tasks: [] };

describeEachStore(
  'the sample',
  (opened) => {
    test('gives accounts with balances as ledger lines, keys, identities, factors and channels', async () => {
      const { store } = opened();
      const report = await importFrom(store, sampleFile());
      expect(report.taken).toEqual({
        user: 9,
        api_key: 12,
        identity: 12,
        channel: 12,
        provider: 1,
        price: 19,
        option: 11,
      });
      expect(await ledger(store)).toEqual(clean);

      const users = await Promise.all(
        ['root', 'alice', 'carol', 'dave', 'heidi', 'ivan'].map((name) => store.users.byNameOrAddress(name)),
      );
      expect(users.map((user) => user && [user.id, user.role, user.status, user.quota, user.email])).toEqual([
        [1, 100, 1, 100_000_000, null],
        [2, 1, 1, 5_500_000, 'alice@example.test'],
        [4, 10, 1, 20_000_000, 'carol@example.test'],
        [5, 1, 2, 750_000, null],
        [9, 1, 1, -1234, null],
        [10, 1, 1, 125_000, null],
      ]);
      expect(users[1]?.passwordHash).toStartWith('$2a$10$');
      expect(await store.users.countInvited(2)).toBe(1);
      expect(await store.users.byNameOrAddress('erin')).toBeUndefined();

      const key = async (text: string) => (await store.apiKeys.byHash(sha256Hex(text), 1))?.key;
      expect(await key(SAMPLE_KEYS.alice)).toMatchObject({
        userId: 2,
        status: 1,
        unlimitedQuota: true,
        usedQuota: 250_000,
      });
      expect((await key(SAMPLE_KEYS.expired))?.expiresAt).toBe(1_704_067_200);
      expect(await key('sk-NFBbSHEgvMfZ1syzVoSPbNnteoO1ymuoWbgNiKEjNzxLeBlV')).toMatchObject({
        ...{ models: ['kling-v1', 'sora-2', 'gpt-4o'], quota: 247_187, usedQuota: 2813 },
      });
      expect((await key('sk-0MYEPj5wDLtokTfR3cvbKLVAU3Tvrjoz1caTKAh13bQpc6FR'))?.allowIps).toHaveLength(3);

      const graces = (await store.identities.list(8)).map(({ provider, subject }) => `${provider} ${subject}`);
      expect(graces).toEqual([
        'corp-sso corp-user-0042',
        'discord 900000000000000042',
        'email grace@example.test',
        'github 1000042',
        'linuxdo 4242',
        'oidc oidc-sub-grace',
      ]);
      const factor = await store.twoFactor.byUser(7);
      expect([factor?.enabled, secretBox.open(factor?.secretSealed ?? '')]).toEqual([true, FRANKS_SECRET]);
      const [passkey] = await store.passkeys.list(4);
      expect(passkey).toMatchObject({ rpId: 'gateway.example.test', counter: 7 });
      expect(Buffer.from(passkey?.credentialId ?? '', 'base64url').toString()).toBe('fake-passkey-credential-carol');

      const channels = await store.channels.all();
      expect(channels.map(({ name, type, status }) => `${name} ${type} ${status}`)).toEqual([
        ...['kling 50 1', 'vidu 52 2', 'sora 55 1', 'jimeng 51 1', 'hailuo 35 1'],
        ...['doubao-multi 54 1', 'ali 17 1', 'gemini 24 1'],
        ...['openai-compatible 1 2', 'vertex-multi 41 1', 'suno 36 2', 'custom-old 1 2'],
      ]);
      expect(channels.find(({ name }) => name.startsWith('doubao'))?.groups).toEqual(['default', 'vip']);
      const credentials = await store.credentials.all();
      expect(credentials.every(({ keySealed }) => secretBox.open(keySealed) !== undefined)).toBeTrue();
      // A channel of several keys keeps them, and those that were switched off are.
      const keys = (name: string) => {
        const channel = channels.find((each) => each.name === name);
        return credentials.filter(({ channelId }) => channelId === channel?.id).map(({ status }) => status);
      };
      expect([keys('doubao-multi'), keys('vertex-multi'), keys('kling')]).toEqual([[1, 2, 1], [1, 1], [1]]);
      const options = new Map((await store.options.all()).map(({ key, value }) => [key, value]));
      expect(secretBox.open(options.get('GitHubClientSecret') ?? '')).toBe('fake-github-client-secret');
      expect(JSON.parse(options.get('groups') ?? '')).toEqual({ default: 1, vip: 0.8, enterprise: 0.5, promo: 0 });
    });

    test('names what it leaves and changes, without a secret', async () => {
      const report = await importFrom(opened().store, sampleFile(), { dryRun: true });
      expect(codes(report, 'user')).toEqual([
        ...['2 note invitations', '4 note access_token_left', '6 left deleted', '7 note backup_codes_left'],
        ...['9 note group_unknown', '9 note debt', '10 changed email_left'],
      ]);
      expect(codes(report, 'api_key').sort()).toEqual([
        ...['10 left owner_left', '12 left deleted', '14 changed disabled', '15 left other_form', '16 left owner_left'],
        ...['6 changed addresses_left', '8 changed group_left'],
      ]);
      expect(codes(report, 'identity')).toEqual(['github of user 3 left github_name']);
      expect(codes(report, 'channel')).toEqual([
        ...['9 changed disabled', '12 changed disabled', '13 left unknown_type'],
      ]);
      const text = `${JSON.stringify(report)}${describeReport(report)}`;
      for (const secret of [
        'fake-github-client-secret',
        FRANKS_SECRET,
        SAMPLE_KEYS.alice.slice(3),
        '$2a$',
        'fake-corp-secret',
      ]) {
        expect(text).not.toContain(secret);
      }
    });

    test('gives nothing twice, whether it is read again as a file or from a server', async () => {
      const { store } = opened();
      const first = await importFrom(store, sampleFile());
      const before = await snapshot(store);
      const again = await importFrom(store, sampleFile());
      expect([again.taken, again.present.user, again.present.price]).toEqual([{}, first.taken.user, first.taken.price]);
      const url = await testDatabaseUrl();
      const server = new SQL({ url, max: 1 });
      await copySample(server, 'postgres');
      await server.close();
      expect((await importFrom(store, url)).present).toEqual(again.present);
      expect(await snapshot(store)).toEqual(before);
    });

    test('brings no price back that somebody has deleted: the model would be sold again', async () => {
      const { store } = opened();
      await importFrom(store, sampleFile());
      const [price] = await store.prices.all();
      if (!price) throw new Error('the sample has prices');
      expect(await store.transaction((tx) => tx.prices.delete(price.pluginKey, price.model))).toBe(true);
      const rest = await store.prices.all();
      const again = await importFrom(store, sampleFile());
      expect([again.taken, again.present.price]).toEqual([{}, rest.length + 1]);
      expect(await store.prices.all()).toEqual(rest);
    });

    test('keeps groups whose names are in another script, with their ratios', async () => {
      const { store } = opened();
      const groups = '{"default":1,"专线":0.5,"官转（特价）":0.8}';
      const path = sampleFile(
        `update options set value = '${groups}' where key = 'GroupRatio'`,
        `update users set "group" = '专线' where username = 'alice'`,
      );
      const report = await importFrom(store, path);
      expect((await store.users.byNameOrAddress('alice'))?.group).toBe('专线');
      expect((await store.options.all()).find(({ key }) => key === 'groups')?.value).toBe(groups);
      expect(codes(report, 'user').filter((code) => code.startsWith('2 '))).toEqual(['2 note invitations']);
    });

    test('gives no passkey to an account with another id, which its authenticator does not know', async () => {
      const { store } = opened();
      await addUser(store, { username: 'first' });
      const { remarks } = await importFrom(store, sampleFile());
      const carol = await store.users.byNameOrAddress('carol');
      expect(carol?.id).not.toBe(4);
      expect(await store.passkeys.list(carol?.id ?? 0)).toEqual([]);
      expect(remarks).toContainEqual(expect.objectContaining({ kind: 'user', id: '4', code: 'passkey_left' }));
    });

    test('is the same to the end from a PostgreSQL server', async () => {
      const url = await testDatabaseUrl();
      const server = new SQL({ url, max: 1 });
      await copySample(server, 'postgres');
      await server.close();
      const { store } = opened();
      const fromFile = await importFrom(store, sampleFile(), { dryRun: true });
      const fromServer = await importFrom(store, url);
      expect({ ...fromServer.taken, remarks: fromServer.remarks }).toEqual({
        ...fromFile.taken,
        remarks: fromFile.remarks,
      });
      expect(fromServer.source.key).toBe(fromFile.source.key);
      expect(await ledger(store)).toEqual(clean);
    });

    test('a dry run writes nothing', async () => {
      const { store } = opened();
      const before = await snapshot(store);
      await importFrom(store, sampleFile(), { dryRun: true });
      expect(await snapshot(store)).toEqual(before);
    });
  },
  { fresh: 'test', databases: RULE_DATABASES },
);

/** All that an import may write. */
async function snapshot(store: Store) {
  const { items } = await store.users.search({}, { page: 1, pageSize: 100 });
  const lines = await Promise.all(items.map(({ id }) => store.ledger.list(id, { page: 1, pageSize: 100 })));
  const keys = await Promise.all(items.map(({ id }) => store.apiKeys.list(id, { page: 1, pageSize: 100 })));
  return {
    ...{ items, lines, keys, channels: await store.channels.all(), prices: await store.prices.all() },
    ...{ options: await store.options.all(), providers: await store.providers.all() },
  };
}
