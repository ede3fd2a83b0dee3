import type { AccessWatch } from '../../../src/auth/index.ts';
import { sendEvents } from '../../../src/http/responses/send-events.ts';
import { createRedactor, type Json, listRequestSecrets, redactJson } from '../../../src/kernel/index.ts';
import { encodeFrame } from '../../../src/sandbox/frames.ts';
import { MAX_RESULT_BYTES, MAX_RESULT_VALUES, readResult } from '../../../src/sandbox/read-result.ts';
import { fill, stallCase } from '../measure-block.ts';

const MIB = 1024 * 1024;

/** Objects of one member each, with as many values as a result may have. */
function objectsFor(size: number, letter: string): string {
  const count = MAX_RESULT_VALUES / 2 - 2;
  const length = Math.max(0, Math.floor((size / count - 16) / letter.length));
  return `[${Array.from({ length: count }, (_, i) => `{"${i}${letter.repeat(length)}":0}`).join()}]`;
}

const results = (size: number): Record<string, string> => ({
  'as many empty objects as are taken': `[${'{},'.repeat(MAX_RESULT_VALUES - 2)}0]`,
  'more empty objects than are taken': fill('{},', size, { before: '[', after: '{}]' }),
  'more empty texts than are taken': fill('"",', size, { before: '[', after: '""]' }),
  'names, each another': objectsFor(size, 'a'),
  'escaped names': objectsFor(size, '\\n'),
  'one text': fill('a', size, { before: '"', after: '"' }),
  'one escaped text': fill('\\n', size, { before: '"', after: '"' }),
  'one text of escaped letters': fill('\\u4e00', size, { before: '"', after: '"' }),
  brackets: fill('[', size),
});

const parsed = (size: number) =>
  Object.fromEntries(
    Object.entries(results(size)).flatMap(([name, text]) => {
      if (name.startsWith('more') || name === 'brackets') return [];
      return [[name, JSON.parse(text) as Json]];
    }),
  );

const access: AccessWatch = { signal: new AbortController().signal, hasEnded: () => false, stop() {} };
const STREAM = { heartbeatMs: 60_000, lastEvent: () => ({ event: 'end', data: {} }), onFailure() {}, onEnd() {} };

export const hookCases = [
  stallCase({
    name: 'result of a hook',
    limit: MAX_RESULT_BYTES,
    worst: results,
    call: (body: string) => readResult(body, 'hook'),
    limitedBy: 'the bytes of a result that a sandbox process sends',
  }),
  stallCase({
    name: 'request that a hook made, searched for secrets',
    limit: MAX_RESULT_BYTES,
    worst: (size) =>
      Object.fromEntries(
        Object.entries(parsed(size)).map(([name, body]) => [name, { url: 'https://a', headers: {}, body }]),
      ),
    call: (request: Json) => createRedactor(listRequestSecrets(request)),
    limitedBy: 'the size of a result',
  }),
  stallCase({
    name: 'result of a dry run, without its secrets',
    limit: MIB,
    worst: parsed,
    call: (value: Json) => redactJson(value, ['a secret of a channel']),
    limitedBy: 'the size of a result',
  }),
  stallCase({
    name: 'arguments of a hook',
    limit: 16 * MIB,
    worst: (size) => ({
      plain: ['a'.repeat(size)],
      'ends of lines': ['\n'.repeat(size / 2)],
      controls: ['\u0001'.repeat(size / 6)],
      'letters of three bytes': ['\u4e00'.repeat(size / 3)],
      'many values': Array.from({ length: 100_000 }, (_, i) => ({ [`name${i}`]: [i] })),
    }),
    call(args: unknown[]) {
      const text = JSON.stringify(args);
      Buffer.byteLength(text);
      encodeFrame('{}', text);
    },
    limitedBy: 'the bytes of arguments that are sent to a sandbox process',
  }),
  stallCase({
    name: 'server-sent events',
    limit: MIB + 64 * 1024,
    worst: (size) => ({
      'one large event': [fill('a', size)],
      'one event of line ends': [fill('\n', size / 2)],
      'many small ones': Array.from({ length: 5000 }, () => 'a'),
      'one of many values': [Array.from({ length: 20_000 }, (_, i) => ({ [`name${i}`]: i }))],
    }),
    async call(data: unknown[]) {
      async function* events() {
        for (const each of data) yield { event: 'message', data: each };
      }
      for await (const _ of sendEvents(access, events(), STREAM).body ?? []) {
        // Read as fast as possible.
      }
    },
    limitedBy: 'the size of what a hook renders',
  }),
];
