/** What the host takes of what renderers of responses return. */
import { describe, expect, test } from 'bun:test';
import type { Json } from '../../src/kernel/index.ts';
import { readRenderedEvents, readRenderedFinal } from '../../src/plugins/hooks/render-answers.ts';

const nested = (levels: number): Json => {
  let value: Json = 1;
  for (let i = 0; i < levels; i += 1) value = [value];
  return value;
};
const progress = { type: 'progress', progress: 42, message: 'running' };
const output = (data: Json) => ({ type: 'output', data });
const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);

describe('renderEvents', () => {
  test.each<[name: string, result: Json, read: object]>([
    ['nothing new', { events: [], done: false }, { events: [], done: false }],
    [
      'a state',
      { events: [], done: false, state: { at: 1 } },
      { events: [], done: false, state: { value: { at: 1 } } },
    ],
    ['the state null', { events: [], done: true, state: null }, { events: [], done: true, state: { value: null } }],
    ['progress', { events: [progress], done: false }, { events: [progress], done: false }],
    ['bare progress', { events: [{ type: 'progress' }], done: false }, { events: [{ type: 'progress' }], done: false }],
    [
      'null for what is left out',
      { events: [{ type: 'progress', progress: null, message: null }], done: false },
      { events: [{ type: 'progress' }], done: false },
    ],
    [
      'a text as it is',
      { events: [output('a "b"')], done: true },
      { events: [{ type: 'output', text: 'a "b"' }], done: true },
    ],
    [
      'other data as JSON',
      { events: [output({ a: [1] }), output(null), output(0)], done: true },
      { events: ['{"a":[1]}', 'null', '0'].map((text) => ({ type: 'output', text })), done: true },
    ],
    [
      'an error',
      { events: [{ type: 'error', message: 'no', code: 'x' }], done: true },
      { events: [{ type: 'error', message: 'no', code: 'x' }], done: true },
    ],
    ['all that fits', { events: times(16, progress), done: false }, { events: times(16, progress), done: false }],
    [
      'the deepest state',
      { events: [], done: false, state: nested(16) },
      { events: [], done: false, state: { value: nested(16) } },
    ],
  ])('takes %s', (_, result, read) => {
    expect(readRenderedEvents(result)).toEqual({ ok: true, value: read } as never);
  });

  test.each<[name: string, result: Json | undefined, fault: RegExp]>([
    ['nothing', undefined, /must be \{events, done, state\?\}/],
    ['a list', [], /must be \{events, done, state\?\}/],
    ['no done', { events: [] }, /done must be true or false/],
    ['a done that is none', { events: [], done: 1 }, /done must be true or false/],
    ['no events', { done: false }, /events must be a list/],
    ['an unknown member', { events: [], done: false, previous: 1 }, /unknown member "previous"/],
    ['too many events', { events: times(17, progress), done: false }, /at most 16 events/],
    [
      'an event too large',
      { events: [output('x'.repeat(32 * 1024))], done: false },
      /events\[0\]: the event is larger than 32 KiB/,
    ],
    ['events too large', { events: times(3, output('x'.repeat(30_000))), done: false }, /larger than 64 KiB in total/],
    ['a state too large', { events: [], done: false, state: 'x'.repeat(16 * 1024) }, /state is larger than 16 KiB/],
    ['bytes, not characters', { events: [], done: false, state: 'é'.repeat(8 * 1024) }, /state is larger than 16 KiB/],
    ['a state too deep', { events: [], done: false, state: nested(17) }, /state nests deeper than 16/],
    ['an event too deep', { events: [output(nested(16))], done: false }, /events\[0\]: the event nests deeper than 16/],
    ['an event that is none', { events: ['progress'], done: false }, /events\[0\]: an event must be an object/],
    ['an unknown type', { events: [{ type: 'delta' }], done: false }, /type must be progress, output or error/],
    ['progress with more', { events: [{ ...progress, eta: 1 }], done: false }, /unknown member "eta"/],
    ['progress beyond 100', { events: [{ type: 'progress', progress: 101 }], done: false }, /number from 0 to 100/],
    ['progress as text', { events: [{ type: 'progress', progress: '42%' }], done: false }, /number from 0 to 100/],
    ['a long message', { events: [{ type: 'progress', message: 'x'.repeat(513) }], done: false }, /at most 512 bytes/],
    ['output without data', { events: [{ type: 'output' }], done: false }, /data is missing/],
    ['output with text', { events: [{ type: 'output', text: 'x' }], done: false }, /unknown member "text"/],
    ['an error without a message', { events: [{ type: 'error' }], done: true }, /message must be a string/],
    ['a blank error', { events: [{ type: 'error', message: ' ' }], done: true }, /message must be a string/],
    ['a long error', { events: [{ type: 'error', message: 'x'.repeat(4097) }], done: true }, /at most 4 KiB/],
    [
      'a long code',
      { events: [{ type: 'error', message: 'x', code: 'x'.repeat(129) }], done: true },
      /at most 128 bytes/,
    ],
  ])('refuses %s', (_, result, fault) => {
    const read = readRenderedEvents(result);
    expect(read.ok ? 'taken' : read.error.message).toMatch(fault);
  });
});

const part = { type: 'output_text', text: 'hello', annotations: [], logprobs: [] };
const message = (...content: Json[]) => ({ type: 'message', role: 'assistant', content });

describe('renderFinal', () => {
  test.each<[name: string, result: Json, read: object]>([
    ['an empty answer', {}, { output: [], members: {} }],
    ['a message', { output: [message(part)] }, { output: [message(part)], members: {} }],
    [
      'a refusal',
      { output: [message({ type: 'refusal', refusal: 'no' })], metadata: { a: 'b' } },
      { output: [message({ type: 'refusal', refusal: 'no' })], members: { metadata: { a: 'b' } } },
    ],
    [
      'members of every kind',
      { output: [], instructions: 'x', temperature: 2, top_p: 0, tools: [], tool_choice: { type: 'none' }, vendor: 1 },
      {
        output: [],
        members: { instructions: 'x', temperature: 2, top_p: 0, tools: [], tool_choice: { type: 'none' }, vendor: 1 },
      },
    ],
    ['null for what is left out', { output: null, temperature: null }, { output: [], members: { temperature: null } }],
  ])('takes %s', (_, result, read) => {
    expect(readRenderedFinal(result)).toEqual({ ok: true, value: read } as never);
  });

  test.each<[name: string, result: Json | undefined, fault: RegExp]>([
    ['nothing', undefined, /rendered no object/],
    ['a text', 'done', /rendered no object/],
    ['an answer too large', { vendor: 'x'.repeat(1_200_000) }, /larger than 1 MiB and 64 KiB/],
    [
      'output too large',
      { output: [message({ ...part, text: 'x'.repeat(1024 * 1024) })] },
      /output is larger than 1 MiB/,
    ],
    ['an answer too deep', { vendor: nested(16) }, /nests deeper than 16 levels/],
    ['output that is not a list', { output: 'hello' }, /output must be a list/],
    ['too many items', { output: times(65, message()) }, /at most 64 items/],
    ['a tool call', { output: [{ type: 'function_call' }] }, /output\[0\] must be \{type: "message"/],
    [
      'a user message',
      { output: [{ type: 'message', role: 'user', content: [] }] },
      /output\[0\] must be \{type: "message"/,
    ],
    [
      'content as text',
      { output: [{ type: 'message', role: 'assistant', content: 'x' }] },
      /output\[0\]\.content must be a list/,
    ],
    ['too many parts', { output: [message(...times(65, part))] }, /at most 64 parts/],
    ['another part', { output: [message({ type: 'image' })] }, /content\[0\] must be of type output_text or refusal/],
    ['text that is none', { output: [message({ ...part, text: 1 })] }, /content\[0\] needs a text named text/],
    [
      'a part without lists',
      { output: [message({ type: 'output_text', text: 'x' })] },
      /needs the lists annotations and logprobs/,
    ],
    ['a refusal without a text', { output: [message({ type: 'refusal' })] }, /needs a text named refusal/],
    ['instructions as a number', { instructions: 1 }, /instructions must be a string or a list/],
    ['parallel_tool_calls as text', { parallel_tool_calls: 'yes' }, /parallel_tool_calls must be true or false/],
    ['too hot', { temperature: 2.1 }, /temperature must be a number from 0 to 2/],
    ['top_p beyond 1', { top_p: 1.1 }, /top_p must be a number from 0 to 1/],
    ['tools as an object', { tools: {} }, /tools must be a list/],
    ['tool_choice as a number', { tool_choice: 1 }, /tool_choice must be a string or an object/],
    ['metadata as a list', { metadata: [] }, /metadata must be an object/],
  ])('refuses %s', (_, result, fault) => {
    const read = readRenderedFinal(result);
    expect(read.ok ? 'taken' : read.error.message).toMatch(fault);
  });
});
