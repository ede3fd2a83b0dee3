/** Sources that are broken or hostile, accounts that exist already, and runs that were ended. */
import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, systemClock } from '../../src/kernel/index.ts';
import { describeEachStore } from '../contract/each-store.ts';
import { addUser } from '../support/add-user.ts';
import { sampleFile } from '../support/new-api-source.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { importFrom } from './import-from.ts';

describeEachStore(
  'an import',
  (opened) => {
    const findRemarks = async (...statements: string[]) => {
      const { remarks } = await importFrom(opened().store, sampleFile(...statements));
      return remarks.map(({ kind, id, effect, code }) => `${kind} ${id} ${effect} ${code}`);
    };
    const user = (name: string) => opened().store.users.byNameOrAddress(name);

    describe('of a broken source fails before it writes', () => {
      test.each([
        [['drop table channels'], 'it has no table "channels"'],
        [['alter table tokens drop column remain_quota'], 'its table "tokens" lacks remain_quota'],
        [["insert into options values ('QuotaPerUnit', 'many')"], 'QuotaPerUnit'],
      ])('%j', async (statements, message) => {
        await expect(importFrom(opened().store, sampleFile(...statements))).rejects.toThrow(message);
        expect(await user('alice')).toBeUndefined();
        expect(await opened().store.channels.all()).toEqual([]);
      });

      test('a file that is not a database, and one that is cut off', async () => {
        const text = join(temporaryFolder(), 'one-api.db');
        writeFileSync(text, 'not a database, but long enough to look like one\n'.repeat(50));
        await expect(importFrom(opened().store, text)).rejects.toThrow('not a database');
        await expect(importFrom(opened().store, join(temporaryFolder(), 'none.db'))).rejects.toThrow(
          'there is no file',
        );
        const cut = sampleFile();
        writeFileSync(cut, (await Bun.file(cut).bytes()).slice(0, 300_000));
        await expect(importFrom(opened().store, cut)).rejects.toThrow(/malformed|disk I\/O/);
        expect(await user('alice')).toBeUndefined();
      });
    });

    test('of an older release takes what it has', async () => {
      const report = await importFrom(
        opened().store,
        sampleFile(
          ...['drop table setups', 'drop table two_fas', 'drop table passkey_credentials', 'drop table casbin_rule'],
          ...['drop table custom_oauth_providers', 'alter table users drop column created_at'],
          ...['alter table channels drop column channel_info', 'alter table tokens drop column allow_ips'],
        ),
      );
      expect([report.taken.user, report.taken.api_key]).toEqual([9, 12]);
      expect(await opened().store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
    });

    test('leaves rows that are huge or no valid UTF-8, and takes the others', async () => {
      const remarks = await findRemarks(
        "update users set password = cast(zeroblob(2000000) as text) where username = 'alice'",
        "update users set username = cast(x'6269ff62' as text) where username = 'bob'",
        "update tokens set key = cast(x'ff' as text) where id = 13",
        'update channels set models = hex(zeroblob(1000000)) where id = 1',
      );
      expect(remarks).toEqual(
        expect.arrayContaining(['user 2 left unreadable', 'user 3 left unreadable', 'api_key 13 left unreadable']),
      );
      expect(remarks).toContain('channel 1 left unreadable');
      expect((await user('carol'))?.quota).toBe(20_000_000);
    });

    test('takes what a damaged source has twice once: invitation codes, keys, passkeys', async () => {
      const remarks = await findRemarks(
        'drop index idx_users_aff_code',
        'drop index idx_tokens_key',
        'drop index idx_passkey_credentials_credential_id',
        'update users set aff_code = (select aff_code from users where id = 2) where id = 3',
        'update tokens set key = (select key from tokens where id = 1) where id = 3',
        'insert into passkey_credentials (user_id, credential_id, public_key) select 9, credential_id, public_key from passkey_credentials limit 1',
      );
      expect(remarks).toEqual(expect.arrayContaining(['api_key 3 left key_taken', 'user 9 note passkey_left']));
      expect((await user('bob'))?.quota).toBe(1_250_000);
    });

    test('loses nobody silently: an id that is not a number ends it', async () => {
      await expect(findRemarks('update users set id = 9007199254740993 where id = 9')).rejects.toThrow(
        'the table "users" of the source has an id that is not a whole number',
      );
      expect(await user('alice')).toBeUndefined();
    });

    test('merges no account that exists: a name, an address', async () => {
      const { store } = opened();
      await addUser(store, { username: 'ALICE' });
      const other = await addUser(store, { username: 'other', email: 'carol@example.test' });
      await store.identities.claim({
        provider: 'email',
        subject: 'carol@example.test',
        userId: other.id,
        createdAt: 1,
      });
      const remarks = await findRemarks();
      expect(remarks).toEqual(
        expect.arrayContaining(['user 2 left name_taken', 'api_key 1 left owner_left', 'user 4 changed email_left']),
      );
      expect((await user('alice'))?.quota).toBe(0);
      expect((await user('carol'))?.email).toBeNull();
      // Their ids belong to others here.
      expect((await user('bob'))?.id).not.toBe(3);
      expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
    });

    test('gives a name that is not allowed here another form, and tells names apart that differ by case', async () => {
      const remarks = await findRemarks(
        "update users set username = '王小明', display_name = '' where id = 2",
        "update users set username = 'BOB' where id = 9",
      );
      expect(remarks).toEqual(expect.arrayContaining(['user 2 changed renamed', 'user 9 changed renamed']));
      expect((await user('new-api-2'))?.quota).toBe(5_500_000);
      expect((await user('new-api-9'))?.quota).toBe(-1234);
      expect((await user('bob'))?.quota).toBe(1_250_000);
    });

    test('of a second source leaves an account whose other name is taken, and takes the others', async () => {
      await importFrom(opened().store, sampleFile("update users set username = '王小明' where id = 2"));
      const remarks = await findRemarks(
        "update users set username = '李雷', aff_code = 'OTHR' where id = 2",
        "update users set username = 'somebody', aff_code = 'SOME' where id = 3",
        'update setups set initialized_at = initialized_at + 1',
      );
      expect(remarks).toContain('user 2 left name_taken');
      expect(await user('somebody')).toBeDefined();
    });

    test('counts in its own unit, and never up', async () => {
      await findRemarks(
        "insert into options values ('QuotaPerUnit', '1000000')",
        'update users set quota = 3 where id = 2',
      );
      expect([(await user('alice'))?.quota, (await user('bob'))?.quota]).toEqual([1, 625_000]);
    });

    test('that is ended in the middle goes on, and creates no money twice', async () => {
      const { store } = opened();
      const file = sampleFile();
      const source = new Database(file);
      source.run(`insert into users (id, username, password, role, status, quota, inviter_id)
        with recursive n (i) as (select 100 union all select i + 1 from n where i < 449)
        select i, 'many-' || i, '', 1, 1, 1000 + i, i - 1 from n`);
      source.close();
      let pages = 0;
      const ends = importFrom(store, file, {
        onProgress: () => {
          pages += 1;
          if (pages === 2) throw new Error('ended');
        },
      });
      await expect(ends).rejects.toThrow('ended');
      expect((await store.users.search({}, { page: 1, pageSize: 1 })).total).toBeLessThan(300);
      const rest = await importFrom(store, file);
      expect((rest.taken.user ?? 0) + (rest.present.user ?? 0)).toBe(359);
      expect(rest.present.user).toBeGreaterThan(100);
      expect(rest.taken.channel).toBeUndefined();
      expect((await user('many-449'))?.quota).toBe(1449);
      expect((await user('many-449'))?.id).toBe(449);
      expect(await store.users.countInvited(300)).toBe(1);
      expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
      expect((await importFrom(store, file)).taken).toEqual({});
    });

    test('leaves most of the time to a gateway beside it: it rests four times as long as it has written', async () => {
      let ms = 0;
      const rests: number[] = [];
      const clock: Clock = {
        ...systemClock,
        // Each look finds a millisecond gone.
        monotonicMs: () => {
          ms += 1;
          return ms;
        },
        sleep: async (rest) => void rests.push(rest),
      };
      await importFrom(opened().store, sampleFile(), { clock });
      // Nine users: a page that is read, the same that is written, and two steps of writing.
      expect(rests).toEqual([1, 1, 4, 4]);
    });

    describe('rights', () => {
      test('privilege escalation: an administrator with limited rights becomes no whole one', async () => {
        const remarks = await findRemarks(
          "insert into casbin_rule (ptype, v0, v1) values ('g', 'user:4', 'role:support')",
        );
        expect(remarks).toContain('user 4 changed rights_left');
        expect((await user('carol'))?.role).toBe(1);
      });

      test('a second root: the account that is here stays the only one', async () => {
        await addUser(opened().store, { username: 'ada', role: 100 });
        expect(await findRemarks()).toContain('user 1 changed root_taken');
        expect((await user('root'))?.role).toBe(10);
      });

      test('second factor lost: an account whose factor cannot be read is disabled', async () => {
        expect(await findRemarks("update two_fas set secret = 'broken!' where user_id = 7")).toContain(
          'user 7 changed factor_unreadable',
        );
        expect((await user('frank'))?.status).toBe(2);
      });

      test('denial of service: a password hash of absurd cost is not taken', async () => {
        expect(
          await findRemarks("update users set password = replace(password, '$10$', '$31$') where id = 2"),
        ).toContain('user 2 changed password_left');
        expect((await user('alice'))?.passwordHash).toBeNull();
      });

      test('stolen identity: one that two accounts name belongs to the first', async () => {
        expect(await findRemarks("update users set github_id = '1000042' where id = 10")).toContain(
          'identity github of user 10 left identity_taken',
        );
        expect((await opened().store.identities.owner('github', '1000042'))?.userId).toBe(
          (await user('grace'))?.id ?? 0,
        );
      });
    });
  },
  { fresh: 'test', databases: ['sqlite'] },
);
