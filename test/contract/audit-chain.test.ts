/** The audit log as chains of hashes: changes made below the gateway are detected. */
import { expect, test } from 'bun:test';
import type { AuditAction } from '../../src/store/ports/index.ts';
import { describeEachStore } from './each-store.ts';
import { openRaw, runRaw } from './open-raw.ts';

const row = (action: AuditAction, createdAt = 1) => ({
  userId: 1,
  username: 'ada',
  authMethod: 'session',
  ip: '203.0.113.1',
  action,
  target: 'channel:1',
  detail: { b: 'x\0\ud800', a: [1, { 2: null, '1': 1.5 }] },
  createdAt,
});

describeEachStore(
  'the audit log',
  (opened) => {
    test('its rows form a chain of changes and one of sign-ins', async () => {
      const { store } = opened();
      for (const action of ['channel.create', 'auth.login', 'option.set', 'auth.logout'] as const) {
        await store.logs.addAudit({ ...row(action), target: `odd \0 ${action} \ud800` });
      }
      expect(await store.logs.verifyAudit()).toEqual({ faults: [], chained: 4, unchained: 0 });
    });

    test('rows of two nodes at the same time follow each other', async () => {
      const { store, openAnother } = opened();
      const nodes = [store, await openAnother()];
      await Promise.all(
        nodes.flatMap((node) =>
          Array.from({ length: 6 }, (_, i) => node.logs.addAudit(row(i % 2 === 0 ? 'auth.login' : 'channel.update'))),
        ),
      );
      expect(await store.logs.verifyAudit()).toEqual({ faults: [], chained: 12, unchained: 0 });
    });

    const tricks: [name: string, statement: string, fault: object][] = [
      ['a changed row', "update audit_logs set username = 'eve' where id = 2", { id: 2, fault: 'changed' }],
      ['a changed detail', "update audit_logs set detail = '{}' where id = 2", { id: 2, fault: 'changed' }],
      ['a row that was removed', 'delete from audit_logs where id = 2', { id: 3, fault: 'missing' }],
      ['the first row removed', 'delete from audit_logs where id = 1', { id: 2, fault: 'missing' }],
      ['the last row removed', 'delete from audit_logs where id = 4', { id: 3, fault: 'missing' }],
      ['all rows removed', 'delete from audit_logs', { id: 0, fault: 'missing' }],
    ];
    test.each(tricks)('%s is detected', async (_name, statement, fault) => {
      const { store } = opened();
      for (let i = 0; i < 4; i += 1) await store.logs.addAudit(row('channel.update'));
      await runRaw(opened(), statement);
      expect((await store.logs.verifyAudit()).faults).toMatchObject([{ chain: 'change', ...fault }]);
    });

    test('rows from before the chains are in none, and later rows without a hash are reported', async () => {
      const { store } = opened();
      const without = `insert into audit_logs (username, auth_method, ip, action, target, detail, created_at)
        values ('ada', 'session', '', 'channel.create', 'channel:1', '{}', 1)`;
      await runRaw(opened(), without);
      await store.logs.addAudit(row('channel.update'));
      expect(await store.logs.verifyAudit()).toEqual({ faults: [], chained: 1, unchained: 0 });
      await runRaw(opened(), without);
      await store.logs.addAudit(row('channel.update'));
      expect(await store.logs.verifyAudit()).toEqual({ faults: [], chained: 2, unchained: 1 });
    });

    test('retention deletes the oldest sign-ins and no changes, and the chain stays valid', async () => {
      const { store } = opened();
      for (const at of [10, 20, 30, 40]) {
        await store.logs.addAudit(row('auth.login', at));
        await store.logs.addAudit(row('channel.update', at));
      }
      expect(await store.logs.deleteAudit('sign_in', { until: 30, now: 100 }, 2)).toBe(2);
      expect(await store.logs.deleteAudit('sign_in', { until: 30, now: 100 }, 2)).toBe(1);
      expect(await store.logs.deleteAudit('sign_in', { until: 30, now: 100 }, 2)).toBe(0);
      expect(await store.logs.verifyAudit()).toEqual({ faults: [], chained: 5, unchained: 0 });
      const raw = openRaw(opened());
      const [left] = await raw.rows("select count(*) as rows from audit_logs where action = 'channel.update'");
      await raw.close();
      expect(Number(left?.rows)).toBe(4);
      expect(await store.logs.deleteAudit('sign_in', { until: 40, now: 100 }, 10)).toBe(1);
      await store.logs.addAudit(row('auth.login', 50));
      expect((await store.logs.verifyAudit()).faults).toEqual([]);
      await runRaw(opened(), "delete from audit_logs where action = 'auth.login'");
      expect((await store.logs.verifyAudit()).faults).toMatchObject([{ chain: 'sign_in', fault: 'missing' }]);
    });

    test('a row that was written while the clock was ahead holds up no older ones', async () => {
      const { store } = opened();
      for (const at of [10, 9999, 20, 40]) await store.logs.addAudit(row('auth.login', at));
      expect(await store.logs.deleteAudit('sign_in', { until: 30, now: 100 }, 10)).toBe(2);
      expect(await store.logs.verifyAudit()).toEqual({ faults: [], chained: 1, unchained: 0 });
    });
  },
  { fresh: 'test' },
);
