/**
 * The events of a stream and their objects, without a gateway: the output for each of a plugin's
 * renderings.
 */
import { describe, expect, test } from 'bun:test';
import type { RenderedEvent, RenderedFinal } from '../../src/plugins/index.ts';
import type { TaskRecord, TaskStatus } from '../../src/store/ports/index.ts';
import { assertFormSupported, readResponseRequest } from '../../src/surfaces/responses/read-response-request.ts';
import {
  failedResponse,
  pendingResponse,
  readTaskId,
  renderedResponse,
  responseId,
} from '../../src/surfaces/responses/response-objects.ts';
import {
  createEventWriter,
  type OutputStart,
  type ResponseEvent,
} from '../../src/surfaces/responses/write-response-events.ts';
import { faultsOfEvent, faultsOfResponse } from '../support/response-shapes.ts';

const BARE = 'abcdefghijklmnopqrstuvwxyz012345';
const ID = `task_${BARE}`;

const task = (status: TaskStatus, change: Partial<TaskRecord> = {}) =>
  ({
    taskId: ID,
    status,
    createdAt: 1_790_000_000,
    submitTime: 1_790_000_001,
    finishTime: status === 'SUCCESS' || status === 'FAILURE' ? 1_790_000_009 : 0,
    failReason: 'the vendor said so',
    failReasonSentence: null,
    properties: { input: '', originModelName: 'alias', upstreamModelName: 'real' },
    billing: {},
    execution: { requestId: 'r', pluginKey: 'p', pluginVersion: '1.0.0', generation: 1, surface: 'proto_responses' },
    ...change,
  }) as TaskRecord;

const progress = (percent?: number, message?: string): RenderedEvent => ({
  type: 'progress',
  ...(percent === undefined ? {} : { progress: percent }),
  ...(message === undefined ? {} : { message }),
});
const output = (text: string): RenderedEvent => ({ type: 'output', text });
const failure: RenderedEvent = { type: 'error', message: 'secret words of the plugin', code: 'E42' };

const OUTPUT = [
  'output_item.added',
  'content_part.added',
  'output_text.delta',
  'output_text.done',
  'content_part.done',
  'output_item.done',
];

type Row = [
  name: string,
  steps: { status: TaskStatus; events?: RenderedEvent[]; done?: boolean }[],
  types: string[],
  last: object,
];
const host = (status: string, more = {}) => ({
  ...more,
  task_id: ID,
  task_status: status,
  retrieval_path: `/v1/responses/resp_${BARE}`,
});

describe('a stream', () => {
  test.each<Row>([
    [
      'begins with what is there',
      [],
      ['created'],
      { status: 'in_progress', output: [], metadata: host('queued'), usage: null },
    ],
    ['says nothing where nothing happens', [{ status: 'QUEUED' }], ['created'], {}],
    [
      'tells of progress',
      [
        { status: 'QUEUED', events: [progress(0, 'waiting')] },
        { status: 'IN_PROGRESS', events: [progress(12.5)] },
      ],
      ['created', 'in_progress', 'in_progress'],
      {
        status: 'in_progress',
        output: [],
        metadata: host('in_progress', { task_progress: '12.5', task_message: 'waiting' }),
      },
    ],
    [
      'gives outputs through all their stages',
      [{ status: 'SUCCESS', events: [output('one'), output('two')], done: true }],
      ['created', ...OUTPUT, ...OUTPUT, 'completed'],
      { status: 'completed', metadata: host('completed'), completed_at: 1_790_000_009 },
    ],
    [
      'is completed by success, whether the plugin is done or not',
      [{ status: 'SUCCESS', events: [output('one')], done: false }],
      ['created', ...OUTPUT, 'completed'],
      { status: 'completed' },
    ],
    [
      'keeps progress to itself once there is output',
      [
        { status: 'IN_PROGRESS', events: [output('half'), progress(50)] },
        { status: 'SUCCESS', events: [], done: true },
      ],
      ['created', ...OUTPUT, 'completed'],
      { status: 'completed' },
    ],
    [
      'ends incomplete where the plugin is done before the task',
      [{ status: 'IN_PROGRESS', events: [output('enough')], done: true }],
      ['created', ...OUTPUT, 'incomplete'],
      { status: 'incomplete', incomplete_details: null, metadata: host('in_progress') },
    ],
    [
      'fails with the plugin’s error, in the host’s words',
      [{ status: 'IN_PROGRESS', events: [output('half'), failure, output('never')], done: false }],
      ['created', ...OUTPUT, 'failed'],
      { status: 'failed', error: { code: 'server_error', message: 'The task failed.' }, metadata: host('in_progress') },
    ],
    [
      'never says that a task failed which succeeded',
      [{ status: 'SUCCESS', events: [failure] }],
      ['created', 'failed'],
      { status: 'failed', error: { code: 'server_error', message: 'The task could not be observed.' } },
    ],
    [
      'fails where the outputs are too many',
      [{ status: 'IN_PROGRESS', events: Array.from({ length: 65 }, (_, i) => output(String(i))) }],
      ['created', 'failed'],
      { status: 'failed', error: { code: 'server_error', message: 'The task could not be observed.' }, output: [] },
    ],
    [
      'fails where the texts of all steps are too long together',
      [
        { status: 'IN_PROGRESS', events: [output('é'.repeat(300_000))] },
        { status: 'IN_PROGRESS', events: [output('é'.repeat(300_000))] },
      ],
      ['created', ...OUTPUT, 'failed'],
      { status: 'failed', error: { code: 'server_error', message: 'The task could not be observed.' } },
    ],
  ])('%s', async (_, steps, types, last) => {
    const writer = createEventWriter(task('SUBMITTED'));
    const events: ResponseEvent[] = [writer.created()];
    const overs: boolean[] = [];
    for (const { status, events: rendered = [], done = false } of steps) {
      const step = await writer.rendered(task(status), { events: rendered, done });
      events.push(...step.events);
      overs.push(step.over);
    }
    expect(events.map(({ type }) => type)).toEqual(types.map((type) => `response.${type}`));
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((__, index) => index));
    expect(events.flatMap(faultsOfEvent)).toEqual([]);
    expect(events.at(-1)?.response).toMatchObject(last);
    // Only the last step can end the stream.
    const isOver = ['completed', 'failed', 'incomplete'].includes(types.at(-1) ?? '');
    expect(overs).toEqual(overs.map((__, index) => isOver && index === overs.length - 1));
  });

  test('a complete response has no progress', async () => {
    const writer = createEventWriter(task('SUBMITTED'));
    await writer.rendered(task('IN_PROGRESS'), { events: [progress(50, 'half')], done: false });
    const { events } = await writer.rendered(task('SUCCESS'), { events: [progress(100)], done: true });
    expect(events.at(-1)).toHaveProperty('type', 'response.completed');
    expect(events.at(-1)).toHaveProperty('response.metadata', host('completed'));
  });

  describe('that is resumed', () => {
    type Step = { status: TaskStatus; events: RenderedEvent[]; done?: boolean };
    /** What the streams of one task share. */
    function shareStart() {
      let stored: number | undefined;
      const outputStart: OutputStart = {
        keep: async (after) => (stored ??= after),
        shift: async () => {
          if (stored !== undefined) stored += 1;
        },
      };
      /** What a client gets that has `startingAfter` already; -1: nothing. */
      return async (steps: Step[], startingAfter = -1): Promise<ResponseEvent[]> => {
        const writer = createEventWriter(task('SUBMITTED'), { outputStart, startingAfter, outputsAfter: stored });
        const events = [writer.created()];
        for (const { status, events: rendered, done = false } of steps)
          events.push(...(await writer.rendered(task(status), { events: rendered, done })).events);
        return events.filter(({ sequence_number: number }) => number > startingAfter);
      };
    }
    const running: Step[] = [
      { status: 'QUEUED', events: [progress(0)] },
      { status: 'IN_PROGRESS', events: [progress(50)] },
    ];
    const ended: Step = { status: 'SUCCESS', events: [output('one'), output('two')], done: true };

    test('goes on with the next number after each event, whenever that was', async () => {
      const stream = shareStart();
      const whole = await stream([...running, ended]);
      expect(whole.map(({ sequence_number }) => sequence_number)).toEqual(whole.map((_, index) => index));
      const [, , , ...outputs] = whole;
      for (const { sequence_number: number } of whole.slice(0, -1)) {
        // The task has ended, so a new stream has nothing to report before its outputs.
        const rest = await stream([ended], number);
        expect(rest.map(({ sequence_number }) => sequence_number)).toEqual(
          whole.slice(number + 1).map(({ sequence_number }) => sequence_number),
        );
        expect(rest.filter(({ type }) => type !== 'response.in_progress')).toEqual(
          outputs.filter(({ sequence_number }) => sequence_number > number),
        );
      }
    });

    test('numbers reports of progress one by one while there is no output', async () => {
      const stream = shareStart();
      await stream(running);
      const rest = await stream([...running, ended], 2);
      expect(rest.map(({ sequence_number }) => sequence_number)).toEqual(rest.map((_, index) => index + 3));
    });

    test('has no number twice where the earlier stream ended between two outputs', async () => {
      const stream = shareStart();
      const half: Step = { status: 'IN_PROGRESS', events: [output('one')], done: true };
      const first = await stream([...running, half]);
      expect(first.at(-1)).toMatchObject({ type: 'response.incomplete', sequence_number: 9 });
      const rest = await stream([ended], 9);
      expect(rest.map(({ sequence_number }) => sequence_number)).toEqual([10, 11, 12, 13, 14, 15, 16]);
      expect(rest.map(({ type }) => type)).toEqual([...OUTPUT, 'completed'].map((type) => `response.${type}`));
      expect(rest[0]).toMatchObject({ output_index: 1 });
    });

    test('ends with an event of a higher number, whatever its client has', async () => {
      const stream = shareStart();
      await stream([...running, ended]);
      expect(await stream([ended], 900)).toMatchObject([{ type: 'response.completed', sequence_number: 901 }]);
    });
  });

  test('an output goes through every stage', async () => {
    const writer = createEventWriter(task('SUBMITTED'));
    await writer.rendered(task('IN_PROGRESS'), { events: [output('first')], done: false });
    const { events } = await writer.rendered(task('SUCCESS'), { events: [output('a "b"')], done: true });
    const at = { output_index: 1, content_index: 0, item_id: `msg_${ID}_1` };
    const item = { id: `msg_${ID}_1`, type: 'message', role: 'assistant' };
    const part = { id: `content_${ID}_1`, type: 'output_text', text: 'a "b"', annotations: [], logprobs: [] };
    const done = { ...item, status: 'completed', content: [part] };
    expect(events.slice(0, 6).map(({ sequence_number: _, type: __, ...members }) => members)).toEqual([
      { output_index: 1, item: { ...item, status: 'in_progress', content: [] } },
      { ...at, part: { ...part, text: '' } },
      { ...at, delta: 'a "b"', logprobs: [] },
      { ...at, text: 'a "b"', logprobs: [] },
      { ...at, part },
      { output_index: 1, item: done },
    ]);
    expect(events.at(-1)?.response).toMatchObject({ output: [{ id: `msg_${ID}_0` }, done] });
  });

  test('the gateway’s own endings', async () => {
    const writer = createEventWriter(task('SUBMITTED'));
    const ends = [
      await writer.incomplete(task('QUEUED')),
      await writer.unobserved(task('SUCCESS')),
      await writer.failed(task('FAILURE')),
    ];
    expect(ends.flatMap(faultsOfEvent)).toEqual([]);
    expect(ends.map(({ type }) => type)).toEqual(['response.incomplete', 'response.failed', 'response.failed']);
    expect(JSON.stringify(ends)).not.toContain('the vendor said so');
  });
});

describe('the response object', () => {
  test.each<[TaskStatus, string]>([
    ['NOT_START', 'queued'],
    ['SUBMITTED', 'queued'],
    ['QUEUED', 'queued'],
    ['IN_PROGRESS', 'in_progress'],
    ['SUCCESS', 'in_progress'],
    ['FAILURE', 'in_progress'],
  ])('pending at %s is %s', (status, wanted) => {
    const execution = { ...task(status).execution, background: true };
    const pending = pendingResponse(task(status, { execution }));
    expect(faultsOfResponse(pending)).toEqual([]);
    expect(pending).toMatchObject({
      id: `resp_${BARE}`,
      object: 'response',
      created_at: 1_790_000_000,
      status: wanted,
      background: true,
      completed_at: null,
      error: null,
      incomplete_details: null,
      model: 'alias',
      output: [],
      usage: null,
      metadata: host(wanted),
    });
    expect(pendingResponse(task(status)).background).toBeFalse();
  });

  const final = (members: RenderedFinal['members'], output: RenderedFinal['output'] = []) =>
    renderedResponse(task('SUCCESS'), { output, members });

  test('the gateway’s members win over the plugin’s', () => {
    const rendered = final({
      id: 'resp_other',
      object: 'other',
      created_at: 1,
      completed_at: 2,
      status: 'failed',
      error: { code: 'x', message: 'y' },
      incomplete_details: { reason: 'z' },
      model: 'other',
      usage: { input_tokens: 1e9 },
      sequence_number: 7,
      instructions: 'be brief',
      temperature: 0,
      tool_choice: 'none',
      vendor: { kept: true },
    });
    expect(faultsOfResponse({ ...rendered, tool_choice: 'auto' })).toEqual([]);
    expect(rendered).toMatchObject({
      id: `resp_${BARE}`,
      object: 'response',
      created_at: 1_790_000_000,
      completed_at: 1_790_000_009,
      status: 'completed',
      error: null,
      incomplete_details: null,
      model: 'alias',
      instructions: 'be brief',
      temperature: 0,
      tool_choice: 'none',
      parallel_tool_calls: true,
      tools: [],
      top_p: 1,
      vendor: { kept: true },
    });
    expect(rendered.usage).toMatchObject({ input_tokens: 0, total_tokens: 0 });
    expect(rendered).not.toHaveProperty('sequence_number');
  });

  test('items and parts get the gateway’s ids', () => {
    const part = { id: 'mine', type: 'output_text', text: 'x', annotations: [], logprobs: [] };
    const message = { id: 'mine', type: 'message', role: 'assistant', status: 'in_progress', content: [part, part] };
    expect(final({}, [message]).output).toEqual([
      {
        ...message,
        id: `item_${ID}_0`,
        status: 'completed',
        content: [
          { ...part, id: `content_${ID}_0_0` },
          { ...part, id: `content_${ID}_0_1` },
        ],
      },
    ]);
  });

  test('metadata has texts within OpenAI’s limits, and the gateway’s own win', () => {
    const many = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`k${String(19 - i).padStart(2, '0')}`, 'v']));
    const { metadata } = final({
      metadata: { ...many, task_id: 'other', a_number: 1, ['long'.repeat(17)]: 'v', a_long: 'x'.repeat(513) },
    });
    expect(metadata).toEqual({
      ...Object.fromEntries(Array.from({ length: 13 }, (_, i) => [`k${String(i).padStart(2, '0')}`, 'v'])),
      ...host('completed'),
    });
  });

  test('usage is what the vendor reported, the latest counts, once the response has ended', () => {
    const billing = {
      submissionFacts: { input_tokens: 7, output_tokens: 1, cached_tokens: 3, seconds: 4 },
      completionFacts: { output_tokens: 40, reasoning_tokens: 30 },
    } as unknown as TaskRecord['billing'];
    const usage = {
      input_tokens: 7,
      input_tokens_details: { cached_tokens: 3 },
      output_tokens: 40,
      output_tokens_details: { reasoning_tokens: 30 },
      total_tokens: 47,
    };
    expect(renderedResponse(task('SUCCESS', { billing }), { output: [], members: {} })).toMatchObject({ usage });
    expect(failedResponse(task('FAILURE', { billing }), 'The task failed.')).toMatchObject({ usage });
    expect(pendingResponse(task('IN_PROGRESS', { billing }))).toMatchObject({ usage: null });
  });

  test('a failure names its kind; a cancelled response has none', () => {
    const failed = failedResponse(task('FAILURE'), 'The task failed.');
    expect(failed).toMatchObject({
      error: { type: 'server_error', code: 'server_error', message: 'The task failed.' },
    });
    const cancelled = failedResponse(task('FAILURE', { failReason: 'Canceled by the user.' }), 'The task failed.');
    expect(faultsOfResponse(cancelled)).toEqual([]);
    expect(cancelled).toMatchObject({ status: 'cancelled', error: null });
  });

  test('usage that nobody counted is zeros once the response has ended: clients refuse a null', () => {
    const usage = {
      input_tokens: 0,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 0,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 0,
    };
    for (const ended of [
      renderedResponse(task('SUCCESS'), { output: [], members: {} }),
      failedResponse(task('FAILURE'), 'The task failed.'),
      failedResponse(task('FAILURE', { failReason: 'Canceled by the user.' }), 'The task failed.'),
    ]) {
      expect(ended).toMatchObject({ usage });
    }
  });

  test('a failure has no text of the vendor', () => {
    const failed = failedResponse(task('FAILURE'), 'The task failed.');
    expect(faultsOfResponse(failed)).toEqual([]);
    expect(failed).toMatchObject({ status: 'failed', metadata: host('failed') });
    expect(JSON.stringify(failed)).not.toContain('the vendor said so');
  });

  test('response ids convert to task ids and back, and other texts are not ids', () => {
    expect(readTaskId(responseId(ID))).toBe(ID);
    for (const id of [
      ID,
      'resp_',
      `resp_${BARE}0`,
      `resp_${BARE.slice(1)}`,
      `resp_${BARE.slice(1)}é`,
      `${responseId(ID)}\n`,
    ]) {
      expect(readTaskId(id)).toBeUndefined();
    }
  });
});

describe('the form of a request', () => {
  const request = (value: unknown) => ({ body: { kind: 'json', value } }) as Parameters<typeof readResponseRequest>[0];

  test('plugins do not see background', () => {
    const { form, request: visible } = readResponseRequest(
      request({ model: 'm', background: true, stream: true, input: 'x' }),
    );
    expect(form).toEqual({ stream: true, background: true });
    expect(visible.body).toEqual({ kind: 'json', value: { model: 'm', stream: true, input: 'x' } });
  });

  test.each([
    [{ model: 'm' }, { stream: false, background: false }],
    [
      { model: 'm', stream: null, background: null },
      { stream: false, background: false },
    ],
    [
      { model: 'm', stream: false, background: true },
      { stream: false, background: true },
    ],
  ])('%j', (body, form) => expect(readResponseRequest(request(body)).form).toEqual(form));

  test.each<[unknown, string, string]>([
    [{ model: 'm', stream: 'true' }, 'stream must be true or false.', 'stream'],
    [{ model: 'm', stream: 1 }, 'stream must be true or false.', 'stream'],
    [{ model: 'm', background: 'yes' }, 'background must be true or false.', 'background'],
    [{ stream: true }, 'model is required and must be a string.', 'model'],
    [[], 'model is required and must be a string.', 'model'],
  ])('%j is refused', (body, message, param) => {
    expect(() => readResponseRequest(request(body))).toThrow(expect.objectContaining({ message, param }));
  });

  const ALL = ['stream', 'sync', 'background'] as const;
  test.each<[supports: (typeof ALL)[number][], stream: boolean, background: boolean, refusal: RegExp | undefined]>([
    [['sync'], false, false, undefined],
    [['stream'], true, false, undefined],
    [['background'], false, true, undefined],
    [['stream', 'background'], true, true, undefined],
    [[...ALL], false, false, undefined],
    [['sync'], true, false, /does not take streaming \("stream": true\)\. It takes: waiting for the answer/],
    [['stream'], false, false, /does not take waiting for the answer .* It takes: streaming \("stream": true\)\./],
    [['stream', 'sync'], false, true, /does not take the background .* It takes: streaming .*; waiting for the answer/],
    [['stream'], true, true, /does not take the background/],
    [['background'], true, true, /does not take streaming .* It takes: the background/],
  ])('%j with stream %p and background %p', (supports, stream, background, refusal) => {
    const check = () => assertFormSupported(supports, { stream, background }, 'm');
    if (refusal) expect(check).toThrow(refusal);
    else expect(check).not.toThrow();
  });
});
