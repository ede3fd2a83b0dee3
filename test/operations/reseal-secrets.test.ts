/** `secrets rotate`: every sealed value, whatever happens in the meantime. */
import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getTableColumns, getTableName } from 'drizzle-orm';
import { createSecretBox, systemClock } from '../../src/kernel/index.ts';
import { findUnreadable, resealSecrets } from '../../src/operations/secrets/reseal-secrets.ts';
import { SEALED_COLUMNS, type Store } from '../../src/store/ports/index.ts';
import { tablesFor } from '../../src/store/schema/index.ts';
import { addKey, describeEachStore } from '../contract/each-store.ts';
import { addUser } from '../support/add-user.ts';

const OLD = 'the old secret of the tests, long enough';
const NEW = 'the new secret of the tests, long enough';
const old = createSecretBox([OLD]);
const both = createSecretBox([NEW, OLD]);
const current = createSecretBox([NEW]);

/** One value in every column, all under the old secret; gives the sealed texts of the rows. */
async function fill(store: Store): Promise<() => Promise<string[]>> {
  const { id } = await addUser(store);
  const key = await addKey(store, id, { webhookSecretSealed: old.seal('webhook') });
  await store.apiKeys.rotateWebhookSecret(key.id, id, {
    present: key.webhookSecretSealed,
    sealed: old.seal('webhook'),
    formers: [{ sealed: old.seal('former'), until: 5 }],
  });
  const common = {
    baseUrl: 'https://vendor.example',
    models: ['m'],
    groups: ['default'],
    createdAt: 1,
    updatedAt: 1,
  };
  const { id: channelId } = await store.channels.insert({
    ...{
      ...common,
      name: 'channel',
      type: 1,
      priority: 0,
      weight: 1,
      modelMapping: {},
    },
    ...{ taskPluginKey: null, settings: { mark: old.seal('address'), other: 'v1.' }, status: 1 },
    ...{ proxySealed: old.seal('direct'), headersSealed: old.seal('{}') },
  });
  const credential = { channelId, keySealed: old.seal('vendor key'), keyHint: '', createdAt: 1, updatedAt: 1 };
  await store.credentials.insert([credential]);
  await store.balanceAlerts.setSecret(id, old.seal('alert'));
  await store.twoFactor.begin({ userId: id, secretSealed: old.seal('FACTOR'), createdAt: 1 });
  await store.options.put('SMTPToken', old.seal('mail'));
  await store.options.put('SystemName', 'v1.0 of our gate');
  await store.providers.insert({
    ...{ slug: 'corp', name: 'Corp', icon: '', enabled: true, clientId: 'c', clientSecretSealed: old.seal('client') },
    ...{
      authorizationEndpoint: '',
      tokenEndpoint: '',
      userInfoEndpoint: '',
      wellKnown: '',
      scopes: '',
      userIdField: 'sub',
    },
    ...{
      usernameField: '',
      displayNameField: '',
      emailField: '',
      authStyle: 0,
      accessPolicy: '',
      accessDeniedMessage: '',
      createdAt: 1,
      updatedAt: 1,
    },
  });
  return async () => {
    const [channel] = await store.channels.all();
    const stored = await store.apiKeys.byId(key.id);
    return [
      (await store.credentials.all())[0]?.keySealed,
      channel?.settings.mark,
      channel?.proxySealed,
      channel?.headersSealed,
      (await store.providers.all())[0]?.clientSecretSealed,
      (await store.twoFactor.byUser(id))?.secretSealed,
      stored?.webhookSecretSealed,
      stored?.webhookFormers[0]?.sealed,
      (await store.balanceAlerts.byUser(id))?.webhookSecretSealed,
      await store.options.get('SMTPToken'),
    ].map(String);
  };
}

const CLEAR = ['vendor key', 'address', 'direct', '{}', 'client', 'FACTOR', 'webhook', 'former', 'alert', 'mail'];

describeEachStore(
  'resealing',
  (opened) => {
    test('reaches every column, once, and needs the former secret no more', async () => {
      const { store } = opened();
      const values = await fill(store);
      const first = await resealSecrets({ store, secretBox: both, clock: systemClock });
      expect(first).toEqual(SEALED_COLUMNS.map((column) => ({ column, resealed: 1, current: 0, lost: 0 })));
      const sealed = await values();
      expect(sealed.map((text) => current.open(text))).toEqual(CLEAR);
      const second = await resealSecrets({ store, secretBox: both, clock: systemClock });
      expect(second.every(({ resealed, current }) => resealed === 0 && current === 1)).toBeTrue();
      expect(await values()).toEqual(sealed);
      expect(await store.options.get('SystemName')).toBe('v1.0 of our gate');
    });

    test('that is ended after any value goes on, and every value can be read in between', async () => {
      const { store } = opened();
      const values = await fill(store);
      for (let step = 1; step <= CLEAR.length; step += 1) {
        const ends = resealSecrets({ store, secretBox: both, clock: systemClock }, () => {
          throw new Error('killed');
        });
        await expect(ends).rejects.toThrow('killed');
        expect((await values()).map((text) => both.open(text))).toEqual(CLEAR);
        expect((await values()).filter((text) => current.open(text) !== undefined)).toHaveLength(step);
      }
      const rest = await resealSecrets({ store, secretBox: both, clock: systemClock });
      expect(rest.every(({ resealed }) => resealed === 0)).toBeTrue();
    });

    test('with a wrong former secret changes nothing and counts what is lost', async () => {
      const { store } = opened();
      const values = await fill(store);
      const before = await values();
      const wrong = createSecretBox([NEW, 'another secret of the tests, wrong']);
      const counts = await resealSecrets({ store, secretBox: wrong, clock: systemClock });
      expect(counts.every(({ lost, resealed }) => lost === 1 && resealed === 0)).toBeTrue();
      expect(await values()).toEqual(before);
      for (const column of SEALED_COLUMNS) {
        expect([column, await findUnreadable({ store, secretBox: wrong }, column)]).toEqual([
          column,
          [expect.any(String)],
        ]);
        expect([column, await findUnreadable({ store, secretBox: both }, column)]).toEqual([column, []]);
      }
    });

    test('lost update: a value that somebody changes in the meantime is theirs', async () => {
      const { store } = opened();
      await store.options.put('SMTPToken', old.seal('mail'));
      const [page] = [await store.sealed.page('options.value', '', 10)];
      await store.options.put('SMTPToken', both.seal('newer'));
      const [value] = page;
      const text = both.reseal(value?.text ?? '') ?? '';
      expect(await store.sealed.replace('options.value', { id: 'SMTPToken', text }, value?.text ?? '')).toBeFalse();
      expect(both.open((await store.options.get('SMTPToken')) ?? '')).toBe('newer');
    });
  },
  { fresh: 'test' },
);

/** Files that seal something. Where does it end up? Add the column to `SEALED_COLUMNS` first. */
const SEALERS = [
  'src/importing/plan-channels.ts',
  'src/importing/plan-sign-in.ts',
  'src/importing/plan-options.ts',
  'src/importing/plan-plugins-and-providers.ts',
  'src/importing/write-import.ts',
  'src/app/demo-vendor/demo-channel.ts',
  'src/auth/api-keys/edit-api-key.ts',
  'src/auth/api-keys/rotate-webhook-secret.ts',
  'src/auth/oauth/custom-providers.ts',
  // Into auth_flows, which live for minutes: a former secret outlives them.
  'src/auth/oauth/sign-in-with-oauth.ts',
  'src/auth/credentials/authenticator.ts',
  'src/auth/own-account/balance-alert.ts',
  'src/channels/channel-network.ts',
  'src/channels/credentials.ts',
  'src/kernel/crypto.ts',
  'src/settings/settings-service.ts',
];

test('no encrypted column is forgotten: all that seal are known, and all columns of sealed values', () => {
  const sealers = readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && /\b\w*[bB]ox\)?\.seal\(/.test(readFileSync(join('src', file), 'utf8')))
    .map((file) => `src/${file.replaceAll('\\', '/')}`);
  expect(sealers.sort()).toEqual([...SEALERS].sort());
  const columns = Object.values(tablesFor('sqlite')).flatMap((table) =>
    Object.values(getTableColumns(table)).map(({ name }) => `${getTableName(table)}.${name}`),
  );
  const named = columns.filter((name) => name.endsWith('_sealed'));
  expect(named.filter((name) => !SEALED_COLUMNS.some((column) => column === name))).toEqual([]);
  expect(SEALED_COLUMNS.filter((column) => !columns.includes(column))).toEqual([]);
});
