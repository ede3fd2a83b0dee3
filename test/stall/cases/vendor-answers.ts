import { ok } from '../../../src/kernel/index.ts';
import { readEvents } from '../../../src/relay/answers/read-events.ts';
import { createVendorIdFinder, findVendorIds } from '../../../src/relay/objects/vendor-ids.ts';
import { measureSound } from '../../../src/relay/sound/measure-sound.ts';
import { removeUsageEvent } from '../../../src/relay/usage/ask-for-usage.ts';
import { createUsageReader } from '../../../src/relay/usage/read-usage.ts';
import type { UpstreamResponse } from '../../../src/upstream/index.ts';
import { readVendorAnswer } from '../../../src/vendors/answer/read-vendor-answer.ts';
import { fill, stallCase } from '../measure-block.ts';

const MIB = 1024 * 1024;

const texts = (size: number): Record<string, Buffer> =>
  Object.fromEntries(
    Object.entries({
      'empty objects': fill('{},', size, { before: '{"x":[', after: '{}]}' }),
      'empty strings': fill('"",', size, { before: '[', after: '""]' }),
      brackets: fill('[', size),
      'escaped quotes': fill('\\"', size, { before: '["' }),
      backslashes: fill('\\', size, { before: '["', after: '\\' }),
      'short runs of Base64': fill('a ', size, { before: '["', after: '"]' }),
      'one long run of Base64': fill('a', size, { before: '{"image":"', after: '"}' }),
      'escaped slashes': fill('\\/', size, { before: '["', after: '"]' }),
      'escaped letters': fill('\\u0041', size, { before: '["', after: '"]' }),
      'escaped accents': fill('\\u00e9', size, { before: '["', after: '"]' }),
      'many names': fill('"id":"a",', size, { before: '{', after: '"id":"b"}' }),
      'many lines': fill('data:{"id":"a"}\n', size),
      'many events': fill('data:{"delta":"a"}\n\n', size),
      'events of usage': fill('data:{"usage":{},"choices":null}\n\n', size),
      'one event of many lines': fill('data:\n', size, { before: 'data:{"usage":', after: 'data:{}}\n\n' }),
      'empty lines': fill('\n', size),
      'many counts as text': fill('{"usage":{"input_tokens":"1"}},', size, {
        before: 'data:{"choices":[',
        after: '{}]}\n\n',
      }),
      'line ends': fill('\r', size, { before: 'data:{' }),
    }).map(([name, text]) => [name, Buffer.from(text)]),
  );

const answered = (bytes: Buffer) => ({ bytes: async () => ok(bytes) }) as unknown as UpstreamResponse;
const CHUNK = 256 * 1024;

/** As it is read for the usage of a response, its ids, and events that the client does not want. */
function readStreamChunk(bytes: Buffer): void {
  const usageReader = createUsageReader('response', { isEvents: true, needed: ['output_tokens'] });
  const filter = removeUsageEvent();
  const events = readEvents([usageReader.events, createVendorIdFinder('response').events, filter.events]);
  filter.push(bytes, events.push(bytes));
  events.end();
  filter.end();
}

const sounds = (size: number): Record<string, Buffer> => ({
  'sync bytes': Buffer.alloc(size, 0xff),
  'heads of FLAC': Buffer.concat([Buffer.from('fLaC'), Buffer.alloc(size, 'fff8c508', 'hex')]),
  'frames of MP3': Buffer.alloc(
    size,
    'fff318c40000000000000000000000000000000000000000000000000000000000000000',
    'hex',
  ),
  'pages of Ogg': Buffer.alloc(size, `OggS${'\0'.repeat(23)}`, 'latin1'),
  'boxes of MP4': Buffer.alloc(size, '\0\0\0\x08free', 'latin1'),
  'elements of WebM': Buffer.concat([Buffer.from('1a45dfa380', 'hex'), Buffer.alloc(size, 'e780', 'hex')]),
});
const soundFile = (bytes: Buffer) => ({
  ...{ ref: 'request_file:file', field: 'file', filename: 'sound', mimeType: '', size: bytes.length },
  async *stream() {
    yield bytes;
  },
});

export const vendorAnswerCases = [
  stallCase({
    name: 'sound that is to be transcribed',
    limit: 4 * MIB,
    worst: sounds,
    call: (bytes: Buffer) => measureSound([soundFile(bytes)]),
    limitedBy: 'the pieces in which it is read, whatever its size',
  }),
  stallCase({
    name: 'answer of a vendor for a hook',
    limit: 16 * MIB,
    worst: texts,
    call: (bytes: Buffer) => readVendorAnswer(answered(bytes), { tasks: 100 }),
    limitedBy: 'the bytes that are read of an answer',
  }),
  stallCase({
    name: 'answer of a vendor for a hook, as large as one may be',
    limit: 2 * MIB,
    worst: texts,
    call: (bytes: Buffer) => readVendorAnswer(answered(bytes), { tasks: 100 }),
    limitedBy: 'the bytes of JSON that a hook sees',
  }),
  stallCase({
    name: 'relayed answer that was read whole',
    limit: 4 * MIB,
    worst: texts,
    call: (bytes: Buffer) => findVendorIds('response', bytes),
    limitedBy: 'the slices in which it is read, whatever its size',
  }),
  stallCase({
    name: 'chunk of a relayed stream',
    limit: CHUNK,
    worst: texts,
    call: readStreamChunk,
    limitedBy: 'the bytes that a socket gives at once',
  }),
];
