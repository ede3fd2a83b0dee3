import { describe, expect, test } from 'bun:test';
import type { Auth } from '../../src/auth/index.ts';
import type { Store } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { ORIGIN, openAuth, openTestStore, overriding } from './harness.ts';
import { refusal } from './refusal.ts';

const root = { username: 'owner', password: 'a good root password' };

async function withStore(
  dialect: (typeof RULE_DATABASES)[number],
  work: (store: Store) => Promise<void>,
): Promise<void> {
  const { store, stop } = await openTestStore(dialect);
  try {
    await work(store);
  } finally {
    await stop();
  }
}

async function openLink(auth: Auth): Promise<string> {
  const token = await auth.setup.openLink();
  if (token === undefined) throw new Error('no link was opened');
  return token;
}

for (const dialect of RULE_DATABASES) {
  describe(`set-up on ${dialect}`, () => {
    test('the link creates root with its quota as a ledger line, once, and no session', () =>
      withStore(dialect, async (store) => {
        const auth = openAuth(store);
        expect(await auth.setup.needed()).toBe(true);
        const token = await openLink(auth);
        expect(token).toMatch(/^[\w-]{43}$/);
        const created = await auth.setup.complete({ token, ...root, acceptLanguage: 'de-AT,en;q=0.5' });
        expect(created.username).toBe('owner');
        expect(await auth.setup.needed()).toBe(false);

        const user = await store.users.byId(created.userId);
        expect(user).toMatchObject({
          ...{ role: 100, status: 1, quota: 100_000_000, authVersion: 1, displayName: 'owner' },
          // That of the browser.
          language: 'de',
        });
        const ledger = await store.ledger.list(created.userId, { page: 1, pageSize: 10 });
        expect(ledger.items.map(({ kind, amount }) => [kind, amount])).toEqual([['grant', 100_000_000]]);
        expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
        expect(await store.sessions.countIssued(created.userId, 0)).toBe(0);

        await refusal(auth.setup.complete({ token, username: 'second', password: root.password }), 'auth.setup_done');
        expect(await auth.setup.openLink()).toBeUndefined();
        expect((await auth.passwords.signIn({ ...root, origin: ORIGIN })).kind).toBe('session');
      }));

    test('no default account, and no set-up without the token', () =>
      withStore(dialect, async (store) => {
        const auth = openAuth(store);
        expect(await store.users.countByRole(100)).toBe(0);
        for (const token of ['', 'x', 'undefined']) {
          await refusal(auth.setup.complete({ token, ...root }), 'auth.setup_token_invalid');
        }
        const token = await openLink(auth);
        for (const wrong of ['', `${token}x`, token.slice(1), token.toUpperCase()]) {
          expect((await refusal(auth.setup.complete({ token: wrong, ...root }), 'auth.setup_token_invalid')).kind).toBe(
            'forbidden',
          );
        }
        const otherStart = openAuth(store);
        await refusal(otherStart.setup.complete({ token, ...root }), 'auth.setup_token_invalid');
        const newer = await openLink(auth);
        await refusal(auth.setup.complete({ token, ...root }), 'auth.setup_token_invalid');
        await auth.setup.complete({ token: newer, ...root });
      }));

    test('a refused name or password keeps the link valid', () =>
      withStore(dialect, async (store) => {
        const auth = openAuth(store);
        const token = await openLink(auth);
        await addUser(store, { username: 'Taken' });
        const refused: [username: string, password: string, code: string, param: string][] = [
          ['', root.password, 'auth.validation_failed', 'username'],
          ['a b', root.password, 'auth.validation_failed', 'username'],
          ['x'.repeat(33), root.password, 'auth.validation_failed', 'username'],
          ['<script>', root.password, 'auth.validation_failed', 'username'],
          ['оwner', root.password, 'auth.validation_failed', 'username'],
          ['owner', 'seven77', 'auth.validation_failed', 'password'],
          ['owner', 'x'.repeat(129), 'auth.validation_failed', 'password'],
          ['tAKEN', root.password, 'auth.name_taken', 'username'],
        ];
        for (const [username, password, code, param] of refused) {
          expect((await refusal(auth.setup.complete({ token, username, password }), code)).param).toBe(param);
          expect(await auth.setup.needed()).toBe(true);
        }
        await auth.setup.complete({ token, username: 'O.w_n-er1', password: root.password });
      }));

    test('fifty concurrent set-ups on two nodes and the command line create one root', () =>
      withStore(dialect, async (store) => {
        const nodes = [openAuth(store), openAuth(store)];
        const tokens = await Promise.all(nodes.map(openLink));
        const outcomes = await Promise.allSettled(
          Array.from({ length: 50 }, (_, i) => {
            const [auth, token] = [nodes[i % 2], tokens[i % 2]];
            const named = { username: `root-${i}`, password: root.password };
            if (!auth || token === undefined) throw new Error('no such node');
            return i % 5 === 0 ? auth.setup.createRoot(named) : auth.setup.complete({ token, ...named });
          }),
        );
        expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
        expect(await store.users.countByRole(100)).toBe(1);
        for (const outcome of outcomes) {
          if (outcome.status === 'rejected') await refusal(Promise.reject(outcome.reason), 'auth.setup_done');
        }
        expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
      }));

    test('a set-up that fails half-way stores nothing', () =>
      withStore(dialect, async (store) => {
        const failing = overriding(store, {
          transaction: (work) =>
            store.transaction((tx) =>
              work(
                overriding(tx, { ledger: overriding(tx.ledger, { grant: () => Promise.reject(new Error('broken')) }) }),
              ),
            ),
        });
        await expect(openAuth(failing).setup.createRoot(root)).rejects.toThrow();
        expect(await store.users.countByRole(100)).toBe(0);
        expect((await openAuth(store).setup.createRoot(root)).username).toBe('owner');
      }));
  });
}
