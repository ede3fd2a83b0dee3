import { afterAll, expect, test } from 'bun:test';
import { sha256Hex } from '../../src/kernel/index.ts';
import { migrateStore, openStore } from '../../src/store/index.ts';
import { openRaw } from '../contract/open-raw.ts';
import { addOldUser, anOldDatabase, createConcurrencyLimit, type Setup } from './old-database.ts';

const places = createConcurrencyLimit();
afterAll(places.clear);

async function listClaims(setup: Setup): Promise<string[]> {
  const raw = openRaw(setup);
  const rows = await raw.rows('select provider, subject, user_id, created_at from external_identity_claims');
  await raw.close();
  return rows.map((row) => `${row.provider} ${row.subject}: ${row.user_id} at ${row.created_at}`).sort();
}

for (const dialect of ['sqlite', 'postgres'] as const) {
  test(`${dialect}: a filled database of the first layout: identities of the deleted go to who is there, addresses get owners`, async () => {
    const setup = await places.setUp(dialect);
    const [long, longest] = [`${'a'.repeat(117)}@example.org`, `${'b'.repeat(116)}@example.org`];
    await anOldDatabase(setup, 1, [
      addOldUser('anna', { deleted_at: '90', github_id: 'gh-1', telegram_id: '5', email: 'shared@example.org' }),
      addOldUser('bert', { github_id: 'gh-1', email: 'Shared@Example.org' }),
      addOldUser('carl', { github_id: 'gh-1', email: 'SHARED@example.org', discord_id: 'd-1' }),
      addOldUser('dora', { deleted_at: '91', discord_id: 'd-1', linux_do_id: 'l-1', email: 'dora@example.org' }),
      addOldUser('emil', { linux_do_id: 'l-1', email: '' }),
      addOldUser('fritz', { email: long }),
      addOldUser('gina', { email: longest, wechat_id: 'w-1' }),
      addOldUser('hans', { oidc_id: 'o-1', email: 'hans@example.org' }),
      // Disabled is not deleted.
      `update users set status = 2 where username = 'hans'`,
    ]);
    expect(await migrateStore(setup)).toContain('0004_identities');
    expect(await listClaims(setup)).toEqual(
      [
        'github gh-1: 2 at 77',
        'discord d-1: 3 at 77',
        'linuxdo l-1: 5 at 77',
        'wechat w-1: 7 at 77',
        'oidc o-1: 8 at 77',
        'email shared@example.org: 2 at 77',
        `email ${longest}: 7 at 77`,
        'email hans@example.org: 8 at 77',
      ].sort(),
    );
    const store = await openStore(setup);
    // The displayed address stays as it was typed, whichever user owns it.
    expect(await store.users.byId(2)).toMatchObject({ email: 'Shared@Example.org' });
    expect(await store.users.byId(3)).toMatchObject({ email: 'SHARED@example.org' });
    expect(await store.users.byId(6)).toMatchObject({ email: long });
    expect(await store.users.byNameOrAddress('shared@example.org')).toMatchObject({ id: 2 });
    expect(await store.users.adminById(1)).toMatchObject({ remark: '', inviterId: 0, deletedAt: 90 });
    expect(await store.users.ensureAffCode(2, 'abcd')).toBe('abcd');
    await store.close();
  });

  test(`${dialect}: what is owned already stays, and a start later gives nothing back that was let go`, async () => {
    const setup = await places.setUp(dialect);
    const claim = (provider: string, subject: string, id: number) =>
      `insert into external_identity_claims (provider, subject, user_id, created_at) values ('${provider}', '${subject}', ${id}, 88)`;
    await anOldDatabase(setup, 3, [
      addOldUser('anna', { github_id: 'gh-old', email: 'a@example.org' }),
      addOldUser('bert', { github_id: 'gh-new', telegram_id: '5' }),
      claim('github', 'gh-new', 1),
      claim('telegram', '5', 2),
    ]);
    expect(await migrateStore(setup)).toContain('0004_identities');
    const owned = ['email a@example.org: 1 at 77', 'github gh-new: 1 at 88', 'telegram 5: 2 at 88'];
    expect(await listClaims(setup)).toEqual(owned);

    const store = await openStore(setup);
    expect(await store.identities.release(2, 'telegram')).toBe(true);
    expect(await store.identities.release(1, 'email')).toBe(true);
    await store.close();
    expect(await migrateStore(setup)).toEqual([]);
    await (await openStore(setup)).close();
    expect(await listClaims(setup)).toEqual(['github gh-new: 1 at 88']);
  });

  test(`${dialect}: flows, sessions, factors and tokens of a database of 0003 go on`, async () => {
    const setup = await places.setUp(dialect);
    await anOldDatabase(setup, 3, [
      addOldUser('anna', { access_token: sha256Hex('tgp_old'), access_token_prefix: 'tgp_old' }),
      `insert into user_sessions (sid, user_id, user_auth_version, status, refresh_hash, login_method, ip, user_agent, created_at,
        last_active_at, expires_at) values ('s1', 1, 1, 'active', 'r', 'password', '', '', 1, 1, 9)`,
      `insert into auth_flows (token_hash, purpose, created_at, expires_at) values ('t', 'oauth', 1, 9)`,
      `insert into two_factor (user_id, secret_sealed, created_at) values (1, 'sealed', 1)`,
    ]);
    expect(await migrateStore(setup)).toContain('0004_identities');
    const store = await openStore(setup);
    expect(await store.users.byAccessToken(sha256Hex('tgp_old'))).toMatchObject({ username: 'anna', authVersion: 1 });
    expect(await store.users.adminById(1)).toMatchObject({ hasAccessToken: true });
    expect(await store.sessions.bySid('s1')).toMatchObject({ status: 'active', refreshHash: 'r' });
    expect(await store.twoFactor.byUser(1)).toMatchObject({ secretSealed: 'sealed' });
    expect(await store.flows.countTry({ tokenHash: 't', purpose: 'oauth', limit: 5, now: 5 })).toBeUndefined();
    expect(await store.flows.consume('t', { purpose: 'oauth' }, 5)).toMatchObject({ payload: {} });
    await store.close();
  });
}
