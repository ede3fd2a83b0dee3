/** Sources whose channels, prices, providers and options are broken or written by an attacker. */
import { describe, expect, test } from 'bun:test';
import { describeReport } from '../../src/importing/report.ts';
import { describeEachStore } from '../contract/each-store.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { sampleFile } from '../support/new-api-source.ts';
import { importFrom } from './import-from.ts';

/** The table without its keys and indexes, as a damaged file may have it. */
const withoutKeys = (table: string): string[] => [
  `create table damaged as select * from ${table}`,
  `drop table ${table}`,
  `alter table damaged rename to ${table}`,
];
const setOption = (key: string, value: string) => [
  `delete from options where key = '${key}'`,
  `insert into options (key, value) values ('${key}', ${value})`,
];

describeEachStore(
  'an import',
  (opened) => {
    const read = (...statements: string[]) => importFrom(opened().store, sampleFile(...statements));
    const findRemarks = async (...statements: string[]) =>
      (await read(...statements)).remarks.map(({ kind, id, effect, code }) => `${kind} ${id} ${effect} ${code}`);
    const channel = async (name: string) => (await opened().store.channels.all()).find((each) => each.name === name);

    describe('of channels', () => {
      test('leaves those whose id, keys or names cannot be told, and takes the others', async () => {
        const remarks = await findRemarks(
          ...withoutKeys('channels'),
          'update channels set id = 2 where id = 3',
          "update channels set id = 'x' where id = 4",
          'update channels set channel_info = \'{"is_multi_key":tr\' where id = 6',
          "update channels set models = models || ',' || hex(zeroblob(100)) where id = 5",
          `update channels set "group" = hex(zeroblob(40)) where id = 7`,
        );
        expect(remarks).toEqual(
          expect.arrayContaining([
            ...['channel 2 left unreadable', 'channel x left unreadable', 'channel 6 left unreadable'],
            ...['channel 5 left unreadable', 'channel 7 left unreadable'],
          ]),
        );
        expect((await opened().store.channels.all()).map(({ name }) => name)).toEqual([
          ...['kling', 'vidu', 'gemini', 'openai-compatible', 'vertex-multi', 'suno', 'custom-old'],
        ]);
      });

      test('denial of service: a channel of a million keys is not taken', async () => {
        const keys = `(with recursive n (i) as (select 1 union all select i + 1 from n where i < 200000)
          select group_concat(i, char(10)) from n)`;
        expect(
          await findRemarks(
            `update channels set key = substr(${keys}, 1, 1000000), channel_info = '{"is_multi_key":true}' where id = 1`,
          ),
        ).toContain('channel 1 left too_many');
        expect(await channel('vidu')).toBeDefined();
      });

      test('lost protection: a setting that is huge or broken, or only there has a meaning, disables the channel', async () => {
        const remarks = await findRemarks(
          'update channels set setting = \'{"proxy":"http://proxy\' where id = 1',
          'update channels set param_override = hex(zeroblob(600000)) where id = 3',
          `update channels set settings = '{"vertex_key_type":"api_key"}' where id = 10`,
          `update channels set channel_info = json_set(channel_info, '$.multi_key_status_list', 7) where id = 6`,
        );
        for (const id of [1, 3, 10]) expect(remarks).toContain(`channel ${id} changed disabled`);
        for (const name of ['kling', 'sora', 'vertex-multi'])
          expect([name, (await channel(name))?.status]).toEqual([name, 2]);
        const { id: several } = (await channel('doubao-multi')) ?? {};
        const keys = (await opened().store.credentials.all()).filter(({ channelId }) => channelId === several);
        expect(keys.map(({ status }) => status)).toEqual([2, 2, 2]);
      });

      test('lost protection: line breaks before the first key do not move which of them are off', async () => {
        await read(
          `update channels set key = char(10) || 'first-key' || char(10) || char(10) || 'third-key' || char(10),
            channel_info = '{"is_multi_key":true,"multi_key_status_list":{"0":2}}' where id = 6`,
        );
        const { id: several } = (await channel('doubao-multi')) ?? {};
        const keys = (await opened().store.credentials.all()).filter(({ channelId }) => channelId === several);
        expect(keys.map(({ status }) => status)).toEqual([2, 1]);
      });

      test('numbers and names that have no place here are brought into bounds', async () => {
        const remarks = await findRemarks(
          'update channels set priority = 99999999999, weight = 99999999999 where id = 3',
          `update channels set name = 'kling' || char(27) || '[2J' where id = 1`,
          `update channels set name = 'a' || replace(hex(zeroblob(70)), '00', '🎬') where id = 2`,
        );
        expect(remarks).toEqual(expect.arrayContaining(['channel 3 changed rank', 'channel 1 changed renamed']));
        expect(await channel('sora')).toMatchObject({ priority: 1_000_000, weight: 1_000_000 });
        expect(await channel('channel 1')).toBeDefined();
        expect((await channel(`a${'🎬'.repeat(63)}`))?.name).toBeDefined();
      });
    });

    describe('of prices', () => {
      test('takes none for a channel that is left, and none that decimals cannot say', async () => {
        const remarks = await findRemarks(
          "update channels set key = '' where id = 1",
          ...setOption('ModelPrice', `'{"kling-v1":0.14,"vidu2.0":1e-13}'`),
        );
        expect(remarks).toEqual(expect.arrayContaining(['channel 1 left no_key', 'price kling-v1 left not_listed']));
        const prices = await opened().store.prices.all();
        expect(prices.filter(({ model }) => ['kling-v1', 'vidu2.0'].includes(model))).toEqual([]);
      });

      test('null byte: a model of a channel that is left reaches no table', async () => {
        expect(await findRemarks("update channels set models = 'kling-v1' || char(0) where id = 1")).toContain(
          'channel 1 left unreadable',
        );
        expect((await opened().store.prices.all()).filter(({ model }) => model.includes('\0'))).toEqual([]);
      });
    });

    describe('of providers', () => {
      test('two of one slug: the second is left, and the import goes on', async () => {
        const remarks = await findRemarks(
          ...withoutKeys('custom_oauth_providers'),
          'insert into custom_oauth_providers select * from custom_oauth_providers',
          'update custom_oauth_providers set id = 2 where rowid = 2',
        );
        expect(remarks).toContain('provider 2 left slug_taken');
        expect((await opened().store.providers.all()).map(({ slug }) => slug)).toEqual(['corp-sso']);
      });

      test('a secret that would be cut is not taken', async () => {
        expect(await findRemarks('update custom_oauth_providers set client_secret = hex(zeroblob(400))')).toContain(
          'provider 1 changed secret_left',
        );
        expect((await opened().store.providers.all())[0]?.clientSecretSealed).toBe('');
      });
    });

    describe('of options', () => {
      const registers = async () =>
        (await opened().store.options.all()).find(({ key }) => key === 'RegisterEnabled')?.value ?? 'false';

      test('open registration: it stays closed where what guarded it could not be taken', async () => {
        const open = setOption('RegisterEnabled', "'true'");
        const remarks = await findRemarks(...open, ...setOption('TurnstileCheckEnabled', "'true'"));
        expect(remarks).toEqual(
          expect.arrayContaining([
            'option TurnstileCheckEnabled left incomplete',
            'option RegisterEnabled left unsafe',
          ]),
        );
        expect(await registers()).toBe('false');
      });

      test('open registration: the list of domains that it was limited to is a guard too', async () => {
        const remarks = await findRemarks(
          ...setOption('RegisterEnabled', "'true'"),
          ...setOption('EmailDomainRestrictionEnabled', "'true'"),
          ...setOption('EmailDomainWhitelist', "'corp.example, @nothing'"),
        );
        expect(remarks).toContain('option RegisterEnabled left unsafe');
        expect(await registers()).toBe('false');
      });

      test('planted options: none is taken that the source never had, such as where its users sign in', async () => {
        const planted = [
          'GitHubBaseUrl',
          'alerts.webhook_url',
          'TurnstileVerifyUrl',
          'discord.base_url',
          'results.keep',
        ];
        const remarks = await findRemarks(
          ...[...planted, 'LinuxDOBaseUrl'].flatMap((key) => setOption(key, "'https://evil.example'")),
          ...setOption('groups', `'{"default":0}'`),
        );
        for (const key of [...planted, 'groups']) expect(remarks).toContain(`option ${key} left foreign`);
        const values = (await opened().store.options.all()).map(({ value }) => value);
        expect(values.filter((value) => value.includes('evil') || value === '{"default":0}')).toEqual([]);
      });

      test('is taken where nothing guarded it', async () => {
        await findRemarks(...setOption('RegisterEnabled', "'true'"));
        expect(await registers()).toBe('true');
      });

      test('one that is huge or no valid UTF-8 is named, and the unit of money ends the import', async () => {
        expect(await findRemarks(...setOption('GroupRatio', 'hex(zeroblob(600000))'))).toContain(
          'option GroupRatio left unreadable',
        );
        await expect(read(...setOption('QuotaPerUnit', 'hex(zeroblob(600000))'))).rejects.toThrow('QuotaPerUnit');
      });
    });

    describe('of accounts', () => {
      test('loses none silently: one whose id is null ends it, two of one id are named', async () => {
        await expect(read(...withoutKeys('users'), 'update users set id = null where id = 9')).rejects.toThrow(
          'the table "users" of the source has 1 row whose id is not a number',
        );
        const remarks = await findRemarks(...withoutKeys('users'), 'update users set id = 3 where id = 9');
        expect(remarks.filter((remark) => remark === 'user 3 left unreadable')).toHaveLength(2);
        expect((await opened().store.users.byNameOrAddress('alice'))?.quota).toBe(5_500_000);
      });

      test('keys without an owner, an end or a limit that can be read are counted or disabled', async () => {
        const remarks = await findRemarks(
          'update tokens set user_id = null where id = 16',
          'update tokens set expired_time = null where id = 1',
          "update tokens set model_limits_enabled = 'perhaps' where id = 2",
          'update tokens set status = 3, expired_time = 4102444800 where id = 3',
        );
        expect(remarks).toEqual(
          expect.arrayContaining(
            ['1 row left unreadable', '2 changed disabled', '3 changed disabled'].map((remark) => `api_key ${remark}`),
          ),
        );
        const keys = (await opened().store.apiKeys.list(2, { page: 1, pageSize: 20 })).items;
        expect(keys.find(({ name }) => name === 'alice-unlimited')?.expiresAt).toBe(1);
        expect(keys.find(({ name }) => name === 'alice-limited')?.status).toBe(2);
      });

      test('second factor lost: one whose switch cannot be read counts as on', async () => {
        await read("update two_fas set is_enabled = 'perhaps'");
        expect((await opened().store.twoFactor.byUser(7))?.enabled).toBe(true);
      });

      test('budgets beyond what can be counted exactly are not taken', async () => {
        const remarks = await findRemarks(
          ...setOption('QuotaPerUnit', "'1'"),
          'update users set quota = 1, used_quota = 999999999999999',
          'update tokens set remain_quota = 999999999999999 where id = 2',
        );
        expect(remarks).toContain('api_key 2 left unreadable');
        expect((await opened().store.users.byNameOrAddress('alice'))?.usedQuota).toBe(Number.MAX_SAFE_INTEGER);
      });
    });

    test('terminal escape: names of the source do not control the terminal of who reads the report', async () => {
      const report = await read(
        `update users set username = 'b' || char(27) || ']0;title' || char(7) where id = 3`,
        `insert into options (key, value) values ('x' || char(27) || '[2J' || hex(zeroblob(5000)), '1')`,
      );
      const text = describeReport(report);
      expect(text).toContain('b\\u001b]0;title\\u0007');
      // biome-ignore lint/suspicious/noControlCharactersInRegex: this looks for them
      expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
      expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThan(400);
    });

    test('endless view: a view in the place of a table is not a table', async () => {
      await expect(
        read(
          'alter table channels rename to hidden',
          `create view channels as with recursive n (i) as (select 1 union all select i from n)
            select i as id, 1 as type, 'k' as key, 'm' as models from n`,
        ),
      ).rejects.toThrow('it has no table "channels"');
    });
  },
  { fresh: 'test', databases: RULE_DATABASES },
);
