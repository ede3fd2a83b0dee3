import { expect, test } from 'bun:test';
import { authCleanUpSteps } from '../../src/auth/index.ts';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import { createCleanUp } from '../../src/operations/retention/clean-up.ts';
import { openTestStore } from './harness.ts';

const DAY = 86_400;

test('the clean-up deletes sign-ins after AUDIT_SIGN_IN_DAYS, never changes, and with 0 nothing', async () => {
  const { store, stop } = await openTestStore('sqlite');
  try {
    const clock = { ...systemClock, unix: () => 100 * DAY };
    const row = { userId: 1, username: 'ada', authMethod: 'password', ip: '', target: 'user:1', detail: {} };
    for (const createdAt of [70 * DAY, 70 * DAY + 1])
      for (const action of ['auth.login', 'auth.login_failed', 'user.update'] as const)
        await store.logs.addAudit({ ...row, action, createdAt });
    const config = { sessionIssuanceWindowSeconds: DAY, revokedRetentionDays: 7 };
    const clean = (auditSignInDays: number) => {
      const steps = authCleanUpSteps({ store, clock }, { ...config, auditSignInDays });
      return createCleanUp({ store, logger: silentLogger, issuanceAlert: async () => {}, steps }).run();
    };
    const kept = async () =>
      (await store.logs.listAudit({}, { page: 1, pageSize: 10 })).items
        .map(({ action, createdAt }) => `${action} ${createdAt - 70 * DAY}`)
        .sort();
    await clean(0);
    expect(await kept()).toHaveLength(6);
    await clean(30);
    expect(await kept()).toEqual(['auth.login 1', 'auth.login_failed 1', 'user.update 0', 'user.update 1']);
    expect((await store.logs.verifyAudit()).faults).toEqual([]);
  } finally {
    await stop();
  }
});
