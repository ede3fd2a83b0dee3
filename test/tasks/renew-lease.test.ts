import { describe, expect, test } from 'bun:test';
import { type Clock, silentLogger, systemClock } from '../../src/kernel/index.ts';
import { createLeaseRenewal, SUBMIT_LEASE_MS } from '../../src/tasks/submission/renew-lease.ts';
import { until } from '../support/until.ts';

/** A clock whose sleeps pass at once, each of them longer than asked for. */
function lateClock(lateMs: number) {
  let now = 0;
  const clock: Clock = {
    ...systemClock,
    monotonicMs: () => now,
    async sleep(ms) {
      now += ms + lateMs;
      await new Promise<void>((resolve) => setImmediate(resolve));
    },
  };
  return { clock, now: () => now };
}

describe('the lease of a submission', () => {
  test('is renewed in time where the process is so busy that each look comes seconds late', async () => {
    const { clock, now } = lateClock(5000);
    const renewed: number[] = [0];
    const lease = createLeaseRenewal({ clock, logger: silentLogger }).hold('task', async () => {
      renewed.push(now());
      return true;
    });
    await until('it was renewed three times', () => renewed.length > 3);
    lease.stop();
    for (const [i, at] of renewed.slice(1).entries()) expect(at - (renewed[i] ?? 0)).toBeLessThan(SUBMIT_LEASE_MS);
  });

  test('is renewed on when the renewal of another fails at once', async () => {
    const { clock } = lateClock(0);
    const leases = createLeaseRenewal({ clock, logger: silentLogger });
    let renewals = 0;
    const failing = leases.hold('failing', () => {
      throw new Error('no store');
    });
    const lease = leases.hold('task', async () => {
      renewals += 1;
      return true;
    });
    await until('the other was renewed twice', () => renewals > 1);
    failing.stop();
    lease.stop();
  });
});
