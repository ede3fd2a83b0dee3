import { afterAll, describe, expect, test } from 'bun:test';
import { quoted } from '../../src/kernel/index.ts';
import type { LoadedPlugin } from '../../src/plugins/index.ts';
import type { Sandbox } from '../../src/sandbox/index.ts';
import type { ChannelRecord, TaskRecord } from '../../src/store/ports/index.ts';
import { createRepeatedAnswers } from '../../src/tasks/polling/repeated-answers.ts';
import type { Verdict } from '../../src/tasks/polling/types.ts';
import { describeEachStore } from '../contract/each-store.ts';
import { startSandbox } from '../plugins/support.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { until } from '../support/until.ts';
import { addCaller, jsonRequest, startEngine } from './harness.ts';

describe('an answer whose parsing changed nothing', () => {
  const plugin = { sourceHash: 'source' } as LoadedPlugin;
  const channel = { baseUrl: 'https://vendor.example' } as ChannelRecord;
  const task = {
    taskId: 'task_1',
    status: 'QUEUED',
    progress: '20%',
    data: { state: 'queued' },
    state: { round: 1 },
    polls: 4,
  } as unknown as TaskRecord;
  const later = { ...task, polls: 5 };
  const answer = { status: 200, headers: { date: ['now'], 'x-state': ['a'] }, text: '{"state":"queued"}', body: null };
  const unchanged: Verdict = { kind: 'running', status: 'QUEUED', progress: '', change: {}, retryAfterMs: 0 };
  const poll = { plugin, channel, task, answer };

  test('is known at the next polls, with the verdict that the task runs as it did', () => {
    const answers = createRepeatedAnswers();
    expect(answers.find(poll)).toBeUndefined();
    answers.remember(poll, { verdict: unchanged, isRepeatable: true });
    const verdict = { kind: 'running', status: 'QUEUED', progress: '20%', change: {} } as const;
    expect(answers.find({ ...poll, task: later })).toEqual(verdict);
    expect(answers.find({ ...poll, task: { ...task, polls: 6 } })).toEqual(verdict);
    expect(answers.size()).toBe(1);
  });

  const different: [what: string, change: object][] = [
    ['another text', { answer: { ...answer, text: '{"state":"running"}' } }],
    ['another HTTP status', { answer: { ...answer, status: 202 } }],
    ['another header', { answer: { ...answer, headers: { 'x-state': ['b'] } } }],
    [
      'another header that ends in "id"',
      { answer: { ...answer, headers: { ...answer.headers, 'x-result-id': ['r'] } } },
    ],
    [
      'another header that ends in "time"',
      { answer: { ...answer, headers: { ...answer.headers, 'x-remaining-time': ['0'] } } },
    ],
    ['another version of the plugin', { plugin: { ...plugin, sourceHash: 'other' } }],
    ['another address of the channel', { channel: { baseUrl: 'https://other.example' } }],
    ['a poll by another node in between', { task: { ...task, polls: 6 } }],
    ['another task', { task: { ...later, taskId: 'task_2' } }],
  ];
  test.each(different)('is not known with %s', (_, change) => {
    const answers = createRepeatedAnswers();
    answers.remember(poll, { verdict: unchanged, isRepeatable: true });
    expect(answers.find({ ...poll, task: later, ...change })).toBeUndefined();
  });

  const varying = ['date', 'x-request-id', 'cf-ray', 'traceid', 'x-tt-logid', 'req-cost-time', 'minimax-request-id'];
  test.each([...varying, 'openai-processing-ms', 'x-ratelimit-remaining-requests'])(
    'is known with another %s',
    (name) => {
      const answers = createRepeatedAnswers();
      answers.remember(poll, { verdict: unchanged, isRepeatable: true });
      const other = { ...answer, headers: { ...answer.headers, [name]: ['other'] } };
      expect(answers.find({ ...poll, task: later, answer: other })).toBeDefined();
    },
  );

  const changing: [what: string, verdict: Verdict, isKnown: boolean][] = [
    ['the same data and state', { ...unchanged, change: { data: { state: 'queued' }, state: { round: 1 } } }, true],
    ['other data', { ...unchanged, change: { data: { state: 'other' } } }, false],
    ['another state', { ...unchanged, change: { state: { round: 2 } } }, false],
    ['another status', { ...unchanged, status: 'IN_PROGRESS' }, false],
    ['other progress', { ...unchanged, progress: '21%' }, false],
    ['a start time', { ...unchanged, change: { startTime: 1 } }, false],
    ['an end', { kind: 'ended', ending: { status: 'FAILURE', reason: quoted('no') }, change: {} }, false],
    [
      'a failure',
      { kind: 'poll_failed', class: 'transient', httpStatus: 500, detail: quoted(''), retryAfterMs: 0 },
      false,
    ],
    ['a postponed poll', { kind: 'postponed', why: 'no answer' }, false],
  ];
  test.each(changing)('with %s', (_, verdict, isKnown) => {
    const answers = createRepeatedAnswers();
    answers.remember(poll, { verdict, isRepeatable: true });
    expect(answers.find({ ...poll, task: later }) !== undefined).toBe(isKnown);
  });

  test('is parsed each time for a plugin that reads the clock', () => {
    const answers = createRepeatedAnswers();
    answers.remember(poll, { verdict: unchanged, isRepeatable: false });
    expect(answers.find({ ...poll, task: later })).toBeUndefined();
  });
});

const sandbox = startSandbox();
afterAll(() => sandbox.close());

describeEachStore(
  'polls with a repeated answer',
  (opened) => {
    test('call hooks only while they may change something', async () => {
      let parsed = 0;
      const counting: Sandbox = {
        ...sandbox,
        call: (module, call) => {
          if (call.path[0] === 'parseTaskResult') parsed += 1;
          return sandbox.call(module, call);
        },
      };
      const { store } = opened();
      const engine = await startEngine(store, counting, { pollIntervalMs: 10 });
      try {
        await engine.addChannel();
        await engine.start();
        const { taskId } = await engine.surfaces.submitGeneric(await addCaller(store), {
          requestId: 'request',
          pluginKey: 'demo',
          request: jsonRequest({ model: 'demo-video', prompt: 'a [duration=3600]', seconds: 5 }),
        });
        const task = await until('the task was polled often', async () => {
          const found = await store.tasks.byTaskId(taskId);
          return found !== undefined && found.polls >= 8 ? found : undefined;
        });
        expect(task).toMatchObject({ status: 'QUEUED', pollFailures: 0 });
        expect(parsed).toBeLessThanOrEqual(3);
        // By now the request is known as well: the vendor is asked without any hook.
        const { calls } = sandbox.stats();
        await until('the task was polled more often', async () => {
          const found = await store.tasks.byTaskId(taskId);
          return found !== undefined && found.polls >= task.polls + 5;
        });
        expect(sandbox.stats().calls).toBe(calls);
      } finally {
        await engine.stop();
      }
    });
  },
  { databases: RULE_DATABASES },
);
