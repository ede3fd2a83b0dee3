/** Who may do what to whom: operator's role × target's role × action, on both databases. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Auth } from '../../src/auth/index.ts';
import { AppError } from '../../src/kernel/index.ts';
import type { Role, Store, UserRecord } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { bearer, openAuth, openTestStore, signIn } from './harness.ts';

const ROLES = { user: 1, admin: 10, root: 100 } as const satisfies Record<string, Role>;
type Name = keyof typeof ROLES;
type Target = Name | 'self';

const DENIED = 'auth.insufficient_privilege';
const PROTECTED = 'auth.root_protected';
const OWN = 'auth.own_account';

type Caller = Parameters<Auth['administration']['delete']>[0];
/** The API key of each account. */
const keyIds = new Map<number, number>();
/** Each runs the real operation on a target that has what the operation needs. */
const ACTIONS: Record<string, (auth: Auth, caller: Caller, id: number) => Promise<unknown>> = {
  'disable key': async (auth, caller, userId) => {
    const keyId = keyIds.get(userId) ?? 0;
    return auth.administration.keys.changeStatus(caller, { userId, keyId, status: 2 });
  },
  'delete key': async (auth, caller, userId) => {
    const keyId = keyIds.get(userId) ?? 0;
    return auth.administration.keys.delete(caller, { userId, keyId });
  },
  view: (auth, caller, id) => auth.administration.find(caller, id),
  edit: (auth, caller, id) => auth.administration.edit(caller, id, { display_name: 'edited' }),
  'set password': (auth, caller, id) => auth.administration.edit(caller, id, { password: 'a new long password' }),
  'set address': (auth, caller, id) => auth.administration.edit(caller, id, { email: `to-${id}@example.org` }),
  disable: (auth, caller, id) => auth.administration.changeStatusOrRole(caller, id, 'disable'),
  enable: (auth, caller, id) => auth.administration.changeStatusOrRole(caller, id, 'enable'),
  promote: (auth, caller, id) => auth.administration.changeStatusOrRole(caller, id, 'promote'),
  demote: (auth, caller, id) => auth.administration.changeStatusOrRole(caller, id, 'demote'),
  'change quota': (auth, caller, id) => auth.administration.changeQuota(caller, id, { mode: 'add', value: 5 }),
  'reset two-factor': (auth, caller, id) => auth.administration.reset.twoFactor(caller, id),
  'reset passkeys': (auth, caller, id) => auth.administration.reset.passkeys(caller, id),
  'revoke token': (auth, caller, id) => auth.administration.reset.personalToken(caller, id),
  unbind: (auth, caller, id) => auth.administration.reset.binding(caller, id, 'github'),
  delete: (auth, caller, id) => auth.administration.delete(caller, id),
};

/** The expected outcome, written from the specification and independent of the code under test. */
function expected(operator: Name, target: Target, action: string): string {
  if (operator === 'user') return DENIED;
  const targetRole = target === 'self' ? operator : target;
  if (operator === 'admin') {
    if (target === 'self') return action === 'view' ? 'done' : DENIED;
    return targetRole === 'user' && action !== 'promote' && action !== 'demote' ? 'done' : DENIED;
  }
  if (targetRole === 'root' && ['disable', 'promote', 'demote', 'delete'].includes(action)) return PROTECTED;
  if (target === 'self') return ['view', 'change quota'].includes(action) ? 'done' : OWN;
  return 'done';
}

for (const dialect of RULE_DATABASES) {
  describe(`ranks on ${dialect}`, () => {
    let store: Store;
    let stop: () => Promise<void>;
    let auth: Auth;
    const callers = new Map<Name, Caller>();

    beforeAll(async () => {
      ({ store, stop } = await openTestStore(dialect));
      auth = openAuth(store);
      for (const name of Object.keys(ROLES) as Name[]) {
        const user = await addEquipped(ROLES[name]);
        callers.set(name, await auth.authenticatePanel(bearer(await signIn(auth, user))));
      }
    });
    afterAll(() => stop());

    async function addEquipped(role: Role): Promise<UserRecord> {
      const user = await addUser(store, { role });
      const { id } = user;
      await store.passkeys.insert({
        ...{ userId: id, credentialId: `credential-${id}`, publicKey: 'key', rpId: 'localhost', name: 'phone' },
        ...{ counter: 0, transports: [], backedUp: false, createdAt: 1 },
      });
      await store.twoFactor.begin({ userId: id, secretSealed: 'sealed', createdAt: 1 });
      await store.identities.claim({ provider: 'github', subject: `gh-${id}`, userId: id, createdAt: 1 });
      const principal = { kind: 'session', user, sid: 's', sessionVersion: 1 } as const;
      keyIds.set(id, (await auth.apiKeys.create(principal, { name: 'app', unlimited_quota: true })).id);
      return user;
    }
    const readState = async (id: number) => ({
      user: await store.users.adminById(id),
      passkeys: (await store.passkeys.list(id)).length,
      twoFactor: await store.twoFactor.byUser(id),
      identities: await store.identities.list(id),
      lines: (await store.ledger.list(id, { page: 1, pageSize: 100 })).total,
      keys: await store.apiKeys.list(id, { page: 1, pageSize: 100 }),
    });

    const cells = (Object.keys(ROLES) as Name[]).flatMap((operator) =>
      (['user', 'admin', 'root', 'self'] as const).flatMap((target) =>
        Object.keys(ACTIONS).map((action) => [operator, action, target, expected(operator, target, action)] as const),
      ),
    );
    test.each(cells)('%s: %s of %s: %s', async (operator, action, target, outcome) => {
      const caller = callers.get(operator);
      const act = ACTIONS[action];
      if (!caller || !act) throw new Error('unknown cell');
      const id = target === 'self' ? caller.user.id : (await addEquipped(ROLES[target])).id;
      if (target !== 'self') await store.twoFactor.enable(id, 'sealed', 1);
      const before = await readState(id);
      const done = await act(auth, caller, id).then(
        () => 'done',
        (error: unknown) => (error instanceof AppError ? error.code : String(error)),
      );
      expect(done).toBe(outcome);
      if (outcome !== 'done') expect(await readState(id)).toEqual(before);
    });

    test('no key is changed under the number of another account', async () => {
      const caller = callers.get('root');
      if (!caller) throw new Error('unknown operator');
      const [owner, other] = [await addEquipped(ROLES.user), await addEquipped(ROLES.user)];
      const [key] = (await store.apiKeys.list(owner.id, { page: 1, pageSize: 1 })).items;
      const keyId = key?.id ?? 0;
      const { keys } = auth.administration;
      expect(keys.changeStatus(caller, { userId: other.id, keyId, status: 2 })).rejects.toThrow('API key');
      expect(keys.delete(caller, { userId: other.id, keyId })).rejects.toThrow('API key');
      expect(await store.apiKeys.byId(keyId)).toEqual(key);
    });

    test('a key is found by how it begins', async () => {
      const owner = await addEquipped(ROLES.user);
      const [key] = (await store.apiKeys.list(owner.id, { page: 1, pageSize: 1 })).items;
      const prefix = key?.prefix ?? '';
      for (const keyword of [prefix.slice(0, 7), prefix, `${prefix}AndTheRestOfIt`]) {
        const found = await store.apiKeys.names({ keyword, firstOf: 0 }, 100);
        expect(found.map(({ id }) => id)).toContain(key?.id ?? 0);
      }
      expect(await store.apiKeys.names({ keyword: `${prefix.slice(0, 10)}?`, firstOf: 0 }, 100)).toEqual([]);
    });

    test('rank escape: from where root and peers use their keys is no matter of an administrator', async () => {
      const used = { at: 1_790_000_000, ip: '203.0.113.9' };
      const owners: [Name, UserRecord][] = [];
      for (const name of ['user', 'admin', 'root'] as const) {
        const owner = await addEquipped(ROLES[name]);
        await store.apiKeys.touch(keyIds.get(owner.id) ?? 0, used);
        owners.push([name, owner]);
      }
      const seenBy = async (operator: Name) => {
        const caller = callers.get(operator);
        if (!caller) throw new Error('unknown operator');
        const rows: string[] = [];
        for (const [name, { id: userId }] of owners) {
          const [key] = await auth.apiKeys.names(caller, { all: true, userId });
          rows.push(`${name} ${key?.lastUsedIp} ${key?.lastUsedAt}`);
        }
        return rows;
      };
      expect(await seenBy('admin')).toEqual(['user 203.0.113.9 1790000000', 'admin  0', 'root  0']);
      expect(await seenBy('root')).toEqual(owners.map(([name]) => `${name} 203.0.113.9 1790000000`));
    });

    const MADE: [Name, Role, string][] = [
      ['user', 1, DENIED],
      ['user', 10, DENIED],
      ['user', 100, DENIED],
      ['admin', 1, 'done'],
      ['admin', 10, DENIED],
      ['admin', 100, DENIED],
      ['root', 1, 'done'],
      ['root', 10, 'done'],
      ['root', 100, DENIED],
    ];
    test.each(MADE)('%s makes an account of role %d: %s', async (operator, role, outcome) => {
      const caller = callers.get(operator);
      if (!caller) throw new Error('unknown operator');
      const account = { username: `made-by-${operator}-${role}`, password: 'a new long password', role };
      const done = await auth.administration.create(caller, account).then(
        (made) => (made.role === role ? 'done' : `made a ${made.role}`),
        (error: unknown) => (error instanceof AppError ? error.code : String(error)),
      );
      expect(done).toBe(outcome);
      expect((await store.users.byNameOrAddress(account.username)) !== undefined).toBe(outcome === 'done');
    });
  });
}
