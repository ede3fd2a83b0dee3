/** What a client is told of the task that it has submitted, whatever fails after the purchase. */
import { expect, test } from 'bun:test';
import { answerSubmitted } from '../../../src/http/v1/wait-for-change.ts';
import { AppError } from '../../../src/kernel/index.ts';
import { taskErrors } from '../../../src/tasks/index.ts';
import { vendorErrors } from '../../../src/vendors/index.ts';

type Deps = Parameters<typeof answerSubmitted>[0];
type Scope = Parameters<typeof answerSubmitted>[1];
type Submitted = Parameters<typeof answerSubmitted>[2]['submitted'];

const submitted = (replayed = false) => ({ taskId: 'task_1', status: 'SUBMITTED', replayed }) as Submitted;
const watchAccess = () => ({ signal: new AbortController().signal, stop: () => {}, hasEnded: () => false });
const createDeps = (awaitChange: () => Promise<unknown>) =>
  ({ tasks: { awaitChange }, watchAccess }) as unknown as Deps;
const createScope = (headers: Record<string, string> = {}): Scope =>
  ({
    request: new Request('http://localhost/v1/videos', { headers }),
    api: { user: { id: 1 }, key: { walletId: 1 }, group: 'default' },
    set: { headers: {} },
  }) as unknown as Scope;
const advice = (answer: Promise<unknown>) =>
  answer.then(
    () => 'answered',
    (error) => (error instanceof AppError ? [error.code, error.shouldRetry] : error),
  );

test('where too many wait already, the task is told of at once, and no wait is claimed', async () => {
  const scope = createScope({ prefer: 'wait=5' });
  const deps = createDeps(async () => {
    throw vendorErrors.rate_limit_exceeded({ retryAfterSeconds: 5 });
  });
  const latest = await answerSubmitted(deps, scope, {
    submitted: submitted(),
    seconds: 5,
    toAnswer: async (task) => task,
  });
  expect([latest.taskId, scope.set.headers]).toEqual(['task_1', {}]);
});

test.each<[string, () => Error, [string, boolean | undefined]]>([
  ['an unexpected failure', () => new TypeError('boom'), ['tasks.submission_broken', false]],
  ['a failure that says nothing of it', () => taskErrors.vendor_timeout(), ['tasks.vendor_timeout', false]],
])('%s after the purchase advises no repeat', async (_name, fail, expected) => {
  const toAnswer = async () => {
    throw fail();
  };
  const deps = createDeps(async () => submitted());
  const first = answerSubmitted(deps, createScope(), { submitted: submitted(), seconds: 0, toAnswer });
  expect(await advice(first)).toEqual(expected);
});

test('a repeat with its Idempotency-Key may be repeated again', async () => {
  const toAnswer = async () => {
    throw taskErrors.vendor_timeout();
  };
  const deps = createDeps(async () => submitted(true));
  const again = answerSubmitted(deps, createScope(), { submitted: submitted(true), seconds: 0, toAnswer });
  expect(await advice(again)).toEqual(['tasks.vendor_timeout', undefined]);
});
