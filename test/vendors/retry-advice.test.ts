/** What each outcome at a vendor means for a repeat: the rule behind `x-should-retry`. */
import { describe, expect, test } from 'bun:test';
import { AppError, quoted } from '../../src/kernel/index.ts';
import { forbidUnsafeRetry } from '../../src/tasks/submission/forbid-unsafe-retry.ts';
import { adviseRetry, classifyFailure, classifyStatus, isRepeatable } from '../../src/vendors/answer/retry-advice.ts';

test.each([
  [[200, 204, 301, 302, 303, 408, 409, 500, 502, 503, 504, 529], 'in_doubt', false, false],
  [[400, 402, 404, 410, 413, 422, 451], 'refused', undefined, false],
  [[401, 403, 307, 308], 'turned_away', undefined, true],
  [[429], 'throttled', undefined, true],
] as const)('a vendor that answers %p: %s', (statuses, outcome, advice, repeatable) => {
  for (const status of statuses) {
    const known = classifyStatus(status);
    expect([status, known, adviseRetry(known), isRepeatable(known)]).toEqual([status, outcome, advice, repeatable]);
  }
});

test.each([
  ['timeout', false, 'in_doubt', false, false],
  ['broken', false, 'in_doubt', false, false],
  ['aborted', false, 'in_doubt', false, false],
  // Our own rules refuse a redirect that the vendor's answer asks for.
  ['refused', false, 'in_doubt', false, false],
  ['refused', true, 'forbidden', undefined, true],
  ['dns', true, 'not_sent', true, true],
  ['connect', true, 'not_sent', true, true],
  ['tls', true, 'not_sent', true, true],
  ['timeout', true, 'not_sent', true, true],
] as const)('a request that got no answer (%s, not sent: %p) is %s', (kind, notSent, outcome, advice, repeatable) => {
  const known = classifyFailure({ kind, notSent, ...quoted('') });
  expect([known, adviseRetry(known), isRepeatable(known)]).toEqual([outcome, advice, repeatable]);
});

describe('while a vendor may have the job', () => {
  const failing = (error: unknown, vendorMayHaveJob: boolean): Promise<unknown> =>
    forbidUnsafeRetry(async (state) => {
      state.vendorMayHaveJob = vendorMayHaveJob;
      throw error;
    }).catch((thrown: unknown) => thrown);
  const busy = new AppError('tasks.vendor_busy', 'rate_limited', {
    message: 'Busy.',
    param: 'model',
    retryAfterSeconds: 5,
    shouldRetry: true,
  });

  test('every failure advises against a repeat', async () => {
    const { code, kind, message, param } = busy;
    const advised = await failing(busy, true);
    expect(advised).toMatchObject({ code, kind, message, param, shouldRetry: false });
    expect((advised as AppError).retryAfterSeconds).toBeUndefined();
    const crash = new TypeError('a bug');
    expect(await failing(crash, true)).toMatchObject({
      code: 'tasks.submission_broken',
      kind: 'internal',
      shouldRetry: false,
      cause: crash,
    });
  });

  test('and otherwise failures stay as they are', async () => {
    expect(await failing(busy, false)).toBe(busy);
  });
});
